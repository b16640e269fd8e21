"""Algorithm 1 of Tool-MAD (Jeong et al., arXiv 2601.04742); deviations from it are in ``__init__.py``."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import Any, NamedTuple

from redargue.backends import Stability
from redargue.claims import Claim, Meaning
from redargue.concurrency import first_error, gather_or_cancel
from redargue.errors import BadReply
from redargue.events import EvidenceKept, Judged, QueryWritten, RoundEnded, Scored, TurnKept
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.methods.base import Layout, Method, Roles
from redargue.methods.faithfulness import faithfulness, reasoning_of, without_quotations
from redargue.methods.tool_mad.settings import JUDGE, MODERATOR, NO_TOOL, TOOL_MAD_PROFILES, ToolMadSettings
from redargue.methods.tool_mad.tasks import (
    CheckConsensus,
    Evasive,
    ScoreAnswer,
    SummariseAbstract,
    WriteKeywords,
    consistency,
    relevance,
    score_together,
)
from redargue.quotes import find_quotes
from redargue.tasks.answer import Answer, AnswerClaim
from redargue.tasks.base import AnyTask
from redargue.tasks.judge import JudgeDebate, MeanScore, Turn, mean_confidence
from redargue.tasks.query import LONGEST_QUERY, OtherAnswer, RewriteQuery, WriteQuery
from redargue.tasks.sections import document_key, document_numbers, numbers_of, sourced
from redargue.verdicts import Metric, Score, Verdict

NOT_LOOKED_AGAIN = "the debaters have searched only once"


class Agreement(NamedTuple):
    """Whether all debaters of a round gave the same answer, and which."""

    reached: bool
    label: str | None = None


class Evidence(NamedTuple):
    """A debater's query of a round, whether it was kept from the last one, and the documents it reads.

    Attributes:
        numbers: of the documents in the whole claim, in their order; empty where they have none.
    """

    query: str
    kept: bool
    passages: tuple[Passage, ...]
    numbers: tuple[int, ...] = ()


class Algorithm1(Method):
    """The debate as the paper has it.

    Attributes:
        history: H of Algorithm 1, the turns of each round.
        scores: S of Algorithm 1, by round and agent; computed in the background.
        documents: D of Algorithm 1, by round and agent; quotations are looked up in them.
        kept: rounds and agents of turns that repeat the last round's.
        not_held: rounds that would repeat the last one; the judge reads them as if they had been held.
        alerts: the low scores of its last answer that a debater is warned about (``T15``).
        unread: why the last answer that could not be read was not; None where all could.
    """

    paper = "Jeong et al., Tool-MAD, 2026, arXiv 2601.04742"
    graph = (
        "each round: both debaters concurrently: query -> search -> answer -> (statements -> check | question -> "
        "similarity); no consensus after the last round: -> judge"
    )
    profiles = TOOL_MAD_PROFILES
    may_ask = (CheckConsensus,)

    settings: ToolMadSettings
    background: asyncio.TaskGroup

    async def check(self, claim: Claim) -> Verdict:
        if claim.labels.free_text:
            self.require(CheckConsensus)
        self.debaters = tuple(self.agents[name] for name in self.settings.debater_names)
        self.history: list[tuple[Turn, ...]] = [self.opening] if self.opening else []
        self.scores: dict[tuple[int, str], asyncio.Task[tuple[Score, ...]]] = {}
        self.documents = {(turn.round, turn.agent): turn.passages for turn in self.opening}
        self.alerts: dict[str, tuple[Metric, ...]] = {}
        self.objections = {turn.round: self.objected for turn in self.opening}
        self.kept: set[tuple[int, str]] = set()
        self.not_held = 0
        self.unread: BadReply | None = None
        try:
            async with asyncio.TaskGroup() as self.background:
                return await self.debate()
        except BaseExceptionGroup as group:
            raise first_error(group) from None

    async def debate(self) -> Verdict:
        """Algorithm 1: up to T rounds of query, retrieval and response, ended by consensus; else the judge decides."""
        for round_ in range(len(self.history) + 1, self.settings.rounds + 1):
            turns = await self.play_round(round_)
            self.history.append(turns)
            agreement = await self.agreement(turns)
            why = await self.why_open(turns, agreement)
            settled = bool(why) and self.is_settled(turns)
            self.report_round(turns, agreement, why, settled=settled)
            if not why:
                return await self.consensus(turns, agreement)
            if settled:
                self.not_held = self.settings.rounds - round_
                break
        return await self.judge()

    async def play_round(self, round_: int) -> tuple[Turn, ...]:
        """All debaters' turns, concurrently, each from the last round's answers (Eq. 6): query, retrieve, respond."""
        last = {turn.agent: turn for turn in self.history[-1]} if self.history else {}
        found = await self.gather(round_, last)
        readers = await self.readers(round_, found)
        found = self.numbered(found)
        answering = (
            self.take_turn(round_, each, found[each], self.heard_by(each.name, last), last.get(each.name))
            for each in dict.fromkeys(readers.values())
        )
        turns = {turn.agent: turn for turn in await gather_or_cancel(answering)}
        return tuple(self.share(turns[reader.name], each) for each, reader in readers.items())

    async def gather(self, round_: int, last: Mapping[str, Turn]) -> dict[Agent, Evidence]:
        """All debaters' queries and documents, concurrently, each from the others' answers of the last round."""
        gathering = (
            self.gather_evidence(round_, each, last.get(each.name), self.heard_by(each.name, last))
            for each in self.debaters
        )
        return dict(zip(self.debaters, await gather_or_cancel(gathering), strict=True))

    def numbered(self, found: Mapping[Agent, Evidence]) -> dict[Agent, Evidence]:
        """The evidence of a round with the numbers of its documents, which hold for every agent and round (hardened).

        A document's number is its place in the debate: by round, and within a round by debater.
        """
        if not self.hardened:
            return dict(found)
        read = [turn.passages for turn in chain.from_iterable(self.history)]
        known = document_numbers(chain(*read, *(evidence.passages for evidence in found.values())))
        return {
            debater: evidence._replace(numbers=numbers_of(evidence.passages, known))
            for debater, evidence in found.items()
        }

    async def take_turn(
        self, round_: int, debater: Agent, evidence: Evidence, others: tuple[OtherAnswer, ...], own: Turn | None
    ) -> Turn:
        if own and self.is_unchanged(own, evidence, others):
            return self.keep(round_, debater, own)
        return await self.respond(round_, debater, evidence, others, own)

    def heard_by(self, name: str, turns: Mapping[str, Turn]) -> tuple[OtherAnswer, ...]:
        """The others' answers; one that counts for this debater too is its own."""
        own = turns.get(name)
        read = (own.round, own.reader) if own else ()
        return self.heard(turn for turn in turns.values() if turn.agent != name and (turn.round, turn.reader) != read)

    async def readers(self, round_: int, found: dict[Agent, Evidence]) -> dict[Agent, Agent]:
        """Who reads for each debater: itself, or one before it whose tool has found the same passages.

        A debater that would read what another reads writes a query of its own first, if the claim was its first query.
        """
        readers: dict[Agent, Agent] = {}
        for debater in self.debaters:
            same = self.same_reading(found, debater, readers)
            if same and round_ == 1 and found[debater].query == self.claim.text and self.settings.query_formulation:
                found[debater] = await self.gather_evidence(round_, debater, None, (), claim_first=False)
                same = self.same_reading(found, debater, readers)
            readers[debater] = same or debater
        return readers

    def same_reading(
        self, found: Mapping[Agent, Evidence], debater: Agent, readers: Mapping[Agent, Agent]
    ) -> Agent | None:
        """A debater among those before it with the same passages of named documents; None where there is none."""
        passages = found[debater].passages
        named = all(passage.document or passage.url for passage in passages)
        if self.settings.shared_reading == "each" or not passages or not named:
            return None
        before = dict.fromkeys(readers.values())
        return next((each for each in before if _texts(found[each].passages) == _texts(passages)), None)

    def share(self, turn: Turn, debater: Agent) -> Turn:
        """A turn as that of a debater whose passages are the same; what it reads and says is one reading."""
        if turn.agent == debater.name:
            return turn
        self.documents[turn.round, debater.name] = self.documents[turn.round, turn.agent]
        if (turn.round, turn.agent) in self.kept:
            self.kept.add((turn.round, debater.name))
        facts = {"agent": debater.name, "round": turn.round, "label": turn.answer.label}
        self.run.emit(TurnKept(**facts, shared_with=turn.agent))
        return turn.model_copy(update={"agent": debater.name, "shared_with": turn.agent})

    def heard(self, turns: Iterable[Turn]) -> tuple[OtherAnswer, ...]:
        """Answers as other debaters hear them; hardened: with their quotations that were found, and the sources."""
        found = self.found_in if self.hardened else lambda turn: ()
        return tuple(OtherAnswer(agent=turn.agent, text=turn.answer.text, found=found(turn)) for turn in turns)

    def found_in(self, turn: Turn) -> tuple[str, ...]:
        """The quotations of an answer that its documents contain, with their sources and their documents' numbers."""
        passages = self.documents_of(turn)
        read: dict[str, Passage] = {}
        for passage, shown_as in zip(passages, turn.passages, strict=False):
            read.setdefault(passage.sha256, shown_as)  # a quotation is of the first of equal texts
        quotes = chain.from_iterable(find_quotes(text, passages) for text in turn.answer.quotes)
        shown = (
            f"[{turn.numbered[document_key(read[quote.passage])]}] {sourced(quote.text, quote.source)}"
            for quote in quotes
            if quote.source is not None
        )
        return tuple(dict.fromkeys(shown))

    def is_unchanged(self, own: Turn, evidence: Evidence, others: tuple[OtherAnswer, ...]) -> bool:
        """Whether a debater would be asked what it answered in the last round: only its own answer is new."""
        if not (self.hardened and self.settings.keep_unchanged):
            return False
        if own.answer.label is None or self.alerts.get(own.agent) or self.why_ungrounded(own):
            return False
        if self.settings.stable_by == "quotations" and len({turn.answer.label for turn in self.history[-1]}) == 1:
            known = {passage.sha256 for passage in own.passages}  # the others said the same
            return all(passage.sha256 in known for passage in evidence.passages)
        if own.round < 2:
            return False
        before = self.heard_by(own.agent, {turn.agent: turn for turn in self.history[own.round - 2]})
        return evidence.query == own.query and evidence.passages == own.passages and others == before

    def keep(self, round_: int, debater: Agent, own: Turn) -> Turn:
        """The last turn as this round's."""
        turn = own.model_copy(update={"round": round_, "kept": True})
        self.documents[round_, debater.name] = self.documents_of(own)
        self.kept.add((round_, debater.name))
        self.run.emit(TurnKept(agent=debater.name, round=round_, label=turn.answer.label))
        self.score_early(turn)
        return turn

    def is_settled(self, turns: tuple[Turn, ...]) -> bool:
        """Whether every further round would repeat this one, in which no debater has changed."""
        return all((turn.round, turn.agent) in self.kept for turn in turns)

    async def gather_evidence(
        self,
        round_: int,
        debater: Agent,
        own: Turn | None,
        others: tuple[OtherAnswer, ...],
        *,
        claim_first: bool = True,
    ) -> Evidence:
        """The debater's query and documents; a debater without a tool has neither (``T18``)."""
        if debater.tool is None:
            return Evidence("", False, ())
        query, kept = await self.write_query(round_, debater, own, others, claim_first=claim_first)
        self.run.emit(QueryWritten(agent=debater.name, round=round_, query=query, kept=kept))
        if kept and own and not debater.search_failed:  # its documents are kept; the tool is not asked (T7)
            self.run.emit(EvidenceKept(agent=debater.name, round=round_, tool=debater.tool, query=query))
            documents, passages = self.documents[own.round, debater.name], own.passages
        else:
            documents = await self.retrieve(round_, debater, query)
            passages = await self.summarise(round_, debater, query, documents)
        if self.hardened:
            new = {document.content: (document, read) for document, read in zip(documents, passages, strict=True)}
            kept_too = {key: pair for key, pair in self.quoted_by(debater.name).items() if key not in new}
            pairs = (new | kept_too).values()
            documents, passages = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
        self.documents[round_, debater.name] = documents
        return Evidence(query, kept, passages)

    def quoted_by(self, debater: str) -> dict[tuple[str, str], tuple[Passage, Passage]]:
        """The documents that a debater has quoted, which it keeps, each with the text that it was shown (``T36``)."""
        return {
            document.content: (document, passage)
            for turn in chain.from_iterable(self.history)
            if turn.agent == debater
            for document, passage in zip(self.documents_of(turn), turn.passages, strict=True)
            if any(find_quotes(text, (document,))[0].found for text in turn.answer.quotes)
        }

    def documents_of(self, turn: Turn) -> tuple[Passage, ...]:
        """What the author of a turn read, as the tool returned it."""
        return self.documents.get((turn.round, turn.agent), ())

    @property
    def hardened(self) -> bool:
        """Whether rules that the paper does not have apply."""
        return self.settings.profile == "hardened"

    async def write_query(
        self,
        round_: int,
        debater: Agent,
        own: Turn | None,
        others: tuple[OtherAnswer, ...],
        *,
        claim_first: bool,
    ) -> tuple[str, bool]:
        if not self.settings.query_formulation:
            return self.claim.text, own is not None
        assert debater.tool is not None
        tool = self.run.tools[debater.tool]
        first = self.task(WriteQuery, tool=tool.name, about=tool.about)
        if own is None and claim_first and self.searches_claim(debater):
            return self.claim.text, False
        if own is None:
            return (await debater.perform(first, round_=round_)).text or self.claim.text, False
        must_revise = debater.tool in self.settings.must_revise
        more: dict[str, Any] = {}
        if self.hardened:
            more["found"] = own.titles
            more["own"] = without_quotations(own.answer.text)
            more["quoted"] = self.found_in(own)
        task = RewriteQuery(**dict(first), others=others, used=own.query, must_revise=must_revise, **more)
        query = await debater.perform(task, round_=round_)
        kept = query.kept or query.text == own.query
        return (own.query if kept else query.text), kept

    def searches_claim(self, debater: Agent) -> bool:
        """Whether the claim is the debater's first query; of debaters that share a tool, only the first one's."""
        first = next(each for each in self.debaters if each.tool == debater.tool)
        return self.settings.first_query == "claim" and debater is first and len(self.claim.text) <= LONGEST_QUERY

    async def retrieve(self, round_: int, debater: Agent, query: str) -> tuple[Passage, ...]:
        """The tool's documents (Eq. 2), found by the query or, for literature, by its keywords (``T26``)."""
        if debater.tool in self.settings.summarised:
            task = WriteKeywords(query=query, profile=self.settings.profile)
            query = (await debater.perform(task, round_=round_)).query or query
        return await debater.search(query, self.settings.top_k, round_=round_)

    async def summarise(
        self, round_: int, debater: Agent, query: str, documents: tuple[Passage, ...]
    ) -> tuple[Passage, ...]:
        """What the debater reads: literature as summaries (``T26``); a blank summary is replaced by the document."""
        if debater.tool not in self.settings.summarised:
            return documents
        profile = self.settings.profile
        tasks = [SummariseAbstract(query=query, title=d.title, abstract=d.text, profile=profile) for d in documents]
        summaries = await gather_or_cancel(debater.perform(task, round_=round_) for task in tasks)
        return tuple(
            document.model_copy(update={"text": written.summary}) if written.summary.strip() else document
            for document, written in zip(documents, summaries, strict=True)
        )

    async def respond(
        self,
        round_: int,
        debater: Agent,
        evidence: Evidence,
        others: tuple[OtherAnswer, ...],
        own: Turn | None = None,
    ) -> Turn:
        """The debater's answer (Eq. 3, 6), which has no label if it cannot be read; scored in the background."""
        try:
            answer = await self.ask(
                debater,
                AnswerClaim,
                round_=round_,
                passages=evidence.passages,
                numbers=evidence.numbers,
                has_tool=debater.tool is not None,
                others=others,
                own=without_quotations(own.answer.text) if own and self.hardened else "",
                keeps_quoted=self.hardened and bool(self.quoted_by(debater.name)),
                ungrounded=self.why_ungrounded(own) if own else "",
                alert=self.alerts.get(debater.name, ()),
                label_reading=self.settings.label_reading,
            )
        except BadReply as error:
            self.unread, answer = error, Answer(text=error.raw, label=None)
        turn = Turn(agent=debater.name, round=round_, answer=answer, **evidence._asdict())
        self.answered(debater.name, answer, round_=round_, passages=self.documents_of(turn))
        self.score_early(turn)
        return turn

    def score_early(self, turn: Turn) -> None:
        """Starts the scoring of an answer whose scores are needed in any case."""
        if self.settings.scoring == "on" and self.settings.judge_scores and self.settings.stable_by == "scores":
            self.start_scoring(turn)

    async def agreement(self, turns: tuple[Turn, ...]) -> Agreement:
        """Whether all labels are equal (``T10``, ``T29``); an answer without one agrees with nothing (``T12``).

        Raises:
            BadReply: no answer of the debate could be read.
        """
        labels = {turn.answer.label for turn in turns}
        if self.unread and not any(turn.answer.label for turn in chain.from_iterable(self.history)):
            raise self.unread
        if None in labels or (len(labels) > 1 and not self.claim.labels.free_text):
            return Agreement(False)
        if len(labels) == 1:
            return Agreement(True, turns[0].answer.label)
        answers = tuple(OtherAnswer(agent=turn.agent, text=turn.answer.text) for turn in turns)
        compared = await self.ask(self.agents[MODERATOR], CheckConsensus, round_=turns[0].round, answers=answers)
        return Agreement(True, compared.answer or turns[0].answer.label) if compared.agree else Agreement(False)

    async def why_open(self, turns: tuple[Turn, ...], agreement: Agreement) -> tuple[str, ...]:
        """Why the debate does not end with this round; empty where its agreement is the verdict."""
        if not agreement.reached:
            return ("the debaters disagree",)
        if self.settings.scoring == "run_all_rounds":  # Fig. 10, ``T16``
            return ("all rounds are held",)
        ungrounded = tuple(f"{turn.agent}: {lacks}" for turn in turns if (lacks := self.why_ungrounded(turn)))
        readers = [turn for turn in turns if turn.query]
        if self.settings.stable_by == "quotations" and readers:
            if ungrounded:
                return ungrounded
            if agreement.label == self.claim.labels.named(Meaning.NOT_ENOUGH):
                return () if self.has_looked_again(turns) else (NOT_LOOKED_AGAIN,)
            if all(self.has_evidence(turn.answer.quotes, self.documents_of(turn)) for turn in readers):
                return ()
        scores = await self.gate_scores(turns)
        return (*(self.objection(score) for score in scores if not self.is_stable(score)), *ungrounded)

    def has_looked_again(self, turns: tuple[Turn, ...]) -> bool:
        """Whether the debaters have searched in words of their own, as far as they can: what is missing is not quoted.

        An agreement that something is missing is about the search, and holds once another search has not ended it.
        """
        return turns[0].round > 1 or self.settings.rounds == 1 or not self.settings.query_formulation

    async def gate_scores(self, turns: tuple[Turn, ...]) -> tuple[Score, ...]:
        """The scores of this round, all of which a consensus requires to be stable (``T1``)."""
        if self.settings.scoring != "on":
            return ()
        scoring = dict.fromkeys(map(self.start_scoring, turns))  # a shared answer is scored once
        return tuple(chain.from_iterable(await asyncio.gather(*scoring)))

    def is_stable(self, score: Score) -> bool:
        """Whether a score is above its threshold; an undefined one is not (``T13``)."""
        return score.value is not None and score.value > self.threshold(score.metric)

    def threshold(self, metric: Metric) -> float:
        return self.settings.limits(self.run.backend.stability)[metric]

    def why_ungrounded(self, turn: Turn) -> str:
        """Hardened only: why a debater's quotations do not carry its label for or against the claim; else empty."""
        if not turn.query:
            return ""
        return self.why_not_yet(turn.answer.label, turn.answer.quotes, self.documents_of(turn))

    async def consensus(self, turns: tuple[Turn, ...], agreement: Agreement) -> Verdict:
        """The agreed answer, with the debaters' mean confidence where all of them are calibrated."""
        known = {"label": agreement.label, "confidence": mean_confidence(turns)}
        answer = turns[0].answer.model_copy(update=known)
        return await self.conclude(answer, decided_by="consensus")

    async def judge(self) -> Verdict:
        """The judge reads the whole debate (``T4``) and each debater's mean scores (Eq. 7, ``T2``)."""
        history = tuple(chain.from_iterable(self.judged_rounds()))
        held = len(self.history)
        # the hardened prompt says why the last round that it shows was not accepted; the paper's says nothing of it
        shown = min(held, history[-1].round) if history and self.hardened else held
        judgement = await self.ask(
            self.agents[JUDGE],
            JudgeDebate,
            history=history,
            scores=await self.mean_scores() if self.settings.judge_scores else (),
            objections=self.objections.get(shown, ()),
            conflict_caution=self.settings.unread_is_conflicting,
            label_reading=self.settings.label_reading,
        )
        passages = [passage for turn in history for passage in self.documents_of(turn)]
        self.cite(judgement.quotes, label=judgement.label, agent=JUDGE, passages=passages)
        self.run.emit(Judged(text=judgement.text, label=judgement.label, **judgement.noted))
        return await self.conclude(judgement, decided_by="judge")

    def judged_rounds(self) -> list[tuple[Turn, ...]]:
        """The rounds that the judge reads: all, those that were not held as copies of the last."""
        last = self.history[-1]
        again = range(last[0].round + 1, last[0].round + 1 + self.not_held)
        return [*self.history, *(tuple(turn.model_copy(update={"round": at}) for turn in last) for at in again)]

    async def mean_scores(self) -> tuple[MeanScore, ...]:
        """Each debater's mean over the rounds that have a score (``T2``, ``T3``, ``T13``), those not held included."""
        turns = [*chain.from_iterable(self.history), *self.history[-1] * self.not_held]
        values: dict[tuple[str, Metric], list[float]] = defaultdict(list)
        for turn, scores in zip(turns, await asyncio.gather(*map(self.start_scoring, turns)), strict=True):
            for score in scores:
                if score.value is not None:
                    values[turn.agent, score.metric].append(score.value)
        return tuple(
            MeanScore(agent=debater.name, metric=metric, value=self.mean(values[debater.name, metric]))
            for debater in self.debaters
            for metric in self.settings.metrics(has_documents=debater.tool is not None)
        )

    def mean(self, values: list[float]) -> float | None:
        return sum(values) / len(values) if values else None

    def start_scoring(self, turn: Turn) -> asyncio.Task[tuple[Score, ...]]:
        key = turn.round, turn.reader
        if key not in self.scores:
            earlier = [task for (round_, reader), task in self.scores.items() if reader == key[1] and round_ < key[0]]
            scoring = self.score(turn.model_copy(update={"agent": turn.reader}), after=earlier)
            try:
                self.scores[key] = self.background.create_task(scoring)
            except RuntimeError:  # the task group is closed, because another agent has failed
                scoring.close()
                raise asyncio.CancelledError from None
        return self.scores[key]

    async def score(self, turn: Turn, *, after: Collection[asyncio.Task[tuple[Score, ...]]] = ()) -> tuple[Score, ...]:
        """The metrics of one answer; without documents there is relevance alone, or nothing (``T18``)."""
        if after and self.settings.keep_unchanged:
            # A question that is asked in two rounds is asked once: which round asks it must not depend on their speed,
            # or a replay would look for it in the other round.
            await asyncio.wait(after)
        settings, debater, answer, claim = self.settings, self.agents[turn.agent], turn.answer.text, self.claim.text
        about, label = answer, turn.answer.label
        rule: Evasive = settings.noncommittal
        if self.hardened:
            others = [debater.name for debater in self.debaters if debater.name != turn.agent]
            about = reasoning_of(answer, claim, others)
            if about != answer and label is not None and label == self.claim.labels.named(Meaning.NOT_ENOUGH):
                rule = "never"  # reasons why the documents do not settle the claim answer the question (T38)
        read: dict[str, Any] = {"passages": turn.passages, "numbers": turn.numbers}
        shared: dict[str, Any] = {"round_": turn.round, "profile": settings.profile}
        metrics = {
            Metric.FAITHFULNESS: lambda: faithfulness(debater, claim, about, **read, **shared),
            Metric.RELEVANCE: lambda: relevance(
                debater, claim, about, asked=settings.asked, noncommittal=rule, **shared
            ),
            Metric.CONSISTENCY: lambda: consistency(
                debater, answer, tuple(passage.text for passage in turn.passages), round_=turn.round
            ),
        }
        names = settings.metrics(has_documents=debater.tool is not None)
        scores: tuple[Score, ...]
        if settings.scores_together and len(names) > 1:
            task = self.task(ScoreAnswer, label=label, answer=about, **read)
            scores = await score_together(debater, task, round_=turn.round, noncommittal=rule)
        else:
            scores = tuple(await gather_or_cancel(metrics[name]() for name in names))
        for score in scores:
            self.run.emit(Scored(agent=turn.agent, round=turn.round, score=score))
        return scores

    def report_round(
        self, turns: tuple[Turn, ...], agreement: Agreement, why: tuple[str, ...], *, settled: bool
    ) -> None:
        if agreement.reached and self.settings.scoring != "run_all_rounds":
            self.objections[turns[0].round] = why
        labels = tuple(turn.answer.label for turn in turns)
        ended: dict[str, Any] = {"labels": labels, "agreed": agreement.reached, "accepted": not why, "why": why}
        not_held = self.settings.rounds - turns[0].round if settled else 0
        if not why:
            quoted = (self.quoted_by(turn.agent).values() for turn in turns)
            ended["documents"] = len({document_key(document) for pairs in quoted for document, _ in pairs})
        self.run.emit(RoundEnded(round=turns[0].round, not_held=not_held, **ended))

    def objection(self, score: Score) -> str:
        name = score.metric.replace("_", " ")
        if score.value is None:
            return f"{score.agent}: its {name} could not be measured"
        return f"{score.agent}: {name} {score.value:.3f} is not above {self.threshold(score.metric):g}"

    async def conclude(self, answer: Answer, *, decided_by: str) -> Verdict:
        scored = await asyncio.gather(*(self.scores[key] for key in sorted(self.scores)))
        return self.verdict_of(
            answer,
            decided_by=decided_by,
            rounds=len(self.history),
            round_labels=[tuple(turn.answer.label for turn in turns) for turns in self.history],
            scores=chain.from_iterable(scored),
        )

    @classmethod
    def roles_for(cls, settings: ToolMadSettings) -> Roles:
        debaters = zip(settings.debater_names, settings.debaters, strict=True)
        roles = {name: None if tool == NO_TOOL else tool for name, tool in debaters}
        return roles | {JUDGE: None, MODERATOR: None}  # the moderator compares free-text answers

    @classmethod
    def layout(cls, settings: ToolMadSettings) -> Layout:
        return Layout({name: (name,) for name in settings.debater_names})

    @classmethod
    def limits(cls, settings: ToolMadSettings, stability: Stability) -> Mapping[Metric, float]:
        return settings.limits(stability) if settings.scoring == "on" else {}

    @classmethod
    def asks_for(cls, settings: ToolMadSettings) -> tuple[type[AnyTask], ...]:
        queries: tuple[type[AnyTask], ...] = (WriteQuery, RewriteQuery) if settings.query_formulation else ()
        papers: tuple[type[AnyTask], ...] = (WriteKeywords, SummariseAbstract) if settings.summarised else ()
        return (*queries, *papers, AnswerClaim, *settings.scoring_tasks, JudgeDebate)


def _texts(passages: Iterable[Passage]) -> frozenset[str]:
    return frozenset(passage.sha256 for passage in passages)
