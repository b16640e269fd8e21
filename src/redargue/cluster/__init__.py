"""Batches that several workers share: their job in the ledger, and the limits of all workers.

The job is the configuration of the batch. All workers of a batch share one budget, all workers of a ledger one rate
limiter.

A worker's row stores what it has reserved and spent. A reservation locks the batch and sums all rows. A commit can only
lower the sum of reserved and spent amounts, so it needs no lock. The reservations of an expired worker count as spent.

A service's row stores when its next request and its next token are due (generic cell rate algorithm), and until when it
is paused. The simultaneous requests of a worker reserve their slots in one transaction.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import Field, ValidationError

from redargue.assembly import is_printed
from redargue.claims import Frozen
from redargue.cluster.store import LedgerTransaction, TransactionBatcher
from redargue.errors import BudgetReached, UsageError
from redargue.methods.strangers import refuse_closed
from redargue.net.secrets import Secrets, display_url, has_credentials
from redargue.net.services import is_offline, limiter
from redargue.net.transport import Gcra, Limiter, Rate, ServiceLimiter
from redargue.runs.budget import Budget, Cost
from redargue.spec import RunSpec
from redargue.verifier import Verifier

ADDRESSES = ("base_url", "store", "memory", "mcp")  # with a key, they are read from each machine's environment
REACHING = (*ADDRESSES, "prompts", "prices")  # a worker uses them only if its own environment has the same value
_STARTER = "starter"  # the bundled corpus
MOST_CONCURRENT = 10_000


def _variable(option: str) -> str:
    return f"REDARGUE_{option.upper()}"


def _text(value: object) -> str:
    """The value of an option as its environment variable has it."""
    return " ".join(value) if isinstance(value, tuple) else str(value or "")


class WorkerJob(Frozen):
    """The job of every worker of a batch."""

    spec: RunSpec  # configuration without addresses that contain a key
    withheld: tuple[str, ...] = ()  # environment variables with those addresses
    rates: dict[str, Rate] = Field(default_factory=dict)
    concurrency: int = Field(ge=1, le=MOST_CONCURRENT)  # claims at the same time

    def reaches(self) -> dict[str, str]:
        """What the configuration starts, contacts, reads or writes, by the variable that allows it to a worker."""
        spec = self.spec
        texts = {name: _text(getattr(spec, name)) for name in REACHING}
        texts["backend"] = spec.backend if spec.backend == "transformers" else ""  # it may download a model
        return {_variable(name): text for name, text in texts.items() if text and text != _STARTER}

    def with_environment(self, environment: Mapping[str, str]) -> RunSpec:
        """The configuration, if this worker's environment allows what it starts, contacts, reads and writes.

        Whoever can write to the ledger must not decide that. Addresses that contain a key are read from the
        environment. Raises UsageError if a variable is not set, or differs from the ledger's value.
        """
        hint = "start the batch again: its workers get what such a file says"
        refuse_closed(self.spec.method, self.spec.settings, hint=hint, where="the batch's settings")
        for variable, wanted in self.reaches().items():
            allowed = environment.get(variable, "")
            if allowed.split() != wanted.split():
                own = f"is {display_url(allowed)!r} here" if allowed else "is not set here"
                raise UsageError(
                    f"the batch uses {display_url(wanted)!r}, and {variable} {own}",
                    hint=f"if you trust whoever started it, set {variable} to that value on every machine",
                )
        values = dict(self.spec)
        addresses = {_variable(name): name for name in ADDRESSES}
        for variable in self.withheld:
            if variable not in addresses:
                raise UsageError(f"the ledger asks for {variable!r}, which is not an address", hint="start it again")
            if not (value := environment.get(variable)):
                raise UsageError(f"the batch needs {variable}, which contains a key", hint="set it on every machine")
            name = addresses[variable]
            values[name] = tuple(value.split()) if name == "mcp" else value
        if is_offline(environment):
            values["offline"] = True
        return RunSpec(**values)


def read_job(values: Mapping[str, object]) -> WorkerJob:
    """Reads a job from the ledger; raises UsageError if another version of redargue wrote it."""
    try:
        return WorkerJob.model_validate(values)
    except (ValidationError, UsageError) as error:
        raise UsageError(
            "this batch was started by another version of redargue, or its specification was changed",
            hint="install the same version on every machine",
        ) from error


def worker_job(verifier: Verifier, concurrency: int) -> tuple[WorkerJob, dict[str, str]]:
    """The job without keys, and the environment that allows workers what it starts, contacts, reads and writes.

    Raises UsageError if another option contains a key.
    """
    spec, secrets = verifier.spec, Secrets.from_environment()
    withheld: dict[str, str] = {}
    for name in ADDRESSES:
        value, url_secrets = _text(getattr(spec, name)), Secrets()
        parts = value.split()
        if name == "mcp":  # without NAME=
            parts = [part.partition("=")[2] if "=" in part.partition("://")[0] else part for part in parts]
        for part in parts:
            url_secrets.add_url(part)
        if secrets.hide(value) != value or url_secrets.hide(value) != value or any(map(has_credentials, parts)):
            withheld[_variable(name)] = value
    update = {
        **{name: () if name == "mcp" else "" for name in ADDRESSES if _variable(name) in withheld},
        "settings": verifier.method.settings.model_dump(mode="json"),
        "tools": None,  # the settings name them
        "prompts": spec.prompts if not spec.prompts or is_printed(spec.prompts) else spec.prompts.absolute(),
        "prices": spec.prices and spec.prices.absolute(),
    }
    names, stored = tuple(sorted(withheld)), spec.model_copy(update=update)
    job = WorkerJob(spec=stored, withheld=names, rates=limiter().rates, concurrency=concurrency)
    text = job.model_dump_json()
    if secrets.hide(text) != text:
        what = "an option contains a key, and the ledger stores the options"
        raise UsageError(what, hint="set it as an environment variable")
    return job, job.reaches() | withheld


_POLL = 0.1  # seconds between attempts while requests in flight hold the rest of the budget
_SPENT, _HELD = Cost._fields, tuple(f"held_{name}" for name in Cost._fields)  # columns


class Reserve(NamedTuple):
    """Reserves the maximum cost of a request."""

    bound: Cost


class Commit(NamedTuple):
    """Releases the reservation of a request and records its actual cost."""

    bound: Cost
    actual: Cost = Cost()


class BudgetTable:
    """The reservations and commits of a worker."""

    def __init__(self, owner: str, batch: int, limits: Budget) -> None:
        self._owner, self._batch, self._limits = owner, batch, limits

    def handle(self, db: LedgerTransaction, requests: Sequence[Reserve | Commit]) -> list[bool | BudgetReached | None]:
        """Answers a reservation with whether it was granted, or with the error if it never can be."""
        bound, actual = Cost(), Cost()
        for commit in (request for request in requests if isinstance(request, Commit)):
            bound, actual = bound.plus(commit.bound), actual.plus(commit.actual)
        if any(bound) or any(actual):
            self._add(db, Cost().plus(bound, -1), actual)
        reservations = [request for request in requests if isinstance(request, Reserve)]
        answers = iter(self._reserve(db, reservations) if reservations else ())
        return [next(answers) if isinstance(request, Reserve) else None for request in requests]

    def _reserve(self, db: LedgerTransaction, reservations: Sequence[Reserve]) -> list[bool | BudgetReached]:
        db.execute(f"SELECT number FROM batches WHERE number = ?{db.for_update}", (self._batch,))
        sums = ", ".join(f"coalesce(sum({column}), 0)" for column in (*_SPENT, *_HELD))
        row = db.execute(f"SELECT {sums} FROM workers WHERE batch = ?", (self._batch,)).fetchone()
        budget = Budget(**self._limits.limits)
        budget.spent, budget.held = _cost(row[: len(_SPENT)]), _cost(row[len(_SPENT) :])
        before = budget.held
        answers: list[bool | BudgetReached] = []
        for reservation in reservations:
            try:
                answers.append(budget.hold(reservation.bound))
            except BudgetReached as error:
                answers.append(error)
        reserved = budget.held.plus(before, -1)
        if any(reserved):
            self._add(db, reserved, Cost())
        return answers

    def _add(self, db: LedgerTransaction, held: Cost, spent: Cost) -> None:
        changes = ", ".join(f"{column} = {column} + ?" for column in (*_HELD, *_SPENT))
        db.execute(f"UPDATE workers SET {changes} WHERE owner = ?", (*held, *spent, self._owner))


def _cost(row: Sequence[float]) -> Cost:
    calls, tokens, usd, searches = row
    return Cost(int(calls), int(tokens), round(usd, 12), int(searches))


class LedgerBudget(Budget):
    """A worker's view of the batch's budget."""

    def __init__(self, limits: Budget, batcher: TransactionBatcher, table: BudgetTable) -> None:
        super().__init__(**limits.limits)
        self._batcher, self._table = batcher, table
        self._limited = bool(limits.limits)

    async def reserve(self, bound: Cost) -> None:
        await self._batcher.until_back()  # what a request gives could not be stored
        while self._limited:
            answer = await self._batcher.ask(self._table, Reserve(bound), undo=Commit(bound))
            if isinstance(answer, BudgetReached):
                raise answer
            if answer:
                return
            await asyncio.sleep(_POLL)

    def settle(self, bound: Cost, actual: Cost) -> None:
        if not self._batcher.failure:  # the reservations of an expired worker count as spent already
            self._batcher.post(self._table, Commit(bound if self._limited else Cost(), actual))

    def recall(self, cost: Cost) -> None:
        """Does nothing: the ledger includes the cost of earlier attempts already."""


_POLL_PLACES = 0.05  # seconds between attempts to acquire a place in flight
PER_WORKER = frozenset({"model"})  # services whose in-flight limit applies per worker: an endpoint can be scaled


class ReserveSlot(NamedTuple):
    """Reserves the next slot for a request; the answer is the seconds to wait."""

    service: str
    tokens: int


class Pause(NamedTuple):
    """Pauses a service that asked for it."""

    service: str
    seconds: float


class Acquire(NamedTuple):
    """Acquires a place in flight; the answer is True, or None if all are taken."""

    service: str


class Release(NamedTuple):
    """Releases a place in flight."""

    service: str


RateRequest = ReserveSlot | Pause | Acquire | Release


class RateTable:
    """The reservations, pauses and places in flight of a worker."""

    def __init__(self, owner: str, rates: Mapping[str, Rate]) -> None:
        self._owner, self.rates = owner, dict(rates)
        self.paused: dict[str, float] = {}  # end of each service's pause, by this process's monotonic clock
        self._refreshed = 0.0

    def refresh_pauses(self, db: LedgerTransaction) -> None:
        """Reads the pauses that other workers recorded, at most once per second."""
        if (local := time.monotonic()) < self._refreshed + 1:
            return
        self._refreshed, now = local, db.now()
        query = "SELECT service, paused_until FROM lanes WHERE paused_until > ?"
        for service, until in db.execute(query, (now,)).fetchall():
            self.paused[service] = local + until - now

    def handle(self, db: LedgerTransaction, requests: Sequence[RateRequest]) -> list[float | bool | None]:
        """Handles the services in alphabetical order, so that two workers cannot wait for each other's locks."""
        answers: dict[int, float | bool | None] = {}
        for service in sorted({request.service for request in requests}):
            indices = [index for index, request in enumerate(requests) if request.service == service]
            answers |= zip(indices, self._handle_service(db, service, [requests[i] for i in indices]), strict=True)
        return [answers[index] for index in range(len(requests))]

    def _handle_service(
        self, db: LedgerTransaction, service: str, service_requests: Sequence[RateRequest]
    ) -> list[float | bool | None]:
        rate = self.rates.get(service, Rate())
        query = f"SELECT requests_due, tokens_due, paused_until FROM lanes WHERE service = ?{db.for_update}"
        row = db.execute(query, (service,)).fetchone()
        if row is None:
            db.execute("INSERT INTO lanes (service) VALUES (?) ON CONFLICT DO NOTHING", (service,))
            row = db.execute(query, (service,)).fetchone()
        now = db.now()  # after the lock was granted: a slot must not be in the past
        requests = Gcra(rate.requests_per_minute, burst=rate.burst, one_by_one=True)
        tokens = Gcra(rate.tokens_per_minute, burst=rate.burst)
        requests.due, tokens.due, paused = row
        taken = own = 0
        if any(isinstance(request, Acquire | Release) for request in service_requests):
            places = dict(db.execute("SELECT owner, taken FROM places WHERE service = ?", (service,)).fetchall())
            taken, own = sum(places.values()), places.get(self._owner, 0)
        own_before, answers = own, list[float | bool | None]()
        for request in service_requests:
            answer: float | bool | None = None
            match request:
                case ReserveSlot():
                    requests.due = max(requests.due, paused)
                    answer = max(0.0, requests.reserve(1, now), tokens.reserve(request.tokens, now))
                case Pause():
                    paused = max(paused, now + request.seconds)
                case Acquire() if taken < rate.in_flight:
                    taken, own, answer = taken + 1, own + 1, True
                case Release():
                    taken, own = taken - 1, own - 1
            answers.append(answer)
        if (requests.due, tokens.due, paused) != tuple(row):
            update = "UPDATE lanes SET requests_due = ?, tokens_due = ?, paused_until = ? WHERE service = ?"
            db.execute(update, (requests.due, tokens.due, paused, service))
        if own != own_before:
            db.execute(
                "INSERT INTO places VALUES (?, ?, ?) ON CONFLICT (service, owner) DO UPDATE SET taken = excluded.taken",
                (service, self._owner, own),
            )
        return answers


class SharedLimiter(Limiter):
    """A worker's rate limiter; all workers of the ledger share its limits."""

    def __init__(self, batcher: TransactionBatcher, table: RateTable) -> None:
        super().__init__(table.rates)
        self._batcher, self._table = batcher, table

    def _open(self, service: str, rate: Rate) -> ServiceLimiter:
        return SharedServiceLimiter(service, rate, self._batcher, self._table)


class SharedServiceLimiter(ServiceLimiter):
    """Limits a worker's requests to one service; the first of its queue competes for a place with other workers."""

    def __init__(self, service: str, rate: Rate, batcher: TransactionBatcher, table: RateTable) -> None:
        super().__init__(rate)
        self._service, self._batcher, self._table = service, batcher, table
        self._limited = rate.requests_per_minute is not None or rate.tokens_per_minute is not None

    def pause(self, seconds: float) -> None:
        super().pause(seconds)
        self._batcher.post(self._table, Pause(self._service, seconds))

    def _paused(self) -> float:
        return max(self._paused_until, self._table.paused.get(self._service, 0.0)) - time.monotonic()

    async def _wait(self, tokens: int) -> None:
        while True:
            wait = await self._batcher.ask(self._table, ReserveSlot(self._service, tokens)) if self._limited else 0.0
            if (wait := max(wait, self._paused())) > 0:
                await asyncio.sleep(wait)
            if self._paused() <= 0:  # otherwise the slot fell into a pause, and another is reserved
                return

    async def _acquire(self) -> None:
        await super()._acquire()
        if self._service in PER_WORKER:
            return
        try:
            while not await self._batcher.ask(self._table, Acquire(self._service), undo=Release(self._service)):  # noqa: ASYNC110
                await asyncio.sleep(_POLL_PLACES * (0.5 + random.random()))
        except BaseException:
            super()._release()
            raise

    def _release(self) -> None:
        if self._service not in PER_WORKER and not self._batcher.failure:
            self._batcher.post(self._table, Release(self._service))
        super()._release()
