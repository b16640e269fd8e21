"""The parts of a verdict that come from quotations and searches, and what it may say without them.

What an answer for or against a claim lacks that quotes nothing that can carry it (hardened).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain

from redargue.caveats import Caveat, CaveatKind, Unchecked, UncheckedReason
from redargue.claims import Claim, LabelSet, Meaning
from redargue.events import Event, EvidenceFound, EvidenceMissing, gap_of, passages_of
from redargue.evidence import Gap, Passage, Quote, Side, publisher_of
from redargue.framing import calls_itself_false
from redargue.injections import injection_in
from redargue.methods.recalled import READER, recall_outcome, recalled_passages
from redargue.nli.aggregation import MIN_SIGNAL, first_of_sources
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.language import language_of
from redargue.nli.reader import Reader
from redargue.quotes import can_decide, content_words, find_quotes
from redargue.verdicts import Verdict

# How many independent sources a verdict rests on, where several were at hand.
#
# A source counts for a side only where its own quotation is on that side: one that a model
# merely names beside the others says nothing for them. The bundled reader compares each
# quotation with the claim, and no call is counted; it is asked only where two sources are
# quoted. A text of other words than the claim's counts for nothing, whatever the reader says;
# of texts in other languages, which it cannot read, words alone decide. A near-copy of another
# publisher's text is the same source.


MOST_READ = 20  # quotations, so that a reply with hundreds costs no minutes
# A text is about the claim if it has two of its content words and more than this share of them: so have 224 of 224
# sentences of FEVER that the reader takes for support, 130 of 155 of SciFact, and 33 of 87 that support nothing.
SHARED = 0.2
SHARED_UNREAD = 0.5  # likewise for a text that the reader cannot read
STEM = 5  # letters by which words are compared
COPY_SHARE = 0.7  # share of their words that two near-copies have in common


def _publishers(passages: Mapping[str, Passage]) -> int:
    """How many publishers the passages name."""
    return len({name for passage in passages.values() if (name := publisher_of(passage))})


def sources_of(claim: Claim, quotes: Sequence[Quote], passages: Mapping[str, Passage]) -> list[Passage]:
    """The first passage of each independent source that is on the side which its quotation is given for.

    A single source is not read: there is nothing to compare.

    Args:
        passages: everything that was found, by sha256.
    """
    cited = [quote for quote in quotes if quote.passage in passages]
    sources = _independent(cited, passages)
    if len(sources) < 2:
        return sources
    read = (quote for quote in cited[:MOST_READ] if quote.side is Side.CONTEXT or on_its_side(claim, quote))
    return _independent([*read], passages)


def single_source(sources: Sequence[Passage], publishers: int) -> Caveat | None:
    """A caveat where fewer than two sources are on the verdict's side."""
    if len(sources) > 1:
        return None
    only = (publisher_of(sources[0]) or sources[0].title or sources[0].document) if sources else ""
    return Caveat(kind=CaveatKind.SINGLE_SOURCE, source=only, sources=len(sources), publishers=publishers)


def _independent(quotes: Sequence[Quote], passages: Mapping[str, Passage]) -> list[Passage]:
    """The first passage of each source."""
    cited = [passages[quote.passage] for quote in quotes]
    first: list[tuple[Passage, frozenset[str]]] = []
    for passage in (cited[index] for index in first_of_sources(cited)):
        words = frozenset(content_words(passage.text))
        if not any(_are_copies(words, known) for _, known in first):
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


MOST_FLAGS = 3  # that are shown


def side_of(labels: LabelSet, label: str | None) -> Side:
    """The side that the quotations of an answer with that label are on."""
    if label is None or labels.free_text:
        return Side.CONTEXT
    return {Meaning.SUPPORTED: Side.FOR, Meaning.REFUTED: Side.AGAINST}.get(labels.meaning(label), Side.CONTEXT)


def distinct(quotes: Sequence[Quote]) -> tuple[Quote, ...]:
    """The quotations without duplicate spans on one side: found ones first, then by side and agent."""
    order = sorted(quotes, key=lambda q: (not q.found, q.side, q.agent == "judge", q.agent, q.passage, q.start, q.text))
    seen: dict[tuple[tuple[str, str], Side], Quote] = {}
    sided = {_span(quote) for quote in order if quote.side is not Side.CONTEXT}
    for quote in order:
        if quote.side is not Side.CONTEXT or _span(quote) not in sided:
            seen.setdefault((_span(quote), quote.side), quote)
    return tuple(seen.values())


def _span(quote: Quote) -> tuple[str, str]:
    """Two tools may return the same sentence of a document in different passages."""
    return (quote.source.document if quote.source else "") or quote.passage, quote.text


def gaps(events: Iterable[Event]) -> tuple[Gap, ...]:
    """What searches lacked, without duplicates."""
    searches = [event for event in events if isinstance(event, EvidenceFound | EvidenceMissing)]
    missing: list[Gap] = []
    # Concurrent searches are recorded in no fixed order.
    for event in sorted(searches, key=lambda search: (search.round, search.agent, search.tool, search.query)):
        gap = gap_of(event)
        if gap is not None and gap not in missing:
            missing.append(gap)
    return tuple(missing)


def limited(verdict: Verdict, events: Sequence[Event], *, reads_evidence: bool, hardened: bool) -> Verdict:
    """Adds what a verdict does not rest on; a hardened one for or against the claim needs a quotation on its side.

    The quotation has to say enough (:func:`~redargue.quotes.can_decide`). Without one the label becomes that for
    unsettled claims; None where the label set has none. Passages that speak to models carry no verdict and are named;
    so are a single source where others were at hand, and recalled evidence that was not read again. Recalled evidence
    that its source no longer has carries no verdict either.
    """
    if verdict.error or verdict.unchecked:
        return verdict
    if not reads_evidence:
        return verdict.model_copy(update={"caveats": (Caveat(kind=CaveatKind.FROM_MEMORY),)})
    remembered, everything = recalled_passages(events), events
    events = [event for event in events if getattr(event, "agent", "") != READER]
    changes, caveats = _without_evidence(events)
    decides = verdict.label is not None and verdict.meaning is not Meaning.NOT_ENOUGH
    passages = {passage.sha256: passage for event in events for passage in passages_of(event)}
    orders = {
        sha: kind for sha, passage in passages.items() if (kind := injection_in(f"{passage.title}\n{passage.text}"))
    }
    telling = [
        quote
        for quote in deciding(verdict)
        if can_decide(quote, passages.values()) and not (quote.side is Side.FOR and calls_itself_false(quote.text))
    ]
    again = {
        quote: recall_outcome(remembered[quote.passage], quote.text, everything)
        for quote in telling
        if quote.passage in remembered
    }
    present = [quote for quote in telling if again.get(quote) != "changed"]
    sound = [quote for quote in present if quote.passage not in orders]
    if decides and not sound:
        why = _why_not(verdict, telling, present)
        refused = hardened and side_of(verdict.claim.labels, verdict.label) is not Side.CONTEXT
        caveats = [Caveat(kind=why, answer=str(verdict.label) if refused else "")]
        changes |= _undecided(verdict) if refused else {}
    shown_alone = None
    if decides and sound and (names := _publishers(passages)) > 1:
        sources = sources_of(verdict.claim, sound, passages)
        shown_alone = single_source(sources, names)
        changes |= {"robust_to": _robust_to(verdict, sources, passages)}
    flags = [
        shown_alone,
        *(
            Caveat(kind=CaveatKind.INJECTION, source=publisher_of(passages[sha]), injection=kind)
            for sha, kind in orders.items()
        ),
        _not_read_again(sound, again, remembered) if decides else None,
    ]
    caveats += [*filter(None, flags)][:MOST_FLAGS]
    return verdict.model_copy(update=changes | {"caveats": tuple(dict.fromkeys(caveats))})


def _why_not(verdict: Verdict, telling: Sequence[Quote], present: Sequence[Quote]) -> CaveatKind:
    """Why the quotations do not carry a verdict; ``telling`` say enough, ``present`` are also in their sources."""
    if telling:
        return CaveatKind.ONLY_INJECTED if present else CaveatKind.ONLY_CHANGED
    found = any(quote.found for quote in deciding(verdict))
    return CaveatKind.TOO_LITTLE if found else CaveatKind.UNQUOTED


def _robust_to(verdict: Verdict, sources: Sequence[Passage], passages: Mapping[str, Passage]) -> int:
    """How many of its sources a verdict can lose and still have more than are quoted for the other side."""
    side = side_of(verdict.claim.labels, verdict.label)
    if side is Side.CONTEXT:
        return 0
    other = Side.AGAINST if side is Side.FOR else Side.FOR
    opposed = [quote for quote in verdict.side(other) if quote.passage in passages]
    return max(0, len(sources) - len(_independent(opposed, passages)) - 1)


def _without_evidence(events: Sequence[Event]) -> tuple[dict[str, object], list[Caveat]]:
    """Changes to a verdict, and its caveats, where no search found anything."""
    searches = [event for event in events if isinstance(event, EvidenceFound | EvidenceMissing)]
    if not searches or any(map(passages_of, events)):
        return {}, []
    if all(isinstance(search, EvidenceMissing) for search in searches):
        return {"unchecked": Unchecked(reason=UncheckedReason.SEARCH_FAILED)}, []
    return {}, [Caveat(kind=CaveatKind.NOTHING_FOUND)]


def _undecided(verdict: Verdict) -> dict[str, object]:
    """The changes that take a verdict's label back."""
    label = verdict.claim.labels.named(Meaning.NOT_ENOUGH)
    return {"label": label, "meaning": Meaning.NOT_ENOUGH if label else None, "confidence": None}


def deciding(verdict: Verdict) -> list[Quote]:
    """The quotations on the verdict's side."""
    side = side_of(verdict.claim.labels, verdict.label)
    return [quote for quote in verdict.quotes if side is Side.CONTEXT or quote.side is side]


def _not_read_again(
    quotes: Sequence[Quote], again: Mapping[Quote, str], remembered: Mapping[str, Passage]
) -> Caveat | None:
    """A caveat with the origin where every quotation is recalled and none of their sources was read again."""
    if not quotes or any(again.get(quote, "same") == "same" for quote in quotes):
        return None
    stored = remembered[quotes[0].passage]
    return Caveat(
        kind=CaveatKind.NOT_READ_AGAIN,
        source=stored.url or stored.title or stored.document,
        tool=stored.tool,
        day=stored.retrieved.date() if stored.retrieved else None,
    )


def not_checked(verdict: Verdict, why: Unchecked) -> Verdict:
    """The verdict without a label, and why."""
    changes = {"label": None, "meaning": None, "confidence": None, "robust_to": 0, "reason": "", "unchecked": why}
    return verdict.model_copy(update=changes)


def without_unread(verdict: Verdict, events: Iterable[Event]) -> Verdict:
    """The verdict; not checked if most of the passages are in languages that the backend does not read."""
    searches = [event for event in events if isinstance(event, EvidenceFound)]
    unread = sum((Counter(event.unread) for event in searches), Counter[str]())
    total = unread.total() + sum(len(event.passages) for event in searches)
    if 2 * unread.total() <= total:
        return verdict
    counts = {"unread": unread.total(), "passages": total}
    return not_checked(verdict, Unchecked(reason=UncheckedReason.LANGUAGE, languages=tuple(unread), **counts))


def why_unquoted(texts: Iterable[str], passages: Sequence[Passage]) -> str:
    """Why no quotation can carry an answer, in words; empty where one can.

    Args:
        texts: quotations as an agent gives them.
        passages: in which they are looked up.
    """
    shown = tuple(passages)
    quotes = list(chain.from_iterable(find_quotes(text, shown) for text in texts if text.strip()))
    if any(can_decide(quote, shown) for quote in quotes):
        return ""
    if not quotes:
        return "nothing is quoted"
    if not any(quote.found for quote in quotes):
        return "no quotation was found in the documents"
    return "what is quoted is too short, or only a title"


def sent_back(word: str, why: str, *, can_search: bool) -> str:
    """The note on such an answer that an agent with steps left reads.

    Args:
        word: that it answered.
        why: from :func:`why_unquoted`.
    """
    more = "search for it, or copy" if can_search else "copy"
    return f"The answer {word} does not count yet: {why}. Give the evidence: {more} the sentence that decides."
