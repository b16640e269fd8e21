"""Finds the documents that an answer has to keep to, in the request of the chat."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redargue.evidence import Passage
from redargue.service.proxy.settings import MAX_CONTEXT, MAX_CONTEXTS, RequestContext, whole_characters
from redargue.service.proxy.shapes import strings
from redargue.text.segment import delimited_parts, readable_context


def contexts_of(
    body: Mapping[str, Any], given: Sequence[str | RequestContext], *, roles: Sequence[str] = ("system", "developer")
) -> tuple[Passage, ...]:
    """The documents of a request, each once: those given, the results of tools, the delimited parts of instructions.

    Args:
        body: of a request to Chat Completions (``messages``) or Responses (``input``, ``instructions``).
        given: ``redargue.contexts``.
        roles: whose messages' delimited parts are documents.
    """
    texts = [*given, *_tool_results(body), *_delimited(body, roles)]
    documents = [text if isinstance(text, RequestContext) else whole_characters(text)[:MAX_CONTEXT] for text in texts]
    with_words = [
        document
        for document in dict.fromkeys(documents)
        if re.search(r"\w", document.text if isinstance(document, RequestContext) else document)
    ]
    return tuple(
        (document if isinstance(document, RequestContext) else RequestContext(text=document)).passage(number)
        for number, document in enumerate(with_words[:MAX_CONTEXTS], 1)
    )


def _messages(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for name in ("messages", "input"):
        messages = body.get(name)
        if isinstance(messages, list):
            yield from (message for message in messages if isinstance(message, dict))


def _tool_results(body: Mapping[str, Any]) -> Iterator[str]:
    for message in _messages(body):
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
    for message in _messages(body):
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
