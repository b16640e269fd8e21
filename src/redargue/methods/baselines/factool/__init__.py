"""FacTool for knowledge-based answers: two sceptical queries, ten pieces of evidence, a verdict that names the error.

Chern et al., "FacTool: Factuality Detection in Generative AI" (arXiv 2307.13528), and the authors' program
(GAIR-NLP/factool). ``redargue.text`` extracts the claims of an answer; this method checks one claim.
"""

from __future__ import annotations

from itertools import chain

from pydantic import Field

from redargue.claims import Claim
from redargue.concurrency import gather_or_cancel
from redargue.events import QueryWritten
from redargue.evidence import Passage, distinct_passages
from redargue.methods.agent import Agent
from redargue.methods.base import FROM_SETTINGS, SearchSettings
from redargue.methods.baselines.factuality import VERIFIER, CheckFactuality, FactualityMethod
from redargue.methods.baselines.sceptical_queries import WriteScepticalQueries
from redargue.methods.setting_types import FallbackLabel
from redargue.tasks.query import LONGEST_QUERY
from redargue.tasks.template import read_examples
from redargue.verdicts import Verdict

_SEARCHER = "searcher"


class FacToolSettings(SearchSettings):
    """Settings of ``factool``; the defaults are the paper's, which uses Google's search."""

    queries: int = Field(default=2, ge=1, le=4)  # per claim
    top_k: int = Field(default=5, ge=1, le=50)  # pieces of evidence per query and tool
    # the verdict if a reply cannot be read: no label, or true, as in the authors' program
    unparsed: FallbackLabel = "none"
    temperature: float = Field(default=0.0, ge=0, le=2)


class FacTool(FactualityMethod, name="factool", settings=FacToolSettings):
    """Two sceptical queries, ten pieces of evidence, a verdict that names the error (2307.13528)."""

    profiles = {"paper": {}, "authors": {"profile": "paper", "unparsed": "true"}, "hardened": {}}
    paper = "Chern et al., FacTool: Factuality Detection in Generative AI, 2023, arXiv 2307.13528"
    graph = "WriteScepticalQueries -> search | search -> CheckFactuality"
    roles = {_SEARCHER: FROM_SETTINGS, VERIFIER: None}
    asks = (WriteScepticalQueries, CheckFactuality)
    few_shot = True

    settings: FacToolSettings

    async def check(self, claim: Claim, searcher: Agent, verifier: Agent) -> Verdict:
        self.two_sides()
        queries = await self.write_queries(searcher)
        for query in queries:
            self.run.emit(QueryWritten(agent=_SEARCHER, round=1, query=query))
        results = await gather_or_cancel(searcher.search(query, self.settings.top_k, round_=1) for query in queries)
        passages = distinct_passages(chain.from_iterable(results))
        return self.conclude(await self.rate(verifier, passages), passages)

    async def write_queries(self, searcher: Agent) -> tuple[str, ...]:
        """Returns sceptical queries, or the claim itself if they cannot be read."""
        examples = read_examples("redargue.methods.baselines.sceptical_queries")
        fields = {"count": self.settings.queries, "demonstrations": examples}
        written = await self.try_to_ask(searcher, WriteScepticalQueries, round_=1, **fields)
        return written.queries if written else (self.claim.text[:LONGEST_QUERY],)

    async def label_unread(self, verifier: Agent, passages: tuple[Passage, ...]) -> str | None:
        return self.side_label(supported=True) if self.settings.unparsed == "true" else None
