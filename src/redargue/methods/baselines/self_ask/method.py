"""Self-Ask: follow-up questions that a search engine answers, until nothing is left to ask.

Press et al. 2022, "Measuring and Narrowing the Compositionality Gap in Language Models" (arXiv 2210.03350, Section 3).
The original interleaves questions and answers in one growing text; FOLK's comparison (Wang & Shu 2023, arXiv
2310.05253) asks all questions first and aggregates the results.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from redargue.claims import Claim
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply
from redargue.events import Spoke
from redargue.methods.agent import Agent
from redargue.methods.base import FROM_SETTINGS, SearchSettings
from redargue.methods.baselines import grounding
from redargue.methods.baselines.self_ask import tasks
from redargue.methods.few_shot import read_examples
from redargue.tasks.answer import Answer
from redargue.tasks.base import AnyTask, Profile
from redargue.verdicts import Verdict

ASKER = "asker"


class SelfAskSettings(SearchSettings):
    """Settings of ``self-ask``; the paper uses Google's search."""

    # ``interleaved``: each question follows the answers before it; ``decomposed``: all questions first, and one call
    # that reads the results (FOLK's)
    variant: Literal["interleaved", "decomposed"] = "interleaved"
    top_k: int = Field(default=1, ge=1, le=50)  # passages per search and tool; the paper shows one answer or snippet
    # after which the interleaved variant asks for the final answer; the paper states no limit
    most_questions: int = Field(default=5, ge=1, le=grounding.MOST_QUESTIONS)
    temperature: float = Field(default=0.0, ge=0, le=2)


class SelfAsk(grounding.GroundingMethod, name="self-ask", settings=SelfAskSettings):
    """Follow-up questions that a search engine answers (Self-Ask, 2210.03350).

    The small models perform it on a claim's clauses: they ask whether each is true, and read all results.
    """

    profiles = {
        "paper": {"profile": "paper"},
        "folk": {"profile": "paper", "variant": "decomposed", "temperature": 0.7},
        "hardened": {"top_k": 3},
    }
    paper = (
        "Press, Zhang, Min, Schmidt, Smith, Lewis: Measuring and Narrowing the Compositionality Gap in Language Models,"
        " Findings of EMNLP 2023 (arXiv 2210.03350)"
    )
    graph = "(question -> search) xN -> answer; decomposed: questions -> all searches concurrently -> answer"
    roles = {ASKER: FROM_SETTINGS}
    few_shot = True

    settings: SelfAskSettings

    async def check(self, claim: Claim, asker: Agent) -> Verdict:
        self.two_sides()
        self.asked: tuple[grounding.Grounded, ...] = ()
        self.round = 1
        try:
            decomposed = self.settings.variant == "decomposed"
            aggregate = await (self.ask_concurrently(asker) if decomposed else self.ask_and_answer(asker))
        except BadReply as error:
            return self.verdict(None, reason=error.what, decided_by="reader", rounds=self.round)
        answer = Answer(text=aggregate.explanation, label=self.label(aggregate.answer), quotes=aggregate.quotes)
        return self.conclude(asker, answer, self.asked, round_=self.round)

    async def ask_and_answer(self, asker: Agent) -> tasks.Aggregate:
        temperature = self.settings.temperature
        prompt: dict[str, Any] = {
            "claim": self.claim,
            "demonstrations": read_examples(__package__),
            "profile": self.settings.profile,
        }
        while len(self.asked) < self.settings.most_questions:
            task = tasks.AskFollowUp(asked=self.asked, **prompt)
            reply = await asker.perform(task, round_=self.round, temperature=temperature)
            if not reply.needed and reply.answer:
                return tasks.Aggregate(explanation=reply.explanation, quotes=reply.quotes, answer=reply.answer)
            self.run.emit(Spoke(agent=ASKER, round=self.round, text=reply.question))
            self.asked += (await self.ground(asker, reply.question, round_=self.round),)
            self.round += 1
        last = tasks.ConcludeAsking(asked=self.asked, **prompt)
        return await asker.perform(last, round_=self.round, temperature=temperature)

    async def ask_concurrently(self, asker: Agent) -> tasks.Aggregate:
        """FOLK's version: all questions, all searches concurrently, one aggregation."""
        profile, temperature = self.settings.profile, self.settings.temperature
        first = tasks.WriteFollowUps(claim=self.claim, demonstrations=question_examples(profile), profile=profile)
        questions = (await asker.perform(first, round_=1, temperature=temperature)).questions
        self.run.emit(Spoke(agent=ASKER, round=1, text="\n".join(questions)))
        self.asked = tuple(await gather_or_cancel(self.ground(asker, question, round_=1) for question in questions))
        task = tasks.JudgeAnswers(
            claim=self.claim, asked=self.asked, demonstrations=aggregate_examples(profile), profile=profile
        )
        return await asker.perform(task, round_=1, temperature=temperature)

    @classmethod
    def asks_for(cls, settings: SelfAskSettings) -> tuple[type[AnyTask], ...]:
        if settings.variant == "decomposed":
            return (tasks.WriteFollowUps, tasks.JudgeAnswers)
        return (tasks.AskFollowUp, tasks.ConcludeAsking)


def question_examples(profile: Profile) -> str:
    return grounding.examples_in(
        profile, __package__, "questions", lambda text: tasks.FollowUps(questions=grounding.questions_in(text))
    )


def aggregate_examples(profile: Profile) -> str:
    def read(text: str) -> tasks.Aggregate:
        return tasks.Aggregate(explanation=text.partition("reasons: ")[2], answer=grounding.bracketed_label(text))

    return grounding.examples_in(profile, __package__, "aggregate", read)
