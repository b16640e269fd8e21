"""Sends every request of the process: limits, retries, deadlines, the offline flag, redacted keys.

Nothing else retries. A busy service (429, 503) is asked again after the time that it requests, a failing one a few
times, a refusing one never.

Rate limits per service: concurrent requests, and requests and tokens per minute.
"""

from __future__ import annotations

import asyncio
import email.utils
import random
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC
from functools import lru_cache
from threading import Lock
from typing import Any

import httpx2
from pydantic import Field

from redargue.claims import Frozen
from redargue.errors import ProviderError, UsageError
from redargue.net.fetch import ACCEPTED, HTTP_ERRORS, read_bounded, trusted
from redargue.net.secrets import Secrets, display_url
from redargue.runs.budget import Account, Receipt

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
    """Limits the requests to one service, first come, first served, in all event loops and threads together."""

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self.in_flight = 0
        self._lock = Lock()
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
        with self._lock:
            now = time.monotonic()
            wait = max(self._requests.reserve(1, now), self._tokens.reserve(tokens, now))
        while wait > 0 or (wait := self._paused_until - time.monotonic()) > 0:
            await asyncio.sleep(wait)
            wait = 0.0

    async def _acquire(self) -> None:
        with self._lock:
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
        with self._lock:
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.done():
                    continue
                with suppress(RuntimeError):  # its event loop was closed
                    turn.get_loop().call_soon_threadsafe(self._assign, turn)
                    return
            self.in_flight -= 1

    def _assign(self, turn: asyncio.Future[None]) -> None:
        if turn.done():  # cancelled since
            self._release()
        else:
            turn.set_result(None)


class Limiter:
    """One :class:`ServiceLimiter` per service."""

    def __init__(self, rates: Mapping[str, Rate] | None = None) -> None:
        self.rates = dict(rates or {})
        self._limiters: dict[str, ServiceLimiter] = {}

    def for_service(self, service: str) -> ServiceLimiter:
        if service not in self._limiters:
            self._limiters[service] = self._open(service, self.rates.get(service, Rate()))
        return self._limiters[service]

    def _open(self, service: str, rate: Rate) -> ServiceLimiter:
        return ServiceLimiter(rate)


_BUSY = frozenset({429, 503, 529})
FAILING = frozenset({408, 409, 425, 500, 502, 504})
BUSY_TRIES, FAILING_TRIES, LATE_TRIES = 12, 3, 2
NO_RETRY_AFTER_TRIES = 6  # of a busy service without a Retry-After header
_LONGEST_WAIT = 120.0  # seconds; a service that requests more is not retried
LARGEST_ANSWER = 20_000_000  # bytes
_KEPT_OPEN = 3.0  # seconds without a request: many servers close a connection after 5

Read = Callable[[httpx2.Response], Awaitable[str]]


@dataclass(frozen=True, kw_only=True)
class Service:
    """The address and key of a service; its ``repr`` shows neither."""

    name: str
    url: str = field(repr=False)
    key: str = field(default="", repr=False)
    timeout: float = 30.0
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def display_url(self) -> str:
        return display_url(self.url)


@dataclass(frozen=True)
class HttpAnswer:
    """A service's response, with keys redacted and header names in lower case."""

    status: int
    text: str
    headers: Mapping[str, str]


class Transport:
    """Sends requests; an async context manager, which may be entered several times, and in several event loops.

    ``offline`` refuses requests beyond the loopback interface; ``patience`` is the factor of waits without Retry-After.
    """

    def __init__(
        self,
        limiter: Limiter | None = None,
        *,
        secrets: Secrets | None = None,
        offline: bool = False,
        patience: float = 1.0,
        inner: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.limiter, self.secrets, self.offline = limiter or Limiter(), secrets or Secrets.from_environment(), offline
        self.secrets.redact_logs()
        self._inner, self._wait_factor = inner, patience
        self._users: Counter[asyncio.AbstractEventLoop] = Counter()
        self._clients: dict[asyncio.AbstractEventLoop, httpx2.AsyncClient] = {}  # connections belong to a loop
        self._rng = random.Random()  # jitter of retries

    async def __aenter__(self) -> Transport:
        self._users[asyncio.get_running_loop()] += 1
        return self

    async def __aexit__(self, *exception: object) -> None:
        loop = asyncio.get_running_loop()
        self._users[loop] -= 1
        if not self._users[loop]:
            del self._users[loop]
            if client := self._clients.pop(loop, None):
                await client.aclose()

    async def send(
        self,
        service: Service,
        method: str,
        path: str,
        *,
        account: Account,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
        params: Mapping[str, Any] | None = None,
        tokens: int = 0,
        expected: int = 0,
        usd: float = 0.0,
        read: Read | None = None,
        final: Callable[[HttpAnswer], bool] = lambda answer: False,
        paid: Callable[[HttpAnswer], tuple[int, int, float, int] | None] = lambda answer: (0, 0, 0.0, 0),
    ) -> HttpAnswer:
        """Sends a request and retries it where that may help.

        Args:
            tokens: maximum number of tokens that it can cost.
            expected: its expected number of tokens, for the limit per minute.
            final: whether a response must not be retried although its status suggests it.
            paid: prompt tokens, completion tokens, dollars and cached prompt tokens of a success; None counts the
                reserved maximum.

        Returns: the last response, whatever its status.

        Raises:
            ProviderError: no response in time, or the transport is offline.
            BudgetReached: the request would exceed the budget.
        """
        url = self._address(service, path, params)
        retries = _Retries(service, self._rng, self._wait_factor)
        limiter = self.limiter.for_service(service.name)
        while True:
            try:
                async with limiter.slot(expected or tokens), account.request(tokens=tokens, usd=usd) as receipt:
                    answer = await self._once(service, method, url, headers, json, read, receipt)
                    if (cost := paid(answer) if answer.status == 200 else (0, 0, 0.0, 0)) is not None:
                        receipt.pay(*cost)
            except TimeoutError:
                wait = retries.after_timeout()
            except HTTP_ERRORS as error:
                wait = retries.after_failure(self._unreachable(service, error))
            else:
                if final(answer) or (delay := retries.after_answer(answer)) is None:
                    return answer
                wait = delay
                if answer.status == 429 and retry_after(answer.headers) is not None:
                    limiter.pause(wait)  # all requests of the process together are too many
            await asyncio.sleep(wait)

    @asynccontextmanager
    async def relay(
        self, service: Service, method: str, path: str, *, headers: Mapping[str, str], content: bytes
    ) -> AsyncIterator[httpx2.Response]:
        """Sends one request for a client of a proxy; yields the response, whose body has not been read.

        Nothing is tried again, because the client does that, and nothing is redacted. The service's timeout is that of
        the response's headers, and of every wait within its body.

        Raises:
            ProviderError: no response in time, or the transport is offline.
        """
        url = self._address(service, path)
        async with self.limiter.for_service(service.name).slot():
            client, waits = self._open(), httpx2.Timeout(None, read=service.timeout)
            request = client.build_request(method, url, headers=headers, content=content, timeout=waits)
            try:
                async with asyncio.timeout(service.timeout):
                    response = await client.send(request, stream=True)
            except TimeoutError:
                raise ProviderError(f"{service.name} gave no answer in {service.timeout:g} s") from None
            except HTTP_ERRORS as error:
                raise ProviderError(self._unreachable(service, error)) from None
            try:
                yield response
            finally:
                await response.aclose()

    def _why(self, error: Exception) -> str:
        return self.secrets.hide(str(error)) or type(error).__name__

    def _unreachable(self, service: Service, error: Exception) -> str:
        return f"{service.name} at {service.display_url} cannot be reached: {self._why(error)}"

    def _address(self, service: Service, path: str, params: Mapping[str, Any] | None = None) -> httpx2.URL:
        self.secrets.add_known(service.key)
        self.secrets.add_url(service.url)
        try:
            url = _joined(service.url, path)
            url = url.copy_merge_params(dict(params)) if params else url
            if service.key and url.userinfo:  # a user in the address would replace the key in the header
                url = url.copy_with(userinfo=b"")
        except (httpx2.InvalidURL, ValueError):
            raise UsageError(f"{service.display_url!r} is not a valid address of {service.name}") from None
        if self.offline and url.host not in ("127.0.0.1", "localhost", "::1"):
            raise ProviderError(
                f"no request was sent to {service.name}: --offline keeps every request on this machine",
                hint="drop --offline, or choose tools that need no network",
            )
        return url

    async def _once(
        self,
        service: Service,
        method: str,
        url: httpx2.URL,
        headers: Mapping[str, str] | None,
        json: Any,
        read: Read | None,
        receipt: Receipt,
    ) -> HttpAnswer:
        accepted = {"Accept-Encoding": ACCEPTED, **(headers or {})}
        answer = self._open().stream(method, url, headers=accepted, json=json)
        async with asyncio.timeout(service.timeout), answer as response:
            body = await (read if read and response.status_code == 200 else read_body)(response)
        return HttpAnswer(response.status_code, self.secrets.hide(body), dict(response.headers))

    def _open(self) -> httpx2.AsyncClient:
        loop = asyncio.get_running_loop()
        if loop not in self._users:
            raise UsageError("the transport is not open", hint="async with transport: …")
        if loop not in self._clients:
            known = not self.offline  # variables of the environment
            self._clients[loop] = httpx2.AsyncClient(
                timeout=None,
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=256, keepalive_expiry=_KEPT_OPEN),
                transport=self._inner,
                mounts=dict.fromkeys(("all://127.0.0.1", "all://localhost", "all://[::1]")),  # without a proxy
                trust_env=known,
                verify=trusted(from_environment=known),
            )
        return self._clients[loop]


@lru_cache(maxsize=256)
def _joined(base: str, path: str) -> httpx2.URL:
    url = httpx2.URL(base)
    return url.copy_with(path=url.path.rstrip("/") + path)


class _Retries:
    """Retry policy of one request; gives the seconds to wait, or raises ProviderError if no tries are left."""

    def __init__(self, service: Service, rng: random.Random, wait_factor: float) -> None:
        self._service, self._rng, self._wait_factor = service, rng, wait_factor
        self._tries: Counter[str] = Counter()

    def after_timeout(self) -> float:
        self._count("late", LATE_TRIES, f"{self._service.name} gave no answer in {self._service.timeout:g} s")
        return 0.0

    def after_failure(self, what: str) -> float:
        self._count("failing", FAILING_TRIES, what)
        return self._backoff("failing")

    def after_answer(self, answer: HttpAnswer) -> float | None:
        """None if the answer is final."""
        kind = "busy" if answer.status in _BUSY else "failing" if answer.status in FAILING else ""
        requested = retry_after(answer.headers)
        most = FAILING_TRIES if kind == "failing" else NO_RETRY_AFTER_TRIES if requested is None else BUSY_TRIES
        if not kind or self._tries[kind] + 1 >= most or (requested or 0) > _LONGEST_WAIT:
            return None
        self._tries[kind] += 1
        usual = self._backoff(kind)
        return usual if requested is None else max(usual, requested * (1 + 0.1 * self._rng.random()))

    def _count(self, kind: str, most: int, what: str) -> None:
        self._tries[kind] += 1
        if self._tries[kind] >= most:
            raise ProviderError(what, hint="check the address and the network with redargue doctor") from None

    def _backoff(self, kind: str) -> float:
        return self._wait_factor * min(20.0, 0.25 * 2.0 ** self._tries[kind]) * (0.5 + self._rng.random() / 2)


async def read_body(response: httpx2.Response) -> str:
    body = await read_bounded(response, LARGEST_ANSWER)
    try:
        return body.decode(response.encoding or "utf-8", errors="replace")
    except (LookupError, ValueError):  # an unknown codec, or one that does not decode to text
        return body.decode("utf-8", errors="replace")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The requested wait in seconds, from ``retry-after-ms`` or ``Retry-After`` (seconds or a date); 0 if it is past.

    None if there is no such header, or it cannot be read.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(ValueError):
            if (seconds := float(headers.get(name, "nan")) * unit) == seconds:  # not NaN
                return max(0.0, seconds)
    with suppress(ValueError, TypeError, OverflowError, IndexError):
        moment = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, moment.timestamp() - time.time())
    return None
