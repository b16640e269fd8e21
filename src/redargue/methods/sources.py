"""How many independent sources a verdict rests on, where several were at hand.

A source counts for a side only where a sentence of it is on that side when it is read alone: one that a model merely
names beside the others says nothing for them. The bundled reader compares each quotation with the claim, and no call is
counted. Passages that are not quoted are read as well, so that a verdict that quotes two sentences may rest on five. A
text of other words than the claim's counts for nothing, whatever the reader says; of texts in other languages, which it
cannot read, words alone decide. Passages of one publisher are one source, and so are near-copies of one text.

A verdict is robust to the loss of a source if others outnumber those of the other side without it, and the reader does
not find the other side likelier without it. On even rows of the web, ten passages each, 47 of 83 right verdicts of one
reader are robust to one loss, and none of 64 that one false copy of a passage turned (``benchmarks poison``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from redargue.caveats import Caveat, CaveatKind
from redargue.claims import Claim, Meaning
from redargue.evidence import Passage, Quote, Side, publisher_of
from redargue.framing import calls_itself_false
from redargue.nli.aggregation import MIN_SIGNAL, source_names
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.claim_parts import claim_parts
from redargue.nli.language import language_of
from redargue.nli.reader import Reader
from redargue.quotes import content_words, find_quote

MOST_READ = 20  # quotations, and passages that are not quoted: a reply or a search with hundreds costs no minutes
MOST_CHARACTERS = 20_000  # of passages that are not quoted: two seconds, however long the passages are
# A text is about the claim if it has two of its content words and more than this share of them: so have 224 of 224
# sentences of FEVER that the reader takes for support, 130 of 155 of SciFact, and 33 of 87 that support nothing.
SHARED = 0.2
SHARED_UNREAD = 0.5  # likewise for a text that the reader cannot read
TELLING = 0.3  # strength above which a sentence that is not quoted counts, if it is on a side when read alone
MOST_LOST = 3  # sources whose loss is examined, as each is another reading
STEM = 5  # letters by which words are compared
COPY_SHARE = 0.7  # share of their words that two near-copies have in common
_MEANINGS = {Side.FOR: Meaning.SUPPORTED, Side.AGAINST: Meaning.REFUTED}


def named_publishers(passages: Iterable[Passage]) -> int:
    """How many publishers the passages name."""
    return len({name for passage in passages if (name := publisher_of(passage))})


@dataclass
class IndependentSource:
    """What is quoted of one source.

    Attributes:
        names: by which its passages are known: publishers and sites.
        words: of each passage and of what is quoted of it.
    """

    quotes: list[Quote] = field(default_factory=list)
    names: frozenset[str] = frozenset()
    words: list[tuple[frozenset[str], frozenset[str]]] = field(default_factory=list)

    def repeats(self, words: tuple[frozenset[str], frozenset[str]]) -> bool:
        return any(any(map(_are_copies, words, known)) for known in self.words)


def sources_of(claim: Claim, quotes: Sequence[Quote], passages: Mapping[str, Passage]) -> list[IndependentSource]:
    """The independent sources that are on the side which their quotations are given for.

    A single source is not read: there is nothing to compare.

    Args:
        passages: everything that was found, by sha256.
    """
    cited = [quote for quote in quotes if quote.passage in passages]
    sources = independent(cited, passages)
    if len(sources) < 2:
        return sources
    read = (quote for quote in cited[:MOST_READ] if quote.side is Side.CONTEXT or on_its_side(claim, quote))
    return independent(read, passages)


def within_limits(passages: Iterable[Passage]) -> list[Passage]:
    """The passages that are read: as many as :data:`MOST_READ` and :data:`MOST_CHARACTERS` allow."""
    kept: list[Passage] = []
    room = MOST_CHARACTERS
    for passage in passages:
        if len(kept) < MOST_READ and len(passage.text) <= room:
            kept.append(passage)
            room -= len(passage.text)
    return kept


def strongest_sentences(claim: Claim, passages: Iterable[Passage]) -> dict[str, tuple[float, Quote]]:
    """The sentence of each passage that shows a side most strongly by itself, by the passage's sha256, strongest first.

    Nothing for a claim that joins several facts, of which a sentence may show one, and where the reader does not know
    the language.
    """
    readable = [passage for passage in passages if not language_of(passage.text)]
    if not readable or language_of(claim.text) or claim_parts(claim.text).texts:
        return {}
    reading = _small_reader().read(claim.text, readable)
    compared = {each.sentence.passage.sha256 for each in reading.comparisons}
    found = [(1.0, Side.AGAINST if each.differences else Side.FOR, each.sentence) for each in reading.comparisons]
    for span in reading.spans:
        if span.kind == "sentence" and span.cited[0].passage.sha256 not in compared:
            found += [(span.strength(meaning), side, span.cited[0]) for side, meaning in _MEANINGS.items()]
    strongest: dict[str, tuple[float, Quote]] = {}
    for strength, side, sentence in sorted(found, key=lambda each: -each[0]):
        if strength > TELLING and sentence.passage.sha256 not in strongest:
            quote = find_quote(sentence.quote, (sentence.passage,), side=side)
            if quote.found and not (side is Side.FOR and calls_itself_false(quote.text)):
                strongest[sentence.passage.sha256] = strength, quote
    return strongest


def single_source(sources: Sequence[IndependentSource], publishers: int) -> Caveat | None:
    """A caveat where fewer than two sources are on the verdict's side."""
    if len(sources) > 1:
        return None
    cited = sources[0].quotes[0].source if sources else None
    only = (publisher_of(cited) or cited.title or cited.document) if cited else ""
    return Caveat(kind=CaveatKind.SINGLE_SOURCE, source=only, sources=len(sources), publishers=publishers)


def robust_to(
    claim: Claim,
    sources: Sequence[IndependentSource],
    opposed: int,
    passages: Iterable[Passage],
    strengths: Mapping[str, float],
) -> int:
    """How many of its sources a verdict can lose and still hold.

    It then has more sources than there are for the other side: sources of the two sides contradict each other, so the
    larger side is a maximum independent set of them. And without those that show it most strongly, the bundled reader
    does not find the other side likelier in the passages that are left.

    Args:
        opposed: how many sources there are for the other side.
        passages: what the reader may read.
        strengths: how strongly a passage shows the verdict, in [0, 1], by its sha256.
    """
    most = max(0, min(MOST_LOST, len(sources) - opposed - 1))
    if not most or language_of(claim.text):
        return most
    left = [passage for passage in passages if not language_of(passage.text)]
    refuted = sources[0].quotes[0].side is Side.AGAINST
    order = sorted(sources, key=lambda source: -max(strengths.get(quote.passage, 0.0) for quote in source.quotes))
    for lost, source in enumerate(order[:most]):
        left = [passage for passage in left if not source_names(passage) & source.names]
        supports, refutes, _ = _reader().read(claim.text, left).probabilities()
        if (supports > refutes) if refuted else (refutes > supports):
            return lost
    return most


def independent(quotes: Iterable[Quote], passages: Mapping[str, Passage]) -> list[IndependentSource]:
    """The sources of quotations; where a text or what is quoted of it repeats another, it is the same source."""
    sources: list[IndependentSource] = []
    for quote in quotes:
        if (passage := passages.get(quote.passage)) is None:
            continue
        names, words = source_names(passage), (content_words(passage.text), content_words(quote.text))
        source = next((each for each in sources if names & each.names or each.repeats(words)), None)
        if source is None:
            source = IndependentSource()
            sources.append(source)
        source.quotes.append(quote)
        source.names |= names
        source.words.append(words)
    return sources


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
