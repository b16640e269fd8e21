"""Faithfulness and answer relevance equal ragas 0.3.0's definition, on cases worked by hand.

Faithfulness: verdicts of 1 over verdicts returned; undefined without statements or verdicts. Relevance: the mean of
three cosines, times 0 where a response is noncommittal (0.3.0: any of three; later: all); undefined where all are
empty.
"""

from __future__ import annotations

import asyncio

import pytest

from redargue.backends import Call, Reply
from redargue.backends.scripted import ScriptedBackend
from redargue.errors import BadReply
from redargue.events import CallFinished
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.methods.faithfulness import faithfulness
from redargue.methods.tool_mad.tasks import Noncommittal, relevance
from redargue.run import Run
from redargue.tasks.base import Out, Task
from redargue.tasks.score import (
    CheckStatements,
    CompareTexts,
    Question,
    Similarities,
    Statements,
    WriteQuestion,
    WriteStatements,
)
from redargue.verdicts import Score
from support.debates import CLOCK, Script, checked

pytestmark = pytest.mark.anyio


ONE_TWO = (Passage(text="one"), Passage(text="two"))


async def faithful(statements: tuple[str, ...], verdicts: tuple[int, ...]) -> Score:
    script: Script = {WriteStatements: Statements(statements=statements), CheckStatements: checked(*verdicts)}
    return await faithfulness(Agent("a", Run(ScriptedBackend(script), clock=CLOCK)), "q", "an answer", ONE_TWO)


async def relevant(
    cosines: tuple[float, ...],
    flags: tuple[int, int, int],
    rule: Noncommittal,
    texts: tuple[str, str, str] = ("q", "q", "q"),
) -> Score:
    questions = [Question(question=text, noncommittal=flag) for text, flag in zip(texts, flags, strict=True)]
    script: Script = {WriteQuestion: questions, CompareTexts: Similarities(values=cosines)}
    agent = Agent("a", Run(ScriptedBackend(script), clock=CLOCK))
    return await relevance(agent, "q", "an answer", noncommittal=rule)


@pytest.mark.parametrize(
    ("sent", "verdicts", "expected"),
    [
        (1, (1,), 1.0),
        (1, (0,), 0.0),
        (2, (1, 0), 0.5),
        (2, (0, 0), 0.0),
        (3, (1, 1, 0), 0.666666667),
        (3, (1, 0, 0), 0.333333333),
        (3, (1, 1, 1), 1.0),
        (4, (1, 1, 1, 0), 0.75),
        (5, (1, 1, 1, 1, 0), 0.8),
        (5, (1, 0, 1, 0, 1), 0.6),
        (6, (1, 0, 0, 0, 0, 0), 0.166666667),
        (7, (1, 1, 1, 1, 1, 0, 0), 0.714285714),
        (8, (1, 1, 1, 1, 1, 0, 0, 0), 0.625),
        (10, (1,) * 7 + (0,) * 3, 0.7),
        (3, (1, 1), 1.0),  # three sent, two verdicts back: divided by two, as ragas does
        (3, (1, 0), 0.5),
        (5, (0,), 0.0),
        (2, (1, 1, 0), 0.666666667),  # more came back than were sent
        (3, (), None),
        (0, (), None),
    ],
)
async def test_faithfulness(sent: int, verdicts: tuple[int, ...], expected: float | None) -> None:
    score = await faithful(tuple(f"s{i}" for i in range(sent)), verdicts)
    assert score.value == expected
    assert bool(score.undefined) == (expected is None)


@pytest.mark.parametrize(
    ("cosines", "flags", "any_rule", "all_rule"),
    [
        ((0.9, 0.85, 0.95), (0, 0, 0), 0.9, 0.9),
        ((0.9, 0.85, 0.95), (0, 1, 0), 0.0, 0.9),
        ((0.9, 0.85, 0.95), (1, 1, 0), 0.0, 0.9),
        ((0.9, 0.85, 0.95), (1, 1, 1), 0.0, 0.0),
        ((1.0, 1.0, 1.0), (0, 0, 0), 1.0, 1.0),
        ((0.8, 0.8, 0.8), (0, 0, 0), 0.8, 0.8),
        ((0.1, 0.2, 0.4), (0, 0, 0), 0.233333333, 0.233333333),
        ((0.0, 0.0, 0.0), (0, 0, 0), 0.0, 0.0),
        ((-0.3, 0.0, 0.3), (0, 0, 0), 0.0, 0.0),
        ((-0.2, -0.2, -0.2), (0, 0, 0), -0.2, -0.2),
        ((0.5, 1.0, 0.0), (0, 0, 1), 0.0, 0.5),
        ((0.77, 0.78, 0.79), (0, 0, 0), 0.78, 0.78),
    ],
)
async def test_relevance(
    cosines: tuple[float, ...], flags: tuple[int, int, int], any_rule: float, all_rule: float
) -> None:
    assert (await relevant(cosines, flags, "any")).value == any_rule
    assert (await relevant(cosines, flags, "all")).value == all_rule


async def test_relevance_is_undefined_where_every_question_is_empty_and_not_where_one_is() -> None:
    empty = await relevant((0.0, 0.0, 0.0), (0, 0, 0), "any", ("", " ", ""))
    assert empty.value is None
    assert empty.undefined
    assert (await relevant((0.9, 0.0, 0.9), (0, 0, 0), "any", ("q", "", "q"))).value == 0.6


async def test_three_requests_and_one_request_score_alike() -> None:
    script: Script = {
        WriteQuestion: Question(question="q", noncommittal=0),
        CompareTexts: Similarities(values=(0.5, 0.6, 0.7)),
    }
    values, calls = [], []
    for asked in ("samples", "requests"):
        run = Run(ScriptedBackend(script), clock=CLOCK)
        values.append((await relevance(Agent("a", run), "q", "an answer", asked=asked)).value)
        calls.append(run.usage.calls)
    assert values == [0.6, 0.6]
    assert calls == [1, 3]


async def test_a_question_that_cannot_be_read_does_not_cancel_the_others() -> None:
    """A record would have them or not, as their times happened to be, and a replay would ask for them."""

    class Slow(ScriptedBackend):
        async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
            if isinstance(task, WriteQuestion) and task.sample:
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            return await super().perform(task, call)

    def ask(task: WriteQuestion, call: Call) -> Question:
        if not task.sample:
            raise BadReply("no question", raw="?")
        return Question(question="q", noncommittal=0)

    run = Run(Slow({WriteQuestion: ask}), clock=CLOCK)
    score = await relevance(Agent("a", run), "q", "an answer", asked="requests")
    assert (score.value, "no question" in score.undefined) == (None, True)
    assert sum(isinstance(event, CallFinished) for event in run.events) == 2


async def test_the_question_writer_is_shown_the_response_alone_and_the_checker_the_joined_documents() -> None:
    script: Script = {
        WriteStatements: Statements(statements=("s",)),
        CheckStatements: checked(1),
        WriteQuestion: Question(question="q", noncommittal=0),
        CompareTexts: Similarities(values=(1.0, 1.0, 1.0)),
    }
    backend = ScriptedBackend(script)
    agent = Agent("a", Run(backend, clock=CLOCK))
    await faithfulness(agent, "the claim", "the answer", ONE_TWO, profile="paper")
    await relevance(agent, "the claim", "the answer")
    words = {type(task): task.prompt_text() for task, _ in backend.calls}
    assert "the claim" not in words[WriteQuestion]
    assert "one\\ntwo" in words[CheckStatements]
    assert "the claim" in words[WriteStatements]
