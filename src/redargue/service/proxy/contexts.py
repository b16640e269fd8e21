"""Finds the documents that an answer has to keep to, in the request of the chat."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from redargue.evidence import Passage
from redargue.service.proxy.settings import (
    MAX_CONTEXT,
    MAX_CONTEXTS,
    RequestContext,
    UnreadContexts,
    whole_characters,
)
from redargue.service.proxy.shapes import strings
from redargue.text.segment import delimited_parts, readable_context

_LONGEST_QUESTION = 300  # characters


class ConversationContexts(NamedTuple):
    """The documents of a request: those that are read, and how many are not, or not whole; its last question."""

    documents: tuple[Passage, ...]
    unread: UnreadContexts
    question: str = ""


def contexts_of(
    body: Mapping[str, Any], given: Sequence[str | RequestContext], *, roles: Sequence[str] = ("system", "developer")
) -> ConversationContexts:
    """The documents of a request, each once: those given, the results of tools, the delimited parts of instructions.

    Of more than ``MAX_CONTEXTS``, the earliest results of tools are left out: an answer rests on the latest. Of a
    document longer than ``MAX_CONTEXT``, the beginning is read. One that was given is called by its place among these,
    ``context-2``; the others follow.

    Args:
        body: of a request to Chat Completions (``messages``) or Responses (``input``, ``instructions``).
        given: ``redargue.contexts``.
        roles: whose messages' delimited parts are documents.
    """
    first = _distinct(given)
    last = [text for text in _distinct(_delimited(body, roles)) if text not in first]
    known = {*first, *last}
    latest = [text for text in _distinct(reversed([*_tool_results(body)])) if text not in known]
    found = len(first) + len(last) + len(latest)
    last = last[: MAX_CONTEXTS - len(first)]
    latest = latest[: MAX_CONTEXTS - len(first) - len(last)]
    read = [*first, *reversed(latest), *last]
    cut = sum(isinstance(text, str) and len(text) > MAX_CONTEXT for text in read)
    unread: UnreadContexts = {"left_out": found - len(read), "cut": cut}
    places = {text: at for at, text in reversed([*enumerate(map(_whole, given), 1)])}
    others = count(len(given) + 1)
    contexts = [RequestContext(text=text[:MAX_CONTEXT]) if isinstance(text, str) else text for text in read]
    return ConversationContexts(
        tuple(context.passage(places.get(text) or next(others)) for text, context in zip(read, contexts, strict=True)),
        {how: number for how, number in unread.items() if number},
        _question(body),
    )


def _question(body: Mapping[str, Any]) -> str:
    """The end of the user's last message, where it is a question."""
    said = [content_text(message.get("content")) for message in messages_of(body) if message.get("role") == "user"]
    return question_in(next(reversed(said), content_text(body.get("input"))))


def question_in(text: str) -> str:
    """The end of a text, where it is a question; else empty."""
    end = text.rstrip(" \t\r\n\"'”’)*_!")[-_LONGEST_QUESTION:]
    return end if end.endswith("?") else ""


def _distinct(texts: Iterable[str | RequestContext]) -> list[str | RequestContext]:
    """Those with words, each once."""
    return [
        text
        for text in dict.fromkeys(map(_whole, texts))
        if re.search(r"\w", text.text if isinstance(text, RequestContext) else text)
    ]


def _whole(text: str | RequestContext) -> str | RequestContext:
    return text if isinstance(text, RequestContext) else whole_characters(text)


def messages_of(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The messages of a request, and items in their place."""
    for name in ("messages", "input"):
        messages = body.get(name)
        if isinstance(messages, list):
            yield from (message for message in messages if isinstance(message, dict))


def _tool_results(body: Mapping[str, Any]) -> Iterator[str]:
    for message in messages_of(body):
        if message.get("role") in ("tool", "function"):
            yield readable_context(content_text(message.get("content")))
        elif message.get("type") in ("function_call_output", "custom_tool_call_output", "mcp_call"):
            yield readable_context(content_text(message.get("output")))
        elif message.get("type") == "file_search_call":
            results = message.get("results")
            yield from (content_text([result]) for result in (results if isinstance(results, list) else ()))


def _delimited(body: Mapping[str, Any], roles: Sequence[str]) -> Iterator[str]:
    if "system" in roles and isinstance(instructions := body.get("instructions"), str):
        yield from delimited_parts(instructions)
    for message in messages_of(body):
        if message.get("role") in roles:
            yield from delimited_parts(content_text(message.get("content")))


def content_text(content: object) -> str:
    """The text of a message, whose content may come in parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


# Whether the input of a call, which is for a program, has sentences that a person may be shown.
_FEWEST = 4  # words of a sentence; fewer are values, such as a name or a date
_DECODER = json.JSONDecoder(object_pairs_hook=list)  # a name may come twice
_BLANK = re.compile(r"\s*")
_END = re.compile(r"[.!…][\"'”’»)\]*_]*(?=\s|$)")
_WIDE_END = re.compile(r"[。！｡]")


def may_be_shown(given: str, *, awaited: bool) -> bool:
    """Whether an input has text that is more than a program's.

    Where a program awaits calls (``awaited``), this is four words or more up to a full stop, or a full stop of Chinese
    or Japanese: searches, questions, dates, paths and most code have none. Nothing here judges what a sentence states.
    Where the request has no tools, nobody knows who reads the call, and any text is.
    """
    return any(_is_sentence(text) if awaited else text.strip() for text in _texts(given))


def _is_sentence(text: str) -> bool:
    if _WIDE_END.search(text):
        return True
    ends = [end.end() for end in _END.finditer(text)]
    return bool(ends) and len(re.findall(r"\w+", text[: ends[-1]])) >= _FEWEST


def _texts(given: str) -> Iterator[str]:
    """The strings of one JSON value after the other; what is not JSON is text as a whole."""
    at = _next(given, 0)
    while at < len(given):
        try:
            value, end = _DECODER.raw_decode(given, at)
        except (ValueError, RecursionError):
            yield given[at:]
            return
        yield from strings(value)
        at = _next(given, end)


def _next(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at
