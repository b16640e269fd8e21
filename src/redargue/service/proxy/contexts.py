"""Finds the documents that an answer has to keep to, in the request of the chat."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redargue.evidence import Passage
from redargue.service.proxy.settings import MAX_CONTEXT, MAX_CONTEXTS, RequestContext, whole_characters
from redargue.text.contexts import delimited_parts, readable_context


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
    kept = list(dict.fromkeys(document for document in documents if re.search(r"\w", _text(document))))
    return tuple(
        (document if isinstance(document, RequestContext) else RequestContext(text=document)).passage(number)
        for number, document in enumerate(kept[:MAX_CONTEXTS], 1)
    )


def _text(document: str | RequestContext) -> str:
    return document.text if isinstance(document, RequestContext) else document


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
