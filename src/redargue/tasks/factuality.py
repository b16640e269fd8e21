"""Questions of the tool-augmented checkers of long answers: what to search for, and whether a text holds an error.

FacTool (Chern et al., arXiv 2307.13528) and Factcheck-GPT (Wang et al., arXiv 2311.09000): verdicts of one form.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, field_validator

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.tasks.answer import claim_lines, documents
from redargue.tasks.base import Task, lines, list_bounds, max_length
from redargue.tasks.query import LONGEST_QUERY
from redargue.tasks.untrusted import wrap_untrusted


def plain_texts(texts: tuple[str, ...], most: int) -> tuple[str, ...]:
    """Queries or questions, each on one line and once, the first of them.

    Raises:
        ValueError: there is none.
    """
    found = dict.fromkeys(text for each in texts if (text := " ".join(each.split())[:LONGEST_QUERY]))
    if not found:
        raise ValueError("the list is empty")
    return tuple(found)[:most]


class Queries(Frozen):
    """What to search for."""

    queries: tuple[str, ...] = Field(description="the queries", json_schema_extra=list_bounds(4, LONGEST_QUERY))


class Questions(Frozen):
    """What to ask in order to check a claim."""

    questions: tuple[str, ...] = Field(description="the questions", json_schema_extra=list_bounds(10, LONGEST_QUERY))


class Worthiness(Frozen):
    """Whether a claim is worth checking."""

    reasoning: str = Field(default="", description="your reasoning", json_schema_extra=max_length(400))
    checkworthy: Literal["Yes", "No"] = Field(description="Yes if it states a fact that can be checked")


class FactualityCheck(Frozen):
    """Whether a text is free of factual errors, under FacTool's keys.

    Attributes:
        reasoning: why.
        error: what is wrong; empty, or the word None, where nothing is.
        correction: how it would be right; likewise.
        quotes: what it rests on, word for word; checked by code, never believed.
        factuality: whether it is free of them.
    """

    reasoning: str = Field(description="why the text is factual or not", json_schema_extra=max_length(1_000))
    error: str = Field(
        default="", description="what is wrong in the text; None if nothing is", json_schema_extra=max_length(400)
    )
    correction: str = Field(
        default="", description="the text without the error; None if there is none", json_schema_extra=max_length(600)
    )
    quotes: tuple[str, ...] = Field(
        default=(), description="what you rely on, copied word for word", json_schema_extra=list_bounds(6, 400)
    )
    factuality: bool = Field(description="true if the text is factual, false if it holds an error")

    @field_validator("error", "correction", mode="before")
    @classmethod
    def _nothing(cls, given: object) -> object:
        return "" if given is None else given


class Stance(Frozen):
    """What one piece of evidence says of a claim."""

    reasoning: str = Field(default="", description="your reasoning", json_schema_extra=max_length(400))
    stance: Literal["support", "refute", "irrelevant"] = Field(description="what the evidence does to the claim")


class WriteScepticalQueries(Task[Queries]):
    """FacTool's queries for a claim, written by somebody who doubts it.

    Attributes:
        claim: what is checked.
        count: queries that are wanted.
        demonstrations: claims with their queries.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "count", "demonstrations")

    claim: Claim
    count: int = 2
    demonstrations: str = ""

    def instructions(self) -> str:
        """Doubt, and queries that would show an error."""
        return lines(
            "You write queries for a search engine that help to verify a claim. You are sceptical: the claim may be"
            " wrong, and your queries have to bring that to light if it is.",
            f"Write {self.count} queries. Each is specific, stands for itself, and does not presume the claim.",
        )

    def worked_examples(self) -> str:
        return f"Examples:\n{self.demonstrations}" if self.demonstrations else ""

    def output_format(self) -> str:
        """A list, in JSON."""
        return 'Reply in JSON and with nothing else: {"queries": ["a query", "another query"]}'

    def input_text(self) -> str:
        """The claim."""
        return claim_lines(self.claim)

    def template_vars(self) -> dict[str, str]:
        """Claim, number of queries, demonstrations."""
        claim = claim_lines(self.claim).removeprefix("Claim: ")
        return {"claim": claim, "count": str(self.count), "demonstrations": self.demonstrations}

    def validate_answer(self, answer: Queries) -> Queries:
        """As many as are wanted, at most."""
        return Queries(queries=plain_texts(answer.queries, self.count))


class CheckFactuality(Task[FactualityCheck]):
    """Whether a claim holds a factual error, given evidence that may contradict itself.

    Attributes:
        claim: the text.
        passages: the evidence.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("text", "evidence")

    claim: Claim
    passages: tuple[Passage, ...] = ()

    def instructions(self) -> str:
        """What to find, and how far the evidence is to be trusted."""
        return lines(
            "You get a TEXT. Find out whether anything in it is factually wrong.",
            "Use the EVIDENCE where it helps. Pieces of it may contradict each other: be careful with them.",
            "Say why; say what the error is, if there is one, and how the text would be right without it.",
        )

    def quote_source(self) -> str:
        return "the evidence"

    def output_format(self) -> str:
        """FacTool's four keys."""
        return (
            "Reply with one JSON object and nothing else:"
            ' {"reasoning": "why", "error": "None, or what is wrong", "correction": "None, or the text put right",'
            ' "factuality": true or false}'
        )

    def input_text(self) -> str:
        """Text and evidence."""
        text = claim_lines(self.claim).replace("Claim: ", "TEXT: ", 1)
        return lines(text, f"EVIDENCE: {documents(self.passages, self.profile)}")

    def template_vars(self) -> dict[str, str]:
        """Text and evidence."""
        text = claim_lines(self.claim).removeprefix("Claim: ")
        return {"text": text, "evidence": documents(self.passages, self.profile)}


class JudgeWorthiness(Task[Worthiness]):
    """Factcheck-GPT: whether a claim is worth checking.

    Attributes:
        claim: it.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim",)

    claim: Claim

    def instructions(self) -> str:
        """What is worth it, and what is not."""
        return lines(
            "Decide whether a statement is worth checking. It is if it states a fact about the world that others could"
            " check. It is not if it is an opinion, advice, or about its own writer or reader.",
        )

    def output_format(self) -> str:
        """Yes or No, in JSON."""
        return 'Reply in JSON and with nothing else: {"checkworthy": "Yes"} or {"checkworthy": "No"}'

    def input_text(self) -> str:
        """The statement."""
        return claim_lines(self.claim)

    def template_vars(self) -> dict[str, str]:
        """The statement."""
        return {"claim": claim_lines(self.claim).removeprefix("Claim: ")}


class AskQuestions(Task[Questions]):
    """Factcheck-GPT: what to ask in order to check a claim; asked in rounds, each of which is a sample of its own.

    Attributes:
        claim: what is checked.
        most: questions that are read.
        demonstrations: claims with their questions.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "demonstrations")

    claim: Claim
    most: int = 5
    demonstrations: str = ""

    def instructions(self) -> str:
        """Every aspect is asked for."""
        return lines(
            "Somebody made a claim. To check it you look things up. Write the questions that you would look up: one for"
            " each thing that the claim says, and each to be understood without the claim.",
        )

    def worked_examples(self) -> str:
        return f"Examples:\n{self.demonstrations}" if self.demonstrations else ""

    def output_format(self) -> str:
        """A list, in JSON."""
        return 'Reply in JSON and with nothing else: {"questions": ["a question", "another question"]}'

    def input_text(self) -> str:
        """The claim."""
        return claim_lines(self.claim)

    def template_vars(self) -> dict[str, str]:
        """Claim and demonstrations."""
        claim = claim_lines(self.claim).removeprefix("Claim: ")
        return {"claim": claim, "demonstrations": self.demonstrations}

    def validate_answer(self, answer: Questions) -> Questions:
        """As many as are read, at most."""
        return Questions(questions=plain_texts(answer.questions, self.most))


class StateStance(Task[Stance]):
    """Factcheck-GPT: what one piece of evidence says of a claim, where no verdict on all of it can be read.

    Attributes:
        claim: what is checked.
        passage: the evidence.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "evidence")

    claim: Claim
    passage: Passage

    def instructions(self) -> str:
        """The three stances."""
        return lines(
            "Does the EVIDENCE support the claim, does it refute it, or is it irrelevant to whether it is true?",
        )

    def output_format(self) -> str:
        """One word, in JSON."""
        return 'Reply in JSON and with nothing else: {"stance": "support"}, or "refute", or "irrelevant"'

    def input_text(self) -> str:
        """Claim and evidence."""
        return lines(claim_lines(self.claim), f"EVIDENCE: {wrap_untrusted(self.passage.text)}")

    def template_vars(self) -> dict[str, str]:
        """Claim and evidence."""
        claim = claim_lines(self.claim).removeprefix("Claim: ")
        return {"claim": claim, "evidence": wrap_untrusted(self.passage.text)}
