"""Averages the weights of several runs: one model, with some of what each of them learned.

``python average.py build/a build/b --shares 2 3 --out build/entailment``. The runs have to start from the same base
weights. ``--support-bias`` moves the classifier's intercept of SUPPORTS, which long evidence makes too likely.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from data import LABELS
from safetensors.torch import load_file, save_file


def main() -> None:
    """Writes the mean of the runs' weights to ``--out``, with the first run's configuration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--shares", type=float, nargs="+", required=True)
    parser.add_argument("--support-bias", type=float, default=0.0)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    every = [load_file(run / "model.safetensors") for run in args.runs]
    args.out.mkdir(parents=True, exist_ok=True)
    shutil.copy(args.runs[0] / "config.json", args.out / "config.json")
    shares = [share / sum(args.shares) for share in args.shares]
    mean = {name: sum(share * each[name] for share, each in zip(shares, every, strict=True)) for name in every[0]}
    mean["classifier.bias"][LABELS.index("SUPPORTS")] += args.support_bias
    save_file(mean, args.out / "model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    main()
