"""Tasks that score texts: ragas' faithfulness and answer relevance, similarity, entailment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import Field, FiniteFloat

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.tasks.answer import Answer, claim_section, documents
from redargue.tasks.base import Profile, Task, json_schema, lines, list_bounds, max_length
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


class Questions(Frozen):
    """Up to three different questions that the response would answer; none if it answers none."""

    questions: tuple[str, ...] = Field(
        description="the three questions",
        json_schema_extra=list_bounds(3, 300),
    )
    noncommittal: Literal[0, 1]


class NumberedVerdict(Frozen):
    """A verdict on the statement with that number."""

    number: int = Field(description="of the statement")
    reason: str = Field(default="", description="in a few words", json_schema_extra=max_length(400))
    verdict: Literal[0, 1]


class NumberedVerdicts(Frozen):
    """Verdicts by the statements' numbers, so that the statements are not repeated."""

    verdicts: tuple[NumberedVerdict, ...] = Field(description="one per statement", json_schema_extra={"maxItems": 20})


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
        values: dict[str, Any] = {name: getattr(self, name) for name in self.template_var_names}
        return {name: wrap_untrusted(text) if isinstance(text, str) else _json(text) for name, text in values.items()}


class _ScoringTask(_JsonInput):
    """ragas' prompts in the ``paper`` profile; sections and examples in words in the hardened one.

    A plain class without fields, so it goes first.
    """

    paper_format: ClassVar[str] = ""
    examples: ClassVar[str] = ""  # hardened: in the words of the input, so that they fit every form of reply
    fields: ClassVar[str] = ""  # hardened: the JSON object of a reply in the paper's own form
    profile: Profile

    @property
    def worked_examples(self) -> str:
        return self.examples if self.profile == "hardened" else ""

    @property
    def output_format(self) -> str:
        return f"Reply with one JSON object: {self.fields}" if self.profile == "hardened" else self.paper_format


class WriteStatements(_ScoringTask, Task[Statements]):
    """Splits an answer into statements (ragas 0.3.0, first call of faithfulness)."""

    template_var_names: ClassVar[tuple[str, ...]] = ("question", "answer")
    paper_format: ClassVar[str] = _json_format(Statements)
    fields: ClassVar[str] = '{"statements": ["…", "…"]}'
    examples: ClassVar[str] = (
        "Example:\n"
        "Claim: Mara Lindqvist built ships.\n"
        "Answer: [1] says that she designed bridges, not ships.\n"
        "Statements: Mara Lindqvist designed bridges. | Mara Lindqvist did not build ships."
    )

    question: str
    answer: str

    @property
    def instructions(self) -> str:
        if self.profile == "hardened":
            return (
                "Break an answer about a claim into the statements that it makes, each one a sentence that can be"
                " understood alone, with names instead of pronouns and without numbers of documents. What the answer"
                " says the documents leave open is a statement, too. Add nothing."
            )
        return (
            "Break each sentence of the answer into one or more statements that can be understood alone."
            " Use no pronouns. Reply with the statements only, in the answer's order."
        )

    def input_text(self) -> str:
        if self.profile == "paper":
            return super().input_text()
        return lines(f"Claim: {wrap_untrusted(self.question, inline=True)}", f"Answer: {wrap_untrusted(self.answer)}")


class CheckStatements(_ScoringTask, Task[CheckedStatements]):
    """Judges statements against a context (ragas 0.3.0, second call of faithfulness).

    Attributes:
        context: in the ``paper`` profile, the documents' joined texts.
        passages: in the hardened profile, the documents as the answer's author saw them: numbered, with their titles.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("context", "statements")
    paper_format: ClassVar[str] = _json_format(CheckedStatements)
    fields: ClassVar[str] = '{"verdicts": [{"number": 1, "reason": "…", "verdict": 1}, …]}'
    examples: ClassVar[str] = (
        "Example:\n"
        "Documents: [1] Tomas keeps bees behind the mill in Orvell.\n"
        "Statements: 1. Tomas keeps bees. 2. Tomas owns the mill. 3. It remains open who owns the mill.\n"
        "Verdicts: 1: 1, [1] says so. 2: 0, [1] names no owner. 3: 1, [1] names no owner."
    )

    context: str = ""
    passages: tuple[Passage, ...] = ()
    statements: tuple[str, ...]

    @property
    def instructions(self) -> str:
        if self.profile == "hardened":
            return (
                "Check statements against the documents alone. Give each statement, by its number, a reason and a"
                " verdict: 1 if the documents state or directly imply it, 0 if they do not. A statement that"
                " the documents leave something open gets 1 if they do leave it open."
            )
        return (
            "For each statement give a reason and a verdict: 1 if it can be inferred from the context directly,"
            " 0 if it cannot."
        )

    def input_text(self) -> str:
        if self.profile == "paper":
            return super().input_text()
        values = self.template_vars()
        return lines(f"Documents:\n{values['context']}", f"Statements:\n{values['statements']}")

    def template_vars(self) -> dict[str, str]:
        if self.profile == "paper":
            return super().template_vars()
        numbered = (f"{at}. {' '.join(text.split())}" for at, text in enumerate(self.statements, 1))
        shown = documents(self.passages, self.profile) if self.passages else wrap_untrusted(self.context)
        return {"context": shown, "statements": wrap_untrusted("\n".join(numbered))}

    def reply_type(self) -> type[Frozen]:
        return NumberedVerdicts if self.profile == "hardened" else CheckedStatements

    def from_reply(self, reply: Frozen) -> CheckedStatements:
        """A ValueError for a number that no statement has, or that occurs twice."""
        if not isinstance(reply, NumberedVerdicts):
            return cast(CheckedStatements, reply)
        numbers = [item.number for item in reply.verdicts]
        for number in numbers:
            if not 1 <= number <= len(self.statements) or numbers.count(number) > 1:
                raise ValueError(f"{number} is not the number of one statement: they are 1 to {len(self.statements)}")
        return CheckedStatements(
            statements=tuple(
                CheckedStatement(statement=self.statements[item.number - 1], reason=item.reason, verdict=item.verdict)
                for item in reply.verdicts
            )
        )

    def fixed_items(self) -> dict[str, tuple[str, Sequence[Any]]]:
        if self.profile == "hardened":
            return {"verdicts": ("number", range(1, len(self.statements) + 1))}
        return {"statements": ("statement", self.statements)}


class WriteQuestion(_ScoringTask, Task[Question]):
    """Writes a question for a response, which alone is shown (ragas 0.3.0, answer relevance); asked three times."""

    template_var_names: ClassVar[tuple[str, ...]] = ("response",)
    paper_format: ClassVar[str] = _json_format(Question)
    fields: ClassVar[str] = '{"question": "…", "noncommittal": 0}'
    examples: ClassVar[str] = (
        "Examples:\n"
        "Response: The lighthouse at Carrow Point was lit in 1874.\n"
        "Question: When was the lighthouse at Carrow Point lit? Noncommittal: 0\n"
        "Response: I cannot say what the new ferry's engine does; I have no information on it.\n"
        "Question: What does the new ferry's engine do? Noncommittal: 1"
    )

    response: str

    instructions: ClassVar[str] = (
        "Write a question that the response answers, and say whether the response is noncommittal: 1 if it is"
        " evasive, vague or says that it does not know, 0 otherwise."
    )

    def input_text(self) -> str:
        return super().input_text() if self.profile == "paper" else f"Response: {wrap_untrusted(self.response)}"


class WriteQuestions(_ScoringTask, Task[Questions]):
    """Three questions for a response from one request, and whether it is noncommittal (``hardened``)."""

    template_var_names: ClassVar[tuple[str, ...]] = ("response",)
    paper_format: ClassVar[str] = f"Reply with one JSON object that follows this schema: {json_schema(Questions)}"
    fields: ClassVar[str] = '{"questions": ["…", "…", "…"], "noncommittal": 0}'
    examples: ClassVar[str] = (
        "Example:\n"
        "Response: The light at Carrow Point was lit in 1874.\n"
        "Questions: When was the light at Carrow Point lit? | Was the light at Carrow Point lit in 1874? | Which light"
        " was lit in 1874? Noncommittal: 0"
    )

    response: str

    instructions: ClassVar[str] = (
        "Write three different questions that a response answers, about its main point and with its names. Noncommittal"
        " is 1 if the response gives no answer, because it is evasive or vague or declines to say, else 0. To say that"
        " the documents leave something open is an answer."
    )

    def input_text(self) -> str:
        return f"Response: {wrap_untrusted(self.response)}"


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
    support_only: bool = False  # the probability of refutation is not given

    def input_text(self) -> str:
        return lines(self.hypothesis, *self.premises)


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
    template_var_names: ClassVar[tuple[str, ...]] = ()

    claim: Claim
    passages: tuple[Passage, ...] = ()

    def input_text(self) -> str:
        return lines(claim_section(self.claim), documents(self.passages, self.profile))


RATING = (
    RateTexts,
    InferClaim,
    ReadPassages,
)  # performed by local small models on every backend: no endpoint offers them
