"""SIGKILL at random points of ``check`` and of a batch of the service, and what the next process makes of it."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2

from redargue.events import canonical
from redargue.runs.record import read_events
from support.endurance import Outcome
from support.loopback import Behaviour, Loopback
from support.scripts import agreeing
from support.served_process import COMMAND, READY, ROOT, TURN, Serving, environment, finished

PER_RUN = 5  # kills, after which a run or batch is left to its end
CONCURRENCY = 4  # claims of a batch at a time, whose calls a kill may lose
CLAIMS = ROOT / "examples" / "claims.jsonl"


def checks(folder: Path, kills: int, claims: int) -> Outcome:
    """``check`` over a file of claims, killed at random lines of its log or before it has one, and resumed."""
    failures: list[str] = []
    chance = random.Random(kills)
    home = folder / "home"
    home.mkdir()
    source = folder / "claims.jsonl"
    source.write_text("".join(CLAIMS.read_text(encoding="utf-8").splitlines(keepends=True)[:claims]), encoding="utf-8")
    whole = _finish(home, source, folder / "whole" / "run")
    expected, lines = canonical(read_events(folder / "whole" / "run")), _lines(folder / "whole" / "run")
    points: list[int] = []
    runs = 0
    while len(points) < kills and runs < 2 * kills:
        runs += 1
        run = folder / f"run{runs}" / "run"  # the name of a run is part of its result
        for _ in range(min(PER_RUN, kills - len(points))):
            if (at := _kill(home, source, run, chance, 2 * lines // PER_RUN)) < 0:
                break
            points.append(at)
        if (said := _finish(home, source, run)) != whole:
            failures.append(f"{run.parent.name}: {said!r}, not {whole!r}"[:400])
        elif canonical(read_events(run)) != expected:
            failures.append(f"{run.parent.name}: another result")
        elif repeated := [key for key, count in _calls(run).items() if count > 1]:
            failures.append(f"{run.parent.name}: {len(repeated)} calls were made again")
    figure = f"{runs} runs of {claims} claims, {lines} lines; {points.count(0)} before the first line"
    return Outcome("kills of check", len(points), tuple(failures), figure)


def _kill(home: Path, source: Path, run: Path, chance: random.Random, most: int) -> int:
    """Kills a run after a random number of new lines; the lines of its log, and -1 where it ended before."""
    before, more = _lines(run), chance.randrange(most)
    process = subprocess.Popen(
        _command(source, run), env=environment(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    if not before and not chance.randrange(4):  # while it starts
        _wait(process, lambda: run.exists())
    else:
        _wait(process, lambda: _lines(run) > before + more)
    process.send_signal(signal.SIGKILL)
    return _lines(run) if process.wait(READY) == -signal.SIGKILL else -1


def _wait(process: subprocess.Popen[bytes], ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + READY
    while not ready() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(TURN / 4)


def _lines(run: Path) -> int:
    log = run / "events.jsonl"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def _command(source: Path, run: Path) -> list[str]:
    return [COMMAND, "check", str(source), "--store", "starter", "--run", str(run), "--quiet", "--json"]


def _finish(home: Path, source: Path, run: Path) -> list[str]:
    """The labels of a run that is begun or resumed."""
    done = subprocess.run(
        _command(source, run), env=environment(home), capture_output=True, text=True, timeout=READY, check=False
    )
    if done.returncode:
        return [f"exit {done.returncode}", done.stderr[-300:]]
    verdicts = json.loads(done.stdout)["verdicts"]
    return [f"{each['label']} {each['claim']['text'][:40]}" for each in verdicts]


def _calls(run: Path) -> Counter[str]:
    return Counter(event.key for event in read_events(run) if event.kind == "call_finished")


def batches(folder: Path, kills: int, claims: int) -> Outcome:
    """The service, killed at random points of one batch after another, whose calls the endpoint counts."""
    failures: list[str] = []
    chance = random.Random(kills)
    struck, number = 0, 0
    asked = made = 0
    options = ("--method", "single-reader", "--model", "loopback", "--base-url")
    with Loopback(agreeing, behaviour=Behaviour(chat_ms=50)) as endpoint:
        serving = Serving(folder / "home", *options, f"{endpoint.url}/v1", shared={"OPENAI_API_KEY": "sk-loopback"})
        with serving:
            while struck < kills:
                endpoint.reset()
                mine = 0
                with serving.client() as http:
                    batch = http.post("/v1/batches", json=_batch(number, claims)).json()
                while struck < kills and mine < PER_RUN:
                    _wait_for_more(serving, batch["id"], chance.randrange(1, max(2, claims // 3)), claims)
                    serving.stop(signal.SIGKILL)
                    mine, struck = mine + 1, struck + 1
                    serving.start()
                with serving.client() as http:
                    failures += [f"batch {number}: {what}" for what in _whole(http, batch["id"], claims)]
                requests = endpoint.counts.requests["chat"]
                if not claims <= requests <= claims + CONCURRENCY * mine:
                    failures.append(f"batch {number}: {requests} requests for {claims} claims and {mine} kills")
                asked, made, number = asked + requests, made + claims, number + 1
    figure = f"{number} batches of {claims} claims: {asked} requests for {made} claims"
    return Outcome("kills of a service's batch", struck, tuple(failures), figure)


def _wait_for_more(serving: Serving, id_: str, more: int, claims: int) -> None:
    """Returns at the moment when so many more claims are done, or all are."""
    deadline, first = time.monotonic() + READY, -1
    with serving.client() as http:
        while time.monotonic() < deadline:
            done = http.get(f"/v1/batches/{id_}").json()["done"]
            first = done if first < 0 else first
            if done >= min(claims, first + more):
                return
            time.sleep(TURN)


def _whole(http: httpx2.Client, id_: str, claims: int) -> list[str]:
    answer = finished(http, id_)
    lines = [json.loads(line) for line in http.get(f"/v1/batches/{id_}/results").text.splitlines()]
    failures = []
    if (answer["state"], answer["done"], answer["errors"]) != ("done", claims, 0):
        failures.append(f"it ended as {answer}")
    if [line["number"] for line in lines] != list(range(1, claims + 1)):
        failures.append(f"{len(lines)} results, {len({line['number'] for line in lines})} different, of {claims}")
    if labels := {line["verdict"]["label"] for line in lines} - {"SUPPORTS"}:
        failures.append(f"labels that nobody gave: {labels}")
    return failures


def _batch(number: int, claims: int) -> dict[str, Any]:
    return {"claims": [f"Bees are insects, {number}/{each}." for each in range(claims)]}
