"""CFMAD: what each member of a thread is shown, what the judge is, the authors' mistakes, questions with options."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import FREE_TEXT, OPTIONS, TWO, Claim
from redargue.errors import UsageError
from redargue.events import Judged, Spoke
from redargue.evidence import Side
from redargue.llm.rendering import Renderer
from redargue.methods.base import ConfiguredMethod, configure
from redargue.methods.baselines.cfmad import (
    AnswerOption,
    ArgueStance,
    Cfmad,
    CfmadSettings,
    CriticiseStance,
    JudgeStances,
    RebutCritic,
)
from redargue.methods.dry_run import costs
from redargue.run import Run
from redargue.tasks.answer import Argument
from redargue.tasks.base import Task
from redargue.verdicts import Verdict
from support.baselines.debates import CLAIM, said
from support.debates import CLOCK, QUOTE, ShelfTool, script

pytestmark = pytest.mark.anyio
WHICH = Claim(text="Which of these is wet?", labels=OPTIONS, options=("fire", "sand", "water", "air"))


async def debate(
    claim: Claim = CLAIM, *, seed: int = 0, settings: Any = None, **lines: Any
) -> tuple[Verdict, Run, list[tuple[str, Task[Any]]]]:
    """The verdict, the run, and what was asked of whom; members say who they are and what for the first time."""

    def speak(task: Any, call: Any) -> Argument:
        return Argument(text=f"{call.agent}: {type(task).__name__}", quotes=(QUOTE,))

    speaking = dict.fromkeys(("ArgueStance", "CriticiseStance", "RebutCritic"), speak)
    answered = lines.pop("AnswerClaim", said(claim.labels.names[0]))
    answers = {"AnswerClaim": answered, "JudgeStances": answered}
    backend = ScriptedBackend(script(**{**speaking, **answers, **lines}))
    run = Run(backend, {"corpus": ShelfTool("corpus")}, clock=CLOCK, seed=seed)
    verdict = await ConfiguredMethod(Cfmad, CfmadSettings(**(settings or {}))).verify(claim, run)
    return verdict, run, [(call.agent, task) for task, call in backend.calls]


def of(calls: list[tuple[str, Task[Any]]], agent: str, kind: type[Task[Any]]) -> Any:
    """What an agent was asked."""
    (task,) = [task for name, task in calls if name == agent and isinstance(task, kind)]
    return task


async def test_each_stance_is_argued_for_criticised_and_defended_and_the_judge_hears_both() -> None:
    verdict, run, calls = await debate(AnswerClaim=said("REFUTES"))
    assert len(calls) == 7
    for side, stance in (("positive", "SUPPORTS"), ("negative", "REFUTES")):
        assert of(calls, side, ArgueStance).stance == stance
        critic, rebuttal = of(calls, f"{side}-critic", CriticiseStance), of(calls, side, RebutCritic)
        assert critic.argument == rebuttal.argument == f"{side}: ArgueStance"
        assert rebuttal.criticism == f"{side}-critic: CriticiseStance"
        assert rebuttal.asked == stance
    judged = of(calls, "judge", JudgeStances)
    assert [each.model_dump() for each in judged.threads] == [
        {
            "stance": stance,
            "argument": f"{side}: ArgueStance",
            "criticism": f"{side}-critic: CriticiseStance",
            "rebuttal": f"{side}: RebutCritic",
        }
        for side, stance in (("positive", "SUPPORTS"), ("negative", "REFUTES"))
    ]
    assert all(len(task.model_dump()["passages"]) == 1 for _, task in calls)
    assert (verdict.label, verdict.decided_by) == ("REFUTES", "judge")
    assert len([each for each in run.events if isinstance(each, Spoke)]) == 6
    assert [each.label for each in run.events if isinstance(each, Judged)] == ["REFUTES"]


def test_the_questions_say_what_each_member_is_to_argue() -> None:
    given: dict[str, Any] = {"claim": CLAIM, "profile": "paper"}
    assert "why is the claim true?" in ArgueStance(**given, stance="SUPPORTS").prompt_text()
    assert "why is the claim false?" in ArgueStance(**given, stance="REFUTES").prompt_text()
    assert "in fact false" in CriticiseStance(**given, stance="SUPPORTS", argument="a").prompt_text()
    assert "in fact true" in CriticiseStance(**given, stance="REFUTES", argument="a").prompt_text()


async def test_both_threads_run_at_once() -> None:
    begun = {"positive": asyncio.Event(), "negative": asyncio.Event()}

    async def argue(task: ArgueStance, call: Any) -> Argument:
        begun[call.agent].set()
        await asyncio.wait_for(begun["negative" if call.agent == "positive" else "positive"].wait(), 60)
        return Argument(text="Here.")

    verdict, _, _ = await debate(ArgueStance=argue)
    assert verdict.label == "SUPPORTS"


async def test_the_authors_program_shows_the_negative_thread_the_prompt_cfmad_1() -> None:  # CFMAD-1
    _, _, calls = await debate(settings={"prompt_for_reply": True, "profile": "paper"})
    prompt = of(calls, "negative", ArgueStance).prompt_text()
    assert of(calls, "negative-critic", CriticiseStance).argument == prompt
    assert of(calls, "negative", RebutCritic).argument == prompt
    assert of(calls, "positive-critic", CriticiseStance).argument == "positive: ArgueStance"
    assert of(calls, "judge", JudgeStances).threads[1].argument == "negative: ArgueStance"  # the judge reads the reply


async def test_the_authors_program_asks_the_negative_side_why_the_claim_is_true_cfmad_2() -> None:  # CFMAD-2
    _, _, calls = await debate(settings={"asks_why_true": True, "profile": "paper"})
    assert "why is the claim true?" in of(calls, "negative", RebutCritic).prompt_text()
    settings = configure("cfmad", "authors", {}).settings.model_dump()
    assert (settings["prompt_for_reply"], settings["asks_why_true"]) == (True, True)


async def test_the_judge_may_give_every_label_of_the_claim_cfmad_4() -> None:  # CFMAD-4
    verdict, _, calls = await debate(AnswerClaim=said("NOT ENOUGH INFO"))
    assert verdict.label == "NOT ENOUGH INFO"
    two = CLAIM.model_copy(update={"labels": TWO})
    _, _, calls = await debate(two, settings={"profile": "paper"})
    with pytest.raises(ValueError, match="not one of the labels"):
        Renderer().read(of(calls, "judge", JudgeStances), "**NOT ENOUGH INFO**", plain=True)


async def test_of_options_the_first_stance_is_a_plain_answer_and_the_second_another_one_cfmad_5() -> None:  # CFMAD-5
    drawn = set()
    for seed in range(24):
        _, _, calls = await debate(WHICH, seed=seed, AnswerClaim=said("C"))
        again = (await debate(WHICH, seed=seed, AnswerClaim=said("C")))[2]
        assert isinstance(calls[0][1], AnswerOption)
        stances = [of(calls, side, ArgueStance).stance for side in ("positive", "negative")]
        assert stances[0] == "C"
        assert stances[1] == of(again, "negative", ArgueStance).stance
        drawn.add(stances[1])
    assert drawn == {"A", "B", "D"}  # never E, which has no text


async def test_of_options_a_critic_says_that_the_answer_may_be_wrong_cfmad_3() -> None:  # CFMAD-3
    verdict, _, calls = await debate(WHICH, AnswerClaim=said("C"))
    assert "option C might be" in of(calls, "positive", ArgueStance).rendered().input_text
    assert "its answer may be wrong" in of(calls, "positive-critic", CriticiseStance).rendered().input_text
    assert "Option C: <data>" in of(calls, "judge", JudgeStances).rendered().input_text
    assert verdict.label == "C"


async def test_without_a_first_option_there_is_no_label() -> None:
    verdict, _, calls = await debate(WHICH, AnswerClaim=said(None))
    assert (verdict.label, len(calls)) == (None, 1)


@pytest.mark.parametrize(
    "claim",
    [Claim(text="When?", labels=FREE_TEXT), Claim(text="Which?", labels=OPTIONS, options=("one",))],
)
async def test_claims_without_two_stances_are_refused(claim: Claim) -> None:
    with pytest.raises(UsageError):
        await ConfiguredMethod(Cfmad, CfmadSettings()).verify(claim, Run(ScriptedBackend(script()), {}, clock=CLOCK))


async def test_quotes_speak_for_the_stance_of_who_quotes_them() -> None:
    def argue(task: ArgueStance, call: Any) -> Argument:
        return Argument(text="So it is.", quotes=(QUOTE,) if call.agent == "positive" else ())

    verdict, _, _ = await debate(
        ArgueStance=argue,
        CriticiseStance=Argument(text="No.", quotes=("never written",)),
        RebutCritic=Argument(text="Yes."),
    )
    assert [quote.agent for quote in verdict.side(Side.FOR)] == ["positive"]
    assert [quote.found for quote in verdict.quotes if quote.text == "never written"] == [False]


def test_a_reply_in_the_papers_form_is_the_argument_as_it_stands() -> None:
    task = ArgueStance(claim=CLAIM, stance="SUPPORTS", profile="paper")
    assert Renderer().read(task, " Because it was lit.\n", plain=True) == Argument(text="Because it was lit.")
    with pytest.raises(ValueError):
        Renderer().read(task, "  ", plain=True)


def test_a_dry_run_counts_what_is_asked_about_a_claim_and_about_options() -> None:
    method = configure("cfmad", "paper", {})
    claim = costs(method).likely
    options = costs(method, Claim(text="Which is wet?", labels=OPTIONS, options=("water", "fire"))).likely
    assert (claim.model_calls, claim.call_depth) == (7, 4)
    assert (options.model_calls, options.call_depth) == (8, 5)
    assert CfmadSettings().temperature == 0.0
