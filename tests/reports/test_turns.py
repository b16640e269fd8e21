"""Who stands where in a report's debate: teams side by side, referees below, a chain in the order of speaking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lxml import html  # type: ignore[import-untyped]

from redargue.claims import Claim
from redargue.events import (
    Answered,
    ClaimEnded,
    ClaimStarted,
    Event,
    EvidenceRemembered,
    Judged,
    Refereed,
    RoundEnded,
    Spoke,
    StageEnded,
    Stepped,
)
from redargue.reports.render import render
from redargue.verdicts import ErrorInfo, Verdict
from support.reported import N, R, S, bench_of, debated, run_of, written


def teams(tmp_path: Path, *events: Event, method: str = "m") -> Any:
    """The page of a claim that a method verified with these events."""
    claim = Claim(text="The lighthouse at Cape Ansel was lit in 1871.")
    verdict = Verdict(claim=claim, label=S, decided_by="referees")
    begun = ClaimStarted(claim=claim, method=method, settings={}, backend="b", seed=0)
    folder = written(tmp_path / "r", [claim], [begun, *events, ClaimEnded(verdict=verdict)])
    return html.document_fromstring(render(folder))


def test_a_team_has_a_column_and_referees_speak_below(tmp_path: Path) -> None:
    page = teams(
        tmp_path,
        Refereed(agent="factual-referee", round=1, vote="tie"),
        Spoke(agent="negative-summariser", round=1, text="no"),
        Spoke(agent="affirmative-summariser", round=1, text="yes"),
        Spoke(agent="negative-rebutter", round=1, text="not so"),
        Spoke(agent="affirmative-rebutter", round=1, text="so it is"),
        method="dual-position",
    )
    first, second = page.xpath("//div[@class='turns']")
    columns = [[name.text_content() for name in each.xpath(".//b")] for each in first.xpath("./div")]
    assert columns == [
        ["affirmative-rebutter", "affirmative-summariser"],
        ["negative-rebutter", "negative-summariser"],
    ]
    assert second.xpath(".//b")[0].text_content() == "factual-referee"


def test_a_team_that_concedes_is_named_and_the_reason_has_a_heading(tmp_path: Path) -> None:
    claim = Claim(text="A claim.")
    spoken = Spoke(agent="negative-summariser", round=1, text="no", concedes=True)
    begun = ClaimStarted(claim=claim, method="dual-position", settings={}, backend="b", seed=0)
    ended = ClaimEnded(verdict=Verdict(claim=claim, label=S, decided_by="concession", reason="it was lit"))
    page = html.document_fromstring(render(written(tmp_path / "r", [claim], [begun, spoken, ended])))
    (turn,) = page.xpath("//div[@class='turn']")
    assert turn.text_content() == "negative-summarisernoconcedes"
    assert page.xpath("//h3[.='Reason']/following-sibling::p[1]/text()") == ["it was lit"]


def test_what_an_agent_says_again_is_not_printed_again(tmp_path: Path) -> None:
    votes = [Refereed(agent="factual-referee", round=at, vote="tie", reason="who knows") for at in (1, 2, 3)]
    changed = Refereed(agent="factual-referee", round=4, vote="negative", reason="it says so")
    turns = [each.text_content() for each in teams(tmp_path, *votes, changed).xpath("//div[@class='turn']")]
    assert "who knows" in turns[0]
    assert turns[1:3] == ["factual-refereethe same as in round 1: tie"] * 2
    assert "it says so" in turns[3]


def test_who_answers_whom_in_a_chain_stands_in_that_order(tmp_path: Path) -> None:
    said = [Answered(agent=agent, round=1, text="because", label=S) for agent in ("skeptic", "trust", "leader")]
    for method, order in (("markov-debate", "skeptic trust leader"), ("of-a-stranger", "leader skeptic trust")):
        page = teams(tmp_path / method, *said, method=method)
        assert [each.text_content() for each in page.xpath("//div[@class='turn']/p[1]/b")] == order.split()


def test_labels_of_a_debate_are_plain_and_in_json_the_data_sets_own(tmp_path: Path) -> None:
    run, bench = run_of(tmp_path / "run", ["one", "two", "three"]), bench_of(tmp_path / "bench", ["one", "two"])
    for folder in (run, bench):
        page = html.document_fromstring(render(folder))
        debates = [text for block in page.xpath("//div[@class='turns']/..") for text in block.xpath(".//p/b/text()")]
        assert {"Supported", "Refuted"} <= set(debates)
        assert not {S, R, N} & set(debates)
        prose = [
            " ".join(block.text_content().split()) for block in page.xpath("//div[@class='turns']//p[@class='prose']")
        ]
        assert not any(line.endswith((S, R, N)) for line in prose)
    assert f'"label": "{S}"' in render(run, "json")


def test_a_final_answer_of_an_executor_is_shown_in_plain_words(tmp_path: Path) -> None:
    page = teams(tmp_path, Stepped(agent="executor", round=1, answer=R), Judged(text="", label=None))
    answers = [" ".join(line.text_content().split()) for line in page.xpath("//p[b]")]
    assert {"answers: Refuted", "decides: no answer"} <= set(answers)


@pytest.mark.parametrize(("documents", "said"), [(0, "All agree."), (1, "All agree, and quote 1 document.")])
def test_an_accepted_round_says_nothing_of_scores_that_nobody_computed(
    tmp_path: Path, documents: int, said: str
) -> None:
    agreed = RoundEnded(round=1, labels=(S, S), agreed=True, accepted=True, documents=documents)
    said_so = [Answered(agent=agent, round=1, text="because", label=S) for agent in ("corpus", "keywords")]
    (end,) = teams(tmp_path, *said_so, agreed, method="tool-mad").xpath("//p[@class='end']")
    assert end.text_content() == said


def test_a_stage_is_shown_with_its_label_in_plain_words(tmp_path: Path) -> None:
    held: dict[str, Any] = {
        "number": 1,
        "of": 2,
        "may_decide": False,
        "stopped": False,
        "why": ("no evidence was found",),
    }
    stage = StageEnded(stage="reader", label=S, **held)
    (shown,) = teams(tmp_path, stage, method="cascade").xpath("//ol[@class='stages']/li")
    assert shown.text_content() == "reader: Supported, 0 calls so far; continues: no evidence was found."


@pytest.mark.parametrize(
    ("agreed", "why", "said"),
    [(False, "the debaters disagree", "The debaters disagree."), (True, "too few", "All agree, but: too few.")],
)
def test_a_round_that_is_not_accepted_ends_with_a_sentence(tmp_path: Path, agreed: bool, why: str, said: str) -> None:
    ended = RoundEnded(round=1, labels=(S, S if agreed else R), agreed=agreed, accepted=False, why=(why,))
    answered = Answered(agent="corpus", round=1, text="because", label=S)
    (end,) = teams(tmp_path, answered, ended, method="tool-mad").xpath("//p[@class='end']")
    assert end.text_content() == said


def test_what_was_stored_in_the_memory_comes_after_the_steps_that_found_it(tmp_path: Path) -> None:
    stored = EvidenceRemembered(agent="executor", round=0, entities=(), passages=("a", "b"), key="k")
    steps = [Stepped(agent="executor", round=at, thought="so far") for at in (1, 2)]
    turns = [
        each.text_content() for each in teams(tmp_path, *steps, stored, method="mermaid").xpath("//div[@class='turn']")
    ]
    assert ["2 passages added" in turn for turn in turns] == [False, True]


def test_an_error_and_what_to_do_about_it_are_distinct(tmp_path: Path) -> None:
    claim = Claim(text="The lighthouse at Cape Ansel was lit in 1871.")
    error = ErrorInfo(type="ProviderError", what="no answer", where="", hint="try again", exit_code=5)
    begun = ClaimStarted(claim=claim, method="m", settings={}, backend="b", seed=0)
    folder = written(
        tmp_path / "r", [claim], [begun, ClaimEnded(verdict=Verdict(claim=claim, label=None, error=error))]
    )
    page = html.document_fromstring(render(folder))
    assert page.xpath("//details//p[@class='bad']/text()") == ["no answer → try again"]


def test_quotations_that_a_debater_gave_before_the_judge_are_marked_in_its_text_too(tmp_path: Path) -> None:
    claim = Claim(text="A claim.")
    folder = written(tmp_path / "r", [claim], debated(0, claim, S, "lit in 1871"))
    (judge,) = html.document_fromstring(render(folder)).xpath("//h3[.='Judge']/following-sibling::p[@class='prose']")
    assert (judge.xpath("./u/text()"), judge.xpath("./s/text()")) == (["lit in 1871"], ["lit in 1871 never said"])
