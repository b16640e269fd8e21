"""An answer that no quotation carries, or that no search came before, is sent back while steps are left (hardened)."""

from __future__ import annotations

from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import FREE_TEXT, Claim, LabelSet
from redargue.evidence import Passage
from redargue.methods.base import configure
from redargue.methods.baselines.fire import FinalAnswer, GiveFinalAnswer, Move, SearchOrAnswer
from redargue.methods.baselines.react import ThinkAndAct
from redargue.methods.mermaid.tasks import NextStep
from redargue.methods.verdict_parts import why_unquoted
from redargue.run import Run
from redargue.tasks.score import CompareTexts, Similarities
from redargue.tasks.step import Step, ToolCall
from redargue.verdicts import Verdict
from support.debates import CLOCK, QUOTE, EmptyTool, ShelfTool

pytestmark = pytest.mark.anyio
CLAIM = Claim(text="The lighthouse at Cape Ansel was lit in 1871.")
PAGE = Passage(title="Cape Ansel", text=f"{QUOTE} It is white.")
SETTINGS: dict[str, dict[str, Any]] = {"fire": {}, "react": {}, "mermaid": {"memory": "off", "decomposer": False}}
TASKS = {"fire": SearchOrAnswer, "react": ThinkAndAct, "mermaid": NextStep}
WORDS = {"fire": "True", "react": "SUPPORTS", "mermaid": "True"}


def sure(method: str, *quotes: str) -> Any:
    if method == "fire":
        return Move(final_answer="True", quotes=quotes)
    return Step(thought="It is so.", answer="SUPPORTS", quotes=quotes)


def searches(method: str) -> Any:
    if method == "fire":
        return Move(search_query="Cape Ansel")
    name = "search" if method == "react" else "corpus"
    return Step(thought="I look.", action=ToolCall(name=name, input="Cape Ansel"))


async def verify(
    method: str, *steps: Any, profile: str = "hardened", claim: Claim = CLAIM, kind: Any = ShelfTool
) -> tuple[Verdict, list[Any]]:
    """The verdict, and the tasks in which steps were asked for."""
    forced = FinalAnswer(final_answer="True")
    near: dict[Any, Any] = {CompareTexts: Similarities(values=(0.0,)), GiveFinalAnswer: forced}
    backend = ScriptedBackend({TASKS[method]: list(steps), **near})
    run = Run(backend, {"corpus": kind("corpus", PAGE)}, clock=CLOCK)
    tools = {"tools": ("corpus",)}
    verdict = await configure(method, profile, SETTINGS[method] | tools).verify(claim, run)
    return verdict, [task for task, _ in backend.calls if isinstance(task, TASKS[method])]


@pytest.mark.parametrize("method", TASKS)
async def test_an_answer_without_a_search_is_told_to_search_and_uses_up_a_step(method: str) -> None:
    steps = sure(method), searches(method), sure(method, QUOTE)
    verdict, asked = await verify(method, *steps)
    assert (verdict.label, verdict.rounds) == ("SUPPORTS", 3)
    assert [quote.found for quote in verdict.quotes] == [True]
    told = f"The answer {WORDS[method]} does not count yet: nothing is quoted. Give the evidence: search for it."
    assert told in asked[1].prompt_text()
    assert told not in asked[0].prompt_text()


def unsure(answer: str = "NOT ENOUGH INFO") -> Step:
    return Step(thought="I do not know.", answer=answer)


@pytest.mark.parametrize("labels", [CLAIM.labels, FREE_TEXT], ids=lambda labels: labels.name)
@pytest.mark.parametrize("method", ["react", "mermaid"])
async def test_an_answer_on_no_side_needs_a_search_too(method: str, labels: LabelSet) -> None:
    claim = CLAIM.model_copy(update={"labels": labels})
    verdict, asked = await verify(method, unsure(), searches(method), unsure(), claim=claim)
    assert (verdict.label, verdict.rounds) == ("NOT ENOUGH INFO", 3)
    told = "does not count yet: nothing was searched. Give the evidence: search for it."
    assert told in asked[1].prompt_text()


@pytest.mark.parametrize("method", ["react", "mermaid"])
async def test_an_answer_on_no_side_counts_after_a_search_that_found_nothing(method: str) -> None:
    verdict, asked = await verify(method, searches(method), unsure(), kind=EmptyTool)
    assert (verdict.label, len(asked)) == ("NOT ENOUGH INFO", 2)


@pytest.mark.parametrize("method", TASKS)
async def test_in_the_paper_the_same_answer_ends_the_run(method: str) -> None:
    verdict, asked = await verify(method, sure(method), profile="paper")
    assert (verdict.label, len(asked)) == ("SUPPORTS", 1)


@pytest.mark.parametrize("method", TASKS)
async def test_the_last_step_is_accepted_as_it_is(method: str) -> None:
    verdict, asked = await verify(method, *[sure(method, "words that are nowhere")] * 5)
    assert (verdict.label, len(asked)) == ("SUPPORTS", 5)
    assert "no quotation was found in the documents" in asked[4].prompt_text()


def test_why_an_answer_does_not_count_is_true() -> None:
    assert why_unquoted((), (PAGE,)) == "nothing is quoted"
    assert why_unquoted(("It was dark there.",), (PAGE,)) == "no quotation was found in the documents"
    assert why_unquoted(("in 1871",), (PAGE,)) == "what is quoted is too short, or only a title"
    assert why_unquoted(("Cape Ansel",), (PAGE,)) == "what is quoted is too short, or only a title"
    assert why_unquoted((QUOTE,), (PAGE,)) == ""
