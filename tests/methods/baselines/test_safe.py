"""SAFE: five searches whatever is known, one rating, and what it comes to in the claim's own labels."""

from __future__ import annotations

from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import FEVER, OPTIONS, TWO, Claim
from redargue.errors import BadReply, UsageError
from redargue.llm.rendering import Renderer
from redargue.methods.base import ConfiguredMethod, configure
from redargue.methods.baselines.safe import (
    IRRELEVANT,
    SUPPORT,
    CheckRelevance,
    MakeSelfContained,
    RateSupport,
    Relevance,
    Safe,
    SafeSettings,
    SelfContained,
    WriteNextQuery,
)
from redargue.methods.dry_run import costs
from redargue.run import Run
from redargue.tasks.answer import Answer
from redargue.tasks.base import Profile, Task
from redargue.tasks.query import Query
from redargue.verdicts import Verdict
from support.debates import CLAIM, CLOCK, QUOTE, ShelfTool

pytestmark = pytest.mark.anyio
UNREADABLE = BadReply("no answer", raw="Hm.")
SAID = Claim(text="It was lit in 1871.", context="Cape Ansel has a lighthouse. It was lit in 1871.")


def rating(label: str) -> Answer:
    return Answer(text=f"So it is. [{label}]", label=label, quotes=(QUOTE,))


async def rate(
    *,
    claim: Claim = CLAIM,
    says: Any = rating("Supported"),  # noqa: B008
    relevant: Any = Relevance(relevant=True),  # noqa: B008
    revised: Any = SelfContained(statement=CLAIM.text),  # noqa: B008
    queries: Any = lambda task, call: Query(text=f"query {len(task.results)}"),
    **settings: Any,
) -> tuple[Verdict, list[Task[Any]], ScriptedBackend, ShelfTool]:
    backend = ScriptedBackend(
        {MakeSelfContained: revised, CheckRelevance: relevant, WriteNextQuery: queries, RateSupport: says}
    )
    tool = ShelfTool("corpus")
    run = Run(backend, {"corpus": tool}, clock=CLOCK)
    verdict = await ConfiguredMethod(Safe, SafeSettings(**settings)).verify(claim, run)
    return verdict, [task for task, _ in backend.calls], backend, tool


async def test_a_claim_alone_is_searched_for_five_times_and_rated() -> None:
    verdict, asked, backend, tool = await rate(profile="paper", relevance=True)
    assert [task.name() for task in asked] == [*["WriteNextQuery"] * 5, "RateSupport"]
    assert tool.queries == [f"query {step}" for step in range(5)]
    assert {call.sampling.temperature for _, call in backend.calls} == {0.1}
    assert (verdict.label, verdict.decided_by, verdict.rounds) == ("SUPPORTS", "rater", 5)
    assert [quote.found for quote in verdict.quotes] == [True]
    low = costs(ConfiguredMethod(Safe, SafeSettings())).low
    assert (low.model_calls, low.searches, low.call_depth) == (6, {"corpus": 5}, 6)


async def test_knowledge_is_the_results_joined_by_newlines() -> None:
    _, asked, _, _ = await rate(profile="paper", max_steps=2)
    text = ShelfTool("corpus").passages[0].text
    shown = [task.rendered().input_text.partition("KNOWLEDGE: ")[2] for task in asked]
    assert shown == ["N/A", text, f"{text}\n{text}"]


async def test_a_claim_in_a_text_is_made_self_contained_and_then_stands_alone() -> None:
    verdict, asked, _, _ = await rate(claim=SAID, relevance=True)
    assert [task.name() for task in asked[:3]] == ["MakeSelfContained", "CheckRelevance", "WriteNextQuery"]
    relevance, query = asked[1], asked[2]
    assert isinstance(relevance, CheckRelevance)
    assert (relevance.claim.text, relevance.claim.context) == (CLAIM.text, SAID.context)
    assert isinstance(query, WriteNextQuery)
    assert (query.claim.text, query.claim.context) == (CLAIM.text, "")
    assert verdict.claim == SAID


async def test_what_is_irrelevant_is_not_searched_for_and_has_no_label() -> None:
    verdict, asked, _, tool = await rate(claim=SAID, relevance=True, relevant=Relevance(relevant=False))
    assert (verdict.label, verdict.reason, tool.queries) == (None, IRRELEVANT, [])
    assert len(asked) == 2
    method = ConfiguredMethod(Safe, SafeSettings(relevance=True))
    assert [costs(method, claim).likely.model_calls for claim in (CLAIM, SAID)] == [6, 8]


async def test_safe_3_what_cannot_be_read_before_the_search_changes_nothing() -> None:  # SAFE-3
    verdict, asked, _, _ = await rate(claim=SAID, relevance=True, relevant=UNREADABLE, revised=UNREADABLE)
    assert verdict.label == "SUPPORTS"
    query = asked[2]
    assert isinstance(query, WriteNextQuery)
    assert (query.claim.text, query.claim.context) == (SAID.text, SAID.context)


async def test_safe_1_and_safe_2_a_query_that_cannot_be_read_ends_the_search() -> None:  # SAFE-1, SAFE-2
    verdict, asked, _, tool = await rate(queries=[Query(text="a"), UNREADABLE])
    assert [task.name() for task in asked] == ["WriteNextQuery", "WriteNextQuery", "RateSupport"]
    assert (tool.queries, verdict.label, verdict.rounds) == (["a"], "SUPPORTS", 1)


async def test_safe_4_not_supported_is_false_or_not_settled() -> None:  # SAFE-4
    verdict, *_ = await rate(says=rating("Not Supported"))
    assert verdict.label == "REFUTES"
    verdict, *_ = await rate(says=rating("Not Supported"), not_supported="not_enough")
    assert verdict.label == FEVER.names[2]
    verdict, *_ = await rate(
        says=rating("Not Supported"), claim=CLAIM.model_copy(update={"labels": TWO}), not_supported="not_enough"
    )
    assert verdict.label == "REFUTES"
    defaults = {profile: configure("safe", profile, {}).settings.not_supported for profile in Safe.profiles}
    assert defaults == {"paper": "refuted", "hardened": "not_enough"}


async def test_safe_5_a_rating_that_cannot_be_read_is_no_label() -> None:  # SAFE-5
    verdict, *_ = await rate(says=UNREADABLE)
    assert (verdict.label, verdict.reason, verdict.error) == (None, "Hm.", None)


async def test_labels_without_sides_are_refused() -> None:
    with pytest.raises(UsageError, match="safe cannot give the labels 'options'"):
        await rate(claim=Claim(text="Which?", labels=OPTIONS, options=("a", "b")))


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("It says so. [Supported]", "Supported"),
        ("It says [1] nothing.\nFinal answer: [Not Supported.]", "Not Supported"),
        ("[Supported] is what I say: [Supported]", "Supported"),
        ("It is [supported], I think [Supported] but perhaps [Not Supported]", None),
        ("It is [unsupported]", None),
        ("**Not Supported**", "Not Supported"),
        ("It says so in [1].\n**Supported**", "Supported"),
        ("Some would say Supported.\nMy rating: Not Supported", "Not Supported"),
        ("Is it Supported? Not Supported.", None),
        ("It is Supported by the first.\nI cannot rate it.", None),
        ("The page says [Supported].\nI say [Not Supported].", None),
    ],
)
def test_a_rating_stands_in_square_brackets(reply: str, expected: str | None) -> None:
    task = RateSupport(claim=CLAIM.model_copy(update={"labels": SUPPORT}), profile="paper")
    if expected is None:
        with pytest.raises(ValueError, match="not one of the labels"):
            Renderer().read(task, reply, plain=True)
        return
    read = Renderer().read(task, reply, plain=True)
    assert isinstance(read, Answer)
    assert read.label == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("The year is missing.\n```\nCape Ansel\n lit year\n```", Query(text="Cape Ansel lit year")),
        ("```text\nCape Ansel\n```\nor\n```\nanother\n```", Query(text="Cape Ansel")),
        ("```Cape Ansel```", Query(text="Cape Ansel")),
        ("[Cape Ansel]", Query(text="Cape Ansel")),
        ("```\n```", None),
        ("I would look at what " + "x " * 200, None),
    ],
)
def test_a_query_stands_in_a_code_block(reply: str, expected: Query | None) -> None:
    task = WriteNextQuery(claim=CLAIM, profile="paper")
    if expected is None:
        with pytest.raises(ValueError):
            Renderer().read(task, reply, plain=True)
    else:
        assert Renderer().read(task, reply, plain=True) == expected


@pytest.mark.parametrize(
    ("reply", "expected"), [("So: [Foo]", True), ("No. [Not Foo]", False), ("Foo", None), ("[Foo] [Not Foo]", None)]
)
@pytest.mark.parametrize("profile", ["paper", "hardened"])
def test_relevance_stands_in_square_brackets(profile: Profile, reply: str, expected: bool | None) -> None:
    task = CheckRelevance(claim=SAID, profile=profile)
    if profile == "hardened":  # whose instructions do not define the authors' placeholder
        reply = reply.replace("Foo", "Relevant")
        assert "[Not Relevant]" in task.prompt_text()
    if expected is None:
        with pytest.raises(ValueError):
            Renderer().read(task, reply, plain=True)
        return
    read = Renderer().read(task, reply, plain=True)
    assert isinstance(read, Relevance)
    assert read.relevant is expected


def test_a_statement_stands_in_a_code_block_and_says_something() -> None:
    task = MakeSelfContained(claim=SAID, profile="paper")
    assert Renderer().read(task, "'It'.\n```\nThe lamp.\n```", plain=True) == SelfContained(statement="The lamp.")
    for reply in ("```\n ?! \n```", "The lamp.", "```\nThe \x07 lamp.\n```"):
        with pytest.raises(ValueError):
            Renderer().read(task, reply, plain=True)
