"""Markov-chain debate: states of three agents; each state's judgement decides which state follows.

Sun et al., "Towards Detecting LLMs Hallucination via Markov Chain-based Multi-agent Debate Framework" (arXiv
2406.03075). State 0 is one agent; state 1 asks Trust, Skeptic, Leader; state 2 Skeptic, Trust, Leader. The leader's
opinion is the state's.
"""

from __future__ import annotations

from redargue.claims import Claim, Meaning
from redargue.events import Answered
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.methods.base import Layout, Method, Roles
from redargue.methods.baselines.sceptical_queries import WriteScepticalQueries
from redargue.methods.few_shot import read_examples
from redargue.methods.gathering import gather_documents
from redargue.methods.markov_debate.settings import MARKOV_DEBATE_PROFILES, MARKOV_QUERIES, MarkovDebateSettings
from redargue.methods.markov_debate.tasks import GiveOpinion, HeardOpinion, Opinion, Role
from redargue.verdicts import Verdict

_SEARCHER = "searcher"


class MarkovDebate(Method, name="markov-debate", settings=MarkovDebateSettings):
    """Trust, skeptic and leader in an order that the last judgement decides (2406.03075)."""

    paper = "Sun et al., Markov chain-based multi-agent debate, 2024, arXiv 2406.03075"
    graph = "queries -> searches -> opinion -> each state: first -> second -> leader"
    profiles = MARKOV_DEBATE_PROFILES
    asks = (WriteScepticalQueries, GiveOpinion)
    few_shot = True

    settings: MarkovDebateSettings

    @classmethod
    def layout(cls, settings: MarkovDebateSettings) -> Layout:
        return super().layout(settings)._replace(chained=True)

    async def check(self, claim: Claim, searcher: Agent) -> Verdict:
        self.two_sides()
        self.evidence = await self.gather_evidence(searcher)
        last = await self.ask("judge", 0)
        round_ = 0
        while round_ < (self.settings.max_rounds if self.settings.min_rounds else 0):
            round_ += 1
            first, second, leader = self.settings.state(last.opinion.factuality)
            opening = await self.ask(first, round_, last)
            answer = await self.ask(second, round_, opening)
            last = await self.ask(leader, round_, opening, answer)
            agreed = len({heard.opinion.factuality for heard in (opening, answer, last)}) == 1
            if agreed and round_ >= self.settings.min_rounds:
                break
        opinion = last.opinion
        return self.verdict(self.label(opinion), reason=opinion.opinion, decided_by="leader", rounds=round_)

    async def gather_evidence(self, searcher: Agent) -> tuple[Passage, ...]:
        queries = await self.write_queries(searcher)
        return await gather_documents(self, searcher, queries, self.settings.snippets, MARKOV_QUERIES)

    async def write_queries(self, searcher: Agent) -> tuple[str, ...]:
        """FacTool's two sceptical queries, as in Sun et al."""
        profile = self.settings.profile
        examples = read_examples("redargue.methods.baselines.sceptical_queries") if profile == "paper" else ""
        task = WriteScepticalQueries(claim=self.claim, count=MARKOV_QUERIES, demonstrations=examples, profile=profile)
        return (await searcher.perform(task)).queries

    async def ask(self, part: Role, round_: int, *others: HeardOpinion) -> HeardOpinion:
        task = GiveOpinion(
            claim=self.claim, part=part, passages=self.evidence, others=others, profile=self.settings.profile
        )
        opinion = await self.agents[part].perform(task, round_=round_)
        quotes = self.cite(opinion.quotes, label=self.stated(opinion), agent=part, passages=self.evidence)
        label = self.label(opinion)
        self.run.emit(Answered(agent=part, round=round_, text=opinion.opinion, label=label, quotes=quotes))
        return HeardOpinion(author=part, opinion=opinion)

    def stated(self, opinion: Opinion) -> str:
        factual, not_factual = self.two_sides()
        return factual if opinion.factuality else not_factual

    def label(self, opinion: Opinion) -> str:
        """The opinion's label; not enough evidence if ``unproven`` says so and no quotation is found (``D21``)."""
        proven = self.has_evidence(opinion.quotes, self.evidence)
        undecided = self.claim.labels.named(Meaning.NOT_ENOUGH) if self.settings.unproven == "not-enough" else None
        return self.stated(opinion) if proven else undecided or self.stated(opinion)

    @classmethod
    def roles_for(cls, settings: MarkovDebateSettings) -> Roles:
        return {_SEARCHER: settings.tools, "judge": None, "trust": None, "skeptic": None, "leader": None}
