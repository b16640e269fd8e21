"""Caches outputs of the small models on disk: tables over many methods read the same pairs repeatedly.

The key is the hash of the model and of the text (or pair), so new weights never get outputs of old ones. Outputs are
stored bit for bit: a run with a cache equals one without.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock

import numpy as np
import numpy.typing as npt

from redargue.errors import UsageError
from redargue.files import make_folder, make_private

Floats = npt.NDArray[np.float32]
Text = str | tuple[str, str]
KEYS_PER_QUERY = 500  # SQLite limits the number of parameters


class OutputCache:
    """Outputs of one model in a SQLite file; several processes may share it."""

    def __init__(self, path: Path, model: str) -> None:
        self._model, self._lock = model, Lock()
        try:
            make_folder(path.parent)
            make_private(path)
            self._file = sqlite3.connect(path, timeout=30, check_same_thread=False, isolation_level=None)
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")  # a lost entry is computed again
            self._file.execute(
                "CREATE TABLE IF NOT EXISTS outputs (key BLOB PRIMARY KEY, output BLOB, tokens INTEGER) WITHOUT ROWID"
            )
        except (OSError, sqlite3.Error) as error:
            raise UsageError(f"{str(path)!r} cannot be a cache: {error}", where="REDARGUE_CACHE") from error

    def recall(self, texts: Sequence[Text]) -> dict[Text, tuple[Floats, int]]:
        texts_by_key = {self._key(text): text for text in texts}
        outputs: dict[Text, tuple[Floats, int]] = {}
        keys = list(texts_by_key)
        for start in range(0, len(keys), KEYS_PER_QUERY):
            some = keys[start : start + KEYS_PER_QUERY]
            marks = ",".join("?" * len(some))
            with self._lock:
                rows = self._file.execute(f"SELECT key, output, tokens FROM outputs WHERE key IN ({marks})", some)
                for key, output, tokens in rows:
                    outputs[texts_by_key[key]] = np.frombuffer(output, np.float32), tokens
        return outputs

    def keep(self, outputs: Mapping[Text, tuple[Floats, int]]) -> None:
        rows = [
            (self._key(text), np.ascontiguousarray(output, np.float32).tobytes(), tokens)
            for text, (output, tokens) in outputs.items()
        ]
        with self._lock:
            self._file.execute("BEGIN IMMEDIATE")
            self._file.executemany("INSERT OR IGNORE INTO outputs VALUES (?, ?, ?)", rows)
            self._file.execute("COMMIT")

    def __len__(self) -> int:
        with self._lock:
            return int(self._file.execute("SELECT count(*) FROM outputs").fetchone()[0])

    def close(self) -> None:
        self._file.close()

    def _key(self, text: Text) -> bytes:
        return hashlib.sha256(json.dumps([self._model, text]).encode()).digest()
