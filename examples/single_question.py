"""A method of your own in one file: one agent, one search, one answer."""

from __future__ import annotations

import redargue
from redargue.methods import Agent, Method
from redargue.tasks import Answer, AnswerClaim


class SingleQuestion(Method, name="single-question"):
    """One search, one answer."""

    roles = {"reader": "corpus"}
    asks = (AnswerClaim,)

    async def check(self, claim: redargue.Claim, reader: Agent) -> Answer:
        passages = await reader.search(claim.text)
        return await reader.perform(AnswerClaim(claim=claim, passages=passages))


if __name__ == "__main__":
    verdict = redargue.verify_sync("Denver is the capital of Colorado.", method="single-question", store="starter")
    print(verdict.label, *(f"\n“{quote.text}” ({quote.source.title})" for quote in verdict.quotes if quote.source))
