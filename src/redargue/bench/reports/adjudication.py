"""Disagreements between gold and prediction, for a person to adjudicate (MERMAID, Figure 4, Table 6).

The person decides whether the claim is true, false or uncertain, and why gold and prediction differ.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from redargue.bench.reports import BenchRun
from redargue.bench.reports.tables import SYSTEM, key
from redargue.claims import LabelSet, Meaning
from redargue.errors import UsageError
from redargue.evidence import Source
from redargue.inputs.rows import Row, rows, table_rows
from redargue.reports.table import Cell, Column, Table, number
from redargue.sanitize import counted, csv_cell
from redargue.verdicts import Verdict

_VERDICTS = ("true", "false", "uncertain")
NO_REASON = "no reason given"
WHYS = ("wrong label", "temporal", "claim quality", "vagueness")
_FIELDS = ("item", "id", "method", "claim", "gold", "predicted", "evidence", "verdict", "why")
_MEANINGS = {"true": Meaning.SUPPORTED, "false": Meaning.REFUTED, "uncertain": Meaning.NOT_ENOUGH}


def queue(bench: BenchRun, method: str = "", *, as_csv: bool = False) -> str:
    """One JSON line or CSV row per claim that the system (by default the first) labels unlike gold.

    A person fills in ``verdict`` and ``why``. Raises UsageError if the bench has no gold label or no such system.
    """
    if not any(ask.gold is not None for ask in bench.comparison.claims):
        what = f"no claim of {str(bench.folder)!r} has a gold label"
        hint = "run the bench on data with gold labels, mapped to label=… where it is a table"
        raise UsageError(what, where="--format adjudication", hint=hint)
    at = bench.row(method)
    row, verdicts = bench.comparison.rows[at], bench.verdicts(at)
    rows = []
    for ask, prediction in zip(bench.comparison.claims, row.said, strict=True):
        if ask.gold is not None and prediction.label != ask.gold:
            evidence = _evidence(verdicts.get(ask.item))
            values = (ask.item + 1, ask.id, row.spec, ask.claim, ask.gold, prediction.label, evidence, "", "")
            rows.append(dict(zip(_FIELDS, values, strict=True)))
    return _csv(rows) if as_csv else "".join(json.dumps(row) + "\n" for row in rows)


def _evidence(verdict: Verdict | None) -> list[dict[str, str]]:
    evidence = []
    for quote in (quote for quote in verdict.quotes if quote.found) if verdict else ():
        source = quote.source or Source(document="")
        named = {"source": source.title or source.document, "published": source.published, "url": source.url}
        evidence.append({"text": quote.text, "side": quote.side.value, **named})
    return evidence


def _csv(rows: Iterable[Mapping[str, Any]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(_FIELDS)
    for row in rows:
        quoted = " | ".join(
            f"{quote['side']}: “{quote['text']}” ({', '.join(filter(None, (quote['source'], quote['url'])))})"
            for quote in row["evidence"]
        )
        cells = {**row, "evidence": quoted, "predicted": row["predicted"] or ""}
        writer.writerow([cells["item"], *(neutral(str(cells[name])) for name in _FIELDS[1:])])
    return file.getvalue()


def neutral(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula, without control characters."""
    bare = csv_cell(cell, lines=False)
    return f"'{bare}" if bare.lstrip()[:1] in ("|", "%") else bare


class Adjudicated(NamedTuple):
    """A person's decision on one claim; ``verdict`` and ``why`` may be empty."""

    item: int
    method: str
    verdict: str
    why: str


def read_back(path: Path, bench: BenchRun) -> tuple[Adjudicated, ...]:
    """Reads a completed queue; raises UsageError, with the row's number, for a row that does not fit the bench."""
    decisions: dict[int, Adjudicated] = {}
    for row in table_rows(path) if path.suffix.lower() == ".csv" else rows(path):
        decision = _checked(row, bench)
        if decision.item in decisions:
            raise row.error(f"claim {decision.item} appears twice", hint="keep one row per claim")
        decisions[decision.item] = decision
    methods = {decision.method for decision in decisions.values()}
    if len(methods) > 1:
        specs = ", ".join(sorted(map(repr, methods)))
        raise UsageError(f"rows of several systems: {specs}", where=str(path), hint="adjudicate one at a time")
    return tuple(decisions.values())


def _checked(row: Row, bench: BenchRun) -> Adjudicated:
    claims, fields = bench.comparison.claims, row.fields
    if missing := [name for name in ("item", "claim", "verdict", "why") if name not in fields]:
        raise row.error(f"no field {missing[0]!r}", hint=f"fields: {', '.join(_FIELDS)}")
    text = str(fields["item"]).strip()
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= len(claims):
        raise row.error(f"{text!r} is not an item", hint=f"items of this bench are 1 to {len(claims)}")
    item = int(text) - 1
    if _same(str(fields["claim"])) != _same(claims[item].claim):
        raise row.error(f"claim {item + 1} of this bench has another text", hint="the queue belongs to another bench")
    specs = [system.spec for system in bench.comparison.rows]
    method = str(fields.get("method") or specs[0])
    method = next((spec for spec in specs if neutral(spec) == method or spec == method), "")
    if not method:
        raise row.error(f"no system {fields.get('method')!r}", hint=f"systems: {', '.join(specs)}")
    verdict, why = _one_of(row, "verdict", _VERDICTS), _one_of(row, "why", WHYS)
    if why and not verdict:
        raise row.error(f"why is {why!r}, but the verdict is empty", hint=f"one of {', '.join(_VERDICTS)}")
    return Adjudicated(item, method, verdict, why)


def _same(claim: str) -> str:
    return " ".join(neutral(claim).removeprefix("'").split())


def _one_of(row: Row, field: str, known: Sequence[str]) -> str:
    value = row.fields[field]
    bare = "" if value is None else " ".join(str(value).lower().replace("_", " ").replace("-", " ").split())
    if bare and bare not in known:
        raise row.error(f"{field} is {str(value)[:60]!r}", hint=f"one of {', '.join(known)}, or empty")
    return bare


def adjudication_tables(bench: BenchRun, rows: Sequence[Adjudicated]) -> tuple[Table, ...]:
    done = [row for row in rows if row.verdict]
    spec = rows[0].method if rows else bench.comparison.rows[0].spec
    counts = Counter((row.why or NO_REASON, row.verdict) for row in done)
    reasons = [why for why in (*WHYS, NO_REASON) if any(counts[why, verdict] for verdict in _VERDICTS)]
    per_verdict = {why: [counts[why, verdict] for verdict in _VERDICTS] for why in reasons}
    per_verdict["All"] = [sum(row.verdict == verdict for row in done) for verdict in _VERDICTS]
    lines: tuple[tuple[Cell, ...], ...] = tuple((why, *numbers, sum(numbers)) for why, numbers in per_verdict.items())
    filled = f"{len(done)} of {counted(len(rows), 'row')} filled in."
    note = f"{filled} The person decides whether the claim is true, not who is right."
    columns = (Column("Why"), *map(number, (*_VERDICTS, "All")))
    by_reason = Table(f"Disagreements of {spec} with gold, adjudicated", columns, lines, (note,))
    return (by_reason, _directions(bench, done, spec), _accuracies(bench, done, spec))


def _labels(bench: BenchRun) -> LabelSet | None:
    return next((claim.labels for manifest in bench.manifests for claim in manifest.claims), None)


# MERMAID, Figure 4 (N = 122 and 44): the shares of disagreements in which the person agrees with the prediction, with
# the gold label, or with neither
_DIRECTIONS = {
    (Meaning.REFUTED, Meaning.SUPPORTED): ("gold false, predicted true", "54.9, 32.8, 12.3 of 122"),
    (Meaning.SUPPORTED, Meaning.REFUTED): ("gold true, predicted false", "50.0, 34.1, 15.9 of 44"),
}


def _directions(bench: BenchRun, done: Sequence[Adjudicated], spec: str) -> Table:
    """Who was right where one of gold and prediction is true and the other false, beside the paper's shares."""
    said = next(row.said for row in bench.comparison.rows if row.spec == spec)
    labels = _labels(bench)
    gold = {ask.item: ask.gold for ask in bench.comparison.claims}
    found: dict[tuple[Meaning, Meaning], Counter[Meaning]] = {each: Counter() for each in _DIRECTIONS}
    for row in done:
        label, predicted = gold[row.item], said[row.item].label
        if labels and label and predicted:
            direction = labels.meaning(label), labels.meaning(predicted)
            if direction in found:
                found[direction][_MEANINGS[row.verdict]] += 1
    rows: list[tuple[Cell, ...]] = []
    for (label_of, predicted_of), (name, paper) in _DIRECTIONS.items():
        counts = found[label_of, predicted_of]
        count = counts.total()
        outcomes = (predicted_of, label_of, Meaning.NOT_ENOUGH)
        shares = [100 * counts[outcome] / count if count else None for outcome in outcomes]
        rows.append((name, count, *shares, paper))
    named = (number(name, ".1f") for name in ("Prediction correct (%)", "Label correct (%)", "Uncertain (%)"))
    columns = (Column("Disagreement"), number("Claims"), *named, Column("MERMAID's, Figure 4 (%)"))
    return Table("Who was right, by the direction of the disagreement", columns, tuple(rows))


def _accuracies(bench: BenchRun, done: Sequence[Adjudicated], spec: str) -> Table:
    comparison, labels = bench.comparison, _labels(bench)
    gold = {ask.item: ask.gold for ask in comparison.claims if ask.gold is not None}
    adjudicated, unmapped = dict(gold), 0
    for row in done:
        label = labels.named(_MEANINGS[row.verdict]) if labels else None
        if label is None:
            unmapped += adjudicated.pop(row.item, None) is not None
        else:
            adjudicated[row.item] = label
    rows = tuple(
        (*key(at, row), _share(gold, row.said), _share(adjudicated, row.said)) for at, row in enumerate(comparison.rows)
    )
    left_out = f" {unmapped} claims are left out: no label has that meaning." if unmapped else ""
    note = (
        f"Over {len(adjudicated)} claims; true, false and uncertain become the label of that meaning.{left_out} Only "
        f"claims on which {spec} differs from gold were adjudicated: where it shares a wrong gold label, that still "
        "counts as right, so the last column does not compare systems."
    )
    columns = (number("Accuracy against gold", ".3f"), number("Accuracy against adjudicated gold", ".3f"))
    return Table("Accuracy with the adjudicated label instead of gold", (*SYSTEM, *columns), rows, (note,))


def _share(gold: Mapping[int, str], predictions: Sequence[Any]) -> float | None:
    return sum(predictions[item].label == label for item, label in gold.items()) / len(gold) if gold else None
