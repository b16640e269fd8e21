"""``redargue worker``: one more process for a batch, on this machine or another."""

from __future__ import annotations

import os
from typing import Annotated

import typer


def worker(
    ledger: Annotated[
        str, typer.Argument(envvar="REDARGUE_LEDGER", help="What the workers share: postgresql://…, or a file.")
    ],
    batch: Annotated[str, typer.Option(metavar="ID", help="As its folder's ledger.json names it; the newest.")] = "",
) -> None:
    """Works on a batch that was begun with ``redargue batch --engine``, until nothing of it is left."""
    from redargue.cli.coordinator import run_worker
    from redargue.errors import DiskFull, RecordError, StoreLocked

    try:
        run_worker(ledger, batch, owner=os.environ.get("REDARGUE_WORKER", ""))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except (RecordError, StoreLocked, DiskFull) as error:  # of the ledger: another one may do better
        typer.echo(f"redargue: {error}", err=True)
        raise typer.Exit(5) from None
