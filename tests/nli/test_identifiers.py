"""Numbers and words that tell things apart: a sentence about Room 14 says nothing about Room 12."""

from __future__ import annotations

import pytest

from redargue.claims import FEVER, Meaning
from redargue.evidence import Passage
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.facts import is_of_another, rival_subject
from support.growth import grows_with_the_square

ANOTHER = [
    ("Room 12 has a balcony.", "Room 14 has a balcony."),
    ("Flight KL 204 leaves at 9:15.", "Flight KL 205 leaves at 9:15."),
    ("The warehouse number 777 was built in 1977.", "Warehouse no. 677 in Kelda was built in 1977."),
    ("The Model 3 has a range of 400 km.", "The Model 5 has a range of 400 km."),
    ("In section 4.2, smoking is allowed.", "Section 4.3 allows smoking."),
    ("Model A has a battery.", "Model B has no battery."),
    ("The east wing was renovated in 2015.", "The west wing was renovated in 2015."),
    ("The first edition sold 5,000 copies.", "The second edition sold 9,000 copies."),
    ("The male frogs sing.", "The female frogs are silent."),
    ("Trains of line 4 stop at night.", "At night, trains of line 5 stop."),
]
SAME = [
    ("Room 12 has a balcony.", "Rooms 12 and 14 have balconies."),
    ("Room 12 has a balcony.", "The house has a balcony."),
    ("The feature was included in version 3.", "The feature was included in version 2."),
    ("The fee is EUR 40 a month.", "The fee is EUR 50 a month."),
    ("The hall seats 50 people.", "The hall seats 70 people."),
    ("The bridge opened in May 2024 for cars.", "The bridge opened in May 2023 for cars."),
    ("It was first designated Route 77 of the state.", "It was first designated Route 76 of the state."),
    ("Around 40 people work there.", "Around 50 people work there."),
    ("It stands on a level 30 metres above the sea.", "It stands on a level 40 metres above the sea."),
    ("Two boats sank.", "Three boats sank."),
    ("The two boats sank.", "The three boats sank."),
    ("The east line runs every ten minutes.", "The west line runs every ten minutes, the east line every twenty."),
    ("The east line is long.", "The west line is short. On the east, the line is long."),
    ("The shelves store 5 boxes of seeds.", "The shelves store 7 boxes of seeds."),
]


@pytest.mark.parametrize(("claim", "text"), ANOTHER)
def test_a_sentence_about_another_numbered_thing_decides_nothing(claim: str, text: str) -> None:
    assert is_of_another(claim, text)
    reading = EmbeddedBackend().reader.read(claim, [Passage(text=text)])
    assert reading.label(FEVER) == "NOT ENOUGH INFO"


@pytest.mark.parametrize(("claim", "text"), SAME)
def test_a_value_is_not_a_name(claim: str, text: str) -> None:
    assert not is_of_another(claim, text)


def test_the_thing_itself_is_found_among_its_kind() -> None:
    text = " ".join(f"Room {number} has {'a balcony' if number % 2 else 'no balcony'}." for number in range(1, 40))
    passages = [Passage(text=text)]
    reader = EmbeddedBackend().reader
    assert reader.read("Room 17 has a balcony.", passages).label(FEVER) == "SUPPORTS"
    assert reader.read("Room 18 has a balcony.", passages).label(FEVER) != "SUPPORTS"


@pytest.mark.parametrize("text", ["a" * 100_000, "Room 12 " * 12_500, "a-" * 50_000], ids=["word", "rooms", "hyphens"])
def test_a_long_text_takes_little_time(text: str) -> None:
    assert not grows_with_the_square(lambda part: is_of_another("Room 12 has a balcony of wood.", part), text)
    assert not grows_with_the_square(lambda part: is_of_another(part, "Room 14 has a balcony."), text)


@pytest.mark.parametrize(
    ("claim", "text", "apart"),
    [
        ("The winter menu has five courses.", "The city menu has four courses.", (["winter"], ["city"])),
        ("The Kessel plant employs 300.", "Of Kessel and Mohr, the Mohr plant employs 210.", (["Kessel"], ["Mohr"])),
        ("The adult ticket costs 12 euros.", "The child ticket costs 6 euros.", (["adult"], ["child"])),
        ("The Kessel plant employs 300 people.", "The plant in Kessel employs 210 people.", None),
        ("The town library has three floors.", "The library has two floors.", None),
        ("The new library has three floors.", "The new town library has two floors.", None),
        ("Anna Holm was born in 1950.", "Dr Holm was born in 1960 in Olm.", None),
        ("Torvia's economy is the largest.", "The Torvian economy is the 41st-largest.", None),
        ("Young people sleep longer than old people.", "Old people sleep less than young people.", None),
    ],
)
def test_a_subject_of_the_same_kind_is_told_apart_by_its_own_words(
    claim: str, text: str, apart: tuple[list[str], list[str]] | None
) -> None:
    assert rival_subject(claim, text) == apart


def test_another_holder_does_not_refute_a_claim() -> None:
    reader = EmbeddedBackend(threads=1, careful=False).reader
    for claim, text in [
        ("The winter menu has five courses.", "The city menu has four courses."),
        ("The Turin office closes at five.", "The Milan office closes at six."),
        ("The upper deck is closed.", "The lower deck is closed."),
        ("The east wing was renovated in 2015.", "The west wing was renovated in 2015."),
    ]:
        label = reader.read(claim, (Passage(text=text),)).label(FEVER)
        assert label == FEVER.named(Meaning.NOT_ENOUGH), claim
