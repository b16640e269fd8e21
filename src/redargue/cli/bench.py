"""``redargue bench``: methods on data sets, compared claim by claim."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from redargue.cli.parameters import (
    BaseUrl,
    Concurrency,
    EmbeddingModel,
    Models,
    Offline,
    Quiet,
    Store,
    StrictAsOf,
    with_parameters,
)

if TYPE_CHECKING:
    from redargue.bench.batch import Tally
    from redargue.bench.compare import Comparison, Row
    from redargue.bench.datasets.base import Example
    from redargue.bench.harness import Bench
    from redargue.bench.system import System
    from redargue.config import RunConfig

app = typer.Typer(no_args_is_help=True, help="Methods on data sets: runs, tables, paired tests.")

INTERRUPTED = 130

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A bench folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object.")]


@dataclass(frozen=True, kw_only=True)
class SampleParameters:
    """The sample of a data set."""

    dataset: Annotated[str, typer.Option(help="redargue list datasets")]
    path: Annotated[Path, typer.Option(exists=True, help="The data set as it is downloaded: a file or folder.")]
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="Of the data set: with_evidence=true.")
    ] = None
    mapping: Annotated[str, typer.Option("--map", help="For CSV and JSONL: claim=…,label=…")] = ""
    limit: Annotated[int | None, typer.Option(min=1, help="Maximum number of claims.")] = None
    take: Annotated[str, typer.Option(help="first, random, balanced or group (so many of each).")] = "first"
    half: Annotated[str, typer.Option(help="even, odd or all: by the claim's hash.")] = "all"
    seed: Annotated[int, typer.Option(help="Of the sample and the runs.")] = 0
    as_of: Annotated[str, typer.Option(metavar="DATE", help="As-of date for claims that have none.")] = ""
    strict_as_of: StrictAsOf = False


@dataclass(frozen=True, kw_only=True)
class BenchParameters:
    """The configuration that all methods of a bench share."""

    store: Store = None
    model: Models = None
    base_url: BaseUrl = ""
    embedding_model: EmbeddingModel = ""
    budget: Annotated[
        str | None, typer.Option(envvar="REDARGUE_BUDGET", help="Of each method: 40calls, 200ktok, 0.50usd.")
    ] = None
    offline: Offline = False

    def config(self, seed: int) -> RunConfig:
        """The configuration, for runs with a seed.

        Raises:
            UsageError: what cannot be read.
        """
        from redargue.cli.options import read_models
        from redargue.config import RunConfig

        model, models = read_models(self.model or [])
        return RunConfig(
            model=model,
            models=models,
            base_url=self.base_url,
            embedding_model=self.embedding_model if model else "",
            store=self.store,
            offline=self.offline,
            budget=self.budget,
            seed=seed,
        )


@app.command("run")
@with_parameters
def run(
    *,
    sample: SampleParameters,
    out: Annotated[Path, typer.Option("--out", "-o", help="The bench folder; the same command resumes it.")],
    method: Annotated[
        list[str] | None,
        typer.Option(metavar="METHOD[@PROFILE][:SETTING=VALUE,…][~OTHER][#SEED]", help="A row; repeatable."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each method, with this many seeds from --seed on.")] = 1,
    pages: Annotated[
        Path | None, typer.Option(exists=True, help="The data set's corpus, for metrics that count sentences.")
    ] = None,
    qrels: Annotated[
        Path | None, typer.Option(exists=True, help="Gold documents of each claim, as the data set lists them.")
    ] = None,
    options: BenchParameters,
    concurrency: Concurrency = 2,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Runs methods over one sample of a data set, and prints the table; every method sees the same evidence."""
    from redargue.bench.harness import Bench
    from redargue.bench.system import System

    systems = [System.parse(spec) for spec in method or ["tool-mad"]]
    if seeds > 1:
        systems = [system.seeded(sample.seed + more) for system in systems for more in range(seeds)]
    examples, drawn = _drawn(sample)
    given: list[tuple[str, object]] = [("--qrels", qrels), ("--pages", pages), ("--store", options.store)]
    given += [("--base-url", options.base_url), ("--budget", options.budget)]
    given += [("--embedding-model", options.embedding_model), ("--offline", options.offline)]
    given += [("--as-of", sample.as_of), ("--strict-as-of", sample.strict_as_of)]
    bench = Bench(
        out,
        examples,
        systems,
        sample=drawn,
        config=options.config(sample.seed),
        pages=pages,
        qrels=qrels,
        arguments=_arguments([*given, *(("--model", name) for name in options.model or [])]),
    )
    _run_all(bench, systems, concurrency=concurrency or 2, json=json, quiet=quiet)


def _drawn(sample: SampleParameters) -> tuple[tuple[Example, ...], dict[str, Any]]:
    """The examples of a sample, and how they were taken."""
    from redargue.bench.datasets.loading import load
    from redargue.bench.temporal import apply_as_of
    from redargue.cli.options import read_settings
    from redargue.config import read_date

    own = read_settings(sample.option or []) | ({"mapping": sample.mapping} if sample.mapping else {})
    loaded = load(
        sample.dataset,
        sample.path,
        limit=sample.limit,
        take=sample.take,
        half=sample.half,
        seed=sample.seed,
        options=own,
    )
    drawn, as_of = loaded.sample.model_dump(mode="json"), read_date(sample.as_of)
    return apply_as_of(loaded.examples, drawn, as_of=as_of, strict_as_of=sample.strict_as_of)


def _run_all(bench: Bench, systems: Sequence[System], *, concurrency: int, json: bool, quiet: bool) -> NoReturn:
    """Runs the systems, prints the table and exits with the code that their verdicts amount to."""
    from redargue.bench import compare as comparison
    from redargue.bench.batch import Tally
    from redargue.cli.exit import NO_GATE, exit_code

    rows: dict[str, Row] = {}
    tallies = [Tally() for _ in systems]
    try:
        for system, tally in zip(systems, tallies, strict=True):
            rows[system.slug] = _run(bench, system, tally, concurrency=concurrency, quiet=quiet)
    except KeyboardInterrupt:
        typer.echo(f"interrupted; the same command goes on in {bench.folder}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    result = comparison.compare(bench, made=rows)
    comparison.write_results(result, bench.folder)
    _print(result, json=json)
    raise typer.Exit(exit_code([kind for tally in tallies for kind in tally.kinds], NO_GATE))


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(exists=True, metavar="FILE", help="Runs that MERMAID's authors released.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The bench folder; there is none yet.")],
    json: AsJson = False,
) -> None:
    """Makes a record of runs that MERMAID's authors released: it replays and reports like a run of our own."""
    from redargue.bench.mermaid_import import import_runs

    done = import_runs(file, out)
    without = f"; {done.left_out} rows hold no run and are left out" if done.left_out else ""
    typer.echo(f"{done.table.rows[0].scores.n} runs in {out / done.system.slug}{without}", err=True)
    _print(done.table, json=json)


@app.command("compare")
def compare(
    bench: Folder,
    path: Annotated[
        Path | None,
        typer.Option(exists=True, help="The data set: tables what has finished of a bench, from its record."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Prints a bench folder's table again: intervals, paired tests, flips."""
    from redargue.bench import compare as comparison
    from redargue.bench.harness import reopen

    if path:
        comparison.write_results(comparison.compare(reopen(bench, path)), bench)
    _print(comparison.read_results(bench), json=json)


@app.command("ls")
def list_benches(folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where bench folders are.")]) -> None:
    """Lists the bench folders in a folder, with their samples and systems."""
    from redargue.bench.harness import BENCH, read_bench_file
    from redargue.errors import UsageError

    found = sorted([*folder.glob(f"*/{BENCH}"), *folder.glob(BENCH)])
    if not found:
        raise UsageError(f"no bench folder in {str(folder)!r}", hint="redargue bench run -o makes one")
    for path in found:
        about = read_bench_file(path.parent)
        sample, names = about["sample"], ", ".join(each["spec"] for each in about["contenders"])
        print(f"{path.parent}: {sample['dataset']}, {sample['taken']} claims, half {sample['half']}; {names}")  # noqa: T201


@app.command("rescore")
def rescore(
    bench: Folder,
    path: Annotated[Path, typer.Option(exists=True, help="The data set, as the bench was run on it.")],
    method: Annotated[str, typer.Option(help="The system, as it was given.")],
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Instead of its own: thresholds, say.")
    ] = None,
    json: AsJson = False,
) -> None:
    """What recorded debates come to with other settings; no model is asked, and what would be is counted."""
    import asyncio
    import json as encoder

    from redargue.bench import compare as comparison
    from redargue.bench.harness import Outcome, reopen
    from redargue.bench.system import System
    from redargue.cli.options import read_settings
    from redargue.reports.tables import rescored
    from redargue.reports.terminal import print_tables

    opened = reopen(bench, path)
    system = System.parse(method)
    verdicts, lost = asyncio.run(opened.rescore(system, read_settings(setting or [])))
    kept = [(example, verdict) for example, verdict in zip(opened.examples, verdicts, strict=True) if verdict]
    if not kept:
        print("no debate could be rescored: all of them would need calls that were never made")  # noqa: T201
        raise typer.Exit(3)
    outcomes = [Outcome(verdict, 0.0) for _, verdict in kept]
    examples = [example for example, _ in kept]
    scores = comparison.score_outcomes(examples, outcomes, opened.sample["dataset"], pages=opened.pages)
    as_it_was = [each for each, verdict in zip(opened.outcomes(system), verdicts, strict=True) if verdict]
    before = comparison.score_outcomes(examples, as_it_was, opened.sample["dataset"], pages=opened.pages)
    if json:
        told = {"would_need_calls": lost, "scores": scores, "as_recorded": before}
        print(encoder.dumps(told, indent=1, default=lambda each: each.model_dump(mode="json")))  # noqa: T201
        return
    title = f"{len(kept)} claims rescored from the record; {lost} would need calls that were never made"
    print_tables([rescored(title, scores, before)])


def _run(bench: Bench, system: System, tally: Tally, *, concurrency: int, quiet: bool) -> Row:
    """Runs a system; its row, without its outcomes, of which a bench may have too many to hold."""
    import asyncio

    from redargue.bench.compare import make_row
    from redargue.cli.progress import Progress
    from redargue.runs.clock import SystemClock

    total = len(bench.examples)
    with Progress(tally, total, clock=SystemClock(), name=system.spec, quiet=quiet) as progress:

        def seen(item: int, outcome: Any) -> None:
            tally.add(outcome.verdict)
            progress.moved(again=not outcome.seconds)

        outcomes = asyncio.run(bench.run(system, concurrency=concurrency, seen=seen))
    return make_row(bench, system, outcomes)


def _print(result: Comparison, *, json: bool) -> None:
    from redargue.reports.terminal import print_comparison

    if json:
        print(result.model_dump_json(indent=1))  # noqa: T201
    else:
        print_comparison(result)


def _arguments(options: Iterable[tuple[str, object]]) -> list[str]:
    """Options as they are typed, without the keys that an address may carry."""
    from redargue.net.secrets import Secrets, has_credentials, without_credentials

    secrets = Secrets.from_environment()
    given: list[str] = []
    for name, value in options:
        secrets.add_url(str(value))
        if value:
            said = secrets.hide(without_credentials(str(value)) if has_credentials(str(value)) else str(value))
            given += [name] if value is True else [name, said]
    return given
