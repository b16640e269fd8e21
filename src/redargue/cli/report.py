"""``redargue report``: a bench or a run as a page, a document, data, or a queue for a person to adjudicate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A bench folder or a run folder.")],
    format: Annotated[
        str, typer.Option("--format", "-f", help="html, md, json, claimreview or adjudication.")
    ] = "html",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write there, not to standard output.")
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="SPEC", help="Of a bench: whose verdicts (claimreview, adjudication).")
    ] = "",
    adjudicated: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A filled adjudication file (.jsonl or .csv), to add a table of it."),
    ] = None,
) -> None:
    """Makes a report of a finished bench or run; no model is asked, and the page loads nothing."""
    import sys

    from redargue.errors import UsageError
    from redargue.reports.render import render

    csv = out is not None and out.suffix.lower() == ".csv"
    made = render(run, format, method=method, adjudicated=adjudicated, csv=csv)
    if out is None:
        sys.stdout.write(made)
        return
    try:
        with out.open("w", encoding="utf-8", newline="") as file:
            file.write(made)
    except OSError as error:
        raise UsageError(f"{str(out)!r} cannot be written: {error.strerror}", where="--out") from error
    typer.echo(f"{format} report: {out} ({len(made.encode()):,} bytes)", err=True)
