"""The documentation as tests read it: pages, their code blocks and links, and a shell that runs a page's blocks.

A block of a language in ``RUN`` is run, in the order of its page, unless the line before it says
``<!-- not run: REASON -->``. A ``console`` block is a transcript: what follows ``$ `` is a command, the lines after it
its output, of which a line ``...`` stands for any number. A command ends with exit code 0, unless the next one is
``echo $?``. A ``text`` block after ``<!-- output -->`` is what the Python block before it prints.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FILES = ROOT / "tests" / "docs" / "files"
RUN = ("python", "sh", "console")
SHOWN = ("text", "toml", "json", "yaml", "html", "dockerfile")
ELLIPSIS = "..."

_PROGRESS = re.compile(r"\[\d+\] ")
_FENCE = re.compile(r"(?P<before>[^\n]*)\n```(?P<language>[^\n`]*)\n(?P<text>.*?)^```$", re.S | re.M)
_REASON = re.compile(r"<!-- not run: (?P<why>\S.*\S) -->")
_VARYING = (  # of an output: runs, counts of tokens and bytes, seconds, confidences, folders of the test's own
    (re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}"), "RUN"),
    (re.compile(r"\d[\d,.]*(?= (tokens|bytes|s\b|seconds|kB|MB))"), "N"),
    (re.compile(r"[+-]?\d*\.\d+|\d+ ?%"), "N"),
    (re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?Z?)?"), "DATE"),
    (re.compile(r"~?/[\w./-]*(?=redargue)"), ""),
)


class Block(NamedTuple):
    """A fenced block; ``start`` and ``end`` are the offsets of its text in the page, ``line`` counts from 1."""

    page: Path
    line: int
    before: str
    language: str
    text: str
    start: int
    end: int

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def reason(self) -> str:
        """Why it is not run; empty if it is."""
        said = _REASON.fullmatch(self.before.strip())
        return said["why"] if said else ""

    @property
    def runs(self) -> bool:
        return self.language in RUN and not self.reason


def pages() -> list[Path]:
    """README.md and every page of the documentation that is written by hand."""
    written = (path for path in sorted(DOCS.rglob("*.md")) if "_generated" not in path.parts)
    return [ROOT / "README.md", *written, *sorted((ROOT / ".github").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    text = "\n" + page.read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, found.start("language")),
            found["before"],
            found["language"].strip(),
            found["text"],
            found.start("text") - 1,
            found.end("text") - 1,
        )
        for found in _FENCE.finditer(text)
    ]


class Command(NamedTuple):
    text: str
    output: tuple[str, ...]


def commands(transcript: str) -> list[Command]:
    """The commands of a ``console`` block; a command goes on in the next line after a backslash."""
    found: list[tuple[list[str], list[str]]] = []
    for line in transcript.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif found and not found[-1][1] and found[-1][0][-1].endswith("\\"):
            found[-1][0].append(line)
        else:
            assert found, f"output before the first command: {line!r}"
            found[-1][1].append(line)
    return [Command("\n".join(command), tuple(output)) for command, output in found]


def comparable(lines: Iterator[str] | tuple[str, ...] | list[str]) -> list[str]:
    """Lines without what differs from run to run, and without the progress of claims, whose order differs."""
    result = []
    for line in lines:
        if _PROGRESS.match(line):
            continue
        for pattern, name in _VARYING:
            line = pattern.sub(name, line)
        result.append(" ".join(line.split()))
    return [line for line in result if line]


def agree(wanted: list[str], actual: list[str]) -> bool:
    """Whether an output is the one that is shown; ``...`` stands for any lines."""
    pattern = "".join(r"(?:.*\n)*?" if line == ELLIPSIS else re.escape(line) + "\n" for line in wanted)
    return bool(re.fullmatch(pattern, "".join(line + "\n" for line in actual)))


class Shell:
    """One shell in which the blocks of a page run one after another."""

    def __init__(self, folder: Path) -> None:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.folder = folder
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=os.environ | {"PATH": path, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"},
            text=True,
        )

    def run(self, script: str) -> tuple[int, str]:
        """Exit code and output, standard error included."""
        assert self._process.stdin and self._process.stdout  # noqa: PT018
        scratch = self.folder.parent
        (scratch / "script").write_text(script + "\n", encoding="utf-8")
        self._process.stdin.write(
            f'. "{scratch}/script" >"{scratch}/output" 2>&1 </dev/null; code=$?; echo $code; (exit $code)\n'
        )
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        return code, (scratch / "output").read_text(encoding="utf-8")

    def close(self) -> None:
        self._process.communicate()


def run_python(source: str, names: dict[str, Any], where: str) -> str:
    """Runs a block, with top-level ``await`` as in a notebook; what it prints."""
    code = compile(source, where, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if code.co_flags & inspect.CO_COROUTINE:
            asyncio.run(eval(code, names))
        else:
            exec(code, names)
    return printed.getvalue()


def working_folder(page: Path, parent: Path) -> Path:
    """A new folder with the files that the pages speak of, and those that the page offers beside it."""
    folder = parent / "work"
    shutil.copytree(FILES, folder)
    offered = page.parent / "files"
    if page.parent != DOCS and offered.is_dir():
        shutil.copytree(offered, folder, dirs_exist_ok=True)
    return folder
