"""Ten thousand claims in one process on the embedded backend: claims a second, memory over time, cache cold and warm.

FEVER claims over the pool, Tool-MAD's debates of one round in the profile ``hardened``, the default. The second
pass is a process of its own that finds the outputs of the small models in the cache that the first has filled
(``REDARGUE_CACHE``).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks import pool
from benchmarks.load import _resident
from redargue.claims import Claim
from redargue.verifier import Verifier

METHOD, PROFILE = "tool-mad", "hardened"


def main(arguments: list[str]) -> None:
    """Prints a line a pass."""
    parser = argparse.ArgumentParser(prog="scale")
    parser.add_argument("--claims", type=int, default=10_000)
    parser.add_argument("--pass", dest="which", choices=("cold", "warm"))
    given = parser.parse_args(arguments)
    cache = pool.BUILD / "scale.db"
    if given.which:
        print(json.dumps({"cache": given.which} | asyncio.run(_pass(given.claims))), flush=True)
        return
    pool.store()
    for suffix in ("", "-wal", "-shm"):
        cache.with_name(cache.name + suffix).unlink(missing_ok=True)
    for which in ("cold", "warm"):
        command = [sys.executable, "-m", "benchmarks", "scale", "--claims", str(given.claims), "--pass", which]
        subprocess.run(command, check=True, env={**os.environ, "REDARGUE_CACHE": str(cache)})
    print(json.dumps({"cache on disk, MB": round(cache.stat().st_size / 1e6)}))


def _claims(count: int) -> Iterator[Claim]:
    """Distinct claims of both halves of FEVER's development set."""
    seen: set[str] = set()
    for name in ("paper_test", "paper_dev"):
        for row in pool.rows(pool.data() / "benchmarks" / "fever" / f"{name}.jsonl.gz"):
            if row["claim"] not in seen and len(seen) < count:
                seen.add(row["claim"])
                yield Claim(text=row["claim"])


async def _pass(count: int) -> dict[str, object]:
    began, done, errors = time.perf_counter(), 0, 0
    memory = []
    store, _ = pool.store()
    with Verifier(method=METHOD, profile=PROFILE, store=store, settings={"rounds": 1}, offline=True) as verifier:
        async for _, verdict in verifier.stream(_claims(count), concurrency=4):
            done += 1
            errors += verdict.error is not None
            if done % max(1, count // 5) == 0:
                memory.append(_resident())
    seconds = time.perf_counter() - began
    return {
        "method": METHOD,
        "profile": PROFILE,
        "claims": done,
        "errors": errors,
        "claims a second": round(done / seconds, 1),
        "seconds": round(seconds),
        "resident MB at each fifth": memory,
    }
