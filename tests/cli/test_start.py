"""The first minute: the version, the help, the module as a command, and completion by the shell."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from benchmarks.size import loaded_modules
from typer.core import TyperGroup

import redargue
from redargue.cli.app import app, commands, help_of, run
from redargue.files import home


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_command_line_and_the_package_say_the_installed_version(
    flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([flag]) == 0
    assert capsys.readouterr().out == f"redargue {version('redargue')}\n"
    assert redargue.__version__ == version("redargue")
    assert "__version__" in dir(redargue)


@pytest.mark.parametrize("command", [[], ["check"], ["corpus"], ["corpus", "add"], ["runs", "rm"], ["bench", "run"]])
def test_h_is_help_on_every_level(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command, "--help"]) == 0
    long = capsys.readouterr().out
    assert run([*command, "-h"]) == 0
    assert capsys.readouterr().out == long
    assert "Usage: redargue" in long


@pytest.mark.parametrize("name", commands.builtin)
def test_the_help_in_a_list_of_commands_is_that_of_the_command(name: str) -> None:
    entry = commands[name]
    said = entry.info.help if isinstance(entry, typer.Typer) else entry.__doc__
    assert help_of(commands.place(name)).strip() == inspect.cleandoc(said or "").strip() != ""


def test_a_list_of_commands_imports_none_of_them() -> None:
    code = "import sys; from redargue.cli.app import run; run(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stderr.split() if name.startswith("redargue.")}
    assert not loaded & {"redargue.assembly", "redargue.run", "redargue.cli.check"}


@pytest.mark.parametrize("command", ["check", "ground"])
def test_the_help_names_every_type_of_document_that_is_read(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "-h"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    begin, end = {"check": ("a document (", ")"), "ground": ("The answer: text, a ", "json file")}[command]
    named = text.partition(begin)[2].partition(end)[0]
    assert set("txt md html pdf docx odt rtf xlsx eml".split()) <= set(re.findall(r"\w+", named))


@pytest.mark.slow
def test_the_demo_catches_what_its_source_contradicts_and_names_sentence_and_difference(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDARGUE_MODEL", "gpt-none")  # a demo that needs no key must not ask for one
    assert run(["demo"]) == 0
    first, second, third, last = re.split(r"^\d\. ", capsys.readouterr().out, flags=re.M)[1:]
    assert "Supported" in first
    assert "Refuted" in second
    assert "on Sundays at 9:15.”" in second
    assert "claim: 7:30 on Sundays; evidence: Sundays at 9:15" in second
    assert "Refuted" in third
    assert "claim: 75 minutes; evidence: 55 minutes" in third
    assert "Not enough evidence" in last
    assert "redargue ground" in last
    assert not (home() / "runs").exists()


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "redargue", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"redargue {version('redargue')}\n", "")


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["ru"], "runs"),
        (["check", "--method", "tool"], "tool-mad"),
        (["check", "--tool", "wiki"], "wikipedia"),
        (["check", "--labels", "ave"], "averitec"),
        (["check", "--backend", "emb"], "embedded"),
        (["runs", "show", "la"], "last"),
    ],
)
def test_a_shell_completes_commands_and_the_values_of_options(
    words: list[str], wanted: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_REDARGUE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", " ".join(["redargue", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    assert run([]) == 0
    assert capsys.readouterr().out.split() == [wanted]


def test_the_completion_script_can_be_printed_for_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    assert "--install-completion" in capsys.readouterr().out


def test_the_readme_names_commands_that_exist() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```", readme, re.MULTILINE | re.DOTALL))
    named = set(re.findall(r"^(?:uvx )?redargue ([a-z][a-z-]*)", blocks, re.MULTILINE))
    assert named <= set(group.list_commands(typer.Context(group)))
    assert {"check", "ground", "why", "diff", "report", "runs", "doctor"} <= named
    for word in (
        "redargue.toml",
        "REDARGUE_HOME",
        "--no-record",
        "make demo",
        "make test",
        "pip install",
        "uvx redargue",
    ):
        assert word in readme


@pytest.mark.parametrize(
    ("line", "said"),
    [("runing = 2", "did you mean 'running'"), ("running = 0", "'--running'"), ("key = 3", "is a command")],
)
def test_a_group_that_is_a_command_has_its_table_in_the_settings_file(
    line: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("mine.toml").write_text(f"[serve]\n{line}\n")
    assert run(["--config", "mine.toml", "serve"]) == 2
    assert said in capfd.readouterr().err


@pytest.mark.slow
def test_a_check_loads_few_modules_and_none_of_an_optional_part() -> None:
    counts = loaded_modules(Path(__file__).parents[2] / "src")
    assert counts.pop("loaded") <= 150
    assert set(counts.values()) == {0}


@pytest.mark.parametrize(("code", "status", "said"), [(None, 0, ""), (3, 3, ""), ("no lamp", 1, "no lamp\n")])
def test_a_command_that_exits_has_the_code_and_the_message_that_python_gives(
    code: object, status: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def exits(*given: object, **options: object) -> None:
        raise SystemExit(code)

    monkeypatch.setattr("redargue.cli.app._command", lambda: SimpleNamespace(main=exits))
    assert (run(["doctor"]), capsys.readouterr().err) == (status, said)
