"""The only search of a debate: the best documents of several tools, each document once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from math import ceil

from redargue.concurrency import gather_or_cancel
from redargue.events import EvidenceChosen, QueryWritten
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.methods.base import Method


async def gather_documents(
    method: Method, agent: Agent, queries: Sequence[str], snippets: int, of: int
) -> tuple[Passage, ...]:
    """Searches for all queries concurrently with all of the agent's tools, and chooses among the results.

    Every search is asked for ``snippets`` results, so that others can take the place of a document that is found twice.

    Args:
        snippets: documents of the whole claim; a query gets ``snippets / of`` of them, rounded up.
        of: queries of the whole claim.
    """
    queries = tuple(dict.fromkeys(queries))
    for query in queries:
        method.run.emit(QueryWritten(agent=agent.name, round=0, query=query))
    searches = ((query, tool) for query in queries for tool in agent.tools)
    found = await gather_or_cancel(agent.search(query, snippets, tool=tool) for query, tool in searches)
    tools = len(agent.tools)
    rankings = [merged(found[place : place + tools]) for place in range(0, len(found), tools)]
    chosen = tuple(distinct_documents(rankings, ceil(snippets / of)))
    shas = tuple(passage.sha256 for passage in chosen)
    method.run.emit(EvidenceChosen(agent=agent.name, round=0, passages=shas))
    return chosen


def merged(rankings: Iterable[Sequence[Passage]]) -> Iterator[Passage]:
    """The first of each ranking, then the second of each, and so on."""
    return (passage for rank in zip_longest(*rankings) for passage in rank if passage is not None)


def distinct_documents(rankings: Iterable[Iterable[Passage]], each: int) -> Iterator[Passage]:
    """From every ranking ``each`` passages: of new documents first, then further pieces of documents it has."""
    documents: set[str] = set()
    taken: set[str] = set()
    for ranking in rankings:
        first: list[Passage] = []
        further: list[Passage] = []
        for passage in ranking:
            document = document_of(passage)
            (further if document in documents else first).append(passage)
            documents.add(document)
        new = {passage.sha256: passage for passage in (*first, *further) if passage.sha256 not in taken}
        chosen = list(new.values())[:each]
        documents -= {document_of(passage) for passage in first if passage not in chosen}
        taken.update(passage.sha256 for passage in chosen)
        yield from chosen


def document_of(passage: Passage) -> str:
    """What identifies a passage's document: its identifier, else its address, title or own text."""
    return passage.document or passage.url or passage.title or passage.sha256
