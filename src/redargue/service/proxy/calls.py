"""Whether the input of a call, which is for a program, has sentences that a person may be shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from redargue.service.proxy.shapes import strings

_FEWEST = 4  # words of a sentence; fewer are values, such as a name or a date
_DECODER = json.JSONDecoder(object_pairs_hook=list)  # a name may come twice
_BLANK = re.compile(r"\s*")
_END = re.compile(r"[.!…][\"'”’»)\]*_]*(?=\s|$)")
_WIDE_END = re.compile(r"[。！｡]")


def may_be_shown(given: str, *, awaited: bool) -> bool:
    """Whether an input has text that is more than a program's.

    Where a program awaits calls (``awaited``), this is four words or more up to a full stop, or a full stop of Chinese
    or Japanese: searches, questions, dates, paths and most code have none. Nothing here judges what a sentence states.
    Where the request has no tools, nobody knows what becomes of the call, and any text is.
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
