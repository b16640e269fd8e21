"""``redargue bench table``: a published table with our figures beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from redargue.cli.bench import INTERRUPTED
from redargue.cli.parameters import BaseUrl, Concurrency, EmbeddingModel, Offline, Quiet, with_parameters

if TYPE_CHECKING:
    from redargue.bench.harness import Outcome
    from redargue.bench.tables.runner import Choice
    from redargue.bench.tables.schema import Paper, PublishedTable
    from redargue.config import RunConfig

EVERY = "all"


@dataclass(frozen=True, kw_only=True)
class TableParameters:
    """The configuration that all methods of a table share."""

    seed: Annotated[int, typer.Option(help="Of the samples and the runs.")] = 0
    profile: Annotated[str, typer.Option(help="paper with a model, hardened without, unless given.")] = ""
    model: Annotated[str, typer.Option(envvar="REDARGUE_MODEL", help="A language model, for every role.")] = ""
    base_url: BaseUrl = ""
    embedding_model: EmbeddingModel = ""
    budget: Annotated[
        str, typer.Option(envvar="REDARGUE_BUDGET", help="Of each method on each data set: 200ktok, 0.50usd.")
    ] = ""
    offline: Offline = False

    def config(self) -> RunConfig:
        """The configuration.

        Raises:
            UsageError: what cannot be read.
        """
        from redargue.config import RunConfig

        return RunConfig(
            profile=self.profile or ("paper" if self.model else "hardened"),
            model=self.model,
            base_url=self.base_url,
            embedding_model=self.embedding_model if self.model else "",
            offline=self.offline,
            budget=self.budget,
            seed=self.seed,
        )


@with_parameters
def table(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Tables, or `all`; without a name they are listed.")
    ] = None,
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="The runs; the same command again goes on.")
    ] = Path("runs/tables"),
    data: Annotated[
        Path | None, typer.Option(envvar="REDARGUE_DATA", exists=True, help="Holds benchmarks/SET/FILE.")
    ] = None,
    path: Annotated[
        list[str] | None, typer.Option(metavar="SET=FILE", help="A data set that lies elsewhere; repeat it.")
    ] = None,
    store: Annotated[
        list[str] | None, typer.Option(metavar="SET=CORPUS", help="A corpus that is searched instead; repeat it.")
    ] = None,
    tool: Annotated[
        list[str] | None, typer.Option(metavar="rag|search=TOOL", help="The tools of the paper's two agents.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option("--set", metavar="SET", help="This column; repeat it.")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Claims a data set at most: 300, 100 of MedQA; the papers have 200.")
    ] = None,
    take: Annotated[str, typer.Option(help="first, random or balanced.")] = "random",
    half: Annotated[str, typer.Option(help="even, odd or all: by the claim's hash; odd to report.")] = "even",
    options: TableParameters,
    memory_from: Annotated[
        str, typer.Option(metavar="MODEL", help="Whose runs' memories rows with another's memory get; `embedded` too.")
    ] = "",
    concurrency: Concurrency = 2,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line, a line a table.")] = False,
    quiet: Quiet = False,
) -> None:
    """Runs what a published table needs and prints it: the paper's figures, ours, and what cannot be compared."""
    from redargue.bench.tables.runner import Choice
    from redargue.bench.tables.schema import find_table, papers

    if not names:
        _list()
        return
    known = [published.name for paper in papers() for published in paper.tables]
    wanted = [find_table(name) for name in (known if names == [EVERY] else names)]
    choice = Choice(
        out=out,
        data=data,
        limit=limit or 0,
        half=half,
        take=take,
        sets=tuple(only or ()),
        tools=_pairs("--tool", tool, ("rag", "search")),
        paths={name: Path(file) for name, file in _pairs("--path", path).items()},
        stores=_pairs("--store", store),
        config=options.config(),
        concurrency=concurrency or 2,
        memory_from=memory_from,
    )
    choice.check(paper for paper, _ in wanted)
    _run(wanted, choice, json=json, quiet=quiet)


def _list() -> None:
    from redargue.bench.tables.schema import papers

    for paper in papers():
        for published in paper.tables:
            print(f"{published.name}: {published.label}, {published.title}")  # noqa: T201


def _run(wanted: Sequence[tuple[Paper, PublishedTable]], choice: Choice, *, json: bool, quiet: bool) -> NoReturn:
    """Runs and prints the tables, and exits with the code that their verdicts amount to."""
    from redargue.bench.tables.comparison import compare_table
    from redargue.bench.tables.runner import Runner
    from redargue.cli.exit import NO_GATE, exit_code
    from redargue.reports.published import published_table
    from redargue.reports.terminal import print_tables

    def tell(what: str) -> None:
        if not quiet:
            typer.echo(what, err=True)

    runners: dict[int, Runner] = {}
    try:
        for paper, published in wanted:
            runner = runners.setdefault(id(paper), Runner(paper, choice, partial(_progress, quiet=quiet), tell))
            if published.sets and not runner.columns(published):
                continue  # --set names data sets of another paper
            runner.run(published)
            result = compare_table(published, runner)
            if json:
                print(result.model_dump_json(), flush=True)  # noqa: T201
            else:
                print_tables([published_table(result)])
    except KeyboardInterrupt:
        typer.echo(f"interrupted; the same command goes on in {choice.out}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    verdicts = [verdict for runner in runners.values() for cell in runner.cells.values() for verdict in cell.verdicts]
    raise typer.Exit(exit_code(verdicts, NO_GATE) if verdicts else 0)


@contextmanager
def _progress(name: str, total: int, *, quiet: bool) -> Iterator[Callable[[int, Outcome], None]]:
    """Shows how far a system is."""
    from redargue.bench.batch import Tally
    from redargue.cli.progress import Progress
    from redargue.runs.clock import SystemClock

    tally = Tally()
    with Progress(tally, total, clock=SystemClock(), name=name, quiet=quiet) as progress:

        def seen(item: int, outcome: Outcome) -> None:
            tally.add(outcome.verdict)
            progress.moved(again=not outcome.seconds)

        yield seen


def _pairs(option: str, given: list[str] | None, known: tuple[str, ...] = ()) -> dict[str, str]:
    """What an option names, as NAME=VALUE.

    Raises:
        UsageError: no such pair, or another name.
    """
    from redargue.errors import UsageError
    from redargue.registry import did_you_mean

    found = {}
    for pair in given or ():
        name, equals, value = pair.partition("=")
        if not equals or not value:
            raise UsageError(f"cannot read {pair!r}", where=option, hint="write it like NAME=VALUE")
        if known and name not in known:
            raise UsageError(f"unknown {name!r}", where=option, hint=did_you_mean(name, list(known)))
        found[name] = value
    return found
