"""The installed command ``redargue serve`` as a process over the starter corpus: what it uses, and what it leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2

COMMAND = str(Path(sys.executable).with_name("redargue"))
ROOT = Path(__file__).parents[2]
READY = 300.0  # seconds that a busy machine may take
TURN = 0.02  # seconds between looks at a state
ENDED = ("done", "failed", "cancelled", "interrupted")


def environment(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables for a process with a home of its own and no network."""
    own = {"REDARGUE_HOME": str(home), "REDARGUE_OFFLINE": "1", "XDG_CONFIG_HOME": str(home / "config")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("REDARGUE_", "OPENAI_"))}
    return {**kept, **own, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")]), **(more or {})}


class Serving:
    """``redargue serve`` on a free port; what it prints is in ``log``.

    Args:
        options: of the command.
        program: what starts the command, instead of the installed script.
        shared: environment variables beside those of :func:`environment`.
    """

    def __init__(
        self,
        home: Path,
        *options: str,
        program: Sequence[str] = (COMMAND,),
        shared: Mapping[str, str] | None = None,
        log: Path | None = None,
    ) -> None:
        self.home, self.log = home, log or home.with_name(f"{home.name}.log")
        self._options, self._program, self._shared = options, tuple(program), dict(shared or {})
        self.process: subprocess.Popen[bytes] | None = None
        self.url, self._printed = "", 0

    def start(self) -> Self:
        command = [*self._program, "serve", "--port", "0", "--store", "starter", *self._options]
        self._printed = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, env=environment(self.home, self._shared), stdout=log, stderr=log)
        self.url = self._address()
        return self

    def _address(self) -> str:
        deadline = time.monotonic() + READY
        while time.monotonic() < deadline:
            printed = self.log.read_text(encoding="utf-8", errors="replace")[self._printed :]
            for line in printed.splitlines(keepends=True):
                if line.startswith("redargue: http") and line.endswith("\n"):
                    return line.split()[1]
            if self.code is not None:
                raise AssertionError(f"redargue serve ended with {self.code}: {printed[-2000:]}")
            time.sleep(TURN)
        raise AssertionError(f"redargue serve did not start in {READY:g} s")

    @property
    def pid(self) -> int:
        assert self.process
        return self.process.pid

    @property
    def code(self) -> int | None:
        """The exit code of a process that has ended."""
        return self.process.poll() if self.process else None

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def stop(self, with_signal: int = signal.SIGTERM) -> int:
        assert self.process
        self.process.send_signal(with_signal)
        code = self.process.wait(READY)
        self.process = None
        return code

    def client(self, **options: Any) -> httpx2.Client:
        return httpx2.Client(base_url=self.url, timeout=READY, trust_env=False, **options)

    def resident(self) -> float:
        """Resident memory, in MB."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        return round(int(status.partition("VmRSS:")[2].split()[0]) / 1024, 1)

    def processor_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def files_open(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def __enter__(self) -> Self:
        return self if self.process else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process:
            self.stop(signal.SIGKILL)


def ended(http: httpx2.Client, id_: str, seconds: float = READY) -> dict[str, Any]:
    """A check once it has ended; raises AssertionError where it does not."""
    return _ended(http, f"/v1/checks/{id_}", seconds)


def finished(http: httpx2.Client, id_: str, seconds: float = READY) -> dict[str, Any]:
    """A batch once it has ended; raises AssertionError where it does not."""
    return _ended(http, f"/v1/batches/{id_}", seconds)


def _ended(http: httpx2.Client, path: str, seconds: float) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer: dict[str, Any] = http.get(path).json()
        if answer.get("state") in ENDED:
            return answer
        time.sleep(TURN)
    raise AssertionError(f"{path} has not ended in {seconds:g} s: {answer}")


def listed(http: httpx2.Client) -> Iterator[dict[str, Any]]:
    """All checks of the caller, newest first."""
    cursor = ""
    while True:
        page = http.get("/v1/checks", params={"limit": 100, "cursor": cursor}).json()
        yield from page["checks"]
        if not (cursor := page.get("cursor", "")):
            return


def files_with(folder: Path, secret: str) -> list[str]:
    """The files below a folder that contain a secret."""
    sought = secret.encode()
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and sought in path.read_bytes()
    ]
