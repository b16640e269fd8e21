"""Reads the responses of a chat endpoint, whole or streamed; separates thoughts and describes damage."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from io import StringIO
from typing import Any, NamedTuple, TypeGuard

import httpx2

from redargue.backends import Token
from redargue.net import transport
from redargue.net.fetch import pieces
from redargue.tasks.untrusted import strip_marks

LONGEST_NAME = 1_000  # characters of a function's name
DRAIN_TIMEOUT = 0.1  # seconds; a stream's end usually arrives in the packet of its last event


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
        known = choices if isinstance(choices, list) else []
        if known and all(isinstance(choice, dict) for choice in known):
            known.sort(key=lambda choice: index if isinstance(index := choice.get("index"), int) else 0)
            return tuple(_choice(choice, called=called) for choice in known)
        problem = f"without choices: {error_message(text)[:200]}"
    except (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        is_page = "<html" in text[:1000].lower() or "<!doctype" in text[:100].lower()
        problem = f"with {'HTML' if is_page else 'no chat completion'}"
    return (Choice(text=text[:2000], problem=f"the endpoint answered {problem}", refused=True),)


CUT = "the reply was cut at its token limit"
_THOUGHTS = re.compile(r"\s*<(think|thinking)>(.*?)</\1>\s*", re.DOTALL)
# Some chat templates open the tag themselves, so the reply has only the closing tag, on a line by itself.
_ENDED = re.compile(r"(?ms)(?!\s*[{<])(.*?)^[ \t]*</(?:think|thinking)>[ \t]*\r?\n\s*")


def _choice(choice: Mapping[str, Any], *, called: bool) -> Choice:
    message = _mapping(choice.get("message"))
    content, refusal = message.get("content"), message.get("refusal")
    if isinstance(content, list):  # some servers send parts
        content = "".join(str(part.get("text") or "") for part in _mappings(content))
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
    rows = _mappings(_mapping(choice.get("logprobs")).get("content"))
    thoughts = _valid(thoughts) if isinstance(thoughts, str) else ""
    entropy, tokens, alternatives = _entropy(rows), _tokens(rows), tuple(map(_alternatives, rows))
    return Choice(_valid(text), thoughts, problem, refused, entropy, tokens, alternatives, calls)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; empty for any other value."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _valid(text: str) -> str:
    """Replaces lone surrogates, which can be neither sent nor stored, and removes the marks of untrusted texts."""
    return strip_marks(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _calls(message: Mapping[str, Any]) -> tuple[Called, ...]:
    calls = []
    for call in _mappings(message.get("tool_calls")):
        function = _mapping(call.get("function"))
        name, arguments = function.get("name"), function.get("arguments")
        if not isinstance(arguments, str):
            arguments = "" if arguments is None else json.dumps(arguments)
        calls.append(Called(_valid(name) if isinstance(name, str) else "", _valid(arguments)))
    return tuple(calls)


def _tokens(rows: list[dict[str, Any]]) -> tuple[Token, ...]:
    tokens = [Token(row["token"], float(row["logprob"])) for row in rows if _is_usable(row)]
    return tuple(tokens) if len(tokens) == len(rows) else ()


def _is_usable(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("token"), str) and _is_logprob(row.get("logprob"))


def _is_logprob(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and value <= 1e-6  # which NaN is not


def _alternatives(row: Mapping[str, Any]) -> tuple[Token, ...]:
    return _tokens(_mappings(row.get("top_logprobs")))


def _entropy(rows: list[dict[str, Any]]) -> float | None:
    """Mean entropy over the tokens (nats), each from its top alternatives and the remaining mass as one."""
    entropies = []
    for row in rows:
        logs = (top.get("logprob") for top in row.get("top_logprobs") or () if isinstance(top, dict))
        shares = [math.exp(log) for log in filter(_is_logprob, logs)]
        if shares:
            shares.append(max(0.0, 1.0 - sum(shares)))
            entropies.append(-sum(share * math.log(share) for share in shares if share > 0))
    return sum(entropies) / len(entropies) if entropies else None


async def read_stream(response: httpx2.Response) -> str:
    """A streamed reply in the format of an unstreamed one; raises httpx2.ReadError if the stream is broken or cut."""
    if "text/event-stream" not in response.headers.get("content-type", ""):
        return await transport.read_body(response)
    parts: dict[int, dict[str, Any]] = defaultdict(lambda: {"logprobs": [], "calls": {}})
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
                _add(parts[choice.get("index") or 0], choice)
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise httpx2.ReadError("the stream is broken") from None
    if not parts or not all("finish_reason" in part for part in parts.values()):
        raise httpx2.ReadError("the stream was cut")
    try:
        choices = [{"index": index, **_joined(part)} for index, part in parts.items()]
    except TypeError:  # calls whose indices have no order
        raise httpx2.ReadError("the stream is broken") from None
    return json.dumps({"choices": choices, "usage": usage})


def _joined(part: Mapping[str, Any]) -> dict[str, Any]:
    """A choice, as a reply that is not streamed has it."""
    message = {name: part[name].getvalue() if name in part else None for name in PIECES}
    message["tool_calls"] = [{"function": call.joined()} for _, call in sorted(part["calls"].items())]
    logprobs = {"content": part["logprobs"]}
    return {"message": message, "finish_reason": part["finish_reason"], "logprobs": logprobs}


async def _drain(stream: AsyncIterator[str]) -> None:
    """Reads the rest of a stream whose reply is complete, so that its connection can be reused."""
    with contextlib.suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(DRAIN_TIMEOUT):
            async for _ in stream:
                pass


PIECES = ("content", "reasoning_content", "reasoning", "refusal")


async def _data(response: httpx2.Response) -> AsyncIterator[str]:
    """The data lines of a stream, split at line feeds only: JSON may contain any other separator."""
    begun: list[bytes] = []  # pieces of a line: joining them with each piece takes quadratic time
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
    arguments: StringIO  # as all texts here: adding each piece to a string takes quadratic time

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
    if name != call.name and len(call.name) < LONGEST_NAME:  # some send the name with every piece
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
