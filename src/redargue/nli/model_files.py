"""Reads bundled arrays, and ONNX files, which may come from strangers."""

from __future__ import annotations

import math
import mmap
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import numpy.typing as npt

from redargue.errors import RedargueError, UsageError


def read_arrays(path: Path, names: Iterable[str]) -> dict[str, npt.NDArray[Any]]:
    """Arrays of these names from a bundled ``.npz`` file; raises UsageError where the installation is damaged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in names}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        hint = "reinstall redargue: its wheel contains the file"
        raise UsageError(f"{str(path)!r} cannot be read: {error}", hint=hint) from None


# ONNX files. A model is a program without files or network, except that its weights can be in files that it names.
# Those have to be in its folder. A model of a user's that computes without end is stopped.

LARGEST = 2**31  # bytes: what a file in this format can have without further files
LONGEST_RUN = 300.0  # seconds for one text
Tensor = npt.NDArray[Any]
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
        weights: those that the file leaves out, by name.

    Raises:
        UsageError: the file cannot be loaded, or its weights are outside of its folder.
    """

    def __init__(self, path: Path, *, bounded: bool = True, weights: Mapping[str, Tensor] | None = None) -> None:
        import onnxruntime  # takes 0.2 s, and other backends do not need it

        self._path, self._runtime, self._bounded = path, onnxruntime, bounded
        _require_contained(path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4 if bounded else 3
        weights = weights or {}
        try:
            values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in weights.values()]
            options.add_external_initializers(list(weights), values)
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


def _fields(data: mmap.mmap, start: int, end: int, *, integers: bool = False) -> Iterator[tuple[int, int, int]]:
    """Number, begin and end of the fields of a message that have a length, and of its integers if they are asked for.

    A stranger's message may have an integer in the place of a text, which protobuf's readers pass over.
    """
    while start < end:
        key, start = _varint(data, start)
        match key & 7:
            case 0:
                begin = start
                _, start = _varint(data, start)
                if integers:
                    yield key >> 3, begin, start
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


# The large reader's weights are kept in 4 and 8 bits, in blocks with a scale each: the file is below 100 MB. Its
# computation, a file of its own, is in integers, which takes half the time. There each output has one scale.

_TYPES = {1: np.float32, 2: np.uint8, 3: np.int8}  # by their numbers in ONNX
_ROWS = 32  # that are unpacked together: their numbers stay in the processor's cache
OUTPUT_SCALES = "_columns"  # after a matrix's name: the scales of its outputs


def unpacked(path: Path, computation: Path) -> dict[str, Tensor]:
    """The weights that a computation leaves out, by name; matrices as int8 of shape (inputs, outputs).

    Args:
        path: the file with the weights in blocks.
        computation: the file with the scales of the outputs.

    Raises:
        UsageError: a file is damaged.
    """
    try:
        tensors, columns = (_tensors(each) for each in (path, computation))
        matrices = [name.removesuffix(OUTPUT_SCALES) for name in columns if name.endswith(OUTPUT_SCALES)]
        with ThreadPoolExecutor() as pool:
            scaled = pool.map(lambda name: _by_column(tensors, name, columns[name + OUTPUT_SCALES]), matrices)
            weights = dict(zip(matrices, scaled, strict=True))
    except (OSError, ValueError, TypeError, OverflowError, LookupError) as error:
        hint = "reinstall redargue-reader: its wheel contains the file"
        what = f"{str(path)!r} and {computation.name!r} cannot be read: {error!r}"
        raise UsageError(what, hint=hint) from None
    return weights | {
        name: np.array(tensor) for name, tensor in tensors.items() if not name.startswith(tuple(matrices))
    }


def _by_column(tensors: Mapping[str, Tensor], name: str, columns: Tensor) -> Tensor:
    if f"{name}_Q8" in tensors:
        values = tensors[f"{name}_Q8"].view(np.int8) ^ np.int8(-128)
    else:
        values, zeros = (_halves(tensors[f"{name}_{part}"]).view(np.int8) for part in ("Q4", "zero_points"))
        values -= zeros[:, : values.shape[1], np.newaxis]
    outputs = len(values)
    scales = tensors[f"{name}_scales"].reshape(outputs, -1, 1) / columns[:, np.newaxis, np.newaxis]
    # Not from the heap, which would keep the memory when the model has made its own copy.
    weights = np.frombuffer(mmap.mmap(-1, values.size), np.int8).reshape(-1, outputs)
    for start in range(0, outputs, _ROWS):
        shares = values[start : start + _ROWS] * scales[start : start + _ROWS]
        weights[:, start : start + _ROWS] = np.rint(shares, out=shares).reshape(len(shares), -1).T
    return weights


def _halves(packed: Tensor) -> Tensor:
    """Both four bits of each byte, the lower ones first."""
    values = np.empty((*packed.shape[:-1], packed.shape[-1] * 2), np.uint8)
    values[..., 0::2], values[..., 1::2] = packed & 15, packed >> 4
    return values


def _tensors(path: Path) -> dict[str, Tensor]:
    """A file's tensors that have their values in it, by name."""
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    graphs = [(begin, stop) for number, begin, stop in _fields(data, 0, len(data)) if number == 7]
    found = [place for begin, stop in graphs for place in _fields(data, begin, stop)]
    tensors = [_tensor(data, begin, stop) for number, begin, stop in found if number == 5]
    return {name: tensor for name, tensor in tensors if tensor is not None}


def _tensor(data: mmap.mmap, start: int, end: int) -> tuple[str, Tensor | None]:
    shape, kind, name, raw = [], 0, "", 0
    for number, begin, stop in _fields(data, start, end, integers=True):
        match number:
            case 1:
                shape.append(_varint(data, begin)[0])
            case 2:
                kind = _varint(data, begin)[0]
            case 8:
                name = data[begin:stop].decode()
            case 9:
                raw = begin
    values = np.frombuffer(data, _TYPES[kind], offset=raw, count=math.prod(shape)).reshape(shape) if raw else None
    return name, values
