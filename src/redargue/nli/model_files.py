"""Reads arrays and ONNX files, which may come from strangers."""

from __future__ import annotations

import mmap
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import numpy.typing as npt

from redargue.errors import RedargueError, UsageError

# Arrays of ``.npz`` files. Sizes, types and shapes are checked before any memory is taken: a member of a ZIP file can
# claim any.

LARGEST_ARRAYS = 64 * 2**20  # bytes of all arrays together
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
            if sum(sizes.get(name, 0) for name in wanted) > LARGEST_ARRAYS:
                raise ValueError(f"its arrays are larger than {LARGEST_ARRAYS:,} bytes")
            return {name.removesuffix(".npy"): _array(file, name, sizes[name]) for name in wanted}
    except KeyError as error:
        missing = str(error.args[0]).removesuffix(".npy")
        raise UsageError(f"{str(path)!r} has no array {missing!r}", hint=_HINT) from None
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


# ONNX files. A model is a program without files or network, except that its weights can be in files that it names.
# Those have to be in its folder. A model of a user's that computes without end is stopped.

LARGEST = 2**31  # bytes: what a file in this format can have without further files
LONGEST_RUN = 300.0  # seconds for one text
HINT = "export the model to ONNX again, with standard operators and its weights in the same folder"
_CHILDREN = {  # of the messages that can contain a tensor, by the number of the field
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
}


class OnnxFile:
    """A loaded model, whose runs use one thread.

    Args:
        path: of the file.
        bounded: stop a run after :data:`LONGEST_RUN` seconds.

    Raises:
        UsageError: the file cannot be loaded, or its weights are outside of its folder.
    """

    def __init__(self, path: Path, *, bounded: bool = True) -> None:
        import onnxruntime  # takes 0.2 s, and other backends do not need it

        self._path, self._runtime, self._bounded = path, onnxruntime, bounded
        _require_contained(path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4 if bounded else 3
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
            self.inputs = {tensor.name for tensor in self._session.get_inputs()}
        except Exception as error:  # onnxruntime's have no base class
            raise self._problem("cannot be loaded", error) from None

    def run(self, inputs: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """The first output for inputs of which the model takes those it has; at least one axis, the batch.

        Raises:
            UsageError: the model takes another input, fails, is stopped, or its first output is no array of numbers.
        """
        if missing := self.inputs - inputs.keys():
            known = ", ".join(sorted(inputs))
            raise UsageError(
                f"the model {str(self._path)!r} needs the input {min(missing)!r}; there are: {known}",
                hint="export it without past key values, and an encoder-decoder with input_ids, attention_mask and"
                " decoder_input_ids",
            )
        options = self._runtime.RunOptions()
        stop = Timer(LONGEST_RUN, setattr, (options, "terminate", True))
        stop.daemon = True
        try:
            if self._bounded:
                stop.start()
            output = self._session.run(None, {name: inputs[name] for name in self.inputs}, options)[0]
        except Exception as error:
            raise self._problem("cannot be run", error) from None
        finally:
            stop.cancel()
        if isinstance(output, np.ndarray) and output.dtype.kind in "fiu" and output.ndim and output.size:
            return output
        what = f"{output.dtype} of shape {output.shape}" if isinstance(output, np.ndarray) else type(output).__name__
        raise UsageError(f"the model {str(self._path)!r} returns no row of numbers, but {what}", hint=HINT)

    def _problem(self, what: str, error: Exception) -> RedargueError:
        why = str(error).strip().partition("\n")[0][:300]
        return UsageError(f"the model {str(self._path)!r} {what}: {why}", hint=HINT)


def _require_contained(path: Path) -> None:
    """Raises UsageError for a file that is too large or no regular one, and for weights outside of its folder."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or not 0 < status.st_size < LARGEST:
            what = f"the model {str(path)!r} is not a file of 1 to {LARGEST:,} bytes"
            raise UsageError(what, hint="weights of larger models are in further files")
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            named = sorted(set(_named_files(data)))
    except OSError as error:
        raise UsageError(f"the model {str(path)!r} cannot be read: {error.strerror or error}") from error
    except (ValueError, IndexError) as error:
        raise UsageError(f"the model {str(path)!r} cannot be loaded: {error or 'it is damaged'}", hint=HINT) from None
    folder = path.absolute().parent
    for name in named:
        if not _is_inside(folder, name):
            raise UsageError(
                f"the model {str(path)!r} names {name[:200]!r} for its weights, which is not a file in its folder",
                hint=HINT,
            )


def _is_inside(folder: Path, name: str) -> bool:
    if "\0" in name or Path(name).is_absolute() or ".." in Path(name).parts:
        return False
    file = (folder / name).resolve()
    roots = [folder.resolve()]
    if folder.parent.name == "snapshots":  # of a hub's cache, whose files are links
        roots.append(folder.parent.with_name("blobs").resolve())
    return file.is_file() and any(file.is_relative_to(root) for root in roots)


def _named_files(data: mmap.mmap) -> Iterator[str]:
    """The files that a model names for its weights; raises ValueError or IndexError if it cannot be read."""
    waiting = [("model", 0, len(data))]
    while waiting:
        kind, start, end = waiting.pop()
        entry: dict[int, bytes] = {}
        for number, begin, stop in _fields(data, start, end):
            child = _CHILDREN.get(kind, {}).get(number)
            if child:
                waiting.append((child, begin, stop))
            elif kind == "entry":
                entry[number] = data[begin:stop]
        if entry.get(1) == b"location":
            yield entry.get(2, b"").decode()


def _fields(data: mmap.mmap, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Number, begin and end of the fields of a message that have a length."""
    while start < end:
        key, start = _varint(data, start)
        match key & 7:
            case 0:
                _, start = _varint(data, start)
            case 1:
                start += 8
            case 2:
                length, start = _varint(data, start)
                yield key >> 3, start, start + length
                start += length
            case 5:
                start += 4
            case wire:
                raise ValueError(f"it is not an ONNX file (wire type {wire})")
        if start > end:
            raise ValueError("it is truncated")


def _varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("it is not an ONNX file")
