"""Verifies a batch on several workers: prepares, starts and supervises them, exports results.

``redargue ledger`` lists the batches of a ledger, and removes them; ``redargue worker`` is an additional
worker for a batch, on this machine or another.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from functools import partial
from typing import Annotated, Literal

import typer

from redargue.assembly import Parts
from redargue.cli.batch import BatchOutput
from redargue.cli.options import connected
from redargue.cli.output import log_to_stderr, print_json, resumable, say_interrupted
from redargue.cli.parameters import AsJson, LedgerWait, LogLevel
from redargue.cli.progress import Progress
from redargue.cluster import WorkerJob, read_job, worker_job
from redargue.cluster.batches import (
    check_not_dropped,
    drop_batch,
    lock_folder,
    prepare_folder,
    read_mark,
    summarize_batches,
    write_log,
)
from redargue.cluster.engines import LocalWorkers, RayWorkers, ray_workers
from redargue.cluster.queue import Batch, Counts, batch_id, count_finished, find_batch, progress, retry, submit
from redargue.cluster.store import WAIT, LedgerAway, SharedDatabase, open_ledger
from redargue.cluster.worker import verify_batch
from redargue.errors import CorpusError, RecordError, StoreUnavailable, UsageError
from redargue.net.services import is_offline, require_local
from redargue.runs.record import SystemClock
from redargue.sanitize import counted, printable
from redargue.spec import RunSpec
from redargue.verifier import Verifier

CONCURRENCY, WORKERS = 16, 2
_POLL = 0.5  # seconds between progress updates
_SHUTDOWN_TIMEOUT = 10.0  # seconds for the workers to exit when no claims are left


def verify_on_workers(
    engine: Literal["local", "ray"],
    spec: RunSpec,
    output: BatchOutput,
    *,
    workers: int | None,
    where: str,
    concurrency: int | None,
    wait: float = WAIT,
) -> bool:
    """Verifies claims on several workers, and writes the batch folder from their results, in the order of the claims.

    The ledger is at ``where``; default: a file in the folder. Returns whether it was interrupted; the same command
    resumes the batch.
    """
    claims, out = output.claims, output.folder
    if engine == "ray" and not where:
        what = "the engine ray needs a ledger that every node reaches"
        raise UsageError(what, where="--ledger", hint="postgresql://host/database")
    if spec.offline:
        require_local(where, what="ledger")
    with Verifier(spec, parts=connected(spec), origin=output.origin) as verifier:
        about = verifier.manifest().model_dump(mode="json", exclude={"claims"}) | {"run": out.name}
        job, environment = worker_job(verifier, concurrency or CONCURRENCY)
    own = out / "ledger.db"
    where, interrupted, answers = where or str(own.absolute()), False, True
    with lock_folder(out):
        if own.is_symlink():
            what = f"{str(own)!r} is a symbolic link"
            raise RecordError(what, hint="choose another folder: -o DIR, or name the ledger: --ledger PATH")
        id_ = batch_id(claims, about)
        read_mark(out, id_)  # before a ledger or batch is created: ``redargue worker`` takes the newest batch
        with closing(open_ledger(where, wait=wait)) as ledger:
            check_not_dropped(out, id_, ledger)
            batch = submit(ledger, claims, about=about, job=job.model_dump(mode="json"))
            prepare_folder(out, batch, claims)
            retry(ledger, batch.number)
            try:
                _supervise(engine, workers, where, batch, ledger, environment, quiet=output.options.quiet)
            except KeyboardInterrupt:
                interrupted = True
                say_interrupted("the same command resumes the batch")
            except LedgerAway:
                answers = False  # it was waited for
                raise
            finally:
                if answers:
                    with output.files() as take:
                        for item, verdict in write_log(out, batch, ledger):
                            take(item, verdict)
    return interrupted


LOCAL, RAY = partial(verify_on_workers, "local"), partial(verify_on_workers, "ray")


def _supervise(
    engine: str,
    count: int | None,
    where: str,
    batch: Batch,
    ledger: SharedDatabase,
    environment: Mapping[str, str],
    *,
    quiet: bool,
) -> None:
    totals = _Totals(ledger, batch)
    with ExitStack() as stack:
        bar = stack.enter_context(Progress(totals, batch.total, clock=SystemClock(), known=totals.count, quiet=quiet))
        bar.moved(totals.count, again=True)

        def update() -> bool:
            counts, unfinished = progress(ledger, batch.number)
            bar.moved(totals.update(counts))
            return unfinished

        workers: LocalWorkers | RayWorkers
        if engine == "ray":
            # What this command allows its tasks; addresses with a key come from each node's environment.
            allowed = {name: value for name, value in environment.items() if name not in batch.job.get("withheld", ())}
            workers = stack.enter_context(ray_workers(run_on_node, where, batch.id, allowed, ledger.wait, count=count))
        else:
            # -P: nothing is imported from the working folder, which may be a stranger's.
            command = [sys.executable, "-P", "-m", "redargue.cli.app", "worker", "--batch", batch.id]
            environment = {**environment, "REDARGUE_LEDGER": where, "REDARGUE_LEDGER_WAIT": str(ledger.wait)}
            workers = stack.enter_context(LocalWorkers(count or WORKERS, command, environment, ledger))
        unfinished = True
        while workers.supervise(totals.count) and unfinished:
            time.sleep(_POLL)
            unfinished = update()
        deadline = time.monotonic() + _SHUTDOWN_TIMEOUT  # workers exit by themselves, unless their machine is lost
        while workers.supervise(totals.count) and time.monotonic() < deadline:
            time.sleep(_POLL / 10)
        if update():
            raise RecordError("all workers have exited, but claims are left", hint="the same command resumes the batch")


class _Totals:
    """Progress of a batch: the claims that were finished before, plus what its workers have added since."""

    def __init__(self, ledger: SharedDatabase, batch: Batch) -> None:
        before, (start, _) = count_finished(ledger, batch.number), progress(ledger, batch.number)
        self._done, self._errors = before.done - start.done, before.errors - start.errors
        self._stopped = before.stopped - start.stopped
        self._priced, self.count = bool(batch.about.get("priced")), 0
        self.update(start)

    def update(self, now: Counts) -> int:
        """Returns the number of newly finished claims."""
        before, self.errors, self.stopped = self.count, self._errors + now.errors, self._stopped + now.stopped
        self.count = self._done + now.done + self.errors + self.stopped
        self.outcomes, self.calls, self.usd = range(self.count), now.calls, now.usd if self._priced else None
        return self.count - before


def run_worker(
    where: str, batch_id: str, owner: str = "", allowed: Mapping[str, str] | None = None, *, wait: float = WAIT
) -> None:
    """Runs a worker in this process until no claims of the batch are left, or the ledger is away longer than ``wait``.

    A coordinator gives its workers an ``owner``; they stop when standard input ends. What the batch starts, contacts,
    reads and writes has to be ``allowed``, besides this machine's environment. Raises UsageError if it is not, or this
    machine's version, corpus, model or settings differ from the batch's, and RecordError if the worker has expired.
    """
    with closing(_existing(where)) as ledger:
        batch = find_batch(ledger, batch_id)
    job = read_job(batch.job)
    spec = job.with_environment({**os.environ, **(allowed or {})})
    try:
        asyncio.run(_work(where, batch, job, spec, owner, wait))
    except asyncio.CancelledError:
        return  # stopped by a signal or the coordinator; its leases are returned


def _existing(where: str) -> SharedDatabase:
    """Opens a ledger that exists; when offline, only one on this machine."""
    if is_offline():
        require_local(where, what="ledger")
    return open_ledger(where, make=False)


def run_on_node(where: str, batch_id: str, allowed: Mapping[str, str] | None = None, wait: float = WAIT) -> None:
    """Runs a worker as a task of an engine, which restarts it after a RecordError."""
    try:
        run_worker(where, batch_id, allowed=allowed, wait=wait)
    except (UsageError, RecordError, CorpusError):
        raise
    except Exception as error:
        raise RecordError(f"a worker failed: {error!r}") from error


async def _work(where: str, batch: Batch, job: WorkerJob, spec: RunSpec, owner: str, wait: float) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGTERM"):
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
    if owner:
        stop = partial(loop.call_soon_threadsafe, task.cancel)
        threading.Thread(target=_when_stdin_ends, args=(stop,), daemon=True).start()
    rates, concurrency = job.rates, job.concurrency
    await verify_batch(where, batch, spec, Parts(), rates=rates, concurrency=concurrency, owner=owner, wait=wait)


def _when_stdin_ends(stop: Callable[[], object]) -> None:
    while os.read(0, 1024):  # not sys.stdin, whose lock would be held when the interpreter exits
        pass
    stop()


ledger_app = typer.Typer(help="List and remove the batches of a ledger.", no_args_is_help=True)

Where = Annotated[
    str, typer.Argument(envvar="REDARGUE_LEDGER", help="Ledger of the workers: postgresql://… or a file.")
]


@ledger_app.command("ls")
def list_batches(ledger: Where, as_json: AsJson = False) -> None:
    """List batches, newest first: id, method, progress, cost."""
    with closing(_existing(ledger)) as database:
        batches = summarize_batches(database)
    if as_json:
        print_json({"schema_version": 1, "batches": [batch._asdict() for batch in batches]}, indent=None)
        return
    for batch in batches:
        failed = f"{batch.errors:,} failed" + (f", {batch.stopped:,} stopped by the budget" if batch.stopped else "")
        progress = f"{batch.done:,} of {batch.total:,} done, {failed}, {batch.leased:,} in progress"
        cost = f"calls: {batch.calls:,}, tokens: {batch.tokens:,}" + (f", ${batch.usd:.4f}" if batch.usd else "")
        line = f"{batch.id[:12]}  {batch.method:<16}  {progress}; workers: {batch.workers}; {cost}"
        typer.echo(printable(line, lines=False))
    typer.echo(f"{len(batches)} {'batch' if len(batches) == 1 else 'batches'}", err=True)


@ledger_app.command()
def drop(
    ledger: Where,
    batch: Annotated[str, typer.Argument(help="Batch id as listed by ls, or a unique prefix.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove a batch permanently; exported folders remain."""
    with closing(_existing(ledger)) as database:
        found = find_batch(database, batch)
        done = count_finished(database, found.number).done
        question = f"Remove batch {found.id[:12]} with {counted(found.total, 'claim')}, {done:,} of them done?"
        removed = drop_batch(database, found) if yes or typer.confirm(question, err=True) else 0
    if as_json:
        print_json({"schema_version": 1, "removed": removed}, indent=None)
    else:
        typer.echo(f"{counted(removed, 'claim')} removed")


def worker(
    ledger: Where,
    batch: Annotated[str, typer.Option(metavar="ID", help="Batch id (see ledger.json); default: the newest.")] = "",
    ledger_wait: LedgerWait = 60.0,
    log_level: LogLevel = "warning",
) -> None:
    """Verify claims of a batch started by batch --engine."""
    log_to_stderr(log_level)
    try:
        with resumable():
            run_worker(ledger, batch, owner=os.environ.get("REDARGUE_WORKER", ""), wait=ledger_wait)
    except (RecordError, StoreUnavailable) as error:  # of the ledger: a restart may succeed
        typer.echo(f"redargue: {error}", err=True)
        raise typer.Exit(5) from None
