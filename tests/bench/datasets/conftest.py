"""Invented rows of each data set's official shape, and the real ones where there are any."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def samples() -> Path:
    return Path(__file__).parent / "samples"


@pytest.fixture(scope="module")
def data() -> Path:
    """The folder with real data; a test without it is skipped."""
    folder = Path(os.environ.get("REDARGUE_DATA", ""))
    if not os.environ.get("REDARGUE_DATA") or not (folder / "benchmarks").is_dir():
        pytest.skip("REDARGUE_DATA names no folder with benchmarks: there is no real data to load")
    return folder
