"""A disk that is full while the service runs: every answer is typed, nothing accepted is lost, and it recovers."""

from __future__ import annotations

import resource
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

from support.endurance import Outcome
from support.served_process import Serving, ended, files_with, finished, listed

METHOD = "single-reader"
SIZE = 12  # MB of a file system that is filled
SOON = 60.0  # seconds in which what was accepted ends, once there is room
SECRET = "sk-never-to-be-stored-0123456789"
FULL, TYPED = 507, (200, 202, 204, 404, 409, 429, 503, 507)


class Disk(NamedTuple):
    """A folder on a disk that can be filled and emptied again for a process."""

    folder: Path
    fill: Callable[[Serving], None]
    empty: Callable[[Serving], None]


def _limit(serving: Serving, most: int) -> None:
    _, hard = resource.prlimit(serving.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(serving.pid, resource.RLIMIT_FSIZE, (most, hard))


@contextmanager
def limited(folder: Path) -> Iterator[Disk]:
    """No file of the process can be written to (EFBIG), which any user can bring about."""
    yield Disk(folder, lambda serving: _limit(serving, 0), lambda serving: _limit(serving, resource.RLIM_INFINITY))


@contextmanager
def mounted(folder: Path) -> Iterator[Disk]:
    """A file system of its own that is really full (ENOSPC); needs root."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}m", "tmpfs", str(folder)], check=True)
    ballast = folder / "ballast"

    def fill(_: Serving) -> None:
        block = 1 << 20
        with ballast.open("ab", buffering=0) as file:
            while block:
                try:
                    file.write(bytes(block))
                except OSError:
                    block //= 2

    try:
        yield Disk(folder, fill, lambda _: ballast.unlink(missing_ok=True))
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def trial(disk: Disk, times: int) -> Outcome:
    """Fills the disk in the middle of checks and of a batch, asks for everything, and empties it."""
    failures: list[str] = []
    statuses: Counter[int] = Counter()
    accepted: list[str] = []
    home = disk.folder / "home"
    home.mkdir()
    shared = {"OPENAI_API_KEY": SECRET}
    with Serving(home, "--method", METHOD, shared=shared, log=disk.folder / "log") as serving:
        for number in range(times):
            failures += _once(serving, disk, number, statuses, accepted)
        with serving.client() as http:
            states = Counter(ended(http, id_, SOON)["state"] for id_ in accepted)
        serving.stop()
        serving.start()
        with serving.client() as http:
            kept = {each["id"] for each in listed(http)}
            failures += [f"{id_} was accepted and is lost" for id_ in accepted if id_ not in kept]
            again = Counter(ended(http, id_, SOON)["state"] for id_ in accepted)
            if again != states:
                failures.append(f"a restart made {dict(again)} of {dict(states)}")
        failures += [f"the key is in {path}" for path in files_with(disk.folder, SECRET)]
        failures += ["the log holds a traceback"] * ("Traceback" in serving.log.read_text(encoding="utf-8"))
    shown = ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items()))
    return Outcome("full disk", times, tuple(failures), f"while full {shown}; accepted {dict(states)}")


def _once(serving: Serving, disk: Disk, number: int, statuses: Counter[int], accepted: list[str]) -> list[str]:
    failures: list[str] = []
    with serving.client() as http:
        before = [_start(http, f"Bees are insects, {number}-{each}.") for each in range(6)]
        batch = http.post("/v1/batches", json=_batch(number, 20)).json()
        disk.fill(serving)
        for name, reply in _everything(http, number, before[-1]["id"]):
            statuses[reply.status_code] += 1
            if reply.status_code not in TYPED or not _is_typed(reply):
                failures.append(f"full, {name}: {reply.status_code} {reply.text[:200]}")
            if name == "check" and reply.status_code == 202:
                accepted.append(reply.json()["id"])
        disk.empty(serving)
        accepted += [each["id"] for each in before]
        for each in before:
            try:
                last = ended(http, each["id"], SOON)
            except AssertionError as error:
                failures.append(str(error))
                continue
            if last["state"] == "failed" and not (last.get("error") or {}).get("hint"):
                failures.append(f"failed without what to do next: {last.get('error')}")
        failures += _recovered(http, batch, number)
    if serving.code is not None:
        failures.append(f"the service ended with {serving.code}")
    return failures


def _recovered(http: httpx2.Client, batch: dict[str, Any], number: int) -> list[str]:
    """What does not work although there is room again."""
    failures = []
    done = http.post("/v1/checks", json={"claim": f"Bees are not insects, {number}."}, headers={"Prefer": "wait=60"})
    if done.status_code != 200 or done.json()["state"] != "done":
        failures.append(f"after it: {done.status_code} {done.text[:200]}")
    try:
        first = finished(http, batch["id"], SOON)
        if first["state"] == "failed":
            http.post("/v1/batches", json=_batch(number, 20))
            first = finished(http, batch["id"], SOON)
    except AssertionError as error:
        return [*failures, str(error)]
    lines = http.get(f"/v1/batches/{batch['id']}/results").text.splitlines()
    if (first["state"], first["done"], len(lines)) != ("done", 20, 20):
        failures.append(f"the batch: {first}, {len(lines)} results")
    return failures


def _everything(http: httpx2.Client, number: int, id_: str) -> Iterator[tuple[str, httpx2.Response]]:
    yield "check", http.post("/v1/checks", json={"claim": f"Honey is sweet, {number}."})
    yield "text", http.post("/v1/checks", json={"text": f"Honey is sweet. Bees make {number} jars of it."})
    yield "batch", http.post("/v1/batches", json=_batch(number + 1_000, 3))
    body = {"answer": "Bees are insects.", "contexts": ["Bees are insects."]}
    yield "ground", http.post("/v1/ground", json=body)
    yield "estimate", http.post("/v1/estimate", json={"claim": "Bees are insects."})
    yield "list", http.get("/v1/checks")
    yield "one", http.get(f"/v1/checks/{id_}")
    yield "report", http.get(f"/v1/checks/{id_}/report.json")
    yield "cancel", http.post(f"/v1/checks/{id_}/cancel")
    yield "health", http.get("/healthz")
    yield "metrics", http.get("/metrics")


def _is_typed(reply: httpx2.Response) -> bool:
    if reply.status_code < 400:
        return True
    body = reply.json()
    return reply.headers["content-type"].startswith("application/problem+json") and bool(
        body.get("hint") or body.get("detail")
    )


def _start(http: httpx2.Client, claim: str) -> dict[str, Any]:
    reply = http.post("/v1/checks", json={"claim": claim})
    assert reply.status_code == 202, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


def _batch(number: int, size: int) -> dict[str, Any]:
    return {"claims": [f"Bees are insects, {number}/{each}." for each in range(size)], "method": METHOD}
