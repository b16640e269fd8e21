"""Fits the linear model that tells sentences that can be checked from others (``redargue.nli.claim_filter``).

Needs redargue and scikit-learn. The lines of ``claim_lines.txt`` were written for this; claims and evidence of the
training data stand for plain statements, with a small weight. Chat lines are only measured (``python -m benchmarks
claims``).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from redargue.nli.claim_filter import WEIGHTS_FILE, candidates, sentence_features
from redargue.nli.session import WEIGHTS_FOLDER, file_sha256, shared

SEED = 5
STRENGTH = 0.1  # inverse of the L2 penalty
PLAIN_WEIGHT = 0.1  # of a statement from the training data
SHORTEST = 25  # characters of a sentence of evidence

Line = tuple[str, bool]


def written() -> list[Line]:
    """The last sentence of a line with a claim, every sentence of one without, and some claims without a full stop."""
    lines = (Path(__file__).parent / "claim_lines.txt").read_text(encoding="utf-8").splitlines()
    rows: list[Line] = []
    for line in lines:
        parts, is_claim = list(candidates(line[2:])), line.startswith("+")
        rows += [(part, is_claim) for part in (parts[-1:] if is_claim else parts)]
    stopped = [text for text, is_claim in rows if is_claim]
    return rows + [(text.rstrip("."), True) for text in random.Random(SEED).sample(stopped, 60)]


def plain(folder: Path) -> list[Line]:
    contrasts, fever = (
        _rows(folder / "written/contrast_train.jsonl.gz"),
        _rows(folder / "train/fever_text10k.train.jsonl.gz"),
    )
    texts = [row["claim"] for row in (*contrasts[:1500], *fever[:1000])]
    for row in fever[1000:1300]:
        texts += [part for part in candidates(row["evidence"]) if len(part) > SHORTEST]
    return [(part, True) for text in texts for part in list(candidates(text))[-1:]]


def _rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    random.Random(SEED).shuffle(rows)
    return rows


def main() -> None:
    own, others = written(), plain(Path(os.environ["REDARGUE_DATA"]))
    rows = own + others
    matrix = sentence_features([text for text, _ in rows], shared())
    labels = np.array([is_claim for _, is_claim in rows])
    weights = np.array([1.0] * len(own) + [PLAIN_WEIGHT] * len(others))
    model = LogisticRegression(C=STRENGTH, max_iter=1000, class_weight="balanced").fit(matrix, labels, weights)
    fitted = np.concatenate([model.intercept_, model.coef_[0]]).astype(np.float16)
    np.savez_compressed(WEIGHTS_FILE, weights=fitted, embedder=file_sha256(WEIGHTS_FOLDER / "embedder.onnx"))
    digest = hashlib.sha256("\n".join(text for text, _ in rows).encode()).hexdigest()
    right = (model.predict(matrix) == labels)[: len(own)].mean()
    print(json.dumps({"rows": len(rows), "written": len(own), "sha256": digest, "right of written": round(right, 3)}))


main()
