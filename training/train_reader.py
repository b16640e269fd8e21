"""Trains the large reader: MPNet-base as a cross-encoder with the labels' three outputs and relevance.

``python -m torch.distributed.run --nproc-per-node 2 train_reader.py --base FOLDER --out FOLDER``. One process a core
with one thread each; every ``--average`` steps their weights are averaged (local SGD): no other synchronisation.
The rate is constant after a warm-up, or with ``--cooling`` falls to zero. ``--mix`` names the pairs, and ``--weights``
those that training continues from. Every ``--every`` seconds a checkpoint is written; the same command resumes from it.

bf16 needs a processor with AVX-512 bf16; without it, it is emulated and many times slower.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import random
import time
from pathlib import Path

import torch
import torch.distributed
from data import LABELS, Pair, data_folder
from reader_mix import MIXES, NOT_SUPPORTED, reader_pairs
from shipped import reader_weights
from tokenizers import Tokenizer
from transformers import MPNetConfig, MPNetForSequenceClassification

WEIGHTS_SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
OUTPUTS = (*LABELS, "RELEVANT")
FROZEN_LAYERS = 4
WARM_UP = 150


def base_model(folder: Path, weights: str = "base") -> MPNetForSequenceClassification:
    """The base with a new head, or the bundled reader's or a checkpoint's weights; the lowest layers stay."""
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if digest != WEIGHTS_SHA256:
        raise SystemExit(f"{folder}/model.safetensors has sha256 {digest}, not {WEIGHTS_SHA256}")
    config = MPNetConfig.from_pretrained(
        folder, num_labels=len(OUTPUTS), hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    model = MPNetForSequenceClassification.from_pretrained(
        folder, config=config, dtype=torch.float32, attn_implementation="eager"
    )
    for part in (model.mpnet.embeddings, *model.mpnet.encoder.layer[:FROZEN_LAYERS]):
        part.requires_grad_(False)
    if weights == "bundled":
        read = model.load_state_dict(reader_weights(), strict=False)
        if read.unexpected_keys or any("embeddings" not in name for name in read.missing_keys):
            raise SystemExit(f"the bundled reader's weights do not fit: {read}")
    elif weights != "base":
        if not Path(weights).is_file():
            raise SystemExit(f"--weights {weights!r} is neither base, bundled nor a file")
        model.load_state_dict(torch.load(weights, weights_only=True)["model"])
    return model


def rate_at(step: int, last: int, args: argparse.Namespace) -> float:
    """The learning rate of a step: constant after a warm-up, or falling to zero."""
    warm = args.rate * min(1.0, step / WARM_UP)
    return warm * (last - step) / last if args.cooling else warm


def reader_tokenizer(folder: Path, length: int) -> Tokenizer:
    """The base tokenizer, truncating the longer text and padding to the longest input of a batch."""
    tk = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tk.enable_truncation(length, strategy="longest_first")
    tk.enable_padding(pad_id=1, pad_token="<pad>", pad_to_multiple_of=8)
    return tk


def inputs(tk: Tokenizer, pairs: list[Pair]) -> dict[str, torch.Tensor]:
    """Token ids and mask of a batch, each of shape (pairs, tokens)."""
    rows = tk.encode_batch([(pair.claim, pair.evidence) for pair in pairs])
    return {
        "input_ids": torch.tensor([row.ids for row in rows]),
        "attention_mask": torch.tensor([row.attention_mask for row in rows]),
    }


def loss_of(logits: torch.Tensor, pairs: list[Pair]) -> torch.Tensor:
    """Cross-entropy of the labels, where NOT_SUPPORTED is all that is not SUPPORTS; a fifth of that of relevance."""
    shares = torch.log_softmax(logits[:, : len(LABELS)], -1)
    unsupported = torch.logsumexp(shares[:, 1:], -1, keepdim=True)
    labels = torch.nn.functional.nll_loss(
        torch.cat([shares, unsupported], 1), torch.tensor([pair.label for pair in pairs])
    )
    relevant = torch.tensor([float("nan") if pair.label == NOT_SUPPORTED else pair.relevant for pair in pairs])
    known = ~relevant.isnan()
    if not known.any():
        return labels
    return labels + 0.2 * torch.nn.functional.binary_cross_entropy_with_logits(logits[known, -1], relevant[known])


def chunks_of(pairs: list[Pair], size: int, seed: int) -> list[list[Pair]]:
    """Batches of pairs of similar length, in an order of which every prefix is a fair sample."""
    rng = random.Random(seed)
    made = []
    for start in range(0, len(pairs), size * 32):
        part = sorted(pairs[start : start + size * 32], key=lambda pair: len(pair.claim) + len(pair.evidence))
        cuts = [part[at : at + size] for at in range(0, len(part), size)]
        rng.shuffle(cuts)
        made += cuts
    return made


def average(model: torch.nn.Module) -> None:
    """Sets the trained weights of both processes to their mean."""
    world = torch.distributed.get_world_size()
    with torch.no_grad():
        for weights in model.parameters():
            if weights.requires_grad:
                torch.distributed.all_reduce(weights)
                weights /= world


def main() -> None:
    """Trains until the pairs are used up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--batch", type=int, default=16, help="pairs of one process and step")
    parser.add_argument("--length", type=int, default=192)
    parser.add_argument("--rate", type=float, default=4e-5)
    parser.add_argument("--average", type=int, default=100)
    parser.add_argument("--every", type=float, default=900)
    parser.add_argument("--cooling", action="store_true", help="let the rate fall to zero")
    parser.add_argument("--most", type=int, help="pairs of the mix; default: all")
    parser.add_argument("--mix", choices=MIXES, default="first")
    parser.add_argument("--weights", default="base", help="base, bundled or a checkpoint")
    parser.add_argument("--seed", type=int, default=41)
    args = parser.parse_args()
    torch.distributed.init_process_group("gloo", timeout=datetime.timedelta(hours=12))
    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = base_model(args.base, args.weights).train()
    tk = reader_tokenizer(args.base, args.length)
    trained = [weights for weights in model.parameters() if weights.requires_grad]
    optimiser = torch.optim.AdamW(
        [
            {"params": [each for each in trained if each.ndim > 1], "weight_decay": 0.01},
            {"params": [each for each in trained if each.ndim < 2], "weight_decay": 0.0},
        ],
        lr=args.rate,
        fused=True,
    )
    args.out.mkdir(parents=True, exist_ok=True)
    checkpoint, done = args.out / "checkpoint.pt", 0
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        done = state["step"]
    pairs = reader_pairs(data_folder(), MIXES[args.mix], seed=args.seed)[: args.most]
    steps = chunks_of(pairs, args.batch * world, args.seed)
    last = len(steps)
    began, saved, first, running = time.monotonic(), time.monotonic(), done, 0.0

    def save(at: int) -> None:
        average(model)
        if rank == 0:
            partial = checkpoint.with_suffix(".part")
            torch.save({"model": model.state_dict(), "optimiser": optimiser.state_dict(), "step": at}, partial)
            partial.replace(checkpoint)

    for step in range(done + 1, last + 1):
        part = steps[step - 1][rank::world]
        for group in optimiser.param_groups:
            group["lr"] = rate_at(step, last, args)
        if part:
            with torch.autocast("cpu", torch.bfloat16):
                logits = model(**inputs(tk, part)).logits
            loss = loss_of(logits.float(), part)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=False)
            running = loss.item() if step == first + 1 else 0.98 * running + 0.02 * loss.item()
        if step % args.average == 0:
            due = torch.tensor([float(time.monotonic() - saved > args.every)])
            torch.distributed.broadcast(due, 0)
            if due.item():
                save(step)
                saved = time.monotonic()
            else:
                average(model)
            if rank == 0:
                rate = (step - first) * args.batch * world / (time.monotonic() - began)
                print(f"step {step}/{last} loss {running:.3f} {rate:.1f} pairs/s {time.strftime('%H:%M')}", flush=True)
    save(last)
    if rank == 0:
        (args.out / "log.json").write_text(
            json.dumps({"seed": args.seed, "rate": args.rate, "steps": last, "torch": torch.__version__}, indent=1)
        )


if __name__ == "__main__":
    main()
