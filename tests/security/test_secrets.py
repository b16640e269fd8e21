"""Twenty planted keys, and every place where they could come out."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redargue.cli import app
from redargue.errors import RedargueError
from support.loopback import Ask, Behaviour, Doc, Loopback
from support.scripts import agreeing

PLANTED = {
    "REDARGUE_API_KEY": "sk-proj-Zq81LmNa72QwErTy55UiOp",
    "OPENAI_API_KEY": "sk-Hd92kLxPq0-wMvBnTr71",
    "TAVILY_API_KEY": "tvly-dev-9sKq27Lw0XcVbNm4",
    "SERPER_API_KEY": "5f1c0ffee7aa94d2b1e88d7700aa11bb22cc33dd",
    "GOOGLE_CSE_API_KEY": "AIzaSyD4-x8Qe11ZtLmNoPqRsTuVwXyZ012345",
    "GOOGLE_API_KEY": "AIzaSyB7_kk8712hHgGfFdDsSaAqQwWeErRt5",
    "OPENALEX_API_KEY": "oa-77b1d0c2-93fe-41aa-8a11-0c7d2e9f55aa",
    "NCBI_API_KEY": "ncbi0a1b2c3d4e5f60718293a4b5c6d7e8f9",
    "ANTHROPIC_API_KEY": "sk-ant-api03-Qw7Er8Ty9Ui0Op1As2Df3",
    "HF_TOKEN": "hf_QwErTyUiOpAsDfGhJk123456",
    "GITHUB_TOKEN": "ghp_1a2B3c4D5e6F7g8H9i0JkLmNoPqRsTuVwXyZ",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCY19283746",
    "PGPASSWORD": "pg-Str0ng&Secret=1",
    "MILVUS_TOKEN": "root:Milvus-5ecret-99",
    "REDARGUE_SERVICE_KEY": "rd-0f9e8d7c6b5a4938271605f4",
    "DB_CREDENTIALS": 'quo"te\\d-5ecret-77',
    "SLACK_TOKEN": "xoxb-1234567890-abcdefGHIJKL",
    "SMTP_PASSWORD": "mail pass 4711 word",
}
IN_THE_ADDRESS = "url-pass-83hf7a0q"
IN_THE_QUERY = "query-key-55d0c2x9"
ALL = (*PLANTED.values(), IN_THE_ADDRESS, IN_THE_QUERY)
CLAIM = "The bridge at Orvell was opened in 1889."


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """A server that repeats the keys it gets, and pages and a model that know them all."""
    leaked = " ".join(ALL)

    def indiscreet(ask: Ask) -> Any:
        reply = agreeing(ask)
        if isinstance(reply, dict) and "reasoning" in reply:
            reply["reasoning"] += f" By the way: {leaked}"
        return reply

    documents = (Doc(title="Bridge at Orvell", url="https://wiki.example/bridge", text=f"Opened in 1889. {leaked}"),)
    with Loopback(indiscreet, behaviour=Behaviour(echo_key=True), documents=documents) as running:
        for name, value in PLANTED.items():
            monkeypatch.setenv(name, value)
        address = running.url.replace("http://", f"http://user:{IN_THE_ADDRESS}@")
        monkeypatch.setenv("REDARGUE_BASE_URL", f"{address}/v1?api-version=1&code={IN_THE_QUERY}")
        monkeypatch.setenv("REDARGUE_TAVILY_URL", f"{running.url}/tavily")
        monkeypatch.setenv("REDARGUE_SERPER_URL", f"{running.url}/serper")
        monkeypatch.setenv("REDARGUE_PUBMED_URL", f"{running.url}/entrez/eutils")
        monkeypatch.setenv("REDARGUE_PUBMED_REQUESTS_PER_MINUTE", "60000")
        monkeypatch.setenv("REDARGUE_OPENALEX_URL", running.url)
        yield running


WEB, PAPERS = ("tavily", "google"), ("pubmed", "openalex")


def run(capfd: pytest.CaptureFixture[str], *arguments: str, tools: tuple[str, str] = WEB) -> tuple[int, str]:
    """The exit code, and everything that came out."""
    chosen = [part for tool in tools for part in ("--tool", tool)]
    try:
        code = app.run(["--debug", "check", CLAIM, "--model", "gpt-4o-mini", *chosen, *arguments])
        raised = ""
    except RedargueError as error:
        code, raised = error.exit_code, "".join(traceback.format_exception(error))
    out, err = capfd.readouterr()
    return code, out + err + raised


def hits(text: str) -> list[str]:
    """The keys that stand in a text, in any of the spellings that JSON and addresses give them."""
    spellings = {key: {key, key.replace('"', '\\"').replace("\\", "\\\\"), key.replace("&", "%26")} for key in ALL}
    return [key for key, forms in spellings.items() if any(form in text for form in forms)]


def files(*folders: Path) -> str:
    return "\n".join(
        path.read_text(encoding="utf-8", errors="replace")
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".db"
    )


ERRORS: list[dict[str, Any]] = [
    {},
    {"statuses": {"chat": 401}},
    {"statuses": {"chat": 400}},
    {"statuses": {"chat": 404}},
    {"statuses": {"tavily": 401, "serper": 403}},
    {"statuses": {"tavily": 432, "serper": 400}},
    {"statuses": {"pubmed": 429, "openalex": 403}, "retry_after": "9999"},
    {"statuses": {"pubmed": 400, "openalex": 429}},
    {"quota": True},
    {"malformed": 1.0, "malformed_kinds": ("not_json", "html", "wrong_label", "truncated")},
]


def test_twenty_keys_are_planted() -> None:
    assert len(set(ALL)) == 20


CHECKS = [
    (wrong, tools)
    for wrong in ERRORS
    for tools in (WEB, PAPERS)
    if not wrong or (tools == PAPERS) == ("pubmed" in wrong.get("statuses", {}))
]


@pytest.mark.parametrize(("wrong", "tools"), CHECKS)
def test_no_key_comes_out_of_a_check(
    wrong: dict[str, Any],
    tools: tuple[str, str],
    server: Loopback,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("REDARGUE_HOME", str(home))
    server.behaviour = Behaviour(echo_key=True, **wrong)
    caplog.set_level(logging.DEBUG)
    code, shown = run(capfd, "--run", str(tmp_path / "run"), "--json", tools=tools)
    assert server.counts.requests["chat"] > 0
    assert tools == WEB or (server.counts.requests["pubmed"] > 0 < server.counts.requests["openalex"])
    assert code in (0, 2, 3, 5)
    assert hits(shown) == []
    assert hits(caplog.text + "\n".join(record.getMessage() for record in caplog.records)) == []
    assert (tmp_path / "run" / "events.jsonl").stat().st_size > 500
    assert hits(files(tmp_path)) == []


@pytest.mark.slow
def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(
    server: Loopback, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDARGUE_API_KEY", "sk-schlüssel-2026-äöü")
    code, shown = run(capfd)
    assert code == 2
    assert "REDARGUE_API_KEY" in shown
    assert "sk-schl" not in shown
