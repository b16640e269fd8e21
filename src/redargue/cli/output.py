"""JSON on standard output: one object, or a line per item."""

from __future__ import annotations

import json

import typer


def print_json(value: object, *, indent: int | None = 1) -> None:
    """Prints a value that may contain models, in ASCII: no control character from a document reaches a terminal."""
    typer.echo(json.dumps(value, indent=indent, default=lambda model: model.model_dump(mode="json")))


class JsonLines:
    """Prints a line per item, as it arrives; ``ordered``: in the order of the items, so that a slow one delays others.

    Items are numbered from 0 without gaps.
    """

    def __init__(self, *, ordered: bool = False) -> None:
        self._ordered, self._next = ordered, 0
        self._waiting: dict[int, str] = {}

    def add(self, item: int, line: str) -> None:
        if not self._ordered:
            typer.echo(line)
            return
        self._waiting[item] = line
        while self._next in self._waiting:
            typer.echo(self._waiting.pop(self._next))
            self._next += 1
