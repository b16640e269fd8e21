"""Runs workers as tasks of a Ray cluster: Ray places them, and restarts them elsewhere when their node dies.

Only the address of the ledger, and what its workers may do, go through Ray: a task that runs twice leases other claims.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from redargue.cluster.restart_policy import RestartPolicy
from redargue.errors import RecordError, StoreUnavailable, UsageError


class RayWorkers:
    """The worker tasks of a batch, one per CPU of the cluster unless ``count`` is set."""

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

    Raises UsageError if ray is not installed, and UsageError if the cluster does not answer.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise UsageError(f"the engine ray needs ray: {error}", hint="pip install 'redargue[ray]'") from None
    connect = not ray.is_initialized()
    if connect:
        try:
            address = os.environ.get("RAY_ADDRESS", "")
            options: dict[str, Any] = {"address": address} if address else {"include_dashboard": False}
            ray.init(log_to_driver=False, logging_level="WARNING", **options)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise UsageError(f"no Ray cluster: {error}", hint="ray start --head, and RAY_ADDRESS=host:6379") from None
    with ExitStack() as stack:
        if connect:
            stack.callback(ray.shutdown)
        workers = RayWorkers(ray, count, run, arguments)
        stack.callback(workers.stop)
        yield workers
