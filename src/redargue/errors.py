"""Every error that redargue raises.

Exit codes: 2 usage, 3 unreadable input or reply, or an extension's error, 4 budget, 5 provider or store.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol


class RedargueError(Exception):
    """Base class: quotes the bad value, says where it is and what to do next.

    Attributes:
        what: what is wrong, quoting the bad value.
        where: file, line, option or call; empty if the caller knows it.
        hint: what to do next; empty if there is nothing to do.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what, self.where, self.hint = what, where, hint
        place, advice = f" ({where})" if where else "", f"\n  → {hint}" if hint else ""
        super().__init__(what + place + advice)


class _ValidationError(Protocol):
    def errors(self) -> list[Any]: ...


def problem_of(error: _ValidationError) -> str:
    """The message of the first problem of a pydantic ValidationError."""
    return problem_message(error.errors()[0])


def problem_location(error: _ValidationError) -> str:
    """The field of the first problem, as a dotted path; empty for the whole value."""
    return ".".join(map(str, error.errors()[0]["loc"]))


def problem_message(problem: Mapping[str, Any]) -> str:
    """The message of a problem, without pydantic's prefix and in the words of JSON: a list, an object."""
    message = re.sub(r"^(Value error|Assertion failed), ", "", str(problem["msg"]))
    message = re.sub(r"a valid dictionary or (object to extract fields from|instance of \w+)", "an object", message)
    return message.replace("a valid tuple", "a list").replace("Tuple should", "List should")


class UsageError(RedargueError):
    """The caller's input or configuration is wrong, or a package that it needs is not installed."""


class UnsupportedTask(UsageError):
    """The backend cannot perform one of the method's tasks."""


class CorpusError(RedargueError):
    """A corpus store cannot be used: it is damaged, or redargue did not create it."""


class StoreUnavailable(CorpusError):
    """Another process is writing to the store, or its disk is ``full``; committed data is intact."""

    exit_code = 5

    def __init__(self, what: str, *, full: bool = False, where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.full = full


class UnreadableFile(RedargueError):
    """A file could not be read; it is named and skipped, and the other files are processed."""

    exit_code = 3


class RecordError(RedargueError):
    """A run folder, or a ledger of workers, cannot be resumed or replayed."""


class ReplayMiss(RecordError):
    """A replay asked for a call that was never recorded."""


class BadReply(RedargueError):
    """A model's reply could not be read, even after one repair; ``raw`` is cut to 2,000 characters."""

    exit_code = 3

    def __init__(self, what: str, *, raw: str = "", where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.raw = raw[:2000]


class BudgetReached(RedargueError):
    """The next call would exceed the budget; nothing was sent."""

    exit_code = 4


class ProviderError(RedargueError):
    """A model, tool or network does not answer."""

    exit_code = 5


class ToolFailed(ProviderError):
    """An evidence tool failed; its message never becomes evidence, and the debate continues without it."""
