"""Replies that say what they mean in another way than asked: read, or asked for again, and never misread."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redargue.claims import AVERITEC, FEVER, TWO, Claim
from redargue.llm.rendering import Renderer
from redargue.methods.dual_position.referees import SCORE_DIMENSIONS, Judgement
from redargue.methods.dual_position.tasks import STANCES, SpeakForTeam, TeamStatement
from redargue.methods.mermaid.tasks import NextStep
from redargue.tasks.answer import AnswerClaim
from redargue.tasks.query import Query, RewriteQuery, WriteQuery
from redargue.tasks.step import ActionTool, Step, ToolCall, label_in

CLAIM = Claim(text="The lighthouse at Cape Ansel was lit in 1871.")
TOOL = ActionTool(name="search", about="finds pages", parameters={"properties": {"query": {"type": "string"}}})
STEP = NextStep(claim=CLAIM, tools=(TOOL,))
SEARCH = ToolCall(name="search", reason="r", input="Ansel")
QUOTES = ("It was lit in 1871.",)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (
            {"thought": "t", "tool": "search", "reason": "r", "input": "Ansel", "answer": None, "quotes": None},
            Step(thought="t", action=SEARCH),
        ),
        (
            {"thought": "t", "tool": None, "reason": None, "input": None, "answer": True, "quotes": QUOTES},
            Step(thought="t", answer="SUPPORTS", quotes=QUOTES),
        ),
        ({"thought": "t", "answer": "True", "quotes": QUOTES}, Step(thought="t", answer="SUPPORTS", quotes=QUOTES)),
        (
            {"thought": "t", "action": {"name": "search", "reason": "r", "input": "Ansel"}},
            Step(thought="t", action=SEARCH),
        ),
        (
            {"thought": "t", "action": {"name": "search", "reason": "r", "arguments": {"query": "Ansel"}}},
            Step(thought="t", action=SEARCH.model_copy(update={"input": '{"query": "Ansel"}'})),
        ),
        (
            {"thought": "t", "tool": "search", "reason": "r", "input": {"query": "A"}, "answer": "", "quotes": []},
            Step(thought="t", action=SEARCH.model_copy(update={"input": '{"query": "A"}'})),
        ),
        (
            {"thought": "t", "tool": "search", "reason": "r", "input": "Ansel", "answer": "True", "quotes": QUOTES},
            Step(thought="t", answer="SUPPORTS", quotes=QUOTES),
        ),
        (
            {"thought": "t", "tool": "search", "reason": "r", "input": "Ansel", "answer": "True", "quotes": []},
            Step(thought="t", action=SEARCH),
        ),
    ],
    ids=["null", "true", "missing", "the paper's action", "arguments", "object", "both, quoted", "both, unquoted"],
)
def test_a_step_is_read_in_the_shapes_that_models_give_it(reply: dict[str, Any], expected: Step) -> None:
    assert Renderer().read(STEP, json.dumps(reply), plain=False) == expected


@pytest.mark.parametrize("reply", [{"thought": "t"}, {"thought": "t", "tool": None, "answer": None}])
def test_a_step_without_a_tool_and_an_answer_is_refused(reply: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="either an action or an answer"):
        Renderer().read(STEP, json.dumps(reply), plain=False)


@pytest.mark.parametrize(
    "text",
    [
        "Partially true",
        "Mostly false, but the date is right",
        "Likely true",
        "It is probably false.",
        "half-true",
        "most likely SUPPORTS",
    ],
)
def test_half_a_label_is_asked_for_again(text: str) -> None:
    assert label_in(FEVER, text) is None
    assert label_in(TWO, text) is None
    given = {"reasoning": "r", "quotes": [], "label": text}
    with pytest.raises(ValueError, match="not one of the labels"):
        Renderer().read(AnswerClaim(claim=CLAIM), json.dumps(given), plain=False)


def test_a_whole_label_is_still_read() -> None:
    assert label_in(FEVER, "True, as most of the documents say") == "SUPPORTS"
    assert label_in(FEVER, "The claim is False.") == "REFUTES"
    assert label_in(AVERITEC, "Not Enough Evidence") == "Not Enough Evidence"


@pytest.mark.parametrize("given", ["Query: Cape Ansel", "Search query: Cape Ansel", "[Query: Cape Ansel]"])
def test_a_query_is_read_without_the_word_before_it(given: str) -> None:
    first = WriteQuery(claim=CLAIM, tool="corpus", about="documents")
    later = RewriteQuery(claim=CLAIM, tool="corpus", about="documents", others=(), used="x")
    replies = ((first, {"query": given}), (later, {"keep": False, "query": given}))
    for task, reply in replies:
        query = Renderer().read(task, json.dumps(reply), plain=False)
        assert getattr(query, "text", None) == "Cape Ansel"
    assert getattr(Renderer().read(first, given, plain=True), "text", None) == "Cape Ansel"


def test_null_is_an_empty_field() -> None:
    kept = RewriteQuery(claim=CLAIM, tool="corpus", about="documents", others=(), used="x")
    assert Renderer().read(kept, '{"keep": true, "query": null}', plain=False) == Query(kept=True)
    with pytest.raises(ValueError, match="the query is empty"):
        Renderer().read(kept, '{"keep": false, "query": null}', plain=False)
    two_sided = AnswerClaim(claim=CLAIM.model_copy(update={"labels": TWO}))
    given = {"reasoning": "r", "quotes": None, "open": None, "label": "SUPPORTS"}
    answer = Renderer().read(two_sided, json.dumps(given), plain=False)
    assert getattr(answer, "text", "") == "r\n**SUPPORTS**"
    spoken = SpeakForTeam(claim=CLAIM, position="affirmative", opponent=None, analysis="", passages=())
    statement = Renderer().read(spoken, '{"text": "t", "quotes": null, "concedes": null}', plain=False)
    assert statement == TeamStatement(text="t")


def judged(score: float, other: float, **given: Any) -> Judgement:
    names = [f"{side}_{dimension}" for side in STANCES for dimension in SCORE_DIMENSIONS]
    scores = {name: score if name.startswith("affirmative") else other for name in names}
    return Judgement.model_validate({"reason": "", "vote": "affirmative", **scores, **given})


def test_scores_that_are_all_from_0_to_10_are_read_as_such() -> None:
    read = judged(9, 3.5, confidence=8)
    assert (read.mean("affirmative"), read.mean("negative"), read.confidence) == (0.9, 0.35, 0.8)
    assert judged(9, 0, confidence=0.7).confidence == 0.7


@pytest.mark.parametrize(("score", "other"), [(9, 0.4), (1, 7)])
def test_scores_on_different_scales_stay_refused(score: float, other: float) -> None:
    with pytest.raises(ValueError, match="is not from 0 to 1"):
        judged(score, other, confidence=0.9)
