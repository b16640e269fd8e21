"""The figures of ``responses``: ours, the papers' rows beside them, and paired tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from redargue.bench.metrics import MetricValue
from redargue.bench.metrics.classification import Binary, by_response, factuality, response_call
from redargue.bench.statistics import (
    PairedDifference,
    holm,
    interval,
    macro_f1_difference,
    mcnemar,
    paired_difference,
    power_analysis,
)
from redargue.bench.tables import find_table
from redargue.errors import UsageError

LABELS = ("factual", "not factual")


class Calls(NamedTuple):
    """One method's label and the gold label of each claim: True is factual, None no answer."""

    gold: list[bool]
    said: list[bool | None]

    def at(self, places: Sequence[int]) -> Calls:
        """Those of some claims."""
        return Calls([self.gold[at] for at in places], [self.said[at] for at in places])

    def of(self, items: Sequence[str]) -> Calls:
        """Those of the responses that the claims belong to."""
        said = [response_call(claims) for claims in by_response(items, self.said).values()]
        return Calls([all(claims) for claims in by_response(items, self.gold).values()], said)

    @property
    def right(self) -> list[bool]:
        """Which are right."""
        return [truth is said for truth, said in zip(self.gold, self.said, strict=True)]

    @property
    def labels(self) -> list[str | None]:
        """The calls as labels."""
        return [None if call is None else LABELS[not call] for call in self.said]


class PublishedScores(NamedTuple):
    """A row of a publication, in per cent, and the items that it was measured on: factual ones and others."""

    name: str
    accuracy: float
    recall: float
    precision: float
    f1: float
    items: tuple[int, int]

    @property
    def possible(self) -> bool:
        """Whether there are whole counts of these items that give the row as it is printed, within 0.01."""
        try:
            counts = reconstruct_counts(
                positives=self.items[0],
                negatives=self.items[1],
                precision=self.precision / 100,
                recall=self.recall / 100,
            )
        except UsageError:
            return False
        return abs(100 * counts.accuracy - self.accuracy) <= 0.011


FACTOOL, FACTOOL_RESPONSES, HALUEVAL = (177, 56), (23, 27), (75, 75)
PUBLISHED = {
    ("factool-qa", "claims"): (FACTOOL, {"Table 2": 0, "Table 5": 0, "Table 6": 0}),
    ("factool-qa", "responses"): (FACTOOL_RESPONSES, {"Table 2": 4}),
    ("halueval-qa", "claims"): (HALUEVAL, {"Table 3": 0}),
}
"""What the papers counted, and at which column of which tables a level's figures begin; positive is factual."""

COMMON = (
    "The papers' rows are of other models (ChatGPT; WeCheck is a trained one) on all items of the sets; ours of the"
    " embedded models, which are asked without demonstrations (Self-Check (3) and HaluEval's prompt have some) and were"
    " trained on pairs of other sets, on the items at hand.",
    "Positive is factual, in both.",
)
NOTES = {
    "factool-qa": (
        "The papers searched Google for every claim; here the search is frozen, its queries were written by other"
        " agents, and not every claim has one.",
    ),
    "halueval-qa": (
        "Both answers of every question are items here, of which the papers drew 150, half of them factual; the"
        " knowledge is the evidence, as there, but HaluEval's own row is without it.",
    ),
}


def published(name: str, level: str) -> tuple[PublishedScores, ...]:
    """The papers' rows of a set at a level, each once; empty where neither paper has any."""
    items, tables = PUBLISHED.get((name, level), ((0, 0), {}))
    rows: dict[tuple[object, ...], PublishedScores] = {}
    for label, first in tables.items():
        _, table = find_table(f"dual-position-{label.lower().replace(' ', '-')}")
        for line in table.rows:
            if line.paper:
                accuracy, recall, precision, f1 = map(float, line.paper[first : first + 4])
                row = PublishedScores(f"{label}, {line.name}", accuracy, recall, precision, f1, items)
                rows.setdefault(row[1:], row)
    return tuple(rows.values())


def notes(name: str) -> tuple[str, ...]:
    """What cannot be compared."""
    return (*COMMON, *NOTES[name]) if name in NOTES else ("Neither paper has this set.",)


def show(calls: Mapping[str, Calls], items: Sequence[str], paper: Sequence[PublishedScores]) -> None:
    """Prints every method's figures, what calling everything one thing comes to, and the papers' rows."""
    first = next(iter(calls.values()))
    whole = first.of(items)
    print(f"{len(whole.gold)} items, {sum(whole.gold)} factual")
    print(f"{'':42}{'accuracy':22}{'recall':9}{'precision':11}{'F1':8}coverage")
    everything = {f"all called {label}": Calls(first.gold, [label == LABELS[0]] * len(first.gold)) for label in LABELS}
    for method, labels in {**calls, **everything}.items():
        scores = factuality(items, labels.gold, labels.said)
        bounds = interval(labels.of(items).right)
        accuracy = f"{_share(scores.accuracy)} ({bounds.low:.3f}-{bounds.high:.3f})"
        print(
            f"{method:42}{accuracy:22}{_share(scores.recall):9}{_share(scores.precision):11}{_share(scores.f1):8}"
            f"{_share(scores.coverage)}"
        )
    for row in paper:
        impossible = "" if row.possible else f"  no whole counts of {row.items[0]} and {row.items[1]} give this row"
        print(
            f"{row.name:42}{row.accuracy / 100:<22.4f}{row.recall / 100:<9.4f}{row.precision / 100:<11.4f}"
            f"{row.f1 / 100:<8.4f}{impossible}"
        )


def paired(calls: Mapping[str, Calls], items: Sequence[str]) -> None:
    """Prints the first method against each other one: on the same items, p values corrected over all of them."""
    (name, first), *others = [(method, labels.of(items)) for method, labels in calls.items()]
    tests = [mcnemar(first.right, labels.right) for _, labels in others]
    gold = [LABELS[not factual] for factual in first.gold]
    print(
        f"{name} against: right alone, the other alone; accuracy and F1, first minus second; McNemar's p, and Holm's"
        " over these; the smallest difference in accuracy that so many disagreements show four times in five"
    )
    for (method, other), test, corrected in zip(others, tests, holm([result.p_value for result in tests]), strict=True):
        accuracy = paired_difference(first.right, other.right)
        f1 = macro_f1_difference(gold, first.labels, other.labels, labels=LABELS, over=LABELS[:1])
        least = power_analysis(test).smallest
        print(
            f"{method:42}{test.first_only:3}, {test.second_only:3}   {_difference(accuracy)}   F1 {_difference(f1)}   "
            f"p {test.p_value:.2g}, Holm {corrected:.2g}; {'none' if least is None else f'{least:.3f}'}"
        )


def _share(figure: MetricValue) -> str:
    return "-" if figure.value is None else f"{figure.value:.3f}"


def _difference(difference: PairedDifference) -> str:
    if difference.value is None:
        return "-"
    return f"{difference.value:+.3f} ({difference.low:+.3f} to {difference.high:+.3f})"


def reconstruct_counts(*, positives: int, negatives: int, precision: float, recall: float, digits: int = 4) -> Binary:
    """The counts behind a precision and recall printed with ``digits`` decimals (in [0, 1]).

    Raises:
        UsageError: no whole counts give these figures: the print, the class balance or the labels are not as assumed.
    """
    tp = round(recall * positives)
    fp = round(tp / precision) - tp if precision else 0
    near = 0.51 * 10**-digits
    matches = tp + fp and abs(tp / positives - recall) <= near and abs(tp / (tp + fp) - precision) <= near
    if not matches or not 0 <= fp <= negatives:
        raise UsageError(
            f"no whole counts of {positives} positives and {negatives} negatives give "
            f"precision {precision} and recall {recall}",
            hint="check the class balance and which class is the positive one",
        )
    return Binary(tp=tp, fp=fp, fn=positives - tp, tn=negatives - fp)
