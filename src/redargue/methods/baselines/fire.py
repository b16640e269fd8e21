"""FIRE: an agent that answers as soon as it is sure, and searches until then.

Xie et al., "FIRE: Fact-checking with Iterative Retrieval and Verification" (arXiv 2411.00784), and the authors' program
(mbzuai-nlp/fire).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from redargue.backends.base import Output
from redargue.claims import Claim, Frozen
from redargue.concurrency import together
from redargue.errors import BadReply
from redargue.events import Answered, QueryWritten
from redargue.methods.agent import Agent
from redargue.methods.base import Behaviour, Plan, methods, require_sides
from redargue.methods.baselines.finding import find_quotes, search_all, side_label
from redargue.methods.verdict_parts import distinct, gaps
from redargue.run import Run
from redargue.tasks.base import AnyTask, Profile
from redargue.tasks.scoring import CompareTexts
from redargue.tasks.searching import FinalAnswer, GiveFinalAnswer, Move, SearchOrAnswer, SearchResult, found_in
from redargue.verdicts import Verdict

CHECKER, COMPARER = "checker", "comparer"


class FireSettings(Frozen):
    """Settings of ``fire``; the defaults are the paper's.

    Attributes:
        profile: ``paper`` or ``hardened``.
        tools: where the evidence comes from; the paper has Google's search.
        top_k: results of a search.
        max_steps: searches at most.
        tolerance: how many queries, or results, of which all but the newest are like the newest, end the search.
        similarity: the cosine above which two texts are alike.
        diverse_prompt: whether the agent is told, after two searches, that its next query has to differ.
        temperature: of every reply.
    """

    profile: Profile = "hardened"
    tools: tuple[str, ...] = Field(default=("corpus",), min_length=1, max_length=8)
    top_k: int = Field(default=3, ge=1, le=50)
    max_steps: int = Field(default=5, ge=1, le=20)
    tolerance: int = Field(default=2, ge=2, le=20)
    similarity: float = Field(default=0.9, ge=-1, le=1)
    diverse_prompt: bool = False
    temperature: float = Field(default=0.5, ge=0, le=2)


@methods.register("fire")
class Fire:
    """Answer or search, step by step, until an answer, the last step, or a search that only repeats itself."""

    name: ClassVar[str] = "fire"
    about: ClassVar[str] = (
        "answers when it is sure, else writes the next query; repetition ends the search (2411.00784)"
    )
    options: ClassVar[type[Frozen]] = FireSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {}, "hardened": {}}
    paper: ClassVar[str] = "Xie et al., FIRE: Fact-checking with Iterative Retrieval and Verification, 2024, 2411.00784"
    graph: ClassVar[str] = "(SearchOrAnswer -> CompareTexts | CompareTexts -> search) x5 -> GiveFinalAnswer"
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="FIRE-1",
            original="a claim without an answer that can be read is left out of precision, recall and F1",
            effect="published F1 is over the claims that were answered",
            here="such a claim has no label and is counted wrong; the bench prints all three rules for it",
        ),
        Behaviour(
            id="FIRE-2",
            original="the value of a step's final_answer is taken as it is, whatever it says",
            effect="an answer like 'Probably' is neither true nor false and leaves the metric",
            here="anything but True and False is sent back once, and then ends the search",
        ),
        Behaviour(
            id="FIRE-3",
            original="a reply that cannot be read is asked for up to eleven times",
            effect="few claims are left without an answer, at a price that no table shows",
            here="it is sent back once, with what is wrong with it",
        ),
    )

    def __init__(self, settings: FireSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """Those of the settings."""
        return tuple(dict.fromkeys(self.settings.tools))

    def agents(self) -> tuple[str, ...]:
        """Who checks, and who compares texts."""
        return (CHECKER, COMPARER)

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """Steps, comparisons, the answer at the end."""
        return (SearchOrAnswer, CompareTexts, GiveFinalAnswer)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """An answer at once; after two searches; none before it is forced."""
        most = self.settings.max_steps
        return self._plan(0, forced=False), self._plan(min(2, most), forced=most < 3), self._plan(most, forced=True)

    def _plan(self, searches: int, *, forced: bool) -> Plan:
        steps = searches + (not forced)
        queries = max(0, searches - (self.settings.tolerance - 1))  # steps with enough queries before them
        results = max(0, searches - self.settings.tolerance)
        return Plan(
            calls={"SearchOrAnswer": steps, "CompareTexts": queries + results, "GiveFinalAnswer": int(forced)},
            searches=dict.fromkeys(self.tools(), searches),
            asked_by={"SearchOrAnswer": (CHECKER,), "GiveFinalAnswer": (CHECKER,), "CompareTexts": (COMPARER,)},
            call_depth=steps + int(forced),
            search_depth=searches,
        )

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Steps, then an answer.

        Raises:
            UsageError: the label set does not say what is true and what is not.
        """
        require_sides(claim.labels, "fire")
        return await _Check(self.settings, self.tools(), claim, run).hold()


class _Check:
    def __init__(self, settings: FireSettings, tools: tuple[str, ...], claim: Claim, run: Run) -> None:
        self.settings, self.tools, self.claim, self.run = settings, tools, claim, run
        self.checker, self.comparer = Agent(CHECKER, run), Agent(COMPARER, run)
        self.results: list[SearchResult] = []
        self.steps = 0

    async def hold(self) -> Verdict:
        """At most ``max_steps`` moves; what ends them without an answer leads to one that has to be given."""
        while self.steps < self.settings.max_steps:
            self.steps += 1
            try:
                output = await self._move()
            except BadReply:
                break
            move = output.answer
            if move.final_answer:
                return self._verdict(output, move.final_answer == "True", forced=False)
            self.run.emit(QueryWritten(agent=CHECKER, round=self.steps, query=move.search_query))
            if await self._repeats(move.search_query):
                break
            await self._search(move.search_query)
        return await self._conclude()

    async def _move(self) -> Output[Move]:
        repeated = len(self.results) >= 2 and self.settings.diverse_prompt
        task = SearchOrAnswer(
            claim=self.claim, results=tuple(self.results), diverse=repeated, profile=self.settings.profile
        )
        outputs = await self.checker.ask(task, round_=self.steps, temperature=self.settings.temperature)
        return outputs[0]

    async def _search(self, query: str) -> None:
        passages = await search_all(
            self.run,
            self.tools,
            query,
            self.settings.top_k,
            agent=CHECKER,
            round_=self.steps,
            claim=self.claim,
        )
        self.results.append(SearchResult(query=query, passages=passages))

    async def _repeats(self, query: str) -> bool:
        """Whether the new query is like the last ones, or the last result like those before it."""
        near = self.settings.tolerance - 1
        pairs: list[tuple[str, Sequence[str]]] = []
        if len(self.results) >= near:
            pairs.append((query, [each.query for each in self.results[-near:]]))
        if len(self.results) >= self.settings.tolerance:
            pairs.append((self.results[-1].text, [each.text for each in self.results[-near - 1 : -1]]))
        return any(await together(self._alike(new, before) for new, before in pairs))

    async def _alike(self, new: str, before: Sequence[str]) -> bool:
        task = CompareTexts(reference=new, texts=tuple(before), profile=self.settings.profile)
        similarities = await self.comparer.perform(task, round_=self.steps)
        return all(each > self.settings.similarity for each in similarities.values)

    async def _conclude(self) -> Verdict:
        """The answer that has to be given; without one that can be read there is no label."""
        task = GiveFinalAnswer(claim=self.claim, results=tuple(self.results), profile=self.settings.profile)
        try:
            outputs = await self.checker.ask(task, round_=self.steps + 1, temperature=self.settings.temperature)
        except BadReply as error:
            return self._verdict(error, None, forced=True)
        return self._verdict(outputs[0], outputs[0].answer.final_answer == "True", forced=True)

    def _verdict(
        self, said: Output[Move] | Output[FinalAnswer] | BadReply, factual: bool | None, *, forced: bool
    ) -> Verdict:
        label = None if factual is None else side_label(self.claim.labels, factual)
        reason = said.raw if isinstance(said, BadReply) else said.answer.reasoning or said.text
        texts = () if isinstance(said, BadReply) else said.answer.quotes
        quotes = find_quotes(texts, found_in(tuple(self.results)), labels=self.claim.labels, label=label, agent=CHECKER)
        self.run.emit(Answered(agent=CHECKER, round=self.steps + forced, text=reason, label=label, quotes=quotes))
        return Verdict(
            claim=self.claim,
            label=label,
            decided_by="forced" if forced else "executor",
            rounds=self.steps,
            reason=reason,
            quotes=distinct(list(quotes)),
            gaps=gaps(self.run.events),
        )
