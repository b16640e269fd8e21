"""``redargue models``: the models that read evidence (readers): added, listed, removed, fitted."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redargue.cli.output import print_json, read_entries
from redargue.cli.parameters import AsJson, Offline, with_parameters
from redargue.errors import UsageError
from redargue.sanitize import counted, printable

if TYPE_CHECKING:
    from redargue.nli.reader_store import Check
    from redargue.nli.user_reader import AnySpec, UserReader

models_app = typer.Typer(no_args_is_help=True, help="Get, add, list, remove and fit models that read evidence.")

Name = Annotated[str, typer.Argument(metavar="READER", help="An added reader; see redargue models list.")]


@dataclass(frozen=True, kw_only=True)
class ModelParameters:
    """How a model in files is read, how a grader at an endpoint is asked, and what is said of either."""

    form: Annotated[
        str,
        typer.Option(
            "--input-form",
            help="pair (evidence, claim), minicheck, hhem, lettuce (classified tokens), or auto: from name and "
            "config.json.",
        ),
    ] = "auto"
    labels: Annotated[
        str,
        typer.Option(metavar="NAME,…", help="Label names in the order of the outputs; default: id2label."),
    ] = ""
    revision: Annotated[str, typer.Option(help="Commit, branch or tag on the hub.")] = ""
    model: Annotated[str, typer.Option(help="The model's name at an endpoint.")] = ""
    template: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE.txt",
            help="The question to an endpoint: plain, minicheck, granite-guardian, lynx, "
            "qwen3-reranker; default: plain.",
        ),
    ] = ""
    key_env: Annotated[str, typer.Option(metavar="VARIABLE", help="The variable that has an endpoint's key.")] = ""
    name: Annotated[str, typer.Option(help="The reader's name; default: from the source.")] = ""
    not_supported: Annotated[
        str,
        typer.Option(
            metavar="neither|refutes",
            help="What the other output of a two-way model means, if its name does not say.",
        ),
    ] = "neither"
    longest: Annotated[int | None, typer.Option(min=64, help="Tokens of an input; default: the model's limit.")] = None
    offline: Offline = False


@models_app.command("add")
@with_parameters
def add_model(
    source: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FOLDER|URL",
            help="A folder of ONNX or safetensors files, OWNER/NAME on the hub, or the address of "
            "an OpenAI-compatible endpoint.",
        ),
    ],
    *,
    as_: Annotated[str, typer.Option("--as", metavar="reader", help="What the model is used as: reader.")],
    given: ModelParameters,
) -> None:
    """Add an entailment or grounding model as a reader.

    Its files stay where they are; code among them is never executed. A grader at an endpoint is
    asked one question per window. Use it with --reader NAME.
    """
    from redargue.nli.reader_store import golden_problems

    if as_ != "reader":
        raise UsageError(f"a model cannot be added as {as_!r}", where="--as", hint="as a reader: --as reader")
    if given.not_supported not in ("neither", "refutes"):
        raise UsageError(f"expected neither or refutes, got {given.not_supported!r}", where="--not-supported")
    problems: list[str] = []

    def check(tried: UserReader) -> None:
        problems[:] = golden_problems(tried)

    add = _added_endpoint if source.startswith(("http://", "https://")) else _added_files
    spec = add(source, given, check)
    typer.echo(f"added {_described(spec)}", err=True)
    for problem in problems:
        typer.echo(printable(f"it may be read wrongly: {problem}", lines=False), err=True)
    typer.echo(f"use it: redargue check … --reader {spec.name}", err=True)


@models_app.command("get")
def get_model(
    reader: Annotated[str, typer.Argument(metavar="[READER]", help="A known reader; without it they are listed.")] = "",
    *,
    name: Annotated[str, typer.Option(help="The reader's name; default: the same.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Accept the licence, download.")] = False,
    offline: Offline = False,
) -> None:
    """Download a public reader and add it.

    Shows its licence first. The revision and the hashes of the first download are recorded, and
    later downloads have to equal them. It has to read a few plain pairs well.
    """
    from redargue.nli.known_readers import get_reader, known_reader, known_readers

    if not reader:
        for each, known in known_readers().items():
            size = f"{known.parameters} million parameters"
            typer.echo(f"{each}: {known.repository} ({known.licence}, {size}): {known.what}")
        return
    known = known_reader(reader)
    typer.echo(
        f"{known.repository}: {known.what}\nlicence: {known.licence} (as far as this release knows; its page decides: "
        f"https://huggingface.co/{known.repository})\nsize: {known.parameters} million parameters, "
        f"some {known.parameters * 4 / 1000:.1f} GB in float32",
        err=True,
    )
    if not (yes or (sys.stdin.isatty() and typer.confirm("download it under this licence?", err=True))):
        what = f"the licence of {known.repository!r} was not accepted: {known.licence}"
        raise UsageError(what, hint=f"redargue models get {reader} --yes")
    spec = get_reader(reader, added_as=name, offline=offline)
    typer.echo(f"added {_described(spec)}", err=True)
    typer.echo(f"use it: redargue check … --reader {spec.name}", err=True)


@models_app.command("list")
def list_readers(json: AsJson = False) -> None:
    """List the added readers, how they are read, and what was fitted."""
    from redargue.nli.reader_store import read_added, read_fit, reader_names

    found, code = read_entries(read_added, reader_names())
    rows = [(spec, read_fit(spec)) for spec in found]
    if not rows and not code:
        typer.echo("no readers; add one: redargue models add NAME|FOLDER --as reader", err=True)
    if json:
        print_json({"readers": [{**spec.model_dump(mode="json"), "fit": fit} for spec, fit in rows]})
        raise typer.Exit(code)
    for spec, fit in rows:
        fitted = f"; fitted to {sum(fit.counts.values())} rows of {fit.data}" if fit else ""
        typer.echo(printable(_described(spec) + fitted, lines=False))
    raise typer.Exit(code)


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
    from redargue.net.services import is_offline, limiter
    from redargue.net.transport import Transport
    from redargue.nli.fitting import TEMPERATURES, read_pairs
    from redargue.nli.fitting import fit as fit_reader
    from redargue.nli.loop_bridge import run_alone
    from redargue.nli.reader_store import load_reader, write_fit
    from redargue.nli.session import shared

    transport = Transport(limiter(), offline=is_offline())
    plain, pairs = load_reader(reader, transport=transport, fitted=False), read_pairs(data)
    spec = plain.spec
    typer.echo(f"reading {counted(len(pairs), 'row')}", err=True)
    fit = partial(fit_reader, plain, pairs, shared(0), data)
    fitted = run_alone(fit, transport) if plain.at_endpoint else fit()
    better = fitted.after["log_loss"] < fitted.before["log_loss"]
    if json:
        print_json(fitted)
    else:
        for title, of in (("default weights", fitted.before), ("fitted, 5-fold", fitted.after)):
            quality = f"log loss {of['log_loss']:.4f}  accuracy {of['accuracy']:.4f}"
            typer.echo(f"{title:16} {quality}")
    if fitted.temperature > 0.99 * TEMPERATURES[1]:
        why = "the reader's scores hardly depend on the label"
        typer.echo(f"the temperature is at its limit: {why}", err=True)
    if better:
        typer.echo(f"temperature {fitted.temperature}; stored in {write_fit(spec, fitted)}", err=True)
    else:
        typer.echo("not stored: the fitted weights are not better on held-out rows", err=True)


def _added_endpoint(source: str, given: ModelParameters, check: Check) -> AnySpec:
    from redargue.nli.reader_store import add_endpoint

    form = "" if given.form == "auto" else given.form
    of_files = {"--labels": given.labels, "--revision": given.revision, "--input-form": form}
    _refuse(of_files, "belongs to a model in files, and an address is that of an endpoint")
    if not given.model:
        hint = "--model NAME, as the endpoint's /v1/models lists it"
        raise UsageError("an endpoint needs the name of a model", where="--model", hint=hint)
    return add_endpoint(
        source,
        model=given.model,
        template=given.template or "plain",
        key_variable=given.key_env,
        check=check,
        name=given.name,
        not_supported=given.not_supported,
        longest=given.longest,
        offline=given.offline,
    )


def _added_files(source: str, given: ModelParameters, check: Check) -> AnySpec:
    from redargue.nli.reader_spec import ReaderChoices, form_named
    from redargue.nli.reader_store import add_reader

    of_endpoints = {"--model": given.model, "--template": given.template, "--key-env": given.key_env}
    _refuse(of_endpoints, "belongs to an endpoint: begin its address with http:// or https://")
    outputs = tuple(label.strip() for label in given.labels.split(",")) if given.labels else ()
    values = {"form": form_named(given.form), "outputs": outputs, "longest": given.longest}
    choices = ReaderChoices.model_validate(values | {"not_supported": given.not_supported})
    place: dict[str, Any] = {"revision": given.revision, "offline": given.offline}
    return add_reader(source, choices=choices, check=check, name=given.name, **place)


def _refuse(options: dict[str, str], why: str) -> None:
    """Raises UsageError for the first option that is set."""
    if option := next((option for option, value in options.items() if value), ""):
        raise UsageError(f"{option} {why}", where=option)


def _described(spec: AnySpec) -> str:
    outputs = ", ".join(spec.outputs)
    if spec.form == "question":
        words = "" if spec.logprobs else ", no log probabilities: its words count, uncalibrated"
        return (
            f"{spec.name}: {spec.model} at {spec.source} (template {spec.template}, outputs "
            f"{outputs}, {spec.longest} tokens{words})"
        )
    return (
        f"{spec.name}: {spec.source} ({spec.runtime}, form {spec.form}, outputs {outputs}, "
        f"{spec.longest} tokens, sha256 {spec.sha256[:12]})"
    )
