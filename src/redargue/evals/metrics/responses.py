"""Longer texts whose claims were checked one by one: a response counts as one item.

Two questions are asked of a response: were all its claims labelled right (``responses_right``), and was it, as a whole,
rightly called factual (``factuality``; FacTool and FELM report it), where a response is factual if all its claims are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from redargue.claims import Frozen
from redargue.evals.metrics.base import Figure, mean, ratio, same_length
from redargue.evals.metrics.classification import Binary

T = TypeVar("T")


class Factuality(Frozen):
    """Responses called factual against those that are; factual is the positive class.

    Attributes:
        counts: responses by truth and call; one that was not called counts against its truth.
        accuracy: share of responses rightly called.
        precision: undefined where none was called factual.
        recall: undefined where none is factual.
        f1: 0 where neither is.
        coverage: share of responses that were called: one claim called false settles it, else every claim must be.
    """

    counts: Binary
    accuracy: Figure
    precision: Figure
    recall: Figure
    f1: Figure
    coverage: Figure


def by_response(responses: Sequence[str], values: Sequence[T]) -> dict[str, list[T]]:
    """The values of each response's claims, responses in order of their first claim."""
    same_length(responses=responses, values=values)
    groups: dict[str, list[T]] = {}
    for response, value in zip(responses, values, strict=True):
        groups.setdefault(response, []).append(value)
    return groups


def responses_right(responses: Sequence[str], right: Sequence[bool]) -> Figure:
    """The share of responses all of whose claims were labelled right.

    Args:
        responses: which response each claim belongs to.
        right: whether each claim's label is right; a non-answer is not.
    """
    groups = by_response(responses, right)
    return mean("response-accuracy", (float(all(each)) for each in groups.values()), empty="no responses")


def called(claims: Sequence[bool | None]) -> bool | None:
    """What the claims' calls say of their response: false if any is, true if all are, else nothing."""
    if any(claim is False for claim in claims):
        return False
    return None if any(claim is None for claim in claims) else True


def factuality(responses: Sequence[str], gold: Sequence[bool], said: Sequence[bool | None]) -> Factuality:
    """Response-level accuracy, precision, recall and F1 of the call "factual".

    Args:
        responses: which response each claim belongs to.
        gold: whether each claim is true.
        said: what each claim was called; None for a non-answer.
    """
    same_length(responses=responses, gold=gold, said=said)
    truths = [all(each) for each in by_response(responses, gold).values()]
    calls = [called(each) for each in by_response(responses, said).values()]
    both = list(zip(truths, calls, strict=True))
    # A response without a call is wrong whatever is true of it: a miss, or a false alarm.
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
        f1=Figure(name="f1", value=f1, n=n),
        coverage=ratio("response-coverage", n - calls.count(None), n, empty=empty),
    )
