from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from redargue.cluster.batches import summarize_batches
from redargue.cluster.store import open_ledger
from redargue.service.app import create_app
from redargue.service.entries import LateWrites
from redargue.service.keys import Keys
from service.test_http import client, problem
from support.postgres import Server
from support.serving import service_parts, settings

pytestmark = pytest.mark.anyio
BATCH = {"claims": [f"The lighthouse at Cape Ansel was lit in {year}." for year in (1871, 1872, 1873)]}


async def finished(http: httpx2.AsyncClient, path: str) -> dict[str, Any]:
    while True:
        answer: dict[str, Any] = (await http.get(path)).json()
        if answer["state"] != "running":
            return answer
        await asyncio.sleep(0)


@pytest.mark.slow
async def test_a_batch_is_verified_and_its_verdicts_come_in_order() -> None:
    async with client() as http:
        started = await http.post("/v1/batches", json=BATCH)
        assert started.status_code == 202, started.text
        path = started.headers["location"]
        answer = await finished(http, path)
        assert (answer["state"], answer["total"], answer["done"], answer["errors"]) == ("done", 3, 3, 0)
        assert answer["calls"] == 3 * 23
        lines = [json.loads(line) for line in (await http.get(f"{path}/results")).text.splitlines()]
        assert [line["number"] for line in lines] == [1, 2, 3]
        assert [line["verdict"]["claim"]["text"] for line in lines] == BATCH["claims"]
        again = await http.post("/v1/batches", json=BATCH)
        assert again.json()["id"] == started.json()["id"]


@pytest.mark.extra
async def test_a_batch_lies_in_postgresql_where_the_service_has_its_ledger_there(postgres_server: Server) -> None:
    where = postgres_server.create("batches_of_the_service")
    async with client(ledger=where) as http:
        path = (await http.post("/v1/batches", json=BATCH)).headers["location"]
        assert (await finished(http, path))["done"] == 3
    async with client(ledger=where) as http:
        assert len((await http.get(f"{path}/results")).text.splitlines()) == 3
    with closing(open_ledger(where)) as ledger:
        (batch,) = summarize_batches(ledger)
        assert batch.total == 3


@pytest.mark.slow
async def test_the_end_of_a_batch_is_not_written_while_the_same_batch_is_stored_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two that write the same file at a time fail, or the later one says that the batch is running."""
    alone: list[bool] = []

    def write(self: LateWrites, path: Path, text: str) -> None:
        alone.append(application.state.batches._submitting.locked())
        path.write_text(text)

    monkeypatch.setattr(LateWrites, "write", write)
    application = create_app(settings(), service_parts())
    transport = httpx2.ASGITransport(application)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http,
    ):
        path = (await http.post("/v1/batches", json=BATCH)).headers["location"]
        assert (await finished(http, path))["state"] == "done"
    assert alone == [True]


async def test_a_stopped_service_resumes_its_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDARGUE_TEST_CALLS", "40")
    async with client() as http:
        path = (await http.post("/v1/batches", json=BATCH)).headers["location"]
        assert (await http.get(path)).json()["state"] == "running"
    monkeypatch.delenv("REDARGUE_TEST_CALLS")
    async with client() as http:
        assert (await finished(http, path))["done"] == 3


async def test_another_keys_batch_is_not_found_and_a_batch_commits_its_budget() -> None:
    (_, first), (_, second) = Keys().add("first", "100calls"), Keys().add("second")
    async with client(key=first) as http:
        problem(await http.post("/v1/batches", json=BATCH), 422)
        problem(await http.post("/v1/batches", json={**BATCH, "budget": "101calls"}), 402)
        problem(await http.post("/v1/batches", json={"claims": ["Fine.", "\n"], "budget": "93calls"}), 422)
        again = await asyncio.gather(*(http.post("/v1/batches", json={**BATCH, "budget": "93calls"}) for _ in range(3)))
        assert {reply.status_code for reply in again} == {202}  # one batch, which is counted once
        path = (await http.post("/v1/batches", json={**BATCH, "budget": "93calls"})).headers["location"]
        other = {"Authorization": f"Bearer {second}"}
        for each in (path, f"{path}/results", "/v1/batches/" + "0" * 64):
            problem(await http.get(each, headers=other), 404)
        assert (await finished(http, path))["done"] == 3
        problem(await http.post("/v1/batches", json={**BATCH, "budget": "93calls", "seed": 1}), 402)
