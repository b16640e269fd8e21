"""``kill -9`` in the middle of a run over 50 claims, five times at random points, then resumed.

The result has to be that of an undisturbed run, and no finished call may be made again: every call's key stands in the
log once.
"""

from __future__ import annotations

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

from benchmarks.pool import BUILD
from redargue.events import canonical
from redargue.ledger.record import read_events

CLAIMS = Path("examples/claims.jsonl")
DEADLINE = 600


def main(arguments: list[str]) -> None:
    """Prints, for each kill, where it struck and what came of it."""
    rng = random.Random(int(arguments[0]) if arguments else 7)
    folder = BUILD / "interrupted"
    shutil.rmtree(folder, ignore_errors=True)
    whole = folder / "whole" / "run"
    subprocess.run(_command(whole), check=True, stdout=subprocess.DEVNULL)
    expected, lines = canonical(read_events(whole)), _lines(whole)
    print(
        json.dumps({"undisturbed": {"claims": _kinds(whole)["claim_ended"], "calls": _kinds(whole)["call_finished"]}})
    )
    for number in range(5):
        run = folder / str(number) / "run"
        at = rng.randrange(lines // 20, lines * 19 // 20)
        process = subprocess.Popen(_command(run), stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + DEADLINE
        while _lines(run) < at and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = _kinds(run)
        subprocess.run(_command(run), check=True, stdout=subprocess.DEVNULL)
        keys = Counter((event.item, event.key) for event in read_events(run) if hasattr(event, "key"))
        print(
            json.dumps(
                {
                    "killed after lines": at,
                    "claims finished": before["claim_ended"],
                    "calls finished": before["call_finished"],
                    "calls repeated": sum(keys.values()) - len(keys),
                    "result identical": canonical(read_events(run)) == expected,
                }
            ),
            flush=True,
        )


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
