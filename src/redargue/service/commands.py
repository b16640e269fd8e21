"""The commands of the service: ``hook``, ``mcp``, ``serve`` with its keys, and ``view``."""

from __future__ import annotations

import asyncio
import json as json_
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer
from typer.core import TyperGroup

from redargue.cli.output import leaving_with_reader, log_to_stderr, print_json
from redargue.cli.parameters import AsJson, LogLevel, Offline, RunParameters, SearchParameters, option, with_parameters
from redargue.errors import RedargueError, UsageError
from redargue.registry import did_you_mean, install
from redargue.sanitize import counted, printable

if TYPE_CHECKING:
    from fastapi import FastAPI

    from redargue.service.agent_turns import ClosingClaim
    from redargue.service.context import ServiceSettings
    from redargue.service.rules import RequestRules


# Exit codes: 2 sends the agent back to work, any other is shown to the user.
CONTRADICTED, NOT_CHECKED = 2, 3


def hook(
    transcript: Annotated[
        Path | None,
        typer.Argument(
            metavar="[TRANSCRIPT]",
            help="Transcript of Claude Code, rollout of Codex, or items of the Agents SDK as JSON; "
            "default: the one that the hook's JSON on standard input names.",
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Check what a coding agent says it did against the outputs of its own tools.

    Exits with 2 and the claims on standard error if its tools contradict one, with 3 if the transcript cannot be read.
    """
    from redargue.service.agent_turns import ClosingOutcome, check_closing, closing_sentences
    from redargue.service.agent_turns.transcripts import read_transcript

    try:
        asked = {} if transcript else _asked()
        path = transcript or Path(str(asked.get("transcript_path") or ""))
        read = read_transcript(path, closing=str(asked.get("last_assistant_message") or ""))
        claims = check_closing(read)
    except RedargueError as error:
        typer.echo(f"redargue hook: not checked: {printable(str(error))}", err=True)
        raise typer.Exit(NOT_CHECKED) from None  # 2 would send the agent back to work
    wrong = [claim for claim in claims if claim.outcome is ClosingOutcome.CONTRADICTED]
    summary = _summary(claims, len(list(closing_sentences(read.closing))), whole=read.whole)
    if json:
        found = [claim._asdict() for claim in claims]
        print(json_.dumps({"schema_version": 1, "whole": read.whole, "claims": found}))  # noqa: T201
    if wrong and not asked.get("stop_hook_active"):
        typer.echo("\n".join(map(_line, wrong)), err=True)
        raise typer.Exit(CONTRADICTED)
    if not json:
        said = "\n".join([*map(_line, wrong), summary])  # sent back once: now the user decides
        print(json_.dumps({"systemMessage": said}) if asked else said)  # noqa: T201


def _asked() -> dict[str, object]:
    """The JSON that an agent sends to its hooks."""
    text = sys.stdin.read()
    with suppress(ValueError):
        asked = json_.loads(text)
        if isinstance(asked, dict) and isinstance(asked.get("transcript_path"), str):
            return asked
    hint = "give the transcript's path, or configure it as a Stop hook"
    raise UsageError(f"standard input has no transcript_path: {text[:80]!r}", hint=hint)


def _line(claim: ClosingClaim) -> str:
    said = f"redargue: you wrote {claim.sentence[:200]!r}, but {claim.why}. Correct the message or the work."
    return printable(said, lines=False)


def _summary(claims: list[ClosingClaim], sentences: int, *, whole: bool) -> str:
    """What was found, and how many sentences no rule has read."""
    counts = Counter(claim.outcome.replace("_", " ") for claim in claims)
    said = ": " + ", ".join(f"{count} {name}" for name, count in counts.items()) if claims else ""
    rest = sentences - len({claim.sentence for claim in claims})
    parts = [f"{counted(len(claims), 'closing claim')} compared with the tools{said}"]
    parts += [f"{counted(rest, 'sentence')} not checked"] if rest else []
    parts += [] if whole else ["a part of the transcript is missing"]
    return f"redargue: {'; '.join(parts)}"


@with_parameters
def mcp(
    *,
    fetch: Annotated[
        bool, option("MCP_FETCH", "Let the tool fetch read web pages by their address.", "--fetch")
    ] = False,
    options: RunParameters,
    search: SearchParameters,
) -> None:
    """Serve the verifier to an MCP client over standard input and output.

    Tools: verify_claim, check_text, ground, get_check, search and fetch. The options are those of every check. Over
    HTTP, redargue serve has the same tools at /mcp. Needs the extra mcp. MERMAID's search tools are served by redargue
    mcp-tools.
    """
    _require("the MCP server", "mcp", "mcp.server")
    from redargue.service.mcp.tools import serve_stdio

    with leaving_with_reader():
        asyncio.run(serve_stdio(_rules(options, search), fetch=fetch))


def _rules(
    options: RunParameters, search: SearchParameters, corpora: Mapping[str, str] = MappingProxyType({})
) -> RequestRules:
    from redargue.cli.options import live_tool, named_tools, run_config
    from redargue.service.rules import RequestRules, check_budget

    live = live_tool(offline=search.offline)
    rules = RequestRules(run_config(options, search), live, named_tools(search), corpora)
    check_budget(rules.spec, rules.allowed)
    return rules


TELEMETRY = ("off", "on", "content")
_Telemetry = Annotated[
    str,
    option(
        "TELEMETRY",
        "Send OpenTelemetry traces of checks to OTEL_EXPORTER_OTLP_ENDPOINT; content: with texts.",
        metavar="off|on|content",
    ),
]

_Log = Annotated[
    bool,
    option(
        "LOG", "Log JSON Lines: one per request, with its check, outcome and milliseconds; no texts, no keys.", "--log"
    ),
]
_DayBudget = Annotated[
    str, option("DAY_BUDGET", "Limit of each key and day (UTC): 5usd, 200ktok, 400calls, 90searches.")
]
Corpora = Annotated[
    list[str] | None,
    option("CORPORA", "A corpus that a check may name: NAME=STORE; repeatable.", "--corpus", metavar="NAME=STORE"),
]


def read_corpora(given: list[str] | None) -> dict[str, str]:
    """Corpora by name; raises UsageError for one without a name or a store."""
    corpora = {}
    for pair in given or []:
        name, _, store = pair.partition("=")
        if not name.strip() or not store.strip() or name in corpora or name == "starter":
            hint = "write it like --corpus archive=archive.db, each name once; starter is the sample articles"
            raise UsageError(f"{pair!r} does not name a corpus", where="--corpus", hint=hint)
        corpora[name] = store
    return corpora


serve_app = typer.Typer(
    invoke_without_command=True,
    help="""Serve checks over HTTP.

Listens on this machine only, unless --host names another address; then callers need a key (redargue serve key add).
A check may choose the method, its settings, labels and dates; the other options are those of every check. It may
search with the tools of --tool alone, or without that option with the corpus and the live tool that is found.
Needs the extra serve.

With REDARGUE_UPSTREAM_URL, the service is also a proxy of this model, which checks its answers (docs/proxy.md).
Variables set what it does: REDARGUE_UPSTREAM_API_KEY; REDARGUE_PROXY_MODE (annotate, footnote, revise, block,
off), _ON_FAILURE (open, closed), _MODES, _UNDECIDED, _SHOW_WITHHELD, _BLOCK_AS, _SEARCH, _METHOD, _METHODS,
_BUDGET, _TIMEOUT_S, _MIN_SUPPORTED.
""",
)
key_app = typer.Typer(help="Add, list and remove API keys.", no_args_is_help=True)
serve_app.add_typer(key_app, name="key")


@serve_app.callback()
@with_parameters
def serve(
    context: typer.Context,
    *,
    host: Annotated[str, option("SERVE_HOST", "Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("SERVE_PORT", "Port; 0 for a free one.", min=0, max=65535)] = 8321,
    trusted_host: Annotated[
        list[str] | None,
        option("TRUSTED_HOST", "A name by which clients reach the service; repeatable.", "--trusted-host"),
    ] = None,
    cors: Annotated[
        list[str] | None, option("CORS", "A site whose pages may use the service: https://example.org; repeatable.")
    ] = None,
    running: Annotated[int, option("SERVE_RUNNING", "Checks that run at the same time.", min=1)] = 4,
    waiting: Annotated[int, option("SERVE_WAITING", "Checks that may wait; others are refused.", min=0)] = 100,
    corpus: Corpora = None,
    day_budget: _DayBudget = "",
    max_body: Annotated[int, option("SERVE_MAX_BODY", "Maximum size of a request, in bytes.", min=1_000)] = 2_000_000,
    ledger: Annotated[
        str, option("LEDGER", "Ledger of batches, for workers on other machines: postgresql://… or a local file.")
    ] = "",
    telemetry: _Telemetry = "off",
    log: _Log = False,
    log_level: LogLevel = "warning",
    options: RunParameters,
    search: SearchParameters,
) -> None:
    """Serve checks over HTTP; the help of ``serve_app`` says more."""
    if context.invoked_subcommand:
        return
    _require("the service", "serve", "fastapi", "prometheus_client", "uvicorn")
    log_to_stderr(log_level, structured=log)
    warn_of_unknown_variables(context, os.environ)
    from redargue.runs.budget import Budget
    from redargue.service.app import allowed_hosts
    from redargue.service.context import ServiceSettings
    from redargue.service.keys import Keys

    Budget.parse(day_budget or "1calls", "--day-budget")
    settings = ServiceSettings(
        rules=_rules(options, search, read_corpora(corpus)),
        running=running,
        waiting=waiting,
        hosts=allowed_hosts(host, tuple(trusted_host or ()), has_keys=bool(Keys().list())),
        origins=tuple(map(_site, cors or ())),
        day_budget=day_budget,
        max_body=max_body,
        ledger=ledger,
        telemetry=_export(telemetry),
    )
    _run(settings, host.strip("[]"), port)


# Of no option; and of names that only others know: the proxy reports its own.
_VARIABLES = "HOME CACHE THREADS OFFLINE FETCH_ALLOW MILVUS_TOKEN WORKER DATA KEY SERVICE_KEY".split()
_OF_NAMES = ("REDARGUE_MCP_", "REDARGUE_TEST_", "REDARGUE_PROXY_", "REDARGUE_UPSTREAM_")


def warn_of_unknown_variables(context: typer.Context, environment: Mapping[str, str]) -> None:
    """Says which variables set nothing, with the nearest that does."""
    from difflib import get_close_matches

    from redargue.net.services import service_variables

    known = {f"REDARGUE_{name}" for name in _VARIABLES} | {*service_variables()}
    ours = [name for name in environment if name.startswith("REDARGUE_")]
    unknown = [name for name in ours if not name.startswith(_OF_NAMES) and name not in known]
    if unknown:  # only then are all commands loaded
        known |= set(_variables_of(context.find_root().command, context))
    for name in (name for name in unknown if name not in known):
        near = get_close_matches(name, known, n=1, cutoff=0.85)
        guess = f"; did you mean {near[0]}?" if near else ""
        said = f"redargue: there is no setting {name}: it is ignored{guess}"
        typer.echo(printable(said, lines=False), err=True)


def _variables_of(command: Any, context: typer.Context) -> Iterator[str]:
    """The variables of the options of a command and of those in it."""
    for parameter in command.params:
        given = parameter.envvar or ()
        yield from (given,) if isinstance(given, str) else given
    if isinstance(command, TyperGroup):
        for name in command.list_commands(context):
            yield from _variables_of(command.get_command(context, name), context)


def _require(what: str, extra: str, *packages: str) -> None:
    """Raises UsageError if a package is not installed."""
    try:
        for package in packages:
            import_module(package)
    except ImportError as error:
        hint = install(extra)
        raise UsageError(f"{what} needs {error.name}, which is not installed", hint=hint) from error


def _export(telemetry: str) -> Literal["off", "on", "content"]:
    """Starts the export of traces unless it is off."""
    if telemetry not in TELEMETRY:
        hint = did_you_mean(telemetry, TELEMETRY)
        raise UsageError(f"unknown {telemetry!r}", where="--telemetry", hint=hint)
    if telemetry != "off":
        from redargue.telemetry import export

        export()
    return cast(Literal["off", "on", "content"], telemetry)


def _run(settings: ServiceSettings, host: str, port: int) -> None:
    from redargue.files import home
    from redargue.service.app import create_app
    from redargue.service.proxy.settings import ProxySettings

    about_proxy = ProxySettings.from_environment(spec=settings.rules.spec).summary

    def ready(url: str) -> None:
        said = (f"redargue: {line}" for line in (url, about_proxy) if line)
        typer.echo("\n".join(said), err=True)

    _listen("serve", host, port, home() / "service", lambda: create_app(settings), ready)


def _listen(
    command: str, host: str, port: int, own: Path, make: Callable[[], FastAPI], ready: Callable[[str], None]
) -> None:
    """Serves an application until the process is stopped.

    Args:
        own: folder of the command, which only one process may use.
        make: gives the application.
        ready: called with the address once it is served.
    """
    from redargue.service.app import Server, bound_socket, only_one

    listener = bound_socket(host, port)
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{listener.getsockname()[1]}"
    with only_one(own, f"redargue {command}"):
        Server(make(), lambda: ready(url)).run(sockets=[listener])


def _site(origin: str) -> str:
    """Raises UsageError."""
    scheme, _, host = origin.partition("://")
    if scheme not in ("http", "https") or not host or "/" in host or "*" in host:
        hint = "write it like https://example.org"
        raise UsageError(f"{origin!r} is not a site", where="--cors", hint=hint)
    return origin


@key_app.command("add")
def add_key(
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    budget: Annotated[str, typer.Option(help="Limit of each day (UTC): 5usd, 200ktok, 400calls, 90searches.")] = "",
) -> None:
    """Make a key and print it; only its hash is stored."""
    from redargue.service.keys import Keys

    key, secret = Keys().add(name, budget)
    typer.echo(secret)
    typer.echo(printable(f"{key.id}: {name}; the key is not shown again", lines=False), err=True)


@key_app.command("ls")
def list_keys(json: AsJson = False) -> None:
    """List keys."""
    from redargue.service.keys import Keys

    keys = Keys().list()
    if json:
        print_json({"keys": [key.model_dump(mode="json", exclude={"sha256"}) for key in keys]})
        return
    for key in keys:
        budget = f"  {key.budget} a day" if key.budget else ""
        typer.echo(printable(f"{key.id}  {key.created:%Y-%m-%d}  {key.name}{budget}", lines=False))
    typer.echo(counted(len(keys), "key"), err=True)


@key_app.command("rm")
def remove_key(key: Annotated[str, typer.Argument(metavar="ID", help="As key ls shows it.")]) -> None:
    """Remove a key; the checks that were made with it stay."""
    from redargue.service.keys import Keys

    removed = Keys().remove(key)
    typer.echo(printable(f"removed: {removed.id} ({removed.name})", lines=False), err=True)


def view(
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="Run or bench folder, a name that runs ls lists, or last.")
    ] = None,
    port: Annotated[int, option("VIEW_PORT", "Port; 0 for a free one.", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    offline: Offline = False,
    corpus: Corpora = None,
) -> None:
    """Open a run, or the list of runs, in a page on this machine.

    A run that is not finished is shown while it runs. Only this machine can reach the page. Needs the extra serve.
    """
    _require("the page", "serve", "fastapi", "uvicorn")
    import webbrowser

    from redargue.cli.options import live_tool
    from redargue.files import home
    from redargue.reports.folders import kind_of
    from redargue.runs.folders import find_run, runs_folder
    from redargue.service.app import create_viewer
    from redargue.service.rules import RequestRules
    from redargue.spec import RunSpec

    folder = find_run(run).resolve() if run is not None else runs_folder()
    if run is None:
        path = ""
    elif any((folder / name).is_file() for name in ("run.json", "check.json")):
        folder, path = folder.parent, f"runs/{folder.name}"
    elif kind_of(folder):
        path = "report"
    else:
        what = f"{str(folder)!r} is neither a bench nor a run"
        raise UsageError(what, hint="redargue runs ls lists runs")

    def ready(url: str) -> None:
        typer.echo(f"redargue: {url}/{path}", err=True)
        if browser:
            webbrowser.open(f"{url}/{path}")

    spec, live, own = RunSpec(offline=offline), live_tool(offline=offline), home() / "view"
    rules = RequestRules(spec, live, corpora=read_corpora(corpus))
    _listen("view", "127.0.0.1", port, own, lambda: create_viewer(folder, own, rules), ready)
