"""Averages the weights of several runs.

``python average.py build/a build/b --shares 2 3 --out build/entailment``. The runs have to start from the same base
weights; an output that some of them lack is averaged over the others. ``--bias`` moves the classifier's intercepts of
SUPPORTS, REFUTES and NEI, as even rows chose.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import torch
from data import LABELS
from safetensors.torch import load_file, save_file


def _mean(weights: list[torch.Tensor], shares: list[float]) -> torch.Tensor:
    """The weighted mean; of rows that only some runs have, over those runs."""
    longest = max(len(each) for each in weights)
    shared = [(each, share) for each, share in zip(weights, shares, strict=True) if len(each) == longest]
    mean = sum(share * each for each, share in shared) / sum(share for _, share in shared)
    least = min(len(each) for each in weights)
    if least < longest:
        mean[:least] = sum(share * each[:least] for each, share in zip(weights, shares, strict=True)) / sum(shares)
    return mean


def main() -> None:
    """Writes the mean weights to ``--out``, with the first run's configuration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--shares", type=float, nargs="+", required=True)
    parser.add_argument("--bias", type=float, nargs=len(LABELS), default=[0.0] * len(LABELS))
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    every = [load_file(run / "model.safetensors") for run in args.runs]
    args.out.mkdir(parents=True, exist_ok=True)
    shutil.copy(args.runs[0] / "config.json", args.out / "config.json")
    mean = {name: _mean([each[name] for each in every], args.shares) for name in every[0]}
    mean["classifier.bias"][: len(LABELS)] += torch.tensor(args.bias)
    save_file(mean, args.out / "model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    main()
