"""Writes ``statistics.json`` and ``scorers.json``: inputs, and what other people's code makes of them.

Run by hand, in an environment of its own that has numpy, scipy, scikit-learn, statsmodels and nltk::

    python tests/bench/reference/make.py --official FOLDER [--wordnet NLTK_DATA]

``FOLDER`` holds ``fever_official.py`` (sheffieldnlp/fever-scorer, ``max_evidence=5``), ``feverous_official.py``
(Raldir/FEVEROUS, ``feverous_scorer.py``) and ``scifact_official.py`` (allenai/scifact-evaluator, ``eval.py``), none of
which is part of this project. ``NLTK_DATA`` holds WordNet 3.0. The texts are made here, from a seed.
"""

# mypy: ignore-errors
# Its libraries are not in this project's environment.

from __future__ import annotations

import argparse
import copy
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
LABELS = ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]
WORDS = (
    "the a of in was is were by film films filming actor actors acted star starring starred city cities born wrote "
    "writer writing written novel published publishing publisher located location states state national nation big "
    "large car automobile died death dying happily happy relational conditional adoption, ( ) . ; 1984 2,010 's don n't"
).split()


def classification(rng: np.random.Generator) -> list[dict[str, Any]]:
    from sklearn import metrics

    cases = []
    for n, k in ((1, 2), (7, 3), (60, 3), (300, 4)):
        labels = [f"c{at}" for at in range(k)]
        gold = [labels[at] for at in rng.integers(0, k, n)]
        said = [labels[at] for at in rng.integers(0, max(1, k - 1), n)]
        p, r, f, support = metrics.precision_recall_fscore_support(gold, said, labels=labels, zero_division=0)
        cases.append(
            {
                "labels": labels,
                "gold": gold,
                "said": said,
                "accuracy": metrics.accuracy_score(gold, said),
                "macro_f1": metrics.f1_score(gold, said, labels=labels, average="macro", zero_division=0),
                "precision": p.tolist(),
                "recall": r.tolist(),
                "f1": f.tolist(),
                "support": support.tolist(),
                "confusion": metrics.confusion_matrix(gold, said, labels=labels).tolist(),
            }
        )
    return cases


def calibration(rng: np.random.Generator) -> list[dict[str, Any]]:
    from sklearn import calibration, metrics

    cases = []
    for n in (5, 80, 400):
        confidence = np.round(rng.random(n), 2)
        right = rng.random(n) < confidence
        accuracy, mean = calibration.calibration_curve(right, confidence, n_bins=10)
        cases.append(
            {
                "confidence": confidence.tolist(),
                "right": right.tolist(),
                "brier": metrics.brier_score_loss(right, confidence, labels=[False, True]),
                "bin_accuracy": accuracy.tolist(),
                "bin_confidence": mean.tolist(),
            }
        )
    return cases


def retrieval(rng: np.random.Generator) -> list[dict[str, Any]]:
    from sklearn.metrics import ndcg_score

    cases = []
    for k in (1, 3, 10):
        grades = rng.integers(0, 4, (20, 12))
        grades[:, 0] = np.maximum(grades[:, 0], 1)
        scores = np.array([rng.permutation(12) for _ in range(20)])
        cases.append(
            {"k": k, "grades": grades.tolist(), "scores": scores.tolist(), "ndcg": ndcg_score(grades, scores, k=k)}
        )
    return cases


def intervals(rng: np.random.Generator) -> list[dict[str, Any]]:
    from scipy import stats
    from sklearn.metrics import f1_score

    cases = []
    for n, draws, seed in ((30, 500, 0), (300, 2000, 7)):
        scores = (rng.random(n) < 0.7).astype(float)
        found = stats.bootstrap(
            (scores,), np.mean, n_resamples=draws, method="percentile", rng=np.random.default_rng(seed)
        )
        gold, said = rng.integers(0, 3, n), rng.integers(0, 3, n)
        macro = stats.bootstrap(
            (np.arange(n),),
            lambda at, gold=gold, said=said: f1_score(
                gold[at], said[at], labels=[0, 1, 2], average="macro", zero_division=0
            ),
            n_resamples=300,
            method="percentile",
            vectorized=False,
            rng=np.random.default_rng(seed),
        )
        cases.append(
            {
                "scores": scores.tolist(),
                "draws": draws,
                "seed": seed,
                "low": found.confidence_interval.low,
                "high": found.confidence_interval.high,
                "gold": gold.tolist(),
                "said": said.tolist(),
                "macro_low": macro.confidence_interval.low,
                "macro_high": macro.confidence_interval.high,
            }
        )
    return cases


def power(n: int, first_only: float, second_only: float, alpha: float) -> float:
    """By summing scipy's distributions over all counts."""
    from scipy import stats

    discordant = first_only + second_only
    total = 0.0
    for m in range(1, n + 1):
        counts = np.arange(m + 1)
        p = np.minimum(1, 2 * stats.binom.cdf(np.minimum(counts, m - counts), m, 0.5))
        hit = stats.binom.pmf(counts, m, first_only / discordant)[p <= alpha].sum()
        total += stats.binom.pmf(m, n, discordant) * hit
    return float(total)


def tests(rng: np.random.Generator) -> dict[str, Any]:
    from scipy import optimize, stats
    from statsmodels.stats.contingency_tables import mcnemar
    from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa
    from statsmodels.stats.multitest import multipletests

    splits = [[int(b), int(c)] for b, c in rng.integers(0, 60, (40, 2))] + [[0, 9], [3, 3], [700, 600]]
    families = [rng.random(n).round(3).tolist() for n in (1, 2, 5, 12)] + [[0.01, 0.01, 0.04, 0.03, 0.005]]
    ratings = [rng.integers(0, k, (n, runs)) for n, runs, k in ((10, 2, 2), (40, 3, 3), (100, 5, 4))]
    tables = [rng.random(size).round(6).tolist() for size in ((1, 1), (3, 3), (4, 10), (10, 4), (10, 10), (25, 17))]
    best = []
    for table in tables:
        rows, columns = optimize.linear_sum_assignment(np.array(table), maximize=True)
        best.append(float(np.array(table)[rows, columns].sum()))
    chances = [(30, 0.3, 0.1), (100, 0.15, 0.05), (200, 0.12, 0.08), (300, 0.1, 0.1)]
    return {
        "splits": splits,
        "binomtest": [stats.binomtest(b, b + c, 0.5).pvalue if b + c else 1.0 for b, c in splits],
        "mcnemar": [float(mcnemar([[9, b], [c, 4]], exact=True).pvalue) for b, c in splits],
        "families": families,
        "holm": [multipletests(each, method="holm")[1].tolist() for each in families],
        "ratings": [each.tolist() for each in ratings],
        "fleiss": [float(fleiss_kappa(aggregate_raters(each)[0])) for each in ratings],
        "tables": tables,
        "best": best,
        "chances": chances,
        "power": [power(n, a, b, 0.05) for n, a, b in chances],
    }


def elements(rng: np.random.Generator, kinds: list[str], most: int) -> list[list[str]]:
    pages, parts = rng.integers(0, 3, most), rng.integers(0, 4, most)
    return [[f"page {p}", f"{rng.choice(kinds)}{part}"] for p, part in zip(pages.tolist(), parts.tolist(), strict=True)]


def fever(rng: np.random.Generator) -> dict[str, Any]:
    from fever_official import fever_score

    rows = []
    for _ in range(60):
        label = LABELS[rng.integers(0, 3)]
        groups = [elements(rng, [""], int(rng.integers(1, 3))) for _ in range(int(rng.integers(1, 4)))]
        rows.append(
            {
                "label": label,
                "predicted_label": LABELS[rng.integers(0, 3)],
                "evidence": [] if label == LABELS[2] else groups,
                "predicted_evidence": elements(rng, [""], int(rng.integers(0, 8))),
            }
        )
    given = [
        row | {"evidence": [[[None, None, page, part] for page, part in group] for group in row["evidence"]]}
        for row in copy.deepcopy(rows)
    ]
    return {"rows": rows, "expected": fever_score(given, max_evidence=5)}


def feverous(rng: np.random.Generator) -> dict[str, Any]:
    from feverous_official import feverous_score

    kinds = ["sentence_", "cell_0_", "item_0_", "table_caption_", "header_cell_0_0_", "section_"]
    rows = [
        {
            "label": LABELS[rng.integers(0, 3)],
            "predicted_label": LABELS[rng.integers(0, 3)],
            "evidence": [elements(rng, kinds, int(rng.integers(1, 3))) for _ in range(int(rng.integers(1, 4)))],
            "predicted_evidence": elements(rng, kinds, int(rng.integers(0, 48))),
        }
        for _ in range(36)
    ]

    def official(element: list[str]) -> list[str]:
        words = element[1].split("_")
        two = element[1].startswith(("table_caption", "header_cell"))
        cut = 2 if two else 1
        return [element[0], "_".join(words[:cut]), "_".join(words[cut:])]

    given = [
        row
        | {
            "evidence": [[official(each) for each in group] for group in row["evidence"]],
            "predicted_evidence": [official(each) for each in row["predicted_evidence"]],
        }
        for row in copy.deepcopy(rows)
    ]
    return {"rows": rows, "expected": feverous_score(given)}


def scifact(rng: np.random.Generator) -> dict[str, Any]:
    from scifact_official import Evaluator, unify_label

    golds, preds = [], []
    for number in range(70):
        documents = rng.permutation(4).tolist()
        gold: dict[str, Any] = {}
        for document in documents[: int(rng.integers(0, 3))]:
            label = ["SUPPORT", "CONTRADICT"][rng.integers(0, 2)]
            order = rng.permutation(6).tolist()
            cuts = [order[:2], order[2:3], order[3:6]][: int(rng.integers(1, 4))]
            gold[str(document)] = [{"sentences": cut, "label": label} for cut in cuts]
        said = {
            str(document): {
                "label": ["SUPPORT", "CONTRADICT"][rng.integers(0, 2)],
                "sentences": rng.permutation(6).tolist()[: int(rng.integers(0, 6))],
            }
            for document in rng.permutation(4).tolist()[: int(rng.integers(0, 3))]
        }
        golds.append({"id": number, "evidence": gold})
        preds.append({"id": number, "evidence": said})
    return {
        "gold": golds,
        "said": preds,
        "expected": Evaluator().evaluate([unify_label(each) for each in golds], preds),
    }


def texts(rng: np.random.Generator, wordnet: Path | None) -> dict[str, Any]:
    import nltk
    from nltk.stem.porter import PorterStemmer
    from nltk.translate.meteor_score import single_meteor_score

    class Nothing:
        def synsets(self, word: str) -> list[Any]:
            return []

    pairs = [[[str(each) for each in rng.choice(WORDS, int(rng.integers(1, 18)))] for _ in range(2)] for _ in range(60)]
    found: dict[str, Any] = {
        "pairs": pairs,
        "meteor": [single_meteor_score(b, a, wordnet=Nothing()) for a, b in pairs],
    }
    if wordnet:
        nltk.data.path.insert(0, str(wordnet))
        from nltk.corpus.reader.wordnet import WordNetCorpusReader

        WordNetCorpusReader.map_wn = lambda self, *_: None
        from nltk.corpus import wordnet as net

        porter = PorterStemmer()
        stemmed = {porter.stem(word.lower()) for pair in pairs for side in pair for word in side}
        lemmas = {
            word: sorted({name for each in net.synsets(word) for name in each.lemma_names() if "_" not in name})
            for word in sorted(stemmed)
        }
        found["synonyms"] = {word: names for word, names in lemmas.items() if names}
        found["meteor_with_synonyms"] = [single_meteor_score(b, a) for a, b in pairs]
    return found


def main() -> None:
    """Writes both files."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--official", type=Path, required=True)
    parser.add_argument("--wordnet", type=Path)
    given = parser.parse_args()
    sys.path.insert(0, str(given.official))
    rng = np.random.default_rng(20240607)
    statistics = {
        "classification": classification(rng),
        "calibration": calibration(rng),
        "retrieval": retrieval(rng),
        "intervals": intervals(rng),
        "tests": tests(rng),
    }
    scorers = {"fever": fever(rng), "feverous": feverous(rng), "scifact": scifact(rng)}
    scorers["texts"] = texts(rng, given.wordnet)
    for name, value in (("statistics", statistics), ("scorers", scorers)):
        (HERE / f"{name}.json").write_text(json.dumps(value, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
