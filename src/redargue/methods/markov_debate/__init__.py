"""Markov-chain debate: states of three agents; each state's judgement decides which state follows.

Sun et al., "Towards Detecting LLMs Hallucination via Markov Chain-based Multi-agent Debate Framework" (arXiv
2406.03075). State 0 is one agent; state 1 asks Trust, Skeptic, Leader; state 2 Skeptic, Trust, Leader. The leader's
opinion is the state's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self, get_args

from pydantic import Field, field_validator, model_validator

from redargue.claims import Claim, Frozen, Meaning
from redargue.events import Answered
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.methods.base import Layout, Method, MethodSettings, Roles
from redargue.methods.baselines.sceptical_queries import WriteScepticalQueries
from redargue.methods.gathering import gather_documents
from redargue.methods.setting_types import Word
from redargue.nli.backend import EmbeddedBackend, perform, write_argument
from redargue.tasks.answer import Quotations
from redargue.tasks.base import Task, text_field
from redargue.tasks.sections import claim_section, documents
from redargue.tasks.template import read_examples
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Verdict

Role = Literal["judge", "trust", "skeptic", "leader"]
SEVERITIES = "0 no error, 1 minor, 2 moderate, 3 major, 4 severe, 5 fabricated"


class SaidOpinion(Frozen):
    """What an agent thinks of a claim, in the paper's fields."""

    opinion: str = text_field("your reasoning, from the evidence", 1_000)
    factuality: bool = Field(description="whether the claim is factual")
    severity: Literal[0, 1, 2, 3, 4, 5] = Field(description=f"of the claim's error: {SEVERITIES}")
    quotes: Quotations = Field(default=(), description="each quotation, word for word")

    @model_validator(mode="before")
    @classmethod
    def _accept_paper_name(cls, data: Any) -> Any:
        """Accepts ``Error severity``, the paper's name."""
        if not isinstance(data, dict):
            return data
        names = {"error severity": "severity", "error_severity": "severity"}
        return {names.get(str(name).strip().lower(), str(name).strip().lower()): value for name, value in data.items()}

    @field_validator("severity", mode="before")
    @classmethod
    def _number(cls, value: Any) -> Any:
        return int(value) if isinstance(value, str) and value.strip().isdecimal() else value


class Opinion(SaidOpinion):
    """What an agent thinks of a claim.

    Attributes:
        settled: whether the evidence bears the claim out or contradicts it; only the ``hardened`` profile asks.
    """

    settled: bool = Field(
        default=True, description="false if the evidence neither bears the claim out nor contradicts it"
    )

    @property
    def view(self) -> bool | None:
        """Whether the claim is factual; None if it is not settled."""
        return self.factuality if self.settled else None


class HeardOpinion(Frozen):
    """An opinion with its author, as another agent's prompt shows it."""

    author: Role
    opinion: Opinion

    @property
    def text(self) -> str:
        said = self.opinion
        called = f"factual: {str(said.factuality).lower()}, severity {said.severity}" if said.settled else "not settled"
        return f"{self.author} ({called}): {wrap_untrusted(said.opinion)}"


class GiveOpinion(Task[Opinion]):
    """One agent's opinion in a state; it answers the last state's, or the first agent's, or both for the leader."""

    claim: Claim
    part: Role
    passages: tuple[Passage, ...]
    others: tuple[HeardOpinion, ...] = ()

    def requested_type(self) -> type[Frozen]:
        return SaidOpinion if self.profile == "paper" else Opinion

    def template_vars(self) -> Mapping[str, object]:
        return {
            "claim": claim_section(self.claim, self.profile),
            "evidence": documents(self.passages, self.profile),
            "others": "\n".join(heard.text for heard in self.others),
            "severities": SEVERITIES,
            **{part: part == self.part for part in get_args(Role)},
        }


MARKOV_QUERIES = 2
_Transition = Literal["true-skeptic", "true-trust", "always-skeptic", "always-trust"]
STATES: dict[str, tuple[Role, Role, Role]] = {
    "trust": ("trust", "skeptic", "leader"),
    "skeptic": ("skeptic", "trust", "leader"),
}


class MarkovDebateSettings(MethodSettings):
    """Settings of ``markov-debate``; the defaults are the paper's, the ablations are fields.

    Attributes:
        snippets: documents per claim, of which each of the two queries gets half, rounded up.
        transition: the state that follows a judgement: the skeptic's after "factual" and the trusting one's after any
            other (the paper's), the reverse, or always the same.
        min_rounds: states after the first before the debate may end; 0: the first opinion is the answer.
        max_rounds: after which it ends; the paper gives no number.
        unproven: the outcome of an opinion without a quotation that was found: its own label, as in the paper, or the
            set's label for not enough evidence, where it has one (``D21``). That is also the outcome of an opinion that
            calls the claim not settled; without such a label there is none.
    """

    tools: tuple[Word, ...] = Field(default=("corpus", "keywords"), min_length=1, max_length=8)
    snippets: int = Field(default=10, ge=1, le=100)
    transition: _Transition = "true-skeptic"
    min_rounds: int = Field(default=2, ge=0, le=20)
    max_rounds: int = Field(default=4, ge=0, le=20)
    unproven: Literal["believed", "not-enough"] = "believed"

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.min_rounds > self.max_rounds:
            raise ValueError(f"min_rounds={self.min_rounds} is above max_rounds={self.max_rounds}")
        if self.snippets < MARKOV_QUERIES:
            raise ValueError(f"snippets={self.snippets} is fewer than the {MARKOV_QUERIES} queries")
        return self

    def state(self, factual: bool) -> tuple[Role, Role, Role]:
        doubted = {"true-skeptic": factual, "true-trust": not factual, "always-skeptic": True, "always-trust": False}
        return STATES["skeptic" if doubted[self.transition] else "trust"]


_SEARCHER = "searcher"


class MarkovDebate(Method, name="markov-debate", settings=MarkovDebateSettings):
    """Trust, skeptic and leader in an order that the last judgement decides (2406.03075)."""

    paper = "Sun et al., Markov chain-based multi-agent debate, 2024, arXiv 2406.03075"
    graph = "queries -> searches -> opinion -> each state: first -> second -> leader"
    profiles = {"paper": {}, "hardened": {"unproven": "not-enough"}}
    asks = (WriteScepticalQueries, GiveOpinion)
    few_shot = True

    settings: MarkovDebateSettings

    @classmethod
    def layout(cls, settings: MarkovDebateSettings) -> Layout:
        return super().layout(settings)._replace(chained=True)

    async def check(self, claim: Claim, searcher: Agent) -> Verdict:
        self.two_sides()
        queries = await self.write_queries(searcher)
        snippets = self.settings.snippets
        self.evidence = await gather_documents(self, searcher, queries, snippets, MARKOV_QUERIES)
        last = await self.hear("judge", 0)
        round_ = 0
        while round_ < (self.settings.max_rounds if self.settings.min_rounds else 0):
            round_ += 1
            first, second, leader = self.settings.state(last.opinion.view is True)
            opening = await self.hear(first, round_, last)
            answer = await self.hear(second, round_, opening)
            last = await self.hear(leader, round_, opening, answer)
            agreed = len({heard.opinion.view for heard in (opening, answer, last)}) == 1
            if agreed and round_ >= self.settings.min_rounds:
                break
        opinion = last.opinion
        return self.verdict(self.label(opinion), reason=opinion.opinion, decided_by=last.author, rounds=round_)

    async def write_queries(self, searcher: Agent) -> tuple[str, ...]:
        """FacTool's two sceptical queries, as in Sun et al."""
        paper = self.settings.profile == "paper"
        examples = read_examples("redargue.methods.baselines.sceptical_queries") if paper else ""
        count = MARKOV_QUERIES
        return (await self.ask(searcher, WriteScepticalQueries, count=count, demonstrations=examples)).queries

    async def hear(self, part: Role, round_: int, *others: HeardOpinion) -> HeardOpinion:
        shown = {"part": part, "passages": self.evidence, "others": others}
        opinion = await self.ask(self.agents[part], GiveOpinion, round_=round_, **shown)
        stated = self.stated(opinion) if opinion.settled else None
        quotes = self.cite(opinion.quotes, label=stated, agent=part, passages=self.evidence)
        label = self.label(opinion)
        self.run.emit(Answered(agent=part, round=round_, text=opinion.opinion, label=label, quotes=quotes))
        return HeardOpinion(author=part, opinion=opinion)

    def stated(self, opinion: Opinion) -> str:
        return self.side_label(supported=opinion.factuality)

    def label(self, opinion: Opinion) -> str | None:
        """The opinion's label; not enough evidence if ``unproven`` says so and nothing proves it (``D21``)."""
        undecided = self.claim.labels.named(Meaning.NOT_ENOUGH) if self.settings.unproven == "not-enough" else None
        if not opinion.settled and self.settings.unproven == "not-enough":
            return undecided
        proven = self.has_evidence(opinion.quotes, self.evidence)
        return self.stated(opinion) if proven else undecided or self.stated(opinion)

    @classmethod
    def roles_for(cls, settings: MarkovDebateSettings) -> Roles:
        return {_SEARCHER: settings.tools, "judge": None, "trust": None, "skeptic": None, "leader": None}


LEANING = 0.1  # of a probability: what an agent that trusts or doubts grants its side


@perform.register
def _opine(task: GiveOpinion, backend: EmbeddedBackend) -> Opinion:
    """Trust and doubt each need less for their own side; without evidence nothing is settled."""
    reading = backend.reader.read(task.claim.text, task.passages)
    supports, refutes, _ = reading.probabilities()
    leaning = {"trust": LEANING, "skeptic": -LEANING}.get(task.part, 0.0)
    factual = supports + leaning >= refutes
    argument = write_argument(task.claim.text, Meaning.SUPPORTED if factual else Meaning.REFUTED, reading)
    severity = 0 if factual else min(5, 1 + int(refutes * 5))
    said = {"factuality": factual, "severity": severity, "settled": task.profile == "paper" or bool(argument.quotes)}
    return Opinion(opinion=argument.text, quotes=argument.quotes, **said)
