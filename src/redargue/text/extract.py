"""Extracts claims from a text: code splits it into sentences and locates the claims, a backend writes the claims."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from redargue.caveats import Unchecked, UncheckedReason
from redargue.claims import MAX_CLAIM, Frozen
from redargue.concurrency import gather_or_cancel
from redargue.methods.agent import Agent
from redargue.nli import claim_filter
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.language import language_of
from redargue.quotes import content_words
from redargue.retrieval.corpus.markup import front_matter_end
from redargue.run import Run
from redargue.tasks.base import AnyTask, Profile
from redargue.tasks.extract import BLOCK, ExtractClaims, MarkOpinions
from redargue.text.segment import LocatedClaim, Sentence, Text, UncheckedSentence, sentences_of

EXTRACTOR = "extractor"
_CONTEXT_SENTENCES = 8  # preceding sentences shown with a block
NOTHING_STATED = Unchecked(reason=UncheckedReason.NOT_A_CLAIM)
_OPINION = Unchecked(reason=UncheckedReason.SUBJECTIVE)
PASSED_OVER = (UncheckedReason.LEFT_OUT, UncheckedReason.FRAGMENT)
_BEFORE = 2  # preceding sentences that are read with a claim's own


class Extraction(Frozen):
    """Claims in the order of their sentences, and the sentences without claims."""

    claims: tuple[LocatedClaim, ...]
    unchecked: tuple[UncheckedSentence, ...] = ()

    def agrees_with(self, recorded: Extraction) -> bool:
        """Whether a recorded extraction is this one, or its claims once for each page that they cite."""
        if self == recorded:
            return True
        no_link = UncheckedReason.NO_LINK
        uncited = {(each.start, each.end) for each in recorded.unchecked if each.why.reason is no_link}
        cited = tuple(claim for claim in self.claims if (claim.start, claim.end) not in uncited)
        unchecked = tuple(each for each in recorded.unchecked if each.why.reason is not no_link)
        return cited == tuple(dict.fromkeys(recorded.claims)) and self.unchecked == unchecked


_FALSE = re.compile(
    r"\b(?:false|untrue|not true|isn't true|incorrect|wrong|(?:a|the) (?:myth|hoax|lie)"
    r"|(?:not|never|hardly) the case|isn't the case|never happened|did(?: not|n't) happen)\b",
    re.IGNORECASE,
)


class CandidateClaim(NamedTuple):
    """A claim as a backend wrote it, the sentence that it names as its origin, and the sentences before."""

    text: str
    sentence: str
    before: tuple[str, ...]


def recorded(record: Mapping[str, Any]) -> tuple[Text, Extraction]:
    """Reads a text and its claims from ``run.json``; raises ValueError if the record does not describe a text."""
    text, extraction = ({name: record.get(name) for name in model.model_fields} for model in (Text, Extraction))
    return Text.model_validate(text), Extraction.model_validate(extraction)


def extraction_tasks(text: Text) -> tuple[type[AnyTask], ...]:
    """Tasks that the extraction performs for this kind of text."""
    if text.kind == "qa":
        return ()
    return (MarkOpinions, ExtractClaims) if text.kind == "dialogue" else (ExtractClaims,)


async def extract(
    text: Text, run: Run, *, profile: Profile = "hardened", known: Extraction | None = None
) -> Extraction:
    """Extracts the claims of a text.

    In a dialogue, sentences that only express opinions are excluded first (Sun et al. 2024), and with an English-only
    backend those in other languages. A question and its answer are one claim, verbatim.

    Args:
        known: the recorded result, in a replay: it says which silent sentences may state something, so that no model
            is needed again.

    Raises:
        BadReply, BudgetReached, ProviderError: the extraction failed.
    """
    if text.kind == "qa":
        start = len(text.text) - len(text.text.lstrip())
        return Extraction(claims=(LocatedClaim(claim=text.whole, start=start, end=len(text.text.rstrip())),))
    fields = front_matter_end(text.text)
    sentences = [sentence for sentence in sentences_of(text.text) if sentence.start >= fields]
    why = await asyncio.to_thread(_unread, sentences, run)
    if text.kind == "dialogue":
        read = [sentence for sentence in sentences if sentence not in why]
        opinions = await _subjective(read, text, run, profile)
        why |= dict.fromkeys(opinions, _OPINION)
    objective = [sentence for sentence in sentences if sentence not in why]
    blocks = [range(start, min(start + BLOCK, len(objective))) for start in range(0, len(objective), BLOCK)]
    found = await gather_or_cancel(_claims(objective, block, text.context, run, profile) for block in blocks)
    claims = tuple(chain.from_iterable(found))
    spans = {(claim.start, claim.end) for claim in claims}
    without = [each for each in sentences if (each.start, each.end) not in spans]
    silent = [each for each in without if not why.get(each, NOTHING_STATED).may_state]
    if known is None:
        why |= await _passed_over(silent, profile)
        asked = dict(zip(sentences, [text.context, *_texts(sentences)], strict=False))
        replies = [each for each in silent if why.get(each, _OPINION) == _OPINION and _replies(each, asked[each])]
        if _asks(text.context) and not claims and not any(each.may_state for each in why.values()):
            replies += [each for each in silent if each not in why and may_answer(each.text, text.context)]
        why |= dict.fromkeys(replies if profile == "hardened" else (), Unchecked(reason=UncheckedReason.FRAGMENT))
    else:
        stating = {(each.start, each.end): each.why for each in known.unchecked if each.why.reason in PASSED_OVER}
        why |= {each: stating[each.start, each.end] for each in silent if (each.start, each.end) in stating}
    unchecked = tuple(each.unchecked(why.get(each, NOTHING_STATED)) for each in without)
    return Extraction(claims=claims, unchecked=unchecked)


async def extract_claims(
    sentences: Sequence[Sentence], run: Run, profile: Profile
) -> tuple[LocatedClaim, ...] | UncheckedSentence:
    """The claims of the last of some consecutive sentences, or why it has none; raises what :func:`extract` raises."""
    last = sentences[-1]
    if why := (await asyncio.to_thread(_unread, [last], run)).get(last):
        return last.unchecked(why)
    unread = await asyncio.to_thread(_unread, sentences[:-1], run)
    read = [sentence for sentence in sentences if sentence not in unread]
    block = range(len(read) - 1, len(read))
    if claims := await _claims(read, block, "", run, profile):
        return tuple(claims)
    why = (await _passed_over([last], profile)).get(last, NOTHING_STATED)
    if profile == "hardened" and not why.may_state and _replies(last, "".join(_texts(sentences[-2:-1]))):
        why = Unchecked(reason=UncheckedReason.FRAGMENT)
    return last.unchecked(why)


_YES_OR_NO = re.compile(
    r"\W*(?:yes|yeah|yep|no|nope|not (?:at all|really|yet)|of course|certainly|absolutely|definitely|sure|correct|right"
    r"|exactly|indeed|never|always)\b(?:[\s,]+[\w'’]+){0,4}\W*",
    re.IGNORECASE,
)


def _replies(sentence: Sentence, asked: str) -> bool:
    """Whether a sentence only says yes or no to the question before it, which says what it states."""
    return _asks(asked) and _YES_OR_NO.fullmatch(sentence.text) is not None


def _asks(text: str) -> bool:
    return text.rstrip(" \"'”’)*_").endswith("?")


_GIVES_NO_ANSWER = re.compile(  # says so, or asks back
    r"\?\W{0,9}\Z|\bI(?:['’]m| am| was) (?:sorry|unable|afraid|not (?:able|sure|aware))\b"
    r"|\bI (?:can(?:not|['’]t| not| only)|(?:could|do|did)(?:n['’]t| not)(?! (?:think|believe)\b))"
    r"|\A\W*please\b",
    re.IGNORECASE,
)
_ONLY_YES_OR_NO = re.compile(r"\W*(?:yes|no)\W*", re.IGNORECASE)
_ASKS_FOR_MORE = re.compile(r"\W*(?:when|where|who|why)\b[^,;.!?]*\?", re.IGNORECASE)  # than yes or no


def may_answer(sentence: str, question: str) -> bool:
    """Whether a sentence without a claim may state something together with the question: "Yes.", "1998"."""
    if _ONLY_YES_OR_NO.fullmatch(sentence) and _ASKS_FOR_MORE.fullmatch(question):
        return False
    return not _GIVES_NO_ANSWER.search(sentence)


async def _passed_over(sentences: Sequence[Sentence], profile: Profile) -> dict[Sentence, Unchecked]:
    """The sentences without a claim that state something, or may do so, and why they have none.

    A text may ask a model to leave them out, and a heading or a label may state something without being a sentence.
    """
    if not sentences or profile != "hardened":
        return {}
    read = [sentence for sentence in sentences if not language_of(sentence.text)]
    found = await asyncio.to_thread(claim_filter.readings, _texts(read))
    left_out, fragment = (Unchecked(reason=reason) for reason in PASSED_OVER)
    stated = {sentence: left_out for sentence, reading in zip(read, found, strict=True) if reading.claim}
    return stated | {sentence: fragment for sentence, reading in zip(read, found, strict=True) if reading.fragment}


_TABLE_ROW = re.compile(r"[\s>]*\||[^|\n]+\s\|\s[^|]")  # of a Markdown table
_ONE_CELL = re.compile(r"[\s>]*\|[^|\n]*\|?\s*\Z")


def _unread(sentences: Sequence[Sentence], run: Run) -> dict[Sentence, Unchecked]:
    """The sentences that are not read, and why; takes long for many rows of a table."""
    return {sentence: why for sentence in sentences if (why := _why_unread(sentence, run))}


def _why_unread(sentence: Sentence, run: Run) -> Unchecked | None:
    if len(sentence.text) > MAX_CLAIM:
        return Unchecked(reason=UncheckedReason.TOO_LONG)
    if not _is_embedded(run):
        return None
    if _TABLE_ROW.match(sentence.text) and not _is_readable(sentence.text):
        return Unchecked(reason=UncheckedReason.TABLE)
    language = language_of(sentence.text)
    return Unchecked(reason=UncheckedReason.LANGUAGE, languages=(language,)) if language else None


def _is_readable(row: str) -> bool:
    """Whether a row is one cell that states something, or a sentence with a bar in it."""
    if row.lstrip(" \t>").startswith("|") and not _ONE_CELL.match(row):
        return False
    return claim_filter.statement(row) is not None


async def _subjective(sentences: Sequence[Sentence], text: Text, run: Run, profile: Profile) -> set[Sentence]:
    blocks = [sentences[start : start + BLOCK] for start in range(0, len(sentences), BLOCK)]
    tasks = (MarkOpinions(sentences=_texts(block), context=text.context, profile=profile) for block in blocks)
    answers = await gather_or_cancel(Agent(EXTRACTOR, run).perform(task) for task in tasks)
    return {
        block[mark.sentence - 1]
        for block, answer in zip(blocks, answers, strict=True)
        for mark in answer.marks
        if mark.subjective
    }


async def _claims(
    sentences: Sequence[Sentence], block: range, context: str, run: Run, profile: Profile
) -> list[LocatedClaim]:
    block_sentences = sentences[block.start : block.stop]
    before = sentences[max(0, block.start - _CONTEXT_SENTENCES) : block.start]
    answer = await Agent(EXTRACTOR, run).perform(
        ExtractClaims(sentences=_texts(block_sentences), before=_texts(before), context=context, profile=profile)
    )
    made: list[tuple[Sentence, CandidateClaim]] = []
    for extracted in sorted(answer.claims, key=lambda claim: claim.sentence):
        *earlier, sentence = block_sentences[: extracted.sentence]
        made.append((sentence, CandidateClaim(extracted.claim.strip(), sentence.text, _texts([*before, *earlier]))))
    refused: set[CandidateClaim] = set()
    if profile == "hardened":
        refused = await _refused([claim for _, claim in made], context, run)
    located = []
    for sentence, claim in made:
        stated = " ".join(sentence.text.split()) if claim in refused else claim.text
        located.append(LocatedClaim(claim=stated, start=sentence.start, end=sentence.end))
    return list(dict.fromkeys(located))


async def _refused(made: Sequence[CandidateClaim], context: str, run: Run) -> set[CandidateClaim]:
    """The claims that their sentences do not state; their sentences are checked instead."""
    refused = {
        claim for claim in made if not is_contained(claim.text, claim.sentence, " ".join([context, *claim.before]))
    }
    contained = [claim for claim in dict.fromkeys(made) if claim not in refused and not _is_copy(claim)]
    if contained and not _is_embedded(run):  # which extracts with the models that would check it
        refused |= await asyncio.to_thread(contradicted, contained)
    return refused


def _is_embedded(run: Run) -> bool:
    return getattr(run.backend, "english_only", False)


def _is_copy(claim: CandidateClaim) -> bool:
    return claim.text.rstrip(". ") == " ".join(claim.sentence.split()).rstrip(". ")


def contradicted(made: Sequence[CandidateClaim]) -> set[CandidateClaim]:
    """The claims that the cross-encoder reads as denied by their sentences, both alone and with the sentences before.

    So is a claim that calls something false where its sentence does not. Only English is read. Figures:
    ``python -m benchmarks extraction``.
    """
    english = [claim for claim in made if not language_of(claim.sentence)]
    model = EmbeddedBackend().entailment
    alone = model.read([(claim.text, claim.sentence) for claim in english])
    after = model.read([(claim.text, " ".join([*claim.before[-_BEFORE:], claim.sentence])) for claim in english])
    return {claim for claim in english if _FALSE.search(claim.text) and not _FALSE.search(claim.sentence)} | {
        claim
        for claim, *readings in zip(english, alone, after, strict=True)
        if all(reading.refutes > reading.supports for reading in readings)
    }


def is_contained(claim: str, sentence: str, shown: str) -> bool:
    """Whether a claim says nothing that its sentence and the text before it do not.

    Its numbers have to occur in them, and half of its content words, one of them at least in the sentence itself. Words
    are compared by their first four letters, so that inflected ones are equal.
    """
    texts = claim, sentence, f"{shown} {sentence}"
    words, own, all_words = ({word[:4] for word in content_words(text)} for text in texts)
    numbers, _, all_numbers = (set(re.findall(r"\d[\d.,]*\d|\d", text)) for text in texts)
    return numbers <= all_numbers and bool(words & own) and 2 * len(words & all_words) >= len(words)


def _texts(sentences: Sequence[Sentence]) -> tuple[str, ...]:
    return tuple(sentence.text for sentence in sentences)
