"""Methods that ask a model what it knows, without evidence; the embedded backend cannot perform them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from redargue.claims import Claim, Frozen, Meaning
from redargue.methods.agent import Agent
from redargue.methods.base import MethodSettings
from redargue.methods.baselines.factuality import ClosedBook, ClosedBookSettings
from redargue.methods.setting_types import FallbackLabel
from redargue.tasks.answer import Answer, LabelledTask, Piece
from redargue.tasks.base import AnyTask, Exchange, Task, lines, text_field
from redargue.tasks.sections import claim_section
from redargue.tasks.template import read_examples

WHEN = {
    Meaning.SUPPORTED: "If the claim is correct",
    Meaning.REFUTED: "If the claim is incorrect",
    Meaning.NOT_ENOUGH: "If nothing you know settles the claim",
    Meaning.CONFLICTING: "If what you know contradicts itself, or the claim leaves out what matters",
    Meaning.OPTION: "If this option is right",
}


_DECIDED = (Meaning.SUPPORTED, Meaning.REFUTED, Meaning.OPTION)


class AnswerClosedBook(LabelledTask):
    """``single-reader``'s question without documents: reasons first, the label last."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning", "label")

    before_label: ClassVar[str] = "first explain why, then output"  # after a label's condition
    step_by_step: ClassVar[bool] = False

    must_answer: bool = False  # offers only labels that decide the claim (FIRE's last prompt accepts nothing else)

    def template_vars(self) -> Mapping[str, object]:
        when = ((WHEN[self.claim.labels.meaning(name)], name) for name in self._names())
        return {
            "claim": claim_section(self.claim, self.profile),
            "labels": ", ".join(f"**{name}**" for name in self._names()),
            "label_rules": "\n".join(f"{condition}, {self.before_label} **{name}**." for condition, name in when),
            "free_text": self.claim.labels.free_text,
            "must_answer": self.must_answer,
            "step_by_step": self.step_by_step,
            "reasons": "reasoning" in self.answer_fields,
        }

    def choice(self) -> dict[str, str]:
        return {name: WHEN[self.claim.labels.meaning(name)].removeprefix("If ") for name in self._names()}

    def chosen(self, word: str) -> str | None:
        return self._allowed(super().chosen(word))

    def label_of(self, text: str) -> str | None:
        return self._allowed(super().label_of(text))

    def _allowed(self, label: str | None) -> str | None:
        return label if self.claim.labels.free_text or label in self._names() else None

    def _names(self) -> tuple[str, ...]:
        labels = self.claim.labels.labels
        decided = tuple(label.name for label in labels if label.meaning in _DECIDED)
        return decided if self.must_answer and decided else self.claim.labels.names


class SelfChecked(Frozen):
    """FacTool's verdict without evidence."""

    reasoning: str = text_field("your reasoning, step by step", 1_000)
    error: str = text_field("the factual error in the claim; None if it has none", 400)
    corrected_claim: str = text_field("the claim without its error; None if it has none", 400)
    factuality: bool = Field(description="true if the claim is factual, false if not")

    @model_validator(mode="before")
    @classmethod
    def _nothing(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {name: "None" if value is None and name != "factuality" else value for name, value in data.items()}


class SelfCheck(Task[SelfChecked]):
    """Whether a claim is factual, from what the model knows (FacTool's baseline Self-Check)."""

    claim: Claim
    demonstrations: str = ""

    def template_vars(self) -> Mapping[str, object]:
        return {"claim": claim_section(self.claim, self.profile), "demonstrations": self.demonstrations}


class AnswerZeroShot(AnswerClosedBook):
    """The label alone."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("label",)

    before_label: ClassVar[str] = "output"


class AnswerStepByStep(AnswerClosedBook):
    """Reasons step by step, then the label."""

    step_by_step: ClassVar[bool] = True


class ReasonStepByStep(AnswerStepByStep):
    """The reasoning alone: the first of two questions."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning",)


class AnswerFromReasoning(AnswerZeroShot):
    """The answer after the reasoning: the second question, in the same chat."""

    reasoning: Exchange

    def chat_history(self) -> tuple[Exchange, ...]:
        return (self.reasoning,)


class NoSearchSettings(ClosedBookSettings):
    """Settings of ``no-search``, which must decide by default."""

    must_answer: bool = True


class NoSearch(ClosedBook, name="no-search", settings=NoSearchSettings):
    """The single reader's question without documents; it must decide (FIRE without search, 2411.00784).

    FIRE (Xie et al., "without search") asks its last prompt, which must be answered, without knowledge; with GPT-4o it
    beats published methods that search on some data sets, so a table needs this row to show what searching is worth.
    Its words are those of ``single-reader``'s question, label rules and order without the documents, so that the two
    rows differ in the evidence alone. It must decide, so that it shows what the model believes where a cautious one
    would abstain: gold labels that decide nothing are out of reach unless ``must_answer=false``.
    """

    paper = (
        "Xie, Xing, Wang, Geng, Iqbal, Sahnan, Gurevych, Nakov: FIRE: Fact-checking with Iterative Retrieval and"
        " Verification, 2024, arXiv 2411.00784"
    )
    graph = "answer"
    asks = (AnswerClosedBook,)


class SelfCheckSettings(MethodSettings):
    """Settings of ``self-check``."""

    shots: Literal[0, 3] = 0
    unparsed: FallbackLabel = "none"  # the outcome of a reply that cannot be read: no label, or "factual"
    temperature: float = Field(default=0.0, ge=0, le=2)


class SelfCheckMethod(ClosedBook, name="self-check", settings=SelfCheckSettings):
    """The model looks for factual errors by itself, 0-shot or 3-shot (FacTool's baseline).

    FacTool's verdict (Chern et al. 2023, arXiv 2307.13528) without its evidence, with chain of thought, after no
    examples or three.
    """

    profiles = {"paper": {}, "authors": {"profile": "paper", "unparsed": "true"}, "hardened": {}}
    paper = (
        "Chern, Chern, Chen, Yuan, Feng, Zhou, He, Neubig, Liu: FacTool: Factuality Detection in Generative AI, 2023,"
        " arXiv 2307.13528"
    )
    graph = "check"
    few_shot = True
    roles = {"checker": None}
    asks = (SelfCheck,)

    async def answer(self, agent: Agent) -> Answer:
        self.two_sides()
        shown = read_examples(__package__, "self_check") if self.settings.shots else ""
        check = await self.ask(agent, SelfCheck, round_=1, demonstrations=shown)
        text = lines(check.reasoning, *(() if check.factuality else (check.error, check.corrected_claim)))
        return Answer(text=text, label=self.side_label(supported=check.factuality))

    def unread_label(self) -> str | None:
        return self.side_label(supported=True) if self.settings.unparsed == "true" else None


class ZeroShot(ClosedBook, name="zero-shot", settings=ClosedBookSettings):
    """Asks for the label alone, without searching or reasoning (2205.11916).

    The baseline of Kojima et al., "Large Language Models are Zero-Shot Reasoners" (2022), over claims; published tables
    show it as a model's own row.
    """

    profiles = {"paper": {"label_reading": "first_said"}, "hardened": {}}
    paper = "Kojima, Gu, Reid, Matsuo, Iwasawa: Large Language Models are Zero-Shot Reasoners, 2022, arXiv 2205.11916"
    graph = "answer"
    asks = (AnswerZeroShot,)


class ZeroShotCotSettings(ClosedBookSettings):
    """Settings of ``zero-shot-cot``."""

    # asks for the reasoning and the answer in two questions, as in the paper (§3); else one reply holds both
    extraction: bool = False


class ZeroShotCot(ClosedBook, name="zero-shot-cot", settings=ZeroShotCotSettings):
    """The model's own answer after reasoning step by step; nothing searched (2205.11916).

    Kojima et al., "Large Language Models are Zero-Shot Reasoners" (2022), over claims. The paper asks twice: for the
    reasoning, then for the answer with the reasoning before it.
    """

    profiles = {"paper": {"label_reading": "first_said", "extraction": True}, "hardened": {}}
    paper = "Kojima, Gu, Reid, Matsuo, Iwasawa: Large Language Models are Zero-Shot Reasoners, 2022, arXiv 2205.11916"
    graph = "reasoning -> answer"

    async def answer(self, knower: Agent) -> Answer:
        if not self.settings.extraction:
            return await super().answer(knower)
        question = self.task(ReasonStepByStep, **self.reading())
        (reasons,) = await knower.ask(question, round_=1, temperature=self.settings.temperature)
        before = question.exchange(reasons.text)
        answer = await self.ask(knower, AnswerFromReasoning, round_=1, reasoning=before, **self.reading())
        return answer.model_copy(update={"text": f"{reasons.answer.text}\n{answer.text}"})

    @classmethod
    def asks_for(cls, settings: ZeroShotCotSettings) -> tuple[type[AnyTask], ...]:
        return (ReasonStepByStep, AnswerFromReasoning) if settings.extraction else (AnswerStepByStep,)
