"""What is searched for, and how the results of several queries and tools are merged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from math import ceil
from typing import TYPE_CHECKING, TypeVar

from redargue.concurrency import gather_or_cancel
from redargue.events import EvidenceChosen, QueryWritten
from redargue.evidence import Passage, distinct_passages
from redargue.methods.agent import Agent
from redargue.quotes import content_words

if TYPE_CHECKING:
    from redargue.methods.base import Method

Ranked = TypeVar("Ranked")
_NEGATION = re.compile(r"(?i)\b(?:not|never|no|\w+n['’]t)\b")
_DIGIT = re.compile(r"\d")
_LEAST = 2  # content words of a query


async def gather_documents(
    method: Method, agent: Agent, queries: Sequence[str], snippets: int, query_count: int
) -> tuple[Passage, ...]:
    """Searches for all queries concurrently with all of the agent's tools, and chooses among the results.

    Every search requests ``snippets`` results, so that others can replace a document that is found twice.
    All results of a whole tool are kept.

    Args:
        snippets: passages for the whole claim; each query gets ``snippets / query_count`` of them, rounded up.
        query_count: queries for the whole claim.
    """
    queries = tuple(dict.fromkeys(queries))
    for query in queries:
        method.run.emit(QueryWritten(agent=agent.name, round=0, query=query))
    searches = [(query, tool) for query in queries for tool in agent.tools]
    results = await gather_or_cancel(agent.search(query, snippets, tool=tool) for query, tool in searches)
    whole: list[Passage] = []
    ranked: dict[str, list[tuple[Passage, ...]]] = {query: [] for query in queries}
    for (query, tool), result in zip(searches, results, strict=True):
        if method.run.is_whole(tool):
            whole += result
        else:
            ranked[query].append(result)
    rankings = (merged(of_query) for of_query in ranked.values())
    chosen = distinct_passages((*whole, *distinct_documents(rankings, ceil(snippets / query_count))))
    shas = tuple(passage.sha256 for passage in chosen)
    method.run.emit(EvidenceChosen(agent=agent.name, round=0, passages=shas))
    return chosen


def merged(rankings: Iterable[Iterable[Ranked]]) -> Iterator[Ranked]:
    """Yields the first of each ranking, then the second of each, and so on."""
    return (each for rank in zip_longest(*rankings) for each in rank if each is not None)


def distinct_documents(rankings: Iterable[Iterable[Passage]], limit: int) -> Iterator[Passage]:
    """Yields at most ``limit`` passages of each ranking, first those of documents that have not occurred before."""
    seen: set[str] = set()
    taken: set[tuple[str, str]] = set()
    for ranking in rankings:
        first: list[Passage] = []
        further: list[Passage] = []
        for passage in ranking:
            document = _document_of(passage)
            (further if document in seen else first).append(passage)
            seen.add(document)
        new = [passage for passage in (*first, *further) if passage.content not in taken]
        chosen = distinct_passages(new)[:limit]
        seen -= {_document_of(passage) for passage in first if passage not in chosen}
        taken.update(passage.content for passage in chosen)
        yield from chosen


def _document_of(passage: Passage) -> str:
    """Returns what identifies the document of a passage: its identifier, address, title or own text."""
    return passage.document or passage.url or passage.title or passage.sha256


def open_query(claim: str) -> str:
    """The claim without its numbers, dates and negations; itself where too little would be left.

    Evidence against "It opened in 1889" says when it opened, and not that it did not: a negated claim finds the same
    texts as the claim, one without the value those with any value.
    """
    without_numbers = " ".join(word for word in claim.split() if not _DIGIT.search(word))
    query = " ".join(_NEGATION.sub(" ", without_numbers).split()).strip(" .,;:?!")
    same = query == claim.strip(" .,;:?!")
    return claim if same or len(content_words(query)) < _LEAST else query
