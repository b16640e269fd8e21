"""Outputs kept on disk are those that were computed, and belong to one model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from redargue.errors import UsageError
from redargue.nli.session import CrossEncoder, OutputCache, tally

PAIRS = [("The bridge opened in 1889.", f"The bridge opened in {year}.") for year in range(1885, 1893)]


@pytest.mark.slow
def test_a_second_process_reads_nothing_again_and_says_and_counts_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = CrossEncoder()
    counted: list[int] = []
    tally.set(counted)
    expected = plain.read(PAIRS)
    monkeypatch.setenv("REDARGUE_CACHE", str(tmp_path / "deep" / "cache.db"))
    assert CrossEncoder().read(PAIRS) == expected
    second = CrossEncoder()
    monkeypatch.setattr(second._session, "_one", None)  # it would be an error to read anything
    assert second.read(PAIRS) == expected
    tally.set(None)
    assert counted == [counted[0]] * 3


def test_another_model_finds_nothing(tmp_path: Path) -> None:
    first, other = OutputCache(tmp_path / "c.db", "a"), OutputCache(tmp_path / "c.db", "b")
    first.keep({("x", "y"): (np.array([1.5, 2.5], np.float32), 7), "x\0y": (np.array([3], np.float32), 1)})
    found = first.recall([("x", "y"), "x\0y", "z"])
    assert {text: (output.tolist(), tokens) for text, (output, tokens) in found.items()} == {
        ("x", "y"): ([1.5, 2.5], 7),
        "x\0y": ([3.0], 1),
    }
    assert other.recall([("x", "y")]) == {}
    assert len(first) == 2
    first.close()
    other.close()


def test_a_cache_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    (tmp_path / "c.db").write_text("no database at all, but long enough to look at")
    with pytest.raises(UsageError, match="cannot be a cache"):
        OutputCache(tmp_path / "c.db", "a")
