"""Markov-chain debate: states of three agents, and the last state's judgement decides which comes next.

Sun et al., "Towards Detecting LLMs Hallucination via Markov Chain-based Multi-agent Debate Framework"
(arXiv 2406.03075). State 0 is one agent; state 1 asks Trust, then Skeptic, then Leader; state 2 Skeptic, then Trust,
then Leader. The leader's opinion is the state's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from redargue.claims import Claim, Frozen, Meaning
from redargue.concurrency import together
from redargue.events import Answered, QueryWritten
from redargue.evidence import Passage, Quote, find_quote
from redargue.methods.agent import Agent
from redargue.methods.base import Plan, methods, require_sides
from redargue.methods.verdict_parts import distinct, gaps, side_of
from redargue.run import Run
from redargue.tasks.arguing import TeamQueries, WriteTeamQueries
from redargue.tasks.base import AnyTask, Profile
from redargue.tasks.opining import GiveOpinion, Opinion, Part
from redargue.verdicts import Verdict

Transition = Literal["true-skeptic", "true-trust", "always-skeptic", "always-trust"]
STATES: dict[str, tuple[Part, Part, Part]] = {
    "trust": ("trust", "skeptic", "leader"),
    "skeptic": ("skeptic", "trust", "leader"),
}
SEARCHER = "searcher"


class MarkovDebateSettings(Frozen):
    """Settings of ``markov-debate``; the defaults are the paper's, the ablations are fields.

    Attributes:
        profile: ``paper`` or ``hardened``.
        tools: where the evidence comes from.
        snippets: pieces of evidence a claim, over two queries and all tools.
        transition: which state follows a judgement: the skeptic's after "factual" and the trusting one's after any
            other (the paper's), the reverse, or always the same.
        min_rounds: states after the first before the debate may end; 0: the first opinion is the answer.
        max_rounds: after which it ends; the paper gives no number.
        unproven: what an opinion means for which nothing could be quoted: what it says, as in the paper, or the set's
            label for not enough evidence, where it has one (``D21``).
    """

    profile: Profile = "hardened"
    tools: tuple[str, ...] = Field(default=("corpus", "keywords"), min_length=1, max_length=8)
    snippets: int = Field(default=10, ge=1, le=100)
    transition: Transition = "true-skeptic"
    min_rounds: int = Field(default=2, ge=0, le=20)
    max_rounds: int = Field(default=4, ge=0, le=20)
    unproven: Literal["believed", "not-enough"] = "believed"

    def state(self, factual: bool) -> tuple[Part, Part, Part]:
        """The agents of the state that follows a judgement."""
        match self.transition:
            case "true-skeptic":
                return STATES["skeptic" if factual else "trust"]
            case "true-trust":
                return STATES["trust" if factual else "skeptic"]
            case "always-skeptic":
                return STATES["skeptic"]
            case "always-trust":
                return STATES["trust"]


@methods.register("markov-debate")
class MarkovDebate:
    """A chain of states that ends where the three agents of one agree."""

    name: ClassVar[str] = "markov-debate"
    about: ClassVar[str] = "trust, skeptic and leader in an order that the last judgement decides (2406.03075)"
    paper: ClassVar[str] = "Sun et al., Markov chain-based multi-agent debate, 2024, arXiv 2406.03075"
    graph: ClassVar[str] = "queries -> searches -> opinion -> each state: first -> second -> leader"
    options: ClassVar[type[Frozen]] = MarkovDebateSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"profile": "paper"},
        "hardened": {"unproven": "not-enough"},
    }

    def __init__(self, settings: MarkovDebateSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """Those of the settings."""
        return tuple(dict.fromkeys(self.settings.tools))

    def agents(self) -> tuple[str, ...]:
        """Who searches, judges first, trusts, doubts, leads."""
        return (SEARCHER, "judge", "trust", "skeptic", "leader")

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """Queries and opinions."""
        return (WriteTeamQueries, GiveOpinion)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """The fewest states; the same; the most."""
        least = self._plan(min(self.settings.min_rounds, self.settings.max_rounds))
        return least, least, self._plan(self.settings.max_rounds if self.settings.min_rounds else 0)

    def _plan(self, rounds: int) -> Plan:
        return Plan(
            calls={"WriteTeamQueries": 1, "GiveOpinion": 1 + 3 * rounds},
            searches=dict.fromkeys(self.tools(), 2),
            asked_by={"WriteTeamQueries": (SEARCHER,), "GiveOpinion": self.agents()[1:]},
            call_depth=2 + 3 * rounds,
            search_depth=1,
        )

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Evidence, a first opinion, then states.

        Raises:
            UsageError: the label set does not say what is factual and what is not.
        """
        require_sides(claim.labels, "opinions on factuality")
        return await _Chain(self.settings, claim, run).walk()


class _Chain:
    def __init__(self, settings: MarkovDebateSettings, claim: Claim, run: Run) -> None:
        self.settings, self.claim, self.run = settings, claim, run
        self.quotes: list[Quote] = []

    async def walk(self) -> Verdict:
        """From the first opinion to a state whose agents agree, or the last."""
        passages = await self._search()
        response = await self._ask("judge", 0, passages, ())
        rounds = 0
        while rounds < (self.settings.max_rounds if self.settings.min_rounds else 0):
            rounds += 1
            first, second, leader = self.settings.state(response.factuality)
            opening = await self._ask(first, rounds, passages, (response,))
            answer = await self._ask(second, rounds, passages, (opening,))
            response = await self._ask(leader, rounds, passages, (opening, answer))
            agreed = opening.factuality == answer.factuality == response.factuality
            if agreed and rounds >= self.settings.min_rounds:
                break
        return Verdict(
            claim=self.claim,
            label=self._label(response, passages),
            decided_by="leader",
            rounds=rounds,
            reason=response.opinion,
            quotes=distinct(self.quotes),
            gaps=gaps(self.run.events),
        )

    async def _search(self) -> tuple[Passage, ...]:
        """Two queries with every tool, at once."""
        task = WriteTeamQueries(claim=self.claim, position="affirmative", profile=self.settings.profile)
        queries: TeamQueries = await Agent(SEARCHER, self.run).perform(task)
        asked = tuple(dict.fromkeys((queries.support, queries.refute)))
        for query in asked:
            self.run.emit(QueryWritten(agent=SEARCHER, round=0, query=query))
        each = max(1, self.settings.snippets // (2 * len(self.settings.tools)))
        found = await together(
            [
                self.run.search(tool, query, each, agent=SEARCHER, claim=self.claim)
                for query in asked
                for tool in dict.fromkeys(self.settings.tools)
            ]
        )
        return tuple({passage.sha256: passage for passages in found for passage in passages}.values())

    async def _ask(
        self, part: Part, round_: int, passages: tuple[Passage, ...], others: tuple[Opinion, ...]
    ) -> Opinion:
        task = GiveOpinion(claim=self.claim, part=part, passages=passages, others=others, profile=self.settings.profile)
        opinion = await Agent(part, self.run).perform(task, round_=round_)
        label = self._label(opinion, passages)
        side = side_of(self.claim.labels, self._named(opinion))
        quotes = tuple(find_quote(text, passages, side=side, agent=part) for text in opinion.quotes)
        self.quotes += quotes
        self.run.emit(Answered(agent=part, round=round_, text=opinion.opinion, label=label, quotes=quotes))
        return opinion

    def _named(self, opinion: Opinion) -> str | None:
        return self.claim.labels.named(Meaning.SUPPORTED if opinion.factuality else Meaning.REFUTED)

    def _label(self, opinion: Opinion, passages: tuple[Passage, ...]) -> str | None:
        """What the opinion says; with nothing to quote for it, the label for not enough evidence (``D21``)."""
        proven = any(find_quote(text, passages).found for text in opinion.quotes)
        undecided = self.claim.labels.named(Meaning.NOT_ENOUGH) if self.settings.unproven == "not-enough" else None
        return self._named(opinion) if proven else undecided or self._named(opinion)
