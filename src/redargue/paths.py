"""The folders where redargue keeps its user's data and configuration."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """The folder of corpora and runs: ``REDARGUE_HOME``, or ``redargue`` in the user's data folder."""
    if folder := os.environ.get("REDARGUE_HOME"):
        return Path(folder).expanduser()
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "redargue"


def config_home() -> Path:
    """The folder of the user's ``redargue.toml``: ``redargue`` in the user's configuration folder."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "redargue"
