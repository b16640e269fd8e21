"""The evidence memory at a million records: recall by entity and by meaning, writing, room; killed and crowded writers.

Vectors are synthetic, in clusters of fifty within topics of five thousand; questions are new members of clusters. What
is exact is computed from all vectors. Filling and asking are processes of their own. With ``--memory postgresql://…``
the same on a server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pool
from benchmarks.load import _resident
from redargue.claims import Claim
from redargue.evidence import Passage
from redargue.memory.base import Finding, MemorySettings, RecordFilter
from redargue.memory.memory import Memory, open_memory
from redargue.nli.cache import Floats
from redargue.nli.embedder import DIMENSIONS

FOLDER = pool.BUILD / "memory"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
BLOCK = 1_000  # vectors that are made at once
CALL = 1_000  # records of one call while filling
CLUSTER, TOPIC = 50, 5_000  # records
HOT = 10  # entities that every record shares one of
QUESTIONS = 500
KILLS, WRITERS, EACH = 10, 8, 250


def main(arguments: list[str]) -> None:
    """Prints a line a part."""
    parser = argparse.ArgumentParser(prog="benchmarks memory", description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--memory", default="", help="postgresql://…; a file of the benchmark's own by default")
    parser.add_argument("--part", choices=("fill", "ask", "write"), help=argparse.SUPPRESS)
    parser.add_argument("--name", default="", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    where = given.memory or str(FOLDER / "memory.db")
    if given.part == "write":
        asyncio.run(_write(where, given.name, given.records))
        return
    if given.part:
        print(json.dumps(asyncio.run({"fill": _fill, "ask": _ask}[given.part](where, given.records))), flush=True)
        return
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    for part in ("fill", "ask"):
        subprocess.run(_command(part, where, given.records), check=True)
    print(json.dumps({"killed": _killed(where)}), flush=True)
    print(json.dumps({"crowded": _crowded(where)}), flush=True)


class Clustered:
    """Vectors of numbered texts: record ``n`` belongs to cluster ``n % clusters``, and so does question ``n``."""

    name = "clustered"

    def __init__(self, records: int) -> None:
        self._clusters = max(1, records // CLUSTER)
        rng = np.random.default_rng(1)
        topics = _unit(_normal(rng, max(1, records // TOPIC)))
        of = rng.integers(0, len(topics), self._clusters)
        self._centres = _unit(topics[of] + 0.8 * _unit(_normal(rng, self._clusters)))
        self._held: tuple[tuple[int, int], Floats] = (-1, -1), np.zeros((0, DIMENSIONS), np.float32)

    def block(self, kind: int, number: int) -> Floats:
        """Vectors of records (kind 0) or questions (kind 1) ``number * 1000`` and on, of shape (1000, 384)."""
        if self._held[0] != (kind, number):
            rng = np.random.default_rng([2, kind, number])
            centres = self._centres[(np.arange(BLOCK) + number * BLOCK) % self._clusters]
            self._held = (kind, number), _unit(centres + 0.7 * _unit(_normal(rng, BLOCK)))
        return self._held[1]

    def encode(self, texts: Sequence[str]) -> Floats:
        """By the kind and number that each text begins with."""
        pairs = [text.split(" ", 2)[:2] for text in texts]
        rows = [self.block(int(kind == "question"), int(at) // BLOCK)[int(at) % BLOCK] for kind, at in pairs]
        return np.stack(rows)


def _normal(rng: np.random.Generator, rows: int) -> Floats:
    return rng.standard_normal((rows, DIMENSIONS), np.float32)


def _unit(vectors: Floats) -> Floats:
    unit: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def finding(number: int, words: str = "evidence") -> Finding:
    """A record of about 300 characters."""
    text = f"record {number} " + f"{words} about the thing that was asked for. " * 7
    passage = Passage(text=text, url=f"https://example.org/{number}", tool="search", query=f"query {number // 5}")
    return Finding(passage=passage)


def entities(number: int) -> list[str]:
    """One that the records of a call share, one that ten calls share, one that a tenth of all calls share."""
    return [f"subject {number // CALL}", f"object {number // (10 * CALL)}", f"hot {number // CALL % HOT}"]


async def _fill(where: str, records: int) -> dict[str, Any]:
    began, cpu = time.perf_counter(), time.process_time()
    with open_memory(where, encoder=Clustered(records)) as memory:
        for start in range(0, records, CALL):
            batch = [finding(number) for number in range(start, min(records, start + CALL))]
            await memory.remember(batch, entities=entities(start), claim=f"claim {start}", run="fill", now=NOW)
    seconds = time.perf_counter() - began
    figures = {"records": records, "fill_s": round(seconds), "a_second": round(records / seconds)}
    figures["cpu_s"] = round(time.process_time() - cpu)
    return figures | {"file_mb": _room(Path(where)), "peak_mb": _peak()}


async def _ask(where: str, records: int) -> dict[str, Any]:
    encoder, rng = Clustered(records), random.Random(3)
    asked = [rng.randrange(records) for _ in range(QUESTIONS)]
    report: dict[str, Any] = {"resident_mb_before": _resident()}
    recalled: list[list[int]] = []
    for by, limit in (("entity", 5), ("meaning", 10), ("both", 5)):
        settings = MemorySettings(mode="frozen", by=by, limit=limit, similarity=-1)
        with open_memory(where, settings=settings, encoder=encoder) as memory:
            times, numbers = await _timed(memory, asked)
        report[by] = times
        recalled = numbers if by == "meaning" else recalled
    report["resident_mb"], report["peak_mb"] = _resident(), _peak()
    true = exact(encoder, asked, records)
    hits = [len(set(one) & set(other)) / 10 for one, other in zip(recalled, true, strict=True)]
    return report | {"recall_at_10": round(float(np.mean(hits)), 4)}


async def _timed(memory: Memory, asked: Sequence[int]) -> tuple[dict[str, float], list[list[int]]]:
    """Milliseconds of the first recall, which reads the codes, and of the others; records found, from 0.

    Beside the time that passes, the processor's: on a machine that is shared, the latter is the recall's own.
    """
    taken, worked, numbers = [], [], []
    for number in (asked[0], *asked):
        began, cpu = time.perf_counter(), time.process_time()
        recall = await memory.recall(entities(number), claim=Claim(text=f"question {number} of it"), now=NOW)
        taken.append(1000 * (time.perf_counter() - began))
        worked.append(1000 * (time.process_time() - cpu))
        numbers.append([int(item.passage.text.split()[1]) for item in recall.items])
    parts = {
        f"{name}p{part}_ms": round(float(np.percentile(times[1:], part)), 2)
        for name, times in (("", taken), ("cpu_", worked))
        for part in (50, 99)
    }
    return {"first_ms": round(taken[0], 1), **parts}, numbers[1:]


def exact(encoder: Clustered, asked: Sequence[int], records: int) -> list[list[int]]:
    """The ten nearest records of each question, from all vectors as they are stored."""
    questions = encoder.encode([f"question {number} " for number in asked])
    scores = np.full((len(asked), 10), -2, np.float32)
    numbers = np.zeros((len(asked), 10), np.int64)
    for block in range(-(-records // BLOCK)):
        vectors = encoder.block(0, block)[: records - block * BLOCK].astype(np.float16).astype(np.float32)
        both = np.hstack((scores, questions @ vectors.T))
        every = np.hstack((numbers, np.tile(np.arange(len(vectors)) + block * BLOCK, (len(asked), 1))))
        best = np.argpartition(-both, 10, axis=1)[:, :10]
        scores, numbers = np.take_along_axis(both, best, 1), np.take_along_axis(every, best, 1)
    return [[int(number) for number in row] for row in numbers]


async def _write(where: str, name: str, calls: int) -> None:
    """Writes findings as claims would, five a call, and prints each call's number once it is acknowledged."""
    with open_memory(where, workspace="writers", encoder=Clustered(1000)) as memory:
        print("ready", flush=True)
        for call in range(calls):
            batch = [finding(5 * call + number, f"{name} {call}") for number in range(5)]
            await memory.remember(batch, entities=[name, f"call {call}"], claim=f"{name} {call}", run=name, now=NOW)
            print(call, flush=True)


def _killed(where: str) -> dict[str, Any]:
    """Ten writers, one after the other, killed at a random point: all acknowledged findings must be stored."""
    rng, acknowledged, lost = random.Random(5), 0, 0
    for number in range(KILLS):
        writer = subprocess.Popen(_command("write", where, 10_000, f"k{number}"), stdout=subprocess.PIPE, text=True)
        assert writer.stdout
        lines = [writer.stdout.readline() for _ in range(rng.randrange(20, 300))]
        writer.send_signal(signal.SIGKILL)
        lines += writer.stdout.readlines()
        writer.wait()
        calls = sum(line.strip().isdigit() for line in lines)
        acknowledged += 5 * calls
        with _writers(where) as memory:
            lost += max(0, 5 * calls - memory.count(RecordFilter(entity=f"k{number}")))
    return {"kills": KILLS, "acknowledged": acknowledged, "lost": lost}


def _crowded(where: str) -> dict[str, Any]:
    """Eight processes that write at once."""
    names = [f"w{number}" for number in range(WRITERS)]
    writers = [
        subprocess.Popen(_command("write", where, EACH, name), stdout=subprocess.PIPE, text=True) for name in names
    ]
    for writer in writers:
        assert writer.stdout
        while writer.stdout.readline() not in ("ready\n", ""):
            pass
    began = time.perf_counter()
    failed = sum(bool(writer.communicate() and writer.returncode) for writer in writers)
    seconds = time.perf_counter() - began
    with _writers(where) as memory:
        stored = sum(memory.count(RecordFilter(entity=name)) for name in names)
    expected = 5 * WRITERS * EACH
    return {
        "processes": WRITERS,
        "failed": failed,
        "lost": expected - stored,
        "records_a_second": round(expected / seconds),
        "calls_a_second": round(WRITERS * EACH / seconds),
    }


def _writers(where: str) -> Memory:
    return open_memory(where, workspace="writers", encoder=Clustered(1000), write=False)


def _command(part: str, where: str, records: int, name: str = "") -> list[str]:
    command = [sys.executable, "-m", "benchmarks", "memory", "--part", part, "--memory", where]
    return [*command, "--records", str(records), *(["--name", name] if name else [])]


def _peak() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _room(path: Path) -> float:
    return round(sum(file.stat().st_size for file in path.parent.glob(path.name + "*")) / 1e6, 1)
