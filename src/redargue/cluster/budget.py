"""One budget for all workers of a batch: a worker's row in the ledger stores what it has reserved and spent.

A reservation locks the batch and sums all rows. A commit can only lower the sum of reserved and spent amounts, so it
needs no lock. The reservations of an expired worker count as spent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from redargue.cluster.store import LedgerTransaction
from redargue.cluster.transaction_batcher import TransactionBatcher
from redargue.errors import BudgetReached
from redargue.runs.budget import Budget, Cost

_POLL = 0.1  # seconds between attempts while requests in flight hold the rest of the budget


class Reserve(NamedTuple):
    """Reserves the maximum cost of a request."""

    bound: Cost


class Commit(NamedTuple):
    """Releases the reservation of a request and records its actual cost."""

    bound: Cost
    actual: Cost = Cost()


class BudgetTable:
    """The reservations and commits of a worker."""

    def __init__(self, owner: str, batch: int, limits: Budget) -> None:
        self._owner, self._batch, self._limits = owner, batch, limits

    def handle(self, db: LedgerTransaction, requests: Sequence[Reserve | Commit]) -> list[bool | BudgetReached | None]:
        """Answers a reservation with whether it was granted, or with the error if it never can be."""
        bound, actual = Cost(), Cost()
        for commit in (request for request in requests if isinstance(request, Commit)):
            bound, actual = bound.plus(commit.bound), actual.plus(commit.actual)
        if any(bound) or any(actual):
            self._add(db, Cost().plus(bound, -1), actual)
        reservations = [request for request in requests if isinstance(request, Reserve)]
        answers = iter(self._reserve(db, reservations) if reservations else ())
        return [next(answers) if isinstance(request, Reserve) else None for request in requests]

    def _reserve(self, db: LedgerTransaction, reservations: Sequence[Reserve]) -> list[bool | BudgetReached]:
        db.execute(f"SELECT number FROM batches WHERE number = ?{db.for_update}", (self._batch,))
        columns = (*Cost._fields, *(f"held_{name}" for name in Cost._fields))
        sums = ", ".join(f"coalesce(sum({column}), 0)" for column in columns)
        row = db.execute(f"SELECT {sums} FROM workers WHERE batch = ?", (self._batch,)).fetchone()
        budget = Budget(**self._limits.limits)
        budget.spent, budget.held = _cost(row[: len(Cost._fields)]), _cost(row[len(Cost._fields) :])
        before = budget.held
        answers: list[bool | BudgetReached] = []
        for reservation in reservations:
            try:
                answers.append(budget.hold(reservation.bound))
            except BudgetReached as error:
                answers.append(error)
        reserved = budget.held.plus(before, -1)
        if any(reserved):
            self._add(db, reserved, Cost())
        return answers

    def _add(self, db: LedgerTransaction, held: Cost, spent: Cost) -> None:
        columns = (*(f"held_{name}" for name in Cost._fields), *Cost._fields)
        changes = ", ".join(f"{column} = {column} + ?" for column in columns)
        db.execute(f"UPDATE workers SET {changes} WHERE owner = ?", (*held, *spent, self._owner))


def _cost(row: Sequence[float]) -> Cost:
    calls, tokens, usd, searches = row
    return Cost(int(calls), int(tokens), round(usd, 12), int(searches))


class LedgerBudget(Budget):
    """A worker's view of the batch's budget."""

    def __init__(self, limits: Budget, batcher: TransactionBatcher, table: BudgetTable) -> None:
        super().__init__(**limits.limits)
        self._batcher, self._table = batcher, table
        self._limited = bool(limits.limits)

    async def reserve(self, bound: Cost) -> None:
        while self._limited:
            answer = await self._batcher.ask(self._table, Reserve(bound), undo=Commit(bound))
            if isinstance(answer, BudgetReached):
                raise answer
            if answer:
                return
            await asyncio.sleep(_POLL)

    def settle(self, bound: Cost, actual: Cost) -> None:
        if not self._batcher.failure:  # the reservations of an expired worker count as spent already
            self._batcher.post(self._table, Commit(bound if self._limited else Cost(), actual))

    def recall(self, cost: Cost) -> None:
        """Does nothing: the ledger includes the cost of earlier attempts already."""
