"""The options that commands share, declared once; a dataclass of them is one parameter of a command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

Method = Annotated[str, typer.Option(envvar="REDARGUE_METHOD", help="redargue list methods")]
Profile = Annotated[str, typer.Option(envvar="REDARGUE_PROFILE", help="paper or hardened")]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        envvar="REDARGUE_MODEL",
        metavar="[ROLE=]NAME",
        help="Language model; with ROLE= that of an agent or a task; repeatable.",
    ),
]
BaseUrl = Annotated[
    str, typer.Option(envvar="REDARGUE_BASE_URL", help="Of the endpoint, with /v1; OPENAI_BASE_URL works too.")
]
EmbeddingModel = Annotated[
    str, typer.Option(envvar="REDARGUE_EMBEDDING_MODEL", help="At the same endpoint; redargue's own by default.")
]
BackendName = Annotated[
    str, typer.Option(envvar="REDARGUE_BACKEND", help="redargue list backends; chat where a model is named.")
]
ResponseFormat = Annotated[
    str,
    typer.Option(
        envvar="REDARGUE_RESPONSE_FORMAT",
        help="How replies are requested: auto, schema, json, text, plain; tools: agents call functions.",
    ),
]
Prompts = Annotated[
    Path | None, typer.Option(envvar="REDARGUE_PROMPTS", metavar="DIR", help="Prompt overrides: TASK.txt files.")
]
MaxTokens = Annotated[int, typer.Option(envvar="REDARGUE_MAX_TOKENS", min=1, help="Maximum length of a reply.")]
Stream = Annotated[bool, typer.Option("--stream", envvar="REDARGUE_STREAM", help="Request replies as a stream.")]
ToolNames = Annotated[
    list[str] | None,
    typer.Option(
        "--tool",
        envvar="REDARGUE_TOOL",
        help='Search tool for a debater; repeat once per debater ("none" for no tool).',
    ),
]
McpServers = Annotated[
    list[str] | None,
    typer.Option(
        "--mcp",
        envvar="REDARGUE_MCP",
        metavar="[NAME=]SERVER",
        help="An MCP server's tools: wikipedia, google, scholar, papers, a command or an address; repeatable.",
    ),
]
MemoryPlace = Annotated[str, typer.Option("--memory", envvar="REDARGUE_MEMORY", help="Evidence memory: a path or URL.")]
Workspace = Annotated[
    str, typer.Option("--workspace", envvar="REDARGUE_WORKSPACE", help="Of the memory; nothing else is visible.")
]
Offline = Annotated[
    bool,
    typer.Option("--offline", envvar="REDARGUE_OFFLINE", help="Send no request that leaves this machine."),
]
Store = Annotated[str | None, typer.Option(envvar="REDARGUE_STORE", help="The corpus: a path or URI, or `starter`.")]
Rounds = Annotated[int | None, typer.Option(envvar="REDARGUE_ROUNDS", help="Maximum number of debate rounds.")]
TopK = Annotated[int | None, typer.Option(envvar="REDARGUE_TOP_K", help="Documents retrieved per query.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any setting of the method; repeatable.")
]
Labels = Annotated[str, typer.Option(envvar="REDARGUE_LABELS", help="redargue list labels")]
AsOf = Annotated[
    str,
    typer.Option(envvar="REDARGUE_AS_OF", metavar="DATE", help="As-of date for claims that have none: 2024-03-31."),
]
StrictAsOf = Annotated[
    bool,
    typer.Option("--strict-as-of", help="Leave out evidence that is later than the as-of date, or undated."),
]
BudgetLimit = Annotated[
    str | None, typer.Option(envvar="REDARGUE_BUDGET", help="Spending limit: 40calls, 200ktok, 0.50usd.")
]
PriceTable = Annotated[
    Path | None, typer.Option(envvar="REDARGUE_PRICES", metavar="FILE", help="Your own price table (TOML).")
]
Seed = Annotated[int, typer.Option(envvar="REDARGUE_SEED", help="Of the run.")]
Concurrency = Annotated[
    int | None,
    typer.Option(envvar="REDARGUE_CONCURRENCY", min=1, help="Claims verified at the same time: 2; of a text 16."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", envvar="REDARGUE_QUIET", help="No progress.")]
FailOn = Annotated[
    list[str] | None, typer.Option(help="Exit 1 where a verdict means this: supported, refuted, not_enough, …")
]
MinSupported = Annotated[
    float | None, typer.Option(min=0, max=1, help="Exit 1 where fewer of the claims are supported.")
]


@dataclass(frozen=True, kw_only=True)
class RunParameters:
    """What defines a run, apart from the evidence that it may search."""

    method: Method = "tool-mad"
    profile: Profile = "hardened"
    model: Models = None
    base_url: BaseUrl = ""
    embedding_model: EmbeddingModel = ""
    backend: BackendName = ""
    response_format: ResponseFormat = "auto"
    prompts: Prompts = None
    max_tokens: MaxTokens = 4096
    stream: Stream = False
    memory: MemoryPlace = ""
    workspace: Workspace = "default"
    rounds: Rounds = None
    top_k: TopK = None
    setting: Settings = None
    labels: Labels = "fever"
    as_of: AsOf = ""
    strict_as_of: StrictAsOf = False
    budget: BudgetLimit = None
    prices: PriceTable = None
    seed: Seed = 0
    concurrency: Concurrency = None


@dataclass(frozen=True, kw_only=True)
class SearchParameters:
    """The evidence that a run may search."""

    tool: ToolNames = None
    mcp: McpServers = None
    store: Store = None
    offline: Offline = False


@dataclass(frozen=True, kw_only=True)
class OutputParameters:
    """What is printed, and which verdicts fail the command."""

    jsonl: Annotated[bool, typer.Option("--jsonl", help="One verdict per line, as soon as it is reached.")] = False
    quiet: Quiet = False
    fail_on: FailOn = None
    min_supported: MinSupported = None


def with_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Declares the fields of the dataclasses that a command's signature names as options of the command."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    declared: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if kind := groups.get(parameter.name):
            types = get_type_hints(kind, include_extras=True)
            declared += [_keyword(field.name, field.default, types[field.name]) for field in fields(kind)]
        else:
            declared.append(_keyword(parameter.name, parameter.default, hints[parameter.name]))

    def called(**values: object) -> None:
        made = {
            name: kind(**{each.name: values.pop(each.name) for each in fields(kind)}) for name, kind in groups.items()
        }
        command(**values, **made)

    called.__name__, called.__doc__ = command.__name__, command.__doc__
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in declared}
    called.__signature__ = inspect.Signature(declared)  # type: ignore[attr-defined]
    return called


def _keyword(name: str, default: object, annotation: object) -> inspect.Parameter:
    default = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
