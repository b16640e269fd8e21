"""What the debates among the baselines share: one pool of evidence, chance, demonstrations, answers told as events."""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from redargue.claims import Claim, LabelSet, Meaning
from redargue.concurrency import together
from redargue.events import Answered, QueryWritten
from redargue.evidence import Passage, Quote, find_quote
from redargue.methods.demonstrating import demonstrations
from redargue.methods.verdict_parts import side_of
from redargue.run import Run

SEARCHER = "searcher"


class EqualAgents:
    """What a method says of its agents where they are all alike."""

    settings: Any

    def tools(self) -> tuple[str, ...]:
        """Those of the settings."""
        return tuple(dict.fromkeys(self.settings.tools))

    def debaters(self) -> tuple[str, ...]:
        """``agent-1`` and so on."""
        return tuple(f"agent-{place}" for place in range(1, self.settings.agents + 1))

    def agents(self) -> tuple[str, ...]:
        """The debaters; who searches, where there is evidence."""
        return (*self.debaters(), *([SEARCHER] if self.settings.tools else []))


async def pool(claim: Claim, run: Run, tools: Sequence[str], counts: Sequence[int]) -> tuple[Passage, ...]:
    """What the tools find for the claim itself, each passage once, in the order of the tools.

    Args:
        claim: its text is the query.
        run: searches.
        tools: all asked at once.
        counts: passages of each tool; the last figure holds for all further ones.
    """
    if not tools:
        return ()
    run.emit(QueryWritten(agent=SEARCHER, round=0, query=claim.text))
    wanted = {tool: counts[min(place, len(counts) - 1)] for place, tool in reversed(list(enumerate(tools)))}
    found = await together(
        run.search(tool, claim.text, wanted[tool], agent=SEARCHER, claim=claim) for tool in dict.fromkeys(tools)
    )
    return tuple({passage.sha256: passage for each in found for passage in each}.values())


def tell(
    claim: Claim,
    run: Run,
    agent: str,
    round_: int,
    text: str,
    label: str | None,
    quotes: Sequence[str],
    passages: tuple[Passage, ...],
) -> list[Quote]:
    """Emits what an agent answered, with its quotations as they stand in the passages, and gives these."""
    side = side_of(claim.labels, label)
    found = [find_quote(each, passages, side=side, agent=agent) for each in quotes]
    run.emit(Answered(agent=agent, round=round_, text=text, label=label, quotes=tuple(found)))
    return found


def most_frequent(labels: Sequence[str | None]) -> str | None:
    """The label that most gave, the first of them on ties; None where nobody gave one."""
    given = Counter(each for each in labels if each is not None)
    return max(given, key=given.__getitem__, default=None)


def chance(run: Run, *parts: str) -> random.Random:
    """Chance that depends on the run's seed and on what it is for, and on nothing else."""
    return random.Random(hashlib.sha256("\0".join([str(run.seed), *parts]).encode()).digest())


def examples_for(labels: LabelSet, name: str) -> str:
    """Demonstrations with the labels of a set in the slots ``{supported}`` and so on.

    Returns:
        Those of the file whose labels the set has; nothing for options and free text.
    """
    names = {str(meaning): label for meaning in Meaning if (label := labels.named(meaning))}
    examples = [each.strip() for each in demonstrations(name).split("\n\n") if each.strip()]
    fitting = [each for each in examples if set(_SLOT.findall(each)) <= set(names)]
    return "\n\n".join(_SLOT.sub(lambda found: names[found.group(1)], each) for each in fitting)


_SLOT = re.compile(r"\{(\w+)\}")
