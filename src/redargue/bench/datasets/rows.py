"""Reads data files row by row; of a wrong one it says which field of which row, what stands there, what was expected.

Files are UTF-8: JSON lines, a JSON list, a JSON object of rows, CSV or TSV; gzip is recognised by its first bytes.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from redargue.claims import Claim, LabelSet
from redargue.errors import UsageError

_GZIP = b"\x1f\x8b"
_SHOWN = 60  # characters of a wrong value that an error quotes


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file, or an object inside it.

    Attributes:
        path: the file.
        number: of the row, from 1: the line of JSON lines, else the place in the list, object or table.
        fields: as they stand.
        name: the row's key, where the file is an object of rows.
        inside: where in the row this object stands (``questions[2].``); empty for the row itself.
    """

    path: Path
    number: int
    fields: Mapping[str, Any]
    name: str = ""
    inside: str = ""

    def text(self, field: str) -> str:
        """A string with at least one character that is not white space, as it stands."""
        value = self._there(field)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(field, "text")
        return value

    def string(self, field: str) -> str:
        """A string, which may be empty."""
        value = self._there(field)
        if not isinstance(value, str):
            raise self.wrong(field, "text")
        return value

    def optional(self, field: str) -> str:
        """A string, or "" where the field is absent or null."""
        value = self.fields.get(field)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.wrong(field, "text or null")
        return value

    def key(self, field: str) -> str:
        """An identifier: text, or a whole number as text."""
        value = self._there(field)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        raise self.wrong(field, "an identifier (text or a whole number)")

    def integer(self, field: str) -> int:
        """A whole number, 0 or more."""
        value = self._there(field)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.wrong(field, "a whole number")
        return value

    def items(self, field: str) -> list[Any]:
        """A list."""
        value = self._there(field)
        if not isinstance(value, list):
            raise self.wrong(field, "a list")
        return value

    def texts(self, field: str) -> tuple[str, ...]:
        """A list of strings."""
        values = self.items(field)
        if not all(isinstance(value, str) for value in values):
            raise self.wrong(field, "a list of texts")
        return tuple(values)

    def child(self, field: str) -> Row:
        """An object."""
        value = self._there(field)
        if not isinstance(value, dict):
            raise self.wrong(field, "an object")
        return self._within(value, field)

    def children(self, field: str) -> tuple[Row, ...]:
        """A list of objects."""
        values = self.items(field)
        if not all(isinstance(value, dict) for value in values):
            raise self.wrong(field, "a list of objects")
        return tuple(self._within(value, f"{field}[{place}]") for place, value in enumerate(values))

    def label(self, field: str, labels: LabelSet) -> str:
        """The label that a field names, by its own name or an alias; case, and _ for a space, make no difference."""
        value = self._there(field)
        found = self.as_label(value, labels)
        if found is None:
            raise self.wrong(field, f"one of {', '.join(labels.names)}")
        return found

    @staticmethod
    def as_label(value: object, labels: LabelSet) -> str | None:
        """The label that a value names (true and false by their names), or None."""
        if isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            return None
        if labels.free_text:
            return value.strip() or None
        return next(
            (
                label.name
                for label in labels.labels
                if _folded(value) in {_folded(name) for name in (label.name, *label.aliases)}
            ),
            None,
        )

    def hidden(self, answers: tuple[str, ...], rest: tuple[str, ...]) -> bool:
        """Whether it is a row of a test set without answers: none of ``answers``, and no field but ``rest``.

        A row with another field is not: its label may stand under a name that was misspelt.
        """
        return not any(name in self.fields for name in answers) and all(name in rest for name in self.fields)

    def claim(self, field: str, text: str = "", **given: Any) -> Claim:
        """The claim that a field holds.

        Args:
            field: named in an error.
            text: of the claim, where it is more than the field's own.
            **given: the claim's other attributes.
        """
        try:
            return Claim(text=text or self.text(field), **given)
        except ValidationError as error:
            first = error.errors()[0]
            part = str(first["loc"][0]) if first["loc"] else "text"
            about = f"{self.inside}{field}" + ("" if part == "text" else f", the claim's {part}")
            raise self.error(f"{about}: {str(first['msg']).removeprefix('Value error, ')}") from None

    def error(self, what: str, *, hint: str = "") -> UsageError:
        """An error about this row."""
        named = f" ({self.name})" if self.name else ""
        return UsageError(what, where=f"{self.path}, row {self.number}{named}", hint=hint)

    def wrong(self, field: str, expected: str) -> UsageError:
        """An error about a field: what stands there, and what was expected."""
        return self.error(f"{self.inside}{field}: {expected} was expected, not {_shown(self.fields.get(field))}")

    def _there(self, field: str) -> Any:
        if field not in self.fields:
            known = ", ".join(list(self.fields)[:12]) or "none"
            raise self.error(
                f"no field {self.inside}{field}; its fields: {known}",
                hint="is it the data set's own file, as it is published? of a table, --map claim=COLUMN",
            )
        return self.fields[field]

    def _within(self, fields: dict[str, Any], at: str) -> Row:
        return Row(self.path, self.number, fields, name=self.name, inside=f"{self.inside}{at}.")


def rows(path: Path) -> Iterator[Row]:
    """The objects of a file of JSON lines (whatever its name ends in) or of one JSON list; empty lines are left out.

    Raises:
        UsageError: no such file, a folder, no gzip, no text, no JSON, no object, or nothing at all.
    """
    lines = _lines(path)
    number, first = _first(path, lines)
    if first.lstrip().startswith("["):
        whole = _parse(first + "".join(text for _, text in lines), path)
        for place, value in enumerate(whole, 1):
            yield Row(path, place, _fields(value, path, place))
        if not whole:
            raise UsageError("an empty list where rows were expected", where=str(path))
        return
    for at, text in chain([(number, first)], lines):
        if text.strip():
            yield Row(path, at, _fields(_parse(text, path, at), path, at))


def keyed(path: Path) -> Iterator[Row]:
    """The rows of a file that is one JSON object, with a row (an object) under each key.

    Raises:
        UsageError: as :func:`rows`.
    """
    lines = _lines(path)
    _, first = _first(path, lines)
    whole = _parse(first + "".join(text for _, text in lines), path, once=True)
    if not isinstance(whole, dict):
        raise UsageError("a JSON object with a row under each key was expected, not a list", where=str(path))
    if not whole:
        raise UsageError("an empty object where rows were expected", where=str(path))
    for place, (name, value) in enumerate(whole.items(), 1):
        yield Row(path, place, _fields(value, path, place, name), name=name)


def table(path: Path) -> Iterator[Row]:
    """The rows of a CSV (``.csv``) or TSV (``.tsv``) file, whose first line names the columns; every field is text.

    Raises:
        UsageError: as :func:`rows`; a row with too many or too few fields.
    """
    lines = _lines(path)
    number, first = _first(path, lines)
    delimiter = "\t" if unpacked_suffix(path) == ".tsv" else ","
    csv.field_size_limit(2**31 - 1)  # csv refuses fields of more than 131,072 characters, and contexts may be longer
    reader = csv.DictReader((text for _, text in chain([(number, first)], lines)), delimiter=delimiter, strict=True)
    place = 0
    try:
        if twice := [name for name, count in Counter(reader.fieldnames or ()).items() if count > 1]:
            raise UsageError(f"two columns are called {', '.join(map(repr, twice))}", where=str(path))
        for place, fields in enumerate(reader, 1):
            if None in fields:
                raise UsageError(
                    f"{len(fields[None])} fields more than the {len(fields) - 1} columns", where=f"{path}, row {place}"
                )
            if missing := [name for name, value in fields.items() if value is None]:
                raise UsageError(f"no field for the columns {', '.join(missing)}", where=f"{path}, row {place}")
            yield Row(path, place, fields)
    except csv.Error as error:
        raise UsageError(f"not a table: {error}", where=f"{path}, row {place + 1}") from None
    if not place:
        raise UsageError("a head line, but no row", where=str(path))


def first_line(path: Path) -> str:
    """The first line of a file that is not empty."""
    return _first(path, _lines(path))[1]


def unpacked_suffix(path: Path) -> str:
    """How the file's name ends, without ``.gz``, in lower case."""
    return (Path(path.stem) if path.suffix.lower() == ".gz" else path).suffix.lower()


def printable(text: str) -> str:
    """A page's text with what is no text made visible: a form feed as a line break, other control characters as ``�``.

    Web pages in data sets hold NULs and backspaces; a claim with one is refused instead.
    """
    return re.sub(r"[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]", "\ufffd", re.sub(r"[\x0b\x0c]", "\n", text))


def _first(path: Path, lines: Iterator[tuple[int, str]]) -> tuple[int, str]:
    for number, text in lines:
        if text.strip():
            return number, text
    raise UsageError("the file is empty", where=str(path))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines, unpacked and decoded."""
    if path.is_dir():
        inside = ", ".join(sorted(each.name for each in path.iterdir())[:5])
        raise UsageError("a folder where a file was expected", where=str(path), hint=f"name one of its files: {inside}")
    number = 0
    try:
        with path.open("rb") as file:
            packed = file.read(2) == _GZIP
        if path.suffix.lower() == ".gz" and not packed:
            raise UsageError("named .gz, but it is no gzip data", where=str(path))
        with gzip.open(path) if packed else path.open("rb") as file:
            for number, line in enumerate(file, 1):
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
    except FileNotFoundError:
        raise UsageError(f"no file {str(path)!r}") from None
    except UnicodeDecodeError as error:
        what = f"not UTF-8 at byte {error.start:,} of line {number:,}"
        raise UsageError(what, where=str(path), hint="save it as UTF-8") from None
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise UsageError(f"damaged gzip data after line {number:,}: {error}", where=str(path)) from None
    except OSError as error:
        raise UsageError(f"cannot be opened: {error.strerror or error}", where=str(path)) from None


def _parse(text: str, path: Path, number: int = 0, *, once: bool = False) -> Any:
    where = f"{path}, row {number}" if number else str(path)

    def held(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        for name, count in Counter(name for name, _ in pairs).items():
            if count > 1:
                raise UsageError(f"the key {name!r} stands there {count} times", where=where)
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=held if once else None)
    except json.JSONDecodeError as error:
        at = f"character {error.pos + 1}" if number else f"line {error.lineno}, character {error.colno}"
        raise UsageError(
            f"not JSON: {error.msg} at {at}, in {_shown(text[max(0, error.pos - 20) : error.pos + 20])}",
            where=where,
            hint="a JSON object a line, or one JSON list, was expected" if number else "",
        ) from None
    except (ValueError, RecursionError):  # a number of 5,000 digits, a thousand brackets
        raise UsageError("not JSON that can be read", where=where) from None


def _fields(value: Any, path: Path, number: int, name: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        named = f" ({name})" if name else ""
        raise UsageError(f"a JSON object was expected, not {_shown(value)}", where=f"{path}, row {number}{named}")
    return value


def _folded(text: str) -> str:
    return " ".join(text.replace("_", " ").split()).casefold()


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
