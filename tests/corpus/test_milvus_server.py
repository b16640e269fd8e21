"""A real Milvus server, killed and started again; opt-in, because it installs 56 MB and takes minutes.

``REDARGUE_TEST_MILVUS_SERVER=1 pytest tests/corpus/test_milvus_server.py -s`` takes the server (2.3.5, of early 2024)
from the package ``milvus`` of the package registry. It listens on all interfaces while the test runs.
One such server can run on a machine: the ports of its etcd are fixed.
"""

from __future__ import annotations

import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from corpus.conftest import MISSING
from corpus.documents import many
from corpus.words import WordEncoder
from redargue.corpus import milvus_client
from redargue.corpus.documents import Document
from redargue.corpus.milvus import MilvusCorpus
from redargue.errors import CorpusError

COUNT = 2_000

pytestmark = [
    pytest.mark.extra,
    pytest.mark.skipif(
        "REDARGUE_TEST_MILVUS_SERVER" not in os.environ, reason="REDARGUE_TEST_MILVUS_SERVER=1 is not set"
    ),
    pytest.mark.skipif(MISSING, reason="needs pip install -e '.[milvus]'"),
]

# Prints the server's process and goes on as long as it does.
LAUNCH = """
import sys
from milvus import MilvusServer, MilvusServerConfig
server = MilvusServer(MilvusServerConfig(data_dir=sys.argv[1]), proxy_port=int(sys.argv[2]))
server.start()
print(server.server_proc.pid, flush=True)
server.wait()
"""


class Server(NamedTuple):
    """A running server."""

    pid: int
    uri: str
    started: float


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of its own with the server's package, which has no place beside this project's."""
    folder = tmp_path_factory.mktemp("package")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), "milvus==2.3.5"]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@contextmanager
def running(package: Path, data: Path, port: int) -> Iterator[Server]:
    """The server on a data folder; killed as by a power cut when the block ends."""
    with socket.socket() as etcd:
        etcd.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        etcd.bind(("127.0.0.1", 2380))  # raises where another one runs
    began = time.perf_counter()
    command = [sys.executable, "-c", LAUNCH, str(data), str(port)]
    environment = {**os.environ, "PYTHONPATH": str(package)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as launcher:
        assert launcher.stdout
        pid = int(launcher.stdout.readline())
        try:
            yield Server(pid, f"http://127.0.0.1:{port}", time.perf_counter() - began)
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            launcher.kill()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def question_ms(corpus: MilvusCorpus) -> float:
    taken = []
    for number in range(60):
        began = time.perf_counter()
        assert corpus.search(f"number {number}", 3)
        taken.append(1000 * (time.perf_counter() - began))
    return round(statistics.median(taken[10:]), 1)


def test_a_killed_server_finds_everything_again(
    package: Path, tmp_path: Path, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, figures = free_port(), {}
    address = f"http://127.0.0.1:{port}?collection=killed"
    with running(package, tmp_path / "data", port) as server:
        figures["start_s"] = round(server.started, 1)
        with MilvusCorpus(address, write=True, embedder=encoder) as corpus:
            began = time.perf_counter()
            assert corpus.add(many(COUNT)).added == COUNT
            figures["insert_s"] = round(time.perf_counter() - began, 1)
            assert corpus.search("number 1999 fact", 1)[0].document == "d1999"  # at once
            figures["query_p50_ms"] = question_ms(corpus)
            listed, revision = corpus.documents(), corpus.revision
            found = corpus.search("number 77", 9), corpus.search_keywords("number 77", 9)
            os.kill(server.pid, signal.SIGKILL)  # nothing was flushed by us
            monkeypatch.setattr(milvus_client, "ANSWER", 2.0)
            began = time.perf_counter()
            with pytest.raises(CorpusError, match="does not answer"):
                corpus.add([Document(id="late", text="Too late.")])
            assert time.perf_counter() - began < 30
            monkeypatch.undo()
    with running(package, tmp_path / "data", port) as server:
        figures["restart_s"] = round(server.started, 1)
        began = time.perf_counter()
        with MilvusCorpus(address, write=True, embedder=encoder) as corpus:
            figures["open_again_s"] = round(time.perf_counter() - began, 1)
            assert (corpus.documents(), corpus.revision) == (listed, revision)
            assert (corpus.search("number 77", 9), corpus.search_keywords("number 77", 9)) == found
            assert corpus.add(many(COUNT)).unchanged == COUNT
            figures["query_again_p50_ms"] = question_ms(corpus)
            assert corpus.add([Document(id="late", text="In time.")]).added == 1
            assert corpus.search_keywords("in time", 1)[0].document == "late"
    print(figures)  # noqa: T201 (what it is run for)
