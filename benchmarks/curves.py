"""Draws how much a confidence means: a reliability diagram and a risk-coverage curve (extra ``plots``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from redargue.bench.metrics.classification import RiskPoint, aurc, brier, calibration_error, reliability, risk_coverage

THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def figures(confidence: Sequence[float], right: Sequence[bool]) -> dict[str, Any]:
    """Calibration error, Brier score, area under the curve; coverage and risk above each threshold.

    Args:
        confidence: of each answer, in [0, 1].
        right: whether that answer is correct.
    """
    metrics = (calibration_error(confidence, right), brier(confidence, right), aurc(confidence, right))
    shown = {metric.name: None if metric.value is None else round(metric.value, 4) for metric in metrics}
    kept = [(least, at_threshold(risk_coverage(confidence, right), least)) for least in THRESHOLDS]
    rows = [
        {"threshold": least, "coverage": round(point.coverage, 3), "risk": round(point.risk, 4)}
        for least, point in kept
        if point
    ]
    return {"n": len(confidence), **shown, "thresholds": rows}


def at_threshold(curve: Sequence[RiskPoint], least: float) -> RiskPoint | None:
    """The point of the curve where the answers with at least this confidence are kept; None where there are none."""
    return next((point for point in reversed(curve) if point.threshold >= least), None)


def draw(confidence: Sequence[float], right: Sequence[bool], path: Path, *, threshold: float | None = None) -> None:
    """Writes both curves as one picture; ``threshold`` is marked on each."""
    try:
        import matplotlib
    except ImportError:
        raise SystemExit("drawing needs matplotlib: pip install 'redargue[plots]'") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (diagram, curve) = pyplot.subplots(1, 2, figsize=(9, 3.8))
    _draw_reliability(diagram, confidence, right)
    _draw_risk(curve, risk_coverage(confidence, right), threshold)
    if threshold is not None:
        diagram.axvline(threshold, color="#c44", linewidth=1)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    print(f"drawn: {path}")


def _draw_reliability(axes: Any, confidence: Sequence[float], right: Sequence[bool]) -> None:
    for group in reliability(confidence, right):
        if group.accuracy is not None:
            width = group.high - group.low
            axes.bar(group.low, group.accuracy, width, align="edge", color="#2a7", edgecolor="white")
            axes.text(group.low + width / 2, group.accuracy, f"{group.n:,}", ha="center", va="bottom", fontsize=7)
    axes.plot((0, 1), (0, 1), color="#666", linestyle="--", linewidth=1)
    axes.set(title="Reliability", xlabel="confidence", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1.08))


def _draw_risk(axes: Any, curve: Sequence[RiskPoint], threshold: float | None) -> None:
    coverage, risk = [point.coverage for point in curve], [point.risk for point in curve]
    axes.step(coverage, risk, where="post", color="#27a")
    if threshold is not None and (point := at_threshold(curve, threshold)):
        axes.plot(point.coverage, point.risk, "o", color="#c44", label=f"confidence of at least {threshold:.2f}")
        axes.legend(loc="upper left")
    axes.set(title="Risk against coverage", xlabel="share of answers kept", ylabel="share of these that is wrong")
    axes.set(xlim=(0, 1), ylim=(0, max(0.05, 1.1 * max(risk, default=0.0))))
