"""``redargue ledger``: lists the batches of a ledger, and removes them."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from redargue.cli.output import print_json
from redargue.cli.parameters import AsJson
from redargue.errors import UsageError
from redargue.sanitize import counted, printable

ledger_app = typer.Typer(help="List and remove the batches of a ledger.", no_args_is_help=True)

Where = Annotated[
    str, typer.Argument(envvar="REDARGUE_LEDGER", help="Ledger of the workers: postgresql://… or a file.")
]


@ledger_app.command("ls")
def list_batches(ledger: Where, as_json: AsJson = False) -> None:
    """List batches, newest first: id, method, progress, cost."""
    from redargue.cluster.batches import summarize_batches
    from redargue.cluster.store import open_ledger
    from redargue.net.services import is_offline, require_local

    if is_offline():
        require_local(ledger, what="ledger")
    with closing(open_ledger(ledger, make=False)) as database:
        batches = summarize_batches(database)
    if as_json:
        print_json({"schema_version": 1, "batches": [batch._asdict() for batch in batches]}, indent=None)
        return
    for batch in batches:
        progress = f"{batch.done:,} of {batch.total:,} done, {batch.errors:,} failed, {batch.leased:,} in progress"
        cost = f"calls: {batch.calls:,}, tokens: {batch.tokens:,}" + (f", ${batch.usd:.4f}" if batch.usd else "")
        line = f"{batch.id[:12]}  {batch.method:<16}  {progress}; workers: {batch.workers}; {cost}"
        typer.echo(printable(line, lines=False))
    typer.echo(f"{len(batches)} {'batch' if len(batches) == 1 else 'batches'}", err=True)


@ledger_app.command()
def drop(
    ledger: Where,
    batch: Annotated[str, typer.Argument(help="Batch id as listed by ls, or a unique prefix.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove a batch permanently; exported folders remain."""
    from redargue.cluster.batches import drop_batch
    from redargue.cluster.queue import count_finished, find_batch
    from redargue.cluster.store import open_ledger
    from redargue.net.services import is_offline, require_local

    if not batch:  # find_batch would return the newest
        raise UsageError("'' is not a batch id", hint="redargue ledger ls lists them")
    if is_offline():
        require_local(ledger, what="ledger")
    with closing(open_ledger(ledger, make=False)) as database:
        found_batch = find_batch(database, batch)
        done = count_finished(database, found_batch.number).done
        question = (
            f"Remove batch {found_batch.id[:12]} with {counted(found_batch.total, 'claim')}, {done:,} of them done?"
        )
        removed = drop_batch(database, found_batch) if yes or typer.confirm(question, err=True) else 0
    if as_json:
        print_json({"schema_version": 1, "removed": removed}, indent=None)
    else:
        typer.echo(f"{counted(removed, 'claim')} removed")
