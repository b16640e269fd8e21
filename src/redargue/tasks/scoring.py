"""The questions behind the stability score: ragas' faithfulness and answer relevance, one task each."""

from __future__ import annotations

import json
from typing import ClassVar, Literal

from redargue.claims import Frozen
from redargue.tasks.base import UNTRUSTED, Task, data, lines


class Statements(Frozen):
    """Self-contained statements that an answer makes; may be empty."""

    statements: tuple[str, ...]


class CheckedStatement(Frozen):
    """One statement against the context: verdict 1 only where it can be inferred from the context directly."""

    statement: str
    reason: str = ""
    verdict: Literal[0, 1]


class CheckedStatements(Frozen):
    """One verdict a returned item; a mind may return fewer items than it was given."""

    statements: tuple[CheckedStatement, ...]


class Question(Frozen):
    """A question that the response would answer.

    Attributes:
        question: empty where the response answers nothing.
        noncommittal: 1 where the response is evasive, vague or says that it does not know.
    """

    question: str
    noncommittal: Literal[0, 1]


class Similarities(Frozen):
    """Cosines in [-1, 1], one a text, in order."""

    values: tuple[float, ...]


class WriteStatements(Task[Statements]):
    """Splits an answer into statements (ragas 0.3.0, first call of faithfulness)."""

    question: str
    answer: str

    def instruction(self) -> str:
        """What to do, then question and answer as JSON."""
        return lines(
            "Break each sentence of the answer into one or more statements that can be understood alone."
            " Use no pronouns. Reply with the statements only, in the answer's order.",
            UNTRUSTED if self.profile == "hardened" else None,
            data(json.dumps({"question": self.question, "answer": self.answer}, ensure_ascii=False), self.profile),
        )


class CheckStatements(Task[CheckedStatements]):
    """Judges statements against a context (ragas 0.3.0, second call of faithfulness)."""

    context: str
    statements: tuple[str, ...]

    def instruction(self) -> str:
        """What to do, then context and statements as JSON."""
        return lines(
            "For each statement give a reason and a verdict: 1 if it can be inferred from the context directly,"
            " 0 if it cannot.",
            UNTRUSTED if self.profile == "hardened" else None,
            data(
                json.dumps({"context": self.context, "statements": self.statements}, ensure_ascii=False), self.profile
            ),
        )


class WriteQuestion(Task[Question]):
    """Writes a question for a response, which alone is shown (ragas 0.3.0, answer relevance); asked three times."""

    response: str

    def instruction(self) -> str:
        """What to do, then the response as JSON."""
        return lines(
            "Write a question that the response answers, and say whether the response is noncommittal: 1 if it is"
            " evasive, vague or says that it does not know, 0 otherwise.",
            UNTRUSTED if self.profile == "hardened" else None,
            data(json.dumps({"response": self.response}, ensure_ascii=False), self.profile),
        )


class CompareTexts(Task[Similarities]):
    """Cosines between one text and others, by an embedding model."""

    charge: ClassVar[Literal["call", "embedding"]] = "embedding"

    reference: str
    texts: tuple[str, ...]

    def instruction(self) -> str:
        """The texts: an embedding model is given no words besides."""
        return lines(self.reference, *self.texts)
