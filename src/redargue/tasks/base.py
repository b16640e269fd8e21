"""The seam between a protocol and a backend: a typed task and its typed answer.

A protocol says what is asked; how it is asked (messages, schemas, repair) is the business of the backend that
performs it, so that a language model, an entailment model and a test's script can play the same role.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from redargue.claims import Frozen
from redargue.evidence import timeless
from redargue.tasks.untrusted import FENCE, UNTRUSTED, fence_marked, has_marks, strip_marks

Profile = Literal["paper", "hardened"]

Out = TypeVar("Out", bound=Frozen)

PromptPart = Literal["instructions", "worked_examples", "output_format", "input_text"]

FORMAT_LAST: tuple[PromptPart, ...] = ("instructions", "worked_examples", "input_text", "output_format")

Weight = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Part(Frozen):
    """A piece of a task's input.

    Attributes:
        text: as in the input, with its marks.
        agent: who wrote it; empty for what no agent wrote.
        weight: of the attention that agents' texts get, in proportion to the other agents'; it means nothing where
            ``agent`` is empty. Only a backend that ``weighs`` reads it.
    """

    text: str
    agent: str = ""
    weight: Weight = 1.0


class Exchange(Frozen):
    """A question and its reply, earlier in the same chat.

    Attributes:
        prompt_text: the whole question, as it was sent.
        input_text: the question without its rules, for a backend that gives the rules once, before everything else.
        reply: verbatim.
    """

    prompt_text: str
    input_text: str
    reply: str


class RenderedTask(NamedTuple):
    """A task's text as a model reads it: untrusted pieces fenced, rules added, no marks left.

    Attributes:
        system: the paper's system message; empty where it sends none.
        instructions: with the rules that the profile adds, and the worked examples.
        input_text: what the task is about.
        prompt_text: everything but ``system``, in the paper's order.
    """

    system: str
    instructions: str
    input_text: str
    prompt_text: str


class Task(Frozen, Generic[Out]):
    """A question to a model.

    Subclasses add typed inputs as fields and return the prompt in parts: ``instructions``, ``worked_examples``,
    ``output_format`` (the paper's own; a backend that wants a JSON object replaces it) and ``input_text`` (claim,
    documents, what other agents wrote). Text that comes from outside goes through
    :func:`~redargue.tasks.untrusted.wrap_untrusted`, the claim included. :meth:`rendered` fences it and adds the rules
    of the ``hardened`` profile; no task does so itself. Text that is the same in every call comes first, so that
    providers' prompt caches hit. A baseline that differs from another method only in its words subclasses that
    method's task.

    Attributes:
        quotes_in_text: whether the answer's text contains its quotations, which are then put in quotation marks.
        profile: whether the prompt has the paper's structure alone or is hardened against hostile text.
        sample: asking again on purpose is a different task.
    """

    charge: ClassVar[Literal["call", "embedding"]] = "call"
    template_var_names: ClassVar[tuple[str, ...]] = ("input_text",)  # keys of ``template_vars``; none without a prompt
    quotes_in_text: ClassVar[bool] = False

    profile: Profile = "hardened"
    sample: int = 0

    @classmethod
    def name(cls) -> str:
        """The task's name in logs and tables."""
        return cls.__name__

    @classmethod
    def answer_type(cls) -> type[Frozen]:
        """The class of the answers, from ``Task[Answer]`` in the class statement."""
        for base in cls.__mro__:
            arguments = getattr(base, "__pydantic_generic_metadata__", {}).get("args", ())
            if arguments and isinstance(arguments[0], type):
                answer: type[Frozen] = arguments[0]
                return answer
        raise TypeError(f"{cls.__name__} does not say what its answer is: class {cls.__name__}(Task[Answer])")

    def system(self) -> str:
        """What the paper sends as a system message; empty where it sends none."""
        return ""

    def instructions(self) -> str:
        """What is asked, and the paper's rules; the same for every claim with these labels."""
        return ""

    def hardened_rules(self) -> str:
        """Rules of the ``hardened`` profile that the paper does not have, beyond those on quotations and fences."""
        return ""

    def quote_source(self) -> str:
        """What the answer has to quote in the ``hardened`` profile ("the documents"); empty for nothing."""
        return ""

    def worked_examples(self) -> str:
        """Our own demonstrations, after the instructions."""
        return ""

    def output_format(self) -> str:
        """How to reply, in the paper's own form."""
        return ""

    def input_text(self) -> str:
        """What the task is about; what changes least comes first."""
        raise NotImplementedError

    def layout(self) -> tuple[PromptPart, ...]:
        """The parts of the prompt, in the paper's order."""
        return "instructions", "worked_examples", "output_format", "input_text"

    def parts(self) -> tuple[Part, ...]:
        """The input, cut where another agent's text begins and ends; joined, the parts are the input."""
        return (Part(text=self.input_text()),)

    def chat_history(self) -> tuple[Exchange, ...]:
        """Earlier questions and replies of the same chat; a task that continues one keeps them in a field."""
        return ()

    def exchange(self, reply: str) -> Exchange:
        """This question with its verbatim reply, for the next one's chat."""
        text = self.rendered()
        return Exchange(prompt_text=text.prompt_text, input_text=text.input_text, reply=reply)

    def template_vars(self) -> dict[str, str]:
        """The input in pieces, by the names under which a user's own prompt may place them."""
        return {"input_text": self.input_text()}

    def with_claim(self, claim: str, *rest: str | None) -> str:
        """The claim after the rest, as the papers have it; hardened before it, because it changes least."""
        return lines(*rest, claim) if self.profile == "paper" else lines(claim, *rest)

    def enum_fields(self) -> dict[str, tuple[str, ...]]:
        """Fields of the answer that take one of several texts, which depend on the task."""
        return {}

    def fixed_items(self) -> dict[str, tuple[str, Sequence[Any]]]:
        """Lists of the answer that hold one item for each of several known values.

        Returns:
            By the list's field: the field of its items that holds the value, and the values.
        """
        return {}

    def parse_plain(self, text: str) -> Out | None:
        """What a reply in the paper's own form says; None where it is not in that form, and is read as JSON.

        Raises:
            ValueError: it is in that form and no answer; says what is wrong, as it can be said to a model.
        """
        return None

    def validate_answer(self, answer: Out) -> Out:
        """An answer of the right form, as it stands for this task.

        Raises:
            ValueError: it is none for this task; says what is wrong, as it can be said to a model.
        """
        return answer

    def fill(self, text: str) -> str:
        """A text of this task as a model reads it: marked pieces fenced, or as they are in the ``paper`` profile."""
        return fence_marked(text) if self.profile == "hardened" else strip_marks(text)

    def rendered(self, instructions: str | None = None) -> RenderedTask:
        """The task as a model reads it.

        Args:
            instructions: in place of the task's own.
        """
        system, text = self.system(), self.input_text()
        own = self.instructions() if instructions is None else instructions
        if self.profile == "hardened":
            fenced = has_marks(system + own + text) or any(FENCE in each.input_text for each in self.chat_history())
            own = lines(own, self.hardened_rules(), self._quote_rule(), UNTRUSTED if fenced else None)
        parts = {
            "instructions": own,
            "worked_examples": self.worked_examples(),
            "output_format": self.output_format(),
            "input_text": text,
        }
        whole = lines(*(parts[name] for name in self.layout()))
        shown = lines(own, self.worked_examples())
        return RenderedTask(*(self.fill(each) for each in (system, shown, text, whole)))

    def _quote_rule(self) -> str:
        source = self.quote_source()
        marks = ", in double quotation marks," if self.quotes_in_text else ""
        return f"Quote {source} word for word{marks} for every fact you rely on." if source else ""

    def prompt_text(self) -> str:
        """The whole prompt but for the system message."""
        return self.rendered().prompt_text

    @property
    def fingerprint(self) -> str:
        """sha256 over type, text and every field but times: two tasks with one fingerprint are one question.

        Fences and the rules that a profile adds do not count, so that a change in how text is fenced keeps recordings.
        """
        parts = (self.instructions(), self.worked_examples(), self.output_format(), self.input_text())
        digest = hashlib.sha256()
        for part in (
            type(self).__qualname__,
            strip_marks(lines(*parts)),
            json.dumps(timeless(self.model_dump(mode="json"))),
        ):
            digest.update(part.encode())
            digest.update(b"\0")
        return digest.hexdigest()


def max_length(characters: int) -> JsonDict:
    """Bounds a text in its JSON schema, for servers that hold a model to it: small ones run on for ever.

    A longer text is read all the same. Keep it at 1,000: llama.cpp refuses a grammar with 2,000 repetitions.
    """
    return {"maxLength": characters}


def list_bounds(items: int, characters: int) -> JsonDict:
    """Bounds a list of texts likewise."""
    return {"maxItems": items, "items": {"type": "string", "maxLength": characters}}


def exactly_one(*fields: str) -> ConfigDict:
    """Says in a model's JSON schema that one of its text fields holds something and the others are empty.

    Where the schema is a grammar the reply is held to it; strict endpoints are not told, and code checks it anyway.
    """
    return ConfigDict(json_schema_extra={EXACTLY_ONE: list(fields)})


EXACTLY_ONE = "x-exactly-one"


@cache
def json_schema(kind: type[Frozen]) -> str:
    """The JSON schema of an answer as a model is given it: every field required, nothing of our docstrings."""
    return json.dumps(_strict(kind.model_json_schema()), ensure_ascii=False)


def _strict(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: _strict(each) for name, each in schema.items() if name not in ("title", "default")}
    if "properties" in schema:
        kept["properties"] = {name: _strict(each) for name, each in schema["properties"].items()}
        kept |= {"required": list(schema["properties"]), "additionalProperties": False}
        kept.pop("description", None)
    return kept


def lines(*parts: str | None) -> str:
    """The parts that are there, one a line."""
    return "\n".join(part for part in parts if part)


AnyTask = Task[Any]


def every_task(kind: type[AnyTask] = Task) -> Iterator[type[AnyTask]]:
    """All classes of tasks that are loaded, the bases before what is made of them."""
    for each in kind.__subclasses__():
        if "[" not in each.__name__:  # Task[Answer] itself is no task
            yield each
        yield from every_task(each)
