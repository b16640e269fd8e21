"""Whether a verdict rests on one source although others were at hand.

A source counts for a side only where its own quotation is on that side: one that a model merely names beside the
others says nothing for them. The bundled reader compares each quotation with the claim, and no call is counted; it is
asked only where two sources are quoted. A text of other words than the claim's counts for nothing, whatever the reader
says; of texts in other languages, which it cannot read, words alone decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from urllib.parse import urlsplit

from redargue.caveats import Caveat, CaveatKind
from redargue.claims import Claim, Meaning
from redargue.evidence import Passage, Quote, Side, Source
from redargue.nli.aggregation import MIN_SIGNAL, first_of_sources
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.language import language_of
from redargue.nli.reader import Reader
from redargue.quotes import content_words
from redargue.sanitize import printable

MOST_READ = 20  # quotations, so that a reply with hundreds costs no minutes
# A text is about the claim if it has two of its content words and more than this share of them: so have 224 of 224
# sentences of FEVER that the reader takes for support, 130 of 155 of SciFact, and 33 of 87 that support nothing.
SHARED = 0.2
SHARED_UNREAD = 0.5  # likewise for a text that the reader cannot read
STEM = 5  # letters by which words are compared


def single_source(claim: Claim, quotes: Sequence[Quote], passages: Mapping[str, Passage]) -> Caveat | None:
    """A caveat where fewer than two sources are on the side that ``quotes`` are given for; None if there are two.

    ``passages`` are everything that was found, by sha256; where they name only one publisher, nothing else was at hand.
    """
    names = {name for passage in passages.values() if (name := publisher_of(passage))}
    cited = [quote for quote in quotes if quote.passage in passages]
    if len(names) < 2 or not cited:
        return None
    voices = _independent(cited, passages)
    if len(voices) > 1:
        read = (quote for quote in cited[:MOST_READ] if quote.side is Side.CONTEXT or on_its_side(claim, quote))
        voices = _independent([*read], passages)
    if len(voices) > 1:
        return None
    only = (publisher_of(voices[0]) or voices[0].title or voices[0].document) if voices else ""
    return Caveat(kind=CaveatKind.SINGLE_SOURCE, source=only, sources=len(voices), publishers=len(names))


def _independent(quotes: Sequence[Quote], passages: Mapping[str, Passage]) -> list[Passage]:
    """The first passage of each source."""
    cited = [passages[quote.passage] for quote in quotes]
    return [cited[index] for index in first_of_sources(cited)]


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
    return read.strongest(own) > max(read.strongest(other), MIN_SIGNAL)


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:STEM] for word in content_words(text))


@cache
def _reader() -> Reader:
    return EmbeddedBackend().reader


def publisher_of(source: Source) -> str:
    """The publisher, or else the host; empty if the source names neither."""
    try:
        host = urlsplit(source.url).netloc.removeprefix("www.")
    except ValueError:  # not a URL
        host = ""
    return printable(source.publisher.strip() or host, lines=False)[:80]
