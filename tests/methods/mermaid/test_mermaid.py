"""MERMAID's loop: steps, observations, repeated and malformed ones, the forced answer, the released program's ways."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import TWO, Claim
from redargue.errors import BadReply, ToolFailed
from redargue.events import CallFinished, Decomposed, EvidenceFound, EvidenceMissing, EvidenceRecalled, Stepped
from redargue.evidence import Passage, QuoteStatus
from redargue.memory.memory import open_memory
from redargue.methods.base import ConfiguredMethod, configure
from redargue.methods.mermaid import Mermaid, MermaidSettings, one_relation
from redargue.methods.mermaid.tasks import NextStep
from redargue.nli.grammar import decompose
from redargue.retrieval.tools import Search
from redargue.run import Run
from redargue.tasks.step import Step
from redargue.verdicts import Verdict
from retrieval.corpus.words import WordEncoder
from support.debates import CLOCK, QUOTE, ShelfTool, act, answer, say_label, script

pytestmark = pytest.mark.anyio
CLAIM = Claim(text="The lighthouse at Cape Ansel was lit in 1871.", labels=TWO)


class Article:
    """A tool of a server that wants a title, and a language if one likes."""

    name, about, revision = "get_article", "the whole article", "1"
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {"language": {"type": "string"}, "title": {"type": "string"}},
        "required": ["title"],
    }

    def __init__(self) -> None:
        self.calls: list[Mapping[str, Any]] = []

    async def call(self, arguments: Mapping[str, Any], *, search: Search) -> tuple[Passage, ...]:
        self.calls.append(arguments)
        if arguments.get("title") == "broken":
            raise ToolFailed("no such article")
        return (Passage(text=QUOTE, title="Cape Ansel"),)


async def verify(*steps: Any, tools: tuple[str, ...] = ("corpus",), **given: Any) -> tuple[Verdict, Run, Article]:
    """Runs the loop with these steps, one after the other; the last is repeated."""
    lines = {name: given.pop(name) for name in list(given) if name[0].isupper()}
    kept = given.pop("kept", None)
    given.setdefault("memory", "off")
    turns = list(steps)

    def next_step(task: NextStep, call: Any) -> Step:
        step = turns.pop(0) if len(turns) > 1 else turns[0]
        if isinstance(step, Exception):
            raise step
        found: Step = step(task) if callable(step) else step
        return found

    article = Article()
    backend = ScriptedBackend(script(**({"NextStep": next_step} | lines)))
    run = Run(
        backend, {name: ShelfTool(name) for name in tools}, clock=CLOCK, actions={"get_article": article}, memory=kept
    )
    verdict = await ConfiguredMethod(Mermaid, MermaidSettings(tools=tools, **given)).verify(CLAIM, run)
    return verdict, run, article


def performed(run: Run) -> list[str]:
    return [each.task for each in run.events if isinstance(each, CallFinished)]


async def test_a_search_an_observation_and_an_answer_with_its_quotation() -> None:
    verdict, run, _ = await verify(act("corpus", "lighthouse"), lambda task: say_label(task, QUOTE))
    assert (verdict.label, verdict.decided_by, verdict.rounds) == ("SUPPORTS", "executor", 2)
    assert [quote.status for quote in verdict.quotes] == [QuoteStatus.VERIFIED]
    assert performed(run) == ["DecomposeClaim", "NextStep", "NextStep"]
    kinds = [type(each) for each in run.events if not isinstance(each, CallFinished)]
    assert kinds == [Decomposed, Stepped, EvidenceFound, Stepped]


async def test_the_next_step_sees_what_the_last_one_found() -> None:
    seen: list[NextStep] = []

    def answering(task: NextStep) -> Step:
        seen.append(task)
        return say_label(task)

    await verify(act("corpus", "lighthouse"), answering)
    (past,) = seen[0].steps
    assert past.passages[0].title == "Cape Ansel"
    assert {tool.name for tool in seen[0].tools} == {"corpus", "get_article"}
    assert (seen[0].step, seen[0].last) == (2, 5)


async def test_a_text_goes_to_the_first_required_parameter_and_an_object_to_the_named_ones() -> None:
    _, _, article = await verify(
        act("get_article", "Cape Ansel"), act("get_article", '{"title": "Cape Ansel", "language": "de"}'), say_label
    )
    assert article.calls == [{"title": "Cape Ansel"}, {"title": "Cape Ansel", "language": "de"}]


@pytest.mark.parametrize(
    ("schema", "written", "arguments"),
    [
        ({"properties": {"limit": {"type": "integer"}}, "required": ["limit"]}, "5", {"limit": 5}),
        ({"properties": {"limit": {"type": "integer"}}}, "five", {"limit": "five"}),
        ({"properties": {"year": {"type": "string"}}}, "1871", {"year": "1871"}),
        ({"properties": {"title": True}}, "Ansel", {"title": "Ansel"}),
        ({"type": "object"}, "", {}),
        ({"required": ["query"]}, "[" * 3_000, {"query": "[" * 3_000}),
        ({"required": ["query"]}, '{"query": "half a face \\ud83d"}', {"query": '{"query": "half a face \\ud83d"}'}),
        ({"required": ["query"]}, '{"query": NaN}', {"query": '{"query": NaN}'}),
    ],
)
async def test_a_text_is_read_as_the_parameters_schema_says(
    schema: dict[str, Any], written: str, arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Article, "parameters", schema)
    _, _, article = await verify(act("get_article", written), say_label)
    assert article.calls == [arguments]


async def test_the_same_call_is_not_made_twice_and_the_agent_is_told() -> None:
    seen: list[NextStep] = []

    def answering(task: NextStep) -> Step:
        seen.append(task)
        return say_label(task)

    _, run, article = await verify(act("get_article", "A"), act("get_article", '{"title": "A"}'), answering)
    assert len(article.calls) == 1
    assert "step 1" in seen[0].steps[1].note
    assert [each.problem for each in run.events if isinstance(each, Stepped)][1]


async def test_a_call_that_failed_can_be_made_again() -> None:
    seen: list[NextStep] = []

    def answering(task: NextStep) -> Step:
        seen.append(task)
        return say_label(task)

    _, run, article = await verify(act("get_article", "broken"), act("get_article", "broken"), answering)
    assert len(article.calls) == 2
    assert ["no such article" in step.problem for step in seen[0].steps] == [True, True]
    assert not any(each.problem for each in run.events if isinstance(each, Stepped) and each.tool)


async def test_an_unknown_tool_and_a_failing_one_are_observations_that_cost_a_step() -> None:
    steps = act("search_web", "x"), act("get_article", "broken"), say_label
    verdict, run, _ = await verify(*steps, profile="paper")
    missing = [each for each in run.events if isinstance(each, EvidenceMissing)]
    assert ["no tool" in each.why or "no such article" in each.why for each in missing] == [True, True]
    assert verdict.rounds == 3
    assert len(verdict.gaps) == 2


async def test_a_step_that_cannot_be_read_costs_a_step_and_says_why() -> None:
    seen: list[NextStep] = []

    def answering(task: NextStep) -> Step:
        seen.append(task)
        return say_label(task)

    verdict, _, _ = await verify(BadReply("no JSON object was found", raw="hm"), answering, profile="paper")
    assert verdict.rounds == 2
    assert "no JSON object was found" in seen[0].steps[0].problem


async def test_a_model_that_always_asks_is_made_to_answer_after_the_last_step() -> None:
    verdict, run, _ = await verify(lambda task: act("corpus", f"query {task.step}"), ForceAnswer=answer("REFUTES"))
    assert (verdict.label, verdict.decided_by) == ("REFUTES", "forced")
    assert performed(run).count("NextStep") == 5
    assert performed(run)[-1] == "ForceAnswer"
    last = [each for each in run.events if isinstance(each, EvidenceFound)]
    assert len(last) == 5


@pytest.mark.parametrize(("profile", "offered"), [("hardened", [2, 2, 0]), ("paper", [2, 2, 2])])
async def test_the_last_step_of_the_hardened_profile_offers_no_tools(profile: str, offered: list[int]) -> None:
    seen: list[int] = []

    def asking(task: NextStep) -> Step:
        seen.append(len(task.tools))
        return act("corpus", f"query {task.step}") if task.step < task.last else say_label(task)

    await verify(asking, max_steps=3, profile=profile)
    assert seen == offered


async def test_a_first_step_that_is_the_last_may_search() -> None:
    _, run, _ = await verify(lambda task: act(task.tools[0].name, "query"), ForceAnswer=answer("REFUTES"), max_steps=1)
    assert performed(run)[-1] == "ForceAnswer"


@pytest.mark.parametrize(("missing", "label"), [("none", None), ("true", "SUPPORTS")])
async def test_a_forced_answer_that_cannot_be_read_is_a_missing_one(missing: str, label: str | None) -> None:
    def silent(task: Any, call: Any) -> Any:
        raise BadReply("no label", raw="who knows")

    def searching(task: NextStep) -> Step:
        return act("corpus", f"q {task.step}")

    verdict, _, _ = await verify(searching, ForceAnswer=silent, non_answer=missing, max_steps=2)
    assert (verdict.label, verdict.decided_by) == (label, "forced")


async def test_the_released_program_says_true_where_nothing_was_answered() -> None:  # MM-1
    verdict, run, _ = await verify(
        lambda task: act("corpus", f"q {task.step}"), force_answer=False, non_answer="true", max_steps=2
    )
    assert verdict.label == "SUPPORTS"
    assert "ForceAnswer" not in performed(run)
    assert Mermaid.profiles["authors"]["non_answer"] == "true"


async def test_without_a_decomposer_the_claim_goes_to_the_executor_as_it_is() -> None:
    seen: list[NextStep] = []

    def answering(task: NextStep) -> Step:
        seen.append(task)
        return say_label(task)

    _, run, _ = await verify(answering, decomposer=False)
    assert "DecomposeClaim" not in performed(run)
    assert seen[0].background is None


async def test_without_tools_there_is_nothing_to_call_but_those_of_servers() -> None:
    seen: list[NextStep] = []

    def answering(task: NextStep) -> Step:
        seen.append(task)
        return say_label(task)

    await verify(answering, tools=())
    assert [tool.name for tool in seen[0].tools] == ["get_article"]


async def test_what_one_claim_found_is_recalled_for_the_next(tmp_path: Path) -> None:
    seen: list[NextStep] = []

    def answering(task: NextStep) -> Step:
        seen.append(task)
        return say_label(task, QUOTE)

    with open_memory(tmp_path / "memory.db", encoder=WordEncoder()) as memory:
        await verify(act("corpus", "lighthouse"), answering, memory="on", kept=memory)
        assert memory.count() == 1
        verdict, run, _ = await verify(answering, memory="on", kept=memory)
    assert [item.passage.title for item in seen[1].memory] == ["Cape Ansel"]
    assert verdict.quotes[0].found  # a quotation may stand in what was remembered
    assert [each.items[0].entities for each in run.events if isinstance(each, EvidenceRecalled)] == [
        ("lighthouse", "1871")
    ]


async def test_a_memory_may_be_a_tool_whose_answers_are_not_kept_again(tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory.db", encoder=WordEncoder()) as memory:
        await verify(act("corpus", "lighthouse"), say_label, memory="on", kept=memory)
        verdict, run, _ = await verify(
            act("memory_lookup", "The Lighthouse"), say_label, memory="on", memory_lookup=True, kept=memory
        )
        assert memory.count() == 1
    found = [each for each in run.events if isinstance(each, EvidenceFound)]
    assert [each.passages[0].title for each in found] == ["Cape Ansel"]
    assert verdict.rounds == 2
    assert verdict.usage.searches == 0  # M15: a look into the memory is not a search


@pytest.mark.parametrize("profile", ["paper", "authors"])
async def test_algorithm_1_and_the_released_program_make_the_same_call_again(profile: str) -> None:  # MM-2
    again = act("get_article", "A"), act("get_article", "A"), say_label
    _, run, article = await verify(*again, repeat_calls=Mermaid.profiles[profile]["repeat_calls"])
    assert len(article.calls) == 2
    assert not any(each.problem for each in run.events if isinstance(each, Stepped))


# A claim with one relation (MM-4).


@pytest.mark.slow
@pytest.mark.parametrize(
    ("claim", "entities"),
    [
        ("Damascus is the capital of Syria", ("Damascus", "the capital of Syria")),
        ("Jack Dorsey served as the CEO of Twitter until 2008", ("Jack Dorsey", "the CEO of Twitter until 2008")),
        ("According to the ministry, Georgia produces 130 million pounds of peaches each year.", None),
        ("CRY proteins mediate light signal transduction.", None),  # no verb that grammar knows: the model is asked
        ("Asymptomatic bacteriuria has no effect on the risk for preterm delivery and low birth weight.", None),
        ("NXT Tag Team Championship was created by WWE in 2002.", None),
        ("Damaskus ist die Hauptstadt von Syrien und war es schon im Mittelalter.", None),
        ("Hurling.", None),
        ("The Bank of England was founded in 1694.", ("The Bank of England", "1694")),
        ("The Sydney Bridge opened in 1950 and Paris is the capital of France.", None),
        ("Björn Borg plays tennis. So does a member of the band.", None),
        ("John O'Hara and Rabindranath Tagore are not the same nationality.", None),
        ("The director of Jaws won an Oscar.", None),
        ("G Stanley Hall was born before the creator of a study of genius.", None),
        ("The Potomac River runs along the neighborhood where the wedding was held.", None),
        ("Jonathan Franzen's father was born in Germany.", None),
        ("China Blue was released earlier than Hot Girls Wanted.", None),
        ("Medici was created by Reiner Knizia, not Junta.", None),
    ],
)
def test_a_claim_has_one_relation_where_grammar_finds_one_between_two_entities(claim: str, entities: Any) -> None:
    found = one_relation(claim)
    assert (found.entities if found else None) == entities


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("... but Rome fell", ("Rome",)),
        ("“…”; Rome (Italy) is old", ("Rome", "old", "Italy")),
        ("Rome (...) is old; —", ("Rome", "old")),
        ("... (Rome)", ("Rome",)),
        ("... that ...", ("that",)),
    ],
)
def test_clauses_without_a_word_are_left_out_of_a_decomposition(text: str, entities: tuple[str, ...]) -> None:
    assert decompose(Claim(text=text).text).entities == entities


@pytest.mark.parametrize(("simple", "asked"), [("whole", 0), ("decomposed", 1)])
async def test_a_claim_with_one_relation_is_not_decomposed_by_a_model(simple: str, asked: int) -> None:
    claim = Claim(text="Damascus is the capital of Syria.", labels=TWO)
    run = Run(ScriptedBackend(script()), {name: ShelfTool(name) for name in ("corpus", "keywords")}, clock=CLOCK)
    given = {"memory": "off", "simple_claims": simple}
    verdict = await configure("mermaid", "hardened", given).verify(claim, run)
    assert verdict.label == "SUPPORTS"
    (decomposed,) = [event for event in run.events if isinstance(event, Decomposed)]
    named = ("Damascus", "the capital of Syria") if simple == "whole" else ("the lighthouse", "1871")
    assert decomposed.entities == named
    calls = [event.task for event in run.events if isinstance(event, CallFinished)]
    assert calls.count("DecomposeClaim") == asked
    steps = [task for task, _ in run.backend.calls if isinstance(task, NextStep)]  # type: ignore[attr-defined]
    assert all(("Background" in task.prompt_text()) == (simple == "decomposed") for task in steps)


async def test_the_papers_profile_decomposes_every_claim() -> None:
    run = Run(ScriptedBackend(script()), {name: ShelfTool(name) for name in ("corpus", "keywords")}, clock=CLOCK)
    await configure("mermaid", "paper", {"memory": "off"}).verify(Claim(text="Ann was born in Rome.", labels=TWO), run)
    assert any(isinstance(event, CallFinished) and event.task == "DecomposeClaim" for event in run.events)
