"""Deleting a method's folder and its lines deletes the method, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.size import imported, modules_of_methods, without

import redargue

SOURCES = Path(redargue.__file__).parents[1]


@pytest.fixture(scope="module")
def missing() -> set[str]:
    """Modules that need an extra which is not installed."""
    return set(imported(SOURCES))


@pytest.mark.slow
@pytest.mark.parametrize("module", modules_of_methods(SOURCES))
def test_everything_else_is_imported_without_a_method(module: str, missing: set[str]) -> None:
    assert {name: why for name, why in without(SOURCES, module).items() if name not in missing} == {}
