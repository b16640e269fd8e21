"""ReAct on fact verification: one agent thinks, acts and observes in turns until it finishes with a label.

Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models" (arXiv 2210.03629), and the authors' program
(ysymyth/ReAct). A search tool replaces the original's look-up of Wikipedia pages; over a corpus this is the single
agent of Tool-MAD's tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from redargue.claims import Claim
from redargue.errors import BadReply
from redargue.events import Stepped
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.methods.base import FROM_SETTINGS, Method, SearchSettings
from redargue.methods.verdict_parts import sent_back
from redargue.nli.backend import EmbeddedBackend, perform
from redargue.nli.next_step import next_step
from redargue.retrieval.corpus.documents import sentence_spans
from redargue.tasks.sections import NumberedDocuments, answer_lines, claim_section, quotation_rule
from redargue.tasks.step import ActionTool, PastStep, Step, StepTask, ToolCall
from redargue.tasks.template import read_examples, with_labels
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Verdict

# Actions are written ``search[x]``, ``lookup[k]`` and ``finish[label]``, and the prompt shows
# the whole history as the agent wrote it.

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
        return {
            **super().template_vars(),
            "claim": claim_section(self.claim, self.profile),
            "labels": ", ".join(names),
            "conditions": answer_lines(self.claim.labels, names),
            "quotation_rule": quotation_rule(self.claim.labels),
            "demonstrations": self.demonstrations,
            "history": self._history(),
            "step": self.step,
            "last": self.last,
            "last_step": self.step >= self.last,
            "thought": "",  # of the step; the text of ``ChooseAction`` has it
        }

    def plain_example(self, reply: Any) -> str:
        step = reply.step()
        call = step.action
        action = f"{call.name}[{call.input}]" if call else f"{FINISH}[{step.answer}]"
        return f"Thought: {step.thought}\nAction: {action}"

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
            if call.name == FINISH and (not answer.answer or not call.input or call.input == answer.answer):
                answer = answer.model_copy(update={"action": None, "answer": answer.answer or call.input})
        return super().validate_answer(answer)

    def _history(self) -> str:
        parts: list[str] = []
        numbered = NumberedDocuments(self.profile)
        for number, step in enumerate(self.steps, 1):
            parts.append(f"Thought {number}: {step.thought}")
            if step.action:
                text = step.action.input
                parts.append(f"Action {number}: {step.action.name}" + (f"[{text}]" if text else ""))
            observation = step.note or wrap_untrusted(step.problem, inline=True) or numbered.shown(step.passages)
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


AGENT = "agent"


class ReactSettings(SearchSettings):
    """Settings of ``react``; the defaults are the paper's for FEVER, except that its search returns one page."""

    # sentences of a document that a search shows; ``lookup`` finds the others. 0 shows all
    sentences: int = Field(default=5, ge=0, le=100)
    max_steps: int = Field(default=5, ge=1, le=20)  # after which the agent ends without an answer
    temperature: float = Field(default=0.0, ge=0, le=2)  # of every reply


class React(Method, name="react", settings=ReactSettings):
    """Thinks and acts in turns: search, lookup, finish (2210.03629)."""

    profiles = {"paper": {}, "authors": {"profile": "paper", "max_steps": 7}, "hardened": {}}
    paper = "Yao et al., ReAct: Synergizing Reasoning and Acting in Language Models, 2022, arXiv 2210.03629"
    graph = "(ThinkAndAct [-> ChooseAction] -> search or lookup) x5"
    roles = {AGENT: FROM_SETTINGS}
    asks = (ThinkAndAct, ChooseAction)
    few_shot = True

    settings: ReactSettings

    async def check(self, claim: Claim, agent: Agent) -> Verdict:
        self.steps: list[PastStep] = []
        self.page: tuple[Passage, ...] = ()  # what the last search returned
        self.keyword, self.results_shown = "", 0  # of the last lookups in ``page``
        for number in range(1, self.settings.max_steps + 1):
            try:
                step = await self.think(agent, number)
            except BadReply as error:
                self.report(number, problem=error.what)
                self.steps.append(PastStep(note="Invalid action."))
                continue
            if step.answer is not None:
                if self.is_sent_back(number, step):
                    continue
                self.report(number, thought=step.thought, answer=step.answer)
                return self.conclude(number, step)
            self.steps.append(await self.act(agent, number, step))
        return self.conclude(self.settings.max_steps, Step())

    async def think(self, agent: Agent, number: int) -> Step:
        """The next step; a thought without an action takes a second call."""
        examples = "examples_in_json" if self.settings.profile == "hardened" else "examples"
        state = {
            "steps": tuple(self.steps),
            "step": number,
            "last": self.settings.max_steps,
            "demonstrations": with_labels(read_examples(__package__, examples), self.claim.labels),
        }
        step = await self.ask(agent, ThinkAndAct, round_=number, **state)
        if step.action is None and step.answer is None:
            step = await self.ask(agent, ChooseAction, round_=number, thought=step.thought, **state)
        return step

    def is_sent_back(self, number: int, step: Step) -> bool:
        """Whether steps are left for an answer without a quotation or a search (hardened); it uses up its step."""
        if number == self.settings.max_steps:
            return False
        passages = self.agents[AGENT].passages
        why = self.why_not_yet(step.answer, step.quotes, passages) or self.why_unsearched(passages)
        if why:
            note = sent_back(str(step.answer), why, can_search=True, has_read=bool(passages))
            self.report(number, thought=step.thought, problem=note)
            self.steps.append(PastStep(thought=step.thought, note=note))
        return bool(why)

    async def act(self, agent: Agent, number: int, step: Step) -> PastStep:
        """An action and its observation; an unknown action is invalid and costs the step."""
        assert step.action is not None
        action = step.action.model_copy(update={"input": _text_of(step.action)})
        taken: dict[str, object] = {"thought": step.thought, "tool": action.name, "reason": action.reason}
        if action.name == SEARCH.name:
            self.report(number, arguments={"query": action.input}, **taken)
            observed = await self.search(agent, number, action.input)
        elif action.name == LOOKUP_ACTION.name:
            observed = self.look_up(action.input)
            self.report(number, arguments={"keyword": action.input}, problem=observed.problem, **taken)
        else:
            observed = PastStep(problem=f"Invalid action: {action.name}")
            self.report(number, problem=observed.problem, **taken)
        return observed.model_copy(update={"thought": step.thought, "action": action})

    def report(self, number: int, **step: Any) -> None:
        self.run.emit(Stepped(agent=AGENT, round=number, **step))

    async def search(self, agent: Agent, number: int, query: str) -> PastStep:
        """The beginnings of the documents found, which replace those of earlier searches for lookups."""
        passages = await agent.search(query, self.settings.top_k, round_=number)
        if not passages:
            return PastStep(problem=f"Could not find [{query}].")
        self.page, self.keyword, self.results_shown = passages, "", 0
        return PastStep(passages=tuple(map(self.beginning, passages)))

    def beginning(self, passage: Passage) -> Passage:
        spans = list(sentence_spans(passage.text))[: self.settings.sentences]
        return passage.part(0, spans[-1][1]) if spans else passage

    def look_up(self, keyword: str) -> PastStep:
        if keyword != self.keyword:
            self.keyword, self.results_shown = keyword, 0
        sentences = [
            (passage, passage.text[start:end])
            for passage in self.page
            for start, end in sentence_spans(passage.text)
            if keyword and keyword.lower() in passage.text[start:end].lower()
        ]
        if self.results_shown >= len(sentences):
            return PastStep(problem="No more results.")
        passage, sentence = sentences[self.results_shown]
        self.results_shown += 1
        text = f"(Result {self.results_shown} / {len(sentences)}) {sentence}"
        return PastStep(passages=(passage.model_copy(update={"text": text, "cut": ""}),))

    def conclude(self, steps: int, step: Step) -> Verdict:
        self.cite(step.quotes, label=step.answer)
        return self.verdict(
            step.answer,
            reason=step.thought,
            confidence=step.confidence,
            decided_by="executor",
            rounds=steps,
            noted=step,
        )


def _text_of(action: ToolCall) -> str:
    """An action's text, also from a JSON object with a single text in it."""
    read = action.read_input
    values = list(read.values()) if isinstance(read, dict) else []
    return values[0] if len(values) == 1 and isinstance(values[0], str) else action.input


@perform.register
def _think_and_act(task: ThinkAndAct, backend: EmbeddedBackend) -> Step:
    return next_step(task.model_copy(update={"tools": task.tools[:1]}), backend)
