"""One limiter for all workers of a ledger: a service is asked by all of them together no more often than by one.

Each service has a row: when its next request and its next token may go out (the generic cell rate algorithm), and until
when it asked to be left alone. What a worker's claims ask for at about the same time is booked in one transaction.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from redargue.cluster.store import Rows
from redargue.cluster.transaction_batcher import Desk
from redargue.net.rate_limit import Gcra, Limiter, Rate, ServiceLimiter

POLL = 0.05  # seconds until one asks again for a place
OWN = frozenset({"model"})  # whose places each worker has for itself: an endpoint grows with its users, a rule does not


class Book(NamedTuple):
    """Asks for one request's turn; answered with the seconds to wait for it."""

    service: str
    tokens: int


class Pause(NamedTuple):
    """Says that a service wants to be left alone for some seconds."""

    service: str
    seconds: float


class Take(NamedTuple):
    """Asks for one of a service's places; answered with whether there was one."""

    service: str


class Give(NamedTuple):
    """Gives a place back."""

    service: str


class Pacing:
    """The window where turns are booked and places taken.

    Args:
        owner: the worker.
        rates: by service; the same for all workers.

    Attributes:
        paused: by service, until when it is to be left alone, by this process' own clock.
    """

    def __init__(self, owner: str, rates: Mapping[str, Rate]) -> None:
        self._owner, self.rates = owner, dict(rates)
        self.paused: dict[str, float] = {}
        self._looked = 0.0

    def look(self, db: Rows) -> None:
        """Learns of other workers' pauses, once a second at the most."""
        if (here := time.monotonic()) < self._looked + 1:
            return
        self._looked, now = here, db.now()
        for service, until in db.execute(
            "SELECT service, paused_until FROM lanes WHERE paused_until > ?", (now,)
        ).fetchall():
            self.paused[service] = here + until - now

    def serve(self, db: Rows, asked: Sequence[Book | Pause | Take | Give]) -> list[float | bool | None]:
        """Service by service in alphabetical order, so that no two workers wait for each other."""
        answers: list[float | bool | None] = [None] * len(asked)
        for service in sorted({each.service for each in asked}):
            mine = [(at, each) for at, each in enumerate(asked) if each.service == service]
            for at, answer in zip(
                (at for at, _ in mine), self._one(db, service, [each for _, each in mine]), strict=True
            ):
                answers[at] = answer
        return answers

    def _one(self, db: Rows, service: str, asked: Sequence[Book | Pause | Take | Give]) -> list[float | bool | None]:
        rate = self.rates.get(service, Rate())
        query = f"SELECT requests_due, tokens_due, paused_until FROM lanes WHERE service = ?{db.lock}"
        row = db.execute(query, (service,)).fetchone()
        if row is None:
            db.execute("INSERT INTO lanes (service) VALUES (?) ON CONFLICT DO NOTHING", (service,))
            row = db.execute(query, (service,)).fetchone()
        now = db.now()  # after the lock: who waited for it must not book in the past
        requests = Gcra(rate.requests_per_minute, burst=rate.burst, one_by_one=True)
        tokens = Gcra(rate.tokens_per_minute, burst=rate.burst)
        requests.due, tokens.due, paused = row
        taken, mine = self._places(db, service) if any(isinstance(each, Take | Give) for each in asked) else (0, 0)
        before, answers = mine, list[float | bool | None]()
        for each in asked:
            match each:
                case Book():
                    requests.due = max(requests.due, paused)
                    answers.append(max(0.0, requests.reserve(1, now), tokens.reserve(each.tokens, now)))
                    continue
                case Pause():
                    paused = max(paused, now + each.seconds)
                case Take() if taken < rate.in_flight:
                    taken, mine = taken + 1, mine + 1
                    answers.append(True)
                    continue
                case Give():
                    taken, mine = taken - 1, mine - 1
            answers.append(None)
        if (requests.due, tokens.due, paused) != tuple(row):
            changed = "UPDATE lanes SET requests_due = ?, tokens_due = ?, paused_until = ? WHERE service = ?"
            db.execute(changed, (requests.due, tokens.due, paused, service))
        if mine != before:
            db.execute(
                "INSERT INTO places VALUES (?, ?, ?) ON CONFLICT (service, owner) DO UPDATE SET taken = excluded.taken",
                (service, self._owner, mine),
            )
        return answers

    def _places(self, db: Rows, service: str) -> tuple[int, int]:
        rows = db.execute("SELECT owner, taken FROM places WHERE service = ?", (service,)).fetchall()
        return sum(taken for _, taken in rows), sum(taken for owner, taken in rows if owner == self._owner)


class SharedLimiter(Limiter):
    """A lane for each service, which all workers of the ledger stand in.

    Args:
        desk: asks.
        pacing: whom.
    """

    def __init__(self, desk: Desk, pacing: Pacing) -> None:
        super().__init__(pacing.rates)
        self._desk, self._pacing = desk, pacing

    def _open(self, service: str, rate: Rate) -> ServiceLimiter:
        return SharedServiceLimiter(service, rate, self._desk, self._pacing)


class SharedServiceLimiter(ServiceLimiter):
    """The queue before one service, of one worker, whose head waits among all workers' heads."""

    def __init__(self, service: str, rate: Rate, desk: Desk, pacing: Pacing) -> None:
        super().__init__(rate)
        self._service, self._desk, self._pacing = service, desk, pacing
        self._limited = rate.requests_per_minute is not None or rate.tokens_per_minute is not None

    def pause(self, seconds: float) -> None:
        """Nobody sends anything more for a while."""
        super().pause(seconds)
        self._desk.post(self._pacing, Pause(self._service, seconds))

    def _paused(self) -> float:
        return max(self._paused_until, self._pacing.paused.get(self._service, 0.0)) - time.monotonic()

    async def _wait(self, tokens: int) -> None:
        while True:
            booked = await self._desk.ask(self._pacing, Book(self._service, tokens)) if self._limited else 0.0
            if (wait := max(booked, self._paused())) > 0:
                await asyncio.sleep(wait)
            if self._paused() <= 0:  # else the turn fell into a pause, and another is booked
                return

    async def _acquire(self) -> None:
        await super()._acquire()
        if self._service in OWN:
            return
        try:
            while not await self._desk.ask(self._pacing, Take(self._service), undo=Give(self._service)):  # noqa: ASYNC110
                await asyncio.sleep(POLL * (0.5 + random.random()))  # who gives one back may be another machine
        except BaseException:
            super()._release()
            raise

    def _release(self) -> None:
        if self._service not in OWN and not self._desk.broken:
            self._desk.post(self._pacing, Give(self._service))
        super()._release()
