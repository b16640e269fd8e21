"""Reads the bundled cross-encoder's weights back from its ONNX file, to continue training from them.

The fp32 weights of a run are not kept. Dequantised int8 weights give the same answers as the bundled model.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper

WEIGHTS = Path(__file__).parents[1] / "src/redargue/nli/weights/entailment.onnx"


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
