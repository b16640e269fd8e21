"""A clock that is set forward and back while the service runs: budgets, deadlines, streams and verdicts keep."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2

from support.endurance import Outcome
from support.served_process import Serving, ended, finished, listed

HOUR, DAY = 3_600, 86_400
JUMPS = (-HOUR, HOUR, -DAY, DAY, -7 * DAY, 30 * DAY, -365 * DAY, 365 * DAY)
BUDGET = 12  # calls of a day
CLAIMS = 20

# The time of a process that reads how far it is off from a file whenever it is asked.
PROGRAM = """
import datetime, os, sys, time
real_time, real_datetime = time.time, datetime.datetime

def offset():
    with open(os.environ["CLOCK_OFFSET"]) as file:
        return float(file.read() or 0)

class Set(real_datetime):
    @classmethod
    def now(cls, tz=None):
        return real_datetime.now(tz) + datetime.timedelta(seconds=offset())

time.time = lambda: real_time() + offset()
datetime.datetime = Set
from redargue.cli.app import main
main()
"""


class Clock:
    """How far the clock of a process is off, in seconds."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.set(0)

    def set(self, seconds: float) -> None:
        new = self._path.with_suffix(".new")
        new.write_text(str(seconds), encoding="utf-8")
        new.replace(self._path)

    def serving(self, home: Path, *options: str) -> Serving:
        shared = {"CLOCK_OFFSET": str(self._path)}
        return Serving(
            home, "--method", "single-reader", *options, program=[sys.executable, "-c", PROGRAM], shared=shared
        )


def trial(folder: Path, times: int) -> Outcome:
    """One jump after the other, each during checks, a stream and a batch, and back again."""
    failures: list[str] = []
    clock, jumps = Clock(folder / "offset"), [JUMPS[number % len(JUMPS)] for number in range(times)]
    with clock.serving(folder / "home") as serving:
        for number, jump in enumerate(jumps):
            failures += [f"{jump:+} s: {what}" for what in _jump(serving, clock, jump, number)]
    with clock.serving(folder / "budget", "--day-budget", f"{BUDGET}calls") as serving:
        failures += _budget(serving, clock, jumps)
    figure = (
        f"of up to {max(map(abs, jumps)) // DAY} days and back; {6 * times} checks, {CLAIMS * times} claims of batches"
    )
    return Outcome("clock jumps", times, tuple(failures), figure)


def _jump(serving: Serving, clock: Clock, jump: int, number: int) -> list[str]:
    failures: list[str] = []
    before = len(_listed(serving))
    with serving.client() as http:
        batch = http.post("/v1/batches", json=_batch(number)).json()
        ids = []
        for turn in range(6):  # the jumps come between, and the answers after them
            if turn in (2, 4):
                clock.set(jump if turn == 2 else 0)
            reply = http.post(
                "/v1/checks",
                json={"claim": f"Bees are insects, {number}/{turn}."},
                headers={"Idempotency-Key": f"{number}/{turn}"},
            )
            if reply.status_code != 202:
                failures.append(f"check {turn}: {reply.status_code} {reply.text[:200]}")
                continue
            ids.append(reply.json()["id"])
            threading.Thread(target=http.get, args=(f"/v1/checks/{ids[-1]}/events",), daemon=True).start()
        states = Counter(ended(http, id_)["state"] for id_ in ids)
        if states != {"done": 6}:
            failures.append(f"checks ended as {dict(states)}")
        failures += _streams(http, ids)
        again = http.post(
            "/v1/checks", json={"claim": f"Bees are insects, {number}/0."}, headers={"Idempotency-Key": f"{number}/0"}
        )
        if again.json().get("id") != ids[0]:
            failures.append(f"the idempotency key of the first check began another: {again.text[:200]}")
        failures += _whole(http, batch)
    if len(now := _listed(serving)) != before + len(ids) or not now.issuperset(ids):
        failures.append(f"listed {len(now)} of {before + len(ids)} checks")
    return failures


def _listed(serving: Serving) -> set[str]:
    with serving.client() as http:
        return {each["id"] for each in listed(http)}


def _streams(http: httpx2.Client, ids: list[str]) -> list[str]:
    failures = []
    for id_ in ids:
        text = http.get(f"/v1/checks/{id_}/events", headers={"Accept": "application/x-ndjson"}).text
        if text.count('"kind":"claim_ended"') != 1:
            failures.append(f"{id_} has {text.count('claim_ended')} verdicts")
    return failures


def _whole(http: httpx2.Client, batch: dict[str, Any]) -> list[str]:
    last = finished(http, batch["id"])
    numbers = [line.partition(",")[0] for line in http.get(f"/v1/batches/{batch['id']}/results").text.splitlines()]
    if (last["state"], last["done"], len(set(numbers)), len(numbers)) != ("done", CLAIMS, CLAIMS, CLAIMS):
        return [f"the batch: {last}, {len(numbers)} results"]
    return [f"{last['calls']} calls for {CLAIMS} claims"] if last["calls"] != CLAIMS else []


def _budget(serving: Serving, clock: Clock, jumps: Sequence[int]) -> list[str]:
    """A day's budget that is spent stays so when the clock goes back, also after a restart, and when it comes again."""
    failures = []
    with serving.client() as http:
        for number in range(BUDGET):
            ended(http, http.post("/v1/checks", json={"claim": f"Bees are insects, {number}."}).json()["id"])
        failures += _spent(http, "before")
        for jump in jumps:
            clock.set(jump)
            if jump < 0:
                failures += _spent(http, f"after {jump:+} s")
            else:
                reply = http.post("/v1/checks", json={"claim": "Honey is sweet."})
                if reply.status_code == 202:  # of another day
                    ended(http, reply.json()["id"])
            clock.set(0)
            failures += _spent(http, f"after {jump:+} s and back")
    serving.stop()
    clock.set(min(0, *jumps))
    serving.start()
    with serving.client() as http:
        failures += _spent(http, f"started again after {min(0, *jumps):+} s")
        clock.set(0)
        failures += _spent(http, "started again, and back")
    return failures


def _spent(http: httpx2.Client, when: str) -> list[str]:
    reply = http.post("/v1/checks", json={"claim": "Honey is sweet."})
    return [] if reply.status_code == 402 else [f"{when}: {reply.status_code}, not 402"]


def _batch(number: int) -> dict[str, Any]:
    return {"claims": [f"Bees are insects, {number}/{each}." for each in range(CLAIMS)], "method": "single-reader"}
