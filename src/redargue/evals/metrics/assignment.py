"""The assignment of rows to columns with the greatest sum, exactly (shortest augmenting paths, Kuhn's dual values)."""

from __future__ import annotations

import math
from collections.abc import Sequence


def best_assignment(scores: Sequence[Sequence[float]]) -> tuple[tuple[int, int], ...]:
    """Pairs (row, column), each row and column at most once, as many as fit, whose scores sum to the most.

    Args:
        scores: one sequence a row, all of one length; O(min² · max) steps.
    """
    if not scores or not scores[0]:
        return ()
    if len(scores) > len(scores[0]):
        flipped = best_assignment(list(zip(*scores, strict=True)))
        return tuple(sorted((row, column) for column, row in flipped))
    costs = [[-score for score in row] for row in scores]
    columns = len(costs[0])
    row_price = [0.0] * len(costs)
    column_price = [0.0] * columns
    owner = [-1] * columns
    for row in range(len(costs)):
        _augment(row, costs, row_price, column_price, owner)
    return tuple(sorted((row, column) for column, row in enumerate(owner) if row >= 0))


def _augment(
    row: int, costs: list[list[float]], row_price: list[float], column_price: list[float], owner: list[int]
) -> None:
    """Gives a row a column along the cheapest path of swaps; prices keep every reduced cost at or above 0."""
    columns = len(column_price)
    reach = [math.inf] * columns
    before = [-1] * columns
    settled: list[int] = []
    left = set(range(columns))
    current, at, spent = row, -1, 0.0
    while True:
        for column in left:
            length = spent + costs[current][column] - row_price[current] - column_price[column]
            if length < reach[column]:
                reach[column], before[column] = length, at
        at = min(left, key=lambda column: (reach[column], column))
        spent = reach[at]
        left.remove(at)
        if owner[at] < 0:
            break
        settled.append(at)
        current = owner[at]
    row_price[row] += spent
    for column in settled:
        row_price[owner[column]] += spent - reach[column]
        column_price[column] -= spent - reach[column]
    while at >= 0:
        previous = before[at]
        owner[at] = owner[previous] if previous >= 0 else row
        at = previous
