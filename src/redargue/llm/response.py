"""Reading what a chat endpoint sent: whole or in pieces, with thoughts kept apart and damage named."""

from __future__ import annotations

import json
import math
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import httpx2

from redargue.backends.base import Token
from redargue.net import transport


class Called(NamedTuple):
    """A function that a model calls.

    Attributes:
        name: as the model wrote it.
        arguments: as they came: JSON, as a rule.
    """

    name: str
    arguments: str


@dataclass(frozen=True)
class Choice:
    """One sample.

    Attributes:
        text: what the model said, without its thoughts.
        thoughts: what a reasoning model thought before.
        problem: why the sample cannot be an answer, whatever it says; empty where nothing is wrong.
        entropy: mean entropy of its tokens, in nats; None where the endpoint gives no log probabilities.
        tokens: with their log probabilities; none where the endpoint gives none.
        calls: of functions, in their order; read only where functions were offered.
    """

    text: str
    thoughts: str = ""
    problem: str = ""
    entropy: float | None = None
    tokens: tuple[Token, ...] = ()
    calls: tuple[Called, ...] = ()

    @property
    def verbatim(self) -> str:
        """All that was said: the text, or, where functions were called, text and calls as JSON."""
        if not self.calls:
            return self.text
        return json.dumps(
            {"content": self.text, "tool_calls": [each._asdict() for each in self.calls]}, ensure_ascii=False
        )


def read_response(text: str, *, called: bool = False) -> tuple[Choice, ...]:
    """The samples of a chat completion; what is no completion is one sample with a problem.

    Args:
        text: the body.
        called: whether functions were offered, so that a call of one is a reply.
    """
    try:
        body = json.loads(text)
        choices = body.get("choices") if isinstance(body, dict) else None
        if not isinstance(choices, list) or not choices or not all(isinstance(each, dict) for each in choices):
            said = error_message(text)[:200]
            return (Choice(text=text[:2000], problem=f"the endpoint answered without choices: {said}"),)
        ordered = sorted(choices, key=lambda each: each["index"] if isinstance(each.get("index"), int) else 0)
        return tuple(_choice(each, called=called) for each in ordered)
    except (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        kind = "HTML" if "<html" in text[:1000].lower() or "<!doctype" in text[:100].lower() else "no chat completion"
        return (Choice(text=text[:2000], problem=f"the endpoint answered with {kind}"),)


_THOUGHTS = re.compile(r"\s*<(think|thinking)>(.*?)</\1>\s*", re.DOTALL)
# Some chat templates open the tag themselves, so that the reply holds its end alone, on a line of its own.
_ENDED = re.compile(r"(?!\s*[{<])(.*?)^[ \t]*</(?:think|thinking)>[ \t]*\r?\n\s*", re.DOTALL | re.MULTILINE)


def _choice(choice: Mapping[str, Any], *, called: bool) -> Choice:
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    content, refusal = message.get("content"), message.get("refusal")
    if isinstance(content, list):  # some servers send parts
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    text = content if isinstance(content, str) else ""
    thoughts = message.get("reasoning_content") or message.get("reasoning") or ""
    if found := _THOUGHTS.match(text) or _ENDED.match(text):
        text, thoughts = text[found.end() :], thoughts or found.groups()[-1].strip()
    problem, calls = "", _calls(message) if called else ()
    if isinstance(refusal, str) and refusal and not text:
        problem = f"the model refused: {refusal[:200]}"
    elif choice.get("finish_reason") == "length":
        problem = "the reply was cut at its token limit"
    elif choice.get("finish_reason") == "content_filter":
        problem = "the endpoint's content filter stopped the reply"
    elif (not text.strip() and not calls) or text.lstrip().startswith(("<think>", "<thinking>")):
        problem = "the reply is empty"
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    said = [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []
    thoughts = _whole(thoughts) if isinstance(thoughts, str) else ""
    return Choice(_whole(text), thoughts, problem, _entropy(said), _tokens(said), calls)


def _whole(text: str) -> str:
    """Halves of surrogate pairs replaced: JSON may hold them, and what holds them can be neither sent nor kept."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _calls(message: Mapping[str, Any]) -> tuple[Called, ...]:
    """The functions that a message calls; what has no name, or broken arguments, is told to the model later."""
    given = message.get("tool_calls")
    rows = [each.get("function") for each in given if isinstance(each, dict)] if isinstance(given, list) else []
    found = []
    for row in rows:
        name, arguments = (row.get("name"), row.get("arguments")) if isinstance(row, dict) else ("", "")
        text = arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments)
        found.append(Called(_whole(name) if isinstance(name, str) else "", _whole(text)))
    return tuple(found)


def _tokens(said: list[dict[str, Any]]) -> tuple[Token, ...]:
    """Every token; none where one of them has no text or no log probability."""
    found = [(each.get("token"), each.get("logprob")) for each in said]
    usable = (isinstance(text, str) and isinstance(log, int | float) and log <= 1e-6 for text, log in found)
    return tuple(Token(str(text), float(log or 0)) for text, log in found) if all(usable) else ()


def _entropy(said: list[dict[str, Any]]) -> float | None:
    """Mean entropy over the tokens, each from its likeliest alternatives and the rest as one (nats)."""
    found = []
    for token in said:
        top = token.get("top_logprobs")
        given = [each.get("logprob") for each in top or () if isinstance(each, dict)]
        shares = [math.exp(each) for each in given if isinstance(each, int | float) and each <= 1e-6]  # NaN is not
        if shares:
            shares.append(max(0.0, 1.0 - sum(shares)))
            found.append(-sum(share * math.log(share) for share in shares if share > 0))
    return sum(found) / len(found) if found else None


async def read_stream(response: httpx2.Response) -> str:
    """A streamed reply put together as an unstreamed one.

    Raises:
        httpx2.ReadError: the stream is broken, or ended before the model did.
    """
    if "text/event-stream" not in response.headers.get("content-type", ""):
        return await transport.read_whole(response)
    parts: dict[int, dict[str, Any]] = {}
    usage: Any = None
    async for data in _data(response):
        if data == "[DONE]":
            break
        try:
            chunk = json.loads(data)
            if chunk.get("error"):
                return data
            usage = chunk.get("usage") or usage
            for each in chunk.get("choices") or ():
                _add(parts.setdefault(each.get("index") or 0, {"logprobs": [], "calls": {}}), each)
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise httpx2.ReadError("the stream is broken") from None
    if not parts or not all("finish_reason" in part for part in parts.values()):
        raise httpx2.ReadError("the stream was cut")
    choices = [
        {
            "index": index,
            "message": {name: part.get(name) for name in PIECES} | _called(part["calls"]),
            "finish_reason": part["finish_reason"],
            "logprobs": {"content": part["logprobs"]},
        }
        for index, part in parts.items()
    ]
    return json.dumps({"choices": choices, "usage": usage})


PIECES = ("content", "reasoning_content", "reasoning", "refusal")


async def _data(response: httpx2.Response) -> AsyncIterator[str]:
    """The data lines of a stream; they end at line feeds alone, for JSON may hold any other separator."""
    rest, size = b"", 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > transport.LARGEST_ANSWER:
            raise httpx2.ReadError(f"the stream is larger than {transport.LARGEST_ANSWER:,} bytes")
        *whole, rest = (rest + part).split(b"\n")
        for line in whole:
            if line.startswith(b"data:"):
                yield line[5:].strip().decode("utf-8", errors="replace")


def _add(part: dict[str, Any], piece: Mapping[str, Any]) -> None:
    delta = piece.get("delta") or {}
    for name in PIECES:
        if delta.get(name):
            part[name] = part.get(name, "") + delta[name]
    for each in delta.get("tool_calls") or ():
        _add_call(part["calls"], each)
    part["logprobs"] += (piece.get("logprobs") or {}).get("content") or []
    if piece.get("finish_reason"):
        part["finish_reason"] = piece["finish_reason"]


def _add_call(calls: dict[int, dict[str, str]], piece: Mapping[str, Any]) -> None:
    """Adds a piece of a call to the call of its index.

    Gemini's endpoint sends no index: there a name begins a call, and what has none belongs to the last one.
    """
    said, at = piece.get("function") or {}, piece.get("index")
    if at is None:
        at = max(calls, default=-1) + int(bool(said.get("name")) or not calls)
    call = calls.setdefault(at, {"name": "", "arguments": ""})
    if (name := said.get("name") or "") != call["name"]:  # some servers send the name with every piece
        call["name"] += name
    call["arguments"] += said.get("arguments") or ""


def _called(calls: Mapping[int, Mapping[str, str]]) -> dict[str, Any]:
    return {"tool_calls": [{"function": calls[at]} for at in sorted(calls)]} if calls else {}


def error_message(text: str) -> str:
    """The message of an error body, or the body."""
    try:
        body = json.loads(text)
        error = body.get("error", body)
        found = error.get("message") if isinstance(error, dict) else error
        return str(found or text)
    except (ValueError, AttributeError, RecursionError):
        return re.sub(r"<[^>]+>", " ", text)
