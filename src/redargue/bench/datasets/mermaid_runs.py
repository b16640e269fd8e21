"""The claims of MERMAID's released runs; ``redargue.bench.commands.mermaid`` reads the runs themselves.

Rows: ``{"claim", "label", "decomposition", "react_trace": [line, …], "prediction"}``; a row may have no run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from redargue.bench.datasets.base import Dataset, Example
from redargue.claims import LabelSet
from redargue.inputs.claims import HOVER, SCIFACT, TRUE_FALSE
from redargue.inputs.rows import Row, rows


class MermaidRuns(Dataset, name="mermaid-runs"):
    """Reads the JSON list and skips rows without a run. Labels are those of FIRE's files, HoVer or SciFact."""

    about = "claims of MERMAID's released runs; redargue bench import makes records of the runs"
    labels = TRUE_FALSE
    metric = "macro-f1"

    def read(self, path: Path) -> Iterator[Example]:
        all_rows = tuple(rows(path))
        labels = labels_of_run(all_rows)
        for row in with_runs(all_rows):
            yield Example.of(
                row,
                id=row.key("uid") if "uid" in row.fields else str(row.number),
                claim=row.claim("claim", labels=labels),
                gold=row.label("label", labels),
            )


def with_runs(all_rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows with a run; refuses a file without any."""
    with_trace = tuple(row for row in all_rows if row.fields.get("react_trace") is not None)
    if not with_trace:
        raise all_rows[0].field_error("react_trace", "a run in at least one row")
    return with_trace


def labels_of_run(all_rows: Sequence[Row]) -> LabelSet:
    """The label set that contains the labels of all rows."""
    for labels in (HOVER, SCIFACT):
        if all(Row.as_label(row.fields.get("label"), labels) for row in all_rows):
            return labels
    for row in all_rows:
        row.label("label", TRUE_FALSE)
    return TRUE_FALSE
