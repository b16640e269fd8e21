"""Counts the usage of a claim from the events of its run."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from redargue.claims import Frozen
from redargue.errors import UsageError, problem_of
from redargue.events import CallFailed, CallFinished, EvidenceFound, EvidenceMissing
from redargue.files import home
from redargue.registry import did_you_mean
from redargue.runs.budget import Cost
from redargue.verdicts import Usage

# Prices of models and searches: a shipped table, and a user-supplied one whose entries win.


class Price(Frozen):
    """US dollars per million tokens; ``cached``: prompt tokens from the provider's cache, by default as ``input``."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    def of(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> float:
        cached = self.input if self.cached is None else self.cached
        fresh = prompt_tokens - cached_tokens
        return (fresh * self.input + cached_tokens * cached + completion_tokens * self.output) / 1_000_000


class Prices(Frozen):
    """Prices of models, and of searches in US dollars per request."""

    models: dict[str, Price] = Field(default_factory=dict)
    searches: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(default_factory=dict)

    @classmethod
    def shipped(cls) -> Prices:
        return _parse((files("redargue.runs") / "prices.toml").read_text(encoding="utf-8"), "prices.toml")

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
        return cls(models=prices.models | own.models, searches=prices.searches | own.searches)

    def model(self, name: str) -> Price | None:
        """The price of a model or of a dated version of it (``gpt-4o-2024-08-06``); None if unknown."""
        return self.models.get(name) or self.models.get(re.sub(r"-\d{4}-\d{2}-\d{2}$", "", name))

    def require(self, models: list[str], searches: list[str]) -> None:
        """Raises UsageError if a model or tool has no price; the hint is the line to add."""
        for name in models:
            if self.model(name) is None:
                raise UsageError(
                    f"no price is known for the model {name!r}",
                    hint=f"put its price into {home() / 'prices.toml'}, in US dollars per million tokens:"
                    f' [models] "{name}" = {{ input = 0.15, output = 0.60 }}; {did_you_mean(name, list(self.models))}',
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
