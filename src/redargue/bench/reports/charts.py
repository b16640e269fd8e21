"""The charts of a bench, which ``chart.html`` draws, and accuracy against cost: of systems, and of a cascade of two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from redargue.bench.compare import ComparedSystem, Comparison, Rescored
from redargue.bench.reports.tables import BY_ROUND, SHARE, SYSTEM, by_round, key
from redargue.bench.statistics import Interval, interval
from redargue.errors import UsageError
from redargue.registry import install
from redargue.reports.table import DASH, Cell, Column, Table, letter, number
from redargue.sanitize import counted

WIDTH, HEIGHT = 360, 260
LEFT, RIGHT, TOP, BOTTOM = 46, WIDTH - 24, 18, HEIGHT - 42
RADIUS = 9  # of a marker


class Marker(NamedTuple):
    """A system's value, with the ends of its interval where it has one."""

    key: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None


class Bar(NamedTuple):
    """A system's share between two values of x, and how many answers it was computed from."""

    key: str
    left: float
    right: float
    share: float
    n: int


class Chart(NamedTuple):
    """A chart in the units of its axes; y is a share."""

    title: str
    caption: str
    description: str
    x_title: str
    x: tuple[float, float]  # least and greatest value
    y: tuple[float, float]  # least and greatest value, multiples of 0.1
    ticks: Sequence[tuple[float, str]]  # values and labels along x
    markers: Sequence[Marker] = ()
    curves: Sequence[Sequence[Marker]] = ()  # joined by lines; that to the last marker is dashed
    bars: Sequence[Bar] = ()
    diagonal: bool = False  # whether the line y = x is drawn

    def at(self, x: float, y: float) -> tuple[float, float]:
        across = (x - self.x[0]) / ((self.x[1] - self.x[0]) or 1)
        up = (y - self.y[0]) / ((self.y[1] - self.y[0]) or 1)
        return round(LEFT + across * (RIGHT - LEFT), 1), round(BOTTOM - up * (BOTTOM - TOP), 1)

    @property
    def grid(self) -> list[float]:
        steps = round((self.y[1] - self.y[0]) * 10)
        return [self.y[0] + step / 10 for step in range(0, steps + 1, 1 if steps <= 5 else 2)]

    def placed(self) -> Iterator[tuple[Marker, float, float]]:
        """Markers with their pixels; one that would cover another is moved to the right."""
        taken: list[tuple[float, float]] = []
        for marker in (*self.markers, *(marker for curve in self.curves for marker in curve)):
            x, y = self.at(marker.x, marker.y)
            reach = 2 * RADIUS + (0 if marker.low is None else 30)  # intervals must not overlap either
            while any(abs(x - left) < 2 * RADIUS and abs(y - top) < reach for left, top in taken):
                x += 2 * RADIUS + 1
            taken.append((x, y))
            yield marker, x, y


def charts(comparison: Comparison) -> list[Chart]:
    every = [_scatter(comparison, "calls per claim"), _scatter(comparison, "dollars per claim"), _by_round(comparison)]
    every += [_reliability(row, letter(at)) for at, row in enumerate(comparison.rows) if row.scores.reliability]
    return [chart for chart in every if chart]


def _scatter(comparison: Comparison, unit: str) -> Chart | None:
    markers = []
    dollars = unit.startswith("dollars")
    for at, row in enumerate(comparison.rows):
        usage, accuracy = row.scores.cost.usage, row.scores.figure("accuracy")
        spent = usage.usd if dollars else usage.calls
        if spent is not None and accuracy.value is not None:
            markers.append(Marker(letter(at), spent / row.scores.n, accuracy.value, accuracy.low, accuracy.high))
    if not markers:
        return None
    most = max(marker.x for marker in markers) or 1.0
    step = _step(most)
    steps = round(-(-most // step))
    return Chart(
        f"Accuracy against {unit}",
        "Bars: 95 % intervals. Markers that would cover one another are set side by side.",
        "; ".join(f"{marker.key}: {marker.x:.4g} {unit}, accuracy {marker.y:.3f}" for marker in markers),
        unit,
        (0, steps * step),
        _span(share for _, _, *shares in markers for share in shares if share is not None),
        [(at * step, f"{'$' if dollars else ''}{at * step:g}") for at in range(steps + 1)],
        markers=sorted(markers, key=lambda marker: (marker.x, marker.key)),
    )


def _by_round(comparison: Comparison) -> Chart | None:
    curves = []
    for at, row in enumerate(comparison.rows):
        shares, final = [scores.right for scores in by_round(comparison, row)], row.scores.figure("accuracy").value
        if shares and final is not None:
            curves.append((letter(at), (*shares, final)))
    if not curves:
        return None
    last = max(len(shares) for _, shares in curves)
    places = {key: [*range(1, len(shares)), last] for key, shares in curves}
    return Chart(
        "Accuracy by round",
        BY_ROUND,
        "; ".join(
            f"{key}: {', '.join(f'{share:.3f}' for share in shares)}, verdict {final:.3f}"
            for key, (*shares, final) in curves
        ),
        "round after which it is stopped",
        (0.6, last + 0.4),
        _span(share for _, shares in curves for share in shares),
        [*((at, str(at)) for at in range(1, last)), (last, "verdict")],
        curves=[[Marker(key, *point) for point in zip(places[key], shares, strict=True)] for key, shares in curves],
    )


def _reliability(row: ComparedSystem, key: str) -> Chart:
    bins = [bin_ for bin_ in row.scores.reliability if bin_.accuracy is not None]
    return Chart(
        f"Calibration of {row.spec}",
        "Of the answers whose confidence lies in each tenth, the share that is right; above each bar, their number. "
        "Calibrated confidences lie on the diagonal.",
        "; ".join(f"{bin_.low:.1f} to {bin_.high:.1f}: {bin_.accuracy:.2f} of {bin_.n} right" for bin_ in bins),
        "confidence",
        (0, 1),
        (0, 1),
        [(at / 5, f"{at / 5:.0%}") for at in range(6)],
        bars=[Bar(key, bin_.low, bin_.high, bin_.accuracy or 0.0, bin_.n) for bin_ in bins],
        diagonal=True,
    )


def _span(shares: Iterable[float]) -> tuple[float, float]:
    """The range of an axis: the shares' range, widened to multiples of 0.1 and to at least 0.2."""
    every = list(shares)
    low, high = int(min(every) * 10 + 1e-9) / 10, -int(-max(every) * 10 + 1e-9) / 10
    high = high if high >= max(every) - 1e-9 else high + 0.1
    return (low, high) if high - low > 0.15 else (max(0.0, low - 0.1), min(1.0, high + 0.1))


def _step(most: float) -> float:
    """The smallest round number of which at most six steps reach ``most``."""
    size: float = 10.0 ** (len(str(int(most))) - 1) if most >= 1 else 1e-6
    steps = (size * 10.0**power * factor for power in count() for factor in (0.2, 0.5, 1, 2, 5))
    return next(step for step in steps if most / step <= 6)


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


_Measured = tuple[Interval | None, dict[str, Interval | None]]  # a system's accuracy, and its costs by unit


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
    values = [getattr(said, unit) for said in row.said]
    return interval(values) if values and None not in values else None


def _is_best(at: int, unit: str, pairs: Sequence[_Measured]) -> bool:
    places = [_place(pair, unit) for pair in pairs]
    own = places[at]
    return own is not None and not any(
        other and other != own and other[0] >= own[0] and other[1] <= own[1] for other in places
    )


def _place(pair: _Measured, unit: str) -> tuple[float, float] | None:
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
    rows: list[tuple[Cell, ...]] = []
    for point in found:
        threshold = DASH if point.threshold is None else f"{point.threshold:g}"
        figures = (point.accuracy, point.macro_f1, point.calls, point.usd, point.saved)
        rows.append((threshold, point.kept, *figures))
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
    return Table(title, columns, tuple(rows), (note,))
