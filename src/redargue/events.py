"""The events of a run: a closed union, and the only log format.

Answers that cannot be requested again are stored in the log under a ``key``: a backend's replies (``CallFinished``), a
tool's passages (``EvidenceFound``) and the memory's state (``EvidenceRecalled``). Resume and replay read them back.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from redargue.caveats import Noted
from redargue.claims import Claim, Frozen, detail
from redargue.evidence import Gap, GapKind, Omission, Passage, Quote, Recalled, without_retrieval_times
from redargue.tasks.extract import Triplet
from redargue.verdicts import ErrorInfo, Score, Usage, Verdict


class _Event(Frozen):
    """Base class of all events; ``seq`` is the order within the claim, ``at`` in seconds since it was started."""

    item: int = 0
    seq: int = 0
    at: float = 0.0


class _AgentEvent(_Event):
    """An event of one agent; ``round`` is from 1, or 0 outside of rounds."""

    kind: str
    agent: str
    round: int


class ClaimStarted(_Event):
    """The verification of one claim began."""

    kind: Literal["claim_started"] = "claim_started"
    claim: Claim
    method: str
    settings: dict[str, Any]
    backend: str
    seed: int


class QueryWritten(_AgentEvent):
    """A debater wrote a query, or kept its last one."""

    kind: Literal["query_written"] = "query_written"
    query: str
    kept: bool = False


class _SearchEvent(_AgentEvent):
    """A search with a tool; its ``requests`` and their cost in dollars, as far as it is known."""

    tool: str
    query: str
    key: str
    requests: int = 1
    usd: float = 0.0
    unknown_usd: float = detail(0.0)


class EvidenceFound(_SearchEvent):
    """A tool answered.

    Attributes:
        left_out: number of passages that were not published in time.
        unread: number of passages that the backend cannot read, by language (ISO 639-1; ``und``: unknown).
        whole: whether the passages are all that the tool has for the claim, whatever the query.
    """

    kind: Literal["evidence_found"] = "evidence_found"
    passages: tuple[Passage, ...]
    left_out: dict[Omission, int] = Field(default_factory=dict)
    unread: dict[str, int] = Field(default_factory=dict)
    whole: bool = detail(False)


class EvidenceKept(_AgentEvent):
    """The query and its documents were kept; the tool was not called."""

    kind: Literal["evidence_kept"] = "evidence_kept"
    tool: str
    query: str


class EvidenceChosen(_AgentEvent):
    """Which passages of its searches so far an agent keeps, by sha256; nobody reads the others."""

    kind: Literal["evidence_chosen"] = "evidence_chosen"
    passages: tuple[str, ...]


class EvidenceMissing(_SearchEvent):
    """A tool failed; the agent continues without documents, and the verdict names the gap. Recorded like an answer."""

    kind: Literal["evidence_missing"] = "evidence_missing"
    why: str


class EvidenceRecalled(_AgentEvent):
    """The memory was queried.

    Attributes:
        text: compared with the evidence by meaning.
        held_back: number of matches stored only for near-duplicates of the claim, which were withheld.
        left_out: number of other matches not returned.
    """

    kind: Literal["evidence_recalled"] = "evidence_recalled"
    entities: tuple[str, ...]
    text: str
    items: tuple[Recalled, ...]
    held_back: int = 0
    left_out: dict[Omission, int] = Field(default_factory=dict)
    key: str


class EvidenceRemembered(_AgentEvent):
    """Findings were stored in the memory, but for the ``dropped``; they are on disk before this is recorded."""

    kind: Literal["evidence_remembered"] = "evidence_remembered"
    entities: tuple[str, ...]
    passages: tuple[str, ...]
    dropped: dict[Omission, int] = Field(default_factory=dict)
    key: str

    @property
    def stored(self) -> int:
        return len(self.passages) - sum(self.dropped.values())


class _CallEvent(_AgentEvent):
    """A call of the backend.

    ``today``: the day that the prompt stated, if any. ``usd``: 0 if unknown. ``unknown_…``: the most that requests of
    unknown cost may have cost, such as those that were lost.
    """

    task: str
    key: str
    today: date | None = detail(None)
    requests: int = 1
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    usd: float = 0.0
    unknown_tokens: int = detail(0)
    unknown_usd: float = detail(0.0)


class CallFinished(_CallEvent):
    """The backend performed a task; ``outputs`` have each sample's answer and verbatim text."""

    kind: Literal["call_finished"] = "call_finished"
    outputs: tuple[dict[str, Any], ...]
    charge: Literal["call", "embedding"] = "call"
    rejected: tuple[dict[str, str], ...] = ()


class CallFailed(_CallEvent):
    """The backend failed to perform a task; ``raw`` is the unreadable reply, if any, cut to 2,000 characters.

    Or a search, whose tool is ``task``, was cut off after it had sent requests.
    """

    kind: Literal["call_failed"] = "call_failed"
    error: ErrorInfo
    raw: str = ""
    charge: Literal["call", "embedding", "search"] = "call"
    requests: int = 0


class CallReused(_AgentEvent):
    """An agent's answer to the same question in an earlier round was used again; nothing was sent."""

    kind: Literal["call_reused"] = "call_reused"
    task: str


class TurnKept(_AgentEvent):
    """A debater was not asked: its query, its documents and the other debaters' answers had not changed.

    Or its tool found the passages of another debater, ``shared_with``, whose answer counts for both.
    """

    kind: Literal["turn_kept"] = "turn_kept"
    label: str | None
    shared_with: str = ""


class Answered(_AgentEvent, Noted):
    """A debater answered."""

    kind: Literal["answered"] = "answered"
    text: str
    label: str | None
    quotes: tuple[Quote, ...] = ()


class Scored(_AgentEvent):
    """An answer was scored."""

    kind: Literal["scored"] = "scored"
    score: Score


class Decomposed(_Event):
    """A claim was decomposed; ``entities`` are all subjects and objects, the keys of the memory."""

    kind: Literal["decomposed"] = "decomposed"
    agent: str
    round: int = 0
    triplets: tuple[Triplet, ...]
    topics: tuple[str, ...]
    entities: tuple[str, ...]


class Stepped(_AgentEvent):
    """An agent that acts in steps chose its next step; the outcome of a tool call is a separate event."""

    kind: Literal["stepped"] = "stepped"
    thought: str = ""
    tool: str = ""
    arguments: dict[str, Any] = Field(default_factory=dict)
    reason: str = ""
    answer: str | None = None
    problem: str = ""


class Spoke(_AgentEvent):
    """A team member spoke to its team or, as the summariser, to all, who learn whether the team ``concedes``."""

    kind: Literal["spoke"] = "spoke"
    text: str
    concedes: bool = False


class Refereed(_AgentEvent):
    """A referee judged a round; ``vote`` is empty where there is no judgement, ``confidence`` is in [0, 1]."""

    kind: Literal["refereed"] = "refereed"
    vote: str = ""
    confidence: float = 0.0
    reason: str = ""
    scores: dict[str, dict[str, float]] = Field(default_factory=dict)
    problem: str = ""


class RoundVoted(_Event):
    """The referees' votes of a round were counted; ``consensus``: the winner's share of all confidence, in [0, 1]."""

    kind: Literal["round_voted"] = "round_voted"
    round: int
    winner: str
    consensus: float
    masses: dict[str, float]
    weights: dict[str, float]


class StageEnded(_Event):
    """A stage of a cascade ended.

    Attributes:
        number: from 1, ``of`` as many stages.
        score: the stage's calibrated confidence in its label, in [0, 1]; None where it has none.
        threshold: least score that lets the cascade stop here; None if it never does, or is at its last stage.
        may_decide: whether quotations and sources allow the stage to decide, whatever its score.
        stopped: whether the cascade ended here.
        why: the reasons for stopping, or for continuing.
        usage: of the claim so far.
    """

    kind: Literal["stage_ended"] = "stage_ended"
    stage: str
    number: int
    of: int
    label: str | None
    score: float | None = None
    threshold: float | None = None
    may_decide: bool
    stopped: bool
    why: tuple[str, ...]
    usage: Usage = Usage()


class RoundEnded(_Event):
    """All debaters have answered; a round is ``accepted`` if labels agree, and the agreement is stable.

    ``documents``: that the debaters of an accepted round have quoted; if it is one, they have agreed on one document.
    ``not_held``: further rounds that are left out, because no debater has changed.
    """

    kind: Literal["round_ended"] = "round_ended"
    round: int
    labels: tuple[str | None, ...]
    agreed: bool
    accepted: bool
    why: tuple[str, ...] = ()
    documents: int = 0
    not_held: int = 0


class Judged(_Event, Noted):
    """The judge decided."""

    kind: Literal["judged"] = "judged"
    text: str
    label: str | None


class ClaimEnded(_Event):
    """The last event of a claim."""

    kind: Literal["claim_ended"] = "claim_ended"
    verdict: Verdict


_Searches = QueryWritten | EvidenceFound | EvidenceKept | EvidenceChosen | EvidenceMissing
_OfMemory = EvidenceRecalled | EvidenceRemembered
_Calls = CallFinished | CallFailed | CallReused
_Turns = TurnKept | Answered | Scored | Decomposed | Stepped | Spoke | Refereed
_Ends = RoundVoted | StageEnded | RoundEnded | Judged | ClaimEnded
_AnyEvent = ClaimStarted | _Searches | _OfMemory | _Calls | _Turns | _Ends
Event = Annotated[_AnyEvent, Field(discriminator="kind")]
EVENT: TypeAdapter[Event] = TypeAdapter(Event)


class EventHead(BaseModel):
    """What a line of the log is about; its other fields are skipped, which is much faster than reading them."""

    model_config = ConfigDict(frozen=True)

    item: int = 0
    kind: str
    key: str = ""


def head_of(line: bytes) -> EventHead | None:
    """None for a line that is not an event, such as one that was cut off."""
    try:
        return EventHead.model_validate_json(line)
    except ValidationError:
        return None


def canonical(events: Iterable[Event]) -> list[dict[str, Any]]:
    """The events without times, in an order that does not depend on concurrency; equal in equal runs."""
    rows = [without_retrieval_times(event.model_dump(mode="json", exclude={"seq", "at"})) for event in events]

    def order(row: dict[str, Any]) -> tuple[int, int, str, str, str]:
        metric = row["score"]["metric"] if row["kind"] == "scored" else ""
        key = row.get("key") or row.get("task", "")  # a reused call has no key
        return row["item"], row.get("round", 0), row.get("agent", ""), row["kind"] + metric, key

    return sorted(rows, key=order)


def passages_of(event: Event) -> tuple[Passage, ...]:
    """The passages of an event, from a tool or from the memory."""
    if isinstance(event, EvidenceRecalled):
        return tuple(recalled.passage for recalled in event.items)
    return event.passages if isinstance(event, EvidenceFound) else ()


def gap_of(event: Event) -> Gap | None:
    """What a search lacked; None for a complete one, and for other events."""
    if isinstance(event, EvidenceMissing):
        return Gap(kind=GapKind.FAILED, tool=event.tool, query=event.query, why=event.why)
    if not isinstance(event, EvidenceFound) or (event.passages and not event.left_out and not event.unread):
        return None
    kind = GapKind.PARTIAL if event.passages else GapKind.EMPTY
    return Gap(kind=kind, tool=event.tool, query=event.query, left_out=event.left_out, unread=event.unread)
