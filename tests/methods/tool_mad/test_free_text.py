"""Free-text answers, whose sameness is a task of its own (T29), and claims judged as of a day."""

from __future__ import annotations

from datetime import date

import pytest

from redargue.claims import FREE_TEXT, Claim
from redargue.errors import UnsupportedTask
from redargue.evidence import Passage
from redargue.llm.rendering import Renderer
from redargue.methods.tool_mad import ToolMad
from redargue.methods.tool_mad.settings import ToolMadSettings
from redargue.methods.tool_mad.tasks import CheckConsensus, ConsensusReply
from redargue.nli.backend import EmbeddedBackend
from redargue.run import Run
from redargue.tasks.answer import Answer, AnswerClaim
from redargue.tasks.judge import JudgeDebate
from redargue.tasks.score import CheckStatements
from support.debates import CLAIM, ShelfTool, checked, debate, script

pytestmark = pytest.mark.anyio

QUESTION = Claim(text="In which year was the lighthouse at Cape Ansel lit?", labels=FREE_TEXT)


def said(text: str) -> Answer:
    return Answer(text=f"It says so.\n{text}", label=text)


def parts(*agreements: ConsensusReply) -> dict[object, object]:
    lines = script(JudgeDebate=said("1875"))
    return lines | {
        (AnswerClaim, "corpus"): said("1871"),
        (AnswerClaim, "keywords"): said("in eighteen seventy-one"),
        CheckConsensus: list(agreements),
    }


async def test_free_text_answers_that_say_the_same_in_other_words_are_a_consensus() -> None:
    verdict, run = await debate(parts(ConsensusReply(agree=1, answer="1871")), claim=QUESTION)
    assert (verdict.label, verdict.decided_by, verdict.rounds) == ("1871", "consensus", 1)
    assert run.usage.by_agent["moderator"] == 1


async def test_free_text_answers_that_differ_go_on_to_the_judge() -> None:
    verdict, run = await debate(parts(*[ConsensusReply(agree=0, answer="")] * 3), claim=QUESTION)
    assert (verdict.label, verdict.decided_by, verdict.rounds) == ("1875", "judge", 3)
    assert run.usage.by_agent["moderator"] == 3


async def test_the_judge_reads_that_free_text_agreed_in_other_words() -> None:
    lines = parts(ConsensusReply(agree=1, answer="1871")) | {CheckStatements: checked(0)}
    _, run = await debate(lines, claim=QUESTION, rounds=1)
    words = next(task for task, _ in run.backend.calls if isinstance(task, JudgeDebate)).prompt_text()  # type: ignore[attr-defined]
    assert "all debaters answered <data>1871</data>. Their agreement does not decide: corpus: faithfulness" in words


async def test_equal_free_text_needs_nobody_to_compare_it() -> None:
    lines = script(AnswerClaim=said("1871")) | {CheckConsensus: []}
    verdict, run = await debate(lines, claim=QUESTION)
    assert (verdict.label, verdict.decided_by) == ("1871", "consensus")
    assert "moderator" not in run.usage.by_agent


def test_the_authors_reading_of_labels_reads_free_text() -> None:
    task = AnswerClaim(claim=QUESTION, profile="paper", label_reading="first_inside")
    assert Renderer().read(task, "It says so.\n**1871**", plain=True) == Answer(
        text="It says so.\n**1871**", label="1871"
    )


async def test_labels_are_never_handed_to_a_moderator() -> None:
    lines = script(JudgeDebate=said("SUPPORTS")) | {
        (AnswerClaim, "corpus"): Answer(text="**SUPPORTS**", label="SUPPORTS"),
        (AnswerClaim, "keywords"): Answer(text="**REFUTES**", label="REFUTES"),
    }
    verdict, _ = await debate(lines)
    assert verdict.decided_by == "judge"


async def test_a_backend_that_cannot_compare_free_text_is_refused_before_anything_is_asked() -> None:
    run = Run(EmbeddedBackend(), {name: ShelfTool(name) for name in ("corpus", "keywords")})
    with pytest.raises(UnsupportedTask, match="CheckConsensus"):
        await ToolMad(ToolMadSettings(), QUESTION, run).verify()
    assert run.events == []


async def test_as_of_reaches_the_tools_and_marks_what_came_later_or_bears_no_date() -> None:
    shelf = (
        Passage(text="Old.", published="2020-05-01"),
        Passage(text="That day.", published="2021-01-31T23:00:00Z"),
        Passage(text="New.", published="2021-02-01"),
        Passage(text="Year alone.", published="2021"),
        Passage(text="Undated."),
    )
    tools = {name: ShelfTool(name, *shelf) for name in ("corpus", "keywords")}
    claim = CLAIM.model_copy(update={"as_of": date(2021, 1, 31)})
    _, run = await debate(script(), claim=claim, tools=tools, top_k=5, rounds=1)
    found = next(event for event in run.events if event.kind == "evidence_found")
    assert [each.timing for each in found.passages] == ["in_time", "in_time", "later", "undated", "undated"]
    assert {search.as_of for search in tools["corpus"].searches} == {date(2021, 1, 31)}
