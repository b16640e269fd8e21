"""Reads arrays from ``.npz`` files: the only way to ``numpy.load``.

Sizes, types and shapes are checked before any memory is taken: a member of a ZIP file can claim any.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from redargue.errors import UsageError

LARGEST = 64 * 2**20  # bytes of all arrays together
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_HINT = "reinstall redargue: its wheel contains the file"


def read_arrays(path: Path, names: Iterable[str]) -> dict[str, npt.NDArray[Any]]:
    """The arrays of these names; further ones are not read.

    Raises:
        UsageError: the file is missing, damaged or too large, lacks an array, or has one that is not of plain numbers
            or text.
    """
    try:
        with zipfile.ZipFile(path) as file:
            sizes = {member.filename: member.file_size for member in file.infolist()}
            wanted = [f"{name}.npy" for name in names]
            if sum(sizes.get(name, 0) for name in wanted) > LARGEST:
                raise ValueError(f"its arrays are larger than {LARGEST:,} bytes")
            return {name.removesuffix(".npy"): _array(file, name, sizes[name]) for name in wanted}
    except KeyError as error:
        raise UsageError(
            f"{str(path)!r} has no array {str(error.args[0]).removesuffix('.npy')!r}", hint=_HINT
        ) from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error}", hint=_HINT) from None


def _array(file: zipfile.ZipFile, name: str, size: int) -> npt.NDArray[Any]:
    with file.open(name) as member:
        version = np.lib.format.read_magic(member)
        if version not in _HEADERS:
            raise ValueError(f"{name!r} has the unknown version {version}")
        try:
            shape, by_columns, dtype = _HEADERS[version](member)
        except Exception as error:  # of Python's parser, too
            raise ValueError(f"{name!r} has a header that cannot be read: {error!r:.200}") from None
        if dtype.hasobject or dtype.kind not in "biufU":
            raise ValueError(f"{name!r} has the type {dtype}, and only plain numbers and text are read")
        length = prod(shape) * dtype.itemsize
        if any(extent < 0 for extent in shape) or not 0 <= length < size:
            raise ValueError(f"{name!r} has {size:,} bytes, too few for the shape {shape}")
        data = member.read(length + 1)
        if len(data) != length:
            raise ValueError(f"{name!r} has not the {length:,} bytes of its shape {shape}")
        return np.frombuffer(data, dtype).reshape(shape, order="F" if by_columns else "C")
