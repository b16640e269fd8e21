"""Dual-position debate: who is asked what and when, how it ends, and what any of its parts may do wrong."""

from __future__ import annotations

import re
from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import FEVER, OPTIONS, TWO, Claim
from redargue.errors import BadReply, UsageError
from redargue.events import CallFinished, EvidenceChosen, Refereed, RoundVoted, Spoke
from redargue.evidence import Passage, Side
from redargue.methods.base import ConfiguredMethod, configure
from redargue.methods.dry_run import costs
from redargue.methods.dual_position import DualPosition, DualPositionSettings
from redargue.methods.dual_position.referees import EMPHASES, SCORE_DIMENSIONS, Judgement, JudgeTeams
from redargue.methods.dual_position.tasks import (
    Rebut,
    SpeakForTeam,
    Speech,
    SummariseTeam,
    TeamQueries,
    TeamStatement,
    evidence_of,
)
from redargue.methods.gathering import distinct_documents, merged
from redargue.nli.backend import quotations_of
from redargue.reports.phrases import how_decided
from redargue.retrieval.tools.corpus import FixedPassages
from redargue.run import Run
from redargue.tasks.answer import Argument
from redargue.tasks.query import OtherAnswer
from redargue.tasks.untrusted import strip_marks
from redargue.verdicts import Verdict
from support.debates import CLOCK, QUOTE, TEXT, ShelfTool, script

pytestmark = pytest.mark.anyio
CLAIM = Claim(text="The lighthouse at Cape Ansel was lit in 1871.", labels=TWO)


def judgement(vote: str | None, confidence: float | None = 0.9, *, lead: float = 0.0) -> Judgement:
    scores = {f"affirmative_{each}": 0.5 + lead for each in SCORE_DIMENSIONS}
    return Judgement(
        vote=vote, confidence=confidence, **scores, **{f"negative_{each}": 0.5 for each in SCORE_DIMENSIONS}
    )


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
        heard.setdefault(task.position, []).append(str(task.template_vars()["opponent"]))
        return Argument(text="so they are wrong")

    await debate(
        Rebut=rebut,
        SummariseTeam=lambda task, call: TeamStatement(text=f"{task.position} says so"),
        min_rounds=2,
        transition="none",
        profile="paper",
    )
    (first, later), (other_first, other_later) = heard["affirmative"][::3], heard["negative"][::3]
    assert (first, other_first) == ("The claim is not factual.", "The claim is factual.")
    assert "negative says so" in later
    assert "affirmative says so" in other_later


@pytest.mark.parametrize("transition", ["none", "true-skeptic", "always-skeptic", "always-trust"])
async def test_in_the_first_round_of_every_transition_both_teams_start_from_the_stances(transition: str) -> None:
    heard: list[Speech | None] = []

    def rebut(task: Rebut, call: Any) -> Argument:
        heard.append(task.opponent)
        return Argument(text="no")

    await debate(Rebut=rebut, min_rounds=1, transition=transition, uncertainty="off")
    assert heard == [None, None]


def test_the_paper_profile_has_the_papers_transition_and_rounds() -> None:
    settings = configure("dual-position", "paper", {}).settings
    assert (settings.transition, settings.min_rounds, settings.snippets) == ("true-skeptic", 2, 10)


@pytest.mark.parametrize(
    ("transition", "opener"),
    [("true-skeptic", "negative"), ("true-trust", "affirmative"), ("always-trust", "affirmative")],
)
async def test_a_transition_lets_one_team_open_and_the_other_answer_in_the_same_round(
    transition: str, opener: str
) -> None:
    heard: list[tuple[str, str]] = []

    def rebut(task: Rebut, call: Any) -> Argument:
        heard.append((task.position, task.opponent.argument.text if task.opponent else ""))
        return Argument(text="no")

    def summarise(task: SummariseTeam, call: Any) -> TeamStatement:
        return TeamStatement(text=f"statement {len(heard)}")

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
    for profile, gatherers in (("hardened", True), ("hardened", False), ("paper", True), ("paper", False)):
        await debate(JudgeTeams=judge, min_rounds=0, profile=profile, gatherers=gatherers)
        words = seen[-1].prompt_text()
        assert "The teams have not spoken" in words
        assert "Below each statement" not in words
        assert "the team that won" not in words
        assert ("there are no documents" in words) == (profile == "hardened" and not gatherers)
    assert asked(run, "Rebut") == []


async def test_referees_vote_only_where_it_matters() -> None:  # D8
    for transition, rounds in (("none", [2]), ("true-skeptic", [1, 2])):
        _, run = await debate(min_rounds=2, uncertainty="off", transition=transition)
        assert sorted({round_ for round_, _ in asked(run, "JudgeTeams")}) == rounds


def test_a_blank_query_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 character"):
        TeamQueries(support="Paris capital", refute=" ")


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
) -> None:  # DPD-2
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
    assert any("503" in gap.why for gap in verdict.gaps)
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


async def test_a_summariser_whose_members_wrote_nothing_is_not_asked() -> None:
    verdict, run = await debate(CLAIM, gatherers=False, analysts=False, rebutters=False)
    assert asked(run, "SummariseTeam") == []
    judged = next(task for task, _ in run.backend.calls if isinstance(task, JudgeTeams))  # type: ignore[attr-defined]
    assert [speech.argument.text for speech in judged.speeches][:2] == [
        "The claim is factual.",
        "The claim is not factual.",
    ]
    assert verdict.label == "SUPPORTS"


async def test_uncertainty_reaches_the_summariser_as_a_level() -> None:
    told: list[SummariseTeam] = []

    def summarise(task: SummariseTeam, call: Any) -> TeamStatement:
        told.append(task)
        return TeamStatement(text="we say so", quotes=(QUOTE,))

    await debate(SummariseTeam=summarise, min_rounds=1)
    levels = {each.agent: each.level for each in told[0].texts}
    assert levels == {"rebutter": 5, "analyst": 5, "gatherer": None}


async def test_the_gatherers_documents_are_told_a_paragraph_a_line_whatever_stands_in_them() -> None:
    told: list[SummariseTeam] = []

    def summarise(task: SummariseTeam, call: Any) -> TeamStatement:
        told.append(task)
        return TeamStatement(text="we say so")

    page = Passage(text='It was lit in 1871.\n\nSailors call it "the candle".', title='Cape "Ansel"')
    await debate(SummariseTeam=summarise, min_rounds=1, passages=(page,))
    (text,) = (each.text for each in told[0].texts if each.agent == "gatherer")
    assert text.splitlines() == [
        "[1] \"It was lit in 1871.\" (Cape 'Ansel')",
        '[1] "Sailors call it "the candle"." (Cape \'Ansel\')',
    ]
    told_to_a_reader = quotations_of((OtherAnswer(agent="gatherer", text=text),))
    assert told_to_a_reader == ("It was lit in 1871.", 'Sailors call it "the candle".')


async def test_quotations_are_looked_for_in_the_teams_own_documents() -> None:
    verdict, _ = await debate(
        SummariseTeam=lambda task, call: TeamStatement(
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
        ({"referees": ("factual", "factual")}, "same name"),
        (dict.fromkeys(("gatherers", "analysts", "rebutters", "summarisers"), False), "at least one member"),
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


@pytest.mark.parametrize("given", ["very", -0.1, 101, float("nan"), True])
def test_what_is_no_confidence_is_refused(given: Any) -> None:
    with pytest.raises(ValueError):
        judgement("tie", given)


@pytest.mark.parametrize("given", [9, 10, 1.5, "9", "10"])
def test_a_score_of_ten_is_not_taken_for_per_cent(given: Any) -> None:
    """9 against 1 of 10 was read as .09 against 1."""
    with pytest.raises(ValueError, match="is not from 0 to 1"):
        judgement("tie", given)
    with pytest.raises(ValueError, match="is not from 0 to 1"):
        Judgement(**judgement("tie").model_dump() | {"affirmative_evidence": given})


@pytest.mark.parametrize(("given", "read"), [("9%", 0.09), ("9000%", None), (10.5, 0.105), ("1", 1.0)])
def test_per_cent_are_read_where_they_are_said_to_be_or_must_be(given: Any, read: float | None) -> None:
    if read is None:
        with pytest.raises(ValueError):
            judgement("tie", given)
    else:
        assert judgement("tie", given).confidence == pytest.approx(read)


async def test_a_tie_is_named_and_has_the_label_of_the_papers_doubt() -> None:
    verdict, _ = await debate(JudgeTeams=judgement("tie"), max_rounds=2, tied="not-factual")
    assert (verdict.label, verdict.decided_by) == ("REFUTES", "tie")
    assert verdict.reason.startswith("A tie: neither team has more")
    assert "by a tie of the referees" in how_decided(verdict)
    verdict, _ = await debate(min_rounds=1)
    assert verdict.decided_by == "referees"


async def test_a_tie_by_the_papers_rule_does_not_say_that_the_negative_team_lacked_votes() -> None:
    verdict, _ = await debate(JudgeTeams=judgement("negative", 0.9), max_rounds=2, rule="literal")
    assert verdict.decided_by == "tie"
    assert verdict.reason.startswith("A tie by the paper's rule (rule=literal), by which the negative team cannot win.")
    assert "negative 2.70" in verdict.reason
    assert "neither team" not in verdict.reason


# what teams read


PAGES = tuple(
    Passage(text=f"Text of page {page}.", title=f"Page {page}", url=f"https://pages.example/{page}")
    for page in range(12)
)


async def test_a_team_reads_as_many_documents_as_its_setting_says_and_each_once() -> None:
    shown: list[Rebut] = []

    def rebut(task: Rebut, call: Any) -> Argument:
        shown.append(task)
        return Argument(text="no")

    for snippets, documents in ((4, 2), (10, 6), (12, 6), (16, 8)):
        _, run = await debate(
            Rebut=rebut, passages=PAGES, snippets=snippets, selected=50, uncertainty="off", min_rounds=1
        )
        titles = [passage.title for passage in shown[-1].passages]
        assert len(titles) == len(set(titles)) == documents
        chosen = [event.passages for event in run.events if isinstance(event, EvidenceChosen)]
        assert chosen[0] == tuple(passage.sha256 for passage in shown[-1].passages)


def test_results_of_two_tools_are_merged_and_a_place_is_filled_from_the_next_hits() -> None:
    one, other = PAGES, [page.model_copy(update={"text": f"Another piece. {page.text}"}) for page in PAGES]
    merged_ranks = [passage.title for passage in merged((one[:3], other[3:5]))]
    assert merged_ranks == ["Page 0", "Page 3", "Page 1", "Page 4", "Page 2"]
    rankings = [merged((one, other)), merged((one, other))]
    found = [passage.title for passage in distinct_documents(rankings, 3)]
    assert found == ["Page 0", "Page 1", "Page 2", "Page 3", "Page 4", "Page 5"]


def test_where_there_is_only_one_document_its_further_pieces_are_read() -> None:
    pieces = [Passage(text=f"Piece {number}.", document="the only one") for number in range(5)]
    assert list(distinct_documents([pieces, pieces], 2)) == pieces[:4]


@pytest.mark.parametrize("method", ["dual-position", "markov-debate"])
@pytest.mark.parametrize("snippets", [4, 10])
async def test_what_a_tool_returns_whatever_the_query_is_read_whole(method: str, snippets: int) -> None:
    sentences = [Passage(text=f"Sentence {number}.", document="the text", start=number) for number in range(10)]
    tools = {name: FixedPassages([sentences], name=name, whole=True).for_claim(0) for name in ("corpus", "keywords")}
    run = Run(ScriptedBackend(script()), tools, clock=CLOCK)
    await configure(method, "hardened", {"snippets": snippets}).verify(CLAIM, run)
    chosen = [event.passages for event in run.events if isinstance(event, EvidenceChosen)]
    assert chosen
    assert set(chosen) == {tuple(passage.sha256 for passage in sentences)}


@pytest.mark.parametrize("snippets", [1, 3])
def test_fewer_snippets_than_queries_are_refused(snippets: int) -> None:
    with pytest.raises(ValueError, match=f"snippets={snippets} is fewer than the 4 queries"):
        DualPositionSettings(snippets=snippets)
    DualPositionSettings(snippets=snippets, gatherers=False)


@pytest.mark.parametrize("profile", ["paper", "hardened"])
async def test_referees_and_opponents_see_quotations_with_their_sources_and_which_were_not_found(profile: str) -> None:
    prompts: dict[str, list[str]] = {}

    def judge(task: JudgeTeams, call: Any) -> Judgement:
        prompts.setdefault("judge", []).append(task.prompt_text())
        return judgement("tie")

    def rebut(task: Rebut, call: Any) -> Argument:
        prompts.setdefault(f"rebut {task.opponent is not None}", []).append(task.prompt_text())
        return Argument(text="no")

    said = TeamStatement(text="So it is.", quotes=(QUOTE, "It was lit in 1875."))
    page = Passage(text=QUOTE, title="Cape Ansel", url="https://lights.example/ansel")
    await debate(
        JudgeTeams=judge,
        Rebut=rebut,
        SummariseTeam=said,
        passages=(page,),
        profile=profile,
        uncertainty="off",
        max_rounds=2,
    )
    for prompt in (prompts["judge"][-1], prompts["rebut True"][-1]):
        assert f'"{QUOTE}" (Cape Ansel, https://lights.example/ansel)' in prompt
        assert re.search(r"Quotations not found: .*It was lit in 1875\.", prompt)
    assert "https" not in "".join(re.findall("Quotations.*", prompts["rebut False"][0]))
    assert prompts["judge"][-1].count(QUOTE) == 1  # later rounds refer to it


def test_a_quotation_that_stands_in_the_statement_is_given_by_its_first_words() -> None:
    text = "The lighthouse at Cape Ansel was first lit in the autumn of 1871."
    speech = Speech(
        position="affirmative",
        round=1,
        argument=TeamStatement(text=f'It says "{text}"', quotes=(text,)),
        verified=(Passage(text=text, title="Cape Ansel"),),
    )
    shown = evidence_of(speech, "hardened")
    assert strip_marks(shown).endswith('- "The lighthouse at Cape Ansel was first lit …" (Cape Ansel)')
    silent = Speech(position="affirmative", round=1, argument=TeamStatement(text="It is so."))
    assert evidence_of(silent, "hardened") == "(It quotes nothing.)"


# what is paid for


async def test_one_referees_opinion_pays_for_no_analysis() -> None:
    _, run = await debate(min_rounds=0)
    assert asked(run, "AnalyseText") == []
    high = costs(ConfiguredMethod(DualPosition, DualPositionSettings(min_rounds=0))).high
    assert high.calls == {"WriteTeamQueries": 2, "JudgeTeams": 1}


@pytest.mark.parametrize(("off", "task"), [("analysts", "Rebut"), ("rebutters", "AnalyseText")])
async def test_a_lone_member_is_sampled_once_and_has_no_level(off: str, task: str) -> None:
    told: list[SummariseTeam] = []

    def summarise(task: SummariseTeam, call: Any) -> TeamStatement:
        told.append(task)
        return TeamStatement(text="we say so")

    _, run = await debate(SummariseTeam=summarise, min_rounds=1, **{off: False})
    samples = [len(each.outputs) for each in run.events if isinstance(each, CallFinished) and each.task == task]
    assert samples == [1, 1]
    assert [text.level for text in told[0].texts] == [None, None]


@pytest.mark.parametrize(("text", "calls"), [("It was lit in 1871.", 0), ("It was lit in 1871. It fell in 1902.", 2)])
async def test_the_style_of_a_single_sentence_is_not_analysed_in_the_hardened_profile(text: str, calls: int) -> None:
    settings = configure("dual-position", "hardened", {}).settings.model_dump()
    _, run = await debate(Claim(text=text, labels=TWO), **settings)
    assert len(asked(run, "AnalyseText")) == calls


def conceding(*positions: str) -> Any:
    def summarise(task: SummariseTeam, call: Any) -> TeamStatement:
        return TeamStatement(text=f"round {call.agent}", quotes=(QUOTE,), concedes=task.position in positions)

    return summarise


@pytest.mark.parametrize(
    ("concedes", "vote", "rounds"),
    [
        (("negative",), "affirmative", 1),
        (("affirmative",), "negative", 1),
        (("affirmative",), "affirmative", 2),  # the referees see it otherwise: the next round adds nothing, though
        (("affirmative", "negative"), "tie", 1),
        ((), "affirmative", 2),
    ],
)
async def test_a_settled_debate_ends(concedes: tuple[str, ...], vote: str, rounds: int) -> None:  # DPD-3
    verdict, _ = await debate(
        SummariseTeam=conceding(*concedes), JudgeTeams=judgement(vote), min_rounds=2, stop="settled"
    )
    assert verdict.rounds == rounds


async def test_a_round_without_a_new_quotation_is_the_last_and_one_with_a_new_one_is_not() -> None:
    def summarise(task: SummariseTeam, call: Any) -> TeamStatement:
        quotes = TEXT.split(". ", 1)[: 2 if len(seen) > 5 else 1]
        return TeamStatement(text=f"as I said {len(seen)}", quotes=tuple(quotes))

    seen: list[int] = []

    def judge(task: JudgeTeams, call: Any) -> Judgement:
        seen.append(1)
        return judgement("tie")

    verdict, _ = await debate(SummariseTeam=summarise, JudgeTeams=judge, stop="settled", max_rounds=4)
    assert verdict.rounds == 2
    seen[:] = [1] * 3
    verdict, _ = await debate(SummariseTeam=summarise, JudgeTeams=judge, stop="settled", max_rounds=4)
    assert verdict.rounds == 3
    verdict, _ = await debate(JudgeTeams=judge, max_rounds=4)
    assert verdict.rounds == 4  # as published


# One call a team and round, and referees only where they may differ (DPD-4, DPD-5).


def speaking(*positions: str, quotes: tuple[str, ...] = (QUOTE,)) -> Any:
    def speak(task: SpeakForTeam, call: Any) -> TeamStatement:
        concedes = task.position in positions
        return TeamStatement(text=f"the {task.position}", quotes=() if concedes else quotes, concedes=concedes)

    return speak


async def hardened(claim: Claim, **given: Any) -> tuple[Verdict, Run]:
    lines = {name: given.pop(name) for name in list(given) if name[0].isupper()}
    return await debate(claim, **lines, **configure("dual-position", "hardened", given).settings.model_dump())


OPEN = Claim(text=CLAIM.text, labels=FEVER)


@pytest.mark.parametrize(
    ("concedes", "label", "said"),
    [
        (("negative",), "SUPPORTS", "the affirmative"),
        (("affirmative",), "REFUTES", "the negative"),
        (("affirmative", "negative"), "NOT ENOUGH INFO", "the affirmative\nthe negative"),
    ],
)
async def test_a_concession_decides_without_a_referee(concedes: tuple[str, ...], label: str, said: str) -> None:
    verdict, run = await hardened(OPEN, SpeakForTeam=speaking(*concedes))
    assert (verdict.label, verdict.decided_by, verdict.rounds, verdict.reason) == (label, "concession", 1, said)
    assert run.usage.calls == 4  # two gatherers, two statements
    assert not asked(run, "JudgeTeams")
    assert how_decided(verdict) == "by concession after 1 round"
    conceding = {event.agent for event in run.events if isinstance(event, Spoke) and event.concedes}
    assert conceding == {f"{position}-summariser" for position in concedes}


async def test_one_referee_judges_a_concession_that_no_quotation_of_the_other_team_carries() -> None:
    made_up = speaking("negative", quotes=("Three hundred candles lit it.",))
    verdict, run = await hardened(OPEN, SpeakForTeam=made_up, JudgeTeams=judgement("tie"))
    assert verdict.decided_by == "tie"
    assert asked(run, "JudgeTeams")[:1] == [(1, "factual-referee")]
    assert {agent for _, agent in asked(run, "JudgeTeams")} == {"factual-referee"}


async def test_one_referee_judges_where_both_concede_and_no_label_leaves_the_claim_open() -> None:
    verdict, run = await hardened(CLAIM, SpeakForTeam=speaking("affirmative", "negative"), JudgeTeams=judgement("tie"))
    assert verdict.decided_by == "tie"
    assert asked(run, "JudgeTeams") == [(1, "factual-referee")]


async def test_three_referees_judge_where_no_team_concedes() -> None:
    _, run = await hardened(OPEN, SpeakForTeam=speaking(), max_rounds=2)
    assert {agent for _, agent in asked(run, "JudgeTeams")} == {f"{name}-referee" for name in EMPHASES}


@pytest.mark.parametrize(("setting", "referees"), [("all", 3), ("one", 1)])
async def test_referees_after_a_concession_are_a_setting(setting: str, referees: int) -> None:
    _, run = await hardened(OPEN, SpeakForTeam=speaking("negative"), after_concession=setting)
    assert len(asked(run, "JudgeTeams")) == referees


@pytest.mark.parametrize("least", [1, 3])
async def test_a_concession_ends_no_debate_that_stops_by_consensus_alone(least: int) -> None:  # DPD-3
    verdict, run = await hardened(OPEN, SpeakForTeam=speaking("negative"), stop="consensus", min_rounds=least)
    assert (verdict.decided_by, verdict.rounds) == ("referees", least)
    assert {round_ for round_, _ in asked(run, "JudgeTeams")} == {least}


async def test_a_statement_is_one_call_or_two() -> None:
    _, run = await hardened(OPEN, max_rounds=2)
    assert len(asked(run, "SpeakForTeam")) == 4
    assert not asked(run, "Rebut") + asked(run, "SummariseTeam")
    _, run = await hardened(OPEN, max_rounds=2, speaking="twice")
    assert (len(asked(run, "Rebut")), len(asked(run, "SummariseTeam")), asked(run, "SpeakForTeam")) == (4, 4, [])
    _, run = await hardened(OPEN, max_rounds=2, rebutters=False)
    assert (len(asked(run, "SummariseTeam")), asked(run, "SpeakForTeam")) == (4, [])


async def test_the_speaker_reads_documents_opponent_and_analysis() -> None:
    text = "It was lit in 1871. It fell in 1902."
    _, run = await hardened(Claim(text=text, labels=FEVER), max_rounds=2)
    tasks = [task for task, _ in run.backend.calls if isinstance(task, SpeakForTeam)]  # type: ignore[attr-defined]
    first, later = tasks[0].prompt_text(), tasks[-1].prompt_text()
    assert "has said nothing yet" in first
    assert "plain words" in first  # of the analyst, who is not sampled where nobody weighs it
    assert len(asked(run, "AnalyseText")) == 2
    assert "We have a document." in later
    assert later.count(TEXT) == 1


@pytest.mark.parametrize(("backend", "setting"), [("embedded", "all"), ("scripted", "none")])
def test_all_referees_judge_small_models(backend: str, setting: str) -> None:
    given = DualPosition.defaults_for(backend, ())
    assert configure("dual-position", "hardened", given).settings.after_concession == setting
    assert DualPosition.defaults_for(backend, ("after_concession",)) == {}
