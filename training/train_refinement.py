"""Continues a cross-encoder's training with pairs that differ in one word (``refinement_mix.py``).

One epoch over contrast pairs and earlier ones; on the earlier ones the model also learns from the probabilities of
release 0.1.0's, to keep what it knew. In bf16 where the processor has it, three to four times as fast as fp32.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path

import torch
from data import data_folder
from refinement_mix import SOURCES, Amounts, training_mix
from shipped import WEIGHTS, shipped_weights
from train_contrast import classifier, distance
from train_entailment import base_folder, batches, encode, loss_of, tokenizer

SEED = 5


def fast_bf16() -> bool:
    """Whether the processor multiplies bf16 numbers itself."""
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    return "avx512_bf16" in flags or "amx_bf16" in flags


def main() -> None:
    """Trains one epoch and saves the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--teacher", type=Path, default=WEIGHTS, help="the ONNX file of release 0.1.0")
    parser.add_argument("--start", type=Path, help="the .onnx or .pt file to begin from; by default the teacher")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--share", type=float, default=1.0, help="of the contrast documents")
    parser.add_argument("--without", choices=SOURCES, action="append", default=[], help="a source left out")
    parser.add_argument("--earlier", type=int, default=8000, help="pairs of the earlier training")
    parser.add_argument("--own", type=int, default=3, help="times that each of the project's own rows is read")
    parser.add_argument("--rewritten", type=int, default=20000, help="pairs made by rewriting, at most")
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--length", type=int, default=128, help="tokens")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seed", type=int, default=SEED)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    amounts = Amounts(args.share, args.earlier, args.own, args.rewritten, frozenset(args.without))
    pairs, old = training_mix(data_folder(), amounts, seed=args.seed)
    tk = tokenizer(base_folder(), args.length)
    start = args.start or args.teacher
    model = classifier(torch.load(start) if start.suffix == ".pt" else shipped_weights(start))
    teacher = classifier(shipped_weights(args.teacher)).eval()
    trained = [p for p in model.parameters() if p.requires_grad]
    matrices, vectors = [p for p in trained if p.ndim > 1], [p for p in trained if p.ndim < 2]
    optimiser = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.01}, {"params": vectors, "weight_decay": 0.0}],
        lr=args.rate,
        fused=True,
    )
    steps = -(-len(pairs) // args.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda at: min((at + 1) / 60, max(0.02, 1 - at / steps)))
    began, running, losses = time.monotonic(), 0.0, []
    for step, batch in enumerate(batches(pairs, args.batch, rng), 1):
        tokens = encode(tk, batch)
        earlier = torch.tensor([pair in old for pair in batch])
        with torch.autocast("cpu", torch.bfloat16, enabled=fast_bf16()):
            logits = model(**tokens).logits.float()
            if earlier.any():
                with torch.no_grad():
                    taught = teacher(**{name: rows[earlier] for name, rows in tokens.items()}).logits.float()
        loss = loss_of(logits, batch)
        if earlier.any():
            loss = loss + distance(logits[earlier], taught) / len(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=False)
        schedule.step()
        running = 0.98 * running + 0.02 * loss.item() if step > 1 else loss.item()
        if step % 100 == 0:
            losses.append(round(running, 4))
            speed = step * args.batch / (time.monotonic() - began)
            print(f"step {step}/{steps} loss {running:.3f} {speed:.0f} pairs/s", flush=True)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), args.out)
    settings = {name: str(value) for name, value in vars(args).items()}
    log = {"settings": settings, "pairs": len(pairs), "torch": torch.__version__, "losses": losses}
    args.out.with_suffix(".json").write_text(json.dumps(log, indent=1))


if __name__ == "__main__":
    main()
