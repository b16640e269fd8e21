"""Longer texts whose claims were checked one by one: a response counts as one item.

Two questions are asked of a response: were all its claims labelled right (``responses_right``), and was it, as a whole,
rightly called factual (``factuality``; FacTool and FELM report it), where a response is factual if all its claims are.
A third needs no gold labels: how many facts it gives, and how many of them are supported (``f1_at``; SAFE).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from redargue.bench.metrics.base import Figure, harmonic, mean, ratio, same_length
from redargue.bench.metrics.classification import Binary
from redargue.claims import Frozen
from redargue.errors import UsageError

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


def f1_at(k: int, responses: Sequence[str], supported: Sequence[bool | None]) -> Figure:
    """SAFE's F1@K: a response is precise if its claims are supported, and complete with K supported ones.

    Of a response with S supported and N unsupported claims the precision is S / (S + N), the recall min(S / K, 1); its
    F1 is 0 where S is. The figure is the mean over responses (Wei et al., arXiv 2403.18802).

    Args:
        k: how many supported claims a response should have, at least 1; the paper takes 64 and 178, the median and
            the most of its models' responses.
        responses: which response each claim belongs to.
        supported: what each claim was rated; None for one that was not, or is irrelevant: it counts nowhere.

    Raises:
        UsageError: K is less than 1.
    """
    if k < 1:
        raise UsageError(f"F1 at {k}", hint="K is at least 1")
    scores = []
    for claims in by_response(responses, supported).values():
        rated, right = sum(claim is not None for claim in claims), claims.count(True)
        scores.append(harmonic(right / rated, min(right / k, 1.0)) if right else 0.0)
    return mean(f"f1-at-{k}", scores, empty="no responses")
