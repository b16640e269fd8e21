"""Budgets in calls, tokens, dollars and searches.

A request reserves its maximum cost before it is sent and is settled at its actual cost, so that concurrent requests
cannot exceed a limit together. If the remaining budget would suffice but is reserved, the next request waits.

Counts the usage of a claim from the events of its run.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, ValidationError

from redargue.claims import Frozen
from redargue.errors import BudgetReached, UsageError, problem_location, problem_of
from redargue.events import CallFailed, CallFinished, Event, EvidenceFound, EvidenceMissing
from redargue.files import home
from redargue.sanitize import counted
from redargue.verdicts import Usage

Charge = Literal["call", "embedding", "search"]


class Cost(NamedTuple):
    """Model requests, prompt and completion tokens, US dollars, and requests of search tools that go online."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    searches: int = 0

    def plus(self, other: Cost, sign: int = 1) -> Cost:
        pairs = zip(self, other, strict=True)
        return Cost._make(round(own + sign * more, 12) for own, more in pairs)


_LIMIT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(k|m)?\s*(calls?|tok(?:ens?)?|usd|\$|search(?:es)?)\s*")
_UNITS = {"calls": "calls", "tokens": "tok", "usd": "usd", "searches": "searches"}
_ONE = {"calls": "call", "tokens": "token", "searches": "search"}


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
            if not 0 < limit < math.inf:
                what = f"a budget of {limit} {name} allows nothing, or limits nothing"
                raise UsageError(what, hint="give a positive number")
        self.spent = Cost()
        self.held = Cost()
        self._waiting: list[asyncio.Future[None]] = []

    @classmethod
    def parse(cls, text: str, where: str = "--budget") -> Self:
        """Parses ``40calls``, ``200ktok``, ``0.50usd``, ``50searches``, or several joined by commas."""
        limits: dict[str, float] = {}
        for part in text.split(","):
            match = _LIMIT.fullmatch(part.lower())
            if not match or len(part) > 40:
                raise UsageError(
                    f"cannot read the budget {part.strip()!r}",
                    where=where,
                    hint="write it like 40calls, 200ktok, 0.50usd, 50searches or 40calls,0.50usd",
                )
            amount = float(match.group(1)) * {None: 1, "k": 1_000, "m": 1_000_000}[match.group(2)]
            unit = {"c": "calls", "t": "tokens", "s": "searches"}.get(match.group(3)[0], "usd")
            if unit in limits or (unit != "usd" and amount != int(amount)):
                what = f"the budget {text!r} gives {unit} twice, or not as a whole number"
                raise UsageError(what, where=where)
            limits[unit] = amount if unit == "usd" else int(amount)
        return cls(**limits)  # type: ignore[arg-type]  # the keys are checked above

    @classmethod
    def lower(cls, *texts: str | None) -> str | None:
        """The lower limit in each unit of several budgets, as text; None without one."""
        budgets = [cls.parse(text).limits for text in texts if text]
        given = {unit: [limits[unit] for limits in budgets if unit in limits] for unit in _UNITS}
        lowest = {unit: Decimal(str(min(limits))) for unit, limits in given.items() if limits}
        return ",".join(f"{limit:f}{_UNITS[unit]}" for unit, limit in lowest.items()) or None

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

        Raises BudgetReached if the budget would be exceeded even if all pending requests cost nothing.
        """
        if limit := self._limit_exceeded_by(self.spent.plus(bound)):
            what = f"the budget of {limit} is spent"
            if "call" not in limit and "search" not in limit:
                calls, tokens, usd, _ = self.spent
                spent = f"{counted(calls, 'call')}, {counted(tokens, 'token')}, ${usd:.4f} so far"
                what += f": {spent}, and the next call may cost {bound.tokens:,} tokens"
            hint = "raise the budget; a run that is resumed does not repeat its finished calls"
            raise BudgetReached(what, hint=hint)
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
        for unit, limit in self.limits.items():
            if getattr(total, unit) > limit + 1e-12:  # dollars are rounded
                return f"${limit:g}" if unit == "usd" else counted(limit, _ONE[unit], unit)
        return ""


class CountedBudget(Budget):
    """A view of a budget that has counted all earlier attempts already."""

    def __init__(self, budget: Budget) -> None:
        super().__init__(**budget.limits)
        self._counts = budget

    async def reserve(self, bound: Cost) -> None:
        await self._counts.reserve(bound)

    def settle(self, bound: Cost, actual: Cost) -> None:
        self._counts.settle(bound, actual)

    def recall(self, cost: Cost) -> None:
        """Does nothing."""


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
    withdrawn: bool = False

    def withdraw(self) -> None:
        """The request counts nothing, because a later run counts it."""
        self.withdrawn = True
        self.pay()

    def pay(self, prompt_tokens: int = 0, completion_tokens: int = 0, usd: float = 0.0, cached_tokens: int = 0) -> None:
        """Sets the provider's figures; all 0 for a request that it refused. Cached tokens are prompt tokens, too."""
        self.prompt_tokens, self.completion_tokens = prompt_tokens, completion_tokens
        self.cached_tokens, self.usd, self.known = cached_tokens, usd, True


class Account:
    """The cost of one task or search: all its requests, including retries, repairs and failures."""

    def __init__(self, budget: Budget | None = None, *, charge: Charge = "call") -> None:
        self._budget = budget or Budget()
        self._each = Cost(calls=int(charge == "call"), searches=int(charge == "search"))
        self.requests = self.prompt_tokens = self.completion_tokens = self.cached_tokens = 0
        self.usd, self.unknown = 0.0, Cost()  # reserved for requests whose cost stayed unknown

    @asynccontextmanager
    async def request(self, *, tokens: int = 0, usd: float = 0.0) -> AsyncIterator[Receipt]:
        """One request of at most ``tokens`` and ``usd``: settled on leaving; raises BudgetReached on entering."""
        bound = self._each._replace(tokens=tokens, usd=usd)
        await self._budget.reserve(bound)
        receipt = Receipt()
        self.requests += 1
        try:
            yield receipt
        finally:
            self.requests -= receipt.withdrawn
            self.prompt_tokens += receipt.prompt_tokens
            self.completion_tokens += receipt.completion_tokens
            self.cached_tokens += receipt.cached_tokens
            self.usd += receipt.usd
            tokens = receipt.prompt_tokens + receipt.completion_tokens
            actual = bound._replace(tokens=tokens, usd=receipt.usd) if receipt.known else bound
            self.unknown = self.unknown if receipt.known else self.unknown.plus(bound)
            self._budget.settle(bound, Cost() if receipt.withdrawn else actual)


# Prices of models and searches: a shipped table, and a user-supplied one whose entries win.


Dollars = Annotated[float, Field(ge=0)]


class Rates(Frozen):
    """US dollars per million tokens; ``cached``: prompt tokens from the provider's cache, by default as ``input``."""

    input: Dollars
    output: Dollars
    cached: Dollars | None = None


class LongRates(Rates):
    """The rates of a request whose prompt has more than ``above`` tokens."""

    above: int = Field(gt=0)


class Price(Rates):
    """The price of a model; ``long``: of all tokens of a request with a long prompt."""

    long: LongRates | None = None

    def of(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> float:
        rates: Rates = self.long if self.long and prompt_tokens > self.long.above else self
        cached = rates.input if rates.cached is None else rates.cached
        fresh = prompt_tokens - cached_tokens
        usd = fresh * rates.input + cached_tokens * cached + completion_tokens * rates.output
        return usd / 1_000_000


_MODELS = "[models]\n"
VERSION = re.compile(r"[-@](\d{4}-\d{2}-\d{2}|\d{8})$")


@cache
def _shipped() -> tuple[str, str]:
    """The shipped table: what is before its models, and the rows of models, a line each."""
    table = (files("redargue.runs") / "prices.toml").read_text(encoding="utf-8")
    searches, _, models = table.partition(_MODELS)
    return searches, "\n" + models


@cache
def _shipped_model(name: str) -> Price | None:
    """One row: all of them take a tenth of a second to parse."""
    rows, start = _shipped()[1], f"\n{json.dumps(name, ensure_ascii=False)} = "
    at = rows.find(start)
    row = rows[at : rows.index("\n", at + 1)] if at >= 0 else ""
    return _parse(_MODELS + row, "prices.toml").models[name] if row else None


class Prices(Frozen):
    """Prices of models, and of searches in US dollars per request.

    Attributes:
        shipped_models: whether the shipped table has the price of a model that is not in ``models``.
    """

    models: dict[str, Price] = Field(default_factory=dict)
    searches: dict[str, Dollars] = Field(default_factory=dict)
    shipped_models: bool = False

    @staticmethod
    @cache  # every verifier asks for it
    def shipped() -> Prices:
        return Prices(searches=_parse(_shipped()[0], "prices.toml").searches, shipped_models=True)

    @classmethod
    def read(cls, path: Path | None = None) -> Prices:
        """The shipped table, updated by the user's: ``path``, or ``prices.toml`` in redargue's home.

        Raises UsageError if ``path`` does not exist or a file is not a price table.
        """
        prices, file = cls.shipped(), path or home() / "prices.toml"
        if not file.is_file():
            if path:
                hint = "give a TOML file of prices"
                raise UsageError(f"no file {str(path)!r}", where="--prices", hint=hint)
            return prices
        try:
            own = _parse(file.read_text(encoding="utf-8"), str(file))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{str(file)!r} cannot be read: {error}") from error
        return cls(models=own.models, searches=prices.searches | own.searches, shipped_models=True)

    def model(self, name: str) -> Price | None:
        """The price of a model or of a dated version of it (``gpt-4o-2024-08-06``); None if unknown."""
        names = (name, VERSION.sub("", name))
        shipped = (_shipped_model(each) for each in names if each and self.shipped_models)
        return next(filter(None, (*map(self.models.get, names), *shipped)), None)

    def _known(self) -> list[str]:
        listed = re.findall(r'^"(.+?)" = ', _shipped()[1], re.M) if self.shipped_models else []
        return [*self.models, *listed]

    def know(self, models: list[str], searches: list[str]) -> bool:
        """Whether each has a price; unlike :meth:`require`, it does not look for names like one that has none."""
        return all(map(self.model, models)) and self.searches.keys() >= {*searches}

    def require(self, models: list[str], searches: list[str]) -> None:
        """Raises UsageError if a model or tool has no price; the hint is the line to add."""
        file = home() / "prices.toml"
        for name in models:
            if self.model(name) is None:
                line = f'[models] "{name}" = {{ input = 0.15, output = 0.60 }}'
                hint = f"put its price into {file}, in US dollars per million tokens: {line}"
                if near := " or ".join(map(repr, get_close_matches(name, self._known(), n=3))):
                    hint += f"; did you mean {near}?"
                raise UsageError(f"no price is known for the model {name!r}", hint=hint)
        for name in searches:
            if name not in self.searches:
                hint = f"put it into {file}, in US dollars per request: [searches] {name} = 0.001"
                raise UsageError(f"no price is known for the tool {name!r}", hint=hint)


def _parse(text: str, where: str) -> Prices:
    try:
        return Prices.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where!r} cannot be read as TOML: {error}") from error
    except ValidationError as error:
        raise UsageError(
            f"{error.errors()[0]['input']!r} is not a price: {problem_of(error)}",
            where=f"{where}, {problem_location(error)}",
            hint='write it like "gpt-4o" = { input = 2.5, output = 10 }',
        ) from error


def cost_of_event(event: Event, is_online: Callable[[str], bool]) -> Cost:
    """What a budget counts; ``is_online`` says of a tool's name whether its searches count."""
    if isinstance(event, CallFinished | CallFailed):
        calls = event.requests if event.charge == "call" else 0
        searches = event.requests if event.charge == "search" and is_online(event.task) else 0
        tokens = event.prompt_tokens + event.completion_tokens + event.unknown_tokens
        return Cost(calls, tokens, event.usd + event.unknown_usd, searches)
    if isinstance(event, EvidenceFound | EvidenceMissing):
        return Cost(usd=event.usd + event.unknown_usd, searches=event.requests if is_online(event.tool) else 0)
    return Cost()


class UsageCounter:
    """Counts the usage of one claim; ``priced``: whether costs are known in dollars."""

    def __init__(self, priced: bool) -> None:
        self._priced = priced
        self._counts: Counter[str] = Counter()
        tables = ("by_agent", "by_task", "by_round", "by_tool")
        self._tables: dict[str, Counter[str]] = {name: Counter() for name in tables}
        self._usd = 0.0

    def count(self, event: Event) -> None:
        """Counts an event if it is one that may cost something."""
        if isinstance(event, CallFinished | CallFailed):
            self.call(event)
        elif isinstance(event, EvidenceFound | EvidenceMissing):
            self.search(event)

    def call(self, event: CallFinished | CallFailed) -> None:
        for name in ("prompt_tokens", "completion_tokens", "cached_tokens"):
            self._counts[name] += getattr(event, name)
        self._usd += event.usd + event.unknown_usd
        if event.charge == "search":
            self._tables["by_tool"][event.task] += event.requests
            return
        if event.charge == "embedding":
            self._counts["embeddings"] += event.requests
            return
        self._counts["calls"] += event.requests
        for name in ("agent", "task", "round"):
            self._tables[f"by_{name}"][str(getattr(event, name))] += event.requests

    def search(self, event: EvidenceFound | EvidenceMissing) -> None:
        self._tables["by_tool"][event.tool] += event.requests
        self._usd += event.usd + event.unknown_usd

    def usage(self) -> Usage:
        """The totals; tables in alphabetical order, so that equal runs have equal JSON."""
        return Usage(
            searches=self._tables["by_tool"].total(),
            usd=round(self._usd, 9) if self._priced else None,
            **self._counts,
            **{table: dict(sorted(counts.items())) for table, counts in self._tables.items()},
        )
