"""Counts the outcomes of answers, by words of closed lists; never any text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from redargue.service.log import note
from redargue.service.proxy.block import CheckBlock


@dataclass(eq=False)  # a registry keeps it in a dictionary
class ProxyTally(Collector):
    """Counts of one service, for its metrics."""

    answers: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # route, mode, outcome
    unchecked: Counter[tuple[str, str]] = field(default_factory=Counter)  # route, reason
    withheld: Counter[tuple[str, str]] = field(default_factory=Counter)  # route, reason
    upstream: Counter[str] = field(default_factory=Counter)  # responses, by status, or "unreachable" or "cut"
    unknown_calls: int = 0  # responses of LiteLLM whose request was not seen

    def checked(self, route: str, block: CheckBlock) -> None:
        note(block.check, str(block.outcome))
        self.answers[route, block.mode, str(block.outcome)] += 1
        for reason, count in block.unchecked.items():
            self.unchecked[route, reason] += count

    def graded(self, route: str, outcome: str, reason: str) -> None:
        """An answer that an adapter's check graded; ``reason`` where none of it was checked."""
        note("", outcome)
        self.answers[route, "grade", outcome] += 1
        if outcome == "unchecked":
            self.unchecked[route, reason] += 1

    def collect(self) -> Iterator[CounterMetricFamily]:
        yield _family("answers", "Answers that were checked.", ["route", "mode", "outcome"], self.answers.items())
        yield _family("unchecked", "Sentences that were not checked.", ["route", "reason"], self.unchecked.items())
        yield _family("withheld", "Answers that were not sent.", ["route", "reason"], self.withheld.items())
        upstream = [((status,), count) for status, count in self.upstream.items()]
        yield _family("upstream", "Responses of the upstream.", ["status"], upstream)
        unknown = CounterMetricFamily("redargue_proxy_unknown_calls", "LiteLLM's responses without a known request.")
        unknown.add_metric([], self.unknown_calls)
        yield unknown


def _family(
    name: str, about: str, labels: list[str], counts: Iterable[tuple[tuple[str, ...], int]]
) -> CounterMetricFamily:
    family = CounterMetricFamily(f"redargue_proxy_{name}", about, labels=labels)
    for values, count in counts:
        family.add_metric(list(values), count)
    return family
