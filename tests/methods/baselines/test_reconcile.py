"""ReConcile: who sees which samples and answers, when the discussion ends, the vote by confidence."""

from __future__ import annotations

from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import FREE_TEXT, OPTIONS, Claim
from redargue.errors import BadReply
from redargue.events import Answered, RoundEnded
from redargue.llm.rendering import Renderer
from redargue.methods.base import ConfiguredMethod, configure
from redargue.methods.baselines.reconcile import (
    AnswerSurely,
    AnswerWithConfidence,
    Reconcile,
    ReconcileSettings,
    rescaled_confidence,
    weighted_vote,
)
from redargue.methods.dry_run import costs
from redargue.run import Run
from redargue.verdicts import Verdict
from support.baselines.debates import CLAIM, GROUPS, sure
from support.debates import CLOCK, QUOTE, ShelfTool, script

pytestmark = pytest.mark.anyio
NEI = "NOT ENOUGH INFO"
BAD = BadReply("no JSON object was found", raw="Well.")


async def confer(
    *rounds: Any, tools: tuple[str, ...] = (), claim: Claim = CLAIM, seed: int = 0, **settings: Any
) -> tuple[Verdict, Run, list[tuple[str, AnswerSurely]]]:
    """The verdict, the run, and what was asked of whom; ``rounds`` hold each agent's answers."""
    lines = {f"agent-{place}": list(each) for place, each in enumerate(zip(*rounds, strict=True), 1)}
    parts = script()
    backend = ScriptedBackend({**parts, **{(AnswerSurely, agent): said for agent, said in lines.items()}})
    run = Run(backend, {name: ShelfTool(name) for name in tools}, clock=CLOCK, seed=seed)
    method = ConfiguredMethod(Reconcile, ReconcileSettings(tools=tools, agents=len(lines), **settings))
    verdict = await method.verify(claim, run)
    return verdict, run, [(call.agent, task) for task, call in backend.calls if isinstance(task, AnswerSurely)]


@pytest.mark.parametrize(
    ("confidence", "weight"),
    [(1.0, 1.0), (0.99, 0.8), (0.9, 0.8), (0.89, 0.5), (0.8, 0.5), (0.79, 0.3), (0.61, 0.3), (0.6, 0.1), (0.0, 0.1)],
)
def test_stated_confidences_weigh_less(confidence: float, weight: float) -> None:
    assert rescaled_confidence(confidence) == weight


def test_one_sure_agent_outvotes_two_less_sure_ones() -> None:
    weights = weighted_vote([("A", 0.95), ("B", 0.7), ("B", 0.7)])
    assert weights == {"A": pytest.approx(0.8 + 1e-5), "B": pytest.approx(0.3 + 1e-5 + 0.3)}
    assert max(weights, key=weights.__getitem__) == "A"


def test_of_equal_weights_the_first_voters_answer_stands() -> None:
    weights = weighted_vote([("B", 0.7), ("A", 0.7)])
    assert max(weights, key=weights.__getitem__) == "B"


async def test_agents_that_agree_at_once_do_not_discuss() -> None:
    verdict, run, calls = await confer([sure("REFUTES", 0.9)] * 3)
    assert (verdict.label, verdict.decided_by, verdict.rounds) == ("REFUTES", "consensus", 0)
    assert len(calls) == 3
    assert not any(task.groups for _, task in calls)
    (ended,) = [each for each in run.events if isinstance(each, RoundEnded)]
    assert (ended.round, ended.agreed, ended.accepted) == (0, True, True)


async def test_agents_that_differ_see_all_answers_grouped_until_they_agree() -> None:
    verdict, _, calls = await confer(
        [sure("REFUTES", 0.95, "Ninth."), sure("SUPPORTS", 0.7, "One."), sure("SUPPORTS", 0.75, "Two.")],
        [sure("REFUTES", 1.0)] * 3,
    )
    assert (verdict.label, verdict.decided_by, verdict.rounds) == ("REFUTES", "consensus", 1)
    assert verdict.round_labels == (("REFUTES", "SUPPORTS", "SUPPORTS"), ("REFUTES",) * 3)
    for _, task in calls[3:]:  # all see the same, their own answer included: RECONCILE-3
        told = task.model_copy(update={"profile": "paper"}).rendered().input_text
        assert told.endswith(
            "There are 2 agents that think the answer is SUPPORTS.\n"
            "One agent's solution: I think the answer is SUPPORTS because One. My confidence level is 0.7.\n"
            "One agent's solution: I think the answer is SUPPORTS because Two. My confidence level is 0.75.\n"
            "There is 1 agent that thinks the answer is REFUTES.\n"
            "One agent's solution: I think the answer is REFUTES because Ninth. My confidence level is 0.95."
        )


async def test_without_agreement_the_vote_by_confidence_decides_after_the_last_round() -> None:
    split = [sure("SUPPORTS", 0.95), sure("REFUTES", 0.7), sure("REFUTES", 0.7)]
    verdict, _, calls = await confer(*[split] * 4)
    assert (verdict.label, verdict.decided_by, verdict.rounds) == ("SUPPORTS", "vote", 3)
    assert len(calls) == 12
    assert configure("reconcile", "authors", {}).settings.model_dump()["rounds"] == 2  # RECONCILE-5


async def test_the_authors_program_shows_two_of_three_answers_reconcile_2() -> None:  # RECONCILE-2
    three = [sure("SUPPORTS", 0.5), sure("REFUTES", 0.5), sure(NEI, 0.5)]
    _, _, calls = await confer(three, three, rounds=1)
    assert [each.answer for each in calls[-1][1].groups] == ["SUPPORTS", "REFUTES", NEI]
    _, _, calls = await confer(three, three, rounds=1, groups=2)
    assert [each.answer for each in calls[-1][1].groups] == ["SUPPORTS", "REFUTES"]


async def test_an_agent_that_cannot_be_read_has_no_vote_reconcile_1() -> None:  # RECONCILE-1
    verdict, run, _ = await confer([BAD, sure("SUPPORTS", 0.7), sure("SUPPORTS", 0.7)])
    assert (verdict.label, verdict.round_labels) == ("SUPPORTS", ((None, "SUPPORTS", "SUPPORTS"),))
    assert verdict.decided_by == "vote"  # not of all
    verdict, _, _ = await confer([sure("", 0.0)] * 3)
    assert (verdict.label, verdict.decided_by) == (None, "vote")  # nobody found anything to answer from
    assert [each.agent for each in run.events if isinstance(each, Answered)] == ["agent-2", "agent-3"]
    with pytest.raises(BadReply):
        await confer([BAD] * 3)


async def test_the_authors_program_has_it_vote_at_random_by_the_runs_seed_reconcile_1() -> None:  # RECONCILE-1
    given = [BAD, sure("SUPPORTS", 0.7), sure("SUPPORTS", 0.7)]
    drawn = set()
    for seed in range(20):
        twice = [await confer(given, rounds=0, unparsed="random", seed=seed) for _ in range(2)]
        first, again = (verdict.round_labels[0][0] for verdict, _, _ in twice)
        assert first == again
        drawn.add(first)
        assert twice[0][0].label == "SUPPORTS"  # a random vote weighs 0.1
    assert drawn == set(CLAIM.labels.names)


async def test_a_random_vote_is_for_an_option_that_the_claim_has_reconcile_1() -> None:  # RECONCILE-1
    claim = Claim(text="Which is wet?", labels=OPTIONS, options=("water", "fire"))
    given = [BAD, sure("A", 0.7)]
    runs = [await confer(given, claim=claim, rounds=0, unparsed="random", seed=seed) for seed in range(20)]
    assert {verdict.round_labels[0][0] for verdict, _, _ in runs} == {"A", "B"}


async def test_each_agent_is_shown_the_other_agents_samples() -> None:
    _, _, calls = await confer([sure("SUPPORTS", 0.9)] * 3)
    samples = {agent: task.samples for agent, task in calls}
    own = {"agent-1": "A penny", "agent-2": "On Mercury", "agent-3": "A cucumber"}
    for agent, text in samples.items():
        assert [other for other, sign in own.items() if sign in text] == [other for other in own if other != agent]
    assert '"answer": "REFUTES"' in samples["agent-3"]
    _, _, calls = await confer([sure("SUPPORTS", 0.9)] * 2, samples=False)
    assert not any(task.samples for _, task in calls)
    options = Claim(text="Which is wet?", labels=OPTIONS, options=("water", "fire"))
    _, _, calls = await confer([sure("A", 0.9)] * 3, claim=options)
    assert not any(task.samples for _, task in calls)


@pytest.mark.parametrize(("given", "expected"), [("90%", 0.9), ("0.9", 0.9), (" 75 % ", 0.75), (1, 1.0), (0.0, 0.0)])
def test_confidences_may_be_in_per_cent(given: Any, expected: float) -> None:
    answer = AnswerWithConfidence.model_validate({"reasoning": "", "answer": "A", "confidence_level": given})
    assert answer.confidence_level == pytest.approx(expected)


@pytest.mark.parametrize("given", ["high", "", None, 95, "120%", "-5%", "nan", "nan%"])
def test_what_is_no_confidence_is_refused_reconcile_4(given: Any) -> None:  # RECONCILE-4
    with pytest.raises(ValueError):
        AnswerWithConfidence.model_validate({"reasoning": "", "answer": "A", "confidence_level": given})


@pytest.mark.parametrize("profile", ["paper", "hardened"])
def test_a_reply_is_one_json_object_whose_answer_is_a_label(profile: Any) -> None:
    task, plain = AnswerSurely(claim=CLAIM, profile=profile), profile == "paper"
    said = Renderer().read(task, '{"reasoning": "so", "answer": "supports", "confidence_level": "80%"}', plain=plain)
    assert said == AnswerWithConfidence(reasoning="so", answer="SUPPORTS", confidence_level=0.8)
    with pytest.raises(ValueError, match="not one of the labels"):
        Renderer().read(task, '{"reasoning": "so", "answer": "1871", "confidence_level": 1}', plain=plain)


def test_how_to_reply_stands_last_in_the_papers_form() -> None:
    words = AnswerSurely(claim=CLAIM, groups=GROUPS, profile="paper").prompt_text()
    assert words.index("There are 2 agents") < words.index("Reply in JSON, strictly")


async def test_free_texts_are_compared_as_they_are() -> None:
    claim = Claim(text="When was it lit?", labels=FREE_TEXT)
    verdict, _, _ = await confer([sure("1871", 0.9), sure("1875", 0.7)], claim=claim, rounds=0)
    assert verdict.label == "1871"


async def test_with_tools_all_agents_see_what_was_found_and_quotes_are_checked() -> None:
    quoting = sure("SUPPORTS", 0.9).model_copy(update={"quotes": (QUOTE,)})
    verdict, _, calls = await confer([quoting] * 3, tools=("corpus",))
    assert all(len(task.model_dump()["passages"]) == 1 for _, task in calls)
    assert all(each.found for each in verdict.quotes)
    assert verdict.quotes


def test_as_published_nobody_has_evidence() -> None:
    method = configure("reconcile", "paper", {})
    assert (method.tools(), method.tasks()) == ((), (AnswerSurely,))
    assert [run.model_calls for run in costs(method)] == [3, 6, 12]
