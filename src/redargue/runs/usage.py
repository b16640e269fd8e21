"""Counts the usage of a claim from the events of its run."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from redargue.claims import Frozen
from redargue.errors import UsageError, problem_of
from redargue.events import CallFailed, CallFinished, EvidenceFound, EvidenceMissing
from redargue.files import home
from redargue.runs.budget import Cost
from redargue.verdicts import Usage

# Prices of models and searches: a shipped table, and a user-supplied one whose entries win.


class Rates(Frozen):
    """US dollars per million tokens; ``cached``: prompt tokens from the provider's cache, by default as ``input``."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)


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
        return (fresh * rates.input + cached_tokens * cached + completion_tokens * rates.output) / 1_000_000


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
    return _parse(_MODELS + rows[at : rows.index("\n", at + 1)], "prices.toml").models[name] if at >= 0 else None


class Prices(Frozen):
    """Prices of models, and of searches in US dollars per request.

    Attributes:
        shipped_models: whether the shipped table has the price of a model that is not in ``models``.
    """

    models: dict[str, Price] = Field(default_factory=dict)
    searches: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(default_factory=dict)
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
                raise UsageError(f"no file {str(path)!r}", where="--prices", hint="give a TOML file of prices")
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
        return next((price for price in (*map(self.models.get, names), *shipped) if price), None)

    def _known(self) -> list[str]:
        listed = re.findall(r'^"(.+?)" = ', _shipped()[1], re.M) if self.shipped_models else []
        return [*self.models, *listed]

    def require(self, models: list[str], searches: list[str]) -> None:
        """Raises UsageError if a model or tool has no price; the hint is the line to add."""
        for name in models:
            if self.model(name) is None:
                near = " or ".join(map(repr, get_close_matches(name, self._known(), n=3)))
                raise UsageError(
                    f"no price is known for the model {name!r}",
                    hint=f"put its price into {home() / 'prices.toml'}, in US dollars per million tokens:"
                    f' [models] "{name}" = {{ input = 0.15, output = 0.60 }}'
                    + (f"; did you mean {near}?" if near else ""),
                )
        for name in searches:
            if name not in self.searches:
                raise UsageError(
                    f"no price is known for the tool {name!r}",
                    hint=f"put it into {home() / 'prices.toml'}, in US dollars per request: [searches] {name} = 0.001",
                )


def _parse(text: str, where: str) -> Prices:
    try:
        table: dict[str, Any] = tomllib.loads(text)
        return Prices.model_validate(table)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where!r} cannot be read as TOML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(
            f"{first['input']!r} is not a price: {problem_of(error)}",
            where=f"{where}, {'.'.join(map(str, first['loc']))}",
            hint='write it like "gpt-4o" = { input = 2.5, output = 10 }',
        ) from error


def cost_of_usage(event: CallFinished | CallFailed) -> Cost:
    calls = event.requests if event.charge == "call" else 0
    return Cost(calls, event.prompt_tokens + event.completion_tokens, event.usd)


class UsageCounter:
    """Counts the usage of one claim; ``priced``: whether costs are known in dollars."""

    def __init__(self, priced: bool) -> None:
        self._priced = priced
        self._counts: Counter[str] = Counter()
        self._tables: dict[str, Counter[str]] = {f"by_{name}": Counter() for name in ("agent", "task", "round", "tool")}
        self._usd = 0.0

    def call(self, event: CallFinished | CallFailed) -> None:
        self._counts["prompt"] += event.prompt_tokens
        self._counts["completion"] += event.completion_tokens
        self._counts["cached"] += event.cached_tokens
        self._usd += event.usd
        if event.charge == "embedding":
            self._counts["embeddings"] += event.requests
            return
        self._counts["calls"] += event.requests
        for table, name in (("by_agent", event.agent), ("by_task", event.task), ("by_round", str(event.round))):
            self._tables[table][name] += event.requests

    def search(self, event: EvidenceFound | EvidenceMissing) -> None:
        self._tables["by_tool"][event.tool] += event.requests
        self._usd += event.usd

    def usage(self) -> Usage:
        """The totals; tables in alphabetical order, so that equal runs have equal JSON."""
        return Usage(
            calls=self._counts["calls"],
            embeddings=self._counts["embeddings"],
            searches=self._tables["by_tool"].total(),
            prompt_tokens=self._counts["prompt"],
            completion_tokens=self._counts["completion"],
            cached_tokens=self._counts["cached"],
            usd=round(self._usd, 9) if self._priced else None,
            **{table: dict(sorted(counts.items())) for table, counts in self._tables.items()},
        )
