"""What an estimate says is what a debate then asks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import Claim
from redargue.errors import UsageError
from redargue.estimate import TOKENS, Estimate, estimate
from redargue.evidence import Passage
from redargue.llm.chat import ChatBackend
from redargue.methods import Agent, Method
from redargue.methods.base import configure
from redargue.methods.dry_run import costs, dry_run
from redargue.methods.made_up_agents import AGREES, DISAGREES
from redargue.net.transport import Service, Transport
from redargue.runs.budget import Price, Prices
from redargue.spec import RunSpec
from redargue.tasks.answer import Answer, AnswerClaim
from redargue.verdicts import Verdict
from redargue.verifier import Verifier
from support.debates import CLAIM, TEXT, ShelfTool, answer, checked, script
from support.loopback import Behaviour, Loopback
from support.scripts import agreeing, disagreeing, doubtful

pytestmark = pytest.mark.anyio

TOOLS = ("corpus", "keywords")
BRIDGE = Claim(text="The bridge at Orvell was opened in 1889.")


def opposed(task: Any, call: Any) -> Answer:
    return answer("SUPPORTS" if call.agent.startswith("corpus") else "REFUTES")


COURSES: dict[str, dict[str, Any]] = {
    "low": {},
    "likely": {"AnswerClaim": lambda task, call: opposed(task, call) if not task.own else answer("SUPPORTS")},
    "high": {"AnswerClaim": lambda task, call: opposed(task, call), "CheckStatements": checked(0, 0)},
}
DEBATE = RunSpec(method="tool-mad")
SETTINGS: list[dict[str, Any]] = [
    {},
    {"rounds": 2},
    {"rounds": 1},
    {"stable_by": "scores"},
    {"first_query": "model"},
    {"scored_together": False},
    {"one_request": False},
    {"query_formulation": False},
    {"scoring": "label_only_stop"},
    {"scoring": "run_all_rounds"},
    {"scoring": "run_all_rounds", "judge_scores": False},
    {"debaters": ("corpus", "none")},
    {"debaters": ("corpus", "corpus", "keywords")},
]


def evidence(document: str = "") -> dict[str, ShelfTool]:
    """Tools that find the same text, of a document that they name or do not."""
    return {name: ShelfTool(name, Passage(text=TEXT, title="Cape Ansel", document=document)) for name in TOOLS}


async def held(parts: dict[str, Any], settings: dict[str, Any], document: str = "") -> tuple[Counter[str], int]:
    """How often each task was asked, and how many searches were made."""
    backend = ScriptedBackend(script(**parts))
    # Scripted debaters never change their minds: a dry run is of a debate in which something is new each round.
    settings = {"keep_unchanged": False, **settings}
    with Verifier(DEBATE, backend=backend, evidence=evidence(document), settings=settings, claims=[CLAIM]) as verifier:
        verdict = await verifier.verify(CLAIM)
    assert verdict.error is None
    return Counter(task.name() for task, _ in backend.calls), verdict.usage.searches


@pytest.mark.slow
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("course", ["low", "high"])
async def test_a_dry_run_counts_what_a_debate_of_its_course_asks(course: str, settings: dict[str, Any]) -> None:
    asked, searches = await held(COURSES[course], settings)
    with Verifier(DEBATE, backend=ScriptedBackend(script()), evidence=evidence(), settings=settings) as verifier:
        run = dry_run(verifier.method, CLAIM, AGREES if course == "low" else DISAGREES)
        assert costs(verifier.method).low.size <= run.size
    assert run.calls == dict(asked)
    assert run.searches.total() == searches


@pytest.mark.parametrize(
    "settings",
    [
        {"query_formulation": False},
        {"debaters": ("corpus", "corpus")},
        {"first_query": "model"},
        {"scoring": "run_all_rounds", "rounds": 4},
    ],
)
async def test_the_lowest_cost_is_that_of_tools_that_find_the_same(settings: dict[str, Any]) -> None:
    asked, searches = await held({}, {"keep_unchanged": True, **settings}, document="the register")
    with Verifier(DEBATE, backend=ScriptedBackend(script()), evidence=evidence(), settings=settings) as verifier:
        low = costs(verifier.method).low
    assert (low.calls, low.searches.total()) == (dict(asked), searches)


async def test_the_likely_course_ends_in_its_second_round() -> None:
    asked, searches = await held(COURSES["likely"], {})
    with Verifier(DEBATE, backend=ScriptedBackend(script()), evidence=evidence()) as verifier:
        likely = costs(verifier.method).likely
    assert likely.calls == dict(asked)
    assert likely.searches.total() == searches


def told(
    model: str = "gpt-4o-mini",
    *,
    claims: int = 1,
    rows: Sequence[Claim] = (),
    prices: Prices | None = None,
    **options: Any,
) -> Estimate:
    backend = ChatBackend(Transport(), Service(name="model", url="http://127.0.0.1:9"), model)
    with Verifier(DEBATE, backend=backend, evidence=evidence(), prices=prices, **options) as verifier:
        return estimate(verifier, rows or [BRIDGE] * claims, concurrency=4)


@pytest.mark.parametrize(
    ("profile", "course", "expected"),
    [
        ("paper", "low", (10, 5, 2)),
        ("paper", "likely", (20, 8, 4)),
        ("paper", "high", (31, 16, 6)),
        ("hardened", "low", (2, 2, 2)),
        ("hardened", "likely", (6, 5, 4)),
        ("hardened", "high", (18, 14, 7)),  # both tools find the same for the claim
    ],
)
def test_calls_depth_and_searches_of_a_debate(profile: str, course: str, expected: tuple[int, int, int]) -> None:
    row = getattr(told(profile=profile), course)
    assert (row.calls, row.depth, row.searches) == expected


@pytest.mark.slow
def test_claims_that_are_read_together_cost_no_call_each() -> None:
    backend = ChatBackend(Transport(), Service(name="model", url="http://127.0.0.1:9"), "gpt-4o-mini")
    with Verifier(RunSpec(method="one-pass"), backend=backend, evidence=evidence()) as verifier:
        found = {count: estimate(verifier, [BRIDGE] * count, together=True) for count in (0, 1, 20, 45)}
        alone = estimate(verifier, [BRIDGE] * 20)
    calls = {count: (each.low.calls, each.likely.calls, each.high.calls) for count, each in found.items()}
    assert calls == {0: (0, 0, 0), 1: (1, 1, 3), 20: (1, 2, 22), 45: (3, 6, 51)}
    assert (alone.likely.calls, alone.high.calls) == (20, 60)
    assert found[20].likely.prompt_tokens == alone.likely.prompt_tokens
    assert found[20].likely.seconds < alone.likely.seconds


@pytest.mark.parametrize("method", ["single-reader", "one-pass", "pair", "tool-mad"])
def test_the_tokens_of_every_task_of_a_default_method_were_measured(method: str) -> None:
    tasks = configure(method, "hardened", {}).tasks()
    assert {task.name() for task in tasks if task.charge == "call"} <= TOKENS.keys()


def test_price_time_and_calls_grow_with_the_claims_and_an_unknown_price_is_none() -> None:
    one, ten = told().likely, told(claims=10).likely
    assert one.usd is not None
    assert ten.usd == pytest.approx(10 * one.usd, rel=1e-3)
    assert (ten.calls, ten.seconds) == (60, 3 * one.seconds)  # four at once: three waves
    unknown = told("a-model-of-my-own")
    assert unknown.likely.usd is None
    assert any("a-model-of-my-own" in line for line in unknown.assumed)


def test_a_role_with_a_dearer_model_makes_it_dearer() -> None:
    prices = Prices(
        models={"cheap": Price(input=1, output=1), "dear": Price(input=100, output=100)},
        searches=dict.fromkeys(TOOLS, 0.0),
    )
    plain = told("cheap", prices=prices).high.usd
    judged = told("cheap", prices=prices, models={"judge": "dear"}).high.usd
    assert plain is not None
    assert judged is not None
    assert judged > 5 * plain


def test_a_method_with_one_agent_is_paid_for_with_the_agents_model() -> None:
    prices = Prices(
        models={"cheap": Price(input=1, output=1), "dear": Price(input=100, output=100)},
        searches=dict.fromkeys(TOOLS, 0.0),
    )
    plain = told("cheap", prices=prices, method="react").likely.usd
    dear = told("cheap", prices=prices, method="react", models={"agent": "dear"}).likely.usd
    assert plain is not None
    assert dear == pytest.approx(100 * plain, rel=1e-3)


SAID = Claim(text="It was opened in 1889.", context="The bridge is in Orvell. It was opened in 1889.")


def test_claims_in_a_text_cost_what_the_method_does_with_their_context() -> None:
    alone, both = told(method="safe", claims=1), told(method="safe", rows=[BRIDGE, SAID, SAID])
    assert alone.likely.calls == 6
    assert both.likely.calls == 6 + 2 * 7
    assert (both.likely.depth, both.claims) == (12, 3)  # seven calls and five searches about a claim with a context


def test_claims_that_the_method_refuses_are_named_and_cost_nothing() -> None:
    settings: dict[str, Any] = {"method": "program-fc", "settings": {"setting": "gold"}}
    with pytest.raises(UsageError, match="no gold evidence: the claim 'The bridge at Orvell"):
        told(**settings)
    some = told(**settings, rows=[BRIDGE, BRIDGE, SAID])
    assert some.low.calls == 2
    assert any(line.startswith("nothing for 2 claims: no gold evidence") for line in some.assumed)


class Jury(Method, name="jury"):
    """Jurors answer until they agree; it declares nothing about its cost."""

    roles: ClassVar = {"first": "corpus", "second": "keywords"}
    asks = (AnswerClaim,)
    most = 4

    async def check(self, claim: Claim, first: Agent, second: Agent) -> Verdict:
        for round_ in range(1, self.most + 1):
            labels = {await self.vote(claim, juror, round_) for juror in (first, second)}
            if len(labels) == 1:
                break
        return self.verdict(labels.pop() if len(labels) == 1 else None, decided_by="jury", rounds=round_)

    async def vote(self, claim: Claim, juror: Agent, round_: int) -> str | None:
        passages = await juror.search(claim.text, round_=round_)
        return (await juror.perform(AnswerClaim(claim=claim, passages=passages), round_=round_)).label


def test_a_method_of_others_has_an_estimate_without_declaring_one() -> None:
    sums = told(method="jury")
    assert [(row.calls, row.searches, row.depth) for row in (sums.low, sums.likely, sums.high)] == [
        (2, 2, 4),
        (4, 4, 8),
        (8, 8, 16),
    ]


class EndlessJury(Jury, name="endless-jury"):
    """Jurors that never stop."""

    most = 10**9

    async def vote(self, claim: Claim, juror: Agent, round_: int) -> str | None:
        await juror.perform(AnswerClaim(claim=claim), round_=round_)
        return juror.name


class BrokenJury(Jury, name="broken-jury"):
    """A jury with a mistake."""

    async def vote(self, claim: Claim, juror: Agent, round_: int) -> str | None:
        raise KeyError("label")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("endless-jury", "more than 3,000 requests about one claim"),
        ("broken-jury", r"unknown for the method 'broken-jury': with made-up replies it raises KeyError.*\n.*--budget"),
    ],
)
def test_a_method_that_does_not_end_or_fails_says_so(method: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        told(method=method)


async def debate(server: Loopback, **options: Any) -> Any:
    """A debate over HTTP, between two debaters with a model each."""
    backend = ChatBackend(
        Transport(), Service(name="model", url=f"{server.url}/v1"), "judge", embedding_model="loopback-embedding"
    )
    models = {"corpus": "for-model", "keywords": "against-model"}
    with Verifier(DEBATE, backend=backend, evidence=evidence(), models=models, profile="paper", **options) as verifier:
        return await verifier.verify(BRIDGE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("course", "rounds", "with_n", "without"),
    [(agreeing, 1, 10, 14), (disagreeing, 3, 31, 43), (doubtful, 3, 31, 43)],
)
async def test_calls_are_those_of_the_algorithm_as_the_server_counts_them(
    course: Any, rounds: int, with_n: int, without: int
) -> None:
    with Loopback(course) as server:
        verdict = await debate(server)
        assert (verdict.rounds, verdict.usage.calls, server.counts.requests["chat"]) == (rounds, with_n, with_n)
        server.behaviour = Behaviour(refuse=("n",))
        await debate(server)  # finds out that n is refused
        server.reset()
        verdict = await debate(server)
        assert (verdict.usage.calls, server.counts.requests["chat"]) == (without, without)
        tokens = server.counts.prompt_tokens + server.counts.completion_tokens
        assert verdict.usage.prompt_tokens + verdict.usage.completion_tokens == tokens + server.counts.embedding_tokens


def test_estimate_on_the_command_line_sends_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from redargue.cli import app

    with Loopback() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        assert (
            app.run(
                ["estimate", BRIDGE.text, "--model", "gpt-4o-mini", "--method", "tool-mad", "--rounds", "2", "--json"]
            )
            == 0
        )
        assert Estimate.model_validate_json(capsys.readouterr().out).high.calls == 12
        assert app.run(["estimate", BRIDGE.text]) == 0
        assert "likely" in capsys.readouterr().out
        assert not server.requests


def durations(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[str, float]:
    from redargue.cli import app

    assert app.run(["estimate", BRIDGE.text, "--store", "starter", "--json", *options]) == 0
    found = Estimate.model_validate_json(capsys.readouterr().out)
    return found.assumed[0], found.likely.seconds


def test_short_durations_are_assumed_for_small_models_and_files_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    local = "0.01 s per call, 0.01 s per search, concurrency 2"
    assert durations(capsys, "--tool", "corpus") == (local, 0.02)
    web = "0.01 s per call, 1 s per search, concurrency 2"
    assert durations(capsys, "--tool", "wikipedia") == (web, 1.01)
    assert told().assumed[0].startswith("1.5 s per call, 1 s per search")
