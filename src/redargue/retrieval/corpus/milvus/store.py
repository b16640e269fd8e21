"""Documents in Milvus: Milvus Lite in a folder (``milvus:PATH.db``) or any server (``milvus:http://host:19530``).

The interface and the results of :mod:`redargue.retrieval.corpus.sqlite`: the same chunks, vectors of the same precision
compared exactly (an index is chosen with ``?index=hnsw``), rankings fused by rank, ties broken by the order of storing.
What differs:

- Words are SQLite's terms, ranked by Milvus' own BM25. A word in a title is written three times instead of being
  weighted, only the first 5,000 bytes of a title are indexed, and Milvus Lite computes inverse document frequencies
  separately for each of its segments. A server has to be version 2.5 or later.
- A document of more than 10,000 characters is ranked by the best of its pieces of that length when keywords are
  searched; how rare a word is, for the choice of the excerpt, is counted within the document.
- Of texts without end that are equally near, Milvus chooses which 100 it returns.
- Milvus has no transactions. What is about to change is written down first, a document counts from the moment its own
  row is there, and what an interruption left is put right by the next writer. A server takes one writer at a time; a
  second waits. Milvus Lite writes its log without waiting for the disk: a killed process loses nothing, a power cut
  may lose what was not yet flushed.
- A description (id, title, address, …) may take 65,000 bytes; a text any number.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from threading import Lock
from types import TracebackType
from typing import Self
from uuid import uuid4

import numpy as np

from redargue.errors import StoreDamaged, StoreLocked, UsageError
from redargue.evidence import Passage
from redargue.nli.cache import Floats
from redargue.nli.embedder import DIMENSIONS, Embedder, shared
from redargue.retrieval.corpus.base import Added, Encoder, Entry, K, stores
from redargue.retrieval.corpus.batches import (
    BATCH,
    Prepared,
    batches,
    is_from,
    no_such_document,
    prepare,
    updated_checksum,
    validated_query,
)
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.milvus.address import Address, nothing_at
from redargue.retrieval.corpus.milvus.client import Connection, Row
from redargue.retrieval.corpus.milvus.rows import (
    About,
    Change,
    State,
    Version,
    chunk_keys,
    chunk_rows,
    key_of,
    state_row,
    text_key,
    text_rows,
)
from redargue.retrieval.corpus.milvus.search import Search

FORMAT = 1
BUSY = 10.0  # seconds in which another process' unfinished batch has to show a sign of life, or is taken for abandoned
FLUSH = 500  # rows: more than these are slow to search in Milvus Lite's log

META = "meta"

_PROCESS = uuid4().hex


class MilvusCorpus:
    """A corpus in Milvus.

    Args:
        address: a folder for Milvus Lite, or a server's URI; what stands behind ``milvus:``.
        write: whether documents may be added and removed; makes the store where there is none.
        embedder: makes the vectors; the package's own by default, loaded when it is first needed.

    Raises:
        UsageError: nothing there to read; or it was made with another embedder, or by a newer redargue.
        CorpusError: the server does not answer, the folder is another process', or something else.
    """

    def __init__(self, address: str, *, write: bool = False, embedder: Encoder | None = None) -> None:
        self._encoder, self._loading = embedder, Lock()
        self._embedder = (embedder or Embedder).name
        where = Address.parse(address)
        self._name, self._write = f"milvus:{address}", write
        self._texts, self._chunks = f"{where.collection}_texts", f"{where.collection}_chunks"
        self._unflushed = 0
        self._link = Connection(where, write=write)
        self._search = Search(self._link, chunks=self._chunks, texts=self._texts)
        try:
            with self._link.writing:
                self._prepare()
        except BaseException:
            self._link.close()
            raise

    def _prepare(self) -> None:
        if not self._link.exists(self._texts):
            if not self._write:
                raise nothing_at(self._name)
            self._create(State(format=FORMAT, embedder=self._embedder))
            return
        for name in (self._chunks, self._texts):
            self._link.load(name)
        found = self._link.get(self._texts, [META], ["about"])
        if not found and not self._write:
            raise nothing_at(self._name)
        if not found:  # its making was interrupted
            self._create(State(format=FORMAT, embedder=self._embedder))
        state = self._state()
        if state.format > FORMAT:
            raise UsageError(f"{self._name!r} was made by a newer redargue (format {state.format})", hint="upgrade")
        if not state.counts_words:
            raise UsageError(
                f"{self._name!r} was made on a Milvus server before 2.5 and has no index of words",
                hint="add the documents to a new store: redargue corpus add … --store 'milvus:http://…?collection=NAME'",
            )
        if state.embedder != self._embedder:
            raise UsageError(
                f"{self._name!r} holds vectors of {state.embedder!r}, not of {self._embedder!r}",
                hint="make a corpus of its own: redargue corpus add … --store PATH",
            )

    def _create(self, state: State) -> None:
        """Makes the store anew; it is there when its state is."""
        for name in (self._texts, self._chunks):
            if self._link.exists(name):
                self._link.drop(name)
        about = f"redargue, format {FORMAT}, vectors of {self._embedder}"
        self._link.create(self._chunks, dimensions=DIMENSIONS, description=about)
        self._link.create(self._texts, dimensions=0, description=about)
        self._put(self._texts, [state_row(META, state)])

    def _state(self) -> State:
        found = self._link.get(self._texts, [META], ["about"])
        if META not in found:
            raise StoreDamaged(
                f"{self._name!r} has lost its description", hint="remove it, and add the documents again"
            )
        return State.model_validate_json(found[META]["about"])

    @property
    def revision(self) -> str:
        """Sixteen hexadecimal digits that name the content, the embedder and the format."""
        state = self._state()
        content = self._settled(state, self._versions(state)) if state.writing else state.content
        named = f"milvus {self._embedder} {FORMAT} {state.counts_words} {content}"
        return hashlib.sha256(named.encode()).hexdigest()[:16]

    def _versions(self, state: State) -> dict[str, Version]:
        """The contents that the documents in change have now."""
        found = self._search.abouts([change.key for change in state.writing])
        return {key: about.version for key, about in found.items()}

    def _settled(self, state: State, now: dict[str, Version]) -> str:
        """The sum that names the content, with what has happened of the changes that were begun."""
        content = state.content
        for change in state.writing:
            for version, sign in ((change.before, -1), (now.get(change.key), 1)):
                content = updated_checksum(content, version.digest, sign) if version else content
        return content

    def _settle(self, state: State, now: dict[str, Version]) -> State:
        """Ends what was begun: removes the rows of every content that does not count, and writes down the sum."""
        chunks: list[str] = []
        texts: list[str] = []
        for change in state.writing:
            held = now.get(change.key)
            for version in filter(None, {change.before, change.after}):
                if not held or version.name != held.name:
                    chunks += chunk_keys(change.key, version)
                    texts += [text_key(change.key, version.name, piece) for piece in range(1, version.pieces)]
        self._link.delete(self._chunks, chunks)
        self._link.delete(self._texts, texts)
        return self._save(state, content=self._settled(state, now), writing=())

    def _save(self, state: State, *, content: str, writing: tuple[Change, ...]) -> State:
        changed = {"generation": state.generation + 1, "writer": _PROCESS, "content": content, "writing": writing}
        state = state.model_copy(update=changed)
        self._put(self._texts, [state_row(META, state)])
        return state

    def _turn(self) -> State:
        """The store's state, once no other process is in the middle of a batch; what one has left is put right.

        Milvus has no locks: two writers that begin in the same moment are not kept apart.
        """
        self._require_writable()
        state = first = self._state()
        until = time.monotonic() + BUSY
        while state.writing and state.writer != _PROCESS and not self._link.address.lite:
            if time.monotonic() > until:
                if state.generation == first.generation:
                    break  # nothing has moved: whoever began it is gone
                raise StoreLocked(
                    f"{self._name!r} is being written to by another process", hint="try again when it is done"
                )
            time.sleep(0.2)
            state = self._state()
        return self._settle(state, self._versions(state)) if state.writing else state

    def _require_writable(self) -> None:
        if not self._write:
            raise UsageError(f"{self._name!r} is open for reading only", hint="open_corpus(…, write=True)")

    def _put(self, name: str, rows: Iterable[Row]) -> None:
        held = list(rows)
        self._link.put(name, held)
        self._unflushed += len(held)

    def _flush(self) -> None:
        if self._unflushed >= FLUSH:
            self._link.flush(self._chunks)
            self._link.flush(self._texts)
            self._unflushed = 0

    def add(self, documents: Iterable[Document], *, progress: Callable[[Added], None] | None = None) -> Added:
        """Stores documents in batches; see :meth:`redargue.retrieval.corpus.base.Corpus.add`."""
        self._require_writable()
        with self._link.writing:
            if self._state().writing:
                self._turn()  # even where nothing is new: what an interruption left would be looked up ever again
        total = Added()
        try:
            for batch in batches(documents):
                total += self._add(batch)
                if progress:
                    progress(total)
        finally:
            self._flush()
        return total

    def _add(self, batch: list[Document]) -> Added:
        keys = [key_of(document.id) for document in batch]
        known = self._search.abouts(keys)
        if all(
            key in known and (known[key].sha256, known[key].path) == (document.sha256, document.path)
            for key, document in zip(keys, batch, strict=True)
        ):
            return Added(unchanged=len(batch))
        # Embedding takes long and needs no lock; what is stored is looked at again once the lock is held.
        changed = {
            (key, document.sha256): document
            for key, document in zip(keys, batch, strict=True)
            if key not in known or known[key].sha256 != document.sha256
        }
        prepared = dict(zip(changed, prepare(list(changed.values()), self._encode), strict=True))
        with self._link.writing:
            state = self._turn()
            known = self._search.abouts(keys)
            held = {key: about.sha256 for key, about in known.items()}
            latest: dict[str, Document] = {}
            fresh: dict[str, Prepared] = {}
            done = Added()
            for key, document in zip(keys, batch, strict=True):
                latest[key] = document
                if held.get(key) == document.sha256:
                    done += Added(unchanged=1)
                    continue
                at = (key, document.sha256)
                fresh[key] = prepared.get(at) or prepare([document], self._encode)[0]
                done += Added(added=key not in held, replaced=key in held, chunks=len(fresh[key].pieces))
                held[key] = document.sha256
            self._store(state, known, latest, fresh)
        return done

    def _store(
        self, state: State, known: dict[str, About], latest: dict[str, Document], fresh: dict[str, Prepared]
    ) -> None:
        """Writes documents that are ``fresh``, and those whose path alone has changed."""
        added = datetime.now(UTC).isoformat(timespec="seconds")
        order = time.time_ns()
        abouts: dict[str, About] = {}
        for place, (key, document) in enumerate(latest.items()):
            if key in fresh:
                cut = len(fresh[key].pieces)
                abouts[key] = About.of(document, chunks=cut, order=order + place, added=added)
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

    def _encoded(self, texts: Sequence[str]) -> Floats:
        with self._loading:
            if self._encoder is None:
                self._encoder = shared()
        return self._encoder.encode(texts)

    def _encode(self, texts: Sequence[str]) -> Floats:
        """Vectors to be stored: rounded as SQLite keeps them, so that both stores rank alike."""
        return self._encoded(texts).astype(np.float16).astype(np.float32)

    def remove(self, names: Iterable[str]) -> int:
        """Removes documents by id or path; see :meth:`redargue.retrieval.corpus.base.Corpus.remove`."""
        with self._link.writing:
            state = self._turn()
            found: dict[str, About] = {}
            for name in names:
                here = self._search.abouts([key_of(name)]) or self._from(name)
                found |= here
            keys = sorted(found)
            for start in range(0, len(keys), BATCH):
                some = keys[start : start + BATCH]
                changes = tuple(Change(key=key, before=found[key].version, after=None) for key in some)
                state = self._save(state, content=state.content, writing=changes)
                self._link.delete(self._texts, [text_key(key, "", 0) for key in some])
                state = self._settle(state, {})
        return len(keys)

    def _from(self, place: str) -> dict[str, About]:
        """The documents that came from a file or folder.

        Raises:
            UnknownName: none did.
        """
        every = self._search.every()
        found = {key_of(about.id): about for about in every if is_from(about.path, place)}
        if not found:
            raise no_such_document(place, [about.id for about in every])
        return found

    def clear(self) -> int:
        """Removes all documents, and gives their room back; returns how many."""
        with self._link.writing:
            state = self._turn()
            count = len(self._search.every())
            self._create(state.model_copy(update={"content": "0", "generation": state.generation + 1}))
            self._unflushed = 0
        return count

    def documents(self) -> tuple[Entry, ...]:
        """All documents, in the order in which they were stored."""
        return tuple(
            Entry(**{name: getattr(about, name) for name in Entry.model_fields}) for about in self._search.every()
        )

    def search(self, query: str, k: int = K) -> tuple[Passage, ...]:
        """At most ``k`` chunks, by meaning and by words; no text stands in two of them.

        Raises:
            UsageError: ``k`` is less than 1.
        """
        query = validated_query(query, k)
        if not query.strip():
            return ()
        return self._search.chunks(query, k, self._encoded([query])[0])

    def search_keywords(self, query: str, k: int = K) -> tuple[Passage, ...]:
        """At most ``k`` documents by their words (BM25), each shown by its best two chunks or so.

        Raises:
            UsageError: ``k`` is less than 1.
        """
        query = validated_query(query, k)
        return self._search.documents(query, k)

    def close(self) -> None:
        """Closes the client, and Milvus Lite where nobody else in this process uses it; twice does no harm."""
        self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


@stores.register("milvus")
def _open(address: str, *, write: bool, embedder: Encoder | None) -> MilvusCorpus:
    return MilvusCorpus(address, write=write, embedder=embedder)
