"""A Milvus server in a process of its own: killed and started again, and one that is too old.

The server is Milvus Lite's. ``MILVUS_URI=http://host:19530 pytest tests/retrieval/corpus`` runs the tests of all
stores on any other server. ``REDARGUE_TEST_MILVUS_SERVER=1`` adds the test with a real server of early 2024 (2.3.5,
56 MB, the newest in the package registry), which has to be refused. It listens on all interfaces while the test runs,
and one can run on a machine: the ports of its etcd are fixed.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from redargue.errors import CorpusError
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.milvus import MilvusCorpus
from redargue.retrieval.corpus.milvus import client as milvus_client
from retrieval.corpus.conftest import MISSING
from retrieval.corpus.documents import many
from retrieval.corpus.words import WordEncoder

COUNT = 500

pytestmark = [pytest.mark.extra, pytest.mark.skipif(MISSING, reason="needs pip install -e '.[milvus]'")]

# Prints the server's process id and waits for its end.
OLD_SERVER = """
import sys
from milvus import MilvusServer, MilvusServerConfig
server = MilvusServer(MilvusServerConfig(data_dir=sys.argv[1]), proxy_port=int(sys.argv[2]))
server.start()
print(server.server_proc.pid, flush=True)
server.wait()
"""


class Server(NamedTuple):
    """A running server."""

    process: subprocess.Popen[str]
    uri: str


@contextmanager
def running(data: Path) -> Iterator[Server]:
    """Milvus Lite's server on a data folder; killed when the block ends."""
    port = free_port()
    command = [sys.executable, "-m", "milvus_lite", "server", "--data-dir", str(data)]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout
        assert "listening" in process.stdout.readline()
        try:
            yield Server(process, f"http://127.0.0.1:{port}")
        finally:
            process.kill()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_a_killed_server_finds_everything_again(
    tmp_path: Path, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        running(tmp_path / "data") as server,
        MilvusCorpus(f"{server.uri}?collection=killed", write=True, embedder=encoder) as corpus,
    ):
        assert corpus.add(many(COUNT)).added == COUNT
        assert corpus.search(f"number {COUNT - 1} fact", 1)[0].document == f"d{COUNT - 1}"  # without a flush
        listed, revision = corpus.documents(), corpus.revision
        found = corpus.search("number 77", 9), corpus.search_keywords("number 77", 9)
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        monkeypatch.setattr(milvus_client, "MILVUS_TIMEOUT", 2.0)
        began = time.perf_counter()
        with pytest.raises(CorpusError, match="does not answer"):
            corpus.add([Document(id="late", text="Too late.")])
        assert time.perf_counter() - began < 30
        monkeypatch.undo()
    # On another port: gRPC waits for seconds before it connects again to an address that refused it.
    with (
        running(tmp_path / "data") as server,
        MilvusCorpus(f"{server.uri}?collection=killed", write=True, embedder=encoder) as corpus,
    ):
        assert (corpus.documents(), corpus.revision) == (listed, revision)
        assert (corpus.search("number 77", 9), corpus.search_keywords("number 77", 9)) == found
        assert corpus.add(many(COUNT)).unchanged == COUNT
        assert corpus.add([Document(id="late", text="In time.")]).added == 1
        assert corpus.search_keywords("in time", 1)[0].document == "late"


def test_a_client_sees_what_another_process_has_stored(tmp_path: Path, encoder: WordEncoder) -> None:
    with running(tmp_path / "data") as server:
        address = f"{server.uri}?collection=shared"
        with (
            MilvusCorpus(address, write=True, embedder=encoder) as writer,
            MilvusCorpus(address, embedder=encoder) as reader,
        ):
            empty = reader.revision
            writer.add(many(3))
            assert reader.revision == writer.revision != empty
            assert [each.id for each in reader.documents()] == ["d0", "d1", "d2"]
            assert reader.search_keywords("number 2", 1) == writer.search_keywords("number 2", 1)


@pytest.mark.skipif("REDARGUE_TEST_MILVUS_SERVER" not in os.environ, reason="REDARGUE_TEST_MILVUS_SERVER=1 is not set")
def test_a_server_of_early_2024_is_refused(tmp_path: Path, encoder: WordEncoder) -> None:
    package, port = tmp_path / "package", free_port()
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(package), "milvus==2.3.5"]
    subprocess.run(install, check=True, capture_output=True)
    with socket.socket() as etcd:
        etcd.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        etcd.bind(("127.0.0.1", 2380))  # raises if another such server is running
    command = [sys.executable, "-c", OLD_SERVER, str(tmp_path / "data"), str(port)]
    environment = {**os.environ, "PYTHONPATH": str(package)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as launcher:
        assert launcher.stdout
        pid = int(launcher.stdout.readline())
        try:
            with pytest.raises(CorpusError, match=r"is version 'v?2\.3\.5.*'; redargue needs 2\.5 or later"):
                MilvusCorpus(f"http://127.0.0.1:{port}", write=True, embedder=encoder)
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            launcher.kill()
