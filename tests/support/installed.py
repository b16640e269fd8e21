"""The installed command in a process of its own, and clients that speak to it over bare sockets."""

from __future__ import annotations

import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

COMMAND = str(Path(sys.executable).with_name("redargue"))
SOON = 60.0  # seconds that a busy machine may take for one answer
READY = 600.0  # and for a start
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: a close sends RST


def installed(*arguments: str, files: str = "") -> list[str]:
    """A command line; ``files`` are options of ``ulimit``, which sets the number of open files."""
    command = [COMMAND, *arguments]
    return ["/bin/sh", "-c", f'ulimit {files} && exec "$@"', "sh", *command] if files else command


class Listening:
    """A command that listens on loopback: ``redargue serve``, ``view`` or ``mcp-tools --http``.

    Attributes:
        probe: a path that needs no key.
        slowest: seconds that the slowest probe took.
    """

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        probe: str = "/healthz",
        files: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.probe, self.slowest, self.probes = probe, 0.0, 0
        self._log = folder / "log.txt"
        self._log.touch()
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                installed(*arguments, files=files), env={**os.environ, **(environment or {})}, stderr=log
            )
        deadline = time.monotonic() + READY
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)", self.log)):
            assert self.process.poll() is None, self.log
            assert time.monotonic() < deadline
            time.sleep(0.02)
        self.port = int(found[1])

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=SOON)

    def request(self, path: str = "", *lines: str, host: str = "127.0.0.1", method: str = "GET") -> bytes:
        return "\r\n".join([f"{method} {path or self.probe} HTTP/1.1", f"Host: {host}", *lines, "", ""]).encode()

    def answer(self, request: bytes) -> tuple[int, bytes]:
        """The status and the body of a request on a connection of its own."""
        with self.connect() as made:
            made.sendall(request)
            return read(made)

    def answers(self) -> None:
        """Asks for the probe."""
        began = time.monotonic()
        status, _ = self.answer(self.request("", "Connection: close"))
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.probes += 1
        assert status in (200, 401), status
        assert self.process.poll() is None

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(READY)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait(READY)


def read(made: socket.socket) -> tuple[int, bytes]:
    """Everything until the other side closes: the status, and what follows the head."""
    received = b""
    while block := made.recv(65_536):
        received += block
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


def ends(made: socket.socket) -> bytes:
    """What the other side sends until it closes, or breaks, the connection."""
    received = b""
    try:
        while block := made.recv(65_536):
            received += block
    except ConnectionError:
        pass
    return received


def finished(
    *arguments: str, environment: Mapping[str, str] | None = None, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    return subprocess.run(
        installed(*arguments),
        env={**os.environ, **(environment or {})},
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=READY,
    )


def files_of(process: int) -> Sequence[int]:
    """The soft and the hard limit of a process's files."""
    (line,) = [each for each in Path(f"/proc/{process}/limits").read_text().splitlines() if "open files" in each]
    return [int(number) for number in re.findall(r"\d+", line)]
