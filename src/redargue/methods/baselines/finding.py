"""What methods share that search for a claim, or for questions about it, and call it true or false."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from redargue.claims import Claim, LabelSet, Meaning
from redargue.concurrency import together
from redargue.events import QueryWritten
from redargue.evidence import Passage, Quote, find_quote
from redargue.methods.verdict_parts import side_of
from redargue.run import Run
from redargue.tasks.grounding import Grounded
from redargue.tasks.querying import LONGEST_QUERY


def side_label(labels: LabelSet, factual: bool) -> str | None:
    """The set's label for what is true, or for what is not."""
    return labels.named(Meaning.SUPPORTED if factual else Meaning.REFUTED)


def distinct_texts(passages: Iterable[Passage]) -> tuple[Passage, ...]:
    """Each text once, in their order."""
    return tuple({each.sha256: each for each in passages}.values())


async def search_all(
    run: Run, tools: Sequence[str], query: str, k: int, *, agent: str, round_: int, claim: Claim
) -> tuple[Passage, ...]:
    """What every tool finds for a query, at once; each text once."""
    found = await together(run.search(tool, query, k, agent=agent, round_=round_, claim=claim) for tool in tools)
    return distinct_texts(passage for each in found for passage in each)


async def searched(
    run: Run, tools: Sequence[str], query: str, k: int, *, agent: str, round_: int, claim: Claim
) -> tuple[Passage, ...]:
    """What every tool finds for a query that an agent has written; cut where it is too long for one."""
    query = query[:LONGEST_QUERY]
    run.emit(QueryWritten(agent=agent, round=round_, query=query))
    return await search_all(run, tools, query, k, agent=agent, round_=round_, claim=claim)


async def grounded(
    run: Run, tools: Sequence[str], question: str, k: int, *, agent: str, round_: int, claim: Claim
) -> Grounded:
    """A question with what all tools find for it."""
    passages = await searched(run, tools, question, k, agent=agent, round_=round_, claim=claim)
    return Grounded(question=question, passages=passages)


def passages_of(asked: Iterable[Grounded]) -> tuple[Passage, ...]:
    """All that was found."""
    return distinct_texts(each for pair in asked for each in pair.passages)


def find_quotes(
    texts: Iterable[str], passages: tuple[Passage, ...], *, labels: LabelSet, label: str | None, agent: str
) -> tuple[Quote, ...]:
    """Where an answer's quotations stand, on the side of its label."""
    side = side_of(labels, label)
    return tuple(find_quote(text, passages, side=side, agent=agent) for text in texts if text.strip())
