"""Finds the documents that an answer has to keep to, in the request of the chat."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redargue.evidence import Passage
from redargue.service.proxy.settings import MAX_CONTEXT, MAX_CONTEXTS, Context

_NAMES = (
    "contexts?|documents?|docs?|passages?|sources?|search[_-]results?|results?|references?|retrieved[_-]\\w+|knowledge"
    "|excerpts?|articles?|evidence"
)
_TAGGED = re.compile(rf"<(?P<tag>{_NAMES})\b[^<>]*>(?P<text>.*?)</(?P=tag)\s*>", re.IGNORECASE | re.DOTALL)
_QUOTED = re.compile(r'(?P<mark>"""|\'\'\')(?P<text>.+?)(?P=mark)', re.DOTALL)
_HEADINGS = "contexts?|documents|sources|passages|search results|knowledge base"
_NEXT = r"[ \t]*#{1,6}[ \t]|[ \t]*(?:question|query|answer)s?\b.{0,3}:"
_HEADED = re.compile(
    rf"^[ \t]*(?:#{{1,6}}[ \t]*|\*\*)?(?:retrieved )?(?:{_HEADINGS})(?:\*\*)?[ \t]*:?(?:\*\*)?[ \t]*$\n"
    rf"(?P<text>.+?)(?=^(?:{_NEXT})|\Z)",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
_TAG = re.compile(r"</?[a-z_][\w-]*(?:\s[^<>]*)?/?>", re.IGNORECASE)


def contexts_of(
    body: Mapping[str, Any], given: Sequence[str | Context], *, roles: Sequence[str] = ("system", "developer")
) -> tuple[Passage, ...]:
    """The documents of a request, each once: those given, the results of tools, the delimited parts of instructions.

    Args:
        body: of a request to Chat Completions (``messages``) or Responses (``input``, ``instructions``).
        given: ``redargue.contexts``.
        roles: whose messages' delimited parts are documents.
    """
    documents = [context if isinstance(context, Context) else context[:MAX_CONTEXT] for context in given]
    documents += [text[:MAX_CONTEXT] for text in (*_tool_results(body), *_delimited(body, roles))]
    kept = list(dict.fromkeys(document for document in documents if re.search(r"\w", _text(document))))
    return tuple(
        (document if isinstance(document, Context) else Context(text=document)).passage(number)
        for number, document in enumerate(kept[:MAX_CONTEXTS], 1)
    )


def _text(document: str | Context) -> str:
    return document.text if isinstance(document, Context) else document


def _messages(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for name in ("messages", "input"):
        messages = body.get(name)
        if isinstance(messages, list):
            yield from (message for message in messages if isinstance(message, dict))


def _tool_results(body: Mapping[str, Any]) -> Iterator[str]:
    for message in _messages(body):
        if message.get("role") in ("tool", "function"):
            yield readable(content_text(message.get("content")))
        elif message.get("type") in ("function_call_output", "custom_tool_call_output"):
            yield readable(content_text(message.get("output")))


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


def delimited_parts(text: str) -> list[str]:
    """Parts of a prompt that are set off as documents.

    By tags (``<context>…</context>``), triple quotation marks, or a heading on its own line (``Context:``,
    ``### Documents``) up to the next one. Tags within a part separate documents and are left out.
    """
    parts, rest = [], text
    for pattern in (_TAGGED, _QUOTED, _HEADED):
        parts += [match["text"] for match in pattern.finditer(rest)]
        rest = pattern.sub("\n", rest)
    return [document for part in parts for document in _separated(part)]


def _separated(part: str) -> list[str]:
    inner = [match["text"] for match in _TAGGED.finditer(part)]
    whole = inner if len(inner) > 1 else [part]
    texts = (re.sub(r"[ \t]*\n\s*\n\s*", "\n\n", _TAG.sub("\n", text)).strip() for text in whole)
    return [text for text in texts if text]


def readable(text: str) -> str:
    """A tool's result as prose: JSON becomes its values, a line each, so that sentences stay whole."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return "\n".join(_lines(value)) or text


def _lines(value: object, name: str = "", depth: int = 0) -> Iterator[str]:
    if depth > 20:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _lines(item, str(key), depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _lines(item, name, depth + 1)
    elif isinstance(value, str) and (len(value.split()) > 3 or not name):
        yield value
    elif value is not None and value != "":
        yield f"{name}: {value}" if name else str(value)
