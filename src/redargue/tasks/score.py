"""Tasks that score texts: ragas' faithfulness and answer relevance, similarity, entailment."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, cast

from pydantic import Field, FiniteFloat

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.tasks.answer import Answer
from redargue.tasks.base import Task, json_schema, lines, list_field, text_field
from redargue.tasks.sections import claim_section, documents
from redargue.tasks.untrusted import wrap_untrusted


class Statements(Frozen):
    """Self-contained statements that an answer makes; may be empty."""

    statements: tuple[str, ...] = list_field("the statements, in the answer's order", 20, 400)


class CheckedStatement(Frozen):
    """One statement against the context: verdict 1 only where it can be inferred from the context directly."""

    statement: str = text_field("the statement as it was given", 400)
    reason: str = text_field("why the verdict is what it is", 400, default="")
    verdict: Literal[0, 1] = Field(description="1 if it can be inferred from the context directly, 0 if not")


class CheckedStatements(Frozen):
    """One verdict per returned item; a backend may return fewer items than it was given."""

    statements: tuple[CheckedStatement, ...] = list_field("one item a statement, in their order", 20)


class Question(Frozen):
    """A question that the response would answer."""

    question: str = text_field("a question that the response answers; empty if it answers none", 300)
    noncommittal: Literal[0, 1] = Field(
        description="1 if the response is evasive, vague or says that it does not know, 0 otherwise"
    )


class Questions(Frozen):
    """Up to three different questions that the response would answer; none if it answers none."""

    questions: tuple[str, ...] = list_field("the three questions", 3, 300)
    noncommittal: Literal[0, 1]


class NumberedVerdict(Frozen):
    """A verdict on the statement with that number."""

    number: int = Field(description="of the statement")
    reason: str = text_field("in a few words", 400, default="")
    verdict: Literal[0, 1]


class NumberedVerdicts(Frozen):
    """Verdicts by the statements' numbers, so that the statements are not repeated."""

    verdicts: tuple[NumberedVerdict, ...] = list_field("one per statement", 20)


Probability = Annotated[FiniteFloat, Field(ge=0, le=1)]


class Similarities(Frozen):
    """Cosines in [-1, 1] or ratings in [0, 1]: one per text, in order."""

    values: tuple[FiniteFloat, ...]


def _json(fields: Any) -> str:
    return wrap_untrusted(json.dumps(fields, ensure_ascii=False))


class WriteStatements(Task[Statements]):
    """Splits an answer into statements (ragas 0.3.0, first call of faithfulness)."""

    question: str
    answer: str

    def template_vars(self) -> Mapping[str, object]:
        return {
            "question": wrap_untrusted(self.question, inline=True),
            "answer": wrap_untrusted(self.answer),
            "json": _json({"question": self.question, "answer": self.answer}),
            "schema": json_schema(Statements),
        }


class CheckStatements(Task[CheckedStatements]):
    """Judges statements against a context (ragas 0.3.0, second call of faithfulness).

    Attributes:
        context: in the ``paper`` profile, the documents' joined texts.
        passages: in the hardened profile, the documents as the answer's author saw them: numbered, with their titles.
    """

    context: str = ""
    passages: tuple[Passage, ...] = ()
    numbers: tuple[int, ...] = ()  # of their documents in the whole claim; empty: from 1
    statements: tuple[str, ...]

    def template_vars(self) -> Mapping[str, object]:
        context, statements = wrap_untrusted(self.context), _json(self.statements)
        if self.profile == "hardened":
            texts = enumerate((" ".join(text.split()) for text in self.statements), 1)
            statements = wrap_untrusted("\n".join(f"{number}. {text}" for number, text in texts))
            if self.passages:
                context = documents(self.passages, self.profile, numbers=self.numbers)
        return {
            "context": context,
            "statements": statements,
            "json": _json({"context": self.context, "statements": self.statements}),
            "schema": json_schema(CheckedStatements),
        }

    def reply_type(self) -> type[Frozen]:
        return NumberedVerdicts if self.profile == "hardened" else CheckedStatements

    def from_reply(self, reply: Frozen) -> CheckedStatements:
        """A ValueError for a number that no statement has, or that occurs twice."""
        if not isinstance(reply, NumberedVerdicts):
            return cast(CheckedStatements, reply)
        statements, last = dict(enumerate(self.statements, 1)), len(self.statements)
        for number, times in Counter(item.number for item in reply.verdicts).items():
            if number not in statements or times > 1:
                raise ValueError(f"{number} is not the number of one statement: they are 1 to {last}")
        checked = []
        for item in reply.verdicts:
            said = {"reason": item.reason, "verdict": item.verdict}
            checked.append(CheckedStatement(statement=statements[item.number], **said))
        return CheckedStatements(statements=tuple(checked))

    def fixed_items(self) -> dict[str, tuple[str, Sequence[Any]]]:
        if self.profile == "hardened":
            return {"verdicts": ("number", range(1, len(self.statements) + 1))}
        return {"statements": ("statement", self.statements)}


class WriteQuestion(Task[Question]):
    """Writes a question for a response, which alone is shown (ragas 0.3.0, answer relevance); asked three times."""

    response: str

    def template_vars(self) -> Mapping[str, object]:
        return {
            "response": wrap_untrusted(self.response),
            "json": _json({"response": self.response}),
            "schema": json_schema(Question),
        }


class WriteQuestions(Task[Questions]):
    """Three questions for a response from one request, and whether it is noncommittal (``hardened``)."""

    response: str

    def template_vars(self) -> Mapping[str, object]:
        return {"response": wrap_untrusted(self.response), "schema": json_schema(Questions)}


class CompareTexts(Task[Similarities]):
    """Similarity of texts to a reference: cosines of an embedding model."""

    charge = "embedding"
    prompt = "{reference}\n{texts}"

    reference: str
    texts: tuple[str, ...]

    def template_vars(self) -> Mapping[str, object]:
        return {"reference": self.reference, "texts": lines(*self.texts)}


class RateTexts(CompareTexts):
    """Similarity of texts to a reference in [0, 1], by a cross-encoder (ACL version, Eq. 7)."""


class Inferred(Frozen):
    """Probability that a premise entails the hypothesis, and (None from some models) that it contradicts it."""

    supports: Probability
    refutes: Probability | None = None


class Inferences(Frozen):
    """One per premise, in order."""

    inferences: tuple[Inferred, ...]


class InferClaim(Task[Inferences]):
    """Whether premises entail a hypothesis; a local small model reads each premise, on every backend."""

    charge = "embedding"
    prompt = "{hypothesis}\n{premises}"

    hypothesis: str
    premises: tuple[str, ...]  # texts of evidence; a text that is too long is cut off at the end
    support_only: bool = False  # the probability of refutation is not given

    def template_vars(self) -> Mapping[str, object]:
        return {"hypothesis": self.hypothesis, "premises": lines(*self.premises)}


class ReaderAnswer(Answer):
    """A small reader's answer.

    Attributes:
        opposing: sentences of the passages that speak for the other side; empty for a claim that is left open.
        probabilities: calibrated, by label; empty where the label set has labels that were not calibrated.
    """

    opposing: tuple[str, ...] = ()
    probabilities: dict[str, float] = Field(default_factory=dict)


class ReadPassages(Task[ReaderAnswer]):
    """What passages say about a claim; the local small reader reads them, on every backend."""

    charge = "embedding"
    prompt = "{claim}\n{document}"

    claim: Claim
    passages: tuple[Passage, ...] = ()

    def template_vars(self) -> Mapping[str, object]:
        shown = documents(self.passages, self.profile)
        return {"claim": claim_section(self.claim, self.profile), "document": shown}


# by small models on every backend: no endpoint offers them
RATING = (RateTexts, InferClaim, ReadPassages)
