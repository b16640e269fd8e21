"""Trials of what nobody does on purpose: each runs a number of times and names every time that something fell.

``python -m benchmarks endurance`` runs them at full count, and tests a few times each.
"""

from __future__ import annotations

from typing import NamedTuple


class Outcome(NamedTuple):
    """How a trial ended.

    Attributes:
        times: how often it was done.
        failures: a line for each time that something fell.
        figure: what was measured.
    """

    trial: str
    times: int
    failures: tuple[str, ...]
    figure: str
