"""``redargue bench rescore``: recorded verdicts with other settings, and two recorded systems as a cascade."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from redargue.bench.commands.bench import Folder
from redargue.cli.exit import FINISHED_WITH_ERRORS
from redargue.cli.output import print_json
from redargue.cli.parameters import AsJson
from redargue.errors import UsageError
from redargue.sanitize import counted


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
    of the two benches by their text.
    """
    if then:
        _rescore_pair(bench, method, then, then_method, json=json)
        return
    if not path or not method:
        raise UsageError("--path and --method are missing", hint="or name a second bench: --then DIR")
    from redargue.bench import compare as comparison
    from redargue.bench.harness import ClaimOutcome, reopen
    from redargue.bench.reports.tables import rescored_table
    from redargue.bench.system import System
    from redargue.cli.options import read_settings
    from redargue.reports.terminal import print_tables

    opened = reopen(bench, path)
    system = System.parse(method)
    verdicts, lost = asyncio.run(opened.rescore(system, read_settings(setting or [])))
    triples = zip(opened.examples, verdicts, opened.outcomes(system), strict=True)
    rescored_claims = [
        (example, ClaimOutcome(verdict, 0.0), recorded) for example, verdict, recorded in triples if verdict
    ]
    if not rescored_claims:
        print("no debate could be rescored: all of them need calls that were not recorded")  # noqa: T201
        raise typer.Exit(FINISHED_WITH_ERRORS)
    examples, outcomes, recorded_outcomes = zip(*rescored_claims, strict=True)
    scores = comparison.score_outcomes(examples, outcomes, opened.sample["dataset"], pages=opened.pages)
    before = comparison.score_outcomes(examples, recorded_outcomes, opened.sample["dataset"], pages=opened.pages)
    if json:
        print_json({"would_need_calls": lost, "scores": scores, "as_recorded": before})
        return
    title = (
        f"{counted(len(examples), 'claim')} rescored from the record; {lost} would need calls that were not recorded"
    )
    print_tables([rescored_table(title, scores, before)])


def _rescore_pair(folder: Path, method: str, then: Path, then_method: str, *, json: bool) -> None:
    """Prints what two recorded systems would have cost and said as a cascade, threshold by threshold."""
    from redargue.bench.compare import read_results
    from redargue.bench.reports.frontier import rescored_pairs
    from redargue.bench.rescore import frontier, paired, row_of
    from redargue.reports.terminal import print_tables

    first, second = read_results(folder), read_results(then)
    first_row, second_row = row_of(first, method), row_of(second, then_method)
    points = frontier(paired(first, first_row, second, second_row))
    if json:
        print_json({"first": first_row.spec, "then": second_row.spec, "points": points})
    else:
        print_tables([rescored_pairs(first_row.spec, second_row.spec, points)])
