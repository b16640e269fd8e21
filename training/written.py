"""Reads ``written.jsonl``, short documents with paraphrased claims, and makes pairs of them.

A claim is read beside the sentences that decide it, beside these among others, and beside a sentence that shares its
words and decides nothing: retrieval returns all three.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from contrasts import NEI, SUPPORTS
from data import Pair

WRITTEN = Path(__file__).with_name("written.jsonl")
HELD_OUT = 8  # one document in eight is not trained on
WINDOW = 100  # words
LETTERS = "SRN"  # in the order of LABELS


class Claim(NamedTuple):
    """A claim about a document; ``decided_by`` are places of sentences, none if the document leaves it open."""

    text: str
    label: int
    kind: str
    decided_by: tuple[int, ...]


class Document(NamedTuple):
    """A short invented text and the claims about it."""

    domain: str
    title: str
    sentences: list[str]
    claims: list[Claim]

    @property
    def held_out(self) -> bool:
        return int(hashlib.sha1(self.sentences[0].encode()).hexdigest()[:8], 16) % HELD_OUT == 0


def documents() -> list[Document]:
    """The documents in the order of the file."""
    rows = map(json.loads, WRITTEN.read_text(encoding="utf-8").splitlines())
    return [Document(**row | {"claims": [_claim(*claim) for claim in row["claims"]]}) for row in rows]


def _claim(letter: str, kind: str, decided_by: list[int], text: str) -> Claim:
    return Claim(text, LETTERS.index(letter), kind, tuple(decided_by))


def written_pairs(rng: random.Random, chosen: list[Document]) -> list[Pair]:
    """The pairs of some documents."""
    return [pair for document in chosen for claim in document.claims for pair in _pairs(document, claim, rng)]


def decisive_pairs(chosen: list[Document]) -> list[Pair]:
    """Each claim beside the sentences that decide it, under their title; an open one beside the nearest."""
    pairs = []
    for document in chosen:
        for claim in document.claims:
            places = claim.decided_by or (_nearest(claim, document.sentences),)
            evidence = " ".join(document.sentences[place] for place in places)
            pairs.append(Pair(claim.text, f"{document.title}. {evidence}", claim.label))
    return pairs


def _pairs(document: Document, claim: Claim, rng: random.Random) -> Iterator[Pair]:
    sentences, places = document.sentences, claim.decided_by
    titled = f"{document.title}. "
    near = _nearest(claim, sentences)
    yield Pair(claim.text, titled + _among_others(sentences, places or (near,), rng), claim.label)
    if places:
        ordered = rng.sample(places, len(places))  # as retrieval joins them
        yield Pair(claim.text, _maybe(titled, rng) + " ".join(sentences[place] for place in ordered), claim.label)
        if claim.label == SUPPORTS and len(places) > 1:
            yield Pair(claim.text, _maybe(titled, rng) + sentences[places[0]], NEI)
    if not places or rng.random() < 0.4:
        yield Pair(claim.text, _maybe(titled, rng) + sentences[near], NEI)


def _among_others(sentences: list[str], places: tuple[int, ...], rng: random.Random) -> str:
    """Some sentences in their order with others of the document, as many words as the reader is given at once."""
    shown = set(places)
    most = rng.randrange(40, WINDOW)
    for place in rng.sample(range(len(sentences)), len(sentences)):
        if sum(len(sentences[at].split()) for at in {*shown, place}) <= most:
            shown.add(place)
    return " ".join(sentences[at] for at in sorted(shown))


def _maybe(title: str, rng: random.Random) -> str:
    return title if rng.random() < 0.5 else ""


def _nearest(claim: Claim, sentences: list[str]) -> int:
    """The sentence that shares most words with the claim, of those that decide nothing."""
    words = _words(claim.text)
    others = [place for place in range(len(sentences)) if place not in claim.decided_by]
    return max(others, key=lambda place: len(words & _words(sentences[place])))


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.lower()))
