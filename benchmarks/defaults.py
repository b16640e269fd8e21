"""Which method a run with a language model should have where it names none: rules over recorded verdicts.

``python -m benchmarks defaults`` reads ``relay`` of the data folder: what a strong language model answered about 36
claims as a single reader, in MERMAID and in Tool-MAD. A rule asks one of them first and another where the answer is
open, or rests on no located quotation, or differs. "Tool-MAD today" has the recorded labels of each round, and ends as
the hardened profile does now: 2 calls for an agreement on a side, 4 more for a second round, 17 for a disagreement to
the end. Its first query is the claim now, so that it may read other passages than those of the record. "Pair" takes the
single reader and the first answer of Tool-MAD's first debater as its two readers, or both debaters' first answers; for
its debate the recorded second round; and after a disagreement in that, the recorded verdict, at a judge's one call.
Neither reader of the record was asked what speaks against the claim, and they read different passages, which those of
``pair`` do not. For each rule: right verdicts and calls a claim. Then, for several prices of a mended claim in calls,
the rule with the most right verdicts for its calls, and how often it is right on a claim that it was not chosen with
(leave one out).
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from redargue.claims import Claim as Stated
from redargue.claims import Meaning
from redargue.evidence import Passage
from redargue.nli.backend import EmbeddedBackend, perform
from redargue.tasks.score import ReaderAnswer, ReadPassages

READER, MERMAID, DEBATE, TODAY = "single-reader", "mermaid", "tool-mad", "tool-mad today"
SIDES = ("supported", "refuted")
AGREED, SECOND, DISPUTED = 2, 6, 17  # calls of Tool-MAD today
PAIR, PAIR_READ, DEBATERS = "pair", "pair with the small reader", "pair of the debaters"
PAIR_DEBATE, PAIR_JUDGED = 6, 7  # calls of pair, up to an agreement in its debate and to its judge
PRICES = (20, 40, 60, 100, 200)  # calls that a right verdict more is worth


class Held(NamedTuple):
    """A recorded verdict: its label, its calls, and whether it is for or against the claim with a located quotation."""

    label: str | None
    calls: int
    settled: bool


class Reading(NamedTuple):
    """An answer, and its quotations that were located."""

    label: str | None
    quotes: tuple[Passage, ...]


Claim = Mapping[str, Held]  # by method
Rule = Callable[[Claim], tuple[str | None, int]]


def alone(method: str) -> Rule:
    return lambda held: (held[method].label, held[method].calls)


def then(first: str, second: str) -> Rule:
    """The second where the first settles nothing."""

    def rule(held: Claim) -> tuple[str | None, int]:
        one, other = held[first], held[second]
        return (one.label, one.calls) if one.settled else (other.label, one.calls + other.calls)

    return rule


def agreed(first: str, second: str, third: str) -> Rule:
    """Both of two; where they differ, the third."""

    def rule(held: Claim) -> tuple[str | None, int]:
        one, two, other = held[first], held[second], held[third]
        calls = one.calls + two.calls
        return (one.label, calls) if one.label == two.label else (other.label, calls + other.calls)

    return rule


RULES: dict[str, Rule] = {
    "single reader": alone(READER),
    "single reader, then MERMAID": then(READER, MERMAID),
    "single reader, then Tool-MAD today": then(READER, TODAY),
    "MERMAID": alone(MERMAID),
    "MERMAID, then Tool-MAD today": then(MERMAID, TODAY),
    "single reader and MERMAID, where they differ Tool-MAD today": agreed(READER, MERMAID, TODAY),
    "pair: single reader and first debater": alone(PAIR),
    "pair: single reader and first debater, small reader": alone(PAIR_READ),
    "pair: first answers of both debaters": alone(DEBATERS),
    "Tool-MAD today": alone(TODAY),
    "Tool-MAD as recorded": alone(DEBATE),
}


def main(arguments: list[str]) -> None:
    """Prints a line for each rule, and one for each price."""
    argparse.ArgumentParser(prog="benchmarks defaults", description=__doc__).parse_args(arguments)
    folder = Path(os.environ["REDARGUE_DATA"]) / "relay"
    lines = (folder / "claims.jsonl").read_text(encoding="utf-8").splitlines()
    gold = {row["claim"]: row["gold"] for row in map(json.loads, lines)}
    print(*map(json.dumps, figures(read(folder), gold)), sep="\n")


def figures(held: Mapping[str, Claim], gold: Mapping[str, str]) -> list[dict[str, object]]:
    """What is printed, for recorded verdicts by claim and method."""
    claims = [claim for claim in gold if {READER, MERMAID, DEBATE} <= held[claim].keys()]
    ended = {name: [rule(held[claim]) for claim in claims] for name, rule in RULES.items()}
    right = {
        name: [label == gold[claim] for (label, _), claim in zip(ends, claims, strict=True)]
        for name, ends in ended.items()
    }
    calls = {name: [count for _, count in ends] for name, ends in ended.items()}
    rows: list[dict[str, object]] = [
        {"rule": name, "right": sum(right[name]), "of": len(claims), "calls": round(sum(calls[name]) / len(claims), 2)}
        for name in RULES
    ]
    for price in PRICES:
        worth = {
            name: [price * hit - cost for hit, cost in zip(right[name], calls[name], strict=True)] for name in RULES
        }
        chosen = [max(RULES, key=lambda name: sum(worth[name]) - worth[name][out]) for out in range(len(claims))]
        rows.append(
            {
                "price": price,
                "chosen": dict(Counter(chosen)),
                "right": sum(right[name][out] for out, name in enumerate(chosen)),
                "calls": round(sum(calls[name][out] for out, name in enumerate(chosen)) / len(claims), 2),
            }
        )
    return rows


def read(folder: Path) -> dict[str, dict[str, Held]]:
    """Recorded verdicts by claim and method."""
    held: dict[str, dict[str, Held]] = {}
    readings: dict[str, dict[str, Reading]] = {}
    debates: dict[str, Mapping[str, Any]] = {}
    for path in sorted(folder.glob("*/*/*/*/events.jsonl")):
        calls = Counter[int]()
        answers: dict[int, dict[str, Reading]] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            calls[event["item"]] += event["kind"] == "call_finished" and event["charge"] == "call"
            if event["kind"] == "answered" and event["round"] <= 1:
                answers.setdefault(event["item"], {})[event["agent"]] = reading_of(event)
            if event["kind"] == "claim_ended":
                verdict = event["verdict"]
                located = any(quote["status"] != "not_found" for quote in verdict["quotes"])
                settled = located and verdict["meaning"] in SIDES
                about = held.setdefault(verdict["claim"]["text"], {})
                about[verdict["method"]] = Held(verdict["label"], calls[event["item"]], settled)
                if verdict["method"] in (DEBATE, READER):
                    readings.setdefault(verdict["claim"]["text"], {}).update(answers.get(event["item"], {}))
                if verdict["method"] == DEBATE:
                    about[TODAY] = today(verdict, settled)
                    debates[verdict["claim"]["text"]] = verdict
    for text, verdict in debates.items():
        debaters = [read for agent, read in sorted(readings[text].items()) if agent != "reader"]
        held[text][DEBATERS] = pair(verdict, debaters)
        if "reader" in readings[text]:
            two = [readings[text]["reader"], debaters[0]]
            held[text] |= {PAIR: pair(verdict, two), PAIR_READ: pair(verdict, two, small_reader=True)}
    return held


def reading_of(event: Mapping[str, Any]) -> Reading:
    located = (quote for quote in event["quotes"] if quote["status"] != "not_found")
    shown = (Passage(text=quote["text"], title=(quote["source"] or {}).get("title", "")) for quote in located)
    return Reading(event["label"], tuple(shown))


def pair(verdict: Mapping[str, Any], readings: Sequence[Reading], *, small_reader: bool = False) -> Held:
    """How the method ``pair`` ends with these readings, as far as the record of a debate allows."""
    claim = Stated.model_validate(verdict["claim"])
    sides = {label.name: label.meaning for label in claim.labels.labels if label.meaning in SIDES}
    labels = {reading.label for reading in readings}
    label = next(iter(labels))
    if len(labels) == 1 and label in sides and all(reading.quotes for reading in readings):
        quotes = tuple(quote for reading in readings for quote in reading.quotes)
        if not (small_reader and contradicts(claim, quotes, sides[label])):
            return Held(label, AGREED, settled=True)
    later = [set(labels) for labels in verdict["round_labels"]][1:2]
    if later and len(later[0]) == 1:
        return Held(min(later[0]), PAIR_DEBATE, settled=later[0] <= sides.keys())
    return Held(verdict["label"], PAIR_JUDGED, settled=verdict["meaning"] in SIDES)


def contradicts(claim: Stated, quotes: tuple[Passage, ...], side: Meaning) -> bool:
    read = cast(ReaderAnswer, perform(ReadPassages(claim=claim, passages=quotes), EmbeddedBackend()))
    other = claim.labels.meaning(read.label) if read.label else Meaning.NOT_ENOUGH
    return other in SIDES and other is not side


def today(verdict: Mapping[str, Any], settled: bool) -> Held:
    """How a recorded debate ends by the rules of the hardened profile."""
    sides = {label["name"] for label in verdict["claim"]["labels"]["labels"] if label["meaning"] in SIDES}
    first, *later = (set(labels) for labels in verdict["round_labels"])
    last = later[0] if later else first
    if len(first) == 1 and first <= sides:
        return Held(min(first), AGREED, settled=True)
    if len(last) == 1:
        return Held(min(last), SECOND, settled=last <= sides)
    return Held(verdict["label"], DISPUTED, settled=settled)
