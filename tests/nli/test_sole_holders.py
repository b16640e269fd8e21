"""What only one can be or have done, said of another."""

from __future__ import annotations

import pytest

from redargue.nli.holders import claims_of_others
from support.growth import grows_with_the_square


@pytest.mark.parametrize(
    ("claim", "text", "other", "verbatim"),
    [
        ("Tarn is the capital of Veld.", "Orm is the capital of Veld.", "Orm is the capital of Veld.", True),
        (
            "Ida Berg is the director of the mill.",
            "The mill's director, Jon Falk, spoke.",
            "Jon Falk is the director of the mill.",
            False,
        ),
        (
            "Ida Berg is the mayor of Lisse.",
            "Mayor Jon Falk opened the bridge in Lisse.",
            "Jon Falk is the mayor of Lisse.",
            False,
        ),
        ("Ida Berg wrote the songs.", "Jon Falk wrote the songs.", "Jon Falk wrote the songs.", True),
        (
            "The songs were written by Ida Berg.",
            "The songs were written by Jon Falk.",
            "The songs were written by Jon Falk.",
            True,
        ),
        (
            "The deepest lake in Veld is Lake Tarn.",
            "Lake Orm is the deepest lake in Veld.",
            "The deepest lake in Veld is Lake Orm.",
            True,
        ),
        (
            "Ida Berg was the winner of the 2011 race.",
            "Jon Falk won the 2011 race.",
            "Jon Falk was the winner of the 2011 race.",
            False,
        ),
        ("Ida Berg is the owner.", "Jon Falk, not Ida Berg, is the owner.", "Jon Falk is the owner.", True),
        ("Ida Berg won the 2011 race.", "Jon Falk won the 2011 race.", "Jon Falk won the 2011 race.", True),
        ("Åsa Berg is the firm's owner.", "Émile Falk is the firm's owner.", "Émile Falk is the firm's owner.", True),
    ],
)
def test_the_name_of_the_text_takes_the_holders_place(claim: str, text: str, other: str, verbatim: bool) -> None:
    assert (other, verbatim) in [(each.claim, each.verbatim) for each in claims_of_others(claim, text, text)]


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Ida Berg attended the meeting.", "Jon Falk attended the meeting."),
        ("Ida Berg is a director of the bank.", "Jon Falk is a director of the bank."),
        ("Ida Berg is one of the owners.", "Jon Falk is one of the owners."),
        ("Ida Berg is the director of the mill.", "Jon Falk is a director of the mill."),
        ("Ida Berg is the director of the mill.", "Jon Falk is the deputy director of the mill."),
        ("Ida Berg is the director of the mill.", "Jon Falk was the director of the mill until 2012."),
        ("Ida Berg is the director of the mill.", "Jon Falk will become the director of the mill in May."),
        ("Ida Berg was the director of the mill.", "Jon Falk was the director of the mill."),
        ("Ida Berg won the race.", "Jon Falk won the race in 1990."),
        ("Ida Berg wrote The Mill.", "The Mill was translated by Jon Falk."),
        ("Ida Berg wrote the songs.", "Jon Falk wrote the songs with Ida."),
        ("The mill was founded by Ida Berg.", "The mill was founded by Jon Falk and a fellow student."),
        ("The war was won by the North.", "The war was won by the Union."),
        ("Ida Berg scored 20 points in the final.", "Jon Falk scored 20 points in the final."),
        ("Norway won 16 gold medals at the Games.", "Veld won 16 gold medals at the Games."),
        ("Ida Berg bought Orbis shares in 2016.", "Jon Falk bought Orbis shares in 2016."),
        ("Ida Berg won her first title in 2019.", "Eva Falk won her first title in 2019."),
        ("Ida Berg is the daughter of Eva Berg.", "Jon Falk is the son of Eva Berg."),
        ("Spanish is the official language of Veld.", "Quechua is the official language of Veld."),
        ("Ida Berg is the goalkeeper of Lisse.", "Jon Falk is the goalkeeper of Lisse."),
        ("Ida Berg is the director's sister.", "Eva Falk is the director's sister."),
        ("Ida Berg is the largest owner's lawyer.", "Eva Falk is the largest owner's lawyer."),
        ("Lisse is the head office of Orbis.", "Wick is the head office of Orbis."),
        ("Ida Berg painted Henry Orm.", "Jon Falk painted Henry Orm."),
        ("Ida Berg invented the vaccine.", "Jon Falk invented the vaccine."),
        ("The mill is in the west of Veld.", "The harbour is in the west of Veld."),
        ("Brazil won the World Cup.", "Italy won the World Cup."),
        ("Brazil won the World Cup in 1990.", "Italy won the World Cup."),
        ("Ida Berg wrote songs.", "Jon Falk wrote songs."),
        ("The Reds won the cup.", "Lisse Town won the cup."),
        ("Berlin is the seat of the firm.", "West Germany is the seat of the firm."),
        ("Lake Tarn is the deepest lake.", "Lake Tarn is the deepest lake."),
        ("Ida Berg is the  ", "Jon Falk is the  "),
        ("", "Jon Falk wrote the songs."),
        ("Ida Berg wrote the songs.", ""),
    ],
)
def test_what_several_can_be_or_another_was_before_refutes_nothing(claim: str, text: str) -> None:
    assert list(claims_of_others(claim, text, text)) == []


@pytest.mark.parametrize(
    ("source", "others"),
    [
        ("Mark Twain wrote the book. Twain's real name was Samuel Clemens.", []),
        ("Mark Twain (Samuel Clemens) wrote the book.", []),
        ("Mark Twain wrote the book. Samuel Clemens was Mark Twain.", []),
        ("Samuel Clemens was born in 1835. Mark Twain wrote the book.", []),
        ("Mark Twain wrote the book. Samuel Clemens sold it.", ["Mark Twain wrote the book."]),
    ],
)
def test_a_holder_that_the_source_names_may_be_the_same_under_another_name(source: str, others: list[str]) -> None:
    found = claims_of_others("Samuel Clemens wrote the book.", "Mark Twain wrote the book.", source)
    assert [each.claim for each in found] == others


@pytest.mark.parametrize("text", ["Jon Falk " * 30_000, "an " * 60_000, "a joint " * 30_000, "A" * 200_000])
def test_long_texts_take_time_in_proportion(text: str) -> None:
    assert not grows_with_the_square(lambda given: list(claims_of_others("The head is Ida Berg.", given, given)), text)


def test_a_source_is_searched_once_however_many_names_a_text_has() -> None:
    """Names that do not fit are not looked for in the source, nor is all of a long source read."""
    names = " ".join(f"Ab{chr(97 + n // 26)}{chr(97 + n % 26)} x" for n in range(300))

    def search(source: str) -> None:
        list(claims_of_others("Ida is the head of Veld.", names, source))

    assert not grows_with_the_square(search, "Ida, as it is known. " * 20_000)


@pytest.mark.parametrize("claim", ["Ida Berg is the head of " + "A " * 120, "It was " * 40, "A's " * 70, "A" * 299])
def test_long_claims_take_time_in_proportion(claim: str) -> None:
    def search(given: str) -> None:
        for _ in range(99):
            list(claims_of_others(given, "Jon Falk", ""))

    assert not grows_with_the_square(search, claim)
