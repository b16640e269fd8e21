"""``redargue bench run`` and ``compare``, ``redargue list datasets`` and ``redargue calibrate``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from redargue.batch import Tally
from redargue.bench import compare as comparison
from redargue.bench.compare import ComparedSystem, Comparison
from redargue.bench.datasets import Example, apply_as_of, datasets, load
from redargue.bench.harness import Bench, ClaimOutcome, reopen
from redargue.bench.judge import calibrate, calibration_tables, read_judged
from redargue.bench.reports.charts import draw_frontier, frontier_table, require_drawing
from redargue.bench.reports.publishing import publishable, write_tables
from redargue.bench.reports.tables import print_comparison
from redargue.bench.system import System, require_evidence
from redargue.cli.app import BenchGroup
from redargue.cli.list import print_rows, usable
from redargue.cli.options import read_models, read_settings
from redargue.cli.output import exit_code, resumable
from redargue.cli.parameters import (
    AsJson,
    BaseUrl,
    Concurrency,
    EmbeddingModel,
    Mcp,
    MinConfidence,
    Models,
    Offline,
    Quiet,
    ReaderName,
    StoreName,
    StrictAsOf,
    option,
    with_parameters,
)
from redargue.cli.progress import Progress
from redargue.errors import UsageError
from redargue.files import replacing
from redargue.inputs.claims import split_mapping
from redargue.net.secrets import Secrets, has_credentials, without_credentials
from redargue.reports.markdown import print_tables
from redargue.runs.record import SystemClock
from redargue.sanitize import printable
from redargue.spec import DEFAULT_METHOD, RunSpec, read_date

bench_app = typer.Typer(
    cls=BenchGroup, no_args_is_help=True, help="Run methods on data sets, and compare them with paired tests."
)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A bench folder.")]


@dataclass(frozen=True, kw_only=True)
class SampleParameters:
    """The sample of a data set."""

    dataset: Annotated[str, typer.Option(help="Data set; see redargue list datasets.")]
    path: Annotated[Path, typer.Option(exists=True, help="The data set as downloaded: a file or folder.")]
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option", metavar="NAME=VALUE", help="Option of the data set, such as with_evidence=true; repeatable."
        ),
    ] = None
    mapping: Annotated[str, typer.Option("--map", help="Columns of a CSV or JSONL file: claim=…,label=…")] = ""
    labels: Annotated[
        str,
        typer.Option(
            metavar="SET|WORD=LABEL,…",
            help="Labels of a file of your own: a label set, or its words: true=SUPPORTS,false=REFUTES.",
        ),
    ] = ""
    limit: Annotated[int | None, typer.Option(min=1, help="Maximum number of claims.")] = None
    take: Annotated[str, typer.Option(help="Sampling: first, random, balanced, or group (--limit per group).")] = (
        "first"
    )
    half: Annotated[str, typer.Option(help="Half of the data by the claim's hash: even, odd or all.")] = "all"
    seed: Annotated[int, typer.Option(help="Random seed of the sample and the runs.")] = 0
    as_of: Annotated[str, typer.Option(metavar="DATE", help="As-of date for claims that have none.")] = ""
    strict_as_of: StrictAsOf = False


@dataclass(frozen=True, kw_only=True)
class BenchParameters:
    """The configuration that all methods of a bench share."""

    store: StoreName = None
    model: Models = None
    base_url: BaseUrl = ""
    embedding_model: EmbeddingModel = ""
    reader: ReaderName = ""
    budget: Annotated[str | None, option("BUDGET", "Spending limit per method: 40calls, 200ktok, 0.50usd.")] = None
    min_confidence: MinConfidence = None
    mcp: Mcp = None
    offline: Offline = False

    def spec(self, seed: int) -> RunSpec:
        model, models = read_models(self.model or [])
        changed = {
            "model": model,
            "models": models,
            "embedding_model": self.embedding_model if model else "",
            "mcp": tuple(self.mcp or ()),
            "seed": seed,
        }
        return RunSpec(**{**vars(self), **changed})


@bench_app.command("run")
@with_parameters
def run_bench(
    *,
    sample: SampleParameters,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Bench folder; the same command resumes an interrupted bench.")
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(metavar="METHOD[@PROFILE][:SETTING=VALUE,…][~OTHER][#SEED]", help="A system to run; repeatable."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs per method, with consecutive seeds.")] = 1,
    pages: Annotated[
        Path | None, typer.Option(exists=True, help="The data set's corpus, for sentence-level metrics.")
    ] = None,
    qrels: Annotated[
        Path | None, typer.Option(exists=True, help="Relevance judgements (gold documents per claim).")
    ] = None,
    options: BenchParameters,
    concurrency: Concurrency = 2,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run methods on a sample of a data set and print the comparison.

    All methods search the same evidence.
    """
    systems = [System.parse(text) for text in method or [DEFAULT_METHOD]]
    if seeds > 1:
        systems = [system.seeded(sample.seed + offset) for system in systems for offset in range(seeds)]
    examples, drawn = drawn_examples(sample)
    shared = ("store", "mcp", "base_url", "budget", "embedding_model", "reader", "offline")
    arguments = _arguments(
        {
            "qrels": qrels,
            "pages": pages,
            **{name: getattr(options, name) for name in shared},
            "as_of": sample.as_of,
            "strict_as_of": sample.strict_as_of,
            "model": options.model,
            "min_confidence": None if options.min_confidence is None else str(options.min_confidence),  # 0 is a value
        }
    )
    spec = options.spec(sample.seed)
    bench = Bench(out, examples, systems, sample=drawn, spec=spec, pages=pages, qrels=qrels, arguments=arguments)
    frozen = any(example.passages for example in examples)
    require_evidence(systems, sample.dataset, frozen=frozen, store=options.store, mcp=bool(options.mcp))
    _run_all(bench, systems, concurrency=concurrency or 2, json=json, quiet=quiet)


def drawn_examples(sample: SampleParameters) -> tuple[tuple[Example, ...], dict[str, Any]]:
    """The examples of a sample, and the facts of the sample for the record."""
    named = {"mapping": sample.mapping, "labels": sample.labels}
    options = read_settings(sample.option or [], like="--option with_evidence=true")
    options |= {name: value for name, value in named.items() if value}
    limit, take, half = sample.limit, sample.take, sample.half
    loaded = load(sample.dataset, sample.path, limit=limit, take=take, half=half, seed=sample.seed, options=options)
    facts, as_of = loaded.sample.model_dump(mode="json"), read_date(sample.as_of)
    return apply_as_of(loaded.examples, facts, as_of=as_of, strict_as_of=sample.strict_as_of)


def _run_all(bench: Bench, systems: Sequence[System], *, concurrency: int, json: bool, quiet: bool) -> NoReturn:
    rows: dict[str, ComparedSystem] = {}
    tallies = [Tally() for _ in systems]
    with resumable(f"the same command resumes the bench in {bench.folder}"):
        for system, tally in zip(systems, tallies, strict=True):
            with bench_progress(tally, len(bench.examples), system.spec, quiet=quiet) as on_outcome:
                outcomes = asyncio.run(bench.run(system, concurrency=concurrency, on_outcome=on_outcome))
            rows[system.slug] = comparison.make_row(bench, system, outcomes)  # memory may not hold all outcomes
    result = _compared(bench, rows)
    show_comparison(result, json=json)
    raise typer.Exit(exit_code([kind for tally in tallies for kind in tally.outcomes]))


def _compared(bench: Bench, rows: Mapping[str, ComparedSystem]) -> Comparison:
    """Writes the comparison of the systems that have finished, and names the others."""
    result = comparison.compare(bench, made=rows)
    comparison.write_results(result, bench.folder)
    finished = {row.spec for row in result.rows}
    if missing := [system.spec for system in bench.systems if system.spec not in finished]:
        what = f"left out, not finished or its record cannot be read: {', '.join(missing)}"
        typer.echo(printable(what), err=True)
    return result


@bench_app.command("compare")
def compare_benches(
    bench: Folder,
    path: Annotated[
        Path | None, typer.Option(exists=True, help="The data set; recomputes the comparison from the record.")
    ] = None,
    frontier: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png|svg|pdf", help="Also draw accuracy against calls, tokens, dollars and seconds."),
    ] = None,
    tables: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write each table there, as CSV and as LaTeX (booktabs).")
    ] = None,
    json: AsJson = False,
) -> None:
    """Print the comparison of a finished bench: intervals, paired tests, flips."""
    if frontier:
        require_drawing(frontier)
    if path:
        _compared(reopen(bench, path), {})
    result = comparison.read_results(bench)
    show_comparison(result, json=json)
    if tables:
        for file in write_tables(publishable(result), tables):
            typer.echo(f"written: {file}", err=True)
    if frontier:
        if not json:
            print_tables(filter(None, [frontier_table(result)]))
        draw_frontier(result, frontier)
        typer.echo(f"drawn: {frontier}", err=True)


def show_comparison(result: Comparison, *, json: bool) -> None:
    if json:
        print(result.model_dump_json(indent=1))  # noqa: T201
    else:
        print_comparison(result)


def _arguments(options: Mapping[str, object]) -> list[str]:
    """The options as arguments of a command line, without secrets; options without a value are omitted."""
    secrets = Secrets.from_environment()
    arguments: list[str] = []
    for name, option_value in options.items():
        flag = f"--{name.replace('_', '-')}"
        for value in option_value if isinstance(option_value, list) else [option_value]:
            text = str(value)
            secrets.add_url(text)
            if value:
                shown = secrets.hide(without_credentials(text) if has_credentials(text) else text)
                arguments += [flag] if value is True else [flag, shown]
    return arguments


@contextmanager
def bench_progress(
    tally: Tally, total: int, name: str, *, quiet: bool
) -> Iterator[Callable[[int, ClaimOutcome], None]]:
    """Progress of one system; yields the function that a bench calls with each outcome."""
    with Progress(tally, total, clock=SystemClock(), name=name, quiet=quiet) as progress:

        def on_outcome(item: int, outcome: ClaimOutcome) -> None:
            tally.add(outcome.verdict)
            progress.moved(again=not outcome.seconds)

        yield on_outcome


def list_datasets(json: AsJson = False) -> None:
    """List the data sets that the bench reads."""
    rows = {}
    for name, dataset in usable(datasets).items():
        labels = list(dataset.labels.names)
        rows[name] = {"about": dataset.about, "labels": labels, "metric": dataset.metric}
    print_rows(rows, json)


def calibrate_judge(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV, TSV or JSON-lines file, a row for each item.")],
    mapping: Annotated[
        str, typer.Option("--map", metavar="ROLE=COLUMN,…", help="Columns: judge=…,human=…,kind=…,confidence=…")
    ] = "",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Also write the figures as a calibration file.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Compare a judge's verdicts with human labels: base rates, kappa, errors by label and kind, the constant judge.

    The judge is anything that gives labels: a model, a reader, a rule, another person.
    """
    calibration = calibrate(read_judged(file, split_mapping(mapping) if mapping else {}))
    text = calibration.model_dump_json(indent=1)
    if out:
        try:
            with replacing(out) as output:
                output.write(f"{text}\n".encode())
        except OSError as error:
            raise UsageError(f"cannot write {str(out)!r}: {error.strerror}", where="--out") from error
    if json:
        print(text)  # noqa: T201
    else:
        print_tables(calibration_tables(calibration))
