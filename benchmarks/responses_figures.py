"""The figures of ``responses``: ours, the papers' rows beside them, and paired tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from redargue.errors import UsageError
from redargue.evals.metrics.base import Figure
from redargue.evals.metrics.classification import reconstruct
from redargue.evals.metrics.responses import by_response, called, factuality
from redargue.evals.statistics.bootstrap import Difference, interval, macro_f1_difference, paired_difference
from redargue.evals.statistics.multiple import holm
from redargue.evals.statistics.paired import mcnemar
from redargue.evals.statistics.power import sight

LABELS = ("factual", "not factual")


class Calls(NamedTuple):
    """What one method called each claim, and what it is: True is factual, None no answer."""

    gold: list[bool]
    said: list[bool | None]

    def at(self, places: Sequence[int]) -> Calls:
        """Those of some claims."""
        return Calls([self.gold[at] for at in places], [self.said[at] for at in places])

    def of(self, items: Sequence[str]) -> Calls:
        """Those of the responses that the claims belong to."""
        said = [called(each) for each in by_response(items, self.said).values()]
        return Calls([all(each) for each in by_response(items, self.gold).values()], said)

    @property
    def right(self) -> list[bool]:
        """Which are right."""
        return [truth is said for truth, said in zip(self.gold, self.said, strict=True)]

    @property
    def labels(self) -> list[str | None]:
        """The calls as labels."""
        return [None if each is None else LABELS[not each] for each in self.said]


class Told(NamedTuple):
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
            counts = reconstruct(
                positives=self.items[0],
                negatives=self.items[1],
                precision=self.precision / 100,
                recall=self.recall / 100,
            )
        except UsageError:
            return False
        return abs(100 * counts.accuracy - self.accuracy) <= 0.011


DPD, SUN = "DPD", "Sun et al."
FACTOOL, FACTOOL_RESPONSES, HALUEVAL = (177, 56), (23, 27), (75, 75)
PUBLISHED = {
    ("factool-qa", "claims"): (
        Told(f"{DPD}, Table 2, Self-Check (0)", 75.54, 90.40, 80.00, 84.88, FACTOOL),
        Told(f"{DPD}, Table 2, Self-Check (3)", 69.53, 81.36, 79.12, 80.23, FACTOOL),
        Told(f"{DPD}, Table 2, FACTOOL", 74.25, 73.45, 90.91, 81.25, FACTOOL),
        Told(f"{SUN}, WeCheck", 65.23, 64.41, 86.36, 73.78, FACTOOL),
        Told(f"{SUN}, Markov chain", 77.68, 80.79, 88.82, 84.62, FACTOOL),
        Told(f"{DPD}, Table 5, WeCheck", 65.82, 66.02, 86.51, 74.89, FACTOOL),
        Told(f"{DPD}, Tables 2 and 6", 78.30, 82.42, 89.24, 85.69, FACTOOL),
        Told(f"{DPD}, Table 6, w/o gatherers", 72.50, 76.00, 83.50, 79.57, FACTOOL),
        Told(f"{DPD}, Table 6, w/o analysts", 74.00, 78.44, 85.03, 81.60, FACTOOL),
        Told(f"{DPD}, Table 6, w/o summarisers", 75.20, 79.74, 86.23, 82.86, FACTOOL),
        Told(f"{DPD}, Table 6, w/o the three", 65.75, 67.22, 70.50, 68.82, FACTOOL),
    ),
    ("factool-qa", "responses"): (
        Told(f"{DPD}, Table 2, Self-Check (0)", 54.00, 60.87, 50.00, 54.90, FACTOOL_RESPONSES),
        Told(f"{DPD}, Table 2, Self-Check (3)", 54.00, 47.83, 50.00, 48.89, FACTOOL_RESPONSES),
        Told(f"{DPD}, Table 2, FACTOOL", 64.00, 43.48, 66.67, 52.63, FACTOOL_RESPONSES),
        Told(f"{SUN}, Markov chain", 72.00, 52.17, 80.00, 63.15, FACTOOL_RESPONSES),
        Told(f"{DPD}, Table 2", 73.00, 54.27, 81.20, 65.0, FACTOOL_RESPONSES),
    ),
    ("halueval-qa", "claims"): (
        Told(f"{DPD}, Table 3, HaluEval", 56.00, 77.33, 54.21, 63.74, HALUEVAL),
        Told(f"{DPD}, Table 3, FACTOOL", 67.33, 86.67, 62.50, 72.63, HALUEVAL),
        Told(f"{SUN}, Markov chain", 70.67, 82.67, 66.67, 73.81, HALUEVAL),
        Told(f"{DPD}, Table 3", 75.00, 84.00, 70.59, 76.71, HALUEVAL),
    ),
}
"""He and Le 2025 (DPD) and Sun et al. 2024; positive is factual."""

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


def published(name: str, level: str) -> tuple[Told, ...]:
    """The papers' rows of a set at a level; empty where neither paper has any."""
    return PUBLISHED.get((name, level), ())


def notes(name: str) -> tuple[str, ...]:
    """What cannot be compared."""
    return (*COMMON, *NOTES[name]) if name in NOTES else ("Neither paper has this set.",)


def show(calls: Mapping[str, Calls], items: Sequence[str], paper: Sequence[Told]) -> None:
    """Prints every method's figures, what calling everything factual comes to, and the papers' rows."""
    first = next(iter(calls.values()))
    whole = first.of(items)
    print(f"{len(whole.gold)} items, {sum(whole.gold)} factual")
    print(f"{'':34}{'accuracy':22}{'recall':9}{'precision':11}{'F1':8}coverage")
    everything = {"all called factual": Calls(first.gold, [True] * len(first.gold))}
    for method, each in {**calls, **everything}.items():
        found = factuality(items, each.gold, each.said)
        bounds = interval(each.of(items).right)
        accuracy = f"{_share(found.accuracy)} ({bounds.low:.3f}-{bounds.high:.3f})"
        print(
            f"{method:34}{accuracy:22}{_share(found.recall):9}{_share(found.precision):11}{_share(found.f1):8}"
            f"{_share(found.coverage)}"
        )
    for row in paper:
        impossible = "" if row.possible else f"  no whole counts of {row.items[0]} and {row.items[1]} give this row"
        print(
            f"{row.name:34}{row.accuracy / 100:<22.4f}{row.recall / 100:<9.4f}{row.precision / 100:<11.4f}"
            f"{row.f1 / 100:<8.4f}{impossible}"
        )


def paired(calls: Mapping[str, Calls], items: Sequence[str]) -> None:
    """Prints the first method against each other one: on the same items, p values corrected over all of them."""
    (name, first), *others = [(method, each.of(items)) for method, each in calls.items()]
    found = [mcnemar(first.right, each.right) for _, each in others]
    gold = [LABELS[not factual] for factual in first.gold]
    print(
        f"{name} against: right alone, the other alone; accuracy and F1, first minus second; McNemar's p, and Holm's"
        " over these; the smallest difference in accuracy that so many disagreements show four times in five"
    )
    for (method, other), test, corrected in zip(others, found, holm([each.p_value for each in found]), strict=True):
        accuracy = paired_difference(first.right, other.right)
        f1 = macro_f1_difference(gold, first.labels, other.labels, labels=LABELS, over=LABELS[:1])
        least = sight(test).smallest
        print(
            f"{method:34}{test.first_only:3}, {test.second_only:3}   {_difference(accuracy)}   F1 {_difference(f1)}   "
            f"p {test.p_value:.2g}, Holm {corrected:.2g}; {'none' if least is None else f'{least:.3f}'}"
        )


def _share(figure: Figure) -> str:
    return "-" if figure.value is None else f"{figure.value:.3f}"


def _difference(found: Difference) -> str:
    return "-" if found.value is None else f"{found.value:+.3f} ({found.low:+.3f} to {found.high:+.3f})"
