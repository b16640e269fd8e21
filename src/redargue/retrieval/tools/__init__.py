"""Interfaces of search tools and of actions that agents call, the registry of tools, and a cache of their answers.

Live search changes from minute to minute: with the cache, all methods of a benchmark see the same search results.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from pydantic import ValidationError

from redargue.claims import Frozen
from redargue.errors import RecordError, RedargueError, ToolFailed, UsageError
from redargue.evidence import Passage
from redargue.net.transport import Service, Transport
from redargue.registry import Registry, accepts, blamed, described, having, is_own, uncallable
from redargue.retrieval.corpus.index import Corpus
from redargue.runs.budget import Account


@dataclass(frozen=True, kw_only=True)
class Search:
    """The context of a search; ``as_of`` excludes later publications, as far as the tool knows their dates."""

    as_of: date | None = None
    account: Account = field(default_factory=lambda: Account(charge="search"))

    @classmethod
    def unpaid(cls) -> Search:
        """A search of redargue's own MCP servers, whose client counts the call."""
        return cls(account=Account(charge="search"))


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What tools are made from; ``corpus`` opens the user's corpus, ``prices`` are US dollars per request, by tool."""

    corpus: Callable[[], Corpus]
    transport: Transport
    services: dict[str, Service] = field(default_factory=dict)
    prices: dict[str, float] = field(default_factory=dict)


class Tool(Protocol):
    """Answers queries with passages.

    Attributes:
        about: what the tool searches, in a few words; part of the agents' prompts.
        revision: changes when the same query may get another answer; part of a search's key.
    """

    name: str
    about: str

    @property
    def revision(self) -> str: ...

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        """At most ``k`` passages, best first; more are cut off.

        Raises:
            ToolFailed: no usable answer.
            BudgetReached: the budget has no room for a request.
        """
        ...


@runtime_checkable
class PerClaim(Protocol):
    """Evidence that differs by claim: a separate tool for each claim. Attributes as in :class:`Tool`."""

    name: str
    about: str

    @property
    def revision(self) -> str: ...

    def for_claim(self, item: int) -> Tool:
        """The tool for one claim of the run, from 0."""
        ...


def for_claim(part: Any, item: int) -> Any:
    """The part of a tool or setting for one claim of the run; anything that does not differ by claim as it is."""
    return part.for_claim(item) if hasattr(part, "for_claim") else part


class Action(Protocol):
    """A tool that an agent calls by name with arguments of its choice (ReAct's action).

    Attributes:
        about: the server's description: data, not instruction.
        parameters: the JSON schema of its arguments.
        revision: changes when the same call may get another answer; part of a call's key.
    """

    name: str
    about: str

    @property
    def revision(self) -> str: ...

    @property
    def parameters(self) -> Mapping[str, Any]: ...

    async def call(self, arguments: Mapping[str, Any], *, search: Search) -> tuple[Passage, ...]:
        """The tool's answer as passages; empty if it found nothing.

        Raises ToolFailed for wrong arguments, no answer, or the tool's error, in words that an agent can act on, and
        BudgetReached if the budget has no room for the call.
        """
        ...


class Observation(Frozen):
    """The outcome of an action, as shown to the agent."""

    passages: tuple[Passage, ...] = ()  # the tool's answer; empty if it found nothing or failed
    why: str = ""  # the error message, which the agent reads but which is not evidence

    @property
    def is_error(self) -> bool:
        return bool(self.why)

    @property
    def text(self) -> str:
        return self.why or "\n".join(passage.text for passage in self.passages)

    @property
    def urls(self) -> tuple[str, ...]:
        texts = (f"{passage.url} {passage.text}" for passage in self.passages)
        return tuple(dict.fromkeys(url.rstrip(".,;:)]}") for text in texts for url in _URL.findall(text)))


_URL = re.compile(r"https?://[^\s\"'<>\\]+", re.IGNORECASE)


class ToolKind(Protocol):
    """A class of registered tools; ``online`` if it sends requests beyond this machine."""

    about: ClassVar[str]
    online: ClassVar[bool]

    @classmethod
    def make(cls, sources: Sources) -> Any:
        """Raises UsageError if a key or another setting is missing; the hint says which."""
        ...


TOOLS = {
    "corpus": "redargue.retrieval.tools.corpus:CorpusTool",
    "keywords": "redargue.retrieval.tools.corpus:KeywordsTool",
    "reranked": "redargue.retrieval.tools.corpus:RerankedTool",
    "wikipedia": "redargue.retrieval.tools.wikipedia:WikipediaTool",
    "tavily": "redargue.retrieval.tools.web:TavilyTool",
    "google": "redargue.retrieval.tools.web:GoogleTool",
    "searxng": "redargue.retrieval.tools.web:SearxngTool",
    "pubmed": "redargue.retrieval.tools.literature:PubmedTool",
    "openalex": "redargue.retrieval.tools.literature:OpenAlexTool",
    "arxiv": "redargue.retrieval.tools.literature:ArxivTool",
}


def _missing(entry: object) -> str:
    if not isinstance(entry, type):
        return "it is not a class"
    return (
        having("make", "about", "online")(entry)
        or ("'make' is async" if inspect.iscoroutinefunction(entry.make) else "")  # type: ignore[attr-defined]
        or ("" if accepts(entry.make, None) else "'make' is not a class method of one argument, the sources")  # type: ignore[attr-defined]
        or _unsearchable(getattr(entry, "search", None), entry)
    )


def _unsearchable(search: object, *instance: object) -> str:
    """Why ``search(query, k, search=…)`` cannot be awaited; empty for a part that has no such method."""
    return uncallable(search, "search(query, k, *, search)", *instance, "", 1, search=None)


def _unnamed(tool: Any) -> str:
    """Why a record cannot hold what describes a tool; empty if it can."""
    odd = [name for name in ("name", "about", "revision") if not isinstance(getattr(tool, name), str)]
    return " and ".join(f"its {name!r} is {getattr(tool, name)!r:.60}, not a text" for name in odd)


tools: Registry[type[ToolKind]] = Registry(
    "tool", builtin=TOOLS, group="redargue.tools", missing=_missing, page="docs/search-tools.md"
)


def made_tool(name: str, sources: Sources) -> Tool | PerClaim:
    """The tool of a name; raises UsageError if it cannot be made, or what its class makes is not a tool."""
    kind = tools[name]
    try:
        tool: Tool | PerClaim | None = kind.make(sources)
        if tool is None:
            raise TypeError("'make' returned None")
    except RedargueError:
        raise
    except (Exception, SystemExit) as error:
        if is_own(kind):
            raise
        what = f"the tool {name!r} of {kind.__module__!r} cannot be made: {described(error)}"
        raise UsageError(what, hint="its author has to correct 'make': docs/search-tools.md") from error
    require_searchable(name, tool)
    return tool


def require_searchable(name: str, tool: Tool | PerClaim) -> None:
    """Raises UsageError for an object that cannot be searched, before any claim is verified."""
    wanted = ("name", "about", "revision", "for_claim" if hasattr(tool, "for_claim") else "search")
    try:
        lacks = having(*wanted)(tool) or _unsearchable(getattr(tool, "search", None)) or _unnamed(tool)
    except (Exception, SystemExit) as error:  # of a property
        if isinstance(error, RedargueError) or is_own(tool):
            raise
        lacks = described(error)
    if lacks:
        what = f"the tool {name!r}, a {type(tool).__name__!r} of {type(tool).__module__!r}, cannot be searched: {lacks}"
        raise UsageError(what, hint="its author has to correct it: docs/search-tools.md")


# A search tool as an action that an agent calls by name.


class SearchAction:
    """Takes ``{"query": …}`` and returns at most ``k`` passages; see :class:`redargue.retrieval.tools.Action`."""

    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "what to look for"}},
        "required": ["query"],
        "additionalProperties": False,
    }

    def __init__(self, tool: Tool, k: int) -> None:
        self._tool, self._k = tool, k
        self.name, self.about = tool.name, tool.about
        self.online: bool = getattr(tool, "online", True)

    @property
    def revision(self) -> str:
        return f"{self._tool.revision} k={self._k}"

    async def call(self, arguments: Mapping[str, Any], *, search: Search) -> tuple[Passage, ...]:
        query = arguments.get("query")
        if not isinstance(query, str) or not query.strip() or len(arguments) > 1:
            raise ToolFailed(f"{self.name} cannot be called with {dict(arguments)!r:.200}", hint='give {"query": "…"}')
        with blamed(f"the tool {self.name!r}", self._tool):
            return await self._tool.search(query, self._k, search=search)


class _Answered(Frozen):
    tool: str
    revision: str
    query: str
    k: int
    as_of: date | None
    passages: tuple[Passage, ...]


class CachedTool:
    """A tool whose answers, but not its failures, are cached in a file, which is created if it does not exist.

    Raises UsageError if the file has an invalid line; ``search``, RecordError if it cannot be written.
    """

    def __init__(self, inner: Tool, path: Path) -> None:
        self._inner, self._path = inner, path
        self.name, self.about = inner.name, inner.about
        self.online: bool = getattr(inner, "online", True)
        self._known: dict[tuple[Any, ...], tuple[Passage, ...]] = {}
        if not path.exists():
            return
        whole, newline, rest = path.read_bytes().rpartition(b"\n")
        if rest:  # an unfinished line of a process that died: the next line must not be appended to it
            os.truncate(path, len(whole) + len(newline))
        for number, line in enumerate(whole.split(b"\n") if newline else (), 1):
            try:
                row = _Answered.model_validate_json(line)
            except ValidationError as error:
                hint = "restore the file, or remove it"
                raise UsageError(f"line {number} of {str(path)!r} is not a search", hint=hint) from error
            if (row.tool, row.revision) == (inner.name, inner.revision):
                self._known.setdefault((row.query, row.k, row.as_of), row.passages)

    @property
    def revision(self) -> str:
        return self._inner.revision

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        key = query, k, search.as_of
        if key not in self._known:
            with blamed(f"the tool {self.name!r}", self._inner):
                passages = await self._inner.search(query, k, search=search)
            if key not in self._known:  # a concurrent search with the same key may have been faster
                self._known[key] = passages
                origin = {"tool": self.name, "revision": self.revision}
                self._append(_Answered(**origin, query=query, k=k, as_of=search.as_of, passages=passages))
        return self._known[key]

    def _append(self, row: _Answered) -> None:
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(row.model_dump_json() + "\n")
        except OSError as error:
            hint = "make room; the same command resumes the run"
            raise RecordError(f"{str(self._path)!r} cannot be written: {error.strerror}", hint=hint) from error
