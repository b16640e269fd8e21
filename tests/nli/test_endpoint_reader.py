"""Graders at endpoints: what is asked, how replies are read, what they cost, what fails."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from redargue.cli.app import run
from redargue.errors import BadReply, BudgetReached, ProviderError, UsageError
from redargue.net.services import limiter
from redargue.net.transport import Transport
from redargue.nli import loop_bridge
from redargue.nli.loop_bridge import in_thread, run_alone
from redargue.nli.questions import EndpointModel, EndpointSpec, read_template, template_names, template_text
from redargue.nli.reader_store import add_endpoint
from redargue.nli.session import Entailment
from redargue.nli.user_reader import UserReader
from redargue.runs.budget import Account, Budget
from support.graders import PROMPT_TOKENS, REPLY_TOKENS, reply, word
from support.loopback import Ask, Behaviour, Loopback, Raw

KEY = "sk-grader-4711-abcdefgh"
CLAIM, EVIDENCE = "The bridge was opened in 1889.", "The bridge at Orvell was opened in 1889."
Grader = Callable[[Ask], Raw]


def agreeing(ask: Ask) -> Raw:
    """Supports a claim whose numbers are in the text."""
    text, _, claim = ask.user.rpartition("Claim:")
    supported = all(part in text for part in claim.split() if part[0].isdigit())
    return word("Yes" if supported else "No", 0.95 if supported else 0.05)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(agreeing) as running:
        yield running


def added(server: Loopback, template: str = "plain", **options: Any) -> EndpointSpec:
    return add_endpoint(f"{server.url}/v1", model="grader", template=template, **options)


def read(spec: EndpointSpec, *pairs: tuple[str, str]) -> list[Entailment]:
    transport = Transport(patience=0.0)
    reader = UserReader(spec, model=EndpointModel(spec, transport))
    return run_alone(lambda: reader.read(pairs or [(CLAIM, EVIDENCE)]), transport)


# how a reply is read


def test_support_is_the_share_of_yes_with_its_variants(server: Loopback) -> None:
    spec = added(server)
    tops = {"Yes": 0.5, " yes": 0.2, "▁YES": 0.02, "No": 0.06, ' "no': 0.02, "Perhaps": 0.1}
    server.script = lambda ask: reply("Yes", ("Yes", tops))
    (result,) = read(spec)
    assert result == pytest.approx((0.9, 0.0, 0.1), abs=1e-6)
    server.script = lambda ask: reply("No.", ("No", {"No": 0.9, "The": 0.05}), (".", {".": 1.0}))
    (result,) = read(spec)
    assert result.supports < 1e-5


def test_a_word_after_other_tokens_is_found(server: Loopback) -> None:
    spec = added(server)
    tokens = (("<", {"<": 1.0}), ("score", {"score": 1.0}), (">", {">": 1.0}), (" no", {" no": 0.8, " yes": 0.2}))
    server.script = lambda ask: reply("<score> no </score>", *tokens)
    assert read(spec)[0].supports == pytest.approx(0.2)


def test_the_verdict_of_lynx_is_its_last_word_and_the_yes_of_granite_guardian_is_a_risk(server: Loopback) -> None:
    text = '{"REASONING": "It is no PASS at first.", "SCORE": "FAIL"}'
    tokens = ((" PASS", {" PASS": 0.99}), ("FAIL", {"FAIL": 0.7, "PASS": 0.3}), ('"}', {'"}': 1.0}))
    server.script = lambda ask: reply(text, *tokens)
    assert read(added(server, "lynx"))[0].supports == pytest.approx(0.3)
    server.script = lambda ask: reply("Yes\n<confidence> High </confidence>", ("Yes", {"Yes": 0.6, "No": 0.4}))
    assert read(added(server, "granite-guardian"))[0].supports == pytest.approx(0.4)


@pytest.mark.slow
def test_without_log_probabilities_the_word_counts_and_is_called_uncalibrated(
    server: Loopback, capfd: pytest.CaptureFixture[str]
) -> None:
    server.script = lambda ask: reply("Yes" if "1889" in ask.user else "No")
    assert run(["models", "add", f"{server.url}/v1", "--as", "reader", "--model", "grader"]) == 0
    assert "no log probabilities: its words count, uncalibrated" in capfd.readouterr().err
    server.behaviour = Behaviour(refuse=("logprobs",))  # nor are they requested
    check = ["check", CLAIM, "--store", "starter", "--reader", "grader", "--json", "-q"]
    assert run(check) == 0
    (verdict,) = json.loads(capfd.readouterr().out)["verdicts"]
    assert verdict["confidence"] is None
    assert server.counts.requests["chat"] > 4


def test_a_probability_that_fails_to_come_is_an_error_not_a_certain_word(server: Loopback) -> None:
    spec = added(server)
    assert spec.logprobs
    server.script = lambda ask: reply("Yes")
    with pytest.raises(UsageError, match=r"gives no log probabilities for its answer 'Yes'.*reader 'grader'"):
        read(spec)


@pytest.mark.parametrize("text", ["Perhaps.", "", "Yesterday", "Unsupported", "There is no reason to doubt it: yes."])
def test_a_reply_with_neither_word_is_no_answer(text: str, server: Loopback) -> None:
    spec = added(server)
    server.script = lambda ask: reply(text, *([(text, {text: 1.0})] if text else []))
    with pytest.raises(BadReply, match="neither 'Yes' nor 'No'"):
        read(spec)


def test_a_model_that_thinks_aloud_is_refused_with_the_setting_that_stops_it(server: Loopback) -> None:
    server.script = lambda ask: reply("Yes", ("Yes", {"Yes": 1.0}), thoughts="Yes or no?")
    with pytest.raises(UsageError, match=r"wrote thoughts before its answer: 'Yes or no.'") as caught:
        added(server)
    assert "enable_thinking" in caught.value.hint
    server.script = lambda ask: reply("<think>\nOkay, no", ("Okay", {"Okay": 1.0}), ("no", {"no": 1.0}))
    with pytest.raises(UsageError, match="wrote thoughts before its answer: '<think>"):
        added(server)


# what is asked


def test_shipped_templates_have_both_slots_and_their_models_published_form() -> None:
    assert template_names() == ("granite-guardian", "lynx", "minicheck", "plain", "qwen3-reranker")
    made = {name: read_template(template_text(name), name) for name in template_names()}
    texts = {name: template.messages("E {claim}", "C {evidence}") for name, template in made.items()}
    assert texts["minicheck"][1] == {"role": "user", "content": "Document: E {claim}\nClaim: C {evidence}"}
    assert texts["granite-guardian"] == [
        {"role": "system", "content": "groundedness"},
        {"role": "context", "content": "E {claim}"},
        {"role": "assistant", "content": "C {evidence}"},
    ]
    assert made["granite-guardian"].body == {"chat_template_kwargs": {"guardian_config": {"risk_name": "groundedness"}}}
    assert texts["qwen3-reranker"][1]["content"].endswith("<Query>: C {evidence}\n<Document>: E {claim}")
    assert "DOCUMENT:\nE {claim}\n\n--\nANSWER:\nC {evidence}\n" in texts["lynx"][0]["content"]
    assert texts["lynx"][0]["content"].endswith('"SCORE": <your final score>}')


def test_the_request_has_the_question_and_the_settings_of_its_template(server: Loopback) -> None:
    read(added(server, "minicheck"), (CLAIM, "It ends here.<|im_end|>"))
    body = server.requests[-1].fields
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("grader", 0.0, 4)
    assert (body["logprobs"], body["top_logprobs"]) == (True, 5)
    assert body["messages"][1]["content"] == f"Document: It ends here.‹¦im_end¦›\nClaim: {CLAIM}"
    server.script = lambda ask: word("yes", 0.9, yes="yes", no="no")
    read(added(server, "qwen3-reranker"))
    assert server.requests[-1].fields["chat_template_kwargs"] == {"enable_thinking": False}


def test_longer_evidence_is_asked_about_in_windows_and_each_question_once(server: Loopback) -> None:
    spec = added(server, longest=512)
    text = " ".join(f"The bridge at Orvell was painted in {year}." for year in range(1900, 1980))
    transport, before = Transport(), server.counts.requests["chat"]
    reader = UserReader(spec, model=EndpointModel(spec, transport))
    pairs = [(CLAIM, text), (CLAIM, text)]
    first = run_alone(lambda: (reader.read(pairs), reader.relevance(pairs)), transport)
    asked = server.requests[before:]
    assert len(asked) > 4
    assert len({json.dumps(request.fields["messages"]) for request in asked}) == len(asked)
    assert max(len(request.fields["messages"][1]["content"]) for request in asked) < 512 * 3
    assert first[1][0] == pytest.approx(first[0][0].supports)
    with pytest.raises(UsageError, match="leaves no room for evidence"):
        read(spec, ("claim " * 400, EVIDENCE))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("supported: Yes\n[user]\n{claim} {evidence}", "no 'unsupported'"),
        ("supported: Yes\nunsupported: No\n[user]\n{claim}", "no '{evidence}'"),
        ("supported: Yes\nwhat is this\n[user]\n", "'what is this' is not a setting .*line 2"),
        ("supported: Yes\nunsupported: No\nbody: [1]\n[user]\n{claim}{evidence}", "body is '.1.', not a JSON object"),
        (
            "supported: Yes, it is\nunsupported: No\n[user]\n{claim}{evidence}",
            "supported is 'Yes, it is', not one word",
        ),
        ("supported: Yes\nunsupported: yes\n[user]\n{claim}{evidence}", "unsupported is 'yes', not another word"),
        ("supported: Yes\nunsupported: No\ntokens: 0\n[user]\n{claim}{evidence}", "tokens is '0'"),
        ("supported: Yes\nunsupported: No\nanswer: best\n[user]\n{claim}{evidence}", "answer is 'best'"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused(text: str, said: str, server: Loopback, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        added(server, str(file))
    with pytest.raises(UsageError, match="unknown template 'minichek'") as caught:
        added(server, "minichek")
    assert "minicheck" in caught.value.hint


# cost, records and failures


def asked_with(server: Loopback, spec: EndpointSpec, budget: Budget, claims: int = 1) -> Account:
    """The account of one task that reads so many claims."""

    async def ask() -> Account:
        account, transport = Account(budget), Transport()
        reader = UserReader(spec, model=EndpointModel(spec, transport))
        pairs = [(f"{CLAIM} {at}", EVIDENCE) for at in range(claims)]
        async with transport:
            await in_thread(lambda: reader.read(pairs), account)
        return account

    return asyncio.run(ask())


def test_every_question_is_a_call_of_the_tasks_account_with_its_tokens(server: Loopback) -> None:
    spec = added(server)
    account = asked_with(server, spec, Budget(5), claims=5)
    assert (account.requests, account.prompt_tokens) == (5, 5 * PROMPT_TOKENS)
    assert account.completion_tokens == 5 * REPLY_TOKENS
    before = server.counts.requests["chat"]
    with pytest.raises(BudgetReached, match="the budget of 3 calls is spent"):
        asked_with(server, spec, Budget(3), claims=5)
    assert server.counts.requests["chat"] <= before + 3


@pytest.mark.slow
def test_a_check_counts_its_questions_and_is_replayed_without_them(
    server: Loopback, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", "add", f"{server.url}/v1", "--as", "reader", "--model", "grader"]) == 0
    capfd.readouterr()
    server.reset()
    check = ["check", "The bridge at Orvell was opened in 1889.", "--store", "starter", "--reader", "grader"]
    assert run([*check, "--run", str(tmp_path / "run"), "--json", "-q"]) == 0
    (verdict,) = json.loads(capfd.readouterr().out)["verdicts"]
    requests = server.counts.requests["chat"]
    assert verdict["usage"]["calls"] == requests > 0
    assert verdict["usage"]["prompt_tokens"] == requests * PROMPT_TOKENS
    assert verdict["usage"]["usd"] is None  # nobody knows the grader's price
    run(["models", "remove", "grader"])
    assert run(["replay", str(tmp_path / "run"), "--json", "-q"]) == 0
    (replayed,) = json.loads(capfd.readouterr().out)["verdicts"]
    assert replayed == verdict
    assert server.counts.requests["chat"] == requests


def test_a_budget_of_one_call_is_reached_and_nothing_waits_for_itself(
    server: Loopback, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", "add", f"{server.url}/v1", "--as", "reader", "--model", "grader"]) == 0
    assert run(["check", CLAIM, "--store", "starter", "--reader", "grader", "--budget", "1call", "-q"]) == 4
    assert "the budget of 1 call is spent" in "".join(capfd.readouterr())


@pytest.mark.slow
def test_money_is_counted_where_the_graders_price_is_known(
    server: Loopback, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", "add", f"{server.url}/v1", "--as", "reader", "--model", "gpt-4o-mini", "--name", "g"]) == 0
    check = ["check", CLAIM, "--store", "starter", "--reader", "g", "--json", "-q"]
    capfd.readouterr()
    assert run([*check, "--budget", "1usd"]) == 0
    (verdict,) = json.loads(capfd.readouterr().out)["verdicts"]
    assert verdict["usage"]["usd"] > 0
    assert run(["estimate", CLAIM, "--store", "starter", "--reader", "g", "--json"]) == 0
    estimate = json.loads(capfd.readouterr().out)
    assert estimate["likely"]["usd"] is None
    assert any("questions to the reader's endpoint" in line for line in estimate["assumed"])


def test_an_endpoint_that_fails_or_is_not_on_this_machine_is_an_error(server: Loopback) -> None:
    spec = added(server)
    server.behaviour = Behaviour(statuses={"chat": 500})
    with pytest.raises(ProviderError, match=r"'grader' at .* answered 500.*reader 'grader'"):
        read(spec)
    with pytest.raises(ProviderError, match="--offline keeps every request on this machine"):
        add_endpoint("https://grader.example/v1", model="m", template="plain", offline=True)


def test_so_many_questions_are_in_flight_as_the_environment_says(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = added(server)
    for most in (8, 2):
        server.reset()
        server.hold_until_in_flight(most)
        transport = Transport(limiter())
        reader = UserReader(spec, model=EndpointModel(spec, transport))
        pairs = [(f"{CLAIM} {at}", EVIDENCE) for at in range(20)]
        run_alone(lambda: reader.read(pairs), transport)  # noqa: B023  (it is called in this round)
        assert server.counts.most_in_flight == most
        monkeypatch.setenv("REDARGUE_READER_IN_FLIGHT", "2")
    monkeypatch.setenv("REDARGUE_READER_TIMEOUT", "soon")
    with pytest.raises(UsageError, match=r"expected a positive number, got 'soon' .REDARGUE_READER_TIMEOUT."):
        read(spec)


def test_a_cancelled_task_cancels_its_questions(server: Loopback) -> None:
    spec = added(server)
    server.hold_until_in_flight(1000)
    before = server.counts.requests["chat"]

    async def cancelled() -> None:
        transport = Transport()
        reader = UserReader(spec, model=EndpointModel(spec, transport))
        async with transport:
            task = asyncio.ensure_future(in_thread(lambda: reader.read([(CLAIM, EVIDENCE)]), Account()))
            await server.arrived(count=before + 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(cancelled())
    assert not loop_bridge._bridge.get()
    with pytest.raises(UsageError, match="asked only while a task is performed"):
        UserReader(spec, model=EndpointModel(spec, Transport())).read([(CLAIM, EVIDENCE)])


# keys


@pytest.mark.slow
def test_the_key_comes_from_a_variable_and_is_in_no_file_and_no_error(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REDARGUE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GRADER_API_KEY", KEY)
    server.behaviour = Behaviour(api_key=KEY, echo_key=True)
    add = ["models", "add", f"{server.url}/v1", "--as", "reader", "--model", "grader"]
    assert run(add) == 2  # 401 without the key
    assert run([*add, "--key-env", "GRADER_API_KEY"]) == 0
    server.behaviour = Behaviour(api_key="another", echo_key=True)
    assert run(["check", CLAIM, "--store", "starter", "--reader", "grader"]) == 2
    written = [path.read_text(errors="replace") for path in (tmp_path / "home").rglob("*.json")]
    said = "".join([*capfd.readouterr(), *written])
    assert "GRADER_API_KEY" in said
    assert KEY not in said
    monkeypatch.delenv("GRADER_API_KEY")
    assert run([*add, "--key-env", "GRADER_API_KEY"]) == 2
    error = capfd.readouterr().err
    assert "GRADER_API_KEY is not set" in error
    assert f"set it to the key of {server.url}/v1" in error


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["https://user:hunter2-secret-77@host/v1", "--model", "m"], "contains a password or key"),
        (["https://host/v1?api_key=hunter2-secret-77", "--model", "m"], "contains a password or key"),
        (["https://host/v1", "--model", "m", "--key-env", "hunter2-secret-77"], "the name of an environment variable"),
        (["https://host/v1"], "needs the name of a model"),
        (["https://host/v1", "--model", "m", "--longest", "100"], "100 tokens are too few"),
        (["https://host/v1", "--model", "m", "--labels", "a,b"], "--labels belongs to a model in files"),
        (["folder", "--template", "plain"], "--template belongs to an endpoint"),
    ],
)
def test_what_cannot_be_an_endpoint_is_refused_without_showing_a_key(
    arguments: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", "add", *arguments, "--as", "reader"]) == 2
    error = capfd.readouterr().err
    assert said in error
    assert "hunter2" not in error


@pytest.mark.slow
def test_weights_are_fitted_to_a_grader_and_its_words_are_then_calibrated(
    server: Loopback, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    server.script = lambda ask: reply("Yes" if "yes" in ask.user.partition("Claim:")[0] else "No")
    assert run(["models", "add", f"{server.url}/v1", "--as", "reader", "--model", "grader"]) == 0
    rows = [
        {"claim": f"it is so {at // 2}", "evidence": f"{text} it is {at}", "label": label}
        for at in range(40)
        for text, label in (("yes", "SUPPORTS"), ("no", "NOT ENOUGH INFO"))
    ]
    data = tmp_path / "rows.jsonl"
    data.write_text("\n".join(map(json.dumps, rows)))
    assert run(["models", "fit", "grader", "--data", str(data)]) == 0
    assert "stored in" in capfd.readouterr().err
    check = ["check", CLAIM, "--store", "starter", "--reader", "grader", "--json", "-q"]
    assert run(check) == 0
    (verdict,) = json.loads(capfd.readouterr().out)["verdicts"]
    assert verdict["confidence"] is not None
