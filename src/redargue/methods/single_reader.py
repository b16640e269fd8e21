"""A single reader: every tool is searched once with the claim, and one answer is given from all results.

It has no publication: it is what a debate has to beat. Over the passages that a debate has read (the tool ``debated``
of ``bench run``) it differs from the debate only in not debating.
"""

from __future__ import annotations

from redargue.claims import Claim
from redargue.methods.agent import Agent
from redargue.methods.base import FROM_SETTINGS, Method, SearchSettings
from redargue.tasks.answer import AnswerClaim
from redargue.verdicts import Verdict

_READER = "reader"


class SingleReaderSettings(SearchSettings):
    """Settings of ``single-reader``."""


class SingleReader(Method, name="single-reader", settings=SingleReaderSettings):
    """One search per tool with the claim itself, one answer from everything found (baseline)."""

    paper = "none: what a debate has to beat"
    graph = "searches of all tools concurrently -> answer"
    roles = {_READER: FROM_SETTINGS}
    asks = (AnswerClaim,)

    settings: SingleReaderSettings

    async def check(self, claim: Claim, reader: Agent) -> Verdict:
        passages = await reader.search(claim.text, self.settings.top_k, round_=1)
        answer = await self.ask(reader, AnswerClaim, round_=1, passages=passages)
        self.answered(_READER, answer, round_=1, passages=passages)
        return self.verdict_of(answer, rounds=1)
