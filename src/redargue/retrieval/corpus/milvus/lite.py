"""Runs Milvus Lite in this process; it listens on a loopback port without a password while a store is open.

pymilvus itself can start Milvus Lite for a path that ends in ``.db``, but it keeps the folder locked until the process
ends, and its error for a folder that another process holds does not say so.
"""

from __future__ import annotations

import os
from pathlib import Path
from threading import RLock
from typing import ClassVar

from redargue.errors import CorpusError, StoreUnavailable, UsageError
from redargue.files import make_folder
from redargue.retrieval.corpus.milvus.address import INSTALL, nothing_at


class LiteServer:
    """Milvus Lite on one folder, shared by the stores of this process."""

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
        _require_own_folder(Path(path), write)
        if write:
            _make_private(Path(path))
        try:
            from milvus_lite import DataDirLockedError
            from milvus_lite.adapter.grpc.server import start_server_in_thread
        except ImportError as error:
            raise UsageError(f"milvus:{path!r} needs Milvus Lite: {error}", hint=INSTALL) from None
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


def _make_private(path: Path) -> None:
    try:
        make_folder(path)
    except OSError as error:
        what = f"{str(path)!r} cannot be created: {error.strerror}"
        raise UsageError(what, hint="choose another path: --store milvus:PATH") from error


def _require_own_folder(path: Path, write: bool) -> None:
    """Rejects a file, or a folder with other contents, before Milvus Lite writes to it."""
    try:
        entries = set(os.listdir(path))
        if entries and "collections" not in entries:
            what = f"{str(path)!r} is not a Milvus Lite folder; it was not changed"
            raise CorpusError(what, hint="choose another path: milvus:PATH")
    except FileNotFoundError:
        entries = set()
    except NotADirectoryError:
        raise CorpusError(
            f"{str(path)!r} is a file, and Milvus Lite 3 needs a folder; it was not changed",
            hint=f"for a SQLite corpus, omit the scheme: --store {path}",
        ) from None
    except OSError as error:
        what = f"{str(path)!r} cannot be opened: {error.strerror}"
        raise UsageError(what, hint="choose another path: milvus:PATH") from error
    if not entries and not write:
        raise nothing_at(f"milvus:{path}")
