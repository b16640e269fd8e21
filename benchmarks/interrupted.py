"""``kill -9`` in the middle of a run over 50 claims, five times at random points, then resumed.

With ``--bench`` one bench run over 200 claims, killed fifty times one after the other.

The result has to be that of an undisturbed run, and no finished call may be made again: every call's key stands in the
log once.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.pool import BUILD, data, store
from redargue.events import canonical
from redargue.runs.record import read_events

CLAIMS = Path("examples/claims.jsonl")
DEADLINE = 600
KILLS = 50


def main(arguments: list[str]) -> None:
    """Prints, for each kill, at which claim it came, and the outcome."""
    parser = argparse.ArgumentParser(prog="interrupted")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--bench", action="store_true", help="one bench run of 200 FEVER claims, killed fifty times")
    given = parser.parse_args(arguments)
    rng = random.Random(given.seed)
    shutil.rmtree(BUILD / "interrupted", ignore_errors=True)
    if given.bench:
        _fifty(rng)
    else:
        _five(rng)


def _five(rng: random.Random) -> None:
    folder = BUILD / "interrupted"
    whole = folder / "whole" / "run"
    subprocess.run(_command(whole), check=True, stdout=subprocess.DEVNULL)
    expected, lines = canonical(read_events(whole)), _lines(whole)
    print(
        json.dumps({"undisturbed": {"claims": _kinds(whole)["claim_ended"], "calls": _kinds(whole)["call_finished"]}})
    )
    for number in range(5):
        run = folder / str(number) / "run"
        at = rng.randrange(lines // 20, lines * 19 // 20)
        _kill(_command(run), run, at)
        before = _kinds(run)
        subprocess.run(_command(run), check=True, stdout=subprocess.DEVNULL)
        struck = {"killed after lines": at, "claims finished": before["claim_ended"]}
        struck |= {"calls finished": before["call_finished"]}
        print(json.dumps(struck | _outcome(run, expected)), flush=True)


def _fifty(rng: random.Random) -> None:
    """One run, killed wherever it stands after a random number of new lines, until it has been killed fifty times."""
    whole, run = BUILD / "interrupted" / "whole", BUILD / "interrupted" / "killed"
    subprocess.run(_bench(whole), check=True, stdout=subprocess.DEVNULL)
    expected, lines = canonical(read_events(whole / "tool-mad")), _lines(whole / "tool-mad")
    kills, finished = 0, []
    while kills < KILLS:
        at = _lines(run / "tool-mad") + rng.randrange(1, 2 * lines // (KILLS + 10))
        if not _kill(_bench(run), run / "tool-mad", at):
            break
        kills += 1
        finished.append(_kinds(run / "tool-mad")["claim_ended"])
    subprocess.run(_bench(run), check=True, stdout=subprocess.DEVNULL)
    struck = {"claims": _kinds(whole / "tool-mad")["claim_ended"], "kills": kills, "claims finished at each": finished}
    print(json.dumps(struck | _outcome(run / "tool-mad", expected)), flush=True)


def _kill(command: list[str], run: Path, at: int) -> bool:
    """Starts a run and kills it when its log has that many lines; False where it ended before."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + DEADLINE
    while _lines(run) < at and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def _outcome(run: Path, expected: Any) -> dict[str, Any]:
    """Whether the run came out as expected; reading its log fails on any corrupt line."""
    keys = Counter((event.item, event.key) for event in read_events(run) if hasattr(event, "key"))
    return {
        "calls repeated": sum(keys.values()) - len(keys),
        "result identical": canonical(read_events(run)) == expected,
    }


def _bench(out: Path) -> list[str]:
    path = data() / "benchmarks" / "fever" / "paper_test.jsonl.gz"
    options = ["--dataset", "fever", "--path", str(path), "--half", "even", "--limit", "200", "--method", "tool-mad"]
    options += ["--store", str(store()[0]), "--offline", "--quiet", "--out", str(out)]
    return [sys.executable, "-m", "redargue.cli.app", "bench", "run", *options]


def _command(run: Path) -> list[str]:
    return [
        sys.executable,
        "-m",
        "redargue.cli.app",
        "check",
        str(CLAIMS),
        "--store",
        "starter",
        "--run",
        str(run),
        "--quiet",
        "--json",
    ]


def _lines(run: Path) -> int:
    log = run / "events.jsonl"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def _kinds(run: Path) -> Counter[Any]:
    return Counter(event.kind for event in read_events(run))
