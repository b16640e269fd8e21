"""How many independent sources a verdict rests on, where several were at hand.

A source counts for a side only where a sentence of it is on that side when it is read alone: one that a model merely
names beside the others says nothing for them. The bundled reader compares each quotation with the claim, and no call is
counted. Passages that are not quoted are read as well, so that a verdict that quotes two sentences may rest on five. A
text of other words than the claim's counts for nothing, whatever the reader says; of texts in other languages, which it
cannot read, words alone decide. Passages of one publisher are one source, and so are near-copies of one text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from redargue.caveats import Caveat, CaveatKind
from redargue.claims import Claim, Meaning
from redargue.evidence import Passage, Quote, Side, publisher_of
from redargue.framing import calls_itself_false
from redargue.nli.aggregation import MIN_SIGNAL, first_of_sources
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.claim_parts import claim_parts
from redargue.nli.language import language_of
from redargue.nli.reader import SHOWN, Reader
from redargue.quotes import content_words, find_quote

MOST_READ = 20  # quotations, and passages that are not quoted: a reply or a search with hundreds costs no minutes
MOST_CHARACTERS = 20_000  # of passages that are not quoted: two seconds, however long the passages are
# A text is about the claim if it has two of its content words and more than this share of them: so have 224 of 224
# sentences of FEVER that the reader takes for support, 130 of 155 of SciFact, and 33 of 87 that support nothing.
SHARED = 0.2
SHARED_UNREAD = 0.5  # likewise for a text that the reader cannot read
STEM = 5  # letters by which words are compared
COPY_SHARE = 0.7  # share of their words that two near-copies have in common
_MEANINGS = {Side.FOR: Meaning.SUPPORTED, Side.AGAINST: Meaning.REFUTED}


def named_publishers(passages: Iterable[Passage]) -> int:
    """How many publishers the passages name."""
    return len({name for passage in passages if (name := publisher_of(passage))})


def sources_of(claim: Claim, quotes: Sequence[Quote], passages: Mapping[str, Passage]) -> list[Passage]:
    """The first passage of each independent source that is on the side which its quotation is given for.

    A single source is not read: there is nothing to compare.

    Args:
        passages: everything that was found, by sha256.
    """
    cited = [quote for quote in quotes if quote.passage in passages]
    sources = independent(cited, passages)
    if len(sources) < 2:
        return sources
    read = (quote for quote in cited[:MOST_READ] if quote.side is Side.CONTEXT or on_its_side(claim, quote))
    return independent([*read], passages)


def within_limits(passages: Iterable[Passage]) -> list[Passage]:
    """The passages that are read: as many as :data:`MOST_READ` and :data:`MOST_CHARACTERS` allow."""
    kept: list[Passage] = []
    room = MOST_CHARACTERS
    for passage in passages:
        if len(kept) < MOST_READ and len(passage.text) <= room:
            kept.append(passage)
            room -= len(passage.text)
    return kept


def shown_unquoted(claim: Claim, passages: Sequence[Passage]) -> list[Quote]:
    """The strongest sentence of each passage that shows a side by itself.

    Nothing for a claim that joins several facts, of which a sentence may show one, and where the reader does not know
    the language.
    """
    readable = [passage for passage in passages if not language_of(passage.text)]
    if not readable or language_of(claim.text) or claim_parts(claim.text).texts:
        return []
    reading = _small_reader().read(claim.text, readable)
    compared = {each.sentence.passage.sha256 for each in reading.comparisons}
    found = [(Side.AGAINST if each.differences else Side.FOR, 1.0, each.sentence) for each in reading.comparisons]
    for span in reading.spans:
        if span.kind == "sentence" and span.cited[0].passage.sha256 not in compared:
            found += [(side, span.strength(meaning), span.cited[0]) for side, meaning in _MEANINGS.items()]
    strongest: dict[str, Quote] = {}
    for side, strength, sentence in sorted(found, key=lambda each: -each[1]):
        if strength > SHOWN and sentence.passage.sha256 not in strongest:
            quote = find_quote(sentence.quote, (sentence.passage,), side=side)
            if quote.found and not (side is Side.FOR and calls_itself_false(quote.text)):
                strongest[sentence.passage.sha256] = quote
    return [*strongest.values()]


def single_source(sources: Sequence[Passage], publishers: int) -> Caveat | None:
    """A caveat where fewer than two sources are on the verdict's side."""
    if len(sources) > 1:
        return None
    only = (publisher_of(sources[0]) or sources[0].title or sources[0].document) if sources else ""
    return Caveat(kind=CaveatKind.SINGLE_SOURCE, source=only, sources=len(sources), publishers=publishers)


def robust_to(sources: Sequence[Passage], opposed: Sequence[Passage], unread: int = 0) -> int:
    """How many of its sources a verdict can lose and still have more than there are for the other side.

    Sources of the two sides contradict each other, so the larger side is a maximum independent set of them.

    Args:
        unread: passages beyond the limits, each of which may be for the other side.
    """
    return max(0, len(sources) - len(opposed) - unread - 1)


def independent(quotes: Sequence[Quote], passages: Mapping[str, Passage]) -> list[Passage]:
    """The first passage of each source; where a text or what is quoted of it repeats another, it is the same source."""
    cited = [quote for quote in quotes if quote.passage in passages]
    first: list[tuple[Passage, tuple[frozenset[str], frozenset[str]]]] = []
    for index in first_of_sources([passages[quote.passage] for quote in cited]):
        passage = passages[cited[index].passage]
        words = content_words(passage.text), content_words(cited[index].text)
        if not any(any(map(_are_copies, words, known)) for _, known in first):
            first.append((passage, words))
    return [passage for passage, _ in first]


def _are_copies(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    return len(ours & theirs) > COPY_SHARE * len(ours | theirs)


def on_its_side(claim: Claim, quote: Quote) -> bool:
    """Whether a quotation, read alone, is on the side that it is given for."""
    title = quote.source.title if quote.source else ""
    unread = language_of(claim.text) or language_of(quote.text)
    ours, theirs = _stems(claim.text), _stems(f"{title} {quote.text}")
    about = ours <= theirs or len(ours & theirs) > max(1, (SHARED_UNREAD if unread else SHARED) * len(ours))
    if unread or not about:
        return about
    read = _reader().read(claim.text, (Passage(text=quote.text, title=title),))
    own, other = Meaning.SUPPORTED, Meaning.REFUTED
    if quote.side is Side.AGAINST:
        own, other = other, own
    elif read.copy:
        return True
    if read.contradiction:
        return quote.side is Side.AGAINST
    if own is Meaning.SUPPORTED and any(part.strongest(own) <= MIN_SIGNAL for part in read.parts):
        return False  # it shows one of the facts that the claim joins
    return read.strongest(own) > max(read.strongest(other), MIN_SIGNAL)


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:STEM] for word in content_words(text))


@cache
def _reader() -> Reader:
    return EmbeddedBackend().reader


@cache
def _small_reader() -> Reader:
    return EmbeddedBackend(careful=False).reader
