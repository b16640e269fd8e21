"""Budgets in calls, tokens, dollars and searches.

A request reserves its maximum cost before it is sent and is settled at its actual cost, so that concurrent requests
cannot exceed a limit together. If the remaining budget would suffice but is reserved, the next request waits.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, NamedTuple, Self

from redargue.errors import BudgetReached, UsageError
from redargue.sanitize import counted

Charge = Literal["call", "embedding", "search"]


class Cost(NamedTuple):
    """Model requests, prompt and completion tokens, US dollars, and requests of search tools that go online."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    searches: int = 0

    def plus(self, other: Cost, sign: int = 1) -> Cost:
        return Cost(
            self.calls + sign * other.calls,
            self.tokens + sign * other.tokens,
            round(self.usd + sign * other.usd, 12),
            self.searches + sign * other.searches,
        )


_LIMIT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(k|m)?\s*(calls?|tok(?:ens?)?|usd|\$|search(?:es)?)\s*")
_UNITS = {"calls": "calls", "tokens": "tok", "usd": "usd", "searches": "searches"}


class Budget:
    """Limits shared by all claims of a run, in one event loop; embeddings and searches are not calls.

    A search is a request of a tool that goes online; one of the user's corpus costs nothing and is not counted.
    """

    def __init__(
        self,
        calls: int | None = None,
        *,
        tokens: int | None = None,
        usd: float | None = None,
        searches: int | None = None,
    ) -> None:
        self.calls, self.tokens, self.usd, self.searches = calls, tokens, usd, searches
        for name, limit in self.limits.items():
            if limit <= 0:
                raise UsageError(f"a budget of {limit} {name} allows nothing", hint="give a positive number")
        self.spent = Cost()
        self.held = Cost()
        self._waiting: list[asyncio.Future[None]] = []

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses ``40calls``, ``200ktok``, ``0.50usd``, ``50searches``, or several joined by commas."""
        limits: dict[str, float] = {}
        for part in text.split(","):
            match = _LIMIT.fullmatch(part.lower())
            if not match or len(part) > 40:
                raise UsageError(
                    f"cannot read the budget {part.strip()!r}",
                    where="--budget",
                    hint="write it like 40calls, 200ktok, 0.50usd, 50searches or 40calls,0.50usd",
                )
            amount = float(match.group(1)) * {None: 1, "k": 1_000, "m": 1_000_000}[match.group(2)]
            unit = {"c": "calls", "t": "tokens", "s": "searches"}.get(match.group(3)[0], "usd")
            if unit in limits or (unit != "usd" and amount != int(amount)):
                raise UsageError(f"the budget {text!r} gives {unit} twice, or not as a whole number", where="--budget")
            limits[unit] = amount if unit == "usd" else int(amount)
        return cls(**limits)  # type: ignore[arg-type]  # the keys are checked above

    @classmethod
    def lower(cls, *texts: str | None) -> str | None:
        """The lower limit in each unit of several budgets, as text; None without one."""
        budgets = [cls.parse(text).limits for text in texts if text]
        lowest = {
            unit: min(limits[unit] for limits in budgets if unit in limits)
            for unit in _UNITS
            if any(unit in limits for limits in budgets)
        }
        return ",".join(f"{Decimal(str(limit)):f}{_UNITS[unit]}" for unit, limit in lowest.items()) or None

    @property
    def limits(self) -> dict[str, Any]:
        """The limit in each unit that has one, by the names of :class:`Cost`."""
        values = ((unit, getattr(self, unit)) for unit in _UNITS)
        return {unit: value for unit, value in values if value is not None}

    async def reserve(self, bound: Cost) -> None:
        """:meth:`hold`, waiting while pending requests have reserved the remaining budget."""
        while not self.hold(bound):
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn

    def hold(self, bound: Cost) -> bool:
        """Reserves a request's maximum cost; False while pending requests have reserved it.

        Raises:
            BudgetReached: the budget would be exceeded even if all pending requests cost nothing.
        """
        if limit := self._limit_exceeded_by(self.spent.plus(bound)):
            what = f"the budget of {limit} is spent"
            if "call" not in limit and "search" not in limit:
                spent = f"{counted(self.spent.calls, 'call')}, {counted(self.spent.tokens, 'token')}"
                what += f": {spent}, ${self.spent.usd:.4f} so far, and the next call may cost {bound.tokens:,} tokens"
            raise BudgetReached(what, hint="raise --budget; with --run the finished calls are not repeated")
        if self._limit_exceeded_by(self.spent.plus(self.held).plus(bound)):
            return False
        self.held = self.held.plus(bound)
        return True

    def settle(self, bound: Cost, actual: Cost) -> None:
        self.held = self.held.plus(bound, -1)
        self.spent = self.spent.plus(actual)
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)

    def recall(self, cost: Cost) -> None:
        """Counts the cost of an earlier attempt at this run."""
        self.spent = self.spent.plus(cost)

    def _limit_exceeded_by(self, total: Cost) -> str:
        """The limit that a total would exceed, in words; empty for none."""
        if self.calls is not None and total.calls > self.calls:
            return counted(self.calls, "call")
        if self.tokens is not None and total.tokens > self.tokens:
            return counted(self.tokens, "token")
        if self.usd is not None and total.usd > self.usd + 1e-12:
            return f"${self.usd:g}"
        if self.searches is not None and total.searches > self.searches:
            return counted(self.searches, "search", "searches")
        return ""


@dataclass
class Receipt:
    """The actual cost of one request.

    If it stays unknown, the budget counts the reserved maximum: a reply that was cut off or lost may have been billed.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0
    known: bool = False
    cached_tokens: int = 0

    def pay(self, prompt_tokens: int = 0, completion_tokens: int = 0, usd: float = 0.0, cached_tokens: int = 0) -> None:
        """Sets the provider's figures; all 0 for a request that it refused. Cached tokens are prompt tokens, too."""
        self.cached_tokens = cached_tokens
        self.prompt_tokens, self.completion_tokens, self.usd, self.known = prompt_tokens, completion_tokens, usd, True


class Account:
    """The cost of one task or search: all its requests, including retries, repairs and failures."""

    def __init__(self, budget: Budget | None = None, *, charge: Charge = "call") -> None:
        self._budget = budget or Budget()
        self._each = {"call": Cost(calls=1), "search": Cost(searches=1), "embedding": Cost()}[charge]
        self.requests = self.prompt_tokens = self.completion_tokens = self.cached_tokens = 0
        self.usd = 0.0

    @asynccontextmanager
    async def request(self, *, tokens: int = 0, usd: float = 0.0) -> AsyncIterator[Receipt]:
        """One request of at most ``tokens`` and ``usd``: reserved on entering, settled on leaving.

        Raises:
            BudgetReached: nothing was sent.
        """
        bound = self._each._replace(tokens=tokens, usd=usd)
        await self._budget.reserve(bound)
        receipt = Receipt()
        self.requests += 1
        try:
            yield receipt
        finally:
            self.prompt_tokens += receipt.prompt_tokens
            self.completion_tokens += receipt.completion_tokens
            self.cached_tokens += receipt.cached_tokens
            self.usd += receipt.usd
            actual = bound._replace(tokens=receipt.prompt_tokens + receipt.completion_tokens, usd=receipt.usd)
            self._budget.settle(bound, actual if receipt.known else bound)
