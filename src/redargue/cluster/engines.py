"""Where workers run: processes of this host, or a Ray cluster."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from redargue.cluster.store import LedgerAway, SharedDatabase
from redargue.cluster.worker import expire_worker
from redargue.errors import RecordError, StoreUnavailable, UsageError
from redargue.registry import install

_log = logging.getLogger("redargue.cluster")

MAX_DEATHS = 10  # since a claim was last finished; more are not the fault of single claims


class RestartPolicy:
    """Counts the crashes of workers since a claim was last finished."""

    def __init__(self, workers: int) -> None:
        self._limit, self._deaths, self._finished = max(MAX_DEATHS, 2 * workers), 0, -1

    def update(self, finished: int) -> None:
        if finished != self._finished:
            self._deaths, self._finished = 0, finished

    def worker_died(self, reason: str) -> None:
        """Counts a crash; raises RecordError if too many workers died without finishing a claim."""
        self._deaths += 1
        if self._deaths > self._limit:
            raise RecordError(f"{self._deaths} workers died without finishing a claim", hint=reason)


_SHUTDOWN_TIMEOUT = 20.0  # seconds for a worker to return its leases


class LocalWorkers:
    """Worker processes; a context manager that stops all of them on exit.

    ``environment`` is added to this process's. The claims of a dead worker are released in the ledger immediately.
    """

    def __init__(
        self, count: int, command: Sequence[str], environment: Mapping[str, str], ledger: SharedDatabase
    ) -> None:
        self._count, self._command, self._environment, self._ledger = count, list(command), environment, ledger
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._policy = RestartPolicy(count)

    def _start(self) -> str:
        """The name of a new worker."""
        name = f"{socket.gethostname()}:{uuid.uuid4().hex[:12]}"
        environment = {**os.environ, **self._environment, "REDARGUE_WORKER": name}
        # A new session: Ctrl-C reaches the coordinator only. If the coordinator dies, the closed pipe stops the worker.
        self._running[name] = subprocess.Popen(
            self._command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
        )
        _log.info("worker %s started", name)
        return name

    def supervise(self, finished: int) -> bool:
        """Restarts workers that died; returns False when all have exited normally.

        Raises UsageError if a worker cannot be set up, and RecordError if workers die and no claims are finished.
        """
        self._policy.update(finished)
        for name, process in list(self._running.items()):
            if (code := process.poll()) is None:
                continue
            del self._running[name]
            assert process.stdin
            process.stdin.close()
            if code == 2:
                raise UsageError("a worker cannot be set up", hint="see its message above")
            if code:
                self._expire(name)
                self._policy.worker_died("see their messages above")
                _log.warning("worker %s died (exit code %d); %s replaces it", name, code, self._start())
            else:
                _log.info("worker %s ended", name)
        return bool(self._running)

    def _expire(self, name: str) -> None:
        with suppress(LedgerAway), self._ledger.transaction() as db:  # the other workers expire it later
            expire_worker(db, name)

    def __enter__(self) -> LocalWorkers:
        for _ in range(self._count):
            self._start()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._running.values():
            process.send_signal(signal.SIGTERM)
        for name, process in self._running.items():
            assert process.stdin
            process.stdin.close()
            try:
                process.wait(_SHUTDOWN_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                self._expire(name)


class RayWorkers:
    """The worker tasks of a batch, one per CPU of the cluster unless ``count`` is set.

    Ray restarts them elsewhere when their node dies: a task that runs twice leases other claims. Only the address of
    the ledger, and what its workers may do, go through Ray.
    """

    def __init__(self, ray: Any, count: int | None, run: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self._ray = ray
        count = count or max(1, int(ray.cluster_resources().get("CPU", 1)))
        # Unlimited retries: they count the nodes that died.
        task = ray.remote(num_cpus=1, max_retries=-1, scheduling_strategy="SPREAD")(run)
        self._start: Callable[[], Any] = lambda: task.remote(*arguments)
        self._running = [self._start() for _ in range(count)]
        self._policy = RestartPolicy(count)

    def supervise(self, finished: int) -> bool:
        """Restarts tasks that failed to use the ledger; returns False when all have ended normally.

        Raises UsageError if a worker cannot be set up on its node, and RecordError if workers fail repeatedly.
        """
        self._policy.update(finished)
        ended, self._running = self._ray.wait(self._running, num_returns=len(self._running), timeout=0)
        for task in ended:
            try:
                self._ray.get(task)
            except self._ray.exceptions.RayTaskError as error:
                if not isinstance(error.cause, RecordError | StoreUnavailable):
                    what = f"a worker on the cluster failed: {error.cause}"
                    raise UsageError(what, hint="see the output of: ray logs") from None
                self._policy.worker_died(f"the last one: {error.cause}")
                _log.warning("a worker on the cluster failed (%s); another one replaces it", error.cause)
                self._running.append(self._start())
        return bool(self._running)

    def stop(self) -> None:
        """Cancels all workers and waits until they have returned their leases, at most 10 s."""
        for task in self._running:
            self._ray.cancel(task)
        if self._running:
            self._ray.wait(self._running, num_returns=len(self._running), timeout=10)


@contextmanager
def ray_workers(run: Callable[..., None], *arguments: Any, count: int | None = None) -> Iterator[RayWorkers]:
    """Workers on the cluster at ``RAY_ADDRESS``, or on this host; each calls ``run``, a function, with the arguments.

    Raises UsageError if ray is not installed, or the cluster does not answer.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise UsageError(f"the engine ray needs ray: {error}", hint=install("ray")) from None
    connect = not ray.is_initialized()
    if connect:
        try:
            address = os.environ.get("RAY_ADDRESS", "")
            options: dict[str, object] = {"address": address} if address else {"include_dashboard": False}
            ray.init(log_to_driver=False, logging_level="WARNING", **options)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise UsageError(f"no Ray cluster: {error}", hint="ray start --head, and RAY_ADDRESS=host:6379") from None
    with ExitStack() as stack:
        if connect:
            stack.callback(ray.shutdown)
        workers = RayWorkers(ray, count, run, arguments)
        stack.callback(workers.stop)
        yield workers
