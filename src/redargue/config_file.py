"""The user's defaults: ``redargue.toml``, one table per command."""

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

Known = Mapping[str, "Known | None"]  # commands with the names of their options; None for an option


def read_config(
    known: Known, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The defaults of each command; flags and the environment win over them.

    Variables of the environment under a former name (``REDARGUE_AT_ONCE``) are read here, too: they win over the file,
    and their new names win over them.

    Args:
        known: the commands and their options.
        folder: of the file; by default the current one.
        environment: the process' own by default.

    Raises:
        UsageError: the file cannot be read, or names a command or an option that is not there.
    """
    path = (folder or Path.cwd()) / CONFIG
    tables = read_tables(path)
    given = os.environ if environment is None else environment
    former = {new: value for old, new in RENAMED.items() if (value := given.get(f"REDARGUE_{old.upper()}"))}
    return _defaults(tables, known, former, str(path), "")


def read_tables(path: Path) -> dict[str, Any]:
    """The tables of a settings file; none where there is no file.

    Raises:
        UsageError: the file cannot be read.
    """
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
    """The arguments of a command line with the present names of options that were renamed."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return [*(_current_flag(argument) for argument in arguments[:end]), *arguments[end:]]


def _current_flag(argument: str) -> str:
    flag, sign, value = argument.partition("=")
    name = flag.removeprefix("--").replace("-", "_")
    return (
        f"--{RENAMED[name].replace('_', '-')}{sign}{value}" if flag.startswith("--") and name in RENAMED else argument
    )


def _defaults(
    table: Mapping[str, Any], known: Known, former: Mapping[str, str], where: str, command: str
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        written = key.replace("-", "_")
        name = key if key in known else RENAMED.get(written, written)
        if name not in known:
            kind, inside = ("option", f"[{command}] of {where}") if command else ("command", where)
            raise UsageError(f"unknown {kind} {key!r}", where=inside, hint=did_you_mean(key, list(known)))
        options = known[name]
        if options is None:
            found[name] = value
        elif not isinstance(value, dict):
            raise UsageError(
                f"{key!r} is a command, not an option", where=where, hint=f"write a table: [{command}.{key}]"
            )
        else:
            found[name] = _defaults(value, options, former, where, f"{command}.{key}".strip("."))
    for name, options in known.items():
        if options is None and name in former:
            found[name] = former[name]
        elif options is not None and name not in found and (inner := _defaults({}, options, former, where, name)):
            found[name] = inner
    return found
