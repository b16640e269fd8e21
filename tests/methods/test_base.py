"""The base class of methods: what it derives, enforces and assembles."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import redargue
from redargue.backends.scripted import ScriptedBackend
from redargue.claims import TWO, Claim
from redargue.errors import UsageError
from redargue.events import Answered, EvidenceMissing
from redargue.evidence import QuoteStatus, Side
from redargue.methods import Agent, Method, methods
from redargue.methods.base import ConfiguredMethod, MethodSettings, configure
from redargue.retrieval.tools import Search
from redargue.run import Run
from redargue.tasks import Answer, AnswerClaim, WriteQuery
from redargue.tasks.query import Query, RewriteQuery
from redargue.verdicts import Verdict
from support.debates import CLAIM, CLOCK, QUOTE, ShelfTool, answer

pytestmark = pytest.mark.anyio


class TwoReaders(Method, name="two-readers"):
    """Two readers, of whom the second one's answer counts.

    More about it.
    """

    roles = {"corpus-reader": "corpus", "web-reader": ("keywords", "corpus")}
    asks = (AnswerClaim,)

    async def check(self, claim: Claim, web_reader: Agent) -> Answer:
        first = self.agents["corpus-reader"]
        await first.perform(AnswerClaim(claim=claim, passages=await first.search(claim.text)))
        return await web_reader.perform(AnswerClaim(claim=claim, passages=await web_reader.search(claim.text)))


def run(*answers: Answer) -> Run:
    backend = ScriptedBackend({AnswerClaim: list(answers) or answer("SUPPORTS")})
    return Run(backend, {name: ShelfTool(name) for name in ("corpus", "keywords")}, clock=CLOCK)


async def verify(method: type[Method], run: Run, claim: Claim = CLAIM) -> Verdict:
    return await ConfiguredMethod(method, method.settings_class()).verify(claim, run)


def test_tools_agents_and_tasks_are_derived_from_what_a_method_declares() -> None:
    method = configure("two-readers", "hardened", {})
    assert method.tools() == ("corpus", "keywords")
    assert method.agents() == ("corpus-reader", "web-reader")
    assert method.tasks() == (AnswerClaim,)
    assert TwoReaders.about == "Two readers, of whom the second one's answer counts"


async def test_an_answer_becomes_a_verdict_with_its_quotations_looked_up_and_its_author_named() -> None:
    invented = Answer(text="It says so.", label="SUPPORTS", quotes=(QUOTE, "It was lit by mermaids."))
    happened = run(answer("REFUTES"), invented)
    verdict = await verify(TwoReaders, happened)
    assert (verdict.label, verdict.decided_by, verdict.reason) == ("SUPPORTS", "web-reader", "It says so.")
    assert [quote.text for quote in verdict.side(Side.FOR)] == [QUOTE]
    assert [quote.text for quote in verdict.quotes if quote.status is QuoteStatus.NOT_FOUND] == [
        "It was lit by mermaids."
    ]
    (event,) = [event for event in happened.events if isinstance(event, Answered)]
    assert event.agent == "web-reader"


async def test_several_tools_of_an_agent_are_searched_and_each_text_is_kept_once() -> None:
    happened = run()
    await verify(TwoReaders, happened)
    assert happened.usage.by_tool == {"corpus": 2, "keywords": 1}


async def test_an_agent_that_keeps_its_query_searches_with_it_again() -> None:
    tool = ShelfTool("corpus")
    backend = ScriptedBackend({RewriteQuery: Query(kept=True)})
    agent = Agent("reader", Run(backend, {"corpus": tool}, clock=CLOCK), tools=("corpus",))
    first = await agent.search("lighthouse")
    task = RewriteQuery(claim=CLAIM, tool="corpus", about=tool.about, others=(), used="lighthouse")
    assert await agent.search((await agent.perform(task)).text) == first != ()
    assert tool.queries == ["lighthouse", "lighthouse"]


async def test_a_search_without_any_query_finds_nothing_and_says_why() -> None:
    tool = ShelfTool("corpus")
    happened = Run(ScriptedBackend({}), {"corpus": tool}, clock=CLOCK)
    assert await Agent("reader", happened, tools=("corpus",)).search(" ") == ()
    (event,) = happened.events
    assert isinstance(event, EvidenceMissing)
    assert event.why.startswith("the query is empty")
    assert tool.queries == []


class Meddler(Method, name="meddler"):
    """Does what it does not declare."""

    roles = {"reader": "corpus"}
    asks = (AnswerClaim,)
    deed = ""

    async def check(self, claim: Claim, reader: Agent) -> Answer:
        if self.deed == "task":
            await reader.perform(WriteQuery(claim=claim, tool="corpus", about=""))
        if self.deed == "tool":
            await reader.search(claim.text, tool="keywords")
        if self.deed == "role":
            self.agent("judge")
        return Answer(text="", label=None)


@pytest.mark.parametrize(
    ("deed", "message"),
    [
        (
            "task",
            "'reader' cannot perform WriteQuery: its method does not declare it\n.*add WriteQuery to the method's",
        ),
        ("tool", "'reader' searched with 'keywords', which is not one of its tools\n.*its tools: corpus; add"),
        ("role", "'meddler' has no role 'judge'\n.*known: reader"),
    ],
)
async def test_a_role_a_task_or_a_tool_that_was_not_declared_is_refused(
    deed: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Meddler, "deed", deed)
    with pytest.raises(UsageError, match=message):
        await verify(Meddler, run())


def test_what_a_method_does_wrong_is_the_verdicts_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Meddler, "deed", "role")
    backend = ScriptedBackend({AnswerClaim: answer("SUPPORTS")})
    verdict = redargue.verify_sync(CLAIM, method="meddler", backend=backend, evidence={"corpus": ShelfTool("corpus")})
    assert verdict.error is not None
    assert verdict.error.type == "UsageError"


async def aimless(self: object) -> None:
    """Takes no claim."""


def test_a_method_needs_a_name_in_kebab_case_a_coroutine_and_what_it_declares() -> None:
    with pytest.raises(TypeError, match="'Single_Reader' is not kebab-case"):
        type("Odd", (Method,), {}, name="Single_Reader")
    with pytest.raises(TypeError, match="needs a coroutine method `check`"):
        type("Odd", (Method,), {"check": lambda self, claim: None}, name="odd")
    for wrong, said in (
        ({"check": aimless}, "needs a coroutine method `check`"),
        ({"check": Sided.check, "asks": AnswerClaim}, "its 'asks' is .*AnswerClaim.*, not a tuple of tasks"),
        ({"check": Sided.check, "may_ask": ("AnswerClaim",)}, "its 'may_ask' is .*, not a tuple of tasks"),
        ({"check": Sided.check, "roles": ["reader"]}, r"its 'roles' are \['reader'\], not a mapping"),
        ({"check": Sided.check, "settings_class": dict}, "its settings, <class 'dict'>, are no subclass"),
    ):
        with pytest.raises(TypeError, match=said):
            type("Odd", (Method,), wrong, name="odd")
    assert not {"odd", "Single_Reader"} & set(methods)


class Sided(Method, name="sided"):
    """Needs two sides."""

    async def check(self, claim: Claim) -> Verdict:
        return self.verdict(self.two_sides()[1], decided_by="nobody")


async def test_a_label_set_without_two_sides_is_refused_by_name() -> None:
    assert (await verify(Sided, run(), CLAIM.model_copy(update={"labels": TWO}))).meaning is None
    options: Any = Claim(text="Which?", labels=redargue.LabelSet(name="letters", labels=()))
    with pytest.raises(UsageError, match="sided cannot give the labels 'letters'"):
        await verify(Sided, run(), options)


def test_random_numbers_depend_on_the_seed_and_the_purpose_alone() -> None:
    first, second = (Run(ScriptedBackend({}), seed=seed, clock=CLOCK) for seed in (1, 2))
    numbers = {
        (name, part): Sided(MethodSettings(), CLAIM, made).rng(part).random()
        for name, made in (("first", first), ("second", second))
        for part in ("a", "b")
    }
    assert len(set(numbers.values())) == 4
    assert Sided(MethodSettings(), CLAIM, first).rng("a").random() == numbers["first", "a"]


async def test_a_repeated_query_shows_the_next_passages_where_the_method_is_hardened() -> None:
    shelf = [redargue.Passage(text=f"Passage {number}.") for number in range(1, 6)]
    for further, expected in ((True, ["Passage 3.", "Passage 4."]), (False, ["Passage 1.", "Passage 2."])):
        run = Run(ScriptedBackend(), {"corpus": ShelfTool("corpus", *shelf)}, clock=CLOCK)
        agent = Agent("reader", run, tools=("corpus",), next_results=further)
        assert [passage.text for passage in await agent.search("q", 2)] == ["Passage 1.", "Passage 2."]
        assert [passage.text for passage in await agent.search("q", 2, round_=2)] == expected
    assert [passage.text for passage in await agent.search("other", 2)] == ["Passage 1.", "Passage 2."]


@pytest.mark.parametrize("seconds", [0.0, 0.01])  # as in a replay, and as in a run
async def test_equal_concurrent_queries_show_the_next_passages_however_long_a_search_takes(seconds: float) -> None:
    class Slow(ShelfTool):
        async def search(self, query: str, k: int, *, search: Search) -> tuple[redargue.Passage, ...]:
            await asyncio.sleep(seconds)
            return await super().search(query, k, search=search)

    shelf = [redargue.Passage(text=f"Passage {number}.") for number in range(1, 6)]
    run = Run(ScriptedBackend(), {"corpus": Slow("corpus", *shelf)}, clock=CLOCK)
    agent = Agent("reader", run, tools=("corpus",), next_results=True)
    first, second = await asyncio.gather(agent.search("q", 2), agent.search("q", 2))
    assert [passage.text for passage in first] == ["Passage 1.", "Passage 2."]
    assert [passage.text for passage in second] == ["Passage 3.", "Passage 4."]


def test_a_list_is_written_with_plus_signs_as_in_a_bench() -> None:
    settings = configure("tool-mad", "hardened", {"debaters": "corpus+wikipedia"}).settings
    assert settings.debaters == ("corpus", "wikipedia")
    assert configure("mermaid", "hardened", {"tools": ""}).settings.tools == ()
