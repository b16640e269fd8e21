"""Mixes the weights of ``train_contrast.py`` with those it began from, as a folder that ``export.py`` reads."""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from shipped import WEIGHTS, shipped_weights
from train_contrast import classifier


def main() -> None:
    """Saves the mix: a share of the first model keeps more of what it knew than the last one does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("state", type=Path, help="weights of the last step")
    parser.add_argument("--first", type=Path, default=WEIGHTS, help="the ONNX file of the model that was continued")
    parser.add_argument("--share", type=float, default=0.8, help="of the last step's weights, in [0, 1]")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    last, first = torch.load(args.state), shipped_weights(args.first)
    model = classifier({name: args.share * last[name] + (1 - args.share) * first[name] for name in first})
    model.save_pretrained(args.out)


if __name__ == "__main__":
    main()
