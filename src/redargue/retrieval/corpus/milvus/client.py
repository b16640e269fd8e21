"""A connection to Milvus: its collections, requests with time limits, and its errors as redargue's.

A server's token is read from ``REDARGUE_MILVUS_TOKEN`` and sent to that server only.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any, ClassVar

from redargue.errors import CorpusError, DiskFull, MissingExtra, UsageError
from redargue.net.secrets import Secrets
from redargue.retrieval.corpus.milvus.address import INSTALL, TOKEN, Address
from redargue.retrieval.corpus.milvus.lite import LiteServer

CONNECT = 10.0  # seconds for a server to answer at all
ANSWER = 60.0  # seconds for one request; a server that is gone is asked again for as long
LOAD = 300.0  # seconds to bring collections into memory: a server that was killed reads its log first
ROWS = 1_000  # keys of a request
PUT = 500  # rows of a request: at most 40 MB, where a server takes 64
PAGE = 4_000  # rows of a listing at once; Milvus gives 16,384 at most
MIN_VERSION = (2, 5)  # of a server: the first with BM25; older ones accept a BM25 function and ignore it

Row = dict[str, Any]


class Connection:
    """One client that threads share; the stores of one process at one address share what serialises their writing.

    Args:
        address: of a folder or server.
        write: whether it may make the folder.

    Raises:
        MissingExtra: pymilvus or milvus-lite is not installed.
        UsageError: nothing there to read; a token that the server does not take.
        StoreForeign: the path is something else; it is left as it is.
        StoreLocked: another process has the folder.
        CorpusError: the server does not answer, or is older than 2.5.
    """

    _writing: ClassVar[dict[str, RLock]] = {}

    def __init__(self, address: Address, *, write: bool) -> None:
        self.address, self._secrets = address, Secrets.from_environment()
        milvus = _pymilvus()
        self._types, self._failed = milvus, (milvus.MilvusException, OSError)
        self._client: Any = None
        self._lite = LiteServer.at(address.uri, write) if address.lite else None
        self.writing = self._writing.setdefault(address.uri + address.collection, RLock())
        token = "" if address.lite else os.environ.get(TOKEN, "")
        try:
            with self._errors():
                uri = self._lite.uri if self._lite else address.uri
                self._client = milvus.MilvusClient(uri=uri, token=token, timeout=CONNECT)
                version = str(self._client.get_server_version(timeout=CONNECT))
            if tuple(map(int, re.findall(r"\d+", version)[:2])) < MIN_VERSION and not address.lite:
                raise _too_old(address.uri, version)
        except BaseException:
            self.close()
            raise

    def create(self, name: str, *, dimensions: int, description: str) -> None:
        """Makes a collection of rows with a key, two numbers, two texts and words indexed for BM25.

        Args:
            name: of the collection.
            dimensions: of the vectors of its rows; 0 for rows without vectors.
            description: what it is, for whoever looks at the server.
        """
        kind = self._types.DataType
        schema = self._types.MilvusClient.create_schema(
            auto_id=False, enable_dynamic_field=False, description=description
        )
        index = self._types.MilvusClient.prepare_index_params()
        schema.add_field("key", kind.VARCHAR, is_primary=True, max_length=200)
        schema.add_field("order", kind.INT64)
        schema.add_field("start", kind.INT64)
        for text in ("about", "text"):
            schema.add_field(text, kind.VARCHAR, max_length=65_535)
        if dimensions:
            schema.add_field("vector", kind.FLOAT_VECTOR, dim=dimensions)
            params = {"M": 32, "efConstruction": 200} if self.address.index_type == "HNSW" else {}
            index.add_index("vector", index_type=self.address.index_type, metric_type="IP", params=params)
        schema.add_field("words", kind.VARCHAR, max_length=65_535, enable_analyzer=True)
        schema.add_field("bm25", kind.SPARSE_FLOAT_VECTOR)
        schema.add_function(self._types.Function("bm25", self._types.FunctionType.BM25, ["words"], ["bm25"]))
        index.add_index("bm25", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
        with self._errors():
            self._client.create_collection(
                name, schema=schema, index_params=index, consistency_level="Session", timeout=LOAD
            )
            self._client.load_collection(name, timeout=LOAD)

    def exists(self, name: str) -> bool:
        """Whether there is such a collection."""
        with self._errors():
            return bool(self._client.has_collection(name, timeout=ANSWER))

    def load(self, name: str) -> None:
        """Brings a collection into memory, and waits for all that was stored before now."""
        with self._errors():
            self._client.load_collection(name, timeout=LOAD)
            self._client.get(name, ids=["-"], output_fields=["key"], consistency_level="Strong", timeout=LOAD)

    def drop(self, name: str) -> None:
        """Removes a collection with all that it holds."""
        with self._errors():
            self._client.drop_collection(name, timeout=LOAD)

    def get(self, name: str, keys: Sequence[str], fields: Sequence[str]) -> dict[str, Row]:
        """The rows with these keys, as far as they are there."""
        found: dict[str, Row] = {}
        with self._errors():
            for some in _slices(keys):
                rows = self._client.get(
                    name, ids=some, output_fields=["key", *fields], consistency_level="Session", timeout=ANSWER
                )
                found |= {row["key"]: row for row in rows}
        return found

    def rows(self, name: str, fields: Sequence[str]) -> Iterator[Row]:
        """All rows of a collection, in no order."""
        with self._errors():
            pages = self._client.query_iterator(
                name, batch_size=PAGE, output_fields=["key", *fields], consistency_level="Strong", timeout=ANSWER
            )
            try:
                while page := pages.next():
                    yield from page
            finally:
                pages.close()

    def put(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Stores rows; one with a known key takes the place of what is there."""
        with self._errors():
            for some in _slices(rows, PUT):
                self._client.upsert(name, some, timeout=ANSWER)

    def delete(self, name: str, keys: Sequence[str]) -> None:
        """Removes the rows with these keys, as far as they are there."""
        with self._errors():
            for some in _slices(keys):
                self._client.delete(name, ids=some, timeout=ANSWER)

    def search(
        self, name: str, field: str, query: object, count: int, fields: Sequence[str]
    ) -> list[tuple[float, Row]]:
        """The best rows with their scores; those of words are positive, whatever sign this Milvus gives them."""
        metric = "IP" if field == "vector" else "BM25"
        params = {"ef": max(128, count)} if self.address.index_type == "HNSW" and field == "vector" else {}
        with self._errors():
            (hits,) = self._client.search(
                name,
                [query],
                anns_field=field,
                limit=count,
                output_fields=["key", *fields],
                search_params={"metric_type": metric, "params": params},
                consistency_level="Session",
                timeout=ANSWER,
            )
        sign: Callable[[float], float] = float if field == "vector" else abs
        return [(sign(hit["distance"]), dict(hit["entity"])) for hit in hits]

    def flush(self, name: str) -> None:
        """Writes out what Milvus Lite holds in its log, which it would search row by row; a server does so itself."""
        if self._lite:
            with self._errors():
                self._client.flush(name, timeout=LOAD)

    def close(self) -> None:
        """Closes the client, and Milvus Lite with its last client in this process; may be called twice."""
        if self._client is not None:
            self._client.close()
            self._client = None
        if self._lite:
            self._lite.release()
            self._lite = None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self._failed as error:
            raise self._meaning(error) from None  # its own text may repeat the token

    def _meaning(self, error: Exception) -> CorpusError | UsageError:
        said = self._secrets.hide(str(getattr(error, "message", "") or error)).strip()
        said = said if len(said) <= 300 else said[:300] + "…"
        where = f"Milvus at {self.address.uri!r}"
        if re.search(r"no space left|disk.{0,20}(full|exhausted|quota)", said, re.I):
            return DiskFull(
                f"no room for {where}: {said}", hint="what was stored before is intact; make room, and repeat"
            )
        if re.search(r"auth|permission|privilege|token", said, re.I):
            return UsageError(f"{where} refuses: {said}", hint=f"set {TOKEN} to its API key, or to name:password")
        if re.search(r"fail(ed)? connecting|unavailable|deadline|retry|timeout|closed channel", said, re.I):
            hint = "is it running, and is the address right?"
            return CorpusError(f"{where} does not answer: {said}", hint=hint)
        return CorpusError(f"{where} fails: {said}", hint="see the server's log; what was stored before is intact")


def _too_old(uri: str, version: str) -> CorpusError:
    least = ".".join(map(str, MIN_VERSION))
    return CorpusError(
        f"the Milvus server at {uri!r} is version {version!r}; redargue needs {least} or later",
        hint="upgrade the server, or use Milvus Lite (--store milvus:PATH.db) or SQLite (--store PATH)",
    )


def _pymilvus() -> Any:
    try:
        import pymilvus
    except ImportError as error:
        raise MissingExtra(f"a Milvus store needs pymilvus: {error}", hint=INSTALL) from None
    # It logs every failure with a traceback beside raising it, and with what it sent.
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    return pymilvus


def _slices(items: Sequence[Any], size: int = ROWS) -> Iterator[list[Any]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])
