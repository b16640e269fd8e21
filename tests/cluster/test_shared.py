"""What workers share besides the queue: the batcher, the record of paid calls, the budget, the limiter."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Sequence
from typing import Any

import pytest

from cluster.conftest import Clock, Opened
from redargue.claims import Claim
from redargue.cluster import (
    Acquire,
    BudgetTable,
    Commit,
    LedgerBudget,
    Pause,
    RateTable,
    Release,
    Reserve,
    ReserveSlot,
    SharedLimiter,
)
from redargue.cluster.queue import Batch, Job, Lease, Queue, submit
from redargue.cluster.store import SharedDatabase, TransactionBatcher, open_ledger
from redargue.cluster.worker import LEASE, Heartbeat, PaidCallTable, SharedRecord, expire_worker
from redargue.errors import BadReply, BudgetReached, ProviderError, RecordError
from redargue.events import CallFailed, CallFinished, ClaimEnded, QueryWritten
from redargue.net.transport import Rate
from redargue.runs.budget import Budget, Cost
from redargue.verdicts import ErrorInfo, Verdict

pytestmark = pytest.mark.anyio
CLAIMS = [Claim(text=f"The bridge at Orvell was opened in {year}.") for year in range(1880, 1884)]


def batch_of(database: SharedDatabase) -> Batch:
    return submit(database, CLAIMS, about={"run": "mine"}, job={})


def join(database: SharedDatabase, batch: Batch) -> str:
    heartbeat = Heartbeat(batch.number)
    with database.transaction() as db:
        heartbeat(db)
    return heartbeat.owner


# the batcher


class Echo:
    """Answers with the requests, and fails on "fail"."""

    def __init__(self) -> None:
        self.served: list[list[Any]] = []

    def handle(self, db: Any, requests: Sequence[Any]) -> list[Any]:
        self.served.append(list(requests))
        if "fail" in requests:
            raise OSError("no room")
        return list(requests)


def batcher_of(where: str, *handlers: Any, begin: Any = lambda db: None, interval: float = 60.0) -> TransactionBatcher:
    return TransactionBatcher(lambda: open_ledger(where), handlers, begin=begin, interval=interval)


async def test_requests_during_a_transaction_share_the_next_one(where: str) -> None:
    echo = Echo()
    async with batcher_of(where, echo) as batcher:
        answers = await asyncio.gather(*(batcher.ask(echo, number) for number in range(200)))
        assert answers == list(range(200))
        assert batcher.transactions < 20
        batcher.post(echo, "last")
    assert echo.served[-1][-1] == "last"  # what was posted is written before the batcher closes


async def test_after_a_failed_transaction_all_requests_raise_its_error(where: str) -> None:
    echo = Echo()
    async with batcher_of(where, echo) as batcher:
        answers = await asyncio.gather(*(batcher.ask(echo, each) for each in (1, "fail", 2)), return_exceptions=True)
        assert any(isinstance(each, RecordError) and "no room" in str(each) for each in answers)
        with pytest.raises(RecordError, match="no room"):
            await batcher.ask(echo, 3)
        with pytest.raises(RecordError, match="no room"):
            batcher.post(echo, 3)


async def test_an_expired_worker_gets_an_error_at_its_next_heartbeat(where: str, opened: Opened) -> None:
    batch = batch_of(opened())
    heartbeat, echo = Heartbeat(batch.number), Echo()
    async with batcher_of(where, echo, begin=heartbeat, interval=0.01) as batcher:
        await batcher.ask(echo, 1)
        with opened().transaction() as db:
            expire_worker(db, heartbeat.owner)
        async with asyncio.timeout(30):
            while not batcher.failure:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        with pytest.raises(RecordError):
            await batcher.ask(echo, 2)


async def test_a_grant_that_nobody_waits_for_any_more_is_undone(where: str) -> None:
    class Grant(Echo):
        def handle(self, db: Any, requests: Sequence[Any]) -> list[Any]:
            super().handle(db, requests)
            return [each == "take" for each in requests]

    handler = Grant()
    async with batcher_of(where, handler) as batcher:
        waiting = asyncio.create_task(batcher.ask(handler, "take", undo="give"))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        async with asyncio.timeout(30):
            while not any("give" in each for each in handler.served):  # noqa: ASYNC110
                await asyncio.sleep(0.001)
    assert sorted(itertools.chain(*handler.served)) == ["give", "take"]


# the record


def finished(place: int, key: str) -> CallFinished:
    return CallFinished(
        item=place, agent="judge", round=1, task="Judge", key=key, requests=1, prompt_tokens=5, completion_tokens=2,
        usd=0.25, outputs=(),
    )  # fmt: skip


def failed(place: int, key: str, error: Any) -> CallFailed:
    return CallFailed(
        item=place, agent="judge", round=1, task="Judge", key=key, requests=1, prompt_tokens=5, completion_tokens=0,
        usd=0.0, error=ErrorInfo.of(error),
    )  # fmt: skip


async def test_the_next_worker_gets_the_answers_that_a_lost_one_has_paid_for(where: str, opened: Opened) -> None:
    database = opened()
    batch = batch_of(database)
    heartbeat, paid_calls = Heartbeat(batch.number), PaidCallTable(batch.number)
    queue = Queue(heartbeat.owner, batch.number)
    unreadable, away = BadReply("no label", raw="x"), ProviderError("no answer")
    async with batcher_of(where, paid_calls, queue, begin=heartbeat) as batcher:
        record = SharedRecord("mine", batcher, paid_calls)
        for job in (await batcher.ask(queue, Lease(2))).jobs:
            record.begin(job)
        record.write(QueryWritten(item=0, agent="judge", round=1, query="q"))
        record.write(finished(0, "a"))
        record.write(failed(0, "b", unreadable))
        record.write(failed(0, "c", away))
        record.write(finished(1, "d"))
        assert (record.recall(0, "a"), record.failed(0)) == (None, ())  # the same call twice is two calls
    with database.transaction() as db:
        expire_worker(db, heartbeat.owner)
    other = Heartbeat(batch.number)
    queue = Queue(other.owner, batch.number)
    async with batcher_of(where, paid_calls, queue, begin=other) as batcher:
        record = SharedRecord("mine", batcher, paid_calls)
        for job in (await batcher.ask(queue, Lease(2))).jobs:
            record.begin(job)
        again = record.recall(0, "a")
        assert isinstance(again, CallFinished)
        assert isinstance(record.recall(0, "b"), CallFailed)  # a reply that could not be read is an answer, too
        assert record.recall(0, "c") is None
        assert [each.key for each in record.failed(0)] == ["c"]
        assert record.recall(1, "a") is None
        record.write(again.model_copy(update={"seq": 3}))
        record.write(ClaimEnded(item=0, verdict=Verdict(claim=CLAIMS[0], label=None)))
        lines = record.end(0)
    assert ['"key":"c"' in lines[0], '"seq":3' in lines[1], '"claim_ended"' in lines[2]] == [True] * 3
    with database.transaction() as db:  # what was recalled is not written again
        assert db.execute("SELECT count(*) FROM paid WHERE place = 0").fetchone() == (3,)


async def test_an_answer_of_an_attempt_that_ended_in_an_error_is_known_and_its_failures_only_counted() -> None:
    paid = ((finished(0, "a"), True), (failed(0, "b", BadReply("no label", raw="x")), True))
    record = SharedRecord("mine", None, None)  # type: ignore[arg-type]  # nothing is written
    record.begin(Job(0, "{}", 2, 2, tuple((event.model_dump_json(), old) for event, old in paid)))
    assert isinstance(record.recall(0, "a"), CallFinished)
    assert record.recall(0, "b") is None
    assert [each.key for each in record.failed(0)] == ["b"]


# the budget


def spent(database: SharedDatabase) -> tuple[Any, ...]:
    with database.transaction() as db:
        sums = "sum(calls), sum(tokens), sum(held_calls), sum(held_tokens)"
        return tuple(map(int, db.execute(f"SELECT {sums} FROM workers").fetchone()))


@pytest.mark.parametrize("unit", ["calls", "searches"])
async def test_workers_together_never_pass_a_limit_and_a_lost_one_has_spent_what_it_held(
    opened: Opened, unit: str
) -> None:
    database = opened()
    batch = batch_of(database)
    one, two = join(database, batch), join(database, batch)
    limits = Budget(**{unit: 10})
    tables = [BudgetTable(owner, batch.number, limits) for owner in (one, two)]
    hold = Reserve(Cost(1, 100, searches=1))
    with database.transaction() as db:
        assert tables[0].handle(db, [hold] * 4) == [True] * 4
        assert tables[1].handle(db, [hold] * 4) == [True] * 4
        assert tables[0].handle(db, [hold] * 3) == [True, True, False]  # others may yet cost nothing
    assert spent(database) == (0, 0, 10, 1000)
    with database.transaction() as db:
        assert tables[1].handle(db, [Commit(hold.bound, Cost(1, 60, searches=1)), hold]) == [None, False]
        tables[1].handle(db, [Commit(hold.bound)])  # refused by the provider: it cost nothing
        assert tables[0].handle(db, [hold, hold]) == [True, False]
        expire_worker(db, one)
    assert spent(database) == (8, 760, 2, 200)
    with database.transaction() as db:
        tables[1].handle(db, [Commit(hold.bound, hold.bound)] * 2)
        (answer,) = tables[1].handle(db, [hold])
        assert isinstance(answer, BudgetReached)
        assert f"10 {unit} is spent" in str(answer)


async def test_hundred_random_races_overshoot_nothing_and_leave_nothing_held(where: str, opened: Opened) -> None:
    database = opened()
    batch = batch_of(database)
    limits, chance = Budget(60, tokens=5000), random.Random(7)
    sent = 0

    async def one(budget: LedgerBudget) -> None:
        nonlocal sent
        bound = Cost(1, chance.randrange(50, 200))
        try:
            await budget.reserve(bound)
        except BudgetReached:
            return
        sent += 1
        await asyncio.sleep(0)
        budget.settle(bound, Cost(1, chance.randrange(bound.tokens + 1)))

    async def worker() -> None:
        heartbeat = Heartbeat(batch.number)
        table = BudgetTable(heartbeat.owner, batch.number, limits)
        async with batcher_of(where, table, begin=heartbeat) as batcher:
            budget = LedgerBudget(limits, batcher, table)
            work = [asyncio.create_task(one(budget)) for _ in range(40)]
            for each in chance.sample(work, 5):
                each.cancel()
            await asyncio.gather(*work, return_exceptions=True)

    await asyncio.gather(*(worker() for _ in range(3)))
    calls, tokens, *held = spent(database)
    assert held == [0, 0]
    assert calls == sent <= 60
    assert tokens <= 5000
    assert calls > 40


async def test_without_a_limit_nothing_is_asked_and_what_is_spent_is_counted(where: str, opened: Opened) -> None:
    database = opened()
    batch = batch_of(database)
    heartbeat = Heartbeat(batch.number)
    table = BudgetTable(heartbeat.owner, batch.number, Budget())
    async with batcher_of(where, table, begin=heartbeat) as batcher:
        budget = LedgerBudget(Budget(), batcher, table)
        await budget.reserve(Cost(1, 10**9))
        budget.settle(Cost(1, 10**9), Cost(1, 30))
        budget.recall(Cost(100))
    assert spent(database) == (1, 30, 0, 0)


# the limiter

RATES = {"arxiv": Rate(in_flight=2, requests_per_minute=600), "model": Rate(tokens_per_minute=60_000)}


async def test_workers_together_ask_no_more_often_than_one(opened: Opened, clock: Clock) -> None:
    database = opened()
    tables, chance, sent = [RateTable(f"w{number}", RATES) for number in range(8)], random.Random(3), list[float]()
    while len(sent) < 1300:
        with database.transaction() as db:
            waits = chance.choice(tables).handle(db, [ReserveSlot("arxiv", 0)] * chance.randrange(1, 6))
        sent += [clock.now + float(wait or 0) for wait in waits]
        clock.now += chance.random() * 0.2
    most = max(sum(start <= each < start + 60 for each in sent) for start in sent)
    assert 588 <= most <= 600
    assert sum(each == sent[0] for each in sent) <= 10  # one second's worth at once


async def test_tokens_are_paced_and_a_pause_holds_everybody_back(opened: Opened, clock: Clock) -> None:
    database = opened()
    one, two = RateTable("one", RATES), RateTable("two", RATES)
    with database.transaction() as db:
        assert one.handle(db, [ReserveSlot("model", 3000)]) == [0.0]
        (wait,) = two.handle(db, [ReserveSlot("model", 3000)])
        assert wait == pytest.approx(2.05, abs=0.05)  # 3,000 tokens are three seconds, one second may come at once
        one.handle(db, [Pause("arxiv", 7.0)])
        assert two.handle(db, [ReserveSlot("arxiv", 0)]) == [7.0]
        before = time.monotonic()
        two.refresh_pauses(db)
        assert before + 6.9 <= two.paused["arxiv"] <= time.monotonic() + 7.1
        clock.now += 8
        (wait,) = two.handle(db, [ReserveSlot("arxiv", 0)])
        assert wait == 0.0


async def test_places_are_those_of_all_workers_and_a_lost_worker_s_are_free_again(opened: Opened) -> None:
    database = opened()
    batch = batch_of(database)
    owner = join(database, batch)
    one, two = RateTable(owner, RATES), RateTable("two", RATES)
    with database.transaction() as db:
        assert one.handle(db, [Acquire("arxiv")]) == [True]
        assert two.handle(db, [Acquire("arxiv"), Acquire("arxiv")]) == [True, None]
        assert two.handle(db, [Release("arxiv"), Acquire("arxiv"), Acquire("arxiv")]) == [None, True, None]
        expire_worker(db, owner)
        assert two.handle(db, [Acquire("arxiv"), Acquire("arxiv")]) == [True, None]


@pytest.mark.slow
async def test_a_shared_service_limiter_paces_pauses_and_releases_its_place(where: str, opened: Opened) -> None:
    batch = batch_of(opened())
    heartbeat = Heartbeat(batch.number)
    table = RateTable(heartbeat.owner, {"arxiv": Rate(in_flight=1, requests_per_minute=6000, burst=0)})
    async with batcher_of(where, table, begin=heartbeat) as batcher:
        lane = SharedLimiter(batcher, table).for_service("arxiv")
        most = now = 0

        async def one() -> None:
            nonlocal most, now
            async with lane.slot():
                now += 1
                most = max(most, now)
                await asyncio.sleep(0)
                now -= 1

        work = [asyncio.create_task(one()) for _ in range(12)]
        await asyncio.sleep(0)
        work[3].cancel()
        async with asyncio.timeout(30):
            await asyncio.gather(*work, return_exceptions=True)
        assert (most, lane.in_flight) == (1, 0)
        began = time.monotonic()
        lane.pause(0.2)
        await one()
        assert time.monotonic() - began >= 0.2
    with opened().transaction() as db:
        assert db.execute("SELECT coalesce(sum(taken), 0) FROM places").fetchone()[0] == 0


async def test_a_lost_worker_is_noticed_by_the_others(opened: Opened, clock: Clock) -> None:
    database = opened()
    batch = batch_of(database)
    lost = join(database, batch)
    clock.now += LEASE + 1
    join(database, batch)
    with database.transaction() as db:
        assert db.execute("SELECT gone FROM workers WHERE owner = ?", (lost,)).fetchone() == (1,)
