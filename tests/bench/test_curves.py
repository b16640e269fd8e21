"""The figures and the picture of how much a confidence means."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.curves import at_threshold, draw, figures

from redargue.bench.metrics.classification import risk_coverage

CONFIDENCE = (0.95, 0.9, 0.8, 0.55, 0.55)
RIGHT = (True, True, False, True, False)


def test_figures_say_what_is_kept_above_each_threshold_and_how_much_of_it_is_wrong() -> None:
    shown = figures(CONFIDENCE, RIGHT)
    assert shown["n"] == 5
    assert shown["thresholds"][0] == {"threshold": 0.5, "coverage": 1.0, "risk": 0.4}
    assert shown["thresholds"][3] == {"threshold": 0.8, "coverage": 0.6, "risk": 0.3333}
    assert shown["thresholds"][-1] == {"threshold": 0.95, "coverage": 0.2, "risk": 0.0}


def test_above_every_confidence_nothing_is_kept() -> None:
    assert at_threshold(risk_coverage(CONFIDENCE, RIGHT), 0.99) is None
    assert figures((), ())["thresholds"] == []


@pytest.mark.extra
def test_both_curves_are_drawn_as_one_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra plots")
    draw(CONFIDENCE, RIGHT, tmp_path / "docs" / "curves.png", threshold=0.6)
    assert (tmp_path / "docs" / "curves.png").read_bytes().startswith(b"\x89PNG")
