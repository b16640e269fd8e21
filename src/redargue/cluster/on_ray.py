"""Workers as tasks of a Ray cluster: Ray places them, and starts them again elsewhere when their node dies.

Nothing goes through Ray but where the ledger is: a task that runs twice leases other claims.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from redargue.errors import MissingExtra, RecordError, UsageError


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
        count = count or max(1, int(ray.cluster_resources().get("CPU", 1)))
        options = {"num_cpus": 1, "max_retries": -1, "retry_exceptions": [RecordError], "scheduling_strategy": "SPREAD"}
        task = ray.remote(**options)(run)
        self._running = [task.remote(where, batch) for _ in range(count)]
        self.count = count

    def tend(self, finished: int) -> bool:
        """Whether any worker has not ended yet; Ray does the rest.

        Raises:
            UsageError: a worker cannot be set up on its node.
        """
        ended, self._running = self._ray.wait(self._running, num_returns=len(self._running), timeout=0)
        try:
            self._ray.get(ended)
        except self._ray.exceptions.RayTaskError as error:
            raise UsageError(f"a worker on the cluster failed: {error.cause}", hint="ray logs tell more") from None
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
