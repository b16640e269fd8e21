"""The HTTP service on loopback: readers of one debate, checks at once, a stop with open streams, and its own cost.

The debate is scripted: 23 calls, each of which takes ``--delay`` seconds where events are timed. Events have the time
of the machine's monotonic clock, so that a reader in another process knows how long ago one was recorded.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from redargue.spec import Parts
from redargue.verifier import Verifier
from support.serving import CLOCK, DELAY, Service, service_parts, settings

CLAIM = "The lighthouse at Cape Ansel was lit in 1871."


class Seen(NamedTuple):
    """The events that one reader got: their numbers, and how long ago each was recorded, in seconds."""

    numbers: list[int]
    ages: list[float]


async def read(port: int, id_: str) -> Seen:
    """Reads the events of a check until its end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
    writer.write(f"GET /v1/checks/{id_}/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    numbers, ages = list[int](), list[float]()
    while line := await reader.readline():
        if line.startswith(b"id: "):
            numbers.append(int(line[4:]))
        elif line.startswith(b'data: {"item"'):
            ages.append(time.monotonic() - json.loads(line[6:])["at"])
        elif line == b"event: end\n":
            break
    writer.close()
    return Seen(numbers, ages)


def stalled(port: int, id_: str) -> socket.socket:
    """A reader that reads nothing."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", port))
    connection.sendall(f"GET /v1/checks/{id_}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return connection


def memory(service: Service) -> float:
    """The most memory that the service used, in MB."""
    assert service.process
    status = Path(f"/proc/{service.process.pid}/status").read_text(encoding="utf-8")
    return round(int(status.partition("VmHWM:")[2].split()[0]) / 1024, 1)


def lost(service: Service, id_: str, seen: list[Seen]) -> dict[str, int]:
    """Events that a reader did not get, got twice or got out of order."""
    log = (service.home / "runs" / id_ / "events.jsonl").read_bytes()
    whole = list(range(1, log.count(b"\n") + 1))
    return {
        "events": len(whole),
        "lost": sum(len(set(whole) - set(each.numbers)) for each in seen),
        "twice": sum(len(each.numbers) - len(set(each.numbers)) for each in seen),
        "out_of_order": sum(each.numbers != sorted(each.numbers) for each in seen),
    }


def measure_readers(count: int, delay: float) -> dict[str, Any]:
    """One debate, many readers, one of which reads nothing."""
    with tempfile.TemporaryDirectory() as home, Service(Path(home), {DELAY: str(delay), CLOCK: "1"}) as service:
        service.stop()
        service.start(calls=0)
        with service.client() as http:
            before = memory(service)
            id_ = http.post("/v1/checks", json={"claim": CLAIM}).json()["id"]
            hanging = stalled(service.port, id_)

            async def readers() -> list[Seen]:
                reading = [asyncio.create_task(read(service.port, id_)) for _ in range(count)]
                await asyncio.sleep(2)  # all are connected, and wait for the first call
                service.open()
                return list(await asyncio.gather(*reading))

            seen = asyncio.run(readers())
            hanging.close()
            # Events that were recorded before the readers came are as old as the debate.
            waited = sorted(age for each in seen for age in each.ages[3:])
            return {
                "readers": count,
                **lost(service, id_, seen),
                "p50_ms": round(1000 * statistics.median(waited), 1),
                "p95_ms": round(1000 * waited[int(0.95 * len(waited))], 1),
                "max_ms": round(1000 * waited[-1], 1),
                "memory_mb": memory(service),
                "before_mb": before,
            }


def measure_checks(count: int) -> dict[str, Any]:
    """Many checks at once, each with a reader."""
    with tempfile.TemporaryDirectory() as home, Service(Path(home)) as service, service.client() as http:
        began = time.perf_counter()
        ids = [http.post("/v1/checks", json={"claim": CLAIM}).json()["id"] for _ in range(count)]

        async def readers() -> list[Seen]:
            return list(await asyncio.gather(*(read(service.port, id_) for id_ in ids)))

        seen = asyncio.run(readers())
        seconds = time.perf_counter() - began
        totals = [lost(service, id_, [each]) for id_, each in zip(ids, seen, strict=True)]
        sums = {name: sum(total[name] for total in totals) for name in totals[0]}
        return {"checks": count, **sums, "seconds": round(seconds, 2), "memory_mb": memory(service)}


def measure_stops(repeats: int) -> dict[str, Any]:
    """SIGTERM with five open streams, until the process has exited."""
    times = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as home, Service(Path(home)) as service:
            service.stop()
            service.start(calls=5)
            with service.client() as http:
                id_ = http.post("/v1/checks", json={"claim": CLAIM}).json()["id"]
            connections = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(5)]
            for connection in connections:
                connection.sendall(f"GET /v1/checks/{id_}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                received = b""
                while b"id: 1\n" not in received:
                    received += connection.recv(65536)
            began = time.perf_counter()
            service.stop()
            times.append(time.perf_counter() - began)
            for connection in connections:
                connection.close()
    return {"stop with open streams": 5, "median_s": round(statistics.median(times), 3), "max_s": round(max(times), 3)}


def measure_own_cost(repeats: int) -> dict[str, Any]:
    """A debate of 23 calls at no latency: the library with a run folder, and a request that waits for the result."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["REDARGUE_HOME"] = home
        spec, parts = settings().spec, service_parts()
        library = min(asyncio.run(_verify(spec, parts, Path(home) / str(number))) for number in range(repeats))
        with Service(Path(home) / "service") as service, service.client() as http:
            times = []
            for _ in range(repeats):
                began = time.perf_counter()
                reply = http.post("/v1/checks", json={"claim": CLAIM}, headers={"Prefer": "wait=60"})
                times.append(time.perf_counter() - began)
                assert reply.json()["usage"]["calls"] == 23, reply.text
    ms = {"library_ms": round(1000 * library, 1), "service_ms": round(1000 * min(times), 1)}
    return {"own cost of 23 calls": "best of " + str(repeats), **ms}


async def _verify(spec: Any, parts: Parts, folder: Path) -> float:
    claim = spec.claim(CLAIM)
    began = time.perf_counter()
    with Verifier(spec, parts=parts, folder=folder, claims=[claim]) as verifier:
        verdict = await verifier.verify(claim)
    assert verdict.usage.calls == 23, verdict.error
    return time.perf_counter() - began


def main(arguments: list[str]) -> None:
    """Prints a line of figures for each measurement."""
    parser = argparse.ArgumentParser(prog="benchmarks service")
    parser.add_argument("--readers", type=int, default=200)
    parser.add_argument("--checks", type=int, default=50)
    parser.add_argument("--delay", type=float, default=0.1)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(arguments)
    print(json.dumps(measure_own_cost(4 * options.repeats)), flush=True)
    print(json.dumps(measure_stops(options.repeats)), flush=True)
    print(json.dumps(measure_checks(options.checks)), flush=True)
    print(json.dumps(measure_readers(options.readers, options.delay)), flush=True)
