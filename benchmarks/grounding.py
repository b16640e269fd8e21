"""Sentences of answers and summaries beside their documents, which people judged: supported or not.

Reads the sets of ``grounding/`` in the data folder (visible halves, evaluation only). Beside the
reader are the majority answer and two classifiers that do not read (:mod:`benchmarks.baselines`): a
reader that does not beat word overlap has read nothing. Each document is one passage. The half of a
row is that of its claim. With ``--split``, each sentence of a claim is read by itself, as for
``redargue ground``, and the claim is as probable as its least probable sentence. By its lean, a claim
is supported where it, or with ``--split`` each sentence of it, is more probably supported than refuted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import baselines, markdown, pool
from benchmarks.answers import Answered, answered
from benchmarks.baselines import Row
from benchmarks.statistics import area_under_curve, balanced_accuracy, interval
from redargue.claims import Meaning
from redargue.evidence import Passage
from redargue.text.segment import sentences_of

SETS = ("wice", "summedits", "bump", "expertqa", "faithbench", "qags")
HEADER = ("set", "n", "supported", "classifier", "balanced accuracy", "95 %", "AUC")
MEAN = "mean"
Line = dict[str, Any]
Read = Callable[[Sequence[Row]], list[Answered]]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


def main(arguments: list[str]) -> None:
    """Prints a line for each set and classifier, and the table of all."""
    parser = argparse.ArgumentParser(prog="benchmarks grounding", description=__doc__)
    folder = pool.data() / "grounding"
    known = sorted(path.name.removesuffix(".jsonl.gz") for path in folder.glob("*.jsonl.gz"))
    parser.add_argument("--sets", nargs="+", default=SETS, choices=known, metavar="SET")
    parser.add_argument("--half", choices=("even", "odd"), default="even")
    parser.add_argument("--rows", type=int, default=160, help="of a set; 0 for all")
    parser.add_argument("--reader", default="", metavar="NAME", help="an added model")
    parser.add_argument("--split", action="store_true", help="sentence by sentence")
    given = parser.parse_args(arguments)
    read = partial(_answers, reader=given.reader, split=given.split)
    about = {"half": given.half, "reader": given.reader, "split": given.split}
    lines: list[Line] = []
    for name in given.sets:
        rows = [read_row(row) for row in pool.rows(folder / f"{name}.jsonl.gz")]
        wanted = [row.is_even == (given.half == "even") for row in rows]
        taken = sample(wanted, rows, given.rows)
        for line in measured(name, rows, taken, read):
            print(json.dumps(about | line), flush=True)
            lines.append(line)
    if len(given.sets) > 1:
        lines += means(lines)
    print(markdown.table(HEADER, (_cells(line) for line in lines)))


def measured(name: str, rows: Sequence[Row], taken: Sequence[int], read: Read) -> list[Line]:
    """The lines of one set: the baselines, and the reader by its probability and by its label."""
    gold = np.array([rows[at].supported for at in taken])
    began = time.perf_counter()
    answers = read([rows[at] for at in taken])
    about = {
        "set": name,
        "n": len(taken),
        "supported": round(float(gold.mean()), 3),
        "seconds": round(time.perf_counter() - began, 1),
    }
    majority = np.full(len(taken), gold.mean() > 0.5)
    found = [("majority", majority, majority.astype(float))]
    for title, scores in (
        ("claim alone", baselines.claim_only(rows)),
        ("word overlap", baselines.overlap_only(rows)),
    ):
        found.append((title, scores.called[taken], scores.score[taken]))
    found += _of_reader(answers)
    return [about | _line(title, gold, called, score) for title, called, score in found]


def _answers(rows: Sequence[Row], *, reader: str, split: bool) -> list[Answered]:
    parts = [_parts(row.claim, split=split) for row in rows]
    asked = [
        (part, (Passage(text=row.evidence, title=row.title),))
        for row, of_row in zip(rows, parts, strict=True)
        for part in of_row
    ]
    answers = answered(asked, reader=reader)
    return [together([next(answers) for _ in of_row]) for of_row in parts]


def _parts(claim: str, *, split: bool) -> tuple[str, ...]:
    return tuple(sentence.text for sentence in sentences_of(claim)) if split else (claim,)


def together(answers: Sequence[Answered]) -> Answered:
    """The answer to a claim of several sentences: that to the worst, the lowest probability, and the lowest lean."""
    order = (Meaning.SUPPORTED, Meaning.NOT_ENOUGH, Meaning.REFUTED)
    worst = max(answers, key=lambda answer: order.index(answer.meaning))
    return worst._replace(
        supports=min(answer.supports for answer in answers), lean=min(answer.lean for answer in answers)
    )


def sample(wanted: Sequence[bool], rows: Sequence[Row], count: int) -> list[int]:
    """The places of ``count`` wanted rows (0: of all), drawn by the hash of claim and evidence."""
    places = [at for at, is_wanted in enumerate(wanted) if is_wanted]
    drawn = sorted(places, key=lambda at: _hash(f"{rows[at].claim}\n{rows[at].evidence}"))
    return sorted(drawn[: count or len(drawn)])


def means(lines: Sequence[Line]) -> list[Line]:
    """The unweighted mean over the sets, for each classifier."""
    averaged = []
    for title in dict.fromkeys(line["classifier"] for line in lines):
        own = [line for line in lines if line["classifier"] == title]
        scores = [line["balanced accuracy"][0] for line in own]
        areas = [line["AUC"] for line in own if line["AUC"] is not None]
        averaged.append(
            {
                "set": MEAN,
                "n": sum(line["n"] for line in own),
                "supported": None,
                "classifier": title,
                "balanced accuracy": [round(float(np.mean(scores)), 3)],
                "AUC": round(float(np.mean(areas)), 3) if areas else None,
            }
        )
    return averaged


def read_row(row: dict[str, Any]) -> Row:
    supported = row["label"] == "SUPPORTS"
    even = pool.is_even(row["claim"])
    return Row(row["claim"], row["evidence"], supported, even, row.get("title") or "")


def _of_reader(answers: Sequence[Answered]) -> list[tuple[str, Bools, Floats]]:
    probability = np.array([answer.supports for answer in answers])
    lean = np.array([answer.lean for answer in answers])
    labelled = np.array([answer.meaning is Meaning.SUPPORTED for answer in answers])
    return [
        ("reader, p > 0.5", probability > 0.5, probability),
        ("reader, lean", lean > 0, lean),
        ("reader, label", labelled, probability),
    ]


def _line(title: str, gold: Bools, called: Bools, score: Floats) -> Line:
    names = {True: "SUPPORTS", False: "NOT_SUPPORTED"}
    truth, said = ([names[bool(value)] for value in side] for side in (gold, called))
    return {
        "classifier": title,
        "balanced accuracy": interval(truth, said, list(names.values()), balanced_accuracy),
        "AUC": area_under_curve(score[gold], score[~gold]),
    }


def _cells(line: Line) -> list[object]:
    value, *bounds = line["balanced accuracy"]
    shown = "–".join(f"{bound:.3f}" for bound in bounds)
    area = None if line["AUC"] is None else f"{line['AUC']:.3f}"
    supported = line["supported"]
    return [line["set"], line["n"], supported, line["classifier"], f"{value:.3f}", shown, area]


def _hash(text: str) -> str:
    return hashlib.sha1(text.encode()).hexdigest()
