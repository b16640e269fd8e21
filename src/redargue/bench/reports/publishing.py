"""Tables of a bench for a paper (CSV, LaTeX), how to reproduce it, and which figures cannot be compared."""

from __future__ import annotations

import csv
import json
import platform
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Any

from redargue.bench.compare import Comparison
from redargue.bench.reports import BenchRun, tables
from redargue.bench.reports.charts import frontier_table
from redargue.bench.reports.tables import SYSTEM, gold_text, key, rounds_table
from redargue.errors import UsageError
from redargue.files import make_folder, replacing
from redargue.reports.overview import summarize_identity
from redargue.reports.table import Cell, Column, Link, Table, letter, number
from redargue.sanitize import csv_cell

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "’": "'",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


def publishable(comparison: Comparison) -> tuple[Table, ...]:
    """The tables with figures, in the order of the report."""
    confusions = (tables.confusion_table(at, row) for at, row in enumerate(comparison.rows))
    named = (table and table._replace(title=f"Confusion of {table.title}") for table in confusions)
    last = (frontier_table(comparison), rounds_table(comparison), tables.classes(comparison), *named)
    made = (*tables.results_table(comparison), tables.pairs(comparison), *last)
    return tuple(table for table in made if table and table.rows)


def write_tables(made: Iterable[Table], folder: Path) -> list[Path]:
    """Writes each table as ``NAME.csv`` and ``NAME.tex``; raises UsageError where the folder cannot be written."""
    written = []
    try:
        make_folder(folder)
        for table in made:
            name = re.sub(r"[^a-z0-9]+", "-", table.title.casefold()).strip("-")[:60]
            for suffix, text in ((".csv", table_csv(table)), (".tex", table_latex(table, name))):
                written.append(folder / f"{name}{suffix}")
                with replacing(written[-1]) as file:
                    file.write(text.encode())
    except OSError as error:
        what = f"cannot write tables to {str(folder)!r}: {error.strerror}"
        raise UsageError(what, where="--tables", hint="name another folder") from error
    return written


def table_csv(table: Table) -> str:
    """Numbers unrounded and without units; an interval has columns of its own, and what is not known is empty."""
    cells = list(zip(*table.rows, strict=True))
    wide = [any(_ends(cell) != ("", "") for cell in column) for column in cells]
    header: list[str] = []
    for column, has_interval in zip(table.columns, wide, strict=True):
        header += [column.title, *([f"{column.title}, low", f"{column.title}, high"] if has_interval else [])]
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(csv_cell, header))
    for row in table.rows:
        values: list[str] = []
        for cell, has_interval in zip(row, wide, strict=True):
            values += [_plain(cell), *(_ends(cell) if has_interval else ())]
        writer.writerow(values)
    return text.getvalue()


def _plain(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str | Link):
        return csv_cell(cell if isinstance(cell, str) else cell.text)
    return _number(cell if isinstance(cell, int | float) else cell.value)


def _ends(cell: Cell) -> tuple[str, str]:
    if cell is None or isinstance(cell, str | Link | int | float):
        return "", ""
    return _number(cell.low), _number(cell.high)


def _number(value: float | None) -> str:
    return "" if value is None else repr(value)


def table_latex(table: Table, name: str) -> str:
    """A ``table`` float; it needs the package booktabs."""
    sides = "".join("r" if column.kind == "number" else "l" for column in table.columns)
    lines = (
        "% \\usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escaped(table.title)}}}",
        rf"\label{{tab:{name}}}",
        rf"\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        _row(_escaped(column.title) for column in table.columns),
        r"\midrule",
        *(_row(map(_latex, table.columns, row)) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\footnotesize {_escaped(note)}" for note in table.notes),
        r"\end{table}",
    )
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    row = " & ".join(cells)
    guard = "{}" if row.startswith(("[", "*")) else ""  # after the last row's \\, these would be its options
    return rf"{guard}{row} \\"


def _latex(column: Column, cell: Cell) -> str:
    text = _escaped(column.text(cell))
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", text) if column.is_number(cell) else text


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in " ".join(text.split()))


def reproduction_commands(bench: BenchRun) -> tuple[str, ...]:
    """Commands that run the bench, compute its tables and replay the first system's debates."""
    compare = shlex.join(["redargue", "bench", "compare", str(bench.folder)])
    replay = shlex.join(["redargue", "replay", str(bench.folder / bench.comparison.rows[0].slug)])
    # Neighbours only: the commands keep the order of the systems.
    by_arguments = groupby(bench.comparison.rows, key=lambda row: row.arguments)
    sample = bench.comparison.sample
    runs = [_run(sample, arguments, [row.spec for row in rows]) for arguments, rows in by_arguments]
    if all(manifest.spec.backend == "recorded" for manifest in bench.manifests):
        runs = [shlex.join(["redargue", "bench", "import", sample["file"], "--out", "DIR"])]
    return (*runs, compare, replay)


def _run(sample: Mapping[str, Any], arguments: Sequence[str], specs: Sequence[str]) -> str:
    parts = ["redargue", "bench", "run", "--dataset", sample["dataset"], "--path", sample["file"]]
    if sample.get("limit") is not None:
        parts += ["--limit", str(sample["limit"])]
    if sample["how"] != "first" or sample.get("per_group"):
        parts += ["--take", "group" if sample.get("per_group") else sample["how"]]
    if sample["half"] != "all":
        parts += ["--half", sample["half"]]
    parts += ["--seed", str(sample["seed"])]
    parts += arguments
    for name, value in sample.get("options") or ():
        parts += ["--map", value] if name == "mapping" else ["--option", f"{name}={value}"]
    for spec in specs:
        parts += ["--method", spec]
    return shlex.join([*map(str, parts), "--out", "DIR"])


def version_table(bench: BenchRun) -> Table:
    systems = enumerate(zip(bench.comparison.rows, bench.manifests, strict=True))
    columns = (
        *map(Column, ("redargue", "Method", "Backend")),
        Column("Model and weights", "long"),
        number("Seed"),
        Column("Tools and data revisions", "long"),
    )
    note = "Weights of the embedded backend: the first characters of each model's sha256."
    rows = tuple((*key(at, row), *summarize_identity(manifest)) for at, (row, manifest) in systems)
    return Table("What was run", (*SYSTEM, *columns), rows, (note,))


def sample_facts(bench: BenchRun) -> tuple[str, ...]:
    sample = bench.comparison.sample
    return (
        f"Data file {sample['file']}, sha256 {sample['sha256']}.",
        gold_text(sample),
        "--store names the corpus that tools search; the same corpus gives the same revisions as above.",
        f"This report was made with Python {platform.python_version()}; making it calls no model.",
    )


def not_comparable(bench: BenchRun) -> tuple[str, ...]:
    comparison, manifests = bench.comparison, bench.manifests
    rows, sample = comparison.rows, comparison.sample
    seeds = " (the table of seeds shows it)" if comparison.repeats else f" (seed {sample['seed']})"
    limits = [
        f"These figures are from {sample['taken']:,} claims of one file. Figures published for other samples, other "
        "evidence or other models are not on the same scale.",
        "Intervals and tests are over claims, from one run per system: they do not include what another seed would "
        f"change{seeds}.",
    ]
    if any(manifest.spec.backend == "embedded" for manifest in manifests):
        limits.append(
            "The embedded backend performs the tasks with small models, without a language model: its figures compare "
            "methods on this backend, not what they would reach with the models of their papers."
        )
    facts = [manifest.facts() for manifest in manifests]
    for name, what in (("redargue", "versions of redargue"), ("identity", "models"), ("seed", "seeds")):
        values = {json.dumps(known[name]) for known in facts}
        if len(values) > 1:
            limits.append(f"The systems ran with different {what}: {', '.join(sorted(values))}.")
    limits += _different_evidence(bench)
    if any(row.scores.cost.usage.usd is None for row in rows):
        limits.append("Prices are not known for every system: cost is compared in calls.")
    if any(row.errors for row in rows):
        errors = ", ".join(f"{letter(at)} {row.errors}" for at, row in enumerate(rows) if row.errors)
        limits.append(f"Claims that ended in an error count as wrong: {errors}.")
    if hidden := max(row.scores.hidden for row in rows):
        limits.append(f"{hidden} claims have no gold label: they count only in coverage and cost.")
    limits.append("Seconds depend on the machine, its load, and what earlier systems left in caches.")
    return tuple(limits)


def _different_evidence(bench: BenchRun) -> list[str]:
    tools = [tuple(manifest.tools) for manifest in bench.manifests]
    if len(set(tools)) < 2:
        return []
    read = "; ".join(f"{letter(at)} {', '.join(names) or 'nothing'}" for at, names in enumerate(tools))
    debated = " (debated: the passages that A’s debate read)" if any("debated" in names for names in tools) else ""
    return [f"The systems do not all read the same evidence: {read}{debated}."]
