"""The pairs of the second training: more verification rows, fewer captions, and all of ``contrasts``."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import contrasts
from data import LABELS, Pair, draw_unrelated, mine_near_misses, read_pairs

# Repetitions of each file; below one, a share of its rows. Small verification sets are repeated.
SHARES = {
    "fever_text10k.train": 1.0,
    "fever_text10k.val": 1.0,
    "fever_nli.paper_dev": 2.0,
    "fm2.dev": 3.0,
    "scifact.train": 4.0,
    "ex_fever.test": 1.0,
    "infotabs.train": 0.5,
    "infotabs.dev": 0.5,
    "snli18k.train": 0.5,
    "snli18k.test": 0.5,
    "snli.dev": 0.4,
    "snli.test": 0.4,
    "cad_nli.train": 1.0,
    "cad_nli.dev": 1.0,
    "conjnli.train": 0.5,
    "conjnli.dev": 0.5,
}
WIKIPEDIA = ("fever_text10k.train", "fever_text10k.val", "fever_nli.paper_dev", "fm2.dev")
NO_INFORMATION = "No information shows"  # the evidence of EX-FEVER's NEI rows states the label


def mixed_pairs(folder: Path, *, seed: int) -> tuple[list[Pair], dict[str, str]]:
    """All pairs of the second training, and the sha256 of each file read."""
    rng = random.Random(seed)
    read, hashes = {}, {}
    for name in SHARES:
        path = folder / "train" / f"{name}.jsonl.gz"
        hashes[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
        read[name] = [pair for pair in read_pairs(path) if not pair.evidence.startswith(NO_INFORMATION)]
    pairs: list[Pair] = []
    for name, share in SHARES.items():
        rows = read[name]
        pairs += rows * int(share) + rng.sample(rows, int(len(rows) * (share % 1)))
    wikipedia = [pair for name in WIKIPEDIA for pair in read[name]]
    tables = read["infotabs.train"]
    made = {
        "numbers": contrasts.numbers(wikipedia + read["scifact.train"], rng),
        "entities": contrasts.entities(wikipedia, rng, 6000),
        "negations": rng.sample(contrasts.negations(wikipedia, rng), 4000),
        "conjunctions": contrasts.conjunctions(wikipedia, rng, 8000),
        "questions of tables": contrasts.questions_of_tables(tables, rng, 5000),
        "questions of claims": contrasts.questions_of_claims(wikipedia, rng, 9000),
        "among others": contrasts.among_others(wikipedia + 2 * read["scifact.train"], rng, 10000),
        "near misses": mine_near_misses([p for p in wikipedia if p.label != LABELS.index("NEI")], 12000, seed, each=2),
        "unrelated": draw_unrelated(wikipedia + read["scifact.train"], 4000, seed),
    }
    for name, rows in made.items():
        print(f"{name}: {len(rows)}", flush=True)
    return pairs + [pair for rows in made.values() for pair in rows], hashes
