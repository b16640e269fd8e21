"""What goes into the memory and what comes out of it, and how it is set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any, Literal, Protocol

from pydantic import Field

from redargue.claims import Frozen
from redargue.evidence import Passage, Recalled

Status = Literal["ok", "empty", "error", "changed", "gone"]


class MemorySettings(Frozen):
    """How a memory is used.

    The paper's own: ``by="entity"``. Its released program: ``by="substring", limit=3, characters=2000``.

    Attributes:
        mode: ``on``; ``frozen`` recalls and keeps nothing (the paper's proxy memory).
        by: what is recalled: evidence stored under the same entity, near in meaning to the claim, either, or (as in the
            released program) under an entity that holds one that is asked for.
        limit: passages a recall.
        characters: of each passage.
        similarity: least cosine of what is recalled by meaning, in [-1, 1].
        max_age: days after which evidence has expired; None for never.
        keep_misses: whether searches without a result are stored and recalled.
        guard: holds evidence back that was found for a near-duplicate of the claim alone. For benchmarks.
    """

    mode: Literal["on", "frozen"] = "on"
    by: Literal["entity", "meaning", "both", "substring"] = "both"
    limit: int = Field(default=5, ge=1)
    characters: int = Field(default=2000, ge=1)
    similarity: float = Field(default=0.5, ge=-1, le=1)
    max_age: float | None = Field(default=None, gt=0)
    keep_misses: bool = False
    guard: bool = False


class Finding(Frozen):
    """One observation of a tool, as a protocol hands it over.

    Attributes:
        passage: what was observed; ``tool``, ``query`` and ``retrieved`` are its provenance. Empty text for a miss.
        arguments: of the tool's call; the query alone where it has no others.
        status: ``ok``, ``empty`` for a search without a result, ``error`` for a failure, which is never stored.
    """

    passage: Passage
    arguments: dict[str, Any] = Field(default_factory=dict)
    status: Literal["ok", "empty", "error"] = "ok"


class Recall(Frozen):
    """What the memory holds for a claim.

    Attributes:
        items: the best first.
        held_back: how many more were found for near-duplicates of the claim alone, and not given.
        left_out: how many more were not given, by why: expired, later, undated.
    """

    items: tuple[Recalled, ...] = ()
    held_back: int = 0
    left_out: dict[str, int] = Field(default_factory=dict)


class Kept(Frozen):
    """What became of findings that were handed over.

    Attributes:
        added: were not there.
        merged: were there; the claim was noted with them.
        dropped: were not kept, by why: ``frozen``, ``error``, ``empty``.
    """

    added: int = 0
    merged: int = 0
    dropped: dict[str, int] = Field(default_factory=dict)


class EvidenceMemory(Protocol):
    """What a run asks, and hands what it found: :class:`~redargue.memory.memory.Memory`, or one that was recorded."""

    @property
    def about(self) -> dict[str, Any]:
        """How it is used, as a run writes it down."""
        ...

    async def recall(
        self,
        entities: Iterable[str],
        *,
        claim: str,
        now: datetime,
        text: str = "",
        as_of: date | None = None,
        only_in_time: bool = False,
    ) -> Recall:
        """What it holds for the claim, the best first.

        Raises:
            CorpusError: it cannot be read.
        """
        ...

    async def remember(
        self, findings: Sequence[Finding], *, entities: Iterable[str], claim: str, run: str, now: datetime
    ) -> Kept:
        """Keeps what was found for the claim.

        Raises:
            CorpusError: it cannot be written to; nothing was kept.
        """
        ...


class Stored(Frozen):
    """A record of the memory, whole.

    Attributes:
        number: of the record; never given twice.
        workspace: which it belongs to.
        status: ``ok``; ``empty`` for a miss; what a recheck found: ``changed`` or ``gone``.
        passage: the evidence with its source.
        arguments: of the call that found it.
        length: of the text in characters, before it was cut.
        checked: when it was last looked for again.
        entities: it stands under.
        claims: it was found for, each with the run that found it.
    """

    number: int
    workspace: str
    status: Status
    passage: Passage
    arguments: dict[str, Any]
    length: int
    checked: datetime | None = None
    entities: tuple[str, ...] = ()
    claims: tuple[tuple[str, str], ...] = ()


class Filter(Frozen):
    """Which records of a workspace are meant: those to which all that is given applies.

    Attributes:
        numbers: of the records; empty for any.
        entity: they stand under.
        tool: that found them.
        status: they have.
        before: the day before whose beginning (UTC) they were retrieved.
    """

    numbers: tuple[int, ...] = ()
    entity: str = ""
    tool: str = ""
    status: Status | None = None
    before: date | None = None

    @property
    def everything(self) -> bool:
        """Whether it leaves nothing out."""
        return self == Filter()
