"""Dual-Position Debate: two teams of gatherer, analyst, rebutter and summariser; referees weighted by confidence.

He and Le, "Enhancing Hallucination Detection in Large Language Models through a Dual-Position Debate Multi-Agent
Framework" (ICIC 2025). ``docs/dual-position.md`` lists how ``D1`` … ``D23`` settle what the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from redargue.claims import Claim, Meaning
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply
from redargue.events import Refereed, RoundVoted, Spoke
from redargue.evidence import Passage, cited, distinct_passages
from redargue.methods.agent import Agent
from redargue.methods.base import Layout, Method, MethodSettings, Roles
from redargue.methods.dual_position import small_models as small_models
from redargue.methods.dual_position.referees import (
    EMPHASES,
    SAMPLES,
    DebateOutcome,
    Judgement,
    JudgeTeams,
    OutcomeRule,
    Vote,
    attention_weights,
    confidence_levels,
    debate_outcome,
    with_uncertainty,
)
from redargue.methods.dual_position.tasks import (
    OPPONENTS,
    STANCES,
    AgentText,
    AnalyseText,
    Position,
    Rebut,
    SpeakForTeam,
    Speech,
    SummariseTeam,
    TeamStatement,
    WriteTeamQueries,
)
from redargue.methods.gathering import gather_documents
from redargue.methods.setting_types import Word
from redargue.retrieval.corpus.documents import sentence_spans
from redargue.tasks.answer import Argument
from redargue.tasks.base import AnyTask, Out, Task, lines
from redargue.tasks.score import CompareTexts, RateTexts
from redargue.tasks.sections import by_document, document_key, document_numbers
from redargue.verdicts import Verdict

QUERIES = 2 * len(STANCES)  # both teams have two
ROLES = ("gatherer", "analyst", "rebutter", "summariser")
_Transition = Literal["none", "true-skeptic", "true-trust", "always-skeptic", "always-trust"]


class DualPositionSettings(MethodSettings):
    """Settings of ``dual-position``; the defaults are the paper's, the ablations are fields.

    Attributes:
        gatherers: off: no team has documents (Table 6).
        analysts: off: nobody checks the style of the text (Table 6).
        analysed_sentences: the least number of sentences, with the context's, of a claim whose style is checked.
        rebutters: off: the teams hand in summaries only (``D19``).
        summarisers: off: its members' texts are the team's statement, the rebuttal first (Table 6).
        snippets: documents per claim, over both teams' queries, of which each gets a fourth, rounded up (``D12``).
        selected: passages of a team per round, nearest to the opponent's last statement (``D13``).
        uncertainty: how members' uncertainty is measured (``D6``): by the disagreement of samples, as in the paper, by
            log probabilities where the model gives them, or not at all. A lone member is compared with nobody, and not
            measured.
        samples: of each member's text, if they are compared.
        referees: factual, logical, rhetorical, or any name, which says what counts most for that referee.
        rule: confidence masses, or the paper's signed weights, by which the negative team cannot win (``D1``).
        min_rounds: before the debate may end (1 where ``max_rounds`` is); 0 is one referee's opinion of the claim alone
            (``D9``).
        consensus: share of confidence behind the winner that ends the debate (``D8``).
        stop: by consensus alone, or also, and before ``min_rounds``, once nothing is left to settle: a team concedes to
            the winner, both teams concede, or neither adds a quotation to those of earlier rounds.
        speaking: whether a rebutter and then a summariser write a team's statement, or one call does; a team without
            one of them has the other alone.
        after_concession: the referees who judge a round in which a team concedes: all, one, or none. With "none" the
            team that does not concede has won if a quotation of its own can carry its side; if both concede, the claim
            is left open, where its labels allow that (``tied``); else, and where a concession does not end the debate
            (``stop``), one referee judges.
        transition: who opens the round after a vote (``D9``): both teams concurrently, or one whose statement the other
            answers in the same round. ``true-skeptic`` (§4.1): after a vote for factual the negative team opens,
            otherwise the affirmative one. The first round is concurrent in any case (``D11``).
        tied: the outcome of a tie after the last round: not factual, as the paper's doubt has it, or the set's label
            for not enough evidence, where it has one (``D3``).
    """

    gatherers: bool = True
    analysts: bool = True
    rebutters: bool = True
    summarisers: bool = True
    tools: tuple[Word, ...] = Field(default=("corpus", "keywords"), min_length=1, max_length=8)
    analysed_sentences: int = Field(default=1, ge=1, le=50)
    snippets: int = Field(default=10, ge=1, le=100)
    selected: int = Field(default=5, ge=1, le=50)
    uncertainty: Literal["off", "agreement", "entropy", "token-sar"] = "agreement"
    samples: int = Field(default=SAMPLES, ge=2, le=10)
    referees: tuple[Word, ...] = Field(default=tuple(EMPHASES), min_length=1, max_length=15)
    rule: OutcomeRule = "mass"
    min_rounds: int = Field(default=2, ge=0, le=20)
    max_rounds: int = Field(default=4, ge=1, le=20)
    consensus: float = Field(default=0.6, ge=0, le=1)
    stop: Literal["consensus", "settled"] = "consensus"
    speaking: Literal["twice", "once"] = "twice"
    after_concession: Literal["all", "one", "none"] = "all"
    transition: _Transition = "true-skeptic"
    tied: Literal["not-factual", "not-enough"] = "not-factual"

    @model_validator(mode="before")
    @classmethod
    def _fewer_rounds(cls, values: Any) -> Any:
        """A debate of at most one round may end after it."""
        return {"min_rounds": 1, **values} if values.get("max_rounds") == 1 else values

    @model_validator(mode="after")
    def _rounds_fit(self) -> Self:
        if self.min_rounds > self.max_rounds:
            raise ValueError(f"min_rounds={self.min_rounds} is above max_rounds={self.max_rounds}")
        if len(set(self.referees)) < len(self.referees):
            raise ValueError("two referees have the same name")
        if not (self.rebutters or self.summarisers or self.analysts or self.gatherers):
            raise ValueError("a team needs at least one member")
        if self.gatherers and self.snippets < QUERIES:
            raise ValueError(f"snippets={self.snippets} is fewer than the {QUERIES} queries of both teams")
        return self

    @property
    def speaks_once(self) -> bool:
        """Whether one call writes a team's rebuttal and statement."""
        return self.speaking == "once" and self.rebutters and self.summarisers

    @property
    def reads_logprobs(self) -> bool:
        """Whether members' uncertainty is measured by log probabilities, which the backend then has to request."""
        return self.uncertainty in ("entropy", "token-sar")

    @property
    def votes_from(self) -> int:
        """The first round with a vote: an earlier one could neither end the debate nor say who speaks first (D8)."""
        matters = self.stop != "consensus" or self.transition != "none"
        return 1 if matters else self.min_rounds

    def opener(self, winner: Vote) -> Position | None:
        """Who opens the round after a vote; None: both teams speak concurrently."""
        factual = winner == "affirmative"
        openers: dict[_Transition, Position | None] = {
            "none": None,
            "always-skeptic": "negative",
            "always-trust": "affirmative",
            "true-skeptic": "negative" if factual else "affirmative",
            "true-trust": "affirmative" if factual else "negative",
        }
        return openers[self.transition]


def member_name(position: Position, role: str) -> str:
    """As in events and ``--model``: ``negative-rebutter``."""
    return f"{position}-{role}"


def referee_name(referee: str) -> str:
    return f"{referee}-referee"


class Statement(NamedTuple):
    """A member's text, and how uncertain its writer was, in [0, 1]; None where that was not measured."""

    argument: Argument
    uncertainty: float | None


class DualPosition(Method, name="dual-position", settings=DualPositionSettings):
    """Two teams that argue, referees weighted by confidence (ICIC 2025)."""

    paper = "He and Le, Dual-Position Debate, ICIC 2025"
    graph = (
        "both teams concurrently: (queries -> searches | analysis) -> each round: rebuttal -> agreement of samples "
        "-> summary (hardened: statement); then all referees concurrently, unless a team concedes"
    )
    profiles = {
        "paper": {"profile": "paper"},
        "hardened": {"tied": "not-enough", "transition": "none", "analysed_sentences": 2, "stop": "settled"}
        | {"speaking": "once", "after_concession": "none"},
    }

    settings: DualPositionSettings

    async def check(self, claim: Claim) -> Verdict:
        self.factual, self.not_factual = self.two_sides()
        self.records: dict[Position, tuple[Passage, ...]] = dict.fromkeys(STANCES, ())
        self.analyses: dict[Position, Statement] = {}
        self.numbers: dict[str, int] = {}  # of both teams' documents, by document; the paper's have none
        self.speeches: list[Speech] = []
        self.reason = ""
        preparations = (prepare(position) for position in STANCES for prepare in (self.gather, self.analyse))
        await gather_or_cancel(preparations)
        if self.settings.profile == "hardened":
            self.numbers = document_numbers(chain.from_iterable(self.records.values()))
        if self.settings.min_rounds == 0:  # one referee's opinion (D9)
            return self.conclude(0, await self.vote(0, self.settings.referees[:1]))
        opener: Position | None = None
        for round_ in range(1, self.settings.max_rounds + 1):
            earlier = {passage.text for speech in self.speeches for passage in speech.verified}
            said = await self.make_statements(round_, opener)
            self.speeches += said
            if outcome := self.conceded(said):
                return self.concede(round_, outcome)
            if self.settings.votes_from > round_:
                continue
            voted = await self.vote(round_, self.referees_of(said))
            if round_ >= self.settings.min_rounds and self.is_decided(voted):
                break
            if self.settings.stop == "settled" and self.is_settled(said, earlier, voted.winner):
                break
            opener = self.settings.opener(voted.winner)
        return self.conclude(round_, voted)

    def is_decided(self, voted: DebateOutcome) -> bool:
        return voted.consensus >= self.settings.consensus and voted.winner != "tie"

    def is_settled(self, said: Sequence[Speech], earlier: Set[str], winner: Vote) -> bool:
        """Whether both teams concede, or one to the winner, or neither quotes anything that is not ``earlier``."""
        conceding = [speech.position for speech in said if speech.argument.concedes]
        if len(conceding) == 2 or [OPPONENTS[position] for position in conceding] == [winner]:
            return True
        quoted = {passage.text for speech in said for passage in speech.verified}
        return len(self.speeches) > len(said) and quoted <= earlier

    def referees_of(self, said: Sequence[Speech]) -> tuple[str, ...]:
        """The referees of a round: one where a team concedes and they are not expected to differ."""
        concedes = any(speech.argument.concedes for speech in said)
        fewer = concedes and self.settings.after_concession != "all"
        return self.settings.referees[: 1 if fewer else None]

    def conceded(self, said: Sequence[Speech]) -> Vote | None:
        """What concessions alone decide: for the other team, if a quotation carries its side, or for neither."""
        if self.settings.stop != "settled" or self.settings.after_concession != "none":
            return None
        standing = [speech for speech in said if not speech.argument.concedes]
        if not standing:
            return "tie" if self.undecided else None
        (speech,) = standing[:1]
        carried = self.has_evidence(speech.argument.quotes, self.records[speech.position])
        return speech.position if len(standing) == 1 and carried else None

    def concede(self, rounds: int, outcome: Vote) -> Verdict:
        """A verdict without referees, whose reason is the statement of the team that does not concede, or both."""
        last = [speech for speech in self.speeches if speech.round == rounds]
        reason = lines(*(each.argument.text for each in last if outcome in ("tie", each.position)))
        return self.verdict(self.label_of(outcome), reason=reason, decided_by="concession", rounds=rounds)

    async def gather(self, position: Position) -> None:
        if not self.settings.gatherers:
            return
        gatherer = self.member(position, "gatherer")
        written = await self.ask(gatherer, WriteTeamQueries, position=position)
        queries = (written.support, written.refute)
        self.records[position] = await gather_documents(self, gatherer, queries, self.settings.snippets, QUERIES)

    async def analyse(self, position: Position) -> None:
        """Checks the claim's style, if it has enough sentences and a rebutter or summariser reads the result."""
        sentences = len(list(sentence_spans(f"{self.claim.context} {self.claim.text}")))
        if not self.settings.analysts or not self.settings.min_rounds or sentences < self.settings.analysed_sentences:
            return
        task = self.task(AnalyseText, position=position)
        analysis, uncertainty = await self.measured(position, "analyst", task)
        self.analyses[position] = Statement(Argument(text=analysis.summary or "no issues"), uncertainty)
        self.run.emit(Spoke(agent=member_name(position, "analyst"), round=0, text=analysis.summary))

    async def make_statements(self, round_: int, opener: Position | None) -> list[Speech]:
        last = {speech.position: speech for speech in self.speeches}
        if opener is None:
            return await gather_or_cancel(self.make_statement(round_, position, last) for position in STANCES)
        first = await self.make_statement(round_, opener, last)
        return [first, await self.make_statement(round_, OPPONENTS[opener], {**last, opener: first})]

    async def make_statement(self, round_: int, position: Position, last: Mapping[Position, Speech]) -> Speech:
        """Rebuttal and summary; in the first round the opponent's stance is what it said (``D11``)."""
        opponent = last.get(OPPONENTS[position])
        passages = await self.select(round_, position, opponent)
        argument = await self.speak(round_, position, opponent, passages)
        stated = self.factual if position == "affirmative" else self.not_factual
        quotes = self.cite(
            argument.quotes, label=stated, agent=member_name(position, "team"), passages=self.records[position]
        )
        found = {quote.text: quote for quote in quotes if quote.source is not None}
        # Of equal texts the first, in which a quotation is located.
        known = {passage.sha256: passage for passage in reversed(self.records[position])}
        return Speech(
            position=position,
            round=round_,
            argument=argument,
            verified=tuple(Passage(**dict(quote.source), text=text) for text, quote in found.items() if quote.source),
            numbers=self.numbers_of([known[quote.passage] for quote in found.values()]),
            unfound=tuple(dict.fromkeys(quote.text for quote in quotes if not quote.found)),
        )

    def numbers_of(self, passages: Iterable[Passage]) -> tuple[int, ...]:
        """The numbers of the passages' documents, which hold for both teams and all referees; empty in the paper."""
        return tuple(self.numbers[document_key(passage)] for passage in passages) if self.numbers else ()

    async def select(self, round_: int, position: Position, opponent: Speech | None) -> tuple[Passage, ...]:
        records = self.records[position]
        if len(records) <= self.settings.selected:
            return records
        said = opponent.argument.text if opponent else STANCES[OPPONENTS[position]]
        texts = tuple(passage.text for passage in records)
        task = CompareTexts(reference=f"{self.claim.text} {said}", texts=texts, profile=self.settings.profile)
        similarities = (await self.member(position, "gatherer").perform(task, round_=round_)).values
        nearest = sorted(range(len(records)), key=lambda place: -similarities[place])[: self.settings.selected]
        return tuple(records[place] for place in sorted(nearest))

    async def speak(
        self, round_: int, position: Position, opponent: Speech | None, passages: tuple[Passage, ...]
    ) -> TeamStatement:
        """The team's statement: in one call, or its summariser's of what the members wrote."""
        analysis = self.analyses[position].argument.text if position in self.analyses else ""
        numbers = self.numbers_of(group[0] for group in by_document(passages))
        asked: dict[str, Any] = {"position": position, "opponent": opponent, "analysis": analysis}
        asked |= {"passages": passages, "numbers": numbers}
        if self.settings.speaks_once:
            summariser = self.member(position, "summariser")
            statement = await self.ask(summariser, SpeakForTeam, round_=round_, **asked)
            self.stated(round_, position, statement)
            return statement
        texts: dict[str, Statement] = {}
        if self.settings.rebutters:
            rebuttal = Statement(*await self.measured(position, "rebutter", self.task(Rebut, **asked), round_))
            self.run.emit(Spoke(agent=member_name(position, "rebutter"), round=round_, text=rebuttal.argument.text))
            texts["rebutter"] = rebuttal
        if position in self.analyses:
            texts["analyst"] = self.analyses[position]
        if passages:
            texts["gatherer"] = Statement(Argument(text="\n".join(map(self.cited, passages))), None)
        return await self.summarise(round_, position, texts)

    def cited(self, passage: Passage) -> str:
        """The passage's lines, each as a quotation with its title, after the number of its document."""
        mark = "".join(f"[{number}] " for number in self.numbers_of((passage,)))
        return "\n".join(mark + cited(line, passage.title) for line in passage.text.splitlines() if line.strip())

    async def summarise(self, round_: int, position: Position, texts: Mapping[str, Statement]) -> TeamStatement:
        """The team's statement; without a summariser its members' texts as they are, rebuttal first, or its view."""
        if not (self.settings.summarisers and texts):
            quotes = tuple(dict.fromkeys(quote for text in texts.values() for quote in text.argument.quotes))
            joined = "\n".join(text.argument.text for text in texts.values()) or STANCES[position]
            return TeamStatement(text=joined, quotes=quotes)
        summariser, shown = self.member(position, "summariser"), self.with_confidence(texts)
        argument = await self.ask(summariser, SummariseTeam, round_=round_, position=position, texts=shown)
        self.stated(round_, position, argument)
        return argument

    def stated(self, round_: int, position: Position, statement: TeamStatement) -> None:
        summariser = member_name(position, "summariser")
        self.run.emit(Spoke(agent=summariser, round=round_, text=statement.text, concedes=statement.concedes))

    def with_confidence(self, texts: Mapping[str, Statement]) -> tuple[AgentText, ...]:
        """The texts with their certainty: as attention weights where the backend supports them, else in words (D6)."""
        uncertainties = {role: text.uncertainty for role, text in texts.items() if text.uncertainty is not None}
        weighted = getattr(self.run.backend, "supports_attention_weights", False)
        shown = (attention_weights if weighted else confidence_levels)(tuple(uncertainties.values()))
        confidence: dict[str, object] = dict(zip(uncertainties, shown, strict=True))
        name = "weight" if weighted else "level"
        return tuple(
            AgentText(agent=role, text=text.argument.text, **({name: confidence[role]} if role in confidence else {}))
            for role, text in texts.items()
        )

    async def measured(
        self, position: Position, role: str, task: Task[Out], round_: int = 0
    ) -> tuple[Out, float | None]:
        """The member's answer; its uncertainty if the summariser has another member's to compare it with (D6)."""
        member, measure = self.member(position, role), self.settings.uncertainty
        compared = self.settings.rebutters if role == "analyst" else position in self.analyses
        alone = self.settings.speaks_once or not self.settings.summarisers or not compared
        if measure == "off" or alone:
            return await member.perform(task, round_=round_), None
        return await with_uncertainty(member, task, measure, samples=self.settings.samples, round_=round_)

    async def vote(self, round_: int, referees: tuple[str, ...]) -> DebateOutcome:
        """All referees judge concurrently; an unreadable judgement is no vote, and a BadReply if all are unreadable."""
        replies = await gather_or_cancel(self.judge(round_, referee) for referee in referees)
        judgements = [reply for reply in replies if isinstance(reply, Judgement)]
        if not judgements:
            raise next(reply for reply in replies if isinstance(reply, BadReply))
        votes = [(each.effective_vote, each.effective_confidence) for each in judgements]
        voted = debate_outcome(votes, self.settings.rule)
        reasons = (each.reason for each in judgements if each.effective_vote == voted.winner)
        self.reason = next(filter(None, reasons), "")
        self.run.emit(RoundVoted(round=round_, **voted._asdict() | {"consensus": round(voted.consensus, 6)}))
        return voted

    async def judge(self, round_: int, referee: str) -> Judgement | BadReply:
        name = referee_name(referee)
        emphasis = EMPHASES.get(referee, f"You are the {referee} referee: what is {referee} counts most.")
        gathered = distinct_passages(chain.from_iterable(self.records.values()))
        shown = {"speeches": tuple(self.speeches), "passages": () if self.speeches else gathered}
        asked = {"referee": referee, "emphasis": emphasis, **shown}
        try:
            judgement = await self.ask(self.agents[name], JudgeTeams, round_=round_, **asked)
        except BadReply as error:
            self.run.emit(Refereed(agent=name, round=round_, problem=error.what))
            return error
        scores = {position: judgement.scores(position) for position in STANCES}
        vote, sure, reason = judgement.effective_vote, judgement.effective_confidence, judgement.reason
        self.run.emit(Refereed(agent=name, round=round_, vote=vote, confidence=sure, reason=reason, scores=scores))
        return judgement

    def conclude(self, rounds: int, voted: DebateOutcome) -> Verdict:
        """The winning team's label; a tie, which the verdict names, is not factual or not enough evidence (``D3``)."""
        label = self.label_of(voted.winner)
        if voted.winner != "tie":
            return self.verdict(label, reason=self.reason, decided_by="referees", rounds=rounds)
        reason = lines(self.tie(voted), self.reason)
        return self.verdict(label, reason=reason, decided_by="tie", rounds=rounds)

    @property
    def undecided(self) -> str | None:
        """The label of a claim that neither team has won; None where that is not factual (``D3``)."""
        return self.claim.labels.named(Meaning.NOT_ENOUGH) if self.settings.tied == "not-enough" else None

    def label_of(self, outcome: Vote) -> str:
        tied = self.undecided or self.not_factual
        return {"affirmative": self.factual, "negative": self.not_factual, "tie": tied}[outcome]

    def tie(self, voted: DebateOutcome) -> str:
        """Why neither team won: the paper's own rule knows no other outcome without an affirmative vote (``D1``)."""
        shares = ", ".join(f"{vote} {mass:.2f}" for vote, mass in voted.masses.items())
        if self.settings.rule == "literal":
            return (
                "A tie by the paper's rule (rule=literal), by which the negative team cannot win."
                f" The referees' confidence: {shares}."
            )
        return f"A tie: neither team has more of the referees' confidence than all else ({shares})."

    def member(self, position: Position, role: str) -> Agent:
        return self.agents[member_name(position, role)]

    @classmethod
    def roles_for(cls, settings: DualPositionSettings) -> Roles:
        searching = settings.tools if settings.gatherers else None
        tools = {role: searching if role == "gatherer" else None for role in ROLES}
        teams = {member_name(position, role): tools[role] for role in ROLES for position in OPPONENTS}
        return teams | {referee_name(referee): None for referee in settings.referees}

    @classmethod
    def defaults_for(cls, backend: str, given: Collection[str]) -> Mapping[str, Any]:
        """All referees for small models, whose teams concede as soon as they find nothing for their side."""
        return {"after_concession": "all"} if backend == "embedded" and "after_concession" not in given else {}

    @classmethod
    def layout(cls, settings: DualPositionSettings) -> Layout:
        return Layout({f"{team} team": tuple(member_name(team, role) for role in ROLES) for team in STANCES})

    @classmethod
    def asks_for(cls, settings: DualPositionSettings) -> tuple[type[AnyTask], ...]:
        needed: dict[type[AnyTask], bool] = {
            WriteTeamQueries: settings.gatherers,
            AnalyseText: settings.analysts,
            Rebut: settings.rebutters and not settings.speaks_once,
            SummariseTeam: settings.summarisers and not settings.speaks_once,
            SpeakForTeam: settings.speaks_once,
            CompareTexts: (settings.summarisers and settings.uncertainty != "off") or settings.gatherers,
            RateTexts: settings.uncertainty == "token-sar",
            JudgeTeams: True,
        }
        return tuple(task for task, wanted in needed.items() if wanted)
