"""Only sentences that a decision rests on are quoted: the strongest of each source, nothing irrelevant."""

from __future__ import annotations

import pytest

from redargue.claims import Claim
from redargue.evidence import Passage
from redargue.nli.aggregation import first_of_sources
from redargue.nli.backend import EmbeddedBackend, compose_answer

RITZ = Passage(
    text="The Ritz is a hotel in Piccadilly, London. The Swiss hotelier César Ritz opened it in May 1906. "
    "The Ritz had a slow start. Until 1976 the Ritz was owned by the Bracewell-Smith family.",
    title="The Ritz Hotel, London",
    document="ritz",
)
CATS = Passage(text="A natural mutation makes the tail of the Manx short. The Manx is a cat.", document="manx")


def test_a_second_sentence_of_the_same_source_is_not_quoted() -> None:
    answer = compose_answer(Claim(text="The Ritz in London opened in 1926."), (RITZ,), EmbeddedBackend())
    assert answer.label == "REFUTES"
    assert answer.quotes == ("The Swiss hotelier César Ritz opened it in May 1906.",)


def test_a_second_source_is_quoted() -> None:
    other = Passage(text="The Ritz Hotel in London opened its doors in 1906.", title="Hotels", document="hotels")
    claim = Claim(text="The Ritz in London opened in 1926.")
    answer = compose_answer(claim, (RITZ, other), EmbeddedBackend())
    assert answer.label == "REFUTES"
    assert len(answer.quotes) == 2


@pytest.mark.parametrize(
    ("claim", "passage", "quoted"),
    [
        ("The Eiffel Tower is 330 metres tall.", CATS, False),
        ("The Ritz has 500 rooms.", RITZ, True),  # about the claim, though it does not settle it
    ],
)
def test_an_open_claim_quotes_only_what_a_search_should_have_returned(
    claim: str, passage: Passage, *, quoted: bool
) -> None:
    answer = compose_answer(Claim(text=claim), (passage,), EmbeddedBackend())
    assert (answer.label, bool(answer.quotes)) == ("NOT ENOUGH INFO", quoted)


def test_a_cell_of_a_table_is_not_quoted_for_an_open_claim() -> None:
    table = Passage(text="Year\n\n2024\n\n2025\n\nCargo in tonnes", document="table")
    assert compose_answer(Claim(text="Cargo fell in 2025."), (table,), EmbeddedBackend()).quotes == ()


def test_sources_are_told_apart_by_publisher_site_or_document() -> None:
    passages = [
        Passage(text="a", document="1"),
        Passage(text="b", document="1"),
        Passage(text="c", document="2", publisher="The Times"),
        Passage(text="d", document="3", publisher="the times", url="https://www.example.org/x"),
        Passage(text="e", document="4", url="https://example.org/y"),
    ]
    assert first_of_sources(passages) == (0, 2)
    assert first_of_sources([]) == ()
