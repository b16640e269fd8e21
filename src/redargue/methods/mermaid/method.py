"""MERMAID: a decomposer, an executor that thinks and acts in steps, and an evidence memory that outlives the claim.

Cao et al., "MERMAID", Algorithm 1. ``M1`` … ``M25`` are the resolutions of what the paper leaves open, listed in
``docs/mermaid.md``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from redargue.claims import Claim, Frozen
from redargue.errors import BadReply
from redargue.events import Decomposed, Judged, Stepped
from redargue.evidence import Passage, Recalled, find_quote
from redargue.memory.base import Finding
from redargue.memory.lookup import LOOKUP, MemoryLookup
from redargue.methods.agent import Agent
from redargue.methods.base import Plan, methods
from redargue.methods.mermaid.settings import DECOMPOSER, EXECUTOR, PROFILES, MermaidSettings
from redargue.methods.verdict_parts import distinct, gaps, side_of
from redargue.run import Run
from redargue.tasks.acting import ActionTool, ForceAnswer, NextStep, PastStep, Step, ToolCall
from redargue.tasks.base import AnyTask
from redargue.tasks.decomposing import DecomposeClaim, Decomposition
from redargue.tools.base import Observation
from redargue.tools.searching import SearchAction
from redargue.verdicts import Verdict

NOT_MADE = "This call was not made: a step makes one call. Make it in a step of its own if it is still needed."


@methods.register("mermaid")
class Mermaid:
    """Algorithm 1."""

    name: ClassVar[str] = "mermaid"
    about: ClassVar[str] = "a decomposer, a step-by-step executor over tools, an evidence memory across claims"
    paper: ClassVar[str] = "Cao et al., MERMAID, 2026"
    graph: ClassVar[str] = (
        "decompose -> recall -> (step -> tool) xN -> step that answers; steps used up: -> forced answer"
    )
    options: ClassVar[type[Frozen]] = MermaidSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = PROFILES
    calls_actions: ClassVar[bool] = True

    def __init__(self, settings: MermaidSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """The search tools that the executor may call; tools of servers come with the run."""
        return tuple(dict.fromkeys(self.settings.tools))

    def agents(self) -> tuple[str, ...]:
        """Both agents."""
        return (DECOMPOSER, EXECUTOR)

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """What these settings ask of a backend."""
        decomposing: tuple[type[AnyTask], ...] = (DecomposeClaim,) if self.settings.decomposer else ()
        forcing: tuple[type[AnyTask], ...] = (ForceAnswer,) if self.settings.force_answer else ()
        return (*decomposing, NextStep, *forcing)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """An answer at once; after two searches; never, until it is forced."""
        most = self.settings.max_steps
        return (
            self.settings.plan(1, forced=False),
            self.settings.plan(min(3, most), forced=False),
            self.settings.plan(most, forced=self.settings.force_answer),
        )

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Decomposes, recalls, acts until an answer or the last step, and keeps what was found."""
        return await _Verification(self.settings, claim, run).hold()


class _Verification:
    """One claim's verification: D_c (``background``), M_c (``memory``) and H (``steps``)."""

    def __init__(self, settings: MermaidSettings, claim: Claim, run: Run) -> None:
        self.settings, self.claim, self.run = settings, claim, run
        self.decomposer, self.executor = Agent(DECOMPOSER, run), Agent(EXECUTOR, run)
        for name in dict.fromkeys(settings.tools):
            run.actions[name] = SearchAction(run.tools[name], settings.top_k)
        self.background: Decomposition | None = None
        self.memory: tuple[Recalled, ...] = ()
        self.steps: list[PastStep] = []
        self.asked: dict[tuple[str, str], int] = {}
        self.findings: list[Finding] = []
        if settings.memory_lookup and settings.remembering:
            run.actions[LOOKUP] = MemoryLookup(run.memory, claim, run.clock)

    async def hold(self) -> Verdict:
        """Algorithm 1."""
        if self.settings.decomposer:
            self.background = await self.decomposer.perform(
                DecomposeClaim(claim=self.claim, profile=self.settings.profile)
            )
            self.run.emit(Decomposed(agent=DECOMPOSER, **dict(self.background), entities=self.background.entities))
        self.memory = await self._recall()
        verdict = await self._act_until_answered() or await self._force()
        await self._remember()
        return verdict

    async def _act_until_answered(self) -> Verdict | None:
        """Thought, action, observation, at most T_max times; a step that cannot be read is a step, too (``M10``)."""
        tools = tuple(
            ActionTool(name=each.name, about=each.about, parameters=dict(each.parameters))
            for each in self.run.actions.values()
        )
        for number in range(1, self.settings.max_steps + 1):
            task = NextStep(**self._state(), claim=self.claim, tools=tools, step=number, last=self.settings.max_steps)
            try:
                step = await self.executor.perform(task, round_=number)
            except BadReply as error:
                self.steps.append(PastStep(problem=f"That step could not be read: {error.what}"))
                self.run.emit(Stepped(agent=EXECUTOR, round=number, problem=error.what))
                continue
            if step.answer is not None:
                self.run.emit(Stepped(agent=EXECUTOR, round=number, thought=step.thought, answer=step.answer))
                return self._verdict(number, step)
            await self._act(number, step)
            for call in step.unmade:
                self._leave(number, call)
        return None

    async def _act(self, number: int, step: Step) -> None:
        """Calls the tool, unless the same call was made before: then the answer stands in the history already."""
        call = step.action
        assert call is not None
        arguments = self._arguments(call)
        key = call.name, json.dumps(arguments, sort_keys=True)
        first = number if self.settings.repeat_calls else self.asked.setdefault(key, number)
        repeated = f"This call was made in step {first}; its answer stands there." if first != number else ""
        self.run.emit(
            Stepped(
                agent=EXECUTOR,
                round=number,
                thought=step.thought,
                tool=call.name,
                arguments=arguments,
                reason=call.reason,
                problem=repeated,
            )
        )
        if repeated:
            self.steps.append(PastStep(thought=step.thought, action=call, problem=repeated))
            return
        seen = await self.run.act(call.name, arguments, agent=EXECUTOR, round_=number, claim=self.claim)
        self.steps.append(PastStep(thought=step.thought, action=call, passages=seen.passages, problem=seen.why))
        self.findings += _findings(call.name, arguments, seen)

    def _leave(self, number: int, call: ToolCall) -> None:
        """Tells the agent of a call that it gave beside the step's one action."""
        arguments = self._arguments(call)
        self.run.emit(Stepped(agent=EXECUTOR, round=number, tool=call.name, arguments=arguments, problem=NOT_MADE))
        self.steps.append(PastStep(action=call, problem=NOT_MADE))

    def _arguments(self, call: ToolCall) -> dict[str, Any]:
        """What the tool is called with: the object that was given, or a text for its first required parameter (M2)."""
        try:
            given = json.loads(call.input)
        except ValueError:
            given = None
        if isinstance(given, dict):
            return given
        tool = self.run.actions.get(call.name)
        schema = tool.parameters if tool else {}
        names = [*schema.get("required", ()), *schema.get("properties", ()), "query"]
        return {names[0]: call.input}

    async def _force(self) -> Verdict:
        """The answer once the steps are used up (``M9``); without one there is no label (``M11``)."""
        if not self.settings.force_answer:
            return self._verdict(self.settings.max_steps, Step(answer=self.settings.unanswered(self.claim.labels)))
        task = ForceAnswer(**self._state(), claim=self.claim)
        try:
            answer = await self.executor.perform(task, round_=self.settings.max_steps + 1)
        except BadReply as error:
            self.run.emit(Judged(text=error.raw, label=None))
            return self._verdict(self.settings.max_steps, Step())
        self.run.emit(Judged(text=answer.text, label=answer.label))
        step = Step(thought=answer.text, answer=answer.label, quotes=answer.quotes, confidence=answer.confidence)
        return self._verdict(self.settings.max_steps, step, forced=True)

    def _state(self) -> dict[str, Any]:
        return {
            "background": self.background,
            "memory": self.memory,
            "steps": tuple(self.steps),
            "profile": self.settings.profile,
        }

    def _verdict(self, rounds: int, step: Step, *, forced: bool = False) -> Verdict:
        remembered = tuple(item.passage for item in self.memory if item.status == "ok")
        passages = remembered + tuple(passage for step in self.steps for passage in step.passages)
        side = side_of(self.claim.labels, step.answer)
        quotes = [find_quote(text, passages, side=side, agent=EXECUTOR) for text in step.quotes]
        return Verdict(
            claim=self.claim,
            label=step.answer,
            confidence=step.confidence,
            decided_by="forced" if forced else "executor",
            rounds=rounds,
            reason=step.thought,
            quotes=distinct(quotes),
            gaps=gaps(self.run.events),
        )

    @property
    def _entities(self) -> tuple[str, ...]:
        """The memory's keys; without a decomposer there are none (``M24``)."""
        return self.background.entities if self.background else ()

    async def _recall(self) -> tuple[Recalled, ...]:
        """What earlier claims left under this one's entities."""
        if not self.settings.remembering:
            return ()
        return (await self.run.recall(self._entities, agent=EXECUTOR, claim=self.claim)).items

    async def _remember(self) -> None:
        """All that was found, under all of the claim's entities (``M6``)."""
        if self.settings.remembering and self.findings:
            await self.run.remember(self.findings, entities=self._entities, agent=EXECUTOR, claim=self.claim)


def _findings(tool: str, arguments: dict[str, Any], seen: Observation) -> list[Finding]:
    """An observation as the memory takes it: each passage, or a miss; what came from the memory is there already."""
    if tool == LOOKUP or seen.is_error:
        return []
    found = [Finding(passage=each, arguments=arguments) for each in seen.passages]
    query = json.dumps(arguments, sort_keys=True, ensure_ascii=False)
    return found or [Finding(passage=Passage(text="", tool=tool, query=query), arguments=arguments, status="empty")]
