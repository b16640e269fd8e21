"""The limiter: places, order, paces and pauses, on a clock that nobody waits for."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise
from typing import Any

import pytest
from pydantic import ValidationError

from redargue.errors import UsageError
from redargue.net import transport as module
from redargue.net.services import limiter
from redargue.net.transport import Limiter, Rate, ServiceLimiter

pytestmark = pytest.mark.anyio


class Clock:
    """A clock that sleeping moves on; who sleeps wakes in the order of their times."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += max(0.0, seconds)

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    monkeypatch.setattr(module, "asyncio", made)
    return made


async def times(lane: ServiceLimiter, clock: Clock, count: int, tokens: int = 0) -> list[float]:
    """When requests, asked for one after another without a pause, may go out."""
    found = []
    for _ in range(count):
        async with lane.slot(tokens):
            found.append(clock.now - 1000.0)
    return found


# places


async def test_no_more_are_under_way_than_there_are_places() -> None:
    lane, most = ServiceLimiter(Rate(in_flight=3)), 0

    async def one() -> None:
        nonlocal most
        async with lane.slot():
            most = max(most, lane.in_flight)
            await asyncio.sleep(0)

    await asyncio.gather(*(one() for _ in range(50)))
    assert (most, lane.in_flight) == (3, 0)


async def test_who_comes_first_goes_first() -> None:
    lane, order = ServiceLimiter(Rate(in_flight=2)), []

    async def one(name: int) -> None:
        async with lane.slot():
            order.append(name)
            await asyncio.sleep(0)

    await asyncio.gather(*(one(name) for name in range(20)))
    assert order == list(range(20))


async def test_a_place_is_free_again_after_an_error() -> None:
    lane = ServiceLimiter(Rate(in_flight=1))
    with pytest.raises(KeyError):
        async with lane.slot():
            raise KeyError
    async with asyncio.timeout(30), lane.slot():
        assert lane.in_flight == 1
    assert lane.in_flight == 0


@pytest.mark.parametrize("late", [False, True])
async def test_who_is_cancelled_while_waiting_takes_no_place(late: bool) -> None:
    lane = ServiceLimiter(Rate(in_flight=1))

    async def one(done: asyncio.Event) -> None:
        async with lane.slot():
            await done.wait()

    first_done, done = asyncio.Event(), asyncio.Event()
    first = asyncio.create_task(one(first_done))
    await asyncio.sleep(0)
    second, third = asyncio.create_task(one(done)), asyncio.create_task(one(done))
    await asyncio.sleep(0)
    if late:
        first_done.set()
        await asyncio.sleep(0)  # the place goes to the second …
    second.cancel()  # … who wants it no more
    first_done.set()
    done.set()
    await asyncio.gather(first, second, third, return_exceptions=True)
    assert (second.cancelled(), third.cancelled(), lane.in_flight) == (True, False, 0)


async def test_many_cancelled_at_random_leave_every_place_free() -> None:
    lane = ServiceLimiter(Rate(in_flight=4))

    async def one(place: int) -> None:
        async with lane.slot():
            for _ in range(place % 5):
                await asyncio.sleep(0)

    work = [asyncio.create_task(one(place)) for place in range(200)]
    for place, each in enumerate(work):
        if place % 3 == 0:
            await asyncio.sleep(0)
            each.cancel()
    await asyncio.gather(*work, return_exceptions=True)
    assert lane.in_flight == 0


async def test_who_is_cancelled_while_pacing_frees_the_place() -> None:
    lane = ServiceLimiter(Rate(in_flight=1, requests_per_minute=1))
    async with lane.slot():
        pass
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02), lane.slot():
            pytest.fail("it went out too early")
    assert lane.in_flight == 0


def test_a_lane_without_places_cannot_be_made() -> None:
    for wrong in ({"in_flight": 0}, {"requests_per_minute": 0}, {"tokens_per_minute": -1}):
        with pytest.raises(ValidationError):
            Rate(**wrong)


def test_half_a_place_is_refused() -> None:
    with pytest.raises(UsageError, match=r"expected a positive number, got '0\.5'"):
        limiter({"REDARGUE_MODEL_IN_FLIGHT": "0.5"})


# paces


async def test_without_limits_nothing_waits(clock: Clock) -> None:
    assert await times(ServiceLimiter(Rate()), clock, 100, tokens=10**9) == [0.0] * 100


async def test_requests_are_spaced_over_the_minute(clock: Clock) -> None:
    found = await times(ServiceLimiter(Rate(requests_per_minute=600)), clock, 611)
    assert found[:10] == [0.0] * 10  # one second's worth at once
    assert found[-1] == pytest.approx(60.0, abs=2)
    gaps = [later - earlier for earlier, later in pairwise(found[11:])]
    assert gaps == [pytest.approx(0.1, rel=0.05)] * len(gaps)


async def test_tokens_are_spaced_over_the_minute(clock: Clock) -> None:
    found = await times(ServiceLimiter(Rate(tokens_per_minute=60_000)), clock, 21, tokens=3000)
    assert found[0] == 0.0
    assert found[-1] == pytest.approx(60.0 - 1.0, abs=1.5)


async def test_the_stricter_of_two_limits_counts(clock: Clock) -> None:
    lane = ServiceLimiter(Rate(requests_per_minute=60_000, tokens_per_minute=60_000))
    assert (await times(lane, clock, 21, tokens=3000))[-1] == pytest.approx(59.0, abs=1.5)
    lane = ServiceLimiter(Rate(requests_per_minute=60, tokens_per_minute=10**9))
    assert (await times(lane, clock, 30, tokens=3000))[-1] > 25 + 59


@pytest.mark.parametrize("after", [0.0, 1e6])
async def test_a_quiet_time_saves_up_no_more_than_a_second(after: float, clock: Clock) -> None:
    lane = ServiceLimiter(Rate(requests_per_minute=120))
    await times(lane, clock, 1)
    clock.now += after
    start = clock.now - 1000.0
    found = [each - start for each in await times(lane, clock, 12)]
    assert sum(each == 0.0 for each in found) <= 3
    assert found[-1] == pytest.approx(4.8, abs=0.6)


@pytest.mark.parametrize("per_minute", [3, 10, 100, 600])
async def test_no_minute_holds_more_than_its_share(per_minute: int, clock: Clock) -> None:
    found = await times(ServiceLimiter(Rate(requests_per_minute=per_minute)), clock, per_minute * 2)
    most = max(sum(start <= each < start + 60 for each in found) for start in found)
    assert most <= per_minute


@pytest.mark.parametrize(("key", "most"), [("", 3), ("ncbi0a1b2c3d4e5f60718293a4b5c6d7e8f9", 10)])
async def test_a_service_that_counts_by_the_second_is_never_asked_more_often(key: str, most: int, clock: Clock) -> None:
    lane = limiter({"NCBI_API_KEY": key}).for_service("pubmed")
    found = await times(lane, clock, 60)
    clock.now += 100.0  # after a quiet time, too
    found += await times(lane, clock, 60)
    held = [sum(start <= each < start + 1 for each in found) for start in found]
    assert max(held) == most
    assert found[59] < 60 / most * 1.05
    assert lane.rate.in_flight == most


async def test_real_requests_are_paced_without_a_clock_of_ours() -> None:
    lane = ServiceLimiter(Rate(requests_per_minute=6000))
    began = time.monotonic()

    async def one() -> None:
        async with lane.slot():
            pass

    async with asyncio.timeout(30):
        await asyncio.gather(*(one() for _ in range(110)))  # 100 at once, then one every 10 ms
    assert time.monotonic() - began >= 0.06


# pauses


async def test_a_pause_holds_back_those_who_come_and_the_longest_counts(clock: Clock) -> None:
    lane = ServiceLimiter(Rate())
    lane.pause(5)
    lane.pause(2)
    assert await times(lane, clock, 2) == [5.0, 5.0]


async def test_a_pause_that_comes_while_pacing_is_kept(clock: Clock) -> None:
    lane = ServiceLimiter(Rate(requests_per_minute=60))
    await times(lane, clock, 2)
    lane.pause(10)
    assert (await times(lane, clock, 1))[0] >= 10.0


# services


def test_every_service_has_a_lane_of_its_own_and_the_same_each_time() -> None:
    made = Limiter({"tavily": Rate(in_flight=2)})
    assert made.for_service("tavily") is made.for_service("tavily")
    assert made.for_service("tavily") is not made.for_service("model")
    assert (made.for_service("tavily").rate.in_flight, made.for_service("model").rate) == (2, Rate())


def test_equal_limits_of_a_process_are_one_limiter() -> None:
    asked = {"REDARGUE_MODEL_IN_FLIGHT": "2"}
    assert limiter(asked) is limiter(dict(asked))
    assert limiter(asked) is not limiter({})


def test_services_limits_are_those_they_ask_for() -> None:
    made = limiter({})
    assert made.for_service("tavily").rate.requests_per_minute == 100
    assert made.for_service("wikipedia").rate.in_flight == 3
