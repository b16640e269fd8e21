"""Batches: claims read from a file with a column mapping, and verdicts written as they arrive.

Beside the run's record (``run.json``, ``events.jsonl``) a batch folder holds ``verdicts.jsonl``, in order of arrival
and at the end in the order of the claims, and ``verdicts.csv``. Every command rebuilds both from the record, from which
a run resumes.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Any

from redargue.bench.datasets.labels import label_set
from redargue.bench.datasets.rows import Row, rows, table_rows, unpacked_suffix
from redargue.claims import Claim, LabelSet
from redargue.errors import RecordError, UnknownName, UsageError
from redargue.evidence import Side
from redargue.registry import did_you_mean
from redargue.sanitize import printable
from redargue.verdicts import Verdict

ROLES = ("claim", "context", "options", "labels", "as_of")
COLUMNS = (
    *("item", "claim", "label", "meaning", "decided_by", "rounds", "quotes_for", "quotes_against", "sources", "gaps"),
    *("reason", "calls", "searches", "prompt_tokens", "completion_tokens", "usd", "error"),
)
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def read_mapping(texts: list[str]) -> dict[str, str]:
    """Columns by role, from ``claim=statement,context=dialogue``."""
    mapping: dict[str, str] = {}
    for part in (pair.strip() for text in texts for pair in text.split(",")):
        role, sign, column = (name.strip() for name in part.partition("="))
        if not sign or not column:
            raise UsageError(f"cannot read {part!r}", where="--map", hint="write it like claim=statement,as_of=date")
        if role not in ROLES:
            raise UsageError(f"a column cannot be {role!r}", where="--map", hint=did_you_mean(role, list(ROLES)))
        if role in mapping:
            raise UsageError(f"two columns for {role!r}", where="--map")
        mapping[role] = column
    return mapping


def read_claims(
    path: Path, mapping: Mapping[str, str], *, labels: LabelSet, as_of: date | None = None
) -> Iterator[Claim]:
    """The claims of a CSV, TSV or JSON-lines file, gzipped or not, in its order.

    Columns without a mapping are read by role name if they exist (``claim``, ``context``, ``options``, ``as_of``), but
    ``labels`` only with a mapping, because in a data set that column may contain the answers. ``labels`` and ``as_of``
    are the defaults of rows without them.
    """
    suffix = unpacked_suffix(path)
    if suffix not in (".csv", ".tsv", ".jsonl"):
        what = f"{str(path)!r} is not a .csv, .tsv or .jsonl file"
        raise UsageError(what, hint="check a .txt file with redargue check")
    for row in rows(path) if suffix == ".jsonl" else table_rows(path):
        fields = {role: mapping.get(role, role) for role in ROLES if role in mapping or role in row.fields}
        attributes: dict[str, Any] = {"labels": labels, "as_of": as_of}
        if "labels" in mapping and (name := row.optional(mapping["labels"])):
            try:
                attributes["labels"] = label_set(name)
            except UnknownName as error:
                raise row.field_error(mapping["labels"], f"a label set ({error.hint})") from None
        if "context" in fields and (context := _optional(row, fields["context"], "context" in mapping)):
            attributes["context"] = context
        if "options" in mapping or isinstance(row.fields.get("options"), list):
            attributes["options"] = _options(row, fields["options"])
        if "as_of" in fields and (day := _optional(row, fields["as_of"], "as_of" in mapping)):
            try:
                attributes["as_of"] = date.fromisoformat(day)
            except ValueError:
                raise row.field_error(fields["as_of"], "a date like '2021-03-31'") from None
        yield row.claim(mapping.get("claim", "claim"), **attributes)


def _optional(row: Row, field: str, mapped: bool) -> str:
    """A cell that may be empty; a mapped column must exist."""
    return row.string(field) if mapped and row.fields.get(field, "") is not None else row.optional(field)


def _options(row: Row, field: str) -> tuple[str, ...]:
    """A list of texts; in a table's cell a JSON list."""
    cell = row.fields.get(field)
    if not cell:
        return ()
    if isinstance(cell, str):
        try:
            row = Row(row.path, row.number, {**row.fields, field: json.loads(cell)})
        except ValueError:
            raise row.field_error(field, "a JSON list of texts") from None
    return row.texts(field)


class VerdictFiles:
    """Context manager that writes ``verdicts.jsonl`` and ``verdicts.csv`` of a batch folder, whose record is open.

    It stores the offset of each line, not the verdicts; on exit it sorts the lines by claim and writes the table.
    """

    def __init__(self, folder: Path) -> None:
        self.lines, self.table = folder / "verdicts.jsonl", folder / "verdicts.csv"
        self._offsets: dict[int, int] = {}
        with self._writing_errors():
            self._file = self.lines.open("wb")

    def write(self, item: int, verdict: Verdict) -> str:
        """Appends a verdict immediately and returns its line (:func:`to_json_line`)."""
        text = to_json_line(item, verdict)
        with self._writing_errors():
            self._offsets[item] = self._file.tell()
            self._file.write(text.encode() + b"\n")
            self._file.flush()
        return text

    def __enter__(self) -> VerdictFiles:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()
        ordered, cells = (path.with_name(f"{path.name}.new") for path in (self.lines, self.table))
        with self._writing_errors():
            with (
                self.lines.open("rb") as written,
                ordered.open("wb") as sorted_lines,
                cells.open("w", encoding="utf-8", newline="") as file,
            ):
                writer = csv.writer(file)
                writer.writerow(COLUMNS)
                for _, start in sorted(self._offsets.items()):
                    written.seek(start)
                    text = written.readline()
                    sorted_lines.write(text)
                    writer.writerow(map(escape_cell, _cells(json.loads(text))))
            ordered.replace(self.lines)
            cells.replace(self.table)

    @contextmanager
    def _writing_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            what = f"{str(self.lines)!r} cannot be written: {error.strerror}"
            raise RecordError(what, hint="free disk space, then run the same command again to resume") from error


def to_json_line(item: int, verdict: Verdict) -> str:
    """A verdict and the index of its claim as one line of ASCII JSON."""
    return json.dumps({"item": item, **verdict.model_dump(mode="json")})


def escape_cell(cell: object) -> str:
    """A cell without control characters that no spreadsheet reads as a formula; None is empty."""
    raw = "" if cell is None else str(cell)
    text = printable(raw)
    return f"'{text}" if raw.startswith(_FORMULA) or text.startswith(_FORMULA) else text


def _cells(row: Mapping[str, Any]) -> list[object]:
    quotes = [quote for quote in row["quotes"] if quote["status"] != "not_found"]
    sides = [" | ".join(quote["text"] for quote in quotes if quote["side"] == at) for at in (Side.FOR, Side.AGAINST)]
    sources = dict.fromkeys(quote["source"]["url"] or quote["source"]["title"] for quote in quotes if quote["source"])
    usage, error = row["usage"], row["error"]
    return [
        *(row["item"], row["claim"]["text"], row["label"], row["meaning"], row["decided_by"], row["rounds"]),
        *(*sides, " | ".join(filter(None, sources)), " | ".join(row["gaps"]), row["reason"]),
        *(usage[name] for name in ("calls", "searches", "prompt_tokens", "completion_tokens", "usd")),
        f"{error['type']}: {error['what']}" if error else "",
    ]


class Tally:
    """Running totals of a batch.

    Attributes:
        kinds: for every verdict, the first with the same meaning and error code, to save memory.
        labels: counts of labels, and of errors by type.
        usd: None if no price is known.
    """

    def __init__(self) -> None:
        self._kind: dict[tuple[str | None, int], Verdict] = {}
        self.kinds: list[Verdict] = []
        self.labels: Counter[str] = Counter()
        self.errors = self.calls = 0
        self.usd: float | None = None

    def add(self, verdict: Verdict) -> None:
        error = verdict.error
        self.kinds.append(self._kind.setdefault((verdict.meaning, error.exit_code if error else 0), verdict))
        self.labels[error.type if error else verdict.label or "no answer"] += 1
        self.errors += error is not None
        self.calls += verdict.usage.calls
        if verdict.usage.usd is not None:
            self.usd = (self.usd or 0.0) + verdict.usage.usd
