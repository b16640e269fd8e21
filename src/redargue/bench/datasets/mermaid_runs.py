"""The claims of MERMAID's released runs; ``redargue.bench.commands.mermaid`` reads the runs themselves.

Rows: ``{"claim", "label", "decomposition", "react_trace": [line, …], "prediction"}``; a row without ``react_trace``
has no run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from redargue.bench.datasets.base import Dataset, Example
from redargue.claims import LabelSet
from redargue.inputs.claims import HOVER, SCIFACT, TRUE_FALSE
from redargue.inputs.rows import Row, rows


class MermaidRuns(Dataset, name="mermaid-runs"):
    """Reads a JSON list and skips rows without a run; the label set is that of HoVer, SciFact or FIRE's files."""

    about = "claims of MERMAID's released runs; redargue bench import makes records of the runs"
    labels = TRUE_FALSE
    metric = "macro-f1"

    def read(self, path: Path) -> Iterator[Example]:
        all_rows = tuple(rows(path))
        labels = labels_of_rows(all_rows)
        for row in rows_with_runs(all_rows):
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
