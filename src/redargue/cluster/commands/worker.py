"""``redargue worker``: an additional worker for a batch, on this machine or another."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from redargue.cli.exit import resumable
from redargue.cli.logs import log_to_stderr
from redargue.cli.parameters import LedgerWait, LogLevel
from redargue.cluster.commands.ledger import Where
from redargue.errors import RecordError, StoreUnavailable


def worker(
    ledger: Where,
    batch: Annotated[str, typer.Option(metavar="ID", help="Batch id (see ledger.json); default: the newest.")] = "",
    ledger_wait: LedgerWait = 60.0,
    log_level: LogLevel = "warning",
) -> None:
    """Verify claims of a batch started by batch --engine."""
    from redargue.cluster.commands.coordinator import run_worker

    log_to_stderr(log_level)
    try:
        with resumable():
            run_worker(ledger, batch, owner=os.environ.get("REDARGUE_WORKER", ""), wait=ledger_wait)
    except (RecordError, StoreUnavailable) as error:  # of the ledger: a restart may succeed
        typer.echo(f"redargue: {error}", err=True)
        raise typer.Exit(5) from None
