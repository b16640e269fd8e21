"""AVeriTeC (Schlichtkrull et al. 2023): claims that fact-checkers checked, with questions and answers as gold evidence.

Official rows: ``{"claim", "label", "questions": [{"question", "answers": [{"answer", "answer_type",
"boolean_explanation"?, …}]}], "claim_date" (day-month-year), "speaker", "reporting_source", …}``. Its licence is
non-commercial: evaluate only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import ClassVar

from redargue.bench.datasets.base import Example, datasets
from redargue.bench.datasets.rows import Row, printable, rows
from redargue.claims import AVERITEC, LabelSet
from redargue.evidence import Passage

_ANSWERS = ("label", "questions", "justification")
_REST = (
    "claim_id claim claim_date speaker original_claim_url reporting_source location_ISO_code fact_checking_article "
    "claim_types fact_checking_strategies required_reannotation cached_original_claim_url"
).split()

NO_CLAIM = "[this row has no claim]"
"""Stands for the claim of the one training row whose claim is empty: the official count includes it."""


@datasets.register("averitec")
class Averitec:
    """Reads the official JSON list; the claim is judged as of its date, its context says who said it and where."""

    name: ClassVar[str] = "averitec"
    about: ClassVar[str] = "AVeriTeC: real claims with gold questions and answers (fever.ai; non-commercial)"
    labels: ClassVar[LabelSet] = AVERITEC
    metric: ClassVar[str] = "averitec"

    def __init__(self, *, sentences: Path | str | None = None) -> None:
        """Args: sentences: a file of retrieved web sentences (:func:`web_sentences`), given as frozen evidence."""
        self.sentences = Path(sentences) if sentences else None

    def read(self, path: Path) -> Iterator[Example]:
        """The examples of a file, in its order; a row's number is its id where it has no ``claim_id``."""
        found = web_sentences(self.sentences) if self.sentences else {}
        for row in rows(path):
            hidden = row.hidden(_ANSWERS, tuple(_REST))
            text = row.string("claim") or NO_CLAIM
            claim = row.claim("claim", text, labels=AVERITEC, context=_context(row), as_of=_day(row))
            if self.sentences and claim.text not in found:
                raise row.error(f"claim: no sentences for {claim.text[:60]!r} in {self.sentences}")
            yield Example(
                id=row.key("claim_id") if "claim_id" in row.fields else str(row.number),
                claim=claim,
                gold=None if hidden else row.label("label", AVERITEC),
                answers=() if hidden else _answers(row),
                passages=found.get(claim.text, ()),
                row=row.number,
            )


def _context(row: Row) -> str:
    said = {"Speaker": row.optional("speaker"), "Source": row.optional("reporting_source")}
    return "\n".join(f"{name}: {' '.join(value.split())}" for name, value in said.items() if value.strip())


def _day(row: Row) -> date | None:
    given = row.optional("claim_date")
    if not given:
        return None
    found = re.fullmatch(r"(\d{1,2})-(\d{1,2})-(\d{4})", given)
    try:
        day, month, year = (int(part) for part in found.groups()) if found else (0, 0, 0)
        return date(year, month, day)
    except ValueError:
        raise row.wrong("claim_date", "a day as in '25-8-2020' (day-month-year)") from None


def _answers(row: Row) -> tuple[tuple[str, str], ...]:
    """Question and answer as the official metric joins them (spec §6): a yes or no has its explanation behind it."""
    pairs = []
    for question in row.children("questions"):
        asked = question.string("question")
        answers = question.children("answers")
        for answer in answers:
            text = answer.string("answer")
            if answer.fields.get("answer_type") == "Boolean":
                text = f"{text}. {answer.string('boolean_explanation')}"
            pairs.append((asked, text))
        if not answers:
            pairs.append((asked, "No answer could be found."))
    return tuple(pairs)


def web_sentences(path: Path) -> dict[str, tuple[Passage, ...]]:
    """Sentences retrieved from the web for each claim, by the claim's text, best first.

    Rows: ``{"claim_id", "claim", "top_10": [{"sentence", "url"}, …]}``, as HerO's retrieval writes them. A claim that
    stands there several times has the sentences of all its rows, each once.
    """
    found: dict[str, dict[tuple[str, str], None]] = {}
    for row in rows(path):
        kept = found.setdefault(row.text("claim").strip(), {})
        for each in row.children("top_10"):
            kept[printable(each.text("sentence")), each.optional("url")] = None
    return {
        claim: tuple(Passage(text=text, url=url, rank=rank) for rank, (text, url) in enumerate(kept, 1))
        for claim, kept in found.items()
    }
