"""The search for a smallest set, against every set there is."""

from __future__ import annotations

import asyncio
from itertools import chain, combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redargue.analysis.counterfactual import How, MinimalSetSearch

NAMES = "abcdef"
SETS = [frozenset(each) for each in chain.from_iterable(combinations(NAMES, size) for size in range(1, len(NAMES) + 1))]


def found(flipping: set[frozenset[str]], names: str = NAMES) -> tuple[frozenset[str] | None, How, int]:
    """What is found where those sets flip, and how many trials it took."""
    tried = []

    async def flips(removed: frozenset[str]) -> bool:
        tried.append(removed)
        return removed in flipping

    search = MinimalSetSearch(names, flips)
    asyncio.run(search.run())
    return search.best, search.how, len(set(tried))


@settings(max_examples=300, deadline=None)
@given(st.sets(st.sampled_from(SETS), max_size=4), st.booleans())
def test_what_is_called_smallest_is_smallest_and_minimal_is_minimal(bases: set[frozenset[str]], grows: bool) -> None:
    flipping = {each for each in SETS if any(base <= each for base in bases)} if grows else bases
    best, how, _ = found(flipping)
    if best is None:
        assert how == "none"
        assert not any(len(each) <= 2 for each in flipping)
        return
    assert best in flipping
    if how == "smallest":
        assert len(best) == min(map(len, flipping))
    else:
        assert how == "minimal"
        assert not any(best - {each} in flipping for each in best)


@pytest.mark.parametrize(
    ("needed", "how"), [("a", "smallest"), ("bf", "smallest"), ("bce", "smallest"), ("bcef", "minimal")]
)
def test_a_set_that_is_needed_whole_is_found(needed: str, how: How) -> None:
    flipping = {each for each in SETS if set(needed) <= each}
    assert found(flipping)[:2] == (frozenset(needed), how)


def test_of_many_things_pairs_are_not_all_tried() -> None:
    names = "".join(chr(ord("a") + place) for place in range(20))
    needed = frozenset("ajt")
    tried = []

    async def flips(removed: frozenset[str]) -> bool:
        tried.append(removed)
        return needed <= removed

    search = MinimalSetSearch(names, flips)
    asyncio.run(search.run())
    assert (search.best, search.how) == (needed, "minimal")
    assert len(set(tried)) < 65


def test_where_there_is_nothing_nothing_is_tried() -> None:
    assert found(set(), names="") == (None, "none", 0)
