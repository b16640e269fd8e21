"""The application behind its own transport: no process, no port."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import signal
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import APIRouter, FastAPI

from redargue.assembly import Parts
from redargue.errors import UsageError
from redargue.nli.backend import EmbeddedBackend
from redargue.runs.folders import runs_folder
from redargue.service import guard
from redargue.service.app import Server, allowed_hosts, bound_socket, create_app, only_one
from redargue.service.checks import CheckStore
from redargue.service.context import service_parts as parts_of_others
from redargue.service.keys import Keys
from redargue.service.problems import without_paths
from redargue.text.verification import prepare
from support.debates import TEXT
from support.serving import service_parts, settings

pytestmark = pytest.mark.anyio
CLAIM = {"claim": "The lighthouse at Cape Ansel was lit in 1871."}
NEEDS_MCP = pytest.mark.skipif(find_spec("mcp") is None, reason="the extra mcp is not installed")
MCP_CALL = '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "verify_claim", "arguments": {%s}}}'


@asynccontextmanager
async def client(
    host: str = "localhost", key: str = "", parts: Parts | None = None, **options: Any
) -> AsyncIterator[httpx2.AsyncClient]:
    application = create_app(settings(**options), parts or service_parts())
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    transport = httpx2.ASGITransport(application, raise_app_exceptions=False)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url=f"http://{host}", headers=headers) as made,
    ):
        yield made


async def done(http: httpx2.AsyncClient, **body: Any) -> dict[str, Any]:
    reply = await http.post("/v1/checks", json={**CLAIM, **body}, headers={"Prefer": "wait=60"})
    assert reply.status_code == 200, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


def problem(reply: httpx2.Response, status: int) -> dict[str, Any]:
    assert (reply.status_code, reply.headers["content-type"]) == (status, "application/problem+json"), reply.text
    body: dict[str, Any] = reply.json()
    assert body["status"] == status
    return body


async def test_a_check_is_started_found_reported_and_erased() -> None:
    async with client() as http:
        started = await http.post("/v1/checks", json=CLAIM)
        assert started.status_code == 202
        assert started.headers["location"] == f"/v1/checks/{started.json()['id']}"
        events = await http.get(f"{started.headers['location']}/events")
        assert events.text.endswith("event: end\ndata: {}\n\n")
        check = (await http.get(started.headers["location"])).json()
        assert (check["state"], check["outcome"], check["offsets"]) == ("done", "refuted", "code_point")
        assert check["result"]["verdicts"][0]["label"] == "REFUTES"
        assert (await http.get("/v1/checks")).json()["checks"][0]["id"] == check["id"]
        report = await http.get(check["links"]["report"])
        assert "sandbox" in report.headers["content-security-policy"]
        passage = await http.get(f"/v1/passages/{hashlib.sha256(TEXT.encode()).hexdigest()}")
        assert (passage.text, passage.headers["x-content-type-options"]) == (TEXT, "nosniff")
        for _ in range(2):
            assert (await http.delete(started.headers["location"])).status_code == 204
        problem(await http.get(started.headers["location"]), 404)


async def test_events_continue_after_the_last_one_that_is_known_and_only_some_kinds_are_sent() -> None:
    async with client() as http:
        path = f"/v1/checks/{(await done(http))['id']}/events"
        whole = (await http.get(path)).text.split("\n\n")
        assert whole[0] == "retry: 1000"
        rest = (await http.get(path, headers={"Last-Event-ID": "5"})).text.split("\n\n")
        assert rest[1:] == whole[6:]
        assert (await http.get(path, headers={"Last-Event-ID": "100000"})).text.split("\n\n") == whole
        assert (await http.get(path, headers={"Last-Event-ID": "no number"})).text.split("\n\n") == whole
        lines = await http.get(path, headers={"Accept": "application/x-ndjson"}, params={"after": 5})
        assert [f"data: {line}" for line in lines.text.splitlines()] == [frame.splitlines()[2] for frame in rest[1:-2]]
        only = (await http.get(path, params={"only": "answered,scored"})).text
        assert {line for line in only.splitlines() if line.startswith("event: ")} == {
            "event: answered",
            "event: scored",
            "event: end",
        }


@pytest.mark.parametrize(
    "line",
    [
        '{"item":0,"seq":0,"at":0,"kind":"answered"\revent: end\rdata: injected\r\r',
        '{"kind":"answered\\nevent: end\\ndata: injected\\n"}',
        "[]",
        "no event",
    ],
)
async def test_a_damaged_log_ends_a_stream_and_adds_no_frame_to_it(line: str) -> None:
    async with client() as http:
        id_ = (await done(http))["id"]
        log = runs_folder() / id_ / "events.jsonl"
        with log.open("a") as file:
            file.write(line + "\n")
        text = (await http.get(f"/v1/checks/{id_}/events")).text
        assert "injected" not in text
        assert text.count("event: end") == 1
        assert json.loads(text.rpartition("data: ")[2])["status"] == 409
        assert (await http.get(f"/runs/{id_}")).status_code == 409


async def test_json_lines_of_a_damaged_log_end_with_the_problem_which_repeats_no_line() -> None:
    async with client() as http:
        id_ = (await done(http))["id"]
        log = runs_folder() / id_ / "events.jsonl"
        lines = log.read_text().splitlines()
        log.write_text("\n".join([*lines[:2], "garbage", *lines[3:]]) + "\n")
        reply = await http.get(f"/v1/checks/{id_}/events", headers={"Accept": "application/x-ndjson"})
        *events, last = map(json.loads, reply.text.splitlines())
        assert all("kind" in event for event in events)
        assert (last["status"], "kind" in last) == (409, False)
        report = problem(await http.get(f"/v1/checks/{id_}/report.json"), 409)
        assert "is not an event" in report["detail"]
        assert "garbage" not in f"{reply.text}{report}"


async def test_a_passage_is_found_beside_a_damaged_check_that_is_an_error_only_if_it_is_named() -> None:
    async with client() as http:
        found = (await done(http))["id"]
        damaged = (await done(http))["id"]
        log = runs_folder() / damaged / "events.jsonl"
        log.write_text("garbage\n" + log.read_text())
        path = f"/v1/passages/{hashlib.sha256(TEXT.encode()).hexdigest()}"
        assert (await http.get(path)).text == TEXT
        assert (await http.get(path, params={"check": found})).text == TEXT
        problem(await http.get(path, params={"check": damaged}), 409)
        problem(await http.get(f"/v1/passages/{'0' * 64}"), 404)


async def test_another_keys_check_is_not_found_and_no_key_is_not_enough() -> None:
    (_, first), (_, second) = Keys().add("first"), Keys().add("second")
    async with client(key=first) as http:
        check = await done(http)
        for path in ("", "/events", "/report.md"):
            reply = await http.get(f"/v1/checks/{check['id']}{path}", headers={"Authorization": f"Bearer {second}"})
            missing = await http.get(f"/v1/checks/{check['id']}x{path}", headers={"Authorization": f"Bearer {second}"})
            assert problem(reply, 404) == problem(missing, 404)
        other = {"Authorization": f"Bearer {second}"}
        assert (await http.delete(f"/v1/checks/{check['id']}", headers=other)).status_code == 204
        assert (await http.get("/v1/checks", headers=other)).json()["checks"] == []
        problem(await http.get(f"/v1/passages/{hashlib.sha256(TEXT.encode()).hexdigest()}", headers=other), 404)
        for wrong in ("", "Bearer rdg_wrong", f"Basic {first}", f"Bearer {first}x"):
            problem(await http.get("/v1/checks", headers={"Authorization": wrong}), 401)
        assert (await http.get(f"/v1/checks/{check['id']}")).json()["state"] == "done"


class Motto:
    """A part of the service of another package."""

    router = APIRouter()

    @asynccontextmanager
    async def opened(self, application: FastAPI, parts: object) -> AsyncIterator[None]:
        yield


@Motto.router.get("/v1/motto")
def motto() -> str:
    return "Ask for the source."


async def test_routes_of_another_package_need_a_key_where_the_service_has_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts_of_others, "_loaded", {"motto": Motto()})
    async with client() as http:
        assert (await http.get("/v1/motto")).json() == "Ask for the source."
    _, secret = Keys().add("first")
    async with client() as http:
        problem(await http.get("/v1/motto"), 401)
        assert (await http.get("/v1/motto", headers={"Authorization": f"Bearer {secret}"})).status_code == 200


async def test_a_page_gets_a_cookie_for_a_key_that_ends_with_the_key() -> None:
    keys = Keys()
    key, secret = keys.add("page")
    async with client() as http:
        assert (await http.post("/sign-in", data={"key": "rdg_wrong"})).status_code == 401
        reply = await http.post("/sign-in", data={"key": secret})
        cookie = reply.headers["set-cookie"]
        assert secret not in cookie
        assert all(word in cookie.lower() for word in ("httponly", "samesite=strict"))
        assert (await http.get("/v1/checks")).status_code == 200
        value = keys.session(key)
        assert keys.find_session(value) == key
        assert keys.find_session(keys.session(key, now=0)) is None
        for wrong in (
            value[:-1] + ("0" if value[-1] != "0" else "1"),
            value.replace(".", ".9", 1),
            key.id,
            "",
            "é.1.é",
        ):
            assert keys.find_session(wrong) is None
        keys.add("another")
        keys.remove(key.id)
        problem(await http.get("/v1/checks"), 401)


def test_no_key_is_lost_that_is_added_or_removed_while_others_are(tmp_path: Path) -> None:
    first, _ = Keys(tmp_path).add("first")
    barrier = threading.Barrier(12)

    def change(number: int) -> None:
        keys = Keys(tmp_path)  # as another process has them
        barrier.wait()
        if number:
            keys.add(f"key {number}")
        else:
            keys.remove(first.id)

    with ThreadPoolExecutor(12) as threads:
        list(threads.map(change, range(12)))
    assert {key.name for key in Keys(tmp_path).list()} == {f"key {number}" for number in range(1, 12)}


def test_keys_are_stored_as_hashes_and_listed_without_them() -> None:
    key, secret = Keys().add("first")
    stored = Keys()._path.read_text()
    assert secret not in stored
    assert hashlib.sha256(secret.encode()).hexdigest() in stored
    assert Keys().find(secret) == key


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost@evil", "[", "", "[::1].evil", "[::1]x", "::1"]
)
async def test_a_request_for_another_host_is_refused(host: str) -> None:
    async with client() as http:
        problem(await http.get("/v1/checks", headers={"Host": host}), 400)
        for own in ("LOCALHOST:8321", "[::1]", "[::1]:8321", "localhost.", "127.0.0.1:"):
            assert (await http.get("/v1/checks", headers={"Host": own})).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        [("Transfer-Encoding", "identity, chunked")],
        [("Transfer-Encoding", "gzip, chunked")],
        [("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")],
        [("Transfer-Encoding", "chunked"), ("Content-Length", "5")],
        [("Content-Length", "5"), ("Content-Length", "5")],
    ],
)
async def test_a_body_whose_end_two_servers_may_see_differently_is_refused(headers: list[tuple[str, str]]) -> None:
    async with client() as http:
        problem(await http.get("/v1/checks", headers=headers), 400)


async def test_another_sites_page_is_refused_unless_it_is_named() -> None:
    async with client(origins=("https://example.org",)) as http:
        for origin in ("https://evil.example", "null", "https://example.org.evil.example", "http://example.org"):
            problem(await http.post("/v1/checks", json=CLAIM, headers={"Origin": origin}), 403)
        own = await http.get("/v1/checks", headers={"Origin": "http://localhost"})
        assert "access-control-allow-origin" not in own.headers
        named = await http.get("/v1/checks", headers={"Origin": "https://example.org"})
        assert named.headers["access-control-allow-origin"] == "https://example.org"
        assert "access-control-allow-credentials" not in named.headers
        assert "X-Redargue-Check" in named.headers["access-control-expose-headers"]


async def test_twenty_races_on_one_idempotency_key_start_one_run() -> None:
    async with client() as http:
        headers = {"Idempotency-Key": "once"}
        replies = await asyncio.gather(*(http.post("/v1/checks", json=CLAIM, headers=headers) for _ in range(20)))
        assert {reply.status_code for reply in replies} == {202}
        assert len({reply.json()["id"] for reply in replies}) == 1
        assert sum("idempotency-replayed" in reply.headers for reply in replies) == 19
        problem(await http.post("/v1/checks", json={"claim": "Another claim."}, headers=headers), 422)
    async with client() as http:  # after a restart
        again = await http.post("/v1/checks", json=CLAIM, headers=headers)
        assert again.json()["id"] == replies[0].json()["id"]
        assert len((await http.get("/v1/checks")).json()["checks"]) == 1


SECRET = "s3cret-value"


@pytest.mark.parametrize(
    "body",
    [
        {"claim": "a", "text": SECRET},
        {"claim": "A claim.", SECRET: 1},
        {"claim": "A claim.", "method": SECRET},
        {"claim": "A claim.", "profile": SECRET},
        {"claim": "A claim.", "labels": SECRET},
        {"claim": "A claim.", "settings": {SECRET: SECRET}},
        {"claim": "A claim.", "settings": {"rounds": SECRET}},
        {"claim": "A claim.", "budget": SECRET},
        {"claim": "A claim.", "as_of": SECRET},
        {"text": SECRET, "kind": SECRET},
        {"claim": f"{SECRET}\x00"},
        {"claim": {"text": SECRET}},
        [SECRET],
        SECRET,
    ],
)
async def test_what_is_not_valid_is_refused_without_its_words(body: Any) -> None:
    async with client() as http:
        reply = await http.post("/v1/checks", json=body)
        problem(reply, 422)
        assert SECRET not in reply.text.replace(f"/{SECRET}", "")
        broken = await http.post("/v1/checks", content=f'{{"{SECRET}', headers={"Content-Type": "application/json"})
        assert SECRET not in broken.text
        problem(broken, 422)


async def test_half_a_character_in_the_name_of_an_unread_file_is_replaced() -> None:
    given = {"unread_files": [{"file": "\ud83d.txt", "why": "empty \ud83d"}], "contexts": ["It was lit in 1871."]}
    body = json.dumps({**CLAIM, **given})  # escaped, as no client can send it otherwise
    headers = {"Content-Type": "application/json", "Prefer": "wait=60"}
    async with client() as http:
        reply = await http.post("/v1/checks", content=body, headers=headers)
    assert reply.status_code == 200, reply.text
    assert reply.json()["result"]["unread_files"] == [{"file": "\ufffd.txt", "why": "empty \ufffd"}]


@pytest.mark.parametrize("content", [b'{"claim": "B\xfccher"}', b"[" * 100_000], ids=["latin-1", "deep"])
async def test_a_body_that_cannot_be_parsed_says_how_to_send_it(content: bytes) -> None:
    async with client() as http:
        reply = await http.post("/v1/checks", content=content, headers={"Content-Type": "application/json"})
    body = problem(reply, 400)
    assert body["detail"] == "the body cannot be read as JSON"
    assert body["hint"] == "send JSON in UTF-8, nested at most a few hundred levels deep"


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/v1/checks", '{"claim": "Bees have six legs.", "claim": "Bees have eight legs."}'),
        ("/v1/checks", '{"claim": "Bees have six legs.", "settings": {"top_k": 3, "top_k": 4}}'),
        ("/v1/ground", '{"answer": "Bees fly.", "contexts": ["a b"], "contexts": []}'),
        ("/v1/estimate", '{"claim": "Bees have six legs.", "settings": {"top_k": NaN}}'),
        ("/v1/promptfoo", '{"output": "Bees fly.", "context": {"vars": {"context": "a"}, "vars": {}}}'),
        ("/classify", '{"inputs": "Bees fly.", "inputs": "Bees sting."}'),
        ("/v1/batches", '{"claims": ["Bees fly."], "seed": 1e999}'),
        ("/v1/chat/completions", '{"model": "m", "messages": [], "messages": []}'),
        ("/v1/responses", '{"model": "m", "input": "a", "redargue": {"mode": "block"}, "redargue": {"mode": "off"}}'),
        pytest.param("/mcp", MCP_CALL % '"claim": "Bees fly.", "claim": "Bees swim."', marks=NEEDS_MCP),
        pytest.param("/mcp", MCP_CALL % '"claim": "Bees fly.", "wait_s": NaN', marks=NEEDS_MCP),
        pytest.param("/mcp", MCP_CALL % '"claim": "Bees fly.", "wait_s": 1e999', marks=NEEDS_MCP),
    ],
)
async def test_a_body_that_programs_read_differently_is_refused(
    path: str, content: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDARGUE_UPSTREAM_URL", "http://127.0.0.1:9/v1")
    async with client() as http:
        reply = await http.post(path, content=content, headers={"Content-Type": "application/json"})
    assert reply.status_code == 400
    assert "the body is not clear: " in reply.text
    assert " twice" in reply.text or "is not JSON" in reply.text or "too large" in reply.text


@pytest.mark.slow
async def test_every_limit_holds_at_its_edge() -> None:
    async with client(max_body=60_000_000) as http:

        async def status(**body: Any) -> int:
            return (await http.post("/v1/estimate", json=body)).status_code

        long = "The lighthouse was lit. " * 5_000
        assert await status(text=long[:100_000]) == 200
        assert await status(text=long[:100_001]) == 422
        contexts = ["The lighthouse was lit."] * 50
        assert await status(claim="A claim.", contexts=contexts) == 200
        assert await status(claim="A claim.", contexts=[*contexts, "x"]) == 422
        assert await status(claim="A claim.", contexts=["x" * 1_000_000]) == 200
        assert await status(claim="A claim.", contexts=["x" * 1_000_001]) == 422
    async with client() as http:
        at = b'{"claim":"A claim."}'.ljust(2_000_000)
        json = {"Content-Type": "application/json"}

        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(21):
                yield b" " * 100_000

        assert (await http.post("/v1/estimate", content=at, headers=json)).status_code == 200
        problem(await http.post("/v1/estimate", content=at + b" ", headers=json), 413)
        problem(await http.post("/v1/estimate", content=pieces(), headers=json), 413)


@pytest.mark.parametrize(("length", "headers", "read", "closed"), [
    (3_000, {}, 3, False),
    (90_000, {}, 6, True),  # more than it is worth
    (3_000, {"expect": "100-continue"}, 0, True),  # the client asks before it sends
])  # fmt: skip
async def test_of_a_body_over_the_limit_so_much_is_read_that_its_client_can_read_why(
    monkeypatch: pytest.MonkeyPatch, length: int, headers: dict[str, str], read: int, closed: bool
) -> None:
    monkeypatch.setattr(guard, "DRAINED", 5_000)
    asked, sent = 0, list[Any]()

    async def receive() -> dict[str, Any]:
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": b"x" * 1_000, "more_body": asked * 1_000 < length}

    async def send(message: Any) -> None:
        sent.append(message)

    given = {"host": "localhost", "content-length": str(length), **headers}
    raw = [(name.encode(), value.encode()) for name, value in given.items()]
    scope = {"type": "http", "path": "/v1/ground", "method": "POST", "headers": raw}
    checked = guard.Guard(create_app(settings()), hosts=["localhost"], origins=(), max_body=1_000)
    await checked(scope, receive, send)
    assert (asked, sent[0]["status"]) == (read, 413)
    assert ((b"connection", b"close") in sent[0]["headers"]) == closed


@pytest.mark.slow
async def test_a_spent_day_is_402_and_a_full_queue_429(monkeypatch: pytest.MonkeyPatch) -> None:
    async with client(day_budget="23calls") as http:
        assert (await done(http))["usage"]["calls"] == 23
        problem(await http.post("/v1/checks", json=CLAIM), 402)
        problem(await http.post("/v1/ground", json={"answer": "A.", "contexts": ["B."]}), 402)
    async with client(day_budget="23calls") as http:  # what was spent today counts after a restart
        problem(await http.post("/v1/checks", json=CLAIM), 402)
    monkeypatch.setenv("REDARGUE_TEST_CALLS", "0")
    async with client(running=1, waiting=1) as http:
        replies = [await http.post("/v1/checks", json=CLAIM) for _ in range(2)]
        events = http.stream("GET", f"/v1/checks/{replies[0].json()['id']}")
        async with events:
            pass
        refused = [await http.post("/v1/checks", json=CLAIM) for _ in range(2)]
        assert refused[-1].headers["retry-after"] == "5"
        assert [reply.headers["ratelimit"] for reply in (*replies, refused[-1])] == [
            f'"checks";r={free}' for free in (1, 0, 0)
        ]
        assert refused[-1].headers["ratelimit-policy"] == '"checks";q=2;qu="concurrent-requests"'
        problem(refused[-1], 429)


@pytest.mark.slow
async def test_no_check_of_a_burst_that_was_accepted_fails_on_the_days_budget() -> None:
    wait = {"Prefer": "wait=60"}
    async with client(day_budget="100calls") as http:
        replies = await asyncio.gather(*(http.post("/v1/checks", json=CLAIM, headers=wait) for _ in range(30)))
        accepted = [reply.json() for reply in replies if reply.status_code == 200]
        assert {reply.status_code for reply in replies} == {200, 402}
        assert 2 <= len(accepted) <= 4  # of 23 calls each
        assert [check["error"] for check in accepted] == [None] * len(accepted)


@pytest.mark.parametrize(
    ("answer", "contexts", "outcome", "reasons"),
    [("", ["B."], "not_checkable", {}), (" …", [], "not_checkable", {}), ("A b c.", [], "unchecked", {"no_context": 1})]
    + [("A b c.", [given], "unchecked", {"no_context": 1}) for given in ("", " ", {"text": " "})],
)
async def test_an_answer_that_cannot_be_checked_is_an_outcome(
    answer: str, contexts: list[object], outcome: str, reasons: dict[str, int]
) -> None:
    async with client() as http:
        reply = await http.post("/v1/ground", json={"answer": answer, "contexts": contexts})
        assert reply.status_code == 200
        assert (reply.json()["outcome"], reply.json()["not_checked"]) == (outcome, reasons)
        problem(await http.post("/v1/ground", json={"answer": answer, "contexts": [], "method": "nonsense"}), 422)


async def test_no_answer_names_a_path_of_the_machine(tmp_path: Path) -> None:
    parts = Parts(backend=service_parts().backend)  # which searches the corpus that is not there
    async with client(parts=parts, corpora={"own": str(tmp_path / "none.db")}) as http:
        failed = await done(http, corpus="own")
        estimated = await http.post("/v1/estimate", json={**CLAIM, "corpus": "own"})
    assert failed["error"]["what"] == "no corpus at '…'"
    assert failed["error"]["hint"] == "create one: redargue corpus add FILES --store …"
    assert str(tmp_path) not in json.dumps(failed) + estimated.text


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("no corpus at '/srv/data/none.db'", "no corpus at '…'"),
        ("put its price into /root/home/prices.toml, in US dollars", "put its price into …, in US dollars"),
        ("sqlite:/srv/own/corpus.db is damaged", "sqlite:… is damaged"),
        ("list them: GET /v1/checks", None),
        ("https://example.org/a/b gives no answer", None),
        ("send application/json, or text/event-stream and/or both", None),
        ("0.50usd/day, 3/4 of 24/7", None),
        ("replaced by file:///srv/own", None),
    ],
)
def test_paths_are_hidden_and_addresses_are_not(said: str, shown: str | None) -> None:
    assert without_paths(said) == (said if shown is None else shown)


async def test_mcp_has_no_stream_of_its_own_that_would_outlast_a_stop() -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    async with client() as http:
        reply = await http.get("/mcp", headers={"Accept": "text/event-stream"})
        assert (reply.status_code, set(reply.headers["allow"].split(", "))) == (405, {"POST", "DELETE"})


async def test_as_many_answers_wait_as_checks_may(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"answer": "The lighthouse was lit in 1871.", "contexts": ["The lighthouse was lit in 1871."]}
    held = asyncio.Event()

    async def hold(*given: Any, **options: Any) -> Any:
        await held.wait()
        return await prepare(*given, **options)

    monkeypatch.setattr("redargue.service.answers.prepare", hold)
    async with client(parts=Parts(backend=EmbeddedBackend()), running=1, waiting=1) as http:
        requests = [asyncio.create_task(http.post("/v1/ground", json=answer)) for _ in range(3)]
        refused, waiting = await asyncio.wait(requests, return_when=asyncio.FIRST_COMPLETED)
        held.set()
        replies = [await task for task in waiting]
        assert [reply.json()["outcome"] for reply in replies] == ["factual", "factual"]
        assert problem(refused.pop().result(), 429)["hint"] == "try again later"
        assert (await http.post("/v1/ground", json=answer)).status_code == 200


class HeldAnswers:
    """Holds the checks of ``/v1/ground`` after they have begun."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go, self.stopped = asyncio.Event(), asyncio.Event(), asyncio.Event()
        monkeypatch.setattr("redargue.service.answers.prepare", self._prepare)

    async def _prepare(self, *given: Any, **options: Any) -> Any:
        self.begun.set()
        try:
            await self.go.wait()
        finally:
            self.stopped.set()
        return await prepare(*given, **options)


GROUNDED = {
    "answer": "The lighthouse was lit in 1871.",
    "contexts": ["The lighthouse was lit in 1871."],
    "method": "single-reader",
}


async def test_an_answer_that_is_being_checked_is_an_active_check_of_the_day(monkeypatch: pytest.MonkeyPatch) -> None:
    held = HeldAnswers(monkeypatch)
    async with client(parts=Parts(backend=EmbeddedBackend()), day_budget="3calls") as http:
        first = asyncio.create_task(http.post("/v1/ground", json=GROUNDED))
        await held.begun.wait()
        for path, body in (("/v1/checks", CLAIM), ("/v1/ground", GROUNDED)):
            refused = problem(await http.post(path, json=body), 402)
            assert "1 check that you have sent may spend the rest" in refused["detail"]
        held.go.set()
        assert (await first).json()["outcome"] == "factual"


async def test_the_check_of_an_answer_ends_when_its_client_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    held, body = HeldAnswers(monkeypatch), json.dumps(GROUNDED).encode()
    application = create_app(settings(day_budget="3calls"), Parts(backend=EmbeddedBackend()))
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        await held.begun.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        assert held.stopped.is_set()

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "path": "/v1/ground", "method": "POST", "headers": headers, "query_string": b""}
    async with application.router.lifespan_context(application):
        await application(scope, receive, send)
        day = application.state.budgets.of("")
        assert (held.stopped.is_set(), day.active, day.ended) == (True, {}, 0)


async def test_a_full_disk_is_507_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    async with client() as http:
        before = sorted(runs_folder().iterdir()) if runs_folder().exists() else []
        again = {"Idempotency-Key": "full"}
        with monkeypatch.context() as patch:
            patch.setattr("redargue.service.checks.write_entry", full)
            assert "make room" in problem(await http.post("/v1/checks", json=CLAIM, headers=again), 507)["hint"]
        assert sorted(runs_folder().iterdir()) == before
        assert (await http.post("/v1/checks", json=CLAIM, headers=again)).status_code == 202


async def test_a_day_budget_is_shared_by_checks_and_ends_them() -> None:
    async with client(day_budget="40calls", running=2) as http:
        first, second = await done(http), await done(http)
        spent = first["usage"]["calls"] + second["usage"]["calls"]
        assert spent <= 40
        assert "BudgetReached" in {(each["error"] or {}).get("type") for each in (first, second)}


async def test_metrics_count_without_words_of_the_claim() -> None:
    async with client() as http:
        await done(http)
        text = (await http.get("/metrics")).text
    assert 'redargue_checks_total{method="tool-mad",state="done"} 1.0' in text
    assert 'redargue_outcomes_total{outcome="refuted"} 1.0' in text
    assert "lighthouse" not in text
    assert "Ansel" not in text


async def test_a_stopping_service_is_not_ready_and_refuses_checks() -> None:
    application = create_app(settings(), service_parts())
    transport = httpx2.ASGITransport(application)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http,
    ):
        assert (await http.get("/readyz")).status_code == 200
        application.state.store.close()
        assert (await http.get("/readyz")).json()["why"] == ["stopping"]
        assert (await http.get("/healthz")).status_code == 200
        problem(await http.post("/v1/checks", json=CLAIM), 503)


def test_beyond_loopback_a_service_needs_a_key_and_a_wildcard_the_names_of_its_hosts() -> None:
    assert "127.0.0.1" in allowed_hosts("127.0.0.1", (), has_keys=False)
    assert "::1" in allowed_hosts("[::1]", (), has_keys=False)
    for host in ("0.0.0.0", "::", "192.0.2.7", "example.org"):
        with pytest.raises(UsageError, match="no key"):
            allowed_hosts(host, ("example.org",), has_keys=False)
    for host in ("0.0.0.0", "::"):
        with pytest.raises(UsageError, match="every address"):
            allowed_hosts(host, (), has_keys=True)
    assert allowed_hosts("0.0.0.0", ("example.org",), has_keys=True)[-1] == "example.org"
    assert allowed_hosts("192.0.2.7", (), has_keys=True) == ("192.0.2.7",)


async def test_a_signal_closes_the_store_between_two_steps_of_the_loop_and_not_within_one(tmp_path: Path) -> None:
    ready, application = asyncio.Event(), FastAPI()
    async with CheckStore(folder=tmp_path) as store:
        application.state.store = store
        server = Server(application, ready.set)
        serving = asyncio.create_task(server.serve([bound_socket("127.0.0.1", 0)]))
        await ready.wait()
        server.handle_exit(signal.SIGTERM, None)
        assert not store.closing.is_set()  # the signal may have come within Event.wait()
        await asyncio.wait_for(store.closing.wait(), 60)
        await serving


def test_a_second_service_with_the_same_home_is_refused(tmp_path: Path) -> None:
    with (
        only_one(tmp_path / "service", "redargue serve"),
        pytest.raises(UsageError, match="redargue serve is running already"),
        only_one(tmp_path / "service", "redargue serve"),
    ):
        pass
    with only_one(tmp_path / "service", "redargue serve"):
        pass
