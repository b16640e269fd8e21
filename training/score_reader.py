"""Scores a checkpoint of the large reader alone: whole documents, no retrieval, no rules.

``python score_reader.py --base FOLDER --weights FOLDER/checkpoint.pt --half even --rows 300``. ``--weights bundled``
names the package's. The set ``documents`` has those of ``written.jsonl`` that are not trained on, each claim beside
what decides it. One JSON line a set: accuracy and macro-F1 of three labels, share of decided claims on the wrong side,
and for sets of two labels the balanced accuracy of SUPPORTS against the rest.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
from pathlib import Path

import torch
from contrast_mix import evidence_of
from data import LABELS, Pair, data_folder, is_even
from reader_mix import CODES, NOT_SUPPORTED
from train_entailment import scores
from train_reader import base_model, inputs, reader_tokenizer
from written import decisive_pairs, documents

SUPPORTS, REFUTES, NEI = range(len(LABELS))
DEV = ("fever_nli.paper_test", "scifact.dev", "healthver.dev", "feverous.dev")
GROUNDING = ("summedits", "bump", "expertqa", "faithbench", "qags", "scitab", "control")


def read(path: Path, half: str, rows: int, *, by: str = "claim") -> list[Pair]:
    """The first rows of one half of a file, titles before texts."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        every = [json.loads(line) for line in lines]
    kept = [row for row in every if is_even(row[by]) == (half == "even")]
    kept.sort(key=lambda row: hashlib.sha1(row["claim"].encode()).digest())  # not the file's order
    return [Pair(row["claim"], evidence_of({"title": "", **row}), CODES[row["label"]]) for row in kept[:rows]]


@torch.inference_mode()
def shares(model: torch.nn.Module, tk: object, pairs: list[Pair]) -> torch.Tensor:
    """The probabilities of the labels, of shape (pairs, 3)."""
    order = sorted(range(len(pairs)), key=lambda at: len(pairs[at].claim) + len(pairs[at].evidence))
    out = torch.zeros(len(pairs), len(LABELS))
    for start in range(0, len(order), 8):
        part = order[start : start + 8]
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(**inputs(tk, [pairs[at] for at in part])).logits[:, : len(LABELS)]
        out[part] = torch.softmax(logits.float(), -1)
    return out


def summary(pairs: list[Pair], said: torch.Tensor) -> dict[str, float]:
    """The figures of one set."""
    gold = [pair.label for pair in pairs]
    labels = said.argmax(-1).tolist()
    if NOT_SUPPORTED in gold:
        supported = torch.tensor([label == SUPPORTS for label in gold])
        balanced = [
            (said[supported, SUPPORTS] > 0.5).float().mean(),
            (said[~supported, SUPPORTS] <= 0.5).float().mean(),
        ]
        above = (said[supported, SUPPORTS][:, None] > said[~supported, SUPPORTS][None]).float().mean()
        return {"n": len(gold), "balanced": round(float(sum(balanced) / 2), 3), "auc": round(float(above), 3)}
    decided = [at for at, label in enumerate(gold) if label != NEI]
    wrong = sum(labels[at] not in (gold[at], NEI) for at in decided) / max(1, len(decided))
    surest = sorted(decided, key=lambda at: -float(said[at, :2].max()))
    risk = {}
    for share in (20, 40, 60):
        top = surest[: len(surest) * share // 100]
        risk[f"wrong_{share}"] = round(
            sum(bool(said[at, 0] > said[at, 1]) != (gold[at] == SUPPORTS) for at in top) / max(1, len(top)), 3
        )
    return scores(gold, labels) | {"wrong_side": round(wrong, 3)} | {name: float(value) for name, value in risk.items()}


def main() -> None:
    """Prints one line for each set, and for each kind of contrast."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--weights", required=True)
    parser.add_argument("--half", choices=("even", "odd"), default="even")
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--length", type=int, default=448)
    parser.add_argument("--sets", nargs="*", help="of contrast_test, documents, dev and grounding; default: all")
    args = parser.parse_args()
    torch.set_num_threads(2)
    model = base_model(args.base, args.weights).eval()
    tk, data = reader_tokenizer(args.base, args.length), data_folder()
    files = {"contrast_test": (data / "written/contrast_test.jsonl.gz", "evidence")}
    files |= {name: (data / "dev" / f"{name}.jsonl.gz", "claim") for name in DEV}
    files |= {name: (data / "grounding" / f"{name}.jsonl.gz", "claim") for name in GROUNDING}
    for name in ("documents", *files):
        if args.sets and name not in args.sets:
            continue
        if name == "documents":
            pairs = decisive_pairs([document for document in documents() if document.held_out])
        else:
            path, by = files[name]
            pairs = read(path, args.half, 2_000 if name == "contrast_test" else args.rows, by=by)
        print(json.dumps({"set": name, "half": args.half} | summary(pairs, shares(model, tk, pairs))), flush=True)


if __name__ == "__main__":
    main()
