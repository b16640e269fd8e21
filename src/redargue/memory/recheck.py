"""Repeats the searches of stored records and marks the records whose evidence changed or disappeared.

Marked records are no longer recalled; the next search for a claim stores the new text.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal, NamedTuple

from redargue.errors import ToolFailed
from redargue.evidence import Passage
from redargue.memory import MemoryRecord, Status
from redargue.retrieval.tools import Search, Tool
from redargue.sanitize import counted

if TYPE_CHECKING:
    from redargue.memory.memory import Memory

# passages per search: more than methods request by default, so a lower rank alone marks no record
MIN_PASSAGES = 10

RecheckOutcome = Literal["same", "changed", "gone", "failed", "no tool"]


class RecheckResult(NamedTuple):
    """The record before the recheck, the outcome, and its cause unless it is ``same``.

    ``failed`` and ``no tool`` leave the record unchanged.
    """

    record: MemoryRecord
    outcome: RecheckOutcome
    why: str = ""


async def recheck(
    memory: Memory, records: Sequence[MemoryRecord], tools: Mapping[str, Tool], *, now: datetime
) -> AsyncIterator[RecheckResult]:
    """Repeats each record's search once and marks its records ``ok``, ``changed`` or ``gone``.

    A stored search without a result counts as changed if it now has one. The memory must be open for writing.
    """
    by_search: dict[tuple[str, str], list[MemoryRecord]] = {}
    for record in records:
        search = record.passage.tool, query_of(record.passage)
        by_search.setdefault(search, []).append(record)
    for (name, query), group in by_search.items():
        if name not in tools:
            for record in group:
                yield RecheckResult(record, "no tool", f"the search tool {name!r} is not available")
            continue
        most = max(MIN_PASSAGES, 2 * len(group))
        try:
            passages = await tools[name].search(query, most, search=Search())
        except ToolFailed as error:
            for record in group:
                yield RecheckResult(record, "failed", str(error))
            continue
        compared = ((record, compare_with_page(record.passage, passages)) for record in group)
        results = [RecheckResult(record, *outcome) for record, outcome in compared]
        memory.mark({result.record.number: _status(result) for result in results}, now)
        for result in results:
            yield result


def arguments_of(stored: Passage) -> dict[str, object]:
    """The arguments of the call that found a passage; a search has only its query."""
    try:
        arguments = json.loads(stored.query)
    except ValueError:
        arguments = None
    return arguments if isinstance(arguments, dict) else {"query": stored.query}


def query_of(stored: Passage) -> str:
    """The query of the search that found a passage."""
    query = arguments_of(stored).get("query")
    return query if isinstance(query, str) else stored.query


def compare_with_page(stored: Passage, passages: Sequence[Passage]) -> tuple[RecheckOutcome, str]:
    """How a stored passage differs from what the same search finds now, and the cause unless it is ``same``.

    A tool may cut the same document in other places, and the stored text may be truncated: it only has to occur in what
    is found of its source.
    """
    if not stored.text:
        found = f"the search, which found nothing, now finds {counted(len(passages), 'passage')}"
        return ("changed", found) if passages else ("same", "")
    text, texts = _on_one_line(stored.text), [_on_one_line(passage.text) for passage in passages]
    if any(text in now for now in texts):
        return "same", ""

    def is_of_source(passage: Passage) -> bool:
        by_url = stored.url and passage.url == stored.url
        return bool(by_url or (stored.document and passage.document == stored.document))

    source = sorted(filter(is_of_source, passages), key=lambda passage: passage.start)
    if not source:
        why = f"the search finds {counted(len(passages), 'passage')}, none of this source"
        return "gone", why if passages else "the search finds nothing now"
    if text in _on_one_line(" ".join(passage.text for passage in source)):
        return "same", ""

    def likeness(passage: Passage) -> float:
        return SequenceMatcher(None, stored.text[:1000], passage.text[:1000]).ratio()

    now = _difference(stored.text, max(source, key=likeness).text)
    return "changed", f"the stored text is not in its source; now: {now}"


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _difference(before: str, now: str) -> str:
    """The new text from the first difference on, cut to 80 characters."""
    before, now = _on_one_line(before), _on_one_line(now)
    pairs = enumerate(zip(before, now, strict=False))
    at = next((i for i, (one, other) in pairs if one != other), min(len(before), len(now)))
    start = max(0, now.rfind(" ", 0, max(0, at - 20)))
    cut_before, cut_after = "…" if start > 0 else "", "…" if len(now) > start + 80 else ""
    return f"“{cut_before}{now[start : start + 80].strip()}{cut_after}”"


def _status(result: RecheckResult) -> Status:
    if result.outcome in ("changed", "gone"):
        return result.outcome
    return "ok" if result.record.passage.text else "empty"
