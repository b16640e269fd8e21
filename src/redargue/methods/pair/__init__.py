"""Pair: two readers of the same evidence, and a debate between them only where they do not agree.

It has no publication. What the two readers differ in is their model, or the question that they are asked.
"""

from __future__ import annotations

from itertools import chain
from typing import Literal

from pydantic import Field

from redargue.claims import Claim, Meaning
from redargue.concurrency import gather_or_cancel
from redargue.errors import UsageError
from redargue.events import RoundEnded
from redargue.evidence import Passage, distinct_passages
from redargue.methods.agent import Agent
from redargue.methods.base import ConfiguredMethod, Layout, Method, Roles, SearchSettings, configure
from redargue.methods.gathering import open_query
from redargue.methods.setting_types import Word
from redargue.methods.verdict_parts import distinct, read_quotes, side_of, why_unsettled
from redargue.tasks.answer import Answer, AnswerClaim
from redargue.tasks.base import AnyTask
from redargue.tasks.judge import Turn, mean_confidence
from redargue.tasks.score import ReadPassages
from redargue.verdicts import Verdict

FIRST, SECOND = "first", "second"


class PairSettings(SearchSettings):
    """Settings of ``pair``.

    Attributes:
        tools: each is searched for both sides; in a debate the first reader searches with the first of them, the second
            reader with the next one.
        top_k: passages per tool and query.
        differ: how the second reader differs from the first: another ``model`` answers the same question; the same
            model is asked to look for what makes the claim wrong (``question``); ``auto``: a model where the two
            readers have different ones, else the question.
        rounds: most rounds with the readings, which are the first; the judge decides after the last.
        small_reader: whether the small reader reads what they quote; where it reads the other side, there is a debate.
            Replayed on 36 claims it cost a call a claim and mended none (``python -m benchmarks defaults``).
    """

    tools: tuple[Word, ...] = Field(default=("corpus", "keywords"), min_length=1, max_length=8)
    differ: Literal["auto", "model", "question"] = "auto"
    rounds: int = Field(default=2, ge=1, le=20)
    small_reader: bool = False

    @property
    def debater(self) -> ConfiguredMethod:
        """Tool-MAD between the readers, without scores: an agreement of theirs needs quotations instead."""
        tools = (self.tools * 2)[:2]
        given = {"debaters": tools, "names": (FIRST, SECOND), "rounds": self.rounds, "top_k": self.top_k}
        return configure("tool-mad", self.profile, given | {"scoring": "label_only_stop", "judge_scores": False})


class DoubtClaim(AnswerClaim):
    """:class:`AnswerClaim`, asked of a reader who first looks for what would make the claim wrong.

    The labels mean what they mean for the claim, so that no label has to be turned round.
    """


class Pair(Method, name="pair", settings=PairSettings):
    """Two readers, of two models or with opposed questions; a debate between them only where they do not agree.

    Their agreement is the verdict if each quotes words that are located in the evidence and can carry the label, and it
    is not that the evidence settles nothing; on request also if the small reader does not read the other side in what
    they quote.
    """

    paper = "none: redargue's own, over the debate of Tool-MAD"
    graph = "searches for both sides -> (first | second); no agreement: -> Tool-MAD from its second round on -> judge"
    profiles = {"hardened": {}}

    settings: PairSettings

    async def check(self, claim: Claim, first: Agent, second: Agent) -> Verdict:
        if self.opening:  # read together with other claims
            return await self.debate(self.opening, self.objected)
        kinds = self.questions(first, second)
        query = open_query(claim.text)
        passages = await self.gather(first, second, query)
        answers = await gather_or_cancel(
            self.ask(reader, kind, round_=1, passages=passages)
            for reader, kind in zip((first, second), kinds, strict=True)
        )
        turns = tuple(
            Turn(agent=name, round=1, query=searched, passages=passages, answer=answer)
            for name, searched, answer in zip((FIRST, SECOND), (claim.text, query), answers, strict=True)
        )
        verdict = self.agreement(turns)
        why = await self.why_open(turns, verdict, second)
        labels = tuple(answer.label for answer in answers)
        self.run.emit(RoundEnded(round=1, labels=labels, agreed=len({*labels}) == 1, accepted=not why, why=why))
        return await self.debate(turns, why) if why else verdict

    def questions(self, first: Agent, second: Agent) -> tuple[type[AnswerClaim], type[AnswerClaim]]:
        """The tasks of the two readers.

        Raises:
            UsageError: the setting asks for two models, and both readers have one.
        """
        models = [self.run.named_model(AnswerClaim, reader.name) for reader in (first, second)]
        if self.settings.differ == "question" or (self.settings.differ == "auto" and models[0] == models[1]):
            return AnswerClaim, DoubtClaim
        if models[0] == models[1]:
            raise UsageError(
                f"both readers of pair have the model {models[0] or self.run.backend.name!r}",
                where="differ=model",
                hint="name a second one: --model second=NAME; or ask one model two questions: --set differ=question",
            )
        return AnswerClaim, AnswerClaim

    async def gather(self, first: Agent, second: Agent, query: str) -> tuple[Passage, ...]:
        """What both readers read: the results for the claim and for the other side; without such a query, more."""
        top_k = self.settings.top_k
        if query == self.claim.text:
            return await first.search(query, 2 * top_k, round_=1)
        searches = first.search(self.claim.text, top_k, round_=1), second.search(query, top_k, round_=1)
        return distinct_passages(chain.from_iterable(await gather_or_cancel(searches)))

    def agreement(self, turns: tuple[Turn, ...]) -> Verdict:
        """The verdict if the readings end the claim."""
        for turn in turns:
            self.answered(turn.agent, turn.answer, round_=1, passages=turn.passages)
        labels = tuple(turn.answer.label for turn in turns)
        answer = turns[0].answer.model_copy(update={"confidence": mean_confidence(turns)})
        return self.verdict_of(answer, decided_by="consensus", rounds=1, round_labels=[labels])

    async def why_open(self, turns: tuple[Turn, ...], verdict: Verdict, reader: Agent) -> tuple[str, ...]:
        """Why the readings do not end the claim; empty where they do."""
        labels, label = self.claim.labels, verdict.label
        if label is None or len({turn.answer.label for turn in turns}) > 1:
            return ("the readers disagree",)
        if not labels.free_text and labels.meaning(label) is Meaning.NOT_ENOUGH:
            return ("the evidence settles nothing",)
        lacks = [f"{turn.agent}: {why}" for turn in turns if (why := self.lacks(turn.answer, turn.passages))]
        if lacks:
            return tuple(lacks)
        if unsettled := why_unsettled(verdict, self.run):
            return unsettled
        other = side_of(labels, label).opposite
        if not other or not self.settings.small_reader:
            return ()
        read = await read_quotes(self.claim, verdict.quotes, reader, round_=1)
        objects = read is not None and side_of(labels, read.label) is other
        return ("the small reader reads the other side in what is quoted",) if objects else ()

    def lacks(self, answer: Answer, passages: tuple[Passage, ...]) -> str:
        """What an answer lacks that no quotation carries."""
        why = self.why_not_yet(answer.label, answer.quotes, passages)
        return why or ("" if self.has_evidence(answer.quotes, passages) else "nothing is quoted")

    async def debate(self, turns: tuple[Turn, ...], why: tuple[str, ...]) -> Verdict:
        """Tool-MAD with the readings as its first round, over what they have read; ``why`` that is needed."""
        debate = self.settings.debater.for_claim(self.claim, self.run)
        agree = len({turn.answer.label for turn in turns}) == 1
        debate.opening, debate.objected = turns, why if agree else ()
        verdict = await debate.verify()
        return verdict.model_copy(update={"quotes": distinct([*verdict.quotes, *self.quotes])})

    @classmethod
    def roles_for(cls, settings: PairSettings) -> Roles:
        readers = dict.fromkeys((FIRST, SECOND), settings.tools)
        return dict.fromkeys(settings.debater.agents()) | readers

    @classmethod
    def layout(cls, settings: PairSettings) -> Layout:
        return settings.debater.layout()

    @classmethod
    def asks_for(cls, settings: PairSettings) -> tuple[type[AnyTask], ...]:
        question: tuple[type[AnyTask], ...] = () if settings.differ == "model" else (DoubtClaim,)
        small: tuple[type[AnyTask], ...] = (ReadPassages,) if settings.small_reader else ()
        return tuple(dict.fromkeys((AnswerClaim, *question, *small, *settings.debater.tasks())))
