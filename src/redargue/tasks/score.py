"""Tasks that score texts: ragas' faithfulness and answer relevance, similarity, entailment."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
    """One verdict per returned item; a backend may return fewer items than it was given."""

    statements: tuple[CheckedStatement, ...] = Field(
        description="one item a statement, in their order", json_schema_extra={"maxItems": 20}
    )


class Question(Frozen):
    """A question that the response would answer."""

    question: str = Field(
        description="a question that the response answers; empty if it answers none", json_schema_extra=max_length(300)
    )
    noncommittal: Literal[0, 1] = Field(
        description="1 if the response is evasive, vague or says that it does not know, 0 otherwise"
    )


Probability = Annotated[FiniteFloat, Field(ge=0, le=1)]


class Similarities(Frozen):
    """Cosines in [-1, 1] or ratings in [0, 1]: one per text, in order."""

    values: tuple[FiniteFloat, ...]


@cache
def _json_format(kind: type[Frozen]) -> str:
    examples = [
        f"Input: {json.dumps(fields, ensure_ascii=False)}\nOutput: {output.model_dump_json()}"
        for fields, output in _EXAMPLES[kind]
    ]
    request = f"Reply with one JSON object that follows this schema: {json_schema(kind)}"
    return lines(request, "Examples:", *examples, "Now the input:")


def _json(fields: Any) -> str:
    return wrap_untrusted(json.dumps(fields, ensure_ascii=False))


_BRIDGES = {
    "question": "Who was Mara Lindqvist?",
    "answer": "She was a Swedish engineer who designed bridges. Her best known one crosses the Sund.",
}
_BRIDGE_STATEMENTS = Statements(
    statements=(
        "Mara Lindqvist was a Swedish engineer.",
        "Mara Lindqvist designed bridges.",
        "Mara Lindqvist's best known bridge crosses the Sund.",
    )
)
_BEES = CheckedStatement(
    statement="Tomas keeps bees.", reason="The context says that Tomas keeps bees behind the mill.", verdict=1
)
_MILL = CheckedStatement(
    statement="Tomas owns the mill.", reason="The context names the mill, but not its owner.", verdict=0
)
_HONEY = {
    "context": "Tomas keeps bees behind the mill in Orvell. He sells the honey on Saturdays.",
    "statements": [_BEES.statement, _MILL.statement],
}
_COMMITTAL = {"response": "The lighthouse at Carrow Point was lit in 1874."}
_NONCOMMITTAL = {"response": "I cannot say what the new ferry's engine does; I have no information on it."}
_EXAMPLES: dict[type[Frozen], list[tuple[dict[str, Any], Frozen]]] = {
    Statements: [(_BRIDGES, _BRIDGE_STATEMENTS)],
    CheckedStatements: [(_HONEY, CheckedStatements(statements=(_BEES, _MILL)))],
    Question: [
        (_COMMITTAL, Question(question="When was the lighthouse at Carrow Point lit?", noncommittal=0)),
        (_NONCOMMITTAL, Question(question="What does the new ferry's engine do?", noncommittal=1)),
    ],
}


class _JsonInput:
    """A prompt whose input is one JSON object; a plain class without fields, so it goes first."""

    template_var_names: ClassVar[tuple[str, ...]] = ()

    def input_text(self) -> str:
        return _json({name: getattr(self, name) for name in self.template_var_names})

    def template_vars(self) -> dict[str, str]:
        values = {name: getattr(self, name) for name in self.template_var_names}
        return {name: wrap_untrusted(text) if isinstance(text, str) else _json(text) for name, text in values.items()}


class WriteStatements(_JsonInput, Task[Statements]):
    """Splits an answer into statements (ragas 0.3.0, first call of faithfulness)."""

    template_var_names: ClassVar[tuple[str, ...]] = ("question", "answer")

    question: str
    answer: str

    instructions: ClassVar[str] = (
        "Break each sentence of the answer into one or more statements that can be understood alone."
        " Use no pronouns. Reply with the statements only, in the answer's order."
    )
    output_format: ClassVar[str] = _json_format(Statements)


class CheckStatements(_JsonInput, Task[CheckedStatements]):
    """Judges statements against a context (ragas 0.3.0, second call of faithfulness)."""

    template_var_names: ClassVar[tuple[str, ...]] = ("context", "statements")

    context: str
    statements: tuple[str, ...]

    instructions: ClassVar[str] = (
        "For each statement give a reason and a verdict: 1 if it can be inferred from the context directly,"
        " 0 if it cannot."
    )
    output_format: ClassVar[str] = _json_format(CheckedStatements)

    def fixed_items(self) -> dict[str, tuple[str, Sequence[Any]]]:
        return {"statements": ("statement", self.statements)}


class WriteQuestion(_JsonInput, Task[Question]):
    """Writes a question for a response, which alone is shown (ragas 0.3.0, answer relevance); asked three times."""

    template_var_names: ClassVar[tuple[str, ...]] = ("response",)

    response: str

    instructions: ClassVar[str] = (
        "Write a question that the response answers, and say whether the response is noncommittal: 1 if it is"
        " evasive, vague or says that it does not know, 0 otherwise."
    )
    output_format: ClassVar[str] = _json_format(Question)


class CompareTexts(Task[Similarities]):
    """Similarity of texts to a reference: cosines of an embedding model."""

    charge = "embedding"
    template_var_names: ClassVar[tuple[str, ...]] = ()

    reference: str
    texts: tuple[str, ...]

    def input_text(self) -> str:
        return lines(self.reference, *self.texts)


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
    template_var_names: ClassVar[tuple[str, ...]] = ()

    hypothesis: str
    premises: tuple[str, ...]  # texts of evidence; a text that is too long is cut off at the end
    # whether the probability is the sigmoid of the model's first output, as WeCheck is trained, instead of the softmax
    # over all outputs
    sigmoid: bool = False

    def input_text(self) -> str:
        return lines(self.hypothesis, *self.premises)


RATING = (RateTexts, InferClaim)  # performed by local small models on every backend: no endpoint offers them
