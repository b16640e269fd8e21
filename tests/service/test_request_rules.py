"""What a request may decide: no file, no search tool beyond the operator's, and answers that name the field."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import httpx2
import pytest
from pydantic import Field

from redargue.assembly import Parts, method_of
from redargue.errors import UsageError
from redargue.methods.base import Method, MethodSettings, methods
from redargue.methods.setting_types import SettingsOf, Word, closed_fields
from redargue.methods.strangers import refuse_closed
from redargue.nli.backend import EmbeddedBackend
from redargue.runs.folders import runs_folder
from redargue.service.app import create_app
from redargue.service.context import ServiceSettings
from redargue.service.keys import Keys
from redargue.service.proxy.checker import Checkers
from redargue.service.proxy.settings import CheckOptions, ProxySettings, plan
from redargue.service.rules import CheckRequest, ContextDocument, RequestRules
from redargue.spec import RunSpec
from service.test_http import client, problem
from support.loopback import Behaviour, Loopback
from support.scripts import agreeing
from support.serving import service_parts

CLAIM = {"claim": "The lighthouse at Cape Ansel was lit in 1871."}
ROUTES: dict[str, dict[str, Any]] = {  # each with the body that carries a method and its settings
    "/v1/checks": CLAIM,
    "/v1/estimate": CLAIM,
    "/v1/batches": {"claims": [CLAIM["claim"]]},
}
NESTED = {"method": "cascade", "settings": {"debate_settings": {"debaters": ["google", "google"]}}}
REACHING: dict[str, tuple[dict[str, Any], str]] = {
    "of a reader": ({"method": "single-reader", "settings": {"tools": ["google"]}}, "/settings/tools"),
    "of a debater": ({"method": "tool-mad", "settings": {"debaters": ["keywords", "google"]}}, "/settings/debaters"),
    "beside others": ({"method": "mermaid", "settings": {"tools": "keywords+google"}}, "/settings/tools"),
    "of a debate in a cascade": (NESTED, "/settings/debate_settings/debaters"),
    "unknown": ({"method": "single-reader", "settings": {"tools": ["../tool"]}}, "/settings/tools"),
}


KINDS = "Input should be 'text', 'dialogue', 'summary' or 'qa'"


def pointers(body: dict[str, Any]) -> list[str]:
    return [error["pointer"] for error in body["errors"]]


@pytest.mark.anyio
@pytest.mark.parametrize("path", ROUTES)
async def test_a_setting_of_other_methods_is_refused_with_their_names(path: str) -> None:
    asked = {**ROUTES[path], "method": "single-reader", "settings": {"rounds": 2}}
    async with client() as http:
        body = problem(await http.post(path, json=asked), 422)
    assert pointers(body) == ["/settings/rounds"]
    assert "; methods with 'rounds': tool-mad, " in body["hint"]


# Search tools


@pytest.mark.anyio
@pytest.mark.parametrize(("asked", "pointer"), REACHING.values(), ids=REACHING)
@pytest.mark.parametrize("path", ROUTES)
async def test_a_search_tool_that_the_operator_does_not_list_is_refused(
    path: str, asked: dict[str, Any], pointer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERPER_API_KEY", "key-of-the-operator")
    async with client(tools=("keywords",)) as http:
        body = problem(await http.post(path, json={**ROUTES[path], **asked}), 422)
    assert pointers(body) == [pointer]
    named = "google" if "google" in json.dumps(asked) else "'…'"
    assert body["detail"] == f"the search tool {named} is not allowed here"
    assert body["hint"] == "allowed: corpus, keywords"


@pytest.mark.anyio
async def test_a_listed_tool_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    async with client(tools=("keywords",)) as http:
        asked = {**CLAIM, "method": "single-reader", "settings": {"tools": ["keywords"]}}
        assert (await http.post("/v1/estimate", json=asked)).status_code == 200


@pytest.mark.parametrize("listed", [("keywords",), ("google",), ("wikipedia", "arxiv")], ids="+".join)
@pytest.mark.parametrize("base", ["tool-mad", "single-reader", "mermaid"])
def test_no_method_that_a_request_chooses_uses_another_tool_than_the_operators(
    base: str, listed: tuple[str, ...]
) -> None:
    spec = RunSpec(method=base, model="m", tools=listed if base != "tool-mad" else ("corpus", listed[-1]))
    rules = RequestRules(spec, "tavily", listed)
    operators = {*listed, *method_of(spec).tools()}
    assert set(rules.allowed) == operators
    for method in methods.builtin:  # of this package: other tests register their own
        prepared = rules.prepare(CheckRequest(claim=CLAIM["claim"], method=method))
        assert set(method_of(prepared.spec).tools()) <= operators, method


@pytest.mark.parametrize("method", ["zero-shot", "mad"])
def test_a_method_that_needs_a_language_model_is_refused_where_there_is_none(method: str) -> None:
    rules = RequestRules(RunSpec(method="single-reader"))
    with pytest.raises(UsageError, match="the backend 'embedded' cannot perform") as raised:
        rules.prepare(CheckRequest(claim=CLAIM["claim"], method=method))
    assert (raised.value.where, method in rules.methods, "tool-mad" in rules.methods) == ("method", False, True)
    assert method in RequestRules(RunSpec(method="single-reader", model="m")).methods


def test_without_a_list_requests_use_the_operators_corpus_and_its_live_tool() -> None:
    rules = RequestRules(RunSpec(method="single-reader"), "wikipedia")
    assert rules.allowed == ("corpus", "keywords", "wikipedia")
    prepared = rules.prepare(CheckRequest(claim=CLAIM["claim"], method="tool-mad"))
    assert method_of(prepared.spec).tools() == ("corpus", "wikipedia")
    with pytest.raises(UsageError, match="openalex is not allowed here") as raised:
        rules.prepare(CheckRequest(claim=CLAIM["claim"], method="tool-mad", profile="pubmedqa"))
    assert raised.value.where == "profile"
    with pytest.raises(UsageError, match="tavily is not allowed here"):
        rules.prepare(CheckRequest(claim=CLAIM["claim"], settings={"tools": ["tavily"]}))


@pytest.mark.anyio
async def test_documents_are_searched_as_documents_whatever_the_service_searches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = {"contexts": ["The lighthouse at Cape Ansel was lit in 1871."], "method": "single-reader"}
    rules = RequestRules(RunSpec(tools=("wikipedia",)), "wikipedia", ("wikipedia",))
    application = create_app(ServiceSettings(rules=rules))
    transport = httpx2.ASGITransport(application)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http,
    ):
        wait = {"Prefer": "wait=60"}
        text = (await http.post("/v1/checks", json={"text": CLAIM["claim"], **asked}, headers=wait)).json()
        ground = (await http.post("/v1/ground", json={"answer": CLAIM["claim"], **asked})).json()
    assert text["result"]["usage"]["by_tool"] == ground["usage"]["by_tool"] == {"corpus": 1}
    kept = rules.prepare(CheckRequest(text=CLAIM["claim"], **asked), tools=("wikipedia",))
    assert kept.spec.tools == ("wikipedia",)  # a check of an earlier version is resumed as it began


@pytest.mark.anyio
@pytest.mark.slow
async def test_a_check_is_listed_and_counted_under_the_method_that_was_chosen_for_it() -> None:
    asked = {"text": CLAIM["claim"], "contexts": ["The lighthouse at Cape Ansel was lit in 1871."]}
    with Loopback(script=agreeing, behaviour=Behaviour(hang_routes=("chat",))) as server:
        application = create_app(ServiceSettings(rules=RequestRules(RunSpec(model="m", base_url=f"{server.url}/v1"))))
        transport = httpx2.ASGITransport(application)
        async with (
            application.router.lifespan_context(application),
            httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http,
        ):
            started = (await http.post("/v1/checks", json=asked)).json()
            await http.post(f"/v1/checks/{started['id']}/cancel")
            counted = (await http.get("/metrics")).text
    assert started["method"] == "one-pass"
    assert 'redargue_checks_total{method="one-pass",state="cancelled"} 1.0' in counted


@pytest.mark.parametrize("asked", [{"claim": "Bees have six legs."}, {"text": "Bees have six legs."}], ids=str)
def test_the_name_of_a_file_is_not_its_text(asked: dict[str, str]) -> None:
    request = CheckRequest(**asked, contexts=("Bees are insects.", ContextDocument(text="a"), "bees.txt"))
    with pytest.raises(UsageError, match=r"context 3 is the name of a file, not its text: 'bees.txt'") as raised:
        RequestRules(RunSpec()).prepare(request)
    assert raised.value.where == "contexts"


@pytest.mark.anyio
async def test_an_answer_with_documents_is_estimated_as_it_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDARGUE_BASE_URL", "http://127.0.0.1:9/v1")
    application = create_app(ServiceSettings(rules=RequestRules(RunSpec(model="gpt-4o", tools=("tavily",)))))
    transport = httpx2.ASGITransport(application)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http,
    ):
        body = {"text": "The mast is 40 metres tall. " * 4, "contexts": ["It is tall."]}
        found = (await http.post("/v1/estimate", json=body)).json()
    assert [found[name]["calls"] for name in ("low", "likely", "high")] == [2, 3, 7]


def test_the_proxy_uses_the_operators_tools_whatever_method_a_request_names() -> None:
    spec = RunSpec(method="single-reader", tools=("wikipedia",), model="any")
    settings = ProxySettings(spec=spec, search=True)
    for method in methods.builtin:  # of this package: other tests register their own
        decided = plan(settings, CheckOptions(method=method))
        for used in Checkers(settings)._configs(decided):
            if used:
                assert set(method_of(used).tools()) <= {"wikipedia", "corpus"}, method


# Files


def test_the_settings_that_may_name_a_file_are_known() -> None:
    """A new setting that is neither a number nor a name from a list is refused, and has to be added here."""
    closed = {name: tuple(closed_fields(methods[name].settings_class)) for name in methods.builtin}
    assert {name: fields for name, fields in closed.items() if fields} == {"cascade": ("fitted",)}


@pytest.mark.anyio
@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("path", ROUTES)
async def test_a_setting_that_names_a_file_is_refused_whether_the_file_exists_or_not(
    path: str, exists: bool, tmp_path: Path
) -> None:
    named = tmp_path / "file"
    if exists:
        named.write_text("{}")
    async with client() as http:
        asked = {**ROUTES[path], "method": "cascade", "settings": {"fitted": str(named)}}
        body = problem(await http.post(path, json=asked), 422)
    assert pointers(body) == ["/settings/fitted"]
    assert body["detail"] == "the setting fitted may name a file"


class _Options(MethodSettings):
    path: str = ""
    folder: Path | None = None
    anything: Any = None
    listed: tuple[str, ...] = ()
    named: dict[str, str] = Field(default_factory=dict)
    either: Word | Path = ""
    inner: MethodSettings | dict[str, Any] = Field(default_factory=dict)
    number: int | None = 0
    word: Word = ""
    words: tuple[Word, ...] = ()
    by_word: dict[str, float] = Field(default_factory=dict)
    settings: MethodSettings = MethodSettings()
    of: Word = "cascade"
    others: Annotated[dict[str, Any], SettingsOf("of")] = Field(default_factory=dict)


def test_a_new_setting_is_refused_unless_its_type_says_that_it_opens_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [*closed_fields(_Options)] == ["path", "folder", "anything", "listed", "named", "either", "inner"]

    class Opening(Method, settings=_Options):
        """Its settings are opened somewhere."""

        async def check(self, claim: Any) -> Any:
            raise NotImplementedError

    monkeypatch.setitem(methods._loaded, "opening", Opening)
    given = {"number": 3, "words": ["a"], "of": "cascade", "others": {"top_k": 2}, "path": "", "listed": []}
    refuse_closed("opening", given, hint="")
    for name in ("path", "listed", "anything"):
        with pytest.raises(UsageError, match=name):
            refuse_closed("opening", {name: "/dev/zero"}, hint="")
    with pytest.raises(UsageError) as raised:
        refuse_closed("opening", {"others": {"fitted": "/dev/zero"}}, hint="")
    assert raised.value.where == "settings.others.fitted"


# Shape and size


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": [value]}
    return value


@pytest.mark.anyio
@pytest.mark.parametrize("levels", [15, 250, 450])
@pytest.mark.parametrize("path", ROUTES)
async def test_deeply_nested_settings_are_refused_and_the_field_is_named(path: str, levels: int) -> None:
    async with client() as http:
        body = problem(await http.post(path, json={**ROUTES[path], "settings": {"rounds": nested(levels)}}), 422)
    assert pointers(body) == ["/settings"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("asked", "pointer"),
    [
        ({"method": "nothing"}, "/method"),
        ({"profile": "nothing"}, "/profile"),
        ({"labels": "nothing"}, "/labels"),
        ({"budget": "nothing"}, "/budget"),
        ({"budget": "0.0000000usd"}, "/budget"),
        ({"budget": "0.5usd"}, "/budget"),  # the service has no model that costs money
        ({"budget": "1ktok"}, "/budget"),
        *(({"as_of": day}, "/as_of") for day in ("0", 1711843200, "2024-03-31T00:00:00", "yesterday")),
        ({"strict_as_of": True}, "/as_of"),
        ({"settings": {"rounds": "many"}}, "/settings/rounds"),
        ({"settings": {"rounds": True}}, "/settings/rounds"),
        ({"settings": {"no-setting": 1}}, "/settings/no-setting"),
        ({"settings": {"debaters": [{"a": 1}]}}, "/settings/debaters/0"),
    ],
)
@pytest.mark.parametrize("path", ROUTES)
async def test_a_mistake_is_a_problem_that_names_the_field(path: str, asked: dict[str, Any], pointer: str) -> None:
    async with client() as http:
        assert pointers(problem(await http.post(path, json={**ROUTES[path], **asked}), 422)) == [pointer]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"method": "single-reader", "settings": {"no-setting": 1}}, "'…' has no setting '…'"),
        ({"method": "mermaid", "settings": {"tools": "x" * 100}}, "the search tool '…'"),  # which the message cuts off
        (
            {"text": "It is tall.", "claim": None, "kind": "letter"},
            "Input should be 'text', 'dialogue', 'summary' or 'qa'",
        ),
    ],
)
async def test_an_error_hides_values_and_no_more(asked: dict[str, Any], expected: str) -> None:
    async with client() as http:
        body = problem(await http.post("/v1/checks", json={**CLAIM, **asked}), 422)
    assert expected in {body["detail"], body["errors"][0]["detail"]}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("asked", "pointer"),
    [
        ({"kind": "summary"}, "/contexts"),
        ({"contexts": [" "]}, "/contexts"),
        ({"kind": "qa"}, "/question"),
        ({"strict_as_of": True}, "/as_of"),
    ],
)
async def test_what_a_text_lacks_is_asked_for_in_the_words_of_a_request(asked: dict[str, Any], pointer: str) -> None:
    async with client() as http:
        body = problem(await http.post("/v1/checks", json={"text": "It is tall.", **asked}), 422)
    assert pointers(body) == [pointer]
    assert body["hint"]
    assert not re.search(r"--|redargue |=", str(body))


@pytest.mark.anyio
async def test_a_quotation_names_its_document_by_the_place_in_the_request() -> None:
    contexts = ["", {"text": "Ants are small."}, " ", {"text": "Bees have six legs.", "document": ""}]
    asked = {"answer": "Bees have six legs.", "contexts": contexts, "method": "single-reader"}
    async with client(parts=Parts(backend=EmbeddedBackend())) as http:
        reply = await http.post("/v1/ground", json=asked)
    (quote,) = reply.json()["claims"][0]["verdict"]["quotes"]
    assert quote["source"]["document"] == "context-4"


@pytest.mark.anyio
async def test_a_mistake_in_a_list_is_named_without_the_types_that_were_tried() -> None:
    async with client() as http:
        asked = {"answer": "A.", "contexts": ["B.", {"title": "x"}], "budget": 5}
        body = problem(await http.post("/v1/ground", json=asked), 422)
        assert pointers(body) == ["/budget", "/contexts/1/text"]
        broken = problem(
            await http.post("/v1/ground", content=b"{bad", headers={"Content-Type": "application/json"}), 422
        )
        assert broken["errors"] == [{"pointer": "", "detail": "the body is not JSON, from character 1 on"}]
        unknown = problem(await http.post("/v1/ground", json={"answer": "A.", "contexts": ["B."], "no-field": 1}), 422)
        assert pointers(unknown) == ["/no-field"]
        unreadable = await http.post("/v1/ground", json={"answer": "A \x00.", "contexts": ["B."]})
        assert pointers(problem(unreadable, 422)) == ["/answer"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("path", "asked", "pointer", "said"),
    [
        ("/v1/checks", {**CLAIM, "contexts": [{"text": "B", "titel": ""}]}, "/contexts/0/titel", "mean 'title'?"),
        ("/v1/checks", {**CLAIM, "contexts": [{"text": ""}]}, "/contexts/0/text", "at least 1 character"),
        ("/v1/checks", {**CLAIM, "contexts": []}, "/contexts", "List should have at least 1 item"),
        ("/v1/checks", {**CLAIM, "min_confidence": 0.9}, "/min_confidence", "there is no such field; known: method, "),
        ("/v1/batches", {"claims": [CLAIM]}, "/claims/0", "a valid string"),
        ("/v1/checks", ["A claim."], "", "an object"),
    ],
)
async def test_one_mistake_is_one_problem(path: str, asked: object, pointer: str, said: str) -> None:
    async with client() as http:
        (error,) = problem(await http.post(path, json=asked), 422)["errors"]
    assert error["pointer"] == pointer
    assert said in error["detail"]


@pytest.mark.anyio
@pytest.mark.parametrize("headers", [{}, {"Content-Type": "text/plain"}])
async def test_a_body_without_the_type_of_json_is_refused_for_its_type(headers: dict[str, str]) -> None:
    async with client() as http:
        body = problem(await http.post("/v1/checks", content=json.dumps(CLAIM).encode(), headers=headers), 400)
    assert "Content-Type: application/json" in body["hint"]


@pytest.mark.parametrize("asked", ["0.0000004usd", "1usd,0.0000004usd", "7calls,0.00000000001usd"])
def test_a_small_budget_of_a_request_stays_what_it_is(asked: str) -> None:
    if asked.startswith("1usd"):
        with pytest.raises(UsageError, match="gives usd twice"):
            RequestRules(RunSpec()).prepare(CheckRequest(claim=CLAIM["claim"], budget=asked))
        return
    rules = RequestRules(RunSpec(model="a-model", budget="1usd,9searches"))
    prepared = rules.prepare(CheckRequest(claim=CLAIM["claim"], budget=asked))
    assert prepared.spec.budget == f"{asked},9searches"
    assert plan(ProxySettings(budget="1usd"), CheckOptions(budget=asked)).budget == asked


# Keys, sessions and what is open without them


@pytest.mark.anyio
async def test_a_cookie_ends_with_its_session_also_after_a_restart() -> None:
    _, secret = Keys().add("page")
    async with client() as http:
        await http.post("/sign-in", data={"key": secret})
        cookie = http.cookies["redargue_session"]
        await http.post("/sign-in", data={"key": secret})  # in another browser
        other = http.cookies["redargue_session"]
        assert (await http.get("/v1/checks", headers=sent(cookie))).status_code == 200
        http.cookies.clear()
        assert (await http.post("/sign-out", headers=sent(cookie))).status_code == 303
        for _ in range(2):
            problem(await http.get("/v1/checks", headers=sent(cookie)), 401)
        assert (await http.get("/v1/checks", headers=sent(other))).status_code == 200
    async with client() as http:
        problem(await http.get("/v1/checks", headers=sent(cookie)), 401)
        assert (await http.get("/v1/checks", headers=sent(other))).status_code == 200


def sent(cookie: str) -> dict[str, str]:
    return {"Cookie": f"redargue_session={cookie}"}


def test_ended_sessions_are_forgotten_once_they_would_have_run_out() -> None:
    keys = Keys()
    key, _ = keys.add("page")
    old = keys.session(key, now=1_000)
    keys.end_session(old, now=1_001)
    keys.end_session(keys.session(key), now=None)
    assert keys.find_session(old) is None  # it has run out
    stored = json.loads((keys._folder / "sessions-ended.json").read_text())
    assert len(stored) == 1
    (keys._folder / "sessions-ended.json").write_text("{")
    with pytest.raises(Exception, match="cannot be read"):
        keys.find_session(keys.session(key))


@pytest.mark.slow
@pytest.mark.anyio
async def test_the_description_of_the_interface_needs_a_key_where_there_are_keys() -> None:
    _, secret = Keys().add("first")
    async with client() as http:
        problem(await http.get("/openapi.json"), 401)
        for path in ("/docs", "/redoc"):
            problem(await http.get(path), 404)
        described = await http.get("/openapi.json", headers={"Authorization": f"Bearer {secret}"})
        assert described.json()["openapi"].startswith("3.1")


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_key_learns_nothing_of_another_keys_equal_batch_and_pays_for_its_own() -> None:
    batch = {"claims": [CLAIM["claim"]], "budget": "30calls"}
    (_, first), (_, second) = Keys().add("first", "100calls"), Keys().add("second", "100calls")
    async with client(key=first) as http:
        started = (await http.post("/v1/batches", json=batch)).json()
        await finished(http, started["id"])
        other = {"Authorization": f"Bearer {second}"}
        problem(await http.get(f"/v1/batches/{started['id']}", headers=other), 404)
        own = (await http.post("/v1/batches", json=batch, headers=other)).json()
        assert own["id"] != started["id"]
        assert (await finished(http, own["id"], **other))["calls"] == 23
        problem(await http.post("/v1/batches", json={**batch, "budget": "71calls"}, headers=other), 402)
        again = await http.post("/v1/batches", json=batch)
        assert again.json()["id"] == started["id"]


async def finished(http: httpx2.AsyncClient, id_: str, **headers: str) -> dict[str, Any]:
    while True:
        answer: dict[str, Any] = (await http.get(f"/v1/batches/{id_}", headers=headers)).json()
        if answer["state"] != "running":
            return answer
        await asyncio.sleep(0)


# Long computations


async def until(state: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not state():  # noqa: ASYNC110 - threads bring it about
            await asyncio.sleep(0)


@pytest.mark.anyio
async def test_other_requests_are_answered_while_estimates_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimates wait for a moment that comes only after the other request has been answered."""
    import threading

    from redargue.estimate import estimate

    answered, computing = threading.Event(), []

    def slow(*args: Any, **keywords: Any) -> Any:
        computing.append(threading.current_thread().name)
        assert answered.wait(120)
        return estimate(*args, **keywords)

    monkeypatch.setattr("redargue.service.answers.estimate_cost", slow)
    application = create_app(ServiceSettings(rules=RequestRules(RunSpec(offline=True)), waiting=1), service_parts())
    transport = httpx2.ASGITransport(application)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost", timeout=120) as http,
    ):
        asked = [asyncio.create_task(http.post("/v1/estimate", json=CLAIM)) for _ in range(2)]
        await until(lambda: len(computing) == 2)
        assert (await http.get("/healthz")).status_code == 200
        asked.append(asyncio.create_task(http.post("/v1/estimate", json=CLAIM)))  # waits
        await until(lambda: not application.state.store.pool._free)
        refused = await http.post("/v1/estimate", json=CLAIM)
        assert refused.status_code == 429
        answered.set()
        assert [reply.status_code for reply in await asyncio.gather(*asked)] == [200] * 3
    assert all(name.startswith("request") for name in computing)
    assert len(set(computing)) <= 2
    assert not list(runs_folder().glob("*/check.json"))


BODIES = [
    ("/v1/checks", '{"claim": %s}'),
    ("/v1/checks", '{"claim": "Bees have six legs.", "settings": {"rounds": %s}}'),
    ("/v1/batches", '{"claims": ["Bees have six legs."], "settings": {"rounds": %s}}'),
    ("/v1/estimate", '{"claim": "Bees have six legs.", "settings": %s}'),
    ("/v1/ground", '{"answer": "Bees have six legs.", "contexts": %s}'),
    ("/v1/promptfoo", '{"output": %s}'),
    ("/v1/promptfoo", '{"output": "Bees have six legs.", "context": {"vars": {"context": %s}}}'),
    ("/classify", '{"inputs": %s}'),
    ("/beta/litellm_basic_guardrail_api", '{"texts": ["Bees."], "input_type": "response", "request_data": %s}'),
    ("/mcp", '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ground", "arguments": %s}}'),
]


@pytest.mark.anyio
@pytest.mark.parametrize("levels", [240, 10_000])
async def test_no_body_however_nested_is_a_servers_error(levels: int) -> None:
    deep = '{"a":[' * levels + "1" + "]}" * levels
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    async with client() as http:
        for path, body in BODIES:
            reply = await http.post(path, content=body.replace("%s", deep), headers=sent)
            assert reply.status_code < 500, (path, body, reply.text)
