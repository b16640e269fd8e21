"""Quotations that say nothing: no method decides a claim with them."""

from __future__ import annotations

import pytest

from methods.test_limited import READING, verify
from redargue.claims import Meaning
from redargue.evidence import Cut, Passage
from redargue.quotes import can_decide, find_quote
from support.debates import QUOTE, TEXT

pytestmark = pytest.mark.anyio

SAID_NOTHING = {
    "the": ("the",),
    "function words": ("It stands on a", "on a", "was", "It"),
    "a name": ("Cape Ansel",),
    "one word": ("lighthouse", "1871", "granite"),
    "blank": (" ", "\u200b", "…", "—"),
    "marks": ("**", '""', "[1]", "."),
    "empty": (),
}


@pytest.mark.slow
@pytest.mark.parametrize("quotes", SAID_NOTHING.values(), ids=SAID_NOTHING)
@pytest.mark.parametrize("method", [name for name in READING if name != "nli"])
async def test_a_method_decides_nothing_with_quotations_that_say_nothing(method: str, quotes: tuple[str, ...]) -> None:
    verdict = await verify(method, *quotes)
    assert verdict.meaning is Meaning.NOT_ENOUGH or verdict.label is None


@pytest.mark.parametrize("method", ["single-reader", "mermaid", "tool-mad"])
async def test_the_papers_verdict_without_a_telling_quotation_is_marked(method: str) -> None:
    verdict = await verify(method, "the", profile="paper")
    assert verdict.meaning is not Meaning.NOT_ENOUGH
    assert verdict.caveats


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        (QUOTE, TEXT),
        ("Bees are insects.", "Bees are insects. They fly."),
        ("Bees are insects", "Look: Bees are insects"),
        ("lit in 1871. It stands on a granite reef", TEXT),
        ("東京は日本の首都です", "東京は日本の首都です。"),
    ],
)
def test_a_sentence_or_three_content_words_can_decide(quote: str, text: str) -> None:
    passage = Passage(text=text)
    assert can_decide(find_quote(quote, (passage,)), (passage,))


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("Bees are insects", "Some say that bees are insects that sting."),
        ("Yes.", "Is it so? Yes. It is."),
        ("It is.", "Is it so? Yes. It is."),
        ("the the the of of", "It is the the the of of it."),
        ("Cape Ansel", TEXT),
        ("bees bees bees", "I see bees bees bees there."),
    ],
)
def test_a_piece_of_a_sentence_with_two_content_words_cannot_decide(quote: str, text: str) -> None:
    passage = Passage(text=text)
    assert not can_decide(find_quote(quote, (passage,)), (passage,))


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("bees are insects. They fly.", "start"),
        ("They fly. Bees are insects", "end"),
        ("Bees are insects", "both"),
        ("... bees are insects. They fly.", ""),
        ("They fly … bees are insects.", ""),
        ("They fly. Bees are insects ...", ""),
        ("They fly. Bees are insects… in name.", ""),
    ],
)
def test_the_end_of_a_cut_text_is_no_end_of_a_sentence(text: str, cut: Cut) -> None:
    """Beyond it may be "It is false that"; three content words decide as they do within a sentence."""
    passage = Passage(text=text, cut=cut)
    quote = find_quote(text[text.lower().index("bees") :].split(" in ")[0].split(" They")[0], (passage,))
    assert quote.found
    assert not can_decide(quote, (passage,))


def test_a_whole_sentence_of_a_cut_text_can_decide() -> None:
    passage = Passage(text="They fly. Bees are insects. They", cut="both")
    assert can_decide(find_quote("Bees are insects.", (passage,)), (passage,))


TITLES = {
    "a noun phrase": "The lighthouse at Cape Ansel, first lit in 1871",
    "a sentence": "The lighthouse at Cape Ansel was first lit in 1871.",
    "a question": "Was the lighthouse at Cape Ansel first lit in 1871?",
    "a list": "List of lighthouses at Cape Ansel lit in 1871",
    "several sentences": "Lighthouses. The lighthouse at Cape Ansel was first lit in 1871. It stands there.",
}


@pytest.mark.parametrize("title", TITLES.values(), ids=TITLES)
def test_a_title_cannot_decide(title: str) -> None:
    passage = Passage(text="Ships come and go in this small harbour all year.", title=title)
    quote = find_quote(title, (passage,))
    assert quote.found
    assert not can_decide(quote, (passage,))


def test_the_text_below_a_title_can_decide() -> None:
    passage = Passage(text=TEXT, title="Cape Ansel")
    assert can_decide(find_quote(f"Cape Ansel\n{QUOTE}", (passage,)), (passage,))
