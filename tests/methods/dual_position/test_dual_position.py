"""Dual-position debate: who is asked what and when, how it ends, and what any of its parts may do wrong."""

from __future__ import annotations

from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import FEVER, OPTIONS, TWO, Claim
from redargue.errors import BadReply, UsageError
from redargue.events import CallFinished, Refereed, RoundVoted
from redargue.evidence import Passage, Side
from redargue.methods.base import ConfiguredMethod
from redargue.methods.dual_position import DualPosition
from redargue.methods.dual_position.prompts import Argument, Rebut, SummariseTeam
from redargue.methods.dual_position.referees import DIMENSIONS, Judgement, JudgeTeams
from redargue.methods.dual_position.settings import DualPositionSettings
from redargue.nli.backend import quoted
from redargue.run import Run
from redargue.tasks.query import OtherAnswer
from redargue.verdicts import Verdict
from support.debates import CLOCK, QUOTE, ShelfTool, script

pytestmark = pytest.mark.anyio
CLAIM = Claim(text="The lighthouse at Cape Ansel was lit in 1871.", labels=TWO)


def judgement(vote: str | None, confidence: float | None = 0.9, *, lead: float = 0.0) -> Judgement:
    scores = {f"affirmative_{each}": 0.5 + lead for each in DIMENSIONS}
    return Judgement(vote=vote, confidence=confidence, **scores, **{f"negative_{each}": 0.5 for each in DIMENSIONS})


async def debate(claim: Claim = CLAIM, /, *, failing: bool = False, **given: Any) -> tuple[Verdict, Run]:
    lines = {name: given.pop(name) for name in list(given) if name[0].isupper()}
    passages = given.pop("passages", ())
    tools = {name: ShelfTool(name, *passages, failing=failing) for name in ("corpus", "keywords")}
    run = Run(ScriptedBackend(script(**lines)), tools, clock=CLOCK)
    return await ConfiguredMethod(DualPosition, DualPositionSettings(**given)).verify(claim, run), run


def asked(run: Run, task: str) -> list[tuple[int, str]]:
    return [(each.round, each.agent) for each in run.events if isinstance(each, CallFinished) and each.task == task]


async def test_both_teams_prepare_once_and_speak_in_every_round() -> None:
    verdict, run = await debate(min_rounds=2)
    assert (verdict.label, verdict.decided_by, verdict.rounds) == ("SUPPORTS", "referees", 2)
    for role, task in (("gatherer", "WriteTeamQueries"), ("analyst", "AnalyseText")):
        assert sorted(asked(run, task)) == [(0, f"affirmative-{role}"), (0, f"negative-{role}")]
    for role, task in (("rebutter", "Rebut"), ("summariser", "SummariseTeam")):
        wanted = [(round_, f"{side}-{role}") for round_ in (1, 2) for side in ("affirmative", "negative")]
        assert sorted(asked(run, task)) == wanted
    assert len(asked(run, "JudgeTeams")) == 2 * 3


async def test_the_first_rebuttal_is_against_the_opponents_stance_and_later_ones_against_its_last_statement() -> None:
    heard: dict[str, list[str]] = {}

    def rebut(task: Rebut, call: Any) -> Argument:
        heard.setdefault(task.position, []).append(task.opponent)
        return Argument(text="so they are wrong")

    await debate(
        Rebut=rebut,
        SummariseTeam=lambda task, call: Argument(text=f"{task.position} says so"),
        min_rounds=2,
        uncertainty="off",
    )
    assert heard["affirmative"] == ["The claim is not factual.", "negative says so"]
    assert heard["negative"] == ["The claim is factual.", "affirmative says so"]


@pytest.mark.parametrize(
    ("transition", "opener"),
    [("true-skeptic", "negative"), ("true-trust", "affirmative"), ("always-trust", "affirmative")],
)
async def test_a_transition_lets_one_team_open_and_the_other_answer_in_the_same_round(
    transition: str, opener: str
) -> None:
    heard: list[tuple[str, str]] = []

    def rebut(task: Rebut, call: Any) -> Argument:
        heard.append((task.position, task.opponent))
        return Argument(text="no")

    def summarise(task: SummariseTeam, call: Any) -> Argument:
        return Argument(text=f"statement {len(heard)}")

    await debate(Rebut=rebut, SummariseTeam=summarise, min_rounds=2, transition=transition, uncertainty="off")
    assert heard[2][0] == opener  # the referees found the claim factual after round 1
    assert heard[3][1] == "statement 3"


async def test_it_ends_where_enough_confidence_is_behind_a_winner_and_never_before_the_least_round() -> None:
    verdict, _ = await debate(min_rounds=1)
    assert verdict.rounds == 1
    split = {"factual": judgement("affirmative", 0.5), "logical": judgement("negative", 0.4)}
    verdict, _ = await debate(
        JudgeTeams=lambda task, call: split.get(task.referee, judgement("tie", 0.3)), max_rounds=3
    )
    assert verdict.rounds == 3  # 0.5 of 1.2 is under 0.6
    assert verdict.label == "SUPPORTS"


async def test_no_rounds_at_all_are_one_referees_opinion_of_what_was_gathered() -> None:
    seen: list[JudgeTeams] = []

    def judge(task: JudgeTeams, call: Any) -> Judgement:
        seen.append(task)
        return judgement("negative")

    verdict, run = await debate(JudgeTeams=judge, min_rounds=0)
    assert (verdict.label, verdict.rounds, len(seen)) == ("REFUTES", 0, 1)
    assert seen[0].passages
    assert not seen[0].speeches
    assert asked(run, "Rebut") == []


@pytest.mark.parametrize(
    ("judge", "winner", "label"),
    [
        (judgement("tie"), "tie", "REFUTES"),
        (judgement("affirmative", 0.0), "tie", "REFUTES"),
        (judgement(None, None, lead=0.2), "affirmative", "SUPPORTS"),
        (judgement(None, None, lead=-0.2), "negative", "REFUTES"),
        (judgement(None, None, lead=0.04), "tie", "REFUTES"),
    ],
)
async def test_ties_no_confidence_and_missing_votes_end_in_a_stated_outcome(
    judge: Judgement, winner: str, label: str
) -> None:
    verdict, run = await debate(JudgeTeams=judge, max_rounds=2, tied="not-factual")
    (*_, last) = [each for each in run.events if isinstance(each, RoundVoted)]
    assert (last.winner, verdict.label) == (winner, label)


async def test_a_tie_may_mean_not_enough_where_the_label_set_has_that() -> None:
    claim = CLAIM.model_copy(update={"labels": FEVER})
    verdict, _ = await debate(claim, JudgeTeams=judgement("tie"), max_rounds=2, tied="not-enough")
    assert verdict.label == "NOT ENOUGH INFO"


async def test_a_referee_without_a_judgement_has_no_vote_and_none_at_all_is_an_error() -> None:
    def judge(task: JudgeTeams, call: Any) -> Judgement:
        if task.referee == "logical":
            raise BadReply("prose", raw="I think so")
        return judgement("negative")

    verdict, run = await debate(JudgeTeams=judge, min_rounds=1)
    assert verdict.label == "REFUTES"
    (silent,) = [each for each in run.events if isinstance(each, Refereed) and each.problem]
    assert silent.agent == "logical-referee"

    def none(task: JudgeTeams, call: Any) -> Judgement:
        raise BadReply("prose", raw="I think so")

    with pytest.raises(BadReply, match="prose"):
        await debate(JudgeTeams=none)


async def test_a_team_whose_gatherer_finds_nothing_argues_on_and_the_gap_is_named() -> None:
    verdict, _ = await debate(failing=True, min_rounds=1)
    assert verdict.label == "SUPPORTS"
    assert any("503" in gap for gap in verdict.gaps)
    assert all(not quote.found for quote in verdict.quotes)


@pytest.mark.parametrize(
    ("off", "missing"),
    [
        ("gatherers", {"WriteTeamQueries"}),
        ("analysts", {"AnalyseText"}),
        ("rebutters", {"Rebut"}),
        ("summarisers", {"SummariseTeam"}),
    ],
)
async def test_modules_can_be_left_out(off: str, missing: set[str]) -> None:
    verdict, run = await debate(CLAIM, min_rounds=1, **{off: False})
    assert verdict.label == "SUPPORTS"
    names = {each.task for each in run.events if isinstance(each, CallFinished)}
    assert not names & missing
    assert {"WriteTeamQueries", "AnalyseText", "Rebut", "SummariseTeam", "JudgeTeams"} - missing <= names


async def test_uncertainty_reaches_the_summariser_as_a_level() -> None:
    told: list[SummariseTeam] = []

    def summarise(task: SummariseTeam, call: Any) -> Argument:
        told.append(task)
        return Argument(text="we say so", quotes=(QUOTE,))

    await debate(SummariseTeam=summarise, min_rounds=1)
    levels = {each.agent: each.level for each in told[0].texts}
    assert levels["rebutter"] == levels["analyst"] == 7 or all(
        level for level in (levels["rebutter"], levels["analyst"])
    )
    assert levels["gatherer"] is None


async def test_the_gatherers_documents_are_told_a_paragraph_a_line_whatever_stands_in_them() -> None:
    told: list[SummariseTeam] = []

    def summarise(task: SummariseTeam, call: Any) -> Argument:
        told.append(task)
        return Argument(text="we say so")

    page = Passage(text='It was lit in 1871.\n\nSailors call it "the candle".', title='Cape "Ansel"')
    await debate(SummariseTeam=summarise, min_rounds=1, passages=(page,))
    (text,) = (each.text for each in told[0].texts if each.agent == "gatherer")
    assert text.splitlines() == [
        "\"It was lit in 1871.\" (Cape 'Ansel')",
        '"Sailors call it "the candle"." (Cape \'Ansel\')',
    ]
    told_to_a_reader = quoted((OtherAnswer(agent="gatherer", text=text),))
    assert told_to_a_reader == ("It was lit in 1871.", 'Sailors call it "the candle".')


async def test_quotations_are_looked_for_in_the_teams_own_documents() -> None:
    verdict, _ = await debate(
        SummariseTeam=lambda task, call: Argument(
            text="so it is", quotes=(QUOTE,) if task.position == "affirmative" else ("It was lit in 1875.",)
        ),
        min_rounds=1,
    )
    found = {(quote.side, quote.found) for quote in verdict.quotes}
    assert found == {(Side.FOR, True), (Side.AGAINST, False)}


async def test_options_cannot_be_debated_by_two_positions() -> None:
    with pytest.raises(UsageError, match="'options'"):
        await debate(Claim(text="Which?", labels=OPTIONS, options=("a", "b")))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"min_rounds": 3, "max_rounds": 2}, "above max_rounds"),
        ({"referees": ("factual", "factual")}, "one name"),
        (dict.fromkeys(("gatherers", "analysts", "rebutters", "summarisers"), False), "without members"),
    ],
)
def test_settings_that_make_no_debate_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DualPositionSettings(**given)


@pytest.mark.parametrize(
    ("given", "read"),
    [("90%", 0.9), (90, 0.9), ("0.9", 0.9), (1, 1.0), (0, 0.0), ("", None), (None, None)],
)
def test_confidences_are_read_as_shares_or_percentages(given: Any, read: float | None) -> None:
    assert judgement("tie", given).confidence == read


@pytest.mark.parametrize("given", ["very", -0.1, 101, float("nan")])
def test_what_is_no_confidence_is_refused(given: Any) -> None:
    with pytest.raises(ValueError):
        judgement("tie", given)
