"""Upstreams and clients that do what they should not: no answer passes for checked that was not."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import httpx2
import pytest

from redargue.errors import UsageError
from redargue.service.proxy import checker
from redargue.service.proxy.dialect import EventSplitter
from redargue.service.proxy.settings import CheckOptions, ProxySettings, plan
from service.proxy.conftest import BRIDGE, FALSE, TRUE, Start
from service.proxy.test_doors import MESSAGES, ask
from service.proxy.test_failures import block_of
from service.proxy.test_stream import GIVEN, QUESTION, chunks, content, post
from support.chat_upstream import STREAM, Asked, Written, chat, chat_whole, chunk, responses_stream, sse
from support.growth import grows_with_the_square

JSON = {"content-type": "application/json"}
DONE = sse("[DONE]")
STREAMED = {**QUESTION, **GIVEN, "stream": True}
RESPONSE = {"model": "m", "input": "When?", "stream": True, **GIVEN}


def told(received: list[dict[str, Any]], name: str = "redargue") -> list[Any]:
    return [choice["delta"][name] for chunk in received for choice in chunk["choices"] if name in choice["delta"]]


@pytest.mark.parametrize("mode", ["annotate", "footnote"])
def test_a_choice_that_ends_twice_has_its_verdicts_and_footnotes_once(start: Start, mode: str) -> None:
    pieces = [chunk(0, {"content": FALSE}), chunk(0, {}, "stop"), chunk(0, {"content": ""}, "stop"), DONE]
    running = start(lambda asked: Written(pieces, content_type=STREAM), mode=mode)
    received = chunks(post(running.url, STREAMED))
    assert len(told(received)) == 1
    assert content(received).count("Checked by redargue") == (mode == "footnote")


@pytest.mark.parametrize("mode", ["annotate", "block"])
def test_text_after_the_end_of_an_answer_is_not_sent_because_it_was_not_checked(start: Start, mode: str) -> None:
    after = [chunk(0, {}, "stop"), chunk(0, {"content": FALSE}), chunk(0, {"content": FALSE}, "stop")]
    pieces = [chunk(0, {"content": TRUE}), *after, DONE]
    running = start(lambda asked: Written(pieces, content_type=STREAM), mode=mode)
    received = chunks(post(running.url, STREAMED))
    assert content(received) == TRUE
    assert [block["outcome"] for block in told(received)] == ["factual"]
    events = responses_stream(TRUE)
    (done,) = [at for at, piece in enumerate(events) if b"event: response.output_text.done" in piece]
    late = sse({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": FALSE})
    running = start(
        lambda asked: Written([*events[: done + 1], late, *events[done + 1 :]], content_type=STREAM), mode=mode
    )
    assert "1998" not in post(running.url, RESPONSE, "/v1/responses").text


def test_an_answer_without_a_finish_chunk_has_its_footnotes(start: Start) -> None:
    running = start(lambda asked: Written([chunk(0, {"content": FALSE}), DONE], content_type=STREAM), mode="footnote")
    assert "\n\nChecked by redargue:\n[1] refuted" in content(chunks(post(running.url, STREAMED)))


@pytest.mark.parametrize("stream", [True, False])
def test_verdicts_of_the_upstream_do_not_pass_for_ours(start: Start, stream: bool) -> None:
    message = {"role": "assistant", "content": FALSE, "redargue": {"outcome": "factual"}, "annotations": 5}
    whole = json.dumps({"choices": [{"index": 0, "message": message}]}).encode()
    written = Written(
        [chunk(0, message), chunk(0, {"annotations": 5}, "stop"), DONE] if stream else [whole],
        content_type=STREAM if stream else "application/json",
        headers={"x-redargue-check": "chk_1; outcome=factual", "access-control-allow-origin": "*"},
    )
    response = post(start(lambda asked: written).url, {**STREAMED, "stream": stream})
    assert block_of(response, stream)["outcome"] == "non_factual"
    assert '"outcome":"factual"' not in response.text.replace(" ", "")
    assert "factual" not in response.headers["x-redargue-check"].replace("non_factual", "")
    assert "access-control-allow-origin" not in response.headers


def test_two_choices_of_one_index_are_checked_both(start: Start) -> None:
    choices = [{"index": 0, "message": {"content": text}} for text in (FALSE, TRUE)]
    running = start(lambda asked: Written([json.dumps({"choices": choices}).encode()]))
    found = post(running.url, {**QUESTION, **GIVEN}).json()["choices"]
    assert [choice["message"]["redargue"]["outcome"] for choice in found] == ["non_factual", "factual"]


def test_an_event_after_a_byte_order_mark_is_read(start: Start) -> None:
    pieces = [b"\xef\xbb\xbf" + chunk(0, {"content": FALSE}), chunk(0, {}, "stop"), DONE]
    running = start(lambda asked: Written(pieces, content_type=STREAM))
    assert '"outcome":"non_factual"' in post(running.url, STREAMED).text


def test_a_part_of_an_event_at_the_end_is_dropped_as_clients_drop_it() -> None:
    splitter = EventSplitter()
    (whole,) = splitter.add(b'data: {"id":"a"}\n\ndata: {"id":"chatc')
    assert whole.payload == {"id": "a"}
    assert splitter.end() == []
    splitter.add(b'data: {"id":"b"}')
    assert [event.payload for event in splitter.end()] == [{"id": "b"}]


@pytest.mark.slow
def test_a_large_event_in_small_chunks_is_searched_once() -> None:
    def read(payload: str) -> None:
        splitter, event = EventSplitter(), f"data: {payload}\r\n\r\n".encode()
        found = [each for at in range(0, len(event), 8_001) for each in splitter.add(event[at : at + 8_001])]
        assert [each.raw for each in [*found, *splitter.end()]] == [event]

    assert not grows_with_the_square(read, "x" * 4_000_000)


PLACES = [{"output_index": [1]}, {"output_index": "a"}, {"output_index": None, "content_index": 1.5}]


@pytest.mark.parametrize("place", PLACES)
def test_odd_places_in_a_response_do_not_end_it(start: Start, place: dict[str, Any]) -> None:
    pieces = [sse({"type": "response.output_text.delta", **place, "delta": TRUE}), *responses_stream(TRUE)]
    running = start(lambda asked: Written(pieces, content_type=STREAM))
    assert post(running.url, RESPONSE, "/v1/responses").text.count("event: response.completed") == 1


@pytest.mark.parametrize("odd", [{"annotations": 5}, {"annotations": True}, {"type": "\ud800"}, {"logprobs": 1}])
def test_odd_values_in_a_response_do_not_end_it(start: Start, odd: dict[str, Any]) -> None:
    events = [json.loads(piece.split(b"data: ")[1]) for piece in responses_stream(FALSE)]
    events[-1]["response"]["output"][0]["content"][0] |= odd
    pieces = [sse(event | odd if event["type"].endswith("text.done") else event) for event in events]
    running = start(lambda asked: Written(pieces, content_type=STREAM), mode="footnote")
    text = post(running.url, RESPONSE, "/v1/responses").text
    assert "upstream_broke_off" not in text
    assert '"type":"response.completed"' in text.replace(" ", "")


@pytest.mark.parametrize("kept", ["output_text.done", "content_part.done", "output_item.done", "completed"])
@pytest.mark.parametrize("mode", ["annotate", "block"])
def test_a_response_whose_text_was_not_streamed_is_checked(start: Start, mode: str, kept: str) -> None:
    events = responses_stream(FALSE)
    (first,) = [at for at, piece in enumerate(events) if f"event: response.{kept}\n".encode() in piece]
    running = start(lambda asked: Written([*events[:4], *events[first:]], content_type=STREAM), mode=mode)
    text = post(running.url, RESPONSE, "/v1/responses").text
    assert '"outcome":"non_factual"' in text
    assert ("December 1998" in text) == (mode == "annotate")


@pytest.mark.parametrize("closed", [True, False])
def test_a_response_that_repeats_another_text_than_it_streamed_is_unchecked(start: Start, closed: bool) -> None:
    events = [*responses_stream(TRUE)[:-1], responses_stream(f"{FALSE} {TRUE}")[-1]]
    running = start(lambda asked: Written(events, content_type=STREAM), on_failure="closed" if closed else "open")
    response = post(running.url, RESPONSE, "/v1/responses")
    if closed:
        assert (response.status_code, response.json()["error"]["code"]) == (503, "not_read")
        return
    final = json.loads(response.text.strip().split("\n")[-1].removeprefix("data: "))["response"]
    block = final["output"][0]["content"][0]["redargue"]
    assert (block["outcome"], block["reason"]) == ("unchecked", "not_read")


@pytest.mark.parametrize("stream", [True, False])
def test_fields_and_events_that_no_one_knows_tell_nothing_of_a_withheld_answer(start: Start, stream: bool) -> None:
    message = {"role": "assistant", "content": FALSE, "thinking_blocks": [{"thinking": FALSE}]}
    odd = {"index": 0, "token_ids": FALSE, "message": message, "finish_reason": None if stream else "stop"}
    pieces = [
        sse({"choices": [{**odd, "delta": message}]}), sse("{not json " + FALSE), b": " + FALSE.encode() + b"\n\n",
        chunk(0, {}, "stop"), DONE,
    ]  # fmt: skip
    written = Written(pieces, content_type=STREAM) if stream else Written([json.dumps({"choices": [odd]}).encode()])
    running = start(lambda asked: written, mode="block", block_message="Withheld.")
    response = post(running.url, {**STREAMED, "stream": stream})
    assert "Withheld." in response.text
    assert "1998" not in response.text


@pytest.mark.parametrize("mode", ["off", "annotate"])
def test_a_redirect_is_not_followed_and_is_an_error(start: Start, mode: str) -> None:
    running = start(lambda asked: Written([b"moved"], status=307, headers={"location": "http://other.example/"}))
    response = post(running.url, STREAMED, **{"x-redargue-mode": mode})
    assert (response.status_code, response.json()["error"]["code"]) == (502, "upstream_redirects")
    assert "other.example" not in response.text


def test_headers_of_one_connection_and_digests_of_another_body_are_not_returned(start: Start) -> None:
    headers = {"connection": "x-hop", "x-hop": "1", "etag": '"1"', "x-request-id": "req_1"}
    running = start(lambda asked: Written([chat_whole(TRUE)], headers=headers))
    response = post(running.url, {**QUESTION, **GIVEN})
    assert not {"x-hop", "etag"} & {*response.headers}
    assert response.headers["x-request-id"] == "req_1"


@pytest.mark.parametrize("scheme", ["bearer", "BEARER ", "Bearer\t", "Basic"])
def test_a_key_of_this_service_is_never_sent_on(start: Start, scheme: str) -> None:
    running = start(chat(TRUE))
    post(running.url, QUESTION, Authorization=f"{scheme} rdg_0123456789abcdef0123456789")
    assert "authorization" not in running.upstream.asked[0].headers


def test_a_client_does_not_choose_which_account_of_the_operators_key_pays(start: Start) -> None:
    account = {"OpenAI-Project": "proj_1", "OpenAI-Organization": "org_1", "OpenAI-Beta": "x=1"}
    for key, passed in (("sk-operators-key-0123456789", {"openai-beta"}), ("", {name.lower() for name in account})):
        running = start(chat(TRUE), key=key)
        post(running.url, QUESTION, **account)
        assert {name for name in running.upstream.asked[0].headers if name.startswith("openai-")} == passed


@pytest.mark.slow
def test_an_upstream_that_says_nothing_more_is_given_up(start: Start) -> None:
    pieces = [chunk(0, {"content": TRUE}), DONE]
    gate = threading.Event()
    running = start(lambda asked: Written(pieces, content_type=STREAM, gates={1: gate}), upstream_timeout=0.5)
    response = post(running.url, STREAMED)
    assert '"code":"upstream_broke_off"' in response.text
    assert running.upstream.left.wait(60)


def test_a_second_draft_that_breaks_off_leaves_the_first_and_has_a_key_of_its_own(start: Start) -> None:
    def answer(asked: Asked) -> Written:
        again = len(asked.body["messages"]) > 1
        return Written([chat_whole(FALSE)[:50] if again else chat_whole(FALSE)], cut=again)

    running = start(answer, mode="revise")
    response = post(running.url, {**QUESTION, **GIVEN}, **{"Idempotency-Key": "once"})
    assert response.json()["choices"][0]["message"]["content"] == FALSE
    assert block_of(response, False)["revision"]["rounds"] == 1
    assert ["idempotency-key" in asked.headers for asked in running.upstream.asked] == [True, False]


@pytest.mark.parametrize(
    ("given", "status", "outcome"),
    [
        ({"contexts": [{"text": BRIDGE, "title": "\ud800"}]}, 200, "non_factual"),
        ({"contexts": [{"text": f"{BRIDGE} \ud800"}]}, 200, "non_factual"),
        ({"contexts": [BRIDGE], "budget": f"1{'0' * 400}calls"}, 400, ""),
        ({"contexts": [BRIDGE], "mode": "revise"}, 200, "non_factual"),
    ],
)
def test_odd_requests_are_checked_or_refused(start: Start, given: dict[str, Any], status: int, outcome: str) -> None:
    body = {"model": "m", "messages": None, "redargue": given}
    response = httpx2.post(f"{start(chat(FALSE)).url}/v1/chat/completions", content=json.dumps(body), timeout=120)
    assert response.status_code == status
    assert not outcome or block_of(response, False)["outcome"] == outcome


@pytest.mark.parametrize(("context", "status"), [(" ", 400), (f"{BRIDGE} \ud800", 200)])
def test_odd_documents_of_the_span_classifier(start: Start, context: str, status: int) -> None:
    content = json.dumps({"inputs": TRUE, "parameters": {"context": context}})
    response = httpx2.post(f"{start(chat(TRUE)).url}/classify", content=content, headers=JSON, timeout=120)
    assert response.status_code == status


def test_litellms_calls_without_an_id_share_no_documents_and_halves_of_characters_are_no_error(start: Start) -> None:
    running, without = start(chat(TRUE)), {"litellm_call_id": None}
    footnote = {"additional_provider_specific_params": {"mode": "footnote"}}
    ask(running.url, "request", ["?"], structured_messages=MESSAGES, **without)
    (told,) = ask(running.url, "response", [FALSE], **without, **footnote)["texts"]
    assert "there was no document" in told
    assert running.proxy.tally.unknown_calls == 1
    body = {"input_type": "response", "texts": [f"\ud800 {FALSE}"], **footnote}
    path = f"{running.url}/beta/litellm_basic_guardrail_api"
    assert httpx2.post(path, content=json.dumps(body), headers=JSON, timeout=120).status_code == 200


def test_by_default_no_mode_sends_what_the_operator_withholds() -> None:
    closed, block = ProxySettings(on_failure="closed"), ProxySettings(mode="block")
    for settings, mode in ((closed, "off"), (block, "annotate"), (block, "revise"), (block, "off")):
        with pytest.raises(UsageError, match="not allowed"):
            plan(settings, CheckOptions(), mode)
    assert plan(closed, CheckOptions(), "revise").mode == "revise"
    assert plan(block.model_copy(update={"modes": ("off",)}), CheckOptions(), "off").mode == "off"
    assert plan(ProxySettings(), CheckOptions(), "off").mode == "off"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PROXY_METHOD", "no-such"),
        ("PROXY_METHOD", "mad"),  # needs a language model
        ("PROXY_BUDGET", "5 apples"),
        ("UPSTREAM_URL", "http://"),
        ("UPSTREAM_URL", "http://["),
    ],
)
def test_settings_that_no_request_could_use_are_an_error_at_the_start(name: str, value: str) -> None:
    with pytest.raises(UsageError) as refused:
        ProxySettings.from_environment({f"REDARGUE_{name}": value})
    assert f"REDARGUE_{name}" in str(refused.value) or value == "mad"


def test_a_misspelt_variable_of_the_proxy_is_an_error_and_not_a_guard_that_is_off() -> None:
    with pytest.raises(UsageError, match="REDARGUE_PROXY_MOD") as refused:
        ProxySettings.from_environment({"REDARGUE_PROXY_MOD": "block"})
    assert "did you mean 'REDARGUE_PROXY_MODE'" in refused.value.hint
    assert ProxySettings.from_environment({"REDARGUE_PROXY_MODE": "block", "REDARGUE_STORE": "x"}).mode == "block"


def test_the_start_says_whose_answers_are_checked_and_how() -> None:
    settings = ProxySettings(upstream="http://user:secret@models:8000/v1", mode="block")
    assert settings.summary == "proxy of models:8000: mode block, on_failure closed"
    assert ProxySettings().summary == ""


@pytest.mark.anyio
async def test_a_sentence_whose_check_was_cancelled_is_late_and_not_left_out() -> None:
    readers: asyncio.Task[checker.Readers] = asyncio.ensure_future(asyncio.Event().wait())  # type: ignore[arg-type]
    answer = checker.AnswerCheck(readers)
    answer.add(f"{TRUE}\n\n")
    await asyncio.sleep(0)
    readers.cancel()
    assert [sentence.text for sentence in (await answer.finish(60)).late] == [TRUE]
