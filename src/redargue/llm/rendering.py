"""Renders tasks as messages, with the user's prompts where there are some, and parses replies.

Replies are requested as a JSON object, in the paper's own form ("plain"), or as function calls
(:mod:`redargue.llm.parsing`). Parsing is strict: missing, mistyped and ambiguous values are errors.

``DIR/AnswerClaim.txt`` replaces the task's prompt. It is a text like the shipped ones (:mod:`redargue.tasks.template`):
``{claim}``, ``{document}`` and so on are filled with the task's input, and a part ``[system]`` is the system message;
all others are the user's message, in their order. Replies are parsed in the papers' form: the label on the last line,
the query in brackets.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self, cast, get_args

from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.files import home, make_folder, open_to_read, open_to_write
from redargue.llm import parsing
from redargue.llm.client import Function, Message, NamedSchema
from redargue.llm.parsing import is_repeated, material_of, one
from redargue.registry import did_you_mean
from redargue.tasks.answer import Answer, LabelledTask, quoted
from redargue.tasks.base import PROFILES, AnyTask, Profile, every_task, json_schema, lines
from redargue.tasks.step import Step, StepTask
from redargue.tasks.template import PartName, Template, of_profile
from redargue.tasks.untrusted import name_fences


class Prompts:
    """Prompts by task; raises UsageError for an unknown task, no prompt, or a slot that the task does not fill."""

    def __init__(self, texts: Mapping[str, str], where: str = "") -> None:
        self.texts = dict(sorted(texts.items()))
        tasks = {task.name(): task for task in every_task() if task.slots() is not None}
        if not self.texts:
            hint = f"tasks: {', '.join(sorted(tasks))}"
            raise UsageError(f"no prompts in {where!r}", where="--prompts", hint=hint)
        self._templates: dict[tuple[str, Profile], Template] = {}
        for name, text in self.texts.items():
            if name not in tasks:
                raise UsageError(
                    f"{name + '.txt'!r} is not named after a task that has a prompt",
                    where=where,
                    hint=f"{did_you_mean(name, sorted(tasks))}; a system message is the part [system] of TASK.txt",
                )
            for profile in PROFILES:
                shown = of_profile(text, hardened=profile == "hardened")
                self._templates[name, profile] = _template(shown, tasks[name], f"{where}/{name}.txt")
        self.sha256 = hashlib.sha256(json.dumps(self.texts).encode()).hexdigest()

    @classmethod
    def read(cls, folder: Path) -> Prompts:
        if not folder.is_dir():
            hint = "name a folder with TASK.txt files"
            raise UsageError(f"no folder {str(folder)!r}", where="--prompts", hint=hint)
        texts = {}
        for path in sorted(folder.glob("*.txt")):
            try:
                texts[path.stem] = path.read_text(encoding="utf-8-sig")
            except (OSError, UnicodeDecodeError) as error:
                raise UsageError(f"{str(path)!r} cannot be read: {error}") from error
            _refuse_slips(texts[path.stem], str(path))
        return cls(texts, str(folder))

    def fill(self, task: AnyTask) -> tuple[str, str] | None:
        """System and user message for a task; None if there is no prompt for it."""
        template = self._templates.get((task.name(), task.profile))
        if template is None:
            return None
        values = task.template_vars().items()
        parts = template.fill({name: task.fill(value) if isinstance(value, str) else value for name, value in values})
        system = "\n".join(text for name, text in parts if name == "system")
        user = "\n".join(text for name, text in parts if name != "system")
        return system, user


def _template(text: str, task: type[AnyTask], file: str) -> Template:
    if not text.strip():
        hint = "write a prompt, or remove the file"
        raise UsageError("the prompt is empty", where=file, hint=hint)
    template, known = Template(text), task.slots() or ()
    for slot in template.slots:
        if slot not in known:
            what = f"the prompt has a slot {{{slot}}} that its task does not fill"
            raise UsageError(what, where=file, hint=did_you_mean(slot, known))
    return template


def _refuse_slips(text: str, file: str) -> None:
    """Refuses a part with a misspelt name and a slot that is not closed, which would be sent as words."""
    parts = get_args(PartName)
    for word in re.findall(r"^\[(\w+)\]\s*$", text, re.MULTILINE):
        if word not in parts and get_close_matches(word.lower(), parts, cutoff=0.75):
            raise UsageError(f"a prompt has no part [{word}]", where=file, hint=did_you_mean(word, parts))
    slots = {slot for task in every_task() for slot in task.slots() or ()}
    for word in re.findall(r"\{(\w+)(?!\S)", text):
        if word in slots:
            raise UsageError(f"the slot {{{word} is not closed", where=file, hint=f"write {{{word}}}")


class WeightedSpan(NamedTuple):
    """The span of an agent's text in the user's message, in characters, and its weight."""

    start: int
    end: int
    weight: float


class Prompt(NamedTuple):
    """The prompt for a task.

    Attributes:
        schema: name and JSON schema of the reply; None for a reply in the plain form.
        spans: agents' texts in ``user``, in order.
        history: earlier questions and replies of the chat, sent between ``system`` and ``user``.
        functions: one of which the model must call.
    """

    system: str
    user: str
    schema: NamedSchema | None
    spans: tuple[WeightedSpan, ...] = ()
    history: tuple[tuple[str, str], ...] = ()
    functions: tuple[Function, ...] = ()

    @property
    def words(self) -> str:
        """All texts, without the instructions for the response format."""
        return "\0".join([self.system, *chain(*self.history), self.user])

    def with_named_fences(self, word: str) -> Prompt:
        """The prompt as it is sent: with ``word`` in its fences, and its spans moved accordingly."""

        def moved(offset: int) -> int:
            return len(name_fences(self.user[:offset], word))

        spans = tuple(WeightedSpan(moved(at), moved(end), weight) for at, end, weight in self.spans)
        history = tuple((name_fences(user, word), reply) for user, reply in self.history)
        system, user = name_fences(self.system, word), name_fences(self.user, word)
        return self._replace(system=system, user=user, spans=spans, history=history)

    def messages(self) -> Sequence[Message]:
        """System message, history and user message; endpoints in JSON mode require that a prompt mentions JSON."""
        system = self.system
        if self.schema:
            fields = _fields(self.schema[1], self.schema[1])
            form = f"one JSON object and nothing else; its fields, in this order: {fields}"
            system = lines(system, f"Reply with {form}")
        messages = [{"role": "system", "content": system}] if system else []
        for user, reply in self.history:
            messages += [{"role": "user", "content": user}, {"role": "assistant", "content": reply}]
        return [*messages, {"role": "user", "content": self.user}]


class Renderer:
    """Renders prompts and parses replies.

    Args:
        plain: whether replies have the papers' own form; None: only in the ``paper`` profile.
        calls: whether steps are requested as function calls.
    """

    def __init__(self, prompts: Prompts | None = None, *, plain: bool | None = None, calls: bool = False) -> None:
        self.prompts, self.plain, self.calls = prompts, plain, calls

    @classmethod
    def of(cls, form: str, prompts: Prompts | None = None) -> Self:
        """For replies in a :data:`~redargue.spec.ResponseFormat`."""
        plain = None if form in ("auto", "tools") else form == "plain"
        return cls(prompts, plain=plain, calls=form == "tools")

    def prompt(self, task: AnyTask) -> Prompt:
        """The prompt of a task; the text that all its calls share comes first."""
        sent = task.sent_history()
        plain = tuple((exchange.prompt_text, exchange.reply) for exchange in sent)
        history = tuple((exchange.input_text, exchange.reply) for exchange in sent)
        if filled := self.prompts.fill(task) if self.prompts else None:
            return Prompt(*filled, schema=None, history=plain)
        if self.calls and isinstance(task, StepTask):
            user = task.rendered(calls=True).input_text  # the functions describe the tools
            system, functions = parsing.system_words(task), parsing.functions(task)
            return Prompt(system, user, None, history=history, functions=functions)
        text = task.rendered()
        if task.profile == "paper" if self.plain is None else self.plain:
            spans = _weighted_spans(task, text.prompt_text)
            return Prompt(text.system, text.prompt_text, None, spans, plain)
        system, user = lines(text.system, text.instructions).strip(), text.input_text
        schema = (task.name(), schema_of(task))
        return Prompt(system, user, schema, _weighted_spans(task, user), history)

    def read(self, task: AnyTask, text: str, *, plain: bool) -> Frozen:
        """Parses a reply; a ValueError's message is shown to the model."""
        if plain and task.profile == "hardened" and is_repeated(text, material_of(task)):
            raise ValueError("the end of the documents was repeated")
        if plain and (answer := task.parse_plain(text)) is not None:
            return cast(Frozen, task.validate_answer(answer))
        if plain and isinstance(task, LabelledTask):
            return _plain_answer(text, task)
        kind = Step if plain and isinstance(task, StepTask) else task.reply_type()
        rendered = task.rendered()  # a reply may repeat evidence of the chat
        history = (exchange.input_text for exchange in task.chat_history())
        try:
            reply = one(text, kind, "\n".join([rendered.system, *history, rendered.input_text]))
        except ValueError:
            if step := _written_step(text, task):
                return step
            raise
        return cast(Frozen, task.from_reply(reply))


def _written_step(text: str, task: AnyTask) -> Step | None:
    """A step in the paper's own form, which a model may write instead of an object; None for any other text."""
    if not isinstance(task, StepTask) or "{" in text or is_repeated(text, material_of(task)):
        return None
    step = task.parse_plain(text)
    if step is None or (step.action is None and step.answer is None):
        return None
    known = step.action is None or step.action.name in {tool.name for tool in task.tools}
    return task.validate_answer(step) if known else None


def _weighted_spans(task: AnyTask, user: str) -> tuple[WeightedSpan, ...]:
    """The spans of the agents' texts in a task's message, which ends with the task's input."""
    parts = task.parts()
    if not any(part.agent for part in parts):
        return ()
    prefixes = accumulate(part.text for part in parts)
    filled = list(map(task.fill, prefixes))  # each begins as the next one
    if not user.endswith(filled[-1]):
        raise ValueError(f"the parts of {task.name()} are not its input")
    begin = len(user) - len(filled[-1])
    ends = [begin, *(begin + len(text) for text in filled)]
    spans = zip(parts, pairwise(ends), strict=True)
    return tuple(WeightedSpan(*place, part.weight) for part, place in spans if part.agent)


def schema_of(task: AnyTask) -> dict[str, Any]:
    """The JSON schema of a reply, in the subset that strict endpoints accept: every field is required."""
    kind = task.requested_type()
    schema: dict[str, Any] = json.loads(json_schema(kind))
    if isinstance(task, LabelledTask) and "label" in task.answer_fields and task.choice():
        choice, about = task.choice(), "your final answer"
        if not task.defines_labels:
            about += ": " + "; ".join(f"{word} if {when}" for word, when in choice.items())
        schema["properties"]["label"] |= {"enum": list(choice), "description": about}
    for name, values in task.enum_fields().items():
        items, _, field = name.rpartition(".")
        parent = _item(schema["properties"][items], schema) if items else schema
        parent["properties"][field]["enum"] = list(values)
    return schema


def _item(field: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """The schema of a list's items; empty for a field that is not a list."""
    item: dict[str, Any] = field.get("items", {})
    return root["$defs"][item["$ref"].rpartition("/")[2]] if "$ref" in item else item


_KINDS = {"string": "text", "boolean": "true or false", "integer": "number", "number": "number"}


def _fields(schema: dict[str, Any], root: dict[str, Any]) -> str:
    parts = []
    for name, field in schema["properties"].items():
        inner = _item(field, root)
        kind = _KINDS.get(field.get("type", ""), "")
        if field.get("type") == "array":
            objects = "properties" in inner
            kind = f"list of objects with {_fields(inner, root)}" if objects else "list of texts"
        if "enum" in field:
            kind = " or ".join(json.dumps(value) for value in field["enum"])
        parts.append(f'"{name}" ({kind}): {field.get("description", "")}'.rstrip(": "))
    return "; ".join(parts)


def _plain_answer(text: str, task: LabelledTask) -> Answer:
    label = task.label_of(text) if "label" in task.answer_fields else None
    if label is None and not task.lenient:
        raise ValueError(f"its last line is not one of the labels {', '.join(task.choice())}")
    quotes = quoted(text) if "quotes" in task.answer_fields else ()
    return Answer(text=text.strip(), label=label, quotes=quotes)


SECRET_FILE = "fence-secret"
SECRET_BYTES = 32


def fence_secret() -> bytes:
    """The secret from which the words of fences are made; neither code nor documents reveal it.

    It is created at the first call and stays the same for the installation: a repeated run sends the same requests, an
    interrupted batch at a provider is found again, and providers' caches hit. If it cannot be stored, the process has
    its own.
    """
    return _secret(home() / SECRET_FILE)


@cache
def _secret(path: Path) -> bytes:
    with suppress(OSError):
        if not path.exists():
            _create(path)
        with open_to_read(path) as file:
            if len(found := file.read(SECRET_BYTES)) == SECRET_BYTES:
                return found
    return secrets.token_bytes(SECRET_BYTES)


def _create(path: Path) -> None:
    """Creates the file atomically; if several processes do so, the first one wins."""
    make_folder(path.parent)
    new = path.with_name(f"{SECRET_FILE}.{secrets.token_hex(8)}")
    try:
        with open_to_write(new) as file:
            file.write(secrets.token_bytes(SECRET_BYTES))
        with suppress(FileExistsError):
            os.link(new, path)
    finally:
        new.unlink(missing_ok=True)
