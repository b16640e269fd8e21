"""Full disks, folders that cannot be written, odd answers of busy services, clocks that go back, and --offline."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from contextlib import closing
from email.utils import formatdate
from pathlib import Path

import pytest

from redargue.cluster.queue import DONE, Finish, Lease, Leased, Queue, compress, progress, results, submit
from redargue.cluster.store import open_ledger
from redargue.cluster.worker import LEASE, Heartbeat
from redargue.errors import ProviderError, RecordError, UsageError
from redargue.net.services import require_local
from redargue.net.transport import HttpAnswer, Service, _Retries

WAITS: tuple[str, ...] = (
    "0",
    "-1",
    "-999999",
    "0.0",
    "-0",
    "1e-9",
    "nan",
    "-inf",
    "soon",
    "",
    "Wed, 21 Oct 2015 07:28:00 GMT",
)
WAITS += ("Wed, 21 Oct 2015 07:28:00 -0000", "Mon, 01 Jan 0001 00:00:00 GMT", formatdate(0, usegmt=True))


@pytest.mark.parametrize("value", WAITS)
@pytest.mark.parametrize("header", ["retry-after", "retry-after-ms"])
def test_a_busy_service_is_never_asked_again_sooner_than_usual(header: str, value: str) -> None:
    class Least:
        def random(self) -> float:
            return 0.0

    retries = _Retries(Service(name="model", url="http://127.0.0.1"), Least(), 1.0)  # type: ignore[arg-type]
    waits = [retries.after_answer(HttpAnswer(429, "", {header: value})) for _ in range(5)]
    assert waits == pytest.approx([0.25, 0.5, 1, 2, 4])


@pytest.mark.parametrize("back", [60, 3_600, 86_400 * 365])
def test_claims_of_a_dead_worker_are_leased_again_after_the_clock_was_set_back(back: int) -> None:
    from redargue.claims import Claim

    now = [1_000_000_000.0]
    with closing(open_ledger("ledger.db", clock=lambda: now[0])) as ledger:
        batch = submit(ledger, [Claim(text="Bees are insects.")], about={}, job={}).number
        dead, live = Heartbeat(batch, owner="dead"), Heartbeat(batch, owner="live")

        def lease(heartbeat: Heartbeat) -> int:
            with ledger.transaction() as db:
                heartbeat(db)
                (answer,) = Queue(heartbeat.owner, batch).handle(db, [Lease(1)])
            assert not isinstance(answer, bool)
            return len(answer.jobs)

        assert lease(dead) == 1
        assert lease(live) == 0
        now[0] -= back
        leased = 0
        for _ in range(10):  # fifty seconds, in which a worker sends its heartbeats
            now[0] += LEASE / 3
            leased += lease(live)
        assert leased == 1


@pytest.mark.parametrize("ahead", [60, 3_600, 86_400 * 365])
@pytest.mark.parametrize("back", [False, True], ids=["stays", "is set back"])
def test_each_claim_is_finished_once_although_the_clock_was_set_forward(ahead: int, back: bool) -> None:
    from redargue.claims import Claim

    now = [1_000_000_000.0]
    with closing(open_ledger("ledger.db", clock=lambda: now[0])) as ledger:
        batch = submit(ledger, [Claim(text=f"Bees are insects, {number}.") for number in range(6)], about={}, job={})
        accepted: Counter[int] = Counter()
        workers = [Heartbeat(batch.number, owner=name) for name in ("one", "two")]

        def ask(worker: Heartbeat, *requests: Lease | Finish) -> list[Leased | bool]:
            with ledger.transaction() as db:
                worker(db)
                return Queue(worker.owner, batch.number).handle(db, requests)

        def finish(worker: Heartbeat, places: list[int]) -> None:
            finished = [Finish(place, compress(["{}"]), DONE) for place in places]
            for place, done in zip(places, ask(worker, *finished), strict=True):
                accepted[place] += done is True

        def lease(worker: Heartbeat, count: int) -> list[int]:
            (answer,) = ask(worker, Lease(count))
            assert isinstance(answer, Leased)
            return [job.place for job in answer.jobs]

        held = {worker.owner: lease(worker, 2) for worker in workers}
        now[0] += ahead
        finish(workers[1], held["two"])  # its heartbeat is the first: it keeps its claims, and the other one expires
        with pytest.raises(RecordError):
            finish(workers[0], held["one"])
        now[0] -= ahead * back
        workers[0] = Heartbeat(batch.number, owner="one again")
        for _ in range(12):
            for worker in workers:
                finish(worker, lease(worker, 1))
            now[0] += LEASE / 3
        counts, unfinished = progress(ledger, batch.number)
        assert accepted == dict.fromkeys(range(6), 1)
        assert (counts.done, counts.errors, unfinished) == (6, 0, False)
        assert [place for place, _ in results(ledger, batch.number)] == list(range(6))


REMOTE = (
    "postgresql://db.example/x",
    "postgres://user:password@db.example:5432/x",
    "postgresql://192.0.2.1/x",
    "postgresql://[2001:db8::1]:5432/x",
    "postgresql://localhost,db.example/x",
    "postgresql:///x?host=db.example",
    "postgresql://localhost/x?hostaddr=192.0.2.1",
    "postgresql:///x?service=elsewhere",
    "postgresql://localhost.db.example/x",
    "postgresql://user@localhost@db.example/x",
    "milvus:http://db.example:19530",
    "milvus:https://192.0.2.1",
    "milvus:tcp://db.example:19530",
    "milvus:http://127.0.0.1.db.example:19530",
)
LOCAL: tuple[str, ...] = (
    "postgresql:///x",
    "postgresql://localhost/x",
    "postgresql://127.0.0.1:5432/x",
    "postgresql://[::1]/x",
)
LOCAL += (
    "postgresql:///x?host=/var/run/postgresql",
    "milvus:http://localhost:19530",
    "milvus:corpus",
    "a.db",
    "",
    "starter",
)


@pytest.mark.parametrize("address", REMOTE)
def test_offline_opens_no_database_beyond_this_machine(address: str) -> None:
    with pytest.raises(ProviderError, match="--offline") as caught:
        require_local(address, what="memory", environment={})
    assert "password" not in str(caught.value)


@pytest.mark.parametrize("address", LOCAL)
def test_offline_opens_databases_of_this_machine(address: str) -> None:
    require_local(address, what="memory", environment={})


@pytest.mark.parametrize("variable", ["PGHOST", "PGHOSTADDR", "PGSERVICE"])
def test_offline_is_not_undone_by_the_environment(variable: str) -> None:
    with pytest.raises(ProviderError):
        require_local("postgresql:///x", what="ledger", environment={variable: "192.0.2.1"})


LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
from redargue.cli.app import run
sys.exit(run(sys.argv[2:]))
"""
OPTIONS = ["--method", "single-reader", "--store", "starter", "-q"]
WRITING = {
    "check": ["check", "Bees are insects.", *OPTIONS, "--run", "run"],
    "batch": ["batch", "claims.csv", "-o", "out", *OPTIONS],
    "corpus add": ["corpus", "add", "claims.csv", "--store", "corpus.db"],
    "memory": ["check", "Bees are insects.", "--method", "mermaid", "--memory", "m.db", "--store", "starter", "-q"],
    "report": ["report", "finished", "-o", "report.html"],
}


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 1, 5_000, 40_000])
@pytest.mark.parametrize("command", WRITING.values(), ids=WRITING)
def test_no_room_for_a_file_is_a_typed_error(command: list[str], size: int) -> None:
    Path("claims.csv").write_text("claim\nBees are insects.\n")
    arguments = [sys.executable, "-c", LIMITED, str(size), *command]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=240, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 2, 3), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", [command for name, command in WRITING.items() if name != "report"])
@pytest.mark.parametrize("home", ["/dev/null/home", "/proc/home", "file/home"])
def test_a_home_that_cannot_be_written_is_a_typed_error(
    command: list[str], home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from redargue.cli.app import run

    Path("claims.csv").write_text("claim\nBees are insects.\n")
    Path("file").write_text("")
    monkeypatch.setenv("REDARGUE_HOME", home)
    assert run([part for part in command if part not in ("--memory", "m.db")]) in (0, 2, 3)


@pytest.mark.parametrize("home", ["/dev/null/home", "/proc/home", "file/home"])
def test_the_starter_corpus_in_a_home_that_cannot_be_written_is_a_typed_error(
    home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from redargue.retrieval.corpus.index import open_starter

    Path("file").write_text("")
    monkeypatch.setenv("REDARGUE_HOME", home)
    with pytest.raises(UsageError, match=r"starter corpus cannot be written(.|\n)*REDARGUE_HOME"):
        open_starter()
