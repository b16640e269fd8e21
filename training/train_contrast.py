"""Continues the bundled cross-encoder's training with pairs that differ in one word (``contrast_mix.py``).

Two steps, each one epoch: the contrast pairs with some earlier ones; then fewer contrast pairs and longer earlier
ones, on which the model also learns from the probabilities of the model it began from, to keep what it knew.

One process a core with one thread each (``torch.distributed.run --nproc-per-node 2``) is a third faster than one
process with two threads. Everything is fp32: a processor without AVX-512 has no fast bf16.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path

import torch
import torch.distributed
from contrast_mix import contrast_pairs, keeping_pairs
from data import Pair, data_folder
from shipped import WEIGHTS, shipped_weights
from train_entailment import OUTPUTS, base_folder, batches, encode, loss_of, tokenizer
from transformers import AutoConfig, AutoModelForSequenceClassification

LABELS = 3
STEPS = {"learn": {"rate": 1e-4, "length": 112, "seed": 5}, "keep": {"rate": 5e-5, "length": 160, "seed": 7}}


def classifier(weights: dict[str, torch.Tensor]) -> torch.nn.Module:
    """The cross-encoder without dropout; word embeddings stay as they are."""
    config = AutoConfig.from_pretrained(
        base_folder(), num_labels=len(OUTPUTS), hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    model = AutoModelForSequenceClassification.from_config(config)
    model.load_state_dict(weights)
    model.bert.embeddings.word_embeddings.weight.requires_grad_(False)
    return model


def distance(logits: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """The Kullback–Leibler divergence of the labels' probabilities from the teacher's, summed over pairs."""
    shares = torch.softmax(teacher[:, :LABELS], -1)
    return torch.nn.functional.kl_div(torch.log_softmax(logits[:, :LABELS], -1), shares, reduction="sum")


def main() -> None:
    """Trains one step and saves the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=tuple(STEPS))
    parser.add_argument(
        "--first", type=Path, default=WEIGHTS, help="the ONNX file of the model to begin from and to keep"
    )
    parser.add_argument("--start", type=Path, help="weights of the step before; without them those of --first")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--share", type=float, default=1.0, help="of the contrast documents (step learn)")
    parser.add_argument("--old", type=int, default=8000, help="earlier pairs (step learn)")
    parser.add_argument("--batch", type=int, default=32)
    args = parser.parse_args()
    rate, length, seed = STEPS[args.step].values()
    torch.distributed.init_process_group("gloo")
    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = random.Random(seed)
    old: frozenset[Pair] = frozenset()
    if args.step == "learn":
        pairs = contrast_pairs(data_folder(), share=args.share, old=args.old, seed=seed)
    else:
        pairs, old = keeping_pairs(data_folder(), seed=seed)
    tk = tokenizer(base_folder(), length)
    tk.enable_padding(pad_to_multiple_of=8)
    model = classifier(torch.load(args.start) if args.start else shipped_weights(args.first))
    teacher = classifier(shipped_weights(args.first)).eval() if old else None
    parallel = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    trained = [p for p in model.parameters() if p.requires_grad]
    matrices, vectors = [p for p in trained if p.ndim > 1], [p for p in trained if p.ndim < 2]
    optimiser = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.01}, {"params": vectors, "weight_decay": 0.0}], lr=rate, fused=True
    )
    steps = -(-len(pairs) // args.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda at: min((at + 1) / 60, max(0.02, 1 - at / steps)))
    began, running, losses = time.monotonic(), 0.0, []
    for step, whole in enumerate(batches(pairs, args.batch, rng), 1):
        batch = whole[rank::world]
        tokens = encode(tk, batch)
        logits = parallel(**tokens).logits
        loss = loss_of(logits, batch)
        earlier = torch.tensor([pair in old for pair in batch])
        if teacher is not None and earlier.any():
            with torch.no_grad():
                taught = teacher(**{name: rows[earlier] for name, rows in tokens.items()}).logits
            loss = loss + distance(logits[earlier], taught) / len(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=False)
        schedule.step()
        running = 0.98 * running + 0.02 * loss.item() if step > 1 else loss.item()
        if rank == 0 and step % 50 == 0:
            losses.append(round(running, 4))
            print(
                f"step {step}/{steps} loss {running:.3f} {step * args.batch / (time.monotonic() - began):.0f} pairs/s",
                flush=True,
            )
    if rank == 0:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        torch.save(model.state_dict(), args.out)
        log = {
            "step": args.step,
            "seed": seed,
            "rate": rate,
            "pairs": len(pairs),
            "torch": torch.__version__,
            "losses": losses,
        }
        args.out.with_suffix(".json").write_text(json.dumps(log, indent=1))


if __name__ == "__main__":
    main()
