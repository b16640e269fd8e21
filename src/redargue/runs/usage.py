"""Counts the usage of a claim from the events of its run."""

from __future__ import annotations

from collections import Counter

from redargue.events import CallFailed, CallFinished, EvidenceFound, EvidenceMissing
from redargue.runs.budget import Cost
from redargue.verdicts import Usage


def cost_of(event: CallFinished | CallFailed) -> Cost:
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
