from __future__ import annotations

import pytest

from redargue.text.contexts import delimited_parts


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
