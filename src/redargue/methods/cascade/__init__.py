"""Cascade: a small reader, a single reader, a debate, each only for claims that the stage before may not decide.

It has no publication. A stage decides if its calibrated confidence reaches a threshold, its quotations were found and
are on one side, and enough independent sources are quoted. ``fit.py`` says what fitted thresholds guarantee.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, model_validator

from redargue.backends import Stability
from redargue.claims import Claim, Meaning
from redargue.errors import UsageError
from redargue.events import StageEnded
from redargue.evidence import Passage, Side, distinct_passages
from redargue.memory import MemorySettings
from redargue.methods.agent import Agent
from redargue.methods.base import ConfiguredMethod, Layout, Method, Roles, SearchSettings, configure, rounds_setting
from redargue.methods.cascade.fit import Fit, Threshold, Thresholds
from redargue.methods.setting_types import Facts, LocalFile, SettingsOf, Word
from redargue.methods.verdict_parts import distinct, side_of, why_unsettled
from redargue.nli.aggregation import first_of_sources
from redargue.nli.language import in_english, language_of
from redargue.quotes import can_decide
from redargue.sanitize import counted
from redargue.spec import LANGUAGE_MODELS
from redargue.tasks.answer import AnswerClaim
from redargue.tasks.base import AnyTask
from redargue.tasks.score import ReaderAnswer, ReadPassages
from redargue.verdicts import Metric, Verdict, rounded_down

Stage = Literal["reader", "single-reader", "debate"]
READER, SINGLE_READER, DEBATE = "reader", "single-reader", "debate"
STAGES: tuple[Stage, ...] = ("reader", "single-reader", "debate")
_Debate = Literal["tool-mad", "mermaid", "dual-position"]
NEVER = "never"
USUAL_RISK = 0.05
_SAYS = {"profile", "tools", "top_k", "more", "debate_settings", "rounds", "one_sided", "settle_open", "min_sources"}
# Chosen on the even rows of nine public data sets: `python -m benchmarks cascade --limit 60`, 2026-11-23.
EMBEDDED = Thresholds(
    thresholds=(0.5, 0.5),
    early=247,
    wrong=97,
    claims=504,
    guarantee=(
        "thresholds of the embedded backend, fitted on 504 claims of nine public data sets for a loss of at most 0.02;"
        " nothing is guaranteed for other claims"
    ),
)
# With a language model: its first answer where it decides and is quoted, else a debate. Chosen on 36 claims that a
# strong model had answered: `python -m benchmarks defaults`, 2026-11-24.
WITH_MODEL: dict[str, Any] = {
    "stages": ("single-reader", "debate"),
    "thresholds": (0.0,),
    "one_sided": False,
    "settle_open": False,
    "guarantee": "a first answer decides where it is for or against the claim and its quotations are located; it is not"
    " fitted, and nothing is guaranteed",
}
# Who sets one of them has chosen the stages or their thresholds otherwise.
_FITTED_WITH = {"stages", "debate", "fitted", "thresholds", "target_risk", "target_loss", "budget_per_claim"}
AtLeast = Annotated[Threshold, BeforeValidator(lambda value: None if value == NEVER else value)]


class CascadeSettings(SearchSettings):
    """Settings of ``cascade``; thresholds that are not fitted come without a guarantee.

    Attributes:
        tools: searched by the readers, and by the debate's agents: one per debater of ``tool-mad``.
        top_k: passages per tool that the first reader reads, and per query of the debate.
        more: further passages per tool for the single reader.
        stages: in this order; the last one always decides.
        debate: the system that debates, in this profile.
        debate_settings: that differ from its defaults.
        rounds: most rounds of the debate (``mermaid``: steps); None for its default.
        target_risk: tolerated share of wrong labels among the verdicts of all stages but the last.
        target_loss: instead of a risk, the tolerated share of all claims that get a wrong verdict before the last
            stage, which would have been right; needs ``fitted``.
        budget_per_claim: mean cost instead of a risk: ``4calls``, ``2ktok``, ``0.002usd``; needs ``fitted``.
        fitted: file of ``redargue bench fit-cascade``, which gives ``thresholds`` and ``guarantee``; empty once it is
            read.
        thresholds: least confidence of each stage but the last, in [0, 1], or ``never``; with 0 it needs none. By
            default those that are shipped for the backend, and 1 - ``target_risk`` for other stages or targets.
        fitted_for: backend, models and settings of the fit; without them its thresholds mean nothing.
        guarantee: what holds for the thresholds, or where they come from; empty where they are not fitted.
        one_sided: a stage stops only where no passage that it read speaks for the other side.
        settle_open: whether a stage may stop where the evidence settles nothing.
        min_sources: independent sources that have to be quoted before a stage decides for or against a claim.
    """

    tools: tuple[Word, ...] = Field(default=("corpus", "keywords"), min_length=1, max_length=8)
    more: int = Field(default=3, ge=1, le=50)
    stages: tuple[Stage, ...] = Field(default=STAGES, min_length=1, max_length=3)
    debate: _Debate = "tool-mad"
    debate_settings: Annotated[dict[str, Any], SettingsOf("debate")] = Field(default_factory=dict)
    rounds: int | None = Field(default=None, ge=1, le=20)
    target_risk: float = Field(default=USUAL_RISK, gt=0, lt=1)
    target_loss: float | None = Field(default=None, gt=0, lt=1)
    budget_per_claim: Word = ""
    fitted: LocalFile = ""
    thresholds: tuple[AtLeast, ...] = ()
    fitted_for: Facts = Field(default_factory=dict)
    guarantee: Word = ""
    one_sided: bool = True
    settle_open: bool = True
    min_sources: int = Field(default=1, ge=1, le=8)

    @model_validator(mode="before")
    @classmethod
    def _read_thresholds(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Thresholds from a fitted file, whose path is not kept."""
        if not values.get("fitted") or values.get("thresholds"):
            _require_unfitted(values)
            return values
        fit = Fit.read(Path(str(values["fitted"])))
        fit.require(tuple(values.get("stages", STAGES)), values.get("debate", "tool-mad"))
        chosen: Thresholds
        if values.get("budget_per_claim"):
            chosen = fit.within_budget(values["budget_per_claim"])
        elif values.get("target_loss") is not None:
            chosen = fit.at_loss(float(values["target_loss"]))
        else:
            chosen = fit.at_risk(float(values.get("target_risk", USUAL_RISK)))
        made_for = {name: getattr(fit, name) for name in ("backend", "models", "min_confidence", "settings")}
        made_for["thresholds"] = list(chosen.thresholds)  # as JSON has it
        read = {"thresholds": chosen.thresholds, "guarantee": chosen.guarantee, "fitted_for": made_for}
        return {**values, **read, "fitted": ""}

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if list(self.stages) != [stage for stage in STAGES if stage in self.stages]:
            raise ValueError(f"stages are some of {', '.join(STAGES)}, in this order")
        if self.thresholds and len(self.thresholds) != len(self.stages) - 1:
            raise ValueError(
                f"{len(self.thresholds)} thresholds for {len(self.stages)} stages: one for each but the last"
            )
        if any(value is not None and not 0 <= value <= 1 for value in self.thresholds):
            raise ValueError("a threshold is a confidence in [0, 1], or never")
        given = {"budget_per_claim": self.budget_per_claim or None, "target_loss": self.target_loss}
        named = [name for name, value in given.items() if value is not None]
        if self.target_risk != USUAL_RISK:
            named.append("target_risk")
        if len(named) > 1:
            raise UsageError(f"{' and '.join(named)} were given", where=named[0], hint="give one")
        if named and named[0] in given and not self.thresholds:
            raise UsageError(
                f"{named[0]}={given[named[0]]} needs thresholds that were fitted on labelled claims",
                where=named[0],
                hint="fit them: redargue bench fit-cascade … -o DIR, then --set fitted=DIR/fit.json",
            )
        if self.fitted_for and tuple(self.fitted_for.get("thresholds", ())) != self.thresholds:
            hint = "leave out thresholds, or run the cascade without the fit"
            raise UsageError("other thresholds than those of the fit were given", where="thresholds", hint=hint)
        now = self.facts
        if other := [name for name, value in self.fitted_for.get("settings", {}).items() if now.get(name) != value]:
            name = other[0]
            raise UsageError(
                f"the thresholds were fitted with {name}={self.fitted_for['settings'][name]!r}, not {now.get(name)!r}",
                where="fitted",
                hint="use the settings of the fit, or fit again with these",
            )
        if DEBATE in self.stages:
            self.debater  # noqa: B018  (raises for settings that it does not have)
        return self

    @property
    def facts(self) -> dict[str, Any]:
        """The settings on which what a stage says depends, beside its stages and debate, as JSON."""
        return self.model_dump(mode="json", include=_SAYS)

    @property
    def chosen(self) -> tuple[Threshold, ...]:
        """The threshold of each stage but the last; None where it never stops."""
        return self.thresholds or (round(1 - self.target_risk, 9),) * (len(self.stages) - 1)

    @property
    def asks_small_reader(self) -> bool:
        """Whether the small reader reads what a stage reads, for an answer, a confidence or the other side."""
        return READER in self.stages or (SINGLE_READER in self.stages[:-1] and (self.one_sided or any(self.chosen)))

    @property
    def debater(self) -> ConfiguredMethod:
        """The configured debate."""
        tools: tuple[str, ...] = self.tools if len(self.tools) > 1 else self.tools * 2
        given: dict[str, Any] = {"debaters": tools} if self.debate == "tool-mad" else {"tools": self.tools}
        if self.debate != "dual-position":
            given["top_k"] = self.top_k
        if self.rounds is not None:
            given[rounds_setting(self.debate)] = self.rounds
        return configure(self.debate, self.profile, {**given, **self.debate_settings})

    @property
    def remembering(self) -> MemorySettings | None:
        """The memory of a debate that has one."""
        return getattr(self.debater.settings, "remembering", None) if DEBATE in self.stages else None


def _require_unfitted(values: dict[str, Any]) -> None:
    """Raises UsageError for thresholds that were given beside what is to choose them."""
    chooses = [name for name in ("fitted", "target_loss", "budget_per_claim") if values.get(name)]
    if values.get("target_risk", USUAL_RISK) != USUAL_RISK:
        chooses.append("target_risk")
    if values.get("thresholds") and chooses and not values.get("guarantee"):
        hint = f"leave out thresholds or {chooses[0]}"
        raise UsageError(f"thresholds and {chooses[0]} were given", where="thresholds", hint=hint)


def shipped(backend: str, given: Collection[str]) -> dict[str, Any]:
    """The stages and thresholds that were chosen for a backend, where nothing else is asked for."""
    if backend in LANGUAGE_MODELS and not _FITTED_WITH - {"debate"} & set(given):
        return {name: value for name, value in WITH_MODEL.items() if name not in given}
    if backend != "embedded" or _FITTED_WITH & set(given):
        return {}
    return {"thresholds": EMBEDDED.thresholds, "guarantee": EMBEDDED.guarantee}


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
            doubts = self.doubts(held) if number < len(self.settings.stages) else ()
            stopped, why = self.decide(number, held, doubts)
            self.run.emit(
                StageEnded(
                    stage=stage,
                    number=number,
                    of=len(self.settings.stages),
                    label=held.verdict.label,
                    score=held.score,
                    threshold=self.threshold(number),
                    may_decide=not doubts,
                    stopped=stopped,
                    why=why,
                    usage=self.run.usage,
                )
            )
            if stopped:
                break
        return self.conclude(stage, held, why)

    async def hold(self, stage: Stage, reader: Agent) -> StageResult:
        if stage == DEBATE:
            verdict = await self.settings.debater.for_claim(self.claim, self.run).verify()
            return StageResult(verdict, verdict.confidence)
        count = self.settings.top_k if stage == READER else self.settings.more
        found = await reader.search(self.claim.text, count)
        self.passages = distinct_passages((*self.passages, *found))
        read = await self.read(reader)
        return self.small_answer(read) if stage == READER else await self.single_answer(reader, read)

    async def read(self, reader: Agent) -> ReaderAnswer | None:
        """What the small reader says about all passages so far; None for what it cannot read."""
        passages, _ = in_english(self.passages)
        if not self.settings.asks_small_reader:
            return None
        if self.claim.labels.free_text or language_of(self.claim.text) or len(passages) < len(self.passages):
            return None
        read = await self.ask(reader, ReadPassages, passages=passages)
        sides = {side_of(self.claim.labels, name): name for name in self.claim.labels.names}
        other = sides.get(side_of(self.claim.labels, read.label).opposite or Side.CONTEXT)
        self.cite(read.opposing, label=other, agent=READER, passages=self.passages)
        return read

    def small_answer(self, read: ReaderAnswer | None) -> StageResult:
        if read is None:
            reason = "the small reader does not read this claim or its evidence"
            return StageResult(self.verdict(None, reason=reason), None)
        self.answered(READER, read, passages=self.passages)
        return StageResult(self.verdict_of(read), read.confidence)

    async def single_answer(self, reader: Agent, read: ReaderAnswer | None) -> StageResult:
        """An answer from all passages; without a confidence of its own, the small reader's probability of its label."""
        answer = await self.ask(reader, AnswerClaim, passages=self.passages)
        self.answered(READER, answer, passages=self.passages)
        score = answer.confidence
        if score is None and read is not None and answer.label:
            score = read.probabilities.get(answer.label)
        return StageResult(self.verdict_of(answer), score)

    def threshold(self, number: int) -> float | None:
        return self.settings.chosen[number - 1] if number < len(self.settings.stages) else None

    def doubts(self, held: StageResult) -> tuple[str, ...]:
        """Why a stage may not decide, whatever its confidence."""
        labels, label = self.claim.labels, held.verdict.label
        if label is None:
            return ("no label",)
        if unsettled := why_unsettled(held.verdict, self.run):
            return unsettled
        if not self.passages:
            return ("no evidence was found",)
        settles = self.settings.settle_open or labels.free_text or labels.meaning(label) is not Meaning.NOT_ENOUGH
        if not settles:
            return ("the evidence settles nothing",)
        side, why = side_of(labels, label), []
        quotes = [quote for quote in held.verdict.quotes if can_decide(quote, self.passages)]
        if self.settings.one_sided and any(quote.side is side.opposite for quote in quotes):
            why.append("quotations on both sides")
        by_sha = {passage.sha256: passage for passage in self.passages}
        cited = [by_sha[quote.passage] for quote in quotes if quote.side is side and quote.passage in by_sha]
        sources, least = len(first_of_sources(cited)), self.settings.min_sources
        if side.opposite and sources < least:
            why.append(f"{counted(sources, 'source')} of at least {least} quoted")
        return tuple(why)

    def decide(self, number: int, held: StageResult, doubts: tuple[str, ...]) -> tuple[bool, tuple[str, ...]]:
        """Whether the cascade stops at a stage, and why it does or does not."""
        if number == len(self.settings.stages):
            return True, ("last stage",)
        threshold = self.threshold(number)
        sided = side_of(self.claim.labels, held.verdict.label) is not Side.CONTEXT
        if threshold == 0:
            located = "it is for or against the claim, and its quotations are located"
            return not doubts, doubts or (located if sided else "no confidence is asked of this stage",)
        if held.score is None:
            return False, (*doubts, "no calibrated confidence")
        confidence = f"confidence {rounded_down(held.score):.2f}"
        if threshold is None:
            return False, (*doubts, f"{confidence}; this stage never stops")
        if held.score < threshold:
            return False, (*doubts, f"{confidence} is below {threshold:g}")
        reached = f"{confidence} reaches {threshold:g}", *(("quotations on one side only",) if sided else ())
        return not doubts, doubts or reached

    def conclude(self, stage: Stage, held: StageResult, why: tuple[str, ...]) -> Verdict:
        """The stage's verdict, with every stage's quotations."""
        if stage == DEBATE:
            quotes = distinct([*held.verdict.quotes, *self.quotes])
            return held.verdict.model_copy(update={"quotes": quotes})
        reason = f"Decided by the {stage}: {'; '.join(why)}.\n{held.verdict.reason}"
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
        own = super().layout(settings)
        if DEBATE not in settings.stages:
            return own
        debate = settings.debater.layout()
        return debate._replace(columns={READER: (READER,), **debate.columns})

    @classmethod
    def limits(cls, settings: CascadeSettings, stability: Stability) -> Mapping[Metric, float]:
        """Its debate's."""
        return settings.debater.limits(stability) if DEBATE in settings.stages else {}

    @classmethod
    def asks_for(cls, settings: CascadeSettings) -> tuple[type[AnyTask], ...]:
        small: tuple[type[AnyTask], ...] = (ReadPassages,) if settings.asks_small_reader else ()
        single: tuple[type[AnyTask], ...] = (AnswerClaim,) if SINGLE_READER in settings.stages else ()
        debate = settings.debater.tasks() if DEBATE in settings.stages else ()
        return tuple(dict.fromkeys((*small, *single, *debate)))
