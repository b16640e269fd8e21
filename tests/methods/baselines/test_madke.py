"""MADKE: what is chosen from the pool, who sees whose answers, when it stops, what the summariser is given."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import OPTIONS, TWO, YES_NO_MAYBE, Claim
from redargue.errors import BadReply
from redargue.estimate import preview
from redargue.events import Judged, RoundEnded
from redargue.evidence import Passage
from redargue.llm.rendering import Renderer
from redargue.methods.base import ConfiguredMethod, configure
from redargue.methods.baselines.madke import (
    AnswerWithKnowledge,
    Consistency,
    EvidencePiece,
    JudgeConsistency,
    Madke,
    MadkeSettings,
    SelectEvidence,
    Selection,
    SummariseAnswers,
)
from redargue.methods.dry_run import costs
from redargue.run import Run
from redargue.spec import RunSpec
from redargue.tasks.answer import Answer
from redargue.tasks.base import Task
from redargue.tasks.template import read_examples, with_labels
from redargue.verdicts import Verdict
from support.baselines.debates import CLAIM, OTHERS, said
from support.debates import CLOCK, QUOTE, ShelfTool, script

pytestmark = pytest.mark.anyio
EXAMPLES = read_examples("redargue.methods.baselines.madke")
YES, NO = Consistency(consistent="yes"), Consistency(consistent="no")
WIKI = tuple(Passage(text=f"Wikipedia says {number}.") for number in range(12))
WEB = tuple(Passage(text=f"The web says {number}.") for number in range(12))
POOL = WIKI[:5]


def chosen(*numbers: int) -> Selection:
    return Selection(pieces=tuple(EvidencePiece(number=each) for each in numbers))


async def debate(*, settings: Any = None, **lines: Any) -> tuple[Verdict, Run, list[tuple[str, Task[Any]]]]:
    """The verdict, the run, and what was asked of whom."""
    backend = ScriptedBackend(script(**{"AnswerClaim": named, **lines}))
    tools = {"corpus": ShelfTool("corpus", *WIKI), "keywords": ShelfTool("keywords", *WEB)}
    run = Run(backend, tools, clock=CLOCK)
    verdict = await ConfiguredMethod(Madke, MadkeSettings(**(settings or {}))).verify(CLAIM, run)
    assert {call.sampling.temperature for _, call in backend.calls} == {0.5}
    return verdict, run, [(call.agent, task) for task, call in backend.calls]


def named(task: AnswerWithKnowledge, call: Any) -> Answer:
    """An answer that says who gave it, and after which own one."""
    return Answer(text=f"{call.agent} after {task.own or 'nothing'}", label="SUPPORTS")


def turns(calls: list[tuple[str, Task[Any]]]) -> list[tuple[str, str, list[str]]]:
    """Who answered, after which own answer, having seen which others'."""
    return [
        (agent, task.own, [each.text for each in task.others])
        for agent, task in calls
        if isinstance(task, AnswerWithKnowledge)
    ]


async def test_agents_answer_one_after_the_other_and_see_the_latest_answers_madke_2() -> None:  # MADKE-2
    verdict, _, calls = await debate(settings={"max_rounds": 2}, JudgeConsistency=NO)
    assert [(agent, type(task).__name__) for agent, task in calls] == [
        *[
            ("agent-1", "SelectEvidence"),  # which does not wait for another's answer
            ("agent-2", "SelectEvidence"),
            ("agent-1", "AnswerWithKnowledge"),
            ("agent-2", "AnswerWithKnowledge"),
            ("judge", "JudgeConsistency"),
        ]
        * 2,
        ("summariser", "SummariseAnswers"),
    ]
    one, two = "agent-1 after nothing", "agent-2 after nothing"
    assert turns(calls) == [
        ("agent-1", "", []),
        ("agent-2", "", []),
        ("agent-1", one, [two]),
        ("agent-2", two, [f"agent-1 after {one}"]),
    ]
    assert (verdict.label, verdict.decided_by, verdict.rounds) == ("SUPPORTS", "summariser", 2)


async def test_all_at_once_each_sees_the_last_rounds_answers_madke_2() -> None:  # MADKE-2
    _, _, calls = await debate(settings={"max_rounds": 2, "sequential": False}, JudgeConsistency=NO)
    one, two = "agent-1 after nothing", "agent-2 after nothing"
    assert sorted(turns(calls)[2:]) == [("agent-1", one, [two]), ("agent-2", two, [one])]


async def test_a_judge_who_finds_the_answers_consistent_stops_the_debate_after_its_first_round() -> None:
    verdict, run, calls = await debate(JudgeConsistency=YES, SummariseAnswers=said("REFUTES"))
    assert verdict.rounds == 1
    assert verdict.label == "REFUTES"  # the summariser's, not the debaters'
    (ended,) = [each for each in run.events if isinstance(each, RoundEnded)]
    assert (ended.labels, ended.agreed, ended.accepted) == (("SUPPORTS", "SUPPORTS"), True, True)
    summary = calls[-1][1]
    assert isinstance(summary, SummariseAnswers)
    assert [each.agent for each in summary.answers] == ["agent-1", "agent-2"]


async def test_a_judge_that_cannot_be_read_lets_the_debate_go_on_madke_3() -> None:  # MADKE-3
    verdict, _, _ = await debate(JudgeConsistency=[BadReply("perhaps", raw=""), YES])
    assert verdict.rounds == 2


async def test_the_pool_is_fixed_ten_pieces_first_then_five_and_an_agent_sees_what_it_chose() -> None:
    _, run, calls = await debate(JudgeConsistency=[NO, YES], SelectEvidence=[chosen(12), chosen(), *[chosen(1)] * 2])
    choosing = [task for _, task in calls if isinstance(task, SelectEvidence)]
    assert {tuple(each.text for each in task.pool) for task in choosing} == {
        tuple(each.text for each in (*WIKI[:10], *WEB[:5]))
    }
    assert [bool(task.own) for task in choosing] == [False, False, True, True]
    shown = [[each.text for each in task.passages] for _, task in calls if isinstance(task, AnswerWithKnowledge)]
    assert shown == [["The web says 1."], [], ["Wikipedia says 0."], ["Wikipedia says 0."]]
    assert run.usage.searches == 2


async def test_without_choosing_everybody_sees_the_whole_pool() -> None:
    _, _, calls = await debate(settings={"selecting": False, "pieces": (2,)})
    shown = [len(task.passages) for _, task in calls if isinstance(task, AnswerWithKnowledge)]
    assert shown == [4, 4]


async def test_of_an_empty_pool_nobody_chooses() -> None:
    backend = ScriptedBackend(script(AnswerClaim=named))
    run = Run(backend, {name: ShelfTool(name, failing=True) for name in ("corpus", "keywords")}, clock=CLOCK)
    verdict = await ConfiguredMethod(Madke, MadkeSettings()).verify(CLAIM, run)
    low = costs(ConfiguredMethod(Madke, MadkeSettings())).low
    asked = Counter(task.name() for task, _ in backend.calls)
    assert asked == {task: count for task, count in low.calls.items() if task != "SelectEvidence"}
    assert len(verdict.gaps) == 2


async def test_an_agent_that_chooses_nothing_readable_has_no_evidence() -> None:
    _, _, calls = await debate(SelectEvidence=BadReply("well", raw=""))
    assert not any(task.passages for _, task in calls if isinstance(task, AnswerWithKnowledge))


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        ("The first and the third help: [1], [3]", (3, 1)),
        ("[1] is of no use. Best are [2], [3], [4] and [5].", (5, 4, 3)),  # MADKE-4: the last three
        ("[2] [2] [9]", (2,)),  # there is no ninth
        ("[1] might do, but no. [No Found]", ()),
    ],
)
def test_numbers_are_read_from_the_last_one_back_madke_4(reply: str, numbers: tuple[int, ...]) -> None:  # MADKE-4
    task = SelectEvidence(claim=CLAIM, pool=POOL, profile="paper")
    assert Renderer().read(task, reply, plain=True) == chosen(*numbers)


def test_a_list_of_pieces_keeps_its_order_and_its_first_three() -> None:
    task = SelectEvidence(claim=CLAIM, pool=POOL)
    reply = '{"pieces": [{"number": 4}, {"number": 1}, {"number": 9}, {"number": 2}, {"number": 3}]}'
    assert Renderer().read(task, reply, plain=False) == chosen(4, 1, 2)
    with pytest.raises(ValueError, match="no JSON object"):
        Renderer().read(task.model_copy(update={"profile": "paper"}), "the first one", plain=True)


@pytest.mark.parametrize(("reply", "consistent"), [("Both say so. [Yes]", "yes"), ("They differ [no]", "no")])
def test_a_judges_reply_is_read_from_its_brackets(reply: str, consistent: str) -> None:
    task = JudgeConsistency(claim=CLAIM, answers=OTHERS, profile="paper")
    assert Renderer().read(task, reply, plain=True).model_dump()["consistent"] == consistent
    with pytest.raises(ValueError):
        Renderer().read(task, "Yes, they do.", plain=True)


@pytest.mark.parametrize(
    ("reply", "consistent"),
    [
        ("The first says [yes], the second [no]. They differ: [No]", "no"),
        ("Both say [no]. That is consistent: [Yes].", "yes"),
        ("[Yes], as both answer [Cape Ansel].", "yes"),
    ],
)
def test_answers_that_a_judge_repeats_are_not_its_own_madke_6(reply: str, consistent: str) -> None:  # MADKE-6
    task = JudgeConsistency(claim=Claim(text="Was it?", labels=YES_NO_MAYBE), answers=OTHERS, profile="paper")
    assert Renderer().read(task, reply, plain=True).model_dump()["consistent"] == consistent


def test_the_last_bracket_is_the_answer() -> None:
    task = SummariseAnswers(claim=CLAIM, answers=OTHERS, profile="paper")
    reply = "One says [SUPPORTS], but the other one is right: [REFUTES]."
    assert Renderer().read(task, reply, plain=True).model_dump()["label"] == "REFUTES"
    with pytest.raises(ValueError, match="not one of the labels"):
        Renderer().read(task, "[SUPPORTS], says one. [Cape Ansel]", plain=True)


@pytest.mark.parametrize("reply", ["One says SUPPORTS. The other is not sure.", "So the answer is\nREFUTES"])
def test_a_summary_without_brackets_is_asked_for_once_more_madke_5(reply: str) -> None:  # MADKE-5
    with pytest.raises(ValueError, match="not one of the labels"):
        Renderer().read(SummariseAnswers(claim=CLAIM, answers=OTHERS, profile="paper"), reply, plain=True)
    debater = Renderer().read(AnswerWithKnowledge(claim=CLAIM, profile="paper"), reply, plain=True)
    assert debater == Answer(text=reply, label=None)


async def test_a_summary_that_cannot_be_read_is_no_label_madke_5() -> None:  # MADKE-5
    verdict, run, _ = await debate(SummariseAnswers=BadReply("no brackets", raw="It is so."))
    assert (verdict.label, verdict.error, verdict.reason) == (None, None, "It is so.")
    assert [each.label for each in run.events if isinstance(each, Judged)] == [None]


async def test_the_authors_program_swaps_question_and_answers_madke_1() -> None:  # MADKE-1
    straight = SummariseAnswers(claim=CLAIM, answers=OTHERS, profile="paper").rendered().input_text
    assert straight.startswith(f"Claim: {CLAIM.text}\n(agent-2)")
    settings = configure("madke", "authors", {}).settings.model_dump()
    _, _, calls = await debate(settings=settings)
    swapped = calls[-1][1].rendered().input_text
    assert swapped.startswith("Claim: (agent-1)")
    assert swapped.endswith(f"\n{CLAIM.text}")
    assert configure("madke", "paper", {}).settings.model_dump()["swapped"] is False


def test_personas_are_system_messages_in_the_papers_form() -> None:
    for task in (
        SelectEvidence(claim=CLAIM, pool=POOL, profile="paper"),
        AnswerWithKnowledge(claim=CLAIM, profile="paper"),
        JudgeConsistency(claim=CLAIM, answers=OTHERS, profile="paper"),
        SummariseAnswers(claim=CLAIM, answers=OTHERS, profile="paper"),
    ):
        roles = [each["role"] for each in Renderer().prompt(task).messages()]
        assert roles == ["system", "user"]


def test_the_examples_bear_the_label_sets_own_names() -> None:
    assert with_labels(EXAMPLES, CLAIM.labels).count("[NOT ENOUGH INFO]") == 1
    assert "[yes]" in with_labels(EXAMPLES, YES_NO_MAYBE)
    assert with_labels(EXAMPLES, TWO).count("Question:") == 2
    assert with_labels(EXAMPLES, OPTIONS) == ""
    words = AnswerWithKnowledge(claim=Claim(text="Bees are birds.", labels=TWO), profile="paper").prompt_text()
    assert "[REFUTES]" in words
    assert "NOT ENOUGH" not in words


async def test_quotes_are_sought_in_what_the_agent_chose() -> None:
    verdict, _, _ = await debate(
        AnswerClaim=said("SUPPORTS").model_copy(update={"quotes": (QUOTE, "Wikipedia says 0.")}),
    )
    assert {quote.text for quote in verdict.quotes if quote.found} == {"Wikipedia says 0."}


def test_a_dry_run_counts_what_is_asked() -> None:
    known = costs(configure("madke", "paper", {}))
    assert [(run.model_calls, run.call_depth) for run in known] == [(6, 5), (11, 9), (16, 13)]
    assert costs(configure("madke", "paper", {"sequential": False})).high.call_depth == 10


@pytest.mark.parametrize("task", ["AnswerWithKnowledge", "SummariseAnswers"])
def test_worked_examples_have_the_form_that_is_asked_for(task: str) -> None:
    def shown(form: Any, profile: str = "hardened") -> str:
        prompts = preview(RunSpec(method="madke", profile=profile, response_format=form))
        return next("\n".join(said["content"] for said in each.messages) for each in prompts if each.task == task)

    replies = [line for line in shown("json").splitlines() if line.startswith('{"reasoning":"')]
    assert replies
    assert all(set(json.loads(reply)) == {"reasoning", "label"} for reply in replies)
    assert "Let us think" not in shown("json")
    assert shown("plain").count("\nLet us think step by step. ") == len(replies)
    assert shown("plain", "paper").count("\nAnswer: Let us think step by step. ") == len(replies)
