"""FacTool on knowledge-based answers: two sceptical queries, ten pieces of evidence, one verdict with the error named.

Chern et al., "FacTool: Factuality Detection in Generative AI" (arXiv 2307.13528), and the authors' program
(GAIR-NLP/factool). Claims are taken out of an answer elsewhere (``redargue.responses``); here is what becomes of
one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.concurrency import together
from redargue.errors import BadReply
from redargue.events import Answered, QueryWritten
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.methods.base import Behaviour, Plan, methods, require_sides
from redargue.methods.baselines.finding import (
    distinct_texts,
    find_quotes,
    search_all,
    side_label,
)
from redargue.methods.demonstrating import demonstrations
from redargue.methods.verdict_parts import distinct, gaps
from redargue.run import Run
from redargue.tasks.base import AnyTask, Profile
from redargue.tasks.factuality import CheckFactuality, FactualityCheck, WriteScepticalQueries
from redargue.tasks.querying import LONGEST_QUERY
from redargue.verdicts import Verdict

SEARCHER, VERIFIER = "searcher", "verifier"


class FacToolSettings(Frozen):
    """Settings of ``factool``; the defaults are the paper's.

    Attributes:
        profile: ``paper`` or ``hardened``.
        tools: where the evidence comes from; the paper has Google's search.
        queries: a claim.
        top_k: pieces of evidence a query and tool.
        unparsed: what a verdict is that cannot be read: none, or true as in the authors' program.
        temperature: of every reply.
    """

    profile: Profile = "hardened"
    tools: tuple[str, ...] = Field(default=("corpus",), min_length=1, max_length=8)
    queries: int = Field(default=2, ge=1, le=4)
    top_k: int = Field(default=5, ge=1, le=50)
    unparsed: Literal["none", "true"] = "none"
    temperature: float = Field(default=0.0, ge=0, le=2)


@methods.register("factool")
class FacTool:
    """Query, search, verify."""

    name: ClassVar[str] = "factool"
    about: ClassVar[str] = "two sceptical queries, ten pieces of evidence, a verdict that names the error (2307.13528)"
    options: ClassVar[type[Frozen]] = FacToolSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},
        "authors": {"profile": "paper", "unparsed": "true"},
        "hardened": {},
    }
    paper: ClassVar[str] = "Chern et al., FacTool: Factuality Detection in Generative AI, 2023, arXiv 2307.13528"
    graph: ClassVar[str] = "WriteScepticalQueries -> search | search -> CheckFactuality"
    demonstrations: ClassVar[bool] = True
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="FACTOOL-1",
            original="a verdict that cannot be read is none, and none counts as true in its response",
            effect="responses with unreadable verdicts are called factual",
            here="the claim has no label, and its response is not called; the profile 'authors' says true",
            setting="unparsed=true",
        ),
        Behaviour(
            id="FACTOOL-2",
            original="where Google shows an answer box it is the only evidence of its query",
            effect="evidence of some claims is one short text",
            here="what stands in the box is read beside the other results: passages do not say that they were in one",
        ),
        Behaviour(
            id="FACTOOL-3",
            original="replies are evaluated as Python literals, after true and false are capitalised everywhere",
            effect="a correction that holds the word true is changed, and some replies cannot be read",
            here="replies are read as JSON and nothing is evaluated",
        ),
    )

    def __init__(self, settings: FacToolSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """Those of the settings."""
        return tuple(dict.fromkeys(self.settings.tools))

    def agents(self) -> tuple[str, ...]:
        """Who searches and who verifies."""
        return (SEARCHER, VERIFIER)

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """Queries and a verdict."""
        return (WriteScepticalQueries, CheckFactuality)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """One query; as many as are wanted; the same."""
        most = self._plan(self.settings.queries)
        return self._plan(1), most, most

    def _plan(self, queries: int) -> Plan:
        return Plan(
            calls={"WriteScepticalQueries": 1, "CheckFactuality": 1},
            searches=dict.fromkeys(self.tools(), queries),
            asked_by={"WriteScepticalQueries": (SEARCHER,), "CheckFactuality": (VERIFIER,)},
            call_depth=2,
            search_depth=1,
        )

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Verifies the claim.

        Raises:
            UsageError: the label set does not say what is true and what is not.
        """
        require_sides(claim.labels, "factool")
        passages = await self._search(claim, run)
        task = CheckFactuality(claim=claim, passages=passages, profile=self.settings.profile)
        try:
            check = await Agent(VERIFIER, run).perform(task, round_=1, temperature=self.settings.temperature)
        except BadReply as error:
            factual = True if self.settings.unparsed == "true" else None
            return told(claim, run, passages, factual, FactualityCheck(reasoning=error.raw, factuality=False))
        return told(claim, run, passages, check.factuality, check)

    async def _search(self, claim: Claim, run: Run) -> tuple[Passage, ...]:
        """All queries with all tools at once; the claim itself where no queries can be read."""
        task = WriteScepticalQueries(
            claim=claim,
            count=self.settings.queries,
            demonstrations=demonstrations("factool"),
            profile=self.settings.profile,
        )
        try:
            written = await Agent(SEARCHER, run).perform(task, round_=1, temperature=self.settings.temperature)
            queries = written.queries
        except BadReply:
            queries = (claim.text[:LONGEST_QUERY],)
        for query in queries:
            run.emit(QueryWritten(agent=SEARCHER, round=1, query=query))
        found = await together(
            search_all(run, self.tools(), query, self.settings.top_k, agent=SEARCHER, round_=1, claim=claim)
            for query in queries
        )
        return distinct_texts(passage for each in found for passage in each)


def told(
    claim: Claim,
    run: Run,
    passages: tuple[Passage, ...],
    factual: bool | None,
    check: FactualityCheck,
) -> Verdict:
    """The verdict of a check, with what it says is wrong.

    Args:
        claim: what was checked.
        run: of the claim.
        passages: in which quotations are looked for.
        factual: what the check comes to; None for no label.
        check: its words.
    """
    label = None if factual is None else side_label(claim.labels, factual)
    said = {"Error": check.error, "Correction": check.correction}
    extra = (f"{name}: {text}" for name, text in said.items() if text and text.strip(" .").lower() != "none")
    reason = "\n".join([check.reasoning, *extra])
    quotes = find_quotes(check.quotes, passages, labels=claim.labels, label=label, agent=VERIFIER)
    run.emit(Answered(agent=VERIFIER, round=1, text=reason, label=label, quotes=quotes))
    return Verdict(
        claim=claim,
        label=label,
        decided_by="reader",
        rounds=1,
        reason=reason,
        quotes=distinct(list(quotes)),
        gaps=gaps(run.events),
    )
