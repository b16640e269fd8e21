"""Dry runs: a method verifies a claim with made-up agents and tools, and every request is counted.

Nothing is sent, stored or waited for. What a claim costs follows from the method itself, whoever wrote it.
"""

from __future__ import annotations

import asyncio
import selectors
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, cast

from redargue.backends import Call, Reply
from redargue.claims import Claim
from redargue.errors import RedargueError, UsageError
from redargue.evidence import Passage
from redargue.methods.base import ConfiguredMethod, Method, configure
from redargue.methods.made_up_agents import (
    AGREES,
    AGREES_ALIKE,
    AGREES_LATER,
    DAY,
    DISAGREES,
    DOUBTS,
    MAKES_UP,
    Course,
    MadeUpAction,
    MadeUpBackend,
    MadeUpMemory,
    MadeUpTool,
)
from redargue.methods.verdict_parts import deciding, read_again
from redargue.registry import ExtensionError, described
from redargue.retrieval.tools import Action, Search, tools
from redargue.run import Run
from redargue.tasks.base import AnyTask, Out, Task

CLAIM = Claim(text="The lighthouse at Cape Ansel was lit in 1871.")
MOST_REQUESTS = 3_000  # of one claim; a method that makes more is taken for one that never ends
# On the clock of a dry run a call lasts 1 and a search a little more, so that its end gives the calls and the searches
# of the longest chain. Both are sums of powers of two, which floating point adds exactly.
CALL, SEARCH = 1.0, 1.0 + 2.0**-16

Seen = Callable[[AnyTask, Call], None]


class Asked(NamedTuple):
    """A request to a backend; ``samples``: answers that it asks for."""

    task: str
    charge: str
    agent: str
    samples: int


@dataclass
class DryRun:
    """What one claim costs.

    Attributes:
        asked: requests to the backend.
        searches: requests per tool.
        call_depth: calls on the longest chain of calls and searches that wait for each other.
        search_depth: searches on that chain.
        error: why the claim has no verdict; None for most claims.
    """

    asked: Counter[Asked] = field(default_factory=Counter)
    searches: Counter[str] = field(default_factory=Counter)
    call_depth: int = 0
    search_depth: int = 0
    error: RedargueError | None = None

    @property
    def calls(self) -> dict[str, int]:
        """Requests per task, those of small models included."""
        counts = Counter[str]()
        for asked, count in self.asked.items():
            counts[asked.task] += count
        return dict(counts)

    @property
    def model_calls(self) -> int:
        return sum(count for asked, count in self.asked.items() if asked.charge == "call")

    @property
    def size(self) -> tuple[int, int]:
        """Requests and depth, by which dry runs are compared."""
        return self.model_calls + self.searches.total(), self.call_depth + self.search_depth

    def count(self, request: Asked | str) -> None:
        counts: Counter[Any] = self.searches if isinstance(request, str) else self.asked
        counts[request] += 1
        if self.asked.total() + self.searches.total() > MOST_REQUESTS:
            raise UsageError(
                f"more than {MOST_REQUESTS:,} requests about one claim, and no verdict",
                hint="bound the rounds or the steps of the method",
            )


class Offered(NamedTuple):
    """A tool of an MCP server, as its server describes it."""

    name: str
    about: str
    parameters: Mapping[str, Any]


class Costs(NamedTuple):
    """The lowest, the likely and the highest cost of a claim."""

    low: DryRun
    likely: DryRun
    high: DryRun


def costs(
    method: ConfiguredMethod,
    claim: Claim = CLAIM,
    *,
    actions: Mapping[str, Action] | None = None,
    together: int = 0,
) -> Costs:
    """The cost of a claim, from a dry run of each course.

    Args:
        claim: its label set, options, context and number of sentences may change the cost; its subject does not.
        actions: of MCP servers, which the method's agents may call.
        together: the cost of so many such claims, which the method reads ahead; 0 for one that is verified alone.

    Raises:
        RedargueError: the method refuses the claim.
        UsageError: the cost is unknown, because the method fails in a dry run.
    """
    offered = tuple(Offered(name, action.about, action.parameters) for name, action in (actions or {}).items())
    return _costs(
        _Case(method.kind, method.settings.model_dump_json(), repr(offered), method, offered), claim, together
    )


@dataclass(frozen=True)
class _Case:
    """A configured method as a key: settings may have fields that cannot be hashed."""

    kind: type[Method]
    settings: str
    offered: str
    method: ConfiguredMethod = field(compare=False)
    actions: tuple[Offered, ...] = field(compare=False)


@lru_cache(maxsize=256)
def _costs(case: _Case, claim: Claim, together: int) -> Costs:
    courses = AGREES_LATER, AGREES, AGREES_ALIKE, DISAGREES, DOUBTS, MAKES_UP
    runs = [dry_run(case.method, claim, course, actions=case.actions, together=together) for course in courses]
    if error := next(filter(None, (run.error for run in runs)), None):
        raise error
    if together:  # in documents, whose searches cost nothing
        return Costs(min(runs, key=lambda run: run.model_calls), runs[0], max(runs, key=lambda run: run.model_calls))
    return Costs(min(runs, key=lambda run: run.size), runs[0], max(runs, key=lambda run: run.size))


def usual_calls(name: str) -> int:
    """Likely calls per claim with the method's defaults; raises as :func:`costs`."""
    return costs(configure(name, "hardened", {})).likely.model_calls


def dry_run(
    method: ConfiguredMethod,
    claim: Claim,
    course: Course,
    *,
    actions: Sequence[Offered] = (),
    seen: Seen | None = None,
    together: int = 0,
) -> DryRun:
    """Verifies a claim as the course has it; ``seen`` is called with every request before it is answered.

    ``together``: as for :func:`costs`.

    Raises:
        UsageError: the method fails.
    """

    def ran() -> DryRun:
        with asyncio.Runner(loop_factory=_Clock) as runner:
            return runner.run(_verified(method, claim, course, actions, seen, together))

    with ThreadPoolExecutor(1) as thread:  # this one may have a running loop
        return thread.submit(ran).result()


async def _verified(
    method: ConfiguredMethod,
    claim: Claim,
    course: Course,
    actions: Sequence[Offered],
    seen: Seen | None,
    together: int,
) -> DryRun:
    counted, names = DryRun(), method.tools()
    memory = MadeUpMemory(names[0] if names else "", knows=course.recalls)
    run = Run(
        _Backend(course, counted, seen),
        {name: _Tool(name, tools[name].about if name in tools else "", counted, course) for name in names},
        clock=_Still(),
        actions={name: MadeUpAction(_Tool(name, about, counted), parameters) for name, about, parameters in actions},
        memory=memory,
    )
    try:
        if together:
            run.opening, *_ = await method.read_ahead((claim,) * together, run)
        all_counts: tuple[Counter[Any], ...] = (counted.asked, counted.searches)
        ahead = [Counter(counts) for counts in all_counts]
        verdict = await method.verify(claim, run)
        if method.settings.profile == "hardened":
            await read_again(deciding(verdict), claim, run, None)
        for counts, before in zip(all_counts, ahead, strict=True):
            for name in counts:  # each of the others costs the same after what was read ahead
                counts[name] += max(0, together - 1) * (counts[name] - before[name])
    except ExtensionError as error:
        raise UsageError(
            f"the cost of a claim is unknown for the method {method.name!r}: with made-up replies it raises"
            f" {described(error.__cause__ or error)}",
            hint="verify one claim and read its usage; --budget 50calls sets a limit in any case",
        ) from error
    except RedargueError as error:
        counted.error = error
    ended = asyncio.get_running_loop().time()
    counted.search_depth = round((ended - int(ended)) / (SEARCH - CALL))
    counted.call_depth = int(ended) - counted.search_depth
    return counted


class _Backend(MadeUpBackend):
    """Counts the requests; each takes its time."""

    def __init__(self, course: Course, counted: DryRun, seen: Seen | None) -> None:
        super().__init__(course)
        self._counted, self._seen = counted, seen

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        self._counted.count(Asked(task.name(), task.charge, call.agent, call.sampling.n))
        if self._seen:
            self._seen(cast(AnyTask, task), call)
        return await super().perform(task, call)

    async def answering(self, task: AnyTask) -> None:
        if task.charge == "call":
            await asyncio.sleep(CALL)


class _Tool(MadeUpTool):
    """Counts the searches; each takes its time."""

    def __init__(self, name: str, about: str, counted: DryRun, course: Course = AGREES) -> None:
        super().__init__(name, about, shelf=course.shelf, finds_all=course.finds_all)
        self._counted = counted

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        self._counted.count(self.name)
        await asyncio.sleep(SEARCH)
        return await super().search(query, k, search=search)


class _Still:
    """A clock that stands still."""

    def now(self) -> datetime:
        return DAY

    def elapsed(self) -> float:
        return 0.0


class _Clock(asyncio.SelectorEventLoop):
    """An event loop whose time jumps to what is waited for."""

    def __init__(self) -> None:
        self._selections = _Selections()
        super().__init__(self._selections)

    def time(self) -> float:
        return self._selections.passed


class _Selections(selectors.DefaultSelector):
    passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:  # a thread is waited for
            return super().select()
        self.passed += max(0.0, timeout)
        return super().select(0)
