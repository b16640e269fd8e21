"""Reading what a chat endpoint sent: whole or in pieces, with thoughts kept apart and damage named."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2


@dataclass(frozen=True)
class Choice:
    """One sample.

    Attributes:
        text: what the model said, without its thoughts.
        thoughts: what a reasoning model thought before.
        problem: why the sample cannot be an answer, whatever it says; empty where nothing is wrong.
        entropy: mean entropy of its tokens, in nats; None where the endpoint gives no log probabilities.
    """

    text: str
    thoughts: str = ""
    problem: str = ""
    entropy: float | None = None


def read_completion(text: str) -> tuple[Choice, ...]:
    """The samples of a chat completion; what is no completion is one sample with a problem."""
    try:
        body = json.loads(text)
    except ValueError:
        kind = "HTML" if "<html" in text[:1000].lower() or "<!doctype" in text[:100].lower() else "no JSON"
        return (Choice(text=text[:2000], problem=f"the endpoint answered with {kind}"),)
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(choices, list) or not choices or not all(isinstance(each, dict) for each in choices):
        return (Choice(text=text[:2000], problem=f"the endpoint answered without choices: {said_in(text)[:200]}"),)
    ordered = sorted(choices, key=lambda each: each["index"] if isinstance(each.get("index"), int) else 0)
    return tuple(_choice(each) for each in ordered)


_THOUGHTS = re.compile(r"^\s*<(think|thinking|reasoning)>(.*?)</\1>\s*", re.DOTALL)


def _choice(choice: Mapping[str, Any]) -> Choice:
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    content, refusal = message.get("content"), message.get("refusal")
    if isinstance(content, list):  # some servers send parts
        content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
    text = content if isinstance(content, str) else ""
    thoughts = message.get("reasoning_content") or message.get("reasoning") or ""
    if found := _THOUGHTS.match(text):
        text, thoughts = text[found.end() :], found.group(2).strip()
    problem = ""
    if isinstance(refusal, str) and refusal and not text:
        problem = f"the model refused: {refusal[:200]}"
    elif choice.get("finish_reason") == "length":
        problem = "the reply was cut at its token limit"
    elif choice.get("finish_reason") == "content_filter":
        problem = "the endpoint's content filter stopped the reply"
    elif not text.strip() or text.lstrip().startswith(("<think>", "<thinking>", "<reasoning>")):
        problem = "the reply is empty"
    return Choice(text, thoughts if isinstance(thoughts, str) else "", problem, _entropy(choice.get("logprobs")))


def _entropy(logprobs: Any) -> float | None:
    """Mean entropy over the tokens, each from its likeliest alternatives and the rest as one (nats)."""
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    found = []
    for token in tokens if isinstance(tokens, list) else ():
        alternatives = [each.get("logprob") for each in token.get("top_logprobs") or ()]
        shares = [math.exp(each) for each in alternatives if isinstance(each, int | float)]
        if shares:
            shares.append(max(0.0, 1.0 - sum(shares)))
            found.append(-sum(share * math.log(share) for share in shares if share > 0))
    return sum(found) / len(found) if found else None


async def read_stream(response: httpx2.Response) -> str:
    """A streamed reply put together as an unstreamed one.

    Raises:
        httpx2.ReadError: the stream ended before the model did.
    """
    if "text/event-stream" not in response.headers.get("content-type", ""):
        return (await response.aread()).decode(response.encoding or "utf-8", errors="replace")
    parts: dict[int, dict[str, Any]] = {}
    usage: Any = None
    done = False
    async for line in response.aiter_lines():
        if not line.startswith("data:"):
            continue
        data = line[5:].strip()
        if data == "[DONE]":
            done = True
            break
        try:
            chunk = json.loads(data)
        except ValueError:
            raise httpx2.ReadError("the stream is broken") from None
        if not isinstance(chunk, dict):
            continue
        if "error" in chunk:
            return data
        usage = chunk.get("usage") or usage
        for each in chunk.get("choices") or ():
            _add(parts.setdefault(each.get("index", 0), {"text": "", "thoughts": "", "logprobs": []}), each)
    if (not done and not all("finish" in part for part in parts.values())) or not parts:
        raise httpx2.ReadError("the stream was cut")
    choices = [
        {
            "index": index,
            "message": {"content": part["text"], "reasoning_content": part["thoughts"]},
            "finish_reason": part.get("finish"),
            "logprobs": {"content": part["logprobs"]},
        }
        for index, part in parts.items()
    ]
    return json.dumps({"choices": choices, "usage": usage})


def _add(part: dict[str, Any], piece: Mapping[str, Any]) -> None:
    delta = piece.get("delta") or {}
    part["text"] += delta.get("content") or ""
    part["thoughts"] += delta.get("reasoning_content") or ""
    part["logprobs"] += (piece.get("logprobs") or {}).get("content") or []
    if piece.get("finish_reason"):
        part["finish"] = piece["finish_reason"]


def said_in(text: str) -> str:
    """The message of an error body, or the body."""
    try:
        body = json.loads(text)
        error = body.get("error", body)
        found = error.get("message") if isinstance(error, dict) else error
        return str(found or text)
    except (ValueError, AttributeError):
        return re.sub(r"<[^>]+>", " ", text)
