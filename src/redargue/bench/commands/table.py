"""``redargue bench table`` and ``redargue bench rescore``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from redargue.batch import Tally
from redargue.bench.commands.bench import Folder, bench_progress
from redargue.bench.compare import frontier, paired, read_results, row_of, score_outcomes
from redargue.bench.harness import ClaimOutcome, reopen
from redargue.bench.reports.charts import rescored_pairs
from redargue.bench.reports.tables import published_table, rescored_table
from redargue.bench.system import System, chosen_system
from redargue.bench.tables import Paper, PublishedTable, find_table, papers
from redargue.bench.tables.comparison import compare_models, compare_table
from redargue.bench.tables.runner import Runner, TableChoice
from redargue.cli.options import read_settings
from redargue.cli.output import FINISHED_WITH_ERRORS, exit_code, print_json, resumable
from redargue.cli.parameters import (
    AsJson,
    BaseUrl,
    Concurrency,
    EmbeddingModel,
    Mcp,
    Offline,
    Quiet,
    option,
    with_parameters,
)
from redargue.errors import UsageError
from redargue.registry import did_you_mean
from redargue.reports.markdown import print_tables
from redargue.sanitize import counted
from redargue.spec import RunSpec


@dataclass(frozen=True, kw_only=True)
class TableParameters:
    """The sampling and configuration that all methods of a table share."""

    take: Annotated[str, typer.Option(help="Sampling: first, random or balanced.")] = "random"
    half: Annotated[str, typer.Option(help="Half by the claim's hash: even, odd (for reports) or all.")] = "even"
    seed: Annotated[int, typer.Option(help="Random seed of the samples and the runs.")] = 0
    profile: Annotated[
        str, typer.Option(help="Profile of all methods; default: paper with a model, else hardened.")
    ] = ""
    model: Annotated[
        list[str] | None,
        option("MODEL", "Language model of every role, or `embedded`; repeat it to compare models in one table."),
    ] = None
    base_url: BaseUrl = ""
    embedding_model: EmbeddingModel = ""
    mcp: Mcp = None
    budget: Annotated[str, option("BUDGET", "Spending limit per method and data set: 200ktok, 0.50usd.")] = ""
    offline: Offline = False

    def configs(self) -> list[RunSpec]:
        """The configuration of each model, each model once."""
        names = (self.model or ["embedded"]) if any(self.model or ["embedded"]) else ["embedded"]
        return [self._config("" if name == "embedded" else name) for name in dict.fromkeys(names)]

    def _config(self, model: str) -> RunSpec:
        profile = self.profile or ("paper" if model else "hardened")
        embedding_model = self.embedding_model if model else ""
        options = {name: value for name, value in vars(self).items() if name not in ("take", "half")}
        named = {"profile": profile, "embedding_model": embedding_model, "mcp": tuple(self.mcp or ()), "model": model}
        return RunSpec(**{**options, **named})


@with_parameters
def print_table(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Tables to reproduce, or `all`; default: list them.")
    ] = None,
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder of the runs; resumed if it exists.")
    ] = Path("runs/tables"),
    data: Annotated[Path | None, option("DATA", "Folder that contains benchmarks/SET/FILE.", exists=True)] = None,
    path: Annotated[
        list[str] | None, typer.Option(metavar="SET=FILE", help="Location of a data set outside --data; repeatable.")
    ] = None,
    store: Annotated[
        list[str] | None, typer.Option(metavar="SET=CORPUS", help="Corpus to search for a data set; repeatable.")
    ] = None,
    tool: Annotated[
        list[str] | None, typer.Option(metavar="rag|search=TOOL", help="Search tool of a paper's agent; repeatable.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--set", metavar="SET", help="Data set to run; default: all; repeatable.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Claims per data set; default: 300 (MedQA: 100). The papers use 200.")
    ] = None,
    options: TableParameters,
    memory_from: Annotated[
        str,
        typer.Option(metavar="MODEL", help="Model (or `embedded`) whose memories other rows reuse."),
    ] = "",
    concurrency: Concurrency = 2,
    json: Annotated[bool, typer.Option("--json", help="Print each table as one JSON line.")] = False,
    quiet: Quiet = False,
) -> None:
    """Reproduce published tables: the paper's figures, ours, and what cannot be compared."""
    known = [published for paper in papers() for published in paper.tables]
    if not names:
        for published in known:
            print(f"{published.name}: {published.label}, {published.title}")  # noqa: T201
        return
    chosen = [find_table(name) for name in ([published.name for published in known] if names == ["all"] else names)]
    configs = options.configs()
    choice = TableChoice(
        out=out,
        data=data,
        limit=limit or 0,
        half=options.half,
        take=options.take,
        sets=tuple(only or ()),
        tools=_pairs("--tool", tool, ("rag", "search")),
        paths={name: Path(file) for name, file in _pairs("--path", path).items()},
        stores=_pairs("--store", store),
        spec=configs[0],
        concurrency=concurrency or 2,
        memory_from=memory_from,
    )
    choice.check(paper for paper, _ in chosen)
    _run(chosen, [replace(choice, spec=spec) for spec in configs], json=json, quiet=quiet)


def _run(
    chosen: Sequence[tuple[Paper, PublishedTable]], choices: Sequence[TableChoice], *, json: bool, quiet: bool
) -> NoReturn:
    """Prints each table once; ``choices`` differ in the model."""

    def report(message: str) -> None:
        if not quiet:
            typer.echo(message, err=True)

    def progress(name: str, total: int) -> AbstractContextManager[Callable[[int, ClaimOutcome], None]]:
        return bench_progress(Tally(), total, name, quiet=quiet)

    runners: dict[tuple[int, str | None], Runner] = {}
    printed = 0
    with resumable(f"the same command resumes the runs in {choices[0].out}"):
        for paper, published in chosen:
            compared = {}
            for choice in choices:
                model = choice.spec.model
                runner = runners.setdefault((id(paper), model), Runner(paper, choice, progress, report))
                if published.sets and not runner.columns(published):
                    continue  # --set names data sets of another paper
                runner.run(published)
                compared[model or "embedded"] = compare_table(published, runner)
            if not compared:
                continue
            printed += 1
            result = compare_models(compared)
            if json:
                print(result.model_dump_json(), flush=True)  # noqa: T201
            else:
                print_tables([published_table(result)])
    if not printed:
        named = ", ".join(choices[0].sets)
        sets = sorted({name for _, published in chosen for name in published.sets})
        raise UsageError(f"no table here has the data set {named}", where="--set", hint=f"they have: {', '.join(sets)}")
    verdicts = [verdict for runner in runners.values() for cell in runner.cells.values() for verdict in cell.verdicts]
    raise typer.Exit(exit_code(verdicts) if verdicts else 0)


def _pairs(option: str, pairs: list[str] | None, known: tuple[str, ...] = ()) -> dict[str, str]:
    values = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not value:
            raise UsageError(f"cannot read {pair!r}", where=option, hint="write it like NAME=VALUE")
        if known and name not in known:
            raise UsageError(f"unknown {name!r}", where=option, hint=did_you_mean(name, list(known)))
        values[name] = value
    return values


def rescore(
    bench: Folder,
    path: Annotated[Path | None, typer.Option(exists=True, help="The data set that the bench was run on.")] = None,
    method: Annotated[str, typer.Option(help="The system, as given to bench run.")] = "",
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Setting to change, such as a threshold; repeatable."),
    ] = None,
    then: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Bench folder of the system for the claims that --method leaves.")
    ] = None,
    then_method: Annotated[str, typer.Option(help="The system in that folder.")] = "",
    json: AsJson = False,
) -> None:
    """Recompute recorded verdicts with other settings, without calling a model.

    Debates that would need new calls are counted and left out. With --then, what both systems would have cost and said
    as a cascade, the second only for claims of which the first is not sure, for several thresholds; matches the claims
    of the two benches by text, and by id if both are of one file.
    """
    if then:
        _rescore_pair(bench, method, then, then_method, json=json)
        return
    if not path:
        raise UsageError("--path is missing", hint="or name a second bench: --then DIR")
    opened = reopen(bench, path)
    system = System.parse(chosen_system(method, [system.spec for system in opened.systems], where="--method"))
    verdicts, lost = asyncio.run(opened.rescore(system, read_settings(setting or [])))
    triples = zip(opened.examples, verdicts, opened.outcomes(system), strict=True)
    rescored_claims = [
        (example, ClaimOutcome(verdict, 0.0), recorded) for example, verdict, recorded in triples if verdict
    ]
    if not rescored_claims:
        typer.echo("no debate could be rescored: all of them need calls that were not recorded", err=True)
        raise typer.Exit(FINISHED_WITH_ERRORS)
    examples, outcomes, recorded_outcomes = zip(*rescored_claims, strict=True)
    scores = score_outcomes(examples, outcomes, opened.sample["dataset"], pages=opened.pages)
    before = score_outcomes(examples, recorded_outcomes, opened.sample["dataset"], pages=opened.pages)
    if json:
        print_json({"would_need_calls": lost, "scores": scores, "as_recorded": before})
        return
    title = (
        f"{counted(len(examples), 'claim')} rescored from the record; {lost} would need calls that were not recorded"
    )
    print_tables([rescored_table(title, scores, before)])


def _rescore_pair(folder: Path, method: str, then: Path, then_method: str, *, json: bool) -> None:
    """Prints what two recorded systems would have cost and said as a cascade, threshold by threshold."""
    first, second = read_results(folder), read_results(then)
    first_row, second_row = row_of(first, method), row_of(second, then_method, where="--then-method")
    points = frontier(paired(first, first_row, second, second_row))
    if json:
        print_json({"first": first_row.spec, "then": second_row.spec, "points": points})
    else:
        print_tables([rescored_pairs(first_row.spec, second_row.spec, points)])
