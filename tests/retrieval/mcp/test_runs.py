"""What agents do with an MCP server's tools is recorded with the run, and replayed without the server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from redargue import replay
from redargue.backends.scripted import ScriptedBackend
from redargue.claims import Claim
from redargue.errors import BudgetReached, ReplayMiss, UsageError
from redargue.events import EvidenceFound, EvidenceMissing, canonical
from redargue.methods import Method
from redargue.net.transport import Service, Transport
from redargue.retrieval.mcp.client import McpTool, list_tools, servers
from redargue.retrieval.tools import Observation, Sources
from redargue.run import Run
from redargue.runs.budget import Budget, Prices
from redargue.runs.record import Record, read_events
from redargue.verdicts import Verdict
from redargue.verifier import Verifier
from support.loopback import Loopback

pytestmark = pytest.mark.anyio

CLAIM = Claim(text="Ostermoor has a mayor.", as_of=date(2030, 1, 1))
ACTS: list[tuple[str, dict[str, Any]]] = [
    ("search_wikipedia", {"query": "mayor", "limit": 1}),
    ("get_summary", {"title": "Ostermoor"}),
    ("get_summary", {"title": "Ostermoor"}),
    ("get_summary", {"query": "Ostermoor"}),
    ("get_sumary", {"title": "Ostermoor"}),
]
seen: list[Observation] = []


class Acting(Method, name="acting"):
    """Makes the calls above."""

    roles = {"executor": None}

    async def check(self, claim: Claim) -> Verdict:
        observations = [
            await self.run.act(tool, arguments, agent="executor", round_=1, claim=claim) for tool, arguments in ACTS
        ]
        seen[:] = observations
        schemas = [name for name, action in self.run.actions.items() if "title" in action.parameters["properties"]]
        texts = [observation.text for observation in observations]
        return self.verdict(claim.labels.names[0], reason="\n".join(texts + schemas))


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


async def wikipedia(server: Loopback) -> dict[str, McpTool]:
    def no_corpus() -> Any:
        raise AssertionError("not needed")

    services = {"wikipedia": Service(name="wikipedia", url=server.url)}
    made = Sources(corpus=no_corpus, transport=Transport(patience=0), services=services, prices={"get_summary": 0.5})
    return await list_tools(servers(["wikipedia"], made, {}), made.prices)


def verifier(actions: dict[str, McpTool], folder: Path | None = None, **options: Any) -> Verifier:
    return Verifier(
        method="acting", backend=ScriptedBackend({}), actions=actions, folder=folder, claims=[CLAIM], **options
    )


async def test_what_tools_answer_is_recorded_and_replayed_without_a_server(tmp_path: Path) -> None:
    with Loopback() as server, verifier(await wikipedia(server), tmp_path / "run") as made:
        first = await made.verify(CLAIM)
        asked = server.counts.requests["mediawiki"]
    assert asked == 3
    search, summary, again, wrong, unknown = seen
    assert "Jonas Wirral" in summary.text
    assert summary == again.model_copy(update={"passages": summary.passages})
    assert [each.is_error for each in seen] == [False, False, False, True, True]
    assert "'title' is a required property; it takes title (string, required)" in wrong.text
    assert "there is no tool 'get_sumary'; did you mean 'get_summary'" in unknown.text
    assert search.passages[0].timing == "undated"
    events = [each for each in read_events(tmp_path / "run") if isinstance(each, EvidenceFound | EvidenceMissing)]
    assert [each.requests for each in events] == [1, 1, 1, 0, 0]
    assert first.usage.by_tool == {"get_sumary": 0, "get_summary": 2, "search_wikipedia": 1}
    (second,) = await replay(tmp_path / "run", backend=ScriptedBackend({}))
    assert second.model_copy(update={"run": first.run}) == first
    assert "get_article" in second.reason


async def test_a_run_that_goes_on_asks_no_call_again(server: Loopback, tmp_path: Path) -> None:
    actions = await wikipedia(server)
    with verifier(actions, tmp_path / "run") as made:
        whole = await made.verify(CLAIM)
    log = tmp_path / "run" / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:3]))  # it died after the second call
    server.reset()
    with verifier(actions, tmp_path / "run") as made:
        again = await made.verify(CLAIM)
    assert server.counts.requests["mediawiki"] == 1
    assert again.reason == whole.reason


async def test_another_call_than_the_recorded_one_is_missed(server: Loopback, tmp_path: Path) -> None:
    with verifier(await wikipedia(server), tmp_path / "run") as made:
        await made.verify(CLAIM)
    listener: list[Any] = []
    with Record(tmp_path / "run", mode="replay") as record:
        run = Run(ScriptedBackend({}), record=record, listeners=[listener.append])
        with pytest.raises(ReplayMiss, match=r"a call of 'get_summary' with \{\"title\": \"Velt\"\}"):
            await run.act("get_summary", {"title": "Velt"}, agent="executor", round_=1, claim=CLAIM)
    assert canonical(listener) == []


async def test_calls_are_paid_from_the_budget_and_an_unknown_price_is_no_zero(server: Loopback) -> None:
    actions = await wikipedia(server)
    run = Run(ScriptedBackend({}), actions=actions, budget=Budget(usd=0.6))
    async with actions["get_summary"]:
        assert not (await run.act("get_summary", {"title": "Ostermoor"}, agent="executor")).is_error
        with pytest.raises(BudgetReached):
            await run.act("get_summary", {"title": "Ostermoor"}, agent="executor")
    assert run.budget.spent.usd == 0.5
    with pytest.raises(UsageError, match="no price is known for the tool 'search_memes'"):
        Prices.shipped().require([], sorted({*actions, "search_memes"}))
