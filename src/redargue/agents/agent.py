"""An agent: a name, perhaps a tool, and the run it acts in."""

from __future__ import annotations

from redargue.backends.base import Output
from redargue.claims import Claim
from redargue.evidence import Passage
from redargue.run import Run
from redargue.tasks.base import Out, Task


class Agent:
    """Asks its run to perform tasks and to search, in its own name.

    Args:
        name: as it stands in events and records.
        run: the verification it acts in.
        tool: the registered name of its evidence tool; None for an agent without one.
    """

    def __init__(self, name: str, run: Run, *, tool: str | None = None) -> None:
        self.name, self.run, self.tool = name, run, tool

    async def perform(self, task: Task[Out], *, round_: int = 0, temperature: float = 0.0) -> Out:
        """One answer to a task."""
        answers = await self.run.perform(task, agent=self.name, round_=round_, temperature=temperature)
        return answers[0]

    async def sample(self, task: Task[Out], n: int, *, round_: int = 0, temperature: float = 0.0) -> tuple[Out, ...]:
        """``n`` answers to a task from one request."""
        return await self.run.perform(task, agent=self.name, round_=round_, n=n, temperature=temperature)

    async def ask(
        self, task: Task[Out], *, n: int = 1, round_: int = 0, temperature: float = 0.0
    ) -> tuple[Output[Out], ...]:
        """``n`` answers with their texts and how sure the model was of its words, from one request."""
        return await self.run.ask(task, agent=self.name, round_=round_, n=n, temperature=temperature)

    async def search(self, query: str, k: int, *, round_: int = 0, claim: Claim | None = None) -> tuple[Passage, ...]:
        """At most ``k`` passages from the agent's tool; none without a tool, and none where it failed.

        Args:
            query: what to look for.
            k: passages.
            round_: of the protocol.
            claim: says as of which day evidence is wanted.
        """
        if self.tool is None:
            return ()
        return await self.run.search(self.tool, query, k, agent=self.name, round_=round_, claim=claim)
