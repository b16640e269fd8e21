"""Factcheck-GPT: questions in rounds, doubles left out, the best snippets in turns, one verdict or the stances."""

from __future__ import annotations

from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import OPTIONS, Claim
from redargue.errors import BadReply, UsageError
from redargue.evidence import Passage
from redargue.methods.base import ConfiguredMethod, configure
from redargue.methods.baselines.factcheck_gpt import (
    UNWORTHY,
    AskQuestions,
    CheckingQuestions,
    FactcheckGpt,
    FactcheckGptSettings,
    JudgeWorthiness,
    Snippet,
    Stance,
    StateStance,
    Worthiness,
    best,
    round_robin,
    snippets,
)
from redargue.methods.baselines.factuality import CheckFactuality, FactualityCheck
from redargue.methods.dry_run import costs
from redargue.run import Run
from redargue.tasks.score import CompareTexts, RateTexts, Similarities
from redargue.verdicts import Verdict
from support.debates import CLAIM, CLOCK, QUOTE, ShelfTool

pytestmark = pytest.mark.anyio
UNREADABLE = BadReply("no JSON object was found", raw="Hm.")
TRUE = FactualityCheck(reasoning="It says so.", quotes=(QUOTE,), factuality=True)
LONG = " ".join(f"Sentence {number} is here." for number in range(1, 10))
ROUNDS = {0: ("When was it lit?", "Where is it?"), 1: ("When was it lit?", "In which year was it lit?")}


def ask(task: AskQuestions, call: Any) -> CheckingQuestions:
    return CheckingQuestions(questions=ROUNDS[task.sample])


def near(task: CompareTexts, call: Any) -> Similarities:
    """The two questions on the year are nearly one."""
    alike = task.reference.startswith("In which year")
    return Similarities(values=tuple(0.95 if alike and "When" in text else 0.2 for text in task.texts))


def rate(task: RateTexts, call: Any) -> Similarities:
    """Later ones are better."""
    return Similarities(values=tuple(place / 10 for place in range(len(task.texts))))


async def check(
    *, tool: ShelfTool | None = None, claim: Claim = CLAIM, parts: Any = (), **settings: Any
) -> tuple[Verdict, ScriptedBackend, ShelfTool]:
    script = {AskQuestions: ask, CompareTexts: near, RateTexts: rate, CheckFactuality: TRUE, **dict(parts)}
    backend, tool = ScriptedBackend(script), tool or ShelfTool("corpus")
    run = Run(backend, {"corpus": tool}, clock=CLOCK)
    method = ConfiguredMethod(FactcheckGpt, FactcheckGptSettings(**settings))
    return await method.verify(claim, run), backend, tool


async def test_questions_of_two_rounds_are_searched_for_but_for_doubles() -> None:
    verdict, backend, tool = await check()
    assert sorted(tool.queries) == ["When was it lit?", "Where is it?"]
    order = [task.name() for task, _ in backend.calls]
    assert order == [*["AskQuestions"] * 2, *["CompareTexts"] * 2, *["RateTexts"] * 2, "CheckFactuality"]
    asked = [call.sampling.temperature for task, call in backend.calls if isinstance(task, AskQuestions)]
    assert asked == [0.7, 0.7]
    assert (verdict.label, verdict.decided_by) == ("SUPPORTS", "verifier")
    assert [quote.found for quote in verdict.quotes] == [True]
    high = costs(ConfiguredMethod(FactcheckGpt, FactcheckGptSettings(questions=2))).high
    assert high.calls == {"AskQuestions": 2, "RateTexts": 4, "CheckFactuality": 1, "CompareTexts": 3}
    assert (high.call_depth, high.searches) == (2, {"corpus": 4})
    asking = {(task.name(), call.agent) for task, call in backend.calls}
    assert asking == {(asked.task, asked.agent) for asked in high.asked}


async def test_fcg_3_questions_may_be_compared_by_a_cross_encoder() -> None:  # FCG-3
    alike = {RateTexts: lambda task, call: Similarities(values=(0.6,) * len(task.texts))}
    _, backend, tool = await check(compared_by="cross-encoder", similarity=0.6, parts=alike)
    assert tool.queries == ["When was it lit?"]
    assert not any(type(task) is CompareTexts for task, _ in backend.calls)
    assert CompareTexts not in FactcheckGpt.asks_for(FactcheckGptSettings(compared_by="cross-encoder"))


async def test_the_claim_is_asked_where_no_question_can_be_read() -> None:
    _, _, tool = await check(parts={AskQuestions: UNREADABLE})
    assert tool.queries == [CLAIM.text]


async def test_what_is_not_worth_checking_is_left_alone_and_has_no_label() -> None:
    no = {JudgeWorthiness: Worthiness(checkworthy="No")}
    verdict, backend, tool = await check(check_worthiness=True, parts=no)
    assert (verdict.label, verdict.reason, tool.queries, len(backend.calls)) == (None, UNWORTHY, [], 1)


async def test_fcg_1_a_worthiness_that_cannot_be_read_is_yes() -> None:  # FCG-1
    verdict, *_ = await check(check_worthiness=True, parts={JudgeWorthiness: UNREADABLE})
    assert verdict.label == "SUPPORTS"


@pytest.mark.parametrize(
    ("stances", "label"),
    [
        ([Stance(stance="irrelevant"), Stance(stance="support")], "SUPPORTS"),
        ([Stance(stance="irrelevant"), Stance(stance="refute")], "REFUTES"),
        ([UNREADABLE, Stance(stance="irrelevant")], "REFUTES"),
        ([UNREADABLE, UNREADABLE], None),
    ],
)
async def test_fcg_2_stances_take_the_place_of_a_verdict_that_cannot_be_read(
    stances: Any, label: str | None
) -> None:  # FCG-2
    tool = ShelfTool("corpus", Passage(text="One.", document="1"), Passage(text="Two.", document="2"))
    parts: dict[Any, Any] = {CheckFactuality: UNREADABLE, StateStance: stances}
    verdict, *_ = await check(tool=tool, unparsed="stance", parts=parts)
    assert verdict.label == label
    verdict, *_ = await check(tool=tool, parts={CheckFactuality: UNREADABLE})
    assert (verdict.label, verdict.reason) == (None, "Hm.")
    verdict, *_ = await check(tool=ShelfTool("corpus", failing=True), unparsed="stance", parts=parts)
    assert verdict.label is None
    assert configure("factcheck-gpt", "authors", {}).settings.unparsed == "stance"


async def test_fcg_4_what_the_tools_give_is_cut_up_and_the_best_are_verified_with() -> None:  # FCG-4
    tool = ShelfTool("corpus", Passage(text=LONG, document="a", start=100), Passage(text="Another.", document="b"))
    _, backend, _ = await check(tool=tool, evidence=2)
    asked = backend.calls[-1][0]
    assert isinstance(asked, CheckFactuality)
    assert [each.text for each in asked.passages] == ["Another.", LONG[LONG.index("Sentence 5") :]]
    assert asked.passages[1].start == 100 + LONG.index("Sentence 5")


async def test_nothing_found_is_verified_with_nothing() -> None:
    verdict, backend, _ = await check(tool=ShelfTool("corpus", failing=True))
    assert not any(type(task) is RateTexts for task, _ in backend.calls)
    assert len(verdict.gaps) == 2


async def test_labels_without_sides_are_refused() -> None:
    with pytest.raises(UsageError, match="factcheck-gpt cannot give the labels 'options'"):
        await check(claim=Claim(text="Which?", labels=OPTIONS, options=("a", "b")))


def test_snippets_are_runs_of_five_sentences_every_two() -> None:
    cut = list(snippets(Passage(text=LONG), 5, 2))
    firsts = [each.text.split()[1] for each in cut]
    lasts = [each.text.split()[-3] for each in cut]
    assert (firsts, lasts) == (["1", "3", "5"], ["5", "7", "9"])
    assert [each.text for each in snippets(Passage(text="Short."), 5, 2)] == ["Short."]
    assert list(snippets(Passage(text=" "), 5, 2)) == []


def test_the_best_of_a_page_do_not_overlap_and_are_three_at_most() -> None:
    cut = [*snippets(Passage(text=LONG, document="a"), 2, 1), *snippets(Passage(text="Another.", document="b"), 2, 1)]
    kept = best(cut, [0.1, 0.9, 0.8, 0.7, 0.0, 0.6, 0.0, 0.5, 0.4], per_page=3, most=5)
    assert [each.text.split()[1] for each in kept[:3]] == ["2", "4", "6"]
    assert [each.page for each in kept] == ["a", "a", "a", "b"]
    assert len(best(cut, [0.0] * len(cut), per_page=3, most=2)) == 2


def test_two_chunks_of_a_document_overlap_where_they_hold_the_same_characters() -> None:
    one, two = Passage(text="abcdef", document="a", start=0), Passage(text="defghi", document="a", start=3)
    assert Snippet(one, 0, 6).overlaps(Snippet(two, 0, 3))
    assert not Snippet(one, 0, 3).overlaps(Snippet(two, 0, 3))
    assert not Snippet(one, 0, 6).overlaps(Snippet(two.model_copy(update={"document": "b"}), 0, 3))


def test_questions_take_turns() -> None:
    def named(*texts: str) -> list[Snippet]:
        return [Snippet(Passage(text=text), 0, len(text)) for text in texts]

    turns = round_robin([named("a1", "a2", "a3"), named("b1"), named("a1", "c2", "c3")], 5)
    assert [each.text for each in turns] == ["a1", "b1", "a2", "c2", "a3"]
    assert round_robin([[], []], 5) == ()
