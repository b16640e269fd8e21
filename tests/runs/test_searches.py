"""Budgets count the searches of tools that go online, in a run, in a day of the service, and in a ledger."""

from __future__ import annotations

import asyncio
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import httpx2
import pytest

from redargue import replay
from redargue.assembly import Parts
from redargue.backends import Call
from redargue.backends.scripted import ScriptedBackend
from redargue.claims import Claim
from redargue.cluster.store import open_ledger
from redargue.errors import BudgetReached, ProviderError, UsageError
from redargue.events import canonical
from redargue.evidence import Passage
from redargue.retrieval.tools import Search
from redargue.run import Run
from redargue.runs.budget import Account, Budget, Cost, Prices
from redargue.runs.record import last_attempts, read_events
from redargue.service.keys import Keys
from redargue.spec import RunSpec
from redargue.tasks.answer import Answer, AnswerClaim
from redargue.verifier import Verifier
from service.test_http import client
from support.debates import ShelfTool, answer, script
from support.serving import service_parts

pytestmark = pytest.mark.anyio
CLAIM = "The lighthouse at Cape Ansel was lit in 1871."


class PaidTool(ShelfTool):
    """A tool that pays for each request, of which a search makes so many."""

    online: ClassVar[bool] = True

    def __init__(self, name: str, requests: int = 1, usd: float = 0.0) -> None:
        super().__init__(name)
        self.requests, self.usd, self.sent = requests, usd, 0

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        for _ in range(self.requests):
            async with search.account.request(usd=self.usd) as receipt:
                self.sent += 1
                receipt.pay(usd=self.usd)
        return await super().search(query, k, search=search)


class LocalTool(ShelfTool):
    online: ClassVar[bool] = False


async def test_a_search_beyond_the_budget_is_not_sent_and_local_ones_are_free() -> None:
    paid, local = PaidTool("google"), LocalTool("corpus")
    run = Run(ScriptedBackend({}), {"google": paid, "corpus": local}, budget=Budget.parse("2searches"))
    for number in range(4):
        await run.search("corpus", f"query {number}", 3, agent="reader")
    for number in range(2):
        assert await run.search("google", f"query {number}", 3, agent="reader")
    with pytest.raises(BudgetReached, match="the budget of 2 searches is spent"):
        await run.search("google", "another query", 3, agent="reader")
    assert (paid.sent, run.budget.spent) == (2, Cost(searches=2))
    assert run.usage.by_tool == {"corpus": 4, "google": 2}


async def test_concurrent_searches_cannot_exceed_a_budget_together() -> None:
    budget = Budget.parse("5searches")

    async def search() -> bool:
        try:
            async with Account(budget, charge="search").request() as receipt:
                await asyncio.sleep(0)
                receipt.pay()
            return True
        except BudgetReached:
            return False

    assert sum(await asyncio.gather(*(search() for _ in range(50)))) == 5
    assert budget.spent == Cost(searches=5)


async def test_a_resumed_run_has_spent_the_searches_of_its_record(tmp_path: Path) -> None:
    spec = RunSpec(method="single-reader", tools=("google",))
    for sent, query in enumerate(("a", "b", "c")):
        tools, budget = {name: PaidTool(name) for name in ("google", "corpus")}, Budget.parse("2searches")
        given: dict[str, Any] = {"evidence": tools, "budget": budget, "claims": [Claim(text=CLAIM)], "folder": tmp_path}
        with Verifier(spec, backend=ScriptedBackend(script()), **given) as verifier:
            assert budget.spent.searches == sent
            run = Run(ScriptedBackend({}), {**tools}, budget=budget, record=verifier.record)
            with pytest.raises(BudgetReached) if sent == 2 else nullcontext():
                await run.search("google", query, 3, agent="r")


@pytest.mark.parametrize("answered", [True, False])
async def test_a_resumed_run_has_spent_what_lost_requests_may_have_cost(answered: bool, tmp_path: Path) -> None:
    async def lose(task: AnswerClaim, call: Call) -> Answer:
        with suppress(ProviderError):
            async with call.account.request(tokens=70, usd=0.5):
                raise ProviderError("the connection broke")
        if not answered:
            raise ProviderError("the connection broke")
        return answer("SUPPORTS")

    backend, claims = ScriptedBackend(script(AnswerClaim=lose)), [Claim(text=CLAIM)]
    spec, tools = RunSpec(method="single-reader", tools=("google",)), {"google": PaidTool("google")}
    with Verifier(spec, backend=backend, evidence=tools, claims=claims, folder=tmp_path) as verifier:
        verdict = await verifier.verify(claims[0])
        paid = verifier.budget.spent
    with Verifier(spec, backend=backend, evidence=tools, claims=claims, folder=tmp_path) as resumed:
        assert resumed.budget.spent == paid == Cost(calls=2, tokens=70, usd=0.5, searches=1)
    assert (verdict.error is None) == answered
    assert verdict.usage.usd == 0.5


class StuckTool(PaidTool):
    """A tool whose second request is never answered."""

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        await super().search(query, k, search=search)
        async with search.account.request(usd=self.usd):
            self.sent += 1
            await asyncio.Event().wait()
        raise AssertionError


async def test_a_search_that_is_cut_off_has_been_paid_in_the_resumed_run_and_its_replay(tmp_path: Path) -> None:
    spec, backend = RunSpec(method="single-reader", tools=("google",)), ScriptedBackend(script())
    given: dict[str, Any] = {"claims": [Claim(text=CLAIM)], "folder": tmp_path, "backend": backend}
    with Verifier(spec, evidence={"google": StuckTool("google", usd=0.5)}, **given) as verifier:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(verifier.verify(given["claims"][0]), 0.2)
        assert verifier.budget.spent == Cost(searches=2, usd=1.0)
    again, budget = PaidTool("google"), Budget.parse("3searches")
    with Verifier(spec, evidence={"google": again}, budget=budget, **given) as resumed:
        assert budget.spent == Cost(searches=2, usd=1.0)
        verdict = await resumed.verify(given["claims"][0])
    assert (again.sent, budget.spent.searches, verdict.usage.by_tool) == (1, 3, {"google": 3})
    seen: list[Any] = []
    assert await replay(tmp_path, backend=ScriptedBackend({}), listeners=[seen.append]) == [verdict]
    assert canonical(seen) == canonical(last_attempts(tmp_path))


async def test_a_search_that_the_budget_ends_has_been_paid_in_the_resumed_run(tmp_path: Path) -> None:
    spec = RunSpec(method="single-reader", tools=("google",))
    given: dict[str, Any] = {"claims": [Claim(text=CLAIM)], "folder": tmp_path, "backend": ScriptedBackend(script())}
    for sent in (2, 0):  # of three requests the budget allows two, and later none
        tool, budget = PaidTool("google", requests=3), Budget.parse("2searches")
        with Verifier(spec, evidence={"google": tool}, budget=budget, **given) as verifier:
            verdict = await verifier.verify(given["claims"][0])
        assert verdict.error is not None
        assert (verdict.error.type, tool.sent, budget.spent.searches) == ("BudgetReached", sent, 2)


async def test_a_search_that_sends_nothing_leaves_no_cost(tmp_path: Path) -> None:
    spec, budget = RunSpec(method="single-reader", tools=("google",)), Budget.parse("1search")
    budget.recall(Cost(searches=1))
    with Verifier(
        spec,
        backend=ScriptedBackend(script()),
        evidence={"google": PaidTool("google")},
        budget=budget,
        claims=[Claim(text=CLAIM)],
        folder=tmp_path,
    ) as verifier:
        await verifier.verify(Claim(text=CLAIM))
    assert "call_failed" not in [event.kind for event in read_events(tmp_path)]


@pytest.mark.parametrize(
    ("texts", "lowest"),
    [
        (("0.0000004usd", "1usd"), "0.0000004usd"),
        (("50searches,2usd", "1ktok,7searches"), "1000tok,2.0usd,7searches"),
        (("1search", None, ""), "1searches"),
        ((None, ""), None),
    ],
)
async def test_the_lower_of_two_budgets_can_be_read_again(texts: tuple[str | None, ...], lowest: str | None) -> None:
    assert Budget.lower(*texts) == lowest
    if lowest:
        assert Budget.lower(lowest) == lowest


@pytest.mark.parametrize("text", ["1.5searches", "0searches", "2searches,3searches", "searches=2"])
async def test_what_counts_no_searches_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Budget.parse(text)


async def test_a_budget_in_dollars_holds_for_paid_searches_of_small_models() -> None:
    spec = RunSpec(method="single-reader", tools=("google",), budget="0.0015usd")
    tool = PaidTool("google", requests=2, usd=0.001)
    parts = Parts(backend=ScriptedBackend(script()), evidence={"google": tool}, prices=Prices.shipped())
    with Verifier(spec, parts=parts) as verifier:
        verdict = await verifier.verify(spec.claim(CLAIM))
    assert verdict.error
    assert verdict.error.type == "BudgetReached"
    assert tool.sent == 1
    free = replace(parts, evidence={"google": LocalTool("google")})
    with pytest.raises(UsageError, match="costs neither money nor tokens"):
        Verifier(spec, parts=free)


@pytest.mark.slow
async def test_the_searches_of_a_key_and_day_are_counted_also_after_a_restart() -> None:
    key, secret = Keys().add("newsroom", "7searches")
    assert key.budget == "7searches"
    tools = {name: PaidTool(name) for name in ("google", "tavily")}

    async def state(http: httpx2.AsyncClient, **body: Any) -> tuple[str, str]:
        asked = {"claim": CLAIM, "method": "tool-mad", "settings": {"debaters": ["google", "tavily"]}, **body}
        answer = (await http.post("/v1/checks", json=asked, headers={"Prefer": "wait=60"})).json()
        if "state" not in answer:
            return str(answer["status"]), answer["type"].rpartition(":")[2]
        return answer["state"], (answer["error"] or {}).get("type", "")

    parts, listed = replace(service_parts(), evidence=tools), ("google", "tavily")
    async with client(key=secret, parts=parts, tools=listed) as http:
        assert await state(http) == ("done", "")
        assert sum(tool.sent for tool in tools.values()) == 6
    async with client(key=secret, parts=parts, tools=listed) as http:
        assert await state(http) == ("failed", "BudgetReached")
        assert sum(tool.sent for tool in tools.values()) == 7
        assert await state(http) == ("402", "BudgetReached")
        batch = {"claims": [CLAIM], "method": "tool-mad", "budget": "40calls"}
        refused = await http.post("/v1/batches", json=batch)
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/budget")


async def test_a_ledger_counts_searches(tmp_path: Path) -> None:
    with closing(open_ledger(tmp_path / "ledger.db")) as ledger, ledger.transaction() as db:
        assert db.execute("SELECT sum(searches), sum(held_searches) FROM workers").fetchone() == (None, None)
