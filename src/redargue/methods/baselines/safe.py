"""SAFE, the search-augmented factuality evaluator: five searches, then one rating.

Wei et al., "Long-form factuality in large language models" (arXiv 2403.18802), and the authors' program
(google-deepmind/long-form-factuality, ``eval/safe``). A response is split into statements elsewhere
(``redargue.responses``); here is what becomes of one. The examples in its first two prompts are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from redargue.claims import Claim, Frozen, Meaning
from redargue.errors import BadReply, UsageError
from redargue.events import Answered, QueryWritten
from redargue.methods.agent import Agent
from redargue.methods.base import Behaviour, Plan, methods, require_sides
from redargue.methods.baselines.finding import find_quotes, search_all
from redargue.methods.verdict_parts import distinct, gaps
from redargue.run import Run
from redargue.tasks.answering import Answer
from redargue.tasks.base import AnyTask, Out, Profile, Task
from redargue.tasks.searching import SearchResult, found_in
from redargue.tasks.supporting import (
    SUPPORT,
    SUPPORTED,
    CheckRelevance,
    MakeSelfContained,
    RateSupport,
    WriteNextQuery,
)
from redargue.verdicts import Verdict

RATER = "rater"
IRRELEVANT = "The statement has nothing to do with what its text is about."


class SafeSettings(Frozen):
    """Settings of ``safe``; the defaults are the paper's for one claim.

    Attributes:
        profile: ``paper`` or ``hardened``.
        tools: where the evidence comes from; the paper has Google's search.
        top_k: results of a search.
        max_steps: searches; none is left out because enough is known.
        revise: whether a claim with a context is made self-contained first.
        relevance: whether a claim with a context is asked for its relevance to it; what is irrelevant has no label.
        not_supported: which of the claim's labels "Not Supported" is: the one for what is false, as where the method is
            compared with others, or the one for what evidence does not settle.
        temperature: of every reply.
    """

    profile: Profile = "hardened"
    tools: tuple[str, ...] = Field(default=("corpus",), min_length=1, max_length=8)
    top_k: int = Field(default=3, ge=1, le=50)
    max_steps: int = Field(default=5, ge=1, le=20)
    revise: bool = True
    relevance: bool = False
    not_supported: Literal["refuted", "not_enough"] = "refuted"
    temperature: float = Field(default=0.1, ge=0, le=2)


@methods.register("safe")
class Safe:
    """Revise, perhaps drop, search five times, rate."""

    name: ClassVar[str] = "safe"
    about: ClassVar[str] = "always five searches, each for what is not known yet, then supported or not (2403.18802)"
    options: ClassVar[type[Frozen]] = SafeSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {"relevance": True}, "hardened": {}}
    paper: ClassVar[str] = "Wei et al., Long-form factuality in large language models, 2024, arXiv 2403.18802"
    graph: ClassVar[str] = "[MakeSelfContained -> CheckRelevance ->] (WriteNextQuery -> search) x5 -> RateSupport"
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="SAFE-1",
            original="every step is tried up to eleven times",
            effect="few statements are left without a rating, at a price that no table shows",
            here="a reply that cannot be read is sent back once",
        ),
        Behaviour(
            id="SAFE-2",
            original="a query that cannot be read ends the search; what was found until then is rated",
            effect="some ratings rest on fewer than five searches",
            here="the same",
        ),
        Behaviour(
            id="SAFE-3",
            original="where the relevance cannot be read the statement is relevant",
            effect="some irrelevant statements are rated",
            here="the same: it is rated, and gets no label by that",
        ),
        Behaviour(
            id="SAFE-4",
            original="a statement that nothing speaks for is 'Not Supported', and counts as false in comparisons",
            effect="true statements without evidence are called false",
            here="likewise; a setting makes it the label for what is not settled",
            setting="not_supported=refuted",
        ),
        Behaviour(
            id="SAFE-5",
            original="a rating that cannot be read is none, and its statement leaves the F1 at K",
            effect="published F1 is over the statements that were rated",
            here="there is no label, and it is counted wrong; the bench prints all three rules for it",
        ),
    )

    def __init__(self, settings: SafeSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """Those of the settings."""
        return tuple(dict.fromkeys(self.settings.tools))

    def agents(self) -> tuple[str, ...]:
        """One."""
        return (RATER,)

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """What these settings ask of a backend."""
        before: list[type[AnyTask]] = [MakeSelfContained] if self.settings.revise else []
        before += [CheckRelevance] if self.settings.relevance else []
        return (*before, WriteNextQuery, RateSupport)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """Without a context, or with one to which it is irrelevant; without one; with one to which it is relevant."""
        before = [task.name() for task in self.tasks()[:-2]]
        usual = self._plan([], self.settings.max_steps)
        least = self._plan(before, 0) if self.settings.relevance else usual
        return least, usual, self._plan(before, self.settings.max_steps)

    def _plan(self, before: list[str], searches: int) -> Plan:
        rated = {"WriteNextQuery": searches, "RateSupport": 1} if searches else {}
        calls = dict.fromkeys(before, 1) | rated
        return Plan(
            calls=calls,
            searches=dict.fromkeys(self.tools(), searches),
            call_depth=sum(calls.values()),
            search_depth=searches,
        )

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Rates the claim.

        Raises:
            UsageError: the label set lacks a label that a rating needs.
        """
        require_sides(claim.labels, "safe")
        if self.settings.not_supported == "not_enough" and claim.labels.named(Meaning.NOT_ENOUGH) is None:
            raise UsageError(
                f"the labels {claim.labels.name!r} have none for what is not settled", hint="not_supported=refuted"
            )
        return await _Rating(self.settings, self.tools(), claim, run).hold()


class _Rating:
    def __init__(self, settings: SafeSettings, tools: tuple[str, ...], claim: Claim, run: Run) -> None:
        self.settings, self.tools, self.claim, self.run = settings, tools, claim, run
        self.rater = Agent(RATER, run)
        self.results: list[SearchResult] = []

    async def hold(self) -> Verdict:
        """From the statement to its rating."""
        statement = await self._self_contained()
        if not await self._relevant(statement):
            return self._verdict(Answer(text=IRRELEVANT, label=None))
        statement = statement.model_copy(update={"labels": SUPPORT})
        await self._search(statement)
        task = RateSupport(claim=statement, results=tuple(self.results), profile=self.settings.profile)
        try:
            answer = await self._ask(task, len(self.results) + 1)
        except BadReply as error:
            answer = Answer(text=error.raw, label=None)
        return self._verdict(answer)

    async def _ask(self, task: Task[Out], round_: int = 0) -> Out:
        return await self.rater.perform(task, round_=round_, temperature=self.settings.temperature)

    async def _self_contained(self) -> Claim:
        """The statement alone; as it stands where there is no text around it, or no other words can be read."""
        if not (self.settings.revise and self.claim.context):
            return self.claim
        try:
            revised = await self._ask(MakeSelfContained(claim=self.claim, profile=self.settings.profile))
        except BadReply:
            return self.claim
        return self.claim.model_copy(update={"text": revised.statement, "context": ""})

    async def _relevant(self, statement: Claim) -> bool:
        if not (self.settings.relevance and self.claim.context):
            return True
        inside = statement.model_copy(update={"context": self.claim.context})
        try:
            judged = await self._ask(CheckRelevance(claim=inside, profile=self.settings.profile))
        except BadReply:
            return True
        return judged.relevant

    async def _search(self, statement: Claim) -> None:
        """As many searches as there are steps, however much is known; a query that cannot be read ends them."""
        for step in range(1, self.settings.max_steps + 1):
            task = WriteNextQuery(claim=statement, results=tuple(self.results), profile=self.settings.profile)
            try:
                query = (await self._ask(task, step)).text
            except BadReply:
                return
            self.run.emit(QueryWritten(agent=RATER, round=step, query=query))
            passages = await search_all(
                self.run, self.tools, query, self.settings.top_k, agent=RATER, round_=step, claim=self.claim
            )
            self.results.append(SearchResult(query=query, passages=passages))

    def _verdict(self, answer: Answer) -> Verdict:
        label = self._label(answer.label)
        passages = found_in(tuple(self.results))
        quotes = find_quotes(answer.quotes, passages, labels=self.claim.labels, label=label, agent=RATER)
        round_ = len(self.results) + 1
        self.run.emit(Answered(agent=RATER, round=round_, text=answer.text, label=label, quotes=quotes))
        return Verdict(
            claim=self.claim,
            label=label,
            decided_by="reader",
            rounds=len(self.results),
            reason=answer.text,
            quotes=distinct(list(quotes)),
            gaps=gaps(self.run.events),
        )

    def _label(self, rating: str | None) -> str | None:
        """The claim's own label for a rating."""
        if rating is None:
            return None
        meaning = Meaning.SUPPORTED if rating == SUPPORTED else Meaning(self.settings.not_supported)
        return self.claim.labels.named(meaning)
