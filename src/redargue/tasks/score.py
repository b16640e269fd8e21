"""The questions behind the stability score: ragas' faithfulness and answer relevance, one task each."""

from __future__ import annotations

import json
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, FiniteFloat

from redargue.claims import Frozen
from redargue.tasks.base import Task, json_schema, lines, list_bounds, max_length
from redargue.tasks.untrusted import wrap_untrusted


class Statements(Frozen):
    """Self-contained statements that an answer makes; may be empty."""

    statements: tuple[str, ...] = Field(
        description="the statements, in the answer's order", json_schema_extra=list_bounds(20, 400)
    )


class CheckedStatement(Frozen):
    """One statement against the context: verdict 1 only where it can be inferred from the context directly."""

    statement: str = Field(description="the statement as it was given", json_schema_extra=max_length(400))
    reason: str = Field(default="", description="why the verdict is what it is", json_schema_extra=max_length(400))
    verdict: Literal[0, 1] = Field(description="1 if it can be inferred from the context directly, 0 if not")


class CheckedStatements(Frozen):
    """One verdict a returned item; a mind may return fewer items than it was given."""

    statements: tuple[CheckedStatement, ...] = Field(
        description="one item a statement, in their order", json_schema_extra={"maxItems": 20}
    )


class Question(Frozen):
    """A question that the response would answer.

    Attributes:
        question: empty where the response answers nothing.
        noncommittal: 1 where the response is evasive, vague or says that it does not know.
    """

    question: str = Field(
        description="a question that the response answers; empty if it answers none", json_schema_extra=max_length(300)
    )
    noncommittal: Literal[0, 1] = Field(
        description="1 if the response is evasive, vague or says that it does not know, 0 otherwise"
    )


Probability = Annotated[FiniteFloat, Field(ge=0, le=1)]


class Similarities(Frozen):
    """Cosines in [-1, 1], or ratings in [0, 1]: one a text, in order."""

    values: tuple[FiniteFloat, ...]


@cache
def _schema(kind: type[Frozen]) -> str:
    return json.dumps(kind.model_json_schema(), ensure_ascii=False)


@cache
def _as_json(kind: type[Frozen], name: str) -> str:
    """Ragas' own form: JSON that follows a schema, with examples before the input."""
    shown = [
        f"Input: {json.dumps(given, ensure_ascii=False)}\nOutput: {output.model_dump_json()}"
        for given, output in _EXAMPLES[name]
    ]
    demand = f"Reply with one JSON object that follows this schema: {json_schema(kind)}"
    return lines(demand, "Examples:", *shown, "Now the input:")


def _json(fields: Any) -> str:
    """The material as ragas gives it: one JSON object."""
    return wrap_untrusted(json.dumps(fields, ensure_ascii=False))


_STATEMENTS_IN = {
    "question": "Who was Mara Lindqvist?",
    "answer": "She was a Swedish engineer who designed bridges. Her best known one crosses the Sund.",
}
_STATEMENTS_OUT = Statements(
    statements=(
        "Mara Lindqvist was a Swedish engineer.",
        "Mara Lindqvist designed bridges.",
        "Mara Lindqvist's best known bridge crosses the Sund.",
    )
)
_CHECKED_IN = {
    "context": "Tomas keeps bees behind the mill in Orvell. He sells the honey on Saturdays.",
    "statements": ["Tomas keeps bees.", "Tomas owns the mill."],
}
_CHECKED_OUT = CheckedStatements(
    statements=(
        CheckedStatement(
            statement="Tomas keeps bees.", reason="The context says that Tomas keeps bees behind the mill.", verdict=1
        ),
        CheckedStatement(
            statement="Tomas owns the mill.", reason="The context names the mill, but not its owner.", verdict=0
        ),
    )
)
_QUESTIONS = (
    (
        {"response": "The lighthouse at Carrow Point was lit in 1874."},
        Question(question="When was the lighthouse at Carrow Point lit?", noncommittal=0),
    ),
    (
        {"response": "I cannot say what the new ferry's engine does; I have no information on it."},
        Question(question="What does the new ferry's engine do?", noncommittal=1),
    ),
)

_EXAMPLES: dict[str, tuple[tuple[dict[str, Any], Frozen], ...]] = {
    "statements": ((_STATEMENTS_IN, _STATEMENTS_OUT),),
    "checked": ((_CHECKED_IN, _CHECKED_OUT),),
    "questions": _QUESTIONS,
}


class WriteStatements(Task[Statements]):
    """Splits an answer into statements (ragas 0.3.0, first call of faithfulness)."""

    template_var_names: ClassVar[tuple[str, ...]] = ("question", "answer")

    question: str
    answer: str

    def instructions(self) -> str:
        """What to do."""
        return lines(
            "Break each sentence of the answer into one or more statements that can be understood alone."
            " Use no pronouns. Reply with the statements only, in the answer's order.",
        )

    def output_format(self) -> str:
        """JSON, with an example."""
        return _as_json(Statements, "statements")

    def input_text(self) -> str:
        """Question and answer."""
        return _json({"question": self.question, "answer": self.answer})

    def template_vars(self) -> dict[str, str]:
        """Question and answer."""
        return {"question": wrap_untrusted(self.question), "answer": wrap_untrusted(self.answer)}


class CheckStatements(Task[CheckedStatements]):
    """Judges statements against a context (ragas 0.3.0, second call of faithfulness)."""

    template_var_names: ClassVar[tuple[str, ...]] = ("context", "statements")

    context: str
    statements: tuple[str, ...]

    def instructions(self) -> str:
        """What to do."""
        return lines(
            "For each statement give a reason and a verdict: 1 if it can be inferred from the context directly,"
            " 0 if it cannot.",
        )

    def output_format(self) -> str:
        """JSON, with an example of either verdict."""
        return _as_json(CheckedStatements, "checked")

    def input_text(self) -> str:
        """Context and statements."""
        return _json({"context": self.context, "statements": self.statements})

    def template_vars(self) -> dict[str, str]:
        """Context and statements, these as JSON."""
        return {"context": wrap_untrusted(self.context), "statements": _json(self.statements)}


class WriteQuestion(Task[Question]):
    """Writes a question for a response, which alone is shown (ragas 0.3.0, answer relevance); asked three times."""

    template_var_names: ClassVar[tuple[str, ...]] = ("response",)

    response: str

    def instructions(self) -> str:
        """What to do."""
        return lines(
            "Write a question that the response answers, and say whether the response is noncommittal: 1 if it is"
            " evasive, vague or says that it does not know, 0 otherwise.",
        )

    def output_format(self) -> str:
        """JSON, with a committal and a noncommittal example."""
        return _as_json(Question, "questions")

    def input_text(self) -> str:
        """The response."""
        return _json({"response": self.response})

    def template_vars(self) -> dict[str, str]:
        """The response."""
        return {"response": wrap_untrusted(self.response)}


class CompareTexts(Task[Similarities]):
    """How near texts are to a reference: cosines, by an embedding model."""

    charge: ClassVar[Literal["call", "embedding"]] = "embedding"
    template_var_names: ClassVar[tuple[str, ...]] = ()

    reference: str
    texts: tuple[str, ...]

    def input_text(self) -> str:
        """The texts: a small model is given no words besides."""
        return lines(self.reference, *self.texts)


class RateTexts(CompareTexts):
    """How near texts are to a reference, each pair read together by a cross-encoder: in [0, 1] (ACL version, Eq. 7)."""


class Inferred(Frozen):
    """What a premise says of the hypothesis.

    Attributes:
        supports: how probable it is that the premise entails the hypothesis, in [0, 1].
        refutes: that it contradicts it; None from a model that does not say.
    """

    supports: Probability
    refutes: Probability | None = None


class Inferences(Frozen):
    """One a premise, in order."""

    inferences: tuple[Inferred, ...]


class InferClaim(Task[Inferences]):
    """Whether premises entail a hypothesis, each read alone by a small model on this machine, whoever plays the rest.

    Attributes:
        hypothesis: the claim.
        premises: texts of evidence; of one that is too long the end is cut off.
        sigmoid: the probability is the sigmoid of the model's first output, as WeCheck is trained; else of the outputs
            together.
    """

    charge: ClassVar[Literal["call", "embedding"]] = "embedding"
    template_var_names: ClassVar[tuple[str, ...]] = ()

    hypothesis: str
    premises: tuple[str, ...]
    sigmoid: bool = False

    def input_text(self) -> str:
        """The texts: a small model is given no words besides."""
        return lines(self.hypothesis, *self.premises)


RATING = (RateTexts, InferClaim)  # no endpoint does it: small models of this machine do, on every backend
