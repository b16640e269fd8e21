"""Filling in the form of a reply: free text is written, closed fields are chosen, everything else is put in by code.

A reply filled in can therefore be read: the words are the model's, the form is not left to it. A field that is true or
false, one of several values, or a number between two bounds (one of eleven steps, or each whole number) takes the value
that is likeliest after everything before it; so does the end of a list.
"""

from __future__ import annotations

import json
from typing import Any

from redargue.backends.causal import Draft
from redargue.backends.render import isinstance_of, schema_of
from redargue.errors import CannotPlay
from redargue.tasks.answering import Answer, LabelledTask
from redargue.tasks.base import AnyTask
from redargue.tasks.querying import LONGEST_QUERY, Query

MOST_ITEMS = 20  # of a list without a bound
STEPS = 10  # of a number between two bounds
LABEL = "\n**"


def fill(draft: Draft, task: AnyTask, *, plain: bool, longest: int) -> None:
    """Writes the reply to a task.

    Args:
        draft: at the beginning of the reply.
        task: what is asked.
        plain: in the paper's own form: the label on the last line, the query in brackets; else as JSON.
        longest: characters of a free text, where its field has no lower bound.

    Raises:
        CannotPlay: a field that is neither text nor closed.
    """
    if plain and isinstance_of(task, Query):
        draft.add("[")
        draft.add(draft.write(min(longest, LONGEST_QUERY), _first("]\n")) + "]")
    elif plain and isinstance_of(task, Answer):
        draft.add(draft.write(longest, lambda text: text.find(LABEL)).rstrip())
        labels = task.claim.labels if isinstance(task, LabelledTask) else None
        if labels and not labels.free_text:
            draft.add(LABEL)
            draft.choose([f"{name}**" for name in labels.names])
    else:
        schema = schema_of(task)
        _Form(draft, task.name(), schema, longest).value(schema, "")


class _Form:
    """A JSON schema that is being filled in."""

    def __init__(self, draft: Draft, task: str, schema: dict[str, Any], longest: int) -> None:
        self._draft, self._task, self._schema, self._longest = draft, task, schema, longest

    def value(self, field: dict[str, Any], after: str, *, opened: bool = False) -> None:
        """One value, and what stands after it; ``opened`` where its first character stands already."""
        field = self._resolved(field)
        kind = field.get("type")
        if options := _closed(field):
            self._draft.choose([json.dumps(option, ensure_ascii=False) + after for option in options])
        elif kind == "string":
            self._draft.add("" if opened else '"')
            raw = self._draft.write(min(self._longest, field.get("maxLength", self._longest)), _quotation_mark)
            self._draft.add(json.dumps(_meant(raw), ensure_ascii=False)[1:] + after)
        elif kind == "object" and field.get("properties"):
            self._draft.add("" if opened else "{")
            *names, last = field["properties"]
            for name in (*names, last):
                self._draft.add(f'"{name}": ')
                self.value(field["properties"][name], "}" if name == last else ", ")
            self._draft.add(after)
        elif kind == "array":
            self._items(field, after)
        else:
            raise CannotPlay(f"{self._task} has a field that cannot be filled in: {json.dumps(field)[:200]}")

    def _items(self, field: dict[str, Any], after: str) -> None:
        item = self._resolved(field["items"])
        first = {"string": '"', "object": "{"}.get(item.get("type", ""))
        if first is None or "enum" in item:
            raise CannotPlay(f"{self._task} has a list that cannot be filled in: {json.dumps(field)[:200]}")
        self._draft.add("[")
        for place in range(field.get("maxItems", MOST_ITEMS)):
            if self._draft.choose([(", " if place else "") + first, "]" + after]):
                return
            self.value(item, "", opened=True)
        self._draft.add("]" + after)

    def _resolved(self, field: dict[str, Any]) -> dict[str, Any]:
        if "$ref" not in field:
            return field
        found: dict[str, Any] = self._schema["$defs"][field["$ref"].rpartition("/")[2]]
        return found


def _closed(field: dict[str, Any]) -> list[Any]:
    """The values that a field may have; none where it is open."""
    if "enum" in field:
        return list(field["enum"])
    if "const" in field:
        return [field["const"]]
    if field.get("type") == "boolean":
        return [True, False]
    low, high = field.get("minimum"), field.get("maximum")
    if low is None or high is None:
        return []
    if field["type"] == "integer":
        return list(range(int(low), int(high) + 1))
    return [round(low + (high - low) * step / STEPS, 6) for step in range(STEPS + 1)]


def _first(marks: str) -> Any:
    """Where the first of several characters stands."""
    return lambda text: next((place for place, each in enumerate(text) if each in marks), -1)


def _quotation_mark(text: str) -> int:
    """Where the mark stands that ends a JSON string; one after a backslash ends nothing."""
    place = 0
    while place < len(text):
        if text[place] == '"':
            return place
        place += 2 if text[place] == "\\" else 1
    return -1


def _meant(raw: str) -> str:
    """What a JSON string says; where its escapes are none, what stands there."""
    try:
        text = str(json.loads(f'"{raw}"', strict=False))
    except ValueError:
        text = raw
    return text.encode("utf-8", "replace").decode()  # half a surrogate pair is no text
