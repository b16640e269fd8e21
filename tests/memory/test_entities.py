from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redargue.memory import near_duplicates, normalize_entity


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("Cape Ansel", "cape ansel"),
        ("  the  Cape\tAnsel. ", "cape ansel"),
        ("“The Cape Ansel”", "cape ansel"),
        ("(an apple)", "apple"),
        ("Ｃａｐｅ Ansel", "cape ansel"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("$456M", "$456m"),
        ("C++", "c++"),
        ("C#", "c#"),
        ("U.S.", "u.s"),
        ("The The", "the"),
        ("!!!", "!!!"),
        ("the", "the"),
        (" ", ""),
    ],
)
def test_spellings_of_a_name_are_one_key(written: str, key: str) -> None:
    assert normalize_entity(written) == key


@given(st.text())
def test_a_key_is_its_own_key(written: str) -> None:
    assert normalize_entity(normalize_entity(written)) == normalize_entity(written)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The lamp was lit in 1871.", "The lamp was lit in 1871.", True),
        ("The keeper Amos Reed lit the lamp in 1871", "Amos Reed, the keeper, lit the lamp", True),
        ("The keeper Amos Reed lit the lamp in 1871", "The keeper Amos Reed lit the lamp in 1872", False),
        ("The lamp at Cape Ansel is red", "The lamp at Cape Ansel is not red", True),
        ("The lamp at Cape Ansel is red", "Cape Ansel lies on the east coast of the island", False),
        ("of the", "to be", False),
    ],
)
def test_near_duplicates_say_the_same_of_the_same(one: str, other: str, same: bool) -> None:
    assert near_duplicates(one, [other]) == (frozenset([other]) if same else frozenset())
