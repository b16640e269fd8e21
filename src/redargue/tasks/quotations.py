"""The quotations of a reply, in the forms in which models give them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from redargue.evidence import Passage
from redargue.quotations import find_quotes
from redargue.quotes import can_decide, find_quote
from redargue.tasks.base import list_bounds

SHORTEST_QUOTE = 3  # words of a quotation in running text
MOST_LOOKED_UP = 12  # quotations in reasons
_TEXT_FIELDS = ("text", "quote", "quotation", "passage", "sentence", "excerpt", "content")


def _texts(value: Any) -> Any:
    """A list, one text, objects with a text in them, null: what models write where a list of texts is asked for."""
    if value is None:
        return ()
    if isinstance(value, str | Mapping):
        return [_text(value)]
    if isinstance(value, list | tuple):
        return [_text(item) for item in value if item is not None]
    return value


def _text(item: Any) -> Any:
    if isinstance(item, Mapping):
        return next((item[name] for name in _TEXT_FIELDS if isinstance(item.get(name), str)), item)
    return item


Quotations = Annotated[tuple[str, ...], BeforeValidator(_texts)]


def quotes_field(description: str) -> Any:
    """A field of up to six quotations; by default none."""
    return Field(default=(), description=description, json_schema_extra=list_bounds(6, 400))


def quoted(text: str) -> tuple[str, ...]:
    """What is between quotation marks, without single words and names."""
    matches = (first or second for first, second in re.findall(r'"([^"\n]+)"|“([^”\n]+)”', text))
    return tuple(dict.fromkeys(quote.strip() for quote in matches if len(quote.split()) >= SHORTEST_QUOTE))


def with_quoted_reasons(
    given: tuple[str, ...], reasons: Iterable[str], passages: tuple[Passage, ...]
) -> tuple[str, ...]:
    """The quotations, and where none of them can carry a verdict also those of the reasons that the passages contain.

    Reasons may also quote the claim and other agents, so that they come second.
    """
    if not passages or any(_decides(text, passages) for text in given):
        return given
    written = [span for text in reasons for span in quoted(text) if span not in given]
    found = [span for span in written[:MOST_LOOKED_UP] if find_quote(span, passages).found]
    return tuple(dict.fromkeys((*given, *found)))


def _decides(text: str, passages: tuple[Passage, ...]) -> bool:
    return any(can_decide(quote, passages) for quote in find_quotes(text, passages))
