"""Consistency: how near an answer is to each of its documents, by a cross-encoder (Tool-MAD, ACL version, Eq. 7).

The paper neither names the cross-encoder nor says whether documents are joined; here it is the mean over documents
(``T24``). Its authors load ms-marco-MiniLM-L-6-v2, whose logit is taken through a sigmoid (``REDARGUE_CROSS_ENCODER``
names its folder). Without one the package's own stands in: how likely a document is to decide what the answer says.
"""

from __future__ import annotations

from redargue.methods.agent import Agent
from redargue.tasks.score import RateTexts
from redargue.verdicts import Metric, Score


async def consistency(agent: Agent, answer: str, contexts: tuple[str, ...], *, round_: int = 0) -> tuple[Score, ...]:
    """Scores one answer against its agent's documents; nothing for an agent without a tool.

    Args:
        agent: in whose name the task is asked.
        answer: the whole answer.
        contexts: the documents.
        round_: of the debate.

    Returns:
        The mean over documents, in [0, 1]; undefined where none was found.
    """
    if agent.tool is None:
        return ()
    score = Score(metric=Metric.CONSISTENCY, value=None, agent=agent.name, round=round_)
    if not contexts:
        return (score.model_copy(update={"undefined": "no document to be consistent with"}),)
    rated = await agent.perform(RateTexts(reference=answer, texts=contexts), round_=round_)
    return (score.model_copy(update={"value": round(sum(rated.values) / len(rated.values), 9)}),)
