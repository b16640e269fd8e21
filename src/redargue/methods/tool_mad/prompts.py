"""Prompts that only Tool-MAD has: keywords for literature searches, summaries of abstracts, agreement of free texts.

In the PubMedQA set-up keywords are taken from each query, three abstracts are retrieved and summarised, and the
summaries replace the documents. The paper prints no prompts for this and uses a small summariser (``T26`` in
docs/tool-mad.md); here both are tasks that any backend may perform.
"""

from __future__ import annotations

from textwrap import shorten
from typing import ClassVar, Literal

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.tasks.base import Sections, Task, json_schema, lines, list_bounds, max_length
from redargue.tasks.query import OtherAnswer, others
from redargue.tasks.untrusted import wrap_untrusted

MOST_KEYWORDS = 8  # catalogues want every word of a query to occur
LONGEST_KEYWORD = 60  # characters
LONGEST_SUMMARY = 3  # sentences


class Keywords(Frozen):
    """Search words for a catalogue of papers, most distinctive first; may be empty."""

    keywords: tuple[str, ...] = Field(
        description="the keywords, the most telling first",
        json_schema_extra=list_bounds(MOST_KEYWORDS, LONGEST_KEYWORD),
    )

    @property
    def query(self) -> str:
        """The first keywords as one query, long ones cut at a word; a model may reply with hundreds."""
        short = (shorten(word, LONGEST_KEYWORD, placeholder="", break_on_hyphens=False) for word in self.keywords)
        return " ".join([word for word in short if word][:MOST_KEYWORDS])


class Summary(Frozen):
    """A summary; empty where the text says nothing, which is then read itself."""

    summary: str = Field(description="the summary", json_schema_extra=max_length(1_000))


class Agreement(Frozen):
    """Whether answers are the same."""

    agree: Literal[0, 1] = Field(description="1 if the answers give the same final answer, 0 if they differ")
    answer: str = Field(
        description="the answer that they share, as short as it can be said; empty if they differ",
        json_schema_extra=max_length(300),
    )


class WriteKeywords(Task[Keywords]):
    """Extracts at most ``most`` keywords of an agent's query, which may be a whole sentence."""

    sections: ClassVar[Sections] = {"query": "Query: ", "most": None}

    query: str
    most: int = Field(default=MOST_KEYWORDS, ge=1)

    output_format: ClassVar[str] = f"Reply with one JSON object that follows this schema: {json_schema(Keywords)}"

    @property
    def instructions(self) -> str:
        return (
            "Extract the keywords of a query for a catalogue of scientific papers, which finds papers that contain all"
            f" of them: at most {self.most}, the most telling first, in the query's own words."
        )

    def template_vars(self) -> dict[str, str]:
        return {"query": wrap_untrusted(self.query), "most": str(self.most)}


class SummariseAbstract(Task[Summary]):
    """Summarises a paper's abstract in view of the query that found it, in at most ``sentences`` sentences."""

    template_var_names: ClassVar[tuple[str, ...]] = ("query", "title", "abstract", "sentences")

    query: str
    title: str = ""
    abstract: str
    sentences: int = Field(default=LONGEST_SUMMARY, ge=1)

    output_format: ClassVar[str] = f"Reply with one JSON object that follows this schema: {json_schema(Summary)}"

    @property
    def instructions(self) -> str:
        return (
            f"Summarise a paper's abstract in at most {self.sentences} sentences: what it says about the query, with"
            " its numbers and its reservations. Say nothing that the abstract does not say."
        )

    def input_text(self) -> str:
        paper = wrap_untrusted(lines(self.title, self.abstract))
        return lines(f"Query: {wrap_untrusted(self.query)}", f"Abstract: {paper}")

    def template_vars(self) -> dict[str, str]:
        query, title, abstract = map(wrap_untrusted, (self.query, self.title, self.abstract))
        return {"query": query, "title": title, "abstract": abstract, "sentences": str(self.sentences)}


class CheckConsensus(Task[Agreement]):
    """Compares free-text answers, which cannot be compared as labels (ACL version, appendix; ``T29``)."""

    sections: ClassVar[Sections] = {"claim": "Question: ", "answers": "Answers: "}

    claim: Claim
    answers: tuple[OtherAnswer, ...]

    instructions: ClassVar[str] = (
        "Several debaters answered the same question. Say whether their final answers are the same answer,"
        " whatever words they use. Do not judge which of them is right."
    )

    def template_vars(self) -> dict[str, str]:
        return {"claim": wrap_untrusted(self.claim.text, inline=True), "answers": others(self.answers)}
