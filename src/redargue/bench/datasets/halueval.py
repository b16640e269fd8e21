"""HaluEval (Li et al. 2023): right and hallucinated answers, replies and summaries, and annotated ChatGPT responses.

Official rows (JSON lines, whatever the file's suffix):

* qa: ``{"knowledge", "question", "right_answer", "hallucinated_answer"}``
* dialogue: ``{"knowledge", "dialogue_history", "right_response", "hallucinated_response"}``
* summarization: ``{"document", "right_summary", "hallucinated_summary"}``
* general: ``{"ID", "user_query", "chatgpt_response", "hallucination": "yes" | "no", "hallucination_spans"}``
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from redargue.bench.datasets.base import Dataset, Example
from redargue.bench.datasets.labels import HALLUCINATED
from redargue.bench.datasets.rows import Row, printable, rows
from redargue.evidence import Passage


@dataclass(frozen=True, slots=True)
class _Kind:
    """The fields of one kind of row.

    Attributes:
        context: shown with the text in the official evaluation.
        knowledge: withheld in the official evaluation; the document of a summary.
        candidates: the right text and the hallucinated one.
    """

    context: str
    knowledge: str
    candidates: tuple[str, str]


_KINDS = {
    "qa": _Kind("question", "knowledge", ("right_answer", "hallucinated_answer")),
    "dialogue": _Kind("dialogue_history", "knowledge", ("right_response", "hallucinated_response")),
    "summarization": _Kind("document", "document", ("right_summary", "hallucinated_summary")),
}


class HaluEval(Dataset, name="halueval"):
    """Reads all four kinds of rows, recognised by their fields; the group is the kind.

    Each candidate of a pair is one example, the right one first. The claim is the text alone; its context is what the
    official evaluation shows (question, dialogue, document, user's request); the knowledge is a passage, so that only
    methods that read evidence see it. *yes* (hallucinated) means refuted.

    Args:
        question_in_claim: for qa, the claim is question and answer in one text, as in dual-position debate.
    """

    about = "HaluEval: right and hallucinated answers, replies, summaries (RUCAIBox/HaluEval)"
    labels = HALLUCINATED
    metric = "accuracy"

    def __init__(self, *, question_in_claim: bool = False) -> None:
        self.question_in_claim = question_in_claim

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            kind = next((name for name, fields in _KINDS.items() if set(fields.candidates) & row.fields.keys()), "")
            if kind:
                yield from self._pair(row, kind)
            else:
                yield _general(row)

    def _pair(self, row: Row, kind: str) -> Iterator[Example]:
        fields = _KINDS[kind]
        context = row.text(fields.context)
        passage = Passage(text=printable(row.text(fields.knowledge)))
        for gold, field in zip(("no", "yes"), fields.candidates, strict=True):
            text = row.text(field)
            joined = self.question_in_claim and kind == "qa"
            yield row.example(
                id=f"{row.number}.{'right' if gold == 'no' else 'hallucinated'}",
                claim=row.claim(
                    field,
                    f"{context.strip()} {text.strip()}" if joined else text,
                    labels=HALLUCINATED,
                    context="" if joined else context,
                ),
                gold=gold,
                passages=(passage,),
                group=kind,
            )


def _general(row: Row) -> Example:
    if "chatgpt_response" not in row.fields:
        kinds = "; ".join(", ".join((kind.context, *kind.candidates)) for kind in _KINDS.values())
        raise row.error(
            f"expected the fields of a HaluEval row, got {', '.join(row.fields) or 'none'}",
            hint=f"a row has {kinds}; or user_query, chatgpt_response, hallucination",
        )
    return row.example(
        id=row.key("ID"),
        claim=row.claim("chatgpt_response", labels=HALLUCINATED, context=row.text("user_query")),
        gold=row.label("hallucination", HALLUCINATED),
        group="general",
    )
