"""``redargue batch``: the claims of a table or JSON file, resumable."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from redargue.cli.check import CONCURRENCY
from redargue.cli.exit import INTERRUPTED, exit_code, read_gate
from redargue.cli.parameters import OutputParameters, RunParameters, SearchParameters, option, with_parameters
from redargue.sanitize import counted, printable

if TYPE_CHECKING:
    from redargue.bench.batch import Tally


@with_parameters
def batch(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv, .tsv, .json or .jsonl file; .gz too.")],
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Batch folder; the same command resumes the batch.")
    ],
    mapping: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="ROLE=COLUMN,…", help="claim=…,context=…,options=…,labels=…,as_of=…"),
    ] = None,
    options: RunParameters,
    search: SearchParameters,
    output: OutputParameters,
    engine: Annotated[
        str, typer.Option(metavar="local|ray", help="Use several workers: local processes, or tasks of a Ray cluster.")
    ] = "",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of workers; default: 2 processes, or one task per CPU.")
    ] = None,
    ledger: Annotated[str, option("LEDGER", "Ledger of the workers: postgresql://… or a local file.")] = "",
) -> None:
    """Verify the claims of a file.

    Writes verdicts.jsonl, verdicts.csv and a run folder.
    """
    from redargue.bench.batch import Tally, read_claims, read_mapping
    from redargue.claims import with_strict_as_of
    from redargue.cli.coordinator import verify_in_process, verify_many
    from redargue.cli.options import run_config

    gate, config = read_gate(output), run_config(options, search, out)
    claims = list(read_claims(file, read_mapping(mapping or []), labels=config.labels, as_of=config.as_of))
    claims = with_strict_as_of(claims) if config.strict_as_of else claims
    tally = Tally()
    arguments = config, claims, tally, out, output
    if engine or workers:
        chosen, concurrency = engine or "local", options.concurrency
        interrupted = verify_many(*arguments, engine=chosen, workers=workers, where=ledger, concurrency=concurrency)
    else:
        interrupted = verify_in_process(*arguments, concurrency=options.concurrency or CONCURRENCY)
    if not (output.jsonl or (interrupted and not (engine or workers))):
        _summary(tally, out)
    raise typer.Exit(INTERRUPTED if interrupted else exit_code(tally.outcomes, gate))


def _summary(tally: Tally, out: Path) -> None:
    counts = ", ".join(f"{count} {printable(name)}" for name, count in sorted(tally.labels.items()))
    print(f"{counted(len(tally.outcomes), 'claim')}: {counts}")  # noqa: T201
    print(f"verdicts: {out / 'verdicts.csv'}, {out / 'verdicts.jsonl'}")  # noqa: T201
