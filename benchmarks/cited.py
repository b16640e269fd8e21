"""Citations beside the texts that they cite: how many bad ones are found, at how many false alarms.

Sentences of papers beside sentences of the cited paper (Citation-Integrity), and sentences of answers beside the
cited web page (ExpertQA), judged by people. Visible halves, evaluation only. A citation raises an alarm where the
reader finds support less probable than a threshold, which is chosen on even rows so that at most 15 % of the good ones
raise one, and reported on odd rows. Beside it: word overlap, and what ``--cited`` says by its label: "could not be
confirmed" (anything but support) and "contradicts". ``--searched`` reads the texts like pages that a search found.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from benchmarks import baselines, markdown, pool
from benchmarks.answers import answered
from benchmarks.baselines import Row
from benchmarks.grounding import read_row
from benchmarks.statistics import area_under_curve
from redargue.bench.statistics import wilson
from redargue.claims import Meaning
from redargue.evidence import Passage

SETS = ("citation_integrity", "expertqa")
ALARMS = 0.15  # of the good citations, at most
HEADER = ("set", "decision", "half", "threshold", "bad found", "95 %", "false alarms", "95 %", "AUC")
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def main(arguments: list[str]) -> None:
    """Prints a row for each set, decision and half."""
    parser = argparse.ArgumentParser(prog="benchmarks cited", description=__doc__)
    parser.add_argument("--reader", default="", metavar="NAME", help="an added model, or `small`")
    parser.add_argument("--rows", type=int, default=0, help="of a set; 0 for all")
    parser.add_argument("--searched", action="store_true")
    given = parser.parse_args(arguments)
    rows: list[tuple[object, ...]] = []
    for name in SETS:
        read = [read_row(row) for row in pool.rows(pool.data() / "grounding" / f"{name}.jsonl.gz")]
        rows += _of_set(name, read[: given.rows or len(read)], given.reader, named=not given.searched)
    print(markdown.table(HEADER, rows))


def _of_set(name: str, rows: Sequence[Row], reader: str, *, named: bool) -> Iterator[tuple[object, ...]]:
    good, even = np.array([row.supported for row in rows]), np.array([row.is_even for row in rows])
    asked = [(row.claim, (_page(row, named=named),)) for row in rows]
    answers = list(answered(asked, reader=reader))
    supports = np.array([answer.supports for answer in answers])
    labels = {
        "not confirmed": np.array([answer.meaning is not Meaning.SUPPORTED for answer in answers]),
        "contradicted": np.array([answer.meaning is Meaning.REFUTED for answer in answers]),
    }
    overlap = np.array([baselines.overlap(row.claim, row.evidence) for row in rows])
    for title, scores in (("reader", supports), ("word overlap", overlap)):
        threshold = highest(scores[even & good])
        for half, chosen in (("even", even), ("odd", ~even)):
            yield name, title, half, f"{threshold:.3f}", *_shares(scores < threshold, good, chosen, scores)
    for title, alarm in labels.items():
        for half, chosen in (("even", even), ("odd", ~even)):
            yield name, title, half, "", *_shares(alarm, good, chosen, supports)


def _page(row: Row, *, named: bool) -> Passage:
    return Passage(text=row.evidence, title=row.title, url="https://example.org/cited", named=named)


def highest(scores: Floats) -> float:
    """The highest threshold below which at most a share of ``ALARMS`` of the scores lies."""
    allowed = int(ALARMS * len(scores))
    return float(np.sort(scores)[allowed]) if len(scores) else 0.0


def _shares(alarm: Bools, good: Bools, chosen: Bools, scores: Floats) -> Iterator[str]:
    for wanted in (~good, good):
        count = int((alarm & wanted & chosen).sum())
        share = wilson("alarms", count, int((wanted & chosen).sum()))
        yield f"{count} of {share.n} ({share.value or 0:.3f})"
        yield f"{share.low or 0:.3f}–{share.high or 0:.3f}"
    yield f"{area_under_curve(scores[good & chosen], scores[~good & chosen]):.3f}"
