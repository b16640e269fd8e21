"""Reading several claims against the same documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Self

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.tasks.answer import Answer, Quotations, quotes_field
from redargue.tasks.base import Task, lines, text_field
from redargue.tasks.documents import as_of, by_document, documents
from redargue.tasks.extract import BLOCK
from redargue.tasks.labels import label_definitions, quotation_rule
from redargue.tasks.untrusted import wrap_untrusted


class ClaimReading(Frozen):
    """What the documents say about one claim; the quotations come first, so that they are not chosen for the label."""

    claim: int = Field(description="the number of the claim")
    document: int = Field(description="the number of the document that says most about it; 0 if none does")
    quotes: Quotations = quotes_field("the sentence of that document, copied exactly: not the claim; none if none does")
    comparison: str = text_field("what they say about the claim: one sentence", 300)
    label: str = Field(description="the label of the claim")


class ClaimReadings(Frozen):
    """One reading a claim."""

    readings: tuple[ClaimReading, ...] = Field(
        description="one item a claim, in their order", json_schema_extra={"maxItems": BLOCK}
    )


class Answers(Frozen):
    """An answer to each claim, in order."""

    answers: tuple[Answer, ...]


class ReadClaims(Task[Answers]):
    """The answers to all ``claims`` from the same passages; the claims share labels, context and date."""

    claims: tuple[Claim, ...]
    passages: tuple[Passage, ...] = ()

    def template_vars(self) -> Mapping[str, object]:
        first = self.claims[0]
        rows = (f"[{number}] {' '.join(claim.text.split())}" for number, claim in enumerate(self.claims, 1))
        return {
            "label_definitions": label_definitions(first.labels),
            "quotation_rule": quotation_rule(first.labels),
            "context": wrap_untrusted(first.context),
            "as_of": as_of(first, self.profile),
            "document": documents(self.passages, self.profile),
            "claims": wrap_untrusted("\n".join(rows)),
        }

    def fixed_items(self) -> dict[str, tuple[str, Sequence[Any]]]:
        return {"readings": ("claim", range(1, len(self.claims) + 1))}

    def enum_fields(self) -> dict[str, Sequence[str | int]]:
        shown = range(len(by_document(self.passages)) + 1)
        return {"readings.document": tuple(shown), "readings.label": self.claims[0].labels.names}

    def reply_type(self) -> type[Frozen]:
        return ClaimReadings

    def from_reply(self, reply: Frozen) -> Answers:
        """Raises a ValueError unless each claim has one reading, with one of its labels."""
        assert isinstance(reply, ClaimReadings)
        numbers = sorted(reading.claim for reading in reply.readings)
        if numbers != list(range(1, len(self.claims) + 1)):
            raise ValueError(f"each of the claims 1 to {len(self.claims)} needs one reading, not {numbers}")
        ordered = sorted(reply.readings, key=lambda reading: reading.claim)
        return Answers(answers=tuple(map(self._answer, ordered)))

    def _answer(self, reading: ClaimReading) -> Answer:
        labels = self.claims[0].labels
        label = labels.single(reading.label)
        if label is None:
            known = ", ".join(labels.names)
            raise ValueError(f"claim {reading.claim}: {reading.label[:60]!r} is not one of the labels {known}")
        quotes = tuple(text for quote in reading.quotes if (text := quote.strip()))
        text = lines(*(f'"{quote}"' for quote in quotes), reading.comparison.strip(), f"**{label}**")
        return Answer(text=text, label=label, quotes=quotes)

    def asked_on(self, day: date) -> Self:
        """With the day, unless the claims have a date of their own."""
        undated = self.claims[0].as_of is None and self.profile == "hardened"
        return self.model_copy(update={"today": day}) if undated else self
