"""Statements in every place where Markdown and HTML show words: each is a claim, or counted as not checked."""

from __future__ import annotations

import asyncio
import re

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.caveats import Unchecked, UncheckedReason
from redargue.nli.backend import EmbeddedBackend
from redargue.run import Run
from redargue.tasks.extract import ExtractClaims, ExtractedClaims
from redargue.text import unchecked_reasons
from redargue.text.extract import Extraction, extract, extract_claims
from redargue.text.grounder import BEFORE, Segmenter
from redargue.text.segment import Text, UncheckedSentence
from support.wrapped_statements import FRAGMENTS, SENTENCES, cases


def extraction(text: str) -> Extraction:
    return asyncio.run(extract(Text(text=text), Run(EmbeddedBackend())))


def is_counted(statement: str, text: str, found: Extraction) -> bool:
    """Whether the statement is in a claim, or in a sentence that is counted as one that may state something."""
    wanted = _words(statement)
    if any(wanted in _words(claim.claim) for claim in found.claims):
        return True
    return any(wanted in _words(text[each.start : each.end]) for each in found.unchecked if each.why.may_state)


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text)).casefold()


@pytest.mark.slow
def test_a_statement_is_a_claim_or_counted_wherever_a_text_has_it() -> None:
    lost = [(name, statement) for name, statement, text in cases() if not is_counted(statement, text, extraction(text))]
    assert not lost, f"{len(lost)}: {lost}"


@pytest.mark.slow
def test_a_sentence_with_a_verb_is_a_claim_wherever_a_text_has_it() -> None:
    unread = []
    for name, statement, text in cases():
        if statement in SENTENCES:
            found = extraction(text)
            if not any(_words(statement) in _words(claim.claim) for claim in found.claims):
                unread.append((name, statement))
    assert not unread, unread


async def _streamed(text: str, step: int) -> tuple[list[str], tuple[Unchecked, ...]]:
    """Claims and reasons of a text that arrives in chunks."""
    segmenter, run = Segmenter(), Run(EmbeddedBackend())
    for at in range(0, len(text), step):
        segmenter.add(text[at : at + step])
    segmenter.end()
    claims, unread = list[str](), list[UncheckedSentence]()
    for number in range(len(segmenter.sentences)):
        found = await extract_claims(segmenter.sentences[max(0, number - BEFORE) : number + 1], run, "hardened")
        if isinstance(found, UncheckedSentence):
            unread.append(found)
        else:
            claims += [claim.claim for claim in found]
    return claims, unchecked_reasons(unread)


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 7])
def test_a_statement_is_a_claim_or_counted_wherever_a_streamed_text_has_it(step: int) -> None:
    lost = []
    for name, statement, text in cases():
        if statement in (SENTENCES[0], FRAGMENTS[0]):
            claims, reasons = asyncio.run(_streamed(text, step))
            if not (reasons or any(_words(statement) in _words(claim) for claim in claims)):
                lost.append((name, statement))
    assert not lost, lost


@pytest.mark.slow
def test_a_statement_that_a_model_leaves_out_is_counted_wherever_a_text_has_it() -> None:
    lost = []
    for name, statement, text in cases():
        backend = ScriptedBackend({ExtractClaims: ExtractedClaims(claims=())})
        found = asyncio.run(extract(Text(text=text), Run(backend)))
        if not is_counted(statement, text, found):
            lost.append((name, statement))
    assert not lost, f"{len(lost)}: {lost}"


ORDINARY = (
    "Here are the opening hours:\n\nIn summary:\n\n## Opening hours\n\nThe following steps will help:",
    "# Frequently asked questions\n\n## Overview\n\n### Key takeaways\n\n**Summary**\n\n**Pros and cons:**",
    "Sure! Here's how you can do it:\n\n1. Stir gently.\n2. Step back.\n\nEnjoy your meal!",
    "There are several reasons for this:\n\nSome common examples include:\n\nIt depends on these factors:",
    "Top 5 tips\n\n**Step 1: Preparation**\n\n## Step 2\n\n### 3. Results\n\nTable 3: Rainfall by month and region",
    "Let me know if you have questions.\n\n---\n\n> Have a nice day!\n\n![logo](a.png)\n\n<br>\n\nKind regards, Ann",
    "You can use the following code:\n\n```python\nfor i in range(10):\n    print(i)\n```\n\nI hope this helps!",
    "To answer your question:\n\nAccording to the document:\n\nThe main points are:\n\nMore details below:",
)


def test_a_step_with_a_detail_is_a_claim() -> None:
    found = extraction("Sure! Here's how you can do it:\n\n1. Preheat the oven to 180 °C.\n2. Stir gently.\n\nEnjoy!")
    assert [claim.claim for claim in found.claims] == ["Preheat the oven to 180 °C."]
    assert unchecked_reasons(found.unchecked) == ()


def test_a_short_reply_to_a_question_may_state_something() -> None:
    found = extraction("The plan costs 12 euros. Can you cancel by telephone? Yes, of course!")
    assert [why.reason for why in unchecked_reasons(found.unchecked)] == [UncheckedReason.FRAGMENT]
    assert unchecked_reasons(extraction("The plan costs 12 euros. Of course!").unchecked) == ()


@pytest.mark.parametrize("text", ORDINARY)
def test_headings_and_lead_ins_that_state_nothing_leave_an_answer_as_it_is(text: str) -> None:
    found = extraction(text)
    assert not found.claims
    assert unchecked_reasons(found.unchecked) == ()
