"""Documents within prompts and the results of tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

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
