"""``redargue calibrate``: a judge's verdicts against human labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from redargue.cli.parameters import AsJson
from redargue.errors import UsageError


def calibrate_judge(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV, TSV or JSON-lines file, a row for each item.")],
    mapping: Annotated[
        str, typer.Option("--map", metavar="ROLE=COLUMN,…", help="Columns: judge=…,human=…,kind=…,confidence=…")
    ] = "",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Also write the figures as a calibration file.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Compare a judge's verdicts with human labels: base rates, kappa, errors by label and kind, the constant judge.

    The judge is anything that gives labels: a model, a reader, a rule, another person.
    """
    from redargue.bench.judge import calibrate, calibration_tables, read_judged
    from redargue.files import replacing
    from redargue.inputs.claims import split_mapping
    from redargue.reports.terminal import print_tables

    found = calibrate(read_judged(file, split_mapping(mapping) if mapping else {}))
    text = found.model_dump_json(indent=1)
    if out:
        try:
            with replacing(out) as written:
                written.write(f"{text}\n".encode())
        except OSError as error:
            raise UsageError(f"cannot write {str(out)!r}: {error.strerror}", where="--out") from error
    if json:
        print(text)  # noqa: T201
    else:
        print_tables(calibration_tables(found))
