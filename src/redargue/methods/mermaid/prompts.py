"""MERMAID's prompts: decompose the claim, take the next step, give the answer (appendices A.1 and A.2)."""

from __future__ import annotations

import json
import re
from typing import ClassVar

from redargue.claims import Claim, LabelSet
from redargue.evidence import Passage, Recalled
from redargue.tasks.answer import STYLE_IS_NO_EVIDENCE, LabelledTask, claim_section, documents
from redargue.tasks.base import Profile, Sections, Task, lines
from redargue.tasks.decompose import Decomposition
from redargue.tasks.labels import answer_conditions
from redargue.tasks.step import (
    ActionTool,
    PastStep,
    StepTask,
    bounded,
    label_alone,
    label_in,
    label_words,
)
from redargue.tasks.untrusted import wrap_untrusted

SECTIONS = {"claim": "Claim: ", "background": "Background: ", "history": "Memory and history of previous steps:\n"}


class DecomposeClaim(Task[Decomposition]):
    """The claim's triplets and topics."""

    sections: ClassVar[Sections] = {"claim": "Claim: "}

    claim: Claim

    instructions: ClassVar[str] = lines(
        "You analyse claims in a system of several agents that assesses whether claims are true.",
        "First, extract the knowledge triplets of the claim below. Each consists of:",
        "1. subject (must be a noun)",
        "2. relation (must be a verb)",
        "3. object (must be a noun)",
        "4. attributes (only for what cannot be said as a subject, a relation or an object)",
        "Second, say what the topic of the claim is.",
    )
    output_format: ClassVar[str] = (
        'Reply in JSON: {"triplets": [{"subject": "", "relation": "", "object": "", "attributes": ""}], "topics": [""]}'
    )

    hardened_rules: ClassVar[str] = "Name subjects and objects in full, as an encyclopedia would, without pronouns."

    def template_vars(self) -> dict[str, str]:
        return {"claim": wrap_untrusted(self.claim.text, inline=True)}


class NextStep(StepTask):
    """The next step of a verification: a tool call or the answer."""

    sections: ClassVar[Sections] = {**SECTIONS, "tools": None, "answers": None}

    hardened_rules: ClassVar[str] = STYLE_IS_NO_EVIDENCE

    @property
    def instructions(self) -> str:
        """In the hardened profile without the tools, whose descriptions strangers wrote; the input has them."""
        shown = self.profile == "paper" or not self.tools
        return lines(self.rules(), f"Available tools: {_tool_lines(self.tools)}" if shown else None)

    def rules(self) -> str:
        what = "You verify a claim in steps: you think, and then either call one tool or give the final answer."
        if self.profile == "hardened":
            answers = "; ".join(f"{word}: {when}" for word, when in _conditions(self.claim.labels).items())
            return lines(what, f"Answers: {answers}." if answers else None, _HOW, _MEMORY if self.memory else None)
        return lines(
            what,
            "Look at the history first: what is there already does not have to be asked again.",
            "As soon as the evidence is sufficient, give the final answer.",
        )

    @property
    def output_format(self) -> str:
        return lines(
            "Reply with one JSON object and nothing else: no explanation, no markdown, no text around it.",
            'To call a tool: {"thought": "your reasoning", "action": {"name": "tool_name", "reason": "why", "input":'
            ' "query"}}',
            f'To give the final answer: {{"thought": "your reasoning", "answer": {self._answers()}}}',
        )

    def _answers(self) -> str:
        return " | ".join(f'"{word}"' for word in self.answers()) or '"your answer"'

    def input_text(self) -> str:
        """Claim, background, history with the memory at its head (``M8``), and which step it is (``M14``)."""
        last_chance = f"This is step {self.step} of {self.last}; it may be your last chance to answer."
        if self.profile == "hardened":
            must = "give your final answer now" if self.step >= self.last else "you must answer on the last"
            last_chance = f"This is step {self.step} of {self.last}; {must}."
        hardened = self.profile == "hardened" and self.tools
        tools = f"Available tools: {_tools_section(self.tools)}" if hardened else None
        return lines(tools, *self.section_texts(), last_chance)

    def template_vars(self) -> dict[str, str]:
        return {
            "claim": claim_section(self.claim),
            "background": _background(self.background, self.profile),
            "history": _history_lines(self.memory, self.steps, self.profile) or "(nothing yet)",
            "tools": _tool_lines(self.tools) if self.profile == "paper" else _tools_section(self.tools) or "none",
            "answers": self._answers(),
        }


class ForceAnswer(LabelledTask):
    """The answer after the last step, from the same material and without tools (``M9``)."""

    sections: ClassVar[Sections] = SECTIONS

    background: Decomposition | None = None
    memory: tuple[Recalled, ...] = ()
    steps: tuple[PastStep, ...] = ()

    hardened_rules: ClassVar[str] = STYLE_IS_NO_EVIDENCE

    @property
    def instructions(self) -> str:
        what = "You verified a claim in steps, and the steps are used up. Give your final answer now, from"
        if self.profile == "hardened":
            return f"{what} the documents in the memory and the observations; do not fill gaps from what you know."
        return f"{what} what is there."

    quote_source: ClassVar[str] = "the documents"

    @property
    def output_format(self) -> str:
        if self.profile == "hardened" and (when := _conditions(self.claim.labels)):
            answers = "; ".join(f"**{word}** if {condition}" for word, condition in when.items())
            return f"Explain first; then give your answer alone on the last line: {answers}."
        words = ", ".join(f"**{word}**" for word in label_words(self.claim.labels))
        return f"Explain first; then give your answer alone on the last line: {words or 'your answer'}."

    def template_vars(self) -> dict[str, str]:
        return {
            "claim": claim_section(self.claim),
            "background": _background(self.background, self.profile),
            "history": _history_lines(self.memory, self.steps, self.profile) or "(nothing)",
        }

    def choice(self) -> dict[str, str]:
        """The words of :class:`NextStep`."""
        return _conditions(self.claim.labels)

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


_HOW = lines(
    "Answer from the documents in the history, not from what you know; do not ask again for what is there.",
    "If the last call found nothing useful, ask in other words, or about another part of the claim. Give the final"
    " answer as soon as the documents settle the claim.",
)
_MEMORY = "What comes from memory was found for earlier claims: use it only where it is about this one."


def _conditions(labels: LabelSet) -> dict[str, str]:
    return answer_conditions(labels, label_words(labels))


def _background(background: Decomposition | None, profile: Profile) -> str:
    hardened = profile == "hardened"  # without empty attributes
    return wrap_untrusted(background.model_dump_json(exclude_defaults=hardened)) if background else ""


def _tool_lines(tools: tuple[ActionTool, ...]) -> str:
    rows = ({"name": tool.name, "description": tool.about, "parameters": tool.parameters} for tool in tools)
    return "\n".join(["", *(json.dumps(row, ensure_ascii=False) for row in rows)]) if tools else "none"


def _tools_section(tools: tuple[ActionTool, ...]) -> str:
    """The tools, with the parameters of their schemas alone."""
    rows = []
    for tool in map(bounded, tools):
        required, properties = tool.parameters.get("required", ()), tool.parameters.get("properties", {})
        optional = {"optional": others} if (others := [name for name in properties if name not in required]) else {}
        rows.append({"name": tool.name, "description": tool.about, "parameters": properties} | optional)
    return wrap_untrusted("\n".join(json.dumps(row, ensure_ascii=False) for row in rows))


def _history_lines(memory: tuple[Recalled, ...], steps: tuple[PastStep, ...], profile: Profile) -> str:
    """Memory and steps; in the hardened profile documents are numbered across them, and each is shown once."""
    numbers: dict[str, int] = {}

    def shown(passages: tuple[Passage, ...]) -> str:
        if profile == "paper" or not passages:
            return documents(passages, profile)
        texts = []
        for passage in passages:
            known = numbers.get(passage.sha256)
            number = numbers.setdefault(passage.sha256, len(numbers) + 1)
            text = wrap_untrusted(lines(passage.title, passage.shown_text))
            texts.append(f"[{known}] again" if known else f"[{number}]\n{text}")
        return "\n".join(texts)

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
        parts.append(f"Observation: {wrap_untrusted(step.problem, inline=True) or shown(step.passages)}")
    return "\n".join(parts)
