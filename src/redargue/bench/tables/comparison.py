"""A published table with our figures beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redargue.bench.metrics import MetricValue
from redargue.bench.system import System
from redargue.bench.tables import NOT_HERE, PublishedRow, PublishedTable
from redargue.bench.tables.measures import measure_cell
from redargue.bench.tables.runner import Runner, required_systems
from redargue.claims import Frozen
from redargue.methods.base import configure
from redargue.retrieval.tools import tools
from redargue.tasks.answer import LabelledTask
from redargue.tasks.base import AnyTask
from redargue.tasks.query import WriteQuery
from redargue.tasks.step import StepTask
from redargue.verdicts import ErrorInfo

_TITLES = {
    "true-f1": "F1 of true",
    "false-f1": "F1 of false",
    "macro-f1": "macro-F1",
    "two-way": "accuracy",
    "f1": "F1",
    "positives": "factual",
    "negatives": "not factual",
    "response-accuracy": "accuracy of responses",
    "response-recall": "recall of responses",
    "response-precision": "precision of responses",
    "response-f1": "F1 of responses",
}
_EMPTY = "–"
_COUNTS = ("searches", "texts")
OF_TEXTS: dict[str, str] = {  # a text is factual if all its claims are
    "two-way": "response-accuracy",
    "recall": "response-recall",
    "precision": "response-precision",
    "f1": "response-f1",
}


class ComparedRow(Frozen):
    """One row."""

    name: str
    model: str = ""  # whose figures ``ours`` are, in a table over several models
    paper: tuple[str, ...] = ()  # the paper's figures, one per column; empty if it has none
    ours: tuple[str, ...]
    figures: tuple[MetricValue | None, ...] = ()  # shares and gains as fractions of one
    specs: tuple[str, ...] = ()  # the system of each column; empty if there is none


class ComparedTable(Frozen):
    """A whole table, with notes on what cannot be compared and the errors that ended claims."""

    schema_version: int = 1
    name: str
    label: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[ComparedRow, ...]
    notes: tuple[str, ...]
    errors: tuple[ErrorInfo, ...] = ()


def compare_table(table: PublishedTable, runner: Runner) -> ComparedTable:
    names = runner.columns(table)
    table = table.model_copy(update={"average": table.average and names == table.sets})
    titles = [runner.paper.sets[name].title for name in names]
    if table.measures:
        names_of_measures = [_TITLES.get(name, name) for name in table.measures]
        titles = [f"{title}, {name}" if len(titles) > 1 else name for title in titles for name in names_of_measures]
    columns = (*table.columns, *titles, *("Average",) * table.average)
    printed = [*table.columns, *(name for name in table.sets for _ in table.measures or ("",))]
    places = [place for place, name in enumerate(printed) if name in (*table.columns, *names)]
    places += [len(printed)] * table.average
    rows = []
    for published in table.rows:
        row = _properties_row(published, runner) if table.columns else _row(table, published, names, runner)
        paper = tuple(published.paper[place] or _EMPTY for place in places) if published.paper else ()
        rows.append(row.model_copy(update={"paper": paper}))
    used = {(name, spec) for row in rows for name, spec in zip(names, row.specs, strict=False) if spec}
    found = () if table.columns else (*_notes(table, names, runner, rows), *_undefined(rows, columns))
    notes = (*found, *table.notes)
    errors = tuple(verdict.error for key in sorted(used) for verdict in runner.cells[key].verdicts if verdict.error)
    return ComparedTable(
        name=table.name,
        label=table.label,
        title=table.title,
        columns=columns,
        rows=tuple(rows),
        notes=(*notes, *(f"{len(errors)} claims ended in an error and count as wrong" for _ in errors[:1])),
        errors=errors,
    )


def compare_models(tables: Mapping[str, ComparedTable]) -> ComparedTable:
    """One table of several models' tables, by model: under each method a row per model, the paper's figures once."""
    first, *_ = tables.values()
    if len(tables) == 1:
        return first
    rows = []
    for versions in zip(*(table.rows for table in tables.values()), strict=True):
        if any(row.figures for row in versions):
            rows += [
                row.model_copy(update={"model": model, "paper": () if place else row.paper})
                for place, (model, row) in enumerate(zip(tables, versions, strict=True))
            ]
        else:
            rows.append(versions[0])  # the reason, or the method's properties
    notes = dict.fromkeys(note for table in tables.values() for note in table.notes)
    errors = tuple(error for table in tables.values() for error in table.errors)
    return first.model_copy(update={"rows": tuple(rows), "notes": tuple(notes), "errors": errors})


def _has_reasons(task: type[AnyTask]) -> bool:
    """Whether answers include reasons: before a label, or as the thought of a step."""
    return issubclass(task, StepTask) or (issubclass(task, LabelledTask) and "reasoning" in task.answer_fields)


def _properties_row(published: PublishedRow, runner: Runner) -> ComparedRow:
    if not published.method:
        return ComparedRow(name=published.name, ours=(published.missing,))
    system = System.parse(published.method.format(**runner.words))
    method = configure(system.method, system.profile, system.settings)
    tasks = method.tasks()
    has_property = (
        any(map(_has_reasons, tasks)),
        len(method.agents()) > 1,
        bool(method.tools()),
        any(issubclass(task, WriteQuery | StepTask) for task in tasks),
    )
    ours = tuple("O" if has else "X" for has in has_property)
    return ComparedRow(name=published.name, ours=ours, specs=(system.spec,))


def _row(table: PublishedTable, published: PublishedRow, names: tuple[str, ...], runner: Runner) -> ComparedRow:
    templates = required_systems(table, published)
    if not templates:
        return ComparedRow(name=published.name, ours=(published.missing,))
    figures: list[MetricValue | None] = []
    specs = []
    for name in names:
        set_specs = [runner.spec(template, runner.paper.sets[name]) for template in templates]
        cells = [runner.cells.get((name, spec)) for spec in set_specs]
        specs.append(set_specs[0] if cells[0] else "")
        by_text = bool(runner.paper.sets[name].claims_of) and not published.whole
        for measure in table.measures or (published.measure,):
            measured = published.model_copy(update={"measure": OF_TEXTS.get(measure, measure) if by_text else measure})
            figures.append(measure_cell(measured, cells[0], cells[-1]) if cells[0] and cells[-1] else None)
    if not any(figures) and (refused := _refused(table, published, names, runner)):
        return ComparedRow(name=published.name, ours=(next(iter(refused.values())),))
    known = [figure.value for figure in figures if figure and figure.value is not None]
    if table.average:
        figures.append(MetricValue(name="average", value=sum(known) / len(known), n=len(known)) if known else None)
    ours = [_cell(published, figure, shares=table.shares) for figure in figures]
    if table.average and 0 < len(known) < len(names):
        ours[-1] += f" (of {len(known)})"
    return ComparedRow(name=published.name, ours=tuple(ours), figures=tuple(figures), specs=tuple(specs))


def _refused(table: PublishedTable, published: PublishedRow, names: tuple[str, ...], runner: Runner) -> dict[str, str]:
    """Why a row's systems could not be run, by data set."""
    refused: dict[str, str] = {}
    for name in names:
        for template in required_systems(table, published):
            if why := runner.refused.get((name, runner.spec(template, runner.paper.sets[name]))):
                refused.setdefault(name, why)
    return refused


def _cell(published: PublishedRow, figure: MetricValue | None, *, shares: bool = False) -> str:
    if figure is None or figure.value is None:
        return _EMPTY
    if figure.name in _COUNTS:
        return f"{figure.value:.0f}"
    if shares:
        return f"{figure.value:.2f}"
    if published.measure in ("mean", "quantile"):
        return f"{figure.value:.3f} [{figure.n}]"
    form = "+.1f" if published.measure == "gain" else ".1f"
    bounds = "" if figure.low is None else f" ({100 * figure.low:{form}} to {100 * (figure.high or 0):{form}})"
    counted = "" if published.measure in ("accuracy", "gain") else f" [{figure.n}]"
    return f"{100 * figure.value:{form}}{bounds}{counted}"


def _undefined(rows: Sequence[ComparedRow], columns: tuple[str, ...]) -> list[str]:
    why: dict[str, dict[str, None]] = {}
    for row in rows:
        for title, figure in zip(columns, row.figures, strict=False):
            if figure and figure.undefined:
                why.setdefault(figure.undefined, {})[title] = None
    return [f"{', '.join(titles)}: {reason}" for reason, titles in why.items()]


def _marks(table: PublishedTable, rows: Sequence[ComparedRow]) -> str:
    """The meaning of the brackets beside figures, where any figure of the table has them."""
    figures = [figure for row in rows for figure in row.figures if figure and figure.value is not None]
    shown = [] if table.shares else [figure for figure in figures if figure.name not in _COUNTS]
    means = {"mean", "quantile"}
    measures = set(table.measures) or {published.measure for published in table.rows}
    bounded = any(figure.low is not None for figure in shown) and not measures <= means
    marks = ["95 % bootstrap intervals over claims in ()"] if bounded else []
    marks += ["counts in []"] if shown and not measures <= {"accuracy", "gain"} else []
    return f"; {', '.join(marks)}" if marks else ""


def _notes(table: PublishedTable, names: tuple[str, ...], runner: Runner, compared: Sequence[ComparedRow]) -> list[str]:
    paper, choice = runner.paper, runner.choice
    most = " or ".join(dict.fromkeys(str(runner.limit(name)) for name in names))
    notes = [
        f"the paper: {paper.model}; {paper.claims}",
        f"here: {_describe_models(table, runner)}; at most {most} claims a data set, taken {choice.take} from"
        f" half {choice.half!r} with seed {choice.spec.seed}{_marks(table, compared)}",
    ]
    for name in names:
        chosen = paper.sets[name]
        if lacking := runner.lacking(name):
            notes.append(f"{chosen.title}: {lacking}")
            continue
        counts = {len(cell.examples) for (dataset, _), cell in runner.cells.items() if dataset == name}
        roles = runner.roles(chosen)
        unit = "texts and their claims" if chosen.claims_of else "claims"
        note = f"{chosen.title}: {max(counts, default=0)} {unit}; RAG is {roles['rag']!r}, SEARCH {roles['search']!r}"
        if roles["search"] not in tools or not tools[roles["search"]].online:
            note += f" in place of {chosen.live}"
        if name in choice.stores:
            note += "; user-supplied corpus"
        elif chosen.note and {chosen.rag, chosen.search} & set(roles.values()):
            note += f"; {chosen.note}"
        notes.append(note)
    rows = [required_systems(table, published) for published in table.rows]
    if table.average and any(map(runner.lacking, names)):
        notes.append("the average is over the available data sets only: not comparable with the paper's")
    if not runner.choice.spec.model and any(spec.startswith("self-consistency") for row in rows for spec in row):
        notes.append("'as many answers': the embedded models do not sample, so all answers to a question are the same")
    for published in table.rows:  # a row that was refused everywhere shows the reason as its figure
        refused = _refused(table, published, names, runner)
        if len(refused) < len([name for name in names if not runner.lacking(name)]):
            notes += [f"{published.name}, {paper.sets[name].title}: {why}" for name, why in refused.items()]
    if any(not row and published.missing == NOT_HERE for row, published in zip(rows, table.rows, strict=True)):
        notes.append("'not here yet': redargue does not have this method")
    return notes


def _describe_models(table: PublishedTable, runner: Runner) -> str:
    templates = [template for published in table.rows for template in required_systems(table, published)]
    templates = [template for template in templates if "{words}" not in template]
    names = dict.fromkeys(template.partition(":")[0].partition("@")[2] for template in templates)
    profiles = " and ".join(repr(name.format(profile=runner.choice.spec.profile)) for name in names)
    if runner.choice.spec.model:
        return f"{runner.choice.spec.model}, profile {profiles}"
    debated = "hardened" in profiles and any(template.startswith("tool-mad") for template in templates)
    changes = ", thresholds for these models, a consensus needs a found quotation" if debated else ""
    return f"the embedded backend (small models, no language model), profile {profiles}{changes}"
