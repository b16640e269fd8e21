"""``redargue batch``: the claims of a table or JSON file, resumable."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from redargue.cli.check import CONCURRENCY
from redargue.cli.exit import INTERRUPTED, exit_code, read_gate
from redargue.cli.parameters import OutputParameters, RunParameters, SearchParameters, option, with_parameters
from redargue.errors import UsageError
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
        typer.Option(
            "--map",
            metavar="ROLE=COLUMN,…",
            help="claim=…,id=…,question=…,answer=…,context=…,contexts=…,options=…,labels=…,as_of=…",
        ),
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

    Writes verdicts.jsonl, verdicts.csv and a run folder. With a column of contexts, a claim's contexts are its only
    evidence; the answers of rows of question, answer and contexts are verified whole and claim by claim.
    """
    from redargue.bench.batch import ClaimRow, RefusedRow, Tally, read_mapping, read_rows
    from redargue.cli.arguments import checked_rows
    from redargue.cli.coordinator import BatchOutput, verify_in_process, verify_many
    from redargue.cli.options import run_config, with_contexts

    gate, config = read_gate(output), run_config(options, search, out)
    rows = checked_rows(read_rows(file, read_mapping(mapping or []), labels=config.labels, as_of=config.as_of), config)
    accepted = [row for row in rows if isinstance(row, ClaimRow)]
    refused = [row for row in rows if isinstance(row, RefusedRow)]
    for row in refused:
        typer.echo(printable(f"refused: {row.error}"), err=True)
    tally, answers, several = Tally(), Tally(), bool(engine or workers)
    if several and any(row.contexts for row in accepted):
        hint = "leave out --workers and --engine"
        raise UsageError("claims with contexts of their own are verified in one process", where="contexts", hint=hint)
    result = BatchOutput(out, accepted, refused, tally, answers, output)
    if several:
        chosen, concurrency = engine or "local", options.concurrency
        interrupted = verify_many(config, result, engine=chosen, workers=workers, where=ledger, concurrency=concurrency)
    else:
        config, components = with_contexts(config, accepted)
        interrupted = verify_in_process(config, components, result, concurrency=options.concurrency or CONCURRENCY)
    if not (output.jsonl or (interrupted and not several)):
        _summary(tally, answers, out, len(refused))
    outcomes = [*tally.outcomes, *answers.outcomes]
    code = exit_code(outcomes, gate, answers.unread, refused=len(refused))
    raise typer.Exit(INTERRUPTED if interrupted else code)


def _summary(tally: Tally, answers: Tally, out: Path, refused: int) -> None:
    rest = f"; {counted(refused, 'row')} refused" if refused else ""
    print(f"{counted(len(tally.outcomes), 'claim')}: {_counts(tally)}{rest}")  # noqa: T201
    if answers.outcomes or answers.unread:
        unread = f"; {counted(len(answers.unread), 'sentence')} not checked" if answers.unread else ""
        print(f"{counted(len(answers.outcomes), 'claim')} in the answers: {_counts(answers) or 'none'}{unread}")  # noqa: T201
    print(f"verdicts: {out / 'verdicts.csv'}, {out / 'verdicts.jsonl'}")  # noqa: T201


def _counts(tally: Tally) -> str:
    return ", ".join(f"{count} {printable(name)}" for name, count in sorted(tally.labels.items()))
