"""Every error that redargue raises. Exit codes: 2 usage, 3 unreadable input or reply, 4 budget, 5 provider."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Protocol


class RedargueError(Exception):
    """Base class: quotes the bad value, says where it is and what to do next.

    Attributes:
        what: what is wrong, quoting the bad value.
        where: file, line, option or call; empty where the caller knows.
        hint: what to do next; empty where nothing can be done.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what, self.where, self.hint = what, where, hint
        super().__init__(self.what + (f" ({where})" if where else "") + (f"\n  → {hint}" if hint else ""))


class _ValidationError(Protocol):
    def errors(self) -> list[Any]: ...


def problem_of(error: _ValidationError) -> str:
    """The first problem that a pydantic ValidationError names, in the words of whoever raised it."""
    return re.sub(r"^(Value error|Assertion failed), ", "", str(error.errors()[0]["msg"]))


class UsageError(RedargueError):
    """The caller's input or configuration is wrong."""


class UnknownName(UsageError):
    """A name that is not in the registry; the hint suggests near ones."""


class CannotPlay(UsageError):
    """The backend cannot perform one of the method's tasks."""


class Undeclared(UsageError):
    """A method's agent used a role, task or search tool that the method does not declare."""


class MissingExtra(UsageError):
    """An optional dependency is not installed; the hint is the command that installs it."""


class CorpusError(RedargueError):
    """A corpus store cannot be used."""


class StoreLocked(CorpusError):
    """Another process is writing to the store."""


class StoreForeign(CorpusError):
    """The file exists and is not a redargue corpus."""


class StoreDamaged(CorpusError):
    """The file is a redargue corpus and is damaged."""


class DiskFull(CorpusError):
    """The disk is full; what was committed before is intact."""


class UnreadableFile(RedargueError):
    """A file could not be read; it is named and skipped, and the other files are processed."""

    exit_code = 3


class RecordError(RedargueError):
    """A run folder cannot be resumed or replayed."""


class ReplayMiss(RecordError):
    """A replay asked for a call that was never recorded."""


class LeaseLost(RecordError):
    """The worker missed its heartbeat: other workers have its claims, and its results are discarded."""


class ScriptError(RedargueError):
    """A scripted backend was asked something that is not in its script, or not everything that is."""


class UnknownCheck(RedargueError):
    """There is no such check, or it belongs to another caller, which must not be told apart."""


class Busy(RedargueError):
    """The service cannot take another check now; ``retry_after`` is in seconds."""

    exit_code = 5

    def __init__(self, what: str, *, retry_after: int = 5, where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.retry_after = retry_after


class Draining(Busy):
    """The service is stopping; running checks are resumed when it starts again."""


class BadReply(RedargueError):
    """A model's reply could not be read, even after one repair; ``raw`` is cut to 2,000 characters."""

    exit_code = 3

    def __init__(self, what: str, *, raw: str, where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.raw = raw[:2000]


class WorkerLost(RedargueError):
    """Every worker that had the claim crashed or failed on it; it is not retried automatically."""

    exit_code = 3


class BudgetReached(RedargueError):
    """The next call would exceed the budget; nothing was sent."""

    exit_code = 4


class ProviderError(RedargueError):
    """A model, tool or network does not answer."""

    exit_code = 5


class FetchFailed(ProviderError):
    """A web page could not be fetched."""


class DeadLink(FetchFailed):
    """There is no page at an address: its host is unknown, or answers that there is none."""


class FetchRefused(UsageError):
    """A web address that must not be opened, such as one of a private network; nothing was sent to it."""


class ToolFailed(ProviderError):
    """An evidence tool failed; its message never becomes evidence, and the debate continues without it."""
