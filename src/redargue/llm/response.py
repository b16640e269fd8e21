"""Reads the responses of a chat endpoint, whole or streamed; separates thoughts and describes damage."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from io import StringIO
from typing import Any, NamedTuple

import httpx2

from redargue.backends.base import Token
from redargue.net import transport
from redargue.net.fetch import pieces
from redargue.tasks.untrusted import strip_marks

LONGEST_NAME = 1_000  # characters of a function's name
DRAIN_TIMEOUT = 0.1  # seconds; the end of a stream usually arrives in the same packet as its last event


class Called(NamedTuple):
    """A function call by a model; ``arguments`` should be JSON."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Choice:
    """One sample.

    Attributes:
        text: without thoughts.
        problem: why the sample cannot be an answer, whatever its text; empty if nothing is wrong.
        refused: the endpoint answered instead of the model, so that there is nothing of the model to show it again.
        entropy: mean entropy of its tokens, in nats; None if the endpoint gives no log probabilities.
        alternatives: the most probable tokens in the place of each of its tokens, where the endpoint gives them.
        calls: function calls in order; read only if functions were offered.
    """

    text: str
    thoughts: str = ""
    problem: str = ""
    refused: bool = False
    entropy: float | None = None
    tokens: tuple[Token, ...] = ()
    alternatives: tuple[tuple[Token, ...], ...] = ()
    calls: tuple[Called, ...] = ()

    @property
    def verbatim(self) -> str:
        if not self.calls:
            return self.text
        calls = [call._asdict() for call in self.calls]
        return json.dumps({"content": self.text, "tool_calls": calls}, ensure_ascii=False)


def read_response(text: str, *, called: bool = False) -> tuple[Choice, ...]:
    """The samples of a chat completion; anything else is one sample with a problem."""
    try:
        body = json.loads(text)
        choices = body.get("choices") if isinstance(body, dict) else None
        if not isinstance(choices, list) or not choices or not all(isinstance(choice, dict) for choice in choices):
            message = error_message(text)[:200]
            problem = f"the endpoint answered without choices: {message}"
            return (Choice(text=text[:2000], problem=problem, refused=True),)
        ordered = sorted(choices, key=lambda choice: choice["index"] if isinstance(choice.get("index"), int) else 0)
        return tuple(_choice(choice, called=called) for choice in ordered)
    except (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        kind = "HTML" if "<html" in text[:1000].lower() or "<!doctype" in text[:100].lower() else "no chat completion"
        return (Choice(text=text[:2000], problem=f"the endpoint answered with {kind}", refused=True),)


CUT = "the reply was cut at its token limit"
_THOUGHTS = re.compile(r"\s*<(think|thinking)>(.*?)</\1>\s*", re.DOTALL)
# Some chat templates open the tag themselves, so the reply has only the closing tag, on a line by itself.
_ENDED = re.compile(r"(?!\s*[{<])(.*?)^[ \t]*</(?:think|thinking)>[ \t]*\r?\n\s*", re.DOTALL | re.MULTILINE)


def _choice(choice: Mapping[str, Any], *, called: bool) -> Choice:
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    content, refusal = message.get("content"), message.get("refusal")
    if isinstance(content, list):  # some servers send parts
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    text = content if isinstance(content, str) else ""
    thoughts = message.get("reasoning_content") or message.get("reasoning") or ""
    if match := _THOUGHTS.match(text) or _ENDED.match(text):
        text, thoughts = text[match.end() :], thoughts or match.groups()[-1].strip()
    problem, refused, calls = "", False, _calls(message) if called else ()
    if isinstance(refusal, str) and refusal and not text:
        problem = f"the model refused: {refusal[:200]}"
    elif choice.get("finish_reason") == "length":
        problem = CUT
    elif choice.get("finish_reason") == "content_filter":
        problem, refused = "the endpoint's content filter stopped the reply", True
    elif (not text.strip() and not calls) or text.lstrip().startswith(("<think>", "<thinking>")):
        problem = "the reply is empty"
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    rows = [row for row in content if isinstance(row, dict)] if isinstance(content, list) else []
    thoughts = _valid(thoughts) if isinstance(thoughts, str) else ""
    entropy, tokens, alternatives = _entropy(rows), _tokens(rows), tuple(map(_alternatives, rows))
    return Choice(_valid(text), thoughts, problem, refused, entropy, tokens, alternatives, calls)


def _valid(text: str) -> str:
    """Replaces lone surrogates, which can be neither sent nor stored, and removes the marks of untrusted texts."""
    return strip_marks(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _calls(message: Mapping[str, Any]) -> tuple[Called, ...]:
    content = message.get("tool_calls")
    rows = [call.get("function") for call in content if isinstance(call, dict)] if isinstance(content, list) else []
    calls = []
    for row in rows:
        name, arguments = (row.get("name"), row.get("arguments")) if isinstance(row, dict) else ("", "")
        text = arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments)
        calls.append(Called(_valid(name) if isinstance(name, str) else "", _valid(text)))
    return tuple(calls)


def _tokens(rows: list[dict[str, Any]]) -> tuple[Token, ...]:
    pairs = [(row.get("token"), row.get("logprob")) for row in rows]
    usable = (isinstance(text, str) and isinstance(log, int | float) and log <= 1e-6 for text, log in pairs)
    return tuple(Token(str(text), float(log or 0)) for text, log in pairs) if all(usable) else ()


def _alternatives(row: Mapping[str, Any]) -> tuple[Token, ...]:
    tops = row.get("top_logprobs")
    return _tokens([top for top in tops if isinstance(top, dict)]) if isinstance(tops, list) else ()


def _entropy(rows: list[dict[str, Any]]) -> float | None:
    """Mean entropy over the tokens (nats), each from its top alternatives and the remaining mass as one."""
    entropies = []
    for row in rows:
        logs = [top.get("logprob") for top in row.get("top_logprobs") or () if isinstance(top, dict)]
        shares = [math.exp(log) for log in logs if isinstance(log, int | float) and log <= 1e-6]  # excludes NaN
        if shares:
            shares.append(max(0.0, 1.0 - sum(shares)))
            entropies.append(-sum(share * math.log(share) for share in shares if share > 0))
    return sum(entropies) / len(entropies) if entropies else None


async def read_stream(response: httpx2.Response) -> str:
    """A streamed reply in the format of an unstreamed one; raises httpx2.ReadError if the stream is broken or cut."""
    if "text/event-stream" not in response.headers.get("content-type", ""):
        return await transport.read_body(response)
    parts: dict[int, dict[str, Any]] = {}
    usage: Any = None
    stream = _data(response)
    async for data in stream:
        if data == "[DONE]":
            await _drain(stream)
            break
        try:
            chunk = json.loads(data)
            if chunk.get("error"):
                return data
            usage = chunk.get("usage") or usage
            for choice in chunk.get("choices") or ():
                _add(parts.setdefault(choice.get("index") or 0, {"logprobs": [], "calls": {}}), choice)
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise httpx2.ReadError("the stream is broken") from None
    if not parts or not all("finish_reason" in part for part in parts.values()):
        raise httpx2.ReadError("the stream was cut")
    choices = [
        {
            "index": index,
            "message": {name: part[name].getvalue() if name in part else None for name in PIECES}
            | {"tool_calls": [{"function": call.joined()} for _, call in sorted(part["calls"].items())]},
            "finish_reason": part["finish_reason"],
            "logprobs": {"content": part["logprobs"]},
        }
        for index, part in parts.items()
    ]
    return json.dumps({"choices": choices, "usage": usage})


async def _drain(stream: AsyncIterator[str]) -> None:
    """Reads the rest of a stream whose reply is complete, so that its connection can be reused."""
    with contextlib.suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(DRAIN_TIMEOUT):
            async for _ in stream:
                pass


PIECES = ("content", "reasoning_content", "reasoning", "refusal")


async def _data(response: httpx2.Response) -> AsyncIterator[str]:
    """The data lines of a stream, split at line feeds only: JSON may contain any other separator."""
    begun: list[bytes] = []  # pieces of a line: joining them anew with each piece would take quadratic time
    async for piece in pieces(response, transport.LARGEST_ANSWER):
        first, *others = piece.split(b"\n")
        begun.append(first)
        for other in others:
            line = b"".join(begun)
            begun = [other]
            if line.startswith(b"data:"):
                yield line[5:].strip().decode("utf-8", errors="replace")


def _add(part: dict[str, Any], piece: Mapping[str, Any]) -> None:
    delta = piece.get("delta") or {}
    for name in PIECES:
        if delta.get(name):
            part.setdefault(name, StringIO()).write(delta[name])
    for call in delta.get("tool_calls") or ():
        _add_call(part["calls"], call)
    part["logprobs"] += (piece.get("logprobs") or {}).get("content") or []
    if piece.get("finish_reason"):
        part["finish_reason"] = piece["finish_reason"]


@dataclass
class _Call:
    name: str
    arguments: StringIO  # as all texts here: adding each piece to a string would take quadratic time

    def joined(self) -> dict[str, str]:
        return {"name": self.name, "arguments": self.arguments.getvalue()}


def _add_call(calls: dict[int, _Call], piece: Mapping[str, Any]) -> None:
    """Appends a piece to the call with its index.

    Gemini's endpoint sends no index: a piece with a name begins a call, and one without belongs to the last call.
    """
    function, index = piece.get("function") or {}, piece.get("index")
    if index is None:
        index = next(reversed(calls), -1) + int(bool(function.get("name")) or not calls)
    call = calls.setdefault(index, _Call("", StringIO()))
    name = function.get("name") or ""
    if name != call.name and len(call.name) < LONGEST_NAME:  # some servers send the name with every piece
        call.name += name
    call.arguments.write(function.get("arguments") or "")


def error_message(text: str) -> str:
    """The message of an error body, or the body without tags."""
    try:
        body = json.loads(text)
        error = body.get("error", body)
        message = error.get("message") if isinstance(error, dict) else error
        return str(message or text)
    except (ValueError, AttributeError, RecursionError):
        return re.sub(r"<[^>]+>", " ", text)
