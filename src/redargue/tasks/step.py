"""Thinking and acting in steps: one tool call or the answer (MERMAID, appendix A.2; ReAct, Yao et al. 2022)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import field_validator, model_validator

from redargue.claims import Claim, Frozen, LabelSet, Meaning
from redargue.evidence import Passage, Recalled
from redargue.tasks.answer import STYLE_IS_NO_EVIDENCE, LabelledTask, claim_lines, documents
from redargue.tasks.base import Profile, Task, lines
from redargue.tasks.decompose import Decomposition
from redargue.tasks.untrusted import wrap_untrusted


class ActionTool(Frozen):
    """A tool as an agent is told of it.

    Attributes:
        name: as it is called.
        about: what it does.
        parameters: JSON schema of its arguments.
    """

    name: str
    about: str
    parameters: dict[str, Any]


class ToolCall(Frozen):
    """A call of a tool, as an agent wants it.

    Attributes:
        name: of the tool.
        reason: why it is called.
        input: one text for the tool's first required parameter, or a JSON object of named ones (``M2``).
    """

    name: str
    reason: str = ""
    input: str = ""

    @model_validator(mode="before")
    @classmethod
    def _named_otherwise(cls, given: Any) -> Any:
        """``arguments`` and ``parameters`` are inputs, too."""
        if not isinstance(given, Mapping):
            return given
        found = dict(given)
        for name in ("arguments", "parameters"):
            if name in found:
                found.setdefault("input", found.pop(name))
        return found

    @field_validator("input", mode="before")
    @classmethod
    def _as_text(cls, given: Any) -> Any:
        return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, sort_keys=True)


class Step(Frozen):
    """What an agent does next: it calls a tool, or answers.

    Attributes:
        thought: why.
        action: the call; None with an answer.
        answer: the answer; None with a call. Once a task has accepted it: of the claim's labels.
        quotes: what an answer rests on, word for word; checked by code, never believed.
        confidence: calibrated probability of the answer, in [0, 1]; None where nothing was calibrated.
        unmade: calls that were given beside ``action``; they are not made, as a step is one.
    """

    thought: str = ""
    action: ToolCall | None = None
    answer: str | None = None
    quotes: tuple[str, ...] = ()
    confidence: float | None = None
    unmade: tuple[ToolCall, ...] = ()

    @field_validator("answer", mode="before")
    @classmethod
    def _spelled(cls, given: Any) -> Any:
        return str(given) if isinstance(given, bool) else given


class PastStep(Frozen):
    """A step that was taken, and what came of it.

    Attributes:
        thought: as of the step.
        action: the call; None where the step could not be read.
        passages: what the tool returned.
        problem: why there is nothing, or why the tool was not asked; for the agent to read.
    """

    thought: str = ""
    action: ToolCall | None = None
    passages: tuple[Passage, ...] = ()
    problem: str = ""


def answers_of(labels: LabelSet) -> dict[str, str]:
    """What an agent may answer, and the label that each answer gives: the paper's True and False for the two sides."""
    said = {Meaning.SUPPORTED: "True", Meaning.REFUTED: "False"}
    offered: dict[str, str] = {}
    for label in labels.labels:
        word = said.get(label.meaning, label.name)
        offered[word if word not in offered else label.name] = label.name
    return offered


def label_alone(labels: LabelSet, text: str) -> str | None:
    """The label of a text that is an answer and nothing else: True, False (``M12``) or another label's name."""
    plain = text.strip(" \t\r\n*_`\"'.,:;!()[]").casefold()
    words = {word.casefold(): label for word, label in answers_of(labels).items()}
    return words.get(plain)


def label_said(labels: LabelSet, text: str) -> str | None:
    """The label that an answer names; None where it names none."""
    return label_alone(labels, text) or labels.single(text)


class NextStep(Task[Step]):
    """The next step of a verification.

    Attributes:
        claim: what is checked.
        background: the claim taken apart; None without a decomposer.
        memory: what earlier claims left.
        steps: what was done so far.
        tools: what may be called.
        step: which one this is, from 1.
        last: how many there are.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "background", "history", "tools")

    claim: Claim
    background: Decomposition | None = None
    memory: tuple[Recalled, ...] = ()
    steps: tuple[PastStep, ...] = ()
    tools: tuple[ActionTool, ...] = ()
    step: int = 1
    last: int = 5

    def instructions(self) -> str:
        """The agent's part, rules and tools; what does not change from step to step."""
        return lines(self.rules(), f"Available tools: {tools_shown(self.tools)}")

    def rules(self) -> str:
        """The agent's part and rules."""
        return lines(
            "You verify a claim in steps: you think, and then either call one tool or give the final answer.",
            "Look at the history first: what is there already does not have to be asked again.",
            "As soon as the evidence is sufficient, give the final answer.",
        )

    def hardened_rules(self) -> str:
        return STYLE_IS_NO_EVIDENCE

    def answers(self) -> tuple[str, ...]:
        """What may be answered; empty where any text may."""
        return tuple(answers_of(self.claim.labels))

    def output_format(self) -> str:
        """One JSON object, as in the paper."""
        words = " | ".join(f'"{word}"' for word in self.answers())
        return lines(
            "Reply with one JSON object and nothing else: no explanation, no markdown, no text around it.",
            'To call a tool: {"thought": "your reasoning", "action": {"name": "tool_name", "reason": "why", "input":'
            ' "query"}}',
            f'To give the final answer: {{"thought": "your reasoning", "answer": {words or "your answer"}}}',
        )

    def input_text(self) -> str:
        """Claim, background, history with the memory at its head (``M8``), and which step it is (``M14``)."""
        return lines(
            claim_lines(self.claim),
            f"Background: {self._background()}" if self.background else None,
            f"Memory and history of previous steps:\n{self._history()}",
            f"This is step {self.step} of {self.last}; it may be your last chance to answer.",
        )

    def template_vars(self) -> dict[str, str]:
        """Claim, background, memory and history, tools."""
        return {
            "claim": claim_lines(self.claim).removeprefix("Claim: "),
            "background": self._background(),
            "history": self._history(),
            "tools": tools_shown(self.tools),
        }

    def validate_answer(self, answer: Step) -> Step:
        """The step, if it is one thing and its answer a label."""
        if (answer.action is None) == (answer.answer is None):
            raise ValueError("a step is either an action or an answer")
        if answer.answer is None:
            return answer.model_copy(update={"quotes": (), "confidence": None})
        label = label_said(self.claim.labels, answer.answer)
        if label is None:
            raise ValueError(f"{answer.answer[:60]!r} is none of the answers {', '.join(self.answers())}")
        return answer.model_copy(update={"answer": label, "confidence": None})  # a model's own number is not calibrated

    def _background(self) -> str:
        return background_shown(self.background)

    def _history(self) -> str:
        return history_shown(self.memory, self.steps, self.profile) or "(nothing yet)"


class ForceAnswer(LabelledTask):
    """The answer after the last step, from the same material; no tool may be called any more (``M9``).

    Attributes:
        background: the claim taken apart; None without a decomposer.
        memory: what earlier claims left.
        steps: what was done.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "background", "history")

    background: Decomposition | None = None
    memory: tuple[Recalled, ...] = ()
    steps: tuple[PastStep, ...] = ()

    def instructions(self) -> str:
        """That it has to end here."""
        return lines(
            "You verified a claim in steps, and the steps are used up. Give your final answer now, from what is there.",
        )

    def output_format(self) -> str:
        """The answer on the last line."""
        words = ", ".join(f"**{word}**" for word in answers_of(self.claim.labels))
        return f"Explain first; then give your answer alone on the last line: {words or 'your answer'}."

    def input_text(self) -> str:
        """Claim, background, history."""
        return lines(
            claim_lines(self.claim),
            f"Background: {background_shown(self.background)}" if self.background else None,
            f"Memory and history of previous steps:\n{self._history()}",
        )

    def template_vars(self) -> dict[str, str]:
        """Claim, background, memory and history."""
        return {
            "claim": claim_lines(self.claim).removeprefix("Claim: "),
            "background": background_shown(self.background),
            "history": self._history(),
        }

    def label_of(self, text: str) -> str | None:
        """The label on the last line, True and False included; else the last one that stands anywhere (``M11``)."""
        said = [line for line in text.splitlines() if line.strip()]
        return (label_said(self.claim.labels, said[-1]) if said else None) or super().label_of(text)

    def _history(self) -> str:
        return history_shown(self.memory, self.steps, self.profile) or "(nothing)"


def background_shown(background: Decomposition | None) -> str:
    """The claim taken apart, as JSON."""
    return wrap_untrusted(background.model_dump_json()) if background else ""


def tools_shown(tools: tuple[ActionTool, ...]) -> str:
    """Names, descriptions and parameters as JSON, one a line."""
    shown = ({"name": each.name, "description": each.about, "parameters": each.parameters} for each in tools)
    return "\n".join(["", *(json.dumps(each, ensure_ascii=False) for each in shown)]) if tools else "none"


def history_shown(memory: tuple[Recalled, ...], steps: tuple[PastStep, ...], profile: Profile) -> str:
    """What is remembered, marked as such, and then every step."""
    parts: list[str] = []
    for item in memory:
        found = item.passage
        day = f", retrieved {found.retrieved:%Y-%m-%d}" if found.retrieved else ""
        parts.append(f"From memory{day}: {found.tool} was asked: {wrap_untrusted(found.query)}")
        parts.append(f"Observation: {documents((found,) if item.status == 'ok' else (), profile)}")
    for step in steps:
        if step.thought:
            parts.append(f"Thought: {step.thought}")
        if step.action:
            parts.append(f"Action: {step.action.name} with input: {step.action.input}")
        parts.append(f"Observation: {wrap_untrusted(step.problem, inline=True) or documents(step.passages, profile)}")
    return "\n".join(parts)
