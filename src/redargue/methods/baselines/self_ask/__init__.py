"""Self-Ask: follow-up questions that a search engine answers, until nothing is left to ask.

Press et al. 2022, "Measuring and Narrowing the Compositionality Gap in Language Models" (arXiv 2210.03350, Section 3).
The original interleaves questions and answers in one growing text; FOLK's comparison (Wang & Shu 2023, arXiv
2310.05253) asks all questions first and aggregates the results.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from redargue.claims import Claim, Frozen, Meaning
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply
from redargue.events import Spoke
from redargue.methods.agent import Agent
from redargue.methods.base import FROM_SETTINGS, SearchSettings
from redargue.methods.baselines import grounding
from redargue.methods.baselines.grounding import Grounded, found_in
from redargue.methods.baselines.small_models import clauses_of, is_it_true, likeliest, quotes_for
from redargue.nli.backend import EmbeddedBackend, perform
from redargue.tasks.answer import Answer, Quotations, quoted, quotes_field
from redargue.tasks.base import AnyTask, Profile, Task, text_field
from redargue.tasks.sections import NumberedDocuments
from redargue.tasks.template import read_examples
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Verdict


class FollowUps(Frozen):
    """The questions that a claim's check needs answers to."""

    questions: grounding.QuestionTexts = Field(
        description="what has to be known to check the claim, one question each",
        json_schema_extra=grounding.QUESTION_BOUNDS,
    )


class WriteFollowUps(grounding.QuestionsTask[FollowUps]):
    """All questions before the first search (FOLK's Self-Ask)."""

    def plain_example(self, reply: FollowUps) -> str:
        return grounding.question_lines(reply.questions)

    def parse_plain(self, text: str) -> FollowUps | None:
        return None if grounding.is_object(text) else FollowUps(questions=grounding.questions_in(text))


class Aggregate(Frozen):
    """Whether a claim is supported."""

    explanation: str = text_field("the reasons, from what was found", 1_000)
    quotes: Quotations = quotes_field("what you rely on, copied word for word from what was found")
    answer: grounding.SupportLabel = Field(description="SUPPORTED or NOT_SUPPORTED")


class JudgeAnswers(Task[Aggregate]):
    """The label, from all questions and what was found for them."""

    claim: Claim
    asked: tuple[grounding.Grounded, ...]
    demonstrations: str = ""

    def template_vars(self) -> Mapping[str, object]:
        return {
            "claim_question": grounding.claim_as_question(self.claim, self.profile),
            "context": grounding.context(self.asked, self.profile),
            "demonstrations": self.demonstrations.strip(),
        }

    def plain_example(self, reply: Aggregate) -> str:
        return f"The claim is [{reply.answer}]. Here are the reasons: {reply.explanation}"

    def parse_plain(self, text: str) -> Aggregate | None:
        if grounding.is_object(text):
            return None
        quotes = quoted(text) if self.profile == "hardened" else ()
        return Aggregate(explanation=text.strip(), answer=grounding.bracketed_label(text), quotes=quotes)


class FollowUp(Frozen):
    """The next question, or the answer."""

    needed: bool = Field(description="whether a follow up question is needed")
    question: str = text_field("the follow up question; empty if none is needed", 300, default="")
    explanation: str = text_field("the reasons for the answer", 1_000, default="")
    quotes: Quotations = quotes_field("what you rely on, copied word for word from what was found")
    answer: Literal["SUPPORTED", "NOT_SUPPORTED", ""] = Field(
        default="",
        description="SUPPORTED or NOT_SUPPORTED; not read where a question is needed",
        json_schema_extra={"enum": ["SUPPORTED", "NOT_SUPPORTED"]},
    )


_FINAL, _ASKS, _FOUND = "So the final answer is:", "Follow up:", "Intermediate answer:"


class AskFollowUp(Task[FollowUp]):
    """The next follow-up question of Self-Ask, or its final answer."""

    claim: Claim
    asked: tuple[grounding.Grounded, ...] = ()
    demonstrations: str = ""

    def template_vars(self) -> Mapping[str, object]:
        return {
            "claim_question": grounding.claim_as_question(self.claim, self.profile),
            "asked": self._so_far(),
            "demonstrations": self.demonstrations.strip(),
        }

    def _so_far(self) -> str:
        needed = "Are follow up questions needed here:"
        if not self.asked:
            return needed
        parts, numbered = [f"{needed} Yes."], NumberedDocuments(self.profile)
        for question in self.asked:
            results = numbered.shown(question.passages)
            results = " ".join(results.split()) if self.profile == "paper" else results
            parts += [f"{_ASKS} {wrap_untrusted(question.question)}", f"{_FOUND} {results}"]
        return "\n".join(parts)

    def parse_plain(self, text: str) -> FollowUp | None:
        """Whichever comes first, a question or the final answer; what follows "Intermediate answer:" is made up."""
        if grounding.is_object(text):
            return None
        own = text.partition(_FOUND)[0]
        match = re.search(rf"({_FINAL}|{_ASKS})[ \t]*([^\n]*)", own)
        if match is None:
            raise ValueError(f"neither {_ASKS!r} nor {_FINAL!r} is there")
        if match.group(1) == _ASKS:
            return FollowUp(needed=True, question=match.group(2).strip())
        quotes = quoted(own[: match.start()]) if self.profile == "hardened" else ()
        return FollowUp(needed=False, answer=_side(match.group(2)), explanation=own.strip(), quotes=quotes)

    def validate_answer(self, answer: FollowUp) -> FollowUp:
        question = " ".join(answer.question.split())
        if answer.needed and not question:
            raise ValueError("the follow up question is empty")
        if not answer.needed and not answer.answer:
            raise ValueError("neither a follow up question nor an answer")
        return answer.model_copy(update={"question": question})


def _side(text: str) -> grounding.SupportLabel:
    plain = text.strip(" .*_`\"'[]").replace(" ", "_").upper()
    if plain not in ("SUPPORTED", "NOT_SUPPORTED"):
        raise ValueError(f"{text.strip()[:60]!r} is neither SUPPORTED nor NOT_SUPPORTED")
    return "SUPPORTED" if plain == "SUPPORTED" else "NOT_SUPPORTED"


class ConcludeAsking(JudgeAnswers):
    """The forced final answer of Self-Ask: the text so far, ended by its last marker."""

    def template_vars(self) -> Mapping[str, object]:
        shown = {"asked": self.asked, "demonstrations": self.demonstrations}
        return AskFollowUp(claim=self.claim, profile=self.profile, **shown).template_vars()

    def parse_plain(self, text: str) -> Aggregate | None:
        if grounding.is_object(text):
            return None
        if self.profile == "hardened":
            before, _, last = text.strip().rpartition("\n")
            side = _side(last.strip().removeprefix(_FINAL))
            return Aggregate(explanation=text.strip(), answer=side, quotes=quoted(before))
        own = text.strip().removeprefix(_FINAL).strip()
        return Aggregate(explanation=text.strip(), answer=_side(own.partition("\n")[0]))


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
        "paper": {},
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
            return self.verdict(None, reason=error.what, decided_by=ASKER, rounds=self.round)
        label = self.side_label(supported=aggregate.answer == "SUPPORTED")
        answer = Answer(text=aggregate.explanation, label=label, quotes=aggregate.quotes)
        return self.conclude(asker, answer, self.asked, round_=self.round)

    async def ask_and_answer(self, asker: Agent) -> Aggregate:
        examples = {"demonstrations": read_examples(__package__)}
        while len(self.asked) < self.settings.most_questions:
            reply = await self.ask(asker, AskFollowUp, round_=self.round, asked=self.asked, **examples)
            if not reply.needed and reply.answer:
                return Aggregate(explanation=reply.explanation, quotes=reply.quotes, answer=reply.answer)
            self.run.emit(Spoke(agent=ASKER, round=self.round, text=reply.question))
            self.asked += (await self.ground(asker, reply.question, round_=self.round),)
            self.round += 1
        return await self.ask(asker, ConcludeAsking, round_=self.round, asked=self.asked, **examples)

    async def ask_concurrently(self, asker: Agent) -> Aggregate:
        """FOLK's version: all questions, all searches concurrently, one aggregation."""
        examples = question_examples(self.settings.profile)
        questions = (await self.ask(asker, WriteFollowUps, round_=1, demonstrations=examples)).questions
        self.run.emit(Spoke(agent=ASKER, round=1, text="\n".join(questions)))
        self.asked = tuple(await gather_or_cancel(self.ground(asker, question, round_=1) for question in questions))
        fields = {"asked": self.asked, "demonstrations": aggregate_examples(self.settings.profile)}
        return await self.ask(asker, JudgeAnswers, round_=1, **fields)

    @classmethod
    def asks_for(cls, settings: SelfAskSettings) -> tuple[type[AnyTask], ...]:
        if settings.variant == "decomposed":
            return (WriteFollowUps, JudgeAnswers)
        return (AskFollowUp, ConcludeAsking)


def question_examples(profile: Profile) -> str:
    return grounding.examples_in(
        profile, __package__, "questions", lambda text: FollowUps(questions=grounding.questions_in(text))
    )


def aggregate_examples(profile: Profile) -> str:
    def read(text: str) -> Aggregate:
        return Aggregate(explanation=text.partition("reasons: ")[2], answer=grounding.bracketed_label(text))

    return grounding.examples_in(profile, __package__, "aggregate", read)


@perform.register
def _write_follow_ups(task: WriteFollowUps, backend: EmbeddedBackend) -> FollowUps:
    return FollowUps(questions=tuple(map(is_it_true, clauses_of(task.claim))))


@perform.register
def _ask_follow_up(task: AskFollowUp, backend: EmbeddedBackend) -> FollowUp:
    questions = [is_it_true(clause) for clause in clauses_of(task.claim)]
    asked = {question.question for question in task.asked}
    following = next((question for question in questions if question not in asked), "")
    if following:
        return FollowUp(needed=True, question=following)
    answer = _aggregate(task.claim.text, task.asked, backend)
    return FollowUp(needed=False, explanation=answer.explanation, quotes=answer.quotes, answer=answer.answer)


@perform.register
def _aggregate_answers(task: JudgeAnswers, backend: EmbeddedBackend) -> Aggregate:
    return _aggregate(task.claim.text, task.asked, backend)


def _aggregate(claim: str, asked: tuple[Grounded, ...], backend: EmbeddedBackend) -> Aggregate:
    reading = backend.reader.read(claim, found_in(asked))
    meaning = likeliest(reading)
    quotes = quotes_for(reading, meaning)
    why = " ".join(f'"{quote}"' for quote in quotes) or "Nothing that was found settles the claim."
    return Aggregate(
        explanation=why, quotes=quotes, answer="SUPPORTED" if meaning is Meaning.SUPPORTED else "NOT_SUPPORTED"
    )
