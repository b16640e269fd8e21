"""Constrained decoding: the model generates free text and chooses closed fields; code inserts everything else.

Every reply can therefore be parsed. A boolean, an enum, a number between bounds (one of eleven steps, or any integer)
and the end of a list take the most likely value given the text before. Parts of the answer that the task determines
(statements to check, sentence numbers) are inserted too.
"""

from __future__ import annotations

import json
import re
from typing import Any

from redargue.errors import UnsupportedTask
from redargue.llm.hf_model import Draft
from redargue.llm.rendering import schema_of
from redargue.tasks.answer import LabelledTask
from redargue.tasks.base import AnyTask
from redargue.tasks.extract import ExtractClaims
from redargue.tasks.query import LONGEST_QUERY, QueryTask
from redargue.tasks.step import StepTask

_MOST_ITEMS = 20  # of an unbounded list
_STEPS = 10  # of a number between bounds
TEXT = {"type": "string", "maxLength": 1_000}


def fill(draft: Draft, task: AnyTask, *, plain: bool, longest: int) -> None:
    """Generates the reply to a task; raises UnsupportedTask for a field that is neither text nor closed.

    Args:
        plain: whether to reply in the paper's form (label on the last line, query in brackets) instead of JSON.
        longest: characters of free text, unless its field has a lower bound.
    """
    if plain and isinstance(task, QueryTask):
        draft.add("[")
        draft.add(draft.write(min(longest, LONGEST_QUERY), _query_end) + "]")
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
    names, answers = [tool.name for tool in task.tools], list(task.answers())
    form.draft.add('{"thought": ')
    form.value(TEXT, ", ")
    options = ['"action": ', '"answer": '] if names else ['"answer": ']
    if options[form.draft.choose(options)] == '"answer": ':
        form.value({"enum": answers} if answers else TEXT, "}")
        return
    form.draft.add('{"name": ')
    form.value({"enum": names}, ', "reason": ')
    form.value(TEXT, ', "input": ')
    form.value(TEXT, "}}")


class _Form:
    """A JSON schema being filled in."""

    def __init__(self, draft: Draft, task: AnyTask, longest: int) -> None:
        self.draft, self.schema = draft, schema_of(task)
        self._task, self._longest = task, longest
        for listed, (name, values) in task.fixed_items().items():
            field = self.schema["properties"][listed]
            item = self._resolved(field["items"])
            known = ({**item["properties"], name: {"const": value}} for value in values)
            field["prefixItems"] = [{**item, "properties": properties} for properties in known]
        if isinstance(task, ExtractClaims):
            item = self._resolved(self.schema["properties"]["claims"]["items"])
            item["properties"]["sentence"] = {"enum": list(range(1, len(task.sentences) + 1))}

    def value(self, field: dict[str, Any], after: str, *, opened: bool = False) -> Any:
        """Writes a value and the text after it; returns the value of a closed field or of a text.

        ``opened``: the value's first character has been written.
        """
        field = self._resolved(field)
        kind = field.get("type")
        if options := _closed(field):
            written = [json.dumps(option, ensure_ascii=False) + after for option in options]
            return options[self.draft.choose(written)]
        if kind == "string":
            self.draft.add("" if opened else '"')
            longest = min(self._longest, field.get("maxLength", self._longest))
            text = _unescaped(self.draft.write(longest, _closing_quote))
            self.draft.add(json.dumps(text, ensure_ascii=False)[1:] + after)
            return text
        if kind == "object" and field.get("properties"):
            self.draft.add("" if opened else "{")
            self._fields(dict(field["properties"]))
            self.draft.add(after)
        elif kind == "array":
            self._items(field, after)
        else:
            raise self._refused(field)
        return None

    def _fields(self, fields: dict[str, Any]) -> None:
        no_tool = "answer" in fields and not any(fields.get("tool", {}).get("enum", ()))
        if no_tool and isinstance(self._task, StepTask) and "enum" in fields["answer"]:
            fields["answer"] = {"enum": [answer for answer in fields["answer"]["enum"] if answer]}
        for number, name in enumerate(list(fields), 1):
            self.draft.add(f'"{name}": ')
            chosen = self.value(fields[name], ", " if number < len(fields) else "}")
            if name == "answer" and "tool" in fields and isinstance(self._task, StepTask):
                self._answered(fields, bool(chosen))

    def _answered(self, fields: dict[str, Any], answered: bool) -> None:
        """Closes the fields after the answer: a step is a call or an answer, never both."""
        if answered:
            closed = fields.keys() & {"tool", "reason", "input"}
            fields |= {name: {"const": ""} for name in closed}
        else:
            fields["tool"] = {"enum": [tool for tool in fields["tool"]["enum"] if tool] or [""]}

    def _items(self, field: dict[str, Any], after: str) -> None:
        if "prefixItems" in field:
            self.draft.add("[")
            for index, item in enumerate(field["prefixItems"]):
                self.draft.add(", " if index else "")
                self.value(item, "")
            self.draft.add("]" + after)
            return
        item = self._resolved(field["items"])
        first = {"string": '"', "object": "{"}.get(item.get("type", ""))
        if first is None or "enum" in item:
            raise self._refused(field)
        self.draft.add("[")
        for index in range(field.get("maxItems", _MOST_ITEMS)):
            options = [(", " if index else "") + first, "]" + after]
            if self.draft.choose(options[: 1 if index < field.get("minItems", 0) else 2]):
                return
            self.value(item, "", opened=True)
        self.draft.add("]" + after)

    def _refused(self, field: dict[str, Any]) -> UnsupportedTask:
        shown = json.dumps(field)[:200]
        return UnsupportedTask(f"{self._task.name()} has a field that cannot be filled in: {shown}")

    def _resolved(self, field: dict[str, Any]) -> dict[str, Any]:
        if "$ref" not in field:
            return field
        return dict(self.schema["$defs"][field["$ref"].rpartition("/")[2]])


def _closed(field: dict[str, Any]) -> list[Any]:
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
    return [round(low + (high - low) * step / _STEPS, 6) for step in range(_STEPS + 1)]


def _query_end(text: str) -> int:
    match = re.search(r"[]\n]", text)
    return match.start() if match else -1


def _closing_quote(text: str) -> int:
    match = re.match(r'(?:[^"\\]|\\.)*"', text, re.DOTALL)
    return match.end() - 1 if match else -1


def _unescaped(raw: str) -> str:
    """A JSON string's value, or the raw string if its escapes are invalid."""
    try:
        text = str(json.loads(f'"{raw}"', strict=False))
    except ValueError:
        text = raw
    return text.encode("utf-8", "replace").decode()  # replaces lone surrogates
