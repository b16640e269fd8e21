"""Tool-MAD: debaters with their own evidence tools, a stability score, consensus or a judge.

Jeong et al., "Tool-MAD", arXiv 2601.04742, Algorithm 1. ``T1`` … ``T35`` are the resolutions of what the paper leaves
open, listed in ``docs/tool-mad.md``. The ``hardened`` profile adds to the paper: strangers' text is fenced in every
prompt, and a consensus needs a quotation that code found in each deciding debater's documents.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

from redargue.agents.agent import Agent
from redargue.backends.base import require
from redargue.claims import Claim, Frozen, Meaning
from redargue.concurrency import first_error, together
from redargue.events import Answered, EvidenceKept, Judged, QueryWritten, RoundEnded, Scored
from redargue.evidence import Passage, Quote, Side, find_quote
from redargue.protocols.base import Plan, methods
from redargue.protocols.quoting import distinct, gaps, side_of
from redargue.protocols.tool_mad_settings import JUDGE, MODERATOR, NO_TOOL, PROFILES, ToolMadSettings, debater_names
from redargue.run import Run
from redargue.scoring.consistency import consistency
from redargue.scoring.stability import stability
from redargue.tasks.answering import AnswerClaim
from redargue.tasks.base import AnyTask
from redargue.tasks.judging import CheckConsensus, JudgeDebate, MeanScore, Turn
from redargue.tasks.literature import SummariseAbstract, WriteKeywords
from redargue.tasks.querying import OtherAnswer, RewriteQuery, WriteQuery
from redargue.verdicts import Metric, Score, Verdict


@methods.register("tool-mad")
class ToolMad:
    """Algorithm 1."""

    name: ClassVar[str] = "tool-mad"
    about: ClassVar[str] = (
        "debaters with different evidence tools, scored for faithfulness and relevance; consensus or judge (2601.04742)"
    )
    paper: ClassVar[str] = "Jeong et al., Tool-MAD, 2026, arXiv 2601.04742"
    graph: ClassVar[str] = (
        "each round: (query -> search -> answer -> (statements -> check | question -> similarity)) of both "
        "debaters at once; without a consensus after the last: -> judge"
    )
    options: ClassVar[type[Frozen]] = ToolMadSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = PROFILES

    def __init__(self, settings: ToolMadSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """The debaters' tools."""
        return tuple(dict.fromkeys(each for each in self.settings.debaters if each != NO_TOOL))

    def agents(self) -> tuple[str, ...]:
        """The debaters, the judge, and who compares free-text answers."""
        return (*debater_names(self.settings.debaters), JUDGE, MODERATOR)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """Consensus at once; in the second round; never, with every round agreeing under the thresholds."""
        rounds = self.settings.rounds
        whole = self.settings.scoring == "run_all_rounds"
        return (
            self.settings.plan(rounds if whole else 1, judged=whole),
            self.settings.plan(rounds if whole else min(2, rounds), judged=whole),
            self.settings.plan(rounds, judged=True),
        )

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """What these settings ask of a backend."""
        queries: tuple[type[AnyTask], ...] = (WriteQuery, RewriteQuery) if self.settings.query_formulation else ()
        scores = self.settings.scoring_tasks
        papers: tuple[type[AnyTask], ...] = (WriteKeywords, SummariseAbstract) if self.settings.summarised else ()
        return (*queries, *papers, AnswerClaim, *scores, JudgeDebate)

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Debates until consensus or the last round, then judges.

        Raises:
            CannotPlay: the claim wants free text, and the backend cannot compare it.
        """
        if claim.labels.free_text:
            require(run.backend, self.name, (CheckConsensus,))
        try:
            async with asyncio.TaskGroup() as background:
                return await _Debate(self.settings, claim, run, background).hold()
        except BaseExceptionGroup as group:
            raise first_error(group) from None


class _Evidence(NamedTuple):
    """What a debater asked in a round, whether that was its last query, and the documents it reads."""

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
        self.alerts: dict[str, tuple[Metric, ...]] = {}
        self.found: dict[tuple[int, str], tuple[Passage, ...]] = {}  # what quotations are looked for in

    async def hold(self) -> Verdict:
        """Rounds 1 to T, then the judge."""
        for round_ in range(1, self.settings.rounds + 1):
            turns = await self._round(round_)
            self.history.append(turns)
            labels = tuple(turn.answer.label for turn in turns)
            agreed, shared = await self._shared(turns, round_)
            self.alerts = {}
            why = await self._objections(turns) if agreed else ("the debaters disagree",)
            accepted = agreed and not why
            self.run.emit(RoundEnded(round=round_, labels=labels, agreed=agreed, accepted=accepted, why=why))
            if accepted:
                sure = [turn.answer.confidence for turn in turns if turn.answer.confidence is not None]
                mean = sum(sure) / len(sure) if len(sure) == len(turns) else None
                return await self._verdict("consensus", shared, turns[0].answer.text, mean)
        return await self._judge()

    async def _shared(self, turns: tuple[Turn, ...], round_: int) -> tuple[bool, str | None]:
        """Whether all debaters gave one answer, and which; an unread label equals nothing (``T12``).

        Free text has no labels that could be equal: whether it says the same is a task of its own (``T29``).
        """
        labels = {turn.answer.label for turn in turns}
        if labels == {None} and self.settings.empty_equals_empty:
            return True, None
        if None in labels or (len(labels) > 1 and not self.claim.labels.free_text):
            return False, None
        if len(labels) == 1:
            return True, turns[0].answer.label
        answers = tuple(OtherAnswer(agent=turn.agent, text=turn.answer.text) for turn in turns)
        task = CheckConsensus(claim=self.claim, answers=answers, profile=self.settings.profile)
        agreement = await Agent(MODERATOR, self.run).perform(task, round_=round_)
        return bool(agreement.agree), (agreement.answer or turns[0].answer.label) if agreement.agree else None

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
                alert=self.alerts.get(debater.name, ()),
                label_reading=self.settings.label_reading,
                profile=self.settings.profile,
            ),
            round_=round_,
        )
        turn = Turn(agent=debater.name, round=round_, answer=answer, **evidence._asdict())
        side = side_of(self.claim.labels, answer.label)
        found = self.found.get((round_, debater.name), ())
        quotes = tuple(find_quote(text, found, side=side, agent=debater.name) for text in answer.quotes)
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
            found, passages = self.found[own.round, debater.name], own.passages
        else:
            found, passages = await self._search(round_, debater, query)
        self.found[round_, debater.name] = found
        return _Evidence(query, kept, passages)

    async def _search(self, round_: int, debater: Agent, query: str) -> tuple[tuple[Passage, ...], tuple[Passage, ...]]:
        """What the tool finds, and what the debater reads of it: summaries where the settings say so (``T26``).

        A document whose summary is blank is read whole: it was found, and nobody may drop it unseen.
        """
        k, profile = self.settings.top_k, self.settings.profile
        if debater.tool not in self.settings.summarised:
            found = await debater.search(query, k, round_=round_, claim=self.claim)
            return found, found
        keywords = await debater.perform(WriteKeywords(query=query, profile=profile), round_=round_)
        found = await debater.search(keywords.query or query, k, round_=round_, claim=self.claim)
        tasks = [
            SummariseAbstract(query=query, title=each.title, abstract=each.text, profile=profile) for each in found
        ]
        written = await together(debater.perform(task, round_=round_) for task in tasks)
        pairs = zip(found, written, strict=True)
        return found, tuple(
            each.model_copy(update={"text": said.summary if said.summary.strip() else each.text})
            for each, said in pairs
        )

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
        must_revise = debater.tool in self.settings.must_revise
        task = RewriteQuery(**dict(first), others=others, used=own.query, must_revise=must_revise)
        query = await debater.perform(task, round_=round_)
        kept = query.kept or query.text == own.query
        return (own.query if kept else query.text), kept

    def _start_scores(self, turn: Turn) -> asyncio.Task[tuple[Score, ...]]:
        """Begins to score an answer, once; the task's result is its scores."""
        key = turn.round, turn.agent
        if key not in self.scores:
            scoring = self._score(turn)
            try:
                self.scores[key] = self.background.create_task(scoring)
            except RuntimeError:  # the debate is over: another agent has failed
                scoring.close()
                raise asyncio.CancelledError from None
        return self.scores[key]

    async def _score(self, turn: Turn) -> tuple[Score, ...]:
        """The scores of one answer."""
        debater = next(each for each in self.debaters if each.name == turn.agent)
        contexts = tuple(passage.text for passage in turn.passages)
        if self.settings.judge_metric == "consistency":
            scores = await consistency(debater, turn.answer.text, contexts, round_=turn.round)
        else:
            scores = await stability(
                debater,
                self.claim.text,
                turn.answer.text,
                contexts,
                round_=turn.round,
                noncommittal=self.settings.noncommittal,
                one_request=self.settings.one_request,
                profile=self.settings.profile,
            )
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
                objections = [(score, self._objection(score)) for score in scores]
                why += [objection for _, objection in objections]
                self._alert(tuple(score for score, objection in objections if objection))
        if self.settings.profile == "hardened":
            why += [self._unquoted(turn) for turn in turns]
        return tuple(each for each in why if each)

    def _alert(self, low: tuple[Score, ...]) -> None:
        """Notes who is told in the next round that a score was too low (``T15``)."""
        told = self.settings.low_score_alert
        if low and (told == "all" or (told == "first" and not self.alerts)):
            self.alerts[low[0].agent] = tuple(score.metric for score in low)

    def _objection(self, score: Score) -> str:
        limit = self.settings.limits(self.run.backend.stability)[score.metric]
        if score.value is None and self.settings.undefined_passes:
            return ""
        if score.value is None:  # undefined fails the gate (T13)
            return f"{score.agent}: no {score.metric} ({score.undefined})"
        return "" if score.value > limit else f"{score.agent}: {score.metric} {score.value:.3f} is not above {limit:g}"

    def _unquoted(self, turn: Turn) -> str:
        decides = side_of(self.claim.labels, turn.answer.label) is not Side.CONTEXT
        found = self.found.get((turn.round, turn.agent), ())
        if not turn.query or not decides or any(find_quote(text, found).found for text in turn.answer.quotes):
            return ""
        return f"{turn.agent}: no quotation was found in its documents"

    async def _judge(self) -> Verdict:
        """The judge reads the whole debate (``T4``) and each debater's mean scores (``T2``)."""
        means = await self._means() if self.settings.judge_scores else ()
        seen = self.history if self.settings.judge_sees_last_round else self.history[:-1]
        history = tuple(turn for turns in seen for turn in turns)
        task = JudgeDebate(
            claim=self.claim,
            history=history,
            scores=means,
            label_reading=self.settings.label_reading,
            profile=self.settings.profile,
        )
        judgement = await Agent(JUDGE, self.run).perform(task)
        conflicting = self.claim.labels.named(Meaning.CONFLICTING)
        if judgement.label is None and self.settings.unread_is_conflicting and conflicting:
            judgement = judgement.model_copy(update={"label": conflicting, "confidence": None})
        passages = tuple(passage for turn in history for passage in self.found.get((turn.round, turn.agent), ()))
        side = side_of(self.claim.labels, judgement.label)
        self.quotes += [find_quote(text, passages, side=side, agent=JUDGE) for text in judgement.quotes]
        self.run.emit(Judged(text=judgement.text, label=judgement.label))
        return await self._verdict("judge", judgement.label, judgement.text, judgement.confidence)

    async def _means(self) -> tuple[MeanScore, ...]:
        """Each debater's mean over the rounds that have a score (``T2``, ``T3``, ``T13``)."""
        every = await asyncio.gather(*(self._start_scores(turn) for turns in self.history for turn in turns))
        flat = [score for scores in every for score in scores]
        means = []
        for debater in self.debaters:
            for metric in self.settings.metrics(armed=debater.tool is not None):
                values = [
                    each.value
                    for each in flat
                    if each.agent == debater.name and each.metric is metric and each.value is not None
                ]
                scored = len(values) if self.settings.judge_divisor == "rounds" else 3
                poisoned = self.settings.undefined_passes and len(values) < len(self.history)
                value = sum(values) / scored if values and not poisoned else None
                means.append(MeanScore(agent=debater.name, metric=metric, value=value))
        return tuple(means)

    async def _verdict(
        self, decided_by: Literal["consensus", "judge"], label: str | None, reason: str, confidence: float | None
    ) -> Verdict:
        scores = await asyncio.gather(*(self.scores[key] for key in sorted(self.scores)))
        return Verdict(
            claim=self.claim,
            label=label,
            confidence=confidence,
            decided_by=decided_by,
            rounds=len(self.history),
            round_labels=tuple(tuple(turn.answer.label for turn in turns) for turns in self.history),
            reason=reason,
            quotes=distinct(self.quotes),
            gaps=gaps(self.run.events),
            scores=tuple(score for each in scores for score in each),
        )


def _without(said: dict[str, OtherAnswer], name: str) -> tuple[OtherAnswer, ...]:
    return tuple(answer for agent, answer in said.items() if agent != name)
