"""FEVER (Thorne et al. 2018): claims over Wikipedia, with gold sentences.

Official rows: ``{"id", "verifiable", "label", "claim", "evidence": [[[annotation, evidence id, page, line], …], …]}``;
a test set has ``id`` and ``claim`` alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from redargue.bench.datasets.base import Example, GoldEvidence, datasets
from redargue.bench.datasets.rows import Row, rows
from redargue.claims import FEVER, LabelSet
from redargue.errors import UsageError


@datasets.register("fever")
class Fever:
    """Reads the official JSON lines; each gold group is kept, with pages and lines as FEVER names them."""

    name: ClassVar[str] = "fever"
    about: ClassVar[str] = "FEVER: claims over Wikipedia with gold sentences (fever.ai)"
    labels: ClassVar[LabelSet] = FEVER
    metric: ClassVar[str] = "fever"

    def read(self, path: Path) -> Iterator[Example]:
        """The examples of a file, in its order."""
        for row in rows(path):
            hidden = row.hidden(("label", "verifiable", "evidence"), ("id", "claim"))
            yield Example(
                id=row.key("id"),
                claim=row.claim("claim", labels=FEVER),
                gold=None if hidden else row.label("label", FEVER),
                evidence=() if hidden else _groups(row),
                row=row.number,
            )


def _groups(row: Row) -> tuple[tuple[GoldEvidence, ...], ...]:
    """Gold groups in the file's order, each once; a claim that is not verifiable has none."""
    groups = (_group(row, place, group) for place, group in enumerate(row.items("evidence")))
    return tuple(dict.fromkeys(group for group in groups if group))


def _group(row: Row, place: int, group: Any) -> tuple[GoldEvidence, ...]:
    if not isinstance(group, list) or not all(isinstance(item, list) and len(item) == 4 for item in group):
        raise row.error(f"evidence[{place}]: a list of [annotation, evidence id, page, line] was expected, not {group}")
    named = [item[2:] for item in group if item[2] is not None]
    for page, line in named:
        if not isinstance(page, str) or not isinstance(line, int):
            raise row.error(f"evidence[{place}]: a page's name and a line's number were expected, not {[page, line]}")
    return tuple(GoldEvidence(document=page, element=str(line)) for page, line in named)


def qrels(path: Path) -> dict[str, frozenset[str]]:
    """Which passages of the pooled corpus are gold, by claim id: rows ``{"fever_id", "passage_id", …}``."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows(path):
        found[row.key("fever_id")].add(row.key("passage_id"))
    return {claim: frozenset(passages) for claim, passages in found.items()}


def wiki_sentences(path: Path, wanted: frozenset[str]) -> dict[str, dict[str, str]]:
    r"""The numbered lines of some of FEVER's Wikipedia pages (``wiki-pages``: a file or the folder of them).

    Official rows: ``{"id": page, "text", "lines": "0\tsentence\tlinks…\n1\t…"}``; other rows are not kept.
    """
    files = sorted(path.glob("wiki-*.jsonl*")) if path.is_dir() else [path]
    if not files:
        raise UsageError("no wiki-*.jsonl", where=str(path), hint="FEVER's wiki-pages are named so")
    found: dict[str, dict[str, str]] = {}
    for row in (row for file in files for row in rows(file)):
        if row.key("id") in wanted:
            numbered = (line.split("\t") for line in row.text("lines").split("\n"))
            found[row.key("id")] = {each[0]: each[1] for each in numbered if len(each) > 1 and each[0].isdigit()}
    return found


def pooled_corpus(path: Path) -> Path:
    """The pooled passages (``corpus.jsonl``, packed or not) beside a file of claims, as ``redargue corpus`` reads them.

    The pool holds the gold passages by construction and is not all of Wikipedia: a report has to say so.

    Raises:
        UsageError: there is none.
    """
    folder = path if path.is_dir() else path.parent
    for name in ("corpus.jsonl", "corpus.jsonl.gz"):
        if (folder / name).is_file():
            return folder / name
    raise UsageError("no corpus.jsonl or corpus.jsonl.gz", where=str(folder))
