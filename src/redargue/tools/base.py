"""Where evidence comes from: the protocol that every tool follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from redargue.evidence import Passage
from redargue.registry import Registry


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

    async def search(self, query: str, k: int) -> tuple[Passage, ...]:
        """At most ``k`` passages, the best first.

        Raises:
            ToolFailed: no answer could be had.
        """
        ...


tools: Registry[Callable[..., Tool]] = Registry("tool")
