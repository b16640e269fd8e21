"""The command ``redargue``.

Data goes to stdout, everything else to stderr. Exit codes: 0 finished, 1 a gate set by the user failed, 2 usage or
configuration, 3 some claims ended in errors, 4 budget reached, 5 provider or network unreachable, 130 interrupted,
141 the reader of stdout left, as ``| head`` does.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from redargue.cli.extensions import ExtensibleGroup, Options
from redargue.cli.output import watch_readers
from redargue.config_file import CONFIG, read_defaults
from redargue.errors import ProviderError, RedargueError, UsageError
from redargue.files import config_home
from redargue.sanitize import NotUtf8, printable

_OF_GROUND = ("--answer", "--context")


class Commands(ExtensibleGroup):
    """Reports a connection that its other side closed, which typer takes for a reader of standard output that left.

    An option of ``ground`` that ``check`` is given leads to ``ground``.
    """

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            what = "the other side closed a connection while this command was sending"
            raise ProviderError(what, hint="run it again; --debug shows where") from error
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
        from dotenv import load_dotenv

        if not env_file.is_file():
            raise UsageError(f"no file {str(env_file)!r}", where="--env-file")
        load_dotenv(env_file)  # variables that are already set win
    defaults = read_defaults(Options(context.command, context), config)
    context.default_map = defaults.tables
    _warn(defaults.ignored, context.invoked_subcommand or "")


def _warn(ignored: tuple[str, ...], command: str) -> None:
    """Says which options of the working folder's settings file were not read for this command."""
    if names := [name for name in ignored if name.startswith(f"{command}.")]:
        what = f"{CONFIG} in this folder may not set {', '.join(names)}: ignored"
        hint = f"set them in {config_home() / CONFIG}, or trust this file: redargue --config {CONFIG} {command} …"
        typer.echo(printable(f"redargue: {what}\n  → {hint}"), err=True)


def main() -> None:
    watch_readers()
    code = run(sys.argv[1:])
    if sys.stdout:
        sys.stdout.flush()
    sys.exit(code)


@cache
def _command() -> Any:
    return typer.main.get_command(app)


def run(arguments: list[str]) -> int:
    """Runs one command and returns its exit code; prints errors to stderr."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", NotUtf8)
            warnings.showwarning = _note
            _command().main(arguments, prog_name="redargue")
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 0
    except (RedargueError, OSError) as error:
        if "--debug" in arguments or os.environ.get("REDARGUE_DEBUG", "") not in ("", "0", "false"):
            raise
        return _said(_problem(error) if isinstance(error, OSError) else error)
    return 0


def _said(problem: RedargueError) -> int:
    """Prints an error and returns its exit code; a name for it in ``run`` would keep its frames."""
    typer.echo(printable(f"redargue: {problem}"), err=True)
    return problem.exit_code


def _problem(error: OSError) -> UsageError:
    """A full disk, or a folder that cannot be written, in words."""
    place = f"{str(error.filename)!r} cannot be used: " if error.filename else ""
    hint = "choose another folder: REDARGUE_HOME is the home of runs and corpora"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = f"make room, or {hint}"
    elif error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
        hint = "--debug shows where"
    return UsageError(f"{place}{error.strerror or error}", hint=hint)


def _note(message: Warning | str, *others: object, **details: object) -> None:
    typer.echo(printable(f"note: {message}"), err=True)


if __name__ == "__main__":
    main()
