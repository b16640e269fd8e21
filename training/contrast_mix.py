"""The pairs that teach opposites: contrast rows, rewritten sentences and claims, and a share of the older pairs."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
from collections import Counter
from pathlib import Path

from contrasts import NEI, REFUTES, SUPPORTS
from data import LABELS, Pair, draw_unrelated
from mixing import mixed_pairs
from rewriting import REWRITINGS, Antonyms, antonyms, equal_value, near_copy, negated, opposed

HELD_OUT = 10  # one document in ten is not trained on: the aggregation is fitted and the training watched there


def contrast_rows(folder: Path) -> list[dict[str, str]]:
    with gzip.open(folder / "written/contrast_train.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def held_out(evidence: str) -> bool:
    """Whether a document is kept from training."""
    return int(hashlib.sha1(evidence.encode()).hexdigest()[:8], 16) % HELD_OUT == 0


def evidence_of(row: dict[str, str]) -> str:
    """A document as the reader shows a passage to the model: its title, then its text."""
    return f"{row['title']}. {row['evidence']}" if row["title"] else row["evidence"]


def contrast_pairs(folder: Path, *, share: float, old: int, seed: int) -> list[Pair]:
    """``share`` of the contrast documents with what is made of them, and ``old`` pairs of the earlier training."""
    rng = random.Random(seed)
    rows = [row for row in contrast_rows(folder) if not held_out(row["evidence"])]
    documents = sorted({row["evidence"] for row in rows})
    chosen = set(rng.sample(documents, round(share * len(documents))))
    rows = [row for row in rows if row["evidence"] in chosen]
    pairs = [Pair(row["claim"], evidence_of(row), LABELS.index(row["label"])) for row in rows]
    opposites = antonyms(vocabulary(rows))
    made = rewritten_claims(pairs, rng, opposites) + rewritten_sentences(rows, rng, opposites)
    made += short_evidence(rows, rng)
    unrelated = draw_unrelated(pairs, len(pairs) // 20, seed)
    earlier, _ = mixed_pairs(folder, seed=seed)
    kept = rng.sample(earlier, old)
    counts = {"contrast": len(pairs), "rewritten": len(made), "unrelated": len(unrelated), "earlier": len(kept)}
    print(json.dumps(counts), flush=True)
    return pairs + made + unrelated + kept


def vocabulary(rows: list[dict[str, str]]) -> frozenset[str]:
    """Words of at least three documents: rarer antonyms make sentences that nobody writes."""
    counts = Counter(word for text in {row["evidence"] for row in rows} for word in set(re.findall(r"[a-z-]+", text)))
    return frozenset(word for word, count in counts.items() if count > 2)


def rewritten_claims(pairs: list[Pair], rng: random.Random, opposites: Antonyms) -> list[Pair]:
    """Supported claims turned into their opposite or written with an equal value; refuted claims negated."""
    made: list[Pair] = []
    for pair in pairs:
        chance = rng.random()
        if pair.label == SUPPORTS:
            if (equal := equal_value(pair.claim, rng)) and chance < 0.4:
                made.append(Pair(equal, pair.evidence, SUPPORTS))
            name = rng.choice([*REWRITINGS, "opposed"])
            opposite = opposed(pair.claim, rng, opposites) if name == "opposed" else REWRITINGS[name](pair.claim, rng)
            if opposite and rng.random() < 0.8:
                made.append(Pair(opposite, pair.evidence, REFUTES))
        elif pair.label == REFUTES and chance < 0.5 and (opposite := negated(pair.claim, rng)):
            made.append(Pair(opposite, pair.evidence, SUPPORTS))
    return made


def rewritten_sentences(rows: list[dict[str, str]], rng: random.Random, opposites: Antonyms) -> list[Pair]:
    """Sentences of the documents as claims: copies, equal values, and opposites."""
    made: list[Pair] = []
    for row in {row["evidence"]: row for row in rows}.values():
        evidence = evidence_of(row)
        sentences = [text for text in re.split(r"(?<=[.!]) (?=[A-Z\d])", row["evidence"]) if len(text.split()) > 3]
        for sentence in rng.sample(sentences, min(2, len(sentences))):
            made.append(Pair(near_copy(sentence, rng) if rng.random() < 0.6 else sentence, evidence, SUPPORTS))
            if (equal := equal_value(sentence, rng)) and rng.random() < 0.6:
                made.append(Pair(equal, evidence, SUPPORTS))
            names = rng.sample([*REWRITINGS, "opposed"], len(REWRITINGS) + 1)
            changed = [
                opposed(sentence, rng, opposites) if name == "opposed" else REWRITINGS[name](sentence, rng)
                for name in names
            ]
            made += [Pair(text, evidence, REFUTES) for text in changed if text and text != sentence][:2]
    return made


def short_evidence(rows: list[dict[str, str]], rng: random.Random) -> list[Pair]:
    """A claim that copies most words of one sentence, read beside that sentence alone."""
    made = []
    for row in rows:
        if row["label"] == LABELS[NEI] or rng.random() > 0.35:
            continue
        claim = set(re.findall(r"\w+", row["claim"].lower()))
        sentences = re.split(r"(?<=[.!]) (?=[A-Z\d])", row["evidence"])
        shared = [len(claim & set(re.findall(r"\w+", text.lower()))) for text in sentences]
        best = max(range(len(sentences)), key=shared.__getitem__)
        others = [count for at, count in enumerate(shared) if at != best]
        if len(sentences) > 1 and shared[best] >= 0.45 * len(claim) and shared[best] >= max(others) + 3:
            title = f"{row['title']}. " if row["title"] else ""
            made.append(Pair(row["claim"], title + sentences[best], LABELS.index(row["label"])))
    return made


def keeping_pairs(
    folder: Path, *, seed: int, earlier: int = 9000, contrast: int = 8000
) -> tuple[list[Pair], frozenset[Pair]]:
    """Pairs of the second step, and the earlier ones among them, half with evidence of over 350 characters."""
    rng = random.Random(seed)
    rows = [row for row in contrast_rows(folder) if not held_out(row["evidence"])]
    pairs = [Pair(row["claim"], evidence_of(row), LABELS.index(row["label"])) for row in rows]
    opposites = antonyms(vocabulary(rows))
    made = rewritten_claims(pairs, rng, opposites) + rewritten_sentences(rows, rng, opposites)
    made += short_evidence(rows, rng)
    known, _ = mixed_pairs(folder, seed=seed)
    long = [pair for pair in known if len(pair.evidence) > 350]
    short = [pair for pair in known if len(pair.evidence) <= 350]
    kept = rng.sample(long, min(len(long), earlier // 2)) + rng.sample(short, earlier // 2)
    return kept + rng.sample(pairs, contrast * 6 // 10) + rng.sample(made, contrast * 4 // 10), frozenset(kept)
