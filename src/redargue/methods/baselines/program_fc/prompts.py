"""ProgramFC's prompts: programs, facts and short answers (Pan et al. 2023, arXiv 2305.12744, Section 3)."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.llm.parsing import quoted
from redargue.methods.baselines.program_fc.program import Program, parse_program
from redargue.tasks.answer import STYLE_IS_NO_EVIDENCE, documents
from redargue.tasks.base import Task, lines, max_length, quotes_field
from redargue.tasks.untrusted import wrap_untrusted

LONGEST_SPAN = 200  # characters of a short answer


Truth = Literal["true", "false", "impossible to say"]


class RecalledTruth(Frozen):
    """Whether a statement is true, where nothing can be quoted."""

    verdict: Truth = Field(description="on the statement")


class TruthJudgement(Frozen):
    """Whether a statement is true."""

    quotes: tuple[str, ...] = quotes_field("what you rely on, copied word for word")
    verdict: Truth = Field(description="on the statement")


VERDICTS = {"true": "true", "yes": "true", "false": "false", "no": "false"} | dict.fromkeys(
    ("impossible to say", "it's impossible to say", "it is impossible to say"), "impossible to say"
)


QUOTES_FIRST = "Give your quotations first, in double quotation marks; then the answer alone on the last line"


def _answer_and_quotes(task: Task[Any], text: str) -> tuple[str, tuple[str, ...]]:
    """The last line and the quotations before it, where quotations were asked for; else the whole text."""
    if task.profile == "paper" or not task.quote_source:
        return text, ()
    before, _, last = text.strip().rpartition("\n")
    return last, quoted(before)


_LEAD = re.compile(r"(?:the )?answer(?: is)?\s*:?\s+", re.IGNORECASE)


def _after_lead(text: str) -> str:
    """A short reply without "The answer is:" and marks around it."""
    plain = " ".join(text.replace("’", "'").split()).strip(' *_`"')
    return _LEAD.sub("", plain, count=1).strip(' *_`".') if _LEAD.match(plain) else plain.strip(' *_`".')


class RecallFact(Task[TruthJudgement]):
    """Whether a statement is true, from the model's own knowledge (closed book)."""

    template_var_names: ClassVar[tuple[str, ...]] = ("statement",)

    statement: str  # with answers, which come from untrusted texts, instead of variables

    hardened_rules: ClassVar[str] = "Say whether a statement is true, from what you know."

    @property
    def output_format(self) -> str:
        if self.profile == "hardened" and self.quote_source:
            return f"{QUOTES_FIRST}: True, False or impossible to say."
        return "Answer True or False alone, or: impossible to say."

    def input_text(self) -> str:
        if self.profile == "paper":
            statement = wrap_untrusted(self.statement.rstrip("."), inline=True)
            return f"Is it true that {statement}? True or false? The answer is:"
        return f"Statement: {wrap_untrusted(self.statement)}"

    def template_vars(self) -> dict[str, str]:
        return {"statement": wrap_untrusted(self.statement)}

    def requested_type(self) -> type[Frozen]:
        return TruthJudgement if self.quote_source else RecalledTruth

    def parse_plain(self, text: str) -> TruthJudgement | None:
        if text.lstrip().startswith("{"):
            return None
        answer, quotes = _answer_and_quotes(self, text)
        verdict = VERDICTS.get(_after_lead(answer).casefold())
        if verdict is None:
            raise ValueError(f"{answer.strip()[:60]!r} is not one of True, False, impossible to say")
        return TruthJudgement.model_validate({"verdict": verdict, "quotes": quotes})


class VerifyFact(RecallFact):
    """Whether a statement is true, from documents (gold, open book)."""

    template_var_names: ClassVar[tuple[str, ...]] = ("statement", "document")

    passages: tuple[Passage, ...] = ()

    hardened_rules: ClassVar[str] = lines(
        "Say whether a statement is true, from the documents alone.", STYLE_IS_NO_EVIDENCE
    )
    quote_source: ClassVar[str] = "the documents"

    def input_text(self) -> str:
        if self.profile == "paper":
            question = super().input_text()
            return lines(documents(self.passages, "paper"), f"From these documents: i{question.removeprefix('I')}")
        return lines(super().input_text(), f"Document: {documents(self.passages, self.profile)}")

    def template_vars(self) -> dict[str, str]:
        return {**super().template_vars(), "document": documents(self.passages, self.profile)}


_SPAN = Field(
    description="the answer in a few words; empty if it cannot be said", json_schema_extra=max_length(LONGEST_SPAN)
)


class RecalledSpan(Frozen):
    """A short answer, where nothing can be quoted."""

    text: str = _SPAN


class Span(Frozen):
    """A short answer: a name, a date, a number; empty where nothing states it."""

    quotes: tuple[str, ...] = quotes_field("what you rely on, copied word for word")
    text: str = _SPAN

    @field_validator("text")
    @classmethod
    def _short(cls, text: str) -> str:
        plain = " ".join(text.split())
        if len(plain) > LONGEST_SPAN:
            raise ValueError(f"an answer of {len(plain)} characters; a few words were asked for")
        return plain


class RecallAnswer(Task[Span]):
    """A short answer to a question, from the model's own knowledge (closed book)."""

    template_var_names: ClassVar[tuple[str, ...]] = ("question",)

    question: str  # with answers, which come from untrusted texts, instead of variables

    hardened_rules: ClassVar[str] = "Answer a question in a few words, from what you know."

    @property
    def output_format(self) -> str:
        if self.profile == "hardened" and self.quote_source:
            return f"{QUOTES_FIRST}, in a few words."
        return "Give the answer alone, in a few words."

    def input_text(self) -> str:
        if self.profile == "paper":
            return f"Question: {wrap_untrusted(self.question)}\nThe answer is:"
        return f"Question: {wrap_untrusted(self.question)}"

    def template_vars(self) -> dict[str, str]:
        return {"question": wrap_untrusted(self.question)}

    def requested_type(self) -> type[Frozen]:
        return Span if self.quote_source else RecalledSpan

    def parse_plain(self, text: str) -> Span | None:
        if text.lstrip().startswith("{"):
            return None
        last, quotes = _answer_and_quotes(self, text)
        answer = _after_lead(last)
        if not answer or len(answer) > LONGEST_SPAN:
            raise ValueError(f"{last.strip()[:60]!r} is not an answer in a few words")
        return Span(text=answer, quotes=quotes)


class AnswerQuestion(RecallAnswer):
    """A short answer to a question, from documents (gold, open book)."""

    template_var_names: ClassVar[tuple[str, ...]] = ("question", "document")

    passages: tuple[Passage, ...] = ()

    hardened_rules: ClassVar[str] = lines(
        "Answer a question in a few words, from the documents alone.", STYLE_IS_NO_EVIDENCE
    )
    quote_source: ClassVar[str] = "the documents"

    def input_text(self) -> str:
        question, shown = super().input_text(), documents(self.passages, self.profile)
        return lines(shown, question) if self.profile == "paper" else lines(question, f"Document: {shown}")

    def template_vars(self) -> dict[str, str]:
        return {**super().template_vars(), "document": documents(self.passages, self.profile)}


class WriteProgram(Task[Program]):
    """The program for a claim (Section 3.2)."""

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "demonstrations")

    claim: Claim
    demonstrations: str = ""

    instructions: ClassVar[str] = lines(
        "You write a program whose steps check a claim, in the order in which they build on one another.",
        "Question finds out what another step needs; Verify checks one simple statement; the claim is true if all"
        " statements are.",
        "A step may use the answer to an earlier Question: {answer_1} in its text stands for the first one's.",
    )
    output_format: ClassVar[str] = lines(
        'Reply with the program alone; its lines are answer_1 = Question("...") or fact_1 = Verify("...").',
        "The last one is label = Predict(fact_1 and fact_2), with every fact that has to hold.",
    )

    @property
    def worked_examples(self) -> str:
        return f"\n{self.demonstrations.strip()}\n" if self.demonstrations else ""

    def input_text(self) -> str:
        if self.profile == "paper":
            return (
                f"# The claim is that {wrap_untrusted(' '.join(self.claim.text.split()), inline=True)}\ndef program():"
            )
        return f"Claim: {wrap_untrusted(self.claim.text, inline=True)}"

    def template_vars(self) -> dict[str, str]:
        return {"claim": wrap_untrusted(self.claim.text, inline=True), "demonstrations": self.demonstrations}

    def plain_example(self, reply: Program) -> str:
        return reply.lines

    def parse_plain(self, text: str) -> Program | None:
        return None if text.lstrip().startswith("{") else parse_program(text)
