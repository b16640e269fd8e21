"""The quotations in what an agent gives as one."""

from __future__ import annotations

import pytest

from redargue.evidence import Passage
from redargue.quotes import find_quotes

PAGE = Passage(
    title="Cape Ansel",
    text=(
        'The lighthouse at Cape Ansel was first lit in 1871. The film "Salt and Fog" was shot there, which cost two'
        " million crowns. The keeper, who did not like visitors, sold postcards."
    ),
)
OTHER = Passage(title="Velt", text="The harbour of Velt was dug between 1902 and 1906.")
LIT = "The lighthouse at Cape Ansel was first lit in 1871."


@pytest.mark.parametrize(
    "given",
    [
        LIT,
        f'Document [1]: "{LIT}"',
        f'Document 1: "{LIT}"',
        f"[1] {LIT}",
        f"[D1]: {LIT}",
        f'Cape Ansel: "{LIT}"',
        f"Cape Ansel: {LIT}",
        f'"{LIT}" (1)',
        f"{LIT} [1]",
        f"“{LIT}” (document 1)",
        f"The first one says: “{LIT}”, which settles it.",
    ],
)
def test_a_quotation_may_come_with_its_document(given: str) -> None:
    assert [quote.text for quote in find_quotes(given, (PAGE, OTHER))] == [LIT]


def test_quotation_marks_inside_a_quotation_do_not_end_it() -> None:
    inside = 'The film "Salt and Fog" was shot there, which cost two million crowns.'
    assert [quote.text for quote in find_quotes(f'Document [1]: "{inside}"', (PAGE,))] == [inside]


def test_a_name_in_quotation_marks_does_not_stand_for_the_altered_sentence_around_it() -> None:
    altered = 'The film "Salt and Fog" was shot there, which cost nine million crowns.'
    (quote,) = find_quotes(altered, (PAGE,))
    assert (quote.text, quote.found) == (altered, False)
    assert not any(quote.found for quote in find_quotes(f"“{altered}” [1]", (PAGE,)))


def test_several_quotations_in_one_text_are_looked_up_one_by_one() -> None:
    given = f'"{LIT}" and "The harbour of Velt was dug" but "nobody ever came here"'
    quotes = find_quotes(given, (PAGE, OTHER))
    assert [(quote.text, quote.found) for quote in quotes] == [
        (LIT, True),
        ("The harbour of Velt was dug", True),
        ("nobody ever came here", False),
    ]


@pytest.mark.parametrize("mark", ["[...]", "...", "…", "[…]", "(...)"])
def test_a_quotation_may_leave_words_out(mark: str) -> None:
    given = f"The lighthouse at Cape Ansel {mark} was shot there, which cost two million crowns."
    quotes = find_quotes(given, (PAGE,))
    assert [quote.text for quote in quotes] == [
        "The lighthouse at Cape Ansel",
        "was shot there, which cost two million crowns.",
    ]


@pytest.mark.parametrize(
    "given",
    [
        "The keeper [...] like visitors",
        "which cost two million crowns [...] was first lit in 1871",
        "was first lit in 1871 [...] dug between 1902 and 1906",
        "was first lit in 1871 [...] by the queen herself",
    ],
    ids=["leaves a negation out", "other order", "of two documents", "one half is made up"],
)
def test_what_was_left_out_may_not_change_what_is_said(given: str) -> None:
    assert not any(quote.found for quote in find_quotes(given, (PAGE, OTHER)))


def test_a_number_that_belongs_to_the_quotation_is_never_taken_off() -> None:
    page = Passage(text="In all 13 people were rescued from the wreck that night.")
    assert not find_quotes("12 people were rescued from the wreck", (page,))[0].found


def test_an_omission_may_stand_among_spaces_and_a_reference_after_them() -> None:
    passages = (Passage(text="The bridge was opened in 1889. It is painted red every year."),)
    for given in ("The bridge was opened   [...]   painted red every year", "The bridge was opened in 1889.   [1]  "):
        assert all(quote.found for quote in find_quotes(given, passages))
