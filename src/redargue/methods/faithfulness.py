"""Faithfulness: the share of an answer's statements that its documents bear out.

Tool-MAD, journal, §III-C; computed as ragas 0.3.0 computes it, which the authors' program calls: two tasks, and the
denominator is the number of verdicts that came back, not of statements that were sent (Es et al. 2023 divides by the
statements). What ragas leaves as NaN is a score without a value and with a reason here.
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
    """Scores one answer against the documents it was given.

    Args:
        agent: in whose name the tasks are asked.
        question: the claim.
        answer: the whole answer, its label's line included (``T32``).
        contexts: the documents' texts, joined by line breaks before they are judged (``T33``).
        round_: of the debate.
        profile: of the tasks' words.

    Returns:
        Verdicts of 1 over verdicts returned, in [0, 1]; undefined without statements or without verdicts, or
        where a reply could not be read.
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
    except BadReply as error:  # ragas gives NaN here; the debate goes on, and the gate stays shut (T13)
        return score(None, f"a reply could not be read: {error.what}")
    if not checked:
        return score(None, "no verdict on any statement came back")
    detail = tuple(f"{each.verdict} {each.statement}" for each in checked)
    return score(round(sum(each.verdict for each in checked) / len(checked), 9), detail=detail)
