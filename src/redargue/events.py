"""Everything that happens in a run, as a closed union of events; the only log format.

Some carry what cannot be asked for twice, a mind's reply (``CallFinished``), a tool's passages (``EvidenceFound``) and
what the memory held then (``EvidenceRecalled``), under the key that asks for it again: reading those back is resume and
replay.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, TypeAdapter, field_validator

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage, Quote, Recalled, timeless
from redargue.tasks.decompose import Triplet
from redargue.verdicts import ErrorInfo, MethodName, Score, Verdict


class _Event(Frozen):
    """What all events have.

    Attributes:
        item: which claim of the run, from 0.
        seq: order within the claim, from 0.
        at: seconds since the claim's verification began.
    """

    item: int = 0
    seq: int = 0
    at: float = 0.0


class ClaimStarted(_Event):
    """The verification of one claim began."""

    kind: Literal["claim_started"] = "claim_started"
    claim: Claim
    method: MethodName
    settings: dict[str, Any]
    backend: str
    seed: int


class QueryWritten(_Event):
    """A debater decided what to ask its tool."""

    kind: Literal["query_written"] = "query_written"
    agent: str
    round: int
    query: str
    kept: bool = False


class EvidenceFound(_Event):
    """A tool answered; ``key`` asks for the same answer again; what was not in time is counted in ``left_out``."""

    kind: Literal["evidence_found"] = "evidence_found"
    agent: str
    round: int
    tool: str
    query: str
    passages: tuple[Passage, ...]
    left_out: dict[str, int] = Field(default_factory=dict)
    key: str
    requests: int = 1
    usd: float = 0.0


class EvidenceKept(_Event):
    """The query was kept, and so were its documents; the tool was not asked."""

    kind: Literal["evidence_kept"] = "evidence_kept"
    agent: str
    round: int
    tool: str
    query: str


class EvidenceMissing(_Event):
    """A tool failed; the agent goes on without documents, and the verdict names the gap. Recorded like an answer."""

    kind: Literal["evidence_missing"] = "evidence_missing"
    agent: str
    round: int
    tool: str
    query: str
    why: str
    key: str
    requests: int = 1
    usd: float = 0.0


class EvidenceRecalled(_Event):
    """The memory was asked; ``key`` asks for the same answer again.

    Attributes:
        entities: that were asked for, as the agent wrote them.
        text: that evidence was to be near to.
        items: what it gave, the best first.
        held_back: how many more it holds that were found for near-duplicates of the claim alone.
        left_out: how many more it did not give, by why: expired, later, undated.
    """

    kind: Literal["evidence_recalled"] = "evidence_recalled"
    agent: str
    round: int
    entities: tuple[str, ...]
    text: str
    items: tuple[Recalled, ...]
    held_back: int = 0
    left_out: dict[str, int] = Field(default_factory=dict)
    key: str


class EvidenceRemembered(_Event):
    """What was found was handed to the memory; once this is recorded, it is on the disk.

    Attributes:
        entities: it stands under, as the agent wrote them.
        passages: sha256 of the texts that it was given.
        dropped: how many findings it does not keep, by why: frozen, error, empty.
    """

    kind: Literal["evidence_remembered"] = "evidence_remembered"
    agent: str
    round: int
    entities: tuple[str, ...]
    passages: tuple[str, ...]
    dropped: dict[str, int] = Field(default_factory=dict)
    key: str


class CallFinished(_Event):
    """A mind answered a task; ``key`` asks for the same answer again.

    Attributes:
        outputs: one a sample: the answer's fields and the verbatim text it was read from.
        charge: whether a mind was asked, or an embedding model alone.
        rejected: replies that could not be read before one could: why, and how they began.
        requests: how many were sent, retries and repairs included.
        usd: what they cost; 0 where no price is known.
    """

    kind: Literal["call_finished"] = "call_finished"
    agent: str
    round: int
    task: str
    key: str
    outputs: tuple[dict[str, Any], ...]
    charge: Literal["call", "embedding"] = "call"
    rejected: tuple[dict[str, str], ...] = ()
    requests: int = 1
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0


class CallFailed(_Event):
    """A mind was asked and gave nothing that could be used; what was sent for it counts all the same.

    Attributes:
        error: what went wrong.
        raw: the reply that could not be read, cut to 2,000 characters; empty where none came.
    """

    kind: Literal["call_failed"] = "call_failed"
    agent: str
    round: int
    task: str
    key: str
    error: ErrorInfo
    raw: str = ""
    charge: Literal["call", "embedding"] = "call"
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0


class Answered(_Event):
    """A debater answered."""

    kind: Literal["answered"] = "answered"
    agent: str
    round: int
    text: str
    label: str | None
    quotes: tuple[Quote, ...] = ()


class Scored(_Event):
    """An answer got a score, or the reason why it has none."""

    kind: Literal["scored"] = "scored"
    agent: str
    round: int
    score: Score


class Decomposed(_Event):
    """A claim was taken apart.

    Attributes:
        triplets: its relations.
        topics: what it is about.
        entities: all subjects and objects, each once: the keys of the memory.
    """

    kind: Literal["decomposed"] = "decomposed"
    agent: str
    round: int = 0
    triplets: tuple[Triplet, ...]
    topics: tuple[str, ...]
    entities: tuple[str, ...]


class Stepped(_Event):
    """An agent that acts in steps decided what to do; what came of a call is an event of its own.

    Attributes:
        thought: why.
        tool: that it calls, as it wrote it; empty where it answers, or nothing could be read.
        arguments: of the call.
        reason: for this tool.
        answer: the label that it gives.
        problem: why the step could not be read, or why the tool was not asked.
    """

    kind: Literal["stepped"] = "stepped"
    agent: str
    round: int
    thought: str = ""
    tool: str = ""
    arguments: dict[str, Any] = Field(default_factory=dict)
    reason: str = ""
    answer: str | None = None
    problem: str = ""

    @field_validator("problem")
    @classmethod
    def _correct(cls, problem: str) -> str:
        """Release 0.1.0 recorded this problem with every search of ReAct, although the search was made."""
        return "" if problem == "Invalid action: search" else problem


class Spoke(_Event):
    """A member of a team said something to its own team or, as its summariser, to all."""

    kind: Literal["spoke"] = "spoke"
    agent: str
    round: int
    text: str


class Refereed(_Event):
    """A referee judged.

    Attributes:
        vote: affirmative, negative or tie; empty where it gave no judgement.
        confidence: in [0, 1].
        reason: why.
        scores: of each team by dimension, in [0, 1].
        problem: why there is no judgement.
    """

    kind: Literal["refereed"] = "refereed"
    agent: str
    round: int
    vote: str = ""
    confidence: float = 0.0
    reason: str = ""
    scores: dict[str, dict[str, float]] = Field(default_factory=dict)
    problem: str = ""


class RoundVoted(_Event):
    """What the referees' votes of a round came to.

    Attributes:
        winner: affirmative, negative or tie.
        consensus: share of all confidence behind it, in [0, 1].
        masses: confidence behind each outcome.
        weights: the paper's signed sums.
    """

    kind: Literal["round_voted"] = "round_voted"
    round: int
    winner: str
    consensus: float
    masses: dict[str, float]
    weights: dict[str, float]


class RoundEnded(_Event):
    """All debaters of a round have answered and, where their labels agree, the gate has spoken.

    Attributes:
        labels: one a debater, in their order.
        agreed: all labels are there and equal.
        accepted: agreed, and every score above its threshold.
        why: what kept the round from being accepted.
    """

    kind: Literal["round_ended"] = "round_ended"
    round: int
    labels: tuple[str | None, ...]
    agreed: bool
    accepted: bool
    why: tuple[str, ...] = ()


class Judged(_Event):
    """The judge decided."""

    kind: Literal["judged"] = "judged"
    text: str
    label: str | None


class ClaimEnded(_Event):
    """The verdict stands; the last event of a claim."""

    kind: Literal["claim_ended"] = "claim_ended"
    verdict: Verdict


Event = Annotated[
    ClaimStarted
    | QueryWritten
    | EvidenceFound
    | EvidenceKept
    | EvidenceMissing
    | EvidenceRecalled
    | EvidenceRemembered
    | CallFinished
    | CallFailed
    | Answered
    | Scored
    | Decomposed
    | Stepped
    | Spoke
    | Refereed
    | RoundVoted
    | RoundEnded
    | Judged
    | ClaimEnded,
    Field(discriminator="kind"),
]
EVENT: TypeAdapter[Event] = TypeAdapter(Event)

E = TypeVar("E", bound=_Event)


def canonical(events: Iterable[Event]) -> list[dict[str, Any]]:
    """The events without times, in an order that does not depend on which of two concurrent agents was faster.

    Two runs are the same run where their canonical events are equal.
    """
    rows = [timeless(each.model_dump(mode="json", exclude={"seq", "at"})) for each in events]

    def lane(row: dict[str, Any]) -> tuple[int, int, str, str, str]:
        metric = row["score"]["metric"] if row["kind"] == "scored" else ""
        return row["item"], row.get("round", 0), row.get("agent", ""), row["kind"] + metric, row.get("key", "")

    return sorted(rows, key=lane)


def passages_of(event: Event) -> tuple[Passage, ...]:
    """The passages that an event brought, from a tool or from the memory."""
    if isinstance(event, EvidenceRecalled):
        return tuple(each.passage for each in event.items)
    return event.passages if isinstance(event, EvidenceFound) else ()
