"""Cascade: a small reader, a single reader, a debate, each only for claims that the stage before may not decide.

It has no publication. A stage decides if its calibrated confidence reaches a threshold, its quotations were found and
are on one side, and enough independent sources are quoted. ``fit.py`` says what fitted thresholds guarantee.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from redargue import words
from redargue.claims import Claim, Meaning
from redargue.errors import UsageError
from redargue.events import StageEnded
from redargue.evidence import Passage, Side
from redargue.methods.agent import Agent
from redargue.methods.base import Layout, Method, Roles
from redargue.methods.cascade.settings import (
    DEBATE,
    NEVER,
    READER,
    SINGLE_READER,
    CascadeSettings,
    Stage,
    shipped,
)
from redargue.methods.verdict_parts import distinct, limited, side_of
from redargue.nli.aggregation import first_of_sources
from redargue.nli.language import in_english, language_of
from redargue.quotes import can_decide
from redargue.sanitize import counted
from redargue.tasks.answer import AnswerClaim
from redargue.tasks.base import AnyTask
from redargue.tasks.score import ReaderAnswer, ReadPassages
from redargue.verdicts import Verdict, rounded_down

OTHER_SIDE = {Side.FOR: Side.AGAINST, Side.AGAINST: Side.FOR}


class StageResult(NamedTuple):
    """What a stage says: its verdict, and its calibrated confidence in the label, in [0, 1]."""

    verdict: Verdict
    score: float | None


class Cascade(Method, name="cascade", settings=CascadeSettings):
    """A small reader, then a single reader, then a debate: each only where the one before may not decide.

    Attributes:
        passages: that the readers have read.
    """

    paper = "none: redargue's own, over the debates of Tool-MAD, MERMAID or dual-position"
    graph = "searches -> small reader; not sure: further searches -> answer; not sure: -> debate"

    settings: CascadeSettings

    async def check(self, claim: Claim, reader: Agent) -> Verdict:
        self.passages: tuple[Passage, ...] = ()
        for number, stage in enumerate(self.settings.stages, 1):
            held = await self.hold(stage, reader)
            last = number == len(self.settings.stages)
            doubts = () if last else self.doubts(held)
            stopped = last or (self.is_certain(held, number) and not doubts)
            self.report(number, held, doubts, stopped=stopped)
            if stopped:
                break
        return self.conclude(stage, held)

    async def hold(self, stage: Stage, reader: Agent) -> StageResult:
        if stage == DEBATE:
            verdict = await self.settings.debater.for_claim(self.claim, self.run).verify()
            return StageResult(verdict, verdict.confidence)
        count = self.settings.top_k if stage == READER else self.settings.more
        found = await reader.search(self.claim.text, count)
        self.passages = tuple({passage.sha256: passage for passage in (*self.passages, *found)}.values())
        read = await self.read(reader)
        return self.small_answer(read) if stage == READER else await self.single_answer(reader, read)

    async def read(self, reader: Agent) -> ReaderAnswer | None:
        """What the small reader says about all passages so far; None for what it cannot read."""
        passages, _ = in_english(self.passages)
        if not self.settings.asks_small_reader:
            return None
        if self.claim.labels.free_text or language_of(self.claim.text) or len(passages) < len(self.passages):
            return None
        read = await reader.perform(ReadPassages(claim=self.claim, passages=passages, profile=self.settings.profile))
        sides = {side_of(self.claim.labels, name): name for name in self.claim.labels.names}
        other = sides.get(OTHER_SIDE.get(side_of(self.claim.labels, read.label), Side.CONTEXT))
        self.cite(read.opposing, label=other, agent=READER, passages=self.passages)
        return read

    def small_answer(self, read: ReaderAnswer | None) -> StageResult:
        if read is None:
            return StageResult(
                self.verdict(None, reason="the small reader does not read this claim or its evidence"), None
            )
        self.answered(READER, read, passages=self.passages)
        verdict = self.verdict(read.label, reason=read.text, confidence=read.confidence, noted=read)
        return StageResult(verdict, read.confidence)

    async def single_answer(self, reader: Agent, read: ReaderAnswer | None) -> StageResult:
        """An answer from all passages; without a confidence of its own, the small reader's probability of its label."""
        task = AnswerClaim(claim=self.claim, passages=self.passages, profile=self.settings.profile)
        answer = await reader.perform(task)
        self.answered(READER, answer, passages=self.passages)
        score = answer.confidence
        if score is None and read is not None and answer.label:
            score = read.probabilities.get(answer.label)
        verdict = self.verdict(answer.label, reason=answer.text, confidence=answer.confidence, noted=answer)
        return StageResult(verdict, score)

    def is_certain(self, held: StageResult, number: int) -> bool:
        threshold = self.threshold(number)
        return threshold == 0 or (threshold is not None and held.score is not None and held.score >= threshold)

    def threshold(self, number: int) -> float | None:
        return self.settings.chosen[number - 1] if number < len(self.settings.stages) else None

    def doubts(self, held: StageResult) -> tuple[str, ...]:
        """Why a stage may not decide, whatever its confidence."""
        labels, label = self.claim.labels, held.verdict.label
        if label is None:
            return ("no label",)
        settled = limited(held.verdict, self.run.events, reads_evidence=True, hardened=True)
        if settled.unchecked:
            return (words.unchecked(settled.unchecked),)
        if settled.label != label:
            return (words.caveats(settled.caveats),)
        if not self.passages:
            return ("no evidence was found",)
        if not self.settings.settle_open and labels.meaning(label) is Meaning.NOT_ENOUGH:
            return ("the evidence settles nothing",)
        side, why = side_of(labels, label), []
        quotes = [quote for quote in held.verdict.quotes if can_decide(quote, self.passages)]
        if self.settings.one_sided and any(quote.side is OTHER_SIDE.get(side) for quote in quotes):
            why.append("quotations on both sides")
        by_sha = {passage.sha256: passage for passage in self.passages}
        cited = [by_sha[quote.passage] for quote in quotes if quote.side is side and quote.passage in by_sha]
        sources, least = len(first_of_sources(cited)), self.settings.min_sources
        if side in OTHER_SIDE and sources < least:
            why.append(f"{counted(sources, 'source')} of at least {least} quoted")
        return tuple(why)

    def report(self, number: int, held: StageResult, doubts: tuple[str, ...], *, stopped: bool) -> None:
        stages = self.settings.stages
        self.run.emit(
            StageEnded(
                stage=stages[number - 1],
                number=number,
                of=len(stages),
                label=held.verdict.label,
                score=held.score,
                threshold=self.threshold(number),
                may_decide=not doubts,
                stopped=stopped,
                why=self.why(number, held, doubts),
                usage=self.run.usage,
            )
        )

    def why(self, number: int, held: StageResult, doubts: tuple[str, ...]) -> tuple[str, ...]:
        """Why the cascade stops at a stage, or goes on."""
        if number == len(self.settings.stages):
            return ("last stage",)
        threshold = self.threshold(number)
        if threshold == 0:
            return doubts or ("it is for or against the claim, and its quotations are located",)
        if held.score is None:
            return (*doubts, "no calibrated confidence")
        confidence = f"confidence {rounded_down(held.score):.2f}"
        if threshold is None:
            return (*doubts, f"{confidence}; this stage never stops")
        if held.score < threshold:
            return (*doubts, f"{confidence} is below {threshold:g}")
        sided = side_of(self.claim.labels, held.verdict.label) in OTHER_SIDE
        return doubts or (f"{confidence} reaches {threshold:g}", *(("quotations on one side only",) if sided else ()))

    def conclude(self, stage: Stage, held: StageResult) -> Verdict:
        """The stage's verdict, with every stage's quotations."""
        if stage == DEBATE:
            quotes = distinct([*held.verdict.quotes, *self.quotes])
            return held.verdict.model_copy(update={"quotes": quotes})
        stopped = next(event for event in reversed(self.run.events) if isinstance(event, StageEnded))
        reason = f"Decided by the {stage}: {'; '.join(stopped.why)}.\n{held.verdict.reason}"
        return held.verdict.model_copy(update={"decided_by": stage, "reason": reason})

    @classmethod
    def defaults_for(cls, backend: str, given: Collection[str]) -> Mapping[str, Any]:
        return shipped(backend, given)

    @classmethod
    def require_for(cls, settings: CascadeSettings, run: Mapping[str, Any]) -> None:
        for name, value in run.items():
            if name in settings.fitted_for and settings.fitted_for[name] != value:
                raise UsageError(
                    f"the thresholds were fitted with {name} {settings.fitted_for[name]!r}, not {value!r}",
                    where="fitted",
                    hint="fit again with redargue bench fit-cascade, or run it as in the fit",
                )

    @classmethod
    def note_for(cls, settings: CascadeSettings) -> str:
        """Whether the thresholds are fitted, and how to fit them."""
        if len(settings.stages) == 1:
            return ""
        shown = ", ".join(NEVER if value is None else f"{value:g}" for value in settings.chosen)
        if settings.guarantee:
            return f"cascade: thresholds {shown}: {settings.guarantee}"
        return f"cascade: thresholds {shown} are not fitted and guarantee nothing; fit them: redargue bench fit-cascade"

    @classmethod
    def roles_for(cls, settings: CascadeSettings) -> Roles:
        debate: Roles = settings.debater.kind.roles_for(settings.debater.settings) if DEBATE in settings.stages else {}
        return {READER: settings.tools, **debate}

    @classmethod
    def layout(cls, settings: CascadeSettings) -> Layout:
        """Its debate's."""
        own = super().layout(settings)
        if DEBATE not in settings.stages:
            return own
        debate = settings.debater.layout()
        return debate._replace(columns={READER: (READER,), **debate.columns})

    @classmethod
    def asks_for(cls, settings: CascadeSettings) -> tuple[type[AnyTask], ...]:
        small: tuple[type[AnyTask], ...] = (ReadPassages,) if settings.asks_small_reader else ()
        single: tuple[type[AnyTask], ...] = (AnswerClaim,) if SINGLE_READER in settings.stages else ()
        debate = settings.debater.tasks() if DEBATE in settings.stages else ()
        return tuple(dict.fromkeys((*small, *single, *debate)))
