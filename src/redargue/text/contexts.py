"""Documents within prompts and the results of tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_NAMES = (
    "contexts?|documents?|docs?|passages?|sources?|search[_-]results?|results?|references?|retrieved[_-]\\w+|knowledge"
    "|excerpts?|articles?|evidence"
)
# These patterns read prompts of megabytes, so that none may go over the same text again and again.
_DELIMITER = re.compile(rf"<(?P<close>/)?(?P<tag>{_NAMES})\b(?(close)\s*+|[^<>]*+)>", re.IGNORECASE)
_QUOTED = re.compile(r'(?P<mark>"""|\'\'\')(?P<text>.+?)(?P=mark)', re.DOTALL)
_HEADINGS = "contexts?|documents|sources|passages|search results|knowledge base"
_NEXT = r"[ \t]*#{1,6}[ \t]|[ \t]*(?:question|query|answer)s?\b.{0,3}:"
_HEADED = re.compile(
    rf"^[ \t]*(?:#{{1,6}}[ \t]*|\*\*)?(?:retrieved )?(?:{_HEADINGS})(?:\*\*)?[ \t]*+:?(?:\*\*)?[ \t]*+$\n"
    rf"(?P<text>.+?)(?=^(?:{_NEXT})|\Z)",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
_TAG = re.compile(r"</?[a-z_][\w-]*(?:\s[^<>]*)?/?>", re.IGNORECASE)
_BLANK_LINES = re.compile(r"(?<![ \t])[ \t]*+\n\s*\n\s*")


def delimited_parts(text: str) -> list[str]:
    """Parts of a prompt that are set off as documents.

    By tags (``<context>…</context>``), triple quotation marks, or a heading on its own line (``Context:``,
    ``### Documents``) up to the next one. Tags within a part separate documents and are left out.
    """
    parts, rest = _tagged(text)
    for pattern in (_QUOTED, _HEADED):
        parts += [match["text"] for match in pattern.finditer(rest)]
        rest = pattern.sub("\n", rest)
    return [document for part in parts for document in _separated(part)]


def _tagged(text: str) -> tuple[list[str], str]:
    """The texts between two tags of a name, each up to the first that closes it, and what is outside of them."""
    closing: dict[str, re.Match[str]] = {}
    pairs: list[tuple[re.Match[str], re.Match[str]]] = []
    for tag in reversed([*_DELIMITER.finditer(text)]):
        name = tag["tag"].lower()
        if tag["close"]:
            closing[name] = tag
        elif name in closing:
            pairs.append((tag, closing[name]))
    parts, rest, at = [], [], 0
    for first, last in reversed(pairs):
        if first.start() >= at:
            parts.append(text[first.end() : last.start()])
            rest.append(text[at : first.start()])
            at = last.end()
    return parts, "\n".join([*rest, text[at:]])


def _separated(part: str) -> list[str]:
    inner, _ = _tagged(part)
    whole = inner if len(inner) > 1 else [part]
    texts = (_BLANK_LINES.sub("\n\n", _TAG.sub("\n", text)).strip() for text in whole)
    return [text for text in texts if text]


def readable_context(text: str) -> str:
    """A tool's result as prose: JSON becomes its values, a line each, so that sentences stay whole."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
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
