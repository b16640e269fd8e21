"""ReAct on fact verification: one agent thinks, acts and observes in turns until it finishes with a label.

Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models" (arXiv 2210.03629), and the authors' program
(ysymyth/ReAct). A page of Wikipedia there is here what a search tool finds; with a corpus of documents it is the single
agent of Tool-MAD's tables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from redargue.claims import Claim, Frozen, LabelSet, Meaning
from redargue.corpus.chunk import sentence_spans
from redargue.errors import BadReply
from redargue.events import Stepped
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.methods.base import Behaviour, Plan, methods
from redargue.methods.baselines.finding import find_quotes, search_all
from redargue.methods.demonstrating import demonstrations
from redargue.methods.verdict_parts import distinct, gaps
from redargue.run import Run
from redargue.tasks.acting import PastStep, Step, ToolCall
from redargue.tasks.base import AnyTask, Profile
from redargue.tasks.reacting import LOOKUP, SEARCH, ChooseAction, ThinkAndAct
from redargue.verdicts import Verdict

AGENT = "agent"


class ReactSettings(Frozen):
    """Settings of ``react``; the defaults are the paper's for FEVER.

    Attributes:
        profile: ``paper`` or ``hardened``.
        tools: what ``search`` asks, all at once.
        top_k: documents a search and tool; the paper's search gives one page.
        sentences: of each document that a search shows, the first; ``lookup`` walks through all. 0 shows everything.
        max_steps: before it ends without an answer.
        temperature: of every reply.
    """

    profile: Profile = "hardened"
    tools: tuple[str, ...] = Field(default=("corpus",), min_length=1, max_length=8)
    top_k: int = Field(default=3, ge=1, le=50)
    sentences: int = Field(default=5, ge=0, le=100)
    max_steps: int = Field(default=5, ge=1, le=20)
    temperature: float = Field(default=0.0, ge=0, le=2)


@methods.register("react")
class React:
    """Thought, action, observation."""

    name: ClassVar[str] = "react"
    about: ClassVar[str] = "thinks and acts in turns: search, lookup, finish (2210.03629)"
    options: ClassVar[type[Frozen]] = ReactSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},
        "authors": {"profile": "paper", "max_steps": 7},
        "hardened": {},
    }
    paper: ClassVar[str] = (
        "Yao et al., ReAct: Synergizing Reasoning and Acting in Language Models, 2022, arXiv 2210.03629"
    )
    graph: ClassVar[str] = "(ThinkAndAct [-> ChooseAction] -> search or lookup) x5"
    demonstrations: ClassVar[bool] = True
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="REACT-1",
            original="the paper allows five steps on FEVER, its program seven",
            effect="published figures may come from either",
            here="five steps; seven in the profile 'authors'",
            setting="max_steps=7",
        ),
        Behaviour(
            id="REACT-2",
            original="an agent that does not finish has an empty answer, and any word in finish[…] is an answer",
            effect="both are counted wrong under exact match",
            here="there is no label; a word that is no label is sent back once, and then the step is lost",
        ),
        Behaviour(
            id="REACT-3",
            original="a search for a page that is not there shows the titles of five that are called alike",
            effect="the agent can correct a name that it had wrong",
            here="the tools give passages and no titles alike: it is told that nothing was found",
        ),
        Behaviour(
            id="REACT-4",
            original="a search shows the beginning of one page of Wikipedia",
            effect="an ambiguous name shows the wrong page, and costs a step more",
            here="the beginnings of three documents: what a corpus finds is shorter than a page",
            setting="top_k=1",
        ),
    )

    def __init__(self, settings: ReactSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """Those of the settings."""
        return tuple(dict.fromkeys(self.settings.tools))

    def agents(self) -> tuple[str, ...]:
        """One."""
        return (AGENT,)

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """Steps, and actions for thoughts that came alone."""
        return (ThinkAndAct, ChooseAction)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """A label at once; after two searches; never, with every thought without its action."""
        most = self.settings.max_steps
        usual = min(3, most)
        return self._plan(1, 0, 0), self._plan(usual, 0, usual - 1), self._plan(most, most, most)

    def _plan(self, steps: int, repaired: int, searches: int) -> Plan:
        return Plan(
            calls={"ThinkAndAct": steps, "ChooseAction": repaired},
            searches=dict.fromkeys(self.tools(), searches),
            call_depth=steps + repaired,
            search_depth=searches,
        )

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Steps until the agent finishes, or the last."""
        return await _Episode(self.settings, self.tools(), claim, run).play()


class _Episode:
    """One claim's steps, and what was searched for last."""

    def __init__(self, settings: ReactSettings, tools: tuple[str, ...], claim: Claim, run: Run) -> None:
        self.settings, self.tools, self.claim, self.run = settings, tools, claim, run
        self.agent = Agent(AGENT, run)
        self.steps: list[PastStep] = []
        self.passages: list[Passage] = []
        self.page: tuple[Passage, ...] = ()
        self.keyword, self.shown = "", 0

    async def play(self) -> Verdict:
        """Thought, action, observation, until finish or the last step."""
        for number in range(1, self.settings.max_steps + 1):
            try:
                step = await self._think(number)
            except BadReply as error:
                self.steps.append(PastStep(problem="Invalid action."))
                self.run.emit(Stepped(agent=AGENT, round=number, problem=error.what))
                continue
            if step.answer is not None:
                self.run.emit(Stepped(agent=AGENT, round=number, thought=step.thought, answer=step.answer))
                return self._verdict(number, step)
            await self._act(number, step)
        return self._verdict(self.settings.max_steps, Step())

    async def _think(self, number: int) -> Step:
        """The next step; for a thought without an action a second call."""
        state: dict[str, Any] = {
            "claim": self.claim,
            "steps": tuple(self.steps),
            "step": number,
            "last": self.settings.max_steps,
            "demonstrations": shots(self.claim.labels),
            "profile": self.settings.profile,
        }
        temperature = self.settings.temperature
        step = await self.agent.perform(ThinkAndAct(**state), round_=number, temperature=temperature)
        if step.action is None and step.answer is None:
            task = ChooseAction(**state, thought=step.thought)
            step = await self.agent.perform(task, round_=number, temperature=temperature)
        return step

    async def _act(self, number: int, step: Step) -> None:
        assert step.action is not None
        call = step.action.model_copy(update={"input": _plain(step.action.input)})
        seen = PastStep(problem=f"Invalid action: {call.name}")
        if call.name == LOOKUP.name:
            seen = self._lookup(call)
        told = {"agent": AGENT, "round": number, "thought": step.thought, "tool": call.name, "reason": call.reason}
        known = call.name in (SEARCH.name, LOOKUP.name)
        arguments = {"query" if call.name == SEARCH.name else "keyword": call.input} if known else {}
        self.run.emit(Stepped(**told, arguments=arguments, problem=seen.problem))
        if call.name == SEARCH.name:
            seen = await self._search(number, call)
        self.steps.append(seen.model_copy(update={"thought": step.thought, "action": call}))

    async def _search(self, number: int, call: ToolCall) -> PastStep:
        """The beginning of what was found; what was there before can no longer be looked up."""
        found = await search_all(
            self.run, self.tools, call.input, self.settings.top_k, agent=AGENT, round_=number, claim=self.claim
        )
        if not found:
            return PastStep(problem=f"Could not find [{call.input}].")
        self.page, self.keyword, self.shown = found, "", 0
        self.passages += found
        return PastStep(passages=tuple(self._beginning(each) for each in found))

    def _beginning(self, passage: Passage) -> Passage:
        spans = list(sentence_spans(passage.text))[: self.settings.sentences]
        return passage.model_copy(update={"text": passage.text[: spans[-1][1]]}) if spans else passage

    def _lookup(self, call: ToolCall) -> PastStep:
        """The next sentence that holds the keyword, of what was searched for last."""
        if call.input != self.keyword:
            self.keyword, self.shown = call.input, 0
        hits = [
            (passage, passage.text[start:end])
            for passage in self.page
            for start, end in sentence_spans(passage.text)
            if call.input and call.input.lower() in passage.text[start:end].lower()
        ]
        if self.shown >= len(hits):
            return PastStep(problem="No more results.")
        passage, sentence = hits[self.shown]
        self.shown += 1
        text = f"(Result {self.shown} / {len(hits)}) {sentence}"
        return PastStep(passages=(passage.model_copy(update={"text": text}),))

    def _verdict(self, steps: int, step: Step) -> Verdict:
        passages = tuple(self.passages)
        labels = self.claim.labels
        quotes = find_quotes(step.quotes, passages, labels=labels, label=step.answer, agent=AGENT)
        return Verdict(
            claim=self.claim,
            label=step.answer,
            confidence=step.confidence,
            decided_by="executor",
            rounds=steps,
            reason=step.thought,
            quotes=distinct(list(quotes)),
            gaps=gaps(self.run.events),
        )


def _plain(given: str) -> str:
    """An action's text, also out of a JSON object of one text."""
    try:
        values = list(json.loads(given).values())
    except (ValueError, AttributeError):
        return given
    return values[0] if len(values) == 1 and isinstance(values[0], str) else given


_ENDS = {
    Meaning.SUPPORTED: "<supported>",
    Meaning.REFUTED: "<refuted>",
    Meaning.NOT_ENOUGH: "<not enough>",
}


def shots(labels: LabelSet) -> str:
    """The demonstrations that end in one of the set's labels, under its name."""
    shown = []
    for each in demonstrations("react").split("\n\n"):
        for meaning, mark in _ENDS.items():
            label = labels.named(meaning)
            if mark in each and label:
                shown.append(each.replace(mark, label))
    return "\n\n".join(shown)
