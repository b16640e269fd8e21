"""Reads a bench folder; no model is called."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from redargue.bench.compare import Comparison, read_results
from redargue.errors import UsageError
from redargue.registry import did_you_mean
from redargue.reports import verdicts_in
from redargue.runs.manifest import RunManifest, load_manifest
from redargue.verdicts import Verdict

OTHERS_SHOWN = 50  # claims on which all systems agree


class BenchRun(NamedTuple):
    """A finished bench: its results, and the manifest of each system."""

    folder: Path
    comparison: Comparison
    manifests: tuple[RunManifest, ...]

    @property
    def flipping(self) -> frozenset[int]:
        by_claim = enumerate(zip(*(row.said for row in self.comparison.rows), strict=True))
        return frozenset(
            item for item, predictions in by_claim if len({prediction.label for prediction in predictions}) > 1
        )

    def shown(self) -> tuple[int, ...]:
        """The claims whose debates are shown: those that flip, then the first of the others."""
        flipping = self.flipping
        others = [item for item in range(len(self.comparison.claims)) if item not in flipping]
        return (*sorted(flipping), *others[:OTHERS_SHOWN])

    def row(self, spec: str) -> int:
        specs = [row.spec for row in self.comparison.rows]
        if spec and spec not in specs:
            raise UsageError(f"no system {spec!r}", where="--method", hint=did_you_mean(spec, specs))
        return specs.index(spec) if spec else 0

    def verdicts(self, row: int) -> dict[int, Verdict]:
        return verdicts_in(self.folder / self.comparison.rows[row].slug)


def load_bench(folder: Path) -> BenchRun:
    """Reads the results of a bench folder; UsageError if it has none of this version."""
    comparison = read_results(folder)
    return BenchRun(folder, comparison, tuple(load_manifest(folder / row.slug) for row in comparison.rows))
