"""Claims from files: the user's tables, FIRE's claim files, and the claims of MERMAID's released runs.

A table is a CSV, TSV or JSON-lines file with a mapping of its columns.

The claim files that FIRE (Xie et al. 2025) made of FacTool-QA, FELM-WK, BingCheck and FactCheck-Bench.

MERMAID uses them too. Rows: ``{"claim", "label": true | false | "true" | "false", …}``; frozen evidence adds what real
searches returned for each claim: ``"passages": [{"query", "title", "url", "publisher", "text"}, …]``. It compares
readers with retrieval held fixed; reports must say that language-model agents wrote the queries.

The claims of MERMAID's released runs; ``redargue.bench.commands.mermaid`` reads the runs themselves.

Rows: ``{"claim", "label", "decomposition", "react_trace": [line, …], "prediction"}``; a row without ``react_trace``
has no run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from redargue.bench.datasets import Dataset, Example
from redargue.claims import FEVER, LabelSet, Meaning
from redargue.evidence import Passage
from redargue.inputs.claims import HOVER, SCIFACT, TRUE_FALSE, check_roles, label_set, split_mapping
from redargue.inputs.rows import Row, printable_value, rows, table_rows, unpacked_suffix

COLUMN_ROLES = ("claim", "label", "context", "evidence", "id", "group", "response", "as_of")
"""Roles of columns; only ``claim`` is required. ``evidence`` is the row's only passage, and ``as_of`` an ISO date."""
_TEXT_ROLES = ("context", "evidence", "group", "response")


class TableFile(Dataset, name="table"):
    """Reads ``.csv`` and ``.tsv`` by suffix, everything else as JSON lines or a JSON list; all may be gzipped.

    Args:
        mapping: columns by role (:data:`COLUMN_ROLES`), as a mapping or as text: ``claim=text,label=verdict``.
        labels: a label set, the name of one (``true-false``), or the words of the label column with their meanings:
            ``true=SUPPORTS,false=REFUTES``. A cell contains a label or an alias.
    """

    about = "your own CSV, TSV or JSON lines, with a mapping claim=…,label=…,context=…,id=…"
    labels = FEVER
    metric = "accuracy"

    def __init__(
        self, *, mapping: str | Mapping[str, str] = "claim=claim,label=label", labels: str | LabelSet = FEVER
    ) -> None:
        self.mapping = check_roles(split_mapping(mapping) if isinstance(mapping, str) else dict(mapping), COLUMN_ROLES)
        self.label_set = label_set(labels) if isinstance(labels, str) else labels

    def read(self, path: Path) -> Iterator[Example]:
        columns = self.mapping
        for row in table_rows(path) if unpacked_suffix(path) in (".csv", ".tsv") else rows(path):
            cells: dict[str, Any] = {role: row.cell(columns[role]) for role in _TEXT_ROLES if role in columns}
            as_of = row.iso_date(columns["as_of"]) if "as_of" in columns else None
            context = cells.pop("context", "")
            evidence = printable_value(cells.pop("evidence", ""))
            yield self.example(
                row,
                id=row.key(columns["id"]) if "id" in columns else str(row.number),
                claim=row.claim(columns["claim"], labels=self.label_set, context=context, as_of=as_of),
                gold=_gold(row, columns["label"], self.label_set) if "label" in columns else None,
                passages=(Passage(text=evidence),) if evidence.strip() else (),
                **cells,
            )


_BOOLEANS = {"true": Meaning.SUPPORTED, "yes": Meaning.SUPPORTED, "false": Meaning.REFUTED, "no": Meaning.REFUTED}


def _gold(row: Row, field: str, labels: LabelSet) -> str:
    """Returns the label that a cell names; true, yes, false and no are accepted for supported and refuted claims."""
    value = row.fields.get(field)
    if field not in row.fields or Row.as_label(value, labels) is not None:
        return row.label(field, labels)
    meaning = _BOOLEANS.get(str(value).strip().casefold())
    if meaning and (name := labels.named(meaning)):
        return name
    hint = "give the meanings of the column's words: --labels true=SUPPORTS,false=REFUTES,unclear=NEI"
    raise row.field_error(field, f"one of {', '.join(labels.names)}", hint=hint)


class FireDataset(Dataset, name="fire"):
    """Reads the JSON lines; ids are row numbers."""

    about = "claims binarised as in FIRE and MERMAID (mbzuai-nlp/fire)"
    labels = TRUE_FALSE
    metric = "macro-f1"

    def read(self, path: Path) -> Iterator[Example]:
        yield from map(self.example, rows(path))


class Snapshots(FireDataset, name="snapshots"):
    """Reads the passages too; a passage's rank is its position among those of its query."""

    about = "claims with frozen evidence: what real searches returned (shared data)"

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            yield self.example(row, passages=tuple(_passages(row)))


def _passages(row: Row) -> Iterator[Passage]:
    ranks: Counter[str] = Counter()
    for fields in row.children("passages"):
        query = fields.optional("query")
        ranks[query] += 1
        metadata = {name: fields.optional(name) for name in ("title", "url", "publisher")}
        yield Passage(text=printable_value(fields.text("text")), **metadata, query=query, rank=ranks[query])


class MermaidRuns(Dataset, name="mermaid-runs"):
    """Reads a JSON list and skips rows without a run; the label set is that of HoVer, SciFact or FIRE's files."""

    without: str | int = ""  # numbers of rows that are skipped too, joined by +: those whose run cannot be read
    about = "claims of MERMAID's released runs; redargue bench import makes records of the runs"
    labels = TRUE_FALSE
    metric = "macro-f1"

    def read(self, path: Path) -> Iterator[Example]:
        all_rows = tuple(rows(path))
        labels = labels_of_rows(all_rows)
        skipped = str(self.without).split("+")
        for row in rows_with_runs(all_rows):
            if str(row.number) in skipped:
                continue
            name = row.key("uid") if "uid" in row.fields else str(row.number)
            yield self.example(row, id=name, claim=row.claim("claim", labels=labels))


def rows_with_runs(all_rows: Sequence[Row]) -> tuple[Row, ...]:
    """Returns the rows with a run; raises UsageError if there are none."""
    found = tuple(row for row in all_rows if row.fields.get("react_trace") is not None)
    if not found:
        raise all_rows[0].field_error("react_trace", "a run in at least one row")
    return found


def labels_of_rows(all_rows: Sequence[Row]) -> LabelSet:
    """Returns the label set that contains the labels of all rows; raises UsageError if there is none."""
    for labels in (HOVER, SCIFACT):
        if all(Row.as_label(row.fields.get("label"), labels) for row in all_rows):
            return labels
    for row in all_rows:
        row.label("label", TRUE_FALSE)  # raises for any other label
    return TRUE_FALSE
