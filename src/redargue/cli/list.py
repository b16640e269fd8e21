"""``redargue list``: what there is to choose from."""

from __future__ import annotations

from typing import Annotated, Any

import typer

app = typer.Typer(no_args_is_help=True, help="Methods, tools, tasks, backends and label sets.")

Json = Annotated[bool, typer.Option("--json", help="One JSON object.")]


@app.command("methods")
def methods(json: Json = False) -> None:
    """Methods with their profiles and settings."""
    from redargue.methods.base import methods as registry

    rows = {}
    for name in registry:
        method = registry[name]
        settings = {
            name: field.get_default(call_default_factory=True)
            for name, field in method.settings_class.model_fields.items()
        }
        rows[name] = {
            "about": method.about,
            "profiles": {each: dict(over) for each, over in method.profiles.items()},
            "settings": settings,
        }
    _print(rows, json)


@app.command("tools")
def tools(
    mcp: Annotated[
        list[str] | None,
        typer.Option("--mcp", envvar="REDARGUE_MCP", metavar="[NAME=]SERVER", help="Those of an MCP server instead."),
    ] = None,
    offline: Annotated[bool, typer.Option("--offline", envvar="REDARGUE_OFFLINE", help="Ask no service.")] = False,
    json: Json = False,
) -> None:
    """Evidence tools, or those of MCP servers with the schemas of their arguments."""
    if mcp:
        import asyncio
        import os

        from redargue.assembly import sources
        from redargue.retrieval.mcp.client import list_tools, servers

        found = asyncio.run(list_tools(servers(mcp, sources(offline=offline), os.environ)))
        _print(
            {name: {"about": _first(each.about), "parameters": each.parameters} for name, each in found.items()}, json
        )
        return
    from redargue.retrieval.tools.base import tools as registry

    _print({name: {"about": getattr(registry[name], "about", "")} for name in registry}, json)


@app.command("tasks")
def tasks(json: Json = False) -> None:
    """What methods ask of backends, and who performs it."""
    from redargue.backends.base import backends
    from redargue.methods.base import ConfiguredMethod
    from redargue.methods.base import methods as registry
    from redargue.tasks.extract import ExtractClaims, MarkOpinions

    embedded = backends["embedded"]()
    rows: dict[str, dict[str, Any]] = {}
    for name in registry:
        for task in ConfiguredMethod(registry[name], registry[name].settings_class()).tasks():
            row = rows.setdefault(
                task.name(), {"about": _first(task.__doc__), "methods": [], "embedded": embedded.can(task)}
            )
            row["methods"].append(name)
    for task in (MarkOpinions, ExtractClaims):  # of a text, whatever method verifies its claims
        rows[task.name()] = {"about": _first(task.__doc__), "methods": list(registry), "embedded": embedded.can(task)}
    _print(rows, json)


@app.command("backends")
def backends(json: Json = False) -> None:
    """Who can play the roles."""
    from redargue.backends.base import backends as registry

    _print({name: {"about": _first(registry[name].__doc__)} for name in registry}, json)


@app.command("datasets")
def datasets(json: Json = False) -> None:
    """Data sets that the bench reads, in their official formats."""
    from redargue.bench.datasets.base import datasets as registry

    rows = {
        name: {
            "about": registry[name].about,
            "labels": list(registry[name].labels.names),
            "metric": registry[name].metric,
        }
        for name in registry
    }
    _print(rows, json)


@app.command("labels")
def labels(json: Json = False) -> None:
    """Label sets."""
    from redargue.claims import label_sets

    _print({name: {"about": ", ".join(label_sets[name].names) or "any text"} for name in label_sets}, json)


def _first(text: str | None) -> str:
    return (text or "").strip().split("\n")[0]


def _print(rows: dict[str, dict[str, Any]], as_json: bool) -> None:
    import json

    if as_json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))  # noqa: T201
        return
    for name, row in rows.items():
        print(f"{name}: {row['about']}")  # noqa: T201
        for key, value in row.items():
            if key == "about":
                continue
            if isinstance(value, dict):
                for inner, each in value.items():
                    print(f"  {key.removesuffix('s')} {inner}: {json.dumps(each, ensure_ascii=False)}")  # noqa: T201
            else:
                print(f"  {key}: {json.dumps(value, ensure_ascii=False)}")  # noqa: T201
