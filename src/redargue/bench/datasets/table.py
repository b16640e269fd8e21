"""User-supplied claims: a CSV, TSV or JSON-lines file with a mapping of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

from redargue.bench.datasets.base import Dataset, Example
from redargue.bench.datasets.labels import label_set
from redargue.bench.datasets.rows import Row, printable, rows, table_rows, unpacked_suffix
from redargue.claims import FEVER, LabelSet
from redargue.errors import UsageError
from redargue.evidence import Passage
from redargue.registry import did_you_mean

ROLES = ("claim", "label", "context", "evidence", "id", "group", "response", "as_of")
"""Roles of columns: ``evidence`` is the row's only passage, ``as_of`` an ISO date. Only ``claim`` is required; without
``label`` gold is hidden."""

_EXAMPLE = "write it like claim=COLUMN,label=COLUMN"


class Table(Dataset, name="table"):
    """Reads ``.csv`` and ``.tsv`` by suffix, everything else as JSON lines or a JSON list; all may be gzipped.

    Args:
        mapping: a column for each role (:data:`ROLES`), as text ``claim=text,label=verdict`` or a mapping.
        labels: the label set, or the name of a registered one or a data set's (``true-false``); a cell names a label
            or an alias.
    """

    about = "your own CSV, TSV or JSON lines, with a mapping claim=…,label=…,context=…,id=…"
    labels = FEVER
    metric = "accuracy"

    def __init__(
        self, *, mapping: str | Mapping[str, str] = "claim=claim,label=label", labels: str | LabelSet = FEVER
    ) -> None:
        self.mapping = read_mapping(mapping) if isinstance(mapping, str) else _checked(dict(mapping))
        self.label_set = label_set(labels) if isinstance(labels, str) else labels

    def read(self, path: Path) -> Iterator[Example]:
        for row in table_rows(path) if unpacked_suffix(path) in (".csv", ".tsv") else rows(path):
            at = self.mapping
            yield row.example(
                id=row.key(at["id"]) if "id" in at else str(row.number),
                claim=row.claim(
                    at["claim"], labels=self.label_set, context=self._optional(row, "context"), as_of=self._day(row)
                ),
                gold=row.label(at["label"], self.label_set) if "label" in at else None,
                passages=self._passages(row),
                group=self._optional(row, "group"),
                response=self._optional(row, "response"),
            )

    def _optional(self, row: Row, role: str) -> str:
        """A mapped cell that may be empty; its column must exist."""
        if role not in self.mapping:
            return ""
        field = self.mapping[role]
        return row.key(field) if row.fields.get(field, "missing") not in (None, "") else ""

    def _passages(self, row: Row) -> tuple[Passage, ...]:
        text = printable(self._optional(row, "evidence"))
        return (Passage(text=text),) if text.strip() else ()

    def _day(self, row: Row) -> date | None:
        text = self._optional(row, "as_of")
        try:
            return date.fromisoformat(text) if text else None
        except ValueError:
            raise row.field_error(self.mapping["as_of"], "a date like '2021-03-31'") from None


def read_mapping(text: str) -> dict[str, str]:
    """A mapping from text: ``claim=statement,label=verdict``."""
    mapping: dict[str, str] = {}
    for part in text.split(","):
        role, equals, column = (text.strip() for text in part.partition("="))
        if not equals or not column:
            raise UsageError(f"cannot read {part!r} in the mapping {text!r}", hint=_EXAMPLE)
        if role in mapping:
            raise UsageError(f"{role!r} appears twice in the mapping {text!r}")
        mapping[role] = column
    return _checked(mapping)


def _checked(mapping: dict[str, str]) -> dict[str, str]:
    for role in mapping:
        if role not in ROLES:
            raise UsageError(f"unknown role {role!r} in a mapping", hint=did_you_mean(role, list(ROLES)))
    if "claim" not in mapping:
        raise UsageError("the mapping names no column for the claim", hint=_EXAMPLE)
    return mapping
