"""The twin of a claim: the same claim of another holder that the text names nearer to what is claimed."""

from __future__ import annotations

import pytest

from redargue.nli.alignment import parsed
from redargue.nli.holders import BY_ORDER, Twin, twin
from support.growth import grows_with_the_square


@pytest.mark.parametrize(
    ("text", "claim", "other", "opposed"),
    [
        (
            "The red boat is moored by the crane and the blue boat by the mill.",
            "The red boat is moored by the mill.",
            "The blue boat is moored by the mill.",
            True,
        ),
        (
            "Ida Berg wrote the songs, and Jon Falk recorded them.",
            "Ida Berg recorded the songs.",
            "Jon Falk recorded the songs.",
            False,
        ),
        (
            "Ida Berg wrote the songs; Jon Falk recorded them.",
            "Ida Berg recorded the songs.",
            "Jon Falk recorded the songs.",
            True,
        ),
        (
            "The pool closes at eight on Mondays and at ten on Fridays.",
            "The pool closes at eight on Fridays.",
            "The pool closes at eight on Mondays.",
            True,
        ),
        (
            "Ida Berg came on Monday and Jon Falk left on Friday.",
            "Ida Berg left on Friday.",
            "Jon Falk left on Friday.",
            False,
        ),
        ("Mira sent Tove a map and Tove sent Mira a rope.", "Mira sent Tove a rope.", "Tove sent Mira a rope.", False),
        (
            "The tenant (Ida Berg) pays for heating; the landlord (the Estate of J. M. Falk) insures the house.",
            "Heating is paid by the Estate of J. M. Falk.",
            "Heating is paid by the Ida Berg.",
            True,
        ),
    ],
)
def test_the_nearer_holder_takes_the_place_of_the_claims_own(text: str, claim: str, other: str, opposed: bool) -> None:
    assert twin(parsed(claim), parsed(text)) == Twin(other, opposed)


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("Leeds and York are served by tram.", "Leeds is served by tram."),
        ("The red boat leaves at dawn.", "The red boat leaves at noon."),
        ("Ida Berg wrote the songs.", "Ida Berg wrote the songs."),
        ("", "The red boat leaves at noon."),
        (
            "Story of My Life is a song recorded by the English Irish boy band One Direction.",
            "Story of My Life was recorded by a band.",
        ),
        ("The red boat leaves at dawn.", ""),
        ("Ida Berg was born on 7 May 1867 in Tarn and died on 4 July 1934 in Hull.", "Ida Berg died on 4 July 1934."),
        ("The Tarn Bridge in Norway was opened in May 1998.", "The Tarn Bridge was opened in May 1998."),
        ("It sold well in Austria, Czechia, New Zealand and Peru.", "It sold well in Peru."),
        ("Ida Berg is an English painter, who was born in 1950.", "Ida Berg was born in 1950."),
        ("The Great Fire of Tarn destroyed most of the town in 1751.", "Most of Tarn burned down in 1751."),
        (
            "The film Mutiny on the Tarn is based on the novel Mutiny on the Tarn.",
            "Mutiny on the Tarn is based on a novel.",
        ),
        ("The musical was shown as The Book of Falk, and won the Tarn Prize.", "The Book of Falk won a prize."),
        ("Musically, Tarn consists of a bridge and a sampled voice.", "Tarn consists of a sampled voice."),
        ("The song was written in Dr. Falk's house by Ida Berg.", "Dr. Falk's house is where the song was written."),
    ],
)
def test_where_nothing_could_be_crossed_there_is_no_twin(text: str, claim: str) -> None:
    assert twin(parsed(claim), parsed(text)) is None


@pytest.mark.parametrize("piece", ["Ab, Cd and Ef, ", "Ab of ", "Ab red ", "A-B-", "Cd came in 1990, "])
def test_looking_for_other_holders_takes_time_in_proportion_to_the_text(piece: str) -> None:
    def search(text: str) -> None:
        twin(parsed("Cd left in 1990."), parsed(f"{text}left in 1990."))

    search("Ab ")  # compiles the expressions
    assert not grows_with_the_square(search, piece * 400)


@pytest.mark.parametrize(
    ("text", "by_order"),
    [
        ("Rooms 4 and 9 are for the choir and the club, respectively.", True),
        ("The shop and the kiosk differ: the former takes cards, the latter cash.", True),
        ("The latter opened in 1990.", True),
        ("He is the former chairman of the port and the former President of the league.", False),
    ],
)
def test_a_former_chairman_is_not_one_of_two(text: str, by_order: bool) -> None:
    assert (BY_ORDER.search(text) is not None) is by_order
