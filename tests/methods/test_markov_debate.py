"""Markov-chain debate: the order of its states, transitions, when it ends."""

from __future__ import annotations

from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import FEVER, OPTIONS, TWO, Claim
from redargue.errors import UsageError
from redargue.events import Answered
from redargue.evidence import Passage, Side
from redargue.llm.rendering import schema_of
from redargue.methods.base import ConfiguredMethod, configure
from redargue.methods.baselines.sceptical_queries import Queries, WriteScepticalQueries
from redargue.methods.markov_debate import GiveOpinion, MarkovDebate, MarkovDebateSettings, Opinion
from redargue.run import Run
from redargue.verdicts import Verdict
from support.debates import CLOCK, QUOTE, ShelfTool, script

pytestmark = pytest.mark.anyio
CLAIM = Claim(text="The lighthouse at Cape Ansel was lit in 1871.", labels=TWO)


def opinion(factual: bool) -> Opinion:
    return Opinion(opinion="because", factuality=factual, severity=0 if factual else 3, quotes=(QUOTE,))


async def chain(
    says: Any, claim: Claim = CLAIM, **given: Any
) -> tuple[Verdict, list[tuple[int, str]], list[GiveOpinion]]:
    """The verdict, who spoke in which state, and what each was asked."""
    heard: list[GiveOpinion] = []

    def give(task: GiveOpinion, call: Any) -> Opinion:
        heard.append(task)
        said = says(task) if callable(says) else says
        return said if isinstance(said, Opinion) else opinion(said)

    run = Run(
        ScriptedBackend(script(GiveOpinion=give)),
        {name: ShelfTool(name) for name in ("corpus", "keywords")},
        clock=CLOCK,
    )
    verdict = await ConfiguredMethod(MarkovDebate, MarkovDebateSettings(**given)).verify(claim, run)
    return verdict, [(each.round, each.agent) for each in run.events if isinstance(each, Answered)], heard


async def test_a_claim_that_was_found_factual_goes_to_the_skeptic_first() -> None:
    verdict, spoke, heard = await chain(True, min_rounds=1)
    assert spoke == [(0, "judge"), (1, "skeptic"), (1, "trust"), (1, "leader")]
    assert (verdict.label, verdict.decided_by, verdict.rounds) == ("SUPPORTS", "leader", 1)
    assert [len(each.others) for each in heard] == [0, 1, 1, 2]


async def test_a_claim_that_was_found_false_goes_to_who_trusts_it_first() -> None:
    verdict, spoke, _ = await chain(False, min_rounds=1)
    assert [agent for _, agent in spoke] == ["judge", "trust", "skeptic", "leader"]
    assert verdict.label == "REFUTES"


@pytest.mark.parametrize(
    ("transition", "factual", "first"),
    [
        ("true-trust", True, "trust"),
        ("true-trust", False, "skeptic"),
        ("always-skeptic", False, "skeptic"),
        ("always-trust", True, "trust"),
    ],
)
async def test_transitions_of_the_ablation(transition: str, factual: bool, first: str) -> None:
    _, spoke, _ = await chain(factual, min_rounds=1, transition=transition)
    assert spoke[1] == (1, first)


async def test_no_rounds_are_the_first_opinion() -> None:
    verdict, spoke, _ = await chain(True, min_rounds=0)
    assert (verdict.label, verdict.rounds, spoke) == ("SUPPORTS", 0, [(0, "judge")])
    assert verdict.decided_by == "judge"


async def test_it_goes_on_until_three_agree_and_ends_at_the_last_state() -> None:
    verdict, _, _ = await chain(lambda task: task.part != "skeptic", min_rounds=1, max_rounds=3)
    assert (verdict.label, verdict.rounds) == ("SUPPORTS", 3)
    verdict, _, _ = await chain(True, min_rounds=2)
    assert verdict.rounds == 2


@pytest.mark.parametrize("factual", [True, False])
@pytest.mark.parametrize("quotes", [(), ("It was lit in 1875.",)])
async def test_an_opinion_that_nothing_can_be_quoted_for_settles_nothing_where_the_labels_can_say_so(
    factual: bool, quotes: tuple[str, ...]
) -> None:
    unproven = Opinion(opinion="because", factuality=factual, severity=0, quotes=quotes)
    believed = "SUPPORTS" if factual else "REFUTES"
    for labels, settings, label in (
        (FEVER, {"unproven": "not-enough"}, "NOT ENOUGH INFO"),
        (FEVER, {}, believed),
        (TWO, {"unproven": "not-enough"}, believed),
    ):
        claim = CLAIM.model_copy(update={"labels": labels})
        verdict, _, _ = await chain(lambda task: unproven, claim, min_rounds=1, **settings)
        assert verdict.label == label


@pytest.mark.parametrize("factual", [True, False])
async def test_where_the_evidence_is_silent_no_side_is_taken_whatever_is_quoted(factual: bool) -> None:  # MCD-1
    silent = Opinion(opinion="because", factuality=factual, severity=0, quotes=(QUOTE,), settled=False)
    for labels, label in ((FEVER, "NOT ENOUGH INFO"), (TWO, None)):
        claim = CLAIM.model_copy(update={"labels": labels})
        verdict, _, heard = await chain(lambda task: silent, claim, min_rounds=1, unproven="not-enough")
        assert (verdict.label, verdict.rounds) == (label, 1)  # three that leave a claim open agree
        assert {quote.side for quote in verdict.quotes} == {Side.CONTEXT}
    assert "trust (not settled)" in heard[-1].prompt_text()


def test_only_the_hardened_prompt_asks_whether_the_claim_is_settled() -> None:
    for profile in ("paper", "hardened"):
        task = GiveOpinion(claim=CLAIM, part="judge", passages=(), profile=profile)
        assert ("settled" in task.prompt_text()) == (profile == "hardened")
        assert ("settled" in schema_of(task)["properties"]) == (profile == "hardened")


async def test_an_opinion_that_can_be_quoted_for_stands() -> None:
    verdict, _, _ = await chain(False, CLAIM.model_copy(update={"labels": FEVER}), unproven="not-enough")
    assert verdict.label == "REFUTES"


async def test_labels_without_sides_are_refused() -> None:
    with pytest.raises(UsageError, match="'options'"):
        await chain(True, Claim(text="Which?", labels=OPTIONS, options=("a", "b")))


@pytest.mark.parametrize(
    "given",
    [
        {"opinion": "x", "factuality": True, "Error severity": 0},
        {"opinion": "x", "factuality": "true", "error_severity": "0", "quotes": []},
        {"Opinion": "x", "Factuality": True, "severity": 0},
    ],
)
def test_opinions_are_read_under_the_papers_names(given: dict[str, Any]) -> None:
    assert Opinion.model_validate(given) == Opinion(opinion="x", factuality=True, severity=0)


@pytest.mark.parametrize("given", [{"factuality": "perhaps"}, {"severity": 6}, {"severity": None}])
def test_what_is_no_opinion_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Opinion.model_validate({"opinion": "x", "factuality": True, "severity": 0} | given)


async def test_the_evidence_is_searched_with_factools_two_sceptical_queries() -> None:
    asked: list[WriteScepticalQueries] = []

    def write(task: WriteScepticalQueries, call: Any) -> Queries:
        asked.append(task)
        return Queries(queries=("when was the light of Cape Ansel lit", "Cape Ansel light not lit in 1871"))

    tools = {name: ShelfTool(name) for name in ("corpus", "keywords")}
    given = script(WriteScepticalQueries=write)
    run = Run(ScriptedBackend(given), tools, clock=CLOCK)
    await ConfiguredMethod(MarkovDebate, MarkovDebateSettings(min_rounds=1)).verify(CLAIM, run)
    assert [task.count for task in asked] == [2]
    for tool in tools.values():
        assert tool.queries == ["when was the light of Cape Ansel lit", "Cape Ansel light not lit in 1871"]


async def test_the_evidence_has_as_many_documents_as_the_setting_says_and_each_once() -> None:
    heard: list[GiveOpinion] = []

    def give(task: GiveOpinion, call: Any) -> Opinion:
        heard.append(task)
        return opinion(True)

    pages = [Passage(text=f"Text of page {page}.", title=f"Page {page}") for page in range(20)]
    tools = {name: ShelfTool(name, *pages) for name in ("corpus", "keywords")}
    run = Run(ScriptedBackend(script(GiveOpinion=give)), tools, clock=CLOCK)
    await ConfiguredMethod(MarkovDebate, MarkovDebateSettings(min_rounds=0, snippets=6)).verify(CLAIM, run)
    titles = [passage.title for passage in heard[0].passages]
    assert len(titles) == len(set(titles)) == 6


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"min_rounds": 9}, "min_rounds=9 is above max_rounds=4"),
        ({"snippets": 1}, "snippets=1 is fewer than the 2 queries"),
    ],
)
def test_settings_that_cannot_be_kept_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MarkovDebateSettings(**given)


async def test_opinions_are_shown_with_their_authors() -> None:
    _, _, heard = await chain(True, min_rounds=1)
    leader = heard[-1].prompt_text()
    assert leader.index("skeptic (factual: true, severity 0)") < leader.index("trust (factual: true, severity 0)")


def test_settings_that_contradict_each_other_are_named_and_not_printed_as_a_dictionary() -> None:
    with pytest.raises(UsageError) as refused:
        configure("markov-debate", "hardened", {"min_rounds": 9})
    message = "the settings of 'markov-debate' do not fit together: min_rounds=9 is above max_rounds=4"
    assert refused.value.what == message
