"""Options that several commands share; a dataclass of them becomes one parameter of a command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        envvar="REDARGUE_MODEL",
        metavar="[ROLE=]NAME",
        help="Language model; ROLE=NAME sets the model of one agent or task; repeatable.",
    ),
]
BaseUrl = Annotated[
    str, typer.Option(envvar="REDARGUE_BASE_URL", help="Base URL of the endpoint, with /v1; default: OPENAI_BASE_URL.")
]
EmbeddingModel = Annotated[
    str,
    typer.Option(
        envvar="REDARGUE_EMBEDDING_MODEL", help="Embedding model at the same endpoint; default: the bundled one."
    ),
]
Offline = Annotated[
    bool, typer.Option("--offline", envvar="REDARGUE_OFFLINE", help="Send no request that leaves this machine.")
]
Store = Annotated[
    str | None,
    typer.Option(envvar="REDARGUE_STORE", help="Corpus: a path, a URI, or `starter` for the bundled articles."),
]
StrictAsOf = Annotated[
    bool, typer.Option("--strict-as-of", help="Leave out evidence that is undated or later than the as-of date.")
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        envvar="REDARGUE_CONCURRENCY", min=1, help="Claims verified concurrently; default: 2, or 16 for a text."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", envvar="REDARGUE_QUIET", help="Show no progress.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
RunFolder = Annotated[
    Path | None,
    typer.Option("--run", metavar="DIR", help="Record the run there; the same command resumes an interrupted run."),
]


@dataclass(frozen=True, kw_only=True)
class RunParameters:
    """What defines a run, apart from the evidence that it may search."""

    method: Annotated[
        str, typer.Option(envvar="REDARGUE_METHOD", help="Verification method; see redargue list methods.")
    ] = "tool-mad"
    profile: Annotated[
        str, typer.Option(envvar="REDARGUE_PROFILE", help="Settings to start from: paper or hardened.")
    ] = "hardened"
    model: Models = None
    base_url: BaseUrl = ""
    embedding_model: EmbeddingModel = ""
    backend: Annotated[
        str,
        typer.Option(
            envvar="REDARGUE_BACKEND", help="See redargue list backends; default: chat with a model, else embedded."
        ),
    ] = ""
    response_format: Annotated[
        str,
        typer.Option(
            envvar="REDARGUE_RESPONSE_FORMAT",
            help="How replies are requested: auto, schema, json, text, plain, or tools (function calls).",
        ),
    ] = "auto"
    prompts: Annotated[
        Path | None,
        typer.Option(envvar="REDARGUE_PROMPTS", metavar="DIR", help="Folder of prompt overrides, one TASK.txt each."),
    ] = None
    max_tokens: Annotated[
        int, typer.Option(envvar="REDARGUE_MAX_TOKENS", min=1, help="Maximum length of a reply, in tokens.")
    ] = 4096
    stream: Annotated[bool, typer.Option("--stream", envvar="REDARGUE_STREAM", help="Stream replies.")] = False
    memory: Annotated[
        str, typer.Option("--memory", envvar="REDARGUE_MEMORY", help="Evidence memory: a path or URL.")
    ] = ""
    workspace: Annotated[
        str,
        typer.Option(
            "--workspace", envvar="REDARGUE_WORKSPACE", help="Workspace of the memory; others are not visible."
        ),
    ] = "default"
    rounds: Annotated[int | None, typer.Option(envvar="REDARGUE_ROUNDS", help="Maximum number of debate rounds.")] = (
        None
    )
    top_k: Annotated[int | None, typer.Option(envvar="REDARGUE_TOP_K", help="Documents retrieved per query.")] = None
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Override a setting of the method; repeatable."),
    ] = None
    labels: Annotated[str, typer.Option(envvar="REDARGUE_LABELS", help="Label set; see redargue list labels.")] = (
        "fever"
    )
    as_of: Annotated[
        str,
        typer.Option(envvar="REDARGUE_AS_OF", metavar="DATE", help="As-of date for claims that have none: 2024-03-31."),
    ] = ""
    strict_as_of: StrictAsOf = False
    budget: Annotated[
        str | None, typer.Option(envvar="REDARGUE_BUDGET", help="Spending limit: 40calls, 200ktok, 0.50usd.")
    ] = None
    prices: Annotated[
        Path | None, typer.Option(envvar="REDARGUE_PRICES", metavar="FILE", help="Price table (TOML).")
    ] = None
    seed: Annotated[int, typer.Option(envvar="REDARGUE_SEED", help="Random seed of the run.")] = 0
    concurrency: Concurrency = None


@dataclass(frozen=True, kw_only=True)
class SearchParameters:
    """The evidence that a run may search."""

    tool: Annotated[
        list[str] | None,
        typer.Option(
            "--tool",
            envvar="REDARGUE_TOOL",
            help='Search tool for a debater; repeat once per debater ("none" for no tool).',
        ),
    ] = None
    mcp: Annotated[
        list[str] | None,
        typer.Option(
            "--mcp",
            envvar="REDARGUE_MCP",
            metavar="[NAME=]SERVER",
            help="MCP server: wikipedia, google, scholar, papers, a command or a URL; repeatable.",
        ),
    ] = None
    store: Store = None
    offline: Offline = False


@dataclass(frozen=True, kw_only=True)
class OutputParameters:
    """What is printed, and which verdicts fail the command."""

    jsonl: Annotated[bool, typer.Option("--jsonl", help="Print each verdict as a JSON line when it is reached.")] = (
        False
    )
    quiet: Quiet = False
    fail_on: Annotated[
        list[str] | None,
        typer.Option(help="Exit 1 if any claim is supported, refuted, not_enough or conflicting; repeatable."),
    ] = None
    min_supported: Annotated[
        float | None, typer.Option(min=0, max=1, help="Exit 1 if a smaller share of the claims is supported.")
    ] = None


def with_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Lets typer see each field of a dataclass parameter as an option of its own.

    Typer reads options from a signature and has no option groups. Without this, every command that starts a run would
    repeat some thirty parameters.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    options: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if group := groups.get(parameter.name):
            field_hints = get_type_hints(group, include_extras=True)
            options += [_option(field.name, field.default, field_hints[field.name]) for field in fields(group)]
        else:
            options.append(_option(parameter.name, parameter.default, hints[parameter.name]))

    def grouped(**values: object) -> None:
        parameters = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **parameters)

    grouped.__name__, grouped.__doc__ = command.__name__, command.__doc__
    grouped.__annotations__ = {option.name: option.annotation for option in options}
    grouped.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return grouped


def _option(name: str, default: object, annotation: object) -> inspect.Parameter:
    default = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
