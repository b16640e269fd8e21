"""Exports the two models to ONNX, quantises them to int8 per channel and measures the loss of accuracy.

``python export.py --entailment build/entailment --out ../src/redargue/nli/weights``
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from data import LABELS, data_folder, is_even, read_pairs
from onnxruntime.quantization import QuantType, quantize_dynamic
from train_entailment import DEV_SETS, WEIGHTS_SHA256, base_folder, scores, tokenizer
from transformers import AutoModel, AutoModelForSequenceClassification


class SentenceVector(torch.nn.Module):
    """The encoder with mean pooling over the mask and a unit-length output."""

    def __init__(self, encoder: torch.nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
    ) -> torch.Tensor:
        """Vectors of shape (texts, 384)."""
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)[0]
        mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
        return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)


class Logits(torch.nn.Module):
    """The classifier with a tensor as output."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
    ) -> torch.Tensor:
        """Logits of shape (pairs, outputs)."""
        return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).logits


# The first feed-forward layers stay in fp32: a few of their inputs are large, and one scale would change the logits
# more than all other layers together. This costs 5 MB and a quarter of the speed.
COARSE = r"encoder/layer\.[012]/output/dense/MatMul"


def export(module: torch.nn.Module, fp32: Path, int8: Path, keep: str = "") -> None:
    """Writes the module as fp32 ONNX, then as int8 (per channel: otherwise the vectors change by 4 %).

    Args:
        module: takes ids, mask and segments.
        fp32: where it goes as it is.
        int8: where it goes quantised.
        keep: names of the nodes that are not, as a pattern.
    """
    module.eval()
    ids = torch.ones((2, 8), dtype=torch.int64)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    axes = {name: {0: "batch", 1: "tokens"} for name in names} | {"output": {0: "batch"}}
    torch.onnx.export(
        module,
        (ids, ids, torch.zeros_like(ids)),
        str(fp32),
        input_names=names,
        output_names=["output"],
        dynamic_axes=axes,
        opset_version=17,
        dynamo=False,
    )
    names = [node.name for node in onnx.load(fp32).graph.node if keep and re.search(keep, node.name)]
    quantize_dynamic(fp32, int8, per_channel=True, weight_type=QuantType.QInt8, nodes_to_exclude=names)


def run(path: Path, rows: list) -> np.ndarray:
    """The model's output for each tokenised row, one at a time, as the package runs it."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    out = []
    for row in rows:
        feed = {"input_ids": [row.ids], "attention_mask": [row.attention_mask], "token_type_ids": [row.type_ids]}
        out.append(session.run(None, {name: np.asarray(value, np.int64) for name, value in feed.items()})[0][0])
    return np.stack(out)


def main() -> None:
    """Exports, quantises, copies the tokenizer and prints the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entailment", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--half", choices=("even", "odd"), default="even")
    parser.add_argument("--rows", type=int, default=400)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    base, data = base_folder(), data_folder()
    with tempfile.TemporaryDirectory() as folder:
        fp32 = {name: Path(folder) / f"{name}.fp32.onnx" for name in ("embedder", "entailment")}
        export(
            SentenceVector(AutoModel.from_pretrained(base, attn_implementation="eager")),
            fp32["embedder"],
            args.out / "embedder.onnx",
        )
        export(
            Logits(AutoModelForSequenceClassification.from_pretrained(args.entailment, attn_implementation="eager")),
            fp32["entailment"],
            args.out / "entailment.onnx",
            keep=COARSE,
        )
        shutil.copy(base / "tokenizer.json", args.out / "tokenizer.json")
        names = ("embedder.onnx", "entailment.onnx", "tokenizer.json")
        sha256 = {name: hashlib.sha256((args.out / name).read_bytes()).hexdigest() for name in names}
        (args.out / "manifest.json").write_text(json.dumps({"base": WEIGHTS_SHA256, "sha256": sha256}, indent=1) + "\n")
        report: dict[str, object] = {"bytes": {p.name: p.stat().st_size for p in sorted(args.out.iterdir())}}
        tk = tokenizer(base, 160)
        tk.no_padding()
        for name in DEV_SETS:
            pairs = [
                p for p in read_pairs(data / "dev" / f"{name}.jsonl.gz") if is_even(p.claim) == (args.half == "even")
            ]
            pairs = pairs[: args.rows]
            rows = tk.encode_batch([(p.claim, p.evidence) for p in pairs])
            both = {
                kind: run(path, rows)[:, : len(LABELS)].argmax(-1).tolist()
                for kind, path in (("fp32", fp32["entailment"]), ("int8", args.out / "entailment.onnx"))
            }
            report[name] = {kind: scores([p.label for p in pairs], said) for kind, said in both.items()}
        texts = tk.encode_batch([p.evidence for p in pairs[:200]])
        report["embedder_cosine"] = float(
            (run(fp32["embedder"], texts) * run(args.out / "embedder.onnx", texts)).sum(-1).mean()
        )
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
