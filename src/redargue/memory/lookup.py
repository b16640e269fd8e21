"""The memory as a tool that an agent calls with an entity (MERMAID's proxy memory, ``M21``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from redargue.claims import Claim
from redargue.errors import ToolFailed, UsageError
from redargue.evidence import Passage
from redargue.memory.base import EvidenceMemory
from redargue.retrieval.tools.base import Search
from redargue.runs.clock import Clock

LOOKUP = "memory_lookup"


class MemoryLookup:
    """Returns stored evidence for an entity; ``memory`` is None in a replay, which makes no tool calls."""

    name = LOOKUP
    about = "evidence that was found for earlier claims, by entity; look here before you call another tool"
    revision = "1"
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {"entity": {"type": "string", "description": "a name, a date, a thing"}},
        "required": ["entity"],
        "additionalProperties": False,
    }

    online: ClassVar[bool] = False

    def __init__(self, memory: EvidenceMemory | None, claim: Claim, clock: Clock) -> None:
        self._memory, self._claim, self._clock = memory, claim, clock

    async def call(self, arguments: Mapping[str, Any], *, search: Search) -> tuple[Passage, ...]:
        """Returns evidence for ``arguments["entity"]``, best first; the claim's as-of date applies.

        Raises ToolFailed if the arguments contain no entity, and UsageError if the run has no memory.
        """
        entity = arguments.get("entity")
        if not isinstance(entity, str) or not entity.strip():
            raise ToolFailed(f"{LOOKUP} cannot be called with {dict(arguments)!r:.200}", hint='give {"entity": "…"}')
        if self._memory is None:
            raise UsageError("this run has no memory", hint="pass memory=open_memory(…)")
        recall = await self._memory.recall((entity,), claim=self._claim, now=self._clock.now(), text=entity)
        return tuple(item.passage for item in recall.items if item.status == "ok")
