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
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{str(path)!r} is not TOML: {error}") from error
