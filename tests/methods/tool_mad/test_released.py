"""What the authors' program does differently from their paper: each behaviour a setting, all of them a profile."""

from __future__ import annotations

from typing import Any

import pytest

from redargue.claims import AVERITEC, FEVER, Claim, Label, LabelSet
from redargue.errors import BadReply, UsageError
from redargue.llm.rendering import Renderer
from redargue.methods.base import configure
from redargue.methods.dry_run import costs
from redargue.methods.tool_mad import ToolMad
from redargue.methods.tool_mad.settings import ToolMadSettings
from redargue.run import Run
from redargue.tasks.answer import Answer, AnswerClaim
from redargue.tasks.judge import JudgeDebate
from redargue.tasks.query import Query, RewriteQuery
from redargue.tasks.score import CheckStatements, Similarities, Statements
from redargue.verdicts import Metric
from support.debates import CLAIM, Script, ShelfTool, answer, checked, debate, script

pytestmark = pytest.mark.anyio

DISAGREE: Script = {(AnswerClaim, "corpus"): answer("SUPPORTS"), (AnswerClaim, "keywords"): answer("REFUTES")}


def tasks(run: Run, kind: type, agent: str | None = None) -> list[Any]:
    calls = run.backend.calls  # type: ignore[attr-defined]
    return [task for task, call in calls if isinstance(task, kind) and (agent is None or call.agent == agent)]


def test_the_profile_holds_every_difference() -> None:
    method = configure("tool-mad", "authors", {})
    assert method.kind is ToolMad
    settings = method.settings
    assert (settings.profile, settings.order) == ("paper", "sequential")
    differing = {
        name for name, field in ToolMadSettings.model_fields.items() if getattr(settings, name) != field.default
    }
    assert differing == {
        "profile", "faithfulness_threshold", "relevance_threshold", "order", "label_reading", "empty_equals_empty",
        "undefined_passes", "judge_sees_last_round", "judge_divisor", "low_score_alert", "unread_is_conflicting",
        "one_request",
    }  # fmt: skip


async def test_the_authors_profile_asks_for_three_questions_in_three_requests() -> None:  # TM-9
    """As ragas 0.3.0 does, which their program calls; ``paper`` takes three samples of one request."""
    calls = {}
    for profile in ("paper", "authors"):
        settings = configure("tool-mad", profile, {"rounds": 1}).settings
        _, run = await debate(script(), **settings.model_dump())
        calls[profile] = run.usage.by_task["WriteQuestion"]
    assert calls == {"paper": 2, "authors": 6}
    for profile, count in calls.items():
        assert costs(configure("tool-mad", profile, {})).low.calls["WriteQuestion"] == count


async def test_the_authors_judge_is_told_that_disagreement_is_not_conflicting_evidence() -> None:
    """Their AVeriTeC script alone says so; it has that label."""
    settings = configure("tool-mad", "authors", {"rounds": 2}).settings.model_dump()
    caution = "Disagreement between the debaters is not by itself a reason"
    said: Script = {(AnswerClaim, "corpus"): answer("Supported"), (AnswerClaim, "keywords"): answer("Refuted")}
    _, run = await debate(
        {**script(JudgeDebate=answer("Refuted")), **said}, claim=Claim(text=CLAIM.text, labels=AVERITEC), **settings
    )
    assert caution in tasks(run, JudgeDebate)[0].prompt_text()
    _, run = await debate({**script(), **DISAGREE}, **settings)
    assert caution not in tasks(run, JudgeDebate)[0].prompt_text()


async def test_the_judge_does_not_see_the_last_round() -> None:  # TM-5
    _, run = await debate({**script(), **DISAGREE}, rounds=3, judge_sees_last_round=False)
    (task,) = tasks(run, JudgeDebate)
    assert {turn.round for turn in task.history} == {1, 2}
    corpus = [answer("SUPPORTS"), answer("SUPPORTS"), answer("REFUTES")]
    parts: Script = {**script(JudgeDebate=answer("REFUTES")), **DISAGREE, (AnswerClaim, "keywords"): corpus}
    _, run = await debate(parts | {CheckStatements: checked(0)}, rounds=3, judge_sees_last_round=False)
    (task,) = tasks(run, JudgeDebate)
    assert "corpus: faithfulness 0.000 is not above 0.7" in task.objections  # why round 2 was not accepted


async def test_an_undefined_score_passes_the_gate_and_takes_the_judges_mean_away() -> None:  # TM-4
    parts = script(WriteStatements=Statements(statements=()))
    verdict, _ = await debate(parts, rounds=1, undefined_passes=True)
    assert verdict.decided_by == "consensus"
    written = [Statements(statements=()), *[Statements(statements=("a",))] * 3]
    _, run = await debate({**script(WriteStatements=written), **DISAGREE}, rounds=2, undefined_passes=True)
    (task,) = tasks(run, JudgeDebate)
    values = [score.value for score in task.scores if score.metric is Metric.FAITHFULNESS]
    assert values.count(None) == 1  # one round without a number, and the sum is none


async def test_the_judges_scores_are_sums_divided_by_three_whatever_the_rounds() -> None:  # TM-6
    _, run = await debate({**script(), **DISAGREE}, rounds=2, judge_divisor="three")
    (task,) = tasks(run, JudgeDebate)
    assert {round(score.value, 6) for score in task.scores} == {round(2 / 3, 6), round(2 * 0.9 / 3, 6)}


def test_the_first_label_that_stands_anywhere_is_read() -> None:  # TM-2
    text = "Nothing SUPPORTS it.\n**REFUTES**"
    assert FEVER.parse(text) == "REFUTES"
    assert FEVER.first_substring(text) == "SUPPORTS"
    assert FEVER.first_substring("**NOT ENOUGH INFO**, though one page REFUTES it") == "REFUTES"
    assert FEVER.first_substring("it supports") is None
    hover = LabelSet(name="h", labels=(Label(name="SUPPORTED", meaning="supported"),))
    hover = LabelSet(name="h", labels=(*hover.labels, Label(name="NOT_SUPPORTED", meaning="refuted")))
    assert hover.first_substring("**NOT_SUPPORTED**") == "NOT_SUPPORTED"
    assert hover.first_substring("NOT_SUPPORTED, where SUPPORTED was expected") == "SUPPORTED"
    task = AnswerClaim(claim=CLAIM, profile="paper", label_reading="first_inside")
    read = Renderer().read(task, text, plain=True)
    assert isinstance(read, Answer)
    assert read.label == "SUPPORTS"
    unread = Renderer().read(task, "I cannot say.", plain=True)
    assert isinstance(unread, Answer)
    assert unread.label is None  # an answer without a label is an answer here, and an error elsewhere
    with pytest.raises(ValueError, match="not one of the labels"):
        Renderer().read(AnswerClaim(claim=CLAIM, profile="paper"), "I cannot say.", plain=True)


async def test_answers_without_a_label_agree() -> None:  # TM-3
    verdict, run = await debate(script(AnswerClaim=answer(None)), rounds=2, profile="paper", empty_equals_empty=True)
    assert (verdict.decided_by, verdict.label, verdict.rounds) == ("consensus", None, 1)
    assert [event.agreed for event in run.events if event.kind == "round_ended"] == [True]


async def test_replies_that_cannot_be_read_agree_where_nothing_else_is_set() -> None:
    unread = BadReply("its last line is not one of the labels", raw="I cannot say.")
    parts = script(AnswerClaim=unread, JudgeDebate=unread)
    verdict, _ = await debate(parts, profile="paper", empty_equals_empty=True)
    assert (verdict.decided_by, verdict.label, verdict.reason) == ("consensus", None, "I cannot say.")
    parts[AnswerClaim, "corpus"] = answer("SUPPORTS")
    with pytest.raises(BadReply):  # the judge's: answers of which one alone has a label do not agree
        await debate(parts, profile="paper", rounds=1, empty_equals_empty=True)


@pytest.mark.parametrize(("alert", "told"), [("off", set()), ("first", {"corpus"}), ("all", {"corpus", "keywords"})])
async def test_a_low_score_is_told_to_those_who_agreed(alert: str, told: set[str]) -> None:  # TM-7
    _, run = await debate(script(CheckStatements=checked(0, 0)), rounds=2, low_score_alert=alert)
    second = {name: tasks(run, AnswerClaim, name)[1] for name in ("corpus", "keywords")}
    assert {name for name, task in second.items() if task.alert == (Metric.FAITHFULNESS,)} == told
    for name, task in second.items():
        assert ("My last answer's faithfulness was too low" in task.prompt_text()) == (name in told)
    _, run = await debate({**script(CheckStatements=checked(0, 0)), **DISAGREE}, rounds=2, low_score_alert=alert)
    assert not any(task.alert for task in tasks(run, AnswerClaim))  # nobody agreed


async def test_a_debater_can_be_told_that_a_contradicted_query_has_to_change() -> None:
    _, run = await debate({**script(), **DISAGREE}, rounds=2, must_revise=("keywords",))
    (kept,), (revised,) = (tasks(run, RewriteQuery, name) for name in ("corpus", "keywords"))
    assert "you have to change it" in revised.prompt_text()
    assert "you have to change it" not in kept.prompt_text()


async def test_the_search_debater_hears_this_rounds_answer_and_a_kept_query_keeps_its_documents() -> None:  # TM-1
    settings = configure("tool-mad", "authors", {"rounds": 2}).settings
    tools = {name: ShelfTool(name) for name in ("corpus", "keywords")}
    parts: Script = {**script(), **DISAGREE, RewriteQuery: Query(kept=True)}
    _, run = await debate(parts, tools=tools, **settings.model_dump())
    _, heard = tasks(run, AnswerClaim, "keywords")
    assert [each.text for each in heard.others] == [answer("SUPPORTS").text]
    assert tools["corpus"].queries == ["first query"]
    assert all(task.passages for task in tasks(run, AnswerClaim))


async def test_an_unread_judgement_is_conflicting_where_a_set_has_that() -> None:  # TM-8
    claim = Claim(text=CLAIM.text, labels=AVERITEC)
    parts: Script = {
        **script(JudgeDebate=answer(None)),
        (AnswerClaim, "corpus"): answer("Supported"),
        (AnswerClaim, "keywords"): answer("Refuted"),
    }
    verdict, _ = await debate(parts, claim=claim, rounds=1, unread_is_conflicting=True)
    assert verdict.label == "Conflicting Evidence/Cherrypicking"
    parts[JudgeDebate] = BadReply("its last line is not one of the labels", raw="Hard to say.")
    verdict, _ = await debate(parts, claim=claim, rounds=1, unread_is_conflicting=True)
    assert (verdict.label, verdict.reason) == ("Conflicting Evidence/Cherrypicking", "Hard to say.")
    with pytest.raises(BadReply):
        await debate(parts, claim=claim, rounds=1)
    verdict, _ = await debate({**script(JudgeDebate=answer(None)), **DISAGREE}, rounds=1, unread_is_conflicting=True)
    assert verdict.label is None


async def test_the_acl_version_shows_the_judge_one_score_against_documents_and_gates_nothing() -> None:
    settings = configure("tool-mad", "acl", {"rounds": 2, "debaters": ("corpus", "keywords", "none")}).settings
    parts: Script = {**script(RateTexts=[Similarities(values=(each,)) for each in (0.9, 0.4, 0.5, 0.2)]), **DISAGREE}
    parts[AnswerClaim, "vanilla"] = answer("SUPPORTS")
    verdict, run = await debate(parts, **settings.model_dump())
    assert verdict.decided_by == "judge"
    (task,) = tasks(run, JudgeDebate)
    assert {score.metric for score in task.scores} == {Metric.CONSISTENCY}
    assert {score.agent for score in task.scores} == {"corpus", "keywords"}  # vanilla has no documents
    assert sum(score.value for score in task.scores) == pytest.approx(1.0)  # means over two rounds
    assert "consistency score measures" in task.prompt_text()
    assert "faithfulness" not in task.prompt_text()
    verdict, run = await debate(script(RateTexts=Similarities(values=(0.0,))), **settings.model_dump())
    assert (verdict.decided_by, verdict.rounds) == ("consensus", 1)  # agreement is enough, whatever the score


async def test_no_document_is_no_score_and_a_gate_without_threshold_is_refused() -> None:
    settings = configure("tool-mad", "acl", {"rounds": 1}).settings
    tools = {"corpus": ShelfTool("corpus", failing=True), "keywords": ShelfTool("keywords")}
    rated = script(RateTexts=Similarities(values=(0.5,)))
    verdict, _ = await debate({**rated, **DISAGREE}, tools=tools, **settings.model_dump())
    assert {score.agent: score.value for score in verdict.scores} == {"corpus": None, "keywords": 0.5}
    with pytest.raises(UsageError, match="consistency has no threshold"):
        configure("tool-mad", "acl", {"scoring": "on"})
