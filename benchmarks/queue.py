"""A hundred thousand claims through the shared ledger with workers that do nothing, some killed; and the limiter.

First on SQLite, then on PostgreSQL (started here, with fsync): claims added, leased and finished per second by one
worker, by four, and by four that are repeatedly killed with ``kill -9``; every claim must be finished once, and counted
by the worker whose result it is. Then eight worker processes request slots of one shared rate limiter as fast as they
can: the most that any minute contained, against the limit.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import pool
from benchmarks.speed import METHOD, PROFILE, served, verifier
from redargue.claims import Claim
from redargue.cluster.queue import (
    DONE,
    Batch,
    Finish,
    Job,
    Lease,
    Queue,
    compress,
    find_batch,
    progress,
    results,
    submit,
)
from redargue.cluster.store import SharedDatabase, open_ledger
from redargue.cluster.worker import Heartbeat, PaidCall, PaidCallTable, Worker, expire_worker
from redargue.events import EVENT, CallFailed, ClaimEnded
from redargue.net.transport import Rate
from redargue.runs.record import Paid
from redargue.verdicts import Verdict

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support import postgres

AT_ONCE = 100
RATE = 6000  # turns a minute
CALLS = 31  # of the debate that is weighed
LIMITED = 8  # workers before the limiter
PARTS = ("size", "paid", "through", "limiter")


def main(arguments: list[str]) -> None:
    """Prints a line a database, and one for the limiter on each."""
    parser = argparse.ArgumentParser(prog="queue")
    parser.add_argument("--claims", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=75, help="of the limiter")
    parser.add_argument("--ledger", nargs="*", choices=("sqlite", "postgresql"), default=["sqlite", "postgresql"])
    parser.add_argument("--part", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--worker", nargs=2, metavar=("LEDGER", "NAME"), help=argparse.SUPPRESS)
    parser.add_argument("--asker", nargs=2, metavar=("LEDGER", "NAME"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.worker:
        asyncio.run(_work(*given.worker))
        return
    if given.asker:
        asyncio.run(_ask(given.asker[0], given.asker[1], given.seconds))
        return
    if "size" in given.part:
        print(json.dumps(_size()), flush=True)
    for name, ledger in {"SQLite": _sqlite, "PostgreSQL": _postgres}.items():
        if name.lower() not in given.ledger:
            continue
        with ledger() as where:
            if "paid" in given.part:
                print(json.dumps({"ledger": name} | _paid(where)), flush=True)
            if "through" in given.part:
                print(json.dumps({"ledger": name} | _through(where, given.claims, given.kills)), flush=True)
            if "limiter" in given.part:
                print(json.dumps({"ledger": name} | _limited(where, given.seconds)), flush=True)


@contextmanager
def _sqlite() -> Iterator[str]:
    with TemporaryDirectory() as folder:
        yield str(Path(folder) / "ledger.db")


@contextmanager
def _postgres() -> Iterator[str]:
    """With the disk: what is committed is on it, as on a server that is used."""
    with postgres.running(durable=True) as server:
        yield server.create("queue")


def _through(where: str, count: int, kills: int) -> dict[str, Any]:
    figures: dict[str, Any] = {"claims": count}
    ledger = open_ledger(where)
    claims = [Claim(text=f"The bridge at Orvell has {number} arches.") for number in range(count)]
    figures["leases and results of 100, a second"] = _bare(where, ledger, claims)
    for workers, killed in ((1, 0), (4, 0), (4, kills)):
        label = f"{workers} worker{'s' * (workers > 1)}" + (f", {killed} killed" if killed else "")
        began = time.perf_counter()
        batch = submit(ledger, claims, about={"run": "queue", "asked": label}, job={})
        added = time.perf_counter() - began
        began = time.perf_counter()
        _run(where, batch, ledger, workers, killed)
        seconds = time.perf_counter() - began
        _counted_once(ledger, batch)
        figures[label] = {
            "leased and finished a second": round(count / seconds),
            "added a second": round(count / added),
        }
    ledger.close()
    return figures


def _bare(where: str, ledger: SharedDatabase, claims: list[Claim]) -> int:
    """The queue alone: leases of a hundred, results of about a kilobyte, one transaction each, by one process."""
    batch = submit(ledger, claims, about={"run": "queue", "asked": "bare"}, job={})
    heartbeat = Heartbeat(batch.number)
    queue, events = Queue(heartbeat.owner, batch.number), random.Random(1).randbytes(1000)
    began, done = time.perf_counter(), 0
    while True:
        with ledger.transaction() as db:
            heartbeat(db)
            (leased,) = queue.handle(db, [Lease(AT_ONCE)])
        assert not isinstance(leased, bool)
        if not leased.jobs:
            assert done == len(claims)
            return round(done / (time.perf_counter() - began))
        with ledger.transaction() as db:
            heartbeat(db)
            done += sum(map(bool, queue.handle(db, [Finish(job.place, events, DONE) for job in leased.jobs])))


def _run(where: str, batch: Batch, ledger: SharedDatabase, count: int, kills: int) -> None:
    """Keeps as many workers running until nothing is left, and kills one now and then."""
    chance, number = random.Random(5), 0
    running: dict[str, subprocess.Popen[bytes]] = {}
    while True:
        left = progress(ledger, batch.number)[1]
        while left and len(running) < count:
            name = f"{batch.number}.{number}"
            number += 1
            running[name] = pool.started([sys.executable, "-m", "benchmarks", "queue", "--worker", where, name])
        if kills and left and progress(ledger, batch.number)[0].done > number * 1000:
            kills -= 1
            name = chance.choice(sorted(running))
            process = running.pop(name)
            process.kill()
            process.wait()
            with ledger.transaction() as db:
                expire_worker(db, name)
        time.sleep(chance.uniform(0.1, 0.4))
        running = {name: process for name, process in running.items() if process.poll() is None}
        if not left and not running:
            assert not kills, f"{kills} workers were not killed: more claims are needed"
            return


def _counted_once(ledger: SharedDatabase, batch: Batch) -> None:
    """Every claim is there, and was counted by the worker whose result it is, and by no other."""
    by: Counter[str] = Counter()
    for place, (at, lines) in enumerate(results(ledger, batch.number, page=2000)):
        assert at == place
        by[json.loads(lines[-1])["verdict"]["reason"]] += 1
    with ledger.transaction() as db:
        counted = dict(db.execute("SELECT owner, done FROM workers WHERE batch = ?", (batch.number,)).fetchall())
    assert by.total() == batch.total, "a claim was lost"
    assert {name: number for name, number in counted.items() if number} == dict(by), "a claim was counted twice"


def _paid(where: str) -> dict[str, Any]:
    """Paid calls of a kilobyte written down, a hundred or ten a transaction, by one process."""
    ledger = open_ledger(where)
    batch = submit(ledger, [Claim(text="The bridge at Orvell.")], about={"run": "paid"}, job={})
    heartbeat, paid_calls, figures = Heartbeat(batch.number), PaidCallTable(batch.number), dict[str, Any]()
    for together, count in ((100, 20_000), (10, 5_000)):
        began = time.perf_counter()
        for start in range(0, count, together):
            with ledger.transaction() as db:
                heartbeat(db)
                paid_calls.handle(db, [PaidCall(0, together, start + number, "x" * 1000) for number in range(together)])
        figures[f"paid calls a second, {together} together"] = round(count / (time.perf_counter() - began))
    ledger.close()
    return figures


def _size() -> dict[str, Any]:
    """What a debate of 31 calls weighs in the ledger: its job, its paid calls while it lasts, its compressed events."""
    with served("disagreeing") as server, TemporaryDirectory() as folder:
        claim = Claim(text="The bridge at Orvell was opened in 1889.")
        with verifier(server.url, profile=PROFILE, folder=Path(folder) / "run", claims=[claim]) as one:
            verdict = asyncio.run(one.verify(claim))
        if verdict.usage.calls != CALLS:
            sys.exit(f"the debate took {verdict.usage.calls} calls instead of {CALLS}")
        lines = (Path(folder) / "run" / "events.jsonl").read_text().splitlines()
    paid = [line for line in lines if isinstance(EVENT.validate_json(line), Paid | CallFailed)]
    return {
        "method": METHOD,
        "profile": PROFILE,
        "calls": verdict.usage.calls,
        "job, bytes": len(claim.model_dump_json()),
        "paid rows": len(paid),
        "paid rows, bytes": sum(map(len, paid)),
        "events, bytes": sum(map(len, lines)),
        "packed, bytes": len(compress(lines)),
    }


async def _work(where: str, name: str) -> None:
    ledger = open_ledger(where)
    batch = find_batch(ledger)
    ledger.close()
    async with Worker(where, batch, owner=name) as worker:

        async def verify(job: Job) -> Verdict:
            verdict = Verdict(claim=Claim.model_validate_json(job.claim), label=None, reason=name)
            worker.record.write(ClaimEnded(item=job.place, verdict=verdict))
            return verdict

        await worker.work(verify, concurrency=AT_ONCE)


def _limited(where: str, seconds: int) -> dict[str, Any]:
    ledger = open_ledger(where)
    submit(ledger, [Claim(text="The bridge at Orvell.")], about={"run": "limiter"}, job={})
    ledger.close()
    command = [sys.executable, "-m", "benchmarks", "queue", "--seconds", str(seconds), "--asker", where]
    askers = [pool.started([*command, str(number)], stdout=subprocess.PIPE, text=True) for number in range(LIMITED)]
    reports = [json.loads(asker.communicate()[0].splitlines()[-1]) for asker in askers]
    assert not any(asker.returncode for asker in askers)
    times = sorted(moment for report in reports for moment in report["times"])
    last = min(max(report["times"]) for report in reports)  # as long as all of them asked
    times = [moment for moment in times if moment <= last]
    most, end = 0, 0
    for start, moment in enumerate(times):
        while end < len(times) and times[end] < moment + 60:
            end += 1
        most = max(most, end - start)
    steady = [moment for moment in times if moment >= times[0] + 5]
    return {
        "workers": LIMITED,
        "limit a minute": RATE,
        "most in any 60 s": most,
        "against the limit": f"{most / RATE - 1:+.2%}",
        "a minute, after the first 5 s": round(len(steady) / (steady[-1] - steady[0]) * 60),
        "turns by worker": [len(report["times"]) for report in reports],
        "transactions": sum(report["transactions"] for report in reports),
    }


async def _ask(where: str, name: str, seconds: int) -> None:
    """Fifty claims that ask for one turn after the other."""
    ledger = open_ledger(where)
    batch = find_batch(ledger)
    ledger.close()
    times: list[float] = []
    async with Worker(
        where, batch, owner=f"asker {name}", rates={"model": Rate(in_flight=50, requests_per_minute=RATE)}
    ) as worker:
        lane, until = worker.limiter.for_service("model"), time.monotonic() + seconds

        async def one() -> None:
            while time.monotonic() < until:
                async with lane.slot():
                    times.append(time.time())

        await asyncio.gather(*(one() for _ in range(50)))
    print(json.dumps({"times": times, "transactions": worker.batcher.transactions}))
