"""A method of one's own in one file: one agent, one search, one answer."""

from __future__ import annotations

import redargue
from redargue.agents.agent import Agent
from redargue.claims import Claim, Frozen
from redargue.methods.base import Plan, methods
from redargue.run import Run
from redargue.tasks.answering import AnswerClaim
from redargue.tasks.base import AnyTask, Profile
from redargue.verdicts import Verdict


class OneQuestionSettings(Frozen):
    """Its settings."""

    profile: Profile = "hardened"
    top_k: int = 3


@methods.register("one-question")
class OneQuestion:
    """Asks once."""

    name, about, options = "one-question", "one agent, one search, one answer", OneQuestionSettings
    profiles = {"hardened": {}}

    def __init__(self, settings: OneQuestionSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """It searches the corpus."""
        return ("corpus",)

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """It asks for answers."""
        return (AnswerClaim,)

    def agents(self) -> tuple[str, ...]:
        """One agent."""
        return ("reader",)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """Always the same."""
        plan = Plan(calls={"AnswerClaim": 1}, searches={"corpus": 1}, call_depth=1, search_depth=1)
        return plan, plan, plan

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """One search, one answer."""
        reader = Agent("reader", run, tool="corpus")
        passages = await reader.search(claim.text, self.settings.top_k)
        answer = await reader.perform(AnswerClaim(claim=claim, passages=passages))
        return Verdict(claim=claim, label=answer.label, reason=answer.text)


if __name__ == "__main__":
    verdict = redargue.verify_sync("Denver is the capital of Colorado.", method="one-question", store="starter")
    print(verdict.label, "\n" + verdict.reason)
