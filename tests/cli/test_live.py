"""The debate on a terminal: who has a column, what is said again, what stands below."""

from __future__ import annotations

import io
from collections.abc import Mapping

from rich.console import Console

from redargue.claims import Claim
from redargue.cli.live import DebateView, headings_of
from redargue.events import Answered, Event, EvidenceFound, QueryWritten, Refereed, Spoke
from redargue.evidence import Passage, Quote, QuoteStatus
from redargue.methods.base import configure

TEAMS = configure("dual-position", "hardened", {}).layout().columns


def own_columns(*agents: str) -> dict[str, tuple[str, ...]]:
    return {agent: (agent,) for agent in agents}


def shown(*events: Event, columns: Mapping[str, tuple[str, ...]], width: int = 100) -> list[str]:
    view = DebateView(Claim(text="It was lit in 1871."), columns, {})
    for event in events:
        view.see(event)
    file = io.StringIO()
    Console(file=file, width=width).print(view)
    return file.getvalue().splitlines()


def test_teams_have_a_column_each_referees_none_and_few_agents_their_own() -> None:
    headings = headings_of(TEAMS)
    assert set(headings.values()) == {"affirmative team", "negative team"}
    assert headings["negative-rebutter"] == "negative team"
    assert "factual-referee" not in headings
    assert headings_of(own_columns("corpus", "keywords")) == {"corpus": "corpus", "keywords": "keywords"}
    assert len(set(headings_of(own_columns("searcher", "judge", "trust", "skeptic", "leader")).values())) == 1


def test_a_column_of_several_names_who_speaks_and_prints_a_rounds_heading_once() -> None:
    lines = shown(
        QueryWritten(agent="affirmative-gatherer", round=0, query="lit 1871"),
        EvidenceFound(
            agent="affirmative-gatherer", round=0, tool="t", query="lit 1871", passages=(Passage(text="x"),), key="k"
        ),
        Spoke(agent="affirmative-rebutter", round=1, text="they are wrong"),
        Spoke(agent="affirmative-summariser", round=1, text="we are right"),
        Refereed(agent="factual-referee", round=1, vote="tie", confidence=0.5),
        columns=TEAMS,
    )
    told = "\n".join(lines)
    assert "gatherer searches for: lit 1871" in told
    assert "rebutter says: they are wrong" in told
    assert told.count("Round 1") == 1
    assert "Round 0" not in told
    assert "round 1, factual-referee votes: tie (0.50)" in lines


def test_what_was_said_before_is_not_printed_again() -> None:
    quotes = (Quote(text="first lit in 1871", status=QuoteStatus.VERIFIED),)
    lines = shown(
        *(Answered(agent="trust", round=at, text="because", label="SUPPORTS", quotes=quotes) for at in (1, 2)),
        Answered(agent="trust", round=3, text="because", label="REFUTES", quotes=quotes),
        *(Spoke(agent="leader", round=at, text="so it is") for at in (1, 2)),
        columns=own_columns("searcher", "judge", "trust", "skeptic", "leader"),
    )
    told = "\n".join(lines)
    assert told.count("first lit in 1871") == 2  # once for each label
    assert "trust answers: Supported (as before)" in told
    assert told.count("so it is") == 1
    assert "leader repeats its statement" in told
