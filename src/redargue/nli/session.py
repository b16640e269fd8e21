"""How the small models are run: onnxruntime, one text a call, several calls at once.

One text a call on purpose: int8 activations are scaled over the whole tensor, so in a batch a text's result would
depend on what happens to stand beside it, and a replayed run would not equal the recorded one. On two cores, two
one-thread calls side by side are as fast as one batch (``benchmarks/models.py``).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import lru_cache
from importlib.resources import files
from math import tanh
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from redargue.errors import MissingExtra, UsageError
from redargue.nli.cache import Floats, OutputCache, Text
from redargue.nli.wordpiece import Cut, WordPiece

tally: ContextVar[list[int] | None] = ContextVar("tally", default=None)
"""Where the tokens read on behalf of one call are counted; calls at once each have their own."""

MODEL = "model.onnx"  # of a folder of the user's own
WEIGHTS = Path(str(files("redargue.nli") / "weights"))


class Session:
    """An ONNX model with its tokenizer.

    Args:
        model: file name of the model in the folder.
        longest: tokens; longer inputs are cut (of a pair, the longer text, or the first where ``cut`` says so).
        kept: outputs kept in memory: a debate reads the same sentences again in its scores and before its judge.
        folder: where ``model`` and ``tokenizer.json`` are; the package's own by default.
        threads: calls at once; 0 for one a core. ``REDARGUE_THREADS`` sets the default.
        cut: as the tokenizer calls it.

    Where ``REDARGUE_CACHE`` names a file, outputs are kept there, too (:mod:`redargue.nli.cache`).

    Raises:
        UsageError: the folder lacks a file.
    """

    def __init__(
        self,
        model: str,
        *,
        longest: int,
        kept: int,
        folder: Path | None = None,
        threads: int = 0,
        cut: Cut = "longest_first",
    ) -> None:
        import onnxruntime  # 0.2 s, and nothing but the embedded backend needs it

        folder = folder or WEIGHTS
        for name in (model, "tokenizer.json"):
            if not (folder / name).is_file():
                raise UsageError(
                    f"no file {name!r} in {str(folder)!r}", hint="reinstall redargue: its wheel carries it"
                )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(str(folder / model), options, providers=["CPUExecutionProvider"])
        self._inputs = {each.name for each in self._session.get_inputs()}
        self._tokenizer = _tokenizer(folder, longest, cut)
        self.threads = threads or _wanted_threads() or os.cpu_count() or 1
        self._kept, self._lock = kept, Lock()
        self._known: OrderedDict[Text, tuple[Floats, int]] = OrderedDict()
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix=model)
        kept_at = os.environ.get("REDARGUE_CACHE")
        self._cache = OutputCache(Path(kept_at), file_sha256(folder / model)) if kept_at else None

    def run(self, texts: Sequence[Text]) -> list[Floats]:
        """For each text (or pair of texts) the model's first output, without the batch axis.

        A text that was read before costs no time, and counts its tokens all the same: a resumed run costs what the
        first did.
        """
        with self._lock:
            known = {text: self._known[text] for text in texts if text in self._known}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        kept = self._cache.recall(new) if self._cache is not None and new else {}
        unread = [text for text in new if text not in kept]
        read = dict(zip(unread, self._pool.map(self._one, self._tokenizer.encode_batch(unread)), strict=True))
        if self._cache is not None and read:
            self._cache.keep(read)
        known |= kept | read
        with self._lock:
            self._known.update((text, known[text]) for text in new)
            while len(self._known) > self._kept:
                self._known.popitem(last=False)
        counted = tally.get()
        if counted is not None:
            counted.append(sum(known[text][1] for text in texts))
        return [known[text][0] for text in texts]

    def _one(self, row: Any) -> tuple[Floats, int]:
        """The output for one tokenised text, and how many tokens it had."""
        every = {
            "input_ids": np.asarray([row.ids], np.int64),
            "attention_mask": np.asarray([row.attention_mask], np.int64),
            "token_type_ids": np.asarray([row.type_ids], np.int64),
        }
        output: Floats = self._session.run(None, {name: every[name] for name in self._inputs})[0][0]
        return output, len(row.ids)


def of_ones_own(folder: Path, *, where: str, what: str) -> Path:
    """A folder with a model of the user's own.

    Args:
        folder: should hold ``model.onnx`` and ``tokenizer.json``.
        where: the setting that names it.
        what: the model that is wanted, in words.

    Raises:
        UsageError: it lacks a file.
    """
    for name in (MODEL, "tokenizer.json"):
        if not (folder / name).is_file():
            raise UsageError(
                f"no file {name!r} in {str(folder)!r}",
                where=where,
                hint=f"name a folder with {what} exported to ONNX and its tokenizer",
            )
    return folder


def logistic(logit: float) -> float:
    """In [0, 1], without an exp that could overflow."""
    return (1 + tanh(logit / 2)) / 2


@lru_cache(maxsize=4)
def file_sha256(path: Path) -> str:
    """Of a model's file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _wanted_threads() -> int:
    given = os.environ.get("REDARGUE_THREADS", "0")
    if not given.isdigit():
        raise UsageError(f"{given!r} is no number of threads", where="REDARGUE_THREADS", hint="0 for one a core")
    return int(given)


@lru_cache(maxsize=4)
def _tokenizer(folder: Path, longest: int, cut: Cut) -> Any:
    """The folder's tokenizer; the package ``tokenizers`` is needed for other kinds than BERT's WordPiece.

    Raises:
        MissingExtra: that package is not installed.
    """
    path = folder / "tokenizer.json"
    wordpiece = WordPiece.of(json.loads(path.read_text(encoding="utf-8")), longest=longest, cut=cut)
    if wordpiece is not None:
        return wordpiece
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError:
        raise MissingExtra(
            "this model's tokenizer needs the package tokenizers",
            where=str(path),
            hint="pip install 'redargue[tokenizers]'",
        ) from None
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(longest, strategy=cut)
    tokenizer.no_padding()
    return tokenizer
