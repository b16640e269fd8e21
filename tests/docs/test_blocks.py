"""Every Python block and every shell block of the documentation runs as it is printed, or says why not.

``REDARGUE_GOLDEN=write`` writes the outputs of transcripts into the pages; read the diff.
"""

from __future__ import annotations

import ast
import os
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from redargue.cli.app import app
from support.pages import (
    DOCS,
    RUN,
    SHOWN,
    Block,
    Shell,
    agree,
    blocks,
    commands,
    comparable,
    pages,
    run_python,
    working_folder,
)

PAGES = pages()
WRITE = os.environ.get("REDARGUE_GOLDEN") == "write"


def named(page: Path) -> str:
    return page.relative_to(DOCS.parent).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_block_names_its_language_and_what_is_not_run_says_why(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = blocks(page)
    fences = [line for line in text.splitlines() if line.lstrip().startswith("```")]
    assert len(fences) == 2 * len(found), f"{page.name} has a fence that is indented or not closed"
    for block in found:
        assert block.language in RUN + SHOWN or block.language.startswith("{"), f"{block.where}: {block.language!r}"
        if block.language == "python":
            ast.parse(block.text, block.where)
        if block.language == "console":
            assert commands(block.text), block.where
    marks = text.count("<!-- not run")
    assert marks == sum(bool(block.reason) for block in found), f"{page.name}: a mark without a reason or a block"


@pytest.mark.slow
@pytest.mark.parametrize(
    "block", [each for page in PAGES for each in blocks(page) if each.reason], ids=lambda b: b.where
)
def test_the_commands_of_a_block_that_is_not_run_have_the_arguments_that_they_need(block: Block) -> None:
    typed = [command.text for command in commands(block.text)] if block.language == "console" else []
    typed += shell_commands(block.text) if block.language == "sh" else []
    for command in typed:
        words = shlex.split(command.replace("\\\n", " "), comments=True)
        name = next((word for word in words if "=" not in word), "")  # after the variables that are set for it
        if Path(name).name == "redargue":
            understood(words[words.index(name) + 1 :])


def understood(words: list[str]) -> None:
    """Raises UsageError for words that the command line cannot read; files need not exist."""
    command: Any = typer.main.get_command(app)
    context = command.make_context("redargue", list(words))
    while left := [*context._protected_args, *context.args]:
        name, command, rest = command.resolve_command(context, left)
        try:
            context = command.make_context(name, rest, parent=context)
        except typer.BadParameter as error:
            assert "does not exist" in error.message, words  # noqa: PT017
            return


@pytest.mark.slow
@pytest.mark.usefixtures("own_registrations")
@pytest.mark.parametrize("page", [page for page in PAGES if any(block.runs for block in blocks(page))], ids=named)
def test_the_blocks_of_a_page_run_one_after_another(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = working_folder(page, tmp_path)
    monkeypatch.chdir(folder)
    shell = Shell(folder)
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = ""
    written = {}
    try:
        for block in blocks(page):
            if block.before.strip() == "<!-- output -->":
                written[block] = printed
                assert WRITE or agree(comparable(block.text.splitlines()), comparable(printed.splitlines())), printed
            elif not block.runs:
                continue
            elif block.language == "python":
                printed = run_python(block.text, names, block.where)
            elif block.language == "sh":
                for command in shell_commands(block.text):
                    code, output = shell.run(command)
                    assert code == 0, f"{block.where}: {command}\n{output}"
            else:
                written[block] = transcript(shell, block)
    finally:
        shell.close()
    if WRITE:
        rewrite(page, written)


def shell_commands(script: str) -> list[str]:
    """The commands of a script, each with its continued lines and here-documents."""
    found: list[str] = []
    ends = ""  # the line that ends a here-document
    for line in script.splitlines():
        if ends or (found and found[-1].endswith("\\")):
            found[-1] += "\n" + line
            ends = "" if line == ends else ends
        elif line.strip() and not line.startswith("#"):
            found.append(line)
            ends = line.split("<<")[1].split()[0].strip("'\"") if "<<" in line else ""
    return found


def transcript(shell: Shell, block: Block) -> str:
    """Runs a transcript's commands, and compares what they print."""
    lines = []
    typed = commands(block.text)
    for command, following in zip(typed, [*typed[1:], None], strict=True):
        code, output = shell.run(command.text)
        shown = output.replace(f"{shell.folder}/", "").rstrip().splitlines()  # a reader has another folder
        lines += [f"$ {command.text}", *(list(command.output) if "..." in command.output else shown)]
        asked = following is not None and following.text == "echo $?"
        assert code == 0 or asked, f"{block.where}: exit code {code}: {command.text}\n{output}"
        if not WRITE:
            wanted, actual = comparable(command.output), comparable(shown)
            assert agree(wanted, actual), f"{block.where}: {command.text}\n" + "\n".join(actual)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def rewrite(page: Path, written: dict[Block, str]) -> None:
    text = page.read_text(encoding="utf-8")
    for block in sorted(written, key=lambda block: block.start, reverse=True):
        text = text[: block.start] + written[block] + text[block.end :]
    page.write_text(text, encoding="utf-8")
