"""Batches: claims read from a file with a column mapping, and verdicts written as they arrive.

Beside the run's record (``run.json``, ``events.jsonl``) a batch folder has ``verdicts.jsonl``, in order of arrival
and at the end in the order of the claims, and ``verdicts.csv``. Every command rebuilds both from the record, from which
a run resumes.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from io import StringIO
from pathlib import Path
from types import TracebackType
from typing import Any

from redargue.bench.datasets.labels import label_set
from redargue.bench.datasets.rows import Row, rows, table_rows, unpacked_suffix
from redargue.bench.datasets.table import check_roles, split_mapping
from redargue.claims import Claim, LabelSet
from redargue.errors import RecordError, UnknownName, UsageError
from redargue.evidence import Side
from redargue.files import make_folder, open_to_read, open_to_write, replacing
from redargue.sanitize import printable
from redargue.verdicts import Verdict

ROLES = ("claim", "context", "options", "labels", "as_of")
COLUMNS = (
    *("item", "claim", "label", "meaning", "decided_by", "rounds", "quotes_for", "quotes_against", "sources", "gaps"),
    *("reason", "calls", "searches", "prompt_tokens", "completion_tokens", "usd", "error"),
    *("confidence", "unsure", "caveat", "unchecked"),
)
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def read_mapping(texts: Sequence[str]) -> dict[str, str]:
    """Columns by role, from ``claim=statement,context=dialogue``; the column of the claim defaults to ``claim``."""
    return check_roles({"claim": "claim", **(split_mapping(",".join(texts)) if texts else {})}, ROLES)


def read_claims(
    path: Path, mapping: Mapping[str, str], *, labels: LabelSet, as_of: date | None = None
) -> Iterator[Claim]:
    """The claims of a CSV, TSV, JSON or JSON-lines file, gzipped or not, in its order.

    Columns without a mapping are read by role name if they exist (``claim``, ``context``, ``options``, ``as_of``), but
    ``labels`` only with a mapping, because in a data set that column may contain the answers. ``labels`` and ``as_of``
    are the defaults of rows without them.
    """
    suffix = unpacked_suffix(path)
    if suffix not in (".csv", ".tsv", ".json", ".jsonl"):
        what = f"{str(path)!r} is not a .csv, .tsv, .json or .jsonl file"
        raise UsageError(what, hint="check a .txt file or a text with redargue check")
    column = mapping.get("claim", "claim")
    for row in table_rows(path) if suffix in (".csv", ".tsv") else rows(path):
        if column not in row.fields:
            hint = f"name the column of the claims: redargue batch {path} -o DIR --map claim=COLUMN"
            raise row.error(f"no field {column}; its fields: {', '.join(list(row.fields)[:12]) or 'none'}", hint=hint)
        fields = {role: mapping.get(role, role) for role in ROLES if role in mapping or role in row.fields}
        attributes: dict[str, Any] = {"labels": labels, "as_of": as_of}
        if "labels" in mapping and (name := row.optional(mapping["labels"])):
            try:
                attributes["labels"] = label_set(name)
            except UnknownName as error:
                raise row.field_error(mapping["labels"], f"a label set ({error.hint})") from None
        if "context" in fields:
            attributes["context"] = row.cell(fields["context"])
        if "options" in mapping or isinstance(row.fields.get("options"), list):
            attributes["options"] = _options(row, fields["options"])
        if "as_of" in fields:
            attributes["as_of"] = row.iso_date(fields["as_of"]) or as_of
        yield row.claim(column, **attributes)


def _options(row: Row, field: str) -> tuple[str, ...]:
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
            make_folder(folder)
            self._file = open_to_write(self.lines)

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()
        ordered, cells = (path.with_name(f"{path.name}.new") for path in (self.lines, self.table))
        with (
            self._writing_errors(),
            open_to_read(self.lines) as written,
            replacing(self.lines, ordered) as sorted_lines,
            replacing(self.table, cells) as table,
        ):
            table.write(_csv_line(COLUMNS))
            for _, start in sorted(self._offsets.items()):
                written.seek(start)
                text = written.readline()
                sorted_lines.write(text)
                table.write(_csv_line(map(escape_cell, _cells(json.loads(text)))))

    @contextmanager
    def _writing_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            what = f"{str(self.lines)!r} cannot be written: {error.strerror}"
            raise RecordError(what, hint="free disk space, then run the same command again to resume") from error


def _csv_line(cells: Iterable[str]) -> bytes:
    line = StringIO(newline="")
    csv.writer(line).writerow(cells)
    return line.getvalue().encode()


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
    sides = [
        " | ".join(quote["text"] for quote in quotes if quote["side"] == side) for side in (Side.FOR, Side.AGAINST)
    ]
    sources = dict.fromkeys(quote["source"]["url"] or quote["source"]["title"] for quote in quotes if quote["source"])
    usage, error = row["usage"], row["error"]
    return [
        *(row["item"], row["claim"]["text"], row["label"], row["meaning"], row["decided_by"], row["rounds"]),
        *(*sides, " | ".join(filter(None, sources)), " | ".join(row["gaps"]), row["reason"]),
        *(usage[name] for name in ("calls", "searches", "prompt_tokens", "completion_tokens", "usd")),
        f"{error['type']}: {error['what']}" if error else "",
        *(row["confidence"], row["unsure"] and row["unsure"]["label"], row["caveat"], row["unchecked"]),
    ]


class Tally:
    """Running totals of a batch.

    Attributes:
        outcomes: one entry per verdict, shared by verdicts with the same meaning, sureness and reason for being
            unchecked, to save memory.
        labels: counts of labels in plain words, those of unsure verdicts apart, and of errors by type.
        usd: None if no price is known.
    """

    def __init__(self) -> None:
        self._shared: dict[tuple[str | None, str, int, bool], Verdict] = {}
        self.outcomes: list[Verdict] = []
        self.labels: Counter[str] = Counter()
        self.errors = self.calls = 0
        self.usd: float | None = None

    def add(self, verdict: Verdict) -> None:
        error = verdict.error
        key = verdict.meaning, verdict.why_unchecked, error.exit_code if error else 0, verdict.unsure is not None
        self.outcomes.append(self._shared.setdefault(key, verdict))
        plain = verdict.claim.labels.plain(verdict.label) if verdict.label else "no answer"
        label = plain + (" (unsure)" if verdict.unsure else "")
        self.labels[error.type if error else "not checked" if verdict.unchecked else label] += 1
        self.errors += error is not None
        self.calls += verdict.usage.calls
        if verdict.usage.usd is not None:
            self.usd = (self.usd or 0.0) + verdict.usage.usd
