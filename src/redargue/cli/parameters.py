"""Options that several commands share; a dataclass of them becomes one parameter of a command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from redargue.errors import UsageError

if TYPE_CHECKING:
    from redargue.cli.arguments import Input
    from redargue.spec import RunSpec


def completion(place: str, *others: str) -> Callable[[str], list[str]]:
    """Completes the names of a registry in the shell; its ``place``, ``module:name``, is imported only then."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in (*resolve_name(place), *others) if name.startswith(incomplete)]

    return complete


def complete_run(incomplete: str) -> list[str]:
    from redargue.runs.folders import LAST, run_folders

    names = (LAST, *(folder.name for folder in run_folders()))
    return [name for name in names if name.startswith(incomplete)]


def option(variable: str, help: str, *flags: str, **details: Any) -> Any:
    """An option that the environment variable ``REDARGUE_<variable>`` also sets."""
    return typer.Option(*flags, envvar=f"REDARGUE_{variable}", help=help, **details)


Models = Annotated[
    list[str] | None,
    option(
        "MODEL", "Language model; ROLE=NAME sets the model of one agent or task; repeatable.", metavar="[ROLE=]NAME"
    ),
]
BaseUrl = Annotated[str, option("BASE_URL", "Base URL of the endpoint, with /v1; default: OPENAI_BASE_URL.")]
EmbeddingModel = Annotated[
    str, option("EMBEDDING_MODEL", "Embedding model at the same endpoint; default: the bundled one.")
]
ReaderName = Annotated[
    str,
    option(
        "READER",
        "Model that reads evidence for the embedded backend: an added one (redargue models list), or `small`.",
        metavar="NAME",
    ),
]
Offline = Annotated[bool, option("OFFLINE", "Send no request that leaves this machine.", "--offline")]
StoreName = Annotated[str | None, option("STORE", "Corpus: a path, a URI, or `starter` for the bundled articles.")]
StrictAsOf = Annotated[
    bool, typer.Option("--strict-as-of", help="Leave out evidence that is undated or later than the as-of date.")
]
MinConfidence = Annotated[
    float | None,
    option(
        "MIN_CONFIDENCE",
        "Verdicts with a lower confidence become not enough evidence (unsure); default: the backend's threshold.",
        min=0,
        max=1,
    ),
]
Mcp = Annotated[
    list[str] | None,
    option(
        "MCP",
        "MCP server: wikipedia, google, scholar, papers, a command or a URL; repeatable.",
        metavar="[NAME=]SERVER",
    ),
]
Concurrency = Annotated[
    int | None,
    option(
        "CONCURRENCY",
        "Claims verified concurrently; default: 2, of a text or for a worker 16, with a memory 1.",
        min=1,
        max=1_000_000,
    ),
]
Quiet = Annotated[bool, option("QUIET", "Show no progress.", "--quiet", "-q")]
Verbose = Annotated[bool, option("VERBOSE", "Without a terminal, show every step of every claim.", "--verbose", "-v")]
Mapping = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="ROLE=COLUMN,…",
        help="Columns of a file of claims: claim=…,id=…,question=…,answer=…,context=…,contexts=…,options=…,labels=…,"
        "as_of=…",
    ),
]
PromptSet = Annotated[
    Path | None,
    option("PROMPTS", "Folder of prompt overrides, one TASK.txt each, or printed:METHOD.", metavar="DIR|SET"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Fetch = Annotated[bool, option("FETCH", "Fetch the page of an argument that is a URL.", "--fetch")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
LedgerWait = Annotated[
    float, option("LEDGER_WAIT", "Seconds to wait for a ledger that does not answer.", "--ledger-wait", min=0.0)
]
LogLevel = Annotated[
    str,
    option("LOG_LEVEL", "Lowest level that is logged, on stderr.", "--log-level", metavar="error|warning|info|debug"),
]
RunName = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="A run folder, the name of a recorded run, or last.", autocompletion=complete_run
    ),
]


@dataclass(frozen=True, kw_only=True)
class InputParameters:
    """How the argument of check is read."""

    as_: Annotated[
        str,
        typer.Option(
            "--as", help="What the input is: claim (one), claims, text, dialogue (a reply), or qa (verified whole)."
        ),
    ] = ""
    question: Annotated[
        str, typer.Option(metavar="TEXT|FILE", help="The question that a text answers, or the dialogue before it.")
    ] = ""
    cited: Annotated[
        bool,
        typer.Option(
            "--cited",
            help="Check each claim of a text against the pages and files that its sentence links to, and nothing else.",
        ),
    ] = False
    fetch: Fetch = False
    mapping: Mapping = None

    def read(self, argument: str, spec: RunSpec, *, links: bool = False) -> Input:
        from redargue.cli.arguments import read_input

        kind = "text" if self.cited and not self.as_ else self.as_
        columns = self.mapping or ()
        return read_input(argument, kind, self.question, spec, fetch=self.fetch, links=links, mapping=columns)


@dataclass(frozen=True, kw_only=True)
class RunParameters:
    """What defines a run, apart from the evidence that it may search."""

    method: Annotated[
        str,
        option(
            "METHOD",
            "See redargue list methods; default: single-reader; one-pass for ground with a model.",
            autocompletion=completion("redargue.methods.base:methods"),
        ),
    ] = ""
    profile: Annotated[
        str, option("PROFILE", "Settings to start from: hardened, paper, or another that redargue list methods shows.")
    ] = "hardened"
    model: Models = None
    base_url: BaseUrl = ""
    embedding_model: EmbeddingModel = ""
    backend: Annotated[
        str,
        option(
            "BACKEND",
            "See redargue list backends; default: chat with a model, else embedded.",
            autocompletion=completion("redargue.backends:backends"),
        ),
    ] = ""
    reader: ReaderName = ""
    response_format: Annotated[
        str, option("RESPONSE_FORMAT", "Format of replies: auto, schema, json, plain, or tools (function calls).")
    ] = "auto"
    prompts: PromptSet = None
    max_tokens: Annotated[int, option("MAX_TOKENS", "Maximum length of a reply, in tokens.", min=1)] = 4096
    stream: Annotated[bool, option("STREAM", "Stream replies.", "--stream")] = False
    memory: Annotated[str, option("MEMORY", "Evidence memory: a path or URL.")] = ""
    workspace: Annotated[str, option("WORKSPACE", "Workspace of the memory; others are not visible.")] = "default"
    rounds: Annotated[int | None, option("ROUNDS", "Maximum number of rounds, or of steps.")] = None
    top_k: Annotated[int | None, option("TOP_K", "Documents retrieved per query.")] = None
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Override a setting of the method; repeatable."),
    ] = None
    labels: Annotated[
        str,
        option(
            "LABELS",
            "Label set (see redargue list labels), or words for labels: true=SUPPORTS,false=REFUTES.",
            metavar="SET|WORD=LABEL,…",
            autocompletion=completion("redargue.claims:label_sets"),
        ),
    ] = "fever"
    as_of: Annotated[str, option("AS_OF", "As-of date for claims that have none: 2024-03-31.", metavar="DATE")] = ""
    strict_as_of: StrictAsOf = False
    min_confidence: MinConfidence = None
    budget: Annotated[str | None, option("BUDGET", "Spending limit: 40calls, 200ktok, 0.50usd, 50searches.")] = None
    prices: Annotated[Path | None, option("PRICES", "Price table (TOML).", metavar="FILE")] = None
    seed: Annotated[int, option("SEED", "Random seed of the run.")] = 0
    concurrency: Concurrency = None


@dataclass(frozen=True, kw_only=True)
class RecordParameters:
    """Where a run is recorded."""

    run: Annotated[
        Path | None,
        typer.Option("--run", metavar="DIR", help="Record the run there; the same command resumes an interrupted run."),
    ] = None
    no_record: Annotated[bool, option("NO_RECORD", "Do not record the run.", "--no-record")] = False

    def folder(self) -> Path | None:
        """The named folder, or a new one in redargue's home; None without a record."""
        from redargue.runs.record import new_run_folder

        if self.no_record and self.run:
            raise UsageError("--no-record and --run exclude each other", hint="drop one of them")
        return None if self.no_record else self.run or new_run_folder()


@dataclass(frozen=True, kw_only=True)
class SearchParameters:
    """The evidence that a run may search."""

    tool: Annotated[
        list[str] | None,
        option(
            "TOOL",
            'Search tool; repeatable. In a debate, one for each debater ("none": no tool).',
            autocompletion=completion("redargue.retrieval.tools:tools", "none"),
        ),
    ] = None
    mcp: Mcp = None
    store: StoreName = None
    offline: Offline = False


@dataclass(frozen=True, kw_only=True)
class OutputParameters:
    """What is printed, and which verdicts fail the command."""

    jsonl: Annotated[
        bool,
        typer.Option("--jsonl", help="Print each verdict as a JSON line when reached, with the item's number and id."),
    ] = False
    quiet: Quiet = False
    verbose: Verbose = False
    fail_on: Annotated[
        list[str] | None,
        typer.Option(help="Exit 1 if any claim is supported, refuted, not_enough, conflicting or unsure; repeatable."),
    ] = None
    min_supported: Annotated[
        float | None, typer.Option(min=0, max=1, help="Exit 1 if a smaller share of the claims is supported.")
    ] = None
    allow_unchecked: Annotated[
        bool,
        typer.Option("--allow-unchecked", help="Accept claims that were not checked, and texts without claims."),
    ] = False


def with_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Makes each field of a dataclass parameter an option; typer has no groups of options."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    options: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if group := groups.get(parameter.name):
            field_hints = get_type_hints(group, include_extras=True)
            options += [_parameter(field.name, field.default, field_hints[field.name]) for field in fields(group)]
        else:
            options.append(_parameter(parameter.name, parameter.default, hints[parameter.name]))

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


def _parameter(name: str, default: object, annotation: object) -> inspect.Parameter:
    default = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
