"""Evidence memory: a run recalls evidence before an agent acts and stores new evidence afterwards (MERMAID, Alg. 1).

Differences from the paper: entities are normalized instead of compared as strings; evidence is also found by meaning,
which the paper lists as missing (limitations); records are deduplicated by call and content, dated, and belong to a
workspace; a benchmark can withhold evidence that was found for a near-duplicate of the claim.

The memory as a tool that an agent calls with an entity (MERMAID's proxy memory, ``M21``).
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import groupby
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

from redargue.claims import Claim
from redargue.errors import ToolFailed, UsageError
from redargue.evidence import Omission, Passage, Recalled, Timing, cut_ends, timing
from redargue.files import Closable, home
from redargue.memory import (
    EvidenceMemory,
    Finding,
    MemoryRecord,
    MemorySettings,
    Recall,
    RecordFilter,
    Status,
    near_duplicates,
    normalize_entity,
    records,
)
from redargue.memory.records import BinaryIndex, MemoryStore, MemoryTransaction, SqliteMemory, pack_signs
from redargue.net.secrets import Secrets
from redargue.nli.session import DIMENSIONS, Embedder, Floats, shared
from redargue.registry import Registry, a_function, having
from redargue.retrieval.corpus import Encoder
from redargue.retrieval.corpus.ranking import fuse
from redargue.retrieval.tools import Search
from redargue.runs.record import Clock

_DEPTH = 200  # nearest codes whose vectors are compared exactly
_PAGE = 20  # records read per query until enough of them can be returned
_MAX_CLAIM = 500  # characters of a stored claim: databases limit the size of index entries
_CLAIMS_SHOWN = 3  # claims per recalled record, of those that it was found for

memory_stores: Registry[Callable[..., MemoryStore]] = Registry(
    "memory store", group="redargue.memory_stores", extra="scale", missing=a_function
)
"""Stores by the scheme of their address; an address without a scheme is the path of a SQLite file."""


class Memory(Closable):
    """One workspace of a memory. Threads and concurrent claims can share it.

    Records of other workspaces are neither read nor changed. ``secrets`` are masked in everything stored. The default
    encoder is the bundled embedder, loaded on first use. An empty or too long workspace name raises UsageError.
    """

    def __init__(
        self,
        database: MemoryStore,
        *,
        workspace: str = "default",
        settings: MemorySettings | None = None,
        encoder: Encoder | None = None,
        secrets: Secrets | None = None,
    ) -> None:
        if not 0 < len(workspace.strip()) <= 100:
            hint = "use 1 to 100 characters: --workspace NAME"
            raise UsageError(f"invalid workspace name {workspace[:120]!r}", hint=hint)
        self.workspace, self.settings = workspace, settings or MemorySettings()
        self._database, self._encoder, self._loading = database, encoder, Lock()
        self._secrets = secrets or Secrets.from_environment()
        self._index, self._purges = BinaryIndex(DIMENSIONS), ""

    @property
    def about(self) -> dict[str, object]:
        """Workspace and settings, as recorded in ``run.json``; not the address, which may contain a password."""
        return {"workspace": self.workspace, **self.settings.model_dump(mode="json")}

    async def recall(self, entities: Iterable[str], *, claim: Claim, now: datetime, text: str = "") -> Recall:
        """Returns evidence stored under the entities or similar in meaning, best first and without duplicate texts.

        Records under entities are ranked by the number of matching entities, then newest first; records similar in
        meaning are ranked by similarity. The two rankings are merged by reciprocal rank fusion.

        Args:
            entities: subjects and objects of the claim's triplets, in any spelling.
            claim: for the leak guard, and for the publication dates that its ``as_of`` and ``only_in_time`` allow.
            now: for the age of records.
            text: query for the search by meaning; default: the claim's text.

        Raises:
            CorpusError: the database cannot be read.
        """
        keys = tuple(dict.fromkeys(filter(None, map(normalize_entity, entities))))
        return await asyncio.to_thread(self._recall, keys, claim, now, text or claim.text)

    def _recall(self, keys: Iterable[str], claim: Claim, now: datetime, text: str) -> Recall:
        by = self.settings.by
        vector = self._encode([text])[0] if by in ("meaning", "both") and text.strip() else None
        with self._database.read() as db:
            if by == "substring":
                keys = records.entities_containing(db, self.workspace, keys)
            keys = () if by == "meaning" else keys
            entities = records.entities_by_record(db, self.workspace, keys)
            similarities = {} if vector is None else self._similarities(db, vector)
            ranking = [number for number, _ in fuse(entities, similarities)]
            selected, held_back, left_out = self._select(db, ranking, claim, now)
        items = tuple(
            self._recalled(record, claim.as_of, entities.get(number, ()), similarities.get(number))
            for number, record in selected.items()
        )
        return Recall(items=items, held_back=held_back, left_out=dict(sorted(left_out.items())))

    def _similarities(self, db: MemoryTransaction, vector: Floats) -> dict[int, float]:
        """Cosine similarities by record number, highest first, then newest first."""
        if self._purges != (purges := records.purge_count(db)):
            self._index, self._purges = BinaryIndex(DIMENSIONS), purges
        while rows := records.codes_after(db, self.workspace, self._index.last):
            self._index.extend(rows)
        exact = records.cosine_similarities(db, self._index.nearest(vector, _DEPTH), vector)
        similar = (pair for pair in exact.items() if pair[1] >= self.settings.similarity)
        return dict(sorted(similar, key=lambda pair: (-pair[1], -pair[0])))

    def _select(
        self, db: MemoryTransaction, ranking: Sequence[int], claim: Claim, now: datetime
    ) -> tuple[dict[int, MemoryRecord], int, Counter[Omission]]:
        """The best records that may be returned, and the counts of those held back or left out before the last."""
        selected: dict[int, MemoryRecord] = {}
        texts: set[str] = set()
        held_back, left_out = 0, Counter[Omission]()
        for start in range(0, len(ranking), _PAGE):
            numbers = ranking[start : start + _PAGE]
            page = records.fetch(db, numbers)
            duplicates: frozenset[str] = frozenset()
            if self.settings.guard:
                others = {other for record in page.values() for other, _ in record.claims}
                duplicates = near_duplicates(claim.text[:_MAX_CLAIM], others)
            for record in filter(None, map(page.get, numbers)):
                if len(selected) == self.settings.limit:
                    return selected, held_back, left_out
                text = record.passage.text or record.passage.query
                if record.status not in self._kept or text in texts:
                    continue
                if duplicates and all(other in duplicates for other, _ in record.claims):
                    held_back += 1
                elif reason := self._reason_to_skip(record, claim, now):
                    left_out[reason] += 1
                else:
                    texts.add(text)
                    selected[record.number] = record
        return selected, held_back, left_out

    @property
    def _kept(self) -> tuple[str, ...]:
        """The status of what is stored and recalled."""
        return ("ok", "empty") if self.settings.keep_misses else ("ok",)

    def _reason_to_skip(self, record: MemoryRecord, claim: Claim, now: datetime) -> Omission | None:
        passage, days = record.passage, self.settings.max_age
        if days and passage.retrieved and now - passage.retrieved > timedelta(days=days):
            return Omission.EXPIRED
        published = timing(passage.published, claim.as_of) if claim.as_of else Timing.IN_TIME
        if published is Timing.LATER:
            return Omission.LATER
        return Omission.UNDATED if claim.only_in_time and published is Timing.UNDATED else None

    def _recalled(
        self, record: MemoryRecord, as_of: date | None, entities: tuple[str, ...], similarity: float | None
    ) -> Recalled:
        text = record.passage.text[: self.settings.characters]
        cut = cut_ends(start=False, end=len(text) < record.length)
        changes: dict[str, object] = {"text": text, "cut": cut}
        if as_of:
            changes["timing"] = timing(record.passage.published, as_of)
        return Recalled(
            passage=record.passage.model_copy(update=changes),
            length=record.length,
            number=record.number,
            status="empty" if record.status == "empty" else "ok",
            arguments=record.arguments,
            claims=tuple(claim for claim, _ in record.claims[:_CLAIMS_SHOWN]),
            entities=entities,
            similarity=similarity,
        )

    async def remember(
        self, findings: Sequence[Finding], *, entities: Iterable[str], claim: str, run: str, now: datetime
    ) -> dict[Omission, int]:
        """Stores findings for a claim under all of its entities, and counts those that are left out.

        Equal content of equal calls is one record, whatever claims it was found for. If this raises, nothing was
        stored.

        Raises:
            StoreUnavailable: other processes held the write lock for too long, or the disk is full.
            CorpusError: the database cannot be written to.
        """
        keys = tuple(dict.fromkeys(map(self._clean, filter(None, map(normalize_entity, entities)))))
        accepted, dropped = self._split(findings)
        if accepted:
            new = [records.NewRecord.of(self._cleaned(finding)) for finding in _best_last(accepted)]
            text = self._clean(claim)[:_MAX_CLAIM]
            await asyncio.to_thread(self._remember, new, keys, text, run, now)
        return dropped

    def _split(self, findings: Sequence[Finding]) -> tuple[list[Finding], dict[Omission, int]]:
        if self.settings.mode == "frozen":
            return [], {Omission.FROZEN: len(findings)} if findings else {}
        accepted = [finding for finding in findings if finding.status in self._kept]
        others = (finding.status for finding in findings if finding.status not in self._kept)
        return accepted, dict(sorted(Counter(map(Omission, others)).items()))

    def _remember(
        self, new: Sequence[records.NewRecord], keys: Sequence[str], claim: str, run: str, now: datetime
    ) -> None:
        # Embedding is slow and needs no lock; the write transaction checks again which records exist.
        with self._database.read() as db:
            stored = records.stored_digests(db, self.workspace, [record.digest for record in new])
        vectors = self._vectors([record for record in new if record.digest not in stored])
        with self._database.write() as db:
            for record in new:
                number = records.refresh(db, self.workspace, record, now)
                if number is None:  # not stored, or purged since the first check
                    vector = vectors.get(record.digest) or self._vectors([record])[record.digest]
                    number = records.insert(db, self.workspace, record, vector, now)
                records.link(db, self.workspace, number, keys, claim, run)

    def _vectors(self, new: Sequence[records.NewRecord]) -> dict[str, records.Vector]:
        if not new:
            return {}
        vectors = self._encode([record.embedded_text for record in new])
        pairs = map(records.Vector, vectors, pack_signs(vectors))
        return dict(zip((record.digest for record in new), pairs, strict=True))

    def _encode(self, texts: Sequence[str]) -> Floats:
        with self._loading:
            if self._encoder is None:
                self._encoder = shared()
        return self._encoder.encode(texts)

    def _cleaned(self, finding: Finding) -> Finding:
        """The finding with API keys masked and without characters that a database rejects."""
        texts = ((name, value) for name, value in finding.passage if isinstance(value, str))
        cleaned = {name: self._clean(text) for name, text in texts}
        arguments = json.loads(self._clean(json.dumps(finding.arguments)))
        passage = finding.passage.model_copy(update=cleaned)
        return finding.model_copy(update={"passage": passage, "arguments": arguments})

    def _clean(self, text: str) -> str:
        return self._secrets.hide(text.replace("\0", "").encode("utf-8", "replace").decode())

    def records(self, condition: RecordFilter | None = None, *, limit: int = 50) -> tuple[MemoryRecord, ...]:
        """Matching records, newest first."""
        with self._database.read() as db:
            return records.newest(db, self.workspace, condition or RecordFilter(), limit)

    def count(self, condition: RecordFilter | None = None) -> int:
        with self._database.read() as db:
            return records.count(db, self.workspace, condition or RecordFilter())

    def purge(self, condition: RecordFilter) -> int:
        """Deletes matching records permanently and frees their space; returns how many."""
        with self._database.write() as db:
            count = records.remove_records(db, self.workspace, condition)
            records.increment_purge_count(db)
        if count:
            self._database.shrink()
        return count

    def mark(self, statuses: dict[int, Status], now: datetime) -> None:
        with self._database.write() as db:
            for number, status in statuses.items():
                records.mark_checked(db, number, status, now)

    def close(self) -> None:
        self._database.close()


def _best_last(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings of each call in reverse: the newest records are recalled first, and tools return the best first."""
    for _, call in groupby(findings, key=lambda finding: (finding.passage.tool, finding.passage.query)):
        yield from reversed(tuple(call))


def open_memory(
    where: str | Path = "",
    *,
    workspace: str = "default",
    settings: MemorySettings | None = None,
    encoder: Encoder | None = None,
    write: bool | None = None,
) -> Memory:
    """Opens the memory at an address.

    ``where`` is a path or ``postgresql://…``; default: :func:`default_memory`. With ``write`` (default: True unless the
    settings are frozen), the memory may be changed, and is created if it does not exist.

    Raises:
        UsageError: there is no memory to read, it was made with another embedder, or psycopg is not installed.
        CorpusError: the memory cannot be used.
    """
    settings = settings or MemorySettings()
    write = settings.mode == "on" if write is None else write
    embedder = (encoder or Embedder).name
    database: MemoryStore
    if isinstance(where, str) and (address := re.match(r"([a-z]+)://", where)):
        with memory_stores.blamed(address[1]):
            database = memory_stores[address[1]](where, write=write, embedder=embedder)
            if lacks := having("read", "write", "shrink", "close")(database):
                raise TypeError(f"it returned {database!r:.60}: {lacks}")
    else:
        path = Path(where or default_memory()).expanduser()
        database = SqliteMemory(path, write=write, embedder=embedder)
    try:
        return Memory(database, workspace=workspace, settings=settings, encoder=encoder)
    except UsageError:
        database.close()
        raise


def default_memory() -> Path:
    return home() / "memory.db"


LOOKUP = "memory_lookup"


class MemoryLookup:
    """Returns stored evidence for an entity; ``memory`` is None in a replay, which makes no tool calls."""

    name = LOOKUP
    about = "evidence that was found for earlier claims, by entity; look here before you call another tool"
    revision = "1"
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {"entity": {"type": "string", "description": "a name, a date, a thing"}},
        "required": ["entity"],
        "additionalProperties": False,
    }
    online: ClassVar[bool] = False

    def __init__(self, memory: EvidenceMemory | None, claim: Claim, clock: Clock) -> None:
        self._memory, self._claim, self._clock = memory, claim, clock

    async def call(self, arguments: Mapping[str, Any], *, search: Search) -> tuple[Passage, ...]:
        """Returns evidence for ``arguments["entity"]``, best first; the claim's as-of date applies.

        Raises ToolFailed if the arguments contain no entity, and UsageError if the run has no memory.
        """
        entity = arguments.get("entity")
        if not isinstance(entity, str) or not entity.strip():
            what = f"{LOOKUP} cannot be called with {dict(arguments)!r:.200}"
            raise ToolFailed(what, hint='give {"entity": "…"}')
        if self._memory is None:
            raise UsageError("this run has no memory", hint="pass memory=open_memory(…)")
        now = self._clock.now()
        recall = await self._memory.recall((entity,), claim=self._claim, now=now, text=entity)
        return tuple(item.passage for item in recall.items if item.status == "ok")
