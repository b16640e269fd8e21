"""The benchmark of responses: where their claims' evidence is from, what counts as one item, which rows can exist."""

from __future__ import annotations

import pytest
from benchmarks.responses import evidence
from benchmarks.responses_figures import PUBLISHED, Calls, paired, published, show

from redargue.bench.datasets import Example
from redargue.claims import Claim
from redargue.evidence import Passage

pytest.importorskip("scipy", reason="needs the extra lab")

ROWS = {f"{name}, {level}, {row.name}": row for name, level in PUBLISHED for row in published(name, level)}


def example(text: str, *passages: Passage) -> Example:
    return Example(id=text, claim=Claim(text=text), gold=None, passages=passages, response="1", row=1)


def test_a_claim_reads_its_own_search_else_what_came_with_it_else_what_the_others_found() -> None:
    first, second, brought = (Passage(text=text) for text in ("first", "second", "brought"))
    searched = {"a": (first,), "b": (second, first)}
    group = [example("a", brought), example("b"), example("c", brought), example("d")]
    found = dict(zip("abcd", evidence(group, searched), strict=True))
    assert [found[name][1] for name in "abcd"] == [(first,), (second, first), (brought,), (first, second)]
    assert len({found[name][0] for name in "acd"}) == 3
    assert [passages for _, passages in evidence([example("d")], searched)] == [()]


def test_a_response_is_factual_if_all_its_claims_are_and_so_are_calls() -> None:
    calls = Calls(gold=[True, True, True, False, True], said=[True, True, True, True, None])
    assert calls.of(["a", "a", "b", "b", "c"]) == Calls(gold=[True, False, True], said=[True, True, None])
    assert calls.of(["a", "a", "b", "b", "c"]).right == [True, False, False]
    assert calls.at([3, 4]).labels == ["factual", None]


def test_rows_of_sun_et_al_are_of_whole_counts_and_the_debates_own_are_not() -> None:
    whole = {name for name, row in ROWS.items() if row.possible}
    assert {name for name in ROWS if "Sun et al." in name} < whole
    own = {name for name in ROWS if "Our" in name or "w/o" in name or "as DPD prints" in name}
    assert len(own) == 8
    assert not own & whole


def test_tables_count_items_of_the_level_and_test_the_first_method(capsys: pytest.CaptureFixture[str]) -> None:
    gold = [True, True, False, True, False, True]
    calls = {
        "first": Calls(gold, [True, True, True, True, False, None]),
        "second": Calls(gold, [True, False, False, True, True, True]),
    }
    items = ["a", "a", "b", "b", "c", "d"]  # factual: a, d
    show(calls, items, ())
    paired(calls, items)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "4 items, 2 factual"
    first, second, everything = (line.split() for line in lines[2:5])
    assert [first[at] for at in (0, 1, 3, 4, 5, 6)] == ["first", "0.500", "0.500", "0.500", "0.500", "0.750"]
    assert [second[at] for at in (0, 1, 3, 4, 5, 6)] == ["second", "0.500", "0.500", "0.500", "0.500", "1.000"]
    assert everything[:4] == ["all", "called", "factual", "0.500"]
    assert lines[7].split()[:5] == ["second", "2,", "2", "+0.000", "(-1.000"]
