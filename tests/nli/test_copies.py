"""A sentence copied from a document is supported by it, whatever numbers and negations it contains."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from redargue import words
from redargue.claims import FEVER, Claim, Meaning
from redargue.evidence import Passage
from redargue.nli.backend import EmbeddedBackend, compose_answer
from redargue.nli.consistency import check_consistency, only_framed
from redargue.nli.reader import sentences
from redargue.retrieval.corpus.index import ARTICLES


def answer(claim: str, *texts: str) -> tuple[Meaning, tuple[str, ...]]:
    passages = tuple(Passage(text=text) for text in texts)
    reply = compose_answer(Claim(text=claim, labels=FEVER), passages, EmbeddedBackend())
    assert reply.label
    return FEVER.meaning(reply.label), tuple(map(words.difference, reply.differences))


@pytest.mark.slow
def test_three_hundred_copied_sentences_are_supported_those_with_numbers_first() -> None:
    passages = [
        Passage(text=path.read_text(encoding="utf-8"), title=path.stem) for path in sorted(Path(ARTICLES).glob("*.md"))
    ]
    copied = [(text, passage) for passage in passages for text in sentences(passage.text) if not text.endswith("?")]
    copied.sort(key=lambda pair: not re.search(r"\d", pair[0]))
    for sentence, passage in copied[:300]:
        reply = compose_answer(Claim(text=sentence, labels=FEVER), (passage,), EmbeddedBackend())
        assert reply.label == FEVER.named(Meaning.SUPPORTED), sentence


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("Emissions fell by 38 % between 2018 and 2024.", "Emissions fell by 38 % between 2018 and 2024."),
        ("emissions fell by 38% between 2018 and 2024", "Emissions fell by 38 % between 2018 and 2024. Costs rose."),
        ("It can't be used outdoors.", "The lamp is bright. It can’t be used outdoors."),
    ],
)
def test_a_copy_is_supported_despite_its_typography(claim: str, evidence: str) -> None:
    assert answer(claim, evidence)[0] is Meaning.SUPPORTED


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The museum is open on Mondays.", "The museum is closed on Mondays."),
        (
            "The device is ATEX certified and can be used in explosive atmospheres.",
            "The device is not ATEX certified and must not be installed in explosive atmospheres.",
        ),
        ("He was born in 1931.", "He was born in 1932 in Lyon."),
    ],
)
def test_the_opposite_is_never_supported(claim: str, evidence: str) -> None:
    assert answer(claim, evidence)[0] is not Meaning.SUPPORTED


@pytest.mark.parametrize(
    ("evidence", "meaning"),
    [
        (
            "Opponents claim that the harbour loses money. The accounts show a profit of 1.2 million euros in 2025.",
            Meaning.REFUTED,
        ),
        ("It is a myth that the harbour loses money.", Meaning.NOT_ENOUGH),
        ("Visitors often ask whether the harbour loses money.", Meaning.NOT_ENOUGH),
        ("If the winter is hard, the harbour loses money.", Meaning.NOT_ENOUGH),
    ],
)
def test_what_someone_claims_asks_or_denies_supports_nothing(evidence: str, meaning: Meaning) -> None:
    assert answer("The harbour loses money.", evidence)[0] is meaning


@pytest.mark.parametrize(
    ("text", "framed"),
    [
        ("Critics allege that bees sting.", True),
        ("Many think bees sting, and wasps too.", True),
        ("According to a rumour, bees sting.", True),
        ("The survey reports that bees sting.", False),
        ("Critics claim that bees sting. Bees sting.", False),
        ("It is false that wasps do not sting; bees sting.", False),
        ("Bees sting.", False),
        ("If bees stingray, wasps do.", False),
    ],
)
def test_a_clause_is_told_from_what_frames_it(text: str, *, framed: bool) -> None:
    assert only_framed("Bees sting.", text) is framed


def test_an_answer_of_two_sentences_is_not_supported_where_one_of_them_is_contradicted() -> None:
    document = "Goods can be returned within 30 days of delivery. Gift cards cannot be returned."
    given = "Can gift cards be returned? Goods can be returned within 30 days of delivery. Gift cards can be returned."
    meaning, differences = answer(given, document)
    assert meaning is not Meaning.SUPPORTED
    assert differences == ("claim: no negation; evidence: cannot",)


def test_a_named_difference_is_shown_with_the_refutation() -> None:
    meaning, differences = answer("The bridge was opened in 1931.", "The bridge was opened in 1932.")
    assert meaning is Meaning.REFUTED
    assert differences == ("claim: 1931; evidence: 1932",)


def test_a_copy_that_another_document_contradicts_is_not_decided_by_the_copy_alone() -> None:
    texts = ("The bridge was opened in 1931.", "The bridge was opened in 1932.")
    passages = tuple(Passage(text=text) for text in texts)
    reading = EmbeddedBackend().reader.read("The bridge was opened in 1931.", passages)
    assert reading.copy is None
    assert reading.contradiction is None


def test_an_endless_sentence_is_not_compared_word_by_word() -> None:
    endless = "the bridge was built in 1931 " * 3_500
    assert check_consistency("The bridge was built in 1932.", [endless]).verdict == "nothing"
