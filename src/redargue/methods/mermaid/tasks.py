"""MERMAID's prompts: decompose the claim, take the next step, give the answer (appendices A.1 and A.2)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from redargue.claims import Claim, Frozen
from redargue.evidence import Recalled
from redargue.nli.backend import EmbeddedBackend, compose_answer, perform
from redargue.nli.grammar import decompose
from redargue.nli.next_step import next_step, passages_read
from redargue.tasks.answer import Answer, LabelledTask
from redargue.tasks.base import Profile, Task, lines
from redargue.tasks.extract import Decomposition
from redargue.tasks.sections import NumberedDocuments, answer_conditions, answer_lines, claim_section, quotation_rule
from redargue.tasks.step import (
    ActionTool,
    LastStepReply,
    PastStep,
    SimpleStepReply,
    StepTask,
    bounded,
    label_alone,
    label_in,
    label_words,
)
from redargue.tasks.untrusted import wrap_untrusted


class DecomposeClaim(Task[Decomposition]):
    """The claim's triplets and topics."""

    claim: Claim

    def template_vars(self) -> Mapping[str, object]:
        return {"claim": wrap_untrusted(self.claim.text, inline=True)}


class NextStep(StepTask):
    """The next step of a verification: a tool call or the answer."""

    def requested_type(self) -> type[Frozen]:
        if self._answers_only:
            return LastStepReply
        return SimpleStepReply if self.simple else self.reply_type()

    def enum_fields(self) -> dict[str, tuple[str, ...]]:
        if not self._answers_only:
            return super().enum_fields()
        return {"answer": answers} if (answers := self.answers()) else {}

    @property
    def _answers_only(self) -> bool:
        return self.profile == "hardened" and not self.tools

    def template_vars(self) -> Mapping[str, object]:
        """The history has the memory at its head (``M8``); a prompt says which step it is (``M14``)."""
        tools = _tool_lines(self.tools) if self.profile == "paper" else _tools_section(self.tools) or "none"
        labels = self.claim.labels
        words = label_words(labels)
        return {
            **super().template_vars(),
            "claim": claim_section(self.claim, self.profile),
            "background": "" if self.simple else _background(self.background, self.profile),
            "simple": self.simple,
            "history": _history_lines(self.memory, self.steps, self.profile) or "(nothing yet)",
            "memory": bool(self.memory),
            "tools": tools,
            "has_tools": bool(self.tools),
            "answers": " | ".join(f'"{word}"' for word in self.answers()) or '"your answer"',
            "conditions": answer_lines(labels, words),
            "quotation_rule": quotation_rule(labels, words),
            "step": self.step,
            "last": self.last,
            "last_step": self.step >= self.last,
        }


class ForceAnswer(LabelledTask):
    """The answer after the last step, from the same material and without tools (``M9``)."""

    background: Decomposition | None = None
    simple: bool = False
    memory: tuple[Recalled, ...] = ()
    steps: tuple[PastStep, ...] = ()

    def template_vars(self) -> Mapping[str, object]:
        return {
            "claim": claim_section(self.claim, self.profile),
            "background": "" if self.simple else _background(self.background, self.profile),
            "history": _history_lines(self.memory, self.steps, self.profile) or "(nothing)",
            "answers": ", ".join(f"**{word}**" for word in self.choice()) or "your answer",
            "conditions": answer_lines(self.claim.labels, label_words(self.claim.labels)),
            "quotation_rule": quotation_rule(self.claim.labels, label_words(self.claim.labels)),
        }

    @property
    def defines_labels(self) -> bool:
        return self.profile == "hardened"

    def choice(self) -> dict[str, str]:
        """The words of :class:`NextStep`."""
        return answer_conditions(self.claim.labels, label_words(self.claim.labels))

    def chosen(self, word: str) -> str | None:
        return label_in(self.claim.labels, word)

    def label_of(self, text: str) -> str | None:
        written = [line for line in text.splitlines() if line.strip()]
        if not written or self.claim.labels.free_text:
            return super().label_of(text)
        return label_in(self.claim.labels, written[-1]) or self._bold(text) or super().label_of(text)

    def _bold(self, text: str) -> str | None:
        """The label in bold, where all in bold agree."""
        bold = {label_alone(self.claim.labels, part) for part in re.findall(r"\*\*(.+?)\*\*", text)} - {None}
        return bold.pop() if len(bold) == 1 else None


def _background(background: Decomposition | None, profile: Profile) -> str:
    hardened = profile == "hardened"  # without empty attributes
    return wrap_untrusted(background.model_dump_json(exclude_defaults=hardened)) if background else ""


def _tool_lines(tools: tuple[ActionTool, ...]) -> str:
    rows = ({"name": tool.name, "description": tool.about, "parameters": tool.parameters} for tool in tools)
    return "\n".join(["", *(json.dumps(row, ensure_ascii=False) for row in rows)]) if tools else "none"


def _tools_section(tools: tuple[ActionTool, ...]) -> str:
    """The tools: in words, or where strangers describe them, fenced, with the parameters of their schemas alone."""
    described = [_in_words(tool) for tool in tools if tool.built_in]
    strange = _strange_tools([tool for tool in tools if not tool.built_in])
    return lines(*described, strange)


def _in_words(tool: ActionTool) -> str:
    """A tool with its inputs: ``- corpus: a collection of documents. Input: what to look for.``."""
    properties = tool.parameters.get("properties", {})
    wanted = "; ".join(str(schema.get("description", name)) for name, schema in properties.items())
    return f"- {tool.name}: {tool.about}. Input: {wanted}."


def _strange_tools(tools: Sequence[ActionTool]) -> str:
    rows = []
    for tool in map(bounded, tools):
        required, properties = tool.parameters.get("required", ()), tool.parameters.get("properties", {})
        optional = {"optional": others} if (others := [name for name in properties if name not in required]) else {}
        rows.append({"name": tool.name, "description": tool.about, "parameters": properties} | optional)
    return wrap_untrusted("\n".join(json.dumps(row, ensure_ascii=False) for row in rows))


def _history_lines(memory: tuple[Recalled, ...], steps: tuple[PastStep, ...], profile: Profile) -> str:
    """Memory and steps; in the hardened profile documents are numbered across them, and each is shown once."""
    shown = NumberedDocuments(profile).shown
    parts: list[str] = []
    for item in memory:
        passage = item.passage
        day = f", retrieved {passage.retrieved:%Y-%m-%d}" if passage.retrieved else ""
        parts.append(f"From memory{day}: {passage.tool or 'a tool'} was asked: {wrap_untrusted(passage.query)}")
        parts.append(f"Observation: {shown((passage,) if item.status == 'ok' else ())}")
    for step in steps:
        if step.thought:
            parts.append(f"Thought: {step.thought}")
        if step.action:
            parts.append(f"Action: {step.action.name} with input: {step.action.input}")
        observed = step.note or wrap_untrusted(step.problem, inline=True) or shown(step.passages)
        parts.append(f"Observation: {observed}")
    return "\n".join(parts)


perform.register(NextStep, next_step)


@perform.register
def _decompose(task: DecomposeClaim, backend: EmbeddedBackend) -> Decomposition:
    return decompose(task.claim.text)


@perform.register
def _force_answer(task: ForceAnswer, backend: EmbeddedBackend) -> Answer:
    passages = passages_read(task.memory, task.steps)
    return compose_answer(task.claim, passages, backend)
