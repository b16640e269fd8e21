"""Commands of methods and of other packages: imported when they are used, listed beside the others.

Another package adds a command through an entry point; ``bench …`` adds it to the group::

    [project.entry-points."redargue.commands"]
    "my-command" = "my_package.commands:my_command"

The entry is a function as Typer reads it: its parameters are the options, its docstring is the help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import typer
from typer.core import TyperGroup

from redargue.registry import Registry

COMMANDS = {
    "bench fit-cascade": "redargue.methods.cascade.commands.fit_cascade:fit_cascade",
    "bench import": "redargue.methods.mermaid.commands.import_runs:import_runs",
}
commands: Registry[Callable[..., Any]] = Registry("command", builtin=COMMANDS, group="redargue.commands")


class ExtensibleGroup(TyperGroup):
    """A group whose commands are its own and, after its words, those of :data:`commands`."""

    words = ""  # before the name of a command: "" or "bench "

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *self._added()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        own = super().get_command(ctx, cmd_name)
        if own is not None or cmd_name not in self._added():
            return own
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(cmd_name)(commands[self.words + cmd_name])
        return typer.main.get_command(app)

    def _added(self) -> list[str]:
        starting = [name.removeprefix(self.words) for name in commands if name.startswith(self.words)]
        return [name for name in starting if " " not in name]


class BenchGroup(ExtensibleGroup):
    """``redargue bench``."""

    words = "bench "


class Options(Mapping[str, "Options | None"]):
    """The options of a command, and the commands of a group with theirs, imported when a name is looked up."""

    def __init__(self, command: Any, context: typer.Context) -> None:
        self._command, self._context = command, context
        self._own = {str(parameter.name) for parameter in command.params}

    def __getitem__(self, name: str) -> Options | None:
        if isinstance(self._command, TyperGroup) and (inner := self._command.get_command(self._context, name)):
            return Options(inner, self._context)
        if name in self._own:
            return None
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        groups = self._command.list_commands(self._context) if isinstance(self._command, TyperGroup) else []
        return iter(dict.fromkeys([*groups, *sorted(self._own)]))

    def __len__(self) -> int:
        return len(list(iter(self)))
