"""Faithfulness: the share of an answer's statements that its documents support.

Tool-MAD, journal, §III-C; computed as in ragas 0.3.0, which the authors' program calls: the denominator is the number
of verdicts returned, not of statements sent (Es et al. 2023). Where ragas gives NaN, the score is undefined, with a
reason.
"""

from __future__ import annotations

from redargue.errors import BadReply
from redargue.methods.agent import Agent
from redargue.tasks.base import Profile
from redargue.tasks.score import CheckStatements, WriteStatements
from redargue.verdicts import Metric, Score


async def faithfulness(
    agent: Agent,
    question: str,
    answer: str,
    contexts: tuple[str, ...],
    *,
    round_: int = 0,
    profile: Profile = "hardened",
) -> Score:
    """Scores a whole answer, its label's line included (``T32``), against the documents' joined texts (``T33``).

    In [0, 1]; undefined without statements or verdicts, or where a reply could not be read.
    """

    def score(value: float | None, undefined: str = "", detail: tuple[str, ...] = ()) -> Score:
        return Score(
            metric=Metric.FAITHFULNESS, value=value, undefined=undefined, agent=agent.name, round=round_, detail=detail
        )

    try:
        write = WriteStatements(question=question, answer=answer, profile=profile)
        written = await agent.perform(write, round_=round_)
        if not written.statements:
            return score(None, "the answer makes no statement")
        check = CheckStatements(context="\n".join(contexts), statements=written.statements, profile=profile)
        checked = (await agent.perform(check, round_=round_)).statements
    except BadReply as error:  # an undefined score fails the gate (T13)
        return score(None, f"a reply could not be read: {error.what}")
    if not checked:
        return score(None, "no verdict on any statement came back")
    detail = tuple(f"{item.verdict} {item.statement}" for item in checked)
    return score(round(sum(item.verdict for item in checked) / len(checked), 9), detail=detail)
