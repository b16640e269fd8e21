"""Runs the small models with onnxruntime: one text per call, several calls concurrently.

int8 activations are scaled over the whole tensor, so in a batch a text's result would depend on its neighbours, and a
replayed run would not equal the recorded one. On two cores, two concurrent one-thread calls are as fast as one batch
(``benchmarks/models.py``).

Sentence vectors, and whether evidence supports or refutes a claim: the bundled models.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import warnings
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from redargue.database import SqliteGuard
from redargue.errors import UsageError
from redargue.files import make_folder, make_private, sha256_of
from redargue.nli.model_files import OnnxFile, unpacked
from redargue.nli.wordpiece import WordPiece
from redargue.registry import install

tally: ContextVar[list[int] | None] = ContextVar("tally", default=None)
"""Collects the numbers of tokens read for one backend call; concurrent calls have separate lists."""

WEIGHTS_FOLDER = Path(str(files("redargue.nli") / "weights"))


class TextModel(ABC):
    """A model of texts (or pairs of texts) with its tokenizer; outputs are cached.

    Args:
        name: of the threads.
        sha256: returns the key of ``REDARGUE_CACHE``, which all outputs are kept in.
        kept: outputs that are cached in memory.
        threads: texts read concurrently; 0: as REDARGUE_THREADS says, or one for each core.
    """

    def __init__(self, name: str, tokenizer: Any, *, sha256: Callable[[], str], kept: int, threads: int = 0) -> None:
        threads = threads or _threads_setting() or os.cpu_count() or 1
        self.threads, self.tokenizer = threads, tokenizer
        self._kept, self._lock = kept, Lock()
        self._known: OrderedDict[ModelText, tuple[Floats, int]] = OrderedDict()
        self._held: dict[ModelText, tuple[tuple[Floats, int], int]] = {}  # and how often
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        cache = os.environ.get("REDARGUE_CACHE")
        self._cache = OutputCache(Path(cache), sha256()) if cache else None

    def run(self, texts: Sequence[ModelText]) -> list[Floats]:
        """For each text (or pair of texts) the model's first output, without the batch axis.

        Cached texts count their tokens too, so that a resumed run reports the usage of an uninterrupted one.
        """
        known = self._outputs(texts)
        counts = tally.get()
        if counts is not None:
            counts.append(sum(known[text][1] for text in texts))
        return [known[text][0] for text in texts]

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """The special tokens of the tokenizer, longest first."""
        if isinstance(self.tokenizer, WordPiece):
            names = list(self.tokenizer.special)
        else:
            added = self.tokenizer.get_added_tokens_decoder().values()
            names = [token.content for token in added if token.special]
        return tuple(sorted(names, key=len, reverse=True))

    def count(self, text: ModelText) -> int:
        """The tokens of a text, special ones included."""
        return len(self.tokenizer.encode(*([text] if isinstance(text, str) else text)).ids)

    def hold(self, texts: Sequence[ModelText]) -> None:
        """Keeps the outputs of texts in memory until they are released as often as they are held."""
        outputs = self._outputs(texts)
        with self._lock:
            for text in texts:
                output, count = self._held.get(text, (outputs[text], 0))
                self._held[text] = output, count + 1

    def release(self, texts: Sequence[ModelText]) -> None:
        with self._lock:
            for text in texts:
                output, count = self._held.pop(text)
                if count > 1:
                    self._held[text] = output, count - 1

    def _outputs(self, texts: Sequence[ModelText]) -> dict[ModelText, tuple[Floats, int]]:
        with self._lock:
            known = {text: self._held[text][0] for text in texts if text in self._held}
            known |= {text: self._known[text] for text in texts if text in self._known and text not in known}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        cached = self._cache.recall(new) if self._cache is not None and new else {}
        unread = [text for text in new if text not in cached]
        computed = dict(zip(unread, self._pool.map(self._one, self.tokenizer.encode_batch(unread)), strict=True))
        if self._cache is not None and computed:
            self._cache.keep(computed)
        known |= cached | computed
        with self._lock:
            self._known.update((text, known[text]) for text in new)
            while len(self._known) > self._kept:
                self._known.popitem(last=False)
        return known

    def _one(self, row: Any) -> tuple[Floats, int]:
        return self._output(row), len(row.ids)

    @abstractmethod
    def _output(self, row: Any) -> Floats:
        """The output of one tokenised text."""


class Session(TextModel):
    """A bundled ONNX model with its tokenizer; ``kept`` outputs are cached in memory.

    Args:
        model: the file's name.
        weights: the name of the file with the weights, in blocks, if they are not in the first.
    """

    def __init__(
        self,
        model: str,
        *,
        longest: int,
        kept: int,
        threads: int = 0,
        folder: Path = WEIGHTS_FOLDER,
        weights: str | None = None,
    ) -> None:
        package = "redargue" if folder == WEIGHTS_FOLDER else "redargue-reader"
        self._path, self._hint = folder / model, f"reinstall {package}: its wheel contains the file"
        for name in (model, weights or model, "tokenizer.json"):
            if not (folder / name).is_file():
                raise UsageError(f"no file {name!r} in {str(folder)!r}", hint=self._hint)
        left_out = unpacked(folder / weights, self._path) if weights else {}
        pool = ThreadPoolExecutor(1)  # the large model is loaded while the small ones find sentences for it
        self._session = pool.submit(OnnxFile, self._path, bounded=False, weights=left_out)
        pool.shutdown(wait=False)
        if not weights:
            self._session.result()
        tokenizer = read_tokenizer(folder, longest)
        super().__init__(model, tokenizer, sha256=lambda: file_sha256(self._path), kept=kept, threads=threads)

    def _output(self, row: Any) -> Floats:
        output = np.asarray(self._session.result().run(onnx_inputs(row))[0])
        if not np.isfinite(output).all():
            raise UsageError(f"the model {str(self._path)!r} returns no finite numbers", hint=self._hint)
        return output


def onnx_inputs(row: Any) -> dict[str, npt.NDArray[np.int64]]:
    """The inputs of one tokenised text, with a batch axis, by the names that exporters give them."""
    return {
        "input_ids": np.asarray([row.ids], np.int64),
        "attention_mask": np.asarray([row.attention_mask], np.int64),
        "token_type_ids": np.asarray([row.type_ids], np.int64),
    }


file_sha256 = lru_cache(maxsize=4)(sha256_of)  # of the bundled files, which do not change


def _threads_setting() -> int:
    value = os.environ.get("REDARGUE_THREADS", "0")
    if not value.isdigit():
        raise UsageError(
            f"expected a number of threads, got {value!r}", where="REDARGUE_THREADS", hint="0: one thread per core"
        )
    return int(value)


@lru_cache(maxsize=4)
def read_tokenizer(folder: Path, longest: int) -> Any:
    path = folder / "tokenizer.json"
    wordpiece = WordPiece.of(json.loads(path.read_text(encoding="utf-8")), longest=longest)
    if wordpiece is not None:
        return wordpiece
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError:
        what = "this model's tokenizer needs the package tokenizers"
        raise UsageError(what, where=str(path), hint=install("tokenizers")) from None
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(longest)
    tokenizer.no_padding()
    return tokenizer


# Outputs on disk: tables over many methods read the same pairs repeatedly. The key is the hash of the model and of the
# text (or pair), so new weights never get outputs of old ones. Outputs are stored bit for bit.

Floats = npt.NDArray[np.float32]
ModelText = str | tuple[str, str]
_TABLES = "CREATE TABLE outputs (key BLOB PRIMARY KEY, output BLOB, tokens INTEGER) WITHOUT ROWID"
_IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_UNWRITABLE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)


class OutputCache:
    """Outputs of one model in a SQLite file; several processes may share it."""

    def __init__(self, path: Path, model: str) -> None:
        self._model, self._path, self._lock = model, path, Lock()
        try:
            make_folder(path.parent)
            make_private(path)
            self._file = sqlite3.connect(path, timeout=5, check_same_thread=False, isolation_level=None)
            self._guard = SqliteGuard(self._file, path)
            if not self._file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                self._file.execute(_TABLES.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))
            foreign = self._guard.foreign_part(_TABLES)
            if not foreign:  # nothing is written before: it may be a corpus, or the database of another program
                self._file.execute("PRAGMA journal_mode = WAL")
                self._file.execute("PRAGMA synchronous = NORMAL")  # a lost entry is computed again
        except (OSError, sqlite3.Error) as error:
            what = f"{str(path)!r} cannot be a cache: {error}"
            raise UsageError(what, where="REDARGUE_CACHE", hint="name another file") from error
        if foreign:
            self._file.close()
            what = f"{str(path)!r} cannot be a cache: redargue did not make {foreign}; it was not changed"
            raise UsageError(what, where="REDARGUE_CACHE", hint="name another file")

    def recall(self, texts: Sequence[ModelText]) -> dict[ModelText, tuple[Floats, int]]:
        outputs: dict[ModelText, tuple[Floats, int]] = {}
        with self._lock, self._errors():
            for text in texts:
                query = "SELECT output, tokens FROM outputs WHERE key = ?"
                for output, tokens in self._file.execute(query, [self._key(text)]):
                    outputs[text] = np.frombuffer(output, np.float32), tokens
        return outputs

    def keep(self, outputs: Mapping[ModelText, tuple[Floats, int]]) -> None:
        rows = [
            (self._key(text), np.ascontiguousarray(output, np.float32).tobytes(), tokens)
            for text, (output, tokens) in outputs.items()
        ]
        with self._lock, self._errors(), self._file:  # which commits, or rolls back
            self._file.execute("BEGIN IMMEDIATE")
            self._file.executemany("INSERT OR IGNORE INTO outputs VALUES (?, ?, ?)", rows)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Goes on without a file that is in use, or cannot be written; raises UsageError for a damaged one."""
        self._guard.allow()
        try:
            yield
        except (sqlite3.DatabaseError, TypeError, ValueError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in (*_IN_USE, *_UNWRITABLE):
                self._file.execute("PRAGMA busy_timeout = 0")  # it is not waited for again
                what = f"{str(self._path)!r} (REDARGUE_CACHE) cannot be used: {error}; outputs are computed again"
                warnings.warn(what, stacklevel=4)
                return
            what = f"{str(self._path)!r} is damaged: {error}"
            raise UsageError(what, where="REDARGUE_CACHE", hint="delete the file; it is written anew") from error

    def close(self) -> None:
        self._file.close()

    def _key(self, text: ModelText) -> bytes:
        return hashlib.sha256(json.dumps([self._model, text]).encode()).digest()


# Sentence vectors from all-MiniLM-L6-v2, quantised to int8.

DIMENSIONS = 384


class Embedder:
    """Turns texts into vectors of length 1, so that a dot product is a cosine."""

    name = "all-minilm-l6-v2-int8"

    def __init__(self, *, threads: int = 0) -> None:
        self._session = Session("embedder.onnx", longest=256, kept=5_000, threads=threads)

    def encode(self, texts: Sequence[str]) -> Floats:
        """Vectors of shape (texts, 384), float32; a text longer than 256 tokens is represented by its beginning."""
        vectors = self._session.run(list(texts))
        return np.stack(vectors) if vectors else np.zeros((0, DIMENSIONS), np.float32)

    def hold(self, texts: Sequence[str]) -> None:
        self._session.hold(texts)

    def release(self, texts: Sequence[str]) -> None:
        self._session.release(texts)


def shared(threads: int = 0) -> Embedder:
    """One copy of the weights per process, also if several threads ask for it first."""
    with _loading:
        return _shared(threads)


_loading = Lock()


@cache
def _shared(threads: int) -> Embedder:
    return Embedder(threads=threads)


# The bundled cross-encoder: MiniLM-L6, fine-tuned by ``training/train_entailment.py`` and quantised to int8. It gives
# three logits of the labels, and one of relevance: whether a search should return the text.


class Entailment(NamedTuple):
    """Probabilities that sum to 1."""

    supports: float
    refutes: float
    neither: float


def softmax(logits: npt.NDArray[Any]) -> Entailment:
    shares = np.exp(logits - logits.max())
    return Entailment(*map(float, shares / shares.sum()))


LABELS = len(Entailment._fields)
_KEPT = 4_000  # pairs whose outputs are kept in memory


class EntailmentModel(Protocol):
    """Reads (claim, evidence) pairs; each pair is read alone, so results do not depend on their neighbours."""

    @property
    def sha256(self) -> str:
        """Changes whenever results may."""

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        """One result per pair, in order."""

    def relevance(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The probability that each text decides the claim either way, in [0, 1]."""


class CrossEncoder:
    """Reads (claim, evidence) pairs.

    Args:
        threads: pairs read concurrently, 0 for one per core.
        longest: a pair, in tokens.
        graph: the name of the file that computes with the weights of ``entailment.onnx``, if it does not itself.
    """

    def __init__(
        self, *, threads: int = 0, folder: Path = WEIGHTS_FOLDER, longest: int = 160, graph: str | None = None
    ) -> None:
        model, weights = (graph, "entailment.onnx") if graph else ("entailment.onnx", None)
        self._path = folder / model
        self._session = Session(model, longest=longest, kept=_KEPT, threads=threads, folder=folder, weights=weights)

    @cached_property
    def sha256(self) -> str:
        return file_sha256(self._path)

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        return [softmax(logits[:LABELS]) for logits in self._session.run(list(pairs))]

    def relevance(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [float((1 + np.tanh(logits[LABELS] / 2)) / 2) for logits in self._session.run(list(pairs))]
