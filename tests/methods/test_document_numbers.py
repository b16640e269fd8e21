"""A document has one number for the whole claim, in every prompt of every agent (hardened)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.evidence import Passage
from redargue.methods.base import ConfiguredMethod
from redargue.methods.dual_position import DualPosition, DualPositionSettings
from redargue.methods.dual_position.referees import JudgeTeams
from redargue.methods.dual_position.tasks import SpeakForTeam, TeamQueries, TeamStatement, WriteTeamQueries
from redargue.retrieval.tools import Search
from redargue.run import Run
from redargue.tasks.answer import AnswerClaim
from redargue.tasks.base import Task
from redargue.tasks.judge import JudgeDebate
from redargue.tasks.query import Query, RewriteQuery
from redargue.tasks.score import CheckStatements
from support.debates import CLAIM, CLOCK, ShelfTool, answer, debate, script

pytestmark = pytest.mark.anyio

PAGES = tuple(
    Passage(document=f"page-{letter}", title=f"Page {letter}", text=f"The keeper {letter} lit the lamp at Cape Ansel.")
    for letter in "ABCDE"
)
A, B, C, D, E = PAGES


class ByQuery(ShelfTool):
    """A tool that finds other pages for a query that says "again"."""

    def __init__(self, name: str, first: tuple[Passage, ...], again: tuple[Passage, ...]) -> None:
        super().__init__(name, *first)
        self.again = again

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        found = await super().search(query, k, search=search)
        return self.again if "again" in query else found


def numbers_in(tasks: Iterable[Task[Any]]) -> dict[str, set[int]]:
    """The numbers under which prompts show the pages' texts, by page."""
    seen: dict[str, set[int]] = defaultdict(set)
    for task in tasks:
        words = task.prompt_text()
        for number, body in re.findall(r"\[(\d+)\][^\n]*\n<data>\n(.*?)</data>", words, re.DOTALL):
            for page in PAGES:
                if page.text in body:
                    seen[page.title].add(int(number))
        for number, title in re.findall(r'\[(\d+)\] (?:<data>)?"[^"\n]*" \((Page .)', words):
            seen[title].add(int(number))
        for number, title in re.findall(r"\[(\d+)\] (Page .)", words):
            seen[title].add(int(number))
    return dict(seen)


class BySide(ShelfTool):
    """A tool that finds other pages for each team's queries."""

    def __init__(self, name: str, found: Mapping[str, tuple[Passage, ...]]) -> None:
        super().__init__(name)
        self.found = found

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        return self.found[query.split()[0]]


async def test_a_document_has_one_number_in_every_prompt_of_tool_mad() -> None:
    tools = {"corpus": ByQuery("corpus", (A, B), (E, B)), "keywords": ByQuery("keywords", (C, B, D), (D, A))}
    sides = {"corpus": answer("SUPPORTS", A.text), "keywords": answer("REFUTES", C.text)}
    parts = script(AnswerClaim=lambda task, call: sides[call.agent], RewriteQuery=Query(text="the lamp again"))
    _, run = await debate(parts, tools=tools, rounds=2)
    asked = [task for task, _ in run.backend.calls]  # type: ignore[attr-defined]
    numbers = {"Page A": {1}, "Page B": {2}, "Page C": {3}, "Page D": {4}, "Page E": {5}}
    assert numbers_in(asked) == numbers
    of_keywords = [t for t, call in run.backend.calls if isinstance(t, AnswerClaim) and call.agent == "keywords"]  # type: ignore[attr-defined]
    assert numbers_in(of_keywords[:1]) == {page: numbers[page] for page in ("Page B", "Page C", "Page D")}
    assert '[1] "The keeper A' in of_keywords[1].prompt_text()  # the other's quotation, under its document's number
    rewritten = next(task for task in asked if isinstance(task, RewriteQuery) and "[3]" in "".join(task.found))
    assert rewritten.quoted == (f'[3] "{C.text}" (Page C)',)
    for kind in (JudgeDebate, CheckStatements):
        assert numbers_in(task for task in asked if isinstance(task, kind))["Page D"] == {4}


async def test_the_judge_reads_one_text_at_two_addresses_under_the_debaters_numbers() -> None:
    mirror = A.model_copy(update={"document": "mirror-of-page-A"})
    tools = {"corpus": ShelfTool("corpus", A, B), "keywords": ShelfTool("keywords", mirror, C)}
    sides = {"corpus": answer("SUPPORTS", A.text), "keywords": answer("REFUTES", C.text)}
    parts = script(AnswerClaim=lambda task, call: sides[call.agent])
    verdict, run = await debate(parts, tools=tools, rounds=1)
    assert (verdict.error, verdict.decided_by) == (None, "judge")
    (judged,) = [task for task, _ in run.backend.calls if isinstance(task, JudgeDebate)]  # type: ignore[attr-defined]
    assert numbers_in([judged]) == {"Page A": {1, 3}, "Page B": {2}, "Page C": {4}}
    assert [f"read {read}" in judged.prompt_text() for read in ("[1], [2]", "[3], [4]")] == [True, True]


async def test_prompts_of_the_paper_have_no_numbers() -> None:
    tools = {"corpus": ShelfTool("corpus", A, B), "keywords": ShelfTool("keywords", C, B, D)}
    sides = {"corpus": answer("SUPPORTS", A.text), "keywords": answer("REFUTES", C.text)}
    parts = script(AnswerClaim=lambda task, call: sides[call.agent])
    _, run = await debate(parts, tools=tools, rounds=2, profile="paper")
    asked = [task for task, _ in run.backend.calls]  # type: ignore[attr-defined]
    assert not any(getattr(task, "numbers", ()) for task in asked)
    assert not numbers_in(asked)


async def test_a_document_has_one_number_for_both_teams_and_all_referees() -> None:
    tool = BySide("corpus", {"affirmative": (A, B), "negative": (C, B, D)})

    def speak(task: SpeakForTeam, call: Any) -> TeamStatement:
        return TeamStatement(text=f"As {task.position} says.", quotes=(task.passages[0].text, B.text))

    def search(task: WriteTeamQueries, call: Any) -> TeamQueries:
        return TeamQueries(support=f"{task.position} one", refute=f"{task.position} two")

    backend = ScriptedBackend(script(WriteTeamQueries=search, SpeakForTeam=speak))
    settings = DualPositionSettings(
        tools=("corpus",), profile="hardened", min_rounds=2, **DualPosition.profiles["hardened"]
    )
    await ConfiguredMethod(DualPosition, settings).verify(CLAIM, Run(backend, {"corpus": tool}, clock=CLOCK))
    asked = [task for task, _ in backend.calls]
    numbers = {"Page A": {1}, "Page B": {2}, "Page C": {3}, "Page D": {4}}
    assert numbers_in(asked) == numbers
    assert sum(isinstance(task, SpeakForTeam) for task in asked) == 4
    words = next(task for task in asked if isinstance(task, JudgeTeams)).prompt_text()
    assert words.count(f'[2] <data>"{B.text}" (Page B)</data>') == 1
    assert '[2] <data>"The keeper B lit the lamp at Cape …"</data>, as above' in words


async def test_one_text_at_two_addresses_has_a_number_for_each_team() -> None:
    mirror = A.model_copy(update={"document": "mirror-of-page-A"})
    tool = BySide("corpus", {"affirmative": (A, B), "negative": (mirror, D)})

    def speak(task: SpeakForTeam, call: Any) -> TeamStatement:
        return TeamStatement(text=f"As {task.position} says.", quotes=(A.text,))

    def search(task: WriteTeamQueries, call: Any) -> TeamQueries:
        return TeamQueries(support=f"{task.position} one", refute=f"{task.position} two")

    backend = ScriptedBackend(script(WriteTeamQueries=search, SpeakForTeam=speak))
    settings = DualPositionSettings(tools=("corpus",), profile="hardened", **DualPosition.profiles["hardened"])
    verdict = await ConfiguredMethod(DualPosition, settings).verify(CLAIM, Run(backend, {"corpus": tool}, clock=CLOCK))
    assert verdict.error is None
    assert {quote.source.document for quote in verdict.quotes if quote.source} <= {"page-A", "mirror-of-page-A"}


async def test_one_text_under_two_titles_is_two_documents_and_a_quotation_is_of_the_first() -> None:
    other = A.model_copy(update={"document": "page-Z", "title": "Page Z"})
    tools = {"corpus": ShelfTool("corpus", A, other), "keywords": ShelfTool("keywords", C, D)}
    sides = {"corpus": answer("SUPPORTS", A.text), "keywords": answer("REFUTES", C.text)}
    parts = script(AnswerClaim=lambda task, call: sides[call.agent])
    _, run = await debate(parts, tools=tools, rounds=2)
    asked = [task for task, call in run.backend.calls if isinstance(task, AnswerClaim) and call.agent == "corpus"]  # type: ignore[attr-defined]
    assert [passage.title for passage in asked[0].passages] == ["Page A", "Page Z"]
    others = [task for task, call in run.backend.calls if isinstance(task, AnswerClaim) and call.agent == "keywords"]  # type: ignore[attr-defined]
    assert f'[1] "{A.text}" (Page A)' in others[-1].prompt_text()
