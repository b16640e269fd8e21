from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import ClassVar, Self

import pytest

from redargue.assembly import Parts
from redargue.backends import Call, Reply
from redargue.backends.scripted import ScriptedBackend
from redargue.claims import Meaning
from redargue.cli.app import run
from redargue.concurrency import Busy
from redargue.errors import BudgetReached, UsageError
from redargue.events import canonical
from redargue.reports import CheckResult
from redargue.reports.render import render
from redargue.runs.budget import Cost
from redargue.runs.folders import run_folders
from redargue.runs.record import read_events
from redargue.service.checks import CheckStore
from redargue.service.entries import EventLine
from redargue.service.keys import DayBudgets, KeyBudget
from redargue.service.page.runs import budget_of
from redargue.service.problems import UnknownCheck
from redargue.service.rules import CheckRequest, RequestRules
from redargue.service.schemas import CheckAnswer
from redargue.spec import RunSpec
from redargue.tasks.base import Out, Task
from redargue.tasks.extract import ExtractClaims, ExtractedClaim, ExtractedClaims
from redargue.text import Report
from redargue.verifier import Verifier
from support.debates import ShelfTool, answer, checked, script
from support.reported import claimed, debated, run_of, stopped, text_of, written
from support.serving import LONG_DEBATE

pytestmark = pytest.mark.anyio
CLAIM = CheckRequest(claim="The lighthouse at Cape Ansel was lit in 1871.")


class Gate(ScriptedBackend):
    """A scripted backend that answers so many calls, and the rest when it is opened."""

    def __init__(self, calls: int = 1_000) -> None:
        def first(task: ExtractClaims, call: Call) -> ExtractedClaims:
            return ExtractedClaims(claims=(ExtractedClaim(sentence=1, claim=task.sentences[0]),))

        super().__init__(script(AnswerClaim=answer("SUPPORTS"), CheckStatements=checked(0, 0)) | {ExtractClaims: first})
        self.left, self.open, self.reached = calls, asyncio.Event(), asyncio.Event()

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        self.left -= 1
        if self.left < 0:
            self.reached.set()
            await self.open.wait()
        return await super().perform(task, call)


@asynccontextmanager
async def store(
    backend: ScriptedBackend | None = None, *, running: int = 4, waiting: int = 100
) -> AsyncIterator[CheckStore]:
    tools = {name: ShelfTool(name) for name in ("corpus", "keywords")}
    parts = Parts(backend=backend or Gate(), evidence=tools)
    spec = RunSpec(method="tool-mad", settings={"debaters": ("corpus", "keywords"), **LONG_DEBATE})
    async with CheckStore(RequestRules(spec), parts=parts, running=running, waiting=waiting) as made:
        yield made


async def events(made: CheckStore, id_: str, after: int = 0) -> list[EventLine]:
    return [line async for lines in made.follow(id_, after=after) for line in lines]


async def test_a_check_is_a_run_folder_with_its_events_and_its_result() -> None:
    async with store() as made:
        check = made.submit(CLAIM)
        lines = await events(made, check.id)
        done = await made.wait(check.id)
        result = made.result(check.id)
    assert (done.state, done.outcome) == ("done", Meaning.REFUTED)
    assert isinstance(result, CheckResult)
    assert result.verdicts[0].usage.calls == 23
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))
    assert [line.kind for line in lines] == [event.kind for event in read_events(done.folder)]
    assert [folder.name for folder in run_folders()] == [check.id]


@pytest.mark.parametrize("calls", [0, 1, 9, 22])
async def test_a_stopped_service_resumes_its_checks_and_no_line_changes_its_number(calls: int) -> None:
    async with store(Gate()) as made:
        whole = made.submit(CLAIM)
        await made.wait(whole.id)
    async with store(gate := Gate(calls)) as made:
        check = made.submit(CLAIM)
        await gate.reached.wait()
    before = (check.folder / "events.jsonl").read_text().splitlines()
    async with store() as made:
        after = await events(made, check.id, len(before))
        lines = await events(made, check.id)
        done = await made.wait(check.id)
    assert done.state == "done"
    assert [line.line for line in lines] == before + [line.line for line in after]
    assert after[-1].kind == "claim_ended"
    assert canonical(line.event for line in lines if line.kind not in ("call_failed", "claim_ended")) == canonical(
        event for event in read_events(whole.folder) if event.kind not in ("call_failed", "claim_ended")
    )


async def test_another_owner_finds_nothing() -> None:
    async with store() as made:
        check = made.submit(CLAIM, owner="a")
        await made.wait(check.id, owner="a")
        for other in ("", "b"):
            with pytest.raises(UnknownCheck):
                made.get(check.id, owner=other)
            assert made.list(owner=other).checks == ()
        assert [each.id for each in made.list(owner="a").checks] == [check.id]


async def test_a_full_queue_refuses() -> None:
    async with store(gate := Gate(0), running=1, waiting=1) as made:
        made.submit(CLAIM)
        await gate.reached.wait()
        waiting = made.submit(CLAIM)
        assert made.get(waiting.id).position == 1
        with pytest.raises(Busy):
            made.submit(CLAIM)


async def test_a_cancelled_check_keeps_its_events_and_an_erased_one_nothing() -> None:
    async with store(gate := Gate(5)) as made:
        check = made.submit(CLAIM)
        await gate.reached.wait()
        cancelled = await made.cancel(check.id)
        assert cancelled.state == "cancelled"
        assert cancelled.usage
        assert cancelled.usage.calls == 5
        assert await events(made, check.id)
        assert made.result(check.id) is None
        await made.erase(check.id)
        assert not check.folder.exists()
        with pytest.raises(UnknownCheck):
            made.get(check.id)


@pytest.mark.parametrize("calls", [1, 3, 5])
async def test_a_text_that_is_cancelled_has_cost_what_it_was_answered(calls: int) -> None:
    sentences = [f"Number {at} is a number." for at in range(22)]  # read in two calls
    async with store(gate := Gate(calls)) as made:
        check = made.submit(CheckRequest(text=" ".join(sentences)))
        await gate.reached.wait()
        cancelled = await made.cancel(check.id)
        assert cancelled.usage
        assert cancelled.usage.calls == calls
        await made.erase(check.id)
        assert not check.folder.exists()


async def test_the_verdicts_of_a_text_that_was_stopped_are_no_result_for_it() -> None:
    async with store() as made:
        part = stopped(text_of(made.folder / "part", ["one here", "two here", "three here"]), verdicts=1)
        check = made.get(part.name)
        assert (check.state, check.claims, sum(check.outcomes.values())) == ("interrupted", 3, 1)
        assert made.result(part.name) is None
        report = render(part, "md")
        assert report.startswith("# A text of 3 claims\n")
        assert "2 claims have not finished" in report
        whole = text_of(made.folder / "whole", ["one here", "two here"])
        assert isinstance(made.result(whole.name), Report)


GERMAN = {"start": 0, "end": 4, "why": {"reason": "language", "languages": ["de"]}}
GREETING = {"start": 0, "end": 4, "why": {"reason": "not_a_claim"}}


@pytest.mark.parametrize(
    ("claims", "sentence", "outcome"),
    [
        (1, GERMAN, "undecided"),
        (1, GREETING, "factual"),
        (2, GERMAN, "non_factual"),
        (0, GERMAN, "unchecked"),
        (0, GREETING, "not_checkable"),
    ],
)
async def test_a_text_that_a_command_checked_has_the_outcome_of_its_report(
    claims: int, sentence: dict[str, object], outcome: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with store() as made:
        folder = text_of(made.folder / "text", ["one here", "two here"][:claims], sentence)
        result, listed = made.result(folder.name), made.list().checks
    assert isinstance(result, Report)
    assert (result.outcome, [check.outcome for check in listed]) == (outcome, [outcome])
    assert run(["runs", "ls"]) == 0
    assert ("1 sentence not read" in capsys.readouterr().out) == (sentence is GERMAN)


@pytest.mark.parametrize(("errors", "state", "kind"), [(1, "done", None), (2, "failed", "BadReply")])
async def test_a_run_of_a_command_in_which_every_claim_ended_in_an_error_has_failed(
    errors: int, state: str, kind: str | None
) -> None:
    failed = {"label": None, "error": {"type": "BadReply", "what": "w", "exit_code": 3}}
    async with store() as made:
        ends = [failed if at < errors else {"label": "SUPPORTS"} for at in range(2)]
        events = [event for at, end in enumerate(ends) for event in debated(at, claimed("word"), word="word", **end)]
        check = made.get(written(made.folder / "claims", [claimed("word")] * 2, events).name)
        answer = CheckAnswer.with_result(check, made.result(check.id))
    assert (answer.state, answer.error and answer.error.type) == (state, kind)
    assert answer.usage
    assert answer.usage.calls == 8


async def test_several_requests_erase_a_check_together() -> None:
    async with store() as made:
        check = made.submit(CLAIM)
        await made.wait(check.id)
        erased = await asyncio.gather(*(made.erase(check.id) for _ in range(20)), return_exceptions=True)
        assert {type(outcome) for outcome in erased} <= {type(None), UnknownCheck}
        assert not check.folder.exists()


@pytest.mark.parametrize(("own", "calls"), [("", 300), ("40calls", 40), ("400calls", 300)])
async def test_a_page_shows_the_budget_that_holds_for_a_check(own: str, calls: int) -> None:
    tools = {name: ShelfTool(name) for name in ("corpus", "keywords")}
    spec = RunSpec(method="tool-mad", settings={"debaters": ("corpus", "keywords"), **LONG_DEBATE}, budget="300calls")
    async with CheckStore(RequestRules(spec), parts=Parts(backend=Gate(), evidence=tools)) as made:
        budget = budget_of(made.submit(CLAIM.model_copy(update={"budget": own})))
    assert budget
    assert budget.calls == calls


async def test_a_list_continues_at_its_cursor() -> None:
    async with store() as made:
        ids = {made.submit(CLAIM).id for _ in range(5)}
        seen, cursor = [], ""
        while True:
            page = made.list(cursor=cursor, limit=2)
            seen += [check.id for check in page.checks]
            cursor = page.cursor
            if not cursor:
                break
    assert set(seen) == ids
    assert len(seen) == len(ids)


async def test_what_cannot_be_carried_out_is_refused_before_it_is_stored(tmp_path: Path) -> None:
    async with store() as made:
        for values in ({"method": "no-such"}, {"settings": {"round": 3}}, {"labels": "no-such"}):
            with pytest.raises(UsageError):
                made.submit(CLAIM.model_copy(update=values))
        assert list(made.folder.iterdir()) == []


async def test_a_run_of_the_command_line_is_running_then_interrupted_and_done_only_with_all_its_verdicts() -> None:
    async with store() as made:
        claims = [made.spec.claim(text) for text in ("The tower is old.", "The tower is red.")]
        folder = made.folder / "20261123-120000-abcdef"
        with Verifier(made.spec, parts=made.parts, folder=folder, claims=claims) as verifier:
            await verifier.verify(claims[0])
            assert made.get(folder.name).state == "running"
        assert made.get(folder.name).state == "interrupted"
        with Verifier(made.spec, parts=made.parts, folder=folder, claims=claims) as again:
            await again.verify_all(claims)
        assert made.get(folder.name).state == "done"


async def test_a_check_is_cancelled_before_its_first_step() -> None:
    async with store() as made:
        check = made.submit(CLAIM)
        await asyncio.sleep(0)  # its task has been created, and has not run
        cancelled = await asyncio.wait_for(made.cancel(check.id), 60)
        assert cancelled.state == "cancelled"
        assert made.counts() == {"running": 0, "queued": 0}


async def test_what_a_cancelled_check_paid_counts_after_a_restart() -> None:
    async with store(gate := Gate(5)) as made:
        check = made.submit(CLAIM, owner="a")
        await gate.reached.wait()
        await made.cancel(check.id, owner="a")
    budgets = DayBudgets(lambda owner: "100calls")
    async with CheckStore(budgets=budgets):
        day = budgets.of("a")
    assert day
    assert day.spent.calls == 5


@pytest.mark.parametrize("days", [-400, -1, 1, 400])
def test_the_budget_of_a_day_stays_spent_when_the_clock_is_set_to_another_day_and_back(days: int) -> None:
    now = [datetime(2026, 3, 1, 12, tzinfo=UTC)]
    budgets = DayBudgets(lambda owner: "3calls", now=lambda: now[0])
    budgets.commit("a", "3calls")
    now[0] += timedelta(days=days)
    if days < 0:
        with pytest.raises(BudgetReached):
            begin(budgets, 1)
    else:
        begin(budgets, 1)[0].end()
        budgets.commit("a", "3calls")
    now[0] -= timedelta(days=days)
    with pytest.raises(BudgetReached):
        begin(budgets, 1)


async def test_a_check_whose_log_is_damaged_fails(caplog: pytest.LogCaptureFixture) -> None:
    async with store(gate := Gate(5)) as made:
        check = made.submit(CLAIM)
        await gate.reached.wait()
        with (check.folder / "events.jsonl").open("a") as log:
            log.write("not an event\n")
        gate.open.set()
        ended = await asyncio.wait_for(made.wait(check.id), 60)
        assert (ended.state, ended.error and ended.error.type) == ("failed", "RecordError")
    assert not caplog.records


async def test_code_that_exits_fails_its_check_and_the_service_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with store() as made:
        with monkeypatch.context() as patched:
            patched.setattr("redargue.service.checks.Verifier", lambda *given, **options: sys.exit())
            check = made.submit(CLAIM)
            failed = await made.wait(check.id)
        other = made.submit(CLAIM)
        done = await made.wait(other.id)
    assert failed.error
    assert (failed.state, failed.error.what, done.state) == ("failed", "SystemExit in the check", "done")
    assert caplog.records[0].exc_info


async def test_an_idempotency_key_starts_no_second_check_when_the_clock_was_set_forward_and_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ahead = timedelta(0)

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + ahead

    monkeypatch.setattr("redargue.service.checks.datetime", Clock)
    async with store() as made:
        first = made.submit(CLAIM, idempotency="first")
        ahead = timedelta(days=30)
        assert made.submit(CLAIM, idempotency="first").id == first.id
        made.submit(CLAIM, idempotency="second")
        ahead = timedelta(0)
        assert made.submit(CLAIM, idempotency="first").id == first.id


async def test_an_idempotency_key_is_forgotten_when_it_has_no_effect_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    async with store() as made:
        first = made.submit(CLAIM, idempotency="first")
        assert made.submit(CLAIM, idempotency="first").id == first.id
        monkeypatch.setattr("redargue.service.checks.IDEMPOTENT", timedelta(0))
        second = made.submit(CLAIM, idempotency="second")
        assert [known.id for known in made._repeated.values()] == [second.id]


async def test_a_run_that_a_command_left_unfinished_is_neither_done_nor_has_it_an_outcome() -> None:
    async with store() as made:
        whole = run_of(made.folder / "whole", ["one here", "two here"])
        part = run_of(made.folder / "part", ["one here", "two here"])
        lines = (part / "events.jsonl").read_text().splitlines(keepends=True)
        (part / "events.jsonl").write_text("".join(lines[:-1]))
        damaged = made.folder / "damaged"
        damaged.mkdir()
        (damaged / "run.json").write_text("{}")
        seen = {check.id: (check.state, bool(check.outcome)) for check in made.list().checks}
    assert seen == {whole.name: ("done", False), part.name: ("interrupted", False), damaged.name: ("failed", False)}


async def test_a_folder_that_someone_else_may_have_filled_starts_no_check() -> None:
    async with store(gate := Gate(0)) as made:
        check = made.submit(CLAIM)
        await gate.reached.wait()
    async with CheckStore(folder=made.folder, resumes=False) as other:
        assert other.counts() == {"running": 0, "queued": 0}
        assert not other.get(check.id).ended
        with pytest.raises(UnknownCheck):
            other.get("x" * 400)


class Active:
    """A check of one owner that may make so many calls; it is active until it ends."""

    kept: ClassVar[list[Active]] = []

    def __init__(self, budgets: DayBudgets, most_calls: int) -> None:
        self.kept.append(self)
        self._paying = ExitStack()
        budget = self._paying.enter_context(budgets.check("a", most_calls=lambda: most_calls))
        assert isinstance(budget, KeyBudget)
        self.budget, self.end = budget, self._paying.close


def begin(budgets: DayBudgets, *most_calls: int) -> list[Active]:
    return [Active(budgets, calls) for calls in most_calls]


def spend(budget: KeyBudget, calls: int) -> None:
    for _ in range(calls):
        assert budget.hold(Cost(calls=1))
        budget.settle(Cost(calls=1), Cost(calls=1))


def ended(budgets: DayBudgets, *calls: int) -> None:
    for check, cost in zip(begin(budgets, *calls), calls, strict=True):
        spend(check.budget, cost)
        check.end()


async def test_checks_are_refused_once_those_that_are_active_will_have_spent_the_day() -> None:
    """Two checks have cost 5 calls each; what is left pays for two more, and a third would find nothing."""
    budgets = DayBudgets(lambda owner: "20calls")
    ended(budgets, 5, 5)
    first, _ = begin(budgets, 23, 23)
    with pytest.raises(BudgetReached, match="2 checks that you have sent may spend the rest"):
        begin(budgets, 23)
    spend(first.budget, 4)  # of the five that were expected of it
    with pytest.raises(BudgetReached, match="may spend the rest"):
        begin(budgets, 23)
    spend(first.budget, 6)
    with pytest.raises(BudgetReached, match="is spent"):
        begin(budgets, 23)


async def test_checks_that_wait_cost_what_those_before_did() -> None:
    """Three have cost 5 calls each: of 60 calls, nine more are paid, although none of those that wait has begun."""
    budgets = DayBudgets(lambda owner: "60calls")
    ended(budgets, 5, 5, 5)
    begin(budgets, *[23] * 9)
    with pytest.raises(BudgetReached, match="9 checks that you have sent may spend the rest"):
        begin(budgets, 23)


async def test_what_the_proxy_spends_is_expected_of_no_check() -> None:
    """Answers have cost 60 of 105 calls, and the only check that has ended 5: eight more are expected to cost that."""
    budgets = DayBudgets(lambda owner: "105calls")
    ended(budgets, 5)
    day = budgets.of("a")
    assert day
    spend(KeyBudget(day), 60)
    begin(budgets, *[5] * 8)
    with pytest.raises(BudgetReached, match="8 checks that you have sent"):
        begin(budgets, 5)


async def test_a_check_that_was_cancelled_before_its_first_call_lowers_no_expectation() -> None:
    budgets = DayBudgets(lambda owner: "20calls")
    ended(budgets, 5)
    for check in begin(budgets, 23, 23):
        check.end()
    begin(budgets, 23, 23, 23)
    with pytest.raises(BudgetReached, match="3 checks"):
        begin(budgets, 23)


@pytest.mark.slow
def test_an_answer_with_documents_may_cost_a_call_a_claim_beside_its_readings() -> None:
    rules = RequestRules(RunSpec(model="m"))
    text = "The mast is 40 metres tall. " * 30
    most = {
        "alone": rules.prepare(CheckRequest(text=text)).most_calls,
        "together": rules.prepare(CheckRequest(text=text, contexts=("It is tall.",))).most_calls,
        "one claim": rules.prepare(CheckRequest(claim="The mast is 40 metres tall.")).most_calls,
    }
    assert most == {"alone": 32, "together": 37, "one claim": 1}  # with two calls for the extraction


async def test_a_first_burst_is_refused_where_the_budget_has_too_few_calls_left_for_a_check() -> None:
    budgets = DayBudgets(lambda owner: "8calls")
    begin(budgets, 23)  # what it costs may be less, and nothing else is paid from the budget
    with pytest.raises(BudgetReached, match="1 check that you have sent may spend the rest"):
        begin(budgets, 1)
    budgets = DayBudgets(lambda owner: "8calls")
    first, *_ = begin(budgets, 2, 2, 2, 2)
    with pytest.raises(BudgetReached, match="4 checks that you have sent may spend the rest"):
        begin(budgets, 1)
    spend(first.budget, 2)
    with pytest.raises(BudgetReached, match="may spend the rest"):
        begin(budgets, 1)


async def test_a_batch_leaves_what_the_requests_of_running_checks_have_reserved() -> None:
    budgets = DayBudgets(lambda owner: "6calls")
    (check,) = begin(budgets, 2)
    assert check.budget.hold(Cost(calls=2))
    with pytest.raises(BudgetReached, match="running checks may spend") as refused:
        budgets.commit("a", "6calls")
    assert "when they have ended" in refused.value.hint
    assert budgets.commit("a", "4calls") == Cost(calls=4)
    check.budget.settle(Cost(calls=2), Cost(calls=2))
    day = budgets.of("a")
    assert day
    assert day.spent.calls == 6
    with pytest.raises(BudgetReached, match="more than is left"):
        budgets.commit("a", "1calls")


@pytest.mark.parametrize(("spent", "closed"), [(0.0, False), (0.04, True)])
async def test_a_call_that_no_longer_fits_closes_the_day_unless_much_is_left(spent: float, closed: bool) -> None:
    budgets = DayBudgets(lambda owner: "0.05usd")
    (check,) = begin(budgets, 1)
    day = budgets.of("a")
    assert day
    day.recall(Cost(usd=spent))
    with pytest.raises(BudgetReached):
        check.budget.hold(Cost(calls=1, usd=0.06))
    assert day.is_spent() == closed
    if closed:
        with pytest.raises(BudgetReached, match="is spent"):
            begin(budgets, 1)
