"""The pairs of a further training: the project's own contrast rows beside those of the data folder."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import NamedTuple

from contrast_mix import (
    contrast_rows,
    evidence_of,
    held_out,
    rewritten_claims,
    rewritten_sentences,
    short_evidence,
    vocabulary,
)
from data import LABELS, Pair, draw_unrelated
from mixing import mixed_pairs
from rewriting import antonyms

OWN_ROWS = Path(__file__).parent / "contrast_rows.jsonl"
SOURCES = ("own", "claims", "sentences", "short")


class Amounts(NamedTuple):
    """How much of each source is read.

    Attributes:
        share: of the contrast documents.
        earlier: pairs of the earlier training, half of them with evidence of over 350 characters.
        own: times that each of the project's own rows is read.
        rewritten: pairs made by rewriting, at most.
        without: the sources left out.
    """

    share: float
    earlier: int
    own: int
    rewritten: int
    without: frozenset[str]


def training_mix(folder: Path, amounts: Amounts, *, seed: int) -> tuple[list[Pair], frozenset[Pair]]:
    """The pairs to train on, and the earlier ones among them."""
    rng = random.Random(seed)
    rows = [row for row in contrast_rows(folder) if not held_out(row["evidence"])]
    documents = sorted({row["evidence"] for row in rows})
    chosen = set(rng.sample(documents, round(amounts.share * len(documents))))
    rows = [row for row in rows if row["evidence"] in chosen]
    own = [] if "own" in amounts.without else [row for row in own_rows() if not held_out(row["evidence"])]
    written = _pairs(rows) + _pairs(own) * amounts.own
    opposites = antonyms(vocabulary(rows + own))
    every = rows + own
    made = {
        "claims": rewritten_claims(_pairs(every), rng, opposites),
        "sentences": rewritten_sentences(every, rng, opposites),
        "short": short_evidence(every, rng),
    }
    made = {name: pairs for name, pairs in made.items() if name not in amounts.without}
    share = min(1.0, amounts.rewritten / sum(map(len, made.values())))
    parts = {"contrast": written} | {name: rng.sample(each, round(share * len(each))) for name, each in made.items()}
    parts["unrelated"] = draw_unrelated(written, len(written) // 20, seed)
    kept = frozenset[Pair]()
    if amounts.earlier:
        known, _ = mixed_pairs(folder, seed=seed)
        by_length = [[pair for pair in known if (len(pair.evidence) > 350) == long] for long in (True, False)]
        kept = frozenset(pair for some in by_length for pair in rng.sample(some, min(len(some), amounts.earlier // 2)))
    print(json.dumps({name: len(pairs) for name, pairs in parts.items()} | {"earlier": len(kept)}), flush=True)
    return [pair for pairs in parts.values() for pair in pairs] + sorted(kept), kept


def own_rows(path: Path = OWN_ROWS) -> list[dict[str, str]]:
    """Contrast rows written for this training, one for each claim."""
    labels = {"S": "SUPPORTS", "R": "REFUTES", "N": "NEI"}
    documents = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        {"title": each["title"], "evidence": each["evidence"], "claim": claim, "label": labels[label], "kind": kind}
        for each in documents
        for label, kind, claim in each["claims"]
    ]


def _pairs(rows: list[dict[str, str]]) -> list[Pair]:
    return [Pair(row["claim"], evidence_of(row), LABELS.index(row["label"])) for row in rows]
