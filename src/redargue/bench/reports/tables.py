"""The tables of a bench."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from redargue.bench.compare import ComparedSystem, Comparison, Pair, Prediction
from redargue.bench.datasets import TIMINGS
from redargue.bench.metrics import MetricValue
from redargue.bench.metrics.classification import Confusion
from redargue.bench.scoring import Scores
from redargue.bench.tables.comparison import ComparedTable
from redargue.claims import FREE_TEXT, LabelSet
from redargue.reports.markdown import print_tables
from redargue.reports.overview import shortened_cell
from redargue.reports.phrases import NO_ANSWER
from redargue.reports.table import Cell, Column, Link, Table, letter, number
from redargue.sanitize import counted, printable

SYSTEM = (Column("Key", "key"), Column("System", "name"))
SIGNED = "+.3f"
SHARE = ".3f"
FLIPS_SHOWN = 500
LEFT_OUT = (
    "Left out: claims that the budget stopped in one of the two systems, which no figure of the pair counts. With a "
    "larger --budget, the same command resumes them."
)


def key(at: int, row: ComparedSystem) -> tuple[str, str]:
    return letter(at), row.spec


def predicted_label(prediction: Prediction, labels: LabelSet = FREE_TEXT) -> str:
    """The prediction; in plain words if it is one of ``labels``."""
    if prediction.label:
        return labels.plain(prediction.label)
    return f"error: {prediction.error}" if prediction.error else NO_ANSWER


def anchor(item: int, row: int) -> str:
    return f"t-{item}-{row}"


def sample_text(sample: Mapping[str, Any]) -> str:
    methods = {"first": "in file order", "random": "drawn at random", "balanced": "the same number of each label"}
    how = "the same number of each group" if sample.get("per_group") else methods.get(sample["how"], str(sample["how"]))
    half = "" if sample["half"] == "all" else f", from the {sample['half']} half by the claim’s hash"
    options = "".join(f", {name}={value}" for name, value in sample.get("options") or ())
    as_of = f"; as-of date {sample['as_of']}" if "as_of" in sample else ""
    return (
        f"{sample['taken']:,} of {sample['rows']:,} claims of {sample['dataset']} ({sample['file']}{options}, sha256 "
        f"{str(sample['sha256'])[:12]}): {how}{half}, seed {sample['seed']}{as_of}"
    )


def gold_text(sample: Mapping[str, Any]) -> str:
    labels = ", ".join(f"{count} {name}" for name, count in sample.get("labels") or () if name)
    return f"Gold labels in the sample: {labels or 'none'}."


def models_text(comparison: Comparison) -> str:
    """The models of each system; empty if all ran with the same."""
    known = [(letter(at), row.model) for at, row in enumerate(comparison.rows) if row.model]
    if len({model for _, model in known}) < 2:
        return ""
    return f"The systems ran with different models: {'; '.join(map(' '.join, known))}."


def results_table(comparison: Comparison) -> tuple[Table, ...]:
    every = (_outcomes, _costs, _official, _retrieval, _dates, _rules, _groups, _repeats)
    return tuple(table for make in every if (table := make(comparison)).rows)


def _per_system(
    comparison: Comparison,
    title: str,
    columns: Iterable[Column],
    rows_of: Callable[[ComparedSystem], Iterable[tuple[Cell, ...]]],
    *notes: str,
) -> Table:
    rows = tuple((*key(at, row), *cells) for at, row in enumerate(comparison.rows) for cells in rows_of(row))
    return Table(title, (*SYSTEM, *columns), rows, tuple(note for note in notes if note))


def _named(figures: Iterable[MetricValue], names: Iterable[str]) -> tuple[MetricValue | None, ...]:
    by_name = {figure.name: figure for figure in figures}
    return tuple(by_name.get(name) for name in names)


_NAMES = ("AURC", "AVeriTeC", "F1", "FEVER", "FEVEROUS", "HoVer", "METEOR", "WordNet")


def _title(name: str) -> str:
    """``averitec-score`` as "AVeriTeC score"; the label after a space is left as it is (``f1 NOT_SUPPORTED``)."""
    names = {each.lower(): each for each in _NAMES}
    metric, space, label = name.partition(" ")
    first, *others = metric.split("-")
    return " ".join([names.get(first, first.capitalize()), *(names.get(word, word) for word in others)]) + space + label


def _outcomes(comparison: Comparison) -> Table:
    titles = {"accuracy": "Accuracy", "macro-f1": "Macro-F1", "coverage": "Answered"}
    names = (figure.name for row in comparison.rows for figure in row.scores.figures)
    titles |= {name: _title(name) for name in names if name not in titles}
    return _per_system(
        comparison,
        "Accuracy of each system",
        (*(number(title, SHARE) for title in titles.values()), number("Errors")),
        lambda row: [(*_named(row.scores.figures, titles), row.errors)],
        "In parentheses: 95 % bootstrap intervals over claims. A claim without an answer counts as wrong.",
        _error_types(comparison),
    )


def _error_types(comparison: Comparison) -> str:
    parts = []
    for at, row in enumerate(comparison.rows):
        types = Counter(prediction.error for prediction in row.said if prediction.error)
        if types:
            parts.append(f"{letter(at)} " + ", ".join(f"{count} {name}" for name, count in types.most_common()))
    return f"Errors: {'; '.join(parts)}." if parts else ""


def _official(comparison: Comparison) -> Table:
    figures = [figure for row in comparison.rows for figure in row.scores.official]
    shown_above = ("accuracy", "label-accuracy", "macro-f1")
    names = list(dict.fromkeys(f.name for f in figures if f.value is not None and f.name not in shown_above))
    reasons: dict[str, dict[str, None]] = {}
    for figure in figures:
        if figure.value is None:
            reasons.setdefault(figure.undefined, {})[figure.name] = None
    notes = [f"Not computed: {', '.join(missing)} ({reason})." for reason, missing in reasons.items()]
    return _per_system(
        comparison,
        f"The data set’s own metric ({comparison.rows[0].scores.metric})",
        [number(_title(name), SHARE) for name in names],
        lambda row: [_named(row.scores.official, names)] if names or notes else [],
        *notes,
    )


def _retrieval(comparison: Comparison) -> Table:
    names = list(dict.fromkeys(figure.name for row in comparison.rows for figure in row.retrieval))
    return _per_system(
        comparison,
        "Retrieval of gold documents",
        [number(name, SHARE) for name in names],
        lambda row: [_named(row.retrieval, names)] if names else [],
        "Documents in the order in which they were found, over all rounds and tools; claims without gold documents are "
        "left out.",
    )


def _dates(comparison: Comparison) -> Table:
    return _per_system(
        comparison,
        "Publication dates of the evidence",
        [number(f"{what} {when.replace('_', ' ')}", ",") for what in ("Read:", "Left out:") for when in TIMINGS],
        lambda row: [(*row.timing.read, *row.timing.left_out)] if row.timing else [],
        "Passages per search, against the as-of date of each claim.",
    )


def _costs(comparison: Comparison) -> Table:
    columns = {
        "calls-per-item": number("Calls", ".1f"),
        "tokens-per-item": number("Tokens", ",.0f"),
        "searches-per-item": number("Searches", ".1f"),
        "seconds-per-item": number("Seconds", ".2f"),
        "usd-per-item": number("Price", ".4f", unit="$"),
        "calls-per-correct": number("Calls per correct verdict", ".1f"),
    }

    def cells(row: ComparedSystem) -> tuple[Cell, ...]:
        cost = row.scores.cost
        values = {figure.name: figure.value for figure in (*cost.per_item(), *cost.per_correct())}
        return (*(values[name] for name in columns), None if cost.peak_bytes is None else cost.peak_bytes / 2**20)

    return _per_system(
        comparison,
        "Cost per claim",
        (*columns.values(), number("Peak MiB", ",.0f")),
        lambda row: [cells(row)],
        "A dash: not known. Seconds: wall time with several claims in progress; later systems find more in the caches. "
        "Peak: resident memory of the process while the system ran.",
    )


def pairs(comparison: Comparison) -> Table:
    """Every two systems on the same claims; no rows for one system."""
    place = {row.spec: at for at, row in enumerate(comparison.rows)}
    stopped = any(pair.left_out for pair in comparison.pairs)
    columns = (
        Column("1st", "key"),
        Column("2nd", "key"),
        number("Difference in accuracy", SIGNED),
        number("In macro-F1", SIGNED),
        *(number(title, ",") for title in ("Only 1st right", "Only 2nd right", "Both", "Neither")),
        *([number("Left out", ",")] if stopped else []),
        *(number(title, ".3g") for title in ("p", "p (Holm)")),
        Column("Detectable?", "long"),
    )

    def cells(pair: Pair) -> tuple[Cell, ...]:
        test, sight = pair.test, pair.sight.warning or pair.sight.undefined or "yes"
        sides = letter(place[pair.first]), letter(place[pair.second])
        counts = (test.first_only, test.second_only, test.both, test.neither)
        left_out = (pair.left_out,) if stopped else ()
        p_values = (test.p_value, pair.holm) if test.n else (None, None)
        return (*sides, pair.difference, pair.macro_f1, *counts, *left_out, *p_values, sight)

    note = (
        "Difference: first minus second, with a paired 95 % bootstrap interval. p: McNemar's exact test; p (Holm): "
        "corrected for all pairs of this table."
    )
    notes = (note, *([LEFT_OUT] if stopped else []))
    return Table("Every two systems on the same claims", columns, tuple(map(cells, comparison.pairs)), notes)


def confusion_table(at: int, row: ComparedSystem) -> Table | None:
    if row.scores.confusion is None:
        return None
    predicted, rows = confusion_cells(row.scores.confusion, NO_ANSWER)
    return Table(" ".join(key(at, row)), (Column("Gold"), *(number(label, ",") for label in predicted)), rows)


def confusion_cells(matrix: Confusion, unanswered: str) -> tuple[tuple[str, ...], tuple[tuple[Cell, ...], ...]]:
    """The titles of the predicted labels and the rows by gold label; non-answers, if any, are the last column."""
    predicted = (*matrix.labels, *((unanswered,) if any(matrix.unanswered) else ()))
    rows = zip(matrix.labels, matrix.counts, matrix.unanswered, strict=True)
    return predicted, tuple((label, *(*counts, none)[: len(predicted)]) for label, counts, none in rows)


def classes(comparison: Comparison) -> Table:
    shares = (number(title, SHARE) for title in ("Precision", "Recall", "F1"))
    counts = (number(title, ",") for title in ("Gold", "Predicted"))
    return _per_system(
        comparison,
        "Each class",
        (Column("Class"), *shares, *counts),
        lambda row: (
            (label.label, label.precision.value, label.recall.value, label.f1.value, label.support, label.said)
            for label in row.scores.classes
        ),
        "A dash: never predicted, or not the gold label of any claim.",
    )


def _rules(comparison: Comparison) -> Table:
    unanswered = any(prediction.label is None for row in comparison.rows for prediction in row.said)
    return _per_system(
        comparison,
        "Effect of the claims without an answer",
        (Column("No answer counts as"), number("Accuracy", SHARE), number("Macro-F1", SHARE)),
        lambda row: ((str(rule.rule.value), rule.accuracy, rule.macro_f1) for rule in row.scores.rules if unanswered),
    )


def _groups(comparison: Comparison) -> Table:
    return _per_system(
        comparison,
        "Each group",
        (Column("Group"), number("Accuracy", SHARE), number("Answered", SHARE), number("Claims", ",")),
        lambda row: (
            (group.group or None, group.accuracy, group.coverage, group.accuracy.n) for group in row.scores.groups
        ),
    )


def _repeats(comparison: Comparison) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for repeat in comparison.repeats:
        seeds = ", ".join("the bench’s" if seed is None else str(seed) for seed in repeat.seeds)
        stability = (repeat.stability.flipped, repeat.stability.agreement, repeat.stability.kappa)
        rows.append((repeat.spec, seeds, repeat.mean, repeat.deviation, *stability))
    shares = ("Accuracy", "Standard deviation", "Claims that flip", "Agreement", "Fleiss’ kappa")
    columns = (Column("System", "name"), Column("Seeds"), *(number(title, SHARE) for title in shares))
    note = (
        "Accuracy: mean over the runs. Claims that flip: the share of claims that not all runs label alike. Agreement: "
        "the share of pairs of runs that do. Paired tests compare the first run of each system."
    )
    return Table("The same system with several seeds", columns, tuple(rows), (note,))


def flips_table(comparison: Comparison, pair: Pair, shown: Collection[int]) -> Table:
    """The claims to which two systems give different labels; those in ``shown`` link to their debates."""
    place = {row.spec: at for at, row in enumerate(comparison.rows)}
    first, second = place[pair.first], place[pair.second]
    winners = {"gained": letter(second), "lost": letter(first), "changed": "neither"}

    def label(item: int, row: int) -> Cell:
        words = predicted_label(comparison.rows[row].said[item])
        return Link(words, anchor(item, row)) if item in shown else words

    rows: list[tuple[Cell, ...]] = []
    for flip in pair.flips[:FLIPS_SHOWN]:
        claim, winner = shortened_cell(comparison.claims[flip.item].claim), winners[flip.kind] if flip.gold else None
        rows.append((claim, flip.gold or "hidden", label(flip.item, first), label(flip.item, second), winner))
    left_out = len(pair.flips) - len(rows)
    specs = f"{letter(first)} {pair.first} and {letter(second)} {pair.second}"
    count = counted(len(pair.flips), "claim") if pair.flips else "no claim"
    return Table(
        f"{specs}: {count} with different labels",
        (Column("Claim", "long"), *map(Column, ("Gold", letter(first), letter(second), "Who is right"))),
        tuple(rows),
        (f"{left_out:,} more are in results.json.",) if left_out else (),
    )


def rescored_table(title: str, scores: Scores, before: Scores) -> Table:
    figures = {figure.name: figure for figure in (*scores.figures, *scores.official)}
    rows = tuple((name, figure, before.figure(name).value) for name, figure in figures.items())
    columns = (Column("Figure"), number("With these settings", SHARE), number("As recorded", SHARE))
    return Table(title, columns, rows, ("Both columns: the claims that could be rescored.",))


def published_table(compared: ComparedTable) -> Table:
    """The paper's row above ours, and the reason where ours has no figures."""
    missing = any(len(row.ours) < len(compared.columns) for row in compared.rows)
    first = next((row.model for row in compared.rows if row.model), "")
    rows: list[tuple[Cell, ...]] = []
    for row in compared.rows:
        if row.paper:
            rows.append((row.name, "paper", *row.paper, *(("",) if missing else ())))
        whole = len(row.ours) == len(compared.columns)
        figures = row.ours if whole else (None,) * len(compared.columns)
        reason = ("" if whole else row.ours[0],) if missing else ()
        named = row.paper or (row.model and row.model != first)
        rows.append(("" if named else row.name, f"ours, {row.model}" if row.model else "ours", *figures, *reason))
    columns = (Column("Method", "name"), Column("Source"), *map(Column, compared.columns))
    title = f"{compared.label}. {compared.title} ({compared.name})"
    return Table(title, (*columns, *((Column("Not run"),) if missing else ())), tuple(rows), compared.notes)


class RoundScores(NamedTuple):
    """The outcome had every debate ended after this round: shares of all claims with a majority, and a right one."""

    round: int
    debating: int  # claims that had this round
    agreed: float
    right: float


def by_round(comparison: Comparison, row: ComparedSystem) -> tuple[RoundScores, ...]:
    """Majorities after each round; a claim whose debate ended earlier keeps its last round's."""
    known = [
        (ask, prediction) for ask, prediction in zip(comparison.claims, row.said, strict=True) if ask.gold is not None
    ]
    if not any(prediction.labels for _, prediction in known):
        return ()
    scores = []
    for at in range(1, max(len(prediction.labels) for _, prediction in known) + 1):
        votes = [(ask.gold, majority_label(prediction.labels[:at][-1:])) for ask, prediction in known]
        agreed, right = sum(label is not None for _, label in votes), sum(gold == label for gold, label in votes)
        debating = sum(len(prediction.labels) >= at for _, prediction in known)
        scores.append(RoundScores(at, debating, agreed / len(known), right / len(known)))
    return tuple(scores)


def majority_label(rounds: Sequence[tuple[str | None, ...]]) -> str | None:
    """The label that more than half of the debaters of the round gave; None without one."""
    if not rounds or not rounds[0]:
        return None
    label, count = Counter(rounds[0]).most_common(1)[0]
    return label if 2 * count > len(rounds[0]) else None


BY_ROUND = (
    "The share of all claims that would be right had each debate ended after round r with the label that more than "
    "half of its debaters gave. Without such a majority (two debaters who disagree) a claim counts as wrong; a debate "
    "that had already ended keeps its last round. “Verdict” is the actual outcome, judge included."
)


def rounds_table(comparison: Comparison) -> Table | None:
    rows: list[tuple[Cell, ...]] = []
    for at, row in enumerate(comparison.rows):
        scores = by_round(comparison, row)
        rows += [(*key(at, row), str(score.round), score.debating, score.agreed, score.right) for score in scores]
        if scores:
            rows.append((*key(at, row), "Verdict", row.scores.n, None, row.scores.figure("accuracy").value))
    columns = (Column("Round"), number("Claims still debated", ","), number("Majority", ".3f"), number("Right", ".3f"))
    return Table("Accuracy by round", (*SYSTEM, *columns), tuple(rows), (BY_ROUND,)) if rows else None


def print_comparison(comparison: Comparison, *, file: TextIO | None = None) -> None:
    facts = (f"{sample_text(comparison.sample)}.", gold_text(comparison.sample), models_text(comparison))
    for line in (*filter(None, facts), ""):
        print(printable(line, lines=False), file=file or sys.stdout)
    made = (*results_table(comparison), pairs(comparison))
    print_tables((table for table in made if table.rows), file=file)
