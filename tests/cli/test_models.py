"""The command line with language models and live search: keys, prices, budgets, what cannot be reached."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redargue.cli.app import run
from redargue.cli.options import live_tool, read_models
from redargue.errors import UsageError
from redargue.events import CallFailed, canonical
from redargue.net import transport
from redargue.runs.record import read_events
from support.loopback import Behaviour, Loopback
from support.scripts import agreeing, disagreeing

CLAIM = "The bridge at Orvell was opened in 1889."
MODEL = ["--model", "gpt-4o-mini", "--embedding-model", "text-embedding-3-small"]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with Loopback(agreeing) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{running.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback-4711-abcdefgh")
        monkeypatch.setenv("REDARGUE_TAVILY_URL", f"{running.url}/tavily")
        monkeypatch.setenv("TAVILY_API_KEY", "tvly-loopback-4711-abcdefgh")
        yield running


def checked(
    capfd: pytest.CaptureFixture[str], *options: str, method: str = "tool-mad"
) -> tuple[int, dict[str, Any], str]:
    """The exit code, the first verdict and what stood on stderr."""
    chosen = ["--method", method] if method else []
    code = run(["check", CLAIM, "--store", "starter", "--json", "-q", *chosen, *options])
    out, err = capfd.readouterr()
    return code, json.loads(out)["verdicts"][0] if out else {}, err


@pytest.mark.slow
def test_with_a_model_and_a_key_the_debate_is_held_by_the_model_between_corpus_and_web(
    server: Loopback, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDARGUE_MODEL", "gpt-4o-mini")
    monkeypatch.delenv("REDARGUE_OFFLINE")
    code, verdict, _ = checked(capfd, "--embedding-model", "text-embedding-3-small")
    assert (code, verdict["label"], verdict["backend"]) == (0, "SUPPORTS", "chat")
    assert set(verdict["usage"]["by_tool"]) == {"corpus", "tavily"}
    assert verdict["usage"]["usd"] > 0
    counts = server.counts
    assert verdict["usage"]["calls"] == counts.requests["chat"]
    assert verdict["usage"]["prompt_tokens"] == counts.prompt_tokens + counts.embedding_tokens
    assert run(["check", CLAIM, "--store", "starter", "-q", *MODEL]) == 0
    assert "$0.0" in capfd.readouterr().out


def test_a_model_without_a_method_answers_once_from_corpus_and_web(
    server: Loopback, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REDARGUE_OFFLINE")
    code, verdict, _ = checked(capfd, *MODEL, method="")
    assert (code, verdict["method"], verdict["usage"]["calls"]) == (0, "single-reader", 1)
    assert set(verdict["usage"]["by_tool"]) == {"corpus", "tavily"}


def test_a_text_that_a_budget_stopped_before_its_claims_were_read_says_how_to_resume(
    server: Loopback, capfd: pytest.CaptureFixture[str]
) -> None:
    ground = ["ground", "--answer", f"{CLAIM} It is long.", "--context", CLAIM, "--model", "gpt-4o-mini", "-q"]
    assert run([*ground, "--budget", "1calls"]) == 4
    how, error, _ = capfd.readouterr().err.splitlines()
    assert error == "redargue: the budget of 1 call is spent"
    assert how.startswith("to resume, repeat the command with --run ")
    run([*ground, "--budget", "9calls", "--run", how.rpartition(" ")[2]])
    assert server.counts.requests["chat"] == 3  # the extraction, and two readings


def test_roles_have_models_of_their_own(server: Loopback, capfd: pytest.CaptureFixture[str]) -> None:
    server.script = disagreeing
    options = ["--model", "corpus=for-x", "--model", "keywords=against-x", "--model", "ScoreAnswer=scorer"]
    code, verdict, _ = checked(capfd, *MODEL, *options)
    assert (code, verdict["decided_by"]) == (0, "judge")
    asked = {(each.body["model"], role(each.body)) for each in server.requests if each.route == "chat"}
    assert {model for model, task in asked if task == "AnswerClaim"} == {"for-x", "against-x"}
    assert {model for model, task in asked if task == "ScoreAnswer"} == {"scorer"}
    assert {model for model, task in asked if task == "JudgeDebate"} == {"gpt-4o-mini"}


def role(body: dict[str, Any]) -> str:
    return str(body["response_format"]["json_schema"]["name"])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], ("", {})),
        (["a"], ("a", {})),
        (["a", "judge=b"], ("a", {"judge": "b"})),
        (["a judge=b corpus=c"], ("a", {"judge": "b", "corpus": "c"})),
    ],
)
def test_models_are_read(given: list[str], expected: Any) -> None:
    assert read_models(given) == expected


@pytest.mark.parametrize("given", [["a", "b"], ["judge=b"], ["a", "=b"], ["a", "judge="], ["a", "judge=b", "judge=c"]])
def test_models_that_leave_something_open_are_refused(given: list[str]) -> None:
    with pytest.raises(UsageError):
        read_models(given)


def test_the_live_search_is_the_best_that_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    with Loopback() as server:
        monkeypatch.setenv("REDARGUE_WIKIPEDIA_URL", server.url)
        assert live_tool(offline=True) == "keywords"
        assert live_tool(offline=False) == "wikipedia"
    assert live_tool(offline=False) == "keywords"  # nothing answers there any more
    monkeypatch.setenv("SERPER_API_KEY", "k")
    assert live_tool(offline=False) == "google"
    monkeypatch.setenv("TAVILY_API_KEY", "k")
    assert live_tool(offline=False) == "tavily"


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--model", "my-own", "--budget", "0.10usd"], 2, "no price is known for the model 'my-own'"),
        (["--budget", "0.10usd"], 2, "neither money nor tokens"),
        (["--backend", "chat"], 2, "needs a model"),
        (["--backend", "embedded", "--model", "x"], 2, "takes no model and no prompts\n  → drop --backend"),
        (["--prompts", "mine"], 2, "takes no model and no prompts\n  → name a model: --model"),
        (["--model", "x", "--model", "jugde=y"], 2, "did you mean 'judge'"),
        (["--model", "x", "--base-url", "localhost:80"], 2, "begin it with http"),
        (["--as-of", "31.3.2024"], 2, "is not a date"),
        (["--model", "x", "--prompts", "nowhere"], 2, "no folder 'nowhere'"),
        (["--prices", "nowhere.toml"], 2, "no file 'nowhere.toml'"),
        (["--response-format", "yaml", "--model", "x"], 2, "'yaml'"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_sent(
    options: list[str], code: int, said: str, server: Loopback, capfd: pytest.CaptureFixture[str]
) -> None:
    found, _, err = checked(capfd, *options)
    assert (found, said in err) == (code, True), err
    assert not server.requests


def test_no_key_for_the_default_endpoint_says_what_to_set(capfd: pytest.CaptureFixture[str]) -> None:
    code, _, err = checked(capfd, "--model", "gpt-4o")
    assert code == 2
    assert "OPENAI_API_KEY" in err


def test_a_spent_budget_is_exit_4_and_an_endpoint_that_is_not_there_exit_5(
    server: Loopback, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checked(capfd, *MODEL, "--budget", "1calls")[0] == 4
    assert server.counts.requests["chat"] == 1
    assert checked(capfd, *MODEL, "--budget", "0.0000001usd")[0] == 4
    assert server.counts.requests["chat"] == 1
    server.behaviour = Behaviour(statuses={"chat": 401})
    assert checked(capfd, *MODEL)[0] == 2
    monkeypatch.setattr(transport, "FAILING_TRIES", 1)  # it waits between them
    code, verdict, _ = checked(capfd, *MODEL, "--base-url", "http://127.0.0.1:9/v1")
    assert (code, verdict["error"]["type"]) == (5, "ProviderError")


@pytest.mark.slow
def test_a_run_in_which_replies_could_not_be_read_is_replayed_as_it_was(
    server: Loopback, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def mute(ask: Any) -> Any:
        return "I would rather not." if ask.role == "CheckStatements" else agreeing(ask)

    server.script = mute
    folder = tmp_path / "run"
    scored = ("--set", "stable_by=scores", "--set", "scored_together=false")
    code, verdict, _ = checked(capfd, *MODEL, *scored, "--run", str(folder))
    assert code == 0
    undefined = [score["undefined"] for score in verdict["scores"] if score["value"] is None]
    assert len(undefined) == 6
    assert all("could not be read" in each for each in undefined)
    events = list(read_events(folder))
    failed = [event for event in events if isinstance(event, CallFailed)]
    assert {(each.requests, each.raw) for each in failed} == {(2, "I would rather not.")}
    sent = len(server.requests)
    assert run(["replay", str(folder), "--json", "-q"]) == 0
    assert json.loads(capfd.readouterr().out)["verdicts"] == [verdict]
    again = checked(capfd, *MODEL, *scored, "--run", str(folder))[1]
    assert (again, len(server.requests)) == (verdict, sent)
    assert canonical(read_events(folder)) == canonical(events)


def test_keys_and_settings_can_come_from_a_file(
    server: Loopback, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL")
    file = tmp_path / "settings.env"
    file.write_text(f'OPENAI_BASE_URL="{server.url}/v1"\nREDARGUE_MODEL=from-the-file\n')
    for name in ("OPENAI_BASE_URL", "REDARGUE_MODEL"):
        monkeypatch.setenv(name, "")  # so that what the file sets is taken back after the test
        monkeypatch.delenv(name)
    assert run(["--env-file", str(file), "check", CLAIM, "--store", "starter", "-q"]) == 0
    assert {each.body["model"] for each in server.requests if each.route == "chat"} == {"from-the-file"}
    assert run(["--env-file", "nowhere.env", "check", CLAIM]) == 2


@pytest.mark.slow
def test_doctor_says_what_an_endpoint_can_do_and_remembers_it(
    server: Loopback, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDARGUE_HOME", str(tmp_path))
    server.behaviour = Behaviour(refuse=("json_schema_500", "n", "temperature", "max_tokens"), reasoning="think")
    assert run(["doctor", "--model", "m", "--json"]) == 0
    rows = {row["check"]: row for row in json.loads(capfd.readouterr().out)["checks"]}
    assert rows["m, JSON mode"]["ok"] is True
    assert rows["m, JSON schema"]["ok"] is None
    assert rows["m, three samples per request"]["ok"] is None
    assert rows["m, tool calls"] == {"check": "m, tool calls", "ok": True, "found": "works"}
    assert "temperature" in rows["m, parameters"]["found"]
    assert "max_completion_tokens" in rows["m, parameters"]["found"]
    assert "thinks aloud" in rows["m, reply"]["found"]
    server.reset()
    assert checked(capfd, "--model", "m")[0] == 0
    assert server.counts.faults["refused"] == 0
    server.behaviour = Behaviour(refuse=("tools",))
    assert run(["doctor", "--model", "m", "--json"]) == 0
    rows = {row["check"]: row for row in json.loads(capfd.readouterr().out)["checks"]}
    assert rows["m, tool calls"]["ok"] is None
    assert "'tools' is not supported" in rows["m, tool calls"]["found"]
    server.behaviour = Behaviour(statuses={"chat": 401})
    assert run(["doctor", "--model", "m"]) == 2
    assert "OPENAI_API_KEY" in capfd.readouterr().out


def test_a_method_without_tools_is_asked_from_the_command_line(
    server: Loopback, capfd: pytest.CaptureFixture[str]
) -> None:
    code, verdict, _ = checked(capfd, *MODEL, method="zero-shot")
    assert (code, verdict["label"], verdict["usage"]["searches"]) == (0, "SUPPORTS", 0)
    assert run(["check", CLAIM, "--method", "zero-shot", "--store", "starter", "-q"]) == 2
    assert "'embedded' cannot perform 'zero-shot'" in capfd.readouterr().err
