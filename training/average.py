"""Averages the weights of several runs: one model, with some of what each of them learned.

``python average.py build/a build/b --out build/entailment``. The runs have to start from the same base weights.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from safetensors.torch import load_file, save_file


def main() -> None:
    """Writes the unweighted mean of the runs' weights to ``--out``, with the first run's configuration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    every = [load_file(run / "model.safetensors") for run in args.runs]
    args.out.mkdir(parents=True, exist_ok=True)
    shutil.copy(args.runs[0] / "config.json", args.out / "config.json")
    mean = {name: sum(weights[name] for weights in every) / len(every) for name in every[0]}
    save_file(mean, args.out / "model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    main()
