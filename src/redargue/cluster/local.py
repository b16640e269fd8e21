"""Workers as processes of this host, started, watched and started again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from types import TracebackType

from redargue.cluster.heartbeat import give_up
from redargue.cluster.restart_policy import Deaths
from redargue.cluster.store import SharedDatabase
from redargue.errors import UsageError

PATIENCE = 20.0  # seconds for a worker to hand back what it has


class LocalWorkers:
    """The processes; a context manager that leaves none behind.

    Args:
        count: how many.
        command: starts one.
        environment: for it; keys go this way and no other. ``REDARGUE_WORKER`` is its name in the ledger.
        ledger: where a dead one's claims are handed back at once.
    """

    def __init__(
        self, count: int, command: Sequence[str], environment: Mapping[str, str], ledger: SharedDatabase
    ) -> None:
        self._count, self._command, self._environment, self._ledger = count, list(command), environment, ledger
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._deaths = Deaths(count)

    @property
    def pids(self) -> list[int]:
        """The processes that run."""
        return [each.pid for each in self._running.values()]

    def _start(self) -> None:
        name = f"{socket.gethostname()}:{uuid.uuid4().hex[:12]}"
        environment = {**os.environ, **self._environment, "REDARGUE_WORKER": name}
        self._running[name] = subprocess.Popen(
            self._command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
        )  # in a session of its own: Ctrl-C is for the one that watches; when that one is gone, the pipe says so

    def tend(self, finished: int) -> bool:
        """Starts anew what died; False where all have ended well.

        Args:
            finished: claims so far: workers may die while they get on.

        Raises:
            UsageError: a worker cannot be set up here.
            RecordError: workers die and nothing is finished.
        """
        self._deaths.since(finished)
        for name, process in list(self._running.items()):
            code = process.poll()
            if code is None:
                continue
            del self._running[name]
            assert process.stdin
            process.stdin.close()
            if code == 2:
                raise UsageError("a worker cannot be set up", hint="its own message stands above")
            if code:
                with self._ledger.transaction() as db:
                    give_up(db, name)
                self._deaths.one_more("their own messages stand above")
                self._start()
        return bool(self._running)

    def __enter__(self) -> LocalWorkers:
        for _ in range(self._count):
            self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in self._running.values():
            process.send_signal(signal.SIGTERM)
        for name, process in self._running.items():
            assert process.stdin
            process.stdin.close()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                with self._ledger.transaction() as db:
                    give_up(db, name)
