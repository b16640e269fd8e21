"""Pictures as inline SVG, drawn here: no script, no library, colours from the page's style."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from redargue.evals.metrics.calibration import Bin
from redargue.evals.report.facts import letter
from redargue.evals.report.markup import Html, Node, el

WIDTH, HEIGHT = 360, 260
LEFT, RIGHT, TOP, BOTTOM = 46, 24, 18, 42
MARK = 9  # radius of a marker


class Point(NamedTuple):
    """A contender in a picture.

    Attributes:
        row: its place in the table, which gives letter and colour.
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


class Axes:
    """A frame with ticks; y is a share.

    Args:
        x: least and greatest value.
        y: likewise.
        ticks: values and words along x.
        labels: what x and y are.
    """

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        ticks: Sequence[tuple[float, str]],
        labels: tuple[str, str],
    ) -> None:
        self.low_x, self.high_x = x
        self.low_y, self.high_y = y
        self.ticks, self.labels = ticks, labels

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a value stands in the picture."""
        across = (x - self.low_x) / ((self.high_x - self.low_x) or 1)
        up = (y - self.low_y) / ((self.high_y - self.low_y) or 1)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    def drawn(self) -> list[Html]:
        """Frame, grid, ticks, names of the axes."""
        parts = []
        steps = round((self.high_y - self.low_y) * 10)
        every = 1 if steps <= 5 else 2
        for step in range(0, steps + 1, every):
            share = self.low_y + step / 10
            _, y = self.at(self.low_x, share)
            parts.append(_line(LEFT, y, WIDTH - RIGHT, y, "grid"))
            parts.append(_words(LEFT - 6, y + 4, f"{share:.0%}", "end"))
        for value, words in self.ticks:
            x, y = self.at(value, self.low_y)
            parts.append(_line(x, y, x, y + 4, "axis"))
            parts.append(_words(x, y + 17, words, "middle"))
        parts.append(_line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "axis"))
        parts.append(_words((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, self.labels[0], "middle"))
        return parts


def scatter(points: Sequence[Point], name: str, *, unit: str, dollars: bool = False) -> Html:
    """Accuracy against cost, with intervals; markers that would cover one another are moved aside."""
    most = max((point.x for point in points), default=0.0) or 1.0
    step = _step(most)
    stop = step * -(-most // step)
    ticks = [(each * step, _tick(each * step, dollars=dollars)) for each in range(round(stop / step) + 1)]
    axes = Axes((0, stop), _span(points), ticks, (unit, "accuracy"))
    parts: list[Node] = [*axes.drawn()]
    taken: list[tuple[float, float]] = []
    for point in sorted(points, key=lambda each: (each.x, each.row)):
        x, y = axes.at(point.x, point.y)
        while any(abs(x - other) < 2 * MARK and abs(y - beside) < 2 * MARK + 30 for other, beside in taken):
            x += 2 * MARK + 2
        taken.append((x, y))
        if point.low is not None and point.high is not None:
            parts.append(
                _line(x, axes.at(0, point.low)[1], x, axes.at(0, point.high)[1], f"series whisker k{point.row % 6}")
            )
        parts.append(_mark(x, y, point.row))
    told = "; ".join(f"{letter(each.row)}: {each.x:.4g} {unit}, accuracy {each.y:.3f}" for each in points)
    return _picture(name, told, parts)


def curves(lines: Sequence[tuple[int, Sequence[float], float]], name: str) -> Html:
    """Accuracy by round.

    Args:
        lines: a contender's place, its share after each round, its verdicts' accuracy.
        name: of the picture.
    """
    rounds = max(len(shares) for _, shares, _ in lines)
    every = [Point(0, 0, share) for _, shares, final in lines for share in (*shares, final)]
    ticks = [*((at, str(at)) for at in range(1, rounds + 1)), (rounds + 1, "verdict")]
    axes = Axes((0.6, rounds + 1.4), _span(every), ticks, ("round after which it is stopped", "right"))
    parts: list[Node] = [*axes.drawn()]
    marks: list[Node] = []
    taken: list[tuple[float, float]] = []
    for row, shares, final in lines:
        placed = [axes.at(at, share) for at, share in enumerate(shares, start=1)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        parts.append(el("polyline", points=path, class_=f"series k{row % 6}", fill="none"))
        last, end = placed[-1], axes.at(rounds + 1, final)
        parts.append(_line(*last, *end, f"series dashed k{row % 6}"))
        for x, y in (*placed, end):
            while any(abs(x - other) < 2 * MARK and abs(y - beside) < 2 * MARK for other, beside in taken):
                x += 2 * MARK
            taken.append((x, y))
            marks.append(_mark(x, y, row))
    told = "; ".join(
        f"{letter(row)}: " + ", ".join(f"{share:.3f}" for share in shares) + f", verdict {final:.3f}"
        for row, shares, final in lines
    )
    return _picture(name, told, [*parts, *marks])


def reliability(bins: Sequence[Bin], name: str, row: int) -> Html:
    """Share right against stated confidence; the diagonal is what confidences mean."""
    axes = Axes((0, 1), (0, 1), [(at / 5, f"{at / 5:.0%}") for at in range(6)], ("confidence", "right"))
    parts: list[Node] = [*axes.drawn(), _line(*axes.at(0, 0), *axes.at(1, 1), "axis dashed")]
    told = []
    for each in bins:
        if each.accuracy is None or each.confidence is None:
            continue
        left, top = axes.at(each.low, each.accuracy)
        right, floor = axes.at(each.high, 0)
        size = {"width": f"{right - left - 2:.1f}", "height": f"{max(1.0, floor - top):.1f}"}
        parts.append(el("rect", x=f"{left + 1:.1f}", y=f"{top:.1f}", class_=f"bar k{row % 6}", **size))
        parts.append(_words((left + right) / 2, top - 4, str(each.n), "middle"))
        told.append(f"{each.low:.1f} to {each.high:.1f}: {each.accuracy:.2f} of {each.n} right")
    return _picture(name, "; ".join(told), parts)


def _span(points: Sequence[Point]) -> tuple[float, float]:
    """From the tenth below the least to the tenth above the greatest."""
    least = min((each.low if each.low is not None else each.y for each in points), default=0.0)
    most = max((each.high if each.high is not None else each.y for each in points), default=1.0)
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


def _tick(value: float, *, dollars: bool) -> str:
    return f"${value:g}" if dollars else f"{value:g}"


def _picture(name: str, told: str, parts: Sequence[Node]) -> Html:
    drawing = el(
        "svg", el("title", name), el("desc", told), *parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=name
    )
    return el("div", drawing, class_="chart")


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Html:
    return el("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", class_=kind)


def _words(x: float, y: float, words: str, anchor: str) -> Html:
    return el("text", words, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)


def _mark(x: float, y: float, row: int) -> Html:
    disc = el("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=str(MARK), class_=f"mark k{row % 6}")
    key = el("text", letter(row), x=f"{x:.1f}", y=f"{y + 4:.1f}", text_anchor="middle", class_="key")
    return el("g", disc, key)
