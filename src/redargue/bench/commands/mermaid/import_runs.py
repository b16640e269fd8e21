"""``redargue bench import``: runs that MERMAID's authors released, as a bench folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from redargue.bench.commands.bench import show_comparison
from redargue.cli.parameters import AsJson
from redargue.sanitize import printable


def import_released(
    file: Annotated[Path, typer.Argument(exists=True, metavar="FILE", help="Runs released by MERMAID's authors.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Bench folder to create.")],
    json: AsJson = False,
) -> None:
    """Import runs released by MERMAID's authors.

    The imported runs can be replayed and reported like any other.
    """
    from redargue.bench.commands.mermaid import released_runs

    imported = released_runs.import_runs(file, out)
    for error in imported.refused:
        typer.echo(printable(f"skipped: {error}"), err=True)
    skipped = f"; skipped {imported.left_out} rows without a run" if imported.left_out else ""
    typer.echo(f"{imported.table.rows[0].scores.n} runs in {out / imported.system.slug}{skipped}", err=True)
    show_comparison(imported.table, json=json)
