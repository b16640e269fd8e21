"""Deleting a method, or an optional part, with its lines deletes that, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.size import OPTIONAL, copy_without, imported, modules_of_methods, without

import redargue
from redargue.registry import install

SOURCES = Path(redargue.__file__).parents[1]


@pytest.fixture(scope="module")
def missing() -> set[str]:
    """Modules that need an extra which is not installed."""
    return set(imported(SOURCES))


@pytest.mark.slow
@pytest.mark.parametrize("module", modules_of_methods(SOURCES))
def test_everything_else_is_imported_without_a_method(module: str, missing: set[str]) -> None:
    assert {name: why for name, why in without(SOURCES, module).items() if name not in missing} == {}


@pytest.mark.slow
@pytest.mark.parametrize("part", OPTIONAL)
def test_everything_else_is_imported_and_the_command_line_starts_without_an_optional_part(
    part: str, missing: set[str], tmp_path: Path
) -> None:
    modules, command = OPTIONAL[part]
    copy_without(SOURCES, tmp_path / "src", *modules)
    assert {name: why for name, why in imported(tmp_path / "src").items() if name not in missing} == {}
    if not command:
        return
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    started = [sys.executable, "-m", "redargue", command]
    done = subprocess.run(started, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"the command {command!r} is not installed" in done.stderr
    assert install(part) in done.stderr


@pytest.mark.slow
def test_a_run_without_any_optional_part_verifies_a_claim(tmp_path: Path) -> None:
    parts = {module for modules, _ in OPTIONAL.values() for module in modules}
    copy_without(SOURCES, tmp_path / "src", *sorted(parts))
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src"), "REDARGUE_HOME": str(tmp_path)}
    check = ["check", "The Eiffel Tower opened in 1889.", "--store", "starter", "--offline"]
    command = [sys.executable, "-m", "redargue", *check]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    config = tmp_path / "mine.toml"
    config.write_text("[serve]\nport = 80\n[check]\nmethod = 'single-reader'\n")
    configured = [*command[:3], "--config", str(config), *check, "--json"]
    done = subprocess.run(configured, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdicts"][0]["method"] == "single-reader"
    refused = subprocess.run(
        [*command, "--method", "safe"], env=environment, capture_output=True, text=True, check=False
    )
    assert "unknown method 'safe'" in refused.stderr
    assert install("lab") in refused.stderr
