"""The transport: what is asked again and what is not, how long is waited, what stays on the machine."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from typing import Any

import httpx2
import pytest

from redargue.concurrency import gather_or_cancel
from redargue.errors import BudgetReached, ProviderError, UsageError
from redargue.net import transport as module
from redargue.net.secrets import Secrets
from redargue.net.transport import HttpAnswer, Limiter, Rate, Service, Transport, retry_after
from redargue.runs.budget import Account, Budget, Cost
from support.limits import run_out
from support.loopback import Behaviour, Loopback, Raw

pytestmark = pytest.mark.anyio

BODY = {"model": "m", "messages": [{"role": "user", "content": "?"}]}


@pytest.fixture(scope="module")
def running() -> Iterator[Loopback]:
    with Loopback() as server:
        yield server


@pytest.fixture
def server(running: Loopback) -> Loopback:
    running.behaviour, running.script, running.hold = Behaviour(), lambda ask: "ok", lambda request: None
    running.reset()
    return running


def service(url: str, **options: Any) -> Service:
    return Service(name="model", url=url, **options)


def transport(**options: Any) -> Transport:
    return Transport(**{"secrets": Secrets(), "patience": 0, **options})


async def send(
    server: Loopback | str, through: Transport, account: Account | None = None, *, seconds: float = 60, **options: Any
) -> HttpAnswer:
    url = server if isinstance(server, str) else f"{server.url}/v1"
    async with through:
        return await through.send(
            service(url, timeout=seconds),
            "POST",
            "/chat/completions",
            account=account or Account(),
            **{"json": BODY, **options},
        )


def answering(*answers: httpx2.Response | Exception) -> httpx2.MockTransport:
    """Gives the answers in their order, the last one again and again."""
    left = list(answers)

    async def answer(request: httpx2.Request) -> httpx2.Response:
        found = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(found, Exception):
            raise found
        return httpx2.Response(found.status_code, headers=found.headers, content=found.content)

    return httpx2.MockTransport(answer)


class Waits(list[float]):
    """The waits of the transport and of its limiter, none of which is waited."""


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Waits:
    found, sleep = Waits(), asyncio.sleep

    async def quick(seconds: float) -> None:
        found.append(seconds)
        await sleep(0)

    class Time:
        """The module asyncio, but for sleep."""

        def __getattr__(self, name: str) -> Any:
            return getattr(asyncio, name)

        sleep = staticmethod(quick)

    monkeypatch.setattr(module, "asyncio", Time())
    monkeypatch.setattr(Limiter, "for_service", _unpaused(Limiter.for_service))
    return found


def _unpaused(lane: Callable[[Limiter, str], Any]) -> Callable[[Limiter, str], Any]:
    def found(self: Limiter, name: str) -> Any:
        made = lane(self, name)
        made.pause = lambda seconds: None
        return made

    return found


# how long is waited


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Fri, 99 Foo 2020 00:00:00 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "nan"}, None),
    ],
)
def test_a_service_says_how_long_to_wait(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after(headers) == expected


def test_a_date_to_wait_for_is_so_many_seconds_away() -> None:
    found = retry_after({"retry-after": formatdate(time.time() + 60, usegmt=True)})
    assert found == pytest.approx(60, abs=2)


@pytest.mark.parametrize("status", [429, 503, 529])
@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ({"retry-after": "2"}, 2.0, 2.2),
        ({"retry-after-ms": "300"}, 0.3, 0.33),
        ({"retry-after": "0"}, 0.0, 0.0),
        ({"retry-after": "date"}, 8.0, 11.0),
    ],
)
async def test_a_busy_service_is_asked_again_when_it_says_so(
    status: int, headers: dict[str, str], low: float, high: float, waits: Waits
) -> None:
    if headers.get("retry-after") == "date":
        headers = {"retry-after": formatdate(time.time() + 10, usegmt=True)}
    inner = answering(httpx2.Response(status, headers=headers), httpx2.Response(200, text="ok"))
    account = Account()
    answer = await send("http://127.0.0.1:9", transport(inner=inner), account)
    assert (answer.status, answer.text, account.requests) == (200, "ok", 2)
    (wait,) = waits
    assert low <= wait <= high


async def test_a_wait_that_is_too_long_is_not_waited_and_the_answer_returned(waits: Waits) -> None:
    for headers in ({"retry-after": "121"}, {"retry-after": "inf"}, {"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}):
        inner = answering(httpx2.Response(429, headers=headers, text="later"))
        account = Account()
        answer = await send("http://127.0.0.1:9", transport(inner=inner), account)
        assert (answer.status, answer.text, account.requests) == (429, "later", 1)
    assert waits == []


async def test_waits_that_no_service_asked_for_grow_and_are_stretched_by_patience(waits: Waits) -> None:
    answer = await send("http://127.0.0.1:9", transport(inner=answering(httpx2.Response(503)), patience=1.0))
    assert (answer.status, len(waits)) == (503, module.NO_RETRY_AFTER_TRIES - 1)
    for place, wait in enumerate(waits):
        whole = 0.25 * 2 ** (place + 1)
        assert whole / 2 <= wait <= whole


async def test_a_429_pauses_all_who_ask_the_same_service_and_nobody_else(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.behaviour = Behaviour(statuses={"chat": 429}, retry_after="60")
    limiter, paused = Limiter(), asyncio.Event()
    pause = limiter.for_service("model").pause

    def noted(seconds: float) -> None:
        pause(seconds)
        paused.set()

    monkeypatch.setattr(limiter.for_service("model"), "pause", noted)
    through = transport(limiter=limiter)
    work = asyncio.create_task(send(server, through))
    async with asyncio.timeout(60):
        await paused.wait()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05), limiter.for_service("model").slot():
            pass
    async with asyncio.timeout(30), limiter.for_service("tavily").slot():
        pass
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    assert server.counts.requests["chat"] == 1
    assert limiter.for_service("model").in_flight == limiter.for_service("tavily").in_flight == 0


# what is asked again


@pytest.mark.parametrize(
    ("status", "tries"),
    [
        (200, 1),
        (302, 1),
        (400, 1),
        (401, 1),
        (403, 1),
        (404, 1),
        (413, 1),
        (422, 1),
        (432, 1),
        (501, 1),
        (408, module.FAILING_TRIES),
        (500, module.FAILING_TRIES),
        (502, module.FAILING_TRIES),
        (504, module.FAILING_TRIES),
        (429, module.NO_RETRY_AFTER_TRIES),
        (503, module.NO_RETRY_AFTER_TRIES),
    ],
)
async def test_what_may_help_is_asked_again_and_a_refusal_never(status: int, tries: int, server: Loopback) -> None:
    server.behaviour = Behaviour(statuses={} if status == 200 else {"chat": status})
    budget = Budget(tokens=100)
    account = Account(budget)
    answer = await send(server, transport(), account, tokens=10)
    assert answer.status == status
    assert account.requests == budget.spent.calls == server.counts.requests["chat"] == tries
    assert budget.spent.tokens == 0  # what is refused costs nothing


async def test_a_service_that_says_when_is_asked_twelve_times(server: Loopback) -> None:
    server.behaviour = Behaviour(statuses={"chat": 503}, retry_after="0")
    account = Account()
    assert (await send(server, transport(), account)).status == 503
    assert account.requests == server.counts.requests["chat"] == module.BUSY_TRIES


async def test_what_is_final_is_not_asked_again(server: Loopback) -> None:
    server.behaviour = Behaviour(quota=True, retry_after="0")
    answer = await send(server, transport(), final=lambda answer: "insufficient_quota" in answer.text)
    assert (answer.status, server.counts.requests["chat"]) == (429, 1)


async def test_redirects_are_not_followed() -> None:
    inner = answering(httpx2.Response(307, headers={"location": "http://elsewhere.example/"}))
    account = Account()
    answer = await send("http://127.0.0.1:9", transport(inner=inner), account)
    assert (answer.status, account.requests) == (307, 1)


async def test_no_connection_is_tried_three_times_and_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody answers there
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        account = Account()
        with pytest.raises(ProviderError, match=f"model at {url} cannot be reached") as caught:
            await send(url, transport(), account)
    assert account.requests == 3
    assert caught.value.hint


async def test_a_silent_service_is_asked_twice_within_its_time(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.behaviour = Behaviour(hang_routes=("chat",))
    budget = Budget(tokens=100)
    run_out(monkeypatch, module, server.arrived, lambda: server.arrived(count=2))
    with pytest.raises(ProviderError, match=r"model gave no answer in 0\.25 s"):
        await send(server, transport(), Account(budget), seconds=0.25, tokens=10)
    assert server.counts.requests["chat"] == 2
    assert budget.spent == Cost(2, 20, 0.0)  # it may have been billed


async def test_a_body_that_never_ends_is_given_up_in_time() -> None:
    class Endless(httpx2.AsyncByteStream):
        async def __aiter__(self) -> Any:
            while True:
                yield b" "
                await asyncio.sleep(0.005)

    async def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, stream=Endless())

    with pytest.raises(ProviderError, match="gave no answer"):
        await send("http://127.0.0.1:9", transport(inner=httpx2.MockTransport(answer)), seconds=0.05)


async def test_an_answer_that_is_too_large_is_an_error(monkeypatch: pytest.MonkeyPatch, server: Loopback) -> None:
    monkeypatch.setattr(module, "LARGEST_ANSWER", 1000)
    server.script = lambda ask: "x" * 2000
    with pytest.raises(ProviderError, match="larger than 1,000 bytes"):
        await send(server, transport())


@pytest.mark.parametrize("charset", ["utf-8", "latin-1", "nonsense", ""])
async def test_a_body_is_read_whatever_charset_it_names(charset: str, server: Loopback) -> None:
    server.script = lambda ask: Raw(200, "ä".encode(), f"text/plain; charset={charset}")
    assert (await send(server, transport())).text in ("ä", "Ã¤")


@pytest.mark.parametrize("charset", ["hex", "base64", "zlib"])
async def test_a_charset_that_is_no_text_encoding_raises_nothing_raw(charset: str, server: Loopback) -> None:
    server.script = lambda ask: Raw(200, b"ok", f"text/plain; charset={charset}")
    assert (await send(server, transport())).status == 200


@pytest.mark.parametrize("content", [b"not gzip at all", b""])
async def test_a_body_that_is_not_what_it_says_is_an_error(content: bytes, server: Loopback) -> None:
    server.script = lambda ask: Raw(200, content, headers=(("content-encoding", "gzip"),))
    if content:
        with pytest.raises(ProviderError, match="cannot be reached"):
            await send(server, transport())
    else:
        assert (await send(server, transport())).text == ""


# money


async def test_a_budget_without_room_sends_nothing(server: Loopback) -> None:
    with pytest.raises(BudgetReached):
        await send(server, transport(), Account(Budget(tokens=9)), tokens=10)
    assert server.counts.requests["chat"] == 0


async def test_retries_are_paid_and_end_where_the_budget_does(server: Loopback) -> None:
    server.behaviour = Behaviour(statuses={"chat": 503}, retry_after="0")
    account = Account(Budget(3))
    with pytest.raises(BudgetReached, match="3 calls"):
        await send(server, transport(), account)
    assert account.requests == server.counts.requests["chat"] == 3


async def test_what_a_service_does_not_say_costs_what_was_reserved(server: Loopback) -> None:
    budget = Budget(tokens=100)
    await send(server, transport(), Account(budget), tokens=40, paid=lambda answer: None)
    await send(server, transport(), Account(budget), tokens=40, paid=lambda answer: (1, 2, 0.0))
    assert budget.spent.tokens == 43


async def test_one_limit_holds_for_all_who_ask_at_once(server: Loopback) -> None:
    server.hold_until_in_flight(3)
    through = transport(limiter=Limiter({"model": Rate(in_flight=3)}))
    async with through:
        answers = await gather_or_cancel([send(server, through) for _ in range(12)])
    assert [each.status for each in answers] == [200] * 12
    assert server.counts.most_in_flight == 3


# open and closed


async def test_a_transport_opened_twice_at_once_closes_once_and_opens_again(server: Loopback) -> None:
    through = transport()
    async with through:
        first = through._open()
        async with through:
            assert (await send(server, through)).status == 200
            assert through._open() is first
        assert not first.is_closed
        assert (await send(server, through)).status == 200
    assert first.is_closed
    assert (await send(server, through)).status == 200  # opened and closed by itself
    with pytest.raises(UsageError, match="not open"):
        await through.send(service(server.url), "POST", "/v1/chat/completions", account=Account())


async def test_a_connection_is_given_up_before_servers_close_it() -> None:
    """Servers such as uvicorn and Node close one that is idle for 5 seconds, and may cut the next request."""
    async with transport() as made:
        pool = made._open()._transport._pool  # type: ignore[attr-defined]
    assert pool._keepalive_expiry < 5


def test_a_transport_serves_several_event_loops_at_once(server: Loopback) -> None:
    through, both = transport(limiter=Limiter({"model": Rate(in_flight=1)})), threading.Barrier(2)

    async def ask() -> list[int]:
        async with through:
            await asyncio.to_thread(both.wait, timeout=60)
            return [(await send(server, through)).status for _ in range(20)]

    with ThreadPoolExecutor(2) as threads:
        found = [threads.submit(asyncio.run, ask()) for _ in range(2)]
    assert [each.result() for each in found] == [[200] * 20] * 2
    assert through.limiter.for_service("model").in_flight == 0


def test_a_transport_serves_one_event_loop_after_another(server: Loopback) -> None:
    through = transport()
    for _ in range(3):
        assert asyncio.run(send(server, through)).status == 200


# offline


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_offline_asks_what_runs_on_this_machine(host: str, server: Loopback) -> None:
    url = server.url.replace("127.0.0.1", host)
    assert (await send(f"{url}/v1", transport(offline=True))).status == 200


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1",
        "http://10.0.0.1/v1",
        "http://127.0.0.1.example.org/v1",
        "http://localhost.example.org/v1",
        "http://localhost@example.org/v1",
        "http://127.0.0.1:80@example.org/v1",
        "http://example.org#127.0.0.1",
        "http://0.0.0.0/v1",
        "http://[::]/v1",
        "http:///v1",
    ],
)
async def test_offline_refuses_what_would_leave_the_machine_and_sends_nothing(url: str) -> None:
    inner = answering(AssertionError("sent"))
    with pytest.raises(ProviderError, match="--offline"):
        await send(url, transport(offline=True, inner=inner))


@pytest.mark.parametrize("offline", [True, False])
async def test_requests_to_this_machine_pass_through_no_proxy(
    offline: bool, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with Loopback(lambda ask: "the proxy saw it") as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        await send(server, transport(offline=offline))
        assert proxy.counts.requests["chat"] == 0
    assert server.counts.requests["chat"] == 1


# addresses


async def test_a_path_is_joined_to_an_address_whose_query_stays(server: Loopback) -> None:
    for url in ("/v1", "/v1/", "/v1?api-version=3"):
        await send(server.url + url, transport())
    assert {each.path for each in server.requests} == {"/v1/chat/completions"}
    assert len(server.requests) == 3


@pytest.mark.parametrize("url", ["http://", "http://exa mple.org", "http://example.org:port", "nonsense"])
async def test_an_address_that_is_none_is_a_typed_error(url: str) -> None:
    with pytest.raises((UsageError, ProviderError)):
        await send(url, transport())


@pytest.mark.parametrize("url", ["http://[::1/v1", "http://[not-an-address]/v1"])
async def test_an_address_with_a_broken_bracket_is_a_typed_error(url: str) -> None:
    with pytest.raises((UsageError, ProviderError)):
        await send(url, transport())


async def test_a_cancelled_request_leaves_nothing_behind(server: Loopback) -> None:
    server.behaviour = Behaviour(hang_routes=("chat",))
    limiter, budget = Limiter(), Budget(tokens=100)
    through = transport(limiter=limiter)
    work = asyncio.create_task(send(server, through, Account(budget), tokens=60))
    await server.arrived()
    waiting = asyncio.create_task(send(server, through, Account(budget), tokens=60))
    for _ in range(20):
        await asyncio.sleep(0)  # it comes as far as the budget, which has no room for it
    for each in (waiting, work):
        each.cancel()
        await asyncio.gather(each, return_exceptions=True)
    assert limiter.for_service("model").in_flight == 0
    assert budget.spent == Cost(1, 60, 0.0)
    server.behaviour = Behaviour()
    assert (await send(server, through, Account(budget), tokens=40)).status == 200
