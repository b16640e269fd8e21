"""Thought, action, observation, in the words of ReAct (Yao et al., arXiv 2210.03629) on fact verification.

Actions are written ``search[x]``, ``lookup[k]`` and ``finish[label]``, and the prompt shows the whole history as the
agent wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from redargue.tasks.answer import claim_section, documents
from redargue.tasks.labels import answer_conditions
from redargue.tasks.step import ActionTool, Step, StepTask, ToolCall
from redargue.tasks.untrusted import wrap_untrusted

SEARCH = ActionTool(
    name="search",
    about="looks something up and shows the beginning of what was found",
    parameters={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)
LOOKUP_ACTION = ActionTool(
    name="lookup",
    about="shows the next sentence with a word in what the last search found",
    parameters={"type": "object", "properties": {"keyword": {"type": "string"}}, "required": ["keyword"]},
)
FINISH = "finish"
_CUT = re.compile(r"\n\s*Observation\b")  # the original's stop sequence: a model would make up what follows
_ACTION = re.compile(r"(?:^|\n)[ \t]*Action(?:[ \t]*\d+)?[ \t]*:[ \t]*")
_THOUGHT = re.compile(r"^\s*Thought(?:[ \t]*\d+)?[ \t]*:[ \t]*")
_CALL = re.compile(r"(\w+)\[(.*)\]", re.DOTALL)


class ThinkAndAct(StepTask):
    """A thought and an action; a reply with a thought alone is accepted, and :class:`ChooseAction` follows."""

    tools: tuple[ActionTool, ...] = (SEARCH, LOOKUP_ACTION)
    demonstrations: str = ""  # example claims with their steps

    def answers(self) -> tuple[str, ...]:
        """The labels by their own names, as in the rules and the demonstrations."""
        return self.claim.labels.names

    def template_vars(self) -> Mapping[str, object]:
        names = {name: name for name in self.claim.labels.names}
        when = answer_conditions(self.claim.labels, names)
        return {
            **super().template_vars(),
            "claim": claim_section(self.claim),
            "labels": ", ".join(names),
            "conditions": "; ".join(f"{name}: {condition}" for name, condition in when.items()),
            "demonstrations": self.demonstrations,
            "history": self._history(),
            "step": self.step,
        }

    def parse_plain(self, text: str) -> Step | None:
        """Thought and action; without an action, or with several, the first line is the thought."""
        if text.lstrip().startswith("{"):
            return None
        thought, *actions = _ACTION.split(_CUT.split(text)[0])
        thought = _THOUGHT.sub("", thought).strip()
        if len(actions) != 1:  # choosing one of several would be a guess
            return Step(thought=thought.partition("\n")[0].strip())
        return self._step(thought, actions[0])

    def _step(self, thought: str, action: str) -> Step:
        """The step of a written action; an unreadable one calls a tool that does not exist."""
        line = action.strip().partition("\n")[0].strip()
        call = _CALL.fullmatch(line)
        name = _action_name(call.group(1)) if call else ""
        if call is None or name not in (SEARCH.name, LOOKUP_ACTION.name, FINISH):
            return Step(thought=thought, action=ToolCall(name=line[:60] or "(none)"))
        if name == FINISH:
            return Step(thought=thought, answer=call.group(2))
        return Step(thought=thought, action=ToolCall(name=name, input=call.group(2).strip()))

    def validate_answer(self, answer: Step) -> Step:
        """A thought, an action or a label; ``finish`` as an action is the answer."""
        if answer.action is None and answer.answer is None and answer.thought.strip():
            return answer.model_copy(update={"quotes": (), "confidence": None})
        if call := answer.action:
            call = call.model_copy(update={"name": _action_name(call.name)})
            answer = answer.model_copy(update={"action": call})
            if call.name == FINISH and not (call.input and answer.answer):
                answer = answer.model_copy(update={"action": None, "answer": answer.answer or call.input})
        return super().validate_answer(answer)

    def _history(self) -> str:
        parts: list[str] = []
        for number, step in enumerate(self.steps, 1):
            parts.append(f"Thought {number}: {step.thought}")
            if step.action:
                text = step.action.input
                parts.append(f"Action {number}: {step.action.name}" + (f"[{text}]" if text else ""))
            observation = wrap_untrusted(step.problem, inline=True) or documents(step.passages, self.profile)
            parts.append(f"Observation {number}: {observation}")
        return "\n".join(parts)


class ChooseAction(ThinkAndAct):
    """The action for a thought that came without one."""

    thought: str

    def template_vars(self) -> Mapping[str, object]:
        return {**super().template_vars(), "thought": self.thought}

    def parse_plain(self, text: str) -> Step | None:
        """The first line that is an action, with or without "Action N:" before it."""
        if text.lstrip().startswith("{"):
            return None
        return self._step(self.thought, _ACTION.split(_CUT.split(text)[0], maxsplit=1)[-1])

    def validate_answer(self, answer: Step) -> Step:
        if answer.action is None and answer.answer is None:
            raise ValueError("there is no action")
        return super().validate_answer(answer.model_copy(update={"thought": self.thought}))


def _action_name(action: str) -> str:
    """Its first letter in lower case, as in the authors' program."""
    return action[:1].lower() + action[1:]
