"""Texts of real passages, for counts of false alarms; those of the starter corpus where no folder of data is named."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path

import redargue

LONGEST = 6_000  # characters of a text that are read
FILES = (
    "snapshots/factcheckbench.jsonl.gz",
    "snapshots/bingcheck.jsonl.gz",
    "benchmarks/scifact/corpus.jsonl.gz",
    "benchmarks/fever/corpus.jsonl.gz",
    "corpora/hotpot_a.jsonl.gz",
    "corpora/2wiki.jsonl.gz",
    "corpora/enwiki_2018_tail.jsonl.gz",
)


def of_files() -> Iterator[tuple[str, Iterator[str]]]:
    """Each file's name and its distinct texts; ``REDARGUE_DATA`` names the folder."""
    yield "starter", _starter()
    folder = os.environ.get("REDARGUE_DATA", "")
    for name in FILES if folder else ():
        yield name, _texts(Path(folder) / name)


def _starter() -> Iterator[str]:
    folder = Path(redargue.__file__).parent / "retrieval/corpus/starter"
    for path in sorted(folder.glob("**/*.md")):
        yield path.read_text(encoding="utf-8")


def _texts(path: Path) -> Iterator[str]:
    seen = set[str]()
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            texts = [each["text"] for each in row["passages"]] if "passages" in row else [row.get("text", "")]
            texts = [" ".join(row["abstract"])] if "abstract" in row else texts
            for text in texts:
                if text and text not in seen:
                    seen.add(text)
                    yield text
