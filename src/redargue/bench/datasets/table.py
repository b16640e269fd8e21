"""User-supplied claims: a CSV, TSV or JSON-lines file with a mapping of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from redargue.bench.datasets.base import Dataset, Example
from redargue.claims import FEVER, LabelSet, Meaning
from redargue.evidence import Passage
from redargue.inputs.claims import check_roles, label_set, split_mapping
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
