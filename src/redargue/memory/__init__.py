"""Data models, settings and interface of the evidence memory."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Literal, Protocol

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.evidence import Omission, Passage, Recalled
from redargue.retrieval.corpus.ranking import query_words, terms

# characters of a key: databases limit the size of index entries, and names are shorter
_MAX_LENGTH = 200
_PUNCTUATION = frozenset(".,;:!?…'\"`´¡¿·*_-–—")
_MIN_OVERLAP = 0.75  # Jaccard similarity of two claims' word stems


def normalize_entity(entity: str) -> str:
    """Returns the key of an entity, which different spellings of its name share; empty for a blank name.

    Removes case, character width, extra spaces, punctuation around the name, and leading articles. A name of
    punctuation alone ("!!!") is kept, and a name of articles alone becomes the last one ("The The" gives "the"). The
    paper only says that it matches "string-based keywords" (MERMAID, limitations).
    """
    # folding can undo NFKC
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", entity).casefold())
    whole = name = " ".join(folded.split())[:_MAX_LENGTH].rstrip()
    while (stripped := _strip_once(name)) != name:
        if not stripped:
            return name if any(char.isalnum() for char in name) else whole
        name = stripped
    return name


def _strip_once(name: str) -> str:
    """Strips the punctuation around a name; if there is none, strips one leading article."""
    kept = [index for index, char in enumerate(name) if not _is_strippable(char)]
    bare = name[kept[0] : kept[-1] + 1] if kept else ""
    return bare if bare != name else re.sub(r"^(?:the|an|a) ", "", name)


def _is_strippable(char: str) -> bool:
    brackets = ("Ps", "Pe", "Pi", "Pf", "Pd")  # Unicode categories
    return char.isspace() or char in _PUNCTUATION or unicodedata.category(char) in brackets


def near_duplicates(claim: str, others: Iterable[str]) -> frozenset[str]:
    """Returns the claims among ``others`` that make nearly the same statement as ``claim``, by their content words.

    The leak guard withholds their evidence. The threshold was chosen on the claims of FactCheck-Bench, FacTool-QA and
    BingCheck: pairs above it make the same statement ("won in 1993", "won"); pairs below it only share a subject, and
    the purpose of the memory is to share evidence between them.
    """
    others = list(dict.fromkeys(others))
    texts = [" ".join(query_words(text)) for text in (claim, *others)]
    stems, *others_stems = map(frozenset, terms(texts))
    shared = (len(stems & each) / max(1, len(stems | each)) for each in others_stems)
    pairs = zip(others, shared, strict=True)
    return frozenset(other for other, share in pairs if other == claim or share >= _MIN_OVERLAP)


Status = Literal["ok", "empty", "error", "changed", "gone"]


class MemorySettings(Frozen):
    """How a run uses its memory.

    The paper's settings are ``by="entity"``; those of its released program are
    ``by="substring", limit=3, characters=2000``.

    Attributes:
        mode: ``on``, or ``frozen`` to recall evidence without storing any (the paper's proxy memory).
        by: how evidence is selected: ``entity`` (stored under an entity of the claim), ``meaning`` (similar to the
            claim), ``both``, or ``substring`` (stored under an entity that contains one of the claim's, as in the
            released program).
        limit: maximum number of passages per recall.
        characters: maximum length of a recalled passage.
        similarity: minimum cosine similarity for selection by meaning, in [-1, 1].
        max_age: days after which evidence expires; None for never.
        keep_misses: whether searches without a result are stored and recalled.
        guard: whether evidence that was found only for near-duplicates of the claim is withheld, as in benchmarks.
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
    """A tool observation that a method passes to the memory.

    Attributes:
        passage: its text is empty for a search without a result.
        arguments: if empty, the query is the only argument.
        status: ``empty`` for a search without a result, ``error`` for a failed call, which is never stored.
    """

    passage: Passage
    arguments: dict[str, object] = Field(default_factory=dict)
    status: Literal["ok", "empty", "error"] = "ok"


class Recall(Frozen):
    """Evidence that the memory returns for a claim, best first."""

    items: tuple[Recalled, ...] = ()
    held_back: int = 0  # records that the leak guard withheld
    left_out: dict[Omission, int] = Field(default_factory=dict)  # expired, later, undated


class EvidenceMemory(Protocol):
    """Interface of :class:`~redargue.memory.memory.Memory` and of a recorded memory in a replay."""

    @property
    def about(self) -> dict[str, object]: ...

    async def recall(self, entities: Iterable[str], *, claim: Claim, now: datetime, text: str = "") -> Recall: ...

    async def remember(
        self, findings: Sequence[Finding], *, entities: Iterable[str], claim: str, run: str, now: datetime
    ) -> dict[Omission, int]: ...


class MemoryRecord(Frozen):
    """A stored record."""

    number: int  # unique and never reused
    workspace: str
    # ``empty`` for a search without a result; ``changed`` or ``gone`` after a recheck
    status: Status
    passage: Passage
    arguments: dict[str, object]  # of the tool call that returned the evidence
    length: int  # characters of the text before it was truncated
    checked: datetime | None = None  # time of the last recheck
    entities: tuple[str, ...] = ()
    # claims that the evidence was found for, and the runs that found it
    claims: tuple[tuple[str, str], ...] = ()


class RecordFilter(Frozen):
    """Selects records of a workspace that match every condition that is set; ``before`` is a day (UTC)."""

    numbers: tuple[int, ...] = ()
    entity: str = ""
    tool: str = ""
    status: Status | None = None
    before: date | None = None

    @property
    def is_empty(self) -> bool:
        return self == RecordFilter()
