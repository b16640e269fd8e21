"""From a task to messages, and from a reply to an answer: the only place where replies are parsed.

A reply is asked for as a JSON object that follows a schema, as a JSON object, as tagged text, or plainly: in the form
that the paper's own prompt has; the step of an agent that acts also as a call of a function (:mod:`.calling`). Reading
is strict: what is missing, of the wrong kind or ambiguous is an error that says so, and is never filled in.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from redargue.claims import Frozen
from redargue.llm import tool_calls as calling
from redargue.llm.capabilities import Form
from redargue.llm.client import Function, Message
from redargue.llm.parsing import ITEM, one, one_of, quoted
from redargue.llm.prompts import Prompts
from redargue.tasks.answer import Answer, LabelledTask
from redargue.tasks.base import AnyTask, json_schema, lines
from redargue.tasks.step import Step, StepTask


class WeightedSpan(NamedTuple):
    """Where an agent's text stands in the user's message, in characters, and the weight it has."""

    start: int
    end: int
    weight: float


class Prompt(NamedTuple):
    """What is sent for a task.

    Attributes:
        messages: by the form in which JSON is asked for.
        schema: name and JSON schema of the reply; None where it is read plainly.
        stretches: agents' texts in ``user``, in their order.
        history: earlier questions and replies of the chat, between ``system`` and ``user``.
        functions: one of which is to be called instead of a reply in words.
    """

    system: str
    user: str
    schema: tuple[str, dict[str, Any]] | None
    spans: tuple[WeightedSpan, ...] = ()
    history: tuple[tuple[str, str], ...] = ()
    functions: tuple[Function, ...] = ()

    @property
    def words(self) -> str:
        """All that is sent, but how JSON is asked for."""
        return "\0".join([self.system, *(text for pair in self.history for text in pair), self.user])

    def messages(self, form: Form) -> Sequence[Message]:
        """The messages, for one way to ask."""
        system = self.system
        if self.schema:
            system = "\n".join(part for part in (system, _words(self.schema[1], form)) if part)
        said = [{"role": "system", "content": system}] if system else []
        for user, reply in self.history:
            said += [{"role": "user", "content": user}, {"role": "assistant", "content": reply}]
        return [*said, {"role": "user", "content": self.user}]


class Renderer:
    """Writes prompts and reads replies.

    Args:
        prompts: a user's own words; None for redargue's.
        plain: whether replies have the papers' own form; None: in the ``paper`` profile.
        calls: whether a step is asked for as a call of a function.
    """

    def __init__(self, prompts: Prompts | None = None, *, plain: bool | None = None, calls: bool = False) -> None:
        self.prompts, self.plain, self.calls = prompts, plain, calls

    def prompt(self, task: AnyTask) -> Prompt:
        """The prompt of a task: what stays the same from call to call first."""
        plain = tuple((each.prompt_text, each.reply) for each in task.chat_history())
        history = tuple((each.input_text, each.reply) for each in task.chat_history())
        if filled := self.prompts.fill(task) if self.prompts else None:
            return Prompt(*filled, schema=None, history=plain)
        if self.calls and isinstance(task, StepTask):
            system, functions = calling.words(task), calling.functions(task)
            return Prompt(system, task.rendered().input_text, None, history=history, functions=functions)
        text = task.rendered()
        if task.profile == "paper" if self.plain is None else self.plain:
            return Prompt(text.system, text.prompt_text, None, _weighted_spans(task, text.prompt_text), plain)
        system = lines(f"Task: {task.name()}.", text.system, text.instructions).strip()
        user = text.input_text
        return Prompt(system, user, (task.name(), schema_of(task)), _weighted_spans(task, user), history)

    def read(self, task: AnyTask, text: str, *, plain: bool) -> Frozen:
        """The answer that a reply gives.

        Raises:
            ValueError: says what is wrong with the reply, as it can be said to the model.
        """
        if plain and (answer := task.parse_plain(text)) is not None:
            return cast(Frozen, task.validate_answer(answer))
        if plain and isinstance(task, LabelledTask):
            return _plain_answer(text, task)
        kind = Step if plain and isinstance(task, StepTask) else task.reply_type()
        return cast(Frozen, task.from_reply(one(text, kind, _shown(task))))


def _shown(task: AnyTask) -> str:
    """The input of the whole chat: a reply may repeat evidence that an earlier question showed."""
    text = task.rendered()
    return "\n".join([text.system, *(each.input_text for each in task.chat_history()), text.input_text])


def _weighted_spans(task: AnyTask, user: str) -> tuple[WeightedSpan, ...]:
    """Where the agents' texts are in a task's message, which ends with the task's input.

    Raises:
        ValueError: the task's parts, joined, are not its input.
    """
    parts = task.parts()
    if not any(part.agent for part in parts):
        return ()
    whole = "".join(part.text for part in parts)
    if not user.endswith(task.fill(whole)):
        raise ValueError(f"the parts of {task.name()} are not its input")
    found, begin, marked = [], len(user) - len(task.fill(whole)), ""
    for part in parts:
        start = begin + len(task.fill(marked))  # the beginning of the marked text is the beginning of the filled one
        marked += part.text
        if part.agent:
            found.append(WeightedSpan(start, begin + len(task.fill(marked)), part.weight))
    return tuple(found)


def repair_prompt(why: str) -> str:
    """What a model is told whose reply cannot be read."""
    return f"That reply cannot be read: {why}. Reply again, in the form that was asked for and nothing else."


def schema_of(task: AnyTask) -> dict[str, Any]:
    """The JSON schema of a reply, in the subset that strict endpoints accept: every field is required."""
    kind = task.requested_type()
    schema: dict[str, Any] = json.loads(json_schema(kind))
    if isinstance(task, LabelledTask) and "label" in task.answer_fields and (choice := task.choice()):
        meanings = "; ".join(f"{word} if {when}" for word, when in choice.items())
        schema["properties"]["label"] |= {"enum": list(choice), "description": f"your final answer: {meanings}"}
    for name, texts in task.enum_fields().items():
        schema["properties"][name]["enum"] = list(texts)
    return schema


def _words(schema: dict[str, Any], form: Form) -> str:
    """How to reply, in words: JSON modes want it said, too."""
    if form == "text":
        return "Reply in this form and with nothing else:\n" + _tagged(schema, schema)
    fields = _fields(schema, schema)
    return f"Reply with one JSON object and nothing else; its fields, in this order: {fields}"


def _fields(schema: dict[str, Any], root: dict[str, Any]) -> str:
    parts = []
    for name, field in schema["properties"].items():
        inner = field.get("items", {})
        if "$ref" in inner:
            inner = root["$defs"][inner["$ref"].rpartition("/")[2]]
        kind = {"string": "text", "boolean": "true or false", "integer": "number"}.get(field.get("type", ""), "")
        if field.get("type") == "array":
            kind = f"list of objects with {_fields(inner, root)}" if "properties" in inner else "list of texts"
        if "enum" in field:
            kind = " or ".join(json.dumps(each) for each in field["enum"])
        parts.append(f'"{name}" ({kind}): {field.get("description", "")}'.rstrip(": "))
    return "; ".join(parts)


def _tagged(schema: dict[str, Any], root: dict[str, Any]) -> str:
    parts = []
    for name, field in schema["properties"].items():
        about = field.get("description", "")
        if field.get("type") != "array":
            parts.append(f"<{name}>{about}</{name}>")
            continue
        inner = field["items"]
        if "$ref" in inner:
            inner = root["$defs"][inner["$ref"].rpartition("/")[2]]
        whole = "properties" in inner
        tag = ITEM if whole else one_of(name)
        parts.append(f"<{tag}>{_tagged(inner, root) if whole else about}</{tag}> (again for each)")
    return "\n".join(parts)


def _plain_answer(text: str, task: LabelledTask) -> Answer:
    label = task.label_of(text) if "label" in task.answer_fields else None
    if label is None and not task.lenient:
        raise ValueError(f"its last line is none of the labels {', '.join(task.choice())}")
    return Answer(text=text.strip(), label=label, quotes=quoted(text) if "quotes" in task.answer_fields else ())
