"""The excerpts of one document in a prompt."""

from __future__ import annotations

from redargue.evidence import Passage, cut_ends
from redargue.quotes import find_quotes
from redargue.tasks.answer import Answer, AnswerClaim
from redargue.tasks.judge import JudgeDebate, Turn
from redargue.tasks.sections import NumberedDocuments, by_document, documents, joined
from support.debates import CLAIM

ABSTRACT = (
    "Background: many lamps fail in winter. Methods: we counted the lamps of forty harbours for nine years."
    " The counts were made each night by the keepers themselves, who wrote them down in a book."
    " Results: four in ten lamps failed. Conclusion: oil lamps should be replaced."
)


def excerpt(first: str, last: str, document: str = "A-1") -> Passage:
    """The part of the abstract between two of its words."""
    start, end = ABSTRACT.index(first), ABSTRACT.index(last) + len(last)
    cut = cut_ends(start=start > 0, end=end < len(ABSTRACT))
    return Passage(document=document, title="Lamps", text=ABSTRACT[start:end], start=start, cut=cut)


BEGIN = excerpt("Background", "in winter.")
METHODS = excerpt("Methods", "nine years.")
MIDDLE = excerpt("nine years.", "in a book.")
END = excerpt("Results", "replaced.")
OTHER = excerpt("Results", "failed.", document="B-2")


def test_excerpts_are_in_the_order_of_their_document_and_name_what_is_missing() -> None:
    shown = joined((END, BEGIN))
    assert shown.startswith("Background: many lamps fail in winter.\n[… about ")
    assert shown.endswith(
        " words left out …]\nResults: four in ten lamps failed. Conclusion: oil lamps should be replaced."
    )
    assert shown.count("…") == 2  # the document ends with the last excerpt


def test_overlapping_and_adjacent_excerpts_become_the_whole_text_again() -> None:
    whole = joined((END, MIDDLE, METHODS, BEGIN))
    assert " ".join(whole.split()) == ABSTRACT


def test_an_excerpt_inside_another_and_a_copy_are_shown_once() -> None:
    inside = excerpt("forty harbours", "nine years.")
    copy = METHODS.model_copy(update={"text": METHODS.text.replace(" we ", "  we "), "start": 0})
    assert joined((inside, METHODS)) == joined((METHODS,))
    assert joined((METHODS, copy)).count("forty harbours") == 1


def test_an_excerpt_whose_place_is_unknown_comes_after_a_mark() -> None:
    pages = [Passage(url="https://lamps.example/a", text=text) for text in ("Lamps failed.", "Oil is dear.")]
    assert joined(tuple(pages)) == "Lamps failed.\n[…]\nOil is dear."


def test_a_document_has_one_number_whatever_its_excerpts() -> None:
    assert by_document((BEGIN, OTHER, END)) == ((BEGIN, END), (OTHER,))
    shown = documents((BEGIN, OTHER, END), "hardened")
    assert shown.index("[1]") < shown.index("Conclusion") < shown.index("[2]")
    assert "[3]" not in shown
    assert documents((BEGIN, OTHER), "paper") == f"{BEGIN.text}\n{OTHER.text}"


def test_a_document_keeps_its_number_in_all_observations() -> None:
    numbered = NumberedDocuments("hardened")
    assert numbered.shown((OTHER,)).startswith("[1]\n")
    assert numbered.shown((BEGIN,)).startswith("[2]\n")
    later = numbered.shown((END, OTHER, BEGIN))
    assert later.startswith("[2]\n")
    assert later.endswith("[1] again")
    assert "in winter" not in later  # shown before


def test_the_judge_has_one_number_for_a_document_of_both_debaters() -> None:
    answer = Answer(text="x", label=None)
    turns = (
        Turn(agent="a", round=1, query="q", passages=(OTHER, BEGIN), answer=answer),
        Turn(agent="b", round=1, query="q", passages=(END,), answer=answer),
    )
    words = JudgeDebate(claim=CLAIM, history=turns).prompt_text()
    assert "Debater A (read [1], [2])" in words
    assert "Debater B (read [2])" in words


def test_a_quotation_may_continue_in_the_next_excerpt() -> None:
    both = (BEGIN, METHODS)
    assert BEGIN.text + " " + METHODS.text in " ".join(AnswerClaim(claim=CLAIM, passages=both).prompt_text().split())
    given = "many lamps fail in winter. Methods: we counted the lamps of forty harbours for nine years."
    found = find_quotes(given, both)
    assert [quote.text for quote in found] == ["many lamps fail in winter.", METHODS.text]
    skipped = "many lamps fail in winter. Results: four in ten lamps failed."
    assert not any(quote.found for quote in find_quotes(skipped, (BEGIN, END)))
