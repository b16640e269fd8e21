"""Accuracy against cost: systems, and two recorded systems as a cascade."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from redargue.bench.compare import ComparedSystem, Comparison, Prediction
from redargue.bench.reports.tables import SHARE, SYSTEM, key
from redargue.bench.rescore import Rescored
from redargue.bench.statistics.bootstrap import Interval, interval
from redargue.errors import UsageError
from redargue.registry import install
from redargue.reports.table import DASH, Cell, Column, Table, number
from redargue.sanitize import counted

COSTS = {"calls": ".1f", "tokens": ",.0f", "usd": ".4f", "seconds": ".2f"}
FIGURES = (".png", ".svg", ".pdf")
UNITS = {"calls": "calls", "tokens": "tokens", "usd": "dollars", "seconds": "seconds"}


class Point(NamedTuple):
    """A system: accuracy and mean costs per claim by unit, with 95 % intervals; None for a cost that is not known.

    ``best`` are the units in which no other system is as right for less, or more right for as little.
    """

    accuracy: Interval
    costs: dict[str, Interval | None]
    best: tuple[str, ...]


def points(comparison: Comparison) -> tuple[Point | None, ...]:
    """One per row; None without gold labels."""
    pairs = [(_accuracy(comparison, row), {unit: _cost(row, unit) for unit in COSTS}) for row in comparison.rows]
    return tuple(
        Point(accuracy, costs, tuple(unit for unit in COSTS if _is_best(at, unit, pairs))) if accuracy else None
        for at, (accuracy, costs) in enumerate(pairs)
    )


def _accuracy(comparison: Comparison, row: ComparedSystem) -> Interval | None:
    known = zip(comparison.claims, row.said, strict=True)
    hits = [float(said.label == claim.gold) for claim, said in known if claim.gold is not None]
    return interval(hits) if hits else None


def _cost(row: ComparedSystem, unit: str) -> Interval | None:
    values = [_spent(said, unit) for said in row.said]
    known = [value for value in values if value is not None]
    return interval(known) if known and len(known) == len(values) else None


def _spent(said: Prediction, unit: str) -> float | None:
    value = getattr(said, unit)
    return None if value is None else float(value)


def _is_best(at: int, unit: str, pairs: Sequence[tuple[Interval | None, dict[str, Interval | None]]]) -> bool:
    own = _place(pairs[at], unit)
    others = (_place(pair, unit) for other, pair in enumerate(pairs) if other != at)
    if own is None:
        return False
    (accuracy, cost) = own
    return not any(
        other and other[0] >= accuracy and other[1] <= cost and other != (accuracy, cost) for other in others
    )


def _place(pair: tuple[Interval | None, dict[str, Interval | None]], unit: str) -> tuple[float, float] | None:
    accuracy, cost = pair[0], pair[1][unit]
    if accuracy is None or cost is None or accuracy.value is None or cost.value is None:
        return None
    return accuracy.value, cost.value


def frontier_table(comparison: Comparison) -> Table | None:
    """Accuracy and costs of every system, and in which costs it is on the frontier; None without gold labels."""
    rows: list[tuple[Cell, ...]] = []
    for at, (row, point) in enumerate(zip(comparison.rows, points(comparison), strict=True)):
        if point:
            best = ", ".join(UNITS[unit] for unit in point.best) or DASH
            rows.append((*key(at, row), point.accuracy, *(point.costs[unit] for unit in COSTS), best))
    columns = (
        number("Accuracy", SHARE),
        *(number(UNITS[unit].capitalize(), form) for unit, form in COSTS.items()),
        Column("On the frontier for"),
    )
    note = (
        "Means per claim with 95 % bootstrap intervals; a dash: not known. On the frontier: no other system is at "
        "least as right for at most the same cost. Seconds: from the claim's start to its verdict; "
        "they depend on the machine and on how many claims ran at a time."
    )
    return Table("Accuracy against cost", (*SYSTEM, *columns), tuple(rows), (note,)) if rows else None


def require_drawing(path: Path) -> None:
    """Raises UsageError if matplotlib is not installed, or the file's suffix is not one of FIGURES."""
    if path.suffix.lower() not in FIGURES:
        what = f"{path.name!r} does not end in {', '.join(FIGURES)}"
        raise UsageError(what, where="--frontier", hint=f"for print: {path.with_suffix('.pdf')}")
    try:
        import matplotlib
    except ModuleNotFoundError:
        what = "drawing needs matplotlib, which is not installed"
        raise UsageError(what, where="--frontier", hint=install("plots")) from None
    matplotlib.use("Agg")


def draw_frontier(comparison: Comparison, path: Path) -> None:
    """Draws accuracy against calls, tokens, dollars and seconds; costs that are not known are left out.

    Raises UsageError as :func:`require_drawing` does.
    """
    require_drawing(path)
    from matplotlib import pyplot, ticker

    drawn = list(zip(comparison.rows, points(comparison), strict=True))
    units = [unit for unit in COSTS if any(point and point.costs[unit] for _, point in drawn)]
    figure, panels = pyplot.subplots(1, len(units), figsize=(4.5 * len(units), 4), sharey=True, squeeze=False)
    for panel, unit in zip(panels[0], units, strict=True):
        for at, (row, point) in enumerate(drawn):
            if point:
                _draw(panel, key(at, row)[0], point, unit, above=at % 2 == 0)
        panel.set_xlabel(f"{UNITS[unit]} per claim")
        panel.xaxis.set_major_locator(ticker.MaxNLocator(5))
        panel.xaxis.set_major_formatter(ticker.EngFormatter(sep="") if unit == "tokens" else ticker.ScalarFormatter())
        panel.margins(x=0.08, y=0.15)
    panels[0][0].set_ylabel("accuracy (blue: on the frontier)")
    names = "   ".join(f"{letter} {spec}" for letter, spec in (key(at, row) for at, (row, _) in enumerate(drawn)))
    figure.text(0.01, 0.01, names, fontsize=7, wrap=True)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    path.parent.mkdir(parents=True, exist_ok=True)
    dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}  # equal results give equal files
    figure.savefig(path, dpi=120, metadata=dated.get(path.suffix.lower(), {"Software": "redargue"}))
    pyplot.close(figure)


def _draw(panel: Any, letter: str, point: Point, unit: str, *, above: bool) -> None:
    cost, accuracy = point.costs[unit], point.accuracy
    if cost is None or cost.value is None or accuracy.value is None:
        return
    colour = "#27a" if unit in point.best else "#999"
    across = [[cost.value - (cost.low or 0.0)], [(cost.high or 0.0) - cost.value]]
    along = [[accuracy.value - (accuracy.low or 0.0)], [(accuracy.high or 0.0) - accuracy.value]]
    panel.errorbar([cost.value], [accuracy.value], xerr=across, yerr=along, fmt="o", color=colour, capsize=2)
    panel.annotate(letter, (cost.value, accuracy.value), textcoords="offset points", xytext=(5, 5 if above else -13))


def rescored_pairs(first: str, then: str, found: Sequence[Rescored]) -> Table:
    """What two recorded systems would have cost and said as a cascade."""
    rows = tuple(
        (
            DASH if point.threshold is None else f"{point.threshold:g}",
            point.kept,
            point.accuracy,
            point.macro_f1,
            point.calls,
            point.usd,
            point.saved,
        )
        for point in found
    )
    columns = (
        Column("Threshold"),
        number("Decided by the first", ","),
        number("Accuracy", SHARE),
        number("Macro-F1", SHARE),
        number("Calls per claim", ".2f"),
        number("Price per claim", ".4f", unit="$"),
        number("Calls saved", ".1%"),
    )
    title = f"{first}, then {then}: {counted(found[0].claims, 'claim')} from the records"
    note = "A dash: the first never decides. Choose a threshold on other claims than those on which you report it."
    return Table(title, columns, rows, (note,))
