"""A connection to Milvus: which one an address means, whose collections are there, and what its errors mean.

Milvus Lite runs in this process and listens on a loopback port without a password as long as a store is open; one
process at a time can have its folder. Everything else is a server, known by its URI; its token is read from
``REDARGUE_MILVUS_TOKEN`` and sent to it alone.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, ClassVar, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from redargue.errors import CorpusError, DiskFull, MissingExtra, StoreForeign, StoreLocked, UsageError
from redargue.keys import Secrets, place

TOKEN = "REDARGUE_MILVUS_TOKEN"
CONNECT = 10.0  # seconds for a server to answer at all
ANSWER = 60.0  # seconds for one request; a server that is gone is asked again for as long
LOAD = 300.0  # seconds to bring collections into memory: a server that was killed reads its log first
ROWS = 1_000  # keys of a request
PUT = 500  # rows of a request: at most 40 MB, where a server takes 64
PAGE = 4_000  # rows of a listing at once; Milvus gives 16,384 at most
BM25_SINCE = (2, 5)  # the server's version that counts words itself; older ones take the setting and do nothing
BM25_SINCE_LITE = (3, 0)

Row = dict[str, Any]

_OPTIONS = {"collection": re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,200}"), "index": re.compile("flat|hnsw|autoindex", re.I)}
_INSTALL = "pip install 'redargue[milvus]'"


class Address(NamedTuple):
    """Where a store is: the folder of Milvus Lite, or a server's URI."""

    uri: str
    lite: bool
    collection: str
    index_type: str

    @classmethod
    def parse(cls, text: str) -> Address:
        """From ``PATH`` or ``http(s)://host:port[/database][?collection=NAME&index=flat]``.

        Raises:
            UsageError: a password in the address, or an option that is none.
        """
        if not re.match(r"(https?|tcp)://", text):
            if not text:
                raise UsageError("milvus: needs a folder or a URI", hint="--store milvus:PATH.db")
            return cls(os.path.abspath(Path(text).expanduser()), True, "redargue", "FLAT")
        try:
            parts, _ = urlsplit(text), urlsplit(text).port
        except ValueError as error:
            raise UsageError(f"not the address of a Milvus server: {error}", hint="http://host:19530") from None
        if "@" in parts.netloc:
            raise UsageError(
                f"the address of the Milvus server at {place(text)!r} holds a name or password",
                hint=f"put it into the environment: {TOKEN}=name:password",
            )
        options = dict(parse_qsl(parts.query))
        for name, value in options.items():
            if name not in _OPTIONS or not _OPTIONS[name].fullmatch(value):
                raise UsageError(
                    f"{name}={value!r} is no option of a Milvus store",
                    hint="?collection=NAME (letters, digits, _) or ?index=flat, hnsw or autoindex",
                )
        index_type = options.get("index", "FLAT").upper()
        return cls(place(text), False, options.get("collection", "redargue"), index_type)


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
        CorpusError: the server does not answer.
    """

    _writing: ClassVar[dict[str, RLock]] = {}

    def __init__(self, address: Address, *, write: bool) -> None:
        self.address, self._secrets = address, Secrets.of()
        milvus = _pymilvus()
        self._types, self._failed = milvus, (milvus.MilvusException, OSError)
        self._lite = _Lite.at(address.uri, write) if address.lite else None
        self.writing = self._writing.setdefault(address.uri + address.collection, RLock())
        token = "" if address.lite else os.environ.get(TOKEN, "")
        try:
            with self._errors():
                uri = self._lite.uri if self._lite else address.uri
                self._client = milvus.MilvusClient(uri=uri, token=token, timeout=CONNECT)
                self.version = str(self._client.get_server_version(timeout=CONNECT))
        except BaseException:
            self._release()
            raise
        numbers = re.findall(r"\d+", self.version)
        version = tuple(map(int, numbers[:2]))
        self.counts_words = version >= (BM25_SINCE_LITE if address.lite else BM25_SINCE)

    def create(self, name: str, *, dimensions: int, description: str) -> None:
        """Makes a collection of rows with a key, a number, a place, two texts, and a vector where it has one.

        Args:
            name: of the collection.
            dimensions: of its vectors; 0 for rows that are found by key and words only.
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
        if dimensions or not self.counts_words:  # a collection has to have some vector
            schema.add_field("vector", kind.FLOAT_VECTOR, dim=dimensions or 2)
            index_type = self.address.index_type if dimensions else "FLAT"
            params = {"M": 32, "efConstruction": 200} if index_type == "HNSW" else {}
            index.add_index("vector", index_type=index_type, metric_type="IP", params=params)
        if self.counts_words:
            schema.add_field("words", kind.VARCHAR, max_length=65_535, enable_analyzer=True)
            schema.add_field("bm25", kind.SPARSE_FLOAT_VECTOR)
            function = self._types.Function("bm25", self._types.FunctionType.BM25, ["words"], ["bm25"])
            schema.add_function(function)
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
        """Closes the client, and Milvus Lite with the last one in this process; twice does no harm."""
        if getattr(self, "_client", None) is not None:
            self._client.close()
            self._client = None
            self._release()

    def _release(self) -> None:
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


class _Lite:
    """Milvus Lite on a folder, shared by the stores of this process."""

    _lock: ClassVar[RLock] = RLock()
    _open: ClassVar[dict[str, _Lite]] = {}

    @classmethod
    def at(cls, path: str, write: bool) -> _Lite:
        """Starts it, or takes what runs already."""
        with cls._lock:
            if path not in cls._open:
                cls._open[path] = cls(path, write)
            cls._open[path]._users += 1
            return cls._open[path]

    def __init__(self, path: str, write: bool) -> None:
        self._path, self._users = path, 0
        _look_at(Path(path), write)
        try:
            from milvus_lite import DataDirLockedError
            from milvus_lite.adapter.grpc.server import start_server_in_thread
        except ImportError as error:
            raise MissingExtra(f"milvus:{path!r} needs Milvus Lite: {error}", hint=_INSTALL) from None
        try:
            self._server, self._data, port = start_server_in_thread(path, host="127.0.0.1", port=0)
        except DataDirLockedError:
            raise StoreLocked(
                f"{path!r} is in use by another process; Milvus Lite serves one at a time, for reading too",
                hint="try again when it is done, or use a server: --store milvus:http://host:19530",
            ) from None
        except OSError as error:
            raise UsageError(
                f"{path!r} cannot be opened: {error.strerror or error}", hint="name another place: --store milvus:PATH"
            ) from error
        self.uri = f"http://127.0.0.1:{port}"

    def release(self) -> None:
        """Stops it when nobody is left."""
        with self._lock:
            self._users -= 1
            if not self._users:
                del self._open[self._path]
                self._server.stop(grace=2).wait()
                self._data.close()


def _look_at(path: Path, write: bool) -> None:
    """Refuses a file, or a folder of something else, before Milvus Lite makes itself at home there."""
    try:
        entries = set(os.listdir(path))
        if entries and "collections" not in entries:
            raise StoreForeign(
                f"{str(path)!r} is not a Milvus Lite folder; it was left as it is", hint="name another: milvus:PATH"
            )
    except FileNotFoundError:
        entries = set()
    except NotADirectoryError:
        raise StoreForeign(
            f"{str(path)!r} is a file, and Milvus Lite 3 keeps a folder; it was left as it is",
            hint=f"a SQLite corpus has no scheme: --store {path}",
        ) from None
    except OSError as error:
        raise UsageError(
            f"{str(path)!r} cannot be opened: {error.strerror}", hint="name another: milvus:PATH"
        ) from error
    if not entries and not write:
        raise nothing_at(f"milvus:{path}")


def nothing_at(address: str) -> UsageError:
    """The error for reading a store that is not there."""
    return UsageError(f"no corpus at {address!r}", hint=f"make one: redargue corpus add FILES --store {address}")


def _pymilvus() -> Any:
    try:
        import pymilvus
    except ImportError as error:
        raise MissingExtra(f"a Milvus store needs pymilvus: {error}", hint=_INSTALL) from None
    # It logs every failure with a traceback beside raising it, and with what it sent.
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    return pymilvus


def _slices(items: Sequence[Any], size: int = ROWS) -> Iterator[list[Any]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])
