"""How much may be asked of a service at once and a minute; one limiter for the whole process."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from pydantic import Field

from redargue.claims import Frozen

BURST = 1.0  # seconds, of most services


class Rate(Frozen):
    """One service's limits.

    Attributes:
        in_flight: requests under way at a time.
        requests_per_minute: None for no limit.
        tokens_per_minute: None for no limit.
        burst: seconds' worth of requests or tokens that may go out together after a quiet time; 0 for a service that
            counts by the second.
    """

    in_flight: int = Field(default=32, ge=1)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    burst: float = Field(default=BURST, ge=0)


class Gcra:
    """Spaces things out so that no minute holds more than its share (the generic cell rate algorithm).

    What may go out together after a quiet time, and the first of all, are part of the minute's share: things are spaced
    a little wider for it.

    Attributes:
        due: when the next thing may go out.
    """

    def __init__(self, per_minute: float | None, *, burst: float = BURST, one_by_one: bool = False) -> None:
        whole = per_minute - 1 if per_minute and one_by_one and per_minute > 1 else per_minute
        self._burst = burst
        self._each = (60 + burst) / whole if whole else 0.0
        self.due = 0.0

    def book(self, amount: float, now: float) -> float:
        """Books ``amount`` and returns how many seconds to wait for it."""
        self.due = max(self.due, now - self._burst)
        wait = self.due - now
        self.due += amount * self._each
        return wait


class ServiceLimiter:
    """The queue before one service, first come first served.

    Attributes:
        in_flight: places taken; a place that becomes free goes to who waits longest without being free in between.
    """

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self.in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._requests = Gcra(rate.requests_per_minute, burst=rate.burst, one_by_one=True)
        self._tokens = Gcra(rate.tokens_per_minute, burst=rate.burst)
        self._paused_until = 0.0

    def pause(self, seconds: float) -> None:
        """Sends nothing more for a while: the service said that it is asked too often."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)

    @asynccontextmanager
    async def slot(self, tokens: int = 0) -> AsyncIterator[None]:
        """One request's turn.

        Args:
            tokens: what it is expected to use.
        """
        await self._take()
        try:
            await self._pace(tokens)
            yield
        finally:
            self._give()

    async def _pace(self, tokens: int) -> None:
        now = time.monotonic()
        wait = max(self._requests.book(1, now), self._tokens.book(tokens, now))
        while wait > 0 or (wait := self._paused_until - time.monotonic()) > 0:
            await asyncio.sleep(wait)
            wait = 0.0

    async def _take(self) -> None:
        if self.in_flight < self.rate.in_flight:
            self.in_flight += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give()  # the place came in the moment in which nobody wanted it any more
            raise

    def _give(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.in_flight -= 1


class Limiter:
    """A lane for each service.

    Args:
        rates: by service; a service without one gets the default.
    """

    def __init__(self, rates: Mapping[str, Rate] | None = None) -> None:
        self.rates = dict(rates or {})
        self._lanes: dict[str, ServiceLimiter] = {}

    def lane(self, service: str) -> ServiceLimiter:
        """The lane of a service."""
        if service not in self._lanes:
            self._lanes[service] = self._open(service, self.rates.get(service, Rate()))
        return self._lanes[service]

    def _open(self, service: str, rate: Rate) -> ServiceLimiter:
        return ServiceLimiter(rate)
