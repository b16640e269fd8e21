"""Arrays of the wheel: a damaged installation is an error that names the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from redargue.errors import UsageError
from redargue.nli.model_files import read_arrays


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "without the array", "pickled"])
def test_a_damaged_file_is_named(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    arrays = {"other" if damage == "without the array" else "weights": np.arange(100.0)}
    if damage == "pickled":
        arrays["weights"] = np.array([{"a": 1}], dtype=object)
    if damage != "missing":
        np.savez(path, **arrays)  # type: ignore[arg-type]
    if damage in ("empty", "cut"):
        path.write_bytes(path.read_bytes()[: 0 if damage == "empty" else 300])
    with pytest.raises(UsageError, match=r"a\.npz.*\n.*reinstall redargue"):
        read_arrays(path, ["weights"])
