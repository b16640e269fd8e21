"""What the proxy cannot read, or does not know, is never taken for checked, and ``closed`` does not send it."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx2
import pytest

from redargue.service.proxy.dialect import EventSplitter
from redargue.service.proxy.shapes import read_object, strings
from service.proxy.conftest import BRIDGE, FALSE, TRUE, Start
from service.proxy.test_stream import QUESTION, content
from support.chat_upstream import (
    HEAD,
    STREAM,
    Written,
    chat_stream,
    chat_whole,
    chunk,
    response_object,
    responses_stream,
    sse,
)

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
DONE = sse("[DONE]")
END = [chunk(0, {}, "stop"), DONE]
DEEP = "[" * 1_500 + "]" * 1_500
TOOLS = [{"type": "function", "function": {"name": "send", "parameters": {"type": "object"}}}]


def ask(url: str, path: str, *, stream: bool, mode: str, closed: bool, **more: Any) -> httpx2.Response:
    given = {"contexts": [BRIDGE], "mode": mode, "on_failure": "closed" if closed else "open"}
    asked = QUESTION if path == CHAT else {"model": "m", "input": "When?"}
    return httpx2.post(f"{url}{path}", json={**asked, **more, "stream": stream, "redargue": given}, timeout=120)


def call(arguments: object) -> dict[str, Any]:
    function = {"name": "send", "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)}
    return {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}


BESIDE_THE_CONTENT: dict[str, dict[str, Any]] = {  # of a message or delta
    "an object as content": {"content": {"text": FALSE}},
    "a value in a text": {"content": [{"type": "text", "text": {"value": FALSE}}]},
    "a list in a content": {"content": [[FALSE]]},
    "a number as content": {"content": 1998},
    "a name in other letters": {"content": TRUE, "Content": FALSE},
    "a field that nobody knows": {"content": TRUE, "note": FALSE},
    "names of a field that nobody knows": {"content": TRUE, "notes": {FALSE: 1}},
    "a role": {"role": FALSE, "content": TRUE},
    "a refusal": {"refusal": FALSE, "content": TRUE},
    "sound": {"content": TRUE, "audio": {"id": "a", "data": "", "expires_at": 1, "transcript": FALSE}},
    "a call that nobody awaits": {"content": None, **call({"text": "Opened 1998"})},
    "the name of a function": {"content": None, "function_call": {"name": FALSE, "arguments": "{}"}},
    "parts that cut a sentence": {"content": [{"type": "text", "text": part} for part in (TRUE[:20], TRUE[20:])]},
}
BESIDE_THE_MESSAGE: dict[str, dict[str, Any]] = {  # of a choice
    "text": {"text": FALSE},
    "a finish reason": {"finish_reason": FALSE},
    "a filter": {"content_filter_results": {"hate": {"severity": FALSE}}},
}


def chat_cases(stream: bool) -> dict[str, list[bytes]]:
    """Answers of Chat Completions of which not all can be read."""
    cases: dict[str, list[bytes]] = {}
    first = chunk(0, {"content": f"{TRUE} "})
    for name, fields in BESIDE_THE_CONTENT.items():
        message = {"role": "assistant", **fields}
        whole = {**HEAD, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        cases[name] = [chunk(0, message), *END] if stream else [json.dumps(whole).encode()]
    other: dict[str, Any] = {"message" if stream else "delta": {"content": FALSE}}
    for name, fields in {**BESIDE_THE_MESSAGE, "a message in a chunk, a delta in an answer": other}.items():
        known = {"index": 0, "delta" if stream else "message": {"role": "assistant", "content": TRUE}}
        choice = {**HEAD, "choices": [{**known, "finish_reason": None if stream else "stop", **fields}]}
        cases[name] = [sse(choice), *END] if stream else [json.dumps(choice).encode()]
    top: dict[str, Any] = {"an output_text": {"output_text": FALSE}, "a warning": {"warning": {"text": FALSE}}}
    for name, fields in top.items():
        whole = {**json.loads(chat_whole(TRUE)), **fields}
        cases[name] = [chunk(0, {"content": TRUE}, **fields), *END] if stream else [json.dumps(whole).encode()]
    if stream:
        odd = chunk(0, {"content": FALSE})
        cases |= {
            "a choice that was not asked for": [first, chunk(1, {"content": FALSE}), *END],
            "text after the end": [*chat_stream(TRUE), odd],
            "a name twice": [first, odd.replace(b'"content"', b'"content": "", "content"'), *END],
            "a field that is none of an event's": [first, b"\xef\xbb\xbf" + odd, *END],
            "letters that are not UTF-8": [first, odd.replace(b"Viaduct", b"Viaduct\xff"), *END],
        }
        for name, value in {"many digits": "9" * 5_000, "many levels": DEEP, "NaN": "NaN", "1e999": "1e999"}.items():
            cases[name] = [first, odd.replace(b'"index"', f'"x": {value}, "index"'.encode()), *END]
        for name, line in {"a list": f'["{FALSE}"]', "a string": f'"{FALSE}"', "no JSON": f"{{{FALSE}"}.items():
            cases[name] = [first, sse(line), *END]
    return cases


def responses_cases(stream: bool) -> dict[str, list[bytes]]:
    """Answers of Responses of which not all can be read."""
    message = response_object(TRUE)["output"][0]
    items: dict[str, dict[str, Any]] = {
        "an item of a new type": {"type": "novelty", "id": "n_1", "text": FALSE},
        "the output of a tool": {"type": "mcp_call", "id": "m", "name": "f", "arguments": "{}", "output": FALSE},
        "a part of a new type": {**message, "content": [{"type": "novel_text", "text": FALSE}]},
        "a string as a part": {**message, "content": [FALSE]},
    }
    wholes = {name: {**response_object(TRUE), "output": [message, item]} for name, item in items.items()}
    wholes["another output_text"] = {**response_object(TRUE), "output_text": FALSE}
    wholes["instructions that the request has not"] = {**response_object(TRUE), "instructions": FALSE}
    wholes["an error"] = {**response_object(TRUE), "error": {"code": "server_error", "message": FALSE}}
    parts = [{**message["content"][0], "text": part} for part in (TRUE[:20], TRUE[20:])]
    wholes["parts that cut a sentence"] = {**response_object(TRUE), "output": [{**message, "content": parts}]}
    if not stream:
        return {name: [json.dumps(whole).encode()] for name, whole in wholes.items()}
    events = responses_stream(TRUE)
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    added = {
        "text in a part that is added": {
            "type": "response.content_part.added",
            **place,
            "part": {"type": "output_text", "text": FALSE, "annotations": []},
        },
        "text in an item that is added": {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": response_object(FALSE)["output"][0],
        },
        "text in a response that begins": {"type": "response.in_progress", "response": response_object(FALSE)},
        "a transcript": {"type": "response.audio.transcript.delta", "delta": FALSE},
        "an event of a new type": {"type": "response.novelty", "text": FALSE},
        "an event without a type": {"delta": FALSE},
        "a delta of another part between": {
            "type": "response.output_text.delta", **place, "content_index": 1, "delta": "x"
        },
    }  # fmt: skip
    ends = {
        name: [*events[:-1], sse({"type": "response.completed", "response": whole})] for name, whole in wholes.items()
    }
    return ends | {name: [*events[:6], sse(event), *events[6:]] for name, event in added.items()}


@pytest.mark.slow
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_what_is_not_read_is_unchecked_and_not_sent_where_that_is_closed(start: Start, path: str, stream: bool) -> None:
    sent: list[bytes] = []
    running = start(lambda asked: Written(sent, content_type=STREAM if stream else "application/json"))
    for name, pieces in (chat_cases(stream) if path == CHAT else responses_cases(stream)).items():
        sent[:] = pieces
        closed = ask(running.url, path, stream=stream, mode="block", closed=True)
        assert closed.status_code == 503, name
        assert closed.json()["error"]["code"] in ("not_read", "unreadable_answer"), name
        assert FALSE not in closed.text, name
        running.proxy.tally.answers.clear()
        ask(running.url, path, stream=stream, mode="annotate", closed=False)
        counted = {outcome for _, _, outcome in running.proxy.tally.answers}
        assert counted & {"unchecked", "non_factual"}, name


@pytest.mark.parametrize("ends", ["\n\r", "\r\r\n", "\r\n\r", "\n\r\n", "\r\n\n", "\n\n\n\n"])
def test_an_event_ends_at_any_two_line_ends(start: Start, ends: str) -> None:
    pieces = [piece.replace(b"\n\n", ends.encode()) for piece in [chunk(0, {"content": FALSE}), *END]]
    running = start(lambda asked: Written([b"".join(pieces)], content_type=STREAM))
    response = ask(running.url, CHAT, stream=True, mode="block", closed=True)
    assert '"outcome":"non_factual"' in response.text
    assert FALSE not in response.text


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
@pytest.mark.parametrize("stream", [True, False])
def test_closed_leaves_out_what_is_beside_an_answer_and_sends_the_answer(start: Start, stream: bool, path: str) -> None:
    token = [{"token": FALSE, "logprob": -0.1, "bytes": [], "top_logprobs": []}]
    citation = {"type": "url_citation", "start_index": 0, "end_index": 1, "url": "https://b.example/", "title": FALSE}
    thought = {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": FALSE}]}
    extra = {"reasoning": FALSE, "reasoning_content": FALSE, "annotations": [{**citation, "url_citation": citation}]}
    whole: dict[str, Any]
    if path == CHAT:
        choice = {"index": 0, "logprobs": {"content": token, "refusal": None}}
        whole = {**HEAD, "choices": [{**choice, "message": {"role": "assistant", "content": TRUE, **extra}}]}
        events = [sse({**HEAD, "choices": [{**choice, "delta": {"content": TRUE, **extra}}]}), *END]
    else:
        whole = response_object(TRUE)
        part = whole["output"][0]["content"][0] | {"annotations": [citation], "logprobs": token}
        whole |= {"output": [{**whole["output"][0], "content": [part]}, thought], "output_text": TRUE}
        delta = {"type": "response.reasoning_summary_text.delta", "item_id": "rs_1", "output_index": 1, "delta": FALSE}
        begin, *others = responses_stream(TRUE)[:-1]
        events = [begin, sse(delta), *others, sse({"type": "response.completed", "response": whole})]
    pieces = events if stream else [json.dumps(whole).encode()]
    running = start(lambda asked: Written(pieces, content_type=STREAM if stream else "application/json"))
    closed = ask(running.url, path, stream=stream, mode="block", closed=True)
    assert closed.status_code == 200, closed.text
    assert FALSE not in closed.text
    assert TRUE in closed.text
    assert '"outcome":"factual"' in closed.text
    opened = ask(running.url, path, stream=stream, mode="annotate", closed=False)
    assert FALSE in opened.text
    assert '"outcome":"factual"' in opened.text


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ({"query": "When was the Millau Viaduct opened?"}, 200),
        ({"query": "Millau Viaduct opening date", "limit": 3}, 200),
        ({"path": "/home/user/My Documents/report of 2004.txt"}, 200),
        ({"sql": "SELECT name FROM bridges WHERE country = 'France' ORDER BY year DESC"}, 200),
        ("", 200),
        ({"body": FALSE}, 503),
        ({"body": "米洛高架桥于1998年开通。"}, 503),
        (FALSE, 503),
        (f'{{"body": "{FALSE}", "body": ""}}', 503),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_closed_lets_calls_of_the_requests_tools_pass_unless_they_have_sentences(
    start: Start, arguments: object, status: int, stream: bool
) -> None:
    message = {"role": "assistant", "content": None, **call(arguments)}
    text = message["tool_calls"][0]["function"]["arguments"]
    begun, rest = call(text[:9])["tool_calls"], [{"index": 0, "function": {"arguments": text[9:]}}]
    pieces = [
        chunk(0, {"role": "assistant", "content": None, "tool_calls": begun}),
        chunk(0, {"tool_calls": rest}),
        chunk(0, {}, "tool_calls"),
        DONE,
    ]
    whole = {**HEAD, "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    sent = pieces if stream else [json.dumps(whole).encode()]
    running = start(lambda asked: Written(sent, content_type=STREAM if stream else "application/json"))
    response = ask(running.url, CHAT, stream=stream, mode="block", closed=True, tools=TOOLS)
    assert response.status_code == status, response.text
    if status == 503:
        assert "function.arguments" in response.json()["error"]["message"]
    elif stream:
        lines = [json.loads(line[6:]) for line in response.text.split("\n") if line.startswith("data: {")]
        deltas = [choice["delta"] for line in lines for choice in line["choices"]]
        calls = [each["function"]["arguments"] for delta in deltas for each in delta.get("tool_calls", [])]
        assert "".join(calls) == text
    else:
        assert response.json()["choices"][0]["message"]["tool_calls"] == message["tool_calls"]


SAFE = {"hate": {"filtered": False, "severity": "safe"}, "jailbreak": {"filtered": False, "detected": False}}
SERVERS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {  # of an answer, a choice, a message
    "OpenAI": (
        {"service_tier": "default", "system_fingerprint": "fp_44709d6fcb", "obfuscation": "aX9k"},
        {"logprobs": None},
        {"refusal": None, "annotations": []},
    ),
    "Azure": (
        {"prompt_filter_results": [{"prompt_index": 0, "content_filter_results": SAFE}], "model": "gpt-5-2026-01-01"},
        {"content_filter_results": SAFE},
        {"refusal": None},
    ),
    "vLLM": (
        {"prompt_logprobs": None, "kv_transfer_params": None, "service_tier": None, "prompt_token_ids": None},
        {"stop_reason": "\n\nUser:", "token_ids": None, "logprobs": None},
        {"reasoning_content": "The user asks for a date.", "tool_calls": [], "function_call": None, "audio": None},
    ),
    "Ollama": ({"system_fingerprint": "fp_ollama", "model": "llama3.2:3b"}, {}, {"reasoning": "A date."}),
    "llama.cpp": (
        {"timings": {"prompt_n": 20, "predicted_per_second": 41.5}, "system_fingerprint": "b6000", "model": "My model"},
        {},
        {"reasoning_content": ""},
    ),
    "OpenRouter": (
        {"provider": "Google AI Studio", "usage": {"total_tokens": 5, "cost": 0.001, "is_byok": False}},
        {"native_finish_reason": "STOP", "logprobs": None},
        {"reasoning": None, "reasoning_details": [{"type": "reasoning.text", "text": "A date.", "format": "unknown"}]},
    ),
    "Groq": ({"x_groq": {"id": "req_01", "usage": {"total_tokens": 5}}, "usage_breakdown": None}, {}, {}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("closed", [True, False])
def test_supported_answers_of_usual_servers_pass_in_every_mode(start: Start, stream: bool, closed: bool) -> None:
    sent: list[bytes] = []
    running = start(lambda asked: Written(sent, content_type=STREAM if stream else "application/json"))
    for name, (answer, choice, message) in SERVERS.items():
        told = {"role": "assistant", "content": TRUE, **message}
        finished = {"index": 0, "finish_reason": "stop", **choice}
        begun = {**HEAD, **answer, "choices": [{"index": 0, "delta": told, "finish_reason": None}]}
        ended = {**HEAD, **answer, "choices": [{**finished, "delta": {}}]}
        whole = {**HEAD, **answer, "choices": [{**finished, "message": told}]}
        sent[:] = [b": ping\n\n", sse(begun), sse(ended), DONE] if stream else [json.dumps(whole).encode()]
        for mode in ("annotate", "footnote", "revise", "block"):
            more = {"model": answer.get("model", "m"), "stop": ["\n\nUser:"]}
            response = ask(running.url, CHAT, stream=stream, mode=mode, closed=closed, **more)
            assert response.status_code == 200, (name, mode, response.text)
            assert response.text.count('"outcome":"factual"') == 1, (name, mode)
            lines = [json.loads(line[6:]) for line in response.text.split("\n") if line.startswith("data: {")]
            text = content(lines) if stream else response.json()["choices"][0]["message"]["content"]
            assert text == TRUE, (name, mode)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("levels", [300, 500, 600, 700, 820])
def test_deeply_nested_inputs_of_calls_are_read(start: Start, levels: int, stream: bool) -> None:
    sent: list[bytes] = []
    running = start(lambda asked: Written(sent, content_type=STREAM if stream else "application/json"))
    for value, read in (("x", True), (FALSE, False)):
        message = {"role": "assistant", "content": TRUE, **call('{"a":' * levels + json.dumps(value) + "}" * levels)}
        whole = {**HEAD, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        sent[:] = [chunk(0, message), *END] if stream else [json.dumps(whole).encode()]
        response = ask(running.url, CHAT, stream=stream, mode="annotate", closed=False, tools=TOOLS)
        assert response.status_code == 200, response.text
        outcome = '"outcome":"factual","reason":""' if read else '"outcome":"unchecked","reason":"not_read"'
        assert outcome in response.text
        assert not stream or response.text.rstrip().endswith("data: [DONE]")


def test_the_strings_of_a_value_come_in_its_order_however_deep_they_are() -> None:
    value: object = {"a": ["b", {"c": "d"}, ("e", 5)], "f": "g"}
    assert [*strings(value)] == ["a", "f", "b", "c", "d", "e", "g"]
    for _ in range(20_000):
        value = [value, "h"]
    assert [*strings(value)][:8] == ["a", "f", "b", "c", "d", "e", "g", "h"]


@pytest.mark.parametrize("stream", [True, False])
def test_a_response_may_repeat_the_request(start: Start, stream: bool) -> None:
    tools = [{"type": "function", "name": "f", "description": "Looks a bridge up.", "parameters": {"type": "object"}}]
    more = {"instructions": "Answer in one sentence.", "tools": tools, "metadata": {"who knows": "a test of ours"}}
    echoed = {**response_object(TRUE), **more}
    pieces = [*responses_stream(TRUE)[:-1], sse({"type": "response.completed", "response": echoed})]
    written = Written(pieces if stream else [json.dumps(echoed).encode()], content_type=STREAM if stream else "a/json")
    running = start(lambda asked: written)
    response = ask(running.url, RESPONSES, stream=stream, mode="block", closed=True, **more)
    assert response.status_code == 200, response.text
    assert '"outcome":"factual"' in response.text
    assert "Looks a bridge up." in response.text


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["annotate", "block"])
def test_megabytes_of_blank_lines_and_comments_cost_no_more_than_their_bytes(start: Start, mode: str) -> None:
    blank = [b"\n" * 500, b"\r\n" * 250, b":\n\n" * 150]
    pieces = [*(piece for piece in blank for _ in range(2_000)), *chat_stream(FALSE)]
    running = start(lambda asked: Written([b"".join(pieces)], content_type=STREAM))
    began = time.process_time()
    response = ask(running.url, CHAT, stream=True, mode=mode, closed=False)
    assert '"outcome":"non_factual"' in response.text
    assert time.process_time() - began < 20
    began = time.process_time()
    splitter = EventSplitter()
    assert not [event for at in range(0, 3_000_000, 7) for event in splitter.add(b"\n" * 7)]
    assert time.process_time() - began < 20


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "a": 2}', "[]", '"a"', "5", '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}', '{"a": ' + DEEP + "}", "{",
     '{"a": ' + "1" * 5_000 + "}", '{"a": {"b": 1, "b": 1}}', "\ufeff{}"],
)  # fmt: skip
def test_json_that_clients_read_differently_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_object(text)
