"""The user's defaults: ``redargue.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from redargue.errors import UsageError

CONFIG = "redargue.toml"


def read_config(folder: Path | None = None) -> dict[str, Any]:
    """The defaults that ``redargue.toml`` sets, one table a command; flags and environment win over it.

    Raises:
        UsageError: the file is not TOML.
    """
    path = (folder or Path.cwd()) / CONFIG
    if not path.is_file():
        return {}
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"{str(path)!r} cannot be read as TOML: {error}") from error
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise UsageError(f"{name!r} in {str(path)!r} is no table", hint=f"write options under a command: [{name}]")
    return tables
