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
from redargue.methods.base import CostPlan, CostRange, Method, Roles
from redargue.methods.dual_position.prompts import WriteTeamQueries
from redargue.methods.markov_debate.prompts import GiveOpinion, Opinion, Part
from redargue.methods.markov_debate.settings import PROFILES, MarkovDebateSettings
from redargue.quotes import find_quote
from redargue.verdicts import Verdict

SEARCHER = "searcher"


class MarkovDebate(Method, name="markov-debate", settings=MarkovDebateSettings):
    """Trust, skeptic and leader in an order that the last judgement decides (2406.03075)."""

    paper = "Sun et al., Markov chain-based multi-agent debate, 2024, arXiv 2406.03075"
    graph = "queries -> searches -> opinion -> each state: first -> second -> leader"
    profiles = PROFILES
    asks = (WriteTeamQueries, GiveOpinion)

    settings: MarkovDebateSettings

    async def check(self, claim: Claim, searcher: Agent) -> Verdict:
        self.two_sides()
        self.evidence = await self.gather_evidence(searcher)
        opinion = await self.ask("judge", 0)
        round_ = 0
        while round_ < (self.settings.max_rounds if self.settings.min_rounds else 0):
            round_ += 1
            first, second, leader = self.settings.state(opinion.factuality)
            opening = await self.ask(first, round_, opinion)
            answer = await self.ask(second, round_, opening)
            opinion = await self.ask(leader, round_, opening, answer)
            agreed = opening.factuality == answer.factuality == opinion.factuality
            if agreed and round_ >= self.settings.min_rounds:
                break
        return self.verdict(self.label(opinion), reason=opinion.opinion, decided_by="leader", rounds=round_)

    async def gather_evidence(self, searcher: Agent) -> tuple[Passage, ...]:
        task = WriteTeamQueries(claim=self.claim, position="affirmative", profile=self.settings.profile)
        written = await searcher.perform(task)
        per_search = max(1, self.settings.snippets // (2 * len(self.settings.tools)))
        return await self.search_all(searcher, (written.support, written.refute), per_search)

    async def ask(self, part: Part, round_: int, *others: Opinion) -> Opinion:
        task = GiveOpinion(
            claim=self.claim, part=part, passages=self.evidence, others=others, profile=self.settings.profile
        )
        opinion = await self.agents[part].perform(task, round_=round_)
        quotes = self.cite(opinion.quotes, label=self.stated(opinion), agent=part, passages=self.evidence)
        label = self.label(opinion)
        self.run.emit(Answered(agent=part, round=round_, text=opinion.opinion, label=label, quotes=quotes))
        return opinion

    def stated(self, opinion: Opinion) -> str:
        factual, not_factual = self.two_sides()
        return factual if opinion.factuality else not_factual

    def label(self, opinion: Opinion) -> str:
        """The opinion's label; not enough evidence if ``unproven`` says so and no quotation is found (``D21``)."""
        proven = any(find_quote(text, self.evidence).found for text in opinion.quotes)
        undecided = self.claim.labels.named(Meaning.NOT_ENOUGH) if self.settings.unproven == "not-enough" else None
        return self.stated(opinion) if proven else undecided or self.stated(opinion)

    @classmethod
    def roles_for(cls, settings: MarkovDebateSettings) -> Roles:
        return {SEARCHER: settings.tools, "judge": None, "trust": None, "skeptic": None, "leader": None}

    @classmethod
    def plan_for(cls, settings: MarkovDebateSettings) -> CostRange:
        least = cls._plan(settings, min(settings.min_rounds, settings.max_rounds))
        return CostRange(least, least, cls._plan(settings, settings.max_rounds if settings.min_rounds else 0))

    @classmethod
    def _plan(cls, settings: MarkovDebateSettings, rounds: int) -> CostPlan:
        return CostPlan(
            calls={"WriteTeamQueries": 1, "GiveOpinion": 1 + 3 * rounds},
            searches=dict.fromkeys(settings.tools, 2),
            asked_by={"WriteTeamQueries": (SEARCHER,), "GiveOpinion": ("judge", "trust", "skeptic", "leader")},
            call_depth=2 + 3 * rounds,
            search_depth=1,
        )
