"""Thinking and acting in steps: one tool call or the answer (MERMAID, appendix A.2; ReAct, Yao et al. 2022)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import Field, field_validator, model_validator

from redargue.caveats import NOTHING_NOTED, Noted
from redargue.claims import HEDGED_LABEL, Claim, Frozen, LabelSet, Meaning
from redargue.evidence import Passage, Recalled
from redargue.tasks.answer import Quotations, distinct, quotes_field
from redargue.tasks.base import Task, exactly_one, same_field, text_field
from redargue.tasks.extract import Decomposition


class ActionTool(Frozen):
    """A tool as it is described to an agent.

    Attributes:
        parameters: JSON schema.
        built_in: whether this program describes it; what a server says of its tool is a stranger's text.
    """

    name: str
    about: str
    parameters: dict[str, Any]
    built_in: bool = False


# characters of a description, of a text in a schema, of a schema
MAX_ABOUT, MAX_TEXT, MAX_SCHEMA = 600, 200, 3_000


def bounded(tool: ActionTool) -> ActionTool:
    """The tool with descriptions of limited length: its server wrote them, and could fill a prompt with orders."""
    parameters = _cut(tool.parameters)
    if len(json.dumps(parameters)) > MAX_SCHEMA:
        properties = tool.parameters.get("properties")
        required = tool.parameters.get("required") or ()
        names = [str(name)[:64] for name in properties][:20] if isinstance(properties, dict) else []
        parameters = {"type": "object", "properties": {name: {} for name in names}}
        parameters["required"] = [name for name in names if name in required]
    about = cut_text(tool.about, MAX_ABOUT)
    return tool.model_copy(update={"about": about, "parameters": parameters})


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return cut_text(value, MAX_TEXT)
    if isinstance(value, Mapping):
        return {name: _cut(item) for name, item in value.items()}
    return [_cut(item) for item in value] if isinstance(value, list | tuple) else value


def cut_text(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


class ToolCall(Frozen):
    """A tool call that an agent asks for."""

    name: str
    reason: str = ""
    # one text for the tool's first required parameter, or a JSON object of named ones (``M2``)
    input: str = ""

    @model_validator(mode="before")
    @classmethod
    def _accept_variants(cls, value: Any) -> Any:
        """``arguments`` and ``parameters`` are inputs, too."""
        if not isinstance(value, Mapping):
            return value
        fields = dict(value)
        for name in ("arguments", "parameters"):
            if name in fields:
                fields.setdefault("input", fields.pop(name))
        return fields

    @field_validator("input", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return value if isinstance(value, str) else _in_json(value)

    @property
    def read_input(self) -> Any:
        """The input as JSON; its text where it is not JSON, or JSON that can be neither sent nor stored."""
        try:
            value = json.loads(self.input)
            json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # a lone surrogate cannot be encoded
        except (ValueError, RecursionError):
            return self.input
        return value


class Step(Noted):
    """An agent's next step: a tool call or an answer.

    Attributes:
        answer: one of the claim's labels, once a task has accepted it.
        quotes: the evidence for an answer, word for word; code looks it up.
        confidence: calibrated probability of the answer, in [0, 1]; None where nothing was calibrated.
        unmade: further calls of the same reply; they are not made, because a step is one call.
    """

    thought: str = ""
    action: ToolCall | None = None
    answer: str | None = None
    quotes: Quotations = ()
    confidence: float | None = None
    unmade: tuple[ToolCall, ...] = ()

    @field_validator("answer", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, bool) else value

    @model_validator(mode="before")
    @classmethod
    def _without_empty_parts(cls, value: Any) -> Any:
        """An empty action beside an answer, and an empty answer beside an action, are left out."""
        if not isinstance(value, Mapping):
            return value
        empty = [name for name in ("action", "answer") if value.get(name) in ({}, "")]
        return {name: part for name, part in value.items() if name not in empty}


class StepReply(Frozen):
    """A step in one flat object; the fields that do not apply are empty.

    The answer comes before the tool: a small model that is asked for the tool first searches for what it has read.
    """

    model_config = exactly_one("tool", "answer")

    thought: str = text_field("your reasoning: at most three sentences", 1_000)
    quotes: Quotations = quotes_field("with an answer: what it rests on, copied word for word from the history")
    answer: str = Field(description="your final answer; empty with a tool")
    tool: str = Field(description="the tool to call; empty with an answer")
    reason: str = text_field("why this tool; empty with an answer", 300)
    input: str = text_field("the text for the tool's first required parameter, or a JSON object of its parameters", 600)

    @model_validator(mode="before")
    @classmethod
    def _accept_variants(cls, value: Any) -> Any:
        """Null and missing fields are empty; the paper's ``action`` is a tool with its input."""
        if not isinstance(value, Mapping):
            return value
        action = value.get("action") or {}
        call = action if isinstance(action, Mapping) else {"name": action}
        inputs = (call.get(name) for name in ("input", "arguments", "parameters", "query"))
        called = {"tool": call.get("name"), "reason": call.get("reason")}
        called["input"] = next(filter(None, inputs), None)
        fields = {**dict.fromkeys(cls.model_fields), **value}
        fields |= {name: fields[name] or part for name, part in called.items()}
        return {name: _as_words(name, part) for name, part in fields.items()}

    def step(self) -> Step:
        """The step; of a tool and an answer, the answer counts where something is quoted for it."""
        tool, answer = self.tool.strip(), self.answer.strip()
        quotes = distinct(self.quotes)
        if tool and answer and tool.casefold() != _FINISH:
            tool, answer = ("", answer) if quotes else (tool, "")
        elif answer and self.input.strip() in ("", answer):
            tool = ""
        call = ToolCall(name=tool, reason=self.reason, input=self.input) if tool else None
        return Step(thought=self.thought, action=call, answer=answer or None, quotes=quotes)


class SimpleStepReply(Frozen):
    """A step without a reason beside its thought; read as a :class:`StepReply`."""

    model_config = exactly_one("tool", "answer")

    thought: str = same_field(StepReply, "thought")
    quotes: Quotations = same_field(StepReply, "quotes")
    answer: str = same_field(StepReply, "answer")
    tool: str = same_field(StepReply, "tool")
    input: str = same_field(StepReply, "input")


class LastStepReply(Frozen):
    """The answer of a last step, in which no tool can be called; read as a :class:`StepReply`."""

    thought: str = same_field(StepReply, "thought")
    quotes: Quotations = quotes_field("what the answer rests on, copied word for word from the history")
    answer: str = Field(description="your final answer")


_FINISH = "finish"  # what models call the answer where they have to name a tool


def _as_words(name: str, part: Any) -> Any:
    """A field of a step as text; quotations are a list."""
    if name == "quotes" or isinstance(part, str):
        return part
    if part is None:
        return ""
    return str(part) if isinstance(part, bool) else _in_json(part)


def _in_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


class PastStep(Frozen):
    """A step that was taken, and its outcome."""

    thought: str = ""
    action: ToolCall | None = None  # None where the step could not be read
    passages: tuple[Passage, ...] = ()
    problem: str = ""  # why there is nothing, as a tool or a model says it
    note: str = ""  # why the step was not accepted, in our own words


def label_words(labels: LabelSet) -> dict[str, str]:
    """Each word that an agent may answer, with its label; the two sides are called True and False, as in the paper."""
    sides = {Meaning.SUPPORTED: "True", Meaning.REFUTED: "False"}
    words: dict[str, str] = {}
    for label in labels.labels:
        word = sides.get(label.meaning, label.name)
        words[word if word not in words else label.name] = label.name
    return words


def label_alone(labels: LabelSet, text: str) -> str | None:
    """The label of a text that is an answer and nothing else: True, False (``M12``) or another label's name."""
    plain = text.strip(" \t\r\n*_`\"'.,:;!()[]").casefold()
    return {word.casefold(): label for word, label in label_words(labels).items()}.get(plain)


def label_in(labels: LabelSet, text: str) -> str | None:
    """The label that an answer names ("The claim is False."); None where it names none, several, or one after "not"."""
    if alone := label_alone(labels, text):
        return alone
    words = label_words(labels)
    sides = {word.casefold(): words[word] for word in words.keys() & {"True", "False"}}
    named = {sides[word.casefold()] for word in _SIDE.findall(text)} if sides else set()
    if _NOT_SIDE.search(text) or HEDGED_LABEL.search(text) or len(named) > 1:
        return None
    single = labels.single(text)
    return single if not named or single in named else named.pop() if single is None else None


_SIDE = re.compile(r"(?<!\w)(true|false)(?!\w)", re.IGNORECASE)
_NOT_SIDE = re.compile(r"(?i)(?:\bnot|\bnever|\bneither|n't|n’t)\s+(?:\w+\s+)?(?:true|false)\b")


class StepTask(Task[Step]):
    """The next step of an agent that calls tools."""

    claim: Claim
    background: Decomposition | None = None  # None without a decomposer
    # whether the claim has one relation: then the prompt neither repeats it nor asks for reasons
    simple: bool = False
    memory: tuple[Recalled, ...] = ()  # evidence from earlier claims
    steps: tuple[PastStep, ...] = ()  # so far
    tools: tuple[ActionTool, ...] = ()
    step: int = 1  # number of this step, from 1
    last: int = 5  # number of the last step

    def template_vars(self) -> Mapping[str, object]:
        """``calls``: whether the tools are functions that a model calls, so that the prompt need not list them."""
        return {"calls": False}

    def answers(self) -> tuple[str, ...]:
        """The words that may be answered; empty where any text may."""
        return tuple(label_words(self.claim.labels))

    def enum_fields(self) -> dict[str, tuple[str, ...]]:
        names = {"tool": (*(tool.name for tool in self.tools), "")}
        return names | ({"answer": (*answers, "")} if (answers := self.answers()) else {})

    def reply_type(self) -> type[Frozen]:
        return StepReply

    def from_reply(self, reply: Frozen) -> Step:
        step = reply.step() if isinstance(reply, StepReply) else reply
        assert isinstance(step, Step)  # MERMAID's own form
        return self.validate_answer(step)

    def validate_answer(self, answer: Step) -> Step:
        """Requires one action or one answer that is a label; a model's own confidence is dropped: not calibrated.

        So are notes, which only the embedded reader makes.
        """
        if (answer.action is None) == (answer.answer is None):
            raise ValueError("a step is either an action or an answer")
        dropped = {"confidence": None, **NOTHING_NOTED.noted}
        if answer.answer is None:
            return answer.model_copy(update={"quotes": (), **dropped})
        label = label_in(self.claim.labels, answer.answer)
        if label is None:
            known = ", ".join(self.answers())
            raise ValueError(f"{answer.answer[:60]!r} is not one of the answers {known}")
        return answer.model_copy(update={"answer": label, **dropped})
