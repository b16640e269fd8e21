"""MERMAID: a decomposer, an executor that thinks and acts in steps, and an evidence memory across claims.

Cao et al., "MERMAID", Algorithm 1. ``M1`` … ``M24`` resolve what the paper leaves open; they are listed in
``docs/mermaid.md``. Deviations of the released program have one setting each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Literal

from pydantic import Field

from redargue.claims import Claim, Meaning
from redargue.errors import BadReply
from redargue.events import Decomposed, Judged, Stepped
from redargue.evidence import Passage, Recalled
from redargue.memory import Finding, MemorySettings
from redargue.memory.memory import LOOKUP, MemoryLookup
from redargue.methods.base import Method, MethodSettings, Roles
from redargue.methods.mermaid.tasks import DecomposeClaim, ForceAnswer, NextStep
from redargue.methods.setting_types import FallbackLabel, Word
from redargue.methods.verdict_parts import sent_back
from redargue.nli.grammar import decompose, finite_verbs
from redargue.nli.language import language_of
from redargue.retrieval.corpus.documents import sentence_spans
from redargue.retrieval.tools import Observation, SearchAction
from redargue.tasks.base import AnyTask
from redargue.tasks.extract import Decomposition
from redargue.tasks.step import ActionTool, PastStep, Step, ToolCall, label_words
from redargue.verdicts import Verdict

DECOMPOSER, EXECUTOR = "decomposer", "executor"


class MermaidSettings(MethodSettings):
    """Settings of ``mermaid``; the defaults are the paper's, the ablations are fields.

    Attributes:
        decomposer: off: the claim goes to the executor as it is, and no entity recalls anything (Table 3, ``M24``).
        simple_claims: a claim with one relation is decomposed by a model like any other, or by grammar alone: then no
            prompt repeats it as a triplet, and a step needs no reason beside its thought.
        tools: search tools that the executor may call, besides those of MCP servers; with none it has only the memory
            (proxy memory).
        top_k: passages per search.
        repeat_calls: whether a call that was answered may be made again, as in Algorithm 1; one that failed always may.
        max_steps: T_max, steps before the answer is forced (``M9``).
        force_answer: whether an answer is asked for after the last step; the released program does not.
        memory: off (Table 3), on, or frozen: read and never written to (proxy memory); on where one of the following
            settings is given.
        memory_lookup: whether the executor may also look up entities in the memory as a tool (``M21``).
        recall_by: evidence under the same entities (the paper's), near in meaning to the claim, or either.
        recall_items: most pieces of evidence recalled (``M7``).
        recall_characters: most characters per piece.
        keep_misses: whether searches without a result are stored and recalled (``M3``).
        guard: whether evidence found for a near-duplicate of the claim is withheld; for benchmarks.
        non_answer: the label of a missing answer: none, or "True", as in the released program.
    """

    decomposer: bool = True
    simple_claims: Literal["decomposed", "whole"] = "decomposed"
    tools: tuple[Word, ...] = ("corpus", "keywords")
    top_k: int = Field(default=3, ge=1, le=50)
    repeat_calls: bool = False
    max_steps: int = Field(default=5, ge=1, le=50)
    force_answer: bool = True
    memory: Literal["off", "on", "frozen"] = "on"
    memory_lookup: bool = False
    recall_by: Literal["entity", "meaning", "both", "substring"] = "both"
    recall_items: int = Field(default=5, ge=1, le=100)
    recall_characters: int = Field(default=2000, ge=1)
    keep_misses: bool = False
    guard: bool = False
    non_answer: FallbackLabel = "none"

    @property
    def remembering(self) -> MemorySettings | None:
        if self.memory == "off":
            return None
        return MemorySettings(
            mode=self.memory,
            by=self.recall_by,
            limit=self.recall_items,
            characters=self.recall_characters,
            keep_misses=self.keep_misses,
            guard=self.guard,
        )


_OF_MEMORY = frozenset("memory_lookup recall_by recall_items recall_characters keep_misses guard".split())
_NO_TEXT = ("integer", "number", "boolean", "array")  # types of parameters in JSON schemas
NOT_MADE = "This call was not made: a step makes one call. Make it in a step of its own if it is still needed."


class Mermaid(Method, name="mermaid", settings=MermaidSettings):
    """A decomposer, a step-by-step executor over tools, an evidence memory across claims.

    Attributes:
        background: D_c of Algorithm 1; None without a decomposer.
        one_relation: D_c of a claim with one relation, which grammar finds; None for any other.
        memory: M_c, evidence from earlier claims with the same entities.
        steps: H.
        answered_in: the step in which each call was first answered; a failed call was not.
        findings: ΔM.
    """

    paper = "Cao et al., MERMAID, 2026"
    graph = "decompose -> recall -> (step -> tool) xN -> step that answers; steps used up: -> forced answer"
    profiles = {
        "paper": {"profile": "paper", "recall_by": "entity", "repeat_calls": True},
        # of unrelated claims, recalled evidence misleads (docs/memory.md)
        "hardened": {"simple_claims": "whole", "memory": "off"},
        # the released program where it differs from the paper
        "authors": {
            "profile": "paper",
            "recall_by": "substring",
            "recall_items": 3,
            "recall_characters": 2000,
            "force_answer": False,
            "non_answer": "true",
            "repeat_calls": True,
        },
    }
    calls_actions = True

    settings: MermaidSettings

    async def check(self, claim: Claim) -> Verdict:
        """Algorithm 1: decompose; recall; think and act until an answer or the last step; update the memory."""
        self.steps: list[PastStep] = []
        self.answered_in: dict[tuple[str, str], int] = {}
        self.findings: list[Finding] = []
        self.one_relation: Decomposition | None = None
        self.background = await self.decompose()
        self.memory = await self.recall()
        tools = self.offer_tools()
        for number in range(1, self.settings.max_steps + 1):
            step = await self.next_step(number, tools)
            if step is None:
                continue
            if step.answer is not None:
                if self.is_sent_back(number, step):
                    continue
                self.report(number, thought=step.thought, answer=step.answer)
                verdict = self.conclude(number, step)
                break
            await self.act(number, step)
        else:
            verdict = await self.force_answer()
        await self.remember()
        return verdict

    async def decompose(self) -> Decomposition | None:
        """The claim's triplets, topics and entities; None where the decomposer is ablated (Table 3, ``M24``)."""
        if not self.settings.decomposer:
            return None
        self.one_relation = one_relation(self.claim.text) if self.settings.simple_claims == "whole" else None
        background = self.one_relation or await self.ask(self.agents[DECOMPOSER], DecomposeClaim)
        self.run.emit(Decomposed(agent=DECOMPOSER, **dict(background), entities=background.entities))
        return background

    async def recall(self) -> tuple[Recalled, ...]:
        if not self.settings.remembering:
            return ()
        return (await self.run.recall(self.entities, agent=EXECUTOR, claim=self.claim)).items

    async def remember(self) -> None:
        if self.settings.remembering and self.findings:
            await self.run.remember(self.findings, entities=self.entities, agent=EXECUTOR, claim=self.claim)

    @property
    def entities(self) -> tuple[str, ...]:
        """E_c, the memory's keys; empty without a decomposer (``M24``)."""
        return self.background.entities if self.background else ()

    def offer_tools(self) -> tuple[ActionTool, ...]:
        for name in self.agents[EXECUTOR].tools:
            self.run.actions[name] = SearchAction(self.run.tools[name], self.settings.top_k)
        if self.settings.memory_lookup and self.settings.remembering:
            self.run.actions[LOOKUP] = MemoryLookup(self.run.memory, self.claim, self.run.clock)
        return tuple(
            ActionTool(
                name=action.name,
                about=action.about,
                parameters=dict(action.parameters),
                built_in=isinstance(action, SearchAction | MemoryLookup),
            )
            for action in self.run.actions.values()
        )

    async def next_step(self, number: int, tools: tuple[ActionTool, ...]) -> Step | None:
        """A thought with an action or an answer; None where it cannot be read, which uses up a step (``M10``).

        The last step of the hardened profile offers no tools where there is something to answer from.
        """
        last = number == self.settings.max_steps
        if last and self.settings.profile == "hardened" and self.read_so_far():
            tools = ()
        here = {"tools": tools, "step": number, "last": self.settings.max_steps}
        try:
            return await self.ask(self.agents[EXECUTOR], NextStep, round_=number, **here, **self.state())
        except BadReply as error:
            self.steps.append(PastStep(problem=f"That step could not be read: {error.what}"))
            self.report(number, problem=error.what)
            return None

    def is_sent_back(self, number: int, step: Step) -> bool:
        """Whether steps are left for an answer without a quotation or a search (hardened); it uses up its step."""
        passages = self.read_so_far()
        can_search = bool(self.run.actions)
        if number == self.settings.max_steps or not (can_search or passages):
            return False
        why = self.why_not_yet(step.answer, step.quotes, passages) or self.why_unsearched(passages)
        if why:
            words = {label: word for word, label in label_words(self.claim.labels).items()}
            word = words.get(str(step.answer), str(step.answer))
            note = sent_back(word, why, can_search=can_search, has_read=bool(passages))
            self.report(number, thought=step.thought, problem=note)
            self.steps.append(PastStep(thought=step.thought, note=note))
        return bool(why)

    async def act(self, number: int, step: Step) -> None:
        """Makes the step's call, unless its answer is in the history already."""
        call = step.action
        assert call is not None
        arguments = self.arguments(call)
        key = call.name, json.dumps(arguments, sort_keys=True)
        earlier = None if self.settings.repeat_calls else self.answered_in.get(key)
        problem = f"This call was made in step {earlier}; its answer is there." if earlier else ""
        taken = {"tool": call.name, "arguments": arguments, "reason": call.reason}
        self.report(number, thought=step.thought, **taken, problem=problem)
        observed = Observation(why=problem)
        if not problem:
            observed = await self.run.act(call.name, arguments, agent=EXECUTOR, round_=number, claim=self.claim)
            self.findings += _findings(call.name, arguments, observed)
        if not observed.is_error:
            self.answered_in.setdefault(key, number)
        outcome = {"note": problem} if problem else {"problem": observed.why}
        self.steps.append(PastStep(thought=step.thought, action=call, passages=observed.passages, **outcome))
        for further in step.unmade:
            self.report(number, tool=further.name, arguments=self.arguments(further), problem=NOT_MADE)
            self.steps.append(PastStep(action=further, note=NOT_MADE))

    def report(self, number: int, **step: Any) -> None:
        self.run.emit(Stepped(agent=EXECUTOR, round=number, **step))

    def arguments(self, call: ToolCall) -> dict[str, object]:
        """The agent's JSON object, or its text as the tool's first required parameter (``M2``).

        The text is read as JSON where that parameter is not a text but, say, a number; a tool without parameters gets
        none.
        """
        written = call.read_input
        if isinstance(written, dict):
            return written
        tool = self.run.actions.get(call.name)
        schema: Mapping[str, Any] = tool.parameters if tool else {"required": ["query"]}
        properties = schema.get("properties", {})
        first = next(iter((*schema.get("required", ()), *properties)), None)
        if first is None:
            return {}
        described = properties.get(first)
        kind = described.get("type") if isinstance(described, Mapping) else None
        return {str(first): written if kind in _NO_TEXT else call.input}

    async def force_answer(self) -> Verdict:
        unanswered = self.claim.labels.named(Meaning.SUPPORTED) if self.settings.non_answer == "true" else None
        missing, last = Step(answer=unanswered), self.settings.max_steps
        if not self.settings.force_answer:
            return self.conclude(last, missing)
        try:
            answer = await self.ask(self.agents[EXECUTOR], ForceAnswer, round_=last + 1, **self.state())
        except BadReply as error:
            self.run.emit(Judged(text=error.raw, label=unanswered))
            return self.conclude(last, missing, decided_by="forced")
        self.run.emit(Judged(text=answer.text, label=answer.label, **answer.noted))
        given = {"quotes": answer.quotes, "confidence": answer.confidence, **answer.noted}
        step = Step(thought=answer.text, answer=answer.label, **given)
        return self.conclude(last, step, decided_by="forced")

    def state(self) -> dict[str, object]:
        history = {"background": self.background, "memory": self.memory, "steps": tuple(self.steps)}
        return history | {"simple": self.one_relation is not None}

    def read_so_far(self) -> list[Passage]:
        """The recalled and the observed passages."""
        recalled = [item.passage for item in self.memory if item.status == "ok"]
        return [*recalled, *(passage for past in self.steps for passage in past.passages)]

    def conclude(self, steps: int, step: Step, *, decided_by: str = "executor") -> Verdict:
        """The verdict of an answer, whose quotations are looked up in the recalled and observed passages."""
        self.cite(step.quotes, label=step.answer, agent=EXECUTOR, passages=self.read_so_far())
        return self.verdict(
            step.answer,
            reason=step.thought,
            confidence=step.confidence,
            decided_by=decided_by,
            rounds=steps,
            noted=step,
        )

    @classmethod
    def defaults_for(cls, backend: str, given: Collection[str]) -> Mapping[str, Any]:
        """A memory where one of its settings is given, also in a profile that has none."""
        return {"memory": "on"} if "memory" not in given and not _OF_MEMORY.isdisjoint(given) else {}

    @classmethod
    def roles_for(cls, settings: MermaidSettings) -> Roles:
        return {DECOMPOSER: None, EXECUTOR: settings.tools}

    @classmethod
    def asks_for(cls, settings: MermaidSettings) -> tuple[type[AnyTask], ...]:
        decomposing: tuple[type[AnyTask], ...] = (DecomposeClaim,) if settings.decomposer else ()
        return (*decomposing, NextStep, ForceAnswer) if settings.force_answer else (*decomposing, NextStep)


def one_relation(claim: str) -> Decomposition | None:
    """The decomposition of an English claim with one relation between two entities; None for any other claim.

    A third entity is another relation: in a list, a comparison, a second statement, or a description ("the director of
    Jaws", "the city where she lives"), which is a relation of its own.
    """
    if language_of(claim) or len(list(sentence_spans(claim))) > 1 or _FURTHER.search(claim):
        return None
    found = decompose(claim)
    (first, *further) = found.triplets
    subject, object_ = first.subject, first.object
    described = _DESCRIPTION.search(subject) or len(_DESCRIPTION.findall(object_)) > 1 or any(finite_verbs(object_))
    two = subject and object_ and ", " not in subject and not described
    return found if two and not first.attributes and not further else None


_FURTHER = re.compile(
    r";|[’']s\s|,\s+not\b|\b(?:and|or|nor|both|but|who|whom|whose|which|that|where|when|while|than)\b"
)
_DESCRIPTION = re.compile(r"\b[a-z][\w-]* of\b")  # "the director of Jaws", not "the Bank of England"


def _findings(tool: str, arguments: dict[str, object], observed: Observation) -> list[Finding]:
    if tool == LOOKUP or observed.is_error:
        return []
    miss = Passage(text="", tool=tool, query=json.dumps(arguments, sort_keys=True, ensure_ascii=False))
    status: Any = "ok" if observed.passages else "empty"
    return [Finding(passage=each, arguments=arguments, status=status) for each in observed.passages or (miss,)]
