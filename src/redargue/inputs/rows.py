"""Reads data files row by row; errors name the file, the row, the field, its value and what was expected.

JSON lines, a JSON list, a JSON object of rows, CSV or TSV. JSON is UTF-8; a table may also be UTF-16 or Windows-1252,
with a warning. gzip is recognised by its first bytes.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from io import BufferedReader, TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Any, AnyStr, TypeVar, cast

from pydantic import ValidationError

from redargue.claims import Claim, LabelSet
from redargue.errors import UsageError
from redargue.sanitize import UTF_16, RepeatedKey, counted, not_windows, unique_keys, warn_of

_T = TypeVar("_T")

LARGEST_LINE = 512 * 10**6  # bytes
LARGEST_WHOLE = 2 * 10**9  # characters of a JSON list or object, which is read as a whole
LARGEST_DECOMPRESSED_ROWS = 20 * 10**9  # bytes of gzip data, read row by row
_GZIP = b"\x1f\x8b"
_SHOWN = 60  # characters of a wrong value that an error quotes


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file, or an object inside it.

    Attributes:
        number: from 1: the line of JSON lines, otherwise the position in the list, object or table.
        name: the row's key if the file is an object of rows.
        inside: path of this object inside the row (``questions[2].``).
    """

    path: Path
    number: int
    fields: Mapping[str, Any]
    name: str = ""
    inside: str = ""

    def text(self, field: str) -> str:
        """A string with at least one character that is not white space, unstripped."""
        return self._typed(field, str, "text", accept=lambda value: bool(value.strip()))

    def string(self, field: str) -> str:
        return self._typed(field, str, "text")

    def optional(self, field: str) -> str:
        """A string, or "" if the field is absent or null."""
        return "" if self.fields.get(field) is None else self._typed(field, str, "text or null")

    def cell(self, field: str) -> str:
        """Text, a whole number as text, or "" if the field is null; it must exist."""
        value = self._required(field)
        return value or "" if value is None or isinstance(value, str) else self.key(field)

    def iso_date(self, field: str) -> date | None:
        """An ISO date; None if the cell is empty."""
        text = self.cell(field)
        try:
            return date.fromisoformat(text) if text else None
        except ValueError:
            raise self.field_error(field, "a date like '2021-03-31'") from None

    def key(self, field: str) -> str:
        """An identifier: text, or a whole number as text."""
        value = self._required(field)
        if (isinstance(value, str) and value.strip()) or type(value) is int:
            return str(value)
        raise self.field_error(field, "an identifier (text or a whole number)")

    def integer(self, field: str) -> int:
        """A whole number, 0 or more."""
        return self._typed(field, int, "a whole number", accept=lambda value: type(value) is int and value >= 0)

    def items(self, field: str) -> list[Any]:
        return self._typed(field, list, "a list")

    def texts(self, field: str) -> tuple[str, ...]:
        values = self.items(field)
        if not all(isinstance(value, str) for value in values):
            raise self.field_error(field, "a list of texts")
        return tuple(values)

    def child(self, field: str) -> Row:
        return self._within(self._typed(field, dict, "an object"), field)

    def children(self, field: str) -> tuple[Row, ...]:
        values = self.items(field)
        if not all(isinstance(value, dict) for value in values):
            raise self.field_error(field, "a list of objects")
        return tuple(self._within(value, f"{field}[{place}]") for place, value in enumerate(values))

    def label(self, field: str, labels: LabelSet) -> str:
        """The label that a field names by its name or an alias; ignores case and reads ``_`` as a space."""
        label = self.as_label(self._required(field), labels)
        if label is None:
            raise self.field_error(field, f"one of {', '.join(labels.names)}")
        return label

    @staticmethod
    def as_label(value: object, labels: LabelSet) -> str | None:
        """The label that a value names, or None; JSON's ``true`` and ``false`` and whole numbers are read as text."""
        if isinstance(value, int):
            value = str(value)
        if not isinstance(value, str):
            return None
        if labels.free_text:
            return value.strip() or None
        folded = {_folded(name): label.name for label in labels.labels for name in (*label.aliases, label.name)}
        return folded.get(_folded(value))

    def is_unlabelled(self, answers: tuple[str, ...], rest: tuple[str, ...]) -> bool:
        """Whether the row has no label: no field of ``answers``, and only fields of ``rest``.

        Any other field may be the label under a misspelt name.
        """
        return self.fields.keys().isdisjoint(answers) and self.fields.keys() <= set(rest)

    def claim(self, field: str, text: str = "", **attributes: Any) -> Claim:
        """The claim in a field that errors name; ``text`` is its text if it differs from the field's."""
        try:
            return Claim(text=text or self.text(field), **attributes)
        except ValidationError as error:
            first = error.errors()[0]
            part = str(first["loc"][0]) if first["loc"] else "text"
            about = f"{self.inside}{field}" + ("" if part == "text" else f", the claim's {part}")
            raise self.error(f"{about}: {str(first['msg']).removeprefix('Value error, ')}") from None

    def error(self, what: str, *, hint: str = "") -> UsageError:
        key = f" ({self.name})" if self.name else ""
        return UsageError(what, where=f"{self.path}, row {self.number}{key}", hint=hint)

    def field_error(self, field: str, expected: str, *, hint: str = "") -> UsageError:
        return self.error(f"{self.inside}{field}: expected {expected}, got {_shown(self.fields.get(field))}", hint=hint)

    def _required(self, field: str) -> Any:
        if field not in self.fields:
            known = ", ".join(list(self.fields)[:12]) or "none"
            hint = "use the data set's own file as published; for a table, map columns with --map claim=COLUMN"
            raise self.error(f"no field {self.inside}{field}; its fields: {known}", hint=hint)
        return self.fields[field]

    def _typed(self, field: str, kind: type[_T], expected: str, *, accept: Callable[[_T], bool] = lambda _: True) -> _T:
        value = self._required(field)
        if not isinstance(value, kind) or not accept(value):
            raise self.field_error(field, expected)
        return value

    def _within(self, fields: dict[str, object], at: str) -> Row:
        return Row(self.path, self.number, fields, name=self.name, inside=f"{self.inside}{at}.")


def rows(path: Path) -> Iterator[Row]:
    """The objects of a file of JSON lines (whatever its suffix) or of one JSON list; skips empty lines.

    Raises UsageError if the file is missing, empty, a folder, damaged, not UTF-8, or not JSON objects.
    """
    lines = _lines(path)
    number, first = next(lines)
    if first.lstrip().startswith("["):
        whole = _parse(_joined(chain([(number, first)], lines), path), path)
        for place, value in enumerate(whole, 1):
            yield _row(value, path, place)
        if not whole:
            raise UsageError("expected rows, got an empty list", where=str(path))
        return
    for at, text in chain([(number, first)], lines):
        if text.strip():
            yield row_of_line(text, path, at)


def row_of_line(line: str, path: Path, number: int) -> Row:
    """The row of one of the JSON lines that ``path`` names; raises UsageError if it is not a JSON object."""
    return _row(_parse(line, path, number), path, number)


def keyed_rows(path: Path) -> Iterator[Row]:
    """The rows of a file that is one JSON object whose values are rows."""
    whole = _parse(_joined(_lines(path), path), path)
    if not isinstance(whole, dict):
        raise UsageError("expected a JSON object with a row under each key, got a list", where=str(path))
    if not whole:
        raise UsageError("expected rows, got an empty object", where=str(path))
    for place, (name, value) in enumerate(whole.items(), 1):
        yield _row(value, path, place, name)


def _joined(lines: Iterable[tuple[int, str]], path: Path) -> str:
    texts, size = [], 0
    for _, text in lines:
        size += len(text)
        if size > LARGEST_WHOLE:
            what = f"one JSON value of more than {LARGEST_WHOLE:,} characters"
            raise UsageError(what, where=str(path), hint="write one JSON object per line")
        texts.append(text)
    return "".join(texts)


def table_rows(path: Path) -> Iterator[Row]:
    """The rows of a CSV or TSV file whose first line names the columns; every field is text."""
    lines = (text for _, text in _lines(path, any_encoding=True))
    header = next(lines)
    # spreadsheets of countries with a decimal comma separate by semicolons
    delimiter = "\t" if unpacked_suffix(path) == ".tsv" else ";" if ";" in header and "," not in header else ","
    csv.field_size_limit(2**31 - 1)  # csv refuses fields of more than 131,072 characters, and contexts may be longer
    reader = csv.DictReader(chain([header], lines), delimiter=delimiter, strict=True)
    place = 0
    try:
        if duplicates := [name for name, count in Counter(reader.fieldnames or ()).items() if count > 1]:
            raise UsageError(f"two columns are called {', '.join(map(repr, duplicates))}", where=str(path))
        for place, fields in enumerate(reader, 1):
            row = Row(path, place, fields)
            if None in fields:
                more = counted(len(fields[None]), "field")
                raise row.error(f"{more} more than the {counted(len(fields) - 1, 'column')}")
            if missing := [name for name, value in fields.items() if value is None]:
                columns = "columns" if len(missing) > 1 else "column"
                raise row.error(f"no field for the {columns} {', '.join(missing)}")
            yield row
    except csv.Error as error:
        raise UsageError(f"not a table: {error}", where=f"{path}, row {place + 1}") from None
    if not place:
        raise UsageError("a header line but no rows", where=str(path))


def first_line(path: Path) -> str:
    """The first line that is not blank."""
    return next(text for _, text in _lines(path))


def unpacked_suffix(path: Path) -> str:
    """The file's suffix in lower case, ignoring ``.gz``."""
    return (Path(path.stem) if path.suffix.lower() == ".gz" else path).suffix.lower()


def printable_value(text: str) -> str:
    """Replaces form feeds by line breaks and other control characters by ``�``.

    Web pages in data sets contain NULs and backspaces; claims that do are refused instead.
    """
    return re.sub(r"[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]", "\ufffd", re.sub(r"[\x0b\x0c]", "\n", text))


def _lines(path: Path, *, any_encoding: bool = False) -> Iterator[tuple[int, str]]:
    """The numbered lines from the first that is not blank, unpacked and decoded.

    ``any_encoding``: a file may also be UTF-16 or, if all before its first other byte is ASCII, Windows-1252.
    """
    number, empty = 0, True
    with _opened(path) as file:
        try:
            for number, text in enumerate(_decoded(file, path, any_encoding=any_encoding), 1):
                empty = empty and not text.strip()
                if not empty:
                    yield number, text
        except UnicodeError as error:
            at = f"byte {error.start:,} of line {number + 1:,}" if isinstance(error, UnicodeDecodeError) else "its end"
            raise UsageError(f"not UTF-8 at {at}", where=str(path), hint="save it as UTF-8") from None
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise UsageError(f"damaged gzip data after line {number:,}: {error}", where=str(path)) from None
    if empty:
        raise UsageError("the file is empty", where=str(path))


def _bounded(lines: Iterator[AnyStr], path: Path, *, packed: bool, width: int = 1) -> Iterator[AnyStr]:
    """The lines, whose units have ``width`` bytes; a small file must not fill the memory when it is unpacked."""
    size = 0
    for number, line in enumerate(lines, 1):
        size += len(line) * width
        if len(line) * width > LARGEST_LINE:
            raise UsageError(f"line {number:,} is longer than {LARGEST_LINE:,} bytes", where=str(path))
        if packed and size > LARGEST_DECOMPRESSED_ROWS:
            what = f"decompresses to more than {LARGEST_DECOMPRESSED_ROWS:,} bytes"
            raise UsageError(what, where=str(path), hint="decompress it")
        yield line


def _decoded(file: BufferedReader, path: Path, *, any_encoding: bool) -> Iterator[str]:
    packed = isinstance(file, gzip.GzipFile)
    if any_encoding and file.peek(2).startswith(UTF_16):
        warn_of(str(path), "utf-16")
        with TextIOWrapper(file, "utf-16", newline="") as text:
            lines = iter(lambda: text.readline(LARGEST_LINE // 2 + 1), "")
            yield from _bounded(lines, path, packed=packed, width=2)
        return
    encoding = "ascii"
    raw_lines = iter(lambda: file.readline(LARGEST_LINE + 1), b"")
    for number, line in enumerate(_bounded(raw_lines, path, packed=packed), 1):
        if encoding == "cp1252":
            yield line.decode(encoding, "replace")
            continue
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            encoding = encoding if line.isascii() else "utf-8"
        except UnicodeDecodeError as error:
            may_be_windows = any_encoding and encoding == "ascii" and line[: error.start].isascii()
            if not may_be_windows or not_windows(line):
                raise
            encoding = "cp1252"
            warn_of(str(path), encoding)
            yield line.decode(encoding, "replace")


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    if path.is_dir():
        inside = ", ".join(sorted(file.name for file in path.iterdir())[:5])
        raise UsageError("expected a file, got a folder", where=str(path), hint=f"name one of its files: {inside}")
    try:
        with path.open("rb") as file:
            packed = file.read(2) == _GZIP
        if path.suffix.lower() == ".gz" and not packed:
            raise UsageError("named .gz, but not gzip data", where=str(path))
        with gzip.open(path) if packed else path.open("rb") as unpacked:
            yield cast(BufferedReader, unpacked)
    except FileNotFoundError:
        raise UsageError(f"no file {str(path)!r}") from None
    except OSError as error:
        raise UsageError(f"cannot be opened: {error.strerror or error}", where=str(path)) from None


def _parse(text: str, path: Path, number: int = 0) -> Any:
    where = f"{path}, row {number}" if number else str(path)
    try:
        return json.loads(text, object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        at = f"character {error.pos + 1}" if number else f"line {error.lineno}, character {error.colno}"
        raise UsageError(
            f"not JSON: {error.msg} at {at}, in {_shown(text[max(0, error.pos - 20) : error.pos + 20])}",
            where=where,
            hint="expected one JSON object per line, or one JSON list" if number else "",
        ) from None
    except RepeatedKey as error:
        raise UsageError(str(error), where=where) from None
    except (ValueError, RecursionError):  # a number of 5,000 digits, a thousand brackets
        raise UsageError("not JSON that can be read", where=where) from None


def _row(value: Any, path: Path, number: int, name: str = "") -> Row:
    if not isinstance(value, dict):
        raise Row(path, number, {}, name).error(f"expected a JSON object, got {_shown(value)}")
    return Row(path, number, value, name)


def _folded(text: str) -> str:
    return " ".join(text.replace("_", " ").split()).casefold()


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
