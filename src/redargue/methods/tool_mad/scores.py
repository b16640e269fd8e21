"""Scores of an answer: relevance to the claim, and (ACL version) consistency with each document.

Relevance (journal, §III-C) is computed as in ragas 0.3.0: three questions written from the response alone, the mean of
their cosines to the claim, and 0 for a noncommittal response. In 0.3.0 one noncommittal question of the three is
enough; since September 2025 all must be.

In the ``hardened`` profile the questions are written in one reply, about the answer's reasoning, with its statements
and their verdicts where both scores are needed (:func:`score_together`). A reasoned
answer that the documents do not settle the claim is committal (``T38``): under ragas' rule it always scores 0, so that
no debate can agree on it.
"""

from __future__ import annotations

from typing import Any

from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply
from redargue.methods.agent import Agent
from redargue.methods.faithfulness import share_supported
from redargue.methods.tool_mad.settings import QUESTIONS, Noncommittal, RelevanceQuestions
from redargue.methods.tool_mad.tasks import ScoreAnswer
from redargue.tasks.base import Profile
from redargue.tasks.score import CompareTexts, Question, RateTexts, WriteQuestion, WriteQuestions
from redargue.verdicts import Metric, Score

TEMPERATURE = 0.3  # of ragas for several samples of one request


async def relevance(
    agent: Agent,
    claim: str,
    answer: str,
    *,
    round_: int = 0,
    noncommittal: Noncommittal = "any",
    asked: RelevanceQuestions = "samples",
    committal: bool = False,
    profile: Profile = "hardened",
) -> Score:
    """Scores an answer against the claim: the mean cosine, in [-1, 1], or 0 for a ``noncommittal`` answer.

    Undefined where every question is empty or could not be read.

    Args:
        asked: three questions in one reply, three samples of one request, or three requests as in ragas 0.3.0.
        committal: whether the answer is known not to evade the question.
    """
    try:
        questions = await _questions(agent, answer, round_, asked=asked, profile=profile)
    except BadReply as error:
        return _relevance(agent, round_, undefined=f"a reply could not be read: {error.what}")
    rule: dict[str, Any] = {"noncommittal": noncommittal, "committal": committal}
    return await _relevance_of(agent, claim, questions, round_=round_, **rule)


async def score_together(
    agent: Agent, task: ScoreAnswer, *, round_: int, noncommittal: Noncommittal, committal: bool
) -> tuple[Score, Score]:
    """Faithfulness and relevance from one call, which sees the claim, the label and the documents' numbers."""
    try:
        checked = await agent.perform(task, round_=round_)
    except BadReply as error:
        why = f"a reply could not be read: {error.what}"
        return share_supported(agent, (), round_, why=why), _relevance(agent, round_, undefined=why)
    questions = tuple(Question(question=text, noncommittal=checked.noncommittal) for text in checked.questions)
    rule: dict[str, Any] = {"noncommittal": noncommittal, "committal": committal}
    relevant = await _relevance_of(agent, task.claim.text, questions, round_=round_, **rule)
    return share_supported(agent, checked.statements, round_), relevant


def _relevance(agent: Agent, round_: int, value: float | None = None, **more: Any) -> Score:
    return Score(metric=Metric.RELEVANCE, value=value, agent=agent.name, round=round_, **more)


async def _relevance_of(
    agent: Agent,
    claim: str,
    questions: tuple[Question, ...],
    *,
    round_: int,
    noncommittal: Noncommittal,
    committal: bool,
) -> Score:
    detail = tuple(f"{'noncommittal ' if q.noncommittal else ''}{q.question}" for q in questions)
    texts = tuple(q.question for q in questions)
    if not any(text.strip() for text in texts):
        undefined = "no question could be written for the answer"
        return _relevance(agent, round_, undefined=undefined, detail=detail)
    flags = [bool(q.noncommittal) and not committal for q in questions]
    if any(flags) if noncommittal == "any" else all(flags):
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
        return tuple(Question(question=text, noncommittal=written.noncommittal) for text in written.questions)
    if asked == "samples":
        task = WriteQuestion(response=answer, profile=profile)
        return await agent.sample(task, QUESTIONS, round_=round_, temperature=TEMPERATURE)
    tasks = (WriteQuestion(response=answer, sample=sample, profile=profile) for sample in range(QUESTIONS))
    return tuple(await gather_or_cancel(agent.perform(task, round_=round_) for task in tasks))


def _mean(values: tuple[float, ...]) -> float:
    """Rounded, so that a mean of 0.8, 0.8 and 0.8 does not pass a threshold of 0.8 by the last bit of a sum."""
    return round(sum(values) / len(values), 9)
