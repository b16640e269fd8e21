"""The seam between a method and a backend: a typed task and its typed answer.

A task says what is asked. How it is asked (messages, schemas, repair) is up to the backend that performs it, so that a
language model, an entailment model and a test's script can all perform the same task.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeVar, cast

from pydantic import ConfigDict, Field, ValidationError
from pydantic.config import JsonDict

from redargue.claims import Frozen
from redargue.evidence import without_retrieval_times
from redargue.tasks.template import PartName, Template, of_profile
from redargue.tasks.untrusted import FENCE, UNTRUSTED, fence_marked, has_marks, strip_marks

Profile = Literal["paper", "hardened"]
PROFILES: tuple[Profile, ...] = ("paper", "hardened")

_EXAMPLE = re.compile(r"(?m)^\{.*\}$")  # an example's reply in JSON

Out = TypeVar("Out", bound=Frozen)

Weight = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Part(Frozen):
    """A piece of a task's input, with its marks."""

    text: str
    agent: str = ""  # who wrote it; empty for text that no agent wrote
    # share of attention, relative to the other agents' texts; unused where ``agent`` is empty. Only a backend that
    # ``supports_attention_weights`` reads it.
    weight: Weight = 1.0


class Exchange(Frozen):
    """An earlier question in the same chat, and its verbatim reply."""

    prompt_text: str
    input_text: str  # without the rules, for a backend that sends them once, as the system message
    reply: str

    def on(self, day: date) -> Self:
        """The question with the day on which it was asked, as it was sent then."""
        dated = lines(_day_line(day), self.input_text)
        before, _, after = self.prompt_text.rpartition(self.input_text)
        return self.model_copy(update={"input_text": dated, "prompt_text": f"{before}{dated}{after}"})


class RenderedTask(NamedTuple):
    """A task's text as a model reads it: untrusted pieces fenced, rules added, no marks left."""

    system: str  # the paper's system message; empty where it sends none
    instructions: str  # with the rules that the profile adds, and the worked examples
    input_text: str
    prompt_text: str  # everything but ``system``, in the paper's order


class Task(Frozen, Generic[Out]):
    """A question to a model.

    Subclasses add typed inputs as fields. The prompt is a text (:mod:`redargue.tasks.template`): the file
    ``prompts/PROFILE/NAME.txt`` beside the subclass's module, ``prompts/NAME.txt`` for both profiles, or the attribute
    ``prompt``. A profile without a text has that of the other one, and a subclass without a text that of its base.
    :meth:`template_vars` fills its slots.
    Text from outside, the claim included, goes through :func:`~redargue.tasks.untrusted.wrap_untrusted`;
    :meth:`rendered` fences it and adds the rule on fences.

    Parts of a prompt: ``system`` is the paper's system message. ``instructions`` and ``examples`` are the same for
    every claim with the same labels, and come first in the hardened profile, so that providers' prompt caches hit.
    ``reply`` is the form of a plain reply, left out where a JSON object is asked for. ``input`` is the material: claim,
    documents, other agents' texts.

    Attributes:
        prompt: the text, if it is not in a file; the same in every profile.
        profile: whether the prompt has the paper's structure alone or is hardened against hostile text.
        sample: makes a deliberate repetition a different task.
        today: the day on which a run asks, which the hardened prompt states; see :meth:`asked_on`.
    """

    charge: ClassVar[Literal["call", "embedding"]] = "call"
    prompt: ClassVar[str] = ""

    profile: Profile = "hardened"
    sample: int = 0
    today: date | None = None

    @classmethod
    def name(cls) -> str:
        return cls.__name__

    @classmethod
    @cache
    def answer_type(cls) -> type[Frozen]:
        """The class of the answers, from ``Task[Answer]`` in the class statement."""
        for base in cls.__mro__:
            arguments = getattr(base, "__pydantic_generic_metadata__", {}).get("args", ())
            if arguments and isinstance(arguments[0], type):
                answer: type[Frozen] = arguments[0]
                return answer
        name = cls.__name__
        raise TypeError(f"{name} does not declare its answer type: class {name}(Task[Answer])")

    @classmethod
    @cache
    def template(cls, profile: Profile) -> Template:
        """The text of the prompt; raises TypeError if neither the class nor a base has one."""
        for kind in cls.__mro__:
            if text := _own_text(kind, profile):
                return Template(text)
        file = f"prompts/{profile}/{cls.__name__}.txt"
        raise TypeError(f"{cls.__name__} has no prompt: write {file} beside its module")

    @classmethod
    @cache
    def slots(cls) -> tuple[str, ...] | None:
        """The variables that the texts of all profiles use; None for a task without a prompt."""
        has_text = any(_own_text(kind, "hardened") for kind in cls.__mro__)
        if cls.charge == "embedding" or not has_text:  # small models perform the former
            return None
        return tuple(dict.fromkeys(chain(*(cls.template(profile).slots for profile in PROFILES))))

    def parts(self) -> tuple[Part, ...]:
        """The end of the input, cut where another agent's text begins or ends; empty where attention has no weights."""
        return ()

    def chat_history(self) -> tuple[Exchange, ...]:
        """Earlier questions and replies of the same chat; a task that continues one keeps them in a field."""
        return ()

    def sent_history(self) -> tuple[Exchange, ...]:
        """The chat before this question as it was sent: the first message has the day, which no task keeps."""
        history = self.chat_history()
        return (history[0].on(self.today), *history[1:]) if history and self.today else history

    def exchange(self, reply: str) -> Exchange:
        text = self.rendered()
        return Exchange(prompt_text=text.prompt_text, input_text=text.input_text, reply=reply)

    def template_vars(self) -> Mapping[str, object]:
        """The variables of the texts; text from outside is marked. A guard asks only whether its variable is empty."""
        return {}

    def enum_fields(self) -> Mapping[str, Sequence[str | int]]:
        """Fields of the reply that take one of several values, which depend on the task; ``list.field`` of items."""
        return {}

    def fixed_items(self) -> dict[str, tuple[str, Sequence[Any]]]:
        """Lists of the reply with one item per known value: list → (field of an item, its value in each item)."""
        return {}

    def reply_type(self) -> type[Frozen]:
        """The type of a reply in JSON, if it differs from the answer; see :meth:`from_reply`."""
        return self.answer_type()

    def requested_type(self) -> type[Frozen]:
        """The type shown to the model, if it requests more than :meth:`reply_type` requires."""
        return self.reply_type()

    def from_reply(self, reply: Frozen) -> Out:
        """The answer that a reply in JSON gives; raises as :meth:`validate_answer`."""
        return self.validate_answer(cast(Out, reply))

    def parse_plain(self, text: str) -> Out | None:
        """Reads a reply in the paper's own form; None where it is not in that form, and is read as JSON."""
        return None

    def plain_example(self, reply: Any) -> str:
        """An example's reply in the paper's own form, as :meth:`parse_plain` reads it; empty to show it as JSON."""
        return ""

    def validate_answer(self, answer: Out) -> Out:
        """A well-formed answer, normalised; raises a ValueError, which the model reads, if it does not fit the task."""
        return answer

    def fill(self, text: str) -> str:
        """A text with its marks turned into fences, or removed in the ``paper`` profile."""
        return fence_marked(text) if self.profile == "hardened" else strip_marks(text)

    def rendered(self, **changed: object) -> RenderedTask:
        """The task as a model reads it, with other values of its variables if given."""
        hardened, parts = self.profile == "hardened", self._filled(**changed)
        if hardened:
            parts = self._with_fence_rule(self._with_day(parts))
        parts = [(name, self.fill(text)) for name, text in parts]
        whole = []
        for name, text in parts:
            if name == "examples" and hardened:
                text = _EXAMPLE.sub(self._in_plain, text)
            if name != "system" and not self._said_before(name, text):
                whole.append(text)
        return RenderedTask(
            system=_joined(parts, "system"),
            instructions=_joined(parts, "instructions", "examples"),
            input_text=_joined(parts, "input"),
            prompt_text="\n".join(whole),
        )

    def _filled(self, **changed: object) -> list[tuple[PartName, str]]:
        """The parts, with marks."""
        try:
            return self.template(self.profile).fill({**self.template_vars(), **changed})
        except KeyError as error:
            what = f"the prompt of {self.name()} has a slot {error}"
            raise TypeError(f"{what} that its template_vars() lacks") from None

    def _with_fence_rule(self, parts: list[tuple[PartName, str]]) -> list[tuple[PartName, str]]:
        """The parts with the rule on fences at the end of the instructions, if anything is fenced."""
        fenced = any(has_marks(text) for _, text in parts)
        if not fenced and not any(FENCE in past.input_text for past in self.chat_history()):
            return parts
        for place, (name, text) in reversed([*enumerate(parts)]):
            if name == "instructions":
                ruled = (name, f"{text}\n{UNTRUSTED}")
                return [*parts[:place], ruled, *parts[place + 1 :]]
        return [("instructions", UNTRUSTED), *parts]

    def _said_before(self, name: PartName, text: str) -> bool:
        """Whether an earlier question of the chat has the same instructions or examples (hardened)."""
        if self.profile == "paper" or name not in ("instructions", "examples"):
            return False
        return any(text in past.prompt_text for past in self.chat_history())

    def _in_plain(self, example: re.Match[str]) -> str:
        try:
            reply = self.reply_type().model_validate_json(example[0])
        except ValidationError:  # another task's reply
            return example[0]
        return self.plain_example(reply) or example[0]

    def prompt_text(self) -> str:
        return self.rendered().prompt_text

    def asked_on(self, day: date) -> Self:
        """The task with the day in its prompt, if that is hardened and has a claim without an as-of date."""
        claim = getattr(self, "claim", None)
        undated = claim is not None and claim.as_of is None
        asks_model = self.profile == "hardened" and self.charge == "call"
        return self.model_copy(update={"today": day}) if undated and asks_model else self

    def _with_day(self, parts: list[tuple[PartName, str]]) -> list[tuple[PartName, str]]:
        if not self.today or self.chat_history():  # the first message of a chat has it
            return parts
        at = next((place for place, (name, _) in enumerate(parts) if name == "input"), len(parts))
        return [*parts[:at], ("input", _day_line(self.today)), *parts[at:]]

    @property
    def fingerprint(self) -> str:
        """sha256 over type, text and all fields except times: tasks with equal fingerprints are the same question.

        Fences and the rule on them do not count, so recordings survive a change in how text is fenced; nor does the
        day, so that a run may be resumed on another one.
        """
        parts = (text for _, text in self._filled())
        fields = without_retrieval_times(self.model_dump(mode="json", exclude={"today"}))
        hashed = (type(self).__qualname__, strip_marks(lines(*parts)), json.dumps(fields))
        return hashlib.sha256("".join(f"{part}\0" for part in hashed).encode()).hexdigest()


def _day_line(day: date) -> str:
    return f"Today is {day}."


def _own_text(kind: type, profile: Profile) -> str:
    """The prompt of a class itself; empty where it has none, and uses that of its base."""
    if inline := vars(kind).get("prompt"):
        return str(inline)
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if not file:
        return ""
    # the profile's own, the text of both, or another profile's where this one has none
    for name in (profile, "", *PROFILES):
        path = Path(file).parent / "prompts" / name / f"{kind.__name__}.txt"
        if path.is_file():
            return of_profile(path.read_text("utf-8"), hardened=profile == "hardened")
    return ""


def _joined(parts: list[tuple[PartName, str]], *names: PartName) -> str:
    return "\n".join(text for name, text in parts if name in names)


def text_field(description: str, longest: int, **options: Any) -> Any:
    """A text of a reply, with a bound on its characters in the JSON schema; ``options`` of the field."""
    return Field(description=description, json_schema_extra=max_length(longest), **options)


def list_field(description: str, most: int, longest: int | None = None, **options: Any) -> Any:
    """A list of a reply, with a bound on its items in the JSON schema, and on their characters if they are texts."""
    bounds: JsonDict = {"maxItems": most} if longest is None else list_bounds(most, longest)
    return Field(description=description, json_schema_extra=bounds, **options)


def same_field(reply: type[Frozen], name: str) -> Any:
    """A field of another reply."""
    return reply.model_fields[name]


def max_length(characters: int) -> JsonDict:
    """Bounds a text in its JSON schema, because small models under a grammar never stop; a longer text is still read.

    Stay at or below 1,000: llama.cpp refuses a grammar with 2,000 repetitions.
    """
    return {"maxLength": characters}


def list_bounds(items: int, characters: int) -> JsonDict:
    return {"maxItems": items, "items": {"type": "string", "maxLength": characters}}


def exactly_one(*fields: str) -> ConfigDict:
    """Marks in a JSON schema that exactly one of these text fields is non-empty.

    Grammars enforce it; strict endpoints are not sent it, and code checks it in any case.
    """
    return ConfigDict(json_schema_extra={EXACTLY_ONE: list(fields)})


EXACTLY_ONE = "x-exactly-one"


@cache
def json_schema(kind: type[Frozen]) -> str:
    """The JSON schema of a reply as a model sees it: every field required, without our docstrings."""
    return json.dumps(_strict(kind.model_json_schema()), ensure_ascii=False)


def _strict(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    left_out = ("title", "default", "description") if "properties" in schema else ("title", "default")
    strict = {name: _strict(value) for name, value in schema.items() if name not in left_out}
    if "properties" in schema:
        properties = {name: _strict(value) for name, value in schema["properties"].items()}
        strict["properties"] = properties
        strict |= {"required": list(properties), "additionalProperties": False}
    return strict


def lines(*parts: str | None) -> str:
    """The non-empty parts, one per line."""
    return "\n".join(part for part in parts if part)


AnyTask = Task[Any]


def every_task(kind: type[AnyTask] = Task) -> Iterator[type[AnyTask]]:
    """All task classes that are loaded, base classes first."""
    for subclass in kind.__subclasses__():
        if "[" not in subclass.__name__:  # Task[Answer] itself is not a task
            yield subclass
        yield from every_task(subclass)
