"""A method, a search tool, two commands and a section of reports in a package of their own."""

from __future__ import annotations

from typing import ClassVar

from redargue import Claim, Passage
from redargue.methods import Agent, Method
from redargue.reports import SingleRun
from redargue.reports.table import Column, Table, number
from redargue.retrieval.tools import Search, Sources
from redargue.tasks import Answer, AnswerClaim


def leap_year(year: int) -> None:
    """Say whether a year has 366 days."""
    print("yes" if year % 4 == 0 and (year % 100 or year % 400 == 0) else "no")  # noqa: T201


def days(*, weeks: int = 1) -> None:
    """Count the days of some weeks."""
    print(7 * weeks)  # noqa: T201


def publishers(run: SingleRun) -> Table | None:
    """Who published what was quoted."""
    names = [quote.source.title for verdict in run.verdicts.values() for quote in verdict.quotes if quote.source]
    rows = tuple((name, names.count(name)) for name in sorted(set(names)))
    return Table("Quotes of each publisher", (Column("Publisher"), number("Quotes")), rows) if rows else None


class Almanac:
    """One page."""

    name: ClassVar[str] = "almanac"
    about: ClassVar[str] = "an almanac"
    online: ClassVar[bool] = False
    revision = "1"

    @classmethod
    def make(cls, sources: Sources) -> Almanac:
        return cls()

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        return (Passage(text="Denver is the capital of Colorado.", title="Almanac", document="almanac"),)


class SecondOpinion(Method, name="second-opinion"):
    """Two readers; the second one's answer counts."""

    roles = {"first-reader": "corpus", "second-reader": "almanac"}
    asks = (AnswerClaim,)

    async def check(self, claim: Claim, first_reader: Agent, second_reader: Agent) -> Answer:
        await first_reader.perform(AnswerClaim(claim=claim, passages=await first_reader.search(claim.text)))
        return await second_reader.perform(AnswerClaim(claim=claim, passages=await second_reader.search(claim.text)))
