"""Array files whose members claim what they are not: an error in a line, and no memory for it."""

from __future__ import annotations

import io
import random
import struct
import tracemalloc
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from redargue.errors import UsageError
from redargue.nli.model_files import LARGEST_ARRAYS, read_arrays

MEMORY = 16 * 2**20  # bytes


def npy(header: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + data


def archive(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def pickled() -> bytes:
    written = io.BytesIO()
    np.save(written, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return written.getvalue()


FLOATS = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }"
HOSTILE = {
    "an object": pickled(),
    "a huge shape": npy(FLOATS % "(10000000000,)"),
    "an overflowing shape": npy(FLOATS % "(4294967296, 4294967296, 4294967296)"),
    "a negative shape": npy(FLOATS % "(-1,)", b"1234"),
    "two negative extents": npy(FLOATS % "(-1, -1)", b"1234"),
    "a shape of words": npy(FLOATS % "('a',)"),
    "truncated": npy(FLOATS % "(100,)", b"12345678"),
    "too long": npy(FLOATS % "(1,)", b"12345678"),
    "no header": b"\x93NUMPY\x01\x00",
    "another version": npy(FLOATS % "(1,)", b"1234", version=b"\x09\x00"),
    "a long header": npy(FLOATS % "(1,)" + " " * 60_000, b"1234"),
    "code in the header": npy("__import__('os').system('true')"),
    "a deep header": npy("(" * 5000),
    "records": npy("{'descr': [('a', '<f4'), ('b', 'O')], 'fortran_order': False, 'shape': (1,), }", b"12345678"),
    "void": npy("{'descr': '|V4', 'fortran_order': False, 'shape': (1,), }", b"1234"),
    "a type of no size": npy("{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000,), }"),
    "no array": b"not an array at all",
    "a bomb": bytes(LARGEST_ARRAYS + 1),
    "empty": b"",
}


@pytest.mark.parametrize("member", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_array_is_refused_without_memory_for_it(member: bytes, tmp_path: Path) -> None:
    path = archive(tmp_path / "a.npz", {"weights.npy": member})
    tracemalloc.start()
    try:
        with pytest.raises(UsageError, match=r"a\.npz"):
            read_arrays(path, ["weights"])
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()


def test_a_missing_array_and_files_that_are_no_archives_are_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.npz", {"other.npy": b""})
    with pytest.raises(UsageError, match="no array 'weights'"):
        read_arrays(path, ["weights"])
    for data in (b"", b"PK", b"PK\x05\x06" + bytes(18), b"text" * 100):
        path.write_bytes(data)
        with pytest.raises(UsageError, match=r"a\.npz"):
            read_arrays(path, ["weights"])
    with pytest.raises(UsageError, match=r"gone\.npz"):
        read_arrays(tmp_path / "gone.npz", ["weights"])


def test_random_bytes_in_an_archive_end_in_arrays_or_errors(tmp_path: Path) -> None:
    path, chance = tmp_path / "a.npz", random.Random(0)
    np.savez_compressed(path, weights=np.arange(600, dtype=np.float32).reshape(20, 30), name="a")
    original = path.read_bytes()
    for _ in range(500):
        data = bytearray(original)
        for _ in range(chance.choice((1, 3, 10))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data[: chance.choice((len(data), chance.randrange(len(data))))])
        with suppress(UsageError):
            read_arrays(path, ["weights", "name"])


def test_arrays_are_read_as_numpy_reads_them(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {
        "a": np.arange(6, dtype=np.int16).reshape(2, 3),
        "f": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "scalar": np.array(7),
        "name": np.array("words"),
    }
    np.savez(tmp_path / "a.npz", **arrays)
    found = read_arrays(tmp_path / "a.npz", arrays)
    for name, array in arrays.items():
        assert np.array_equal(found[name], array)
        assert found[name].dtype == array.dtype
