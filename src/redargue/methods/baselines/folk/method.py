"""FOLK: a claim as predicates of first-order logic, grounded by searches, and the truth of each.

Wang & Shu 2023, "Explainable Claim Verification via Knowledge-Grounded Reasoning with Large Language Models" (arXiv
2310.05253, Section 3). One call decomposes the claim, all questions are searched concurrently, one call judges.
"""

from __future__ import annotations

from pydantic import Field

from redargue.claims import Claim
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply
from redargue.events import Spoke
from redargue.methods.agent import Agent
from redargue.methods.base import FROM_SETTINGS, SearchSettings
from redargue.methods.baselines.folk import tasks
from redargue.methods.baselines.grounding import Grounded, GroundingMethod, examples_in
from redargue.tasks.answer import Answer
from redargue.tasks.base import Profile
from redargue.verdicts import Verdict

DECOMPOSER, REASONER = "decomposer", "reasoner"


class FolkSettings(SearchSettings):
    """Settings of ``folk``; the paper uses Google's search."""

    top_k: int = Field(default=1, ge=1, le=50)  # passages per search and tool; the paper shows one answer or snippet
    temperature: float = Field(default=0.7, ge=0, le=2)


class Folk(GroundingMethod, name="folk", settings=FolkSettings):
    """Predicates of first-order logic, grounded by searches, judged one by one (FOLK, 2310.05253).

    The small models perform it on a claim's clauses: each is a predicate and its own question.
    """

    profiles = {"paper": {"profile": "paper"}, "hardened": {"top_k": 3}}
    paper = (
        "Wang, Shu: Explainable Claim Verification via Knowledge-Grounded Reasoning with Large Language Models,"
        " Findings of EMNLP 2023 (arXiv 2310.05253)"
    )
    graph = "predicates and questions -> all searches concurrently -> truths and label"
    roles = {DECOMPOSER: FROM_SETTINGS, REASONER: None}
    asks = (tasks.WritePredicates, tasks.VerifyPredicates)
    few_shot = True

    settings: FolkSettings

    async def check(self, claim: Claim, decomposer: Agent, reasoner: Agent) -> Verdict:
        self.two_sides()
        try:
            parts = await self.decompose(decomposer)
            asked = await gather_or_cancel(self.ground(decomposer, question, round_=1) for question in parts.questions)
            prediction = await self.reason(reasoner, parts, tuple(asked))
        except BadReply as error:
            return self.verdict(None, reason=error.what, decided_by="reader", rounds=1)
        truths = (f"{truth.predicate} is {truth.holds}: {truth.reason}" for truth in prediction.truths)
        text = "\n".join([*truths, prediction.explanation])
        answer = Answer(text=text, label=self.label(prediction.answer), quotes=prediction.quotes)
        return self.conclude(reasoner, answer, asked, round_=1)

    async def decompose(self, decomposer: Agent) -> tasks.Predicates:
        """The claim's predicates and follow-up questions (Section 3.1)."""
        profile = self.settings.profile
        task = tasks.WritePredicates(claim=self.claim, demonstrations=predicate_examples(profile), profile=profile)
        parts = await decomposer.perform(task, round_=1, temperature=self.settings.temperature)
        lines = [*(predicate.line for predicate in parts.predicates), *parts.questions]
        self.run.emit(Spoke(agent=DECOMPOSER, round=1, text="\n".join(lines)))
        return parts

    async def reason(
        self, reasoner: Agent, parts: tasks.Predicates, asked: tuple[Grounded, ...]
    ) -> tasks.PredicatesVerdict:
        """The truth of each predicate, and the label (Section 3.3)."""
        profile = self.settings.profile
        task = tasks.VerifyPredicates(
            claim=self.claim,
            predicates=parts.predicates,
            asked=asked,
            demonstrations=prediction_examples(profile),
            profile=profile,
        )
        return await reasoner.perform(task, round_=1, temperature=self.settings.temperature)


def predicate_examples(profile: Profile) -> str:
    return examples_in(profile, __package__, "predicates", tasks.parse_predicates)


def prediction_examples(profile: Profile) -> str:

    def read(text: str) -> tasks.PredicatesVerdict:
        return tasks.parse_prediction(text).model_copy(update={"written": None})

    return examples_in(profile, __package__, "prediction", read)
