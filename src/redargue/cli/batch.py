"""``redargue batch``: the claims of a CSV or JSON-lines file, resumable."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redargue.cli.check import AT_ONCE
from redargue.cli.estimate import like_check
from redargue.cli.exit import INTERRUPTED, exit_code, read_gate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redargue.claims import Claim
    from redargue.cli.progress import Progress
    from redargue.evals.batch import Tally, VerdictFiles
    from redargue.verifier import Verifier


@like_check("claim", "as_", "question", "run", "json")
def batch(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv, .tsv or .jsonl file; .gz too.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="The batch folder; the same command again goes on.")
    ],
    mapping: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="ROLE=COLUMN,…", help="claim=…,context=…,options=…,labels=…,as_of=…"),
    ] = None,
    engine: Annotated[
        str, typer.Option(metavar="local|ray", help="Several workers: processes here, or a Ray cluster's tasks.")
    ] = "",
    workers: Annotated[int | None, typer.Option(min=1, help="How many: 2 processes; on Ray one a CPU.")] = None,
    ledger: Annotated[
        str, typer.Option(envvar="REDARGUE_LEDGER", help="What workers share: postgresql://…, or a file for one host.")
    ] = "",
    **given: Any,
) -> None:
    """Verifies every claim of a file into a folder: verdicts.jsonl, verdicts.csv and the record they come from."""
    import asyncio

    from redargue.claims import in_time, label_sets
    from redargue.cli.options import read_day, verifier_options
    from redargue.cli.progress import Progress
    from redargue.evals.batch import Tally, VerdictFiles, read_claims, read_mapping
    from redargue.verifier import Verifier

    gate = read_gate(given["fail_on"] or [], given["min_supported"])
    columns = read_mapping(mapping or [])
    claims = list(read_claims(file, columns, labels=label_sets[given["labels"]], as_of=read_day(given["as_of"])))
    claims = in_time(claims) if given["only_in_time"] else claims
    options = verifier_options({**given, "run": out})
    tally = Tally()
    if engine or workers:
        from redargue.cli.many import verify_many

        interrupted = verify_many(
            {**given, "run": out}, options, claims, tally, engine=engine or "local", workers=workers, where=ledger
        )
        if not given["jsonl"]:
            _summary(tally, out)
        raise typer.Exit(INTERRUPTED if interrupted else exit_code(tally.kinds, gate))
    try:
        with (
            Verifier(**options, folder=out, claims=claims) as verifier,
            VerdictFiles(out) as files,
            Progress(
                tally, len(claims), clock=verifier.clock, known=_finished(verifier), quiet=given["quiet"]
            ) as progress,
        ):
            asyncio.run(
                _verify(
                    verifier, claims, files, tally, progress, at_once=given["at_once"] or AT_ONCE, jsonl=given["jsonl"]
                )
            )
    except KeyboardInterrupt:
        typer.echo(f"interrupted after {len(tally.kinds)} of {len(claims)} claims; the same command goes on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if not given["jsonl"]:
        _summary(tally, out)
    raise typer.Exit(exit_code(tally.kinds, gate))


async def _verify(
    verifier: Verifier,
    claims: Sequence[Claim],
    files: VerdictFiles,
    tally: Tally,
    progress: Progress,
    *,
    at_once: int,
    jsonl: bool,
) -> None:
    """Writes each verdict where it belongs as it is reached, and holds none."""
    async for item, verdict in verifier.stream(claims, at_once=at_once):
        text = files.write(item, verdict)
        tally.add(verdict)
        if jsonl:
            print(text, flush=True)  # noqa: T201
        progress.moved()


def _finished(verifier: Verifier) -> int:
    return sum(1 for _ in verifier.record.finished()) if verifier.record else 0


def _summary(tally: Tally, out: Path) -> None:
    from redargue.cli.terminal import printable

    counts = ", ".join(f"{count} {printable(name)}" for name, count in sorted(tally.labels.items()))
    print(f"{len(tally.kinds)} claims: {counts}")  # noqa: T201
    print(f"verdicts: {out / 'verdicts.csv'}, {out / 'verdicts.jsonl'}")  # noqa: T201
