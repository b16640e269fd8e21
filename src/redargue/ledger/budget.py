"""What a run may spend. Reserved before each call, so that calls at once cannot pass it together."""

from __future__ import annotations

import re
import threading

from redargue.errors import BudgetReached, UsageError


class Budget:
    """A limit on calls, shared by all claims of a run; several threads may reserve at once.

    Args:
        calls: the most calls; None for no limit.
    """

    def __init__(self, calls: int | None = None) -> None:
        if calls is not None and calls < 1:
            raise UsageError(f"a budget of {calls} calls allows nothing", hint="give at least 1call")
        self.calls = calls
        self.spent = 0
        self._lock = threading.Lock()

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Reads ``40calls``.

        Raises:
            UsageError: anything else; tokens and money need a backend that counts them.
        """
        match = re.fullmatch(r"\s*(\d+)\s*calls?\s*", text)
        if not match:
            raise UsageError(f"cannot read the budget {text!r}", where="--budget", hint="write it like 40calls")
        return cls(int(match.group(1)))

    def reserve(self) -> None:
        """Takes one call out of the budget.

        Raises:
            BudgetReached: none is left; nothing was taken.
        """
        with self._lock:
            if self.calls is not None and self.spent >= self.calls:
                raise BudgetReached(
                    f"the budget of {self.calls} calls is spent",
                    hint="raise --budget; with --run the finished calls are not repeated",
                )
            self.spent += 1

    def recall(self, calls: int = 1) -> None:
        """Counts calls that an earlier attempt at this run has already paid for."""
        with self._lock:
            self.spent += calls
