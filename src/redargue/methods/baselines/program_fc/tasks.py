"""ProgramFC's prompts: programs, facts and short answers (Pan et al. 2023, arXiv 2305.12744, Section 3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.methods.baselines.program_fc.program import Program, parse_program
from redargue.tasks.base import Task, max_length
from redargue.tasks.documents import as_of, documents
from redargue.tasks.quotations import Quotations, quoted, quotes_field
from redargue.tasks.untrusted import wrap_untrusted

LONGEST_SPAN = 200  # characters of a short answer


Truth = Literal["true", "false", "impossible to say"]


class RecalledTruth(Frozen):
    """Whether a statement is true, where nothing can be quoted."""

    verdict: Truth = Field(description="on the statement")


class TruthJudgement(Frozen):
    """Whether a statement is true."""

    quotes: Quotations = quotes_field("what you rely on, copied word for word")
    verdict: Truth = Field(description="on the statement")


VERDICTS = {"true": "true", "yes": "true", "false": "false", "no": "false"} | dict.fromkeys(
    ("impossible to say", "it's impossible to say", "it is impossible to say"), "impossible to say"
)


def _answer_and_quotes(text: str) -> tuple[str, tuple[str, ...]]:
    """The last line and the quotations before it."""
    before, _, last = text.strip().rpartition("\n")
    return last, quoted(before)


_LEAD = re.compile(r"(?:the )?answer(?: is)?\s*:?\s+", re.IGNORECASE)


def _after_lead(text: str) -> str:
    """A short reply without "The answer is:" and marks around it."""
    plain = " ".join(text.replace("’", "'").split()).strip(' *_`"')
    return _LEAD.sub("", plain, count=1).strip(' *_`".') if _LEAD.match(plain) else plain.strip(' *_`".')


class RecallFact(Task[TruthJudgement]):
    """Whether a statement is true, from the model's own knowledge (closed book)."""

    quotes: ClassVar[bool] = False  # whether quotations are asked for

    statement: str  # with answers, which come from untrusted texts, instead of variables

    def template_vars(self) -> Mapping[str, object]:
        statement = self.statement.rstrip(".") if self.profile == "paper" else self.statement
        return {"statement": wrap_untrusted(statement)}

    def requested_type(self) -> type[Frozen]:
        return TruthJudgement if self.quotes else RecalledTruth

    def parse_plain(self, text: str) -> TruthJudgement | None:
        if text.lstrip().startswith("{"):
            return None
        answer, quotes = _answer_and_quotes(text) if self.quotes and self.profile == "hardened" else (text, ())
        verdict = VERDICTS.get(_after_lead(answer).casefold())
        if verdict is None:
            raise ValueError(f"{answer.strip()[:60]!r} is not one of True, False, impossible to say")
        return TruthJudgement.model_validate({"verdict": verdict, "quotes": quotes})


class VerifyFact(RecallFact):
    """Whether a statement is true, from documents (gold, open book)."""

    passages: tuple[Passage, ...] = ()
    claim: Claim | None = None  # which the program checks: the documents are judged as of its date (hardened)

    quotes: ClassVar[bool] = True

    def template_vars(self) -> Mapping[str, object]:
        day = as_of(self.claim, self.profile) if self.claim else ""
        return {**super().template_vars(), "document": documents(self.passages, self.profile), "as_of": day}


_SPAN = Field(
    description="the answer in a few words; empty if it cannot be said", json_schema_extra=max_length(LONGEST_SPAN)
)


class RecalledSpan(Frozen):
    """A short answer, where nothing can be quoted."""

    text: str = _SPAN


class ProgramSpan(Frozen):
    """A short answer: a name, a date, a number; empty where nothing states it."""

    quotes: Quotations = quotes_field("what you rely on, copied word for word")
    text: str = _SPAN

    @field_validator("text")
    @classmethod
    def _short(cls, text: str) -> str:
        plain = " ".join(text.split())
        if len(plain) > LONGEST_SPAN:
            raise ValueError(f"an answer of {len(plain)} characters; a few words were asked for")
        return plain


class RecallAnswer(Task[ProgramSpan]):
    """A short answer to a question, from the model's own knowledge (closed book)."""

    quotes: ClassVar[bool] = False  # whether quotations are asked for

    question: str  # with answers, which come from untrusted texts, instead of variables

    def template_vars(self) -> Mapping[str, object]:
        return {"question": wrap_untrusted(self.question)}

    def requested_type(self) -> type[Frozen]:
        return ProgramSpan if self.quotes else RecalledSpan

    def parse_plain(self, text: str) -> ProgramSpan | None:
        if text.lstrip().startswith("{"):
            return None
        last, quotes = _answer_and_quotes(text) if self.quotes and self.profile == "hardened" else (text, ())
        answer = _after_lead(last)
        if not answer or len(answer) > LONGEST_SPAN:
            raise ValueError(f"{last.strip()[:60]!r} is not an answer in a few words")
        return ProgramSpan(text=answer, quotes=quotes)


class AnswerQuestion(RecallAnswer):
    """A short answer to a question, from documents (gold, open book)."""

    passages: tuple[Passage, ...] = ()
    claim: Claim | None = None  # which the program checks: the documents are judged as of its date (hardened)

    quotes: ClassVar[bool] = True

    def template_vars(self) -> Mapping[str, object]:
        day = as_of(self.claim, self.profile) if self.claim else ""
        return {**super().template_vars(), "document": documents(self.passages, self.profile), "as_of": day}


class WriteProgram(Task[Program]):
    """The program for a claim (Section 3.2)."""

    claim: Claim
    demonstrations: str = ""

    def template_vars(self) -> Mapping[str, object]:
        text = " ".join(self.claim.text.split()) if self.profile == "paper" else self.claim.text
        return {
            "claim": wrap_untrusted(text, inline=True),
            "demonstrations": self.demonstrations.strip(),
            "variable": "{answer_1}",
        }

    def plain_example(self, reply: Program) -> str:
        return reply.lines

    def parse_plain(self, text: str) -> Program | None:
        return None if text.lstrip().startswith("{") else parse_program(text)
