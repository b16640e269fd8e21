"""What nobody does on purpose, to the installed command: full disks, clock jumps, stalled readers, kills, wire faults.

A line for each trial as it ends, then a table. Everything runs on loopback with the starter corpus, in temporary
folders. ``--times`` changes the count of the trials named; a real full file system needs root, and is left out without.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.endurance import Outcome, clock, disk, endpoint, kills, pages, resident, stores

STALL = 600.0  # seconds
CLAIMS = {"check": 6, "batch": 30}


def _limited(folder: Path, times: int) -> Outcome:
    with disk.limited(folder) as limited:
        return disk.trial(limited, times)._replace(trial="no room for a file")


def _mounted(folder: Path, times: int) -> Outcome:
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return Outcome("full disk", 0, (), "left out: only root mounts a file system")
    with disk.mounted(folder / "disk") as mounted:
        return disk.trial(mounted, times)


def _curve(folder: Path, times: int) -> Outcome:
    outcome, seen = resident.curve(folder, times)
    print("resident MB:", ", ".join(f"{each.checks}: {each.megabytes:.0f}" for each in seen), flush=True)
    return outcome


TRIALS: dict[str, tuple[int, Callable[[Path, int], Outcome]]] = {
    "limit": (10, _limited),
    "disk": (10, _mounted),
    "clock": (16, clock.trial),
    "stalled": (200, lambda folder, times: resident.stalled(folder, times, STALL)),
    "stores": (10_000, stores.trial),
    "memory": (2_000, _curve),
    "check": (30, lambda folder, times: kills.checks(folder, times, CLAIMS["check"])),
    "batch": (30, lambda folder, times: kills.batches(folder, times, CLAIMS["batch"])),
    "endpoint": (300, endpoint.trial),
    "pages": (300, lambda folder, times: asyncio.run(pages.trial(times))),
}


def main(arguments: list[str]) -> None:
    """Runs the trials that are named, or all; exits with 1 where anything fell."""
    parser = argparse.ArgumentParser(prog="endurance")
    parser.add_argument("trials", nargs="*", metavar="TRIAL", help=f"of {', '.join(TRIALS)}; default: all")
    parser.add_argument("--times", type=int, help="instead of the trial's own count")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.trials if name not in TRIALS]:
        parser.error(f"unknown trial {unknown[0]!r}; known: {', '.join(TRIALS)}")
    rows: list[tuple[Outcome, float]] = []
    for name in options.trials or TRIALS:
        times, trial = TRIALS[name]
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            outcome = trial(Path(folder), options.times or times)
        rows.append((outcome, time.monotonic() - began))
        for failure in outcome.failures:
            print(f"{outcome.trial}: {failure}", flush=True)
        print(_row(*rows[-1]), flush=True)
    print("\n| trial | times | failures | figure | seconds |\n|---|---|---|---|---|")
    print("\n".join(_row(*row) for row in rows))
    if any(outcome.failures for outcome, _ in rows):
        sys.exit(1)


def _row(outcome: Outcome, seconds: float) -> str:
    return f"| {outcome.trial} | {outcome.times:,} | {len(outcome.failures)} | {outcome.figure} | {seconds:.0f} |"
