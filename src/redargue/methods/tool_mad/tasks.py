"""Tasks and scores that only Tool-MAD has.

Tasks are literature searches, summaries, agreement of free texts, and both scores in one call.

In the PubMedQA set-up keywords are taken from each query, three abstracts are retrieved and summarised, and the
summaries replace the documents. The paper prints no prompts for this and uses a small summariser (``T26`` in
docs/tool-mad.md); here both are tasks that any backend may perform.

Scores of an answer are its relevance to the claim, and (ACL version) its consistency with each document.

Relevance (journal, §III-C) is computed as in ragas 0.3.0: three questions written from the response alone, the mean of
their cosines to the claim, and 0 for a noncommittal response. In 0.3.0 one noncommittal question of the three is
enough; since September 2025 all must be.

In the ``hardened`` profile the questions are written in one reply, about the answer's reasoning, with its statements
and their verdicts where both scores are needed (:func:`score_together`). A reasoned answer that the documents do not
settle the claim is committal (``T38``): under ragas' rule it always scores 0, so that no debate can agree on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import shorten
from typing import Any, Literal, cast

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.methods.faithfulness import share_supported
from redargue.nli.backend import EmbeddedBackend, distinct_words, perform
from redargue.nli.reader import sentences
from redargue.tasks.base import Profile, Task, json_schema, lines, list_bounds, text_field
from redargue.tasks.query import OtherAnswer, others
from redargue.tasks.score import (
    CheckedStatement,
    CheckedStatements,
    CheckStatements,
    CompareTexts,
    Question,
    Questions,
    RateTexts,
    Statements,
    WriteQuestion,
    WriteQuestions,
    WriteStatements,
)
from redargue.tasks.sections import documents
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Metric, Score

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


TEMPERATURE = 0.3  # of ragas for several samples of one request

QUESTIONS = 3  # written per answer for its relevance
Noncommittal = Literal["any", "all"]
Evasive = Noncommittal | Literal["never"]  # how many noncommittal questions make an answer evade what was asked
RelevanceQuestions = Literal["together", "samples", "requests"]


async def relevance(
    agent: Agent,
    claim: str,
    answer: str,
    *,
    round_: int = 0,
    noncommittal: Evasive = "any",
    asked: RelevanceQuestions = "samples",
    profile: Profile = "hardened",
) -> Score:
    """Scores an answer against the claim: the mean cosine, in [-1, 1], or 0 for a ``noncommittal`` answer.

    Undefined where every question is empty or could not be read.

    Args:
        asked: three questions in one reply, three samples of one request, or three requests as in ragas 0.3.0.
    """
    try:
        questions = await _questions(agent, answer, round_, asked=asked, profile=profile)
    except BadReply as error:
        return _relevance(agent, round_, undefined=f"a reply could not be read: {error.what}")
    return await _relevance_of(agent, claim, questions, round_, noncommittal)


async def score_together(agent: Agent, task: ScoreAnswer, *, round_: int, noncommittal: Evasive) -> tuple[Score, Score]:
    """Faithfulness and relevance from one call, which sees the claim, the label and the documents' numbers."""
    try:
        checked = await agent.perform(task, round_=round_)
    except BadReply as error:
        why = f"a reply could not be read: {error.what}"
        return share_supported(agent, (), round_, why=why), _relevance(agent, round_, undefined=why)
    relevant = await _relevance_of(agent, task.claim.text, _each(checked), round_, noncommittal)
    return share_supported(agent, checked.statements, round_), relevant


def _each(written: Questions | AnswerCheck) -> tuple[Question, ...]:
    """The questions of one reply, which says once whether the answer is noncommittal."""
    return tuple(Question(question=text, noncommittal=written.noncommittal) for text in written.questions)


def _relevance(agent: Agent, round_: int, value: float | None = None, **more: Any) -> Score:
    return Score(metric=Metric.RELEVANCE, value=value, agent=agent.name, round=round_, **more)


async def _relevance_of(
    agent: Agent, claim: str, questions: tuple[Question, ...], round_: int, noncommittal: Evasive
) -> Score:
    detail = tuple(f"{'noncommittal ' if q.noncommittal else ''}{q.question}" for q in questions)
    texts = tuple(q.question for q in questions)
    if not any(text.strip() for text in texts):
        undefined = "no question could be written for the answer"
        return _relevance(agent, round_, undefined=undefined, detail=detail)
    flags = [bool(q.noncommittal) for q in questions]
    if {"any": any(flags), "all": all(flags), "never": False}[noncommittal]:
        return _relevance(agent, round_, 0.0, detail=detail)
    similarities = await agent.perform(CompareTexts(reference=claim, texts=texts), round_=round_)
    return _relevance(agent, round_, _mean(similarities.values), detail=detail)


async def consistency(agent: Agent, answer: str, documents: tuple[str, ...], *, round_: int = 0) -> Score:
    """Mean cross-encoder score of an answer with each of its documents, in [0, 1] (ACL version, Eq. 7).

    The paper neither names the cross-encoder nor says whether documents are joined (``T24``). Its authors load
    ms-marco-MiniLM-L-6-v2 and apply a sigmoid. Here the embedded one gives the probability that a document decides what
    the answer says.
    """
    score = Score(metric=Metric.CONSISTENCY, value=None, agent=agent.name, round=round_)
    if not documents:
        return score.model_copy(update={"undefined": "no document to be consistent with"})
    rated = await agent.perform(RateTexts(reference=answer, texts=documents), round_=round_)
    return score.model_copy(update={"value": _mean(rated.values)})


async def _questions(
    agent: Agent, answer: str, round_: int, *, asked: RelevanceQuestions, profile: Profile
) -> tuple[Question, ...]:
    if asked == "together":
        written = await agent.perform(WriteQuestions(response=answer, profile=profile), round_=round_)
        return _each(written)
    if asked == "samples":
        task = WriteQuestion(response=answer, profile=profile)
        return await agent.sample(task, QUESTIONS, round_=round_, temperature=TEMPERATURE)

    async def ask(sample: int) -> Question | BadReply:
        try:
            return await agent.perform(WriteQuestion(response=answer, sample=sample, profile=profile), round_=round_)
        except BadReply as error:  # the others are not cancelled: a replay would miss those that had not been sent
            return error

    replies = await gather_or_cancel(map(ask, range(QUESTIONS)))
    for reply in replies:
        if isinstance(reply, BadReply):
            raise reply
    return cast(tuple[Question, ...], tuple(replies))


def _mean(values: tuple[float, ...]) -> float:
    """Rounded, so that a mean of 0.8, 0.8 and 0.8 does not pass a threshold of 0.8 by the last bit of a sum."""
    return round(sum(values) / len(values), 9)
