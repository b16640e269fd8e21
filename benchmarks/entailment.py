"""What a cross-encoder scores on development pairs: the large one, where it is installed.

Three-way, and two-way where a set has two labels.
"""

from __future__ import annotations

import argparse
import json

from benchmarks import pool
from benchmarks.statistics import accuracy, interval, macro_f1
from redargue.nli.careful import careful_weights
from redargue.nli.session import CrossEncoder

LABELS = ("SUPPORTS", "REFUTES", "NEI")
SETS = (
    "fever_nli.paper_test",
    "scifact.dev",
    "feverous.dev",
    "fever_symmetric.0.2_dev",
    "healthver.dev",
    "climate_fever.all",
)


def main(arguments: list[str]) -> None:
    """Prints one line a set: accuracy and macro-F1 with 95 % intervals."""
    parser = argparse.ArgumentParser(prog="benchmarks entailment", description=__doc__)
    parser.add_argument("--half", choices=("even", "odd"), default="even")
    parser.add_argument("--limit", type=int, default=2500)
    parser.add_argument("--small", action="store_true", help="the bundled model, also where the large one is installed")
    given = parser.parse_args(arguments)
    careful = careful_weights()
    model = careful.model() if careful and not given.small else CrossEncoder()
    for name in SETS:
        rows = [
            row
            for row in pool.rows(pool.data() / "dev" / f"{name}.jsonl.gz")
            if pool.is_even(row["claim"]) == (given.half == "even")
        ][: given.limit]
        judged = model.read([(row["claim"], row["evidence"]) for row in rows])
        gold = [row["label"] for row in rows]
        names = [label for label in LABELS if label in gold]
        said = [LABELS[max(range(3), key=lambda i: scores[i])] for scores in judged]
        line = {
            "set": name,
            "half": given.half,
            "n": len(rows),
            "accuracy": interval(gold, said, LABELS, accuracy),
            "macro_f1": interval(gold, said, names, macro_f1),
        }
        if len(names) == 2:
            forced = ["SUPPORTS" if scores.supports > scores.refutes else "REFUTES" for scores in judged]
            line["two_way_accuracy"] = interval(gold, forced, names, accuracy)
        print(json.dumps(line), flush=True)
