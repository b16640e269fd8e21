"""``redargue ledger``: the batches that workers share, and dropping those that are exported."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(help="Look at the batches that workers share, and drop them.", no_args_is_help=True)

Where = Annotated[
    str, typer.Argument(envvar="REDARGUE_LEDGER", help="What the workers share: postgresql://…, or a file.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.command("ls")
def list_batches(ledger: Where, as_json: AsJson = False) -> None:
    """List batches, the newest first: id, method, claims, how far they are, who works on them, what they have cost."""
    import json

    from redargue.cluster.batches import listed
    from redargue.cluster.store import open_ledger

    database = open_ledger(ledger, make=False)
    try:
        found = listed(database)
    finally:
        database.close()
    if as_json:
        typer.echo(json.dumps({"schema_version": 1, "batches": [each._asdict() for each in found]}))
        return
    for each in found:
        far = f"{each.done:,} of {each.total:,} done, {each.errors:,} errors, {each.leased:,} in work"
        cost = f"{each.calls:,} calls, {each.tokens:,} tokens" + (f", {each.usd:.4f} $" if each.usd else "")
        typer.echo(f"{each.id[:12]}  {each.method:<16}  {far}, {each.workers} workers; {cost}")
    typer.echo(f"{len(found)} batches", err=True)


@app.command()
def drop(
    ledger: Where,
    batch: Annotated[str, typer.Argument(help="Its id, as ls lists it, or how it begins.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove a batch for good, with its results; folders that were written from it stay."""
    import json

    from redargue.cluster.batches import drop as drop_batch
    from redargue.cluster.queue import find, standing
    from redargue.cluster.store import open_ledger
    from redargue.errors import UsageError

    if not batch:  # elsewhere that means the newest
        raise UsageError("'' is no batch's id", hint="redargue ledger ls lists them")
    database = open_ledger(ledger, make=False)
    try:
        found = find(database, batch)
        done = standing(database, found.number).done
        question = f"Remove the batch {found.id[:12]}, {found.total:,} claims, {done:,} of them done?"
        if not yes and not typer.confirm(question, err=True):
            raise typer.Exit(1)
        removed = drop_batch(database, found)
    finally:
        database.close()
    typer.echo(json.dumps({"schema_version": 1, "removed": removed}) if as_json else f"{removed:,} claims removed")
