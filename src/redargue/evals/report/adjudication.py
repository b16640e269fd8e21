"""Disagreements of gold and prediction for a person to adjudicate, and what came of it (MERMAID, Figure 4, Table 6).

The person says whether the claim is true, false, or cannot be told, and why gold and prediction differ.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from redargue.claims import LabelSet, Meaning
from redargue.errors import UsageError
from redargue.evals.report.facts import KEY, Cell, Table, letter, number
from redargue.evals.report.gathered import BenchRun
from redargue.evidence import Quote
from redargue.printing import printable
from redargue.verdicts import Verdict

VERDICTS = ("true", "false", "uncertain")
WHYS = ("wrong label", "temporal", "claim quality", "vagueness")
FIELDS = ("item", "id", "method", "claim", "gold", "predicted", "evidence", "verdict", "why")
MEANINGS = {"true": Meaning.SUPPORTED, "false": Meaning.REFUTED, "uncertain": Meaning.NOT_ENOUGH}


def queue(bench: BenchRun, method: str = "", *, as_csv: bool = False) -> str:
    """One row a claim whose prediction is not its gold label; ``verdict`` and ``why`` are left to a person.

    Args:
        bench: a finished bench.
        method: a contender's spec; the first by default.
        as_csv: CSV with formulas neutralised, instead of JSON Lines.

    Raises:
        UsageError: the bench has no gold label, or no contender of that name.
    """
    if not any(ask.gold is not None for ask in bench.comparison.claims):
        raise UsageError(
            f"no claim of {str(bench.folder)!r} has a gold label: no prediction can differ from one",
            where="--format adjudication",
            hint="run the bench on data with gold labels, mapped to label=… where it is a table",
        )
    at = bench.row(method)
    row, verdicts = bench.comparison.rows[at], bench.verdicts(at)
    rows = [
        {
            "item": ask.item,
            "id": ask.id,
            "method": row.spec,
            "claim": ask.claim,
            "gold": ask.gold,
            "predicted": each.label,
            "evidence": _evidence(verdicts.get(ask.item)),
            "verdict": "",
            "why": "",
        }
        for ask, each in zip(bench.comparison.claims, row.said, strict=True)
        if ask.gold is not None and each.label != ask.gold
    ]
    return _csv(rows) if as_csv else "".join(json.dumps(each) + "\n" for each in rows)


def _evidence(verdict: Verdict | None) -> list[dict[str, str]]:
    return [_quoted(quote) for quote in verdict.quotes if quote.found] if verdict else []


def _quoted(quote: Quote) -> dict[str, str]:
    of = quote.source
    return {
        "text": quote.text,
        "side": quote.side.value,
        "source": (of.title or of.document) if of else "",
        "published": of.published if of else "",
        "url": of.url if of else "",
    }


def _csv(rows: Iterable[Mapping[str, Any]]) -> str:
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\r\n")
    writer.writerow(FIELDS)
    for row in rows:
        quoted = " | ".join(
            f"{each['side']}: “{each['text']}” ({', '.join(filter(None, (each['source'], each['url'])))})"
            for each in row["evidence"]
        )
        cells = {**row, "evidence": quoted, "predicted": row["predicted"] or ""}
        writer.writerow([cells["item"], *(neutral(str(cells[name])) for name in FIELDS[1:])])
    return made.getvalue()


def neutral(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula, without control characters."""
    bare = printable(cell, lines=False)
    return f"'{bare}" if bare.lstrip()[:1] in tuple("=+-@|%＝＋－＠") and bare.strip() else bare


class Adjudicated(NamedTuple):
    """What a person said of one claim; ``verdict`` is empty where nothing yet.

    Attributes:
        item: the claim's place.
        method: whose prediction was looked at.
        verdict: true, false, uncertain, or empty.
        why: one of ``WHYS``, or empty.
    """

    item: int
    method: str
    verdict: str
    why: str


def read_back(path: Path, bench: BenchRun) -> tuple[Adjudicated, ...]:
    """The filled queue.

    Raises:
        UsageError: no such file; a row of another bench, twice the same claim, or a value that is none; says which row.
    """
    found: dict[int, Adjudicated] = {}
    for number_, row in _rows(path):
        where = f"{path}, row {number_}"
        one = _checked(row, bench, where)
        if one.item in found:
            raise UsageError(f"claim {one.item} stands there twice", where=where, hint="keep one row a claim")
        found[one.item] = one
    methods = {each.method for each in found.values()}
    if len(methods) > 1:
        told = ", ".join(sorted(map(repr, methods)))
        raise UsageError(f"rows of several contenders: {told}", where=str(path), hint="adjudicate one at a time")
    return tuple(found.values())


def _rows(path: Path) -> list[tuple[int, Mapping[str, Any]]]:
    """The rows with their numbers, from 1; the head of a CSV file does not count."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{str(path)!r} cannot be read", where="--adjudicated", hint="give a UTF-8 file") from error
    if path.suffix.lower() == ".csv":
        reader = csv.DictReader(io.StringIO(text, newline=""))
        missing = [name for name in ("item", "claim", "verdict", "why") if name not in (reader.fieldnames or ())]
        if missing:
            raise UsageError(f"no column {missing[0]!r}", where=str(path), hint=f"columns: {', '.join(FIELDS)}")
        return list(enumerate(reader, start=1))
    rows: list[tuple[int, Mapping[str, Any]]] = []
    for at, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UsageError(f"no JSON: {line[:60]!r}", where=f"{path}, row {at}") from error
        if not isinstance(row, dict):
            raise UsageError(f"no JSON object: {line[:60]!r}", where=f"{path}, row {at}")
        rows.append((at, row))
    return rows


def _checked(row: Mapping[str, Any], bench: BenchRun, where: str) -> Adjudicated:
    claims = bench.comparison.claims
    given = str(row.get("item", "")).strip()
    if not given.isascii() or not given.isdigit() or len(given) > 9 or int(given) >= len(claims):
        hint = f"items of this bench go from 0 to {len(claims) - 1}"
        raise UsageError(f"{given!r} is not a claim's place", where=where, hint=hint)
    item = int(given)
    if _same(str(row.get("claim", ""))) != _same(claims[item].claim):
        raise UsageError(f"claim {item} of this bench reads otherwise", where=where, hint="it is another bench's queue")
    specs = [each.spec for each in bench.comparison.rows]
    method = str(row.get("method") or specs[0])
    method = next((spec for spec in specs if neutral(spec) == method or spec == method), "")
    if not method:
        raise UsageError(f"no contender {row.get('method')!r}", where=where, hint=f"contenders: {', '.join(specs)}")
    verdict = _one_of(row.get("verdict"), VERDICTS, "verdict", where)
    why = _one_of(row.get("why"), WHYS, "why", where)
    if why and not verdict:
        raise UsageError(f"why is {why!r}, but the verdict is empty", where=where, hint=f"one of {', '.join(VERDICTS)}")
    return Adjudicated(item, method, verdict, why)


def _same(claim: str) -> str:
    return " ".join(neutral(claim).removeprefix("'").split())


def _one_of(value: object, known: Sequence[str], field: str, where: str) -> str:
    bare = "" if value is None else " ".join(str(value).lower().replace("_", " ").replace("-", " ").split())
    if bare and bare not in known:
        raise UsageError(f"{field} is {str(value)[:60]!r}", where=where, hint=f"one of {', '.join(known)}, or empty")
    return bare


def adjudication_tables(bench: BenchRun, rows: Sequence[Adjudicated]) -> tuple[Table, ...]:
    """Counts by verdict and why; and accuracy with the adjudicated label in gold's place."""
    done = [row for row in rows if row.verdict]
    whose = rows[0].method if rows else bench.comparison.rows[0].spec
    counts = Counter((row.why or "no reason given", row.verdict) for row in done)
    whys = [why for why in (*WHYS, "no reason given") if any(counts[why, each] for each in VERDICTS)]
    lines: list[tuple[Cell, ...]] = []
    for why in whys:
        per = [counts[why, each] for each in VERDICTS]
        lines.append((why, *map(str, per), str(sum(per))))
    sums = [sum(row.verdict == each for row in done) for each in VERDICTS]
    lines.append(("All", *map(str, sums), str(len(done))))
    told = (
        f"{len(done)} of {len(rows)} rows are filled in. The person says whether the claim is true, not who is right."
    )
    by_why = Table(f"Disagreements of {whose} with gold, adjudicated", ("Why", *VERDICTS, "All"), tuple(lines), told)
    return (by_why, _accuracies(bench, done, whose))


def _accuracies(bench: BenchRun, done: Sequence[Adjudicated], whose: str) -> Table:
    comparison = bench.comparison
    labels = _label_set(bench)
    gold = {ask.item: ask.gold for ask in comparison.claims if ask.gold is not None}
    replaced, untold = dict(gold), 0
    for row in done:
        label = labels.named(MEANINGS[row.verdict]) if labels else None
        if label is None:
            untold += replaced.pop(row.item, None) is not None
        else:
            replaced[row.item] = label
    lines: list[tuple[Cell, ...]] = []
    for at, contender in enumerate(comparison.rows):
        shares = (_share(gold, contender.said), _share(replaced, contender.said))
        lines.append((letter(at), contender.spec, *map(number, shares)))
    left = f" {untold} claims are left out: the labels have none for what was said." if untold else ""
    note = (
        f"Over {len(replaced)} claims; true, false and uncertain become the label of that meaning.{left} Only claims "
        f"on which {whose} differs from gold were looked at: where it shares a wrong gold label, that still counts as "
        "right, and contenders cannot be compared by the last column."
    )
    head = (KEY, "Contender", "Accuracy against gold", "Accuracy against adjudicated gold")
    return Table("Accuracy with the adjudicated label in gold’s place", head, tuple(lines), note)


def _share(gold: Mapping[int, str], said: Sequence[Any]) -> float | None:
    return sum(said[item].label == label for item, label in gold.items()) / len(gold) if gold else None


def _label_set(bench: BenchRun) -> LabelSet | None:
    """Of the claims, as the first run states it."""
    claims = bench.abouts[0].get("claims") if bench.abouts else None
    return LabelSet.model_validate(claims[0]["labels"]) if claims else None
