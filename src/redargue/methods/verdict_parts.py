"""The parts of a verdict that come from quotations and searches, and what it may say without them.

Without a quotation that can carry it, an answer for or against a claim is sent back, or its label is withdrawn
(hardened). Before a verdict ends a claim early, the small reader reads what it quotes. Recalled evidence is read again
before it decides a claim: with the tool that found it, else at its address. The run records these searches under
:data:`READER`, so that a replay compares with the results of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain

from redargue import words
from redargue.caveats import Caveat, CaveatKind, Unchecked, UncheckedReason
from redargue.claims import Claim, LabelSet, Meaning
from redargue.errors import BudgetReached, ReplayMiss
from redargue.events import Event, EvidenceFound, EvidenceMissing, EvidenceRecalled, gap_of, passages_of
from redargue.evidence import Gap, Injection, Passage, Quote, Side, publisher_of
from redargue.framing import calls_itself_false
from redargue.injections import injection_in
from redargue.memory.memory import LOOKUP
from redargue.memory.recheck import MIN_PASSAGES, RecheckOutcome, arguments_of, compare_with_page, query_of
from redargue.methods.agent import Agent
from redargue.methods.sources import (
    independent,
    named_publishers,
    robust_to,
    single_source,
    sources_of,
    strongest_sentences,
    within_limits,
)
from redargue.nli.language import language_of
from redargue.quotes import can_decide, find_quotes
from redargue.retrieval.tools import Action
from redargue.run import Run
from redargue.tasks.score import ReaderAnswer, ReadPassages
from redargue.verdicts import Verdict

MOST_FLAGS = 3  # that are shown
READER = "memory"
_MOST_PASSAGES = 3  # per claim


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


def limited(
    verdict: Verdict, events: Sequence[Event], *, reads_evidence: bool, hardened: bool, counts_sources: bool = True
) -> Verdict:
    """Adds what a verdict does not rest on; a hardened one for or against the claim needs a quotation on its side.

    The quotation has to say enough (:func:`~redargue.quotes.can_decide`). Without one the label becomes that for
    unsettled claims; None where the label set has none. Passages that speak to models carry no verdict and are named;
    so are a single source where others were at hand, and recalled evidence that was not read again. Recalled evidence
    that its source no longer has carries no verdict either.

    Args:
        counts_sources: whether independent sources are counted, which reads passages and takes seconds.
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
    orders = {sha: kind for sha, passage in passages.items() if (kind := _order_in(passage))}
    telling = [quote for quote in deciding(verdict) if _says_enough(quote, passages.values())]
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
    if counts_sources and decides and sound and named_publishers(passages.values()) > 1:
        readable = [sha for sha in passages if sha not in orders and sha not in remembered]
        shown_alone, counted = _count_sources(verdict, sound, passages, readable)
        changes |= counted
    flags = [
        shown_alone,
        _not_read_again(sound, again, remembered) if decides else None,  # several injections leave no room after them
        *(
            Caveat(kind=CaveatKind.INJECTION, source=publisher_of(passages[sha]), injection=kind)
            for sha, kind in orders.items()
        ),
    ]
    caveats += [*dict.fromkeys(filter(None, flags))][:MOST_FLAGS]
    return verdict.model_copy(update=changes | {"caveats": tuple(dict.fromkeys(caveats))})


def _order_in(passage: Passage) -> Injection | None:
    return injection_in(f"{passage.title}\n{passage.text}")


def _says_enough(quote: Quote, passages: Iterable[Passage]) -> bool:
    return can_decide(quote, passages) and not (quote.side is Side.FOR and calls_itself_false(quote.text))


def can_carry(quote: Quote, passages: Sequence[Passage]) -> bool:
    """Whether a quotation can carry a verdict: it says enough, and its passage does not speak to models."""
    source = (passage for passage in passages if passage.sha256 == quote.passage)
    return _says_enough(quote, passages) and not any(map(_order_in, source))


def _count_sources(
    verdict: Verdict, sound: Sequence[Quote], passages: Mapping[str, Passage], readable: Iterable[str]
) -> tuple[Caveat | None, dict[str, object]]:
    """A caveat where fewer than two independent sources show the label, and how many of its sources it can lose.

    Args:
        sound: the quotations that carry the verdict.
        readable: the passages, by sha256, of which a sentence may count that is not quoted.
    """
    claim, side = verdict.claim, side_of(verdict.claim.labels, verdict.label)
    publishers = named_publishers(passages.values())
    if not side.opposite:  # options have none
        return single_source(sources_of(claim, sound, passages), publishers), {}
    quoted = {quote.passage for quote in verdict.quotes}
    found = [passages[sha] for sha in sorted(readable, key=lambda sha: sha not in quoted)]
    read = within_limits(found)
    unread = sum(passage not in read and passage.sha256 not in quoted for passage in found)
    strongest = strongest_sentences(claim, read)
    further = [quote for sha, (_, quote) in strongest.items() if sha not in quoted]
    sources = sources_of(claim, [*sound, *(each for each in further if each.side is side)], passages)
    opposed = [each for each in (*verdict.quotes, *further) if each.side is side.opposite]
    strengths = {sha: strength for sha, (strength, quote) in strongest.items() if quote.side is side}
    robust = robust_to(claim, sources, len(independent(opposed, passages)) + unread, read, strengths)
    return single_source(sources, publishers), {"robust_to": robust}


def _why_not(verdict: Verdict, telling: Sequence[Quote], present: Sequence[Quote]) -> CaveatKind:
    """Why the quotations do not carry a verdict; ``telling`` say enough, ``present`` are also in their sources."""
    if telling:
        return CaveatKind.ONLY_INJECTED if present else CaveatKind.ONLY_CHANGED
    found = any(quote.found for quote in deciding(verdict))
    return CaveatKind.TOO_LITTLE if found else CaveatKind.UNQUOTED


def _without_evidence(events: Sequence[Event]) -> tuple[dict[str, object], list[Caveat]]:
    """Changes to a verdict, and its caveats, where no search found anything, or none was made."""
    searches = [event for event in events if isinstance(event, EvidenceFound | EvidenceMissing)]
    if any(map(passages_of, events)):
        return {}, []
    if searches and all(isinstance(search, EvidenceMissing) for search in searches):
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


def sent_back(word: str, why: str, *, can_search: bool, has_read: bool) -> str:
    """The note on an answer that does not count yet, which an agent with steps left reads.

    Args:
        word: that it answered.
        why: from :func:`why_unquoted`, or that nothing was searched.
        can_search: or it has read something.
        has_read: whether there is anything to quote.
    """
    ways = ("search for it",) * can_search + ("copy the sentence that decides",) * has_read
    return f"The answer {word} does not count yet: {why}. Give the evidence: {', or '.join(ways)}."


def why_unsettled(verdict: Verdict, run: Run) -> tuple[str, ...]:
    """Why a verdict may not end the claim, as the hardened rules on quotations have it; empty where it may."""
    settled = limited(verdict, run.events, reads_evidence=True, hardened=True, counts_sources=False)
    if settled.unchecked:
        return (words.unchecked(settled.unchecked),)
    return (words.caveats(settled.caveats),) if settled.label != verdict.label else ()


async def read_quotes(claim: Claim, quotes: Iterable[Quote], reader: Agent, *, round_: int = 0) -> ReaderAnswer | None:
    """What the small reader says about the located quotations; None where a text is not English."""
    texts = [quote for quote in quotes if quote.found]
    shown = tuple(Passage(text=quote.text, title=quote.source.title if quote.source else "") for quote in texts)
    return await read_english(claim, shown, reader, round_=round_)


async def read_english(
    claim: Claim, passages: tuple[Passage, ...], reader: Agent, *, round_: int = 0
) -> ReaderAnswer | None:
    """What the small reader says about the passages; None where there are none, or a text is not English."""
    if not passages or any(map(language_of, (claim.text, *(each.text for each in passages)))):
        return None
    return await reader.perform(ReadPassages(claim=claim, passages=passages), round_=round_)


def majority(labels: Sequence[str | None]) -> str | None:
    """The most frequent label, among several the first; answers without a label do not vote."""
    votes = Counter(label for label in labels if label is not None)
    return votes.most_common(1)[0][0] if votes else None  # the first of equals, because a Counter keeps the order


def recalled_passages(events: Iterable[Event]) -> dict[str, Passage]:
    """The passages that the memory returned and no search of the method found, by sha256."""
    searched, remembered = set[str](), dict[str, Passage]()
    for event in events:
        if isinstance(event, EvidenceRecalled):
            remembered |= {item.passage.sha256: item.passage for item in event.items}
        elif isinstance(event, EvidenceFound) and event.tool == LOOKUP:
            remembered |= {passage.sha256: passage for passage in event.passages}
        elif isinstance(event, EvidenceFound) and event.agent != READER:
            searched |= {passage.sha256 for passage in event.passages}
    return {sha: passage for sha, passage in remembered.items() if sha not in searched}


async def read_again(quotes: Sequence[Quote], claim: Claim, run: Run, read_page: Action | None) -> None:
    """Reads the recalled passages of the quotations again, as far as budget and record permit.

    Args:
        read_page: reads the page at an address; None if pages may not be read.
    """
    remembered = recalled_passages(run.events)
    quoted = dict.fromkeys(quote.passage for quote in quotes if quote.passage in remembered)
    for sha in list(quoted)[:_MOST_PASSAGES]:
        with suppress(BudgetReached, ReplayMiss):
            await _read(remembered[sha], claim, run, read_page)


async def _read(stored: Passage, claim: Claim, run: Run, read_page: Action | None) -> None:
    if stored.tool in run.tools:
        await run.search(stored.tool, query_of(stored), MIN_PASSAGES, agent=READER, claim=claim)
    elif stored.tool in run.actions:
        await run.act(stored.tool, arguments_of(stored), agent=READER, claim=claim)
    if read_page and stored.url and recall_outcome(stored, "", run.events) == "gone":
        run.actions.setdefault(read_page.name, read_page)
        await run.act(read_page.name, {"url": stored.url}, agent=READER, claim=claim)


def recall_outcome(stored: Passage, quotation: str, events: Iterable[Event]) -> RecheckOutcome:
    """How a recalled passage compares with what was read again; ``gone`` if its source was not read.

    A changed passage whose source still contains the quotation counts as the same.
    """
    found = [event for event in events if isinstance(event, EvidenceFound) and event.agent == READER]
    passages = [passage for event in found for passage in event.passages]
    result, _ = compare_with_page(stored, passages)
    if result == "changed" and quotation:
        shortened = stored.model_copy(update={"text": quotation})
        return compare_with_page(shortened, passages)[0]
    return result
