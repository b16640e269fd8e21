"""What the embedded backend answers to a claim beside given documents, with default settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from redargue.claims import FEVER, Claim, Meaning
from redargue.evidence import Passage
from redargue.nli.backend import EmbeddedBackend, answer_from
from redargue.nli.reader_store import load_reader

GOLD = {
    "SUPPORTS": Meaning.SUPPORTED,
    "REFUTES": Meaning.REFUTED,
    "NEI": Meaning.NOT_ENOUGH,
}

Outcome = Literal["right", "open", "wrong"]
Question = tuple[str, tuple[Passage, ...]]  # a claim and the documents beside it


class Answered(NamedTuple):
    """One answer.

    Attributes:
        meaning: what the label says.
        confidence: of the label, in [0, 1]; 0 without one.
        supports: the probability that the documents support the claim, in [0, 1].
        lean: this less the probability that they refute it, in [-1, 1].
        quotes: the sentences shown.
    """

    meaning: Meaning
    confidence: float
    supports: float
    lean: float
    quotes: tuple[str, ...]


def answered(questions: Sequence[Question], *, reader: str = "") -> Iterator[Answered]:
    """One answer for each claim and its documents; ``reader`` names an added model."""
    backend = EmbeddedBackend(reader=load_reader(reader) if reader else None)
    for text, passages in questions:
        reading = backend.reader.read(text, passages)
        answer = answer_from(reading, Claim(text=text, labels=FEVER))
        meaning = FEVER.meaning(answer.label) if answer.label else Meaning.NOT_ENOUGH
        supports, refutes, _ = reading.probabilities()
        yield Answered(meaning, answer.confidence or 0.0, supports, supports - refutes, answer.quotes)


def outcome(gold: Meaning, said: Meaning) -> Outcome:
    """A claim that the documents decide may be left open; to decide an open one is wrong."""
    if gold is said:
        return "right"
    return "open" if said is Meaning.NOT_ENOUGH else "wrong"
