"""Documents in Milvus: Milvus Lite in a folder (``milvus:PATH.db``) or any server (``milvus:http://host:19530``).

The interface and results are those of :mod:`redargue.retrieval.corpus.sqlite`: the same chunks, vectors of the same
precision compared exactly (``?index=hnsw`` selects an index), rank fusion, ties in insertion order. Differences:

- Words are SQLite's terms, ranked by Milvus' BM25. A word in a title is repeated three times instead of being weighted,
  only the first 5,000 bytes of a title are indexed, and Milvus Lite computes inverse document frequencies separately
  for each of its segments. A server must be version 2.5 or later.
- In keyword search, a document of more than 10,000 characters is ranked by its best piece of that length; for the
  choice of the excerpt, inverse document frequencies are computed within the document.
- If more than 100 chunks are equally near, Milvus chooses which ones it returns.
- Milvus has no transactions. Changes are recorded before they are made, a document exists once its ``d.`` row does, and
  the next writer cleans up after an interruption. A server takes one writer at a time; a second waits. Milvus Lite
  writes its log without waiting for the disk: a killed process loses nothing, a power cut may lose unflushed data.
- A description (id, title, address, …) may have 65,000 bytes; a text any number.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from uuid import uuid4

import numpy as np

from redargue.errors import CorpusError, StoreUnavailable, UsageError
from redargue.nli.session import DIMENSIONS, Floats
from redargue.retrieval.corpus import Added, Encoder, Entry, stores
from redargue.retrieval.corpus.documents import (
    BATCH,
    Document,
    Prepared,
    is_from,
    no_such_document,
    prepare_batch,
    updated_checksum,
)
from redargue.retrieval.corpus.ingest import moment, refuse_while_adding
from redargue.retrieval.corpus.milvus.client import MilvusAddress, MilvusConnection, MilvusRow, nothing_at
from redargue.retrieval.corpus.milvus.rows import (
    About,
    Change,
    MilvusReader,
    StoreState,
    Version,
    chunk_keys,
    chunk_rows,
    key_of,
    state_row,
    text_key,
    text_rows,
)

FORMAT = 1
BUSY = 10.0  # seconds without progress after which another process' unfinished batch counts as abandoned
FLUSH = 500  # rows: more than these are slow to search in Milvus Lite's log

META_COLLECTION = "meta"

_PROCESS = uuid4().hex


class MilvusCorpus(MilvusReader):
    """A corpus in Milvus; arguments and errors as in :func:`redargue.retrieval.corpus.index.open_corpus`."""

    def __init__(self, address: str, *, write: bool = False, embedder: Encoder | None = None) -> None:
        super().__init__(embedder)
        where = MilvusAddress.parse(address)
        self._name, self._write = f"milvus:{address}", write
        self._texts, self._chunks = f"{where.collection}_texts", f"{where.collection}_chunks"
        self._unflushed, self._breaks = 0, {}
        self._link = MilvusConnection(where, write=write)
        try:
            with self._link.writing:
                self._prepare()
        except BaseException:
            self._link.close()
            raise

    def _prepare(self) -> None:
        exists = self._link.exists(self._texts)
        if exists:
            self._link.load(self._chunks)
            self._link.load(self._texts)
        # The creation may have been interrupted.
        if not exists or not self._link.get(self._texts, [META_COLLECTION], ["about"]):
            if not self._write:
                raise nothing_at(self._name)
            self._create(StoreState(format=FORMAT, embedder=self._embedder))
        state = self._state()
        if state.format > FORMAT:
            raise UsageError(f"{self._name!r} was made by a newer redargue (format {state.format})", hint="upgrade")
        if state.embedder != self._embedder:
            raise UsageError(
                f"{self._name!r} holds vectors of {state.embedder!r}, not of {self._embedder!r}",
                hint="create a separate corpus for this embedder: redargue corpus add FILES --store PATH",
            )

    def _create(self, state: StoreState) -> None:
        for name in (self._texts, self._chunks):
            if self._link.exists(name):
                self._link.drop(name)
        about = f"redargue, format {FORMAT}, vectors of {self._embedder}"
        self._link.create(self._chunks, dimensions=DIMENSIONS, description=about)
        self._link.create(self._texts, dimensions=0, description=about)
        self._put_state(state)

    def _put_state(self, state: StoreState) -> None:
        self._put(self._texts, [state_row(META_COLLECTION, state)])

    def _state(self) -> StoreState:
        rows = self._link.get(self._texts, [META_COLLECTION], ["about"])
        if META_COLLECTION not in rows:
            hint = "remove it, and add the documents again"
            raise CorpusError(f"{self._name!r} has lost its description", hint=hint)
        return StoreState.model_validate_json(rows[META_COLLECTION]["about"])

    @property
    def revision(self) -> str:
        state = self._state()
        content = self._settled(state, self._versions(state))
        identity = f"milvus {self._embedder} {FORMAT} {content}"
        return hashlib.sha256(identity.encode()).hexdigest()[:16]

    def _versions(self, state: StoreState) -> dict[str, Version]:
        abouts = self._abouts([change.key for change in state.writing])
        return {key: about.version for key, about in abouts.items()}

    def _settled(self, state: StoreState, now: dict[str, Version]) -> str:
        """The checksum of the content, given which of the begun changes took effect."""
        content = state.content
        for change in state.writing:
            for version, sign in ((change.before, -1), (now.get(change.key), 1)):
                content = updated_checksum(content, version.digest, sign) if version else content
        return content

    def _settle(self, state: StoreState, now: dict[str, Version]) -> StoreState:
        chunks: list[str] = []
        texts: list[str] = []
        for change in state.writing:
            current = now.get(change.key)
            for version in filter(None, {change.before, change.after}):
                if not current or version.name != current.name:
                    chunks += chunk_keys(change.key, version)
                    texts += [text_key(change.key, version.name, piece) for piece in range(1, version.pieces)]
        self._link.delete(self._chunks, chunks)
        self._link.delete(self._texts, texts)
        return self._save(state, content=self._settled(state, now), writing=())

    def _save(self, state: StoreState, *, content: str, writing: tuple[Change, ...]) -> StoreState:
        update = {"generation": state.generation + 1, "writer": _PROCESS, "content": content, "writing": writing}
        update |= {"adding": moment()} if state.adding else {}
        state = state.model_copy(update=update)
        self._put_state(state)
        return state

    def _await_turn(self) -> StoreState:
        """Waits until no other process is writing a batch, completes an abandoned one, and returns the state.

        Milvus has no locks: two writers that begin at the same moment are not detected.
        """
        self.require_writable()
        state = first = self._state()
        until = time.monotonic() + BUSY
        while state.writing and state.writer != _PROCESS and not self._link.address.lite:
            if time.monotonic() > until:
                if state.generation == first.generation:
                    break  # no progress: the writer is gone
                what = f"{self._name!r} is being written to by another process"
                raise StoreUnavailable(what, hint="try again when it is done")
            time.sleep(0.2)
            state = self._state()
        return self._settle(state, self._versions(state)) if state.writing else state

    def require_writable(self) -> None:
        if not self._write:
            raise UsageError(f"{self._name!r} is open for reading only", hint="open_corpus(…, write=True)")

    def _put(self, name: str, rows: Iterable[MilvusRow]) -> None:
        batch = list(rows)
        self._link.put(name, batch)
        self._unflushed += len(batch)

    def _flush(self) -> None:
        if self._unflushed >= FLUSH:
            self._link.flush(self._chunks)
            self._link.flush(self._texts)
            self._unflushed = 0

    def add(self, documents: Iterable[Document], *, progress: Callable[[Added], None] | None = None) -> Added:
        self.require_writable()
        with self._link.writing:
            if self._state().writing:
                self._await_turn()  # even if nothing is new: otherwise every reader would examine the unfinished batch
            self._mark_adding(moment())
        try:
            return super().add(documents, progress=progress)
        finally:
            with self._link.writing:
                self._mark_adding("")
            self._flush()

    def _mark_adding(self, since: str) -> None:
        self._put_state(self._state().model_copy(update={"adding": since}))

    def require_complete(self) -> None:
        refuse_while_adding(self._name, filter(None, [self._state().adding]))

    def add_batch(self, batch: list[Document]) -> Added:
        keys = [key_of(document.id) for document in batch]
        known = self._abouts(keys)
        stored = {key: about.sha256 for key, about in known.items()}
        pairs = list(zip(keys, batch, strict=True))
        changed = {(key, new.sha256): new for key, new in pairs if stored.get(key) != new.sha256}
        if not changed and all(known[key].path == document.path for key, document in pairs):
            return Added(unchanged=len(batch))
        # Embedding is slow and needs no lock; the stored documents are checked again with the lock.
        prepared = dict(zip(changed, prepare_batch(list(changed.values()), self._encode_rounded), strict=True))
        with self._link.writing:
            state = self._await_turn()
            known = self._abouts(keys)
            stored = {key: about.sha256 for key, about in known.items()}
            latest: dict[str, Document] = {}
            fresh: dict[str, Prepared] = {}
            total = Added()
            for key, document in pairs:
                latest[key] = document
                if stored.get(key) == document.sha256:
                    total += Added(unchanged=1)
                    continue
                at = (key, document.sha256)
                fresh[key] = prepared.get(at) or prepare_batch([document], self._encode_rounded)[0]
                total += Added(added=key not in stored, replaced=key in stored, chunks=len(fresh[key].pieces))
                stored[key] = document.sha256
            self._store(state, known, latest, fresh)
        return total

    def _store(
        self, state: StoreState, known: dict[str, About], latest: dict[str, Document], fresh: dict[str, Prepared]
    ) -> None:
        added, order = datetime.now(UTC).isoformat(timespec="seconds"), time.time_ns()
        abouts: dict[str, About] = {}
        for place, (key, document) in enumerate(latest.items()):
            if key in fresh:
                abouts[key] = About.of(document, len(fresh[key].pieces), order=order + place, added=added)
            elif document.path != known[key].path:
                abouts[key] = known[key].model_copy(update={"path": document.path})
        changes = tuple(
            Change(key=key, before=known[key].version if key in known else None, after=abouts[key].version)
            for key in fresh
        )
        if changes:
            state = self._save(state, content=state.content, writing=changes)
            self._put(self._chunks, chunk_rows([(latest[key], abouts[key], fresh[key]) for key in fresh]))
        self._put(self._texts, text_rows([(latest[key], about) for key, about in abouts.items()]))
        if changes:
            self._settle(state, {key: abouts[key].version for key in fresh})

    def _encode_rounded(self, texts: Sequence[str]) -> Floats:
        """Vectors to be stored, rounded as SQLite stores them, so that both stores rank alike."""
        return self.encode(texts).astype(np.float16).astype(np.float32)

    def remove(self, names: Iterable[str]) -> int:
        with self._link.writing:
            state = self._await_turn()
            abouts: dict[str, About] = {}
            for name in names:
                abouts |= self._abouts([key_of(name)]) or self._from(name)
            keys = sorted(abouts)
            for start in range(0, len(keys), BATCH):
                batch = keys[start : start + BATCH]
                changes = tuple(Change(key=key, before=abouts[key].version, after=None) for key in batch)
                state = self._save(state, content=state.content, writing=changes)
                self._link.delete(self._texts, [text_key(key, "", 0) for key in batch])
                state = self._settle(state, {})
        return len(keys)

    def _from(self, place: str) -> dict[str, About]:
        abouts = self._all_abouts()
        matching = {key_of(about.id): about for about in abouts if is_from(about.path, place)}
        if not matching:
            raise no_such_document(place, [about.id for about in abouts])
        return matching

    def clear(self) -> int:
        with self._link.writing:
            state = self._await_turn()
            count = len(self._all_abouts())
            self._create(state.model_copy(update={"content": "0", "generation": state.generation + 1}))
            self._unflushed = 0
        return count

    def documents(self) -> tuple[Entry, ...]:
        abouts = self._all_abouts()
        return tuple(Entry(**{name: getattr(about, name) for name in Entry.model_fields}) for about in abouts)

    def document(self, id_: str) -> Document:
        key = key_of(id_)
        about = self._abouts([key]).get(key)
        if about is None:
            raise no_such_document(id_, [known.id for known in self._all_abouts()])
        fields = about.model_dump(include=set(Document.model_fields) - {"text"})
        return Document(**fields, text=self._text(key, about, 0, about.chars))

    def close(self) -> None:
        self._link.close()


@stores.register("milvus")
def _open(address: str, *, write: bool, embedder: Encoder | None) -> MilvusCorpus:
    return MilvusCorpus(address, write=write, embedder=embedder)
