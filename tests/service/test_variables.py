"""Variables that set nothing: a misspelt one must not pass for a setting."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

pytest.importorskip("fastapi")

from redargue.cli.app import app, run
from redargue.service.commands import warn_of_unknown_variables

ROOT = Path(__file__).parents[2]


def test_a_misspelt_variable_is_named_with_the_nearest_that_there_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REDARGUE_SERVE_PROT", "8400")
    monkeypatch.setenv("REDARGUE_SERVE_PORT", "8400")
    assert run(["serve", "--telemetry", "loud"]) == 2
    said = capsys.readouterr().err.splitlines()[0]
    assert said.startswith("redargue: there is no setting REDARGUE_SERVE_PROT: it is ignored")
    assert said.endswith("did you mean REDARGUE_SERVE_PORT?")


def test_every_variable_of_the_documentation_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    named = {name for page in pages for name in re.findall(r"REDARGUE_[A-Z_]*[A-Z]\b", page.read_text("utf-8"))}
    assert len(named) > 30
    command = typer.main.get_command(app)
    warn_of_unknown_variables(typer.Context(command), dict.fromkeys(named, "x"))
    assert capsys.readouterr().err == ""


def test_the_help_of_serve_names_the_settings_of_the_proxy(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--help"]) == 0
    said = capsys.readouterr().out
    assert all(
        name in said for name in ("REDARGUE_UPSTREAM_URL", "REDARGUE_PROXY_MODE", "_ON_FAILURE", "docs/proxy.md")
    )


def test_a_daily_budget_that_cannot_be_read_is_named_by_its_own_option(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--day-budget", "lots"]) == 2
    assert "cannot read the budget 'lots' (--day-budget)" in capfd.readouterr().err


@pytest.mark.parametrize("command", ["serve", "mcp"])
@pytest.mark.parametrize("budget", ["0.5usd", "40calls,9ktok"])
def test_no_service_begins_with_a_budget_that_none_of_its_checks_can_spend(
    command: str, budget: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([command, "--budget", budget]) == 2
    assert "costs neither money nor tokens (--budget)" in capfd.readouterr().err
