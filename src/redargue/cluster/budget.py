"""One budget for all workers of a batch: what each holds and has spent stands in its own row of the ledger.

Who wants to hold more locks the batch, adds up all rows and writes its own. Who settles only ever lowers the sum of
what is spent and held, and needs no lock for it. A worker that is given up has spent what it held.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from redargue.cluster.store import Rows
from redargue.cluster.transaction_batcher import Desk
from redargue.errors import BudgetReached
from redargue.runs.budget import Budget, Cost

POLL = 0.1  # seconds until one asks again for what requests under way hold


class Hold(NamedTuple):
    """Asks to hold the most that a request can cost."""

    bound: Cost


class Settle(NamedTuple):
    """Gives back what a request held, and says what it cost."""

    bound: Cost
    actual: Cost = Cost()


class Till:
    """The window where a worker holds and settles.

    Args:
        owner: the worker.
        batch: whose budget.
        limits: of the batch.
    """

    def __init__(self, owner: str, batch: int, limits: Budget) -> None:
        self._owner, self._batch, self._limits = owner, batch, limits

    def serve(self, db: Rows, asked: Sequence[Hold | Settle]) -> list[bool | BudgetReached | None]:
        """A hold is answered with whether it was granted, or with why it never will be."""
        bound, actual = Cost(), Cost()
        for each in asked:
            if isinstance(each, Settle):
                bound, actual = bound.plus(each.bound), actual.plus(each.actual)
        if any(bound) or any(actual):
            self._add(db, Cost().plus(bound, -1), actual)
        holds = [each for each in asked if isinstance(each, Hold)]
        granted = iter(self._hold(db, holds) if holds else ())
        return [next(granted) if isinstance(each, Hold) else None for each in asked]

    def _hold(self, db: Rows, holds: Sequence[Hold]) -> list[bool | BudgetReached]:
        db.execute(f"SELECT number FROM batches WHERE number = ?{db.lock}", (self._batch,))
        sums = ", ".join(
            f"coalesce(sum({each}), 0)" for each in (*Cost._fields, *(f"held_{name}" for name in Cost._fields))
        )
        row = db.execute(f"SELECT {sums} FROM workers WHERE batch = ?", (self._batch,)).fetchone()
        budget = Budget(self._limits.calls, tokens=self._limits.tokens, usd=self._limits.usd)
        budget.spent = Cost(int(row[0]), int(row[1]), round(row[2], 12))
        before = budget.held = Cost(int(row[3]), int(row[4]), round(row[5], 12))
        answers: list[bool | BudgetReached] = []
        for each in holds:
            try:
                answers.append(budget.hold(each.bound))
            except BudgetReached as error:
                answers.append(error)
        taken = budget.held.plus(before, -1)
        if any(taken):
            self._add(db, taken, Cost())
        return answers

    def _add(self, db: Rows, held: Cost, spent: Cost) -> None:
        db.execute(
            "UPDATE workers SET held_calls = held_calls + ?, held_tokens = held_tokens + ?, held_usd = held_usd + ?,"
            " calls = calls + ?, tokens = tokens + ?, usd = usd + ? WHERE owner = ?",
            (*held, *spent, self._owner),
        )


class SharedBudget(Budget):
    """A worker's hand in the batch's budget.

    Args:
        limits: of the batch.
        desk: asks.
        till: whom.
    """

    def __init__(self, limits: Budget, desk: Desk, till: Till) -> None:
        super().__init__(limits.calls, tokens=limits.tokens, usd=limits.usd)
        self._desk, self._till = desk, till
        self._limited = any(each is not None for each in (limits.calls, limits.tokens, limits.usd))

    async def reserve(self, bound: Cost) -> None:
        """Holds the most that a request can cost; see :meth:`redargue.runs.budget.Budget.reserve`."""
        while self._limited:
            answer = await self._desk.ask(self._till, Hold(bound), undo=Settle(bound))
            if isinstance(answer, BudgetReached):
                raise answer
            if answer:
                return
            await asyncio.sleep(POLL)

    def settle(self, bound: Cost, actual: Cost) -> None:
        """Gives back what a request held, and counts what it cost."""
        if not self._desk.broken:  # a worker that is given up has spent what it held
            self._desk.post(self._till, Settle(bound if self._limited else Cost(), actual))

    def recall(self, cost: Cost) -> None:
        """Counts nothing: the ledger has not forgotten it."""
