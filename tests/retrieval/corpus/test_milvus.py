"""The Milvus store: interruptions, other processes, servers that do not answer, keys that are not shown."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest

from redargue.errors import CorpusError, StoreUnavailable, UsageError
from redargue.registry import install
from redargue.retrieval.corpus import Added, milvus
from redargue.retrieval.corpus.documents import BATCH, Document
from redargue.retrieval.corpus.index import open_corpus
from redargue.retrieval.corpus.milvus import MilvusCorpus
from redargue.retrieval.corpus.milvus import client as milvus_client
from redargue.retrieval.corpus.milvus.client import LiteServer, MilvusAddress, MilvusConnection
from retrieval.corpus.conftest import MISSING
from retrieval.corpus.documents import BRIDGE, TOWER, many
from retrieval.corpus.words import WordEncoder

pytestmark = pytest.mark.extra
needs_lite = pytest.mark.skipif(MISSING, reason="needs pip install -e '.[milvus]'")

# Told to "hold", it keeps the store open until it is sent a line.
WRITER = """
import sys
import numpy as np
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.index import open_corpus

class Encoder:
    name = "words"
    def encode(self, texts):
        return np.full((len(texts), 384), 384 ** -0.5, np.float32)

def show(added):
    print(added.documents, flush=True)

documents = (Document(id=f"d{n}", text=f"Number {n} is a fact.") for n in range(int(sys.argv[3])))
with open_corpus(sys.argv[1], write=True, embedder=Encoder()) as corpus:
    corpus.add(documents, progress=show)
    if sys.argv[2] == "hold":
        sys.stdin.readline()
"""


def start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def contents(corpus: MilvusCorpus) -> dict[str, list[str]]:
    """The keys of all rows."""
    names = (corpus._chunks, corpus._texts)
    return {name: sorted(row["key"] for row in corpus._link.rows(name, ["key"])) for name in names}


@needs_lite
@pytest.mark.parametrize("pause", [0.0, 0.05])
def test_a_killed_writer_loses_a_batch_at_most(tmp_path: Path, encoder: WordEncoder, pause: float) -> None:
    count, address = 5 * BATCH, str(tmp_path / "corpus.db")
    with start(f"milvus:{address}", "run", count) as writer:
        assert [line(writer), line(writer)] == [str(BATCH), str(2 * BATCH)]
        time.sleep(pause)  # somewhere in the third batch
        writer.send_signal(signal.SIGKILL)
        assert writer.wait(180) == -signal.SIGKILL
    with MilvusCorpus(address, embedder=encoder) as reader:
        kept = len(reader.documents())
        revision = reader.revision
        assert kept in range(2 * BATCH, count + 1, BATCH)
        assert len(reader.search("fact", 50)) == 50
    with MilvusCorpus(address, write=True, embedder=encoder) as corpus:
        assert corpus.revision == revision
        again = corpus.add(many(count))
        assert (again.unchanged, again.added, again.replaced) == (kept, count - kept, 0)
        with MilvusCorpus(str(tmp_path / "other.db"), write=True, embedder=encoder) as undisturbed:
            undisturbed.add(many(count))
            assert corpus.revision == undisturbed.revision
            assert contents(corpus) == contents(undisturbed)


@needs_lite
def test_a_second_process_is_told_who_has_the_folder(tmp_path: Path, encoder: WordEncoder) -> None:
    address = str(tmp_path / "corpus.db")
    with start(f"milvus:{address}", "hold", 3) as writer:
        assert line(writer) == "3"
        for write in (True, False):
            with pytest.raises(StoreUnavailable, match="in use by another process"):
                MilvusCorpus(address, write=write, embedder=encoder)
        writer.communicate("\n", timeout=180)
    with MilvusCorpus(address, embedder=encoder) as corpus:
        assert len(corpus.documents()) == 3


@needs_lite
def test_whatever_is_interrupted_is_put_right(
    tmp_path: Path, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that adds, replaces and leaves alone, and a removal, stopped before each of their requests."""
    changed = [TOWER.model_copy(update={"text": "It was painted red. " * 100}), BRIDGE, Document(id="new", text="New.")]
    with MilvusCorpus(str(tmp_path / "undisturbed.db"), write=True, embedder=encoder) as undisturbed:
        undisturbed.add(changed)
        whole, wanted = undisturbed.revision, contents(undisturbed)
    with MilvusCorpus(str(tmp_path / "corpus.db"), write=True, embedder=encoder) as corpus:
        for stopped in range(20):
            corpus.clear()
            corpus.add([TOWER, BRIDGE, Document(id="gone", text="Gone.")])
            with Stopping(monkeypatch, stopped) as stopping:
                corpus.remove(["gone"])
                corpus.add(changed)
            listed, seen = {each.id for each in corpus.documents()}, corpus.revision
            assert listed >= {"tower", "bridge"}
            assert all(each.document in listed for each in corpus.search("red tower bridge", 9))
            corpus.add([BRIDGE])  # changes no document, and puts right what was left
            assert corpus.revision == seen
            if "gone" in listed:
                corpus.remove(["gone"])
            corpus.add(changed)
            assert corpus.revision == whole
            assert contents(corpus) == wanted
            if not stopping.stopped:
                break
        assert stopped > 8


class Stopping:
    """Lets some requests that change the store pass, and fails from then on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, passing: int) -> None:
        self.passing, self.stopped, self._patch = passing, False, monkeypatch

    def __enter__(self) -> Stopping:
        self._context = self._patch.context()
        patch = self._context.__enter__()
        for name in ("put", "delete"):
            patch.setattr(MilvusConnection, name, self._counted(getattr(MilvusConnection, name)))
        return self

    def _counted(self, act: Callable[[MilvusConnection, str, list[object]], None]) -> Callable[..., None]:
        def counted(link: MilvusConnection, name: str, items: list[object]) -> None:
            if not items:
                return
            if self.passing <= 0:
                self.stopped = True
                raise KeyboardInterrupt
            self.passing -= 1
            act(link, name, items)

        return counted

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        self._context.__exit__(None, None, None)
        return kind is KeyboardInterrupt


@needs_lite
@pytest.mark.parametrize("version", ["v2.3.5-lite", "2.4.23", "unknown"])
def test_a_server_before_2_5_is_refused(
    tmp_path: Path, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    with lite_as_a_server(tmp_path, monkeypatch, version) as uri:
        with pytest.raises(CorpusError, match=rf"is version '{version}'; redargue needs 2\.5 or later") as caught:
            MilvusCorpus(uri, write=True, embedder=encoder)
        assert "upgrade the server, or use Milvus Lite" in caught.value.hint


@needs_lite
@pytest.mark.parametrize("version", ["v2.5.0", "2.6-20250801-1a2b3c", "v3.0.1", "v2.10.0"])
def test_a_server_since_2_5_is_used(
    tmp_path: Path, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    with (
        lite_as_a_server(tmp_path, monkeypatch, version) as uri,
        MilvusCorpus(uri, write=True, embedder=encoder) as corpus,
    ):
        corpus.add([TOWER, BRIDGE])
        assert corpus.search_keywords("tower")[0].document == "tower"


@contextmanager
def lite_as_a_server(folder: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> Iterator[str]:
    """The URI of Milvus Lite, reporting the version of another server."""
    from pymilvus import MilvusClient

    server = LiteServer.at(str(folder / "server.db"), write=True)
    monkeypatch.setattr(MilvusClient, "get_server_version", lambda *_, **__: version)
    yield f"{server.uri}?collection=other"
    server.release()


@needs_lite
def test_a_batch_in_which_everything_is_replaced_fits_into_the_stores_own_row(
    tmp_path: Path, encoder: WordEncoder
) -> None:
    with MilvusCorpus(str(tmp_path / "corpus.db"), write=True, embedder=encoder) as corpus:
        corpus.add(many(BATCH))
        assert corpus.add(many(BATCH, "story")) == Added(replaced=BATCH, chunks=BATCH)
        assert len(contents(corpus)[corpus._chunks]) == BATCH


@needs_lite
def test_a_description_that_no_row_holds_is_refused_whole(tmp_path: Path, encoder: WordEncoder) -> None:
    with MilvusCorpus(str(tmp_path / "corpus.db"), write=True, embedder=encoder) as corpus:
        corpus.add([TOWER])
        with pytest.raises(UsageError, match=r"takes 70,\d+ bytes") as caught:
            corpus.add([BRIDGE, Document(id="titled", title="T" * 70_000, text="x")])
        assert "shorten its title" in str(caught.value)
        assert [each.id for each in corpus.documents()] == ["tower"]
        assert corpus.add([Document(id="titled", title="word " * 10_000, text="x")]).added == 1
        assert corpus.search_keywords("word")[0].document == "titled"


@needs_lite
def test_what_is_no_milvus_folder_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("my notes")
    (tmp_path / "folder.db").mkdir()
    (tmp_path / "folder.db" / "mine.txt").write_text("mine")
    for name in ("notes.db", "folder.db"):
        for write in (True, False):
            with pytest.raises(CorpusError, match="was not changed"):
                MilvusCorpus(str(tmp_path / name), write=write)
    assert (tmp_path / "notes.db").read_text() == "my notes"
    assert [each.name for each in (tmp_path / "folder.db").iterdir()] == ["mine.txt"]


@needs_lite
def test_an_unfinished_store_is_finished_by_the_next_writer(
    tmp_path: Path, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = str(tmp_path / "corpus.db")
    with Stopping(monkeypatch, 0):
        MilvusCorpus(address, write=True, embedder=encoder)
    with pytest.raises(UsageError, match="no corpus at"):
        MilvusCorpus(address, embedder=encoder)
    with MilvusCorpus(address, write=True, embedder=encoder) as corpus:
        assert corpus.add([TOWER]).added == 1


@needs_lite
def test_a_newer_format_is_refused(tmp_path: Path, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    address = str(tmp_path / "corpus.db")
    with monkeypatch.context() as patch:
        patch.setattr(milvus, "FORMAT", 2)
        MilvusCorpus(address, write=True, embedder=encoder).close()
    with pytest.raises(UsageError, match="newer redargue"):
        MilvusCorpus(address, embedder=encoder)


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes connections and says nothing."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@needs_lite
def test_a_server_that_does_not_answer_is_given_up(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(milvus_client, "CONNECT_TIMEOUT", 1.0)
    for uri in (silent, "http://127.0.0.1:1"):
        with pytest.raises(CorpusError, match=f"Milvus at '{uri}' does not answer"):
            open_corpus(f"milvus:{uri}")


@needs_lite
def test_a_server_that_falls_silent_after_connecting_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    import grpc
    from pymilvus.grpc_gen import milvus_pb2, milvus_pb2_grpc

    done = Event()

    servicer = milvus_pb2_grpc.MilvusServiceServicer()
    servicer.Connect = lambda request, context: milvus_pb2.ConnectResponse()
    servicer.GetVersion = lambda request, context: done.wait()
    server = grpc.server(ThreadPoolExecutor(2))
    milvus_pb2_grpc.add_MilvusServiceServicer_to_server(servicer, server)
    uri = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    monkeypatch.setattr(milvus_client, "CONNECT_TIMEOUT", 1.0)
    try:
        with pytest.raises(CorpusError, match=f"Milvus at '{uri}' does not answer: Deadline Exceeded"):
            open_corpus(f"milvus:{uri}")
    finally:
        done.set()
        server.stop(None).wait()


def test_an_address_with_a_password_is_refused_and_not_shown() -> None:
    with pytest.raises(UsageError, match="REDARGUE_MILVUS_TOKEN") as caught:
        open_corpus("milvus:http://root:5ecret-99@host:19530")
    assert "5ecret" not in str(caught.value)


def test_addresses() -> None:
    lite = MilvusAddress.parse("some/corpus.db")
    assert (lite.lite, lite.uri, lite.index_type) == (True, str(Path.cwd() / "some/corpus.db"), "FLAT")
    server = MilvusAddress.parse("https://host:19530/db?collection=fever&index=hnsw")
    assert server == MilvusAddress("https://host:19530/db", False, "fever", "HNSW")
    for wrong in ("", "http://host:port", "http://host?index=x", "http://host?collection=a-b", "http://host?token=x"):
        with pytest.raises(UsageError):
            MilvusAddress.parse(wrong)


def test_a_missing_package_is_named_with_its_install_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    for address in (str(tmp_path / "a.db"), "http://host:19530"):
        with pytest.raises(UsageError, match=re.escape(install("milvus"))):
            open_corpus(f"milvus:{address}", write=True)
    assert list(tmp_path.iterdir()) == []


@needs_lite
@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("write failed: No space left on device, Milvus-5ecret-99", StoreUnavailable),
        ("auth check failure, please check root:Milvus-5ecret-99", UsageError),
        ("something else with root:Milvus-5ecret-99", CorpusError),
    ],
)
def test_errors_are_explained_without_the_token(
    said: str, kind: type[Exception], tmp_path: Path, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pymilvus import MilvusException

    def failing(*_: object, **__: object) -> None:
        raise MilvusException(message=said)

    monkeypatch.setenv("REDARGUE_MILVUS_TOKEN", "root:Milvus-5ecret-99")
    with MilvusCorpus(str(tmp_path / "corpus.db"), write=True, embedder=encoder) as corpus:
        monkeypatch.setattr(corpus._link._client, "upsert", failing)
        with pytest.raises(kind) as caught:
            corpus.add([TOWER])
        monkeypatch.undo()
    assert type(caught.value) is kind
    assert "root:Milvus" not in str(caught.value)


@needs_lite
@pytest.mark.parametrize("moving", [True, False])
def test_a_server_has_one_writer_at_a_time(
    tmp_path: Path, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch, moving: bool
) -> None:
    """Another process' batch is waited for; one that has not moved for that long is taken for abandoned."""
    monkeypatch.setattr(milvus, "BUSY", 0.5)
    with MilvusCorpus(str(tmp_path / "corpus.db"), write=True, embedder=encoder) as corpus:
        monkeypatch.setattr(corpus._link, "address", corpus._link.address._replace(lite=False))
        with monkeypatch.context() as patch, Stopping(monkeypatch, 2):
            patch.setattr(milvus, "_PROCESS", "another")
            corpus.add([BRIDGE])
        state = corpus._state
        if moving:
            steps = iter(range(10**6))
            monkeypatch.setattr(corpus, "_state", lambda: state().model_copy(update={"generation": 1000 + next(steps)}))
            with pytest.raises(StoreUnavailable, match="being written to by another process"):
                corpus.add([TOWER])
        else:
            assert corpus.add([TOWER]).added == 1
            assert [each.id for each in corpus.documents()] == ["tower"]
            assert len(contents(corpus)[corpus._chunks]) == 1
