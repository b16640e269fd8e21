"""Fits the trees of ``nli/lexical.py`` on contrast rows; needs scikit-learn.

``python lexical_trees.py --out ../src/redargue/nli/weights/lexical.npz``
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from contrast_mix import contrast_rows, held_out
from data import LABELS, data_folder
from sklearn.ensemble import HistGradientBoostingClassifier

from redargue.nli.lexical import lexical_features
from redargue.nli.reader import SENTENCES, sentences
from redargue.nli.session import shared


def nearest(claim: str, texts: tuple[str, ...]) -> list[str]:
    """The sentences that the reader would read, in order."""
    vectors = shared(0).encode([claim, *texts])
    order = sorted(range(len(texts)), key=lambda at: -float(vectors[0] @ vectors[at + 1]))
    return [texts[at] for at in sorted(order[:SENTENCES])]


def table(rows: list[dict[str, str]]) -> tuple[np.ndarray, np.ndarray]:
    """Features of shape (rows, features) and the index of each label."""
    features = [
        lexical_features(row["claim"], row["title"], nearest(row["claim"], sentences(row["evidence"]))) for row in rows
    ]
    return np.array(features), np.array([LABELS.index(row["label"]) for row in rows])


def save(model: HistGradientBoostingClassifier, path: Path) -> None:
    """Writes all trees as the arrays that ``nli/lexical.py`` reads."""
    fields: dict[str, list[np.ndarray]] = {name: [] for name in ("feature", "threshold", "left", "right", "value")}
    roots, at, depth = [], 0, 0
    for trees in model._predictors:
        for tree in trees:
            nodes = tree.nodes
            leaf = nodes["is_leaf"].astype(bool)
            fields["feature"].append(np.where(leaf, -1, nodes["feature_idx"]).astype(np.int16))
            fields["threshold"].append(np.where(leaf, 0.0, nodes["num_threshold"]).astype(np.float64))
            fields["left"].append(np.where(leaf, 0, nodes["left"] + at).astype(np.int32))
            fields["right"].append(np.where(leaf, 0, nodes["right"] + at).astype(np.int32))
            fields["value"].append(np.where(leaf, nodes["value"], 0.0).astype(np.float32))
            roots.append(at)
            at, depth = at + len(nodes), max(depth, int(nodes["depth"].max()))
    arrays = {name: np.concatenate(parts) for name, parts in fields.items()}
    shape = (len(model._predictors), len(LABELS))
    baseline = model._baseline_prediction.ravel()
    np.savez_compressed(path, **arrays, roots=np.array(roots).reshape(shape), baseline=baseline, depth=depth)


def main() -> None:
    """Fits on all documents but the held-out ones, which are scored."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--share", type=float, default=1.0, help="of the training documents")
    args = parser.parse_args()
    rows = contrast_rows(data_folder())
    x, y = table(rows)
    kept = np.array([held_out(row["evidence"]) for row in rows])
    documents = sorted({row["evidence"] for row in rows})
    chosen = set(np.random.default_rng(1).permutation(documents)[: round(args.share * len(documents))].tolist())
    used = ~kept & np.array([row["evidence"] in chosen for row in rows])
    model = HistGradientBoostingClassifier(
        max_depth=4, max_iter=150, learning_rate=0.06, l2_regularization=5, min_samples_leaf=40, random_state=1
    ).fit(x[used], y[used])
    predicted = model.predict(x[kept])
    decided = y[kept] != LABELS.index("NEI")
    wrong = decided & (predicted != y[kept]) & (predicted != LABELS.index("NEI"))
    scores = {
        "rows": int(used.sum()),
        "accuracy": float(np.mean(predicted == y[kept])),
        "wrong_side": float(wrong.sum() / decided.sum()),
    }
    print(json.dumps(scores))
    save(model, args.out)


if __name__ == "__main__":
    main()
