"""A connection to Milvus: collections, requests with time limits, and translation of errors.

A server's token is read from ``REDARGUE_MILVUS_TOKEN`` and sent to that server only.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, ClassVar, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from redargue.errors import CorpusError, StoreUnavailable, UsageError
from redargue.files import make_folder
from redargue.net.secrets import Secrets, display_url
from redargue.registry import install

TOKEN = "REDARGUE_MILVUS_TOKEN"

_OPTIONS = {"collection": re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,200}"), "index": re.compile("flat|hnsw|autoindex", re.I)}


class MilvusAddress(NamedTuple):
    """The folder of Milvus Lite, or a server's URI, with the store's options."""

    uri: str
    lite: bool
    collection: str
    index_type: str

    @classmethod
    def parse(cls, text: str) -> MilvusAddress:
        """Parses ``PATH`` or ``http(s)://host:port[/database][?collection=NAME&index=flat]``; else UsageError."""
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
                f"the address of the Milvus server at {display_url(text)!r} contains a name or password",
                hint=f"put it into the environment: {TOKEN}=name:password",
            )
        options = dict(parse_qsl(parts.query))
        for name, value in options.items():
            if name not in _OPTIONS or not _OPTIONS[name].fullmatch(value):
                hint = "?collection=NAME (letters, digits, _) or ?index=flat, hnsw or autoindex"
                raise UsageError(f"{name}={value!r} is not an option of a Milvus store", hint=hint)
        index_type = options.get("index", "FLAT").upper()
        return cls(display_url(text), False, options.get("collection", "redargue"), index_type)


def nothing_at(address: str) -> UsageError:
    return UsageError(f"no corpus at {address!r}", hint=f"create one: redargue corpus add FILES --store {address}")


class LiteServer:
    """Milvus Lite on one folder, shared by the stores of this process.

    It listens on a loopback port without a password while a store is open. pymilvus itself would keep the folder
    locked until the process ends, and its error for a folder that another process holds does not say so.
    """

    _lock: ClassVar[RLock] = RLock()
    _open: ClassVar[dict[str, LiteServer]] = {}

    @classmethod
    def at(cls, path: str, write: bool) -> LiteServer:
        with cls._lock:
            if path not in cls._open:
                cls._open[path] = cls(path, write)
            cls._open[path]._users += 1
            return cls._open[path]

    def __init__(self, path: str, write: bool) -> None:
        self._path, self._users = path, 0
        _require_own_folder(path, write)
        try:
            if write:
                make_folder(Path(path))
        except OSError as error:
            what = f"{path!r} cannot be created: {error.strerror}"
            raise UsageError(what, hint="choose another path: --store milvus:PATH") from error
        try:
            from milvus_lite import DataDirLockedError
            from milvus_lite.adapter.grpc.server import start_server_in_thread
        except ImportError as error:
            raise UsageError(f"milvus:{path!r} needs Milvus Lite: {error}", hint=install("milvus")) from None
        try:
            self._server, self._data, port = start_server_in_thread(path, host="127.0.0.1", port=0)
        except DataDirLockedError:
            raise StoreUnavailable(
                f"{path!r} is in use by another process; Milvus Lite serves one at a time, for reading too",
                hint="try again when it is done, or use a server: --store milvus:http://host:19530",
            ) from None
        except OSError as error:
            what = f"{path!r} cannot be opened: {error.strerror or error}"
            raise UsageError(what, hint="choose another path: --store milvus:PATH") from error
        self.uri = f"http://127.0.0.1:{port}"

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                del self._open[self._path]
                self._server.stop(grace=2).wait()
                self._data.close()


def _require_own_folder(path: str, write: bool) -> None:
    """Rejects a file, or a folder with other contents, before Milvus Lite writes to it."""
    try:
        entries = set(os.listdir(path))
        if entries and "collections" not in entries:
            what = f"{path!r} is not a Milvus Lite folder; it was not changed"
            raise CorpusError(what, hint="choose another path: milvus:PATH")
    except FileNotFoundError:
        entries = set()
    except NotADirectoryError:
        what = f"{path!r} is a file, and Milvus Lite 3 needs a folder; it was not changed"
        hint = f"for a SQLite corpus, omit the scheme: --store {path}"
        raise CorpusError(what, hint=hint) from None
    except OSError as error:
        what = f"{path!r} cannot be opened: {error.strerror}"
        raise UsageError(what, hint="choose another path: milvus:PATH") from error
    if not entries and not write:
        raise nothing_at(f"milvus:{path}")


CONNECT_TIMEOUT = 10.0  # seconds for the first answer of a server
MILVUS_TIMEOUT = 60.0  # seconds for one request, including retries
LOAD_TIMEOUT = 300.0  # seconds to load collections into memory: a server that was killed replays its log first
KEY_BATCH = 1_000  # keys per request
UPSERT_BATCH = 500  # rows per request: at most 40 MB, and a server accepts 64
_PAGE = 4_000  # rows per page of a listing; Milvus returns at most 16,384
MIN_VERSION = (2, 5)  # the first server with BM25; older ones accept a BM25 function and ignore it

MilvusRow = dict[str, Any]


class MilvusConnection:
    """One client that threads share; the stores of this process at one address share a lock for writing.

    Raises:
        UsageError: pymilvus or milvus-lite is not installed, there is no store to read, or the token is rejected.
        CorpusError: the path is not a Milvus Lite folder (nothing was changed), or the server does not answer, or is
            older than 2.5.
        StoreUnavailable: another process uses the folder.
    """

    _writing: ClassVar[dict[str, RLock]] = {}

    def __init__(self, address: MilvusAddress, *, write: bool) -> None:
        self.address, self._secrets = address, Secrets.from_environment()
        milvus = _pymilvus()
        from grpc import RpcError  # a deadline that passed reaches callers of pymilvus as gRPC's own error

        self._types, self._failed = milvus, (milvus.MilvusException, RpcError, OSError)
        self._client: Any = None
        self._lite = LiteServer.at(address.uri, write) if address.lite else None
        self.writing = self._writing.setdefault(address.uri + address.collection, RLock())
        token = "" if address.lite else os.environ.get(TOKEN, "")
        try:
            with self._errors():
                uri = self._lite.uri if self._lite else address.uri
                self._client = milvus.MilvusClient(uri=uri, token=token, timeout=CONNECT_TIMEOUT)
                version = str(self._client.get_server_version(timeout=CONNECT_TIMEOUT))
            if tuple(map(int, re.findall(r"\d+", version)[:2])) < MIN_VERSION and not address.lite:
                raise _too_old(address.uri, version)
        except BaseException:
            self.close()
            raise

    def create(self, name: str, *, dimensions: int, description: str) -> None:
        """Creates a collection with words indexed for BM25; ``dimensions`` is 0 for rows without vectors."""
        kind = self._types.DataType
        client = self._types.MilvusClient
        schema = client.create_schema(auto_id=False, enable_dynamic_field=False, description=description)
        index = client.prepare_index_params()
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
        options = {"schema": schema, "index_params": index, "consistency_level": "Session"}
        self._ask("create_collection", name, timeout=LOAD_TIMEOUT, **options)
        self._ask("load_collection", name, timeout=LOAD_TIMEOUT)

    def exists(self, name: str) -> bool:
        return bool(self._ask("has_collection", name))

    def load(self, name: str) -> None:
        """Loads a collection into memory, and waits until all earlier writes are visible."""
        self._ask("load_collection", name, timeout=LOAD_TIMEOUT)
        self._ask("get", name, ids=["-"], output_fields=["key"], consistency_level="Strong", timeout=LOAD_TIMEOUT)

    def drop(self, name: str) -> None:
        self._ask("drop_collection", name, timeout=LOAD_TIMEOUT)

    def get(self, name: str, keys: Sequence[str], fields: Sequence[str]) -> dict[str, MilvusRow]:
        """The rows with these keys; unknown keys are omitted."""
        result: dict[str, MilvusRow] = {}
        for batch in _slices(keys):
            rows = self._ask("get", name, ids=batch, output_fields=["key", *fields], consistency_level="Session")
            result |= {row["key"]: row for row in rows}
        return result

    def rows(self, name: str, fields: Sequence[str]) -> Iterator[MilvusRow]:
        options = {"output_fields": ["key", *fields], "consistency_level": "Strong", "timeout": MILVUS_TIMEOUT}
        with self._errors(), closing(self._client.query_iterator(name, batch_size=_PAGE, **options)) as pages:
            while page := pages.next():
                yield from page

    def put(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        for batch in _slices(rows, UPSERT_BATCH):
            self._ask("upsert", name, batch)

    def delete(self, name: str, keys: Sequence[str]) -> None:
        for batch in _slices(keys):
            self._ask("delete", name, ids=batch)

    def search(
        self, name: str, field: str, query: object, count: int, fields: Sequence[str]
    ) -> list[tuple[float, MilvusRow]]:
        """The best rows with their scores; BM25 scores are positive, whatever their sign in this version of Milvus."""
        metric = "IP" if field == "vector" else "BM25"
        params = {"ef": max(128, count)} if self.address.index_type == "HNSW" and field == "vector" else {}
        wanted: MilvusRow = {"anns_field": field, "limit": count, "output_fields": ["key", *fields]}
        how: MilvusRow = {"search_params": {"metric_type": metric, "params": params}, "consistency_level": "Session"}
        (hits,) = self._ask("search", name, [query], **wanted, **how)
        sign: Callable[[float], float] = float if field == "vector" else abs
        return [(sign(hit["distance"]), dict(hit["entity"])) for hit in hits]

    def flush(self, name: str) -> None:
        """Flushes Milvus Lite's log, which is slow to search; a server does so itself."""
        if self._lite:
            self._ask("flush", name, timeout=LOAD_TIMEOUT)

    def close(self) -> None:
        """Stops Milvus Lite after its last client in this process."""
        if self._client is not None:
            self._client.close()
            self._client = None
        if self._lite:
            self._lite.release()
            self._lite = None

    def _ask(self, method: str, *arguments: Any, timeout: float = MILVUS_TIMEOUT, **options: Any) -> Any:
        with self._errors():
            return getattr(self._client, method)(*arguments, timeout=timeout, **options)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self._failed as error:
            raise self._translate(error) from None  # the original message may contain the token

    def _translate(self, error: Exception) -> CorpusError | UsageError:
        details = error.details() if hasattr(error, "details") else getattr(error, "message", "")
        message = self._secrets.hide(str(details or error)).strip()
        message = message if len(message) <= 300 else message[:300] + "…"
        where = f"Milvus at {self.address.uri!r}"
        if re.search(r"no space left|disk.{0,20}(full|exhausted|quota)", message, re.I):
            hint = "what was stored before is intact; free some space and try again"
            return StoreUnavailable(f"no space left for {where}: {message}", full=True, hint=hint)
        if re.search(r"auth|permission|privilege|token", message, re.I):
            hint = f"set {TOKEN} to its API key, or to name:password"
            return UsageError(f"{where} refuses access: {message}", hint=hint)
        if re.search(r"fail(ed)? connecting|unavailable|deadline|retry|timeout|closed channel", message, re.I):
            return CorpusError(f"{where} does not answer: {message}", hint="is it running, and is the address right?")
        return CorpusError(f"{where} fails: {message}", hint="see the server's log; what was stored before is intact")


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
        raise UsageError(f"a Milvus store needs pymilvus: {error}", hint=install("milvus")) from None
    # It also logs each error that it raises, with a traceback and the data sent.
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    return pymilvus


def _slices(items: Sequence[Any], size: int = KEY_BATCH) -> Iterator[list[Any]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])
