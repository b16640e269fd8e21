"""Multi-agent debate: who reads whose answers, how chats grow, the vote and its ties."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import OPTIONS, Claim
from redargue.errors import BadReply
from redargue.events import RoundEnded
from redargue.evidence import Passage
from redargue.llm.rendering import Renderer
from redargue.methods.base import ConfiguredMethod, configure
from redargue.methods.baselines.multi_agent_debate import (
    MultiAgentDebate,
    MultiAgentDebateSettings,
    SolveWithOthers,
    SolveWithOthersOnEvidence,
)
from redargue.methods.dry_run import costs
from redargue.methods.verdict_parts import majority
from redargue.run import Run
from redargue.tasks.answer import Answer
from redargue.tasks.query import OtherAnswer
from redargue.verdicts import Verdict
from support.baselines.debates import CLAIM, EARLIER, OTHERS, said
from support.debates import CLOCK, QUOTE, ShelfTool, script

pytestmark = pytest.mark.anyio
NEI = "NOT ENOUGH INFO"


async def debate(
    says: Any, *, tools: tuple[str, ...] = (), claim: Claim = CLAIM, **settings: Any
) -> tuple[Verdict, Run, list[tuple[str, SolveWithOthers, float]]]:
    """The verdict, the run, and what was asked of whom at which temperature."""
    backend = ScriptedBackend(script(SolveWithOthers=says))
    run = Run(backend, {name: ShelfTool(name) for name in tools}, clock=CLOCK)
    method = ConfiguredMethod(MultiAgentDebate, MultiAgentDebateSettings(tools=tools, **settings))
    verdict = await method.verify(claim, run)
    calls = [
        (call.agent, task, call.sampling.temperature)
        for task, call in backend.calls
        if isinstance(task, SolveWithOthers)
    ]
    return verdict, run, calls


def named(task: SolveWithOthers, call: Any) -> Answer:
    """An answer whose text says who gave it in which round."""
    return Answer(text=f"{call.agent} round {1 + len(task.before)}", label="SUPPORTS")


async def test_each_agents_chat_grows_and_holds_the_others_last_answers() -> None:
    verdict, _, calls = await debate(named)
    heard = [
        (agent, [each.reply for each in task.before], [each.text for each in task.solutions])
        for agent, task, _ in calls
    ]
    assert heard == [
        ("agent-1", [], []),
        ("agent-2", [], []),
        ("agent-3", [], []),
        ("agent-1", ["agent-1 round 1"], ["agent-2 round 1", "agent-3 round 1"]),
        ("agent-2", ["agent-2 round 1"], ["agent-1 round 1", "agent-3 round 1"]),
        ("agent-3", ["agent-3 round 1"], ["agent-1 round 1", "agent-2 round 1"]),
    ]
    assert {temperature for _, _, temperature in calls} == {1.0}
    assert (verdict.label, verdict.decided_by, verdict.rounds) == ("SUPPORTS", "vote", 2)


async def test_one_after_the_other_each_reads_what_those_before_it_said_in_the_same_round() -> None:
    _, _, calls = await debate(named, simultaneous=False)
    assert [[each.text for each in task.solutions] for _, task, _ in calls[3:]] == [
        ["agent-2 round 1", "agent-3 round 1"],
        ["agent-1 round 2", "agent-3 round 1"],
        ["agent-1 round 2", "agent-2 round 2"],
    ]
    assert costs(configure("multi-agent-debate", "hardened", {"simultaneous": False})).low.call_depth == 4


async def test_an_agent_alone_is_asked_to_check_its_answer() -> None:
    _, _, calls = await debate(named, agents=1)
    assert "Check once more" in calls[1][1].rendered().input_text


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (("SUPPORTS", "REFUTES", "REFUTES"), "REFUTES"),
        (("REFUTES", "SUPPORTS", NEI), "REFUTES"),  # DU-2: the first on ties
        ((None, "SUPPORTS", "REFUTES"), "SUPPORTS"),
        (("SUPPORTS", "REFUTES", None), "SUPPORTS"),  # DU-1: unread, the question is not thereby right
        ((None, None, None), None),  # DU-1
    ],
)
async def test_the_most_frequent_label_stands(labels: tuple[str | None, ...], expected: str | None) -> None:
    verdict, run, _ = await debate(lambda task, call: said(labels[int(call.agent[-1]) - 1]), rounds=1)
    assert verdict.label == expected == majority(labels)
    assert verdict.round_labels == (labels,)
    (ended,) = [each for each in run.events if isinstance(each, RoundEnded)]
    assert ended.agreed is False


async def test_an_agent_that_cannot_be_read_has_no_vote_and_keeps_its_last_answer() -> None:
    def says(task: SolveWithOthers, call: Any) -> Answer | BadReply:
        if call.agent == "agent-2" and task.before:
            return BadReply("nothing", raw="")
        return said("REFUTES" if call.agent == "agent-2" else "SUPPORTS")

    verdict, _, calls = await debate(says, rounds=3)
    assert verdict.round_labels[1] == ("SUPPORTS", None, "SUPPORTS")
    assert [each.agent for each in calls[-1][1].solutions] == ["agent-1", "agent-2"]
    with pytest.raises(BadReply):
        await debate(BadReply("nothing", raw=""))


def test_a_number_in_a_reply_is_no_option_du_3() -> None:  # DU-3
    claim = Claim(text="How many legs has a bee?", labels=OPTIONS, options=("four", "six"))
    task = SolveWithOthers(claim=claim, profile="paper")
    assert Renderer().read(task, "A bee has 6 legs.", plain=True).model_dump()["label"] is None
    assert Renderer().read(task, "A bee has 6 legs.\n**(B)**", plain=True).model_dump()["label"] == "B"


def test_in_the_papers_form_the_others_answers_are_fenced_and_the_last_line_is_asked_for_last() -> None:
    task = SolveWithOthers(claim=CLAIM, profile="paper", before=EARLIER, solutions=OTHERS)
    words = Renderer().prompt(task).messages()[-1]["content"]
    assert words.count("```") == 4
    assert words.endswith("on the last line of your reply.")


async def test_with_tools_all_agents_see_what_was_found() -> None:
    verdict, _, calls = await debate(
        lambda task, call: said("SUPPORTS").model_copy(update={"quotes": (QUOTE,)}), tools=("corpus",)
    )
    assert all(len(task.model_dump()["passages"]) == 1 for _, task, _ in calls)
    assert all(each.found for each in verdict.quotes)
    assert "Documents:" in calls[0][1].rendered().input_text
    assert "Documents:" not in calls[-1][1].rendered().input_text  # it stands in the chat already


def test_as_published_nobody_has_evidence() -> None:
    method = configure("multi-agent-debate", "paper", {})
    assert method.tools() == ()
    assert method.tasks() == (SolveWithOthers,)
    assert costs(method).low.calls == {"SolveWithOthers": 6}


def test_a_chat_says_its_rules_once() -> None:
    first = SolveWithOthersOnEvidence(claim=CLAIM, passages=(Passage(text=QUOTE),))
    later = first.model_copy(
        update={
            "before": (first.exchange("It was.\n**SUPPORTS**"),),
            "solutions": (OtherAnswer(agent="b", text="No."),),
        }
    )
    assert "Tone and style" in first.prompt_text()
    assert "Tone and style" not in later.prompt_text()
    assert "Tone and style" in later.rendered().instructions  # sent as the system message with JSON
    assert "- REFUTES: the documents contradict" in first.prompt_text()


@pytest.mark.parametrize("plain", [False, True])
def test_a_chat_states_the_day_once_in_the_message_that_stated_it_first(plain: bool) -> None:
    """So a later request begins as the earlier one did, which providers cache."""
    day = date(2026, 3, 1)
    first = SolveWithOthersOnEvidence(claim=CLAIM, passages=(Passage(text=QUOTE),))
    solutions = (OtherAnswer(agent="b", text="No."),)
    later = first.model_copy(update={"before": (first.exchange("It was.\n**SUPPORTS**"),), "solutions": solutions})
    renderer = Renderer(plain=plain)
    opening = renderer.prompt(first.asked_on(day)).user
    prompt = renderer.prompt(later.asked_on(day))
    assert opening.count("Today is 2026-03-01.\n") == 1
    assert [user for user, _ in prompt.history] == [opening]
    assert "Today is" not in prompt.user
    assert later.asked_on(day).fingerprint == later.fingerprint
