"""Caches outputs of the small models on disk: tables over many methods read the same pairs repeatedly.

The key is the hash of the model and of the text (or pair), so new weights never get outputs of old ones. Outputs are
stored bit for bit: a run with a cache equals one without.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

import numpy as np
import numpy.typing as npt

from redargue.errors import UsageError
from redargue.files import make_folder, make_private
from redargue.retrieval.corpus.sqlite_guard import Guard

Floats = npt.NDArray[np.float32]
Text = str | tuple[str, str]
_TABLES = "CREATE TABLE outputs (key BLOB PRIMARY KEY, output BLOB, tokens INTEGER) WITHOUT ROWID"
KEYS_PER_QUERY = 500  # SQLite limits the number of parameters


class OutputCache:
    """Outputs of one model in a SQLite file; several processes may share it."""

    def __init__(self, path: Path, model: str) -> None:
        self._model, self._path, self._lock = model, path, Lock()
        try:
            make_folder(path.parent)
            make_private(path)
            self._file = sqlite3.connect(path, timeout=30, check_same_thread=False, isolation_level=None)
            self._guard = Guard(self._file, path)
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")  # a lost entry is computed again
            self._file.execute(_TABLES.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))
            foreign = self._guard.foreign_part(_TABLES)
        except (OSError, sqlite3.Error) as error:
            raise UsageError(f"{str(path)!r} cannot be a cache: {error}", where="REDARGUE_CACHE") from error
        if foreign:
            self._file.close()
            what = f"{str(path)!r} cannot be a cache: redargue did not make {foreign}"
            raise UsageError(what, where="REDARGUE_CACHE", hint="name another file")

    def recall(self, texts: Sequence[Text]) -> dict[Text, tuple[Floats, int]]:
        texts_by_key = {self._key(text): text for text in texts}
        outputs: dict[Text, tuple[Floats, int]] = {}
        keys = list(texts_by_key)
        for start in range(0, len(keys), KEYS_PER_QUERY):
            some = keys[start : start + KEYS_PER_QUERY]
            marks = ",".join("?" * len(some))
            with self._lock, self._errors():
                rows = self._file.execute(f"SELECT key, output, tokens FROM outputs WHERE key IN ({marks})", some)
                for key, output, tokens in rows:
                    outputs[texts_by_key[key]] = np.frombuffer(output, np.float32), tokens
        return outputs

    def keep(self, outputs: Mapping[Text, tuple[Floats, int]]) -> None:
        rows = [
            (self._key(text), np.ascontiguousarray(output, np.float32).tobytes(), tokens)
            for text, (output, tokens) in outputs.items()
        ]
        with self._lock, self._errors():
            self._file.execute("BEGIN IMMEDIATE")
            self._file.executemany("INSERT OR IGNORE INTO outputs VALUES (?, ?, ?)", rows)
            self._file.execute("COMMIT")

    def __len__(self) -> int:
        with self._lock, self._errors():
            return int(self._file.execute("SELECT count(tokens) FROM outputs").fetchone()[0])

    @contextmanager
    def _errors(self) -> Iterator[None]:
        self._guard.allow()
        try:
            yield
        except (sqlite3.DatabaseError, TypeError, ValueError) as error:
            what = f"{str(self._path)!r} is damaged: {error}"
            raise UsageError(what, where="REDARGUE_CACHE", hint="delete the file; it is written anew") from error

    def close(self) -> None:
        self._file.close()

    def _key(self, text: Text) -> bytes:
        return hashlib.sha256(json.dumps([self._model, text]).encode()).digest()
