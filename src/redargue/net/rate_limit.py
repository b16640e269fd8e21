"""Rate limits per service: concurrent requests, and requests and tokens per minute."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from pydantic import Field

from redargue.claims import Frozen

BURST = 1.0  # seconds; default


class Rate(Frozen):
    """One service's limits; ``burst``: seconds' worth of requests or tokens that may be sent together after a pause."""

    in_flight: int = Field(default=32, ge=1)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    burst: float = Field(default=BURST, ge=0)


class Gcra:
    """The generic cell rate algorithm: no window of 60 seconds exceeds the limit.

    The intervals are slightly longer than 60 s / limit, because a burst and the first request count towards the limit.
    """

    def __init__(self, per_minute: float | None, *, burst: float = BURST, one_by_one: bool = False) -> None:
        limit = per_minute - 1 if per_minute and one_by_one and per_minute > 1 else per_minute
        self._burst = burst
        self._interval = (60 + burst) / limit if limit else 0.0
        self.due = 0.0

    def reserve(self, amount: float, now: float) -> float:
        self.due = max(self.due, now - self._burst)
        wait = self.due - now
        self.due += amount * self._interval
        return wait


class ServiceLimiter:
    """Limits the requests to one service, first come, first served."""

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self.in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._requests = Gcra(rate.requests_per_minute, burst=rate.burst, one_by_one=True)
        self._tokens = Gcra(rate.tokens_per_minute, burst=rate.burst)
        self._paused_until = 0.0

    def pause(self, seconds: float) -> None:
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)

    @asynccontextmanager
    async def slot(self, tokens: int = 0) -> AsyncIterator[None]:
        await self._acquire()
        try:
            await self._wait(tokens)
            yield
        finally:
            self._release()

    async def _wait(self, tokens: int) -> None:
        now = time.monotonic()
        wait = max(self._requests.reserve(1, now), self._tokens.reserve(tokens, now))
        while wait > 0 or (wait := self._paused_until - time.monotonic()) > 0:
            await asyncio.sleep(wait)
            wait = 0.0

    async def _acquire(self) -> None:
        if self.in_flight < self.rate.in_flight:
            self.in_flight += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release()  # the slot was assigned while this request was cancelled
            raise

    def _release(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.in_flight -= 1


class Limiter:
    """One :class:`ServiceLimiter` per service, for the whole process."""

    def __init__(self, rates: Mapping[str, Rate] | None = None) -> None:
        self.rates = dict(rates or {})
        self._limiters: dict[str, ServiceLimiter] = {}

    def for_service(self, service: str) -> ServiceLimiter:
        if service not in self._limiters:
            self._limiters[service] = self._open(service, self.rates.get(service, Rate()))
        return self._limiters[service]

    def _open(self, service: str, rate: Rate) -> ServiceLimiter:
        return ServiceLimiter(rate)
