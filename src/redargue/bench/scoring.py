"""Scores verdicts against examples: metrics with intervals, costs, and the data set's official metric."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from redargue.bench.datasets import Example
from redargue.bench.metrics import NO_ITEMS, MetricValue, ratio, same_length, undefined
from redargue.bench.metrics.classification import (
    Bin,
    ClassScores,
    Confusion,
    RiskPoint,
    RuleScores,
    accuracy,
    aurc,
    brier,
    calibration_error,
    class_scores,
    confusion,
    correct_items,
    coverage,
    exact_match,
    factuality,
    reliability,
    response_accuracy,
    risk_coverage,
    scores_by_rule,
)
from redargue.bench.official_metrics import (
    Locate,
    ScoredRows,
    accuracy_with_interval,
    by_document,
    macro_f1_with_interval,
    official_metrics,
)
from redargue.bench.statistics import DRAWS
from redargue.claims import Frozen, Meaning
from redargue.errors import UsageError
from redargue.verdicts import Usage, Verdict, total_usage


class CostScores(Frozen):
    """Sums over items."""

    items: int
    correct: int | None  # items with the correct label; None without gold labels
    usage: Usage  # has ``usd`` only if every item has a price
    unpriced: int = 0
    seconds: float | None = None  # wall time summed over items; None if not measured
    peak_bytes: int | None = None  # peak memory of the process; None if not measured

    @property
    def tokens(self) -> int:
        return self.usage.prompt_tokens + self.usage.completion_tokens

    def per_item(self) -> tuple[MetricValue, ...]:
        return self._per("item", self.items, NO_ITEMS)

    def per_correct(self) -> tuple[MetricValue, ...]:
        """Cost of all verdicts, correct or not, divided by the number of correct ones."""
        return self._per("correct", self.correct, "no verdict is correct")

    def _per(self, unit: str, count: int | None, empty: str) -> tuple[MetricValue, ...]:
        no_price = f"{self.unpriced} of {self.items} items have no price" if self.items else NO_ITEMS
        sums = {
            "calls": self.usage.calls,
            "tokens": self.tokens,
            "searches": self.usage.searches,
            "usd": self.usage.usd,
            "seconds": self.seconds,
        }
        values = []
        for name, total in sums.items():
            title = f"{name}-per-{unit}"
            if total is None:
                values.append(undefined(title, no_price if name == "usd" else "it was not measured", n=self.items))
            elif count is None:
                values.append(undefined(title, "no gold labels", n=self.items))
            else:
                values.append(ratio(title, total, count, n=self.items, empty=empty))
        return tuple(values)


def cost_scores(
    usages: Sequence[Usage],
    *,
    right: Sequence[bool] | None = None,
    seconds: Sequence[float] | None = None,
    peak_bytes: int | None = None,
) -> CostScores:
    """Sums the cost of items; ``right``, ``seconds`` and ``peak_bytes`` are None if unknown."""
    for column in (right, seconds):
        if column is not None:
            same_length(usages=usages, column=column)
    prices = [usage.usd for usage in usages if usage.usd is not None]
    return CostScores(
        items=len(usages),
        correct=None if right is None else sum(right),
        usage=total_usage(usages),
        unpriced=len(usages) - len(prices),
        seconds=None if seconds is None else math.fsum(seconds),
        peak_bytes=peak_bytes,
    )


class GroupScores(Frozen):
    """One stratum of a data set (``2-hop``, ``qa``)."""

    group: str
    accuracy: MetricValue
    coverage: MetricValue


class Scores(Frozen):
    """The scores of one system on one data set."""

    n: int
    hidden: int  # number of examples without a gold label; they count only in coverage and cost
    failed: int  # number of verdicts with an error; they also count as non-answers
    labels: tuple[str, ...]  # all labels of the data set; empty for free text
    averaged: tuple[str, ...]  # gold labels of the examples, over which F1 is averaged
    ids: tuple[str, ...]  # identifiers of the examples with a gold label
    right: tuple[bool, ...]  # whether each of ``ids`` was labelled correctly, for paired tests
    figures: tuple[MetricValue, ...]  # accuracy, macro-F1, coverage, calibration, of responses
    rules: tuple[RuleScores, ...] = ()
    classes: tuple[ClassScores, ...] = ()
    confusion: Confusion | None = None  # None for free text or without gold labels
    reliability: tuple[Bin, ...] = ()  # bins of confidence; empty if no verdict has one
    risk: tuple[RiskPoint, ...] = ()
    groups: tuple[GroupScores, ...] = ()
    metric: str
    official: tuple[MetricValue, ...] = ()  # values of ``metric``, the data set's official metric
    cost: CostScores

    def figure(self, name: str) -> MetricValue:
        figures = self.figures + self.official
        for figure in figures:
            if figure.name == name:
                return figure
        raise UsageError(f"no figure {name!r}", hint=f"figures: {', '.join(figure.name for figure in figures)}")


def score(
    examples: Sequence[Example],
    verdicts: Sequence[Verdict],
    *,
    metric: str = "accuracy",
    locate: Locate = by_document,
    seconds: Sequence[float] | None = None,
    peak_bytes: int | None = None,
    draws: int = DRAWS,
) -> Scores:
    """Scores one system's verdicts, which are in the order of the examples; calls no model.

    By default ``locate`` names only the documents of found quotations, so that metrics of sentences are undefined.
    ``seconds`` is the wall time of each verdict. Raises UsageError if examples and verdicts do not match, or the metric
    is unknown.
    """
    _require_matching(examples, verdicts)
    pairs = zip(examples, verdicts, strict=True)
    known = [(example, verdict) for example, verdict in pairs if example.gold is not None]
    rows = _rows(known, _labels(examples), locate, draws)
    hits = correct_items(rows.gold, rows.predicted)
    matrix = confusion(rows.gold, rows.predicted, labels=rows.labels) if rows.labels and known else None
    sure = [
        (verdict.confidence, verdict.unsure.label == gold if verdict.unsure else hit)
        for verdict, gold, hit in zip(rows.verdicts, rows.gold, hits, strict=True)
        if verdict.confidence is not None and (verdict.label is not None or verdict.unsure)
    ]
    confidences, confident_hits = [confidence for confidence, _ in sure], [hit for _, hit in sure]
    calibration_measures = (calibration_error, brier, aurc) if sure else ()
    all_hits = hits if len(known) == len(examples) else None
    return Scores(
        n=len(examples),
        hidden=len(examples) - len(known),
        failed=sum(verdict.error is not None for verdict in verdicts),
        labels=rows.labels,
        averaged=rows.averaged,
        ids=tuple(example.id for example in rows.examples),
        right=hits,
        figures=(
            *_label_figures(rows),
            coverage([verdict.label for verdict in verdicts]),
            *(measure(confidences, confident_hits) for measure in calibration_measures),
            *_response_figures(rows),
        ),
        rules=_rules(rows) if matrix else (),
        classes=class_scores(matrix) if matrix else (),
        confusion=matrix,
        reliability=reliability(confidences, confident_hits) if sure else (),
        risk=risk_coverage(confidences, confident_hits),
        groups=_groups(rows),
        metric=metric,
        official=official_metrics[metric](rows),
        cost=cost_scores(
            [verdict.usage for verdict in verdicts], right=all_hits, seconds=seconds, peak_bytes=peak_bytes
        ),
    )


def _require_matching(examples: Sequence[Example], verdicts: Sequence[Verdict]) -> None:
    same_length(examples=examples, verdicts=verdicts)
    for example, verdict in zip(examples, verdicts, strict=True):
        if example.claim.text != verdict.claim.text:
            what = f"the verdict is about {verdict.claim.text[:80]!r}"
            where = f"example {example.id!r}: {example.claim.text[:80]!r}"
            hint = "pass the verdicts in the order of the examples"
            raise UsageError(what, where=where, hint=hint)


def _rows(known: Sequence[tuple[Example, Verdict]], labels: tuple[str, ...], locate: Locate, draws: int) -> ScoredRows:
    gold = tuple(example.gold or "" for example, _ in known)
    predicted_evidence = []
    for _, verdict in known:
        places = (place for quote in verdict.quotes if quote.found for place in locate(quote))
        predicted_evidence.append(tuple(dict.fromkeys((place.document, place.element) for place in places)))
    return ScoredRows(
        examples=tuple(example for example, _ in known),
        verdicts=tuple(verdict for _, verdict in known),
        gold=gold,
        predicted=tuple(verdict.label for _, verdict in known),
        predicted_evidence=tuple(predicted_evidence),
        labels=labels,
        averaged=tuple(label for label in labels if label in gold),
        whole_documents=locate is by_document,
        draws=draws,
    )


def _labels(examples: Sequence[Example]) -> tuple[str, ...]:
    """Returns all possible labels of the claims; for options, those of the claim with the most."""
    names: dict[str, None] = {}
    for example in examples:
        labels = example.claim.labels
        if labels.free_text:
            return ()
        count = len(example.claim.options) or len(labels.labels)
        names.update(dict.fromkeys(labels.names[:count]))
    return tuple(names)


def _rules(rows: ScoredRows) -> tuple[RuleScores, ...]:
    negative = rows.examples[0].claim.labels.named(Meaning.REFUTED)
    return scores_by_rule(rows.gold, rows.predicted, labels=rows.labels, negative=negative, over=rows.averaged)


def _label_figures(rows: ScoredRows) -> tuple[MetricValue, ...]:
    if not rows.labels:
        return (accuracy(rows.gold, rows.predicted), exact_match(rows.gold, rows.predicted))
    return (accuracy_with_interval(rows), macro_f1_with_interval(rows))


def _response_figures(rows: ScoredRows) -> tuple[MetricValue, ...]:
    every = zip(rows.examples, rows.gold, rows.predicted, strict=True)
    claims = [(example, gold, predicted) for example, gold, predicted in every if example.response]
    if not claims:
        return ()
    names = [example.response for example, _, _ in claims]
    share = response_accuracy(names, [gold == predicted for _, gold, predicted in claims])
    labels = claims[0][0].claim.labels
    if labels.free_text or labels.named(Meaning.SUPPORTED) is None:
        return (share,)
    supported = {label.name for label in labels.labels if label.meaning is Meaning.SUPPORTED}
    truths = [gold in supported for _, gold, _ in claims]
    calls = [None if predicted is None else predicted in supported for _, _, predicted in claims]
    scores = factuality(names, truths, calls)
    f1 = scores.f1.model_copy(update={"name": "response-factuality-f1"})
    return (share, scores.accuracy, f1, scores.coverage)


def _groups(rows: ScoredRows) -> tuple[GroupScores, ...]:
    groups: dict[str, tuple[list[str], list[str | None]]] = defaultdict(lambda: ([], []))
    for example, gold, predicted in zip(rows.examples, rows.gold, rows.predicted, strict=True):
        groups[example.group][0].append(gold)
        groups[example.group][1].append(predicted)
    if set(groups) <= {""}:
        return ()
    return tuple(
        GroupScores(group=group, accuracy=accuracy(gold, predicted), coverage=coverage(predicted))
        for group, (gold, predicted) in groups.items()
    )
