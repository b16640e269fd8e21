"""Evidence memory: recalled before an agent begins to act, brought up to date when it has ended (MERMAID, Alg. 1).

What differs from the paper: entities are keys in a normal form instead of strings; evidence is also found by meaning,
which the paper names as missing (limitations); what is stored is deduplicated by call and content, dated, and belongs
to one workspace; and a benchmark can hold back what was found for a near-duplicate of the claim in hand.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, NamedTuple, Self

from redargue.corpus.base import Encoder
from redargue.corpus.ranking import fuse
from redargue.errors import UsageError
from redargue.evidence import Recalled, timing
from redargue.home import home
from redargue.keys import Secrets
from redargue.memory import records
from redargue.memory.base import Filter, Finding, Kept, MemorySettings, Recall, Status, Stored
from redargue.memory.codes import Codes, packed
from redargue.memory.database import MemoryDatabase, Rows, SqliteMemory
from redargue.memory.entities import normalised
from redargue.memory.guard import near_duplicates
from redargue.memory.postgres import PostgresMemory
from redargue.models.cache import Floats
from redargue.models.embedder import DIMENSIONS, Embedder, shared

DEPTH = 200  # nearest codes that are compared exactly
PAGE = 20  # records that are read at once until enough of them may be given
CLAIM = 500  # characters by which a claim is known: a database indexes no more
CLAIMS = 3  # of those a record was found for, how many are told with it

_POSTGRES = ("postgresql://", "postgres://")


class Memory:
    """One workspace of a memory; usable from several threads and several claims at once.

    Args:
        database: where records are kept.
        workspace: nothing of another one is seen or changed.
        settings: how it is used.
        encoder: makes the vectors; the package's own by default, loaded when it is first needed.
        secrets: keys that no record may hold.

    Raises:
        UsageError: the workspace has no name.
    """

    def __init__(
        self,
        database: MemoryDatabase,
        *,
        workspace: str = "default",
        settings: MemorySettings | None = None,
        encoder: Encoder | None = None,
        secrets: Secrets | None = None,
    ) -> None:
        if not 0 < len(workspace.strip()) <= 100:
            raise UsageError(
                f"{workspace[:120]!r} is no name for a workspace", hint="--workspace NAME, of at most 100 characters"
            )
        self.workspace, self.settings = workspace, settings or MemorySettings()
        self._database, self._encoder, self._loading = database, encoder, Lock()
        self._secrets = secrets or Secrets.of()
        self._codes, self._purges = Codes(DIMENSIONS), ""

    @property
    def about(self) -> dict[str, Any]:
        """How it is used, as a run writes it down; where it is kept is the user's affair, and may hold a password."""
        return {"workspace": self.workspace, **self.settings.model_dump(mode="json")}

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
        """What is stored under the entities, and near in meaning; the best first, no text twice.

        Evidence under most of the entities comes first, of equals the newest; what is near in meaning, the nearest
        first; both orders are fused by rank.

        Args:
            entities: subjects and objects of the claim's triplets, in any spelling.
            claim: in hand.
            now: when.
            text: what evidence is to be near to; the claim by default.
            as_of: leaves out what says that it was published later.
            only_in_time: leaves out, too, what does not say when it was published.

        Raises:
            CorpusError: the database cannot be read.
        """
        wanted = _Wanted(tuple(dict.fromkeys(filter(None, map(normalised, entities)))), claim, now, as_of, only_in_time)
        return await asyncio.to_thread(self._recall, wanted, text or claim)

    def _recall(self, wanted: _Wanted, text: str) -> Recall:
        by = self.settings.by
        vector = self._encode([text])[0] if by in ("meaning", "both") and text.strip() else None
        with self._database.read() as db:
            keys: Iterable[str] = () if by == "meaning" else wanted.entities
            under = records.under(
                db, self.workspace, records.holding(db, self.workspace, keys) if by == "substring" else keys
            )
            near = {} if vector is None else self._near(db, vector)
            ranked = [number for number, _ in fuse((list(under), 1.0), (list(near), 1.0))]
            found, held, left_out = self._given(db, ranked, wanted)
        items = (self._recalled(each, wanted, under.get(each.number, ()), near.get(each.number)) for each in found)
        return Recall(items=tuple(items), held_back=held, left_out=dict(sorted(left_out.items())))

    def _near(self, db: Rows, vector: Floats) -> dict[int, float]:
        """Records and their cosines, the nearest first, of equals the newest."""
        if self._purges != (purges := records.purges(db)):
            self._codes, self._purges = Codes(DIMENSIONS), purges
        while rows := records.codes(db, self.workspace, self._codes.last):
            self._codes.extend(rows)
        exact = records.similarities(db, self._codes.nearest(vector, DEPTH), vector)
        near = ((number, score) for number, score in exact.items() if score >= self.settings.similarity)
        return dict(sorted(near, key=lambda item: (-item[1], -item[0])))

    def _given(self, db: Rows, ranked: Sequence[int], wanted: _Wanted) -> tuple[list[Stored], int, Counter[str]]:
        """The first records that may be given; how many before the last of them are held back, or left out."""
        found: list[Stored] = []
        texts: set[str] = set()
        held, left_out = 0, Counter[str]()
        for start in range(0, len(ranked), PAGE):
            page = records.fetched(db, ranked[start : start + PAGE])
            others = {claim for record in page.values() for claim, _ in record.claims} if self.settings.guard else ()
            same = near_duplicates(wanted.claim[:CLAIM], others) if others else frozenset()
            for record in (page[number] for number in ranked[start : start + PAGE] if number in page):
                if len(found) == self.settings.limit:
                    return found, held, left_out
                text = record.passage.text or record.passage.query
                if record.status not in self._statuses or text in texts:
                    continue
                if same and all(claim in same for claim, _ in record.claims):
                    held += 1
                elif why := self._unfit(record, wanted):
                    left_out[why] += 1
                else:
                    texts.add(text)
                    found.append(record)
        return found, held, left_out

    @property
    def _statuses(self) -> tuple[Status, ...]:
        return ("ok", "empty") if self.settings.keep_misses else ("ok",)

    def _unfit(self, record: Stored, wanted: _Wanted) -> str:
        """Why a record is not given; empty where it is."""
        age, passage = self.settings.max_age, record.passage
        if age is not None and passage.retrieved and wanted.now - passage.retrieved > timedelta(days=age):
            return "expired"
        found = timing(passage.published, wanted.as_of) if wanted.as_of else "in time"
        return found if found == "later" or (wanted.only_in_time and found == "undated") else ""

    def _recalled(
        self, record: Stored, wanted: _Wanted, entities: tuple[str, ...], similarity: float | None
    ) -> Recalled:
        passage = record.passage
        cut = {"text": passage.text[: self.settings.characters]}
        dated = {"timing": timing(passage.published, wanted.as_of)} if wanted.as_of else {}
        return Recalled(
            passage=passage.model_copy(update=cut | dated),
            length=record.length,
            number=record.number,
            status="empty" if record.status == "empty" else "ok",
            arguments=record.arguments,
            claims=tuple(claim for claim, _ in record.claims[:CLAIMS]),
            entities=entities,
            similarity=similarity,
        )

    async def remember(
        self, findings: Sequence[Finding], *, entities: Iterable[str], claim: str, run: str, now: datetime
    ) -> Kept:
        """Stores what was found for a claim under all of its entities: all of it, or nothing where this raises.

        The same content of the same call is one record, whatever claims it was found for.

        Args:
            findings: observations of tools, in order.
            entities: subjects and objects of the claim's triplets, in any spelling.
            claim: it was found for.
            run: that found it.
            now: when.

        Raises:
            StoreLocked: other processes kept writing.
            DiskFull: nothing was stored; what was stored before is intact.
            CorpusError: the database cannot be written to.
        """
        keys = tuple(dict.fromkeys(self._clean(each) for each in map(normalised, entities) if each))
        kept, dropped = self.sifted(findings)
        if not kept:
            return Kept(dropped=dropped)
        new = [records.New.of(self._cleaned(each)) for each in kept]
        added = await asyncio.to_thread(self._remember, new, keys, self._clean(claim)[:CLAIM], run, now)
        return Kept(added=added, merged=len(new) - added, dropped=dropped)

    def sifted(self, findings: Iterable[Finding]) -> tuple[list[Finding], dict[str, int]]:
        """Findings that are kept, and how many are not, by why."""
        kept: list[Finding] = []
        dropped: Counter[str] = Counter()
        for each in findings:
            if self.settings.mode == "frozen":
                dropped["frozen"] += 1
            elif each.status == "error" or (each.status == "empty" and not self.settings.keep_misses):
                dropped[each.status] += 1
            else:
                kept.append(each)
        return kept, dict(sorted(dropped.items()))

    def _remember(self, new: Sequence[records.New], keys: Sequence[str], claim: str, run: str, now: datetime) -> int:
        # Embedding takes long and needs no lock; what is stored is looked at again once the lock is held.
        with self._database.read() as db:
            known = records.known(db, self.workspace, [each.digest for each in new])
        vectors = self._vectors([each for each in new if each.digest not in known])
        added = 0
        with self._database.write() as db:
            for each in new:
                try:
                    number, fresh = records.put(db, self.workspace, each, vectors.get(each.digest), now)
                except KeyError:  # it was purged meanwhile
                    number, fresh = records.put(db, self.workspace, each, self._vectors([each])[each.digest], now)
                records.note(db, self.workspace, number, keys, claim, run)
                added += fresh
        return added

    def _vectors(self, new: Sequence[records.New]) -> dict[str, records.Vector]:
        if not new:
            return {}
        vectors = self._encode([each.meant for each in new])
        pairs = map(records.Vector, vectors, packed(vectors))
        return dict(zip((each.digest for each in new), pairs, strict=True))

    def _encode(self, texts: Sequence[str]) -> Floats:
        with self._loading:
            if self._encoder is None:
                self._encoder = shared()
        return self._encoder.encode(texts)

    def _cleaned(self, finding: Finding) -> Finding:
        """Without keys, and without what a database does not take."""
        fields = finding.passage.model_dump()
        passage = {name: self._clean(each) for name, each in fields.items() if isinstance(each, str)}
        arguments = json.loads(self._clean(json.dumps(finding.arguments)))
        return finding.model_copy(
            update={"passage": finding.passage.model_copy(update=passage), "arguments": arguments}
        )

    def _clean(self, text: str) -> str:
        return self._secrets.hide(text.replace("\0", "").encode("utf-8", "replace").decode())

    def records(self, wanted: Filter | None = None, *, limit: int = 50) -> tuple[Stored, ...]:
        """Records, whole, the newest first."""
        with self._database.read() as db:
            return records.listed(db, self.workspace, wanted or Filter(), limit)

    def count(self, wanted: Filter | None = None) -> int:
        """How many records there are."""
        with self._database.read() as db:
            return records.counted(db, self.workspace, wanted or Filter())

    def workspaces(self) -> dict[str, int]:
        """Every workspace of the database, and how many records it has."""
        with self._database.read() as db:
            return records.workspaces(db)

    def purge(self, wanted: Filter) -> int:
        """Removes records for good, and gives their room back; returns how many."""
        with self._database.write() as db:
            count = records.remove(db, self.workspace, wanted)
            records.purged(db)
        if count:
            self._database.shrink()
        return count

    def mark(self, statuses: dict[int, Status], now: datetime) -> None:
        """Notes what a recheck found, by number of the record."""
        with self._database.write() as db:
            for number, status in statuses.items():
                records.checked(db, number, status, now)

    def close(self) -> None:
        """Closes the database."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class _Wanted(NamedTuple):
    """What a recall is for."""

    entities: tuple[str, ...]
    claim: str
    now: datetime
    as_of: date | None
    only_in_time: bool


def open_memory(
    where: str | Path = "",
    *,
    workspace: str = "default",
    settings: MemorySettings | None = None,
    encoder: Encoder | None = None,
    write: bool | None = None,
) -> Memory:
    """The memory at an address.

    Args:
        where: a path, or ``postgresql://…``; the user's own by default.
        workspace: of the memory.
        settings: how it is used.
        encoder: makes the vectors; the package's own by default.
        write: whether it may change, and is made where there is none; by default where it is not frozen.

    Raises:
        UsageError: nothing there to read, or it was made with another embedder.
        MissingExtra: PostgreSQL needs psycopg.
        CorpusError: what is there cannot be used.
    """
    settings = settings or MemorySettings()
    write = settings.mode == "on" if write is None else write
    embedder = (encoder or Embedder).name
    database: MemoryDatabase
    if isinstance(where, str) and where.startswith(_POSTGRES):
        database = PostgresMemory(where, write=write, embedder=embedder)
    else:
        database = SqliteMemory(Path(where or default_memory()).expanduser(), write=write, embedder=embedder)
    try:
        return Memory(database, workspace=workspace, settings=settings, encoder=encoder)
    except UsageError:
        database.close()
        raise


def default_memory() -> Path:
    """Where the user's memory is."""
    return home() / "memory.db"
