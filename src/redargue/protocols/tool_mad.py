"""Tool-MAD: debaters with their own evidence tools, a stability score, consensus or a judge.

Jeong et al., "Tool-MAD", arXiv 2601.04742, Algorithm 1. ``T1`` … ``T35`` are the resolutions of what the paper leaves
open, listed in ``docs/tool-mad.md``. The ``hardened`` profile adds to the paper: strangers' text is fenced in every
prompt, and a consensus needs a quotation that code found in each deciding debater's documents.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from redargue.agents.agent import Agent
from redargue.backends.base import Stability
from redargue.claims import Claim, Frozen, LabelSet, Meaning
from redargue.events import Answered, EvidenceKept, EvidenceMissing, Judged, QueryWritten, RoundEnded, Scored
from redargue.evidence import Passage, Quote, Side, find_quote
from redargue.protocols.base import methods
from redargue.run import Run, first_error
from redargue.scoring.faithfulness import faithfulness
from redargue.scoring.relevance import Noncommittal, relevance
from redargue.tasks.answering import AnswerClaim
from redargue.tasks.base import AnyTask, Profile
from redargue.tasks.judging import JudgeDebate, MeanScore, Turn
from redargue.tasks.querying import OtherAnswer, RewriteQuery, WriteQuery
from redargue.tasks.scoring import CheckStatements, CompareTexts, WriteQuestion, WriteStatements
from redargue.verdicts import Metric, Score, Verdict

NO_TOOL = "none"


class ToolMadSettings(Frozen):
    """Settings of ``tool-mad``; the defaults are the paper's, the ablations are fields.

    Attributes:
        profile: ``paper`` or ``hardened``.
        debaters: each one's evidence tool, or ``none`` (the paper's VANILLA); two of a kind, or three, may be given.
        rounds: T, the most debate rounds.
        top_k: documents a query returns.
        faithfulness_threshold: what faithfulness has to exceed; None for the backend's own (the paper's is 0.7).
        relevance_threshold: what answer relevance has to exceed; None for the backend's own (the paper's is 0.8).
        query_formulation: off: the claim itself is the query in every round (Fig. 9).
        scoring: off (Fig. 10, which can be read in two ways, ``T16``): ``label_only_stop`` ends on agreement whatever
            the scores; ``run_all_rounds`` never ends before the last round.
        judge_scores: whether the judge is shown the scores (``T17``).
        order: whether debaters answer at once from the last round (Eq. 6) or each hears those before it in this round
            (``T5``).
        noncommittal: how many of three questions make an answer noncommittal (see ``scoring.relevance``).
        one_request: three questions from one request, or from three.
    """

    profile: Profile = "hardened"
    debaters: tuple[str, ...] = Field(default=("corpus", "keywords"), min_length=2, max_length=8)
    rounds: int = Field(default=3, ge=1, le=20)
    top_k: int = Field(default=3, ge=1, le=50)
    faithfulness_threshold: float | None = Field(default=None, ge=0, le=1)
    relevance_threshold: float | None = Field(default=None, ge=-1, le=1)
    query_formulation: bool = True
    scoring: Literal["on", "label_only_stop", "run_all_rounds"] = "on"
    judge_scores: bool = True
    order: Literal["simultaneous", "sequential"] = "simultaneous"
    noncommittal: Noncommittal = "any"
    one_request: bool = True

    def limits(self, stability: Stability) -> dict[Metric, float]:
        """What each metric has to exceed, with a backend's own thresholds where none are set."""
        faithful, relevant = self.faithfulness_threshold, self.relevance_threshold
        return {
            Metric.FAITHFULNESS: stability.faithfulness if faithful is None else faithful,
            Metric.RELEVANCE: stability.relevance if relevant is None else relevant,
        }


@methods.register("tool-mad")
class ToolMad:
    """Algorithm 1."""

    name: ClassVar[str] = "tool-mad"
    about: ClassVar[str] = (
        "debaters with different evidence tools, scored for faithfulness and relevance; consensus or judge (2601.04742)"
    )
    options: ClassVar[type[Frozen]] = ToolMadSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"faithfulness_threshold": 0.7, "relevance_threshold": 0.8},
        "hardened": {},
    }

    def __init__(self, settings: ToolMadSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """The debaters' tools."""
        return tuple(dict.fromkeys(each for each in self.settings.debaters if each != NO_TOOL))

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """What these settings ask of a backend."""
        queries: tuple[type[AnyTask], ...] = (WriteQuery, RewriteQuery) if self.settings.query_formulation else ()
        scores = (WriteStatements, CheckStatements, WriteQuestion, CompareTexts) if self._scores_wanted() else ()
        return (*queries, AnswerClaim, *scores, JudgeDebate)

    def _scores_wanted(self) -> bool:
        return self.settings.scoring == "on" or self.settings.judge_scores

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Debates until consensus or the last round, then judges."""
        try:
            async with asyncio.TaskGroup() as background:
                return await _Debate(self.settings, claim, run, background).hold()
        except BaseExceptionGroup as group:
            raise first_error(group) from None


class _Evidence(NamedTuple):
    """What a debater asked in a round, whether that was its last query, and the documents it has."""

    query: str
    kept: bool
    passages: tuple[Passage, ...]


class _Debate:
    """One claim's debate: Algorithm 1 with its state H (``history``) and S (``scores``)."""

    def __init__(self, settings: ToolMadSettings, claim: Claim, run: Run, background: asyncio.TaskGroup) -> None:
        self.settings, self.claim, self.run, self.background = settings, claim, run, background
        self.debaters = tuple(
            Agent(name, run, tool=None if tool == NO_TOOL else tool)
            for name, tool in zip(debater_names(settings.debaters), settings.debaters, strict=True)
        )
        self.history: list[tuple[Turn, ...]] = []
        self.quotes: list[Quote] = []
        self.scores: dict[tuple[int, str], asyncio.Task[tuple[Score, ...]]] = {}

    async def hold(self) -> Verdict:
        """Rounds 1 to T, then the judge."""
        for round_ in range(1, self.settings.rounds + 1):
            turns = await self._round(round_)
            self.history.append(turns)
            labels = tuple(turn.answer.label for turn in turns)
            agreed = None not in labels and len(set(labels)) == 1  # unparsed equals nothing (T12)
            why = await self._objections(turns) if agreed else ("the debaters disagree",)
            accepted = agreed and not why
            self.run.emit(RoundEnded(round=round_, labels=labels, agreed=agreed, accepted=accepted, why=why))
            if accepted:
                return await self._verdict("consensus", labels[0], turns[0].answer.text)
        return await self._judge()

    async def _round(self, round_: int) -> tuple[Turn, ...]:
        """All debaters' turns, at once; each starts from what was said in the last round."""
        last = self.history[-1] if self.history else ()
        spoken: list[asyncio.Future[Turn]] = [asyncio.get_running_loop().create_future() for _ in self.debaters]

        async def take_turn(place: int, debater: Agent) -> Turn:
            before = spoken[:place] if self.settings.order == "sequential" and last else []
            turn = await self._turn(round_, debater, last, before)
            spoken[place].set_result(turn)
            return turn

        async with asyncio.TaskGroup() as group:
            turns = [group.create_task(take_turn(*each)) for each in enumerate(self.debaters)]
        return tuple(turn.result() for turn in turns)

    async def _turn(
        self, round_: int, debater: Agent, last: tuple[Turn, ...], before: list[asyncio.Future[Turn]]
    ) -> Turn:
        """Query, retrieve, respond (Eq. 1 to 6); the scores of the answer are computed beside what follows."""
        said = {turn.agent: OtherAnswer(agent=turn.agent, text=turn.answer.text) for turn in last}
        own = next((turn for turn in last if turn.agent == debater.name), None)
        evidence = await self._evidence(round_, debater, own, _without(said, debater.name))
        for earlier in before:
            spoken = await earlier
            said[spoken.agent] = OtherAnswer(agent=spoken.agent, text=spoken.answer.text)
        answer = await debater.perform(
            AnswerClaim(
                claim=self.claim,
                passages=evidence.passages,
                has_tool=debater.tool is not None,
                others=_without(said, debater.name),
                profile=self.settings.profile,
            ),
            round_=round_,
        )
        turn = Turn(agent=debater.name, round=round_, answer=answer, **evidence._asdict())
        side = side_of(self.claim.labels, answer.label)
        quotes = tuple(find_quote(text, turn.passages, side=side, agent=debater.name) for text in answer.quotes)
        self.quotes += quotes
        self.run.emit(Answered(agent=debater.name, round=round_, text=answer.text, label=answer.label, quotes=quotes))
        if self.settings.scoring == "on" and self.settings.judge_scores:
            self._start_scores(turn)
        return turn

    async def _evidence(
        self, round_: int, debater: Agent, own: Turn | None, others: tuple[OtherAnswer, ...]
    ) -> _Evidence:
        """The debater's query and documents; a debater without a tool has neither (``T18``)."""
        if debater.tool is None:
            return _Evidence("", False, ())
        query, kept = await self._query(round_, debater, own, others)
        self.run.emit(QueryWritten(agent=debater.name, round=round_, query=query, kept=kept))
        if kept and own:  # a kept query keeps its documents; the tool is not asked (T7)
            self.run.emit(EvidenceKept(agent=debater.name, round=round_, tool=debater.tool, query=query))
            passages = own.passages
        else:
            passages = await debater.search(query, self.settings.top_k, round_=round_)
        return _Evidence(query, kept, passages)

    async def _query(
        self, round_: int, debater: Agent, own: Turn | None, others: tuple[OtherAnswer, ...]
    ) -> tuple[str, bool]:
        """The query of this round, and whether it is the last round's."""
        if not self.settings.query_formulation:
            return self.claim.text, own is not None
        assert debater.tool is not None
        tool = self.run.tools[debater.tool]
        first = WriteQuery(claim=self.claim, tool=tool.name, about=tool.about, profile=self.settings.profile)
        if own is None:
            return (await debater.perform(first, round_=round_)).text or self.claim.text, False
        task = RewriteQuery(**dict(first), others=others, used=own.query)
        query = await debater.perform(task, round_=round_)
        kept = query.kept or query.text == own.query
        return (own.query if kept else query.text), kept

    def _start_scores(self, turn: Turn) -> asyncio.Task[tuple[Score, ...]]:
        """Begins to score an answer, once; the task's result is its scores."""
        key = turn.round, turn.agent
        if key not in self.scores:
            self.scores[key] = self.background.create_task(self._score(turn))
        return self.scores[key]

    async def _score(self, turn: Turn) -> tuple[Score, ...]:
        """Both metrics of one answer, at once; no faithfulness without documents to be faithful to (``T18``)."""
        debater = next(each for each in self.debaters if each.name == turn.agent)
        profile, text = self.settings.profile, turn.answer.text
        async with asyncio.TaskGroup() as group:
            wanted = [
                group.create_task(
                    relevance(
                        debater,
                        self.claim.text,
                        text,
                        round_=turn.round,
                        profile=profile,
                        noncommittal=self.settings.noncommittal,
                        one_request=self.settings.one_request,
                    )
                )
            ]
            if debater.tool is not None:
                contexts = tuple(passage.text for passage in turn.passages)
                wanted.insert(
                    0,
                    group.create_task(
                        faithfulness(debater, self.claim.text, text, contexts, round_=turn.round, profile=profile)
                    ),
                )
        scores = tuple(each.result() for each in wanted)
        for score in scores:
            self.run.emit(Scored(agent=turn.agent, round=turn.round, score=score))
        return scores

    async def _objections(self, turns: tuple[Turn, ...]) -> tuple[str, ...]:
        """Why an agreed round is not accepted: a score of this round is not above its threshold (``T1``)."""
        if self.settings.scoring == "run_all_rounds":
            return ("all rounds are held",)
        why = []
        if self.settings.scoring == "on":
            for scores in await asyncio.gather(*(self._start_scores(turn) for turn in turns)):
                why += [self._objection(score) for score in scores]
        if self.settings.profile == "hardened":
            why += [self._unquoted(turn) for turn in turns]
        return tuple(each for each in why if each)

    def _objection(self, score: Score) -> str:
        limit = self.settings.limits(self.run.backend.stability)[score.metric]
        if score.value is None:  # undefined fails the gate (T13)
            return f"{score.agent}: no {score.metric} ({score.undefined})"
        return "" if score.value > limit else f"{score.agent}: {score.metric} {score.value:.3f} is not above {limit:g}"

    def _unquoted(self, turn: Turn) -> str:
        decides = side_of(self.claim.labels, turn.answer.label) is not Side.CONTEXT
        if not turn.query or not decides or any(find_quote(text, turn.passages).found for text in turn.answer.quotes):
            return ""
        return f"{turn.agent}: no quotation was found in its documents"

    async def _judge(self) -> Verdict:
        """The judge reads the whole debate (``T4``) and each debater's mean scores (``T2``)."""
        means = await self._means() if self.settings.judge_scores else ()
        history = tuple(turn for turns in self.history for turn in turns)
        task = JudgeDebate(claim=self.claim, history=history, scores=means, profile=self.settings.profile)
        judgement = await Agent("judge", self.run).perform(task)
        passages = tuple(passage for turn in history for passage in turn.passages)
        side = side_of(self.claim.labels, judgement.label)
        self.quotes += [find_quote(text, passages, side=side, agent="judge") for text in judgement.quotes]
        self.run.emit(Judged(text=judgement.text, label=judgement.label))
        return await self._verdict("judge", judgement.label, judgement.text)

    async def _means(self) -> tuple[MeanScore, ...]:
        """Each debater's mean over the rounds that have a score (``T2``, ``T3``, ``T13``)."""
        every = await asyncio.gather(*(self._start_scores(turn) for turns in self.history for turn in turns))
        flat = [score for scores in every for score in scores]
        means = []
        for debater in self.debaters:
            metrics = (Metric.FAITHFULNESS, Metric.RELEVANCE) if debater.tool else (Metric.RELEVANCE,)
            for metric in metrics:
                values = [
                    each.value
                    for each in flat
                    if each.agent == debater.name and each.metric is metric and each.value is not None
                ]
                means.append(
                    MeanScore(agent=debater.name, metric=metric, value=sum(values) / len(values) if values else None)
                )
        return tuple(means)

    async def _verdict(self, decided_by: Literal["consensus", "judge"], label: str | None, reason: str) -> Verdict:
        scores = await asyncio.gather(*(self.scores[key] for key in sorted(self.scores)))
        gaps = dict.fromkeys(
            f"{event.tool} failed for {event.query!r}: {event.why}"
            if isinstance(event, EvidenceMissing)
            else f"{event.tool} found nothing for {event.query!r}"
            for event in self.run.events
            if isinstance(event, EvidenceMissing) or (event.kind == "evidence_found" and not event.passages)
        )
        return Verdict(
            claim=self.claim,
            label=label,
            decided_by=decided_by,
            rounds=len(self.history),
            reason=reason,
            quotes=_distinct(self.quotes),
            gaps=tuple(gaps),
            scores=tuple(score for each in scores for score in each),
        )


def debater_names(tools: tuple[str, ...]) -> tuple[str, ...]:
    """A debater is called after its tool, numbered where several have the same; without one it is ``vanilla``."""
    plain = ["vanilla" if tool == NO_TOOL else tool for tool in tools]
    seen: Counter[str] = Counter()
    names = []
    for name in plain:
        seen[name] += 1
        names.append(f"{name}-{seen[name]}" if plain.count(name) > 1 else name)
    return tuple(names)


def side_of(labels: LabelSet, label: str | None) -> Side:
    """What the quotations of an answer with that label speak for."""
    if label is None or labels.free_text:
        return Side.CONTEXT
    return {Meaning.SUPPORTED: Side.FOR, Meaning.REFUTED: Side.AGAINST}.get(labels.meaning(label), Side.CONTEXT)


def _without(said: dict[str, OtherAnswer], name: str) -> tuple[OtherAnswer, ...]:
    return tuple(answer for agent, answer in said.items() if agent != name)


def _distinct(quotes: list[Quote]) -> tuple[Quote, ...]:
    """Each span once, in a fixed order: found ones first, then by side and agent."""
    order = sorted(quotes, key=lambda q: (not q.found, q.side, q.agent == "judge", q.agent, q.passage, q.start, q.text))
    seen: dict[tuple[str, str], Quote] = {}
    for quote in order:  # two tools may cut the same sentence out of one document in two passages
        document = (quote.source.document if quote.source else "") or quote.passage
        seen.setdefault((document, quote.text), quote)
    return tuple(seen.values())
