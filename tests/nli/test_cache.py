"""Outputs kept on disk are those that were computed, and belong to one model."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from redargue.database import Database
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
    assert other.recall([("x", "y"), "x\0y"]) == {}
    first.close()
    other.close()


def test_a_cache_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    (tmp_path / "c.db").write_text("no database at all, but long enough to look at")
    with pytest.raises(UsageError, match="cannot be a cache"):
        OutputCache(tmp_path / "c.db", "a")


@pytest.mark.parametrize("name", ["corpus", "stranger", "folder"])
def test_what_is_no_cache_is_refused_and_stays_as_it_is(name: str, tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    if name == "corpus":
        Database(path, write=True).close()
    elif name == "stranger":
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE mine (x)")
    else:
        path.mkdir()
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(UsageError, match=r"cannot be a cache(.|\n)*→ name another file"):
        OutputCache(path, "a")
    assert (path.read_bytes() if path.is_file() else b"") == before


@pytest.mark.parametrize("why", ["locked", "full", "readonly"])
def test_a_cache_that_cannot_be_written_now_is_warned_of_and_done_without(why: str, tmp_path: Path) -> None:
    cache, path = OutputCache(tmp_path / "c.db", "a"), tmp_path / "c.db"
    cache.keep({"known": (np.ones(1, np.float32), 1)})
    limits = {"full": "max_page_count = 1", "readonly": "query_only = ON", "locked": "busy_timeout = 1"}
    cache._file.execute(f"PRAGMA {limits[why]}")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        if why == "locked":
            other.execute("BEGIN IMMEDIATE")
        with pytest.warns(UserWarning, match=f"cannot be used: .*{why}.*; outputs are computed again"):
            cache.keep({f"new {at}": (np.ones(9_999, np.float32), 1) for at in range(9)})
    assert cache.recall(["known", "new 0"]).keys() == {"known"}
    cache._file.execute("PRAGMA query_only = OFF")
    cache._file.execute("PRAGMA max_page_count = 9999")
    cache.keep({"later": (np.ones(1, np.float32), 1)})
    assert cache.recall(["later"])
    cache.close()
