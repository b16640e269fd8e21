"""The composite action's script: what it runs, what it writes, and that no input becomes part of a script."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support.pages import ROOT

ACTION = ROOT / ".github" / "actions" / "redargue"
HOSTILE = ("$(touch owned)", "`touch owned`", "; touch owned", "' || touch owned '", "a b", "-x")


def run(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """The script as a runner starts it, in ``folder``."""
    given = {f"INPUT_{name.upper()}": value for name, value in inputs.items()}
    files = {"GITHUB_OUTPUT": str(folder / "output"), "GITHUB_STEP_SUMMARY": str(folder / "summary")}
    path = os.pathsep.join([str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        [str(ACTION / "run.sh")],
        cwd=folder,
        env=os.environ | {"INPUT_COMMAND": "ground", "INPUT_REDARGUE": "redargue", "PATH": path} | files | given,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def recorder(tmp_path: Path) -> Path:
    """A folder in which ``redargue`` writes its arguments down, one a line, and ends with exit code 1."""
    program = tmp_path / "bin" / "redargue"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >>arguments\nexit 1\n', encoding="utf-8")
    program.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("word", HOSTILE)
def test_an_input_is_one_argument_whatever_it_holds(recorder: Path, word: str) -> None:
    (recorder / word).write_text("An answer.", encoding="utf-8")
    done = run(recorder, file=word, context=f"{word}\nb.md", min_supported=word, arguments="--offline", fail_on="")
    assert done.returncode == 1, done.stderr
    lines = (recorder / "arguments").read_text(encoding="utf-8").splitlines()
    assert lines[:9] == ["ground", "--answer", word, "--context", word, "--context", "b.md", "--min-supported", word]
    assert lines[9] == "--run"
    assert lines[11:] == ["--offline"]
    assert not (recorder / "owned").exists()


def test_a_file_to_check_comes_after_all_options(recorder: Path) -> None:
    (recorder / "--help").write_text("A claim.", encoding="utf-8")
    run(recorder, command="check", file="--help")
    assert (recorder / "arguments").read_text(encoding="utf-8").splitlines()[-2:] == ["--", "--help"]


@pytest.mark.parametrize(
    ("inputs", "said"), [({"command": "rm"}, "'ground' or 'check'"), ({"file": "none.md"}, "names no file")]
)
def test_wrong_inputs_end_with_exit_code_2(recorder: Path, inputs: dict[str, str], said: str) -> None:
    done = run(recorder, **{"file": "a.md", **inputs})
    assert done.returncode == 2
    assert said in done.stdout
    assert not (recorder / "arguments").exists()


def test_output_of_the_check_cannot_give_the_runner_commands(recorder: Path) -> None:
    (recorder / "a.md").write_text("An answer.", encoding="utf-8")
    lines = run(recorder, file="a.md").stdout.splitlines()
    stop = lines[0].removeprefix("::stop-commands::")
    assert re.fullmatch(r"stop-\d+-\d+", stop)
    assert lines[-1] == f"::{stop}::"


def test_every_input_of_the_action_reaches_the_script_as_a_variable_and_is_documented() -> None:
    action, script, readme = (
        (ACTION / name).read_text(encoding="utf-8") for name in ("action.yml", "run.sh", "README.md")
    )
    declared = re.findall(r"^  ([\w-]+):$", action[: action.index("outputs:")], re.M)
    assert "${{" not in script
    assert "${{" not in action[action.index("run: ") : action.index("env:")]
    for name in declared:
        variable = "INPUT_" + name.upper().replace("-", "_")
        assert f"{variable}: ${{{{ inputs.{name} }}}}" in action
        assert variable in script
        assert f"`{name}`" in readme


@pytest.mark.slow
def test_a_refuted_answer_fails_the_step_and_leaves_its_reports(tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_text("The bridge opened in 1899.\n", encoding="utf-8")
    (tmp_path / "source.md").write_text("The bridge opened in 1889.\n", encoding="utf-8")
    done = run(
        tmp_path,
        file="answer.md",
        context="source.md",
        arguments="--method single-reader --offline -q",
        min_supported="1.0",
    )
    assert done.returncode == 1, done.stderr
    report = tmp_path / "redargue-report"
    (result,) = json.loads((report / "redargue.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    assert result["ruleId"] == "refuted"
    assert ElementTree.parse(report / "redargue.xml").getroot().attrib["failures"] == "1"
    assert "Refuted" in (tmp_path / "summary").read_text(encoding="utf-8")
    assert "exit-code=1" in (tmp_path / "output").read_text(encoding="utf-8")
    assert "<html" in (report / "redargue.html").read_text(encoding="utf-8")
