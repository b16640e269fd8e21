"""Arrays and weights of the wheels: a damaged installation is an error that names the file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from redargue.errors import UsageError
from redargue.nli.model_files import OUTPUT_SCALES, OnnxFile, read_arrays, unpacked
from redargue.nli.session import CrossEncoder

Array = npt.NDArray[Any]


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


def varint(value: int) -> bytes:
    return bytes([value & 127 | 128]) + varint(value >> 7) if value > 127 else bytes([value])


def message(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def onnx_file(path: Path, tensors: Mapping[str, Array]) -> Path:
    """A file in ONNX's format with these tensors and no computation."""
    kinds = {np.dtype(np.float32): 1, np.dtype(np.uint8): 2, np.dtype(np.int8): 3}
    graph = b""
    for name, array in tensors.items():
        shape = b"".join(varint(1 << 3) + varint(size) for size in array.shape)
        kind = varint(2 << 3) + varint(kinds[array.dtype])
        graph += message(5, shape + kind + message(8, name.encode()) + message(9, array.tobytes()))
    path.write_bytes(message(7, graph))
    return path


@pytest.mark.parametrize("bits", [4, 8])
def test_weights_in_blocks_get_one_scale_for_each_output(bits: int, tmp_path: Path) -> None:
    random = np.random.default_rng(bits)
    outputs, blocks, size = 70, 3, 16
    values = random.integers(0, 2**bits, (outputs, blocks, size), np.uint8)
    scales = random.normal(0, 0.01, (outputs, blocks)).astype(np.float32)
    scales[5] = 0
    tensors = {"m_scales": scales, "bias": np.arange(6, dtype=np.float32).reshape(2, 3)}
    zeros = np.full((outputs, blocks, 1), 128)
    if bits == 8:
        tensors["m_Q8"] = values
    else:
        zeros = random.integers(0, 16, (outputs, blocks + 1), np.uint8)
        zeros[:, blocks] = 0  # fills the last byte
        tensors["m_Q4"] = values[..., 0::2] | values[..., 1::2] << 4
        tensors["m_zero_points"] = zeros[:, 0::2] | zeros[:, 1::2] << 4
        zeros = zeros[:, :blocks, None]
    meant = ((values.astype(float) - zeros) * scales[..., None]).reshape(outputs, -1).T
    columns = np.maximum(np.abs(meant).max(0) / 63, 1e-30).astype(np.float32)
    computation = onnx_file(tmp_path / "c.onnx", {f"m{OUTPUT_SCALES}": columns})
    weights = unpacked(onnx_file(tmp_path / "w.onnx", tensors), computation)
    assert weights.keys() == {"m", "bias"}
    assert (weights["bias"] == tensors["bias"]).all()
    assert weights["m"].dtype == np.int8
    assert weights["m"].shape == (blocks * size, outputs)
    assert np.abs(weights["m"]).max() == 63
    assert (np.abs(weights["m"] * columns - meant) <= columns * 0.5001).all()


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "another kind", "no matrix"])
def test_a_damaged_file_of_weights_is_named(damage: str, tmp_path: Path) -> None:
    tensors: dict[str, Array] = {"m_scales": np.ones((4, 2), np.float32)}
    if damage == "no matrix":
        tensors["m_Q8"] = np.array(1, np.uint8)
    path = onnx_file(tmp_path / "w.onnx", tensors)
    computation = onnx_file(tmp_path / "c.onnx", {f"m{OUTPUT_SCALES}": np.ones(4, np.float32)})
    if damage == "missing":
        path.unlink()
    elif damage in ("empty", "cut"):
        path.write_bytes(path.read_bytes()[: 0 if damage == "empty" else 20])
    with pytest.raises(UsageError, match=r"w\.onnx.*\n.*reinstall redargue-reader"):
        unpacked(path, computation)


def test_a_model_that_returns_no_numbers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OnnxFile, "run", lambda *given: np.full((1, 4), np.nan, np.float32))
    with pytest.raises(UsageError, match=r"entailment\.onnx' returns no finite numbers\n.*reinstall redargue"):
        CrossEncoder(threads=1).read([("The bridge opened.", "It opened in 1932.")])
