"""The pairs that train the large reader.

Verification, inference, contrast rows, rewritten sentences, crossed values, paraphrased claims. Every prefix of the
order is a fair sample of the whole, so that training may stop, and resume, anywhere.
"""

from __future__ import annotations

import gzip
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
from crossed import crossed_pairs
from data import LABELS, Pair
from mixing import mixed_pairs
from rewriting import antonyms
from written import documents, written_pairs

NOT_SUPPORTED = len(LABELS)  # refuted or open: the source does not say which
CODES = {label: code for code, label in enumerate((*LABELS, "NOT_SUPPORTED"))}
# Their annotations may be used, but whose the texts are is unclear (PROVENANCE.md of the data folder).
IN_DOUBT = ("realsumm_scu", "cg2c_doc", "tracie")


class Mix(NamedTuple):
    """How many pairs of each source are read; -1 for all.

    Attributes:
        earlier: of the first trainings.
        written: of the written rows.
        times: that a written row may be read.
        inference: of general inference.
        rewritten: claims and sentences made from written rows, and short windows of their texts.
        crossed: made by ``crossed``.
        documents: made by ``written``.
    """

    earlier: int
    written: int
    times: int
    inference: int
    rewritten: int
    crossed: int
    documents: int = 0


MIXES = {
    "first": Mix(earlier=70_000, written=-1, times=2, inference=-1, rewritten=-1, crossed=12_000),
    "last": Mix(earlier=12_000, written=20_000, times=1, inference=9_000, rewritten=5_000, crossed=3_000),
    "again": Mix(
        earlier=26_000, written=9_000, times=1, inference=8_000, rewritten=3_000, crossed=2_000, documents=6_000
    ),
    "documents": Mix(
        earlier=7_000, written=3_000, times=1, inference=2_500, rewritten=1_000, crossed=800, documents=-1
    ),
}


def reader_pairs(folder: Path, mix: Mix, *, seed: int) -> list[Pair]:
    """The pairs of a mix, shuffled."""
    rng = random.Random(seed)
    rows = [row for row in contrast_rows(folder) + _more_rows(folder) if not held_out(row["evidence"])]
    written = [Pair(row["claim"], evidence_of(row), CODES[row["label"]]) for row in rows]
    opposites = antonyms(vocabulary(rows))
    known, _ = mixed_pairs(folder, seed=seed)
    rewritten = [
        *rewritten_claims(written, rng, opposites),
        *rewritten_sentences(rows, rng, opposites),
        *short_evidence(rows, rng),
    ]
    parts = {
        "earlier": _some(known, mix.earlier, rng),
        "inference": _some(_inference(folder), mix.inference, rng),
        "written": _some(written * mix.times, mix.written, rng),
        "rewritten": _some(rewritten, mix.rewritten, rng),
        "crossed": crossed_pairs(mix.crossed, rng),
        "documents": _some(_document_pairs(rng) if mix.documents else [], mix.documents, rng),
    }
    print(json.dumps({name: len(pairs) for name, pairs in parts.items()}), flush=True)
    pairs = [pair for part in parts.values() for pair in part]
    rng.shuffle(pairs)
    return pairs


def _document_pairs(rng: random.Random) -> list[Pair]:
    return written_pairs(rng, [document for document in documents() if not document.held_out])


def _some(pairs: list[Pair], count: int, rng: random.Random) -> list[Pair]:
    return pairs if count < 0 else rng.sample(pairs, count)


def _more_rows(folder: Path) -> list[dict[str, str]]:
    with gzip.open(folder / "written/contrast_more.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _inference(folder: Path) -> list[Pair]:
    pairs = []
    for path in sorted((folder / "train_more").glob("*.jsonl.gz")):
        if path.name.removesuffix(".jsonl.gz") in IN_DOUBT:
            continue
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                title = f"{row['title']}. " if row.get("title") else ""
                pairs.append(Pair(row["claim"], title + row["evidence"], CODES[row["label"]]))
    return pairs
