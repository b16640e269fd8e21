from __future__ import annotations

import json
import threading
from typing import Any

import httpx2
import pytest

from service.proxy.conftest import ANSWER, BRIDGE, FALSE, TRUE, Start
from support.chat_upstream import STREAM, Asked, Written, chat, chat_stream, chunk, response_object, responses, sse

QUESTION: dict[str, Any] = {"model": "loopback-model", "messages": [{"role": "user", "content": "When was it opened?"}]}
GIVEN = {"redargue": {"contexts": [BRIDGE]}}


def post(url: str, body: dict[str, Any], path: str = "/v1/chat/completions", **headers: str) -> httpx2.Response:
    return httpx2.post(f"{url}{path}", json=body, headers=headers, timeout=120)


def chunks(response: httpx2.Response) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in response.text.split("\n") if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def content(chunks: list[dict[str, Any]], index: int = 0) -> str:
    choices = [choice for chunk in chunks for choice in chunk["choices"] if choice["index"] == index]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


def test_a_stream_passes_and_its_last_chunk_has_the_verdicts_once(start: Start) -> None:
    running = start(chat(ANSWER))
    response = post(running.url, {**QUESTION, **GIVEN, "stream": True})
    received = chunks(response)
    assert content(received) == ANSWER
    told = [choice for chunk in received for choice in chunk["choices"] if "redargue" in choice["delta"]]
    (last,) = told
    assert last["finish_reason"] == "stop"
    block = last["delta"]["redargue"]
    assert [ANSWER[claim["start"] : claim["end"]] for claim in block["claims"]] == [TRUE, FALSE]
    assert [claim["meaning"] for claim in block["claims"]] == ["supported", "refuted"]
    assert (block["outcome"], block["offsets"], block["reason"]) == ("non_factual", "code_point", "")
    assert block["check"] == response.headers["x-redargue-check"]
    assert "redargue" not in running.upstream.asked[0].body
    assert running.proxy.tally.answers["/chat/completions", "annotate", "non_factual"] == 1


@pytest.mark.slow
def test_the_verdicts_count_the_documents_that_were_not_read(start: Start) -> None:
    results = [{"role": "tool", "content": f"Bridge {number} is closed."} for number in range(60)]
    body = {**QUESTION, "messages": [*results, *QUESTION["messages"]], **GIVEN}
    received = post(start(chat(ANSWER)).url, body).json()
    block = received["choices"][0]["message"]["redargue"]
    assert (block["outcome"], block["unread_contexts"]) == ("non_factual", {"left_out": 11})


@pytest.mark.parametrize("stream", [True, False])
def test_mode_off_passes_every_byte(start: Start, stream: bool) -> None:
    pieces = [b": hello\r\n\r\n", b"data: {not json\n\n", *chat_stream("Grüße ☃"), b"data: late"]
    running = start(lambda asked: Written(pieces, content_type=STREAM, headers={"x-request-id": "req_1"}))
    raw = b'{ "model": "m",  "messages": [], "x": 1.50, "stream": true }'
    response = httpx2.post(
        f"{running.url}/v1/chat/completions", content=raw, headers={"x-redargue-mode": "off"}, timeout=120
    )
    assert response.content == b"".join(pieces)
    assert response.headers["x-request-id"] == "req_1"
    assert running.upstream.asked[0].raw == raw


def test_text_arrives_before_the_upstream_has_ended(start: Start) -> None:
    gate = threading.Event()
    pieces = chat_stream(ANSWER)
    running = start(lambda asked: Written(pieces, content_type=STREAM, gates={len(pieces) - 2: gate}))
    with httpx2.stream(
        "POST", f"{running.url}/v1/chat/completions", json={**QUESTION, **GIVEN, "stream": True}, timeout=120
    ) as response:
        received = b""
        for piece in response.iter_raw():
            received += piece
            if received.count(b"data: ") == len(pieces) - 2:
                gate.set()
    assert b"".join(pieces[:-2]) == received[: sum(map(len, pieces[:-2]))]
    assert received.endswith(b"data: [DONE]\n\n")


def test_a_character_cut_in_two_by_deltas_stays_whole_and_offsets_count_it_once(start: Start) -> None:
    pieces = [
        chunk(0, {"role": "assistant", "content": ""}),
        sse('{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":'
            '[{"index":0,"delta":{"content":"\\ud83c"},"finish_reason":null}]}'),
        sse('{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":'
            '[{"index":0,"delta":{"content":"\\udf09 "},"finish_reason":null}]}'),
        chunk(0, {"content": FALSE}),
        chunk(0, {}, "stop"),
        sse("[DONE]"),
    ]  # fmt: skip
    whole = b"".join(pieces)
    cut = [whole[at : at + 7] for at in range(0, len(whole), 7)]
    running = start(lambda asked: Written(cut, content_type=STREAM))
    block = chunks(post(running.url, {**QUESTION, **GIVEN, "stream": True}))[-1]["choices"][0]["delta"]["redargue"]
    (claim,) = block["claims"]
    assert f"🌉 {FALSE}"[claim["start"] : claim["end"]].endswith(FALSE)


def test_calls_of_tools_pass_and_are_not_checkable(start: Start) -> None:
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": ""}}
    pieces = [
        chunk(0, {"role": "assistant", "content": None, "tool_calls": [call]}),
        chunk(0, {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}),
        chunk(0, {}, "tool_calls"),
        sse("[DONE]"),
    ]
    running = start(lambda asked: Written(pieces, content_type=STREAM))
    response = post(running.url, {**QUESTION, **GIVEN, "stream": True})
    assert response.content.startswith(b"".join(pieces[:2]))
    last = chunks(response)[-1]["choices"][0]
    assert last["finish_reason"] == "tool_calls"
    assert (last["delta"]["redargue"]["outcome"], last["delta"]["redargue"]["reason"]) == ("not_checkable", "no_text")


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
AUDIO = {"id": "audio_1", "data": "AAAA", "expires_at": 1, "transcript": FALSE}
REFUSAL = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
           "content": [{"type": "refusal", "refusal": "I cannot."}]}  # fmt: skip
ODD: dict[str, tuple[dict[str, Any], str, str]] = {  # a message, the outcome, the reason
    "text in parts": ({"content": [{"type": "text", "text": FALSE}]}, "non_factual", ""),
    "a picture beside a true text": ({"content": [{"type": "text", "text": TRUE}, PICTURE]}, "unchecked", "not_read"),
    "a picture beside a false text": ({"content": FALSE, "images": [PICTURE]}, "non_factual", "not_read"),
    "sound": ({"content": None, "audio": AUDIO}, "unchecked", "not_read"),
    "a refusal": ({"content": None, "refusal": "I cannot."}, "unchecked", "not_read"),
    "nothing": ({"content": ""}, "not_checkable", "no_text"),
    "null": ({"content": None}, "not_checkable", "no_text"),
    "a call of the old kind": (
        {"content": None, "function_call": {"name": "f", "arguments": "{}"}},
        "not_checkable",
        "no_text",
    ),
    "reasoning": ({"content": TRUE, "reasoning_content": FALSE}, "factual", ""),
}


@pytest.mark.parametrize("stream", [True, False])
def test_what_is_not_text_passes_and_is_not_taken_for_checked(start: Start, stream: bool) -> None:
    sent: list[bytes] = []
    running = start(lambda asked: Written(sent, content_type=STREAM if stream else "application/json"))
    logprobs: dict[str, Any] = {
        "content": [{"token": "T", "logprob": -0.1, "bytes": None, "top_logprobs": []}],
        "refusal": None,
    }
    for name, (message, outcome, reason) in ODD.items():
        odd = {"role": "assistant", **message}
        choice = {"index": 0, "message": odd, "logprobs": logprobs, "finish_reason": "stop"}
        whole = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        pieces = [chunk(0, odd), chunk(0, {}, "stop"), sse("[DONE]")]
        sent[:] = pieces if stream else [json.dumps(whole).encode()]
        response = post(running.url, {**QUESTION, **GIVEN, "stream": stream})
        if stream:
            assert response.content.startswith(pieces[0]), name
            block = chunks(response)[-1]["choices"][0]["delta"]["redargue"]
        else:
            received = response.json()["choices"][0]
            block = received["message"].pop("redargue")
            received["message"].pop("annotations")
            assert received == choice, name
        assert (block["outcome"], block["reason"]) == (outcome, reason), name
        closed = post(running.url, {**QUESTION, "redargue": {"contexts": [BRIDGE], "on_failure": "closed"}})
        assert closed.status_code == (503 if reason == "not_read" else 200), name
        assert (FALSE in closed.text) == (outcome == "non_factual" and closed.status_code == 200), name


@pytest.mark.parametrize("stream", [True, False])
def test_a_withheld_answer_is_not_told_by_its_reasoning_sound_or_tokens(start: Start, stream: bool) -> None:
    message = {"role": "assistant", "content": FALSE, "reasoning_content": FALSE, "audio": AUDIO}
    choice = {"index": 0, "message": message, "logprobs": {"content": [{"token": FALSE}]}, "finish_reason": "stop"}
    part = {"index": 0, "delta": message, "logprobs": choice["logprobs"], "finish_reason": None}
    pieces = [sse({"id": "c", "choices": [part]}), chunk(0, {}, "stop"), sse("[DONE]")]
    whole = [json.dumps({"id": "c", "choices": [choice]}).encode()]
    running = start(
        lambda asked: Written(pieces if stream else whole, content_type=STREAM if stream else "application/json"),
        mode="block", block_message="Withheld.",
    )  # fmt: skip
    response = post(running.url, {**QUESTION, **GIVEN, "stream": stream})
    assert "Withheld." in response.text
    assert "1998" not in response.text


@pytest.mark.parametrize("stream", [True, False])
def test_a_refusal_in_a_response_is_not_taken_for_checked(start: Start, stream: bool) -> None:
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    refused: dict[str, Any] = {"id": "resp_1", "object": "response", "output": [REFUSAL]}
    events: list[dict[str, Any]] = [
        {"type": "response.refusal.delta", **place, "delta": "I cannot."},
        {"type": "response.refusal.done", **place, "refusal": "I cannot."},
        {"type": "response.content_part.done", **place, "part": REFUSAL["content"][0]},
        {"type": "response.completed", "response": refused},
    ]
    streamed = [sse(event, event["type"]) for event in events]
    pieces = streamed if stream else [json.dumps(refused).encode()]
    running = start(lambda asked: Written(pieces, content_type=STREAM if stream else "application/json"))
    response = post(running.url, {"model": "m", "input": "?", "stream": stream, **GIVEN}, "/v1/responses")
    assert response.text.count('"outcome":"unchecked"') == (2 if stream else 1)
    assert response.text.count('"reason":"not_read"') == (2 if stream else 1)
    assert running.proxy.tally.unchecked["/responses", "not_read"] == 1


def items(text: str) -> list[dict[str, Any]]:
    """The output of a response: reasoning, a call, and a message."""
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
    return [
        {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": text}]},
        {"id": "fc_1", "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "status": "completed"},
        {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]},
    ]


def items_stream(text: str) -> list[bytes]:
    output, summary = items(text), {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
    place: dict[str, Any] = {"item_id": "msg_1", "output_index": 2, "content_index": 0}
    empty = {**output[2]["content"][0], "text": ""}
    token = [{"token": text, "logprob": -0.1, "bytes": [], "top_logprobs": []}]
    whole = {**response_object("", "in_progress"), "output": output, "status": "completed"}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": response_object("", "in_progress")},
        {"type": "response.output_item.added", "output_index": 0, "item": {**output[0], "summary": []}},
        {"type": "response.reasoning_summary_part.added", **summary, "part": {"type": "summary_text", "text": ""}},
        {"type": "response.reasoning_summary_text.delta", **summary, "delta": text},
        {"type": "response.reasoning_summary_text.done", **summary, "text": text},
        {"type": "response.output_item.done", "output_index": 0, "item": output[0]},
        {"type": "response.output_item.added", "output_index": 1, "item": {**output[1], "arguments": ""}},
        {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 1, "delta": "{}"},
        {"type": "response.output_item.done", "output_index": 1, "item": output[1]},
        {"type": "response.output_item.added", "output_index": 2, "item": {**output[2], "content": []}},
        {"type": "response.content_part.added", **place, "part": empty},
        {"type": "response.output_text.delta", **place, "delta": text, "logprobs": token},
        {"type": "response.output_text.done", **place, "text": text, "logprobs": token},
        {"type": "response.content_part.done", **place, "part": output[2]["content"][0]},
        {"type": "response.output_item.done", "output_index": 2, "item": output[2]},
        {"type": "response.completed", "response": whole},
    ]
    return [sse({**event, "sequence_number": at}, event["type"]) for at, event in enumerate(events)]


def test_reasoning_and_calls_in_a_response_pass_and_tell_nothing_of_a_withheld_answer(start: Start) -> None:
    running = start(lambda asked: Written(items_stream(FALSE), content_type=STREAM), block_message="Withheld.")
    body = {"model": "m", "input": "When?", "stream": True, **GIVEN}
    sent = items_stream(FALSE)
    annotated = post(running.url, body, "/v1/responses").content
    changed = [piece.split(b"\n")[0] for piece in sent if piece not in annotated]
    assert changed == [
        f"event: response.{name}".encode()
        for name in ("output_text.done", "content_part.done", "output_item.done", "completed")
    ]
    assert annotated.count(b'"outcome":"non_factual"') == 3
    blocked = post(running.url, body, "/v1/responses", **{"x-redargue-mode": "block"}).text
    assert "1998" not in blocked
    events = [json.loads(line[6:]) for line in blocked.split("\n") if line.startswith("data: ")]
    assert json.loads(sent[7].split(b"data: ")[1]) in events
    whole = start(lambda asked: Written([json.dumps({"id": "resp_1", "output": items(FALSE)}).encode()]), mode="block")
    assert "1998" not in post(whole.url, {"model": "m", "input": "When?", **GIVEN}, "/v1/responses").text


@pytest.mark.parametrize("kept", [-1, -2, -3])
def test_a_stream_without_its_end_has_verdicts_and_an_error_where_its_text_may_go_on(start: Start, kept: int) -> None:
    pieces = chat_stream(ANSWER)[:kept]
    running = start(lambda asked: Written(pieces, content_type=STREAM))
    response = post(running.url, {**QUESTION, **GIVEN, "stream": True})
    assert all(piece in response.content for piece in pieces if b'"stop"' not in piece)
    assert response.text.count('"redargue":{') == 1
    assert '"outcome":"non_factual"' in response.text or kept == -3
    assert ("upstream_broke_off" in response.text) == (kept < -1)


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"output": [{"type": "function_call", "name": "f"}]}, ""),
        ({"error": None}, "outcome=unchecked"),
        ({}, "outcome=unchecked"),
    ],
)
def test_a_response_without_an_answer_passes_and_one_of_another_shape_is_unchecked(
    start: Start, item: dict[str, Any], reason: str
) -> None:
    raw = json.dumps({"id": "resp_1", **item}).encode()
    running = start(lambda asked: Written([raw]))
    response = post(running.url, {"model": "m", "input": "?", **GIVEN}, "/v1/responses")
    assert response.content == raw
    assert reason in response.headers.get("x-redargue-check", "")
    assert ("x-redargue-check" in response.headers) == bool(reason)


def test_choices_are_checked_by_index_and_the_usage_chunk_comes_last(start: Start) -> None:
    running = start(chat(TRUE, FALSE, usage=True))
    received = chunks(post(running.url, {**QUESTION, **GIVEN, "stream": True, "n": 2}))
    outcomes = {
        choice["index"]: choice["delta"]["redargue"]["outcome"]
        for chunk in received
        for choice in chunk["choices"]
        if "redargue" in choice["delta"]
    }
    assert outcomes == {0: "factual", 1: "non_factual"}
    assert received[-1]["choices"] == []
    assert received[-1]["usage"]["total_tokens"] == 46


def test_a_finish_chunk_with_text_is_sent_as_two_so_that_its_text_does_not_wait(start: Start) -> None:
    gate = threading.Event()
    pieces = [chunk(0, {"content": FALSE}, "stop", usage={"total_tokens": 1}), sse("[DONE]")]
    running = start(lambda asked: Written(pieces, content_type=STREAM, gates={1: gate}))
    with httpx2.stream(
        "POST", f"{running.url}/v1/chat/completions", json={**QUESTION, **GIVEN, "stream": True}, timeout=120
    ) as response:
        first = next(response.iter_raw())
        gate.set()
    assert json.loads(first.split(b"\n")[0].removeprefix(b"data: "))["choices"][0]["finish_reason"] is None
    assert FALSE.encode() in first


def test_keys_that_the_upstream_sent_are_not_sent_twice(start: Start) -> None:
    cited = {
        "type": "url_citation",
        "url_citation": {"start_index": 0, "end_index": 3, "title": "t", "url": "http://x"},
    }
    pieces = [chunk(0, {"content": FALSE}), chunk(0, {"annotations": [cited]}), chunk(0, {}, "stop"), sse("[DONE]")]
    running = start(lambda asked: Written(pieces, content_type=STREAM))
    context = {"text": BRIDGE, "url": "https://bridges.example/millau", "title": "Bridges"}
    received = chunks(post(running.url, {**QUESTION, "stream": True, "redargue": {"contexts": [context]}}))
    deltas = [choice["delta"] for chunk in received for choice in chunk["choices"]]
    assert sum("annotations" in delta for delta in deltas) == 1
    assert sum("redargue" in delta for delta in deltas) == 1


def test_sources_on_the_web_become_citations(start: Start) -> None:
    running = start(chat(FALSE))
    context = {"text": BRIDGE, "url": "https://bridges.example/millau", "title": "Bridges"}
    body = {**QUESTION, "redargue": {"contexts": [context]}}
    message = post(running.url, body).json()["choices"][0]["message"]
    (citation,) = {json.dumps(each["url_citation"]) for each in message["annotations"]}
    assert json.loads(citation) == {
        "start_index": 0, "end_index": len(FALSE), "title": "Bridges", "url": "https://bridges.example/millau"
    }  # fmt: skip


def test_an_answer_that_is_not_streamed_has_its_verdicts_on_the_message(start: Start) -> None:
    running = start(chat(ANSWER))
    response = post(running.url, {**QUESTION, **GIVEN})
    message = response.json()["choices"][0]["message"]
    assert message["content"] == ANSWER
    assert [claim["meaning"] for claim in message["redargue"]["claims"]] == ["supported", "refuted"]
    assert response.headers["x-redargue-check"] == f"{message['redargue']['check']}; outcome=non_factual"


@pytest.mark.parametrize("stream", [True, False])
def test_responses_have_their_verdicts_on_the_part(start: Start, stream: bool) -> None:
    running = start(responses(ANSWER))
    body = {"model": "m", "input": "When?", "stream": stream, **GIVEN}
    response = post(running.url, body, "/v1/responses")
    if stream:
        events = [json.loads(line[6:]) for line in response.text.split("\n") if line.startswith("data: ")]
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        assert all(f"event: {event['type']}\n" in response.text for event in events)
        final = events[-1]["response"]
    else:
        final = response.json()
    (part,) = final["output"][0]["content"]
    assert part["text"] == ANSWER
    assert part["redargue"]["outcome"] == "non_factual"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
def test_footnotes_follow_the_text(start: Start, stream: bool, path: str) -> None:
    running = start(chat(ANSWER))
    given = {"redargue": {"contexts": [BRIDGE], "mode": "footnote"}}
    body = {"model": "m", "stream": stream, **given}
    body |= {"input": "When?"} if path.endswith("responses") else {"messages": QUESTION["messages"]}
    response = post(running.url, body, path)
    if path.endswith("responses"):
        events = [json.loads(line[6:]) for line in response.text.split("\n") if line.startswith("data: ")]
        if stream:
            assert [event["sequence_number"] for event in events] == list(range(len(events)))
            deltas = "".join(event.get("delta", "") for event in events)
            assert deltas == events[-1]["response"]["output"][0]["content"][0]["text"]
        final = events[-1]["response"] if stream else response.json()
        text = final["output"][0]["content"][0]["text"]
    else:
        text = content(chunks(response)) if stream else response.json()["choices"][0]["message"]["content"]
    assert text.startswith(f"{ANSWER}\n\nChecked by redargue:\n[1] refuted: “The Millau Viaduct")
    assert "December 2004" in text.partition("[1]")[2]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
def test_block_sends_a_sentence_instead_and_no_word_of_the_answer(start: Start, stream: bool, path: str) -> None:
    running = start(chat(ANSWER), mode="block", block_message="Withheld.")
    body = {"model": "m", "stream": stream, **GIVEN}
    body |= {"input": "When?"} if path.endswith("responses") else {"messages": QUESTION["messages"]}
    response = post(running.url, body, path)
    assert response.status_code == 200
    assert "Withheld." in response.text
    assert "Viaduct was" not in response.text
    assert '"start":0,"end":0,"claim":"","label":"REFUTES"' in response.text
    assert running.proxy.tally.withheld[path.removeprefix("/v1"), "refuted"] == 1


@pytest.mark.parametrize("stream", [True, False])
def test_block_as_an_error_comes_before_the_first_byte(start: Start, stream: bool) -> None:
    running = start(chat(ANSWER), mode="block", block_as="error", block_message="Withheld.")
    response = post(running.url, {**QUESTION, **GIVEN, "stream": stream})
    assert response.status_code == 400
    error = response.json()["error"]
    assert {each["claim"] for each in error.pop("redargue")["claims"]} == {""}
    assert error == {"message": "Withheld.", "type": "answer_withheld", "param": None, "code": "refuted"}


@pytest.mark.parametrize("stream", [True, False])
def test_block_lets_a_supported_answer_pass(start: Start, stream: bool) -> None:
    running = start(chat(TRUE), mode="block")
    response = post(running.url, {**QUESTION, **GIVEN, "stream": stream})
    text = content(chunks(response)) if stream else response.json()["choices"][0]["message"]["content"]
    assert text == TRUE


@pytest.mark.parametrize("stream", [True, False])
def test_revise_asks_again_with_the_evidence_and_keeps_the_draft_and_the_difference(start: Start, stream: bool) -> None:
    def answer(asked: Asked) -> Written:
        revising = len(asked.body["messages"]) > 1
        return chat(TRUE if revising else ANSWER)(asked)

    running = start(answer)
    body = {**QUESTION, "stream": stream, "redargue": {"contexts": [BRIDGE], "mode": "revise"}}
    response = post(running.url, body)
    if stream:
        received = chunks(response)
        text, block = content(received), received[-1]["choices"][0]["delta"]["redargue"]
    else:
        message = response.json()["choices"][0]["message"]
        text, block = message["content"], message["redargue"]
    assert text == TRUE
    assert block["outcome"] == "factual"
    assert block["revision"]["draft"] == ANSWER
    assert f"-{FALSE}" in block["revision"]["diff"]
    assert block["revision"]["rounds"] == 1
    asked = running.upstream.asked[1].body
    assert "stream" not in asked
    assert "<data>" in asked["messages"][-1]["content"]
    assert FALSE in asked["messages"][-1]["content"]
