"""Reads the weights of both bundled readers back from their ONNX files, to continue training from them.

The fp32 weights of a run are not kept. Dequantised weights give the same answers as the bundled models.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper

WEIGHTS = Path(__file__).parents[1] / "src/redargue/nli/weights/entailment.onnx"
READER = Path(__file__).parents[1] / "packages/redargue-reader/redargue_reader/entailment.onnx"


def shipped_weights(path: Path = WEIGHTS) -> dict[str, torch.Tensor]:
    """The state of a ``BertForSequenceClassification``, by parameter name."""
    graph = onnx.load(path).graph
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights = {name.removeprefix("model."): array for name, array in arrays.items() if re.match(r"model\.\w", name)}
    weights = {name: array for name, array in weights.items() if not re.search(r"_(quantized|scale|zero_point)$", name)}
    for node in graph.node:
        if node.op_type in ("Gather", "MatMulInteger", "MatMul", "Gemm"):
            source = next((name for name in node.input if name.endswith("_quantized") and name in arrays), None)
            source = source or next(
                (name for name in node.input if name.startswith("onnx::MatMul") and name in arrays), None
            )
            if source is None:
                continue
            parameter = re.sub(r"_quant$", "", node.name).strip("/").removeprefix("model/").rsplit("/", 1)[0]
            matrix = _dequantised(source, arrays)
            transposed = node.op_type != "Gather"
            weights[f"{parameter.replace('/', '.')}.weight"] = matrix.T if transposed else matrix
    return {name: torch.tensor(np.ascontiguousarray(array, np.float32)) for name, array in weights.items()}


def _dequantised(name: str, arrays: dict[str, np.ndarray]) -> np.ndarray:
    if not name.endswith("_quantized"):
        return arrays[name]
    stem = name.removesuffix("_quantized")
    return (arrays[name].astype(np.float32) - arrays[f"{stem}_zero_point"]) * arrays[f"{stem}_scale"]


def reader_weights(path: Path = READER) -> dict[str, torch.Tensor]:
    """The state of the large reader, by parameter name, without its embeddings, which are its base's."""
    graph = onnx.load(path).graph
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights = {name.removeprefix("model."): each for name, each in arrays.items() if re.match(r"model\.\w", name)}
    weights = {name: each for name, each in weights.items() if "embeddings" not in name}
    for node in graph.node:
        if node.op_type == "MatMulNBits":
            parameter = node.name.strip("/").removeprefix("model/").rsplit("/", 1)[0].replace("/", ".")
            weights[f"{parameter}.weight"] = _of_blocks(node, arrays)
    return {name: torch.tensor(np.ascontiguousarray(each, np.float32)) for name, each in weights.items()}


def _of_blocks(node: onnx.NodeProto, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """A matrix of 4-bit or 8-bit weights whose blocks have a scale, and a zero point unless they are symmetric."""
    given = {attribute.name: attribute.i for attribute in node.attribute}
    rows, bits = given["N"], given["bits"]
    values = arrays[node.input[1]].reshape(rows, -1, given["block_size"] * bits // 8)
    scales = arrays[node.input[2]].reshape(rows, -1, 1)
    zeros: np.ndarray | int = 1 << (bits - 1)
    if len(node.input) > 3 and node.input[3]:
        zeros = _unpacked(arrays[node.input[3]].reshape(rows, -1), bits)[:, : scales.shape[1], None]
    whole = (_unpacked(values, bits).astype(np.float32) - zeros) * scales
    return whole.reshape(rows, -1)[:, : given["K"]]


def _unpacked(packed: np.ndarray, bits: int) -> np.ndarray:
    """The values of bytes that hold one, or two with the lower half first."""
    if bits == 8:
        return packed
    return np.stack([packed & 15, packed >> 4], -1).reshape(*packed.shape[:-1], -1)
