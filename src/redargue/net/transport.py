"""The one place where requests leave the process: limits, retries, deadlines, the offline flag, hidden keys.

Nothing else retries. A busy service (429, 503) is asked again when it says so, a failing one a few times, a refusing
one never; a quota that is used up does not come back by asking.
"""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import TracebackType
from typing import Any

import httpx2

from redargue.errors import ProviderError, UsageError
from redargue.net.rate_limit import Limiter
from redargue.net.secrets import Secrets, place
from redargue.runs.budget import Account

BUSY = frozenset({429, 503, 529})
FAILING = frozenset({408, 409, 425, 500, 502, 504})
BUSY_TRIES, FAILING_TRIES, LATE_TRIES = 12, 3, 2
UNTOLD_TRIES = 6  # of a busy service that does not say when to come back
LONGEST_WAIT = 120.0  # a service that asks for more is not waited for
LARGEST_ANSWER = 20_000_000  # bytes

Read = Callable[[httpx2.Response], Awaitable[str]]


@dataclass(frozen=True, kw_only=True)
class Service:
    """Where a service is and the key it takes; neither its address' secrets nor the key are shown.

    Attributes:
        name: as in limits, prices and messages.
        url: its base address.
        key: empty where it needs none.
        timeout: seconds for a whole request.
        extra: what else the service takes from its user.
    """

    name: str
    url: str = field(repr=False)
    key: str = field(default="", repr=False)
    timeout: float = 30.0
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """The address as it may be shown and recorded."""
        return place(self.url)

    def shorter(self, seconds: float) -> Service:
        """The same service with another time limit."""
        return replace(self, timeout=seconds)


@dataclass(frozen=True)
class Answer:
    """What a service answered, with keys hidden.

    Attributes:
        status: HTTP status.
        text: the body.
        headers: in lower case.
    """

    status: int
    text: str
    headers: Mapping[str, str]


class Transport:
    """Sends requests; an async context manager, which may be entered several times at once.

    Args:
        limiter: shared by everything that sends.
        secrets: what to hide in answers.
        offline: refuses every request that would leave the machine's loopback.
        patience: stretches the waits between tries that no service has asked for; 0 does not wait.
        inner: httpx2's own transport, for tests.
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
        self.limiter, self.secrets, self.offline = limiter or Limiter(), secrets or Secrets.of(), offline
        self.secrets.watch_logs()
        self._inner, self._users, self._stretch = inner, 0, patience
        self._client: httpx2.AsyncClient | None = None
        self._chance = random.Random()  # spreads retries out; changes no answer

    async def __aenter__(self) -> Transport:
        self._users += 1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._users -= 1
        if not self._users and self._client:
            client, self._client = self._client, None
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
        final: Callable[[Answer], bool] = lambda answer: False,
        paid: Callable[[Answer], tuple[int, int, float] | None] = lambda answer: (0, 0, 0.0),
    ) -> Answer:
        """Sends one request, again where that may help.

        Args:
            service: whom to ask.
            method: HTTP method.
            path: added to the service's address.
            account: pays for each request that is sent.
            headers: of the request.
            json: its body.
            params: its query.
            tokens: the most it can cost.
            expected: tokens that it will cost as a rule: what a limit a minute is held with.
            usd: the most it can cost.
            read: reads the body of a success; all of it by default.
            final: whether an answer that looks like one to be asked again is not.
            paid: prompt tokens, completion tokens, dollars of a success; None keeps what the budget has reserved.

        Returns: the answer, whatever its status, after all tries.

        Raises:
            ProviderError: nothing answered in time, or the flag ``offline`` is up.
            BudgetReached: the budget has no room for the request.
        """
        url = self._address(service, path, params)
        patience = _Patience(service, self._chance, self._stretch)
        lane = self.limiter.lane(service.name)
        while True:
            try:
                async with lane.slot(expected or tokens), account.request(tokens=tokens, usd=usd) as receipt:
                    answer = await self._once(service, method, url, headers, json, read)
                    if (cost := paid(answer) if answer.status == 200 else (0, 0, 0.0)) is not None:
                        receipt.pay(*cost)
            except TimeoutError:
                wait = patience.late()
            except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, UnicodeError) as error:
                wait = patience.failed(self.secrets.hide(str(error)) or type(error).__name__)
            else:
                if final(answer) or (again := patience.refused(answer)) is None:
                    return answer
                wait = again
                if answer.status == 429 and asked_to_wait(answer.headers) is not None:
                    lane.pause(wait)  # it is asked too often by all of us, not by this request
            await asyncio.sleep(wait)

    def _address(self, service: Service, path: str, params: Mapping[str, Any] | None) -> httpx2.URL:
        self.secrets.add(service.key)
        self.secrets.add_url(service.url)
        try:
            url = _joined(service.url, path)
            url = url.copy_merge_params(dict(params)) if params else url
            if service.key:  # a user in the address would take the key's place in the header
                url = url.copy_with(userinfo=b"")
        except (httpx2.InvalidURL, ValueError):
            raise UsageError(f"{service.place!r} is no address for {service.name}") from None
        if self.offline and url.host not in ("127.0.0.1", "localhost", "::1"):
            raise ProviderError(
                f"{service.name} was not asked: --offline keeps every request on this machine",
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
    ) -> Answer:
        async with asyncio.timeout(service.timeout):
            client = self._open()
            request = client.build_request(method, url, headers=headers, json=json)
            response = await client.send(request, stream=True)
            try:
                body = await (read if read and response.status_code == 200 else read_whole)(response)
            finally:
                await response.aclose()
        return Answer(response.status_code, self.secrets.hide(body), dict(response.headers))

    def _open(self) -> httpx2.AsyncClient:
        if not self._users:
            raise UsageError("the transport is not open", hint="async with transport: …")
        if self._client is None:
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=256)
            local = dict.fromkeys(("all://127.0.0.1", "all://localhost", "all://[::1]"))  # through no proxy
            self._client = httpx2.AsyncClient(
                timeout=None, limits=limits, transport=self._inner, mounts=local, trust_env=not self.offline
            )
        return self._client


@lru_cache(maxsize=256)
def _joined(base: str, path: str) -> httpx2.URL:
    """A path at a service's address, whose query stays."""
    url = httpx2.URL(base)
    return url.copy_with(path=url.path.rstrip("/") + path)


class _Patience:
    """How often one request is tried, and how long to wait before the next time."""

    def __init__(self, service: Service, chance: random.Random, stretch: float) -> None:
        self._service, self._chance, self._stretch = service, chance, stretch
        self._tries: Counter[str] = Counter()

    def late(self) -> float:
        """Nothing came in time."""
        self._count("late", LATE_TRIES, f"{self._service.name} gave no answer in {self._service.timeout:g} s")
        return 0.0

    def failed(self, why: str) -> float:
        """No connection, or a broken one."""
        self._count("failing", FAILING_TRIES, f"{self._service.name} at {self._service.place} cannot be reached: {why}")
        return self._longer("failing")

    def refused(self, answer: Answer) -> float | None:
        """An answer came; None where it stands."""
        kind = "busy" if answer.status in BUSY else "failing" if answer.status in FAILING else ""
        asked = asked_to_wait(answer.headers)
        most = FAILING_TRIES if kind == "failing" else UNTOLD_TRIES if asked is None else BUSY_TRIES
        if not kind or self._tries[kind] + 1 >= most or (asked or 0) > LONGEST_WAIT:
            return None
        self._tries[kind] += 1
        return self._longer(kind) if asked is None else asked * (1 + 0.1 * self._chance.random())

    def _count(self, kind: str, most: int, what: str) -> None:
        self._tries[kind] += 1
        if self._tries[kind] >= most:
            hint = "look at the address and the network; redargue doctor tells more"
            raise ProviderError(what, hint=hint) from None

    def _longer(self, kind: str) -> float:
        return self._stretch * min(20.0, 0.25 * 2.0 ** self._tries[kind]) * (0.5 + self._chance.random() / 2)


async def read_whole(response: httpx2.Response) -> str:
    """The body as text, bounded: nothing sensible is larger."""
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > LARGEST_ANSWER:
            raise httpx2.ReadError(f"the answer is larger than {LARGEST_ANSWER:,} bytes")
        parts.append(part)
    whole = b"".join(parts)
    try:
        return whole.decode(response.encoding or "utf-8", errors="replace")
    except (LookupError, ValueError):  # a service may name any codec, also one that makes no text
        return whole.decode("utf-8", errors="replace")


def asked_to_wait(headers: Mapping[str, str]) -> float | None:
    """The seconds that a service asks to wait, from ``retry-after-ms`` or ``Retry-After`` (seconds or a date)."""
    with contextlib.suppress(ValueError):
        if exact := headers.get("retry-after-ms"):
            return max(0.0, float(exact) / 1000)
    try:
        given = headers.get("retry-after", "")
        return max(0.0, float(given)) if given else None
    except ValueError:
        try:
            moment = email.utils.parsedate_to_datetime(headers["retry-after"])
        except (ValueError, KeyError):
            return None
        return max(0.0, moment.timestamp() - time.time())
