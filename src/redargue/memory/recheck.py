"""Whether what is stored is still what its tool gives: each search is made again, and records are marked.

A record that is not found again, or whose source has another text now, is recalled no more; the next search that a
claim needs brings the new text in.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from redargue.errors import ToolFailed
from redargue.evidence import Passage
from redargue.memory.base import Status, Stored
from redargue.memory.memory import Memory
from redargue.tools.base import Search, Tool

FOUND = 10  # passages a search is asked for: more than any method asks for, so that rank alone loses nothing

Outcome = Literal["same", "changed", "gone", "failed", "no tool"]


class Rechecked(NamedTuple):
    """What became of one record.

    Attributes:
        record: as it was.
        outcome: ``failed`` where the tool did not answer, ``no tool`` where none of that name is at hand: the record
            stays as it is.
        why: of these two.
    """

    record: Stored
    outcome: Outcome
    why: str = ""


async def recheck(
    memory: Memory, kept: Sequence[Stored], tools: Mapping[str, Tool], *, now: datetime
) -> AsyncIterator[Rechecked]:
    """Looks for records again and marks them: ``ok``, ``changed`` or ``gone``; a miss that finds something is changed.

    Args:
        memory: that holds them, open for writing.
        kept: the records; those of one search are looked for by one search.
        tools: by the names that records know them by.
        now: when.
    """
    searches: dict[tuple[str, str], list[Stored]] = {}
    for record in kept:
        searches.setdefault((record.passage.tool, record.passage.query), []).append(record)
    for (name, query), some in searches.items():
        if name not in tools:
            for each in some:
                yield Rechecked(each, "no tool", f"{name!r} is no search tool at hand")
            continue
        try:
            found = await tools[name].search(query, max(FOUND, 2 * len(some)), search=Search())
        except ToolFailed as error:
            for each in some:
                yield Rechecked(each, "failed", str(error))
            continue
        outcomes = [(each, _outcome(each, found)) for each in some]
        memory.mark({each.number: _status(each, outcome) for each, outcome in outcomes}, now)
        for each, outcome in outcomes:
            yield Rechecked(each, outcome)


def _outcome(record: Stored, found: Sequence[Passage]) -> Literal["same", "changed", "gone"]:
    held = record.passage
    if not held.text:
        return "changed" if found else "same"
    if any(each.text.startswith(held.text) for each in found):  # what is stored may be cut
        return "same"
    same_source = any(
        (held.url and each.url == held.url) or (held.document and each.document == held.document) for each in found
    )
    return "changed" if same_source else "gone"


def _status(record: Stored, outcome: Literal["same", "changed", "gone"]) -> Status:
    if outcome != "same":
        return outcome
    return "ok" if record.passage.text else "empty"
