"""User-supplied claims: a CSV, TSV or JSON-lines file with a mapping of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from redargue.bench.datasets.base import Dataset, Example
from redargue.claims import FEVER, LabelSet, Meaning
from redargue.evidence import Passage
from redargue.inputs.claims import check_roles, label_set, split_mapping
from redargue.inputs.rows import Row, printable_value, rows, table_rows, unpacked_suffix

COLUMN_ROLES = ("claim", "label", "context", "evidence", "id", "group", "response", "as_of")
"""Roles of columns: ``evidence`` is the row's only passage, ``as_of`` an ISO date. Only ``claim`` is required; without
``label`` gold is hidden."""


class TableFile(Dataset, name="table"):
    """Reads ``.csv`` and ``.tsv`` by suffix, everything else as JSON lines or a JSON list; all may be gzipped.

    Args:
        mapping: a column for each role (:data:`COLUMN_ROLES`), as text ``claim=text,label=verdict`` or a mapping.
        labels: the label set, or the name of a registered one or a data set's (``true-false``); a cell names a label
            or an alias. Or the user's own words: ``true=SUPPORTS,false=REFUTES``.
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
        for row in table_rows(path) if unpacked_suffix(path) in (".csv", ".tsv") else rows(path):
            at = self.mapping
            cells = {role: row.cell(at[role]) for role in ("context", "evidence", "group", "response") if role in at}
            as_of = row.iso_date(at["as_of"]) if "as_of" in at else None
            evidence = printable_value(cells.pop("evidence", ""))
            yield Example.of(
                row,
                id=row.key(at["id"]) if "id" in at else str(row.number),
                claim=row.claim(at["claim"], labels=self.label_set, context=cells.pop("context", ""), as_of=as_of),
                gold=_gold(row, at["label"], self.label_set) if "label" in at else None,
                passages=(Passage(text=evidence),) if evidence.strip() else (),
                **cells,
            )


_EVERYDAY = {"true": Meaning.SUPPORTED, "yes": Meaning.SUPPORTED, "false": Meaning.REFUTED, "no": Meaning.REFUTED}


def _gold(row: Row, field: str, labels: LabelSet) -> str:
    """The label of a cell; a Boolean, yes or no means that the claim is supported or refuted, unless it is a label."""
    value = row.fields.get(field)
    meaning = _EVERYDAY.get(str(value).strip().casefold())
    if meaning and Row.as_label(value, labels) is None and (name := labels.named(meaning)):
        return name
    if field in row.fields and Row.as_label(value, labels) is None:
        hint = "say what the words of the column mean: --labels true=SUPPORTS,false=REFUTES,unclear=NEI"
        raise row.field_error(field, f"one of {', '.join(labels.names)}", hint=hint)
    return row.label(field, labels)
