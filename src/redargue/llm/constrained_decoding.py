"""Filling in the form of a reply: free text is written, closed fields are chosen, everything else is put in by code.

A reply filled in can therefore be read: the words are the model's, the form is not left to it. A field that is true or
false, one of several values, or a number between two bounds (one of eleven steps, or each whole number) takes the value
that is likeliest after everything before it; so does the end of a list. What the task itself knows of its answer (the
statements that are checked, the numbers of sentences) is put in, too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from redargue.errors import CannotPlay
from redargue.llm.hf_model import Draft
from redargue.llm.rendering import schema_of
from redargue.tasks.answer import LabelledTask
from redargue.tasks.base import AnyTask
from redargue.tasks.extract import ExtractClaims
from redargue.tasks.query import LONGEST_QUERY, QueryTask
from redargue.tasks.step import StepTask

MOST_ITEMS = 20  # of a list without a bound
STEPS = 10  # of a number between two bounds
TEXT = {"type": "string", "maxLength": 1_000}


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
    if plain and isinstance(task, QueryTask):
        draft.add("[")
        draft.add(draft.write(min(longest, LONGEST_QUERY), _first("]\n")) + "]")
    elif plain and isinstance(task, LabelledTask):
        choice = task.choice() if "label" in task.answer_fields else {}
        before, after = task.marks
        if not choice or "reasoning" in task.answer_fields:
            draft.add(draft.write(longest, lambda text: text.find(f"\n{before}")).rstrip())
        if choice:
            draft.add(f"\n{before}")
            draft.choose([f"{word}{after}" for word in choice])
    elif plain and isinstance(task, StepTask):
        _step(_Form(draft, task, longest), task)
    else:
        form = _Form(draft, task, longest)
        form.value(form.schema, "")


def _step(form: _Form, task: StepTask) -> None:
    """A step in MERMAID's own form: a call of a tool or an answer."""
    names, answers = [each.name for each in task.tools], list(task.answers())
    form.draft.add('{"thought": ')
    form.value(TEXT, ", ")
    ways = ['"action": ', '"answer": '] if names else ['"answer": ']
    if ways[form.draft.choose(ways)] == '"answer": ':
        form.value({"enum": answers} if answers else TEXT, "}")
        return
    form.draft.add('{"name": ')
    form.value({"enum": names}, ', "reason": ')
    form.value(TEXT, ', "input": ')
    form.value(TEXT, "}}")


class _Form:
    """A JSON schema that is being filled in."""

    def __init__(self, draft: Draft, task: AnyTask, longest: int) -> None:
        self.draft, self.schema = draft, schema_of(task)
        self._task, self._longest = task, longest
        for name, (field, values) in task.fixed_items().items():
            self._known(name, field, values)
        if isinstance(task, ExtractClaims):
            item = self._resolved(self.schema["properties"]["claims"]["items"])
            item["properties"]["sentence"] = {"enum": list(range(1, len(task.sentences) + 1))}

    def value(self, field: dict[str, Any], after: str, *, opened: bool = False) -> Any:
        """One value, and what stands after it; ``opened`` where its first character stands already.

        Returns:
            The value of a closed field.
        """
        field = self._resolved(field)
        kind = field.get("type")
        if options := _closed(field):
            return options[self.draft.choose([json.dumps(option, ensure_ascii=False) + after for option in options])]
        if kind == "string":
            self.draft.add("" if opened else '"')
            raw = self.draft.write(min(self._longest, field.get("maxLength", self._longest)), _quotation_mark)
            self.draft.add(json.dumps(_meant(raw), ensure_ascii=False)[1:] + after)
        elif kind == "object" and field.get("properties"):
            self.draft.add("" if opened else "{")
            self._fields(dict(field["properties"]))
            self.draft.add(after)
        elif kind == "array":
            self._items(field, after)
        else:
            raise self._refused(field)
        return None

    def _fields(self, fields: dict[str, Any]) -> None:
        """The fields of an object and its end."""
        for place, name in enumerate(list(fields), 1):
            self.draft.add(f'"{name}": ')
            chosen = self.value(fields[name], ", " if place < len(fields) else "}")
            if name == "tool" and isinstance(self._task, StepTask):  # a step is a call or an answer, never both
                for unwanted in ("answer", "quotes") if chosen else ("reason", "input"):
                    fields[unwanted] = {"const": [] if unwanted == "quotes" else ""}
                if not chosen and "enum" in fields["answer"]:
                    fields["answer"] = {"enum": [each for each in fields["answer"]["enum"] if each]}

    def _items(self, field: dict[str, Any], after: str) -> None:
        if "prefixItems" in field:
            self.draft.add("[")
            for place, item in enumerate(field["prefixItems"]):
                self.draft.add(", " if place else "")
                self.value(item, "")
            self.draft.add("]" + after)
            return
        item = self._resolved(field["items"])
        first = {"string": '"', "object": "{"}.get(item.get("type", ""))
        if first is None or "enum" in item:
            raise self._refused(field)
        self.draft.add("[")
        for place in range(field.get("maxItems", MOST_ITEMS)):
            ways = [(", " if place else "") + first, "]" + after]
            if self.draft.choose(ways[: 1 if place < field.get("minItems", 0) else 2]):
                return
            self.value(item, "", opened=True)
        self.draft.add("]" + after)

    def _known(self, listed: str, name: str, values: Sequence[Any]) -> None:
        """Makes a list of one item for each value, which stands in the item's field of that name."""
        field = self.schema["properties"][listed]
        item = self._resolved(field["items"])
        field["prefixItems"] = [
            {**item, "properties": {**item["properties"], name: {"const": value}}} for value in values
        ]

    def _refused(self, field: dict[str, Any]) -> CannotPlay:
        return CannotPlay(f"{self._task.name()} has a field that cannot be filled in: {json.dumps(field)[:200]}")

    def _resolved(self, field: dict[str, Any]) -> dict[str, Any]:
        if "$ref" not in field:
            return field
        found: dict[str, Any] = self.schema["$defs"][field["$ref"].rpartition("/")[2]]
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
