"""Every error that redargue raises, as one tree.

::

    RedargueError                what · where · what to do next                          exit code
    ├── UsageError               the caller's input or configuration                     2
    │   ├── UnknownName          a name that no registry holds ("did you mean")          2
    │   ├── CannotPlay           a backend that cannot perform a method's tasks          2
    │   ├── Undeclared           a method used a role, task or tool it does not declare  2
    │   └── MissingExtra         an optional dependency is not installed                 2
    ├── CorpusError              a corpus store that cannot be used                      2
    │   ├── StoreLocked          another process is writing to it                        2
    │   ├── StoreForeign         the file is not a redargue corpus                       2
    │   ├── StoreDamaged         the file is a corpus, and broken                        2
    │   └── DiskFull             no room; what was stored before is intact               2
    ├── UnreadableFile           one file of many could not be read; the rest goes on    3
    ├── RecordError              a run folder that cannot be resumed or replayed         2
    │   ├── ReplayMiss           a replay asked for a call that was never recorded       2
    │   └── LeaseLost            a worker that was taken for dead; others have its work  2
    ├── ScriptError              a scripted backend met what its script does not hold    2
    ├── BadReply                 a model's reply that cannot be read, after one repair   3
    ├── WorkerLost               a claim whose workers died, time after time             3
    ├── BudgetReached            the next call would pass the budget                     4
    └── ProviderError            a model, tool or network that does not answer           5
        └── ToolFailed           an evidence tool failed; the debate goes on without it  5
"""

from __future__ import annotations

from typing import ClassVar


class RedargueError(Exception):
    """Base of all errors: a sentence with the bad value in it, where it stood, and what to do next.

    Attributes:
        what: what is wrong, quoting the bad value.
        where: file, line, option or call; empty where the caller knows.
        hint: what to do next; empty where nothing can be done.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what, self.where, self.hint = what, where, hint
        super().__init__(self.what + (f" ({where})" if where else "") + (f"\n  → {hint}" if hint else ""))


class UsageError(RedargueError):
    """The caller's input or configuration is wrong."""


class UnknownName(UsageError):
    """A name that the registry does not hold."""


class CannotPlay(UsageError):
    """A backend that cannot perform one of a method's tasks."""


class Undeclared(UsageError):
    """A method's agent used a role, task or search tool that the method does not declare."""


class MissingExtra(UsageError):
    """An optional dependency is not installed; the hint is the install line."""


class CorpusError(RedargueError):
    """A corpus store that cannot be used."""


class StoreLocked(CorpusError):
    """Another process holds the store for writing."""


class StoreForeign(CorpusError):
    """The file exists and is not a redargue corpus."""


class StoreDamaged(CorpusError):
    """The file is a redargue corpus and cannot be read whole."""


class DiskFull(CorpusError):
    """The disk is full; what was committed before is intact."""


class UnreadableFile(RedargueError):
    """One file could not be read; it is named and skipped, and the rest goes on."""

    exit_code = 3


class RecordError(RedargueError):
    """A run folder that cannot be resumed or replayed."""


class ReplayMiss(RecordError):
    """A replay asked for a call that the record does not hold."""


class LeaseLost(RecordError):
    """The worker did not say in time that it is alive: others have its claims, and nothing of it counts any more."""


class ScriptError(RedargueError):
    """A scripted backend was asked something else than its script, or not asked all of it."""


class BadReply(RedargueError):
    """A model's reply that cannot be read, after one repair.

    Attributes:
        raw: the reply as it came, cut to 2,000 characters.
    """

    exit_code = 3

    def __init__(self, what: str, *, raw: str, where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.raw = raw[:2000]


class WorkerLost(RedargueError):
    """Every worker that had the claim died or failed over it; it is not tried again by itself."""

    exit_code = 3


class BudgetReached(RedargueError):
    """The next call would pass the budget; nothing was sent."""

    exit_code = 4


class ProviderError(RedargueError):
    """A model, tool or network that does not answer."""

    exit_code = 5


class ToolFailed(ProviderError):
    """An evidence tool failed; its message never becomes evidence."""
