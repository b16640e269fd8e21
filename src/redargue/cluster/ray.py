"""Workers as tasks of a Ray cluster: Ray places them, and starts them again elsewhere when their node dies.

Nothing goes through Ray but where the ledger is: a task that runs twice leases other claims.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from redargue.cluster.restart_policy import Deaths
from redargue.errors import DiskFull, MissingExtra, RecordError, StoreLocked, UsageError


class RayWorkers:
    """The tasks of a batch.

    Args:
        ray: the module, connected to a cluster.
        count: how many; None for one a CPU of the cluster.
        run: does a worker's work; given the ledger's address and the batch's id.
        where: the ledger.
        batch: its id.
    """

    def __init__(self, ray: Any, count: int | None, run: Callable[[str, str], None], where: str, batch: str) -> None:
        self._ray = ray
        self.count = count or max(1, int(ray.cluster_resources().get("CPU", 1)))
        task = ray.remote(num_cpus=1, max_retries=-1, scheduling_strategy="SPREAD")(run)  # -1: nodes may die
        self._start: Callable[[], Any] = lambda: task.remote(where, batch)
        self._running = [self._start() for _ in range(self.count)]
        self._deaths = Deaths(self.count)

    def tend(self, finished: int) -> bool:
        """Starts anew what failed over the ledger; False where all have ended well. A lost node is Ray's matter.

        Args:
            finished: claims so far.

        Raises:
            UsageError: a worker cannot be set up on its node.
            RecordError: workers fail and nothing is finished.
        """
        self._deaths.since(finished)
        ended, self._running = self._ray.wait(self._running, num_returns=len(self._running), timeout=0)
        for each in ended:
            try:
                self._ray.get(each)
            except self._ray.exceptions.RayTaskError as error:
                if not isinstance(error.cause, RecordError | StoreLocked | DiskFull):
                    hint = "ray logs tell more"
                    raise UsageError(f"a worker on the cluster failed: {error.cause}", hint=hint) from None
                self._deaths.one_more(f"the last one: {error.cause}")
                self._running.append(self._start())
        return bool(self._running)

    def stop(self) -> None:
        """Has every worker hand back what it has, and end."""
        for each in self._running:
            self._ray.cancel(each)
        if self._running:
            self._ray.wait(self._running, num_returns=len(self._running), timeout=10)


@contextmanager
def on_ray(
    run: Callable[[str, str], None], where: str, batch: str, *, count: int | None = None, address: str = ""
) -> Iterator[RayWorkers]:
    """Workers on the cluster at an address; on this host alone where none is given or running.

    Raises:
        MissingExtra: ray is not installed.
        UsageError: no cluster is there.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anybody
    try:
        import ray
    except ImportError as error:
        raise MissingExtra(f"the engine ray needs ray: {error}", hint="pip install 'redargue[ray]'") from None
    began = not ray.is_initialized()
    if began:
        try:
            given = address or os.environ.get("RAY_ADDRESS", "")
            more: dict[str, Any] = {"address": given} if given else {"include_dashboard": False}
            ray.init(log_to_driver=False, logging_level="WARNING", **more)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise UsageError(f"no Ray cluster: {error}", hint="ray start --head, and RAY_ADDRESS=host:6379") from None
    try:
        workers = RayWorkers(ray, count, run, where, batch)
        try:
            yield workers
        finally:
            workers.stop()
    finally:
        if began:
            ray.shutdown()
