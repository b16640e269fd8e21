"""A batch on many workers: their job, how they are started, and their results."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from redargue.bench.batch import Tally, VerdictFiles
from redargue.claims import Claim
from redargue.cli.options import connected
from redargue.cli.progress import Progress
from redargue.cluster.export import claim_folder, exported, held, shown, written
from redargue.cluster.job import WorkerJob, read_job
from redargue.cluster.local import LocalWorkers
from redargue.cluster.queue import Batch, Standing, batch_id, find, progress, retry, standing, submit
from redargue.cluster.ray import RayWorkers, on_ray
from redargue.cluster.store import SharedDatabase, open_ledger
from redargue.cluster.worker import Worker, verify_leased
from redargue.config import Components, RunConfig
from redargue.errors import RecordError, UsageError
from redargue.net.secrets import Secrets, has_credentials
from redargue.net.services import limiter
from redargue.net.transport import Transport
from redargue.registry import did_you_mean
from redargue.runs.budget import Budget
from redargue.runs.clock import SystemClock
from redargue.verifier import Verifier

ENGINES = ("local", "ray")
CONCURRENCY, WORKERS = 16, 2
LOOK = 0.5  # seconds between two looks at how far the workers are
ENDING = 10.0  # seconds for workers to end when nothing is left
ADDRESSES = ("base_url", "store", "memory", "mcp")  # that may hold a key: then each machine's environment has to


def verify_many(
    config: RunConfig,
    claims: Sequence[Claim],
    tally: Tally,
    out: Path,
    *,
    engine: str,
    workers: int | None,
    where: str,
    concurrency: int | None,
    jsonl: bool,
    quiet: bool,
) -> bool:
    """Verifies claims on many workers and makes the batch folder from their results.

    Args:
        config: of the run.
        claims: in their order.
        tally: gets every verdict, in the claims' order.
        out: the batch folder.
        engine: one of ``ENGINES``.
        workers: how many; None for the engine's own number.
        where: the ledger; by default a file in the folder.
        concurrency: number of claims that a worker verifies at the same time; None for the default.
        jsonl: print each verdict.
        quiet: show no progress.

    Returns:
        Whether it was interrupted; the same command resumes it.
    """
    if engine not in ENGINES:
        raise UsageError(f"there is no engine {engine!r}", where="--engine", hint=did_you_mean(engine, list(ENGINES)))
    if engine == "ray" and not where:
        raise UsageError(
            "the engine ray needs a ledger that every node reaches", where="--ledger", hint="postgresql://host/database"
        )
    with Verifier(config, components=connected(config)) as verifier:
        about = verifier.manifest().model_dump(mode="json", exclude={"claims"}) | {"run": out.name}
        job, environment = worker_job(verifier, concurrency or CONCURRENCY)
    where = where or str((out / "ledger.db").absolute())
    with held(out):
        key = batch_id(claims, about)
        shown(out, key)  # what is refused makes no ledger, and no batch in it: a worker by hand takes the newest
        ledger, interrupted = open_ledger(where), False
        try:
            exported(out, key, ledger)
            batch = submit(ledger, claims, about=about, spec=job.model_dump(mode="json"))
            claim_folder(out, batch, claims)
            retry(ledger, batch.number)
            try:
                _watch(engine, workers, where, batch, ledger, environment, quiet=quiet)
            except KeyboardInterrupt:
                interrupted = True
            finally:
                _write(out, batch, ledger, tally, jsonl=jsonl)
        finally:
            ledger.close()
    return interrupted


def _write(out: Path, batch: Batch, ledger: SharedDatabase, tally: Tally, *, jsonl: bool) -> None:
    """Writes the folder's files from the ledger, and reports the verdicts, in the claims' order."""
    with VerdictFiles(out) as files:
        for item, verdict in written(out, batch, ledger):
            text = files.write(item, verdict)
            tally.add(verdict)
            if jsonl:
                print(text, flush=True)  # noqa: T201


def worker_job(verifier: Verifier, concurrency: int) -> tuple[WorkerJob, dict[str, str]]:
    """What a worker reads in the ledger, without a key in it; and what it reads from its environment alone.

    Raises:
        UsageError: an option holds a key.
    """
    config, secrets = verifier.config, Secrets.from_environment()
    withheld: dict[str, str] = {}
    for name in ADDRESSES:
        value = getattr(config, name) or ""
        value = value if isinstance(value, str) else " ".join(value)
        parts = [
            part.partition("=")[2] if name == "mcp" and "=" in part.partition("://")[0] else part
            for part in value.split()
        ]
        own = Secrets()
        for part in parts:
            own.add_url(part)
        if secrets.hide(value) != value or own.hide(value) != value or any(map(has_credentials, parts)):
            withheld[f"REDARGUE_{name.upper()}"] = value
    settings = verifier.method.settings.model_dump(mode="json")
    job = WorkerJob(
        config=config.model_copy(
            update={
                **{name: () if name == "mcp" else "" for name in ADDRESSES if f"REDARGUE_{name.upper()}" in withheld},
                "settings": settings,
                "tools": None,  # the settings name them
                "prompts": config.prompts and config.prompts.absolute(),
                "prices": config.prices and config.prices.absolute(),
            }
        ),
        withheld=tuple(sorted(withheld)),
        rates=limiter().rates,
        concurrency=concurrency,
    )
    words = job.model_dump_json()
    if secrets.hide(words) != words:
        raise UsageError(
            "an option holds a key, and workers find their options in the ledger", hint="set it as a variable"
        )
    return job, withheld


def _watch(
    engine: str,
    count: int | None,
    where: str,
    batch: Batch,
    ledger: SharedDatabase,
    environment: Mapping[str, str],
    *,
    quiet: bool,
) -> None:
    """Runs workers until nothing of the batch is left."""
    before, (so_far, _) = standing(ledger, batch.number), progress(ledger, batch.number)
    sums = _Sums(before, so_far, priced=bool(batch.about.get("priced")))
    with ExitStack() as stack:
        bar = stack.enter_context(Progress(sums, batch.total, clock=SystemClock(), known=sums.count, quiet=quiet))
        bar.moved(sums.count)
        workers: LocalWorkers | RayWorkers
        if engine == "ray":
            workers = stack.enter_context(on_ray(run_on_node, where, batch.id, count=count))
        else:
            command = [sys.executable, "-m", "redargue.cli.app", "worker", "--batch", batch.id]
            environment = {**environment, "REDARGUE_LEDGER": where}
            workers = stack.enter_context(LocalWorkers(count or WORKERS, command, environment, ledger))
        left = True
        while workers.tend(sums.count) and left:
            time.sleep(LOOK)
            now, left = progress(ledger, batch.number)
            bar.moved(sums.update(now))
        until = time.monotonic() + ENDING  # nothing is left: they end by themselves, but for those that are lost
        while workers.tend(sums.count) and time.monotonic() < until:
            time.sleep(LOOK / 10)
        now, left = progress(ledger, batch.number)
        bar.moved(sums.update(now))
        if left:
            raise RecordError("all workers have ended, and claims are left", hint="the same command goes on")


class _Sums:
    """How far a batch is: what was finished before, and what its workers have added since."""

    def __init__(self, before: Standing, so_far: Standing, *, priced: bool) -> None:
        self._before, self._so_far, self._now, self._priced = before, so_far, so_far, priced

    @property
    def count(self) -> int:
        """Claims that are finished."""
        return self._before.done + self._before.errors + sum(self._added()[:2])

    @property
    def kinds(self) -> range:
        """As long as there are verdicts."""
        return range(self.count)

    @property
    def errors(self) -> int:
        """Claims that ended in an error."""
        return self._before.errors + self._added().errors

    @property
    def calls(self) -> int:
        """That the batch has cost."""
        return self._now.calls

    @property
    def usd(self) -> float | None:
        """Likewise; None where no price is known."""
        return self._now.usd if self._priced else None

    def _added(self) -> Standing:
        return Standing(self._now.done - self._so_far.done, self._now.errors - self._so_far.errors)

    def update(self, now: Standing) -> int:
        """Takes a new count; returns by how many claims it is larger."""
        known, self._now = self.count, now
        return self.count - known


def run_worker(where: str, batch_id: str, owner: str = "") -> None:
    """Does a worker's work in this process, until nothing of the batch is left.

    Args:
        where: the ledger.
        batch_id: of the batch, or how it begins; the newest where it is empty.
        owner: the name that a watching process gives it; that process is gone when standard input ends.

    Raises:
        UsageError: this machine would ask something else than the batch.
        RecordError: the ledger failed, or this worker was given up.
    """
    ledger = open_ledger(where, make=False)
    try:
        batch = find(ledger, batch_id)
    finally:
        ledger.close()
    job = read_job(batch.spec)
    config = job.completed(os.environ)
    try:
        asyncio.run(_work(where, batch, job, config, connected(config), owner))
    except asyncio.CancelledError:
        return  # it was asked to end, and has handed back what it had


def run_on_node(where: str, batch_id: str) -> None:
    """Does a worker's work as a task of an engine, which has it done again where it fails over a claim.

    Raises:
        UsageError: as :func:`run_worker`.
        RecordError: whatever else went wrong.
    """
    try:
        run_worker(where, batch_id)
    except (UsageError, RecordError):
        raise
    except Exception as error:
        raise RecordError(f"a worker failed: {error!r}") from error


async def _work(
    where: str, batch: Batch, job: WorkerJob, config: RunConfig, components: Components, owner: str
) -> None:
    budget = Budget.parse(config.budget) if config.budget else Budget()
    transport = components.transport or Transport(offline=config.offline)
    loop, me = asyncio.get_running_loop(), asyncio.current_task()
    assert me
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGTERM"):
        loop.add_signal_handler(signal.SIGTERM, me.cancel)
    if owner:
        threading.Thread(target=_until_alone, args=(lambda: loop.call_soon_threadsafe(me.cancel),), daemon=True).start()
    async with Worker(where, batch, budget=budget, rates=job.rates, owner=owner, secrets=transport.secrets) as worker:
        transport.limiter = worker.limiter
        components = replace(components, transport=transport, budget=worker.budget)
        with Verifier(config, components=components, calls=worker.record) as verifier:
            await verify_leased(worker, verifier, batch, concurrency=job.concurrency)


def _until_alone(then: Any) -> None:
    while os.read(0, 1024):  # not sys.stdin: its lock would be held when the interpreter ends
        pass
    then()
