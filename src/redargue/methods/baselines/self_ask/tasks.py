"""Self-Ask's prompts: interleaved (Press et al., arXiv 2210.03350), or all questions first (FOLK, arXiv 2310.05253)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.llm.parsing import quoted
from redargue.methods.baselines import grounding
from redargue.tasks.answer import documents
from redargue.tasks.base import Task, max_length, quotes_field
from redargue.tasks.untrusted import wrap_untrusted


class FollowUps(Frozen):
    """The questions that a claim's check needs answers to."""

    questions: grounding.QuestionTexts = Field(
        description="what has to be known to check the claim, one question each",
        json_schema_extra=grounding.QUESTION_BOUNDS,
    )


class WriteFollowUps(grounding.AsksQuestions, Task[FollowUps]):
    """All questions before the first search (FOLK's Self-Ask)."""

    claim: Claim
    demonstrations: str = ""

    def plain_example(self, reply: FollowUps) -> str:
        return grounding.question_lines(reply.questions)

    def parse_plain(self, text: str) -> FollowUps | None:
        return None if grounding.is_object(text) else FollowUps(questions=grounding.questions_in(text))


class Aggregate(Frozen):
    """Whether a claim is supported."""

    explanation: str = Field(description="the reasons, from what was found", json_schema_extra=max_length(1_000))
    quotes: tuple[str, ...] = quotes_field("what you rely on, copied word for word from what was found")
    answer: grounding.SupportLabel = Field(description="SUPPORTED or NOT_SUPPORTED")


class JudgeAnswers(Task[Aggregate]):
    """The label, from all questions and what was found for them."""

    claim: Claim
    asked: tuple[grounding.Grounded, ...]
    demonstrations: str = ""

    def template_vars(self) -> Mapping[str, object]:
        return {
            "claim_question": grounding.claim_as_question(self.claim),
            "context": grounding.context(self.asked, self.profile),
            "demonstrations": self.demonstrations.strip(),
        }

    def _quotes(self, text: str) -> tuple[str, ...]:
        return quoted(text) if self.profile == "hardened" else ()

    def plain_example(self, reply: Aggregate) -> str:
        return f"The claim is [{reply.answer}]. Here are the reasons: {reply.explanation}"

    def parse_plain(self, text: str) -> Aggregate | None:
        return (
            None
            if grounding.is_object(text)
            else Aggregate(explanation=text.strip(), answer=grounding.bracketed_label(text), quotes=self._quotes(text))
        )


class FollowUp(Frozen):
    """The next question, or the answer."""

    needed: bool = Field(description="whether a follow up question is needed")
    question: str = Field(
        default="", description="the follow up question; empty if none is needed", json_schema_extra=max_length(300)
    )
    explanation: str = Field(default="", description="the reasons for the answer", json_schema_extra=max_length(1_000))
    quotes: tuple[str, ...] = quotes_field("what you rely on, copied word for word from what was found")
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
            "claim_question": grounding.claim_as_question(self.claim),
            "asked": self._so_far(),
            "demonstrations": self.demonstrations.strip(),
        }

    def _so_far(self) -> str:
        needed = "Are follow up questions needed here:"
        if not self.asked:
            return needed
        parts = [f"{needed} Yes."]
        for question in self.asked:
            results = documents(question.passages, self.profile)
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
        asking = AskFollowUp(
            claim=self.claim, asked=self.asked, demonstrations=self.demonstrations, profile=self.profile
        )
        return asking.template_vars()

    def parse_plain(self, text: str) -> Aggregate | None:
        if grounding.is_object(text):
            return None
        if self.profile == "hardened":
            before, _, last = text.strip().rpartition("\n")
            side = _side(last.strip().removeprefix(_FINAL))
            return Aggregate(explanation=text.strip(), answer=side, quotes=quoted(before))
        own = text.strip().removeprefix(_FINAL).strip()
        return Aggregate(explanation=text.strip(), answer=_side(own.partition("\n")[0]))
