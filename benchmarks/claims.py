"""How many lines that state something checkable are kept, and how many others are dropped.

Lines of chats, e-mails, posts, articles and summaries, labelled; every line is given alone. Choose on the even half,
report on the odd one.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter

from benchmarks import pool
from redargue.nli import claim_filter


def main(arguments: list[str]) -> None:
    """Prints a line of JSON; with ``--wrong``, also the lines that are told wrongly."""
    parser = argparse.ArgumentParser(prog="benchmarks claims", description=__doc__)
    parser.add_argument("--half", choices=["even", "odd"], default="even")
    parser.add_argument("--wrong", action="store_true")
    given = parser.parse_args(arguments)
    rows = [
        row
        for row in pool.rows(pool.data() / "written/chat_lines.jsonl.gz")
        if pool.is_even(row["line"]) == (given.half == "even")
    ]
    found = claim_filter.statements([row["line"] for row in rows])
    counts = Counter((row["label"], claim is not None) for row, claim in zip(rows, found, strict=True))
    claims, others = (counts[label, True] + counts[label, False] for label in ("claim", "no_claim"))
    rates = {"kept": round(counts["claim", True] / claims, 3), "dropped": round(counts["no_claim", False] / others, 3)}
    print(json.dumps({"half": given.half, "claims": claims, "others": others, **rates}))
    for row, claim in zip(rows, found, strict=True):
        if given.wrong and (row["label"] == "claim") != (claim is not None):
            print(json.dumps({"line": row["line"], "label": row["label"], "why": row["why"]}))
