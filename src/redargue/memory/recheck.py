"""Repeats the searches of stored records and marks the records whose evidence changed or disappeared.

Marked records are no longer recalled; the next search for a claim stores the new text.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from redargue.errors import ToolFailed
from redargue.evidence import Passage
from redargue.memory.base import MemoryRecord, Status
from redargue.memory.memory import Memory
from redargue.retrieval.tools.base import Search, Tool

MIN_PASSAGES = 10  # passages per search: more than any method requests, so a lower rank alone does not mark a record

Outcome = Literal["same", "changed", "gone", "failed", "no tool"]


class RecheckResult(NamedTuple):
    """The record before the recheck, and the outcome; ``failed`` and ``no tool`` leave the record unchanged."""

    record: MemoryRecord
    outcome: Outcome
    why: str = ""


async def recheck(
    memory: Memory, records: Sequence[MemoryRecord], tools: Mapping[str, Tool], *, now: datetime
) -> AsyncIterator[RecheckResult]:
    """Repeats each record's search once and marks its records ``ok``, ``changed`` or ``gone``.

    A stored search without a result counts as changed if it now has one. The memory must be open for writing.
    """
    records_by_search: dict[tuple[str, str], list[MemoryRecord]] = {}
    for record in records:
        records_by_search.setdefault((record.passage.tool, record.passage.query), []).append(record)
    for (name, query), group in records_by_search.items():
        if name not in tools:
            for record in group:
                yield RecheckResult(record, "no tool", f"the search tool {name!r} is not available")
            continue
        try:
            passages = await tools[name].search(query, max(MIN_PASSAGES, 2 * len(group)), search=Search())
        except ToolFailed as error:
            for record in group:
                yield RecheckResult(record, "failed", str(error))
            continue
        outcomes = [(record, _outcome(record, passages)) for record in group]
        memory.mark({record.number: _status(record, outcome) for record, outcome in outcomes}, now)
        for record, outcome in outcomes:
            yield RecheckResult(record, outcome)


def _outcome(record: MemoryRecord, passages: Sequence[Passage]) -> Literal["same", "changed", "gone"]:
    stored = record.passage
    if not stored.text:
        return "changed" if passages else "same"
    if any(passage.text.startswith(stored.text) for passage in passages):  # the stored text may be truncated
        return "same"
    same_source = any(
        (stored.url and passage.url == stored.url) or (stored.document and passage.document == stored.document)
        for passage in passages
    )
    return "changed" if same_source else "gone"


def _status(record: MemoryRecord, outcome: Literal["same", "changed", "gone"]) -> Status:
    if outcome != "same":
        return outcome
    return "ok" if record.passage.text else "empty"
