"""Two processes on one memory and one corpus: what each was told is stored is there once, and the files are sound."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from support.endurance import Outcome
from support.served_process import READY, environment

PROCESSES = 2
KEPT = 40  # documents of each process that may be in the corpus together
MODULE = "support.endurance.stores_worker"


def trial(folder: Path, operations: int) -> Outcome:
    """So many operations on each store, shared among the processes."""
    home = folder / "home"
    home.mkdir()
    memory, corpus = folder / "memory.db", folder / "corpus.db"
    began = time.monotonic()
    workers = [_worker(home, memory, corpus, number, operations // PROCESSES) for number in range(PROCESSES)]
    reports: list[dict[str, Any]] = []
    failures: list[str] = []
    for worker in workers:
        said, errors = worker.communicate(timeout=READY * 4)
        if worker.returncode:
            failures.append(f"a process ended with {worker.returncode}: {errors[-500:]}")
        else:
            reports.append(json.loads(said))
    seconds = time.monotonic() - began
    for report in reports:
        failures += report["failures"]
    if not failures:
        failures += _memory(memory, reports) + _corpus(corpus, reports)
    done = sum(sum(report["done"].values()) for report in reports)
    busy = sum(report["busy"] for report in reports)
    figure = f"{done} operations of {PROCESSES} processes in {seconds:.0f} s, {busy} waited in vain for a lock"
    return Outcome("processes on a memory and a corpus", done, tuple(failures), figure)


def _worker(home: Path, memory: Path, corpus: Path, number: int, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", MODULE, str(memory), str(corpus), str(number), str(count)]
    return subprocess.Popen(command, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _memory(path: Path, reports: list[dict[str, Any]]) -> list[str]:
    """The records are those that the processes were told are stored, each once, and the file is sound."""
    with closing(sqlite3.connect(path)) as db:
        stored = [text for (text,) in db.execute("SELECT text FROM records")]
        vectors = db.execute("SELECT count(*) FROM vectors").fetchone()[0]
        codes = db.execute("SELECT count(*) FROM codes").fetchone()[0]
        sound = db.execute("PRAGMA integrity_check").fetchone()[0]
    told = {text for report in reports for text in report["remembered"]}
    failures = [f"the memory: {sound}"] if sound != "ok" else []
    if sorted(stored) != sorted(told):
        failures.append(f"the memory holds {len(stored)} records, {len(set(stored))} different, of {len(told)}")
    if (vectors, codes) != (len(stored), len(stored)):
        failures.append(f"{len(stored)} records, {vectors} vectors, {codes} codes")
    return failures


def _corpus(path: Path, reports: list[dict[str, Any]]) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        names = sorted(name for (name,) in db.execute("SELECT id FROM documents"))
        sound = db.execute("PRAGMA integrity_check").fetchone()[0]
        marks = db.execute("SELECT count(*) FROM meta WHERE name LIKE 'adding%'").fetchone()[0]
        orphans = db.execute("SELECT count(*) FROM chunks WHERE document NOT IN (SELECT number FROM documents)")
        lost = orphans.fetchone()[0]
    told = sorted(name for report in reports for name in report["documents"])
    failures = [f"the corpus: {sound}"] if sound != "ok" else []
    if names != told:
        failures.append(f"the corpus holds {len(names)} documents, not the {len(told)} that were added and not removed")
    if marks or lost:
        failures.append(f"{marks} marks of additions are left, {lost} chunks have no document")
    return failures
