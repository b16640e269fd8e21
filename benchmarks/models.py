"""Texts a second of the two models: one text a call in several threads, and batches in one call."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import numpy as np
import onnxruntime

from redargue.nli.session import WEIGHTS_FOLDER, CrossEncoder, Embedder

SENTENCE = (
    "The coastal railway between Port Veria and Old Brannick was rebuilt in 1904 after a storm had taken its bridges."
)


def main(arguments: list[str]) -> None:
    """Prints texts a second, and how far a text's vector moves with what stands beside it in a batch."""
    texts = [f"{SENTENCE} It cost {i} crowns." for i in range(400)]
    embedder, entailment = Embedder(), CrossEncoder()
    embedder.encode(texts[:20])
    entailment.read([(text, SENTENCE) for text in texts[:20]])
    figures: dict[str, Any] = {
        "embedder, one text a call": _rate(lambda: embedder.encode(texts), len(texts)),
        "entailment, one pair a call": _rate(
            lambda: entailment.read([(text, SENTENCE * 2) for text in texts]), len(texts)
        ),
    }
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = os.cpu_count() or 1
    session = onnxruntime.InferenceSession(
        str(WEIGHTS_FOLDER / "embedder.onnx"), options, providers=["CPUExecutionProvider"]
    )
    tokenizer = embedder._session.tokenizer  # the same tokens, in another way of running them

    def batched(part: list[str]) -> Any:
        rows = tokenizer.encode_batch(part)
        longest = max(len(row.ids) for row in rows)
        ids = np.array([row.ids + [0] * (longest - len(row.ids)) for row in rows], np.int64)
        mask = np.array([[1] * len(row.ids) + [0] * (longest - len(row.ids)) for row in rows], np.int64)
        return session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})[0]

    figures["embedder, batches of 32"] = _rate(
        lambda: [batched(texts[i : i + 32]) for i in range(0, 400, 32)], len(texts)
    )
    alone, beside = embedder.encode(texts[:1])[0], batched([texts[0], "Short.", "x " * 120])[0]
    figures["cosine of a text alone and in a batch"] = round(float(alone @ beside), 6)
    print(json.dumps(figures, indent=1))


def _rate(work: Any, count: int) -> float:
    started = time.perf_counter()
    work()
    return round(count / (time.perf_counter() - started), 1)
