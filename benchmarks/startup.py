"""How long ``import redargue`` and ``redargue --help`` take: the best of several, in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import time

RUNS = 7


def main(arguments: list[str]) -> None:
    """Prints seconds; the bare interpreter beside them."""
    commands = {
        "python": [sys.executable, "-c", "pass"],
        "import redargue": [sys.executable, "-c", "import redargue"],
        "redargue.verify": [sys.executable, "-c", "import redargue; redargue.verify"],
        "redargue --help": [sys.executable, "-m", "redargue.cli.app", "--help"],
        "redargue check --help": [sys.executable, "-m", "redargue.cli.app", "check", "--help"],
    }
    print(
        json.dumps({name: round(min(_seconds(command) for _ in range(RUNS)), 3) for name, command in commands.items()})
    )


def _seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started
