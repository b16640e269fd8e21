from __future__ import annotations

import pytest

from redargue.text.segment import delimited_parts
from support.growth import grows_with_the_square


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("You are helpful.", []),
        ("Context: be brief.", []),
        ("### Context\nBees fly.\n### Rules\nBe brief.", ["Bees fly."]),
        ("<documents><document index='1'>A b.</document><document>C d.</document></documents>", ["A b.", "C d."]),
        ("<source>a.txt</source><SOURCES>\nBees fly.\n</SOURCES>", ["a.txt", "Bees fly."]),
        ("Use <search_results><title>T</title><p>Bees fly.</p></search_results>", ["T\n\nBees fly."]),
        ("**Context:**\nBees fly.\nThey sting.", ["Bees fly.\nThey sting."]),
        ("<context>never closed", []),
    ],
)
def test_delimited_parts(text: str, parts: list[str]) -> None:
    assert delimited_parts(text) == parts


HOSTILE = {
    "tags that are not closed": "<context>" * 40_000,
    "a heading and spaces": "context" + " " * 40_000 + "x",
    "spaces in a part": "<context>a" + " " * 100_000 + "b</context>",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_the_time_grows_with_the_length_of_a_prompt_and_not_with_its_square(text: str) -> None:
    assert not grows_with_the_square(delimited_parts, text)
