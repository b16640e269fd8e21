"""The leaderboard over all data sets: whose evidence is read, and what is not shown."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
from benchmarks import leaderboard
from benchmarks.sets import Set

pytest.importorskip("scipy", reason="needs the extra lab")

ORGANS = dict(zip("ABCDE", ("Heart", "Lung", "Liver", "Skin", "Bone"), strict=True))
QUESTION = {"question": "Which organ pumps blood?", "answer": "Heart", "options": ORGANS, "answer_idx": "A"}


@pytest.mark.slow
def test_what_a_system_that_cannot_take_the_claims_has_read_is_read_by_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "benchmarks" / "medqa" / "test.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({**QUESTION, "meta_info": "step1"}) + "\n")
    monkeypatch.setenv("REDARGUE_DATA", str(tmp_path))
    monkeypatch.setitem(leaderboard.BOARD, "medqa", Set("medqa", str(path.relative_to(tmp_path)), {}, "starter"))
    monkeypatch.setattr(leaderboard, "corpus_of", lambda name: name)
    given = argparse.Namespace(half="all", limit=1, model="", base_url="", method=["single-reader"])
    leaderboard._run("medqa", given, tmp_path / "medqa-all-1")
    given.method = ["nli"]  # which takes no options either; what was there stays
    leaderboard._run("medqa", given, tmp_path / "medqa-all-1")
    cells = json.loads((tmp_path / "medqa-all-1" / "cells.json").read_text())["cells"]
    assert {whose: set(rows) for whose, rows in cells.items()} == {
        leaderboard.ALONE: {
            leaderboard.CONSTANT,
            "tool-mad",
            "mermaid",
            "single-reader",
        },  # dual-position takes no five options
        "tool-mad": {"tool-mad", "single-reader"},
        "mermaid": {"mermaid", "single-reader"},
    }


def test_a_page_shows_one_half_and_of_each_data_set_its_largest_run(tmp_path: Path) -> None:
    for place, n, right in (("fever-even-9", 9, 1), ("fever-odd-60", 60, 2), ("fever-odd-100", 100, 3)):
        cell = {"accuracy": f"{right}.0 (0–9)", "macro_f1": "5.0 (0–9)", "calls": 1, "searches": 1, "errors": 0}
        cells = {leaderboard.ALONE: {"single-reader": cell | {"right": [True] * n}}}
        (tmp_path / place).mkdir()
        (tmp_path / place / "cells.json").write_text(json.dumps({"n": n, "cells": cells}))
    odd, even = leaderboard.page(tmp_path, "m"), leaderboard.page(tmp_path, "m", "even")
    assert "Odd rows" in odd
    assert "| accuracy | fever (100) |" in odd
    assert "Even rows" in even
    assert "| accuracy | fever (9) |" in even


def test_without_a_data_set_that_all_have_taken_there_is_no_mean() -> None:
    cell = {"accuracy": "50.0 (0–9)", "macro_f1": "5.0 (0–9)", "calls": 1, "searches": 1, "errors": 0}
    boards = {"fever": {"n": 1, "cells": {"nli": cell}}, "scifact": {"n": 1, "cells": {"fire": cell}}}
    assert "| nli | 5.0 (0–9) | – | – |" in leaderboard._leaderboard(boards)


@pytest.mark.slow
def test_with_a_model_samples_cost_what_each_system_has_cost_here() -> None:
    rows = {
        row: each
        for whose, row, each in leaderboard.all_systems(("frozen",), model=True)
        if whose == "its own searches"
    }
    assert {"zero-shot", "self-check", "best-of-n, calls of mermaid"} <= rows.keys()
    wanted = rows["self-consistency, calls of tool-mad"]
    assert list(rows).index("tool-mad") < list(rows).index("self-consistency, calls of tool-mad")
    had = leaderboard._as_costly(wanted, {"tool-mad": {"calls": 36.6}})
    assert had is not None
    assert had.spec == "self-consistency:tools=frozen,calls=37"
    assert leaderboard._as_costly(wanted, {}) is None
    assert leaderboard._as_costly(rows["tool-mad"], {}) == rows["tool-mad"]


def test_the_page_begins_with_the_words_that_its_next_writing_gives_it() -> None:
    worth = leaderboard.WORTH.read_text(encoding="utf-8").strip()
    assert leaderboard.PAGE.read_text(encoding="utf-8").startswith(f"# Benchmarks\n\n{worth}\n\n## How the tables")
