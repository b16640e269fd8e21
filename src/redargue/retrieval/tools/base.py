"""Where evidence comes from: the protocol that every tool follows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, ClassVar, Protocol, runtime_checkable

from redargue.claims import Frozen
from redargue.evidence import Passage
from redargue.net.transport import Service, Transport
from redargue.registry import Registry
from redargue.retrieval.corpus.index import Corpus
from redargue.runs.budget import Account


@dataclass(frozen=True, kw_only=True)
class Search:
    """What a search is made for.

    Attributes:
        as_of: nothing that was published later is wanted; a tool that cannot tell returns what it has.
        account: pays for each request that is sent.
    """

    as_of: date | None = None
    account: Account = field(default_factory=Account)


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What tools are made from.

    Attributes:
        corpus: opens the user's corpus, once.
        transport: sends requests.
        services: address and key of each service, by name.
        prices: US dollars a request, by tool.
    """

    corpus: Callable[[], Corpus]
    transport: Transport
    services: dict[str, Service] = field(default_factory=dict)
    prices: dict[str, float] = field(default_factory=dict)


class Tool(Protocol):
    """Answers queries with passages.

    Attributes:
        name: registered name.
        about: what it finds, in a few words, as agents are told.
        revision: changes when the same query may be answered otherwise; part of a search's key.
    """

    name: str
    about: str

    @property
    def revision(self) -> str:
        """The state of the data behind the tool."""
        ...

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        """At most ``k`` passages, the best first.

        Raises:
            ToolFailed: no answer could be had.
            BudgetReached: the budget has no room for a request.
        """
        ...


@runtime_checkable
class PerClaim(Protocol):
    """Evidence that belongs to single claims: each gets a tool of its own.

    Attributes:
        name: as of its tools.
        about: likewise.
        revision: of all of them together.
    """

    name: str
    about: str

    @property
    def revision(self) -> str:
        """The state of all the data."""
        ...

    def for_claim(self, item: int) -> Tool:
        """The tool for one claim of the run, from 0."""
        ...


def for_claim(part: Any, item: int) -> Any:
    """What belongs to single claims, as it is for one claim of the run; anything else as it is."""
    return part.for_claim(item) if hasattr(part, "for_claim") else part


class Action(Protocol):
    """A tool that an agent calls by name, with arguments of its own choice (ReAct's action).

    Attributes:
        name: as agents call it.
        about: what it does, in its server's words: data, not instruction.
        parameters: the JSON schema of its arguments.
        revision: changes when the same call may be answered otherwise; part of a call's key.
    """

    name: str
    about: str

    @property
    def revision(self) -> str:
        """The state of what is behind the tool."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The JSON schema of its arguments."""
        ...

    async def call(self, arguments: Mapping[str, Any], *, search: Search) -> tuple[Passage, ...]:
        """What the tool answers, in pieces; none where it found nothing.

        Raises:
            ToolFailed: wrong arguments, no answer, or the tool's own error, in words that an agent can act on.
            BudgetReached: the budget has no room for the call.
        """
        ...


class Observation(Frozen):
    """What came of an action, as an agent is told it.

    Attributes:
        passages: what the tool answered; empty where it found nothing or failed.
        why: what went wrong; empty where nothing did. It is told, and is no evidence.
    """

    passages: tuple[Passage, ...] = ()
    why: str = ""

    @property
    def is_error(self) -> bool:
        """Whether the call failed."""
        return bool(self.why)

    @property
    def text(self) -> str:
        """What the agent reads; empty where the tool found nothing."""
        return self.why or "\n".join(each.text for each in self.passages)

    @property
    def urls(self) -> tuple[str, ...]:
        """The web addresses in what was answered, each once, in order."""
        found = (url.rstrip(".,;:)]}") for each in self.passages for url in _URL.findall(f"{each.url} {each.text}"))
        return tuple(dict.fromkeys(found))


_URL = re.compile(r"https?://[^\s\"'<>\\]+", re.IGNORECASE)


class ToolKind(Protocol):
    """A registered tool: what is known of it before there is one.

    Attributes:
        about: as of the tool.
        online: whether it asks a service beyond this machine.
    """

    about: ClassVar[str]
    online: ClassVar[bool]

    @classmethod
    def make(cls, sources: Sources) -> Any:
        """The tool.

        Raises:
            UsageError: it lacks a key or another setting; the hint says which.
        """
        ...


TOOLS = {
    "corpus": "redargue.retrieval.tools.corpus:CorpusTool",
    "keywords": "redargue.retrieval.tools.keywords:KeywordsTool",
    "reranked": "redargue.retrieval.tools.reranked:RerankedTool",
    "wikipedia": "redargue.retrieval.tools.wikipedia:WikipediaTool",
    "tavily": "redargue.retrieval.tools.tavily:TavilyTool",
    "google": "redargue.retrieval.tools.google:GoogleTool",
    "pubmed": "redargue.retrieval.tools.pubmed:PubmedTool",
    "openalex": "redargue.retrieval.tools.openalex:OpenAlexTool",
    "arxiv": "redargue.retrieval.tools.arxiv:ArxivTool",
}

tools: Registry[type[ToolKind]] = Registry("tool", builtin=TOOLS, group="redargue.tools")
