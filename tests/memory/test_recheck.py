"""A recheck gives a cause for what changed or is gone, and never marks a record that its source still contains."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from redargue.evidence import Passage
from redargue.memory import MemoryRecord, Status
from redargue.memory.recheck import RecheckResult, recheck

NOW = datetime(2026, 11, 22, tzinfo=UTC)


class Marks:
    """A memory that only notes what is marked."""

    def __init__(self) -> None:
        self.statuses: dict[int, str] = {}

    def mark(self, statuses: dict[int, str], now: datetime) -> None:
        self.statuses |= statuses


class Found:
    """A tool that finds the same passages whatever it is asked."""

    def __init__(self, *passages: Passage) -> None:
        self.passages = passages

    async def search(self, query: str, k: int, *, search: object) -> tuple[Passage, ...]:
        return self.passages


async def checked(stored: str, *found: Passage) -> tuple[RecheckResult, Marks]:
    passage = Passage(text=stored, tool="t", query="q", document="d" if stored else "")
    status: Status = "ok" if stored else "empty"
    record = MemoryRecord(
        number=1, workspace="default", status=status, passage=passage, arguments={}, length=len(stored)
    )
    marks, tools = Marks(), {"t": Found(*found)}
    (result,) = [each async for each in recheck(marks, [record], tools, now=NOW)]  # type: ignore[arg-type]
    return result, marks


def of(text: str, start: int = 0, document: str = "d") -> Passage:
    return Passage(text=text, start=start, document=document)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "found",
    [
        (of("Before. It was lit in 1871.\nIt is red. After."),),
        (of("It is red.", 20), of("It was lit in 1871.", 0)),
        (of("It was lit in 1871.  It is red."),),
        (of("It was lit in 1871. It is red.", document="mirror"),),
    ],
)
async def test_a_document_that_is_cut_in_other_places_is_the_same(found: tuple[Passage, ...]) -> None:
    result, marks = await checked("It was lit in 1871. It is red.", *found)
    assert (result.outcome, result.why, marks.statuses) == ("same", "", {1: "ok"})


@pytest.mark.anyio
async def test_a_change_is_shown_from_where_it_begins() -> None:
    before = "The lighthouse at Cape Ansel was first lit in 1871 by its keeper, a man of few words."
    result, marks = await checked(before, of("unrelated"), of(before.replace("1871", "1872")))
    assert marks.statuses == {1: "changed"}
    assert result.why.startswith("the stored text is not in its source; now: “…")
    assert "1872" in result.why


@pytest.mark.anyio
async def test_what_is_gone_has_a_cause() -> None:
    result, marks = await checked("It was lit in 1871.", of("It is red.", document="other"))
    assert (result.outcome, marks.statuses) == ("gone", {1: "gone"})
    assert result.why == "the search finds 1 passage, none of this source"
    assert (await checked("It was lit in 1871."))[0].why == "the search finds nothing now"


@pytest.mark.anyio
async def test_a_search_that_found_nothing_and_now_finds_something_has_changed() -> None:
    result, _ = await checked("", of("It is red."), of("It is lit."))
    assert (result.outcome, result.why) == ("changed", "the search, which found nothing, now finds 2 passages")
    assert (await checked(""))[0].outcome == "same"
