"""How a command prints and ends: JSON on standard output, the log of a long command, exit codes and Ctrl-C.

JSON is one object, or a line per item; the log on stderr has lines for people, or JSON Lines for programs.
"""

from __future__ import annotations

import codecs
import io
import json
import logging
import os
import select
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import typer

from redargue.errors import BudgetReached, ProviderError, RedargueError, UsageError
from redargue.registry import did_you_mean
from redargue.sanitize import counted, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from _typeshed import ReadableBuffer

    from redargue.caveats import Unchecked
    from redargue.cli.parameters import OutputParameters
    from redargue.verdicts import Verdict


def print_json(value: object, *, indent: int | None = 1) -> None:
    """Prints a value that may contain models, in ASCII: no control character from a document reaches a terminal."""
    typer.echo(json.dumps(value, indent=indent, default=lambda model: model.model_dump(mode="json")))


def replace_unencodable() -> None:
    """Prints "?" for what the encoding of standard output lacks: a finished check does not end in an error over a dash.

    JSON is ASCII and stays as it is; so does a handler that the user chose (``PYTHONIOENCODING=latin-1:namereplace``).
    """
    stream = sys.stdout
    if not isinstance(stream, io.TextIOWrapper) or stream.errors not in ("strict", "surrogateescape"):
        return
    codec = codecs.lookup(stream.encoding).name
    if codec == "ascii":  # as where no locale is set; Click writes UTF-8 there, and one output has one encoding
        stream.reconfigure(encoding="utf-8", errors="replace")
    elif codec != "utf-8":
        stream.reconfigure(errors="replace")


# Readers of the command's output that leave before its end, as ``| head`` does.

_GRACE = 2.0  # seconds for a server to end by itself, because its client has closed its input too
READER_LEFT = 141  # what a shell reports of a tool that SIGPIPE ended


def watch_readers() -> None:
    """Ends the process quietly when the reader of standard output leaves; messages that nobody reads are dropped.

    SIGPIPE stays ignored, because it would end a service when a client closes its connection. And standard output
    raises SystemExit instead of BrokenPipeError, so that no handler takes a connection's for its own, or the reverse.
    """
    if os.name != "posix":
        return
    for name, type_ in (("stdout", _Output), ("stderr", _Unread)):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
            setattr(sys, name, _over(type_(stream.fileno(), "w", closefd=False), stream))


@contextmanager
def leaving_with_reader() -> Iterator[None]:
    """Ends a server on standard input and output when nobody reads its answers any more.

    The SDK writes to a descriptor of its own, and waits for its thread that reads standard input, which may stay open.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # an interruption would wait for that thread
    raw = getattr(sys.stdout, "buffer", None)
    raw = getattr(raw, "raw", raw)
    if not isinstance(raw, _Output):
        yield
        return
    output = os.dup(raw.fileno())
    threading.Thread(target=_exit_without_reader, args=(output,), daemon=True).start()
    try:
        yield
    except BaseExceptionGroup:
        if not _reader_left(output, wait=False):
            raise
        raise SystemExit(READER_LEFT) from None


def _exit_without_reader(output: int) -> None:
    if _reader_left(output, wait=True):
        time.sleep(_GRACE)
        os._exit(READER_LEFT)


def _reader_left(output: int, *, wait: bool) -> bool:
    poll = select.poll()
    poll.register(output, 0)  # an error and a hang-up are always reported
    return bool(poll.poll(None if wait else 0))


def _over(raw: io.FileIO, stream: io.TextIOWrapper) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        raw if stream.write_through else io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


class _Unread(io.FileIO):
    """A file whose reader may leave; what is written then is lost."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return self.without_reader(data)

    def without_reader(self, data: ReadableBuffer) -> int:
        return super().write(data)


class _Output(_Unread):
    """Standard output: without a reader, nothing is left to do; an error names it."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = "standard output"
            raise

    def without_reader(self, data: ReadableBuffer) -> int:
        raise SystemExit(READER_LEFT)


_LEVELS = {name: getattr(logging, name.upper()) for name in ("error", "warning", "info", "debug")}


def log_to_stderr(level: str, *, structured: bool = False) -> None:
    """Sends the log of this process to stderr, from a level on.

    ``structured`` makes JSON Lines with ``time``, ``level``, ``logger``, ``message`` and the values of the record; the
    requests of the service are among them, whatever the level.

    Raises UsageError for an unknown level.
    """
    if level not in _LEVELS:
        raise UsageError(f"unknown level {level!r}", where="--log-level", hint=did_you_mean(level, _LEVELS))
    handler = _Stderr()
    handler.setFormatter(_JsonLine() if structured else _Line())
    for name in ("redargue", "uvicorn"):  # uvicorn's failures are lines of the same log
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(_LEVELS[level])
    logging.getLogger("redargue.requests").setLevel(logging.INFO if structured else logging.CRITICAL)


class _Stderr(logging.StreamHandler):  # type: ignore[type-arg]  # generic to the type checker only
    """Writes to what stderr is at the time: a progress bar replaces it, and shows the line above itself."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


class _Line(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created).astimezone().isoformat(" ", "seconds")
        return printable(f"{when} {record.levelname.lower()}: {super().format(record)}")


class _JsonLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True)


UNSURE = "unsure"
FINISHED_WITH_ERRORS = 3
INTERRUPTED, TERMINATED = 130, 143


@contextmanager
def resumable(how: str = "") -> Iterator[None]:
    """On Ctrl-C or SIGTERM, says how the command is resumed, and exits with 130."""
    try:
        yield
    except KeyboardInterrupt:
        say_interrupted(how)
        raise typer.Exit(INTERRUPTED) from None


def say_interrupted(how: str) -> None:
    """Prints on a line of its own, because a terminal shows ^C where the cursor was."""
    start = "\n" if sys.stderr.isatty() else ""
    rest = f"; {how}" if how else ""
    typer.echo(f"{start}interrupted{rest}", err=True)


def how_to_resume(folder: Path | None) -> str:
    if folder is None:
        return "the run was not recorded"
    return f"to resume, repeat the command with --run {folder}"


class Gate(NamedTuple):
    """Which verdicts make a command fail. It is open, and nothing fails, without ``fail_on`` and ``min_supported``.

    Attributes:
        fail_on: meanings that no verdict may have; ``unsure`` stands for verdicts below the confidence threshold.
        min_supported: the smallest accepted share of supported claims, among those that were checked.
        allow_unchecked: accepts claims that were not checked, and a text without claims.
    """

    fail_on: frozenset[str] = frozenset()
    min_supported: float | None = None
    allow_unchecked: bool = False

    def unchecked(self, verdicts: Sequence[Verdict], unread: Iterable[Unchecked] = ()) -> Iterator[str]:
        """What fails the gate because it was not checked; ``unread`` are sentences of a text without a claim."""
        from redargue import words

        if self.allow_unchecked or not (self.fail_on or self.min_supported is not None):
            return
        if not verdicts:
            yield "no checkable claim was found"
        reasons = [verdict.why_unchecked for verdict in verdicts if verdict.why_unchecked]
        for noun, of in (("claim", reasons), ("sentence", unread)):
            for why, count in Counter(map(words.unchecked, of)).items():
                yield f"{counted(count, noun)} not checked ({why})"

    def failures(self, verdicts: Sequence[Verdict]) -> Iterator[str]:
        """Why verdicts on checked claims fail the gate."""
        answered = [verdict.meaning for verdict in verdicts if not verdict.why_unchecked]
        meanings, checked = Counter(map(str, answered)), counted(len(answered), "checked claim")
        for name in sorted(self.fail_on & meanings.keys()):
            yield f"{meanings[name]} of {checked}: {name}"
        unsure = sum(verdict.unsure is not None and not verdict.unchecked for verdict in verdicts)
        if unsure and UNSURE in self.fail_on:
            yield f"{unsure} of {counted(len(verdicts), 'claim')}: {UNSURE}"
        least, supported = self.min_supported, meanings["supported"]
        if least is not None and answered and supported / len(answered) < least:
            are = "is" if supported == 1 else "are"
            yield f"{supported} of {checked} {are} supported; the smallest accepted share is {least:g}"


_Entry = TypeVar("_Entry")
_Read = TypeVar("_Read")


def read_entries(read: Callable[[_Entry], _Read], entries: Iterable[_Entry]) -> tuple[list[_Read], int]:
    """What can be read of some entries, and the command's exit code; the others are named on standard error."""
    found, code = list[_Read](), 0
    for entry in entries:
        try:
            found.append(read(entry))
        except RedargueError as error:
            typer.echo(printable(f"damaged: {error.what}"), err=True)
            code = FINISHED_WITH_ERRORS
    return found, code


def read_gate(output: OutputParameters, *, json: bool = False) -> Gate:
    from redargue.claims import Meaning

    if json and output.jsonl:
        raise UsageError("--json and --jsonl exclude each other", hint="drop one of them")
    fail_on, known = output.fail_on or [], [*map(str, Meaning), UNSURE]
    for name in fail_on:
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(f"a verdict cannot be {name!r}", where="--fail-on", hint=hint)
    return Gate(frozenset(fail_on), output.min_supported, output.allow_unchecked)


def exit_code(
    verdicts: Sequence[Verdict], gate: Gate = Gate(), unread: Iterable[Unchecked] = (), refused: int = 0
) -> int:
    """The exit code of the errors among the verdicts; if there are none, 1 if the user's gate failed, and 0 otherwise.

    Prints to standard error that every search failed, or why the gate failed.

    Args:
        verdicts: of all claims of the command.
        gate: the user's.
        unread: as for :meth:`Gate.unchecked`.
        refused: the number of input rows that could not be read.
    """
    from redargue import words
    from redargue.caveats import UncheckedReason

    codes = [verdict.error.exit_code for verdict in verdicts if verdict.error]
    if BudgetReached.exit_code in codes:
        return BudgetReached.exit_code  # a spent budget concerns every claim
    reasons = [verdict.unchecked.reason for verdict in verdicts if verdict.unchecked]
    unsearched = reasons.count(UncheckedReason.SEARCH_FAILED)
    if verdicts and unsearched + codes.count(ProviderError.exit_code) == len(verdicts):
        if unsearched:
            typer.echo(words.reason(UncheckedReason.SEARCH_FAILED), err=True)
        return ProviderError.exit_code
    if codes or refused:
        return codes[0] if codes and len(verdicts) == 1 else FINISHED_WITH_ERRORS
    unchecked = tuple(gate.unchecked(verdicts, unread))
    failures = (*unchecked, *gate.failures(verdicts))
    for failure in failures:
        typer.echo(f"gate failed: {printable(failure)}", err=True)
    if unchecked:
        typer.echo("  → --allow-unchecked accepts what was not checked", err=True)
    return int(bool(failures))
