"""``redargue bench table``: a published table with our figures beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redargue.cli.bench import INTERRUPTED

if TYPE_CHECKING:
    from redargue.evals.papers.running import Choice

EVERY = "all"


def table(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Tables, or `all`; without a name they are listed.")
    ] = None,
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
    seed: Annotated[int, typer.Option(help="Of the samples and the runs.")] = 0,
    profile: Annotated[str, typer.Option(help="paper with a model, hardened without, unless given.")] = "",
    model: Annotated[str, typer.Option(envvar="REDARGUE_MODEL", help="A language model, for every role.")] = "",
    base_url: Annotated[str, typer.Option(envvar="REDARGUE_BASE_URL")] = "",
    embedding_model: Annotated[str, typer.Option(envvar="REDARGUE_EMBEDDING_MODEL")] = "",
    budget: Annotated[
        str, typer.Option(envvar="REDARGUE_BUDGET", help="Of each method on each data set: 200ktok, 0.50usd.")
    ] = "",
    memory_from: Annotated[
        str, typer.Option(metavar="MODEL", help="Whose runs' memories rows with another's memory get; `embedded` too.")
    ] = "",
    offline: Annotated[bool, typer.Option("--offline", envvar="REDARGUE_OFFLINE")] = False,
    at_once: Annotated[int, typer.Option(envvar="REDARGUE_AT_ONCE", min=1)] = 2,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line, a line a table.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", envvar="REDARGUE_QUIET")] = False,
) -> None:
    """Runs what a published table needs and prints it: the paper's figures, ours, and what cannot be compared."""
    given = dict(locals())
    from redargue import verifier  # noqa: F401  (registers everything)
    from redargue.cli.check import NO_GATE, exit_code
    from redargue.cli.progress import Progress
    from redargue.evals.batch import Tally
    from redargue.evals.papers.running import Runner
    from redargue.evals.papers.shown import compared
    from redargue.evals.papers.tables import find, papers
    from redargue.ledger.clock import SystemClock
    from redargue.reports.published import published_table
    from redargue.reports.terminal import print_tables

    @contextmanager
    def watch(name: str, total: int) -> Iterator[Callable[[int, Any], None]]:
        tally = Tally()
        with Progress(tally, total, clock=SystemClock(), name=name, quiet=quiet) as progress:

            def seen(item: int, outcome: Any) -> None:
                tally.add(outcome.verdict)
                progress.moved(again=not outcome.seconds)

            yield seen

    def tell(what: str) -> None:
        if not quiet:
            typer.echo(what, err=True)

    every = [each for paper in papers() for each in paper.tables]
    if not names:
        for each in every:
            print(f"{each.name}: {each.label}, {each.title}")  # noqa: T201
        return
    wanted = [find(name) for name in ([each.name for each in every] if names == [EVERY] else names)]
    choice = _choice(given)
    choice.check(paper for paper, _ in wanted)
    runners: dict[int, Runner] = {}
    try:
        for paper, each in wanted:
            runner = runners.setdefault(id(paper), Runner(paper, choice, watch, tell))
            if each.sets and not runner.columns(each):
                continue  # --set names data sets of another paper
            runner.run(each)
            result = compared(each, runner)
            if json:
                print(result.model_dump_json(), flush=True)  # noqa: T201
            else:
                print_tables([published_table(result)])
    except KeyboardInterrupt:
        typer.echo(f"interrupted; the same command goes on in {out}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    verdicts = [verdict for runner in runners.values() for cell in runner.cells.values() for verdict in cell.verdicts]
    raise typer.Exit(exit_code(verdicts, NO_GATE) if verdicts else 0)


def _choice(given: dict[str, Any]) -> Choice:
    from redargue.evals.papers.running import Choice
    from redargue.ledger.prices import Prices

    model = given["model"]
    options: dict[str, Any] = {name: given[name] for name in ("model", "base_url", "offline")}
    options |= {"prices": Prices.read(), "chat": {"embedding_model": given["embedding_model"]} if model else {}}
    return Choice(
        out=given["out"],
        data=given["data"],
        limit=given["limit"] or 0,
        half=given["half"],
        take=given["take"],
        seed=given["seed"],
        profile=given["profile"] or ("paper" if model else "hardened"),
        model=model,
        sets=tuple(given["only"] or ()),
        tools=_pairs("--tool", given["tool"], ("rag", "search")),
        paths={name: Path(file) for name, file in _pairs("--path", given["path"]).items()},
        stores=_pairs("--store", given["store"]),
        options=options,
        budget=given["budget"],
        at_once=given["at_once"],
        memory_from=given["memory_from"],
    )


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
