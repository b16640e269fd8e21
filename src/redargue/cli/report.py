"""``redargue report``: a report of a bench or a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from redargue.cli.parameters import RunName
from redargue.errors import UsageError


def write_report(
    run: RunName,
    format: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            help="html, md, docx, json, claimreview, adjudication, sarif, junit or annotation; default: by --out, else "
            "html.",
        ),
    ] = "",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Output file; default: standard output.")
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="SPEC", help="System of a bench, for claimreview and adjudication; default: first.")
    ] = "",
    author: Annotated[str, typer.Option(help="Who publishes the review, for claimreview.")] = "",
    url: Annotated[
        str, typer.Option(help="Address of the page with the review or the text, for claimreview and annotation.")
    ] = "",
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File that was checked, for sarif, junit and annotation.")
    ] = None,
    date: Annotated[str, typer.Option(metavar="DATE", help="Date of publication, for claimreview.")] = "",
    open: Annotated[
        bool,
        typer.Option("--open", help="Open the page in the browser; without --out it is written into the run's folder."),
    ] = False,
    adjudicated: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Completed adjudication file (.jsonl or .csv) to include.")
    ] = None,
) -> None:
    """Write a report of a finished run or bench.

    No model is called. The HTML page is self-contained.
    """
    from redargue.reports.exchange import read_signature
    from redargue.reports.render import render
    from redargue.runs.folders import find_run

    written = format or _format_of(out)
    if open:
        _require_page(written)
        out = out or find_run(run) / "report.html"
    if written == "docx":
        _write_docx(run, out)
        return
    signature = read_signature(author, url, date) if written == "claimreview" else None
    csv = out is not None and out.suffix.lower() == ".csv"  # of an adjudication queue; JSON Lines otherwise
    text = render(
        find_run(run), written, method=method, adjudicated=adjudicated, csv=csv, signature=signature, file=file, url=url
    )
    if out is None:
        sys.stdout.write(text)
        return
    _write(out, text.encode(), written)
    if open:
        _open(out)


def _open(page: Path) -> None:
    import webbrowser

    webbrowser.open(page.resolve().as_uri())


def _require_page(written: str) -> None:
    if written != "html":
        raise UsageError(
            f"{written} is not opened in a browser", where="--open", hint="leave out --format, or give html"
        )


def _write_docx(run: str, out: Path | None) -> None:
    from redargue.reports.docx import run_docx
    from redargue.runs.folders import find_run

    if out is None:
        raise UsageError("a Word document is written to a file", where="--format", hint="name it: --out report.docx")
    _write(out, run_docx(find_run(run)), "docx")


def _write(out: Path, content: bytes, written: str) -> None:
    try:
        out.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{str(out)!r} cannot be written: {error.strerror}", where="--out") from error
    typer.echo(f"{written} report: {out} ({len(content):,} bytes)", err=True)


BY_SUFFIX = {
    ".docx": "docx",
    ".html": "html",
    ".htm": "html",
    ".md": "md",
    ".json": "json",
    ".sarif": "sarif",
    ".xml": "junit",
}


def _format_of(out: Path | None) -> str:
    """The format that the output file's suffix stands for; html without one."""
    if out is None or not out.suffix:
        return "html"
    if (suffix := out.suffix.lower()) not in BY_SUFFIX:
        hint = f"name it {out.with_suffix('.html')}, or say what to write into it: --format html"
        if suffix == ".pdf":
            hint = f"name it {out.with_suffix('.html')}, open it in a browser, and print it to a PDF"
        if suffix in (".csv", ".jsonl"):
            hint = "for the adjudication queue of a bench, add --format adjudication"
        raise UsageError(f"no report is written as {suffix}", where="--out", hint=hint)
    return BY_SUFFIX[suffix]
