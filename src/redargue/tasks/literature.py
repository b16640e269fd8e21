"""Searching scholarly literature: keywords out of a query, and a summary of an abstract that was found.

Source: Tool-MAD's PubMedQA set-up (T26 in docs/tool-mad.md): keywords are taken from each query, three abstracts are
retrieved, each is summarised, and the summaries stand in for the documents. The paper prints no words for either and
has the summaries written by a small summariser (``T26``); here both are tasks, which any backend may perform.
"""

from __future__ import annotations

from textwrap import shorten
from typing import ClassVar

from pydantic import Field

from redargue.claims import Frozen
from redargue.tasks.base import Task, json_schema, lines, list_bounds, max_length
from redargue.tasks.untrusted import wrap_untrusted

MOST_KEYWORDS = 8  # catalogues want every word of a query to occur
LONGEST_KEYWORD = 60  # characters
LONGEST_SUMMARY = 3  # sentences


class Keywords(Frozen):
    """What to search a catalogue of papers for, the most telling first; may be empty."""

    keywords: tuple[str, ...] = Field(
        description="the keywords, the most telling first",
        json_schema_extra=list_bounds(MOST_KEYWORDS, LONGEST_KEYWORD),
    )

    @property
    def query(self) -> str:
        """The keywords as one query: the first of them, long ones cut at a word; a model may reply with hundreds."""
        cut = (shorten(each, LONGEST_KEYWORD, placeholder="", break_on_hyphens=False) for each in self.keywords)
        return " ".join([each for each in cut if each][:MOST_KEYWORDS])


class Summary(Frozen):
    """A text's summary; empty where the text says nothing, which is then read itself."""

    summary: str = Field(description="the summary", json_schema_extra=max_length(1_000))


class WriteKeywords(Task[Keywords]):
    """Takes the keywords out of an agent's query.

    Attributes:
        query: as the agent wrote it, perhaps a whole sentence.
        most: keywords at most.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("query", "most")

    query: str
    most: int = Field(default=MOST_KEYWORDS, ge=1)

    def instructions(self) -> str:
        """What to do."""
        return lines(
            "Take the keywords out of a query, for a catalogue of scientific papers that finds papers in which all of"
            f" them occur: at most {self.most}, the most telling first, in the query's own words.",
        )

    def output_format(self) -> str:
        """JSON."""
        return f"Reply with one JSON object that follows this schema: {json_schema(Keywords)}"

    def input_text(self) -> str:
        """The query."""
        return f"Query: {wrap_untrusted(self.query)}"

    def template_vars(self) -> dict[str, str]:
        """The query and how many keywords."""
        return {"query": wrap_untrusted(self.query), "most": str(self.most)}


class SummariseAbstract(Task[Summary]):
    """Summarises a paper's abstract with a query in view.

    Attributes:
        query: what the abstract was found for.
        title: of the paper; may be empty.
        abstract: the whole abstract.
        sentences: of the summary at most.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("query", "title", "abstract", "sentences")

    query: str
    title: str = ""
    abstract: str
    sentences: int = Field(default=LONGEST_SUMMARY, ge=1)

    def instructions(self) -> str:
        """What to do."""
        return lines(
            f"Summarise a paper's abstract in at most {self.sentences} sentences: what it says about the query, with"
            " its numbers and its reservations. Say nothing that the abstract does not say.",
        )

    def output_format(self) -> str:
        """JSON."""
        return f"Reply with one JSON object that follows this schema: {json_schema(Summary)}"

    def input_text(self) -> str:
        """Query, title, abstract."""
        return lines(f"Query: {wrap_untrusted(self.query)}", f"Abstract: {self._paper()}")

    def template_vars(self) -> dict[str, str]:
        """Query, title, abstract and how many sentences."""
        query, title, abstract = (wrap_untrusted(each) for each in (self.query, self.title, self.abstract))
        return {"query": query, "title": title, "abstract": abstract, "sentences": str(self.sentences)}

    def _paper(self) -> str:
        return wrap_untrusted(lines(self.title, self.abstract))
