"""Reads the training and development pairs: claim, evidence, label.

Every row of ``$REDARGUE_DATA/train`` may be trained on; ``dev`` rows are for choosing (even) and reporting (odd) only.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
import random
import re
from collections import Counter, defaultdict
from math import log
from pathlib import Path
from typing import NamedTuple

LABELS = ("SUPPORTS", "REFUTES", "NEI")

# SNLI teaches entailment on captions, but also that another scene is a contradiction.
CAPTIONS = ("snli.dev", "snli.test")


class Pair(NamedTuple):
    """One claim, one piece of evidence and the index of their label in ``LABELS``.

    ``mined`` pairs are about something else; whether other open pairs are worth finding is not known.
    """

    claim: str
    evidence: str
    label: int
    mined: bool = False

    @property
    def relevant(self) -> float:
        """Whether a search should return the evidence: 1 or 0; NaN if unknown."""
        return 1.0 if LABELS[self.label] != "NEI" else 0.0 if self.mined else math.nan


def data_folder() -> Path:
    """The folder ``REDARGUE_DATA``."""
    folder = os.environ.get("REDARGUE_DATA")
    if not folder or not Path(folder).is_dir():
        raise SystemExit(f"REDARGUE_DATA={folder!r} is not a folder: set it to the folder that holds train/ and dev/")
    return Path(folder)


def read_pairs(path: Path) -> list[Pair]:
    """All pairs of a ``.jsonl.gz`` file, in order."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [Pair(row["claim"], row["evidence"], LABELS.index(row["label"])) for row in rows]


def is_even(claim: str) -> bool:
    """Whether a row is for choices (even) or reports (odd), by the hash of its claim."""
    return int(hashlib.sha1(claim.encode()).hexdigest()[:8], 16) % 2 == 0


def training_pairs(
    folder: Path, *, captions: bool, near_misses: int, unrelated: int, seed: int
) -> tuple[list[Pair], dict[str, str]]:
    """Every training pair plus NEI pairs of two kinds that retrieval produces, and the sha256 of each file read.

    Args:
        folder: the data folder.
        captions: whether all of SNLI is read, or its training sample alone.
        near_misses: pairs to mine.
        unrelated: pairs to draw.
        seed: of both.
    """
    pairs: list[Pair] = []
    hashes: dict[str, str] = {}
    fever: list[Pair] = []
    for path in sorted((folder / "train").glob("*.jsonl.gz")):
        name = path.name.removesuffix(".jsonl.gz")
        if name in CAPTIONS and not captions:
            continue
        hashes[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
        rows = read_pairs(path)
        pairs += rows
        if name.startswith("fever_text10k"):
            fever += rows
    pairs += mine_near_misses(fever, near_misses, seed) + draw_unrelated(pairs, unrelated, seed)
    return list(dict.fromkeys(pairs)), hashes


def draw_unrelated(pairs: list[Pair], count: int, seed: int) -> list[Pair]:
    """NEI pairs of a claim and the evidence of another: an unrelated passage refutes nothing."""
    rng = random.Random(seed)
    drawn = [(rng.choice(pairs), rng.choice(pairs)) for _ in range(count)]
    return [
        Pair(one.claim, other.evidence, LABELS.index("NEI"), mined=True)
        for one, other in drawn
        if one.claim != other.claim
    ]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def mine_near_misses(pairs: list[Pair], count: int, seed: int, each: int = 1) -> list[Pair]:
    """NEI pairs that resemble retrieval errors: evidence of another claim that shares rare words with this one.

    FEVER's sampled training pairs hold no NEI at all, so a model trained on them alone believes that whatever
    was retrieved must decide. Evidence covering more than 60 % of the claim's word weight may well decide it, and
    is not used.
    """
    rng = random.Random(seed)
    evidence = sorted({pair.evidence for pair in pairs})
    gold: dict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        gold[pair.claim].add(pair.evidence)
    counts = Counter(word for text in evidence for word in _words(text))
    weight = {word: log(len(evidence) / n) for word, n in counts.items()}
    holders: dict[str, list[int]] = defaultdict(list)
    for index, text in enumerate(evidence):
        for word in _words(text):
            if counts[word] < 400:
                holders[word].append(index)
    claims = sorted(gold)
    rng.shuffle(claims)
    mined: list[Pair] = []
    for claim in claims:
        words = _words(claim)
        total = sum(weight.get(word, 9.0) for word in words)
        score: Counter[int] = Counter()
        for word in words:
            for index in holders.get(word, ()):
                score[index] += weight[word]
        near = [evidence[i] for i, shared in score.most_common(10) if 0.15 * total <= shared <= 0.6 * total]
        mined += [Pair(claim, text, LABELS.index("NEI"), mined=True) for text in near if not _known(text, gold[claim])][
            :each
        ]
        if len(mined) >= count:
            break
    return mined


def _known(text: str, gold: set[str]) -> bool:
    """Whether a text is gold evidence, or the same sentence in another revision of its page."""
    words = _words(text)
    return any(len(words & other) > 0.5 * len(words | other) for other in map(_words, gold))
