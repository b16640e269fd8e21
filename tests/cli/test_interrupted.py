"""A real process, killed or interrupted in the middle of a run, and the same command again."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from redargue.events import canonical
from redargue.runs.record import read_events
from support.loopback import HEALTHY, Behaviour, Loopback

pytestmark = pytest.mark.slow
CLAIMS = "Bees are insects.\nBees are birds.\nThe Moon is made of cheese.\nIron melts in water.\n" * 2
DEADLINE = 120.0


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    claims = tmp_path / "claims.txt"
    claims.write_text("".join(f"{number}: {line}\n" for number, line in enumerate(CLAIMS.splitlines())))
    return [
        sys.executable,
        "-m",
        "redargue.cli.app",
        "check",
        str(claims),
        "--store",
        "starter",
        "--method",
        "tool-mad",
        "-q",
        "--json",
        "--run",
    ]


def begun(command: list[str], run: Path, lines: int) -> subprocess.Popen[bytes]:
    """A process that has written so many lines of its log."""
    process = subprocess.Popen([*command, str(run)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    log, deadline = run / "events.jsonl", time.monotonic() + DEADLINE
    while not log.exists() or log.read_bytes().count(b"\n") < lines:
        assert process.poll() is None, "the run ended before it could be disturbed"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    return process


def test_killed_and_resumed_is_as_if_undisturbed(command: list[str], tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole" / "run", tmp_path / "killed" / "run"
    subprocess.run([*command, str(whole)], check=True, stdout=subprocess.DEVNULL)
    process = begun(command, killed, 60)
    process.kill()
    process.communicate()
    before = [event.key for event in read_events(killed) if event.kind == "call_finished"]
    subprocess.run([*command, str(killed)], check=True, stdout=subprocess.DEVNULL)
    after = Counter((event.item, event.key) for event in read_events(killed) if event.kind == "call_finished")
    assert before
    assert set(after.values()) == {1}
    assert canonical(read_events(killed)) == canonical(read_events(whole))


def test_interrupted_by_hand_is_exit_130(command: list[str], tmp_path: Path) -> None:
    process = begun(command, tmp_path / "run", 20)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130
    assert b"--run" in err
    subprocess.run([*command, str(tmp_path / "run")], check=True, stdout=subprocess.DEVNULL)
    replayed = subprocess.run(
        [sys.executable, "-m", "redargue.cli.app", "replay", str(tmp_path / "run")], capture_output=True, check=False
    )
    assert b"every event is as recorded" in replayed.stderr


def test_a_budget_counts_the_requests_that_were_in_flight_at_sigterm(command: list[str], tmp_path: Path) -> None:
    with Loopback(behaviour=Behaviour(hang_routes=("chat",))) as server:
        model = ["--base-url", f"{server.url}/v1", "--model", "m", "--method", "single-reader", "--tool", "corpus"]
        command = [*command[:-1], *model, "--concurrency", "2", "--budget", "3calls", "--run", str(tmp_path / "run")]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        asyncio.run(server.arrived(count=2))
        process.terminate()
        _, err = process.communicate(timeout=DEADLINE)
        assert process.returncode == 143
        assert b"interrupted; to resume" in err
        server.behaviour = HEALTHY
        assert subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 4
        assert server.counts.requests["chat"] == 3
