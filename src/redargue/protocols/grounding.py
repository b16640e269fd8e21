"""What methods share that say true or false of a claim, after searches for each of several questions."""

from __future__ import annotations

from collections.abc import Iterable

from redargue.claims import Claim, Meaning
from redargue.concurrency import together
from redargue.events import QueryWritten
from redargue.evidence import Passage
from redargue.run import Run
from redargue.tasks.grounding import Grounded, Side
from redargue.tasks.querying import LONGEST_QUERY


def label_of(claim: Claim, answer: Side) -> str | None:
    """The claim's label for supported or not supported; what is not is refuted."""
    return claim.labels.named(Meaning.SUPPORTED if answer == "SUPPORTED" else Meaning.REFUTED)


async def searched(
    run: Run, tools: Iterable[str], query: str, k: int, *, agent: str, round_: int, claim: Claim
) -> tuple[Passage, ...]:
    """What all tools find for a query, each text once.

    Args:
        run: of the claim.
        tools: asked at once.
        query: cut where it is too long for a query.
        k: passages a tool.
        agent: who asks.
        round_: of the protocol.
        claim: says as of which day evidence is wanted.
    """
    query = query[:LONGEST_QUERY]
    run.emit(QueryWritten(agent=agent, round=round_, query=query))
    found = await together(run.search(tool, query, k, agent=agent, round_=round_, claim=claim) for tool in tools)
    return tuple({each.sha256: each for passages in found for each in passages}.values())


async def grounded(
    run: Run, tools: Iterable[str], question: str, k: int, *, agent: str, round_: int, claim: Claim
) -> Grounded:
    """A question with what all tools find for it."""
    passages = await searched(run, tools, question, k, agent=agent, round_=round_, claim=claim)
    return Grounded(question=question, passages=passages)


def passages_of(asked: Iterable[Grounded]) -> tuple[Passage, ...]:
    """All that was found, each text once."""
    return tuple({each.sha256: each for pair in asked for each in pair.passages}.values())
