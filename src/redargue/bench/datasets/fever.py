"""FEVER (Thorne et al. 2018): claims over Wikipedia, with gold sentences.

Official rows: ``{"id", "verifiable", "label", "claim", "evidence": [[[annotation, evidence id, page, line], …], …]}``;
a test set has only ``id`` and ``claim``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from redargue.bench.datasets.base import Dataset, Example, GoldEvidence
from redargue.claims import FEVER
from redargue.errors import UsageError
from redargue.inputs.rows import Row, rows


class Fever(Dataset, name="fever"):
    """Reads the official JSON lines; gold evidence keeps FEVER's page names and line numbers."""

    about = "FEVER: claims over Wikipedia with gold sentences (fever.ai)"
    labels = FEVER
    metric = "fever"

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            hidden = row.is_unlabelled(("label", "verifiable", "evidence"), ("id", "claim"))
            groups = () if hidden else _groups(row)
            yield self.example(row, hidden=hidden, id=row.key("id"), evidence=groups)


def _groups(row: Row) -> tuple[tuple[GoldEvidence, ...], ...]:
    groups: dict[tuple[GoldEvidence, ...], None] = {}
    for place, group in enumerate(row.items("evidence")):
        if not isinstance(group, list) or not all(isinstance(item, list) and len(item) == 4 for item in group):
            raise row.error(f"evidence[{place}]: expected a list of [annotation, evidence id, page, line], got {group}")
        named = [item[2:] for item in group if item[2] is not None]
        for page, line in named:
            if not isinstance(page, str) or not isinstance(line, int):
                raise row.error(f"evidence[{place}]: expected a page name and a line number, got {[page, line]}")
        if named:
            groups[tuple(GoldEvidence(document=page, element=str(line)) for page, line in named)] = None
    return tuple(groups)


def qrels(path: Path) -> dict[str, frozenset[str]]:
    """Gold passages of the pooled corpus by claim id, from rows ``{"fever_id", "passage_id", …}``."""
    gold: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows(path):
        gold[row.key("fever_id")].add(row.key("passage_id"))
    return {claim: frozenset(passages) for claim, passages in gold.items()}


def wiki_sentences(path: Path, names: frozenset[str]) -> dict[str, dict[str, str]]:
    r"""The numbered lines of some of FEVER's Wikipedia pages, from a file or the folder ``wiki-pages``.

    Official rows: ``{"id": page, "text", "lines": "0\tsentence\tlinks…\n1\t…"}``.
    """
    files = sorted(path.glob("wiki-*.jsonl*")) if path.is_dir() else [path]
    if not files:
        raise UsageError("no wiki-*.jsonl", where=str(path), hint="FEVER's wiki-pages have such names")
    pages: dict[str, dict[str, str]] = {}
    for row in chain.from_iterable(map(rows, files)):
        if row.key("id") in names:
            lines = (line.split("\t") for line in row.text("lines").split("\n"))
            pages[row.key("id")] = {line[0]: line[1] for line in lines if len(line) > 1 and line[0].isdigit()}
    return pages
