"""Fits the weights with which the embedded backend turns its readings into a calibrated verdict, on even rows.

Five parts: FEVER, each claim with the passages that both tools find for it (the claims that ``fever`` reports are left
out); contrast documents, given, own and paraphrased, that no model was trained on; the even documents of
``written/contrast_test``. Prints the weights for ``nli/aggregation.py``, and by five-fold cross-validation what they
give and how many of the decided claims are wrong at each threshold of confidence. Of the large reader, also the least
confidence of each kind of source, from what it decides with all its rules and with the parts of claims: documents are
everyday ones of other authors (and of claims that cross two facts at most 1 of 20 may be supported), abstracts those of
SciFact, the web frozen evidence. What FEVER's pool, and claims that the project wrote to mislead a reader, would need
is printed. ``--write`` puts both into its package. ``--present`` keeps the weights that it has.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import contrast, crossed, pool
from benchmarks.reader import FROZEN, frozen
from benchmarks.sets import SETS, corpus_of
from benchmarks.statistics import accuracy, macro_f1
from redargue.bench.datasets import load
from redargue.claims import FEVER, Meaning
from redargue.evidence import Passage
from redargue.nli.aggregation import Weights
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.careful import SourceKind
from redargue.nli.reader import SHOWN, Reading
from redargue.retrieval.corpus.index import open_corpus

CODES = {name: code for code, name in enumerate(FEVER.names)} | {"NEI": FEVER.names.index("NOT ENOUGH INFO")}
SCIFACT = {"SUPPORT": 0, "CONTRADICT": 1, "NOT ENOUGH INFO": 2}
# of the whole weight
SHARES = {"fever": 1.0, "held-out contrast": 1.0, "own": 0.6, "written": 1.0, "contrast": 0.6}
KINDS: dict[SourceKind, tuple[str, ...]] = {
    "documents": ("held-out contrast", "contrast"),
    "abstracts": ("scifact",),
    "web": ("web",),
}
OWN_ROWS = Path(__file__).parents[1] / "training" / "contrast_rows.jsonl"
WRITTEN = OWN_ROWS.with_name("written.jsonl")
LETTERS = {"S": "SUPPORTS", "R": "REFUTES", "N": "NEI"}
HELD_OUT = 10  # as in training/contrast_mix.py
WRITTEN_HELD_OUT = 8  # as in training/written.py
FOLDS = 5
_SIDES = (Meaning.SUPPORTED, Meaning.REFUTED)
MOST = 0.95  # above it, a copy of the claim would be left open
LEAST_DECIDED = 30  # claims, of fewer of which a share of wrong ones says little
THRESHOLDS = (0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8)


class Part(NamedTuple):
    """One data set: its readings, gold codes, and the group of each row for cross-validation."""

    readings: list[Reading]
    gold: Any
    group: Any

    @property
    def x(self) -> Any:
        """The features, of shape (rows, features)."""
        return np.array([reading.features for reading in self.readings])


def main(arguments: list[str]) -> None:
    """Prints the fitted weights and their cross-validated scores beside the present ones."""
    parser = argparse.ArgumentParser(prog="benchmarks reading", description=__doc__)
    parser.add_argument("--limit", type=int, default=700)
    parser.add_argument("--penalty", type=float, default=230.0, help="on the distance from the present weights")
    parser.add_argument("--rows", type=int, help="of each contrast part; default: all")
    parser.add_argument("--present", action="store_true", help="fit the least confidence alone")
    parser.add_argument("--write", type=Path, metavar="FILE", help="the large reader's manifest.json")
    options = parser.parse_args(arguments)
    parts = {"fever": _fever(options.limit)} | _contrast(options.rows) | {"scifact": _scifact(), "web": _web()}
    used = parts["web"].readings[0].weights  # of the reader that is installed
    of_fold = [used] * FOLDS
    if not options.present:
        used, of_fold = _fitted({name: part for name, part in parts.items() if name in SHARES}, options.penalty)
    on_web = _softmax(parts["web"].x, np.array(used))
    print(json.dumps({"part": "web", "n": len(on_web), "at": _at_thresholds(parts["web"].gold, on_web)}))
    decided = {name: _decided([part], of_fold) for name, part in parts.items()}
    print(json.dumps({"least": {name: least_confidence(*of_part) for name, of_part in decided.items()}}))
    least = {kind: least_confidence(*_decided([parts[name] for name in of], of_fold)) for kind, of in KINDS.items()}
    least["documents"] = max(least["documents"], least_for_crossed(used))
    print(json.dumps({"least": least}))
    if options.write:
        aggregation = used._asdict()
        manifest = json.loads(options.write.read_text(encoding="utf-8"))
        manifest |= {"aggregation": aggregation, "least": least}
        options.write.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def _fitted(parts: Mapping[str, Part], penalty: float) -> tuple[Weights, list[Weights]]:
    """The weights fitted to all parts, and by fold those fitted to the others; prints what the latter give."""
    x, gold, group = (
        np.concatenate([getattr(part, field) for part in parts.values()]) for field in ("x", "gold", "group")
    )
    size = len(parts["fever"].gold)
    weight = np.concatenate(
        [np.full(len(part.gold), SHARES[name] * size / len(part.gold)) for name, part in parts.items()]
    )
    prior = np.array(parts["fever"].readings[0].weights)  # of the reader that is installed
    rest = [group != fold for fold in range(FOLDS)]
    held_out = [fit(x[kept], gold[kept], weight[kept], penalty, prior) for kept in rest]
    predicted = np.zeros((len(gold), 3))
    for fold, fitted in enumerate(held_out):
        predicted[group == fold] = _softmax(x[group == fold], fitted)
    start = 0
    for name, part in parts.items():
        rows = slice(start, start := start + len(part.gold))
        present = _softmax(part.x, prior)
        line = {"part": name, "n": len(part.gold), "present": _scores(part.gold, present)}
        print(json.dumps(line | {"fitted": _scores(part.gold, predicted[rows])}))
        print(json.dumps({"part": name, "at": _at_thresholds(part.gold, predicted[rows])}))
    weights = fit(x, gold, weight, penalty, prior)
    for name, row in zip(("supports", "refutes"), weights.round(3).tolist(), strict=True):
        print(f"{name} = {tuple(row)}")
    return _weights(weights), list(map(_weights, held_out))


def least_confidence(right: Any, sure: Any, wrong: float = 0.05) -> float:
    """The least confidence from which at most this share of the decided claims is wrong; :data:`MOST` if none is.

    Args:
        right: whether each decided claim's side is its gold one; claims whose gold is open are left out, as in what the
            contrast sets report.
        sure: the probability of that side.
    """
    order = np.argsort(-sure)
    shares = np.cumsum(~right[order]) / np.arange(1, len(order) + 1)
    kept = np.flatnonzero(shares <= wrong)
    if not len(kept) or kept[-1] + 1 < LEAST_DECIDED:
        return MOST
    return min(round(float(sure[order][kept[-1]]), 3), MOST)


def least_for_crossed(weights: Weights, most: float = 0.05) -> float:
    """The least confidence at which at most this share of crossed claims is supported, the gravest error."""
    reader = EmbeddedBackend().reader
    texts = [json.loads(line) for line in crossed.TEXTS.read_text(encoding="utf-8").splitlines()]
    readings = [reader.read(each["crossed"], (Passage(text=each["text"]),)) for each in texts]
    sure = sorted((_weighed(reading, weights).probabilities().supports for reading in readings), reverse=True)
    return round(float(sure[int(most * len(sure))]) + 0.001, 3)


def _weights(fitted: Any) -> Weights:
    return Weights(*map(tuple, fitted.round(4).tolist()))


def _decided(parts: list[Part], of_fold: Sequence[Weights]) -> tuple[Any, Any]:
    """Of the claims with a side that the reader decides, whatever its confidence: whether it is right, and how sure.

    Each is read with the weights of its fold, which were fitted on the others. Web evidence is in no fit.
    """
    right, sure = [], []
    for part in parts:
        for reading, gold, fold in zip(part.readings, part.gold, part.group, strict=True):
            sides = _weighed(reading, of_fold[fold]).probabilities()[:2]
            side = int(sides[1] > sides[0])
            shown = reading.comparisons or reading.strongest(_SIDES[side]) > SHOWN
            if gold < len(_SIDES) and shown and max(sides) >= 1 - sum(sides):
                right.append(side == gold)
                sure.append(max(sides))
    return np.array(right, bool), np.array(sure)


def _weighed(reading: Reading, weights: Weights) -> Reading:
    """The same reading, which no model reads again, with other weights."""
    return replace(
        reading,
        weights=weights,
        read_spans=lambda: reading.spans,
        compare_words=lambda: reading.lexical,
        read_parts=lambda: tuple(_weighed(part, weights) for part in reading.parts),
    )


def _fever(limit: int) -> Part:
    rows = pool.claims("even", pool.REPORTED + limit)[pool.REPORTED :]
    readings = read([row["claim"] for row in rows], pool.store()[0])
    return _part(readings, [CODES[row["label"]] for row in rows], [row["claim"] for row in rows])


def _scifact() -> Part:
    papers = load("scifact", pool.data() / SETS["scifact"].path, half="even").examples
    claims = [example.claim.text for example in papers]
    return _part(read(claims, corpus_of("scifact")), [SCIFACT[example.gold or ""] for example in papers], claims)


def _web() -> Part:
    """Frozen web evidence, whose gold is one of two sides."""
    readings, gold, texts = [], [], []
    for name in FROZEN:
        chosen = SETS[name]
        loaded = load(chosen.dataset, pool.data() / chosen.path, half="even", options=chosen.options)
        examples = [example for example in loaded.examples if example.gold]
        reader = EmbeddedBackend().reader
        for example, passages in zip(examples, frozen(examples), strict=True):
            readings.append(reader.read(example.claim.text, passages))
            gold.append(0 if example.claim.labels.meaning(example.gold or "") is Meaning.SUPPORTED else 1)
            texts.append(example.claim.text)
    return _part(readings, gold, texts)


def _contrast(most: int | None) -> dict[str, Part]:
    reader, parts = EmbeddedBackend().reader, {}
    for name, rows in document_claims(most).items():
        readings = [reader.read(row["claim"], (Passage(text=row["evidence"], title=row["title"]),)) for row in rows]
        parts[name] = _part(readings, [CODES[row["label"]] for row in rows], [row["evidence"] for row in rows])
    return parts


def document_claims(most: int | None) -> dict[str, list[dict[str, Any]]]:
    """Claims about documents that no model was trained on: at most so many of each set."""
    train = pool.rows(pool.data() / "written" / "contrast_train.jsonl.gz")
    held_out = [row for row in train if _hash(row["evidence"]) % HELD_OUT == 0]
    even = contrast.documents("contrast_test", "even")
    sets = {"held-out contrast": held_out, "own": _own(), "written": _written(), "contrast": even}
    return {name: sorted(rows, key=lambda row: _hash(row["claim"]))[:most] for name, rows in sets.items()}


def _own() -> list[dict[str, str]]:
    """The project's own contrast rows that no model was trained on."""
    documents = [json.loads(line) for line in OWN_ROWS.read_text(encoding="utf-8").splitlines()]
    return [
        {"title": each["title"], "evidence": each["evidence"], "claim": claim, "label": LETTERS[label]}
        for each in documents
        if _hash(each["evidence"]) % HELD_OUT == 0
        for label, _, claim in each["claims"]
    ]


def written_documents() -> list[dict[str, Any]]:
    """The documents with paraphrased claims, in the order of their file."""
    return [json.loads(line) for line in WRITTEN.read_text(encoding="utf-8").split("\n") if line]


def _written() -> list[dict[str, str]]:
    """The paraphrased claims of documents that no model was trained on."""
    return [
        {"title": each["title"], "evidence": " ".join(each["sentences"]), "claim": claim, "label": LETTERS[label]}
        for each in written_documents()
        if _hash(each["sentences"][0]) % WRITTEN_HELD_OUT == 0
        for label, _, _, claim in each["claims"]
    ]


def _part(readings: list[Reading], gold: list[int], groups: list[str]) -> Part:
    return Part(readings, np.array(gold), np.array([_hash(group) // HELD_OUT % FOLDS for group in groups]))


def _hash(text: str) -> int:
    return int(hashlib.sha1(text.encode()).hexdigest()[:8], 16)


def fit(x: Any, y: Any, weight: Any, penalty: float, prior: Any) -> Any:
    """Weights of a softmax over two decided answers and a third at zero, by Newton's method: (2, features).

    The penalty is on the square of the distance from the prior weights: few rows tell highly correlated features apart.
    """
    d, start = x.shape[1], prior.ravel()
    weights = start.astype(float)
    truth = np.stack([y == 0, y == 1], 1).astype(float)
    for _ in range(50):
        p = _softmax(x, weights.reshape(2, d))[:, :2]
        slope = (x[:, None, :] * ((p - truth) * weight[:, None])[:, :, None]).sum(0).ravel()
        spread = np.einsum("ni,ij->nij", p, np.eye(2)) - p[:, :, None] * p[:, None, :]
        curve = np.einsum("nij,nk,nl->ikjl", spread * weight[:, None, None], x, x).reshape(2 * d, 2 * d)
        step = np.linalg.solve(curve + penalty * np.eye(2 * d), slope + penalty * (weights - start))
        weights -= step
        if np.abs(step).max() < 1e-8:
            break
    return weights.reshape(2, d)


def _softmax(x: Any, weights: Any) -> Any:
    scores = np.concatenate([x @ weights.T, np.zeros((len(x), 1))], 1)
    shares = np.exp(scores - scores.max(1, keepdims=True))
    return shares / shares.sum(1, keepdims=True)


def _scores(gold: Any, predicted: Any) -> dict[str, float]:
    labels = predicted.argmax(1)
    return {"accuracy": round(accuracy(gold, labels), 4), "macro_f1": round(macro_f1(gold, labels), 4)}


def _at_thresholds(gold: Any, predicted: Any) -> dict[float, tuple[float, float]]:
    """For each threshold: the shares of the gold-decided claims that are decided, and decided wrongly."""
    side, sure, decided = predicted[:, :2].argmax(1), predicted[:, :2].max(1), gold < 2
    undecided = predicted[:, 2] >= sure
    shares = {}
    for threshold in THRESHOLDS:
        answered = decided & (sure >= threshold) & ~undecided
        wrong = answered & (side != gold)
        shares[threshold] = (round(answered.sum() / decided.sum(), 3), round(wrong.sum() / decided.sum(), 3))
    return shares


def read(claims: list[str], store: Path) -> list[Reading]:
    """One reading a claim, over the passages of both tools."""
    reader = EmbeddedBackend().reader
    with open_corpus(store) as corpus:
        return [reader.read(claim, (*corpus.search(claim, 3), *corpus.search_keywords(claim, 3))) for claim in claims]
