"""Zero-shot, zero-shot chain of thought, no search: one model, no evidence; how replies are asked for and read."""

from __future__ import annotations

from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import AVERITEC, FREE_TEXT, OPTIONS, YES_NO_MAYBE, Claim
from redargue.errors import BadReply
from redargue.events import Answered
from redargue.llm.chat import ChatBackend
from redargue.llm.rendering import Renderer, schema_of
from redargue.methods.base import configure
from redargue.methods.baselines.closed_book import (
    AnswerClosedBook,
    AnswerFromReasoning,
    AnswerStepByStep,
    AnswerZeroShot,
    NoSearch,
    ReasonStepByStep,
)
from redargue.methods.dry_run import costs
from redargue.net.transport import Service, Transport
from redargue.run import Run
from redargue.tasks.answer import Answer
from redargue.verdicts import Verdict
from support.debates import CLAIM, CLOCK
from support.loopback import Ask, Loopback

pytestmark = pytest.mark.anyio


async def played(method: str, script: Any, claim: Claim = CLAIM, profile: str = "hardened", **given: Any) -> Any:
    """The verdict and the run of a method over a script."""
    run = Run(ScriptedBackend(script), clock=CLOCK)
    return await configure(method, profile, given).verify(claim, run), run


async def replied(method: str, *said: str, claim: Claim = CLAIM, **given: Any) -> tuple[Verdict, list[Any]]:
    """The verdict over a server that says this, in turn and in the paper's form, and what it was asked."""
    asked: list[Any] = []

    def says(ask: Ask) -> str:
        asked.append(ask.messages)
        return said[len(asked) - 1]

    with Loopback(says) as server:
        transport = Transport()
        backend = ChatBackend(transport, Service(name="model", url=f"{server.url}/v1"), "m")
        async with transport:
            verdict = await configure(method, "paper", given).verify(claim, Run(backend, clock=CLOCK))
    return verdict, asked


async def test_one_question_one_label_and_nothing_is_searched() -> None:
    verdict, run = await played("zero-shot", {AnswerZeroShot: Answer(text="**REFUTES**", label="REFUTES")})
    assert (verdict.label, verdict.decided_by, verdict.usage.searches) == ("REFUTES", "knower", 0)
    assert [(each.agent, each.label) for each in run.events if isinstance(each, Answered)] == [("knower", "REFUTES")]
    method = configure("zero-shot", "hardened", {})
    assert method.tools() == ()
    assert costs(method).likely.calls == {"AnswerZeroShot": 1}


def test_the_label_alone_is_asked_for_in_every_form() -> None:
    task = AnswerZeroShot(claim=CLAIM)
    fields = schema_of(task)["properties"]
    assert list(fields) == ["label"]
    assert fields["label"]["enum"] == ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]
    answer = Renderer().read(task, '{"label": "REFUTES"}', plain=False)
    assert answer == Answer(text="**REFUTES**", label="REFUTES")
    assert "reason" not in Renderer().prompt(task).words.lower()
    assert list(schema_of(AnswerStepByStep(claim=CLAIM))["properties"]) == ["reasoning", "label"]


# ZERO-1
async def test_the_first_label_named_is_taken_as_the_paper_takes_it_or_the_one_on_the_last_line() -> None:
    said = "It refutes nothing, so it Supports.\n**NOT ENOUGH INFO**"
    assert (await replied("zero-shot", said.replace("refutes", "REFUTES")))[0].label == "REFUTES"
    assert (await replied("zero-shot", said, label_reading="last_line"))[0].label == "NOT ENOUGH INFO"


# ZERO-2
async def test_a_reply_without_a_label_is_no_label_and_is_asked_for_again_unless_the_papers_reading_is_chosen() -> None:
    verdict, asked = await replied("zero-shot", "I do not know.")
    assert (verdict.label, verdict.error, verdict.reason, len(asked)) == (None, None, "I do not know.", 1)
    verdict, asked = await replied("zero-shot", "I do not know.", "Still not.", label_reading="last_line")
    assert (verdict.label, verdict.reason, len(asked)) == (None, "Still not.", 2)


# COT-1
async def test_chain_of_thought_is_two_questions_in_one_chat_as_in_the_paper() -> None:
    said = ("The keeper's log REFUTES it? No: it was lit then.", "The answer is SUPPORTS.")
    verdict, asked = await replied("zero-shot-cot", *said)
    assert verdict.label == "SUPPORTS"
    assert verdict.reason == "\n".join(said)
    first, second = asked
    assert [each["role"] for each in second] == ["user", "assistant", "user"]
    assert second[0] == first[0]
    assert second[1]["content"] == said[0]
    assert second[2]["content"].endswith("Therefore, the answer (**SUPPORTS**, **REFUTES**, **NOT ENOUGH INFO**) is")
    assert first[0]["content"].endswith("Let's think step by step.")
    assert CLAIM.text not in second[2]["content"]
    method = configure("zero-shot-cot", "paper", {})
    assert method.tasks() == (ReasonStepByStep, AnswerFromReasoning)
    likely = costs(method).likely
    assert (likely.calls, likely.call_depth) == ({"ReasonStepByStep": 1, "AnswerFromReasoning": 1}, 2)


async def test_chain_of_thought_is_one_question_by_default() -> None:
    method = configure("zero-shot-cot", "hardened", {})
    assert method.tasks() == (AnswerStepByStep,)
    verdict, _ = await played("zero-shot-cot", {AnswerStepByStep: Answer(text="Lit.\n**SUPPORTS**", label="SUPPORTS")})
    assert verdict.label == "SUPPORTS"


# COT-2
async def test_an_answer_after_reasoning_that_names_no_label_is_none() -> None:
    verdict, asked = await replied("zero-shot-cot", "It REFUTES nothing.", "Hard to say.")
    assert (verdict.label, len(asked)) == (None, 2)


# NOSEARCH-1
def test_no_search_offers_only_labels_that_decide_unless_told_otherwise() -> None:
    def offered(claim: Claim, **given: Any) -> list[str]:
        method = configure("no-search", "hardened", given).for_claim(claim, Run(ScriptedBackend({}), clock=CLOCK))
        assert isinstance(method, NoSearch)
        return list(method.task(AnswerClosedBook, **method.reading()).choice())

    assert offered(CLAIM) == ["SUPPORTS", "REFUTES"]
    assert offered(CLAIM.model_copy(update={"labels": AVERITEC})) == ["Supported", "Refuted"]
    assert offered(CLAIM.model_copy(update={"labels": OPTIONS})) == list("ABCDE")
    assert offered(CLAIM.model_copy(update={"labels": FREE_TEXT})) == []
    assert offered(CLAIM.model_copy(update={"labels": YES_NO_MAYBE}), must_answer=False) == ["yes", "no", "maybe"]


# NOSEARCH-2
async def test_a_label_that_was_not_offered_is_no_answer() -> None:
    verdict, asked = await replied("no-search", "**NOT ENOUGH INFO**", "I say **NOT ENOUGH INFO**")
    assert (verdict.label, verdict.error, len(asked)) == (None, None, 2)
    task = AnswerClosedBook(claim=CLAIM, must_answer=True)
    with pytest.raises(ValueError, match="not one of the labels SUPPORTS, REFUTES"):
        Renderer().read(task, '{"reasoning": "x", "label": "NOT ENOUGH INFO"}', plain=False)
    verdict, _ = await replied("no-search", "I recall it.\n**REFUTES**")
    assert verdict.label == "REFUTES"


async def test_free_text_is_answered_with_what_is_said() -> None:
    claim = Claim(text="When was it lit?", labels=FREE_TEXT)
    verdict, _ = await replied("zero-shot", "1871", claim=claim)
    assert verdict.label == "1871"


async def test_an_unreadable_reply_of_the_script_is_no_label() -> None:
    verdict, run = await played("zero-shot", {AnswerZeroShot: BadReply("no label", raw="hm")})
    assert (verdict.label, verdict.reason) == (None, "hm")
    assert [each.text for each in run.events if isinstance(each, Answered)] == ["hm"]
