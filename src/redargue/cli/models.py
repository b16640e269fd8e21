"""``redargue models``: adds, lists, removes and fits entailment models that read evidence (readers)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from redargue.cli.output import print_json
from redargue.cli.parameters import AsJson, Offline
from redargue.errors import UsageError
from redargue.sanitize import counted, printable

if TYPE_CHECKING:
    from redargue.nli.reader_spec import ReaderSpec

models_app = typer.Typer(no_args_is_help=True, help="Add, list, remove and fit entailment models that read evidence.")

Name = Annotated[str, typer.Argument(metavar="READER", help="An added reader; see redargue models list.")]


@models_app.command("add")
def add_model(
    source: Annotated[
        str,
        typer.Argument(metavar="NAME|FOLDER", help="A folder of ONNX or safetensors files, or OWNER/NAME on the hub."),
    ],
    *,
    as_: Annotated[str, typer.Option("--as", metavar="reader", help="What the model is used as: reader.")],
    name: Annotated[str, typer.Option(help="The reader's name; default: from the source.")] = "",
    form: Annotated[
        str,
        typer.Option(
            "--input-form", help="pair (evidence, claim), minicheck, hhem, or auto: from name and config.json."
        ),
    ] = "auto",
    labels: Annotated[
        str, typer.Option(metavar="NAME,…", help="Label names in the order of the outputs; default: id2label.")
    ] = "",
    not_supported: Annotated[
        str,
        typer.Option(
            metavar="neither|refutes", help="What the other output of a two-way model means, if its name does not say."
        ),
    ] = "neither",
    longest: Annotated[int | None, typer.Option(min=64, help="Tokens of an input; default: from config.json.")] = None,
    revision: Annotated[str, typer.Option(help="Commit, branch or tag on the hub.")] = "",
    offline: Offline = False,
) -> None:
    """Add an entailment or grounding model as a reader.

    Its files stay where they are; code among them is never executed. Use it with --reader NAME.
    """
    from redargue.nli.reader_spec import ReaderChoices, form_named
    from redargue.nli.reader_store import add_reader

    if as_ != "reader":
        raise UsageError(f"a model cannot be added as {as_!r}", where="--as", hint="as a reader: --as reader")
    if not_supported not in ("neither", "refutes"):
        raise UsageError(f"expected neither or refutes, got {not_supported!r}", where="--not-supported")
    outputs = tuple(label.strip() for label in labels.split(",")) if labels else ()
    values = {"form": form_named(form), "outputs": outputs, "longest": longest, "not_supported": not_supported}
    choices = ReaderChoices.model_validate(values)
    spec = add_reader(source, name=name, choices=choices, revision=revision, offline=offline)
    typer.echo(f"added {_described(spec)}", err=True)
    typer.echo(f"use it: redargue check … --reader {spec.name}", err=True)


@models_app.command("list")
def list_readers(json: AsJson = False) -> None:
    """List the added readers, how they are read, and what was fitted."""
    from redargue.nli.reader_store import added_readers, read_fit

    rows = [(spec, read_fit(spec)) for spec in added_readers()]
    if not rows:
        typer.echo("no readers; add one: redargue models add NAME|FOLDER --as reader", err=True)
    if json:
        print_json({"readers": [{**spec.model_dump(mode="json"), "fit": fit} for spec, fit in rows]})
        return
    for spec, fit in rows:
        fitted = f"; fitted to {sum(fit.counts.values())} rows of {fit.data}" if fit else ""
        typer.echo(printable(_described(spec) + fitted, lines=False))


@models_app.command("remove")
def remove_model(reader: Name) -> None:
    """Remove a reader and its fitted weights; the model's own files stay."""
    from redargue.nli.reader_store import remove_reader

    remove_reader(reader)
    typer.echo(f"removed {reader}", err=True)


@models_app.command("fit")
def fit_model(
    reader: Name,
    data: Annotated[
        Path, typer.Option("--data", metavar="FILE.jsonl", help="Rows with claim, evidence (a text or several), label.")
    ],
    json: AsJson = False,
) -> None:
    """Fit a reader's temperature and aggregation weights to labelled data.

    Prints log loss and accuracy of the default weights, and of the fitted ones by cross-validation. The fit is stored
    only if its log loss is lower.
    """
    from redargue.nli.encoders import shared
    from redargue.nli.fitting import TEMPERATURES, read_pairs
    from redargue.nli.fitting import fit as fit_reader
    from redargue.nli.reader_store import read_added, write_fit
    from redargue.nli.user_reader import UserReader

    spec, pairs = read_added(reader), read_pairs(data)
    typer.echo(f"reading {counted(len(pairs), 'row')}", err=True)
    fitted = fit_reader(UserReader(spec), pairs, shared(0), data)
    better = fitted.after["log_loss"] < fitted.before["log_loss"]
    if json:
        print_json(fitted)
    else:
        for title, quality in (("default weights", fitted.before), ("fitted, 5-fold", fitted.after)):
            print(f"{title:16} log loss {quality['log_loss']:.4f}  accuracy {quality['accuracy']:.4f}")  # noqa: T201
    if fitted.temperature > 0.99 * TEMPERATURES[1]:
        typer.echo("the temperature is at its limit: the reader's scores hardly depend on the label", err=True)
    if better:
        typer.echo(f"temperature {fitted.temperature}; stored in {write_fit(spec, fitted)}", err=True)
    else:
        typer.echo("not stored: the fitted weights are not better on held-out rows", err=True)


def _described(spec: ReaderSpec) -> str:
    return (
        f"{spec.name}: {spec.source} ({spec.runtime}, form {spec.form}, outputs {', '.join(spec.outputs)}, "
        f"{spec.longest} tokens, sha256 {spec.sha256[:12]})"
    )
