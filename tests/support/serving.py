"""The HTTP service in a process of its own, with a scripted backend that a test can hold back."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

import httpx2

from redargue.assembly import Parts
from redargue.backends import Call, Reply
from redargue.backends.scripted import ScriptedBackend
from redargue.runs.record import SystemClock
from redargue.service.app import Server, bound_socket, create_app
from redargue.service.context import ServiceSettings
from redargue.service.rules import RequestRules
from redargue.spec import RunSpec
from redargue.tasks.base import Out, Task
from support.debates import ShelfTool, answer, checked, script

HELD = "REDARGUE_TEST_CALLS"  # calls that are answered before the file OPEN exists
DELAY = "REDARGUE_TEST_DELAY"  # seconds that each call takes
CLOCK = "REDARGUE_TEST_CLOCK"  # events of the first claim have the time of the machine's monotonic clock
OPEN = "open"  # in redargue's home
TURN = 0.01  # seconds between looks at it
READY = 600.0  # seconds that a busy machine may take


# An agreement is scored in three calls an answer, and held back by its scores: 23 calls a claim.
LONG_DEBATE = {"stable_by": "scores", "scored_together": False, "first_query": "model"}


class Held(ScriptedBackend):
    """A debate of 23 calls, of which so many are answered, and the rest when a file exists."""

    def __init__(self, calls: int, opened: Path) -> None:
        super().__init__(script(AnswerClaim=answer("SUPPORTS"), CheckStatements=checked(0, 0)))
        self._left, self._opened, self._delay = calls, opened, float(os.environ.get(DELAY, "0"))

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        self._left -= 1
        while self._left < 0 and not self._opened.exists():  # noqa: ASYNC110 - another process creates it
            await asyncio.sleep(TURN)
        if self._delay:
            await asyncio.sleep(self._delay)
        return await super().perform(task, call)


class MachineClock(SystemClock):
    """Its first time is 0, so that times since then are those of the machine."""

    def __init__(self) -> None:
        self._started = False

    def elapsed(self) -> float:
        if self._started:
            return time.monotonic()
        self._started = True
        return 0.0


def service_parts() -> Parts:
    opened = Path(os.environ["REDARGUE_HOME"]) / OPEN
    backend = Held(int(os.environ.get(HELD, "1000000")), opened)
    tools = {name: ShelfTool(name) for name in ("corpus", "keywords")}
    return Parts(backend=backend, evidence=tools, clock=MachineClock() if os.environ.get(CLOCK) else None)


def settings(
    *, tools: tuple[str, ...] | None = None, corpora: Mapping[str, str] = MappingProxyType({}), **options: object
) -> ServiceSettings:
    spec = RunSpec(method="tool-mad", offline=True, settings={"debaters": ("corpus", "keywords"), **LONG_DEBATE})
    return ServiceSettings(rules=RequestRules(spec, tools=tools, corpora=corpora), **options)  # type: ignore[arg-type]


class Service:
    """The service as a process; its address is ``url``. Started again at the same port by :meth:`start`."""

    def __init__(self, home: Path, environment: Mapping[str, str] | None = None) -> None:
        self.home, self.port, self._environment = home, 0, dict(environment or {})
        self.process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, calls: int = 1_000_000) -> Self:
        root = Path(__file__).parents[2]
        environment = {
            **os.environ,
            **self._environment,
            "REDARGUE_HOME": str(self.home),
            "PYTHONPATH": os.pathsep.join(str(root / part) for part in ("tests", "src", "")),
            HELD: str(calls),
        }
        command = [sys.executable, "-m", "support.serving", str(self.port)]
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.port = int(self.process.stdout.readline())
        return self

    def open(self) -> None:
        (self.home / OPEN).touch()

    def shut(self) -> None:
        (self.home / OPEN).unlink(missing_ok=True)

    def stop(self, with_signal: int = signal.SIGTERM) -> int:
        assert self.process
        self.process.send_signal(with_signal)
        code = self.process.wait(READY)
        assert self.process.stdout
        self.process.stdout.close()
        self.process = None
        return code

    def client(self, **options: object) -> httpx2.Client:
        return httpx2.Client(base_url=self.url, timeout=READY, trust_env=False, **options)  # type: ignore[arg-type]

    def __enter__(self) -> Self:
        return self if self.process else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process:
            self.stop(signal.SIGKILL)


def main() -> None:
    listener = bound_socket("127.0.0.1", int(sys.argv[1]))
    port = listener.getsockname()[1]
    Server(create_app(settings(), service_parts()), lambda: print(port, flush=True)).run(sockets=[listener])  # noqa: T201


if __name__ == "__main__":
    main()
