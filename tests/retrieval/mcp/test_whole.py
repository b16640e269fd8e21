"""A whole verification by MERMAID over each transport, and several at once over one connection."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redargue.cli.app import run
from redargue.events import Decomposed, EvidenceFound, EvidenceRemembered, Stepped
from redargue.memory import MemorySettings
from redargue.memory.memory import default_memory, open_memory
from redargue.runs.record import read_events
from support.loopback import Loopback

CLAIM = "Ostermoor is a town on the river Velt."
COMMAND = [sys.executable, "-m", "redargue.cli.app", "mcp-tools", "wikipedia"]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with Loopback() as running:
        monkeypatch.setenv("REDARGUE_WIKIPEDIA_URL", running.url)
        yield running


@pytest.fixture
def over_http(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of our own server in a process of its own, which asks for a token."""
    monkeypatch.setenv("REDARGUE_MCP_SERVER_TOKEN", "a-token-of-this-test")
    monkeypatch.setenv("REDARGUE_MCP_WIKI_TOKEN", "a-token-of-this-test")
    with subprocess.Popen([*COMMAND, "--http", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = next(each for each in process.stderr if "http://" in each)
        yield line[line.index("http://") :].split()[0].rstrip(".,")
        process.terminate()


def verified(capfd: pytest.CaptureFixture[str], folder: Path, server: str, *claims: str) -> list[dict[str, Any]]:
    capfd.readouterr()
    file = folder.parent / "claims.txt"
    file.write_text("\n".join(claims or (CLAIM,)))
    options = [
        "--method",
        "mermaid",
        "--set",
        "memory=on",
        "--mcp",
        server,
        "--labels",
        "two",
        "--json",
        "-q",
        "--run",
        str(folder),
    ]
    assert run(["check", str(file), *options, "--concurrency", "4"]) == 0
    return list(json.loads(capfd.readouterr().out)["verdicts"])


def events(folder: Path) -> list[Any]:
    return list(read_events(folder))


@pytest.mark.slow
def test_our_own_server_in_this_process(server: Loopback, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (verdict,) = verified(capfd, tmp_path / "run", "wikipedia")
    assert verdict["label"] == "SUPPORTS"
    assert any(quote["status"] == "verified" for quote in verdict["quotes"])
    kinds = {type(each) for each in events(tmp_path / "run")}
    assert {Decomposed, Stepped, EvidenceFound, EvidenceRemembered} <= kinds


@pytest.mark.slow
def test_a_command_over_stdio(
    server: Loopback, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDARGUE_MCP_WIKI_ENV", "REDARGUE_WIKIPEDIA_URL")
    (verdict,) = verified(capfd, tmp_path / "run", "wiki=" + " ".join(COMMAND))
    assert verdict["label"] == "SUPPORTS"


@pytest.mark.slow
def test_an_address_over_http(over_http: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (verdict,) = verified(capfd, tmp_path / "run", f"wiki={over_http}")
    assert verdict["label"] == "SUPPORTS"


@pytest.mark.slow
def test_claims_at_once_share_one_connection_and_replay_without_it(
    server: Loopback, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    towns = ("Ostermoor", "Quillhaven", "Skarrow", "Velt")
    verdicts = verified(capfd, tmp_path / "run", "wikipedia", *(f"{each} is a town by the sea." for each in towns))
    assert len(verdicts) == 4
    assert run(["replay", str(tmp_path / "run"), "-q"]) == 0


def test_methods_whose_agents_call_no_tools_refuse_servers(
    server: Loopback, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", CLAIM, "--mcp", "wikipedia", "-q", "--run", str(tmp_path / "run")]) == 2
    assert "'single-reader' cannot call tools of MCP servers" in capfd.readouterr().err


def test_a_memory_of_ones_own_and_a_workspace(
    server: Loopback, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    own = ["check", CLAIM, "--method", "mermaid", "--mcp", "wikipedia", "-q", "--memory", str(tmp_path / "facts.db")]
    assert run([*own, "--workspace", "towns", "--run", str(tmp_path / "run")]) == 0
    with open_memory(tmp_path / "facts.db", workspace="towns", settings=MemorySettings(mode="frozen")) as memory:
        assert memory.count() > 0
    assert not default_memory().exists()
    assert run(["check", CLAIM, "-q", "--memory", str(tmp_path / "facts.db"), "--run", str(tmp_path / "other")]) == 2
    assert "has no memory" in capfd.readouterr().err
