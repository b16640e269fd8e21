"""The loopback server does what the tests that stand on it take for granted."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2
import pytest

from support.loopback import DOCUMENTS, Ask, Behaviour, Doc, Loopback, LoopbackProcess, Raw

SCHEMA = {
    "type": "object",
    "properties": {
        "label": {"enum": ["SUPPORTS", "REFUTES"]},
        "score": {"type": "integer", "minimum": 1, "maximum": 5},
        "sure": {"type": "boolean"},
        "quotes": {"type": "array", "items": {"$ref": "#/$defs/Quote"}},
        "other": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/Quote"}]},
        "kind": {"const": "answer"},
    },
    "$defs": {"Quote": {"type": "object", "properties": {"text": {"type": "string", "minLength": 4}}}},
}


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as server:
        yield server


def body(**more: Any) -> dict[str, Any]:
    messages = [
        {"role": "system", "content": "Check claims."},
        {"role": "user", "content": "Is it so?"},
    ]
    return {"model": "m", "messages": messages, **more}


def formatted(**more: Any) -> dict[str, Any]:
    return body(response_format={"type": "json_schema", "json_schema": {"name": "Answer", "schema": SCHEMA}}, **more)


def ask(server: Loopback | LoopbackProcess, asked: Mapping[str, Any] | None = None, **headers: str) -> httpx2.Response:
    return post(server, "/v1/chat/completions", body() if asked is None else asked, **headers)


def get(server: Loopback, path: str, **query: Any) -> httpx2.Response:
    agent = {"user-agent": "redargue-tests/1 (tests@example.org)"}
    with httpx2.Client(timeout=60, verify=False, trust_env=False) as client:
        return client.get(server.url + path, params=query, headers=agent)


def wiki(server: Loopback, **query: Any) -> Any:
    return get(server, "/w/api.php", **{"action": "query", "format": "json", **query}).json()


def post(server: Loopback | LoopbackProcess, path: str, asked: Any, **headers: str) -> httpx2.Response:
    with httpx2.Client(timeout=60, verify=False, trust_env=False) as client:  # no certificates to load
        return client.post(server.url + path, json=asked, headers=headers)


def content(answer: httpx2.Response) -> str:
    text: str = answer.json()["choices"][0]["message"]["content"]
    return text


def events(text: str) -> list[Any]:
    *parts, done = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert done == "[DONE]"
    return [json.loads(part) for part in parts]


def test_a_reply_follows_the_schema_and_is_ok_without_one(server: Loopback) -> None:
    said = json.loads(content(ask(server, formatted())))
    quote = {"text": "okkk"}
    assert said == {
        "label": "SUPPORTS", "score": 1, "sure": True, "quotes": [quote], "other": quote, "kind": "answer"
    }  # fmt: skip
    assert content(ask(server)) == "ok"
    server.behaviour = Behaviour(ignore_format=True)
    assert content(ask(server, formatted())) == "ok"


def test_a_schema_that_contains_itself_ends(server: Loopback) -> None:
    node = {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]}}}
    schema = {"$defs": {"N": node}, "$ref": "#/$defs/N"}
    given = {"type": "json_schema", "json_schema": {"name": "N", "schema": schema}}
    assert content(ask(server, body(response_format=given))).endswith('"next": null' + "}" * 5)


def test_a_script_is_asked_once_a_sample_and_may_answer_with_anything(server: Loopback) -> None:
    asked: list[Ask] = []

    def script(each: Ask) -> str | Mapping[str, Any] | Raw | None:
        asked.append(each)
        return {"sample": each.sample}

    server.script = script
    said = ask(server, body(n=3)).json()
    assert [json.loads(each["message"]["content"])["sample"] for each in said["choices"]] == [0, 1, 2]
    assert (asked[0].role, asked[0].user, asked[0].model) == ("", "Is it so?", "m")
    ask(server, formatted())
    assert (asked[-1].role, asked[-1].schema) == ("Answer", SCHEMA)
    server.script = lambda each: Raw(418, b"teapot", "text/plain", (("x-tea", "green"),))
    answer = ask(server)
    assert (answer.status_code, answer.text, answer.headers["x-tea"]) == (418, "teapot", "green")


def test_n_can_be_ignored(server: Loopback) -> None:
    server.behaviour = Behaviour(ignore_n=True)
    assert len(ask(server, body(n=3)).json()["choices"]) == 1


def test_tokens_are_billed_as_usage_says(server: Loopback) -> None:
    usage = ask(server, body(n=2)).json()["usage"]
    assert usage == {"prompt_tokens": 6, "completion_tokens": 2, "total_tokens": 8}
    assert (server.counts.prompt_tokens, server.counts.completion_tokens) == (6, 2)
    server.script = lambda each: "word " * 100
    choice = ask(server, body(max_tokens=5)).json()["choices"][0]
    assert (len(choice["message"]["content"]), choice["finish_reason"]) == (20, "length")
    server.behaviour = Behaviour(usage=False)
    assert "usage" not in ask(server).json()


def test_a_stream_has_deltas_usage_and_done_and_a_cut_one_has_not(server: Loopback) -> None:
    server.script = lambda each: "One word after another."
    streamed = body(stream=True, stream_options={"include_usage": True}, logprobs=True, top_logprobs=3)
    answer = ask(server, streamed)
    *chunks, last = events(answer.text)
    deltas = [chunk["choices"][0]["delta"].get("content", "") for chunk in chunks]
    assert answer.headers["content-type"] == "text/event-stream"
    assert len(deltas) > 3
    assert "".join(deltas) == "One word after another."
    assert (last["choices"], last["usage"]["completion_tokens"]) == ([], 6)
    server.behaviour = Behaviour(cut=1)
    for each in (streamed, body()):
        with pytest.raises(httpx2.RemoteProtocolError):
            ask(server, each)
    assert (server.counts.faults["cut"], server.counts.completion_tokens) == (2, 6)


def test_log_probabilities_are_of_the_tokens_of_the_content(server: Loopback) -> None:
    server.script = lambda each: "Yes, it is so."
    choice = ask(server, body(logprobs=True, top_logprobs=3)).json()["choices"][0]
    tokens = choice["logprobs"]["content"]
    assert "".join(each["token"] for each in tokens) == "Yes, it is so."
    for each in tokens:
        assert each["top_logprobs"][0]["token"] == each["token"]
        assert [top["logprob"] for top in each["top_logprobs"]] == sorted(
            (top["logprob"] for top in each["top_logprobs"]), reverse=True
        )
        assert len(each["top_logprobs"]) == 3


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("truncated", '{"label": '),
        ("prose", 'Sure! Here is what you asked for:\n\n{"label"'),
        ("fenced", '```json\n{"label"'),
        ("wrong_label", '{"label": "MAYBE SO"}'),
        ("empty", ""),
        ("huge", "and so on"),
    ],
)
def test_damaged_content_is_damaged_as_named(server: Loopback, kind: str, shown: str) -> None:
    server.script = lambda each: {"label": "SUPPORTS"}
    server.behaviour = Behaviour(malformed=1, malformed_kinds=(kind,))
    assert content(ask(server)).startswith(shown)
    assert server.counts.faults == {kind: 1}
    assert not server.counts.answered


def test_damaged_bodies_are_damaged_as_named(server: Loopback) -> None:
    server.behaviour = Behaviour(malformed=1, malformed_kinds=("html",))
    assert ask(server).headers["content-type"].startswith("text/html")
    server.behaviour = Behaviour(malformed=1, malformed_kinds=("choices_null",))
    assert ask(server).json()["choices"] is None
    server.behaviour = Behaviour(malformed=1, malformed_kinds=("not_json",))
    with pytest.raises(json.JSONDecodeError):
        ask(server).json()


def test_a_label_in_a_text_is_replaced_too(server: Loopback) -> None:
    server.behaviour = Behaviour(malformed=1, malformed_kinds=("wrong_label",))
    server.script = lambda each: "It says so.\n**SUPPORTS**"
    assert content(ask(server)) == "It says so.\n**MAYBE SO**"
    server.script = lambda each: "It says so.\nSUPPORTS"
    assert content(ask(server)) == "It says so.\nMAYBE SO"


def test_one_seed_gives_the_same_faults_and_another_gives_others(server: Loopback) -> None:
    def faults(seed: int) -> list[int]:
        server.behaviour = Behaviour(busy=0.4, retry_after="date", seed=seed)
        server.reset()
        return [ask(server).status_code for _ in range(24)]

    first = faults(1)
    assert first == faults(1)
    assert first != faults(2)
    assert {*first} == {200, 429, 503}
    assert server.counts.requests["chat"] == server.counts.answered["chat"] + server.counts.faults["busy"] == 24


def test_busy_statuses_quota_and_keys_come_with_the_services_own_errors(server: Loopback) -> None:
    server.behaviour = Behaviour(statuses={"tavily": 432, "chat": 429}, quota=True, retry_after="0.05")
    answer = ask(server)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "0.05")
    assert answer.json()["error"]["code"] == "insufficient_quota"
    assert "plan" in post(server, "/tavily/search", {"query": "x"}).json()["detail"]["error"]
    server.behaviour = Behaviour(api_key="sk-right")
    assert ask(server, authorization="Bearer sk-right").status_code == 200
    answer = ask(server, authorization="Bearer sk-wrong")
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")
    assert "sk-wrong" in answer.text
    server.behaviour = Behaviour(statuses={"serper": 500, "cse": 403, "mediawiki": 503}, echo_key=True)
    assert "k-123" in post(server, "/serper/search", {"q": "x"}, **{"x-api-key": "k-123"}).text
    assert "k-123" in get(server, "/customsearch/v1", q="x", key="k-123").text


@pytest.mark.parametrize(
    ("refused", "more", "param"),
    [
        ("temperature", {"temperature": 0}, "temperature"),
        ("max_tokens", {"max_tokens": 9}, "max_tokens"),
        ("n", {"n": 2}, "n"),
        ("seed", {"seed": 1}, "seed"),
        ("logprobs", {"logprobs": True}, "logprobs"),
        ("stream", {"stream": True}, "stream"),
        ("json_schema", {"response_format": {"type": "json_schema", "json_schema": {}}}, "response_format"),
    ],
)
def test_a_refused_parameter_is_named(server: Loopback, refused: str, more: dict[str, Any], param: str) -> None:
    server.behaviour = Behaviour(refuse=(refused,))
    answer = ask(server, body(**more))
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)
    assert ask(server, body(temperature=1, n=1, stream=False)).status_code == 200


def test_a_server_may_fail_over_a_schema(server: Loopback) -> None:
    server.behaviour = Behaviour(refuse=("json_schema_500",))
    assert ask(server, formatted()).status_code == 500
    assert ask(server, body(response_format={"type": "json_object"})).status_code == 200


def test_reasoning_stands_in_its_field_or_before_the_answer(server: Loopback) -> None:
    server.behaviour = Behaviour(reasoning="field")
    message = ask(server).json()["choices"][0]["message"]
    assert message["content"] == "ok"
    assert message["reasoning_content"]
    server.behaviour = Behaviour(reasoning="think")
    assert content(ask(server)).startswith("<think>")
    assert content(ask(server)).endswith("</think>\n\nok")


def test_embeddings_come_last_first_and_like_texts_are_near(server: Loopback) -> None:
    texts = ["the stone bridge over the Velt", "a stone bridge over the Velt", "mayor opens ferry"]
    said = post(server, "/v1/embeddings", {"model": "e", "input": texts}).json()
    assert [each["index"] for each in said["data"]] == [2, 1, 0]
    far, near, first = (each["embedding"] for each in said["data"])
    assert sum(x * x for x in first) == pytest.approx(1)
    assert sum(map(lambda x, y: x * y, first, near)) > 0.7 > sum(map(lambda x, y: x * y, first, far))
    assert said["usage"]["prompt_tokens"] == server.counts.embedding_tokens
    assert post(server, "/v1/embeddings", {"input": []}).status_code == 400
    assert get(server, "/v1/models").json()["data"][0]["id"] == "loopback-model"


def test_tavily(server: Loopback) -> None:
    key = {"authorization": "Bearer tvly-1"}
    asked = {"query": "electric ferry Quillhaven", "max_results": 3, "include_usage": True}
    said = post(server, "/tavily/search", asked, **key).json()
    assert said["usage"] == {"credits": 1}
    assert said["results"][0]["url"] == "https://courier.example/2021/03/ferry"
    assert len(said["results"]) == 3
    early = post(server, "/tavily/search", asked | {"end_date": "2020-01-01"}, **key).json()["results"]
    assert "courier.example" not in str(early)
    assert early  # undated pages stay
    assert post(server, "/tavily/search", {"query": "zyzzy"}, **key).json()["results"] == []
    assert post(server, "/tavily/search", asked).json()["detail"]["error"].startswith("Unauthorized")
    assert post(server, "/tavily/search", asked | {"max_results": 21}, **key).status_code == 400


def test_serper(server: Loopback) -> None:
    key = {"x-api-key": "k"}
    said = post(server, "/serper/search", {"q": "answerbox electric ferry", "num": 11}, **key).json()
    assert said["organic"][0]["date"] == "Mar 3, 2021"
    assert (said["credits"], said["answerBox"]["link"]) == (2, "https://courier.example/2021/03/ferry")
    asked = {"q": "electric ferry", "tbs": "cdr:1,cd_max:12/31/2021"}
    assert [each["position"] for each in post(server, "/serper/search", asked, **key).json()["organic"]] == [1]
    paper = post(server, "/serper/scholar", {"q": "scour masonry piers"}, **key).json()["organic"][0]
    assert (paper["year"], paper["citedBy"] > 0) == (2019, True)
    assert len(post(server, "/serper/news", {"q": "electric ferry"}, **key).json()["news"]) == 2
    error = post(server, "/serper/search", {"q": "x"})
    assert (error.status_code, error.json()) == (403, {"message": "Unauthorized.", "statusCode": 403})


def test_custom_search(server: Loopback) -> None:
    asked = {"key": "k", "cx": "c", "q": "electric ferry"}
    said = get(server, "/customsearch/v1", **asked, num=1).json()
    assert (said["searchInformation"]["totalResults"], len(said["items"])) == ("2", 1)
    assert said["items"][0]["snippet"].startswith("Mar 3, 2021 ... ")
    assert "items" not in get(server, "/customsearch/v1", **asked, sort="date:r::20200101").json()
    error = get(server, "/customsearch/v1", **asked, num=11)
    assert (error.status_code, error.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")


def test_pubmed(server: Loopback) -> None:
    asked = {"db": "pubmed", "term": "electric ferry", "retmode": "json", "retmax": 5}
    said = get(server, "/entrez/eutils/esearch.fcgi", **asked).json()["esearchresult"]
    assert (said["count"], said["idlist"]) == ("2", ["30000004", "30000005"])
    until = {"mindate": "1000/01/01", "maxdate": "2021/12/31", "datetype": "pdat"}
    said = get(server, "/entrez/eutils/esearch.fcgi", **asked, **until).json()["esearchresult"]
    assert said["idlist"] == ["30000004"]
    said = get(server, "/entrez/eutils/esearch.fcgi", **asked | {"term": " "}).json()["esearchresult"]
    assert said == {"ERROR": "Empty term and query_key - nothing todo"}
    answer = get(server, "/entrez/eutils/efetch.fcgi", db="pubmed", id="30000005,30000001,7", retmode="xml")
    assert answer.headers["content-type"] == "text/xml; charset=UTF-8"
    assert answer.text.count("<PubmedArticle>") == 2
    assert '<AbstractText Label="HISTORY" NlmCategory="UNASSIGNED">' in answer.text
    server.behaviour = Behaviour(statuses={"pubmed": 429})
    error = get(server, "/entrez/eutils/esearch.fcgi", **asked, api_key="k-123")
    assert error.json() == {"error": "API rate limit exceeded", "api-key": "k-123", "count": "4", "limit": "10"}


def test_openalex(server: Loopback) -> None:
    asked = {"search": "electric ferry", "per-page": 1}
    said = get(server, "/works", **asked).json()
    assert (said["meta"]["count"], len(said["results"])) == (2, 1)
    assert said["results"][0]["abstract_inverted_index"]["ferry"] == [5]
    early = get(server, "/works", **asked, filter="has_abstract:true,to_publication_date:2020-01-01").json()
    assert early["results"] == []
    for wrong in ({"per-page": 201}, {"filter": "abstract:true"}, {"search": "why?"}):
        answer = get(server, "/works", **asked | wrong)
        assert (answer.status_code, answer.json()["error"]) == (400, "Invalid query parameters error.")


def test_mediawiki_search_and_extracts(server: Loopback) -> None:
    said = wiki(server, list="search", srsearch="seven arches bridge", srlimit=1)
    assert said["query"]["search"][0]["title"] == "Skarrow Bridge"
    assert '<span class="searchmatch">bridge</span>' in said["query"]["search"][0]["snippet"]
    assert said["continue"]["sroffset"] == 1
    asked = {"prop": "extracts|info|pageprops", "inprop": "url", "explaintext": 1, "redirects": 1}
    said = wiki(server, titles="bridge_of Skarrow", **asked)["query"]
    assert said["normalized"] == [{"from": "bridge_of Skarrow", "to": "Bridge of Skarrow"}]
    assert said["redirects"] == [{"from": "Bridge of Skarrow", "to": "Skarrow Bridge"}]
    page = said["pages"]["1001"]
    assert page["extract"] == DOCUMENTS[0].text
    assert page["fullurl"] == DOCUMENTS[0].url
    pages = wiki(server, titles="Nowhere|Velt (disambiguation)", formatversion=2, exintro=1, **asked)["query"]["pages"]
    assert [page.get("missing") for page in pages] == [True, None]
    assert pages[1]["pageprops"] == {"disambiguation": ""}
    assert wiki(server, titles="Nowhere")["query"]["pages"]["-1"]["missing"] == ""
    found = wiki(server, generator="search", gsrsearch="Ostermoor", exintro=1, formatversion=2, **asked)["query"]
    assert all(page["extract"] for page in found["pages"])
    many = wiki(server, titles="Ostermoor|Quillhaven", **asked)
    assert many["continue"]["excontinue"] == 1  # a whole text comes one page a call


def test_mediawiki_revisions_and_parse(server: Loopback) -> None:
    asked = {"prop": "revisions", "titles": "Skarrow Bridge", "rvlimit": 1, "rvprop": "ids|timestamp", "rvdir": "older"}
    seen = []
    for start in ("2014-06-01T00:00:00Z", "2020-01-01T00:00:00Z"):
        page = wiki(server, rvstart=start, formatversion=2, **asked)["query"]["pages"][0]
        parsed = wiki(server, action="parse", oldid=page["revisions"][0]["revid"], prop="text|sections")["parse"]
        seen.append((page["revisions"][0]["timestamp"][:4], [each["line"] for each in parsed["sections"]]))
        assert parsed["text"]["*"].startswith('<div class="mw-content-ltr mw-parser-output"')
    assert seen == [("2014", []), ("2015", ["History", "Today"])]
    early = wiki(server, rvstart="2001-01-01T00:00:00Z", formatversion=2, **asked)["query"]["pages"][0]
    assert "revisions" not in early
    answer = get(server, "/w/api.php", action="parse", page="Nowhere", format="json")
    assert (answer.status_code, answer.headers["mediawiki-api-error"]) == (200, "missingtitle")
    assert answer.json()["error"]["code"] == "missingtitle"


def test_mediawiki_refuses_clients_that_do_not_name_themselves(server: Loopback) -> None:
    answer = httpx2.get(
        f"{server.url}/w/api.php", params={"action": "query", "format": "json"}, timeout=60, trust_env=False
    )
    assert (answer.status_code, answer.headers["content-type"]) == (403, "text/plain; charset=utf-8")


def test_documents_can_be_replaced_and_requests_are_kept(server: Loopback) -> None:
    server.documents = (Doc("Only", "https://only.example/", "The only page."),)
    answer = post(server, "/tavily/search", {"query": "only page"}, authorization="Bearer tvly-1")
    assert [each["title"] for each in answer.json()["results"]] == ["Only"]
    (seen,) = server.requests
    assert (seen.route, seen.body, seen.headers["authorization"]) == ("tavily", {"query": "only page"}, "Bearer tvly-1")


def test_latency_holds(server: Loopback) -> None:
    server.behaviour = Behaviour(chat_ms=50)
    before = time.perf_counter()
    ask(server)
    assert time.perf_counter() - before >= 0.05


@pytest.mark.anyio
async def test_requests_without_an_answer_do_not_keep_the_server_from_stopping() -> None:
    async with httpx2.AsyncClient(timeout=600, verify=False, trust_env=False) as client:
        with Loopback(behaviour=Behaviour(hang_routes=("chat",), search_ms=600_000)) as server:
            asking = [
                asyncio.create_task(client.post(server.url + path, json=body(), headers={"authorization": "Bearer x"}))
                for path in ("/v1/chat/completions", "/tavily/search")
            ]
            await server.arrived("chat")
            await server.arrived("tavily")
        assert not server._thread.is_alive()
        ended = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(error, httpx2.TransportError) for error in ended)
    assert server.counts.faults == {"hang": 1, "left": 1}


def test_a_script_that_raises_is_answered_with_what_it_raised(
    server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    def script(each: Ask) -> str:
        raise KeyError(each.model)

    server.script = script
    answer = ask(server)
    assert (answer.status_code, "KeyError('m')" in answer.text) == (500, True)
    assert "KeyError" in capsys.readouterr().err


def test_what_is_no_behaviour_is_refused() -> None:
    with pytest.raises(ValueError, match="tavilly"):
        Behaviour(hang_routes=("tavilly",))


def scripted(each: Ask) -> str | Raw:
    """What the process below answers: only an ``Ask`` and a ``Raw`` of the server's own module will do."""
    return Raw(200, b"raw") if isinstance(each, Ask) else "another Ask"


@pytest.mark.slow
def test_a_process_serves_counts_and_changes() -> None:
    with LoopbackProcess("test_loopback:scripted", behaviour=Behaviour(seed=3)) as server:
        assert ask(server).text == "raw"
        server.set_behaviour(statuses={"chat": 503}, busy_statuses=[429])
        assert ask(server).status_code == 503
        counts = server.counts()
        assert (counts.requests["chat"], counts.answered["chat"], counts.faults["status"]) == (2, 1, 1)
        server.reset()
        assert server.counts().requests["chat"] == 0
