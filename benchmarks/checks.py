"""How often the comparison of words without a model is right: precision and coverage by what it names.

Rows of ``written/contrast_train``, each claim against the sentences of its document. ``--wrong`` prints claims whose
verdict is wrong, with their gold label.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter

from benchmarks import pool
from redargue import words
from redargue.nli.consistency import check_consistency
from redargue.nli.reader import sentences

GOLD = {"supported": "SUPPORTS", "contradicted": "REFUTES"}


def main(arguments: list[str]) -> None:
    """Prints a line for "supported", one for "contradicted", and one for each kind of difference."""
    parser = argparse.ArgumentParser(prog="benchmarks checks", description=__doc__)
    parser.add_argument("--every", type=int, default=5, help="of how many rows one is read")
    parser.add_argument("--wrong", action="store_true")
    options = parser.parse_args(arguments)
    rows = pool.rows(pool.data() / "written" / "contrast_train.jsonl.gz")[:: options.every]
    found: Counter[tuple[str, str]] = Counter()
    right: Counter[tuple[str, str]] = Counter()
    for row in rows:
        texts = sentences(row["evidence"])
        result = check_consistency(row["claim"], texts, row["title"])
        if result.verdict not in GOLD:
            continue
        is_right = row["label"] == GOLD[result.verdict]
        for kind in ("all", *(difference.kind for difference in result.differences)):
            found[result.verdict, kind] += 1
            right[result.verdict, kind] += is_right
        if options.wrong and not is_right and result.sentence is not None:
            named = [f"{each.kind}: {words.difference(each)}" for each in result.differences]
            print(json.dumps([row["label"], row["claim"], texts[result.sentence], *named], ensure_ascii=False))
    gold = Counter(row["label"] for row in rows)
    print(json.dumps({"rows": len(rows)} | gold))
    for (verdict, kind), count in sorted(found.items()):
        precision = round(right[verdict, kind] / count, 3)
        coverage = round(right[verdict, kind] / max(1, gold[GOLD[verdict]]), 3)
        print(json.dumps({"verdict": verdict, "kind": kind, "n": count, "precision": precision, "coverage": coverage}))
