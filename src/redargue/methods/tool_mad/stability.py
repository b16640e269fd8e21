"""The stability score: faithfulness to the documents and relevance to the claim (Tool-MAD, journal, §III-C)."""

from __future__ import annotations

from redargue.concurrency import gather_or_cancel
from redargue.methods.agent import Agent
from redargue.methods.faithfulness import faithfulness
from redargue.methods.tool_mad.relevance import Noncommittal, relevance
from redargue.tasks.base import Profile
from redargue.verdicts import Score


async def stability(
    agent: Agent,
    question: str,
    answer: str,
    contexts: tuple[str, ...],
    *,
    round_: int,
    noncommittal: Noncommittal,
    one_request: bool,
    profile: Profile,
) -> tuple[Score, ...]:
    """Both scores of one answer; of an agent without a tool relevance alone, for want of documents (``T18``).

    Args:
        agent: in whose name the tasks are asked.
        question: the claim.
        answer: the whole answer.
        contexts: the agent's documents.
        round_: of the debate.
        noncommittal: as :func:`relevance` takes it.
        one_request: likewise.
        profile: of the tasks' words.
    """
    near = relevance(
        agent, question, answer, round_=round_, noncommittal=noncommittal, one_request=one_request, profile=profile
    )
    if agent.tool is None:
        return (await near,)
    kept = faithfulness(agent, question, answer, contexts, round_=round_, profile=profile)
    return tuple(await gather_or_cancel([kept, near]))
