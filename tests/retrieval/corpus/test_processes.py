"""Several processes on one store: a killed writer, and readers beside a writer."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from redargue.retrieval.corpus.documents import BATCH, Document
from redargue.retrieval.corpus.ingest import NotComplete
from retrieval.corpus.words import Opener

COUNT = 5 * BATCH

# Told to "step", the writer waits after each batch until it is sent a line.
WRITER = """
import sys
from pathlib import Path
import numpy as np
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.sqlite import SqliteCorpus

class Encoder:
    name = "words"
    def encode(self, texts):
        return np.full((len(texts), 384), 384 ** -0.5, np.float32)

def show(added):
    print(added.documents, flush=True)
    if sys.argv[2] == "step":
        sys.stdin.readline()

documents = (Document(id=f"d{n}", text=f"Number {n} is a fact.") for n in range(int(sys.argv[3])))
with SqliteCorpus(Path(sys.argv[1]), write=True, embedder=Encoder()) as corpus:
    print(corpus.add(documents, progress=show).model_dump_json(), flush=True)
"""

READER = """
import sys
from pathlib import Path
import numpy as np
from redargue.retrieval.corpus.sqlite import SqliteCorpus

class Encoder:
    name = "words"
    def encode(self, texts):
        return np.full((len(texts), 384), 384 ** -0.5, np.float32)

with SqliteCorpus(Path(sys.argv[1]), embedder=Encoder()) as corpus:
    for line in sys.stdin:
        print(len(corpus.documents()), len(corpus.search("fact", 3)), corpus.revision, flush=True)
"""


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def step(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.fixture
def store() -> str:
    """The store that several processes may open."""
    return "sqlite"


@pytest.mark.slow
@pytest.mark.parametrize("batches", [1, 3])
def test_a_killed_writer_loses_a_batch_at_most(opened: Opener, tmp_path: Path, batches: int) -> None:
    path = tmp_path / "corpus.db"
    with start(WRITER, path, "step", COUNT) as writer:
        for number in range(1, batches + 1):
            assert line(writer) == str(number * BATCH)
            step(writer)
        # It is now somewhere in the next batch: cutting, embedding or writing it.
        writer.send_signal(signal.SIGKILL)
        assert writer.wait(180) == -signal.SIGKILL
    reader = opened(path, write=False)
    kept = len(reader.documents())
    assert kept in (batches * BATCH, (batches + 1) * BATCH)
    assert len(reader.search("fact", 50)) == 50
    with opened(path) as corpus:
        with pytest.warns(NotComplete, match="was interrupted"):
            again = corpus.add(Document(id=f"d{n}", text=f"Number {n} is a fact.") for n in range(COUNT))
        assert (again.unchanged, again.added, again.replaced) == (kept, COUNT - kept, 0)
        undisturbed = opened(tmp_path / "other.db")
        undisturbed.add(Document(id=f"d{n}", text=f"Number {n} is a fact.") for n in range(COUNT))
        assert corpus.revision == undisturbed.revision == reader.revision


@pytest.mark.slow
def test_readers_go_on_beside_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "corpus.db"
    with start(WRITER, path, "step", 3 * BATCH) as writer:
        assert line(writer) == str(BATCH)
        with start(READER, path) as one, start(READER, path) as two:
            revisions = set()
            for number in range(1, 4):
                for reader in (one, two):
                    step(reader)
                seen = {line(one), line(two)}
                assert len(seen) == 1
                documents, found, revision = seen.pop().split()
                assert (documents, found) == (str(number * BATCH), "3")
                revisions.add(revision)
                step(writer)
                line(writer)
            assert len(revisions) == 3
            for reader in (one, two):
                assert reader.stdin
                reader.stdin.close()
        assert writer.wait(180) == 0


@pytest.mark.slow
def test_two_writers_at_once_store_both_their_documents(opened: Opener, tmp_path: Path) -> None:
    path = tmp_path / "corpus.db"
    with start(WRITER, path, "run", COUNT) as one, start(WRITER, path, "run", COUNT) as two:
        ends = [process.communicate(timeout=180)[0] for process in (one, two)]
        assert [one.returncode, two.returncode] == [0, 0]
    assert all('"replaced":0' in end for end in ends)
    assert len(opened(path, write=False).documents()) == COUNT


@pytest.mark.slow
def test_processes_that_need_the_starter_corpus_together_write_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDARGUE_HOME", str(tmp_path / "home"))
    code = "from redargue.retrieval.corpus.index import open_starter; print(open_starter().revision)"
    command = [sys.executable, "-c", code]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in "1234"]
    told = {process.communicate() for process in processes}
    assert len(told) == 1, told
    left = {path.suffix for path in (tmp_path / "home").iterdir()}
    # Two connections that close at the same moment can each leave SQLite's own files to the other.
    assert left - {".db-shm", ".db-wal"} == {".db", ".lock"}
