from __future__ import annotations

import asyncio
import json
import random
import socket
import threading
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from redargue.claims import Claim
from redargue.errors import ProviderError, UnsupportedTask, UsageError
from redargue.evidence import Passage
from redargue.runs.budget import Budget
from redargue.service.proxy import block, checker
from redargue.service.proxy.settings import CheckOptions, ProxySettings, plan, read_check_options
from redargue.spec import RunSpec
from redargue.text import CheckedClaim
from redargue.text.extract import NOTHING_STATED
from redargue.text.segment import Sentence
from redargue.verdicts import Verdict
from service.proxy.conftest import ANSWER, BRIDGE, FALSE, TRUE, Start
from service.proxy.test_stream import GIVEN, QUESTION, chunks, content, post
from support.chat_upstream import STREAM, Asked, Written, chat, chat_stream, chat_whole, chunk, sse
from support.growth import grows_with_the_square

GERMAN = "Das Viadukt von Millau wurde im Dezember 2004 eröffnet und ist eine Schrägseilbrücke in Frankreich."
CHAT = "/chat/completions"


def block_of(response: httpx2.Response, stream: bool) -> dict[str, Any]:
    if stream:
        block = chunks(response)[-1]["choices"][0]["delta"]["redargue"]
    else:
        block = response.json()["choices"][0]["message"]["redargue"]
    assert isinstance(block, dict)
    return block


class _Down(checker.Searcher):
    """A reader that cannot be made."""

    def __init__(self, *_: object, **__: object) -> None:
        raise ProviderError("the reader is down")


class _Late:
    """A reader that never answers."""

    def __init__(self, *_: object, **__: object) -> None: ...

    async def check_sentence(self, sentences: object) -> tuple[()]:
        await asyncio.Event().wait()
        return ()

    def close(self) -> None: ...


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("case", ["no_context", "language", "checker_down", "checker_late"])
def test_what_was_not_checked_says_why_and_is_counted_or_withheld(
    start: Start, monkeypatch: pytest.MonkeyPatch, case: str, stream: bool
) -> None:
    readers = {"checker_down": _Down, "checker_late": _Late}
    if case in readers:
        monkeypatch.setattr(checker, "Grounder", readers[case])
    running = start(chat(GERMAN if case == "language" else ANSWER))
    given: dict[str, Any] = {} if case == "no_context" else {"contexts": [BRIDGE]}
    given |= {"timeout_s": 0.05} if case == "checker_late" else {}
    response = post(running.url, {**QUESTION, "stream": stream, "redargue": given})
    block = block_of(response, stream)
    assert (block["outcome"], block["reason"]) == ("unchecked", case)
    assert running.proxy.tally.answers[CHAT, "annotate", "unchecked"] == 1
    assert running.proxy.tally.unchecked[CHAT, case] > 0
    text = content(chunks(response)) if stream else response.json()["choices"][0]["message"]["content"]
    assert text == (GERMAN if case == "language" else ANSWER)
    closed = post(running.url, {**QUESTION, "stream": stream, "redargue": {**given, "on_failure": "closed"}})
    assert closed.status_code == 503
    assert closed.json()["error"]["code"] == case
    assert (closed.headers["x-should-retry"] == "true") == (case in readers)
    assert ANSWER not in closed.text
    assert running.proxy.tally.withheld[CHAT, case] == 1


def test_a_request_cannot_loosen_what_the_operator_decided() -> None:
    settings = ProxySettings(on_failure="closed", min_supported=0.9, timeout_s=5, budget="10calls", modes=("block",))
    asked = CheckOptions(on_failure="open", min_supported=0.1, timeout_s=60, budget="99calls,1usd")
    decided = plan(settings, asked)
    assert (decided.on_failure, decided.min_supported, decided.timeout_s) == ("closed", 0.9, 5)
    assert decided.budget == Budget.lower("10calls", "99calls,1usd") == "10calls,1.0usd"
    with pytest.raises(UsageError, match="not allowed"):
        plan(settings, asked, "off")
    with pytest.raises(UsageError, match="unknown mode"):
        plan(settings, asked, "loud")
    with pytest.raises(UsageError, match="not allowed"):
        plan(ProxySettings(methods=("nli",)), CheckOptions(method="tool-mad"))
    with pytest.raises(UnsupportedTask, match="cannot perform 'mad'") as refused:
        plan(ProxySettings(), CheckOptions(method="mad"))
    assert "--model NAME" in refused.value.hint
    assert plan(ProxySettings(spec=RunSpec(method="mad", model="m")), CheckOptions(method="mad")).method == "mad"


@pytest.mark.parametrize(
    ("operator", "asked", "decided"),
    [
        ({"mode": "block"}, {}, "closed"),
        ({"mode": "block"}, {"on_failure": "open"}, "closed"),
        ({"mode": "block", "on_failure": "open"}, {}, "open"),
        ({"mode": "block", "on_failure": "open"}, {"on_failure": "closed"}, "closed"),
        ({}, {}, "open"),
        ({}, {"on_failure": "closed"}, "closed"),
        ({}, {"mode": "block"}, "closed"),
        ({}, {"mode": "block", "on_failure": "open"}, "open"),
        ({"on_failure": "open"}, {"mode": "block"}, "open"),
        ({"on_failure": "closed"}, {"mode": "block", "on_failure": "open"}, "closed"),
    ],
)
def test_block_lets_what_was_not_checked_pass_only_where_it_is_asked_to(
    operator: dict[str, Any], asked: dict[str, Any], decided: str
) -> None:
    assert plan(ProxySettings(**operator), CheckOptions(**asked)).on_failure == decided


@pytest.mark.parametrize("stream", [True, False])
def test_block_withholds_what_was_not_checked_and_a_refuted_answer_whatever_else_was_not(
    start: Start, stream: bool
) -> None:
    answers = iter([GERMAN, f"{GERMAN} {FALSE}"])
    running = start(lambda asked: chat(next(answers))(asked), mode="block", block_message="Withheld.")
    unread = post(running.url, {**QUESTION, **GIVEN, "stream": stream})
    assert (unread.status_code, unread.json()["error"]["code"]) == (503, "language")
    refuted = post(running.url, {**QUESTION, **GIVEN, "stream": stream})
    assert refuted.status_code == 200
    assert "Withheld." in refuted.text


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ("not json", None),
        ("[]", None),
        ("[" * 100_000, None),
        ('{"redargue": {"mode": "loud"}}', "redargue.mode"),
        ('{"redargue": {"budget": "5 apples"}}', "redargue.budget"),
        ('{"redargue": {"colour": 1}}', "redargue.colour"),
        ('{"redargue": {"method": "no-such"}}', "redargue.method"),
    ],
)
def test_wrong_requests_are_refused_in_openais_shape_and_not_sent_on(
    start: Start, body: str, param: str | None
) -> None:
    running = start(chat(TRUE))
    response = httpx2.post(f"{running.url}/v1/chat/completions", content=body, timeout=120)
    assert response.status_code == 400
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["param"] == param
    assert running.upstream.asked == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"modus": "block"}, "there is no field 'modus' (redargue.modus)\n  → did you mean 'mode'"),
        ({"mode": "nonsense"}, "'nonsense' does not fit: Input should be 'off', "),
        ({"as_of": "yesterday"}, "'yesterday' does not fit: a date is written like 2024-03-31 (redargue.as_of)"),
        ("all", "'all' does not fit: Input should be an object (redargue)"),
        ({"contexts": "a text"}, "'a text' does not fit: Input should be a list (redargue.contexts)"),
        ({"contexts": [{"txt": "a"}]}, "there is no field 'txt' (redargue.contexts.0.txt)\n  → did you mean 'text'"),
        ({"contexts": ["a", {"title": "b"}]}, "Field required (redargue.contexts.1.text)"),
        ({"contexts": [5]}, "5 does not fit: Input should be a valid string (redargue.contexts.0)"),
    ],
)
def test_a_wrong_field_is_named_without_types_and_with_those_that_there_are(given: object, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_check_options(given)
    assert str(refused.value).startswith(said)


def test_a_mode_without_an_upstream_is_named_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDARGUE_PROXY_MODE", "block")
    assert ProxySettings.from_environment().summary == "no proxy: REDARGUE_UPSTREAM_URL is not set"
    monkeypatch.delenv("REDARGUE_PROXY_MODE")
    assert ProxySettings.from_environment().summary == ""


def test_without_an_upstream_the_routes_say_so(start: Start) -> None:
    running = start(chat(TRUE))
    object.__setattr__(running.proxy.checkers, "settings", ProxySettings())
    response = post(running.url, QUESTION)
    assert response.status_code == 503
    assert "REDARGUE_UPSTREAM_URL" in response.json()["error"]["message"]


def test_errors_of_the_upstream_pass_with_status_body_and_headers(start: Start) -> None:
    body = b'{"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded", "param": null}}'
    headers = {"retry-after": "7", "x-request-id": "req_1", "set-cookie": "a=b"}
    running = start(lambda asked: Written([body], status=429, headers=headers))
    response = post(running.url, {**QUESTION, **GIVEN, "stream": True})
    assert (response.status_code, response.content) == (429, body)
    assert (response.headers["retry-after"], response.headers["x-request-id"]) == ("7", "req_1")
    assert "set-cookie" not in response.headers


def test_the_operators_key_is_used_and_never_shown(start: Start) -> None:
    key = "sk-operators-secret-key-0123456789"
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {key}"}}).encode()
    running = start(lambda asked: Written([body], status=401), key=key)
    own = {"Authorization": "Bearer sk-the-clients-own-key-0123456789", "Idempotency-Key": "order-1"}
    response = post(running.url, QUESTION, **own)
    assert running.upstream.asked[0].headers["authorization"] == f"Bearer {key}"
    assert "idempotency-key" not in running.upstream.asked[0].headers  # other clients with this key may have the same
    assert key not in response.text
    assert "[secret]" in response.text


def test_a_clients_own_key_passes_but_a_key_of_this_service_does_not(start: Start) -> None:
    running = start(chat(TRUE))
    post(running.url, QUESTION, Authorization="Bearer sk-the-clients-own-key-0123456789", Cookie="a=b")
    post(running.url, QUESTION, Authorization="Bearer rdg_0123456789abcdef0123456789")
    first, second = running.upstream.asked
    assert first.headers["authorization"] == "Bearer sk-the-clients-own-key-0123456789"
    assert "authorization" not in second.headers
    assert "cookie" not in first.headers


def test_an_upstream_that_cannot_be_reached_is_a_502_and_the_log_alone_has_its_address(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    running = start(chat(TRUE))
    upstream = running.proxy.upstream
    object.__setattr__(upstream, "service", replace(upstream.service, url="http://127.0.0.1:9/v1"))
    response = post(running.url, QUESTION)
    assert response.status_code == 502
    assert response.json()["error"]["code"] == "upstream_unreachable"
    assert "127.0.0.1" not in response.text
    assert "upstream at http://127.0.0.1:9/v1 cannot be reached" in caplog.text


@pytest.mark.parametrize("api", ["/v1/chat/completions", "/v1/responses"])
@pytest.mark.parametrize("cut", [True, False])  # the connection, or only the stream in it
@pytest.mark.parametrize("mode", ["annotate", "block"])
def test_a_stream_that_breaks_off_ends_with_an_error_that_clients_report(
    start: Start, mode: str, cut: bool, api: str
) -> None:
    delta = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": TRUE}
    pieces = chat_stream(TRUE)[:-2] if api.endswith("completions") else [sse(delta, "response.output_text.delta")]
    running = start(lambda asked: Written(pieces, content_type=STREAM, cut=cut), mode=mode)
    response = post(running.url, {**QUESTION, **GIVEN, "stream": True}, api)
    last = json.loads(response.text.strip().split("\n")[-1].removeprefix("data: "))
    assert last["error"]["code"] == "upstream_broke_off"
    assert response.status_code == (502 if mode == "block" else 200)
    assert "[DONE]" not in response.text


def test_a_stream_in_which_the_service_itself_fails_ends_with_an_error(
    start: Start, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("a secret of the service")

    monkeypatch.setattr("redargue.service.proxy.stream.Checks.finish", fail)
    running = start(chat(TRUE))
    response = post(running.url, {**QUESTION, **GIVEN, "stream": True})
    last = json.loads(response.text.strip().split("\n")[-1].removeprefix("data: "))
    assert (last["error"]["type"], last["error"]["code"]) == ("server_error", "proxy_failed")
    assert "secret" not in response.text
    assert "a secret of the service" in caplog.text


@pytest.mark.anyio
async def test_the_sentences_of_a_late_check_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def compare(*_: object) -> bool:
        raise AssertionError("compared")

    readers: asyncio.Task[checker.Readers] = asyncio.create_task(asyncio.Event().wait())  # type: ignore[arg-type]
    answer = checker.AnswerCheck(readers)
    answer.add(f"{TRUE} {TRUE} {FALSE} ")
    monkeypatch.setattr("redargue.text.segment.Sentence.__eq__", compare)
    checked = await answer.finish(0)
    readers.cancel()
    assert [sentence.start for sentence in checked.late] == [sentence.start for sentence in checked.sentences]
    assert len(checked.late) == 3


def test_the_time_for_a_block_grows_with_the_number_of_claims_and_not_with_its_square() -> None:
    verdict = Verdict(claim=Claim(text=TRUE), label=None, unchecked=NOTHING_STATED)

    def made(text: str) -> None:
        sentences = [Sentence(start=at, end=at + 1, text="x") for at in range(len(text))]
        claims = [CheckedClaim(start=each.start, end=each.end, stated="x", verdict=verdict) for each in sentences]
        found = block.block_of(
            checker.Checked(text, tuple(sentences), tuple(claims)), plan(ProxySettings(), CheckOptions()), ""
        )
        assert [claim.sentence for claim in found.claims] == [*range(1, len(text) + 1)]

    assert not grows_with_the_square(made, "x" * 8_000)


@pytest.mark.parametrize("mode", ["off", "annotate", "block"])
def test_a_client_that_leaves_cancels_the_request_upstream(start: Start, mode: str) -> None:
    gate = threading.Event()
    pieces = chat_stream(ANSWER)
    answer = Written(pieces, content_type=STREAM, gates={5: gate})
    running = start(lambda asked: answer, mode=mode, on_failure="open")  # closed, the head waits for the check
    with httpx2.stream(
        "POST", f"{running.url}/v1/chat/completions", json={**QUESTION, **GIVEN, "stream": True}, timeout=120
    ) as response:
        if mode != "block":
            next(response.iter_raw())
    assert running.upstream.left.wait(60)
    assert not gate.is_set() or running.upstream.left.is_set()


def test_a_client_that_leaves_before_the_answer_begins_cancels_the_request_upstream(start: Start) -> None:
    gate = threading.Event()
    running = start(lambda asked: Written([chat_whole(TRUE)], gates={0: gate}))
    address = httpx2.URL(running.url)
    assert address.port
    body = json.dumps({**QUESTION, **GIVEN}).encode()
    with socket.create_connection((address.host, address.port)) as client:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {address.host}\r\nContent-Length: {len(body)}\r\n\r\n"
        client.sendall(head.encode() + body)
        assert running.upstream.arrived.wait(60)
    assert running.upstream.left.wait(60)


GARBAGE = {
    "not json": [sse("{not json"), *chat_stream(TRUE)],
    "choices null": [sse({"id": "x", "choices": None}), *chat_stream(TRUE)],
    "no choices": [sse({"id": "x"}), *chat_stream(TRUE)],
    "list": [sse("[1, 2]"), *chat_stream(TRUE)],
    "delta null": [sse({"id": "x", "choices": [{"index": 0, "delta": None}]}), *chat_stream(TRUE)],
    "content number": [sse({"id": "x", "choices": [{"index": "a", "delta": {"content": 5}}]}), *chat_stream(TRUE)],
    "html": [b"<!DOCTYPE html><p>Sign in</p>"],
    "empty": [b""],
    "no end": chat_stream(TRUE)[:-2],
    "no done": chat_stream(TRUE)[:-1],
    "odd line ends": [piece.replace(b"\n", b"\r\n") for piece in chat_stream(TRUE)],
    "bytes": [b"data: \xff\xfe\n\n", *chat_stream(TRUE)],
}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("text", [f"\ud800 {FALSE}", f"{FALSE}\0"])
def test_an_answer_that_cannot_be_read_is_not_taken_for_an_empty_one(start: Start, text: str, stream: bool) -> None:
    running = start(chat(text))
    block = block_of(post(running.url, {**QUESTION, **GIVEN, "stream": stream}), stream)
    assert (block["outcome"], block["reason"]) == ("unchecked", "unreadable_answer")


@pytest.mark.parametrize("closed", [True, False])
def test_a_stream_of_which_nothing_can_be_read_is_counted_or_withheld(start: Start, closed: bool) -> None:
    deep = sse('{"choices": [{"index": 0, "delta": {"content": "a", "x": ' + "[" * 100_000 + "]" * 100_000 + "}}]}")
    running = start(lambda asked: Written([deep, sse("[DONE]")], content_type=STREAM))
    given = {"contexts": [BRIDGE], "on_failure": "closed" if closed else "open"}
    response = post(running.url, {**QUESTION, "stream": True, "redargue": given})
    assert response.status_code == (503 if closed else 200)
    assert running.proxy.tally.unchecked[CHAT, "unreadable_answer"] == 1


def test_documents_with_halves_of_characters_and_budgets_without_a_model_do_not_stop_a_check(start: Start) -> None:
    running = start(chat(FALSE))
    given = {"contexts": [f"{BRIDGE} \ud800"], "method": "tool-mad", "budget": "1usd,100ktok,99calls"}
    body = json.dumps({**QUESTION, "redargue": given}).encode()
    response = httpx2.post(f"{running.url}/v1/chat/completions", content=body, timeout=120)
    assert block_of(response, False)["outcome"] == "non_factual"


@pytest.mark.parametrize(
    ("budget", "method", "calls"), [("1calls", "", 0), ("3calls", "", 1), ("4calls", "", 2), ("5calls", "tool-mad", 2)]
)
def test_a_budget_of_an_answer_binds_its_first_reader_and_its_debate_together(
    start: Start, budget: str, method: str, calls: int
) -> None:
    running = start(chat(ANSWER), budget=budget, **({"method": method} if method else {}))
    block = block_of(post(running.url, {**QUESTION, **GIVEN}), False)
    spent = calls < 2 or bool(method)
    assert (block["usage"]["calls"], block["reason"]) == (calls, "budget" if spent else "")
    assert block["outcome"] != "factual"
    asked = {"redargue": {**GIVEN["redargue"], "budget": "1calls", "on_failure": "closed"}}
    closed = post(running.url, {**QUESTION, **asked})
    assert (closed.status_code, closed.json()["error"]["code"]) == (503, "budget")


@pytest.mark.parametrize("stream_type", [True, False])
def test_garbage_of_the_upstream_passes_as_it_is_and_is_never_clean(start: Start, stream_type: bool) -> None:
    sent: list[bytes] = []
    kind = STREAM if stream_type else "application/json"
    running = start(lambda asked: Written(sent, content_type=kind))
    for name, pieces in GARBAGE.items():
        sent[:] = pieces
        response = post(running.url, {**QUESTION, **GIVEN, "stream": True})
        assert response.status_code == 200, name
        if not stream_type:
            assert response.content == b"".join(pieces), name
            assert "outcome=unchecked" in response.headers["x-redargue-check"], name
            continue
        for piece in pieces:
            if b'finish_reason": "stop' not in piece:
                assert piece.strip() in response.content, name
        if name in ("not json", "list", "bytes"):
            assert '"outcome":"unchecked"' in response.text, name
            assert '"reason":"unreadable_answer"' in response.text, name
    if stream_type:
        assert not running.proxy.tally.answers[CHAT, "annotate", "non_factual"]


@pytest.mark.slow
def test_20_percent_garbage_and_30_percent_busy_upstream_leave_every_request_answered_or_refused(start: Start) -> None:
    rng = random.Random(7)
    kinds: list[str] = []

    def answer(asked: Asked) -> Written:
        luck = rng.random()
        if luck < 0.3:
            kinds.append("busy")
            return Written([b'{"error": {"message": "busy"}}'], status=rng.choice((429, 503)))
        if luck < 0.5:
            kinds.append("garbage")
            pieces = GARBAGE[rng.choice(["not json", "choices null", "html", "no end", "no done"])]
            return Written(pieces, content_type=STREAM)
        kinds.append("good")
        return Written(chat_stream(FALSE), content_type=STREAM)

    running = start(answer)
    for _ in range(60):
        before = len(kinds)
        response = post(running.url, {**QUESTION, **GIVEN, "stream": True})
        assert len(kinds) == before + 1  # nothing is sent twice: the client retries
        if kinds[-1] == "busy":
            assert response.status_code in (429, 503)
            assert response.json() == {"error": {"message": "busy"}}
        elif kinds[-1] == "good":
            assert block_of(response, True)["outcome"] == "non_factual"
        else:
            assert response.status_code == 200
            assert '"outcome":"non_factual"' not in response.text
    assert {"busy", "garbage", "good"} == set(kinds)


def test_footnotes_of_earlier_answers_do_not_reach_the_model(start: Start) -> None:
    running = start(chat(ANSWER))
    given = {"redargue": {"contexts": [BRIDGE], "mode": "footnote"}}
    first = post(running.url, {**QUESTION, **given}).json()["choices"][0]["message"]["content"]
    history = [*QUESTION["messages"], {"role": "assistant", "content": first}, {"role": "user", "content": "Sure?"}]
    post(running.url, {**QUESTION, "messages": history, **given})
    assert running.upstream.asked[1].body["messages"][1]["content"] == ANSWER


@pytest.mark.slow
def test_comments_show_the_progress_while_a_check_takes_long(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker, "Grounder", _Late)
    monkeypatch.setattr("redargue.service.proxy.stream.TICK", 0.05)
    running = start(chat(ANSWER), timeout_s=1.0)
    response = post(running.url, {**QUESTION, **GIVEN, "stream": True})
    assert ": redargue 0/2\n\n" in response.text
    assert block_of(response, True)["unchecked"] == {"checker_late": 2}


@pytest.mark.anyio
async def test_a_debate_decides_what_the_first_reader_does_not_find_supported() -> None:
    settings = ProxySettings(method="tool-mad", spec=RunSpec(method="tool-mad"))
    checkers = checker.Checkers(settings)
    documents = (Passage(text=BRIDGE, document="context-1"),)
    async with checkers.open(documents, plan(settings, CheckOptions())) as readers:
        answer = checker.AnswerCheck(readers)
        answer.add(ANSWER)
        checked = await answer.finish(120)
    await checkers.close()
    assert [claim.verdict.method for claim in checked.claims] == ["single-reader", "tool-mad"]
    assert [claim.verdict.meaning for claim in checked.claims] == ["supported", "refuted"]


@pytest.mark.anyio
async def test_readers_of_the_same_documents_are_kept_and_the_oldest_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Any] = []

    class Counted(_Late):
        closed = False

        def __init__(self, *arguments: object, **_: object) -> None:
            made.append(self)

        def close(self) -> None:
            self.closed = True

    monkeypatch.setattr(checker, "Grounder", Counted)
    settings = ProxySettings()
    checkers, decided = checker.Checkers(settings), plan(settings, CheckOptions())
    for number in [0, 0, *range(checker.KEPT + 1)]:
        async with checkers.open((Passage(text=f"{number}"),), decided) as readers:
            await readers
    await asyncio.sleep(0)
    assert len(made) == checker.KEPT + 1
    assert [reader.closed for reader in made] == [True] + [False] * checker.KEPT
    await checkers.close()
    await asyncio.sleep(0)
    assert all(reader.closed for reader in made)


@pytest.mark.slow
def test_a_search_is_made_only_where_the_operator_allows_it(start: Start, starter: object) -> None:
    spec = RunSpec(method="single-reader", store="starter", offline=True)
    running = start(chat("Marie Curie discovered penicillin."), search=True, spec=spec)
    block = block_of(post(running.url, QUESTION), False)
    assert block["claims"]
    assert block["reason"] == ""


def test_a_finish_chunk_alone_is_not_checkable(start: Start) -> None:
    running = start(lambda asked: Written([chunk(0, {}, "stop"), sse("[DONE]")], content_type=STREAM))
    block = block_of(post(running.url, {**QUESTION, **GIVEN, "stream": True}), True)
    assert (block["outcome"], block["reason"]) == ("not_checkable", "no_text")
