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


class Defaults(NamedTuple):
    """The defaults of each command, and what a file in the working folder set although only the user may."""

    tables: dict[str, object]
    ignored: tuple[str, ...] = ()


def read_defaults(known: Known, config: Path | None = None, *, folder: Path | None = None) -> Defaults:
    """The defaults of each command, from ``config`` alone, or from the user's file, which wins, and the folder's."""
    if config is not None and not config.is_file():
        raise UsageError(f"no file {str(config)!r}", where="--config")
    trusted = config or config_home() / CONFIG
    defaults = _defaults(read_tables(trusted), known, str(trusted), "")
    local = (folder or Path.cwd()) / CONFIG
    if config is not None or _same(local, trusted):
        return Defaults(defaults)
    found = _defaults(read_tables(local), known, str(local), "")
    return Defaults(_merged(_harmless(found), defaults), tuple(_harmful(found)))


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _harmless(tables: Mapping[str, Any]) -> dict[str, object]:
    kept: dict[str, object] = {}
    for name, value in tables.items():
        if isinstance(value, dict):
            kept[name] = _harmless(value)
        elif name in HARMLESS:
            kept[name] = value
    return kept


def _harmful(tables: Mapping[str, Any], inside: str = "") -> Iterator[str]:
    for name, value in tables.items():
        if isinstance(value, dict):
            yield from _harmful(value, f"{inside}{name}.")
        elif name not in HARMLESS:
            yield inside + name


def _merged(weak: Mapping[str, Any], strong: Mapping[str, Any]) -> dict[str, object]:
    merged = dict(weak)
    for name, value in strong.items():
        old = merged.get(name)
        if isinstance(old, dict) and isinstance(value, dict):
            value = _merged(old, value)
        merged[name] = value
    return merged


def read_tables(path: Path) -> dict[str, object]:
    try:
        tables = tomllib.loads(_content(path)) if path.is_file() else {}
    except (ValueError, RecursionError, OSError) as error:
        raise UsageError(f"{str(path)!r} cannot be read as TOML: {error}") from error
    for name, table in tables.items():
        if not isinstance(table, dict):
            hint = f"write options under a command: [{name}]"
            raise UsageError(f"{name!r} in {str(path)!r} is not a table", hint=hint)
    return tables


def _content(path: Path) -> str:
    with open_to_read(path) as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(f"it is larger than {_LARGEST:,} bytes")
    return content.decode()


def _defaults(table: Mapping[str, Any], known: Known, where: str, command: str) -> dict[str, object]:
    defaults: dict[str, object] = {}
    for key, value in table.items():
        name = key if key in known else key.replace("-", "_")
        if name not in known:
            kind, inside = ("option", f"[{command}] of {where}") if command else ("command", where)
            hint = did_you_mean(key, known)
            raise UsageError(f"unknown {kind} {key!r}", where=inside, hint=hint)
        options = known[name]
        if options is None:
            defaults[name] = value
        elif not isinstance(value, dict):
            hint = f"write a table: [{command}.{key}]"
            raise UsageError(f"{key!r} is a command, not an option", where=where, hint=hint)
        else:
            defaults[name] = _defaults(value, options, where, f"{command}.{key}".strip("."))
    return defaults
