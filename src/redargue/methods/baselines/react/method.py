"""ReAct on fact verification: one agent thinks, acts and observes in turns until it finishes with a label.

Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models" (arXiv 2210.03629), and the authors' program
(ysymyth/ReAct). A search tool replaces the original's look-up of Wikipedia pages; over a corpus this is the single
agent of Tool-MAD's tables.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import Field

from redargue.claims import Claim
from redargue.errors import BadReply
from redargue.events import Stepped
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.methods.base import FROM_SETTINGS, Method, SearchSettings
from redargue.methods.baselines.react.tasks import LOOKUP_ACTION, SEARCH, ChooseAction, ThinkAndAct
from redargue.methods.few_shot import read_examples, with_labels
from redargue.retrieval.corpus.documents import sentence_spans
from redargue.tasks.step import PastStep, Step
from redargue.verdicts import Verdict

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
                self.steps.append(PastStep(problem="Invalid action."))
                continue
            if step.answer is not None:
                self.report(number, thought=step.thought, answer=step.answer)
                return self.conclude(number, step)
            self.steps.append(await self.act(agent, number, step))
        return self.conclude(self.settings.max_steps, Step())

    async def think(self, agent: Agent, number: int) -> Step:
        """The next step; a thought without an action takes a second call."""
        state: dict[str, Any] = {
            "claim": self.claim,
            "steps": tuple(self.steps),
            "step": number,
            "last": self.settings.max_steps,
            "demonstrations": with_labels(read_examples(__package__), self.claim.labels),
            "profile": self.settings.profile,
        }
        temperature = self.settings.temperature
        step = await agent.perform(ThinkAndAct(**state), round_=number, temperature=temperature)
        if step.action is None and step.answer is None:
            choose = ChooseAction(**state, thought=step.thought)
            step = await agent.perform(choose, round_=number, temperature=temperature)
        return step

    async def act(self, agent: Agent, number: int, step: Step) -> PastStep:
        """An action and its observation; an unknown action is invalid and costs the step."""
        assert step.action is not None
        action = step.action.model_copy(update={"input": _text_of(step.action.input)})
        taken: dict[str, Any] = {"thought": step.thought, "tool": action.name, "reason": action.reason}
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


def _text_of(argument: str) -> str:
    """An action's text, also from a JSON object with a single text in it."""
    try:
        values = list(json.loads(argument).values())
    except (ValueError, AttributeError):
        return argument
    return values[0] if len(values) == 1 and isinstance(values[0], str) else argument
