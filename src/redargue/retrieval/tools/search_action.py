"""A search tool as an action that an agent calls by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from redargue.errors import ToolFailed
from redargue.evidence import Passage
from redargue.retrieval.tools.base import Search, Tool


class SearchAction:
    """Takes ``{"query": …}`` and returns at most ``k`` passages; see :class:`redargue.retrieval.tools.base.Action`."""

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
        return await self._tool.search(query, self._k, search=search)
