"""``redargue bench``: methods on data sets, compared claim by claim."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from redargue.evals.batch import Tally
    from redargue.evals.comparison import Comparison, Row
    from redargue.evals.contender import Contender
    from redargue.evals.harness import Bench

app = typer.Typer(no_args_is_help=True, help="Methods on data sets: runs, tables, paired tests.")

INTERRUPTED = 130

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A bench folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object.")]


@app.command("run")
def run(
    dataset: Annotated[str, typer.Option(help="redargue list datasets")],
    path: Annotated[Path, typer.Option(exists=True, help="The data set as it is downloaded: a file or folder.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The bench folder; the same command again goes on.")],
    method: Annotated[
        list[str] | None,
        typer.Option(metavar="METHOD[@PROFILE][:SETTING=VALUE,…][~OTHER][#SEED]", help="A row; repeat it."),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="Of the data set: with_evidence=true.")
    ] = None,
    mapping: Annotated[str, typer.Option("--map", help="For CSV and JSONL: claim=…,label=…")] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="Claims at most.")] = None,
    take: Annotated[str, typer.Option(help="first, random, balanced or group (so many of each).")] = "first",
    half: Annotated[str, typer.Option(help="even, odd or all: by the claim's hash.")] = "all",
    seed: Annotated[int, typer.Option(help="Of the sample and the runs.")] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each method, with this many seeds from --seed on.")] = 1,
    pages: Annotated[
        Path | None, typer.Option(exists=True, help="The data set's corpus, for metrics that count sentences.")
    ] = None,
    qrels: Annotated[
        Path | None, typer.Option(exists=True, help="Gold documents of each claim, as the data set lists them.")
    ] = None,
    store: Annotated[str | None, typer.Option(envvar="REDARGUE_STORE", help="The corpus that tools search.")] = None,
    model: Annotated[
        list[str] | None, typer.Option(envvar="REDARGUE_MODEL", metavar="[ROLE=]NAME", help="A language model.")
    ] = None,
    base_url: Annotated[str, typer.Option(envvar="REDARGUE_BASE_URL")] = "",
    embedding_model: Annotated[str, typer.Option(envvar="REDARGUE_EMBEDDING_MODEL")] = "",
    as_of: Annotated[
        str, typer.Option(metavar="DATE", help="Judge claims that bring no day along as of that day.")
    ] = "",
    only_in_time: Annotated[
        bool, typer.Option("--only-in-time", help="Leave out evidence later than a claim's day, or without a date.")
    ] = False,
    budget: Annotated[
        str | None, typer.Option(envvar="REDARGUE_BUDGET", help="Of each method: 40calls, 200ktok, 0.50usd.")
    ] = None,
    offline: Annotated[bool, typer.Option("--offline", envvar="REDARGUE_OFFLINE")] = False,
    at_once: Annotated[int, typer.Option(envvar="REDARGUE_AT_ONCE", min=1)] = 2,
    json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", envvar="REDARGUE_QUIET")] = False,
) -> None:
    """Runs methods over one sample of a data set, and prints the table; every method sees the same evidence."""
    from redargue.cli.check import NO_GATE, exit_code
    from redargue.cli.options import read_day, read_models, read_settings
    from redargue.evals import comparison
    from redargue.evals.batch import Tally
    from redargue.evals.contender import Contender
    from redargue.evals.datasets.catalogue import load
    from redargue.evals.harness import Bench
    from redargue.evals.timing import judged
    from redargue.ledger.budget import Budget
    from redargue.ledger.prices import Prices

    contenders = [Contender.parse(each) for each in method or ["tool-mad"]]
    if seeds > 1:
        contenders = [each.seeded(seed + more) for each in contenders for more in range(seeds)]
    own = read_settings(option or []) | ({"mapping": mapping} if mapping else {})
    loaded = load(dataset, path, limit=limit, take=take, half=half, seed=seed, options=own)
    drawn = loaded.sample.model_dump(mode="json")
    examples, sample = judged(loaded.examples, drawn, as_of=read_day(as_of), only_in_time=only_in_time)
    limits = Budget.parse(budget) if budget else None
    whole, models = read_models(model or [])
    chat = {"embedding_model": embedding_model} if whole else {}
    options: dict[str, Any] = {"store": store, "seed": seed, "offline": offline, "base_url": base_url}
    options |= {"model": whole, "models": models, "chat": chat, "prices": Prices.read()}
    said: dict[str, object] = {
        "--qrels": qrels,
        "--pages": pages,
        "--store": store,
        "--base-url": base_url,
        "--budget": budget,
    }
    said |= {"--embedding-model": embedding_model, "--offline": offline}
    said |= {"--as-of": as_of, "--only-in-time": only_in_time}
    bench = Bench(
        out,
        examples,
        contenders,
        sample=sample,
        options=options,
        pages=pages,
        qrels=qrels,
        arguments=_arguments([*said.items(), *(("--model", each) for each in model or [])]),
    )
    rows: dict[str, Row] = {}
    tallies = [Tally() for _ in contenders]
    try:
        for contender, tally in zip(contenders, tallies, strict=True):
            bench.options["budget"] = limits
            rows[contender.slug] = _run(bench, contender, tally, at_once=at_once, quiet=quiet)
    except KeyboardInterrupt:
        typer.echo(f"interrupted; the same command goes on in {out}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    result = comparison.compare(bench, made=rows)
    comparison.keep(result, out)
    _print(result, json=json)
    raise typer.Exit(exit_code([kind for tally in tallies for kind in tally.kinds], NO_GATE))


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(exists=True, metavar="FILE", help="Runs that MERMAID's authors released.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The bench folder; there is none yet.")],
    json: AsJson = False,
) -> None:
    """Makes a record of runs that MERMAID's authors released: it replays and reports like a run of our own."""
    from redargue.evals.recorded import import_runs

    done = import_runs(file, out)
    without = f"; {done.left_out} rows hold no run and are left out" if done.left_out else ""
    typer.echo(f"{done.table.rows[0].scores.n} runs in {out / done.contender.slug}{without}", err=True)
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
    from redargue.evals import comparison
    from redargue.evals.harness import reopened

    if path:
        comparison.keep(comparison.compare(reopened(bench, path)), bench)
    _print(comparison.read(bench), json=json)


@app.command("ls")
def list_benches(folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where bench folders are.")]) -> None:
    """Lists the bench folders in a folder, with their samples and contenders."""
    from redargue.errors import UsageError
    from redargue.evals.harness import BENCH, described

    found = sorted([*folder.glob(f"*/{BENCH}"), *folder.glob(BENCH)])
    if not found:
        raise UsageError(f"no bench folder in {str(folder)!r}", hint="redargue bench run -o makes one")
    for path in found:
        about = described(path.parent)
        sample, names = about["sample"], ", ".join(each["spec"] for each in about["contenders"])
        print(f"{path.parent}: {sample['dataset']}, {sample['taken']} claims, half {sample['half']}; {names}")  # noqa: T201


@app.command("rescore")
def rescore(
    bench: Folder,
    path: Annotated[Path, typer.Option(exists=True, help="The data set, as the bench was run on it.")],
    method: Annotated[str, typer.Option(help="The contender, as it was given.")],
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Instead of its own: thresholds, say.")
    ] = None,
    json: AsJson = False,
) -> None:
    """What recorded debates come to with other settings; no model is asked, and what would be is counted."""
    import asyncio
    import json as encoder

    from redargue.cli.options import read_settings
    from redargue.evals import comparison
    from redargue.evals.contender import Contender
    from redargue.evals.harness import Outcome, reopened
    from redargue.reports.tables import rescored
    from redargue.reports.terminal import print_tables

    opened = reopened(bench, path)
    contender = Contender.parse(method)
    verdicts, lost = asyncio.run(opened.rescore(contender, read_settings(setting or [])))
    kept = [(example, verdict) for example, verdict in zip(opened.examples, verdicts, strict=True) if verdict]
    if not kept:
        print("no debate could be rescored: all of them would need calls that were never made")  # noqa: T201
        raise typer.Exit(3)
    outcomes = [Outcome(verdict, 0.0) for _, verdict in kept]
    examples = [example for example, _ in kept]
    scores = comparison.scored(examples, outcomes, opened.sample["dataset"], pages=opened.pages)
    as_it_was = [each for each, verdict in zip(opened.outcomes(contender), verdicts, strict=True) if verdict]
    before = comparison.scored(examples, as_it_was, opened.sample["dataset"], pages=opened.pages)
    if json:
        told = {"would_need_calls": lost, "scores": scores, "as_recorded": before}
        print(encoder.dumps(told, indent=1, default=lambda each: each.model_dump(mode="json")))  # noqa: T201
        return
    title = f"{len(kept)} claims rescored from the record; {lost} would need calls that were never made"
    print_tables([rescored(title, scores, before)])


def _run(bench: Bench, contender: Contender, tally: Tally, *, at_once: int, quiet: bool) -> Row:
    """Runs a contender; its row, without its outcomes, of which a bench may have too many to hold."""
    import asyncio

    from redargue.cli.progress import Progress
    from redargue.evals.comparison import row
    from redargue.ledger.clock import SystemClock

    total = len(bench.examples)
    with Progress(tally, total, clock=SystemClock(), name=contender.spec, quiet=quiet) as progress:

        def seen(item: int, outcome: Any) -> None:
            tally.add(outcome.verdict)
            progress.moved(again=not outcome.seconds)

        outcomes = asyncio.run(bench.run(contender, at_once=at_once, seen=seen))
    return row(bench, contender, outcomes)


def _print(result: Comparison, *, json: bool) -> None:
    from redargue.reports.terminal import print_comparison

    if json:
        print(result.model_dump_json(indent=1))  # noqa: T201
    else:
        print_comparison(result)


def _arguments(options: Iterable[tuple[str, object]]) -> list[str]:
    """Options as they are typed, without the keys that an address may carry."""
    from redargue.keys import Secrets, bare, private

    secrets = Secrets.of()
    given: list[str] = []
    for name, value in options:
        secrets.add_url(str(value))
        if value:
            said = secrets.hide(bare(str(value)) if private(str(value)) else str(value))
            given += [name] if value is True else [name, said]
    return given
