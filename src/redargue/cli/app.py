"""The command ``redargue``, and its commands: listed by name, imported when they are used.

Data goes to stdout, everything else to stderr. Exit codes: 0 finished, 1 a gate set by the user failed, 2 usage or
configuration, 3 some claims ended in errors, 4 budget reached, 5 provider or network unreachable, 130 interrupted, 141
the reader of stdout left, as ``| head`` does, 143 ended by SIGTERM.

A package adds a command through an entry point; ``bench …`` adds it to the group::

    [project.entry-points."redargue.commands"]
    "my-command" = "my_package.commands:my_command"

The entry is a function as Typer reads it (its parameters are the options, its docstring is the help), or a
:class:`typer.Typer` with the commands of a group.
"""

from __future__ import annotations

import ast
import errno
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise, takewhile
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from redargue.cli.output import INTERRUPTED, TERMINATED, replace_unencodable, watch_readers
from redargue.config_file import CONFIG, read_defaults
from redargue.errors import ProviderError, RedargueError, UsageError
from redargue.files import NO_ROOM, config_home, home
from redargue.registry import Registry, a_function, did_you_mean, install
from redargue.sanitize import NotUtf8, printable

COMMANDS = {
    "demo": "redargue.cli.ground:demo",
    "check": "redargue.cli.check:check",
    "ground": "redargue.cli.ground:ground_answer",
    "batch": "redargue.cli.batch:batch",
    "estimate": "redargue.cli.check:estimate_costs",
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
    if isinstance(entry, typer.Typer):
        return ""
    return a_function(entry) if callable(entry) else "it is neither a function nor a typer.Typer"


commands: Registry[Callable[..., Any] | typer.Typer] = Registry(
    "command", builtin=COMMANDS, group="redargue.commands", missing=_missing
)


def extra_of(command: str) -> str:
    """The extra that installs a command which is missing; empty for a command that nobody knows."""
    known = (extra for extra, names in EXTRAS.items() if command in names)
    return "" if command in commands else next(known, "")


@cache
def _as_command(name: str, entry: Callable[..., Any] | typer.Typer) -> Any:
    """Typer's command of an entry; each is looked up several times."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    if isinstance(entry, typer.Typer):
        app.add_typer(entry, name=name)
    else:
        app.command(name)(entry)
    return typer.main.get_group(app).commands[name]


def help_of(place: str) -> str:
    """The help of a function or a :class:`typer.Typer` at ``module:name``, read from its source, which is not run."""
    module, _, name = place.partition(":")
    source = Path(__file__).parents[2].joinpath(*module.split(".")).with_suffix(".py")
    for node in ast.parse(source.read_text(encoding="utf-8")).body if source.is_file() else ():
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return ast.get_docstring(node) or ""
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and ast.unparse(node.targets[0]) == name:
            return next(str(ast.literal_eval(each.value)) for each in node.value.keywords if each.arg == "help")
    return ""


class ExtensibleGroup(TyperGroup):
    """A group whose commands are its own and, after its words, those of :data:`commands`."""

    words = ""  # before the name of a command: "" or "bench "

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *self._added()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        own = super().get_command(ctx, cmd_name)
        if own is not None or " " in cmd_name or self.words + cmd_name not in commands:
            return own
        return _as_command(cmd_name, commands[self.words + cmd_name])

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Lists the commands; most of redargue's own are not imported for it, which takes seconds."""
        listed = TyperGroup(rich_markup_mode=None)
        for name in self.list_commands(ctx):
            text = help_of(commands.place(self.words + name))
            command = TyperGroup(name=name, help=text) if text else self.get_command(ctx, name)
            if command:
                listed.commands[name] = command
        listed.format_commands(ctx, formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Raises UsageError for an unknown command, and for one whose package is not installed."""
        if extra := extra_of(name := self.words + args[0]):
            hint = "  ".join(filter(None, (install(extra), INSTEAD.get(name))))
            raise UsageError(f"the command {name!r} is not installed", hint=hint)
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            raise UsageError(f"no command {name!r}", hint=did_you_mean(args[0], self.list_commands(ctx)))
        return super().resolve_command(ctx, args)

    def _added(self) -> list[str]:
        # A package that cannot be loaded must not take the help of all others away.
        unusable = commands.problems()
        known = (name for name in commands if name.startswith(self.words) and name not in unusable)
        starting = [name.removeprefix(self.words) for name in known]
        return [name for name in starting if " " not in name]


def unreachable(name: str) -> str:
    """Why a command of another package cannot be called by its name; empty if it can."""
    *words, last = name.split(" ")
    group: Any = _command()
    context = typer.Context(group)
    for word in words:
        group = group.get_command(context, word) if isinstance(group, ExtensibleGroup) else None
    if not isinstance(group, ExtensibleGroup):
        return f"there is no group {' '.join(words)!r} to which commands can be added"
    if not re.fullmatch(r"\w[\w-]*", last):
        return f"{last!r} cannot be the name of a command"
    return "redargue has a command of that name" if TyperGroup.get_command(group, context, last) else ""


class BenchGroup(ExtensibleGroup):
    """``redargue bench``."""

    words = "bench "


class ListGroup(ExtensibleGroup):
    """``redargue list``."""

    words = "list "


class Options(Mapping[str, "Options | None"]):
    """The options of a command, and the commands of a group with theirs, imported when a name is looked up.

    Attributes:
        repeatable: the options whose value is a list.
    """

    def __init__(self, command: Any, context: typer.Context) -> None:
        self._command, self._context = command, context
        self._is_group = isinstance(command, TyperGroup)
        self._own = {str(parameter.name) for parameter in command.params}
        self.repeatable = {str(parameter.name) for parameter in command.params if getattr(parameter, "multiple", False)}

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


_OF_GROUND = ("--answer", "--context")


class Commands(ExtensibleGroup):
    """Reports a connection that its other side closed, which typer takes for a reader of standard output that left.

    A question that nobody answers is an error; typer would end with the code of a failed gate. An option of ``ground``
    that ``check`` is given leads to ``ground``, and a wrong value is quoted.
    """

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            what = "the other side closed a connection while this command was sending"
            raise ProviderError(what, hint="run it again; --debug shows where") from error
        except typer.BadParameter as error:
            if problems := getattr(error.__cause__, "errors", None):  # pydantic's, whose import takes long
                error.message = f"{problems()[0]['input']!r}: {error.message}"
            raise
        except typer.Abort as error:
            if isinstance(error.__context__, KeyboardInterrupt):
                raise typer.Exit(INTERRUPTED) from error
            raise UsageError("the question was not answered", hint="answer it with --yes") from error
        except Exception as error:
            option = getattr(error, "option_name", "")  # of typer's error, which it does not export
            if ctx.invoked_subcommand != "check" or option not in _OF_GROUND:
                raise
            hint = (
                "redargue ground --answer FILE --context SOURCES checks a text against given sources (files, folders)"
            )
            raise UsageError(f"check has no option {option}", hint=hint) from None


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Verify claims against evidence with published multi-agent protocols.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"redargue {version('redargue')}")
        raise typer.Exit


@app.callback()
def common(
    context: typer.Context,
    *,
    version: Annotated[
        bool, typer.Option("--version", "-V", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", envvar="REDARGUE_DEBUG", help="Show tracebacks.")] = False,
    env_file: Annotated[
        Path | None, typer.Option("--env-file", metavar="FILE", help="Read settings and keys from this file.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Read this redargue.toml instead of your own.")
    ] = None,
) -> None:
    if env_file:
        _read_settings(env_file)
    defaults = read_defaults(Options(context.command, context), config)
    context.default_map = defaults.tables
    _warn(defaults.ignored, context.invoked_subcommand or "")


def _read_settings(file: Path) -> None:
    """Sets the variables of a file; raises UsageError for a line that sets nothing: a setting would be lost."""
    from dotenv import load_dotenv
    from dotenv.parser import parse_stream

    if not file.is_file():
        raise UsageError(f"no file {str(file)!r}", where="--env-file")
    try:
        with file.open(encoding="utf-8") as lines:
            bindings = list(parse_stream(lines))
        for binding in bindings:
            bare = binding.value is None and not (binding.key or "NAME").isidentifier()  # NAME: VALUE
            if binding.error or bare:
                written = binding.original.string
                number = binding.original.line + written.count("\n", 0, len(written) - len(written.lstrip()))
                hint = "write NAME=VALUE, and close its quotes; the line is not shown, because it may hold a key"
                raise UsageError(f"line {number} of {str(file)!r} sets nothing", where="--env-file", hint=hint)
        load_dotenv(file)  # variables that are already set win
    except ValueError as error:
        raise UsageError(f"{str(file)!r} cannot be read: {error}", where="--env-file") from error


def _warn(ignored: tuple[str, ...], command: str) -> None:
    """Says which options of the working folder's settings file were not read for this command."""
    if names := [name for name in ignored if name.startswith(f"{command}.")]:
        what = f"{CONFIG} in this folder may not set {', '.join(names)}: ignored"
        hint = f"set them in {config_home() / CONFIG}, or trust this file: redargue --config {CONFIG} {command} …"
        typer.echo(printable(f"redargue: {what}\n  → {hint}"), err=True)


def main() -> None:
    replace_unencodable()
    watch_readers()
    _open_closed_streams()
    terminated: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        """Ends the command as Ctrl-C does: a budget has to count the requests that are in flight."""
        terminated.append(number)
        handler = signal.getsignal(signal.SIGINT)  # asyncio's; a script's background jobs ignore Ctrl-C
        (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)

    signal.signal(signal.SIGTERM, interrupt)
    code = run(sys.argv[1:])
    if sys.stdout:
        sys.stdout.flush()
    sys.exit(TERMINATED if terminated and code == INTERRUPTED else code)


def _open_closed_streams() -> None:
    """Opens what the caller closed (``<&-``, ``>&-``) on the null device, as Python leaves None in its place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  # until the process ends


@cache
def _command() -> Any:
    return typer.main.get_command(app)


def run(arguments: list[str]) -> int:
    """Runs one command and returns its exit code; prints errors to stderr."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", NotUtf8)  # once for each file, however often it is read
            warnings.showwarning = _note
            _refuse_empty(arguments)
            _command().main(arguments, prog_name="redargue")
    except SystemExit as exit_:
        if exit_.code is None or isinstance(exit_.code, int):
            return exit_.code or 0
        typer.echo(printable(str(exit_.code)), err=True)  # as the interpreter does
        return 1
    except (RedargueError, OSError) as error:
        if "--debug" in arguments or os.environ.get("REDARGUE_DEBUG", "") not in ("", "0", "false"):
            raise
        return _print_error(_problem(error) if isinstance(error, OSError) else error)
    return 0


def _refuse_empty(arguments: Sequence[str]) -> None:
    """Refuses what an unset shell variable leaves: an empty path would be the working folder, an empty budget none."""
    options = filter(re.compile(r"--[a-z-]+=").fullmatch, takewhile("--".__ne__, arguments))
    before = (place for place, value in pairwise(["redargue", *arguments]) if not value)
    for place in (*options, *before):
        raise UsageError(f"the value after {place!r} is empty", hint="write one; a shell variable may be unset")


def _print_error(problem: RedargueError) -> int:
    """Prints an error and returns its exit code; a name for it in ``run`` would keep its frames."""
    typer.echo(printable(f"redargue: {problem}"), err=True)
    return problem.exit_code


def _problem(error: OSError) -> UsageError:
    """A full disk, or a folder that cannot be written, in words."""
    if error.errno == errno.ENOENT and not error.filename:  # of os.getcwd
        return UsageError("the working folder is not there any more", hint="change to another one")
    place = f"{str(error.filename)!r} cannot be used: " if error.filename else ""
    hint = "choose another folder"
    if Path(str(error.filename or home())).is_relative_to(home()):
        hint += ": REDARGUE_HOME is the home of runs and corpora"
    if error.errno in NO_ROOM:
        hint = f"make room, or {hint}"
    elif error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
        hint = "--debug shows where"
    return UsageError(f"{place}{error.strerror or error}", hint=hint)


def _note(message: Warning | str, *others: object, **details: object) -> None:
    typer.echo(printable(f"note: {message}"), err=True)


if __name__ == "__main__":
    main()
