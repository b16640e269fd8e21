"""Prompts that only Tool-MAD has: literature searches, summaries, agreement of free texts, both scores in one call.

In the PubMedQA set-up keywords are taken from each query, three abstracts are retrieved and summarised, and the
summaries replace the documents. The paper prints no prompts for this and uses a small summariser (``T26`` in
docs/tool-mad.md); here both are tasks that any backend may perform.
"""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import shorten
from typing import Literal, cast

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.nli.backend import EmbeddedBackend, distinct_words, perform
from redargue.nli.reader import sentences
from redargue.tasks.base import Task, json_schema, lines, list_bounds, text_field
from redargue.tasks.documents import documents
from redargue.tasks.query import OtherAnswer, others
from redargue.tasks.score import (
    CheckedStatement,
    CheckedStatements,
    CheckStatements,
    Questions,
    Statements,
    WriteQuestions,
    WriteStatements,
)
from redargue.tasks.untrusted import wrap_untrusted

MOST_KEYWORDS = 8  # catalogues want every word of a query to occur
LONGEST_KEYWORD = 60  # characters
LONGEST_SUMMARY = 3  # sentences


class Keywords(Frozen):
    """Search words for a catalogue of papers, most distinctive first; may be empty."""

    keywords: tuple[str, ...] = Field(
        description="the keywords, the most telling first",
        json_schema_extra=list_bounds(MOST_KEYWORDS, LONGEST_KEYWORD),
    )

    @property
    def query(self) -> str:
        """The first keywords as one query, long ones cut at a word; a model may reply with hundreds."""
        short = (shorten(word, LONGEST_KEYWORD, placeholder="", break_on_hyphens=False) for word in self.keywords)
        return " ".join([word for word in short if word][:MOST_KEYWORDS])


class Summary(Frozen):
    """A summary; empty where the text says nothing, which is then read itself."""

    summary: str = text_field("the summary", 1_000)


class ConsensusReply(Frozen):
    """Whether answers are the same."""

    agree: Literal[0, 1] = Field(description="1 if the answers give the same final answer, 0 if they differ")
    answer: str = text_field("the answer that they share, as short as it can be said; empty if they differ", 300)


class AnswerCheck(Frozen):
    """An answer's statements with verdicts, three questions that it answers, and whether it is noncommittal."""

    statements: tuple[CheckedStatement, ...] = Field(
        description="the answer's statements, in its order", json_schema_extra={"maxItems": 12}
    )
    questions: tuple[str, ...] = Field(
        default=(), description="the three questions", json_schema_extra=list_bounds(3, 300)
    )
    noncommittal: Literal[0, 1] = Field(default=0, description="1 if the answer gives no answer, otherwise 0")


class ScoreAnswer(Task[AnswerCheck]):
    """What faithfulness and relevance need of an answer, from one call: statements, verdicts and questions."""

    claim: Claim
    label: str | None
    answer: str  # its reasoning
    passages: tuple[Passage, ...]
    numbers: tuple[int, ...] = ()  # of their documents in the whole claim; empty: from 1

    def template_vars(self) -> Mapping[str, object]:
        return {
            "documents": documents(self.passages, self.profile, numbers=self.numbers),
            "claim": wrap_untrusted(self.claim.text, inline=True),
            "label": wrap_untrusted(self.label or "none", inline=True),
            "answer": wrap_untrusted(self.answer),
        }


class WriteKeywords(Task[Keywords]):
    """Extracts at most ``most`` keywords of an agent's query, which may be a whole sentence."""

    query: str
    most: int = Field(default=MOST_KEYWORDS, ge=1)

    def template_vars(self) -> Mapping[str, object]:
        return {"query": wrap_untrusted(self.query), "most": self.most, "schema": json_schema(Keywords)}


class SummariseAbstract(Task[Summary]):
    """Summarises a paper's abstract in view of the query that found it, in at most ``sentences`` sentences."""

    query: str
    title: str = ""
    abstract: str
    sentences: int = Field(default=LONGEST_SUMMARY, ge=1)

    def template_vars(self) -> Mapping[str, object]:
        return {
            "query": wrap_untrusted(self.query),
            "abstract": wrap_untrusted(lines(self.title, self.abstract)),
            "sentences": self.sentences,
            "schema": json_schema(Summary),
        }


class CheckConsensus(Task[ConsensusReply]):
    """Compares free-text answers, which cannot be compared as labels (ACL version, appendix; ``T29``)."""

    claim: Claim
    answers: tuple[OtherAnswer, ...]

    def template_vars(self) -> Mapping[str, object]:
        return {"claim": wrap_untrusted(self.claim.text, inline=True), "answers": others(self.answers)}


@perform.register
def _score_answer(task: ScoreAnswer, backend: EmbeddedBackend) -> AnswerCheck:
    written = perform(WriteStatements(question=task.claim.text, answer=task.answer), backend)
    statements = cast(Statements, written).statements
    checked = perform(CheckStatements(passages=task.passages, statements=statements), backend) if statements else None
    asked = cast(Questions, perform(WriteQuestions(response=task.answer), backend))
    return AnswerCheck(
        statements=cast(CheckedStatements, checked).statements if checked else (),
        questions=asked.questions,
        noncommittal=asked.noncommittal,
    )


@perform.register
def _write_keywords(task: WriteKeywords, backend: EmbeddedBackend) -> Keywords:
    return Keywords(keywords=tuple(distinct_words(task.query)[: task.most]))


@perform.register
def _summarise(task: SummariseAbstract, backend: EmbeddedBackend) -> Summary:
    extract = sentences(task.abstract)
    if len(extract) > task.sentences:
        vectors = backend.embedder.encode([task.query, *extract])
        cosines = [round(float(vectors[0] @ vector), 6) for vector in vectors[1:]]
        nearest = sorted(range(len(extract)), key=lambda index: -cosines[index])[: task.sentences]
        extract = tuple(extract[index] for index in sorted(nearest))
    return Summary(summary=" ".join(extract))
