"""AVeriTeC (Schlichtkrull et al. 2023): fact-checked claims, with questions and answers as gold evidence.

Official rows: ``{"claim", "label", "questions": [{"question", "answers": [{"answer", "answer_type",
"boolean_explanation"?, …}]}], "claim_date" (day-month-year), "speaker", "reporting_source", …}``. The licence is
non-commercial: use it for evaluation only.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

from redargue.bench.datasets import Dataset, Example
from redargue.claims import AVERITEC
from redargue.evidence import Passage
from redargue.inputs.rows import Row, printable_value, rows

_REST = (
    "claim_id claim claim_date speaker original_claim_url reporting_source location_ISO_code fact_checking_article "
    "claim_types fact_checking_strategies required_reannotation cached_original_claim_url"
).split()

NO_CLAIM = "[this row has no claim]"
"""The claim of the one training row whose claim is empty; the official count includes it."""


class Averitec(Dataset, name="averitec"):
    """Reads the official JSON list; as-of date and context are the claim's date, speaker and source."""

    sentences: Path | None = None  # of frozen evidence, as :func:`web_sentences` reads it

    about = "AVeriTeC: real claims with gold questions and answers (fever.ai; non-commercial)"
    labels = AVERITEC
    metric = "averitec"

    def read(self, path: Path) -> Iterator[Example]:
        passages = web_sentences(self.sentences) if self.sentences else {}
        for row in rows(path):
            hidden = row.is_unlabelled(("label", "questions", "justification"), tuple(_REST))
            text = row.string("claim") or NO_CLAIM
            claim = row.claim("claim", text, labels=self.labels, context=_context(row), as_of=_day(row))
            if self.sentences and claim.text not in passages:
                raise row.error(f"claim: no sentences for {claim.text[:60]!r} in {self.sentences}")
            yield self.example(
                row,
                hidden=hidden,
                id=row.key("claim_id") if "claim_id" in row.fields else str(row.number),
                claim=claim,
                answers=() if hidden else _answers(row),
                passages=passages.get(claim.text, ()),
            )


def _context(row: Row) -> str:
    fields = {"Speaker": row.optional("speaker"), "Source": row.optional("reporting_source")}
    return "\n".join(f"{name}: {' '.join(value.split())}" for name, value in fields.items() if value.strip())


def _day(row: Row) -> date | None:
    text = row.optional("claim_date")
    try:
        return datetime.strptime(text, "%d-%m-%Y").date() if text else None
    except ValueError:
        raise row.field_error("claim_date", "a date like '25-8-2020' (day-month-year)") from None


def _answers(row: Row) -> tuple[tuple[str, str], ...]:
    """Questions and answers as the official metric joins them: a yes or no is followed by its explanation."""
    pairs = []
    for question in row.children("questions"):
        texts = []
        for answer in question.children("answers"):
            text = answer.string("answer")
            boolean = answer.fields.get("answer_type") == "Boolean"
            texts.append(f"{text}. {answer.string('boolean_explanation')}" if boolean else text)
        pairs += [(question.string("question"), text) for text in texts or ["No answer could be found."]]
    return tuple(pairs)


def web_sentences(path: Path) -> dict[str, tuple[Passage, ...]]:
    """Web sentences retrieved for each claim, by the claim's text, best first.

    Rows: ``{"claim_id", "claim", "top_10": [{"sentence", "url"}, …]}``, as HerO's retrieval writes them. A claim with
    several rows gets the distinct sentences of all of them.
    """
    sentences: dict[str, dict[tuple[str, str], None]] = {}
    for row in rows(path):
        of_claim = sentences.setdefault(row.text("claim").strip(), {})
        for sentence in row.children("top_10"):
            of_claim[printable_value(sentence.text("sentence")), sentence.optional("url")] = None
    return {
        claim: tuple(Passage(text=text, url=url, rank=rank) for rank, (text, url) in enumerate(of_claim, 1))
        for claim, of_claim in sentences.items()
    }
