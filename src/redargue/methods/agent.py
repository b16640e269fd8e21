"""An agent: a role of a method, acting in the run of one claim."""

from __future__ import annotations

from asyncio import Lock
from collections import defaultdict
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from itertools import chain

from redargue.backends import Output
from redargue.claims import Claim, Frozen
from redargue.concurrency import gather_or_cancel
from redargue.errors import UsageError
from redargue.events import EvidenceFound, EvidenceMissing
from redargue.evidence import Passage, distinct_passages
from redargue.run import Run
from redargue.tasks.base import AnyTask, Out, Task


class Agent:
    """Performs tasks and searches under its own name, which events and records show.

    Args:
        claim: searches respect its ``as_of``.
        tools: registered names of search tools.
        tasks: types that its method declares; None allows any.
        next_results: whether a repeated query finds the passages after those that it found before.
        asks_once: whether an identical question, asked again for one answer at temperature 0, gets the known answer.

    Attributes:
        answers: to all its tasks so far.
    """

    def __init__(
        self,
        name: str,
        run: Run,
        *,
        claim: Claim | None = None,
        tools: Sequence[str] = (),
        tasks: Collection[type[AnyTask]] | None = None,
        next_results: bool = False,
        asks_once: bool = False,
    ) -> None:
        self.name, self.run, self.claim, self.next_results = name, run, claim, next_results
        self.asks_once = asks_once
        self.tools, self._tasks = tuple(dict.fromkeys(tools)), tasks
        self.answers: list[Frozen] = []
        self._read: dict[tuple[str, str], Passage] = {}  # by title and text
        self._query = ""
        self._shown: dict[tuple[str, str], tuple[Passage, ...]] = {}  # by tool and query
        self._searching: defaultdict[tuple[str, str], Lock] = defaultdict(Lock)  # likewise

    @property
    def tool(self) -> str | None:
        return self.tools[0] if self.tools else None

    @property
    def passages(self) -> tuple[Passage, ...]:
        """All results of its searches, in order, without duplicates."""
        return tuple(self._read.values())

    async def perform(self, task: Task[Out], *, round_: int = 0, temperature: float = 0.0) -> Out:
        return (await self.sample(task, 1, round_=round_, temperature=temperature))[0]

    async def sample(self, task: Task[Out], n: int, *, round_: int = 0, temperature: float = 0.0) -> tuple[Out, ...]:
        """``n`` answers to a task from one request."""
        return tuple(each.answer for each in await self.ask(task, n=n, round_=round_, temperature=temperature))

    async def ask(
        self, task: Task[Out], *, n: int = 1, round_: int = 0, temperature: float = 0.0
    ) -> tuple[Output[Out], ...]:
        """``n`` answers with their verbatim texts and token probabilities, from one request.

        Raises:
            UsageError: the method does not declare tasks of this type.
        """
        if self._tasks is not None and type(task) not in self._tasks:
            raise UsageError(
                f"the agent {self.name!r} cannot perform {task.name()}: its method does not declare it",
                hint=f"add {task.name()} to the method's `asks`",
            )
        if self.asks_once and n == 1 and temperature == 0:
            outputs = await self.run.ask_once(task, agent=self.name, round_=round_)
        else:
            outputs = await self.run.ask(task, agent=self.name, round_=round_, n=n, temperature=temperature)
        self.answers += [output.answer for output in outputs]
        return outputs

    async def search(self, query: str, k: int = 3, *, tool: str = "", round_: int = 0) -> tuple[Passage, ...]:
        """At most ``k`` passages per tool, from all of the agent's tools concurrently, without duplicates.

        A tool that fails returns nothing, and the verdict lists it among its gaps.

        Args:
            query: if blank (a kept :class:`~redargue.tasks.query.Query`), the agent's previous query is repeated.
            tool: searches with this one of its tools only.
            round_: from 1; 0 outside of rounds.

        Raises:
            UsageError: the agent does not have that tool.
        """
        if tool and tool not in self.tools:
            raise UsageError(
                f"the agent {self.name!r} searched with {tool!r}, which is not one of its tools",
                hint=f"its tools: {', '.join(self.tools) or 'none'}; add {tool!r} to the method's `roles`",
            )
        query = self._query = query if query.strip() else self._query
        results = await gather_or_cancel(
            self._search(name, query, k, round_) for name in ([tool] if tool else self.tools)
        )
        passages = distinct_passages(chain.from_iterable(results))
        for passage in passages:
            self._read.setdefault(passage.content, passage)
        return passages

    @property
    def search_failed(self) -> bool:
        """Whether the agent's last search failed."""
        searches = (
            event
            for event in reversed(self.run.events)
            if isinstance(event, EvidenceFound | EvidenceMissing) and event.agent == self.name
        )
        return isinstance(next(searches, None), EvidenceMissing)

    async def _search(self, tool: str, query: str, k: int, round_: int) -> tuple[Passage, ...]:
        """The results of a query that follow those which the agent has been shown, where it repeats the query.

        Equal concurrent queries wait for each other, so that a replay, which answers sooner, asks for the same.
        """
        async with self._searching[tool, query] if self.next_results else nullcontext():
            shown = self._shown.get((tool, query), ()) if self.next_results else ()
            requested = k + len(shown)
            results = await self.run.search(tool, query, requested, agent=self.name, round_=round_, claim=self.claim)
            if self.run.is_whole(tool):
                return results

            known = {passage.content for passage in shown}
            further = tuple(passage for passage in results if passage.content not in known)[:k] or results[:k]
            self._shown[tool, query] = distinct_passages((*shown, *further))
            return further
