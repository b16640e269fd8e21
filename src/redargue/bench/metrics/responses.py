"""Scores of longer texts (responses) whose claims were checked one by one.

``response_accuracy`` asks whether all claims of a response were labelled correctly, and ``factuality``
(FacTool, FELM) whether the response was correctly called factual, that is, all its claims true. In all
functions ``responses`` names the response of each claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from redargue.bench.metrics.base import MetricValue, mean, ratio, same_length
from redargue.bench.metrics.classification import Binary
from redargue.claims import Frozen

_T = TypeVar("_T")


class Factuality(Frozen):
    """Responses called factual against those that are; factual is the positive class."""

    counts: Binary  # responses by truth and call; a response without a call counts as an error
    accuracy: MetricValue
    precision: MetricValue
    recall: MetricValue
    f1: MetricValue
    coverage: MetricValue  # responses with a call: one false claim, or labels for all claims


def by_response(responses: Sequence[str], values: Sequence[_T]) -> dict[str, list[_T]]:
    """The values of each response's claims, responses in order of their first claim."""
    same_length(responses=responses, values=values)
    groups: dict[str, list[_T]] = {}
    for response, value in zip(responses, values, strict=True):
        groups.setdefault(response, []).append(value)
    return groups


def response_accuracy(responses: Sequence[str], right: Sequence[bool]) -> MetricValue:
    """The share of responses all of whose claims are ``right``."""
    groups = by_response(responses, right)
    return mean("response-accuracy", map(all, groups.values()), empty="no responses")


def response_call(claims: Sequence[bool | None]) -> bool | None:
    """The call of a response: false if any claim is, true if all are, otherwise None."""
    return False if False in claims else None if None in claims else True


def factuality(responses: Sequence[str], gold: Sequence[bool], predicted: Sequence[bool | None]) -> Factuality:
    """Response-level scores from each claim's truth and the label it got (None for a non-answer)."""
    same_length(responses=responses, gold=gold, predicted=predicted)
    truths = [all(claims) for claims in by_response(responses, gold).values()]
    calls = [response_call(claims) for claims in by_response(responses, predicted).values()]
    both = list(zip(truths, calls, strict=True))
    counts = Binary(
        tp=both.count((True, True)),
        fp=both.count((False, True)) + both.count((False, None)),
        fn=both.count((True, False)) + both.count((True, None)),
        tn=both.count((False, False)),
    )
    n, answered = len(truths), calls.count(True)
    f1 = 2 * counts.tp / (answered + sum(truths)) if answered + sum(truths) else 0.0
    empty = "no responses"
    return Factuality(
        counts=counts,
        accuracy=ratio("response-factuality-accuracy", counts.tp + counts.tn, n, empty=empty),
        precision=ratio("precision", counts.tp, answered, empty="no response was called factual"),
        recall=ratio("recall", counts.tp, sum(truths), empty="no response is factual"),
        f1=MetricValue(name="f1", value=f1, n=n),
        coverage=ratio("response-coverage", n - calls.count(None), n, empty=empty),
    )
