"""The twin of a claim: the same claim of another holder that the text names nearer to what is claimed."""

from __future__ import annotations

import pytest

from redargue.nli.alignment import parsed
from redargue.nli.holders import twin


@pytest.mark.parametrize(
    ("text", "claim", "other"),
    [
        (
            "The red boat is moored by the crane and the blue boat by the mill.",
            "The red boat is moored by the mill.",
            "The blue boat is moored by the mill.",
        ),
        (
            "Ida Berg wrote the songs, and Jon Falk recorded them.",
            "Ida Berg recorded the songs.",
            "Jon Falk recorded the songs.",
        ),
        (
            "The pool closes at eight on Mondays and at ten on Fridays.",
            "The pool closes at eight on Fridays.",
            "The pool closes at eight on Mondays.",
        ),
        ("Mira sent Tove a map and Tove sent Mira a rope.", "Mira sent Tove a rope.", "Tove sent Mira a rope."),
    ],
)
def test_the_nearer_holder_takes_the_place_of_the_claims_own(text: str, claim: str, other: str) -> None:
    assert twin(parsed(claim), parsed(text)) == other


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("Leeds and York are served by tram.", "Leeds is served by tram."),
        ("The red boat leaves at dawn.", "The red boat leaves at noon."),
        ("Ida Berg wrote the songs.", "Ida Berg wrote the songs."),
        ("", "The red boat leaves at noon."),
        ("The red boat leaves at dawn.", ""),
    ],
)
def test_where_nothing_could_be_crossed_there_is_no_twin(text: str, claim: str) -> None:
    assert twin(parsed(claim), parsed(text)) is None
