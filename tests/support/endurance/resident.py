"""Resident memory of one service process over many checks, and while readers take nothing."""

from __future__ import annotations

import socket
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

from support.endurance import Outcome
from support.served_process import Serving

METHODS = ("single-reader",) * 8 + ("tool-mad", "mermaid")
SETTLED = 200  # checks after which memory may hardly grow
GROWTH = 0.10  # share that it may grow by
AT_ONCE = 4


class Memory(NamedTuple):
    """Resident memory in MB after so many checks."""

    checks: int
    megabytes: float


def curve(folder: Path, count: int, every: int = 200) -> tuple[Outcome, list[Memory]]:
    """Checks of several methods, four at a time, each read to its end, in one process."""
    failures: list[str] = []
    with Serving(folder / "home") as serving, ThreadPoolExecutor(AT_ONCE) as clients, serving.client() as http:

        def check(number: int) -> None:
            body = {"claim": f"Bees are insects, {number}.", "method": METHODS[number % len(METHODS)]}
            answer = http.post("/v1/checks", json=body, headers={"Prefer": "wait=60"})
            if answer.status_code != 200 or answer.json()["state"] != "done":
                failures.append(f"check {number}: {answer.status_code} {answer.text[:200]}")
            elif number % 10 == 0:
                http.get(f"/v1/checks/{answer.json()['id']}/events").raise_for_status()
                http.get("/v1/checks").raise_for_status()

        seen = [Memory(0, serving.resident())]
        for start in range(0, count, every):
            list(clients.map(check, range(start, min(start + every, count))))
            seen.append(Memory(min(start + every, count), serving.resident()))
        seconds = serving.processor_seconds()
    settled = next((each.megabytes for each in seen if each.checks >= SETTLED), seen[1].megabytes)
    growth = max(each.megabytes for each in seen if each.checks >= min(SETTLED, every)) / settled - 1
    if growth > GROWTH:
        failures.append(f"memory grew by {growth:.1%} after the first {SETTLED} checks")
    figure = f"{growth:+.1%} after the first {SETTLED}, {seconds:.0f} s of processor time"
    return Outcome("memory over checks", count, tuple(failures), figure), seen


def stalled(folder: Path, readers: int, seconds: float, megabytes: int = 20) -> Outcome:
    """Readers who ask for streams and long answers and take nothing, while others are served."""
    failures: list[str] = []
    with Serving(folder / "home") as serving, serving.client() as http:
        check = http.post("/v1/checks", json={"claim": "Bees are insects."}, headers={"Prefer": "wait=60"}).json()
        log = folder / "home" / "runs" / check["id"] / "events.jsonl"
        log.write_bytes(log.read_bytes() + _padding(log.read_bytes(), megabytes << 20))
        before, files = serving.resident(), serving.files_open()
        paths = (f"/v1/checks/{check['id']}/events", f"/v1/checks/{check['id']}/events?after=3", "/v1/checks?limit=100")
        waits: list[float] = []
        with ExitStack() as open_:
            for number in range(readers):
                open_.enter_context(_asking(serving.port, paths[number % len(paths)]))
            until, number = time.monotonic() + seconds, 0
            most = before
            while time.monotonic() < until or number < 5:
                number += 1
                began = time.monotonic()
                alive = http.get("/healthz")
                waits.append(time.monotonic() - began)
                if alive.status_code != 200:
                    failures.append(f"health: {alive.status_code}")
                if number % 10 == 1:
                    claim = {"claim": f"Bees are insects, {number}."}
                    answer = http.post("/v1/checks", json=claim, headers={"Prefer": "wait=60"})
                    if answer.status_code != 200:
                        failures.append(f"a check beside them: {answer.status_code} {answer.text[:200]}")
                most = max(most, serving.resident())
                Event().wait(min(0.5, seconds / 20))
        each = (most - before) / readers
        if each > 2:
            failures.append(f"a reader who takes nothing costs {each:.1f} MB")
        left = _settled(serving, files)
        if left > files:
            failures.append(f"{left - files} files stay open after the readers have left")
    figure = f"{seconds:g} s; {each:.2f} MB a reader, /healthz {1000 * statistics.median(waits):.0f} ms, at most"
    return Outcome("stalled readers", readers, tuple(failures), f"{figure} {1000 * max(waits):.0f} ms")


def _settled(serving: Serving, files: int) -> int:
    """Files that stay open, once the service has noticed that its clients left."""
    deadline = time.monotonic() + 60
    while (left := serving.files_open()) > files and time.monotonic() < deadline:
        Event().wait(0.1)
    return left


def _padding(log: bytes, size: int) -> bytes:
    """Lines like those of a log, so that a stream is longer than any buffer."""
    line = next(line for line in log.splitlines(keepends=True) if b'"kind":"evidence_found"' in line)
    return line * (size // len(line))


@contextmanager
def _asking(port: int, path: str) -> Iterator[Any]:
    """A connection on which a request was sent, whose answer nobody reads."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", port))
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        yield connection
