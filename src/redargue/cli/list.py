"""``redargue list``: registered methods, tools, tasks, backends and label sets.

``redargue prompts``: what a model would be sent. ``redargue mcp-tools``: MERMAID's tool servers, for any MCP client.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from redargue.cli.app import ListGroup
from redargue.cli.output import leaving_with_reader, print_json
from redargue.cli.parameters import AsJson, Offline, PromptSet, option
from redargue.errors import UsageError
from redargue.registry import Registry, did_you_mean
from redargue.sanitize import counted, printable

if TYPE_CHECKING:
    from redargue.estimate import ShownPrompt
    from redargue.tasks.base import Task


_T = TypeVar("_T")

list_app = typer.Typer(
    cls=ListGroup, no_args_is_help=True, help="List methods, tools, tasks, backends, label sets and more."
)


@list_app.command("methods")
def list_methods(json: AsJson = False) -> None:
    """List methods with their profiles and settings."""
    from redargue.methods.base import methods as registry

    rows = {
        name: {
            "about": method.about,
            "profiles": {profile: dict(overrides) for profile, overrides in method.profiles.items()},
            "settings": {
                setting: field.get_default(call_default_factory=True)
                for setting, field in method.settings_class.model_fields.items()
            },
        }
        for name, method in usable(registry).items()
    }
    print_rows(rows, json)


@list_app.command("tools")
def list_tools(
    mcp: Annotated[
        list[str] | None, option("MCP", "List this MCP server's tools; repeatable.", metavar="[NAME=]SERVER")
    ] = None,
    offline: Offline = False,
    json: AsJson = False,
) -> None:
    """List search tools, or the tools of MCP servers with their argument schemas."""
    from redargue.retrieval.tools import tools as registry

    if mcp:
        from redargue.assembly import sources
        from redargue.retrieval.mcp.client import list_tools, servers

        offered = asyncio.run(list_tools(servers(mcp, sources(offline=offline), os.environ)))
        rows = {
            name: {"about": _first_line(tool.about), "parameters": tool.parameters} for name, tool in offered.items()
        }
    else:
        rows = {name: {"about": tool.about} for name, tool in usable(registry).items()}
    print_rows(rows, json)


@list_app.command("tasks")
def tasks(json: AsJson = False) -> None:
    """List the tasks of each method, and whether the embedded backend performs them."""
    from redargue.backends import backends
    from redargue.methods.base import ConfiguredMethod
    from redargue.methods.base import methods as registry
    from redargue.tasks.extract import ExtractClaims, MarkOpinions

    embedded = backends["embedded"]()
    users: dict[type[Task[Any]], list[str]] = {}
    methods = usable(registry)
    for name, method in methods.items():
        for task in ConfiguredMethod(method, method.settings_class()).tasks():
            users.setdefault(task, []).append(name)
    # The claims of a text are extracted for every method.
    users |= {task: list(methods) for task in (MarkOpinions, ExtractClaims)}
    rows: dict[str, dict[str, Any]] = {}
    for task, names in users.items():
        about = _first_line(task.__doc__)
        rows[task.name()] = {"about": about, "methods": names, "embedded": embedded.can(task)}
    print_rows(rows, json)


@list_app.command("backends")
def list_backends(json: AsJson = False) -> None:
    """List backends."""
    from redargue.backends import backends as registry

    backends = usable(registry).items()
    print_rows({name: {"about": _first_line(made.__doc__)} for name, made in backends}, json)


@list_app.command("labels")
def labels(json: AsJson = False) -> None:
    """List label sets."""
    from redargue.claims import label_sets

    names = {name: ", ".join(label_sets[name].names) for name in label_sets}
    print_rows({name: {"about": words or "any text"} for name, words in names.items()}, json)


def usable(registry: Registry[_T]) -> dict[str, _T]:
    """The entries by name; those of other packages that are left out are named on standard error."""
    problems = registry.problems()
    for problem in (*problems.values(), *registry.clashes().values()):
        typer.echo(f"left out: {printable(str(problem))}", err=True)
    return {name: registry[name] for name in registry if name not in problems}


def _first_line(text: str | None) -> str:
    return (text or "").strip().split("\n")[0]


def print_rows(rows: dict[str, dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    for name, row in rows.items():
        typer.echo(f"{name}: {row.pop('about')}")
        for key, value in row.items():
            fields = {key: value}
            if isinstance(value, dict):
                fields = {f"{key.removesuffix('s')} {field}": inner for field, inner in value.items()}
            for field, inner in fields.items():
                typer.echo(f"  {field}: {json.dumps(inner, ensure_ascii=False)}")


def mcp_tools(
    kind: Annotated[str, typer.Argument(metavar="wikipedia|google|scholar|papers", help="The server to run.")],
    http: Annotated[
        str, typer.Option("--http", metavar="HOST:PORT", help="Serve streamable HTTP; default: standard input/output.")
    ] = "",
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Serve every user of this machine; default: those who send the token.")
    ] = False,
    offline: Offline = False,
) -> None:
    """Serve search tools over MCP.

    Over HTTP, clients send a token: that of REDARGUE_MCP_SERVER_TOKEN, or a new one, which is printed.
    """
    from redargue.assembly import sources
    from redargue.retrieval.mcp.serving import build_tool_server, serve_http

    server = build_tool_server(kind, sources(offline=offline))
    if http:
        own = os.environ.get("REDARGUE_MCP_SERVER_TOKEN", "").strip()
        token = "" if no_token else own or secrets.token_urlsafe(24)
        note = ""
        if token and not own:
            note = f"\n  → clients send the header Authorization: Bearer {token}"

        def started(url: str) -> None:
            typer.echo(f"redargue: {kind} at {url}{note}", err=True)

        serve_http(server, http, token, started)
    else:
        with leaving_with_reader():
            server.run()


prompts_app = typer.Typer(no_args_is_help=True, help="Show the prompts of a method; nothing is sent.")


@prompts_app.command("show")
def show_prompts(
    method: Annotated[str, typer.Argument(help="Verification method; see redargue list methods.")],
    profile: Annotated[str, typer.Option(help="Settings to start from.")] = "hardened",
    form: Annotated[
        str, option("RESPONSE_FORMAT", "Format of replies: auto, schema, json, plain, or tools.", "--response-format")
    ] = "auto",
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method; repeatable.")
    ] = None,
    tool: Annotated[
        list[str] | None,
        option("TOOL", 'Search tool; repeatable. In a debate, one for each debater ("none": no tool).'),
    ] = None,
    labels: Annotated[str, option("LABELS", "Label set; see redargue list labels.")] = "fever",
    claim: Annotated[str, typer.Option(metavar="TEXT", help="The claim; default: one about a lighthouse.")] = "",
    context: Annotated[str, typer.Option(metavar="TEXT", help="The text that the claim comes from.")] = "",
    prompts: PromptSet = None,
    task: Annotated[list[str] | None, typer.Option(metavar="TASK", help="Only this task; repeatable.")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Show every prompt in order, not only each task's longest.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Print what a model would be sent, task by task, with tokens.

    The method verifies one claim with made-up passages, and replies "(made-up text 1)"; its agents disagree, so that
    every round is held. Nothing is run and nothing is sent. Of each task the longest prompt is printed.
    """
    from redargue.assembly import read_prompts
    from redargue.claims import Claim
    from redargue.cli.options import read_settings
    from redargue.estimate import CLAIM, preview
    from redargue.spec import RunSpec

    given = {"method": method, "profile": profile, "response_format": form, "labels": labels}
    spec = RunSpec(**given, tools=tuple(tool) if tool else None, settings=read_settings(setting or []))
    of = Claim(text=claim or CLAIM.text, context=context, labels=spec.labels)
    shown = preview(spec.updated(labels="fever"), of, prompts=read_prompts(prompts))
    chosen = _chosen(shown, task or [], every=every)
    if json:
        rows = [prompt.model_dump(mode="json") | {"tokens": prompt.tokens} for prompt in chosen]
        print_json({"schema_version": 1, "method": method, "profile": profile, "prompts": rows})
        return
    for prompt in chosen:
        times = 1 if every else sum(other.task == prompt.task for other in shown)
        asked = f", asked {times} times" if times > 1 else ""
        typer.echo(f"===== {prompt.task} ({prompt.agent}{asked}; {prompt.tokens:,} tokens)")
        typer.echo(printable(_text(prompt)) + "\n")
    total = sum(prompt.tokens for prompt in shown)
    typer.echo(f"{counted(len(shown), 'prompt')} in this example, {total:,} tokens at 4 bytes each", err=True)


def _chosen(shown: list[ShownPrompt], tasks: list[str], *, every: bool) -> list[ShownPrompt]:
    """The prompts of these tasks, or of all without one; the longest of each task unless all are asked for."""
    names = list(dict.fromkeys(prompt.task for prompt in shown))
    for name in tasks:
        if name not in names:
            what = f"no prompt of the task {name!r} is sent about this claim"
            raise UsageError(what, where="--task", hint=did_you_mean(name, names))
    names = [name for name in names if not tasks or name in tasks]
    if every:
        return [prompt for prompt in shown if prompt.task in names]
    longest = sorted(shown, key=lambda prompt: prompt.tokens, reverse=True)
    return [next(prompt for prompt in longest if prompt.task == name) for name in names]


def _text(prompt: ShownPrompt) -> str:
    parts = [f"--- {message['role']}\n{message['content']}" for message in prompt.messages]
    values = [("schema", prompt.schema_sent)] if prompt.schema_sent else []
    values += [("function", function) for function in prompt.functions]
    parts += [f"--- {name}\n{json.dumps(value, indent=1, ensure_ascii=False)}" for name, value in values]
    return "\n".join(parts)
