"""Dual-Position Debate: two teams of gatherer, analyst, rebutter, summariser; referees who are weighed by confidence.

He and Le, "Enhancing Hallucination Detection in Large Language Models through a Dual-Position Debate Multi-Agent
Framework" (ICIC 2025). ``D1`` … ``D20`` are the resolutions of what the paper leaves open, listed in
``docs/dual-position.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from redargue.agents.agent import Agent
from redargue.claims import Claim, Frozen, Meaning
from redargue.concurrency import together
from redargue.errors import BadReply, UsageError
from redargue.events import QueryWritten, Refereed, RoundVoted, Spoke
from redargue.evidence import Passage, Quote, Side, cited, find_quote
from redargue.protocols.base import Plan, methods
from redargue.protocols.dual_position_settings import (
    PROFILES,
    ROLES,
    DualPositionSettings,
    member_name,
    members,
    referee_name,
)
from redargue.protocols.quoting import distinct, gaps
from redargue.run import Run
from redargue.scoring.outcome import Outcome, outcome
from redargue.scoring.uncertainty import attention_weights, confidence_levels, uncertain
from redargue.tasks.arguing import (
    OPPONENTS,
    STANCES,
    AnalyseText,
    Argument,
    Position,
    Rebut,
    SummariseTeam,
    WriteTeamQueries,
)
from redargue.tasks.base import AnyTask, Out, Task
from redargue.tasks.confidence import AgentText
from redargue.tasks.refereeing import EMPHASES, Judgement, JudgeTeams, Speech
from redargue.tasks.scoring import CompareTexts
from redargue.verdicts import Verdict

SIDES = {"affirmative": Side.FOR, "negative": Side.AGAINST}


@methods.register("dual-position")
class DualPosition:
    """Two teams argue, referees vote, until enough confidence is behind one outcome."""

    name: ClassVar[str] = "dual-position"
    about: ClassVar[str] = "two teams that argue, referees weighed by confidence (ICIC 2025)"
    paper: ClassVar[str] = "He and Le, Dual-Position Debate, ICIC 2025"
    graph: ClassVar[str] = (
        "both teams at once: (queries -> searches | analysis) -> each round: rebuttal -> agreement of samples "
        "-> summary; then all referees at once"
    )
    options: ClassVar[type[Frozen]] = DualPositionSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = PROFILES

    def __init__(self, settings: DualPositionSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """The gatherers' tools."""
        return tuple(dict.fromkeys(self.settings.tools)) if self.settings.gatherers else ()

    def agents(self) -> tuple[str, ...]:
        """Both teams and the referees."""
        teams = (name for role in ROLES for name in members(role))
        return (*teams, *map(referee_name, self.settings.referees))

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """What these settings ask of a backend."""
        chosen = self.settings
        asked: dict[type[AnyTask], bool] = {
            WriteTeamQueries: chosen.gatherers,
            AnalyseText: chosen.analysts,
            Rebut: chosen.rebutters,
            SummariseTeam: chosen.summarisers,
            CompareTexts: (chosen.summarisers and chosen.uncertainty != "off") or chosen.gatherers,
            JudgeTeams: True,
        }
        return tuple(task for task, needed in asked.items() if needed)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """The fewest rounds; the same; the most."""
        least = self.settings.plan(self.settings.min_rounds)
        return least, least, self.settings.plan(self.settings.max_rounds if self.settings.min_rounds else 0)

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Debates until the referees agree or the last round.

        Raises:
            UsageError: the label set does not say what is factual and what is not.
        """
        if not (claim.labels.named(Meaning.SUPPORTED) and claim.labels.named(Meaning.REFUTED)):
            raise UsageError(
                f"two positions cannot debate the labels {claim.labels.name!r}",
                hint="a label set with one label for what is correct and one for what is not: --labels two",
            )
        return await _Debate(self.settings, claim, run).hold()


class _Said(NamedTuple):
    """A member's text and how unsure its writer was, in [0, 1]; None where that was not measured."""

    argument: Argument
    uncertainty: float | None


class _Debate:
    """One claim's debate."""

    def __init__(self, settings: DualPositionSettings, claim: Claim, run: Run) -> None:
        self.settings, self.claim, self.run = settings, claim, run
        self.records: dict[Position, tuple[Passage, ...]] = dict.fromkeys(STANCES, ())
        self.analyses: dict[Position, _Said] = {}
        self.speeches: list[Speech] = []
        self.quotes: list[Quote] = []
        self.why = ""

    async def hold(self) -> Verdict:
        """Preparation by both teams at once, then rounds."""
        await together([self._prepare(position) for position in STANCES])
        if self.settings.min_rounds == 0:  # one referee's opinion (D9)
            found = await self._vote(0, self.settings.referees[:1])
            return self._verdict(0, found)
        factual: bool | None = None
        for round_ in range(1, self.settings.max_rounds + 1):
            self.speeches += await self._speeches(round_, self.settings.opener(factual))
            found = await self._vote(round_, self.settings.referees)
            factual = found.winner == "affirmative"
            enough = found.consensus >= self.settings.consensus and found.winner != "tie"
            if enough and round_ >= self.settings.min_rounds:
                break
        return self._verdict(round_, found)

    async def _prepare(self, position: Position) -> None:
        """Gatherer and analyst, each once, side by side."""
        await together([self._gather(position), self._analyse(position)])

    async def _gather(self, position: Position) -> None:
        """Searches for the team's own view and against the opponent's; what is found is the team's for the debate."""
        if not self.settings.gatherers:
            return
        gatherer = self._agent(position, "gatherer")
        task = WriteTeamQueries(claim=self.claim, position=position, profile=self.settings.profile)
        queries = await gatherer.perform(task)
        each = max(1, self.settings.snippets // (len(STANCES) * 2 * len(self.settings.tools)))
        searches = []
        for query in dict.fromkeys((queries.support, queries.refute)):
            self.run.emit(QueryWritten(agent=gatherer.name, round=0, query=query))
            searches += [
                self.run.search(tool, query, each, agent=gatherer.name, claim=self.claim)
                for tool in self.settings.tools
            ]
        found = await together(searches)
        self.records[position] = tuple({p.sha256: p for passages in found for p in passages}.values())

    async def _analyse(self, position: Position) -> None:
        if not self.settings.analysts:
            return
        task = AnalyseText(claim=self.claim, position=position, profile=self.settings.profile)
        analysis, uncertainty = await self._measured(position, "analyst", task)
        self.analyses[position] = _Said(Argument(text=analysis.summary or "no issues"), uncertainty)
        self.run.emit(Spoke(agent=member_name(position, "analyst"), round=0, text=analysis.summary))

    async def _speeches(self, round_: int, opener: Position | None) -> list[Speech]:
        """Both teams' statements: at once, or the second in answer to the first's of this round (``D9``)."""
        last = {each.position: each.argument.text for each in self.speeches}
        if opener is None:
            return list(await together([self._speech(round_, position, last) for position in STANCES]))
        first = await self._speech(round_, opener, last)
        last[opener] = first.argument.text
        return [first, await self._speech(round_, OPPONENTS[opener], last)]

    async def _speech(self, round_: int, position: Position, last: Mapping[Position, str]) -> Speech:
        """Rebuttal and summary; in the first round the opponent's stance is what it said (``D11``)."""
        opponent = last.get(OPPONENTS[position], STANCES[OPPONENTS[position]])
        passages = await self._selected(round_, position, opponent)
        texts: dict[str, _Said] = {}
        if self.settings.rebutters:
            texts["rebutter"] = await self._rebuttal(round_, position, opponent, passages)
        if position in self.analyses:
            texts["analyst"] = self.analyses[position]
        if passages:
            lines = ((line, each.title) for each in passages for line in each.text.splitlines() if line.strip())
            texts["gatherer"] = _Said(Argument(text="\n".join(cited(*each) for each in lines)), None)
        said = await self._summary(round_, position, texts)
        quotes = [
            find_quote(text, self.records[position], side=SIDES[position], agent=member_name(position, "team"))
            for text in said.quotes
        ]
        self.quotes += quotes
        verified = tuple(
            Passage(**dict(each.source), text=each.text) for each in quotes if each.found and each.source is not None
        )
        return Speech(position=position, round=round_, argument=said, verified=verified)

    async def _selected(self, round_: int, position: Position, opponent: str) -> tuple[Passage, ...]:
        """Of the team's records those nearest to the claim and what the opponent said last (``D13``)."""
        records = self.records[position]
        if len(records) <= self.settings.selected:
            return records
        task = CompareTexts(
            reference=f"{self.claim.text} {opponent}",
            texts=tuple(each.text for each in records),
            profile=self.settings.profile,
        )
        near = (await self._agent(position, "gatherer").perform(task, round_=round_)).values
        order = sorted(range(len(records)), key=lambda place: -near[place])[: self.settings.selected]
        return tuple(records[place] for place in sorted(order))

    async def _rebuttal(self, round_: int, position: Position, opponent: str, passages: tuple[Passage, ...]) -> _Said:
        analysis = self.analyses[position].argument.text if position in self.analyses else ""
        task = Rebut(
            claim=self.claim,
            position=position,
            opponent=opponent,
            passages=passages,
            analysis=analysis,
            profile=self.settings.profile,
        )
        said = await self._measured(position, "rebutter", task, round_)
        self.run.emit(Spoke(agent=member_name(position, "rebutter"), round=round_, text=said[0].text))
        return _Said(*said)

    async def _summary(self, round_: int, position: Position, texts: Mapping[str, _Said]) -> Argument:
        """The team's statement; without a summariser its members' texts as they are, rebuttal first."""
        if not self.settings.summarisers:
            quotes = tuple(dict.fromkeys(quote for each in texts.values() for quote in each.argument.quotes))
            text = "\n".join(each.argument.text for each in texts.values()) or STANCES[position]
            return Argument(text=text, quotes=quotes)
        task = SummariseTeam(
            claim=self.claim, position=position, texts=self._told(texts), profile=self.settings.profile
        )
        said = await self._agent(position, "summariser").perform(task, round_=round_)
        self.run.emit(Spoke(agent=member_name(position, "summariser"), round=round_, text=said.text))
        return said

    def _told(self, texts: Mapping[str, _Said]) -> tuple[AgentText, ...]:
        """The members' texts with how sure each was, as the backend can use it (``D6``): as weights, else as levels."""
        unsure = {role: each.uncertainty for role, each in texts.items() if each.uncertainty is not None}
        values = tuple(unsure.values())
        if self.run.backend.weighs:
            sure = {role: {"weight": weight} for role, weight in zip(unsure, attention_weights(values), strict=True)}
        else:
            sure = {role: {"level": level} for role, level in zip(unsure, confidence_levels(values), strict=True)}
        return tuple(
            AgentText(agent=role, text=each.argument.text, **sure.get(role, {})) for role, each in texts.items()
        )

    async def _measured(
        self, position: Position, role: str, task: Task[Out], round_: int = 0
    ) -> tuple[Out, float | None]:
        """A member's answer, and how unsure of it the model was (``D6``, ``D7``)."""
        agent, measure = self._agent(position, role), self.settings.uncertainty
        if measure == "off" or not self.settings.summarisers:
            return await agent.perform(task, round_=round_), None
        found = await uncertain(agent, task, measure=measure, samples=self.settings.samples, round_=round_)
        return found.output.answer, found.value

    async def _vote(self, round_: int, referees: tuple[str, ...]) -> Outcome:
        """All referees at once; one that gives no judgement has no vote.

        Raises:
            BadReply: none gives one.
        """
        judged = await together([self._judge(round_, each) for each in referees])
        given = [each for each in judged if isinstance(each, Judgement)]
        if not given:
            raise next(each for each in judged if isinstance(each, BadReply))
        found = outcome([(each.voted, each.sure) for each in given], self.settings.rule)
        self.why = next((each.reason for each in given if each.voted == found.winner and each.reason), "")
        self.run.emit(
            RoundVoted(
                round=round_,
                winner=found.winner,
                consensus=round(found.consensus, 6),
                masses=dict(found.masses),
                weights=dict(found.weights),
            )
        )
        return found

    async def _judge(self, round_: int, referee: str) -> Judgement | BadReply:
        name = referee_name(referee)
        task = JudgeTeams(
            claim=self.claim,
            referee=referee,
            emphasis=EMPHASES.get(referee, f"You are the {referee} referee: what is {referee} counts most."),
            speeches=tuple(self.speeches),
            passages=() if self.speeches else tuple(p for found in self.records.values() for p in found),
            profile=self.settings.profile,
        )
        try:
            judgement = await Agent(name, self.run).perform(task, round_=round_)
        except BadReply as error:
            self.run.emit(Refereed(agent=name, round=round_, problem=error.what))
            return error
        self.run.emit(
            Refereed(
                agent=name,
                round=round_,
                vote=judgement.voted,
                confidence=judgement.sure,
                reason=judgement.reason,
                scores={position: judgement.scores(position) for position in STANCES},
            )
        )
        return judgement

    def _verdict(self, rounds: int, found: Outcome) -> Verdict:
        labels = self.claim.labels
        named = {"affirmative": labels.named(Meaning.SUPPORTED), "negative": labels.named(Meaning.REFUTED)}
        label = named.get(found.winner)
        if label is None:
            undecided = labels.named(Meaning.NOT_ENOUGH) if self.settings.tied == "not-enough" else None
            label = undecided or named["negative"]
        return Verdict(
            claim=self.claim,
            label=label,
            decided_by="referees",
            rounds=rounds,
            reason=self.why,
            quotes=distinct(self.quotes),
            gaps=gaps(self.run.events),
        )

    def _agent(self, position: Position, role: str) -> Agent:
        return Agent(member_name(position, role), self.run)
