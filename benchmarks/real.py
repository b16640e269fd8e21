"""A real language model on this machine: llama.cpp behind its own OpenAI-compatible endpoint, for other benchmarks.

    python -m benchmarks real --model FILE.gguf    # prints the base URL, and serves until it is interrupted

``REDARGUE_GGUF`` names the file where ``--model`` does not. It needs xllamacpp, which is llama.cpp as a wheel. A small
model (Qwen2.5-Coder-1.5B-Instruct in 4 bits was used) decides nothing, but its replies, refusals and costs are real.
It needs both cores to itself: its threads spin, and beside other work it is many times slower.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import httpx2

from redargue.errors import UsageError

_FENCE = re.compile(rb"<(/?)data-[a-z]{10}>")  # its word is secret, and differs between machines


@contextmanager
def served(model: Path, *, threads: int = 2, context: int = 8192, slots: int = 1) -> Iterator[str]:
    """The base URL of an endpoint that answers with a GGUF model, ``slots`` requests concurrently.

    Each request may have ``context`` tokens, with its reply.
    """
    xllamacpp = importlib.import_module("xllamacpp")
    parameters = xllamacpp.CommonParams()
    parameters.model.path, parameters.n_ctx, parameters.n_parallel = str(model), context * slots, slots
    parameters.hostnames, parameters.port = ["127.0.0.1"], 0
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.verbosity = -1  # its log
    server: Any = xllamacpp.Server(parameters)
    yield f"{server.listening_address.rstrip('/')}/v1"


class KeptReplies(httpx2.AsyncBaseTransport):
    """Sends each request once, and keeps its reply in a file, from which it is answered later.

    A file has the replies of one model.

    Args:
        path: the file.
        inner: sends what is not kept; without it, kept replies are counted again.
        model: the model's file name or its endpoint's URL; needed with ``inner``.
    """

    def __init__(self, path: Path, inner: httpx2.AsyncBaseTransport | None = None, *, model: str = "") -> None:
        self._path, self._inner, self._model = path, inner, model
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        rows = [json.loads(line) for line in lines]
        if inner and (others := {row.get("model", "an unnamed model") for row in rows} - {model}):
            hint = "name another file with --replies"
            raise UsageError(f"it has replies of {sorted(others)}, not of {model!r}", where=str(path), hint=hint)
        self._known: dict[str, dict[str, Any]] = {row["key"]: row for row in rows}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        key = hashlib.sha256(_FENCE.sub(rb"<\1data>", body)).hexdigest()
        if key not in self._known:
            self._known[key] = {"key": key, "model": self._model, **await self._sent(request)}
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(self._known[key]) + "\n")
        kept = self._known[key]
        return httpx2.Response(kept["status"], text=kept["body"], headers={"content-type": "application/json"})

    async def _sent(self, request: httpx2.Request) -> dict[str, Any]:
        if self._inner is None:
            raise httpx2.ConnectError("this request was not kept, and no model is running", request=request)
        reply = await self._inner.handle_async_request(request)
        return {"status": reply.status_code, "body": (await reply.aread()).decode()}

    async def aclose(self) -> None:
        if self._inner is not None:
            await self._inner.aclose()


def model_file(given: Path | None) -> Path | None:
    """The GGUF file that is named by an option or the environment."""
    return given or (Path(os.environ["REDARGUE_GGUF"]) if os.environ.get("REDARGUE_GGUF") else None)


def main(arguments: list[str]) -> None:
    """Serves until it is interrupted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks real", description=__doc__)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--context", type=int, default=8192, help="tokens")
    options = parser.parse_args(arguments)
    model = model_file(options.model)
    if not model:
        print("skipped: name a model in GGUF: --model FILE (pip install xllamacpp)")
        return
    with served(model, threads=options.threads, context=options.context) as url:
        print(url, flush=True)
        Event().wait()
