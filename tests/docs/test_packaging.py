"""What the image and the wheel are made from."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from benchmarks.wheel import LABELS, PARTS

from redargue.claims import FEVER
from redargue.cli.app import commands
from support.pages import ROOT
from support.served_process import Serving

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_the_image_runs_as_a_user_without_rights_and_keeps_its_data_in_one_volume() -> None:
    stages = re.split(r"^FROM ", DOCKERFILE, flags=re.M)[1:]
    assert len(stages) == 2
    assert re.findall(r"^USER (.+)$", stages[1], re.M) == ["65532:65532"]
    assert "REDARGUE_HOME=/data" in stages[1]
    assert re.search(r"^VOLUME /data$", stages[1], re.M)
    assert re.search(r"^HEALTHCHECK (.+\\\n)+ +CMD .+healthcheck\.py", stages[1], re.M)


def test_what_the_image_copies_exists_and_is_not_ignored() -> None:
    copied = [name for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.M) for name in line.split()]
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    for name in copied:
        assert (ROOT / name).exists(), name
        assert f"!{name}" in allowed


def test_every_package_is_checked_named_by_the_release_and_an_extra() -> None:
    packages = {path.name.removeprefix("redargue-") for path in (ROOT / "packages").glob("redargue-*")}
    assert packages == set(PARTS)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert packages <= set(project["optional-dependencies"])
    releasing = (ROOT / "docs" / "releasing.md").read_text(encoding="utf-8")
    assert packages <= set(re.findall(r"`redargue-(\w+)`", releasing))


def test_the_workflows_run_targets_and_scripts_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for workflow in (ROOT / ".github" / "workflows").iterdir():
        text = workflow.read_text(encoding="utf-8")
        for names in re.findall(r"run: make (.+)$", text, re.M):
            assert set(names.split()) <= targets, workflow.name
        for script in re.findall(r"run: (\.github/\S+)", text):
            assert os.access(ROOT / script, os.X_OK), script


HEALTH = [sys.executable, str(ROOT / "packages" / "healthcheck.py")]


@pytest.mark.slow
def test_the_health_check_passes_where_the_home_can_be_written_and_fails_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "cmdline").write_text("redargue\0batch\0claims.csv\0")
    for home, expected in ((tmp_path, 0), (tmp_path / "none", 1)):
        environment = os.environ | {"REDARGUE_HOME": str(home)}
        done = subprocess.run([*HEALTH, str(tmp_path / "cmdline")], env=environment, check=False)
        assert done.returncode == expected


@pytest.mark.slow
def test_the_health_check_asks_a_service_and_fails_once_it_has_ended(tmp_path: Path) -> None:
    def check() -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"http_proxy": "http://127.0.0.1:9"}  # which must not be asked
        command = [*HEALTH, str(tmp_path / "cmdline")]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    with Serving(tmp_path / "home") as service:
        port = service.url.rpartition(":")[2].strip("/")
        (tmp_path / "cmdline").write_text(f"python\0/opt/redargue/bin/redargue\0serve\0--port\0{port}\0")
        assert check().returncode == 0
    ended = check()
    assert ended.returncode == 1
    assert f":{port}/healthz" in ended.stderr


def test_the_action_installs_the_version_of_this_source() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    for path in (ROOT / ".github" / "actions" / "redargue").iterdir():
        pins = re.findall(r"redargue@([\d.]+)", path.read_text(encoding="utf-8"))
        assert set(pins) <= {version}, path.name


def test_the_description_of_the_mcp_server_names_this_version_a_command_and_variables_that_are_read() -> None:
    server = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (package,) = server["packages"]
    assert {server["version"], package["version"]} == {project["version"]}
    assert {each["value"] for each in package["runtimeArguments"]} <= {*project["optional-dependencies"]["mcp"]}
    (command,) = (argument["value"] for argument in package["packageArguments"])
    assert command in commands
    assert len(server["description"]) <= 100  # the registry's limit
    for variable in package["environmentVariables"]:
        read = f'"{variable["name"].removeprefix("REDARGUE_")}"'
        assert any(read in path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")), read
    assert f"mcp-name: {server['name']}" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_demo_has_a_claim_for_each_verdict() -> None:
    claims = (ROOT / "examples" / "demo.txt").read_text(encoding="utf-8").splitlines()
    assert len(claims) == len(LABELS) == len(FEVER.names)
    assert set(LABELS) == set(FEVER.names)
