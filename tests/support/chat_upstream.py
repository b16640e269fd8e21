"""An OpenAI-compatible upstream on 127.0.0.1 whose answers a test writes chunk by chunk.

``with Upstream(answer) as upstream``: ``answer`` is called with each request and gives a :class:`Written`.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from support.quick_server import QuickServer

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
STREAM = "text/event-stream; charset=utf-8"


@dataclass(frozen=True)
class Asked:
    """A request to the upstream."""

    path: str
    headers: Mapping[str, str]
    raw: bytes
    method: str = "POST"

    @property
    def body(self) -> dict[str, Any]:
        value = json.loads(self.raw)
        assert isinstance(value, dict)
        return value


@dataclass(frozen=True)
class Written:
    """An answer: pieces that are sent one by one; ``gates`` are waited for before the piece of that number.

    ``cut``: the connection closes after the last piece, within the body.
    """

    pieces: Sequence[bytes]
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    gates: Mapping[int, threading.Event] = field(default_factory=dict)
    cut: bool = False


class Upstream(QuickServer):
    """Answers every request with what ``answer`` writes.

    Attributes:
        asked: the requests, in order.
        arrived: set with the first request.
        left: set when a client left before its answer was complete.
    """

    def __init__(self, answer: Callable[[Asked], Written]) -> None:
        super().__init__(self._respond)
        self.answer, self.asked = answer, list[Asked]()
        self.arrived, self.left = threading.Event(), threading.Event()

    async def _respond(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        raw = b""
        while True:
            message = await receive()
            raw += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        asked = Asked(scope["path"], headers, raw, scope["method"])
        self.asked.append(asked)
        self.arrived.set()
        written = self.answer(asked)
        sent = [("content-type", written.content_type), *written.headers.items()]
        if written.cut:
            sent.append(("content-length", str(1 + sum(map(len, written.pieces)))))
        encoded = [(name.encode(), value.encode("latin-1")) for name, value in sent]
        await send({"type": "http.response.start", "status": written.status, "headers": encoded})
        leaving = asyncio.create_task(self._leaving(receive))
        for number, piece in enumerate(written.pieces):
            if gate := written.gates.get(number):
                opened = asyncio.create_task(asyncio.to_thread(gate.wait, 120))
                await asyncio.wait({opened, leaving}, return_when=asyncio.FIRST_COMPLETED)
                if leaving.done():
                    gate.set()
                    await opened
                    return
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        leaving.cancel()
        if written.cut:
            raise ConnectionError("cut, as the test wants it")
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _leaving(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.left.set()


HEAD = {"id": "chatcmpl-7", "object": "chat.completion.chunk", "created": 1763856000, "model": "loopback-model"}
USAGE = {"prompt_tokens": 12, "completion_tokens": 34, "total_tokens": 46}


def sse(payload: object, event: str = "") -> bytes:
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {payload if isinstance(payload, str) else json.dumps(payload)}\n\n".encode()


def chunk(index: int, delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": index, "delta": dict(delta), "logprobs": None, "finish_reason": finish}
    return sse({**HEAD, "system_fingerprint": "fp_1", "choices": [choice], **more})


def chat_stream(*texts: str, size: int = 9, usage: bool = False, finish: str = "stop") -> list[bytes]:
    """The chunks of an answer with one choice for each text; the choices' parts alternate, as OpenAI sends them."""
    more = {"usage": None} if usage else {}
    pieces = [chunk(at, {"role": "assistant", "content": "", "refusal": None}, **more) for at in range(len(texts))]
    rows = [[text[start : start + size] for start in range(0, len(text), size)] for text in texts]
    for place in range(max(map(len, rows), default=0)):
        pieces += [chunk(at, {"content": row[place]}, **more) for at, row in enumerate(rows) if place < len(row)]
    pieces += [chunk(at, {}, finish, **more) for at in range(len(texts))]
    if usage:
        pieces.append(sse({**HEAD, "choices": [], "usage": USAGE}))
    return [*pieces, sse("[DONE]")]


def chat_whole(*texts: str) -> bytes:
    choices = [
        {"index": at, "message": {"role": "assistant", "content": text, "refusal": None}, "logprobs": None,
         "finish_reason": "stop"}
        for at, text in enumerate(texts)
    ]  # fmt: skip
    return json.dumps({**HEAD, "object": "chat.completion", "choices": choices, "usage": USAGE}).encode()


def chat(*texts: str, usage: bool = False) -> Callable[[Asked], Written]:
    """Answers as the request asks: streamed or not, with usage or not."""

    def answer(asked: Asked) -> Written:
        if asked.path.endswith("/responses"):
            return responses(texts[0])(asked)
        body = asked.body if asked.raw else {}
        if not body.get("stream"):
            return Written([chat_whole(*texts)])
        options = body.get("stream_options") or {}
        return Written(chat_stream(*texts, usage=usage or bool(options.get("include_usage"))), content_type=STREAM)

    return answer


def _message(text: str, status: str = "completed") -> dict[str, Any]:
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
    content = [part] if status == "completed" else []
    return {"id": "msg_1", "type": "message", "status": status, "content": content, "role": "assistant"}


def response_object(text: str, status: str = "completed") -> dict[str, Any]:
    return {
        "id": "resp_1", "object": "response", "created_at": 1763856000, "status": status, "error": None,
        "incomplete_details": None, "instructions": None, "max_output_tokens": None, "model": "loopback-model",
        "output": [_message(text)] if status == "completed" else [], "parallel_tool_calls": True,
        "previous_response_id": None, "reasoning": {"effort": None, "summary": None}, "store": False,
        "temperature": 1.0, "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "top_p": 1.0,
        "truncation": "disabled", "user": None, "metadata": {},
        "usage": {"input_tokens": 12, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 34,
                  "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 46},
    }  # fmt: skip


def responses_stream(text: str, *, size: int = 9) -> list[bytes]:
    """The events of a response with one message, as OpenAI sends them."""
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
    deltas = [text[start : start + size] for start in range(0, len(text), size)]
    events: Iterable[dict[str, Any]] = [
        {"type": "response.created", "response": response_object("", "in_progress")},
        {"type": "response.in_progress", "response": response_object("", "in_progress")},
        {"type": "response.output_item.added", "output_index": 0, "item": _message("", "in_progress")},
        {"type": "response.content_part.added", **place, "part": part},
        *({"type": "response.output_text.delta", **place, "delta": delta, "logprobs": []} for delta in deltas),
        {"type": "response.output_text.done", **place, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **place, "part": {**part, "text": text}},
        {"type": "response.output_item.done", "output_index": 0, "item": _message(text)},
        {"type": "response.completed", "response": response_object(text)},
    ]
    return [sse({**event, "sequence_number": at}, event["type"]) for at, event in enumerate(events)]


def responses(text: str) -> Callable[[Asked], Written]:
    def answer(asked: Asked) -> Written:
        if asked.body.get("stream"):
            return Written(responses_stream(text), content_type=STREAM)
        return Written([json.dumps(response_object(text)).encode()])

    return answer
