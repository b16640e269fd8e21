"""Reads ``redargue.toml``, which sets defaults of command-line options, one table per command.

The file in the user's configuration folder, or the one that ``--config`` names, may set every option. A file in the
working folder may be a stranger's (a clone, an archive): of its options only those in :data:`HARMLESS` are read.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from redargue.errors import UsageError
from redargue.files import config_home, open_to_read
from redargue.registry import did_you_mean

CONFIG = "redargue.toml"
_LARGEST = 1_000_000  # bytes
# These start, contact, read and write nothing, and do not loosen what the user asked for.
HARMLESS = frozenset(
    "method rounds top_k labels as_of strict_as_of seed concurrency budget max_tokens response_format stream logprobs "
    "offline quiet json as_json jsonl fail_on min_supported limit k mode half ordered draws".split()
)

Known = Mapping[str, "Known | None"]  # commands and their options; the value for an option is None
_Place = tuple[str, ...]  # the names of commands and, at the end, of an option


class Defaults(NamedTuple):
    """The defaults of each command, and what a file in the working folder set although only the user may."""

    tables: dict[str, object]
    ignored: tuple[str, ...] = ()


def read_defaults(known: Known, config: Path | None = None, *, folder: Path | None = None) -> Defaults:
    """The defaults of each command, from ``config`` alone, or from the user's file, which wins, and the folder's."""
    if config is not None and not config.is_file():
        raise UsageError(f"no file {str(config)!r}", where="--config")
    trusted = config or config_home() / CONFIG
    options = dict(_options(read_tables(trusted), known, str(trusted)))
    local = (folder or Path.cwd()) / CONFIG
    if config is not None or _same(local, trusted):
        return Defaults(_tables(options))
    found = dict(_options(read_tables(local), known, str(local)))
    harmless = {place: value for place, value in found.items() if place[-1] in HARMLESS}
    ignored = (".".join(place) for place in found if place not in harmless)
    return Defaults(_tables(harmless | options), tuple(ignored))


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def read_tables(path: Path) -> dict[str, object]:
    try:
        tables = tomllib.loads(_content(path)) if path.is_file() else {}
    except (ValueError, RecursionError, OSError) as error:
        raise UsageError(f"{str(path)!r} cannot be read as TOML: {error}") from error
    for name, table in tables.items():
        if not isinstance(table, dict):
            hint = f"write an option under its command: [check], and below it {name} = …"
            raise UsageError(f"{name!r} in {str(path)!r} is not a table", hint=hint)
    return tables


def _content(path: Path) -> str:
    with open_to_read(path) as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(f"it is larger than {_LARGEST:,} bytes")
    return content.decode()


def _options(table: Mapping[str, Any], known: Known, where: str, *commands: str) -> Iterator[tuple[_Place, object]]:
    """The options that a file sets, each with the names of its commands before its own."""
    for key, value in table.items():
        name = key if key in known else key.replace("-", "_")
        if name not in known:
            kind, inside = ("option", f"[{'.'.join(commands)}] of {where}") if commands else ("command", where)
            hint = did_you_mean(key, known)
            raise UsageError(f"unknown {kind} {key!r}", where=inside, hint=hint)
        options, place = known[name], (*commands, name)
        if not commands and options is None and isinstance(value, dict):
            continue  # of a command whose package is not installed
        if (options is None) == isinstance(value, dict):
            what = "an option, not a command" if options is None else "a command, not an option"
            hint = f"write {key} = …" if options is None else f"write a table: [{'.'.join(place)}]"
            raise UsageError(f"{key!r} is {what}", where=where, hint=hint)
        if options is None:
            values = value if isinstance(value, list) else [value]
            if "" in values:  # an empty budget would be none
                hint, inside = "write one, or leave the line out", f"[{'.'.join(commands)}] of {where}"
                raise UsageError(f"the value of {key!r} is empty", where=inside, hint=hint)
            # only the command line knows which options may be repeated
            yield place, values if name in getattr(known, "repeatable", ()) else value
        else:
            yield from _options(value, options, where, *place)


def _tables(options: Mapping[_Place, object]) -> dict[str, object]:
    """The options by their commands, one table in the other."""
    tables: dict[str, object] = {}
    for (*commands, name), value in options.items():
        table: Any = tables
        for command in commands:
            table = table.setdefault(command, {})
        table[name] = value
    return tables
