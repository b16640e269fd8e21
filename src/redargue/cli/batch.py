"""``redargue batch``: the claims of a CSV or JSON-lines file, resumable."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from redargue.cli.check import CONCURRENCY
from redargue.cli.exit import INTERRUPTED, exit_code, read_gate
from redargue.cli.parameters import OutputParameters, RunParameters, SearchParameters, option, with_parameters
from redargue.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redargue.bench.batch import Tally, VerdictFiles
    from redargue.claims import Claim
    from redargue.cli.progress import Progress
    from redargue.config import RunConfig
    from redargue.verifier import Verifier


@with_parameters
def batch(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv, .tsv or .jsonl file; .gz too.")],
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
    from redargue.cli.options import run_config

    gate, config = read_gate(output), run_config(options, search, out)
    claims = list(read_claims(file, read_mapping(mapping or []), labels=config.labels, as_of=config.as_of))
    claims = with_strict_as_of(claims) if config.strict_as_of else claims
    tally = Tally()
    if engine or workers:
        from redargue.cli.coordinator import verify_many

        interrupted = verify_many(
            config,
            claims,
            tally,
            out,
            engine=engine or "local",
            workers=workers,
            where=ledger,
            concurrency=options.concurrency,
            jsonl=output.jsonl,
            quiet=output.quiet,
        )
    else:
        concurrency = options.concurrency or CONCURRENCY
        interrupted = _in_this_process(config, claims, tally, out, output, concurrency=concurrency)
    if not (output.jsonl or (interrupted and not (engine or workers))):
        _summary(tally, out)
    raise typer.Exit(INTERRUPTED if interrupted else exit_code(tally.kinds, gate))


def _in_this_process(
    config: RunConfig, claims: Sequence[Claim], tally: Tally, out: Path, output: OutputParameters, *, concurrency: int
) -> bool:
    """Verifies the claims in this process; returns whether it was interrupted."""
    import asyncio

    from redargue.bench.batch import VerdictFiles
    from redargue.cli.options import connected
    from redargue.cli.progress import Progress
    from redargue.verifier import Verifier

    try:
        with (
            Verifier(config, components=connected(config), folder=out, claims=claims) as verifier,
            VerdictFiles(out) as files,
            Progress(
                tally, len(claims), clock=verifier.clock, known=_finished(verifier), quiet=output.quiet
            ) as progress,
        ):
            work = _verify(verifier, claims, files, tally, progress, concurrency=concurrency, jsonl=output.jsonl)
            asyncio.run(work)
    except KeyboardInterrupt:
        done = f"{len(tally.kinds)} of {len(claims)} claims"
        typer.echo(f"interrupted after {done}; the same command resumes the batch", err=True)
        return True
    return False


async def _verify(
    verifier: Verifier,
    claims: Sequence[Claim],
    files: VerdictFiles,
    tally: Tally,
    progress: Progress,
    *,
    concurrency: int,
    jsonl: bool,
) -> None:
    async for item, verdict in verifier.stream(claims, concurrency=concurrency):
        text = files.write(item, verdict)
        tally.add(verdict)
        if jsonl:
            print(text, flush=True)  # noqa: T201
        progress.moved()


def _finished(verifier: Verifier) -> int:
    return sum(1 for _ in verifier.record.finished()) if verifier.record else 0


def _summary(tally: Tally, out: Path) -> None:
    counts = ", ".join(f"{count} {printable(name)}" for name, count in sorted(tally.labels.items()))
    print(f"{len(tally.kinds)} claims: {counts}")  # noqa: T201
    print(f"verdicts: {out / 'verdicts.csv'}, {out / 'verdicts.jsonl'}")  # noqa: T201
