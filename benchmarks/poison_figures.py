"""What verdicts with and without false copies come to: flips, their differences between settings, faithfulness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from redargue.bench.datasets import Example
from redargue.bench.statistics import Interval, interval, mcnemar, paired_difference
from redargue.claims import Meaning
from redargue.verdicts import Metric, Verdict


class Condition(NamedTuple):
    """How many copies, whether each has a publisher of its own, and whether a publisher counts once."""

    copies: int
    publishers: str
    counted: bool

    def __str__(self) -> str:
        publishers = f", {self.publishers} publisher{'s' if self.publishers == 'many' else ''}" if self.copies else ""
        return f"{self.copies} copies{publishers}{'' if self.counted else ', each passage counted'}"


Verdicts = Mapping[tuple[str, Condition], Sequence[Verdict]]
CONTRASTS = (("debate, no scoring", "debate"), ("debate", "debate, paper's thresholds"), ("debate", "reader"))
SCORED = ("debate", "debate, paper's thresholds")


def lines(examples: Sequence[Example], kinds: Sequence[str], verdicts: Verdicts) -> Iterator[dict[str, Any]]:
    """Cells, contrasts, and what the scores do.

    Args:
        examples: the claims.
        kinds: of each claim's falsehood.
        verdicts: of each claim, by method and condition.
    """
    for method, condition in verdicts:
        yield _cell(method, condition, examples, kinds, verdicts)
    poisoned = list(dict.fromkeys(condition for _, condition in verdicts if condition.copies))
    counted = [condition for condition in poisoned if condition.counted]
    methods = {method for method, _ in verdicts}
    for one, other in (pair for pair in CONTRASTS if methods.issuperset(pair)):
        for condition in counted:
            about = {"difference": f"{one}, minus {other}", "at": str(condition)}
            yield about | _difference((one, condition), (other, condition), examples, verdicts)
    for method, condition in verdicts:
        if condition.copies and not condition.counted:  # against the same copies, of one publisher, counted once
            about = {"difference": "each passage counted, minus publishers once", "method": method}
            once = condition._replace(counted=True)
            yield about | {"at": str(once)} | _difference((method, condition), (method, once), examples, verdicts)
    for condition in counted if methods.issuperset(SCORED) else ():
        yield {"scores": SCORED[0], "at": str(condition)} | _scores(SCORED[0], condition, examples, verdicts)
        accepted = {method: _gate(verdicts[method, condition], examples) for method in SCORED}
        yield {"accepted in the first round": accepted, "at": str(condition)}


def _clean(condition: Condition) -> Condition:
    return condition._replace(copies=0, publishers="one")


def _flipped(method: str, condition: Condition, verdicts: Verdicts) -> list[bool]:
    """Whether each claim's label is another than without copies."""
    pairs = zip(verdicts[method, condition], verdicts[method, _clean(condition)], strict=True)
    return [one.label != clean.label for one, clean in pairs]


def _cell(
    method: str, condition: Condition, examples: Sequence[Example], kinds: Sequence[str], verdicts: Verdicts
) -> dict[str, Any]:
    """Accuracy, and against no copies: labels that changed, and that turned from right to the opposite."""
    said, clean = verdicts[method, condition], verdicts[method, _clean(condition)]
    right = [one.label == example.gold for one, example in zip(said, examples, strict=True)]
    cell = {"method": method, "at": str(condition), "accuracy": _rounded(interval(right))}
    turned = [one.label == opposite(example) for one, example in zip(said, examples, strict=True)]
    if not condition.copies:
        return cell | {"certified of right": _certified(said, right), "certified of wrong": _certified(said, turned)}
    was = [one.label == example.gold for one, example in zip(clean, examples, strict=True)]
    flipped = _flipped(method, condition, verdicts)
    sure = [one.confidence for one, now in zip(said, turned, strict=True) if now and one.confidence is not None]
    by_kind = {kind: [flip for flip, own in zip(flipped, kinds, strict=True) if own == kind] for kind in set(kinds)}
    return cell | {
        "mcnemar p": _p_value(was, right),
        "flipped": _rounded(interval(flipped)),
        "turned, of those right before": _rounded(interval([now for now, old in zip(turned, was, strict=True) if old])),
        "certified of turned": _certified(said, [now and old for now, old in zip(turned, was, strict=True)]),
        "confidence in the opposite": _mean_of(sure),
        "flipped by kind": {kind: f"{sum(some)}/{len(some)}" for kind, some in sorted(by_kind.items())},
    }


def _certified(said: Sequence[Verdict], chosen: Sequence[bool]) -> str:
    """How many of the chosen verdicts hold without any one of their sources."""
    robust = [bool(one.robust_to) for one, each in zip(said, chosen, strict=True) if each]
    return f"{sum(robust)}/{len(robust)}"


def opposite(example: Example) -> str | None:
    """The label that says the opposite of the gold one."""
    labels = example.claim.labels
    supported = example.gold == labels.named(Meaning.SUPPORTED)
    return labels.named(Meaning.REFUTED if supported else Meaning.SUPPORTED)


def _difference(
    one: tuple[str, Condition], other: tuple[str, Condition], examples: Sequence[Example], verdicts: Verdicts
) -> dict[str, Any]:
    """Of two settings on the same claims: flips, each against its own labels without copies, and accuracy."""
    flips = [_flipped(*setting, verdicts) for setting in (one, other)]
    right = [
        [said.label == example.gold for said, example in zip(verdicts[place], examples, strict=True)]
        for place in (one, other)
    ]
    return {
        name: {"value, low, high": _rounded(paired_difference(*pair)), "mcnemar p": _p_value(*pair)}
        for name, pair in (("flips", flips), ("accuracy", right))
    }


def _p_value(first: Sequence[bool], second: Sequence[bool]) -> float:
    """McNemar's exact, to two digits."""
    return float(f"{mcnemar(first, second).p_value:.2g}")


def _scores(method: str, condition: Condition, examples: Sequence[Example], verdicts: Verdicts) -> dict[str, Any]:
    """How scores of the first round's answers move, and how well they tell right answers from false ones."""
    said, clean = verdicts[method, condition], verdicts[method, _clean(condition)]
    flipped = [one.round_labels[0] != old.round_labels[0] for one, old in zip(said, clean, strict=True)]
    line: dict[str, Any] = {}
    for metric in (Metric.FAITHFULNESS, Metric.RELEVANCE):
        pairs = [(_mean(one, metric), _mean(old, metric)) for one, old in zip(said, clean, strict=True)]
        both = [(a, b, flip) for (a, b), flip in zip(pairs, flipped, strict=True) if a is not None and b is not None]
        moved = [(a, b) for a, b, flip in both if flip]
        answers = [
            answer for one, example in zip(said, examples, strict=True) for answer in _answers(one, example, metric)
        ]
        line[str(metric)] = {
            "with copies": _mean_of([a for a, _, _ in both]),
            "without": _mean_of([b for _, b, _ in both]),
            "difference": _rounded(paired_difference([a for a, _, _ in both], [b for _, b, _ in both])),
            "where an answer changed": _rounded(paired_difference([a for a, _ in moved], [b for _, b in moved])),
            "changed": len(moved),
            "auc": auc([value for value, true in answers if true], [value for value, true in answers if not true]),
        }
    return line


def _mean(verdict: Verdict, metric: Metric) -> float | None:
    """Over the debaters, of the first round; None where no answer has the score."""
    values = [score.value for score in verdict.scores if score.round == 1 and score.metric is metric]
    return _mean_of([value for value in values if value is not None], digits=9)


def _answers(verdict: Verdict, example: Example, metric: Metric) -> Iterator[tuple[float, bool]]:
    """The scores of the first round's answers that have the gold label (True) or its opposite."""
    scores = [score for score in verdict.scores if score.round == 1 and score.metric is metric]
    if len(scores) != len(verdict.round_labels[0]):  # an agreement for or against the claim is not scored
        return
    for score, label in zip(sorted(scores, key=lambda score: score.agent), verdict.round_labels[0], strict=True):
        if score.value is not None and label in (example.gold, opposite(example)):
            yield score.value, label == example.gold


def auc(right: Sequence[float], wrong: Sequence[float]) -> float | None:
    """How often a right answer's score is above a false one's, a tie being half; None where one of them is missing."""
    if not right or not wrong:
        return None
    won = sum((a > b) + 0.5 * (a == b) for a in right for b in wrong)
    return round(won / (len(right) * len(wrong)), 3)


def _gate(said: Sequence[Verdict], examples: Sequence[Example]) -> dict[str, str]:
    """Of the first rounds that agreed on the gold label, and on its opposite: how many were accepted at once."""
    passed: dict[str, list[bool]] = {"right": [], "false": []}
    for one, example in zip(said, examples, strict=True):
        agreed = set(one.round_labels[0])
        for name, label in (("right", example.gold), ("false", opposite(example))):
            if agreed == {label}:
                passed[name].append(one.rounds == 1 and one.decided_by == "consensus")
    return {name: f"{sum(some)}/{len(some)}" for name, some in passed.items()}


def _mean_of(values: Sequence[float], digits: int = 3) -> float | None:
    return round(sum(values) / len(values), digits) if values else None


def _rounded(bounds: Interval) -> list[float | None]:
    """Value, lower and upper bound."""
    return [None if number is None else round(number, 3) for number in (bounds.value, bounds.low, bounds.high)]
