"""HaluEval (Li et al. 2023): right and hallucinated answers, replies and summaries, and annotated ChatGPT responses.

Official rows (JSON lines, whatever the file's suffix):

* qa: ``{"knowledge", "question", "right_answer", "hallucinated_answer"}``
* dialogue: ``{"knowledge", "dialogue_history", "right_response", "hallucinated_response"}``
* summarization: ``{"document", "right_summary", "hallucinated_summary"}``
* general: ``{"ID", "user_query", "chatgpt_response", "hallucination": "yes" | "no", "hallucination_spans"}``
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from redargue.bench.datasets.base import Dataset, Example
from redargue.evidence import Passage
from redargue.inputs.claims import HALLUCINATED
from redargue.inputs.rows import Row, printable_value, rows

# The fields with the context, with the knowledge (withheld in the official evaluation), and with the two candidates.
_KINDS = {
    "qa": ("question", "knowledge", "right_answer", "hallucinated_answer"),
    "dialogue": ("dialogue_history", "knowledge", "right_response", "hallucinated_response"),
    "summarization": ("document", "document", "right_summary", "hallucinated_summary"),
}


class HaluEval(Dataset, name="halueval"):
    """Reads all four kinds of rows, recognised by their fields; the group is the kind.

    Each candidate of a pair is one example, the right one first. The claim is the text alone; its context is what the
    official evaluation shows (question, dialogue, document, user's request); the knowledge is a passage, so that only
    methods that read evidence see it. *yes* (hallucinated) means refuted.
    """

    question_in_claim: bool = False  # for qa: one text, as in dual-position debate
    about = "HaluEval: right and hallucinated answers, replies, summaries (RUCAIBox/HaluEval)"
    labels = HALLUCINATED
    metric = "accuracy"

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            kind = next((name for name, fields in _KINDS.items() if set(fields[2:]) & row.fields.keys()), "")
            yield from self._pair(row, kind) if kind else [self._general(row)]

    def _pair(self, row: Row, kind: str) -> Iterator[Example]:
        context_field, knowledge, right, hallucinated = _KINDS[kind]
        context = row.text(context_field)
        passages = (Passage(text=printable_value(row.text(knowledge))),)
        for name, gold, field in (("right", "no", right), ("hallucinated", "yes", hallucinated)):
            if self.question_in_claim and kind == "qa":
                claim = row.claim(field, f"{context.strip()} {row.text(field).strip()}", labels=HALLUCINATED)
            else:
                claim = row.claim(field, labels=HALLUCINATED, context=context)
            yield self.example(row, id=f"{row.number}.{name}", claim=claim, gold=gold, passages=passages, group=kind)

    def _general(self, row: Row) -> Example:
        if "chatgpt_response" not in row.fields:
            kinds = "; ".join(", ".join((context, *candidates)) for context, _, *candidates in _KINDS.values())
            raise row.error(
                f"expected the fields of a HaluEval row, got {', '.join(row.fields) or 'none'}",
                hint=f"a row has {kinds}; or user_query, chatgpt_response, hallucination",
            )
        claim = row.claim("chatgpt_response", labels=HALLUCINATED, context=row.text("user_query"))
        gold = row.label("hallucination", HALLUCINATED)
        return self.example(row, id=row.key("ID"), claim=claim, gold=gold, group="general")
