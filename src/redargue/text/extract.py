"""Extracts claims from a text: code splits it into sentences and locates the claims, a backend writes the claims."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from redargue.claims import Frozen
from redargue.concurrency import gather_or_cancel
from redargue.methods.agent import Agent
from redargue.nli.language import ENGLISH_ONLY, language_of
from redargue.quotes import content_words
from redargue.run import Run
from redargue.tasks.base import AnyTask, Profile
from redargue.tasks.extract import BLOCK, ExtractClaims, MarkOpinions
from redargue.text.segment import NOT_CLAIMS, LocatedClaim, Sentence, Text, UncheckedSentence, sentences_of

EXTRACTOR = "extractor"
CITES_NOTHING = "cites no page"
CONTEXT_SENTENCES = 8  # preceding sentences shown with a block


class Extraction(Frozen):
    """Claims in the order of their sentences, and the sentences without claims."""

    claims: tuple[LocatedClaim, ...]
    unchecked: tuple[UncheckedSentence, ...] = ()

    def agrees_with(self, recorded: Extraction) -> bool:
        """Whether a recorded extraction is this one, or its claims once for each page that they cite."""
        if self == recorded:
            return True
        uncited = {(sentence.start, sentence.end) for sentence in recorded.unchecked if sentence.why == CITES_NOTHING}
        cited = tuple(claim for claim in self.claims if (claim.start, claim.end) not in uncited)
        unchecked = tuple(sentence for sentence in recorded.unchecked if sentence.why != CITES_NOTHING)
        return cited == tuple(dict.fromkeys(recorded.claims)) and self.unchecked == unchecked


def recorded(record: Mapping[str, Any]) -> tuple[Text, Extraction]:
    """Reads a text and its claims from ``run.json``; raises ValueError if the record does not describe a text."""
    text, extraction = ({name: record.get(name) for name in model.model_fields} for model in (Text, Extraction))
    return Text.model_validate(text), Extraction.model_validate(extraction)


def extraction_tasks(text: Text) -> tuple[type[AnyTask], ...]:
    """Tasks that the extraction performs for this kind of text."""
    if text.kind == "qa":
        return ()
    return (MarkOpinions, ExtractClaims) if text.kind == "dialogue" else (ExtractClaims,)


async def extract(text: Text, run: Run, *, profile: Profile = "hardened") -> Extraction:
    """Extracts the claims of a text.

    In a dialogue, sentences that only express opinions are excluded first (Sun et al. 2024), and with an English-only
    backend those in other languages. A question and its answer are one claim, verbatim.

    Raises:
        BadReply, BudgetReached, ProviderError: the extraction failed.
    """
    if text.kind == "qa":
        start = len(text.text) - len(text.text.lstrip())
        return Extraction(claims=(LocatedClaim(claim=text.whole, start=start, end=len(text.text.rstrip())),))
    extractor, sentences = Agent(EXTRACTOR, run), sentences_of(text.text)
    why = {sentence: reason for sentence in sentences if (reason := _unread(sentence, run))}
    if text.kind == "dialogue":
        read = [sentence for sentence in sentences if sentence not in why]
        why |= dict.fromkeys(await _subjective(read, text, extractor, profile), "subjective")
    objective = [sentence for sentence in sentences if sentence not in why]
    blocks = [range(start, min(start + BLOCK, len(objective))) for start in range(0, len(objective), BLOCK)]
    claims_by_block = await gather_or_cancel(_claims(objective, block, text, extractor, profile) for block in blocks)
    claims = tuple(claim for block_claims in claims_by_block for claim in block_claims)
    spans = {(claim.start, claim.end) for claim in claims}
    return Extraction(
        claims=claims,
        unchecked=tuple(
            UncheckedSentence(
                start=sentence.start,
                end=sentence.end,
                why=why.get(sentence, "states nothing that can be checked"),
            )
            for sentence in sentences
            if (sentence.start, sentence.end) not in spans
        ),
    )


async def extract_claims(
    sentences: Sequence[Sentence], run: Run, *, context: str = "", profile: Profile = "hardened"
) -> tuple[LocatedClaim, ...] | UncheckedSentence:
    """The claims of the last of some consecutive sentences, or why it has none.

    Raises:
        BadReply, BudgetReached, ProviderError: the extraction failed.
    """
    last = sentences[-1]
    if why := _unread(last, run):
        return UncheckedSentence(start=last.start, end=last.end, why=why)
    read = [sentence for sentence in sentences if not _unread(sentence, run)]
    block = range(len(read) - 1, len(read))
    claims = await _claims(read, block, Text(text=last.text, context=context), Agent(EXTRACTOR, run), profile)
    return tuple(claims) or UncheckedSentence(start=last.start, end=last.end, why=NOT_CLAIMS[1])


def _unread(sentence: Sentence, run: Run) -> str:
    language = language_of(sentence.text) if getattr(run.backend, "english_only", False) else ""
    return f"{ENGLISH_ONLY} (the sentence seems to be in {language})" if language else ""


async def _subjective(sentences: Sequence[Sentence], text: Text, extractor: Agent, profile: Profile) -> set[Sentence]:
    blocks = [sentences[start : start + BLOCK] for start in range(0, len(sentences), BLOCK)]
    tasks = (MarkOpinions(sentences=_texts(block), context=text.context, profile=profile) for block in blocks)
    answers = await gather_or_cancel(extractor.perform(task) for task in tasks)
    return {
        block[mark.sentence - 1]
        for block, answer in zip(blocks, answers, strict=True)
        for mark in answer.marks
        if mark.subjective
    }


async def _claims(
    sentences: Sequence[Sentence], block: range, text: Text, extractor: Agent, profile: Profile
) -> list[LocatedClaim]:
    block_sentences = sentences[block.start : block.stop]
    before = sentences[max(0, block.start - CONTEXT_SENTENCES) : block.start]
    answer = await extractor.perform(
        ExtractClaims(sentences=_texts(block_sentences), before=_texts(before), context=text.context, profile=profile)
    )
    located = []
    for extracted in sorted(answer.claims, key=lambda claim: claim.sentence):
        sentence = block_sentences[extracted.sentence - 1]
        shown = " ".join([text.context, *_texts(before), *_texts(block_sentences[: extracted.sentence])])
        claim = extracted.claim.strip()
        if profile == "hardened" and not is_contained(claim, sentence.text, shown):
            claim = " ".join(sentence.text.split())
        located.append(LocatedClaim(claim=claim, start=sentence.start, end=sentence.end))
    return list(dict.fromkeys(located))


def is_contained(claim: str, sentence: str, shown: str) -> bool:
    """Whether a claim says nothing that its sentence and the text before it do not.

    Its numbers have to occur in them, and half of its content words, one of them at least in the sentence itself. Words
    are compared by their first four letters, so that inflected ones are equal.
    """
    words, own, all_words = (_beginnings(text) for text in (claim, sentence, f"{shown} {sentence}"))
    numbers = set(re.findall(r"\d[\d.,]*\d|\d", claim)) - set(re.findall(r"\d[\d.,]*\d|\d", f"{shown} {sentence}"))
    return not numbers and bool(words & own) and 2 * len(words & all_words) >= len(words)


def _beginnings(text: str) -> set[str]:
    return {word[:4] for word in content_words(text)}


def _texts(sentences: Sequence[Sentence]) -> tuple[str, ...]:
    return tuple(sentence.text for sentence in sentences)
