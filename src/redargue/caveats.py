"""What a verdict does not rest on, where evidence and claim differ, and why a claim or a sentence was not checked."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Literal

from redargue.claims import Frozen, Meaning, detail
from redargue.evidence import Injection


class CaveatKind(StrEnum):
    """What a verdict lacks."""

    FROM_MEMORY = "from_memory"  # the method reads no evidence
    NOTHING_FOUND = "nothing_found"
    UNQUOTED = "unquoted"  # no quotation on the verdict's side was found in a passage
    TOO_LITTLE = "too_little"  # such quotations were found, and say too little to carry it
    ONLY_INJECTED = "only_injected"  # every such quotation is of a passage that speaks to models
    ONLY_CHANGED = "only_changed"  # every such quotation is recalled, and no longer in its source
    SINGLE_SOURCE = "single_source"
    INJECTION = "injection"  # a passage speaks to models
    # the quotations are recalled, and their sources were not read again
    NOT_READ_AGAIN = "not_read_again"


class Caveat(Frozen):
    """A reservation about a verdict.

    Attributes:
        answer: label that does not count for want of a quotation; empty where the verdict keeps it.
        source: publisher, title or address of the passage; empty where it names none.
        sources: of a single source, how many sources show the label: 1 or 0.
        publishers: of a single source, how many publishers were at hand.
        injection: what the passage does that only a model would obey.
        tool: that the recalled evidence was found with.
        day: when it was found.
    """

    kind: CaveatKind
    answer: str = detail("")
    source: str = detail("")
    sources: int = detail(0)
    publishers: int = detail(0)
    injection: Injection | None = detail(None)
    tool: str = detail("")
    day: date | None = detail(None)


class UncheckedReason(StrEnum):
    """Why a claim has no verdict, or a sentence no claim."""

    LANGUAGE = "language"
    SEARCH_FAILED = "search_failed"
    ERROR = "error"
    BUDGET = "budget"  # the next call would have exceeded the budget
    UNSURE = "unsure"
    NO_ANSWER = "no_answer"
    SUBJECTIVE = "subjective"
    NOT_A_CLAIM = "not_a_claim"  # the sentence states nothing that can be checked
    LEFT_OUT = "left_out"  # the sentence states something, and the model extracted no claim
    # a heading, a cell, a caption or a line without a verb that may state something
    FRAGMENT = "fragment"
    TABLE = "table"
    TOO_LONG = "too_long"  # the sentence has more characters than a claim may have
    NO_LINK = "no_link"  # only claims with a link are checked
    NO_CONTEXT = "no_context"  # an answer without a document to check it against


class Unchecked(Frozen):
    """Why a claim or a sentence was not checked.

    Attributes:
        languages: that are not read (ISO 639-1; ``und``: unknown).
        unread: number of passages in these languages; 0 where the claim or the sentence itself is.
        passages: number of passages that were found.
        error: type of the error.
        caveats: of a claim without an answer.
    """

    reason: UncheckedReason
    languages: tuple[str, ...] = detail(())
    unread: int = detail(0)
    passages: int = detail(0)
    error: str = detail("")
    caveats: tuple[Caveat, ...] = detail(())

    @property
    def may_state(self) -> bool:
        """Whether the claim or sentence may state something that can be checked."""
        return self.reason not in (UncheckedReason.SUBJECTIVE, UncheckedReason.NOT_A_CLAIM)


DifferenceKind = Literal[
    "number", "negation", "opposite", "modality", "quantifier", "roles", "comparison", "time", "crossed"
]


class Difference(Frozen):
    """What the claim says, and what the evidence says instead; one of them is empty where it lacks a negation.

    Of the kind "crossed" is a value that the evidence gives to another holder than the claim does.
    """

    kind: DifferenceKind
    claim: str
    evidence: str


class Leaning(Frozen):
    """Calibrated probabilities of two sides of which neither was chosen, in [0, 1]."""

    supports: float
    refutes: float


class ClaimPart(Frozen):
    """One of the facts that a claim joins, as a sentence, and what the evidence says of it alone."""

    text: str
    meaning: Meaning


class Noted(Frozen):
    """What the embedded reader notes beside an answer.

    Attributes:
        differences: where the evidence contradicts the claim.
        leaning: of a claim that is left open although one side is more probable than neither.
        parts: of a claim that joins several facts and is not supported, if the evidence settles one of them.
    """

    differences: tuple[Difference, ...] = ()
    leaning: Leaning | None = None
    parts: tuple[ClaimPart, ...] = ()

    @property
    def noted(self) -> dict[str, object]:
        """The fields of this class, to copy them."""
        return {"differences": self.differences, "leaning": self.leaning, "parts": self.parts}


NOTHING_NOTED = Noted()
