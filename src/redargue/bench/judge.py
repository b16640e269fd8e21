"""A judge's verdicts against the labels that people gave: how often it errs, which way, and what chance would give."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from redargue.bench.metrics import MetricValue
from redargue.bench.metrics.classification import Confusion, brier, calibration_error, confusion
from redargue.bench.reports.tables import confusion_cells
from redargue.bench.statistics import cohen_kappa, wilson
from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.inputs.rows import Row, rows, table_rows, unpacked_suffix
from redargue.registry import did_you_mean
from redargue.reports.table import Column, Table, number
from redargue.sanitize import counted

_ROLES = ("judge", "human", "kind", "confidence")
FEW = 30  # rows below which the figures say little
MOST_LABELS = 20


class JudgedItem(NamedTuple):
    """One item: the verdict (None: there is none), people's label, and the kind of item."""

    judge: str | None
    human: str
    kind: str = ""
    confidence: float | None = None


class LabelRates(Frozen):
    """One label of the people's."""

    label: str
    base: MetricValue  # the share of items with this label
    recall: MetricValue  # of these items, the share to which the judge gives it
    precision: MetricValue  # of the judge's verdicts of this label, the share that people confirm


class JudgeCalibration(Frozen):
    """What is known of a judge; the content of a calibration file."""

    schema_version: Literal[1] = 1
    n: int
    confusion: Confusion
    accuracy: MetricValue
    kappa: MetricValue
    constant: MetricValue  # accuracy of always giving the most frequent label, whose kappa is 0
    constant_label: str
    labels: tuple[LabelRates, ...]
    errors: tuple[MetricValue, ...] = ()  # share of wrong verdicts by kind, if kinds are given
    confidence: tuple[MetricValue, ...] = ()  # calibration error and Brier score, if given
    caveats: tuple[str, ...] = ()  # what a reader must know


def read_judged(path: Path, mapping: Mapping[str, str]) -> list[JudgedItem]:
    """The items of a CSV, TSV or JSON-lines file; ``mapping`` names columns by role: judge, human, kind, confidence.

    Raises UsageError if the file cannot be read, a column is missing, or a row has no human label.
    """
    for role in mapping:
        if role not in _ROLES:
            raise UsageError(f"unknown role {role!r} in a mapping", where="--map", hint=did_you_mean(role, _ROLES))
    read = table_rows(path) if unpacked_suffix(path) in (".csv", ".tsv") else rows(path)
    return [_judged(row, {role: mapping.get(role, role) for role in _ROLES}, set(mapping)) for row in read]


def _judged(row: Row, at: Mapping[str, str], named: set[str]) -> JudgedItem:
    roles = ("judge", "human", *sorted(named - {"judge", "human"}))
    for role in roles:
        if at[role] not in row.fields:
            known = ", ".join(list(row.fields)[:12])
            columns = (f"{each}={at[each] if at[each] in row.fields else 'COLUMN'}" for each in roles)
            hint = f"name the columns: --map {','.join(columns)}"
            raise row.error(f"no column {at[role]!r} for the role {role!r}; columns: {known}", hint=hint)
    human = _label(row, at["human"])
    if human is None:
        raise row.error(f"{at['human']} is empty", hint="label it, or leave the row out")
    kind = row.cell(at["kind"]).strip() if at["kind"] in row.fields else ""
    return JudgedItem(_label(row, at["judge"]), human, kind, _confidence(row, at["confidence"]))


def _label(row: Row, field: str) -> str | None:
    value = row.fields.get(field)
    return " ".join(str(value).split()).casefold() or None if value is not None else None


def _confidence(row: Row, field: str) -> float | None:
    value = row.fields.get(field)
    if value is None or not str(value).strip():
        return None
    try:
        confidence = float(str(value))
    except ValueError:
        confidence = -1.0
    if not 0 <= confidence <= 1:
        raise row.field_error(field, "a number from 0 to 1")
    return confidence


def calibrate(items: Sequence[JudgedItem]) -> JudgeCalibration:
    """The figures of a judge; raises UsageError where people gave one label throughout, or too many to be labels."""
    human = Counter(item.human for item in items)
    if len(human) < 2:
        what = f"people gave every item the label {next(iter(human))!r}" if human else "no items"
        hint = "add items of another label: a judge that never says it looks perfect"
        raise UsageError(what, where="human", hint=hint)
    if len(human) > MOST_LABELS:
        some = ", ".join(map(repr, list(human)[:3]))
        hint = "name the column of the labels: --map human=COLUMN"
        raise UsageError(f"{len(human)} different human labels, such as {some}", where="human", hint=hint)
    known = tuple(sorted(human))
    said = [item.judge if item.judge in human else None for item in items]
    gold = [item.human for item in items]
    matrix = confusion(gold, said, labels=known)
    right = [one == other for one, other in zip(gold, said, strict=True)]
    (frequent, most), *_ = human.most_common(1)
    sure = [(item.confidence, hit) for item, hit in zip(items, right, strict=True) if item.confidence is not None]
    confidences, hits = [value for value, _ in sure], [hit for _, hit in sure]
    return JudgeCalibration(
        n=len(items),
        confusion=matrix,
        accuracy=wilson("accuracy", sum(right), len(items)),
        kappa=cohen_kappa(matrix),
        constant=wilson("accuracy", most, len(items)),
        constant_label=frequent,
        labels=tuple(_rates(matrix)),
        errors=_by_kind(items, right),
        confidence=(calibration_error(confidences, hits), brier(confidences, hits)) if sure else (),
        caveats=tuple(_caveats(items, human, most)),
    )


def _rates(matrix: Confusion) -> Iterator[LabelRates]:
    for at, label in enumerate(matrix.labels):
        hits, support = matrix.counts[at][at], matrix.support(at)
        yield LabelRates(
            label=label,
            base=wilson("base rate", support, matrix.n),
            recall=wilson("recall", hits, support),
            precision=wilson("precision", hits, matrix.said(at)),
        )


def _by_kind(items: Sequence[JudgedItem], right: Sequence[bool]) -> tuple[MetricValue, ...]:
    kinds: dict[str, list[bool]] = defaultdict(list)
    for item, hit in zip(items, right, strict=True):
        kinds[item.kind].append(hit)
    if set(kinds) == {""}:
        return ()
    return tuple(wilson(kind or "no kind", hits.count(False), len(hits)) for kind, hits in sorted(kinds.items()))


def _caveats(items: Sequence[JudgedItem], human: Counter[str], most: int) -> Iterator[str]:
    if len(items) < FEW:
        yield f"{counted(len(items), 'item')}: below {FEW}, the intervals are too wide to choose a judge by."
    said = Counter(item.judge for item in items)
    if none := said.pop(None, 0):
        yield f"Items without a verdict, which count as wrong: {none}."
    if other := {label: count for label, count in said.items() if label not in human}:
        words = ", ".join(f"{label!r} ({count})" for label, count in other.items())
        yield f"Verdicts that are not a human label, counted as wrong: {words}."
    if len(said) == 1:
        yield f"The judge says {next(iter(said))!r} throughout: it decides nothing."
    right = sum(item.judge == item.human for item in items)
    if right <= most:
        yield "The judge is right no more often than the constant one."


def calibration_tables(found: JudgeCalibration) -> tuple[Table, ...]:
    """The judge beside the constant one, its rates by label, and its errors by kind."""
    share = ".3f"
    always = (f"always {found.constant_label!r}", found.constant, 0.0)
    judges = (("the judge", found.accuracy, found.kappa), always)
    rates = tuple((each.label, each.base, each.recall, each.precision) for each in found.labels)
    verdicts, counts = confusion_cells(found.confusion, "no verdict")
    made = [
        Table(
            f"The judge on {counted(found.n, 'item')}",
            (Column("Judge", "name"), number("Accuracy", share), number("Kappa", share)),
            judges,
            ("In parentheses: 95 % intervals (Wilson). Kappa: 0 is chance.", *found.caveats),
        ),
        Table(
            "By label",
            (Column("Human label"), *(number(title, share) for title in ("Base rate", "Recall", "Precision"))),
            rates,
            ("Recall: how often the judge finds the label. Precision: how often its verdict is confirmed.",),
        ),
        Table("Errors", (Column("Human label"), *(number(f"Judge: {label}") for label in verdicts)), counts),
    ]
    if found.errors:
        kinds = tuple((error.name, error.n, error) for error in found.errors)
        made.append(Table("Errors by kind", (Column("Kind"), number("Items"), number("Wrong", share)), kinds))
    if found.confidence:
        figures = tuple((figure.name, figure) for figure in found.confidence)
        made.append(Table("Confidence", (Column("Figure"), number("Value", share)), figures))
    return tuple(made)
