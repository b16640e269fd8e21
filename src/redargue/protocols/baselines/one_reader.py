"""One reader: every tool is asked once with the claim, and all that comes back is read in one answer.

No publication of its own: it is what a debate has to beat. Over the passages that a debate read (the tool ``debated``
of ``bench run``) it differs from the debate in nothing but the debating.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from redargue.agents.agent import Agent
from redargue.claims import Claim, Frozen
from redargue.concurrency import together
from redargue.events import Answered
from redargue.evidence import find_quote
from redargue.protocols.base import Plan, methods
from redargue.protocols.quoting import distinct, gaps, side_of
from redargue.run import Run
from redargue.tasks.answering import AnswerClaim
from redargue.tasks.base import AnyTask, Profile
from redargue.verdicts import Verdict

READER = "reader"


class OneReaderSettings(Frozen):
    """Settings of ``one-reader``.

    Attributes:
        profile: ``paper`` or ``hardened``.
        tools: each is asked once.
        top_k: documents a search.
    """

    profile: Profile = "hardened"
    tools: tuple[str, ...] = Field(default=("corpus",), min_length=1, max_length=8)
    top_k: int = Field(default=3, ge=1, le=50)


@methods.register("one-reader")
class OneReader:
    """Search, read, answer."""

    name: ClassVar[str] = "one-reader"
    about: ClassVar[str] = "one search a tool with the claim itself, one answer from all that was found (baseline)"
    paper: ClassVar[str] = "none of its own: what a debate has to beat"
    graph: ClassVar[str] = "searches of all tools at once -> answer"
    options: ClassVar[type[Frozen]] = OneReaderSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {}, "hardened": {}}

    def __init__(self, settings: OneReaderSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """Those of the settings."""
        return self.settings.tools

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """One answer."""
        return (AnswerClaim,)

    def agents(self) -> tuple[str, ...]:
        """The reader."""
        return (READER,)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """Always the same."""
        searches = dict.fromkeys(self.settings.tools, 1)
        plan = Plan(calls={"AnswerClaim": 1}, searches=searches, call_depth=1, search_depth=1)
        return plan, plan, plan

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Searches with every tool at once, and answers."""
        searchers = [Agent(READER, run, tool=tool) for tool in self.settings.tools]
        found = await together(
            each.search(claim.text, self.settings.top_k, round_=1, claim=claim) for each in searchers
        )
        passages = tuple({passage.sha256: passage for each in found for passage in each}.values())
        task = AnswerClaim(claim=claim, passages=passages, profile=self.settings.profile)
        answer = await searchers[0].perform(task, round_=1)
        side = side_of(claim.labels, answer.label)
        quotes = [find_quote(text, passages, side=side, agent=READER) for text in answer.quotes]
        run.emit(Answered(agent=READER, round=1, text=answer.text, label=answer.label, quotes=tuple(quotes)))
        return Verdict(
            claim=claim,
            label=answer.label,
            confidence=answer.confidence,
            decided_by="reader",
            rounds=1,
            reason=answer.text,
            quotes=distinct(quotes),
            gaps=gaps(run.events),
        )
