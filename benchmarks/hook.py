"""False alarms and hits of ``redargue hook`` on turns of coding agents that were written for it.

``turns/chosen.txt`` and ``turns/reported.txt`` have 65 true and 35 false turns each, of the author of the rules. The
rules were chosen on the first; the second, written before them, is reported. A turn is written as a transcript
of Claude Code and as a rollout of Codex, and read back from both.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import markdown
from redargue.bench.statistics import wilson
from redargue.service.agent_turns import ClosingClaim, ClosingOutcome, check_closing
from redargue.service.agent_turns.transcripts import parse_transcript

TURNS = Path(__file__).parent / "turns"
Action = tuple[str, str, str, int]  # "$" or a kind of edit, the command or path, the output, the exit code


class Turn(NamedTuple):
    """A turn; ``false`` names what is wrong with its closing message, or is empty."""

    id: str
    false: str
    actions: tuple[Action, ...]
    closing: str


def turns(name: str) -> list[Turn]:
    """The turns of a file.

    ``# ID true|false KIND``, then ``$ COMMAND`` with its output and ``! CODE``, ``+ EDITED``, ``* CREATED``, and
    ``= CLOSING``.
    """
    text = (TURNS / f"{name}.txt").read_text(encoding="utf-8")
    return [_turn(block) for block in re.split(r"\n\n(?=# )", text.strip())]


def _turn(block: str) -> Turn:
    first, *lines = block.split("\n")
    _, identifier, true, *kind = first.split()
    actions: list[list[Any]] = []
    closing = ""
    for line in lines:
        sign, rest = line[:2], line[2:]
        if sign in ("$ ", "+ ", "* "):
            actions.append([sign[0], rest, "", 0])
        elif sign == "! ":
            actions[-1][3] = int(rest)
        elif sign == "= ":
            closing = rest
        else:
            actions[-1][2] += f"{line}\n"
    return Turn(identifier, "" if true == "true" else kind[0], tuple(map(tuple, actions)), closing)


def claude(turn: Turn) -> str:
    """The turn as a transcript of Claude Code."""
    lines: list[dict[str, Any]] = [
        {"type": "user", "cwd": "/w", "message": {"role": "user", "content": "Please do it."}}
    ]
    for number, (sign, what, output, code) in enumerate(turn.actions):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": what}}
        if sign != "$":
            given = {
                "file_path": f"/w/{what}",
                **({"content": "x"} if sign == "*" else {"old_string": "a", "new_string": "b"}),
            }
            use |= {"name": "Write" if sign == "*" else "Edit", "input": given}
            output = f"The file /w/{what} has been updated."
        told = f"Exit code {code}\n{output}" if code else output
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": told, "is_error": bool(code)}
        lines.append({"type": "assistant", "message": {"role": "assistant", "content": [use]}})
        lines.append({"type": "user", "message": {"role": "user", "content": [result]}})
    said = {"role": "assistant", "content": [{"type": "text", "text": turn.closing}]}
    return _lines([*lines, {"type": "assistant", "message": said}])


def codex(turn: Turn) -> str:
    """The turn as a rollout of Codex."""
    items: list[dict[str, Any]] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Do it."}]}
    ]
    for number, (sign, what, output, code) in enumerate(turn.actions):
        about = {"call_id": f"call_{number}"}
        if sign == "$":
            given = json.dumps({"command": ["bash", "-lc", what]})
            told = f"Exit code: {code}\nWall time: 0.1 seconds\nOutput:\n{output}"
            items.append({"type": "function_call", "name": "shell", "arguments": given, **about})
            items.append({"type": "function_call_output", "output": told, **about})
        else:
            patch = f"*** Begin Patch\n*** {'Add' if sign == '*' else 'Update'} File: {what}\n*** End Patch"
            items.append({"type": "custom_tool_call", "name": "apply_patch", "input": patch, **about})
            items.append({"type": "custom_tool_call_output", "output": "Success.", **about})
    items.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": turn.closing}]})
    meta = {"type": "session_meta", "payload": {"id": turn.id, "cwd": "/w"}}
    return _lines([meta, *({"type": "response_item", "payload": item} for item in items)])


def _lines(entries: Sequence[dict[str, Any]]) -> str:
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def contradicted(text: str) -> list[ClosingClaim]:
    return [claim for claim in check_closing(parse_transcript(text)) if claim.outcome is ClosingOutcome.CONTRADICTED]


def measured(written: Sequence[Turn]) -> Iterator[tuple[str, int, int]]:
    """Of the true and the false turns: alarms and turns."""
    for title, wanted in (("true", False), ("false", True)):
        of_kind = [turn for turn in written if bool(turn.false) is wanted]
        yield title, sum(bool(contradicted(claude(turn))) for turn in of_kind), len(of_kind)


def main(arguments: list[str]) -> None:
    """Prints alarms with intervals, missed kinds, and the time of the command."""
    parser = argparse.ArgumentParser(prog="benchmarks hook", description=__doc__)
    parser.add_argument("--half", choices=("chosen", "reported"), default="reported")
    parser.add_argument("--show", action="store_true", help="list false alarms and missed turns")
    parser.add_argument("--starts", type=int, default=20, help="of the command, to measure its time")
    given = parser.parse_args(arguments)
    written = turns(given.half)
    for turn in written:
        if given.show and bool(found := contradicted(claude(turn))) is not bool(turn.false):
            print(turn.id, turn.false or "FALSE ALARM", "|", turn.closing, "|", found)
    differ = [turn.id for turn in written if bool(contradicted(claude(turn))) is not bool(contradicted(codex(turn)))]
    rows = []
    for title, alarms, count in measured(written):
        share = wilson("alarms", alarms, count)
        rows.append((given.half, title, count, alarms, f"{share.value:.3f}", f"{share.low:.3f}–{share.high:.3f}"))
    print(markdown.table(("half", "turns", "n", "alarms", "share", "95 % (Wilson)"), rows))
    missed = Counter(turn.false for turn in written if turn.false and not contradicted(claude(turn)))
    print("missed:", ", ".join(f"{count} {kind}" for kind, count in missed.items()) or "none")
    print("Claude Code and Codex differ on:", ", ".join(differ) or "none")
    if given.starts:
        for name, times in zip(("wall", "processor"), zip(*_times(given.starts), strict=True), strict=True):
            print(f"seconds of the command, {name} (p50, p95):", *np.round(np.percentile(times, (50, 95)), 2))


def _times(starts: int) -> Iterator[tuple[float, float]]:
    """Wall and processor seconds of a whole process that reads a transcript of 4 MB."""
    turn = turns("chosen")[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "transcript.jsonl")
        whole = claude(turn)
        path.write_text(whole * (4_000_000 // len(whole)), encoding="utf-8")
        asked = json.dumps({"transcript_path": str(path), "hook_event_name": "Stop", "stop_hook_active": False})
        for _ in range(starts):
            began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [sys.executable, "-m", "redargue", "hook"]
            subprocess.run(command, input=asked, text=True, capture_output=True, check=False)
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            processor = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
            yield time.perf_counter() - began, processor
