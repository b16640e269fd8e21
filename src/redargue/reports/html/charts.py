"""The geometry of the charts, in pixels; ``chart.html`` draws them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from redargue.evals.metrics.calibration import Bin
from redargue.reports.tables import letter

WIDTH, HEIGHT = 360, 260
LEFT, RIGHT, TOP, BOTTOM = 46, 24, 18, 42
MARK = 9  # radius of a marker


class Point(NamedTuple):
    """A system in a chart.

    Attributes:
        row: its index among the systems, which gives letter and colour.
        x: in the units of the axis.
        y: in [0, 1].
        low: lower end of its interval; None without one.
        high: upper end.
    """

    row: int
    x: float
    y: float
    low: float | None = None
    high: float | None = None


class Curve(NamedTuple):
    """The share of right claims after each round, and that of the verdicts."""

    row: int
    shares: Sequence[float]
    final: float


class Line(NamedTuple):
    """A straight line."""

    x1: float
    y1: float
    x2: float
    y2: float
    style: str


class Label(NamedTuple):
    """Text in a chart."""

    x: float
    y: float
    text: str
    anchor: str = "middle"


class Bar(NamedTuple):
    """A bar in the colour of a system."""

    x: float
    y: float
    width: float
    height: float
    key: str


class Path(NamedTuple):
    """A line through several points."""

    points: Sequence[tuple[float, float]]
    key: str


class Marker(NamedTuple):
    """A disc with the letter of a system."""

    x: float
    y: float
    key: str


class Chart(NamedTuple):
    """A chart.

    Attributes:
        title: what it shows.
        caption: how to read it.
        description: its figures in words.
        lines: axes, grid and intervals.
        labels: of axes and bars.
        bars: drawn above the lines.
        paths: drawn above the bars.
        markers: drawn last.
    """

    title: str
    caption: str
    description: str
    lines: Sequence[Line]
    labels: Sequence[Label]
    bars: Sequence[Bar] = ()
    paths: Sequence[Path] = ()
    markers: Sequence[Marker] = ()

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return WIDTH, HEIGHT


class Axes(NamedTuple):
    """The ranges of a chart.

    Attributes:
        x: least and greatest value.
        y: likewise; shares.
        ticks: values and labels along x.
        title: what x is.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    ticks: Sequence[tuple[float, str]]
    title: str

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The pixel of a value."""
        across = (x - self.x[0]) / ((self.x[1] - self.x[0]) or 1)
        up = (y - self.y[0]) / ((self.y[1] - self.y[0]) or 1)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    def frame(self) -> tuple[list[Line], list[Label]]:
        """Grid, ticks and their labels."""
        floor = HEIGHT - BOTTOM
        lines = [Line(LEFT, floor, WIDTH - RIGHT, floor, "axis")]
        labels = [Label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, self.title)]
        steps = round((self.y[1] - self.y[0]) * 10)
        for step in range(0, steps + 1, 1 if steps <= 5 else 2):
            share = self.y[0] + step / 10
            _, y = self.at(self.x[0], share)
            lines.append(Line(LEFT, y, WIDTH - RIGHT, y, "grid"))
            labels.append(Label(LEFT - 6, y + 4, f"{share:.0%}", "end"))
        for value, text in self.ticks:
            x, _ = self.at(value, self.y[0])
            lines.append(Line(x, floor, x, floor + 4, "axis"))
            labels.append(Label(x, floor + 17, text))
        return lines, labels


class _Markers(list[Marker]):
    """Markers; one that would cover another is moved to the right."""

    def put(self, x: float, y: float, row: int, *, apart: int = 0) -> float:
        """Adds a marker; returns its x."""
        while any(abs(x - other.x) < 2 * MARK and abs(y - other.y) < 2 * MARK + apart for other in self):
            x += 2 * MARK + (2 if apart else 0)
        self.append(Marker(x, y, letter(row)))
        return x


def scatter(points: Sequence[Point], unit: str, *, dollars: bool = False) -> Chart:
    """Accuracy against cost, with intervals."""
    most = max((point.x for point in points), default=0.0) or 1.0
    step = _step(most)
    count = round(-(-most // step))
    ticks = [(at * step, f"{'$' * dollars}{at * step:g}") for at in range(count + 1)]
    axes = Axes((0, count * step), _span(points), ticks, unit)
    lines, labels = axes.frame()
    markers = _Markers()
    for point in sorted(points, key=lambda point: (point.x, point.row)):
        x = markers.put(*axes.at(point.x, point.y), point.row, apart=30)
        if point.low is not None and point.high is not None:
            ends = axes.at(0, point.low)[1], axes.at(0, point.high)[1]
            lines.append(Line(x, ends[0], x, ends[1], f"series k{point.row % 6}"))
    return Chart(
        f"Accuracy against {unit}",
        "Bars: 95 % intervals. Markers that would cover one another are set side by side.",
        "; ".join(f"{letter(point.row)}: {point.x:.4g} {unit}, accuracy {point.y:.3f}" for point in points),
        lines,
        labels,
        markers=markers,
    )


def curves(systems: Sequence[Curve], caption: str) -> Chart:
    """Accuracy by round."""
    rounds = max(len(system.shares) for system in systems)
    shares = [Point(0, 0, share) for system in systems for share in (*system.shares, system.final)]
    ticks = [*((at, str(at)) for at in range(1, rounds + 1)), (rounds + 1, "verdict")]
    axes = Axes((0.6, rounds + 1.4), _span(shares), ticks, "round after which it is stopped")
    lines, labels = axes.frame()
    paths, markers = [], _Markers()
    for system in systems:
        points = [axes.at(at, share) for at, share in enumerate(system.shares, start=1)]
        end = axes.at(rounds + 1, system.final)
        paths.append(Path(points, letter(system.row)))
        lines.append(Line(*points[-1], *end, f"series dashed k{system.row % 6}"))
        for point in (*points, end):
            markers.put(*point, system.row)
    description = "; ".join(
        f"{letter(row)}: " + ", ".join(f"{share:.3f}" for share in shares) + f", verdict {final:.3f}"
        for row, shares, final in systems
    )
    return Chart("Accuracy by round", caption, description, lines, labels, paths=paths, markers=markers)


def reliability(bins: Sequence[Bin], spec: str, row: int) -> Chart:
    """Share of right answers against stated confidence; calibrated confidences lie on the diagonal."""
    axes = Axes((0, 1), (0, 1), [(at / 5, f"{at / 5:.0%}") for at in range(6)], "confidence")
    lines, labels = axes.frame()
    lines.append(Line(*axes.at(0, 0), *axes.at(1, 1), "axis dashed"))
    bars, figures = [], []
    for each in bins:
        if each.accuracy is None or each.confidence is None:
            continue
        left, top = axes.at(each.low, each.accuracy)
        right, floor = axes.at(each.high, 0)
        bars.append(Bar(left + 1, top, right - left - 2, max(1.0, floor - top), letter(row)))
        labels.append(Label((left + right) / 2, top - 4, str(each.n)))
        figures.append(f"{each.low:.1f} to {each.high:.1f}: {each.accuracy:.2f} of {each.n} right")
    caption = (
        "Of the answers whose confidence lies in each tenth, the share that is right; above each bar, their number. "
        "Calibrated confidences lie on the diagonal."
    )
    return Chart(f"Calibration of {spec}", caption, "; ".join(figures), lines, labels, bars=bars)


def _span(points: Sequence[Point]) -> tuple[float, float]:
    """From the tenth below the least to the tenth above the greatest."""
    least = min((point.y if point.low is None else point.low for point in points), default=0.0)
    most = max((point.y if point.high is None else point.high for point in points), default=1.0)
    low, high = int(least * 10 + 1e-9) / 10, -int(-most * 10 + 1e-9) / 10
    high = high if high >= most - 1e-9 else high + 0.1
    return (low, high) if high - low > 0.15 else (max(0.0, low - 0.1), min(1.0, high + 0.1))


def _step(most: float) -> float:
    """A round step that gives at most six ticks."""
    size: float = 10.0 ** (len(str(int(most))) - 1) if most >= 1 else 1e-6
    while True:
        for factor in (0.2, 0.5, 1, 2, 5):
            if most / (size * factor) <= 6:
                return size * factor
        size *= 10
