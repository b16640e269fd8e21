"""One budget for all workers of a batch: a worker's row in the ledger stores what it has reserved and spent.

A reservation locks the batch and sums all rows. A commit can only lower the sum of reserved and spent amounts, so it
needs no lock. The reservations of an expired worker count as spent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from redargue.cluster.store import Transaction
from redargue.cluster.transaction_batcher import TransactionBatcher
from redargue.errors import BudgetReached
from redargue.runs.budget import Budget, Cost

POLL = 0.1  # seconds between attempts while requests in flight hold the rest of the budget


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

    def handle(self, db: Transaction, requests: Sequence[Reserve | Commit]) -> list[bool | BudgetReached | None]:
        """Answers a reservation with whether it was granted, or with the error if it never can be."""
        bound, actual = Cost(), Cost()
        for commit in (request for request in requests if isinstance(request, Commit)):
            bound, actual = bound.plus(commit.bound), actual.plus(commit.actual)
        if any(bound) or any(actual):
            self._add(db, Cost().plus(bound, -1), actual)
        reservations = [request for request in requests if isinstance(request, Reserve)]
        answers = iter(self._reserve(db, reservations) if reservations else ())
        return [next(answers) if isinstance(request, Reserve) else None for request in requests]

    def _reserve(self, db: Transaction, reservations: Sequence[Reserve]) -> list[bool | BudgetReached]:
        db.execute(f"SELECT number FROM batches WHERE number = ?{db.for_update}", (self._batch,))
        columns = (*Cost._fields, *(f"held_{name}" for name in Cost._fields))
        sums = ", ".join(f"coalesce(sum({column}), 0)" for column in columns)
        row = db.execute(f"SELECT {sums} FROM workers WHERE batch = ?", (self._batch,)).fetchone()
        budget = Budget(self._limits.calls, tokens=self._limits.tokens, usd=self._limits.usd)
        budget.spent = Cost(int(row[0]), int(row[1]), round(row[2], 12))
        before = budget.held = Cost(int(row[3]), int(row[4]), round(row[5], 12))
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

    def _add(self, db: Transaction, held: Cost, spent: Cost) -> None:
        db.execute(
            "UPDATE workers SET held_calls = held_calls + ?, held_tokens = held_tokens + ?, held_usd = held_usd + ?,"
            " calls = calls + ?, tokens = tokens + ?, usd = usd + ? WHERE owner = ?",
            (*held, *spent, self._owner),
        )


class SharedBudget(Budget):
    """A worker's view of the batch's budget."""

    def __init__(self, limits: Budget, batcher: TransactionBatcher, table: BudgetTable) -> None:
        super().__init__(limits.calls, tokens=limits.tokens, usd=limits.usd)
        self._batcher, self._table = batcher, table
        self._limited = (limits.calls, limits.tokens, limits.usd) != (None, None, None)

    async def reserve(self, bound: Cost) -> None:
        while self._limited:
            answer = await self._batcher.ask(self._table, Reserve(bound), undo=Commit(bound))
            if isinstance(answer, BudgetReached):
                raise answer
            if answer:
                return
            await asyncio.sleep(POLL)

    def settle(self, bound: Cost, actual: Cost) -> None:
        if not self._batcher.failure:  # the reservations of an expired worker count as spent already
            self._batcher.post(self._table, Commit(bound if self._limited else Cost(), actual))

    def recall(self, cost: Cost) -> None:
        """Does nothing: the ledger includes the cost of earlier attempts already."""
