"""The distributions of faithfulness and answer relevance, and the thresholds they suggest (Tool-MAD, journal, Fig. 3).

Debates of one round in the profile ``paper``, which scores every answer. Scores of right and of wrong answers over even
rows of FEVER's paper_test, without those that ``fever`` reports; ``--draw FILE`` draws them (extra ``plots``).
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pool
from redargue import Claim, Verifier
from redargue.events import Answered, Event, Scored

METHOD, PROFILE = "tool-mad", "paper"


def main(arguments: list[str]) -> None:
    """Prints quantiles and, for each pair of thresholds, what an accepted consensus is worth."""
    parser = argparse.ArgumentParser(prog="benchmarks thresholds", description=__doc__)
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--draw", type=Path)
    given = parser.parse_args(arguments)
    chosen = pool.claims("even", pool.REPORTED + given.limit)[pool.REPORTED :]
    table = asyncio.run(scores(chosen))
    for metric in ("faithfulness", "answer_relevance"):
        for right in (True, False):
            values = [row[metric] for row in table if row["right"] is right and row[metric] is not None]
            quantiles = np.round(np.percentile(values, (5, 25, 50, 75, 95)), 3).tolist() if values else []
            print(
                json.dumps(
                    {
                        "method": METHOD,
                        "profile": PROFILE,
                        "metric": metric,
                        "answers": "right" if right else "wrong",
                        "n": len(values),
                        "5 25 50 75 95": quantiles,
                    }
                )
            )
    print(json.dumps(gates(table), indent=1))
    if given.draw:
        draw(table, given.draw)


async def scores(chosen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row an answer of the first round: its two scores, whether its label is right, whether the debaters agree."""
    path, _ = pool.store()
    events: list[Event] = []
    with Verifier(method=METHOD, profile=PROFILE, store=path, settings={"rounds": 1}) as verifier:
        await verifier.verify_all([Claim(text=row["claim"]) for row in chosen], listeners=[events.append])
    table: dict[tuple[int, str], dict[str, Any]] = {}
    for event in events:
        if isinstance(event, Answered):
            row = table.setdefault(
                (event.item, event.agent), {"item": event.item, "faithfulness": None, "answer_relevance": None}
            )
            row |= {"label": event.label, "right": event.label == chosen[event.item]["label"]}
        elif isinstance(event, Scored):
            row = table.setdefault(
                (event.item, event.agent), {"item": event.item, "faithfulness": None, "answer_relevance": None}
            )
            row[str(event.score.metric)] = event.score.value
    return list(table.values())


def gates(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each pair of thresholds: the share of claims that round 1 settles, and how many of them rightly."""
    items: dict[int, list[dict[str, Any]]] = {}
    for row in table:
        items.setdefault(row["item"], []).append(row)
    agreed = [rows for rows in items.values() if len({row["label"] for row in rows}) == 1]
    out = []
    for faithful in (0.3, 0.5, 0.6, 0.7, 0.9):
        for relevant in (0.4, 0.5, 0.6, 0.7, 0.8):
            passed = [
                rows
                for rows in agreed
                if all(
                    (row["faithfulness"] or 0) > faithful and (row["answer_relevance"] or 0) > relevant for row in rows
                )
            ]
            right = sum(rows[0]["right"] for rows in passed)
            out.append(
                {
                    "faithfulness": faithful,
                    "relevance": relevant,
                    "settled": round(len(passed) / len(items), 3),
                    "right": round(right / len(passed), 3) if passed else None,
                }
            )
    return out


def draw(table: list[dict[str, Any]], path: Path) -> None:
    """Two histograms, right and wrong answers side by side."""
    try:
        import matplotlib
    except ImportError:
        raise SystemExit("drawing needs matplotlib: pip install 'redargue[plots]'") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.2))
    for axis, metric in zip(axes, ("faithfulness", "answer_relevance"), strict=True):
        parts = [
            [row[metric] for row in table if row["right"] is right and row[metric] is not None]
            for right in (True, False)
        ]
        axis.hist(parts, bins=20, range=(0, 1), label=("right answers", "wrong answers"), color=("#2a7", "#c44"))
        axis.set_title(metric.replace("_", " "))
        axis.legend()
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    print(f"drawn: {path}")
