"""How often the comparison of words without a model is right: precision and coverage by what it names.

Claims of a file of pairs, by default every fifth, against the sentences of their documents; of the sets in ``dev/`` the
even rows. Precision: the share of these verdicts that the gold label confirms; coverage: the share of the claims with
that gold label that get the verdict. ``--wrong`` prints claims whose verdict is wrong, with their gold label,
``--missed KIND`` the refuted claims of a kind in which nothing was found.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping

from benchmarks import pool
from redargue import words
from redargue.nli.consistency import check_consistency
from redargue.nli.reader import sentences

GOLD = {"supported": "SUPPORTS", "contradicted": "REFUTES"}


def main(arguments: list[str]) -> None:
    """Prints a line for "supported", one for "contradicted", and one for each kind of difference."""
    parser = argparse.ArgumentParser(prog="benchmarks checks", description=__doc__)
    parser.add_argument("--rows", default="written/contrast_train", help="file of pairs, without .jsonl.gz")
    parser.add_argument("--every", type=int, default=5, help="of how many rows one is read")
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("--missed", metavar="KIND", default="")
    options = parser.parse_args(arguments)
    rows = pool.rows(pool.data() / f"{options.rows}.jsonl.gz")
    if options.rows.startswith("dev/"):
        rows = [row for row in rows if pool.is_even(row["claim"])]
    rows = rows[:: options.every]
    found: Counter[tuple[str, str]] = Counter()
    right: Counter[tuple[str, str]] = Counter()
    alarms: Counter[tuple[str, str]] = Counter()
    of_crossed = Counter(crossed=0, contradicted=0)
    for row in rows:
        texts = sentences(row["evidence"])
        result = check_consistency(row["claim"], texts, row.get("title", ""))
        kinds = tuple(difference.kind for difference in result.differences)
        if row.get("kind") == "crossed" and row["label"] == "REFUTES":
            of_crossed["rows"] += 1
            of_crossed["contradicted"] += result.verdict == "contradicted"
            of_crossed["crossed"] += "crossed" in kinds
        if result.verdict not in GOLD:
            if options.missed == row.get("kind") and row["label"] == "REFUTES":
                print(json.dumps([row["claim"], row["evidence"]], ensure_ascii=False))
            continue
        is_right = row["label"] == GOLD[result.verdict]
        for kind in ("all", *kinds):
            found[result.verdict, kind] += 1
            right[result.verdict, kind] += is_right
            alarms[result.verdict, kind] += row["label"] == "SUPPORTS"
        if options.wrong and not is_right and result.sentence is not None:
            named = [f"{each.kind}: {words.difference(each)}" for each in result.differences]
            print(json.dumps([row["label"], row["claim"], texts[result.sentence], *named], ensure_ascii=False))
    gold = Counter(row["label"] for row in rows)
    print(json.dumps({"rows": len(rows)} | gold))
    print(json.dumps({"refuted claims that cross two facts": of_crossed}))
    for line in sorted(found):
        print(json.dumps(_line(line, found[line], right[line], alarms[line], gold)))


def _line(line: tuple[str, str], found: int, right: int, alarms: int, gold: Mapping[str, int]) -> dict[str, object]:
    """The figures of a verdict and a kind; of contradictions also the share of supported claims that have one."""
    verdict, kind = line
    coverage = round(right / max(1, gold[GOLD[verdict]]), 3)
    shown = {"verdict": verdict, "kind": kind, "n": found, "precision": round(right / found, 3), "coverage": coverage}
    if verdict == "contradicted":
        shown["supported claims contradicted"] = round(alarms / max(1, gold["SUPPORTS"]), 4)
    return shown
