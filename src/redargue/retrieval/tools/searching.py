"""A search tool as an action that an agent calls by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redargue.errors import ToolFailed
from redargue.evidence import Passage
from redargue.retrieval.tools.base import Search, Tool


class SearchAction:
    """Takes a query and gives passages.

    Args:
        tool: that is searched.
        k: passages a query, at most.
    """

    def __init__(self, tool: Tool, k: int) -> None:
        self._tool, self._k = tool, k
        self.name, self.about = tool.name, tool.about

    @property
    def revision(self) -> str:
        """The tool's own, and how much is asked of it."""
        return f"{self._tool.revision} k={self._k}"

    @property
    def parameters(self) -> Mapping[str, Any]:
        """A query."""
        return {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "what to look for"}},
            "required": ["query"],
            "additionalProperties": False,
        }

    async def call(self, arguments: Mapping[str, Any], *, search: Search) -> tuple[Passage, ...]:
        """What the tool finds.

        Raises:
            ToolFailed: no query, other arguments, or no answer.
            BudgetReached: the budget has no room for a request.
        """
        query = arguments.get("query")
        if not isinstance(query, str) or not query.strip() or len(arguments) > 1:
            raise ToolFailed(f"{self.name} cannot be called with {dict(arguments)!r:.200}", hint='give {"query": "…"}')
        return await self._tool.search(query, self._k, search=search)
