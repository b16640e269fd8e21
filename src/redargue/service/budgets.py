"""Budgets of a key and day, from which all checks of the key are paid."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime

from redargue.errors import BudgetReached, UsageError
from redargue.runs.budget import Budget, Cost
from redargue.sanitize import counted
from redargue.service.entries import CheckEntry
from redargue.verifier import cost_of, goes_online

DAYS = 32  # whose budgets are kept
_LEAST = Cost(calls=1, tokens=1, usd=1e-9)  # of a check; not every one searches


def _never(tool: str) -> bool:
    return False  # whatever the tools are called, they have answered from the request's contexts


class DayBudget(Budget):
    """The budget of a key and day."""

    checks = 0  # that it pays for or has paid for
    _refused = _LEAST  # the last call that no longer fitted

    def refuse(self, bound: Cost) -> None:
        """Notes a call that did not fit, unless so much is left that others will."""
        if any(getattr(self.spent, unit) >= limit / 2 for unit, limit in self.limits.items()):
            self._refused = bound

    def is_spent(self, active: Sequence[int] = (), calls: int = 1) -> bool:
        """Whether a further check would find nothing left once the active ones have cost what the others did.

        Before any has ended, they and the further one are taken to cost as many calls as they may.

        Args:
            active: the most calls of each.
            calls: the most of the further one, which counts beside active ones only.
        """
        spent = self.spent
        if ended := max(0, self.checks - len(active)):
            share = len(active) / ended
            expected = Cost(
                int(spent.calls * share), int(spent.tokens * share), spent.usd * share, int(spent.searches * share)
            )
        else:
            expected = Cost(calls=max(0, sum(active) + (calls - 1 if active else 0) - spent.calls))
        return bool(self._limit_exceeded_by(spent.plus(expected).plus(self._refused)))


class KeyBudget(Budget):
    """The budget of one check, which also reserves from its key's budget of the day."""

    def __init__(self, day: DayBudget, own: Budget | None = None) -> None:
        super().__init__(**(own or Budget()).limits)
        self._day = day

    async def reserve(self, bound: Cost) -> None:
        while not self.hold(bound):
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            self._day._waiting.append(turn)
            await turn

    def hold(self, bound: Cost) -> bool:
        if not super().hold(bound):
            return False
        try:
            held = self._day.hold(bound)
        except BudgetReached:
            self._day.refuse(bound)
            self.held = self.held.plus(bound, -1)
            raise BudgetReached("the key's budget of this day is spent", hint="try again tomorrow (UTC)") from None
        if not held:
            self.held = self.held.plus(bound, -1)
        return held

    def settle(self, bound: Cost, actual: Cost) -> None:
        super().settle(bound, actual)
        self._day.settle(bound, actual)

    def recall(self, cost: Cost) -> None:
        super().recall(cost)
        self._day.recall(cost)


class DayBudgets:
    """The budgets of each day; what was spent before a restart is read from the checks that ended since yesterday.

    A day's budget is given once, however the clock is set: a day that comes again has what is left of it, and a day
    before the first one known is that one.
    """

    def __init__(self, limit_of: Callable[[str], str], now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._limit_of, self._now = limit_of, now
        self._days: dict[date, dict[str, DayBudget]] = {}

    def load(self, entries: Iterable[CheckEntry]) -> None:
        for entry in entries:
            if entry.ended and entry.usage and (budget := self._on(entry.ended.date(), entry.owner)):
                searched = goes_online if entry.request.contexts is None else _never
                budget.recall(cost_of(entry.usage, searched))
                budget.checks += 1

    def of(self, owner: str) -> DayBudget | None:
        """An owner's budget of today; None without a limit."""
        return self._on(self.today(), owner)

    def today(self) -> date:
        return max(self._now().date(), min(self._days, default=date.min))

    def _on(self, day: date, owner: str) -> DayBudget | None:
        if day not in self._days and len(self._days) == DAYS:
            del self._days[min(self._days)]
        budgets = self._days.setdefault(day, {})
        if owner not in budgets:
            if not (limit := self._limit_of(owner)):
                return None
            budgets[owner] = DayBudget.parse(limit)
        return budgets[owner]

    def require(self, owner: str, active: Sequence[int] = (), calls: int = 1) -> None:
        """Raises BudgetReached if nothing is left today, or nothing will be after the owner's active checks.

        Arguments are those of :meth:`DayBudget.is_spent`.
        """
        budget = self.of(owner)
        if budget and budget.is_spent(active, calls):
            if active and not budget.is_spent():
                sent = counted(len(active), "check")
                what = f"{sent} that you have sent may spend the rest of the key's budget of this day"
                raise BudgetReached(what, hint="send this again when they have ended")
            raise BudgetReached("the key's budget of this day is spent", hint="try again tomorrow (UTC)")

    def commit(self, owner: str, budget: str, day: date | None = None) -> Cost:
        """Counts the whole budget of a batch, which may be spent on other machines, on a day; default: today.

        Raises UsageError without one, and BudgetReached if it is more than is left today.
        """
        if not (paying := self._on(day or self.today(), owner)):
            return Cost()
        own = Budget.parse(budget) if budget else Budget()
        if paying.limits.keys() - own.limits.keys():
            hint = "name one in the same unit, such as 400calls"
            raise UsageError("a batch needs a budget where its key has one", where="budget", hint=hint)
        cost = Cost(**own.limits)
        if paying._limit_exceeded_by(paying.spent.plus(cost)):
            raise BudgetReached("the batch's budget is more than is left of the key's today")
        paying.recall(cost)
        return cost

    def release(self, owner: str, cost: Cost) -> None:
        """Takes back what was committed for a batch that was not stored."""
        if day := self.of(owner):
            day.recall(Cost().plus(cost, -1))

    def of_check(self, owner: str, own: str | None) -> Budget | None:
        """The budget of one check, with its own limits; None where it has none at all."""
        mine = Budget.parse(own) if own else None
        if not (day := self.of(owner)):
            return mine
        day.checks += 1
        return KeyBudget(day, mine)
