"""``redargue runs``: lists, shows and removes recorded runs.

``redargue replay``: replays a recorded run offline.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from redargue.cli.output import FINISHED_WITH_ERRORS, print_json
from redargue.cli.parameters import AsJson, Quiet, RunName, Verbose, Yes
from redargue.errors import RecordError, UsageError
from redargue.sanitize import counted, printable, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from redargue.runs.folders import RecordedRun


runs_app = typer.Typer(help="List, show and remove recorded runs.", no_args_is_help=True)


@runs_app.command("ls")
def list_runs(
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="Maximum number of runs, newest first.")] = 20,
    json: AsJson = False,
) -> None:
    """List recorded runs, newest first.

    check and ground record in the folder runs of redargue's home (REDARGUE_HOME), unless --run names another folder or
    --no-record is given.
    """
    from redargue.runs.folders import read_run, run_folders, runs_folder

    folders = run_folders()
    listed = [read_run(folder) for folder in folders[:limit]]
    if json:
        rows = [_fields(run) for run in listed]
        print_json({"folder": str(runs_folder()), "count": len(folders), "runs": rows})
        return
    if listed:
        _print(listed)
    more = f"{len(listed)} of {counted(len(folders), 'run')}" if folders else "no runs"
    typer.echo(printable(f"{more} in {runs_folder()}", lines=False), err=True)


@runs_app.command("show")
def show_run(run: RunName, json: AsJson = False) -> None:
    """Show the verdicts of a recorded run as check printed them."""
    from redargue.cli import report as printed
    from redargue.reports import load_run, result_of
    from redargue.runs.folders import find_run
    from redargue.text import Report

    folder = find_run(run)
    loaded = load_run(folder)
    result = result_of(loaded)
    if json:
        print_json(result)
    elif isinstance(result, Report):
        printed.print_report(result, folder)
    else:
        printed.verdicts(list(result.verdicts), folder)
    if loaded.unfinished:
        typer.echo(f"{counted(loaded.unfinished, 'claim')} not finished", err=True)


@runs_app.command()
def rm(
    runs: Annotated[list[str], typer.Argument(metavar="RUN…", help="Names that runs ls lists, or run folders.")],
    yes: Yes = False,
) -> None:
    """Remove runs with their verdicts and recorded calls permanently."""
    from redargue.runs.folders import described_in, find_run, is_begun, run_folders
    from redargue.runs.manifest import load_manifest

    folders = list(dict.fromkeys(map(find_run, runs)))
    for folder in set(folders).difference(run_folders()):  # those that are listed may be damaged, or of another release
        draft = described_in(folder)
        load_manifest(draft if is_begun(draft) else folder)  # only what is a run is removed
    _remove(folders, yes=yes)


@runs_app.command()
def prune(
    older_than: Annotated[
        int | None,
        typer.Option(metavar="DAYS", min=0, max=36_500, help="Remove runs that began more than DAYS days ago."),
    ] = None,
    keep: Annotated[int | None, typer.Option(metavar="COUNT", min=0, help="Keep the newest COUNT runs.")] = None,
    yes: Yes = False,
) -> None:
    """Remove old runs from redargue's home permanently.

    With both options, a run is removed if it is old enough and not among the newest.
    """
    from datetime import UTC, datetime, timedelta

    from redargue.runs.folders import began, run_folders

    if older_than is None and keep is None:
        raise UsageError("prune needs --older-than or --keep", hint="redargue runs prune --older-than 30")
    latest = datetime.now(UTC) - timedelta(days=older_than or 0)
    _remove([folder for folder in run_folders()[keep or 0 :] if began(folder) <= latest], yes=yes)


def _remove(folders: Sequence[Path], *, yes: bool) -> None:
    from redargue.runs.folders import remove_run

    if folders and not yes:
        for folder in folders:
            typer.echo(printable(str(folder), lines=False), err=True)
        if not typer.confirm(f"Remove {counted(len(folders), 'run')}?", err=True):
            typer.echo("0 runs removed")
            return
    failed = 0
    for folder in folders:
        try:
            remove_run(folder)
        except RecordError as error:
            failed += 1
            typer.echo(printable(f"kept: {error}"), err=True)
    typer.echo(f"{counted(len(folders) - failed, 'run')} removed")
    if failed:
        raise typer.Exit(FINISHED_WITH_ERRORS)


def _print(runs: Sequence[RecordedRun]) -> None:
    from redargue.reports.markdown import print_tables
    from redargue.reports.table import Cell, Column, Table, number

    texts = Column("Run"), Column("Method")
    counts = number("Claims"), number("kB", ",.0f")
    columns = (*texts, *counts, Column("Verdicts"), Column("File or first claim", "name"))
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        name, method, checked = run.folder.name, run.method or "damaged", shortened(run.name or run.first, 40)
        rows.append((name, method, run.claims, run.size / 1000, _verdicts(run), checked))
    print_tables([Table("", columns, tuple(rows))])


def _verdicts(run: RecordedRun) -> str:
    words = {"not_enough": "not enough evidence"}
    counts = [f"{count} {words.get(name, name)}" for name, count in sorted(run.outcomes.items())]
    if run.unread:
        counts.append(f"{counted(run.unread, 'sentence')} not read")
    if (unfinished := run.claims - run.outcomes.total()) > 0:
        counts.append(f"{unfinished} unfinished")
    return ", ".join(counts)


def _fields(run: RecordedRun) -> dict[str, object]:
    texts = {"folder": str(run.folder), "began": run.began.isoformat()}
    return {"run": run.folder.name, **run._asdict(), **texts, "outcomes": dict(run.outcomes)}


def replay_run(run: RunName, json: AsJson = False, quiet: Quiet = False, verbose: Verbose = False) -> None:
    """Replay a recorded run offline and compare it with its record.

    Every call and search is answered from the record. The schema of --json is docs/schemas/check.v2.json.
    """
    from itertools import zip_longest

    from rich.console import Console
    from rich.text import Text

    from redargue.api import replay as replay_run
    from redargue.cli import report
    from redargue.cli.live import describe
    from redargue.events import Event, canonical
    from redargue.reports import CheckResult
    from redargue.runs.folders import find_run
    from redargue.runs.manifest import replayed_by
    from redargue.runs.record import Record, last_attempts

    console = Console(file=sys.stderr, highlight=False)
    seen: list[Event] = []

    def see(event: Event) -> None:
        seen.append(event)
        if verbose and not quiet and (text := describe(event, record.manifest.claims[event.item].labels)):
            console.print(Text(text), soft_wrap=True)

    folder = find_run(run)
    record = Record(folder, mode="replay")
    verdicts = asyncio.run(replay_run(record, listeners=[see]))
    replayed = {event.item for event in seen}
    recorded = [event for event in last_attempts(folder) if event.item in replayed]
    if json:
        print_json(CheckResult(verdicts=tuple(verdicts)))
    else:
        report.verdicts(verdicts, None)
    if canonical(seen) != canonical(recorded):
        pairs = zip_longest(canonical(seen), canonical(recorded), fillvalue={"kind": "missing"})
        kind = next(before["kind"] for now, before in pairs if now != before)
        what = f"the replay differs from the record, first in an event of kind {kind!r}"
        hint = replayed_by(record.manifest.redargue) or "the code has changed since the run was recorded"
        raise RecordError(what, where=str(folder), hint=hint)
    done = f"{len(replayed):,} of {counted(len(verdicts), 'claim')}"
    console.print(Text(f"replayed {done}: every event is as recorded", "green"))
