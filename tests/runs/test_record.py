"""Record, resume and replay, call by call."""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import redargue
from redargue import replay
from redargue.assembly import Parts
from redargue.backends import Backend, Call, Reply
from redargue.backends.scripted import ScriptedBackend
from redargue.claims import Claim
from redargue.errors import BadReply, BudgetReached, ProviderError, RecordError, ReplayMiss, UsageError
from redargue.events import CallReused, canonical
from redargue.files import replacing
from redargue.run import Run
from redargue.runs.budget import Budget, Cost
from redargue.runs.record import Record, last_attempts, read_events, writing
from redargue.spec import RunSpec
from redargue.tasks.answer import AnswerClaim
from redargue.tasks.base import Out, Task
from redargue.tasks.query import Query, WriteQuery
from redargue.verifier import Verifier
from support.debates import CLAIM, CLOCK, QUOTE, ShelfTool, answer, checked, script
from support.manifests import MANIFEST, altered

pytestmark = pytest.mark.anyio

CLAIMS = [Claim(text=f"The lighthouse at Cape Ansel was lit in {year}.") for year in range(1871, 1877)]


def disputed() -> ScriptedBackend:
    """Debaters who disagree over three rounds: 23 calls a claim."""
    return ScriptedBackend(
        {**script(), (AnswerClaim, "corpus"): answer("SUPPORTS"), (AnswerClaim, "keywords"): answer("REFUTES")}
    )


DEBATE = RunSpec(method="tool-mad")
CALLS, SERVED = 17, 19  # of a claim; two calls are of an embedding model


class Died(BaseException):
    """Ends a run from outside: no error that redargue knows."""


class Dying:
    """A backend that fails for good after some calls, as a killed process does."""

    name, identity, stability = "scripted", "scripted", ScriptedBackend.stability
    supports_attention_weights = english_only = False

    def __init__(self, calls: int) -> None:
        self.inner, self.left, self.served = disputed(), calls, 0

    def can(self, task: type[Task[Any]]) -> bool:
        return True

    def render(self, task: Task[Any]) -> str:
        return ""

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        if not self.left:
            raise Died
        self.left -= 1
        self.served += 1
        return await self.inner.perform(task, call)


def tools() -> dict[str, ShelfTool]:
    return {name: ShelfTool(name) for name in ("corpus", "keywords")}


def verifier(folder: Path | None, backend: Backend | None = None, **options: Any) -> Verifier:
    return Verifier(
        DEBATE, backend=backend or disputed(), evidence=tools(), folder=folder, claims=CLAIMS, clock=CLOCK, **options
    )


async def undisturbed(folder: Path) -> list[redargue.Verdict]:
    with verifier(folder) as each:
        return await each.verify_all(CLAIMS, concurrency=1)


@pytest.mark.slow
async def test_a_run_that_dies_goes_on_and_repeats_no_finished_call(tmp_path: Path) -> None:
    whole = await undisturbed(tmp_path / "whole" / "run")
    expected = list(read_events(tmp_path / "whole" / "run"))
    for calls in (0, 1, 17, 23, 40, 80, 100):
        folder = tmp_path / str(calls) / "run"
        dying = Dying(calls)
        with pytest.raises(Died), verifier(folder, dying) as each:
            await each.verify_all(CLAIMS, concurrency=1)
        survivor = Dying(10_000)
        with verifier(folder, survivor) as each:
            again = await each.verify_all(CLAIMS, concurrency=1)
        assert again == whole
        assert dying.served + survivor.served == SERVED * len(CLAIMS)  # each once
        assert canonical(read_events(folder)) == canonical(expected)


class Failing(Dying):
    """Its last call has sent a request when it waits for good, or ends with an error."""

    def __init__(self, calls: int, error: redargue.RedargueError | None = None) -> None:
        super().__init__(calls)
        self.error, self.waiting = error, asyncio.Event()

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        if self.left:
            return await super().perform(task, call)
        call.account.requests += 1
        if self.error:
            raise self.error
        self.waiting.set()
        await asyncio.Event().wait()
        raise AssertionError


async def check_resumed(folder: Path, whole: list[redargue.Verdict]) -> None:
    """The failed call counts, and neither a comparison nor a replay takes it for a part of the run."""
    with verifier(folder) as each:
        again = await each.verify_all(CLAIMS, concurrency=1)
    assert [each.label for each in again] == [each.label for each in whole]
    assert any(event.kind == "call_failed" for event in read_events(folder))
    assert canonical(event for event in last_attempts(folder) if event.kind != "claim_ended") == canonical(
        event for event in read_events(folder.parents[1] / "whole" / "run") if event.kind != "claim_ended"
    )
    seen: list[Any] = []
    assert await replay(folder, backend=ScriptedBackend({}), listeners=[seen.append]) == again
    assert canonical(seen) == canonical(last_attempts(folder))


@pytest.mark.slow
async def test_a_run_cancelled_during_a_call_and_resumed_replays(tmp_path: Path) -> None:
    whole = await undisturbed(tmp_path / "whole" / "run")
    for calls in (0, 1, 17, 23, 40):
        folder = tmp_path / str(calls) / "run"
        waiting = Failing(calls)
        with verifier(folder, waiting) as each:
            running = asyncio.create_task(each.verify_all(CLAIMS, concurrency=1))
            await waiting.waiting.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
        await check_resumed(folder, whole)


@pytest.mark.slow
@pytest.mark.parametrize("error", [BadReply("it cannot be read", raw="?"), ProviderError("it is overloaded")])
async def test_a_claim_that_ended_with_an_error_and_was_retried_replays(
    tmp_path: Path, error: redargue.RedargueError
) -> None:
    whole = await undisturbed(tmp_path / "whole" / "run")
    folder = tmp_path / "failed" / "run"
    with verifier(folder, Failing(CALLS - 1, error)) as each:
        verdicts = await each.verify_all(CLAIMS, concurrency=1)
    assert any(verdict.error for verdict in verdicts)
    await check_resumed(folder, whole)


@pytest.mark.slow
async def test_a_torn_last_line_is_cut_off_and_a_broken_one_before_it_is_an_error(tmp_path: Path) -> None:
    await undisturbed(tmp_path)
    log = tmp_path / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:50]) + lines[50][:40])
    with verifier(tmp_path) as each:
        await each.verify_all(CLAIMS)
    assert len([event for event in read_events(tmp_path) if event.kind == "claim_ended"]) == len(CLAIMS)
    log.write_bytes(b"".join(lines[:10]) + b"{}\n" + b"".join(lines[10:]))
    with pytest.raises(RecordError, match="line 11"):
        verifier(tmp_path)


@pytest.mark.slow
async def test_a_replay_asks_nobody_and_comes_out_as_recorded(tmp_path: Path) -> None:
    whole = await undisturbed(tmp_path)
    seen: list[Any] = []
    silent = ScriptedBackend({})
    again = await replay(tmp_path, backend=silent, listeners=[seen.append])
    assert silent.calls == []
    assert [each.model_copy(update={"run": ""}) for each in again] == [
        each.model_copy(update={"run": ""}) for each in whole
    ]
    assert canonical(seen) == canonical(read_events(tmp_path))


async def test_a_replay_with_a_missing_call_says_which(tmp_path: Path) -> None:
    await undisturbed(tmp_path)
    log = tmp_path / "events.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(line for line in lines if '"task":"JudgeDebate"' not in line))
    with pytest.raises(ReplayMiss, match="JudgeDebate of 'judge'"):
        await replay(tmp_path, backend=ScriptedBackend({}))


@pytest.mark.parametrize(
    "change",
    [
        lambda about: altered(about, {"seed": 7}),
        lambda about: altered(about, {"settings": about["spec"]["settings"] | {"rounds": 2}}),
        lambda about: altered(about, {"identity": "other weights"}),
        lambda about: about | {"claims": about["claims"][:1]},
        lambda about: about | {"tools": about["tools"] | {"corpus": {"about": "x", "revision": "2"}}},
        lambda about: altered(about, {"address": "http://127.0.0.1:1/v1"}),
    ],
    ids=["seed differs", "settings differ", "identity differs", "claims differ", "tools differ", "address differs"],
)
async def test_a_folder_of_another_run_is_refused(
    tmp_path: Path, change: Callable[[Any], Any], request: pytest.FixtureRequest
) -> None:
    await undisturbed(tmp_path)
    about = tmp_path / "run.json"
    about.write_text(json.dumps(change(json.loads(about.read_text()))))
    with pytest.raises(RecordError, match=f"already holds a run whose {request.node.callspec.id}:"):
        verifier(tmp_path)


async def test_a_log_that_is_a_link_to_itself_is_not_taken_for_a_run_without_events(tmp_path: Path) -> None:
    await undisturbed(tmp_path)
    (tmp_path / "events.jsonl").unlink()
    (tmp_path / "events.jsonl").symlink_to("events.jsonl")
    with pytest.raises(RecordError, match=r"events\.jsonl' cannot be read: Too many levels of symbolic links"):
        list(read_events(tmp_path))


async def test_each_part_of_a_calls_key_matters(tmp_path: Path) -> None:
    """One question with one part changed at a time: the record answers nothing but the same question."""
    backend = ScriptedBackend({WriteQuery: Query(text="x"), AnswerClaim: answer("SUPPORTS")})
    task = WriteQuery(claim=CLAIM, tool="corpus", about="documents")

    async def misses(run: Run, asked: Task[Any], **options: Any) -> bool:
        before = len(backend.calls)
        await run.ask(asked, **{"agent": "a", "round_": 1, **options})
        return len(backend.calls) > before

    def run(record: Record, **options: Any) -> Run:
        return Run(backend, {}, clock=CLOCK, record=record, **options)

    with Record(tmp_path, MANIFEST) as record:
        assert await misses(run(record), task)
    with Record(tmp_path, MANIFEST) as record:
        assert not await misses(run(record), task)
        assert await misses(run(record), task, agent="b")
        assert await misses(run(record), task, round_=2)
        assert await misses(run(record), task, n=2)
        assert await misses(run(record), task.model_copy(update={"sample": 1}))
        assert await misses(run(record), task.model_copy(update={"profile": "paper"}))
        assert await misses(run(record), task.model_copy(update={"about": "other documents"}))
        assert await misses(run(record, seed=1), task)
        assert await misses(run(record, item=1), task)
        assert await misses(run(record, models={"a": "large"}), task)
        twice = run(record)
        assert not await misses(twice, task)
        assert await misses(twice, task)  # asked a second time on purpose: another question


async def test_a_recorded_run_verifies_its_own_claims_only(tmp_path: Path) -> None:
    with verifier(tmp_path) as each:
        await each.verify(CLAIMS[0], item=0)
        for claim, item in ((CLAIMS[1], 0), (CLAIMS[0], 99)):
            with pytest.raises(UsageError, match="of this run is not"):
                await each.verify(claim, item=item)


@pytest.mark.slow
async def test_a_moved_run_replays_under_its_old_name(tmp_path: Path) -> None:
    whole = await undisturbed(tmp_path / "old")
    (tmp_path / "old").rename(tmp_path / "new")
    assert await replay(tmp_path / "new", backend=ScriptedBackend({})) == whole
    assert whole[0].run == "old"


async def test_what_cannot_be_a_run_folder_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="cannot be a run folder"):
        verifier(tmp_path / "file")


async def test_two_processes_cannot_write_one_folder(tmp_path: Path) -> None:
    with verifier(tmp_path), pytest.raises(RecordError, match="another process"):
        verifier(tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_a_full_disk_is_said_and_the_folder_is_free_again(tmp_path: Path) -> None:
    record = Record(tmp_path, MANIFEST)
    record._log.close()
    record._log = open("/dev/full", "ab")  # noqa: SIM115
    with pytest.raises(RecordError, match=r"cannot be written: No space left"):
        record.write(CallReused(agent="reader", round=1, task="AnswerClaim"))
    record.close()
    with writing(tmp_path):
        pass


def test_a_file_that_cannot_be_replaced_stays_as_it_was_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    path = tmp_path / "events.jsonl"
    path.write_text("old")
    with pytest.raises(OSError, match=r"events\.jsonl"), replacing(path) as file:
        file.write(b"half of it")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


async def test_errors_of_claims_that_end_together_are_one_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def full(self: Verifier, claim: Claim, **_: object) -> redargue.Verdict:
        raise RecordError(f"no room for {claim.text!r}")

    monkeypatch.setattr(Verifier, "verify", full)
    with verifier(None) as each, pytest.raises(RecordError, match="no room"):
        await each.verify_all(CLAIMS, concurrency=len(CLAIMS))
    gc.collect()
    assert len(CLAIMS) > 1
    assert caplog.records == []  # of asyncio: exceptions that nobody took


async def test_what_is_no_run_folder_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="contains no run"):
        await replay(tmp_path / "nothing")
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(RecordError, match="not a run's description"):
        await replay(tmp_path)
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(RecordError, match="has no format number"):
        await replay(tmp_path)


async def test_a_spent_budget_ends_claims_with_an_error_and_resuming_pays_only_the_rest(tmp_path: Path) -> None:
    with verifier(tmp_path, budget=Budget(CALLS + 3)) as each:
        verdicts = await each.verify_all(CLAIMS, concurrency=1)
    assert verdicts[0].label == "REFUTES"
    assert {verdict.error.type for verdict in verdicts[1:] if verdict.error} == {"BudgetReached"}
    assert all(verdict.label is None for verdict in verdicts[1:])
    with verifier(tmp_path, budget=Budget(CALLS * len(CLAIMS))) as each:
        assert all(verdict.error is None for verdict in await each.verify_all(CLAIMS, concurrency=3))
        assert each.budget.spent.calls == CALLS * len(CLAIMS)  # the first claim's calls were paid for from it before


@pytest.mark.slow
async def test_what_unfinished_claims_have_cost_counts_before_any_further_call(tmp_path: Path) -> None:
    with verifier(tmp_path, Failing(CALLS - 1, ProviderError("it is overloaded"))) as each:
        await each.verify_all(CLAIMS, concurrency=1)
    calls = (event for event in read_events(tmp_path) if event.kind in ("call_finished", "call_failed"))
    paid = sum(event.requests for event in calls if event.charge == "call")
    backend = disputed()
    with verifier(tmp_path, backend, budget=Budget(paid)) as each:
        verdicts = await each.verify_all(CLAIMS, concurrency=6)
        assert each.budget.spent.calls == paid
    assert {verdict.error.type for verdict in verdicts if verdict.error} == {"BudgetReached"}
    assert not any(task.charge == "call" for task, _ in backend.calls)


@pytest.mark.slow
async def test_calls_at_once_never_pass_the_budget_together(tmp_path: Path) -> None:
    for calls in range(1, 40, 3):
        backend = disputed()
        with Verifier(
            DEBATE, backend=backend, evidence=tools(), claims=CLAIMS, budget=Budget(calls), clock=CLOCK
        ) as each:
            await each.verify_all(CLAIMS, concurrency=6)
        assert sum(task.charge == "call" for task, _ in backend.calls) <= calls


async def test_a_budget_of_nothing_and_a_budget_in_words() -> None:
    for text in ("40", "0calls", "forty calls", "-3calls", "1.5calls", "2usd,3usd", ""):
        with pytest.raises(redargue.RedargueError):
            Budget.parse(text)
    both = Budget.parse("0.50usd, 200ktok")
    assert (both.calls, both.tokens, both.usd) == (None, 200_000, 0.5)
    budget = Budget.parse("1call")
    await budget.reserve(Cost(1))
    budget.settle(Cost(1), Cost(1))
    with pytest.raises(BudgetReached, match="1 call is spent") as caught:
        await budget.reserve(Cost(1))
    assert "--" not in caught.value.hint  # also shown by the page, which has no options


async def test_what_requests_under_way_hold_is_waited_for_and_not_refused() -> None:
    budget = Budget(tokens=100)
    await budget.reserve(Cost(1, 90))
    waiting = asyncio.create_task(budget.reserve(Cost(1, 60)))
    await asyncio.sleep(0)
    assert not waiting.done()
    budget.settle(Cost(1, 90), Cost(1, 30))
    await waiting
    budget.settle(Cost(1, 60), Cost(1, 60))
    assert budget.spent == Cost(2, 90)
    with pytest.raises(BudgetReached, match="100 tokens"):
        await budget.reserve(Cost(1, 11))


async def test_watch_streams_the_events_and_records_nothing_without_a_folder(tmp_path: Path) -> None:
    async with redargue.watch(CLAIM.text, spec=DEBATE, backend=disputed(), evidence=tools()) as events:
        kinds = [event.kind async for event in events]
    assert kinds[0] == "claim_started"
    assert kinds[-1] == "claim_ended"
    assert os.listdir(tmp_path) == []


async def test_an_error_on_the_way_is_the_verdicts_error_and_one_before_it_is_raised() -> None:
    wrong = ScriptedBackend(script(AnswerClaim=QUOTE))
    verdict = await redargue.verify(CLAIM, spec=DEBATE, backend=wrong, evidence=tools())
    assert verdict.error is not None
    assert (verdict.error.type, verdict.label) == ("UsageError", None)
    with pytest.raises(UsageError, match="did you mean 'tool-mad'"):
        await redargue.verify(CLAIM, method="toolmad")


@pytest.mark.slow
async def test_a_claim_that_ends_in_an_error_leaves_no_run_in_memory() -> None:
    wrong = ScriptedBackend(script(AnswerClaim=QUOTE))
    gc.collect()
    before = {id(each) for each in gc.get_objects() if isinstance(each, Run)}
    gc.disable()  # what a cycle keeps, the collector would remove
    try:
        with Verifier(method="single-reader", parts=Parts(backend=wrong, evidence=tools())) as verifier:
            verdicts = await verifier.verify_all(CLAIMS)
        after = [each for each in gc.get_objects() if isinstance(each, Run) and id(each) not in before]
    finally:
        gc.enable()
    assert all(verdict.error for verdict in verdicts)
    assert after == []


async def test_leaving_watch_cancels_the_verification() -> None:
    backend = disputed()
    async with redargue.watch(CLAIM.text, spec=DEBATE, backend=backend, evidence=tools()) as events:
        async for _ in events:
            break
    assert len(backend.calls) < 37


async def test_checked_statements_are_read_back_as_they_were(tmp_path: Path) -> None:
    await undisturbed(tmp_path)
    calls = [event for event in read_events(tmp_path) if event.kind == "call_finished" and event.task == "ScoreAnswer"]
    assert calls[0].outputs[0]["answer"]["statements"] == checked(1, 1).model_dump(mode="json")["statements"]
