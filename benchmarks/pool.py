"""FEVER claims over the pooled Wikipedia passages: where they are, which half they belong to, how they are indexed."""

from __future__ import annotations

import atexit
import gzip
import hashlib
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

BUILD = Path("build/bench")
REPORTED = 300  # even claims that ``fever`` reports; nothing is chosen on them


def data() -> Path:
    """The data folder; a clear stop where it is not at hand."""
    folder = os.environ.get("REDARGUE_DATA")
    if not folder or not Path(folder, "benchmarks").is_dir():
        said = f"REDARGUE_DATA={folder!r} holds no benchmarks" if folder else "REDARGUE_DATA is not set"
        sys.exit(f"{said}: this benchmark cannot run without its data")
    return Path(folder)


def started(command: list[str], **options: Any) -> subprocess.Popen[Any]:
    """A process that ends with this one, however this one ends except by SIGKILL (``__main__`` exits on SIGTERM)."""
    process = subprocess.Popen(command, **options)
    atexit.register(process.terminate)  # does nothing to one that has ended
    return process


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a ``.jsonl.gz`` file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def is_even(claim: str) -> bool:
    """Whether a claim is for choosing (even) or for reporting (odd)."""
    return int(hashlib.sha1(claim.encode()).hexdigest()[:8], 16) % 2 == 0


def claims(half: str, limit: int, name: str = "paper_test") -> list[dict[str, Any]]:
    """The first distinct claims of one half of a FEVER file, in its order."""
    seen: dict[str, dict[str, Any]] = {}
    for row in rows(data() / "benchmarks" / "fever" / f"{name}.jsonl.gz"):
        if is_even(row["claim"]) == (half == "even"):
            seen.setdefault(row["claim"], row)
    return list(seen.values())[:limit]


def store() -> tuple[Path, dict[str, Any]]:
    """The index over the pool, and what making it cost (empty where it was there)."""
    path = BUILD / "fever.db"
    if path.exists():
        return path, {}
    BUILD.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    source = data() / "benchmarks" / "fever" / "corpus.jsonl.gz"
    beside = path.with_suffix(".part.db")  # an interrupted one is completed, and never taken for the whole
    command = [sys.executable, "-m", "redargue.cli.app", "corpus", "add", str(source), "--store", str(beside)]
    subprocess.run(command, check=True)
    beside.rename(path)
    return path, {
        "seconds": round(time.perf_counter() - started, 1),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024),
        "disk_mb": round(path.stat().st_size / 1e6, 1),
    }
