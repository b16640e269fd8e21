"""Metrics for Prometheus; no label holds words of a request."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.registry import Collector

from redargue.methods.base import methods
from redargue.service.checks import CheckStore
from redargue.service.entries import CheckEntry

SECONDS = (0.1, 0.3, 1, 3, 10, 30, 100, 300, 1_000)
_OTHER = "other"


class Metrics:
    """Counts what ends; an application has its own."""

    def __init__(self, default_method: str) -> None:
        self._registry, self._default = CollectorRegistry(), default_method
        registry = self._registry
        self._checks = Counter("redargue_checks", "Checks that ended.", ["method", "state"], registry=registry)
        self._outcomes = Counter("redargue_outcomes", "Outcomes of finished checks.", ["outcome"], registry=registry)
        self._seconds = Histogram(
            "redargue_check_seconds", "From request to end.", ["method"], buckets=SECONDS, registry=registry
        )
        self._calls = Counter("redargue_calls", "Model calls by role.", ["role"], registry=registry)
        self._dollars = Counter(
            "redargue_dollars", "Spent on model calls and searches, where prices are known.", registry=registry
        )
        self._failed = Counter("redargue_failed", "Checks that failed, by error class.", ["error"], registry=registry)
        self._streams = Gauge("redargue_open_streams", "Open streams of events.", registry=registry)
        self._states = Gauge(
            "redargue_active_checks", "Checks that are queued or running.", ["state"], registry=registry
        )

    def ended(self, entry: CheckEntry) -> None:
        method = entry.request.method or self._default
        method = method if method in methods else _OTHER
        self._checks.labels(method, entry.state).inc()
        if entry.state == "done":
            self._outcomes.labels(_outcome(entry.outcome)).inc()
        if entry.error:
            self._failed.labels(entry.error.type).inc()
        if entry.ended:
            self._seconds.labels(method).observe((entry.ended - entry.created).total_seconds())
        if entry.usage:
            self._dollars.inc(entry.usage.usd or 0.0)
            for role, calls in entry.usage.by_agent.items():
                self._calls.labels(role if role.isascii() and len(role) <= 40 else _OTHER).inc(calls)

    def add(self, collector: Collector) -> None:
        """Adds what another part of the service counts."""
        self._registry.register(collector)

    def text(self, store: CheckStore) -> bytes:
        self._streams.set(store.streams)
        for state, count in store.counts().items():
            self._states.labels(state).set(count)
        return generate_latest(self._registry)


KNOWN = frozenset(
    "supported refuted not_enough conflicting unchecked factual non_factual undecided not_checkable".split()
)


def _outcome(outcome: str) -> str:
    return outcome if outcome in KNOWN else _OTHER
