"""Quotations: what counts as standing in a passage, at the rates that the project promises."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redargue.evidence import Passage, QuoteStatus, distinct_names
from redargue.quotes import find_quote
from support.prose import false_quotation, noise, paragraphs, span

TEXT = (
    "The lighthouse at Cape Ansel was first lit in 1871. It is not open to visitors — the reef’s tides make "
    "landing unsafe. Its lamp, designed by “Th. Okoro & Sons”, burned 1,200 litres of oil a year (about 3.5 a day). "
    "The well-known keeper Ines Vidal couldn't leave between 1902–1905."
)
PASSAGE = Passage(text=TEXT, title="Cape Ansel")


def status(quote: str, text: str = TEXT) -> QuoteStatus:
    return find_quote(quote, (Passage(text=text),)).status


def test_a_verbatim_quotation_is_verified_with_its_offsets() -> None:
    quote = find_quote("first lit in 1871", (PASSAGE,))
    assert quote.status is QuoteStatus.VERIFIED
    assert TEXT[quote.start : quote.end] == "first lit in 1871"
    assert quote.passage == PASSAGE.sha256
    assert quote.source is not None
    assert quote.source.title == "Cape Ansel"


@pytest.mark.parametrize(
    "quote",
    [
        "It is not open to visitors - the reef's tides make landing unsafe",
        '"Th. Okoro & Sons"',
        "burned 1,200  litres\nof oil a year (about 3.5 a day)",
        "… the lighthouse at Cape Ansel was first lit in 1871 …",
        "“first lit in 1871.”",
        "its lamp, designed by",
        "The well‑known keeper Ines Vidal couldn’t leave",
    ],
)
def test_typography_is_repaired_to_the_passages_own_characters(quote: str) -> None:
    found = find_quote(quote, (PASSAGE,))
    assert found.status in (QuoteStatus.REPAIRED, QuoteStatus.VERIFIED)
    assert found.text == TEXT[found.start : found.end]


@pytest.mark.parametrize("quote", ["… first lit in 1871 …", "Cape Ansel … first lit in 1871", "… first lit in 1871"])
def test_a_quotation_that_includes_the_mark_of_a_cut_is_found_without_it(quote: str) -> None:
    passage = Passage(text="first lit in 1871. It is not open", title="Cape Ansel", cut="both")
    found = find_quote(quote, (passage,))
    assert (found.text, found.start, found.part) == ("first lit in 1871", 0, "text")
    assert passage.text[found.start : found.end] == found.text


def test_a_quotation_of_a_title_and_the_mark_of_a_cut_is_of_the_title() -> None:
    found = find_quote("Cape Ansel light …", (Passage(text="It was lit.", title="Cape Ansel light", cut="start"),))
    assert (found.text, found.part) == ("Cape Ansel light", "title")


@pytest.mark.parametrize(
    "quote",
    [
        "was lit in 1871",  # a word left out
        "first lit in 1872",
        "It is open to visitors",  # the negation left out in the middle
        "open to visitors",  # and left out at the edge
        "known keeper Ines Vidal",  # half of a word
        "burned 1,200 litres of oil a year (about 3",  # a number cut at its point
        "200 litres of oil",
        "couldn",
        "",
        "…",
        "?!",
        "1902",  # half of a range
        "THE LIGHTHOUSE AT CAPE ANSEL",
    ],
)
def test_what_changes_the_meaning_is_not_found(quote: str) -> None:
    found = find_quote(quote, (PASSAGE,))
    assert found.status is QuoteStatus.NOT_FOUND
    assert (found.start, found.end, found.passage, found.source) == (-1, -1, "", None)


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("5 degrees", "It was -5 degrees outside."),
        ("5 degrees", "It was −5 degrees outside."),
        ("102 metres", "It covers 10² metres."),
        ("happy man", "He was an un-happy man."),
        ("100", "It costs $100."),
        ("90", "It covers 90% of it."),
    ],
)
def test_signs_exponents_and_units_belong_to_the_number(quote: str, text: str) -> None:
    assert status(quote, text) is QuoteStatus.NOT_FOUND


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        (
            'a song by Kenneth "Babyface" Edmonds, released',
            "It is a song by Kenneth `` Babyface '' Edmonds , released then .",
        ),
        ("useful information for all", "It is use-\nful infor-\n mation for all."),
        ("a well-known file", "He kept a well-\nknown ﬁle."),
        ("café in Málaga", "A cafe\u0301 in Ma\u0301laga."),
        ("the reef ends", "Here—the reef ends—nothing grows."),
    ],
)
def test_marks_of_page_and_tokeniser_are_repaired(quote: str, text: str) -> None:
    assert status(quote, text) is not QuoteStatus.NOT_FOUND


@pytest.mark.parametrize("text", ["Was it late? No. The tower is old.", "There was nothing: The tower is old."])
def test_a_negation_of_the_sentence_before_belongs_to_that_sentence(text: str) -> None:
    assert status("The tower is old.", text) is QuoteStatus.VERIFIED


@pytest.mark.parametrize(
    ("text", "quote", "found"),
    [
        ("What we know of how it eruptedThe two countries are at odds.", "The two countries are at odds.", True),
        ("Copy this linkAfter weeks of talks the governor stays.", "After weeks of talks the governor stays.", True),
        ("The firm moved to TurkeyWhen the war began, it closed.", "The firm moved to Turkey", True),
        ("McDonald said that the bridge will close.", "Donald said that the bridge will close.", False),
        ("The eBay office in Kiel will close.", "Bay office in Kiel will close.", False),
        ("It is unable to close the bridge.", "able to close the bridge.", False),
        ("It is not soThe bridge will close.", "The bridge will close.", False),  # it may belong to it
    ],
)
def test_a_page_without_line_breaks_glues_sentences_and_parts_no_names(text: str, quote: str, found: bool) -> None:
    assert find_quote(quote, (Passage(text=text),)).found is found


def test_a_verbatim_passage_goes_before_a_repaired_one() -> None:
    loose = Passage(text="He said “no” then.", title="loose")
    exact = Passage(text='He said "no" then.', title="exact")
    found = find_quote('He said "no" then.', (loose, exact))
    assert found.source is not None
    assert (found.status, found.source.title) == (QuoteStatus.VERIFIED, "exact")


@pytest.mark.slow
@given(st.text(max_size=80), st.text(max_size=200))
def test_any_text_is_answered_and_what_is_found_stands_there(quote: str, text: str) -> None:
    found = find_quote(quote, (Passage(text=text),))
    if found.found:
        assert text[found.start : found.end] == found.text != ""


# The promised rates, on generated prose of the project's own: 1,000 true, 1,000 fabricated, 200 negated, 200 from
# another document, 100 stitched.


@pytest.mark.slow
def test_true_quotations_with_typographic_noise_are_accepted() -> None:
    rng = random.Random(1)
    texts = paragraphs(rng, 100)
    accepted = sum(
        find_quote(noise(rng, span(rng, text)), (Passage(text=text),)).found for text in texts for _ in range(10)
    )
    assert accepted >= 990, f"{1000 - accepted} of 1,000 true quotations rejected"


@pytest.mark.slow
def test_fabricated_negated_foreign_and_stitched_quotations_are_never_accepted() -> None:
    rng = random.Random(2)
    texts = paragraphs(rng, 100)
    accepted = []
    for kind, count in (("fabricated", 1000), ("negated", 200), ("foreign", 200), ("stitched", 100)):
        for number in range(count):
            text = texts[number % len(texts)]
            quote = false_quotation(kind, rng, text, texts)
            if find_quote(quote, (Passage(text=text),)).found:
                accepted.append((kind, quote, text))
    assert accepted == []


def test_documents_of_one_name_get_numbers_and_the_same_document_stays_one() -> None:
    given = [
        ("a.txt", "One."),
        ("a.txt", "Two."),
        ("a.txt (2)", "Three."),
        ("a.txt", "One."),
        ("", "One."),
        ("", "Two."),
    ]
    assert distinct_names(given) == ["a.txt", "a.txt (2)", "a.txt (2) (2)", "a.txt", "", ""]
    assert distinct_names(("row", str(number)) for number in range(20_000))[-1] == "row (20000)"
