"""A server on 127.0.0.1 that stands in for the services redargue talks to, with their faults.

In a test: ``with Loopback(script=..., behaviour=Behaviour(busy=0.2)) as server``. Where the client must not share an
interpreter with it: ``with LoopbackProcess("package.module:function") as server``. By hand:
``PYTHONPATH=tests:. python -m support.loopback --behaviour '{"chat_ms": 300}'``, which serves until stdin ends.

Base addresses: OpenAI ``{url}/v1``, Tavily ``{url}/tavily``, Serper ``{url}/serper``, Custom Search
``{url}/customsearch/v1``, MediaWiki ``{url}/w/api.php``, E-utilities ``{url}/entrez/eutils``, OpenAlex ``{url}/works``,
arXiv ``{url}/api/query``, SearXNG ``{url}/searxng``.
Routes are named chat, embeddings, models, tavily, serper, cse, mediawiki, pubmed, openalex, arxiv and searxng. Every
request ends in ``counts`` as answered or as one fault; which requests get a fault depends on the seed and on how many
requests their route has had, so the same order of requests meets the same faults.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import math
import os
import random
import re
import subprocess
import sys
import threading
import time
import traceback
import urllib.request
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from email.utils import formatdate
from functools import lru_cache
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl
from zlib import crc32

from support.loopback_calls import Calls, called, in_pieces, wrong_with
from support.loopback_papers import PAPERS
from support.loopback_services import DOCUMENTS, SEARCHES, Doc, Headers, Raw, Request, failure, reply
from support.quick_server import QuickServer

__all__ = ["DOCUMENTS", "HEALTHY", "Ask", "Behaviour", "Calls", "Counts", "Doc", "Loopback", "LoopbackProcess", "Raw"]
__all__ += ["Request"]

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
KINDS = ("truncated", "prose", "wrong_label", "empty", "huge", "html", "choices_null", "not_json", "fenced")
ROUTES = ("chat", "embeddings", "tavily", "searxng", "serper", "mediawiki", "cse", "pubmed", "openalex", "arxiv")
DIMENSIONS = 32
FINAL = "give_final_answer"  # the function that ends a method's steps


@dataclass(frozen=True)
class Behaviour:
    """How the services behave; the defaults are healthy and quick.

    Attributes:
        chat_ms, embedding_ms, search_ms: how long a good answer takes; errors come at once.
        malformed: share of chat replies that are damaged, in one of ``malformed_kinds``.
        busy: share of requests to ``busy_routes`` that get one of ``busy_statuses``.
        retry_after: header of every 429 and 503; ``date`` is an HTTP date one second ahead.
        cut: share of chat replies whose connection closes in the middle.
        hang_routes: routes that never answer.
        statuses: routes that always answer with that status.
        quota: chat and embeddings answer 429 with ``insufficient_quota``.
        refuse: chat parameters that are refused, see ``_REFUSALS``.
        ignore_n, ignore_format: the parameter is accepted and has no effect.
        reasoning: ``field`` (``reasoning_content``), ``think`` (a block at the start of the content) or empty.
        usage: whether replies tell their tokens.
        cached: prompt tokens that replies report as read from the cache, at most.
        api_key: the only key that OpenAI's routes take, where it is not empty.
        echo_key: error bodies quote the whole key that was sent.
        seed: of the faults.
    """

    chat_ms: float = 0
    embedding_ms: float = 0
    search_ms: float = 0
    malformed: float = 0
    malformed_kinds: tuple[str, ...] = KINDS
    busy: float = 0
    busy_statuses: tuple[int, ...] = (429, 503)
    busy_routes: tuple[str, ...] = ROUTES
    retry_after: str | None = None
    cut: float = 0
    hang_routes: tuple[str, ...] = ()
    statuses: Mapping[str, int] = field(default_factory=dict)
    quota: bool = False
    refuse: tuple[str, ...] = ()
    ignore_n: bool = False
    ignore_format: bool = False
    reasoning: str = ""
    usage: bool = True
    cached: int = 0
    api_key: str = ""
    echo_key: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        unknown = {*self.refuse} - {*_REFUSALS} | {*self.malformed_kinds} - {*KINDS}
        unknown |= {*self.busy_routes, *self.hang_routes, *self.statuses} - {*ROUTES, "models"}
        if unknown:
            raise ValueError(f"no such refusal, kind or route: {sorted(unknown)}")

    def changed(self, changes: Mapping[str, Any]) -> Behaviour:
        """This behaviour with changes as JSON has them; an unknown name is a TypeError."""
        fields: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in changes.items()}
        return replace(self, **fields)

    def fault(self, route: str, number: int) -> tuple[str, int]:
        """What befalls that request of the route, if anything, and the status it is answered with, if it is decided."""
        if route in self.hang_routes:
            return "hang", 0
        if route in self.statuses:
            return "status", self.statuses[route]
        if self.quota and route in ("chat", "embeddings"):
            return "status", 429
        if not (self.busy or self.malformed or self.cut):
            return "", 0
        chance = random.Random(f"{self.seed}:{route}:{number}")
        busy, status, cut, malformed, kind = (chance.random() for _ in range(5))  # always as many: shares stay apart
        if busy < self.busy and route in self.busy_routes:
            return "busy", self.busy_statuses[int(status * len(self.busy_statuses))]
        if route == "chat" and cut < self.cut:
            return "cut", 0
        if route == "chat" and malformed < self.malformed:
            return self.malformed_kinds[int(kind * len(self.malformed_kinds))], 0
        return "", 0

    def retry_header(self, status: int) -> Headers:
        if self.retry_after is None or status not in (429, 503):
            return ()
        date = self.retry_after == "date"
        return (("retry-after", formatdate(time.time() + 1, usegmt=True) if date else self.retry_after),)


@dataclass
class Counts:
    """What the server did: requests and good answers by route, faults by kind, tokens of the replies sent whole.

    ``in_flight`` and ``most_in_flight`` are of chat; the counts of a reply are there before its last byte is.
    """

    requests: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    embedding_tokens: int = 0
    in_flight: int = 0
    most_in_flight: int = 0

    def begin(self, route: str) -> int:
        """Counts a request in; its number on its route, from 0."""
        self.requests[route] += 1
        if route == "chat":
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        return self.requests[route] - 1

    def end(self, route: str, fault: str, prompt: int = 0, completion: int = 0) -> None:
        """Counts a request out; tokens are billed where a reply goes out whole."""
        if fault:
            self.faults[fault] += 1
        else:
            self.answered[route] += 1
        if route == "chat":
            self.in_flight -= 1
            self.prompt_tokens += prompt
            self.completion_tokens += completion
        else:
            self.embedding_tokens += prompt

    def reset(self) -> None:
        """Starts anew; what is in flight stays so."""
        self.__init__(in_flight=self.in_flight, most_in_flight=self.in_flight)  # type: ignore[misc]


@dataclass(frozen=True)
class Ask:
    """What a script is asked: one sample of one chat request.

    ``role`` is the name of the JSON schema, ``NextStep`` where the final answer is a function, or empty; ``user`` is
    the last user message; ``schema`` is None where none was sent or the behaviour ignores it.
    """

    role: str
    system: str
    user: str
    messages: Sequence[Mapping[str, Any]]
    model: str
    sample: int
    body: Mapping[str, Any]
    schema: Mapping[str, Any] | None


Script = Callable[[Ask], str | Mapping[str, Any] | Calls | Raw | None]


@dataclass(frozen=True)
class Reply:
    """A reply with the tokens it bills; ``events`` are the parts of a streamed one."""

    raw: Raw
    events: tuple[bytes, ...] = ()
    prompt: int = 0
    completion: int = 0


def _format(kind: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda body: (body.get("response_format") or {}).get("type") == kind


def _given(name: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda body: body.get(name) is not None


_SCHEMA = "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."
_REFUSALS: dict[str, tuple[Callable[[Mapping[str, Any]], bool], str]] = {  # when, and what is said
    "temperature": (lambda body: body.get("temperature") not in (None, 1), ""),
    "n": (lambda body: (body.get("n") or 1) > 1, ""),
    "stream": (lambda body: bool(body.get("stream")), ""),
    "logprobs": (lambda body: bool(body.get("logprobs") or body.get("top_logprobs")), ""),
    "tool_choice": (lambda body: body.get("tool_choice") not in (None, "auto", "none"), ""),
    "json_schema": (_format("json_schema"), _SCHEMA),
    "json_schema_500": (_format("json_schema"), "failed to parse grammar"),
    "maxItems": (
        lambda body: _format("json_schema")(body) and '"maxItems"' in json.dumps(body["response_format"]),
        "Invalid schema for response_format: In context=('properties', 'quotes'), 'maxItems' is not permitted.",
    ),
}
_PLAIN = ("max_tokens", "max_completion_tokens", "seed", "stop", "response_format", "stream_options", "tools")
for _name in (*_PLAIN, "parallel_tool_calls"):
    _REFUSALS[_name] = (_given(_name), f"Unsupported parameter: '{_name}' is not supported with this model.")
HEALTHY = Behaviour()


def _refused(request: Request, refuse: Sequence[str]) -> Raw | None:
    for name in refuse:
        when, said = _REFUSALS[name]
        if not when(request.fields):
            continue
        if name == "json_schema_500":  # as llama.cpp's server does
            said += f" (key: {request.key})" if request.echo else ""
            return reply({"error": {"code": 500, "message": said, "type": "server_error"}}, 500, fault="refused")
        param, code = (
            ("response_format", None) if name in ("json_schema", "maxItems") else (name, "unsupported_parameter")
        )
        if not said:
            value = json.dumps(request.fields.get(name))
            said = f"Unsupported value: '{name}' does not support {value} with this model."
            code = "unsupported_value"
        return replace(failure(request, 400, said, code=code or "", param=param), fault="refused")
    return None


def chat(request: Request, behaviour: Behaviour, script: Script, kind: str) -> Reply:
    """Answers a chat request; ``kind`` is how the reply is to be damaged, or empty."""
    body = request.fields
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        said = "" if request.body is None else "Missing required parameter: 'messages'."
        return Reply(failure(request, 400, said, param="messages" if said else None))
    if refused := _refused(request, behaviour.refuse):
        return Reply(refused)
    if wrong := wrong_with(body):
        return Reply(failure(request, 400, wrong[0], code="invalid_value", param=wrong[1]))
    choices = []
    for ask in _asks(body, messages, 1 if behaviour.ignore_n else body.get("n") or 1, behaviour.ignore_format):
        made = script(ask)
        if isinstance(made, Raw):
            return Reply(made if made.status == 200 or made.fault else replace(made, fault="scripted"))
        if made is None:
            made = _willing(ask)
        if isinstance(made, Calls):
            choices.append(_calling(ask, made))
            continue
        text = _damaged(made if isinstance(made, str) else json.dumps(made, ensure_ascii=False), kind)
        choices.append(_choice(ask, text, behaviour.reasoning))
    prompt = _tokens("".join(_text(message.get("content")) for message in messages))
    completion = sum(max(1, _tokens(_said(choice["message"]))) for choice in choices)
    usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": completion}
    usage |= {"total_tokens": prompt + completion}
    if behaviour.cached:
        usage["prompt_tokens_details"] = {"cached_tokens": min(prompt, behaviour.cached)}
    head = {"id": f"chatcmpl-{crc32(repr(messages).encode()):08x}", "created": int(time.time())}
    head["model"] = str(body.get("model", ""))
    if kind == "html":
        page = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please sign in.</body></html>"
        return Reply(Raw(200, page, "text/html; charset=utf-8", fault=kind))
    if body.get("stream"):
        options = body.get("stream_options") or {}
        events = _events(head, choices, kind, usage if options.get("include_usage") and behaviour.usage else None)
        whole = Reply(Raw(200, content_type="text/event-stream", fault=kind), tuple(events), prompt, completion)
    else:
        told = head | {"object": "chat.completion", "choices": None if kind == "choices_null" else choices}
        raw = reply(told | ({"usage": usage} if behaviour.usage else {}), fault=kind)
        whole = Reply(replace(raw, body=raw.body[:-20]) if kind == "not_json" else raw, (), prompt, completion)
    return replace(whole, prompt=0, completion=0) if kind == "not_json" else whole


def _asks(body: Mapping[str, Any], messages: list[Any], count: int, ignore_format: bool) -> Iterator[Ask]:
    given = body.get("response_format") or {}
    named = given.get("json_schema") or given  # llama.cpp has the schema beside the type
    system = "\n".join(_text(each.get("content")) for each in messages if each.get("role") in ("system", "developer"))
    user = next((_text(each.get("content")) for each in reversed(messages) if each.get("role") == "user"), "")
    offered = {each.get("function", {}).get("name") for each in body.get("tools") or ()}
    role = named.get("name") or ("NextStep" if FINAL in offered else "")
    schema = None if ignore_format else named.get("schema")
    for sample in range(count):
        yield Ask(role, system, user, messages, str(body.get("model", "")), sample, body, schema)


def _choice(ask: Ask, text: str, reasoning: str) -> dict[str, Any]:
    thought = "The question asks for one thing. I look at the text and then answer."
    if reasoning == "think":
        text = f"<think>\n{thought}\n</think>\n\n{text}"
    limit = ask.body.get("max_completion_tokens") or ask.body.get("max_tokens")
    finish = "stop"
    if limit and _tokens(text) > limit:
        text, finish = text.encode()[: limit * 4].decode(errors="ignore"), "length"
    message = {"role": "assistant", "content": text, "refusal": None}
    if reasoning == "field":
        message["reasoning_content"] = thought
    chances = None
    if ask.body.get("logprobs"):
        asked = ask.body.get("top_logprobs") or 0
        content = [_chance(token, asked and min(5, max(2, asked))) for token in _TOKEN.findall(text)]
        chances = {"content": content, "refusal": None}
    return {"index": ask.sample, "message": message, "logprobs": chances, "finish_reason": finish}


def _willing(ask: Ask) -> str | Mapping[str, Any] | Calls:
    """The plainest reply of the form that is asked for."""
    if ask.body.get("tool_choice") == "required":
        function = ask.body["tools"][0]["function"]
        return Calls(((function["name"], instance(function["parameters"])),))
    return "ok" if ask.schema is None else instance(ask.schema)


def _calling(ask: Ask, made: Calls) -> dict[str, Any]:
    message = {"role": "assistant", "content": made.content, "tool_calls": called(made), "refusal": None}
    return {"index": ask.sample, "message": message, "logprobs": None, "finish_reason": made.finish}


def _said(message: Mapping[str, Any]) -> str:
    rows = message.get("tool_calls", ())
    return "".join([message["content"] or "", *("{name}{arguments}".format(**row["function"]) for row in rows)])


_TOKEN = re.compile(r"\s?\w+|\s|[^\w\s]")


def _chance(token: str, most: int) -> dict[str, Any]:
    """A token with made-up log probabilities, the same for the same token."""
    share = 0.5 + crc32(token.encode()) % 480 / 1000  # so the others' shares are below it
    others = [(each, (1 - share) / 2**at) for at, each in enumerate((" no", " yes", " the", " a"), 1)]
    top = [
        {"token": each, "logprob": round(math.log(chance), 6), "bytes": None}
        for each, chance in ((token, share), *others)
    ]
    return top[0] | {"top_logprobs": top[:most]}


def _text(content: Any) -> str:
    """A message's content, which may come in parts."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def _tokens(text: str) -> int:
    return -(-len(text.encode()) // 4)


def _damaged(text: str, kind: str) -> str:
    if kind == "truncated":
        return text[: len(text) // 2]
    if kind == "prose":
        return f"Sure! Here is what you asked for:\n\n{text}\n\nLet me know if you need anything else."
    if kind == "fenced":
        return f"```json\n{text}\n```"
    if kind == "empty":
        return ""
    if kind == "huge":
        return ("and so on, { and so on; " * 5000)[:100_000]
    if kind == "wrong_label":
        return _mislabelled(text)
    return text


def _mislabelled(text: str) -> str:
    """The text with MAYBE SO for every field ``label`` and every bold label, or else on its last line."""
    other = re.sub(r'("label"\s*:\s*)(?:"(?:[^"\\]|\\.)*"|null)', r'\1"MAYBE SO"', text)
    other = re.sub(r"\*\*[^*\n]+\*\*", "**MAYBE SO**", other)
    if other == text and not text.startswith("{"):
        return "\n".join([*text.split("\n")[:-1], "MAYBE SO"])
    return other


def _events(
    head: Mapping[str, Any], choices: Sequence[Mapping[str, Any]], kind: str, usage: Mapping[str, Any] | None
) -> Iterator[bytes]:
    """The server-sent events of a streamed reply; the choices' parts alternate."""

    def event(parts: Any, **more: Any) -> bytes:
        data = {**head, "object": "chat.completion.chunk", "choices": parts, **more}
        return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"

    def deltas(choice: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        message, chances, at = choice["message"], choice["logprobs"], choice["index"]
        begun = None if message["content"] is None else ""
        yield {"index": at, "delta": {"role": "assistant", "content": begun}, "finish_reason": None}
        if "reasoning_content" in message:
            yield {"index": at, "delta": {"reasoning_content": message["reasoning_content"]}, "finish_reason": None}
        units = [each["token"] for each in chances["content"]] if chances else message["content"] or ""
        step = -(-len(units) // 4) or 1
        for first in range(0, len(units), step):
            part = {"index": at, "delta": {"content": "".join(units[first : first + step])}, "finish_reason": None}
            yield part | ({"logprobs": {"content": chances["content"][first : first + step]}} if chances else {})
        for delta in in_pieces(message.get("tool_calls", [])):
            yield {"index": at, "delta": delta, "finish_reason": None}
        yield {"index": at, "delta": {}, "finish_reason": choice["finish_reason"]}

    more = {"usage": None} if usage else {}
    for row in zip_longest(*map(deltas, choices)):
        for part in row:
            if part is not None:
                made = event(None if kind == "choices_null" else [part], **more)
                yield made[:-20] + b"\n\n" if kind == "not_json" else made
    if usage:
        yield event([], usage=usage)
    yield b"data: [DONE]\n\n"


def instance(schema: Any, root: Any = None, depth: int = 0) -> Any:
    """The smallest plain instance of a JSON schema: first of the alternatives, every property, one item a list."""
    root = schema if root is None else root
    schema = _resolved(schema, root)
    if "const" in schema or "enum" in schema:
        return schema.get("const", (schema.get("enum") or [None])[0])
    if every := schema.get("anyOf") or schema.get("oneOf"):
        ends = [each for each in every if (each.get("type") == "null") == (depth > 7)]  # null ends one within itself
        return instance((ends or every)[0], root, depth + 1)
    kind = schema.get("type") or ("object" if "properties" in schema else "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: instance(each, root, depth + 1) for name, each in schema.get("properties", {}).items()}
    if kind == "array":
        count = max(schema.get("minItems", 0), min(1, schema.get("maxItems", 1)) if depth < 8 else 0)
        return [instance(schema.get("items", {}), root, depth + 1) for _ in range(count)]
    if kind in ("integer", "number"):
        low = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
        return min(max(low, 0) if "minimum" not in schema else low, schema.get("maximum", low))
    text = "ok".ljust(schema.get("minLength", 0), "k")[: schema.get("maxLength", None)]
    return {"boolean": True, "null": None}.get(kind, text)


def _resolved(schema: Any, root: Any) -> Any:
    """The schema with its reference followed and its ``allOf`` merged in."""
    if not isinstance(schema, dict):
        return {}
    while "$ref" in schema:
        found = root
        for part in schema["$ref"].lstrip("#/").split("/"):
            found = found[part]
        schema = {**found, **{name: value for name, value in schema.items() if name != "$ref"}}
    for part in schema.get("allOf", ()):
        schema = {**schema, **_resolved(part, root)}
    return schema


def embeddings(request: Request) -> Reply:
    """Answers an embeddings request, last input first, so that a client has to sort by index."""
    given = request.fields.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        return Reply(failure(request, 400, "'$.input' is invalid.", param="input"))
    data = [{"object": "embedding", "index": at, "embedding": vector(text)} for at, text in enumerate(texts)]
    tokens = _tokens("".join(texts))
    said = {"object": "list", "data": data[::-1], "model": str(request.fields.get("model", ""))}
    return Reply(reply(said | {"usage": {"prompt_tokens": tokens, "total_tokens": tokens}}), prompt=tokens)


def vector(text: str) -> list[float]:
    """A unit vector: the sum of one made-up vector for every word, so that texts with shared words are near."""
    sums = [sum(column) for column in zip(*map(_direction, re.findall(r"\w+", text.lower()) or [""]), strict=True)]
    length = sum(each * each for each in sums) ** 0.5
    return [each / length for each in sums] if length else vector("")


@lru_cache(maxsize=65536)
def _direction(word: str) -> tuple[int, ...]:
    bits = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=DIMENSIONS // 8).digest())
    return tuple(1 if bits >> at & 1 else -1 for at in range(DIMENSIONS))


class Loopback(QuickServer):
    """The server, in a thread of this process; ``behaviour``, ``script`` and ``documents`` can be assigned at any time.

    Attributes:
        url: ``http://127.0.0.1:PORT``, known once it is entered.
        counts: live.
        hold: called with each request as it arrives; the request is answered once the event it returns is set.
    """

    def __init__(
        self,
        script: Script = lambda ask: None,
        *,
        behaviour: Behaviour = HEALTHY,
        documents: tuple[Doc, ...] = DOCUMENTS,
    ) -> None:
        super().__init__(self._app, http="httptools", date_header=False, server_header=False, timeout_keep_alive=3600)
        self.script, self.behaviour, self.documents = script, behaviour, documents
        self.counts, self._seen = Counts(), deque[Request](maxlen=10_000)
        self.hold: Callable[[Request], threading.Event | None] = lambda request: None

    @property
    def requests(self) -> list[Request]:
        """The last 10,000 requests, in order."""
        return list(self._seen)

    def reset(self) -> None:
        """Forgets counts and requests; faults start from the first request again."""
        self.counts.reset()
        self._seen.clear()

    async def arrived(self, route: str = "chat", count: int = 1) -> None:
        """Returns once so many requests of the route have arrived."""
        async with asyncio.timeout(60):
            while self.counts.requests[route] < count:  # noqa: ASYNC110  (it counts in a thread of its own)
                await asyncio.sleep(0.005)

    def hold_until_in_flight(self, count: int, route: str = "chat", matching: str = "") -> None:
        """Answers none of the route's requests whose body contains ``matching`` before so many are in flight."""
        full = threading.Event()

        def hold(request: Request) -> threading.Event | None:
            if request.route != route or matching not in json.dumps(request.body):
                return None
            if self.counts.in_flight >= count:
                full.set()
            return full

        self.hold = hold

    async def _app(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        path = scope["path"]
        if path.startswith("/_"):
            return await _send(self._control(path, body), send)
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        content: Any = dict(parse_qsl(scope["query_string"].decode(), keep_blank_values=True))
        if scope["method"] == "POST":
            try:
                content = json.loads(body)
            except ValueError:
                content = None
        request = Request(_route(scope["method"], path), path, headers, content, self.behaviour.echo_key)
        self._seen.append(request)
        return await self._answer(request, receive, send)

    async def _answer(self, request: Request, receive: Receive, send: Send) -> None:
        """Sends what befalls the request; counts it before the last byte is out, so that a client can rely on them."""
        route, behaviour = request.route, self.behaviour
        number = self.counts.begin(route)
        if held := self.hold(request):
            while not held.is_set():
                if await _left(receive, 0.005):
                    return self.counts.end(route, "left")
        fault, status = behaviour.fault(route, number)
        if fault == "hang":
            await _left(receive, None)
            return self.counts.end(route, fault)
        if status:
            code = "insufficient_quota" if behaviour.quota and status == 429 else ""
            made = Reply(failure(request, status, code=code, headers=behaviour.retry_header(status)))
            self.counts.end(route, fault)
            return await _send(made, send)
        pause = {"chat": behaviour.chat_ms, "embeddings": behaviour.embedding_ms}.get(route, behaviour.search_ms)
        if pause and await _left(receive, pause / 1000):
            return self.counts.end(route, "left")
        try:
            made = self._reply(request, behaviour, "" if fault == "cut" else fault)
        except Exception as error:  # a test's script may raise anything; its author wants to read it
            traceback.print_exc()
            made = Reply(Raw(500, f"the loopback server's script raised {error!r}".encode(), fault="crashed"))
        cut = fault == "cut" and not made.raw.fault
        if cut:
            made = replace(made, prompt=0, completion=0)
        self.counts.end(route, "cut" if cut else made.raw.fault, made.prompt, made.completion)
        return await _send(made, send, cut=cut)

    def _reply(self, request: Request, behaviour: Behaviour, kind: str) -> Reply:
        if search := SEARCHES.get(request.route) or PAPERS.get(request.route):
            return Reply(search(request, self.documents))
        if request.route == "unknown":
            return Reply(failure(request, 404, f"Invalid URL ({request.path})"))
        if behaviour.api_key and request.bearer != behaviour.api_key:
            return Reply(failure(request, 401))
        if request.route == "models":
            return Reply(reply({"object": "list", "data": [{"id": "loopback-model", "object": "model", "created": 0}]}))
        return chat(request, behaviour, self.script, kind) if request.route == "chat" else embeddings(request)

    def _control(self, path: str, body: bytes) -> Reply:
        """Counts and behaviour for a client in another process; these requests are not counted."""
        if path == "/_reset":
            self.reset()
        if path == "/_behaviour":
            try:
                self.behaviour = self.behaviour.changed(json.loads(body))
            except (TypeError, ValueError) as error:
                return Reply(reply({"error": str(error)}, 400))
            return Reply(reply(asdict(self.behaviour)))
        return Reply(reply(vars(self.counts)))


def _route(method: str, path: str) -> str:
    """The route's name; OpenAI's may stand under any base."""
    for end, route in (("/chat/completions", "chat"), ("/embeddings", "embeddings")):
        if path.endswith(end) and method == "POST":
            return route
    if method == "POST" and path == "/tavily/search":
        return "tavily"
    if method == "POST" and path in ("/serper/search", "/serper/scholar", "/serper/news"):
        return "serper"
    gets = {"/customsearch/v1": "cse", "/w/api.php": "mediawiki", "/v1/models": "models", "/works": "openalex"}
    gets["/api/query"] = "arxiv"
    gets["/searxng/search"] = "searxng"
    gets |= dict.fromkeys(("/entrez/eutils/esearch.fcgi", "/entrez/eutils/efetch.fcgi"), "pubmed")
    return gets.get(path, "unknown") if method == "GET" else "unknown"


async def _left(receive: Receive, seconds: float | None) -> bool:
    """Waits so long, None for ever; whether the client left meanwhile."""
    try:
        async with asyncio.timeout(seconds):
            while (await receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        return False
    return True


async def _send(made: Reply, send: Send, *, cut: bool = False) -> None:
    """Sends a reply; one that is cut ends before its end, at which uvicorn closes the connection."""
    raw = made.raw
    headers = [(b"content-type", raw.content_type.encode())]
    headers += [(name.encode(), value.encode()) for name, value in raw.headers]
    if not made.events:
        headers.append((b"content-length", str(len(raw.body)).encode()))
    await send({"type": "http.response.start", "status": raw.status, "headers": headers})
    parts = made.events or ((raw.body[: len(raw.body) // 2], b"") if cut else (raw.body,))
    for part in parts[: len(parts) // 2] if cut else parts[:-1]:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    if not cut:
        await send({"type": "http.response.body", "body": parts[-1], "more_body": False})


class LoopbackProcess:
    """The server in a process of its own, with the script that ``package.module:function`` names."""

    def __init__(self, script: str = "", *, behaviour: Behaviour = HEALTHY) -> None:
        self.url, self._script, self._behaviour = "", script, behaviour

    def __enter__(self) -> Self:
        tests = Path(__file__).parents[1]
        paths = (str(tests), str(tests.parent), os.environ.get("PYTHONPATH", ""))
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        command = [sys.executable, "-m", "support.loopback", "--script", self._script]
        command += ["--behaviour", json.dumps(asdict(self._behaviour))]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment, text=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._ends, self._told = self._process.stdin, self._process.stdout
        try:
            self.url = json.loads(self._told.readline())["url"]
        except ValueError:
            self.__exit__()
            raise RuntimeError(f"the loopback server did not start: {command}") from None
        return self

    def __exit__(self, *_: object) -> None:
        self._told.close()
        self._ends.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def counts(self) -> Counts:
        """The counts so far."""
        told = self._call("/_counts", "GET")
        fields: dict[str, Any] = {name: Counter(v) if isinstance(v, dict) else v for name, v in told.items()}
        return Counts(**fields)

    def reset(self) -> None:
        """Forgets counts and requests; faults start from the first request again."""
        self._call("/_reset")

    def set_behaviour(self, **changes: Any) -> None:
        """Changes parts of the behaviour."""
        self._call("/_behaviour", data=json.dumps(changes).encode())

    def _call(self, path: str, method: str = "POST", data: bytes | None = None) -> dict[str, Any]:
        asked = urllib.request.Request(self.url + path, data, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(asked, timeout=120) as answer:
            told: dict[str, Any] = json.load(answer)
        return told


def main() -> None:
    """Serves until stdin ends; says where on its first line."""
    parser = argparse.ArgumentParser(description="A loopback server that stands in for redargue's services.")
    parser.add_argument("--script", default="", help="package.module:function, called with an Ask")
    parser.add_argument("--behaviour", default="{}", help="fields of Behaviour, as JSON")
    given = parser.parse_args()
    server = Loopback(behaviour=HEALTHY.changed(json.loads(given.behaviour)))
    if given.script:
        module, _, name = given.script.partition(":")
        server.script = getattr(import_module(module), name)
    with server:
        sys.stdout.write(json.dumps({"url": server.url}) + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    from support import loopback  # a script imports Ask from there, so the server must be that module too

    loopback.main()
