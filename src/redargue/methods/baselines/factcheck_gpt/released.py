"""What the authors' program does where a verdict cannot be read (profile ``authors``)."""

from __future__ import annotations

from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.methods.baselines.factcheck_gpt.method import FactcheckGpt
from redargue.methods.baselines.factcheck_gpt.prompts import StateStance


class ReleasedFactcheckGpt(FactcheckGpt, when=lambda settings: settings.unparsed == "stance"):
    """Each snippet's stance is asked for, and one that supports the claim is enough (FCG-2)."""

    async def label_unread(self, verifier: Agent, evidence: tuple[Passage, ...]) -> str | None:
        """Correct if any snippet supports the claim, else incorrect; no label where no stance can be read."""
        stances = await gather_or_cancel(self.stance(verifier, passage) for passage in evidence)
        return self.label("support" in stances) if any(stances) else None

    async def stance(self, verifier: Agent, passage: Passage) -> str:
        """``support``, ``refute`` or ``irrelevant``; empty where the reply cannot be read."""
        task = StateStance(claim=self.claim, passage=passage, profile=self.settings.profile)
        try:
            return (await verifier.perform(task, round_=1)).stance
        except BadReply:
            return ""
