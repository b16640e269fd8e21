"""Starts and supervises workers as processes of this host."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import uuid
from collections.abc import Mapping, Sequence

from redargue.cluster.heartbeat import expire_worker
from redargue.cluster.restart_policy import RestartPolicy
from redargue.cluster.store import SharedDatabase
from redargue.errors import UsageError

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

    def _start(self) -> None:
        name = f"{socket.gethostname()}:{uuid.uuid4().hex[:12]}"
        environment = {**os.environ, **self._environment, "REDARGUE_WORKER": name}
        # A new session: Ctrl-C reaches the coordinator only. If the coordinator dies, the closed pipe stops the worker.
        self._running[name] = subprocess.Popen(
            self._command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
        )

    def supervise(self, finished: int) -> bool:
        """Restarts workers that died; returns False when all have exited normally.

        Raises UsageError if a worker cannot be set up, and RecordError if workers die and no claims are finished.
        """
        self._policy.update(finished)
        for name, process in list(self._running.items()):
            code = process.poll()
            if code is None:
                continue
            del self._running[name]
            assert process.stdin
            process.stdin.close()
            if code == 2:
                raise UsageError("a worker cannot be set up", hint="see its message above")
            if code:
                self._expire(name)
                self._policy.worker_died("see their messages above")
                self._start()
        return bool(self._running)

    def _expire(self, name: str) -> None:
        with self._ledger.transaction() as db:
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
