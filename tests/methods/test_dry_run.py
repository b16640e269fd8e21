"""A dry run counts requests and the longest chain of them, without a model, a network or a file."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest
from benchmarks.methods import FIGURES, configured, ours
from pydantic import AfterValidator, Field

from redargue.claims import FREE_TEXT, Claim, Frozen
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply
from redargue.methods import Agent, Method
from redargue.methods.base import configure, methods
from redargue.methods.dry_run import CLAIM, costs, dry_run
from redargue.methods.made_up_agents import AGREES, AGREES_LATER, DISAGREES, DOUBTS, MadeUpTool
from redargue.retrieval.tools import SearchAction
from redargue.tasks.answer import AnswerClaim
from redargue.tasks.base import Task, exactly_one
from redargue.verdicts import Verdict

pytestmark = pytest.mark.anyio

SHIPPED = [(name, profile) for name in ours() for profile in methods[name].profiles]
SECONDS = 10  # of processor time, several dozen times what one takes


@pytest.mark.slow
@pytest.mark.parametrize(("name", "profile"), SHIPPED)
def test_every_method_has_a_cost_that_grows_with_disagreement(name: str, profile: str) -> None:
    began = time.process_time()
    method = configure(name, profile, {})
    low, likely, high = costs(method)
    assert time.process_time() - began < SECONDS
    assert low.size <= likely.size <= high.size
    assert {asked.agent for asked in high.asked} <= set(method.agents())
    assert set(high.searches) <= set(method.tools())


@pytest.mark.parametrize("name", ours())
def test_what_was_counted_over_http_is_between_the_lowest_and_the_highest(name: str) -> None:
    counted = json.loads(FIGURES.read_text(encoding="utf-8"))[name]
    low, _, high = costs(configured(name))
    assert low.model_calls <= counted["calls"] <= high.model_calls
    assert low.searches.total() <= counted["searches"] <= high.searches.total()


@pytest.mark.parametrize("uncertainty", ["entropy", "token-sar"])
def test_the_highest_cost_is_that_of_an_endpoint_without_log_probabilities(uncertainty: str) -> None:
    given = {"min_rounds": 2, "max_rounds": 2, "uncertainty": uncertainty}
    _, likely, high = costs(configure("dual-position", "paper", given))
    measured = 6  # analysts once, rebutters in two rounds, of both teams
    assert high.model_calls == likely.model_calls + measured


class Move(Frozen):
    """A guess or a question."""

    model_config = exactly_one("answer", "question")

    answer: Literal["yes, it is", "no, it is not", ""] = ""
    question: str = ""
    sure: Literal["Yes", "No"] = "No"
    score: int = Field(default=0, ge=0, le=10)


class Guess(Task[Move]):
    """What somebody else's method asks."""

    prompt = "A guess?"

    def validate_answer(self, answer: Move) -> Move:
        if bool(answer.answer) == bool(answer.question):
            raise ValueError("a guess or a question")
        return answer


class Guessing(Method, name="guessing"):
    """Two search concurrently and then guess, one after the other."""

    roles: ClassVar = {"one": "corpus", "other": ("corpus", "keywords")}
    asks = (Guess, AnswerClaim)

    async def check(self, claim: Claim, one: Agent, other: Agent) -> Verdict:
        for round_ in range(1, 6):
            await gather_or_cancel(agent.search(f"{claim.text} {round_}", round_=round_) for agent in (one, other))
            moves = [await agent.perform(Guess(), round_=round_) for agent in (one, other)]
            if all(move.answer == moves[0].answer != "" and move.sure == "Yes" for move in moves):
                break
        return self.verdict(claim.labels.names[0], decided_by="one")


async def test_a_chain_is_as_long_as_the_calls_and_searches_that_wait_for_each_other() -> None:
    """Also inside a running event loop, whose time a dry run leaves alone."""
    method = configure("guessing", "hardened", {})
    runs = [dry_run(method, CLAIM, course) for course in (AGREES, AGREES_LATER, DISAGREES, DOUBTS)]
    rounds = [1, 3, 5, 5]  # two questions before the guesses; the last moves of all are questions
    assert [run.model_calls for run in runs] == [2 * round_ for round_ in rounds]
    assert [run.searches for run in runs] == [{"corpus": 2 * round_, "keywords": round_} for round_ in rounds]
    assert [(run.call_depth, run.search_depth) for run in runs] == [(2 * round_, round_) for round_ in rounds]


def _only_magic(word: str) -> str:
    if word != "xyzzy":
        raise ValueError("that is not the word")
    return word


class Word(Frozen):
    """A word that nobody can guess."""

    word: Annotated[str, AfterValidator(_only_magic)]


class SayTheWord(Task[Word]):
    """What no made-up reply answers."""

    prompt = "The word?"


class Password(Method, name="password"):
    """Needs the word."""

    roles: ClassVar = {"guard": None}
    asks = (SayTheWord,)

    async def check(self, claim: Claim, guard: Agent) -> Verdict:
        await guard.perform(SayTheWord())
        return self.verdict(None)


def test_a_task_that_refuses_every_made_up_reply_is_named_with_its_reason() -> None:
    with pytest.raises(BadReply, match=r"SayTheWord accepts no made-up reply: .*that is not the word"):
        costs(configure("password", "hardened", {}))


def test_a_dry_run_writes_nothing_and_is_the_same_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REDARGUE_HOME", "REDARGUE_MEMORY", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    method = configure("mermaid", "hardened", {})
    first, second = (dry_run(method, CLAIM, DISAGREES) for _ in range(2))
    assert (first.asked, first.searches, first.call_depth) == (second.asked, second.searches, second.call_depth)
    assert costs(method) is costs(configure("mermaid", "hardened", {}))
    assert list(tmp_path.iterdir()) == []


def test_a_context_and_the_label_set_count_as_they_do_in_a_run() -> None:
    method = configure("dual-position", "hardened", {})
    alone: dict[str, Any] = costs(method).high.calls
    within = costs(method, CLAIM.model_copy(update={"context": "It stands above the harbour."})).high.calls
    assert "AnalyseText" not in alone
    assert within["AnalyseText"] == 2


@pytest.mark.parametrize(
    ("name", "calls"), [("mermaid", [3, 4, 6]), ("react", [2, 3, 10]), ("mad", [3, 6, 11]), ("reconcile", [3, 6, 12])]
)
def test_free_answers_differ_and_agree_as_labels_do(name: str, calls: list[int]) -> None:
    claim = Claim(text="Who built the lighthouse at Cape Ansel?", labels=FREE_TEXT)
    assert [run.model_calls for run in costs(configure(name, "hardened", {}), claim)] == calls
    assert [run.model_calls for run in costs(configure(name, "hardened", {}))] == calls


def test_calls_of_tools_of_mcp_servers_count_as_searches() -> None:
    tool = SearchAction(MadeUpTool("almanac", "an almanac"), 3)
    high = costs(configure("mermaid", "hardened", {"tools": ()}), actions={"almanac": tool}).high
    assert (high.searches, high.search_depth, high.model_calls) == ({"almanac": 4}, 4, 6)
