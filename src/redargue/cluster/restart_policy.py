"""When workers that end in an error are started again, and when no longer."""

from __future__ import annotations

from redargue.errors import RecordError

DEATHS = 10  # of workers, or two of each, without a claim finished between them: it is not the claims


class Deaths:
    """Counts them.

    Args:
        workers: how many there are.
    """

    def __init__(self, workers: int) -> None:
        self._most, self._counted, self._finished = max(DEATHS, 2 * workers), 0, -1

    def since(self, finished: int) -> None:
        """Begins anew where claims were finished.

        Args:
            finished: claims so far: workers may die while they get on.
        """
        if finished != self._finished:
            self._counted, self._finished = 0, finished

    def one_more(self, why: str) -> None:
        """A worker has died.

        Raises:
            RecordError: too many have, and nothing is finished.
        """
        self._counted += 1
        if self._counted > self._most:
            raise RecordError(f"{self._counted} workers died, and nothing was finished", hint=why)
