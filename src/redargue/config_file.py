"""Reads ``redargue.toml``, which sets defaults of command-line options, one table per command."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from redargue.errors import UsageError
from redargue.registry import did_you_mean

CONFIG = "redargue.toml"
RENAMED = {"at_once": "concurrency", "only_in_time": "strict_as_of", "form": "response_format"}  # until 0.3

Known = Mapping[str, "Known | None"]  # commands and their options; the value for an option is None


def read_defaults(
    known: Known, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The defaults of each command; flags and environment variables win over them.

    Environment variables with a former name (``REDARGUE_AT_ONCE``) are read here, too: they win over the file, and
    variables with the current name win over them.
    """
    path = (folder or Path.cwd()) / CONFIG
    tables = read_tables(path)
    variables = os.environ if environment is None else environment
    former = {new: value for old, new in RENAMED.items() if (value := variables.get(f"REDARGUE_{old.upper()}"))}
    return _defaults(tables, known, former, str(path), "")


def read_tables(path: Path) -> dict[str, Any]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"{str(path)!r} cannot be read as TOML: {error}") from error
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise UsageError(
                f"{name!r} in {str(path)!r} is not a table", hint=f"write options under a command: [{name}]"
            )
    return tables


def current_names(arguments: list[str]) -> list[str]:
    """The command line with the current names of renamed options."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    flags = {f"--{old.replace('_', '-')}": f"--{new.replace('_', '-')}" for old, new in RENAMED.items()}
    split = [argument.partition("=") for argument in arguments[:end]]
    return [*(flags.get(flag, flag) + sign + value for flag, sign, value in split), *arguments[end:]]


def _defaults(
    table: Mapping[str, Any], known: Known, former: Mapping[str, str], where: str, command: str
) -> dict[str, Any]:
    defaults: dict[str, Any] = {}
    for key, value in table.items():
        written = key.replace("-", "_")
        name = key if key in known else RENAMED.get(written, written)
        if name not in known:
            kind, inside = ("option", f"[{command}] of {where}") if command else ("command", where)
            raise UsageError(f"unknown {kind} {key!r}", where=inside, hint=did_you_mean(key, list(known)))
        options = known[name]
        if options is None:
            defaults[name] = value
        elif not isinstance(value, dict):
            raise UsageError(
                f"{key!r} is a command, not an option", where=where, hint=f"write a table: [{command}.{key}]"
            )
        else:
            defaults[name] = _defaults(value, options, former, where, f"{command}.{key}".strip("."))
    for name, options in known.items():
        if options is None and name in former:
            defaults[name] = former[name]
        elif options is not None and name not in defaults and (inner := _defaults({}, options, former, where, name)):
            defaults[name] = inner
    return defaults
