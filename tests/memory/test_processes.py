"""Several processes on one memory: writers at once, and a writer that is killed."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from redargue.memory import RecordFilter
from redargue.memory.memory import open_memory
from retrieval.corpus.words import WordEncoder

WRITER = """
import asyncio, sys
from datetime import datetime, UTC
import numpy as np
from redargue.evidence import Passage
from redargue.memory import Finding
from redargue.memory.memory import open_memory

class Encoder:
    name = "words"
    def encode(self, texts):
        return np.full((len(texts), 384), 384 ** -0.5, np.float32)

where, name, calls = sys.argv[1], sys.argv[2], int(sys.argv[3])

async def write(memory):
    for call in range(calls):
        some = [Finding(passage=Passage(text=f"{name} {call} {each}", tool="t", query="q")) for each in range(3)]
        now = datetime.now(UTC)
        await memory.remember(some, entities=[name, "all"], claim=name, run=name, now=now)
        print(call, flush=True)

with open_memory(where, encoder=Encoder()) as memory:
    asyncio.run(write(memory))
"""


def writer(where: str, name: str, calls: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, where, name, str(calls)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_processes_that_write_at_once_lose_nothing(where: str) -> None:
    writers = [writer(where, f"w{number}", 15) for number in range(4)]  # each may be the one that makes the tables
    told = [process.communicate()[0].split() for process in writers]
    assert [len(lines) for lines in told] == [15] * 4
    with open_memory(where, encoder=WordEncoder(), write=False) as memory:
        assert [memory.count(RecordFilter(entity=f"w{number}")) for number in range(4)] == [45] * 4
        assert memory.count() == 180


@pytest.mark.slow
def test_a_killed_writer_loses_nothing_that_it_was_told_is_stored(where: str) -> None:
    with writer(where, "killed", 10_000) as process:
        assert process.stdout
        told = [process.stdout.readline() for _ in range(25)]
        process.send_signal(signal.SIGKILL)
        told += [line for line in process.stdout.readlines() if line.endswith("\n")]
    with open_memory(where, encoder=WordEncoder()) as memory:
        stored = memory.count(RecordFilter(entity="killed"))
        assert stored >= 3 * len(told)
        assert stored % 3 == 0  # a call is stored whole or not at all
        (record,) = memory.records(limit=1)
        assert (record.entities, record.claims) == (("all", "killed"), (("killed", "killed"),))
