"""From a text to its claims: sentences by code, claims by a mind, the places of claims by code again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from redargue.claims import Frozen
from redargue.concurrency import together
from redargue.methods.agent import Agent
from redargue.run import Run
from redargue.tasks.base import AnyTask, Profile
from redargue.tasks.extracting import BLOCK, ExtractClaims, MarkOpinions
from redargue.texts.text import Located, Sentence, Text, Unchecked, sentences_of

EXTRACTOR = "extractor"
BEFORE = 8  # sentences that are shown before those from which claims are wanted


class Extraction(Frozen):
    """The claims of a text in the order of their sentences, and the sentences that have none."""

    claims: tuple[Located, ...]
    unchecked: tuple[Unchecked, ...] = ()


def recorded(held: Mapping[str, Any]) -> tuple[Text, Extraction]:
    """A text and its claims as the run of its claims holds them.

    Raises:
        ValueError: it holds something else.
    """
    fields = {kind: {name: held.get(name) for name in kind.model_fields} for kind in (Text, Extraction)}
    return Text.model_validate(fields[Text]), Extraction.model_validate(fields[Extraction])


def extraction_tasks(text: Text) -> tuple[type[AnyTask], ...]:
    """What is asked of a mind."""
    if text.kind == "qa":
        return ()
    return (MarkOpinions, ExtractClaims) if text.kind == "dialogue" else (ExtractClaims,)


async def extract(text: Text, run: Run, *, profile: Profile = "hardened") -> Extraction:
    """The claims of a text.

    Of a dialogue mere opinions go first (Sun et al. 2024); question and answer are one claim as they stand.

    Args:
        text: what is checked.
        run: asks the mind.
        profile: whose words are used.

    Raises:
        BadReply, BudgetReached, ProviderError: no claims could be had.
    """
    if text.kind == "qa":
        start = len(text.text) - len(text.text.lstrip())
        return Extraction(claims=(Located(claim=text.whole, start=start, end=len(text.text.rstrip())),))
    extractor, every = Agent(EXTRACTOR, run), sentences_of(text.text)
    subjective: set[Sentence] = set()
    if text.kind == "dialogue":
        subjective = await _subjective(every, text, extractor, profile)
    left = [each for each in every if each not in subjective]
    blocks = [range(at, min(at + BLOCK, len(left))) for at in range(0, len(left), BLOCK)]
    found = await together(_claims(left, block, text, extractor, profile) for block in blocks)
    claims = tuple(each for claims in found for each in claims)
    taken = {(each.start, each.end) for each in claims}
    return Extraction(
        claims=claims,
        unchecked=tuple(
            Unchecked(
                start=each.start,
                end=each.end,
                why="subjective" if each in subjective else "states nothing that can be checked",
            )
            for each in every
            if (each.start, each.end) not in taken
        ),
    )


async def _subjective(every: Sequence[Sentence], text: Text, extractor: Agent, profile: Profile) -> set[Sentence]:
    """The sentences that hold nothing but opinion."""
    blocks = [every[at : at + BLOCK] for at in range(0, len(every), BLOCK)]
    tasks = (MarkOpinions(sentences=_shown(block), context=text.context, profile=profile) for block in blocks)
    answers = await together(extractor.perform(task) for task in tasks)
    return {
        block[mark.sentence - 1]
        for block, answer in zip(blocks, answers, strict=True)
        for mark in answer.marks
        if mark.subjective
    }


async def _claims(
    sentences: Sequence[Sentence], block: range, text: Text, extractor: Agent, profile: Profile
) -> list[Located]:
    """The claims of a block of sentences, in their order, each once."""
    shown = sentences[block.start : block.stop]
    before = sentences[max(0, block.start - BEFORE) : block.start]
    answer = await extractor.perform(
        ExtractClaims(sentences=_shown(shown), before=_shown(before), context=text.context, profile=profile)
    )
    ordered = sorted(answer.claims, key=lambda each: each.sentence)
    found = (
        Located(claim=each.claim.strip(), start=shown[each.sentence - 1].start, end=shown[each.sentence - 1].end)
        for each in ordered
    )
    return list(dict.fromkeys(found))


def _shown(sentences: Sequence[Sentence]) -> tuple[str, ...]:
    return tuple(each.text for each in sentences)
