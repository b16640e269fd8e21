"""Which way Tool-MAD's figures 8, 10 and 11 point with a strong language model, from recorded debates.

``python -m benchmarks directions`` reads ``relay`` of the data folder: 36 debates of Tool-MAD, every answer with both
scores. Figure 9, on query formulation, cannot be read off them: no debate was held without it; nor figure 10: none was
held without scoring feedback. Beside it stand the same debates, once ended by their labels (``tool-mad today`` of
``benchmarks defaults``), once by the scores, as recorded. Intervals are percentile bootstrap over claims.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import markdown
from benchmarks.defaults import DEBATE, TODAY, alone, read
from redargue.bench.statistics import Interval, interval_of

METRICS = {"faithfulness": "faithfulness", "answer_relevance": "answer relevance"}
LAST_ROUND = 3
HEADER = ("figure", "in the paper", "here")


class Said(NamedTuple):
    """A debater's answer in one round: whether it is right, and its scores by metric."""

    claim: str
    agent: str
    round: int
    right: bool
    scores: dict[str, float]


def main(arguments: list[str]) -> None:
    """Prints the table."""
    argparse.ArgumentParser(prog="python -m benchmarks directions", description=__doc__).parse_args(arguments)
    folder = Path(os.environ["REDARGUE_DATA"]) / "relay"
    gold = {row["claim"]: row["gold"] for row in _lines(folder / "claims.jsonl")}
    said = answers(folder, gold)
    after = [after_round(said, number) for number in range(1, LAST_ROUND + 1)]
    held = read(folder)
    counts = [[alone(name)(held[claim])[0] == gold[claim] for claim in gold] for name in (TODAY, DEBATE)]
    rows = [
        (
            "8, rounds",
            "accuracy rises to round 3, falls in round 4",
            "answers right after rounds 1, 2, 3: " + ", ".join(f"{right} of {of}" for right, of in after),
        ),
        (
            "10, scoring feedback",
            "better with it on all four data sets",
            "right of the same debates, ended by labels and by scores: "
            f"{sum(counts[0])} and {sum(counts[1])} of {len(gold)}",
        ),
        *(
            ("11, " + title, "higher for right answers on all four data sets", _difference(said, metric))
            for metric, title in METRICS.items()
        ),
    ]
    print(markdown.table(HEADER, rows))


def answers(folder: Path, gold: dict[str, str]) -> list[Said]:
    """Every answer of every debate."""
    found = []
    for path in sorted(folder.glob("*/*/*/*/run.json")):
        about = json.loads(path.read_text(encoding="utf-8"))
        if about["method"] != "tool-mad":
            continue
        events = _lines(path.with_name("events.jsonl"))
        scores: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
        for event in events:
            if event["kind"] == "scored" and event["score"]["value"] is not None:
                score = event["score"]
                scores[event["item"], event["agent"], event["round"]][score["metric"]] = score["value"]
        for event in events:
            if event["kind"] == "answered":
                claim, place = about["claims"][event["item"]]["text"], (event["item"], event["agent"], event["round"])
                right = event["label"] == gold[claim]
                found.append(Said(claim, event["agent"], event["round"], right, scores[place]))
    return found


def after_round(said: Sequence[Said], number: int) -> tuple[int, int]:
    """Debaters whose last answer so far is right, of all; who has agreed before keeps its answer."""
    ordered = sorted(said, key=lambda each: each.round)
    last = {(each.claim, each.agent): each for each in ordered if each.round <= number}
    return sum(each.right for each in last.values()), len(last)


def _difference(said: Sequence[Said], metric: str) -> str:
    claims = sorted({each.claim for each in said})
    right, wrong = ([_scores(said, claim, metric, right=side) for claim in claims] for side in (True, False))

    def mean(side: Sequence[Sequence[float]], places: Iterable[int]) -> float:
        taken = [value for place in places for value in side[place]]
        return float(np.mean(taken)) if taken else float(np.mean([value for row in side for value in row]))

    found: Interval = interval_of(lambda places: mean(right, places) - mean(wrong, places), len(claims))
    everywhere = range(len(claims))
    return (
        f"{mean(right, everywhere):.3f} for right, {mean(wrong, everywhere):.3f} for wrong answers;"
        f" difference {found.value:+.3f} ({found.low:+.3f} to {found.high:+.3f})"
    )


def _scores(said: Sequence[Said], claim: str, metric: str, *, right: bool) -> list[float]:
    own = [each for each in said if each.claim == claim and each.right is right]
    return [each.scores[metric] for each in own if metric in each.scores]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
