"""Exports the large reader to ONNX below 100 MB: 8-bit weights, and 4-bit ones where little is lost.

``python export_reader.py --base FOLDER --weights FOLDER/checkpoint.pt … --out FOLDER``. Several checkpoints are
averaged. ``entailment.onnx`` has the weights, scaled in blocks. ``reader.onnx``, which ``--graph-only`` writes anew,
computes with one scale for each output of a matrix (``redargue.nli.model_files.unpacked``) and one for each token, so
that no input's result depends on its neighbours.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from onnxruntime.quantization.matmul_nbits_quantizer import DefaultWeightOnlyQuantConfig, MatMulNBitsQuantizer
from onnxruntime.quantization.quant_utils import QuantFormat
from train_reader import base_model

HIGHEST = 63  # of a weight: on processors without VNNI, two products with 8-bit activations have to fit into 16 bits
FOUR_BITS = r"layer\.(?:[3-9]|1[01])/(?:intermediate|output)/dense"  # of most feed-forward layers
BLOCK = {4: 32, 8: 128}  # weights that share a scale
START, END = "<s>", "</s>"


class Logits(torch.nn.Module):
    """The classifier with a tensor as output."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Logits of shape (pairs, outputs)."""
        return self.model(input_ids=input_ids, attention_mask=attention_mask).logits


def averaged(paths: list[Path]) -> dict[str, torch.Tensor]:
    """The mean of the checkpoints' weights."""
    states = [torch.load(path, weights_only=True)["model"] for path in paths]
    return {name: torch.stack([state[name].double() for state in states]).mean(0).float() for name in states[0]}


def export(model: torch.nn.Module, path: Path) -> None:
    """Writes the model as fp32 ONNX."""
    ids = torch.ones((2, 8), dtype=torch.int64) * 5
    names = ["input_ids", "attention_mask"]
    axes = {name: {0: "batch", 1: "tokens"} for name in names} | {"output": {0: "batch"}}
    torch.onnx.export(
        Logits(model).eval(),
        (ids, torch.ones_like(ids)),
        str(path),
        input_names=names,
        output_names=["output"],
        dynamic_axes=axes,
        opset_version=17,
        dynamo=False,
    )


def quantised(model: onnx.ModelProto, four_bits: str) -> onnx.ModelProto:
    """The model with all large matrices in 8 bits, or 4 where the node's name has the pattern; 8-bit embeddings."""
    names = [node.name for node in model.graph.node if node.op_type == "MatMul"]
    few = [name for name in names if four_bits and re.search(four_bits, name)]
    for bits, others in ((4, [name for name in names if name not in few]), (8, few)):
        config = DefaultWeightOnlyQuantConfig(
            block_size=BLOCK[bits],
            is_symmetric=bits == 8,
            accuracy_level=4,
            quant_format=QuantFormat.QOperator,
            op_types_to_quantize=("MatMul",),
            bits=bits,
        )
        quantizer = MatMulNBitsQuantizer(model, nodes_to_exclude=others, algo_config=config)
        quantizer.process()
        model = quantizer.model.model
    _quantise_embeddings(model)
    return model


def _quantise_embeddings(model: onnx.ModelProto) -> None:
    """Word embeddings as int8 rows, each with a scale."""
    arrays = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in list(model.graph.node):
        if node.op_type != "Gather" or node.input[0] not in arrays:
            continue
        matrix = numpy_helper.to_array(arrays[node.input[0]])
        if matrix.ndim != 2 or matrix.size < 100_000:
            continue
        name, at = node.input[0], list(model.graph.node).index(node)
        scale = (np.abs(matrix).max(1, keepdims=True) / 127).astype(np.float32)
        scale[scale == 0] = 1.0
        rows = np.round(matrix / scale).astype(np.int8)
        model.graph.initializer.remove(arrays[name])
        model.graph.initializer.extend(
            [numpy_helper.from_array(rows, f"{name}_rows"), numpy_helper.from_array(scale, f"{name}_scale")]
        )
        made = [
            onnx.helper.make_node("Gather", [f"{name}_rows", node.input[1]], [f"{name}_row"]),
            onnx.helper.make_node("Cast", [f"{name}_row"], [f"{name}_float"], to=onnx.TensorProto.FLOAT),
            onnx.helper.make_node("Gather", [f"{name}_scale", node.input[1]], [f"{name}_factor"]),
            onnx.helper.make_node("Mul", [f"{name}_float", f"{name}_factor"], [node.output[0]]),
        ]
        model.graph.node.remove(node)
        for step in reversed(made):
            model.graph.node.insert(at, step)


def integer_graph(model: onnx.ModelProto, weights: str, sha256: str) -> onnx.ModelProto:
    """The computation with matrices of int8 instead of blocks, without weights; it names the file that has them."""
    graph, kept = model.graph, {}
    arrays = {tensor.name: tensor for tensor in graph.initializer}
    for name, value in (("step", np.float32(1 / 127)), ("middle", np.uint8(128)), ("tiny", np.float32(1e-9))):
        kept[name] = numpy_helper.from_array(np.asarray(value), name)
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        if node.op_type != "MatMulNBits":
            nodes.append(node)
            continue
        shape = {attribute.name: attribute.i for attribute in node.attribute}
        tokens, matrix, result = node.input[0], node.input[1].rpartition("_Q")[0], node.output[0]
        columns, shares, most = f"{matrix}_columns", f"{tokens}/shares", f"{tokens}/most"
        kept[matrix] = _left_out(matrix, [shape["K"], shape["N"]], onnx.TensorProto.INT8, weights)
        kept[columns] = numpy_helper.from_array(_columns(node, arrays), columns)
        if not any(most in made.output for made in nodes):
            nodes += [
                onnx.helper.make_node("Abs", [tokens], [f"{tokens}/sizes"]),
                onnx.helper.make_node("ReduceMax", [f"{tokens}/sizes"], [f"{tokens}/top"], axes=[-1], keepdims=1),
                onnx.helper.make_node("Max", [f"{tokens}/top", "tiny"], [most]),
                onnx.helper.make_node("Div", [tokens, most], [f"{tokens}/parts"]),
                onnx.helper.make_node("QuantizeLinear", [f"{tokens}/parts", "step", "middle"], [shares]),
            ]
        inputs, made = [shares, matrix, "step", columns, "middle"], f"{result}/shares"
        nodes.append(onnx.helper.make_node("MatMulIntegerToFloat", inputs, [made], domain="com.microsoft"))
        nodes.append(onnx.helper.make_node("Mul", [made, most], [result]))
    used = {name for node in nodes for name in node.input}
    for tensor in graph.initializer:
        if tensor.name in used:
            kept[tensor.name] = _left_out(tensor.name, tensor.dims, tensor.data_type, weights)
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(kept.values())
    onnx.helper.set_model_props(model, {weights: sha256})
    return model


def _columns(node: onnx.NodeProto, arrays: Mapping[str, onnx.TensorProto]) -> np.ndarray:
    """The scale of each output, by which no weight exceeds :data:`HIGHEST`."""
    packed, scales, *zeros = (numpy_helper.to_array(arrays[name]) for name in node.input[1:] if name)
    if zeros:
        packed, zero = (np.stack([each & 15, each >> 4], -1).reshape(*each.shape[:-1], -1) for each in (packed, *zeros))
        zero = zero[:, : packed.shape[1], np.newaxis].astype(np.float32)
    else:
        zero = np.float32(128)
    sizes = np.abs((packed - zero) * scales.reshape(len(packed), -1, 1))
    return np.maximum(sizes.max((1, 2)) / HIGHEST, np.finfo(np.float32).tiny).astype(np.float32)


def _left_out(name: str, shape: Sequence[int], kind: int, file: str) -> onnx.TensorProto:
    tensor = onnx.TensorProto(name=name, dims=shape, data_type=kind, data_location=onnx.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=file)
    return tensor


def tokenizer_of(base: Path) -> dict[str, object]:
    """The base tokenizer in the form that the package reads: pairs by a template, no truncation, no padding."""
    made = json.loads((base / "tokenizer.json").read_text(encoding="utf-8"))
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    made["added_tokens"] = [
        {"id": token["id"], "content": token["content"], **plain}
        for token in made["added_tokens"]
        if token["content"] != "<unk>"
    ]
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    start, end = ({"SpecialToken": {"id": token, "type_id": 0}} for token in (START, END))
    ids = made["model"]["vocab"]
    made["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [start, first, end],
        "pair": [start, first, end, end, second, end],
        "special_tokens": {token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in (START, END)},
    }
    return made | {"truncation": None, "padding": None}


def main() -> None:
    """Exports, quantises and writes the package's files but the fitted weights of the aggregation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path)
    parser.add_argument("--weights", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--four-bits", default=FOUR_BITS, metavar="PATTERN")
    parser.add_argument("--fp32", type=Path, help="keep the unquantised model here, to compare with")
    parser.add_argument("--graph-only", action="store_true", help="write reader.onnx for the weights in --out")
    args = parser.parse_args()
    if not args.graph_only and not (args.base and args.weights):
        parser.error("--base and --weights are needed, unless --graph-only is given")
    args.out.mkdir(parents=True, exist_ok=True)
    weights = args.out / "entailment.onnx"
    if not args.graph_only:
        model = base_model(args.base)
        model.load_state_dict(averaged(args.weights))
        with tempfile.TemporaryDirectory() as folder:
            full = args.fp32 or Path(folder) / "reader.onnx"
            export(model, full)
            onnx.save(quantised(onnx.load(full), args.four_bits), weights)
        text = json.dumps(tokenizer_of(args.base), ensure_ascii=False, separators=(",", ":"))
        (args.out / "tokenizer.json").write_text(text, encoding="utf-8")
    graph = integer_graph(onnx.load(weights), weights.name, hashlib.sha256(weights.read_bytes()).hexdigest())
    (args.out / "reader.onnx").write_bytes(graph.SerializeToString(deterministic=True))
    files = {name: (args.out / name).read_bytes() for name in ("entailment.onnx", "reader.onnx", "tokenizer.json")}
    manifest_path = args.out / "manifest.json"
    manifest = json.loads(manifest_path.read_text()) if manifest_path.exists() else {}
    manifest["sha256"] = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    manifest_path.write_text(json.dumps(manifest, indent=1) + "\n")
    print(json.dumps({name: len(content) for name, content in files.items()}))


if __name__ == "__main__":
    main()
