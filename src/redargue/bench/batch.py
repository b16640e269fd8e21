"""Many claims of one file: read with a mapping of its columns, their verdicts written as they are reached.

Beside the record of the run (``run.json``, ``events.jsonl``) a batch folder holds ``verdicts.jsonl``, a line for each
verdict as it is reached and in the claims' order at the end, and ``verdicts.csv``. Both are made anew from the record
each time the command is given: the record alone is what a run goes on from.
"""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Any

from redargue.bench.datasets.labels import label_set
from redargue.bench.datasets.rows import Row, rows, table, unpacked_suffix
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


def read_mapping(given: list[str]) -> dict[str, str]:
    """Columns by role, from ``claim=statement,context=dialogue``.

    Raises:
        UsageError: a part that is no pair, a role that is none, or one named twice.
    """
    mapping: dict[str, str] = {}
    for part in (each.strip() for text in given for each in text.split(",")):
        role, sign, column = (each.strip() for each in part.partition("="))
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
    """The claims of a CSV, TSV or JSON-lines file, in its order; all also gzipped.

    Columns that are not mapped are read under their own names, where the file has them (``claim``, ``context``,
    ``options``, ``as_of``); ``labels`` only where it is mapped: in a data set that column may be the answers.

    Args:
        path: the file.
        mapping: columns by role.
        labels: of rows that name no label set.
        as_of: of rows that name no day.

    Raises:
        UsageError: a file that cannot be read as its name says, or a row without a claim; says which and why.
    """
    suffix = unpacked_suffix(path)
    if suffix not in (".csv", ".tsv", ".jsonl"):
        raise UsageError(f"{str(path)!r} is no .csv, .tsv or .jsonl file", hint="a .txt file goes to redargue check")
    for row in rows(path) if suffix == ".jsonl" else table(path):
        fields = {role: mapping.get(role, role) for role in ROLES if role in mapping or role in row.fields}
        given: dict[str, Any] = {"labels": labels, "as_of": as_of}
        if "labels" in mapping and (name := row.optional(mapping["labels"])):
            try:
                given["labels"] = label_set(name)
            except UnknownName as error:
                raise row.wrong(mapping["labels"], f"a label set ({error.hint})") from None
        if "context" in fields and (context := _optional(row, fields["context"], "context" in mapping)):
            given["context"] = context
        if "options" in mapping or isinstance(row.fields.get("options"), list):
            given["options"] = _options(row, fields["options"])
        if "as_of" in fields and (day := _optional(row, fields["as_of"], "as_of" in mapping)):
            given["as_of"] = _day(row, fields["as_of"], day)
        yield row.claim(mapping.get("claim", "claim"), **given)


def _optional(row: Row, field: str, mapped: bool) -> str:
    """A cell that may be empty; a column that was named has to be there."""
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
            raise row.wrong(field, "a JSON list of texts") from None
    return row.texts(field)


def _day(row: Row, field: str, text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise row.wrong(field, "a day as in '2021-03-31'") from None


class VerdictFiles:
    """``verdicts.jsonl`` and ``verdicts.csv`` of a batch folder; a context manager.

    Holds where each line stands and no verdict. On leaving, whatever ended the batch, the lines are put in the order of
    the claims and the table is written.

    Args:
        folder: of the batch; its record is open, so nobody else is writing there.

    Raises:
        RecordError: the files cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.lines, self.table = folder / "verdicts.jsonl", folder / "verdicts.csv"
        self._at: dict[int, int] = {}
        try:
            self._file = self.lines.open("wb")
        except OSError as error:
            raise _unwritable(self.lines, error) from error

    def write(self, item: int, verdict: Verdict) -> str:
        """Appends a verdict, at once.

        Returns:
            The line, as JSON in ASCII: the verdict's fields and ``item``, the claim's place in the file from 0.
        """
        text = line(item, verdict)
        try:
            self._at[item] = self._file.tell()
            self._file.write(text.encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise _unwritable(self.lines, error) from error
        return text

    def __enter__(self) -> VerdictFiles:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()
        ordered, cells = (each.with_name(f"{each.name}.new") for each in (self.lines, self.table))
        try:
            with (
                self.lines.open("rb") as found,
                ordered.open("wb") as kept,
                cells.open("w", encoding="utf-8", newline="") as file,
            ):
                writer = csv.writer(file)
                writer.writerow(COLUMNS)
                for _, start in sorted(self._at.items()):
                    found.seek(start)
                    text = found.readline()
                    kept.write(text)
                    writer.writerow(neutral(each) for each in _cells(json.loads(text)))
            os.replace(ordered, self.lines)
            os.replace(cells, self.table)
        except OSError as failed:
            raise _unwritable(self.lines, failed) from failed


def line(item: int, verdict: Verdict) -> str:
    """A verdict and its claim's place as one line of JSON, in ASCII."""
    return json.dumps({"item": item, **verdict.model_dump(mode="json")})


def neutral(cell: object) -> str:
    """A cell that no spreadsheet takes for a formula, and no terminal obeys; None is empty."""
    given = "" if cell is None else str(cell)
    text = printable(given)
    return f"'{text}" if given.startswith(_FORMULA) or text.startswith(_FORMULA) else text


def _cells(row: Mapping[str, Any]) -> list[object]:
    found = [each for each in row["quotes"] if each["status"] != "not_found"]
    sides = [" | ".join(each["text"] for each in found if each["side"] == side) for side in (Side.FOR, Side.AGAINST)]
    sources = dict.fromkeys(each["source"]["url"] or each["source"]["title"] for each in found if each["source"])
    usage, error = row["usage"], row["error"]
    return [
        *(row["item"], row["claim"]["text"], row["label"], row["meaning"], row["decided_by"], row["rounds"]),
        *(*sides, " | ".join(each for each in sources if each), " | ".join(row["gaps"]), row["reason"]),
        *(usage[name] for name in ("calls", "searches", "prompt_tokens", "completion_tokens", "usd")),
        f"{error['type']}: {error['what']}" if error else "",
    ]


class Tally:
    """What a batch has come to so far, in numbers.

    Attributes:
        kinds: for every verdict one with the same meaning and error code: few objects, however many verdicts.
        labels: how often each label came out, errors by their type.
        errors: verdicts that are errors.
        calls: spent on all of them.
        usd: likewise; None where no price is known.
    """

    def __init__(self) -> None:
        self._kind: dict[tuple[str | None, int], Verdict] = {}
        self.kinds: list[Verdict] = []
        self.labels: Counter[str] = Counter()
        self.errors = self.calls = 0
        self.usd: float | None = None

    def add(self, verdict: Verdict) -> None:
        """Counts a verdict."""
        error = verdict.error
        self.kinds.append(self._kind.setdefault((verdict.meaning, error.exit_code if error else 0), verdict))
        self.labels[error.type if error else verdict.label or "no answer"] += 1
        self.errors += error is not None
        self.calls += verdict.usage.calls
        if verdict.usage.usd is not None:
            self.usd = (self.usd or 0.0) + verdict.usage.usd


def _unwritable(path: Path, error: OSError) -> RecordError:
    return RecordError(f"{str(path)!r} cannot be written: {error.strerror}", hint="make room; the same command goes on")
