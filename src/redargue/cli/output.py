"""JSON on standard output."""

from __future__ import annotations

import json

import typer


def print_json(value: object, *, indent: int | None = 1) -> None:
    """Prints a value that may contain models, in ASCII: no control character from a document reaches a terminal."""
    typer.echo(json.dumps(value, indent=indent, default=lambda model: model.model_dump(mode="json")))
