"""The commands: listed by name, imported when they are used.

A package adds a command through an entry point; ``bench …`` adds it to the group::

    [project.entry-points."redargue.commands"]
    "my-command" = "my_package.commands:my_command"

The entry is a function as Typer reads it (its parameters are the options, its docstring is the help), or a
:class:`typer.Typer` with the commands of a group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import typer
from typer.core import TyperGroup

from redargue.errors import UsageError
from redargue.registry import Registry, install

COMMANDS = {
    "demo": "redargue.cli.ground:demo",
    "check": "redargue.cli.check:check",
    "ground": "redargue.cli.ground:ground_answer",
    "batch": "redargue.cli.batch:batch",
    "estimate": "redargue.cli.estimate:estimate_costs",
    "replay": "redargue.cli.runs:replay_run",
    "report": "redargue.cli.report:write_report",
    "runs": "redargue.cli.runs:runs_app",
    "corpus": "redargue.cli.corpus:corpus_app",
    "memory": "redargue.cli.memory:memory_app",
    "models": "redargue.cli.models:models_app",
    "prompts": "redargue.cli.list:prompts_app",
    "mcp-tools": "redargue.cli.list:mcp_tools",
    "list": "redargue.cli.list:list_app",
    "doctor": "redargue.cli.doctor:doctor",
}
EXTRAS = {  # commands of optional packages, by the extra that installs the package
    "lab": ("bench", "calibrate", "diff", "fit", "list datasets", "why"),
    "scale": ("ledger", "worker"),
    "serve": ("hook", "mcp", "serve", "view"),
}
INSTEAD = {"view": "or, for a finished run: redargue report last --open"}  # without the extra


def _missing(entry: object) -> str:
    if callable(entry) or isinstance(entry, typer.Typer):
        return ""
    return "it is neither a function nor a typer.Typer"


commands: Registry[Callable[..., Any] | typer.Typer] = Registry(
    "command", builtin=COMMANDS, group="redargue.commands", missing=_missing
)


def extra_of(command: str) -> str:
    """The extra that installs a command which is missing; empty for a command that nobody knows."""
    known = (extra for extra, names in EXTRAS.items() if command in names)
    return "" if command in commands else next(known, "")


@cache
def _command(name: str, entry: Callable[..., Any] | typer.Typer) -> Any:
    """Typer's command of an entry; each is looked up several times."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    if isinstance(entry, typer.Typer):
        app.add_typer(entry, name=name)
    else:
        app.command(name)(entry)
    return typer.main.get_group(app).commands[name]


class ExtensibleGroup(TyperGroup):
    """A group whose commands are its own and, after its words, those of :data:`commands`."""

    words = ""  # before the name of a command: "" or "bench "

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *self._added()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        own = super().get_command(ctx, cmd_name)
        if own is not None or " " in cmd_name or self.words + cmd_name not in commands:
            return own
        return _command(cmd_name, commands[self.words + cmd_name])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Raises UsageError for a command whose package is not installed."""
        if extra := extra_of(name := self.words + args[0]):
            hint = "  ".join(filter(None, (install(extra), INSTEAD.get(name))))
            raise UsageError(f"the command {name!r} is not installed", hint=hint)
        return super().resolve_command(ctx, args)

    def _added(self) -> list[str]:
        # A package that cannot be loaded must not take the help of all others away.
        unusable = commands.problems()
        known = (name for name in commands if name.startswith(self.words) and name not in unusable)
        starting = [name.removeprefix(self.words) for name in known]
        return [name for name in starting if " " not in name]


class BenchGroup(ExtensibleGroup):
    """``redargue bench``."""

    words = "bench "


class ListGroup(ExtensibleGroup):
    """``redargue list``."""

    words = "list "


class Options(Mapping[str, "Options | None"]):
    """The options of a command, and the commands of a group with theirs, imported when a name is looked up."""

    def __init__(self, command: Any, context: typer.Context) -> None:
        self._command, self._context = command, context
        self._is_group = isinstance(command, TyperGroup)
        self._own = {str(parameter.name) for parameter in command.params}

    def __getitem__(self, name: str) -> Options | None:
        if self._is_group and (inner := self._command.get_command(self._context, name)):
            return Options(inner, self._context)
        # The options of a command are not known before its package is installed.
        if name in self._own or (self._command is self._context.command and extra_of(name)):
            return None
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        groups = self._command.list_commands(self._context) if self._is_group else []
        return iter(dict.fromkeys([*groups, *sorted(self._own)]))

    def __len__(self) -> int:
        return len(list(iter(self)))
