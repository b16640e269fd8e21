"""SQLite files of strangers: nothing in them runs, no query runs without end, and every error says what is wrong."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from redargue.cluster.batches import summarize_batches
from redargue.cluster.store import open_ledger
from redargue.database import Database
from redargue.errors import CorpusError, RedargueError, UsageError
from redargue.memory.memory import open_memory
from redargue.nli.session import OutputCache
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.index import open_corpus
from retrieval.corpus.words import WordEncoder

ENCODER = WordEncoder()
ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
PROCESSOR_SECONDS = 60


def corpus(path: Path, documents: int = 3) -> Path:
    with open_corpus(path, write=True, embedder=ENCODER) as opened:
        opened.add(
            Document(id=f"d{at}", title=f"Page {at}", text=f"Bees number {at} live in hives. " * 40)
            for at in range(documents)
        )
    return path


def memory(path: Path) -> Path:
    open_memory(path, encoder=ENCODER, write=True).close()
    return path


def ledger(path: Path) -> Path:
    open_ledger(path).close()
    return path


def use_corpus(path: Path, *, write: bool = False) -> None:
    """Everything that can be done with it; raises the first error when all is done."""
    errors: list[RedargueError] = []
    with open_corpus(path, write=write, embedder=ENCODER) as opened:
        for use in (
            lambda: opened.revision,
            opened.require_complete,
            opened.documents,
            lambda: opened.document("d1"),
            lambda: opened.search("bees in hives", 3),
            lambda: opened.search_keywords("bees hives", 3),
            *((lambda: opened.remove(["d1"]), opened.clear) if write else ()),
        ):
            try:
                use()
            except RedargueError as error:
                errors.append(error)
    if errors:
        raise errors[0]


def use_memory(path: Path) -> None:
    open_memory(path, encoder=ENCODER, write=True).close()


def use_ledger(path: Path) -> None:
    with closing(open_ledger(path, make=False)) as opened:
        summarize_batches(opened)


STORES: dict[str, tuple[Callable[[Path], Path], Callable[[Path], None], str]] = {
    "corpus": (corpus, use_corpus, "documents"),
    "memory": (memory, use_memory, "records"),
    "ledger": (ledger, use_ledger, "jobs"),
}
ADDED = {
    "a trigger": f"CREATE TRIGGER t AFTER UPDATE ON meta BEGIN {ENDLESS}; END",
    "a trigger on insertions": "CREATE TRIGGER t BEFORE INSERT ON {table} BEGIN DELETE FROM meta; END",
    "a view": f"CREATE VIEW v AS {ENDLESS}",
    "a view in place of a table": "ALTER TABLE meta RENAME TO m;"
    f" CREATE VIEW meta AS SELECT 'embedder' AS name, ({ENDLESS}) AS value",
    "a virtual table": "CREATE VIRTUAL TABLE w USING fts5 (text)",
    "a table": "CREATE TABLE more (a)",
    "an index with an expression": "CREATE INDEX i ON meta (length(value) + abs(0))",
    "a partial index": "CREATE INDEX i ON meta (value) WHERE value > 'a'",
    "a computed column": "ALTER TABLE {table} ADD COLUMN more AS (hex(zeroblob(100000)))",
    "a check": "ALTER TABLE {table} ADD COLUMN more INTEGER CHECK (randomblob(10) IS NOT NULL)",
    "a default that is computed": "ALTER TABLE {table} ADD COLUMN more INTEGER DEFAULT 1",
}


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("added", ADDED.values(), ids=ADDED)
def test_a_file_with_parts_of_others_is_refused_before_anything_in_it_runs(
    store: str, added: str, tmp_path: Path
) -> None:
    make, use, table = STORES[store]
    path = make(tmp_path / "store.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(added.format(table=table))
        db.execute("PRAGMA journal_mode = DELETE")
    before = path.read_bytes()
    with pytest.raises(CorpusError, match="redargue did not make"):
        use(path)
    assert path.read_bytes()[100:] == before[100:]


def test_a_schema_written_by_hand_is_refused(tmp_path: Path) -> None:
    path = corpus(tmp_path / "store.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'value TEXT NOT NULL', 'value TEXT NOT NULL CHECK (abs(1))')"
            " WHERE name = 'meta'"
        )
    with pytest.raises(CorpusError, match="table 'meta'"):
        use_corpus(path)


def test_statistics_and_a_compacted_file_are_an_operators_own(tmp_path: Path) -> None:
    path = corpus(tmp_path / "store.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("ANALYZE")
        db.execute("VACUUM")
    use_corpus(path)
    use_corpus(path, write=True)


def test_a_cache_with_a_trigger_is_refused_and_a_damaged_one_says_so(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    first = OutputCache(path, "model")
    first.keep({"a": (np.ones(3, np.float32), 1)})
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE outputs SET output = 'odd'")
    with pytest.raises(UsageError, match="is damaged"):
        first.recall(["a"])
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"CREATE TRIGGER t AFTER INSERT ON outputs BEGIN {ENDLESS}; END")
    first.close()
    with pytest.raises(UsageError, match="redargue did not make trigger 't'"):
        OutputCache(path, "model")


def _endless(path: Path, table: str, levels: int = 18, children: int = 200) -> None:
    """Makes a table's pages a tree whose pages are shared, so that it seems to have children ** levels rows."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    data = bytearray(path.read_bytes())
    pages = len(data) // size
    leaf = bytes(data[(root - 1) * size : root * size])
    assert leaf[0] in (5, 13)
    for level in range(levels):
        place = root if level == 0 else pages + level
        child = pages + level + 1
        page = bytearray(size)
        cells = bytearray().join(child.to_bytes(4, "big") + bytes([1 + at % 100]) for at in range(children))
        start = size - len(cells)
        page[0:12] = (
            bytes([5, 0, 0]) + children.to_bytes(2, "big") + start.to_bytes(2, "big") + b"\0" + child.to_bytes(4, "big")
        )
        for at in range(children):
            page[12 + 2 * at : 14 + 2 * at] = (start + 5 * at).to_bytes(2, "big")
        page[start:] = cells
        offset = (place - 1) * size
        if offset + size > len(data):
            data += bytes(offset + size - len(data))
        data[offset : offset + size] = page
    data += leaf
    data[28:32] = (len(data) // size).to_bytes(4, "big")
    path.write_bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("table", ["documents", "chunks"])
@pytest.mark.parametrize("write", [False, True])
def test_a_table_without_end_ends(table: str, write: bool, tmp_path: Path) -> None:
    path = corpus(tmp_path / "store.db")
    _endless(path, table)
    began = time.process_time()
    with pytest.raises(RedargueError):
        use_corpus(path, write=write)
    assert time.process_time() - began < PROCESSOR_SECONDS


ODD: tuple[Any, ...] = (None, -1, 2**62, 1.5, float("inf"), "", "odd", b"", b"\xff\xfe", "\x00", b"x" * 768, "x" * 768)
COLUMNS = {
    "meta": ("value",),
    "documents": ("id", "title", "text", "url", "published", "path", "added", "sha256"),
    "chunks": ("document", "start", "stop", "vector"),
}


@pytest.mark.parametrize(("table", "column"), [(table, each) for table, columns in COLUMNS.items() for each in columns])
@pytest.mark.parametrize("write", [False, True])
def test_rows_of_other_shapes_are_results_or_errors_that_name_the_file(
    table: str, column: str, write: bool, tmp_path: Path
) -> None:
    original, said = corpus(tmp_path / "store.db").read_bytes(), []
    for number, value in enumerate(ODD):
        path = tmp_path / f"{number}odd.db"
        path.write_bytes(original)
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("PRAGMA ignore_check_constraints = ON")
            try:
                db.execute(f"UPDATE {table} SET {column} = ?", (value,))
            except sqlite3.IntegrityError:
                continue
            db.execute("PRAGMA journal_mode = DELETE")
        try:
            use_corpus(path, write=write)
        except RedargueError as error:
            said.append(str(error))
    assert all("odd.db" in each or "d1" in each for each in said)


@pytest.mark.parametrize("gone", ["meta", "documents", "chunks", "chunk_words", "document_words", "chunk_words_data"])
def test_missing_rows_are_errors_that_name_the_file(gone: str, tmp_path: Path) -> None:
    path = corpus(tmp_path / "store.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        if gone in ("chunk_words", "document_words"):
            db.execute(f"INSERT INTO {gone} ({gone}) VALUES ('delete-all')")
        else:
            db.execute(f"DELETE FROM {gone}")
    said = []
    for write in (False, True):
        try:
            use_corpus(path, write=write)
        except RedargueError as error:
            said.append(str(error))
    assert all("store.db" in each or "d1" in each for each in said)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_random_bytes_in_a_file_end_in_results_or_errors(seed: int, tmp_path: Path) -> None:
    original = corpus(tmp_path / "store.db").read_bytes()
    chance, path = random.Random(seed), tmp_path / "flipped.db"
    began = time.process_time()
    for _ in range(100):
        data = bytearray(original)
        for _ in range(chance.choice((1, 3, 10, 100))):
            data[chance.randrange(100, len(data))] = chance.randrange(256)
        path.write_bytes(data[: chance.choice((len(data), len(data), chance.randrange(101, len(data))))])
        for write in (False, True):
            with suppress(RedargueError):
                use_corpus(path, write=write)
        for left in (path, path.with_name("flipped.db-wal"), path.with_name("flipped.db-shm")):
            left.unlink(missing_ok=True)
    assert time.process_time() - began < 5 * PROCESSOR_SECONDS


@pytest.mark.slow
def test_the_command_says_in_one_line_what_is_in_a_strangers_corpus(tmp_path: Path) -> None:
    path = corpus(tmp_path / "store.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"CREATE TRIGGER t AFTER UPDATE ON meta BEGIN {ENDLESS}; END")
    command = [sys.executable, "-m", "redargue", "check", "Bees are insects.", "--store", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert "trigger 't'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_query_of_too_many_steps_ends(tmp_path: Path) -> None:
    database = Database(corpus(tmp_path / "store.db"), write=False)
    with closing(database), pytest.raises(CorpusError, match="more steps"), database.read() as db:
        db.execute(ENDLESS).fetchall()
