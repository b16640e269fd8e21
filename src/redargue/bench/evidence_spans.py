"""Where quotations stand in a data set's own documents: the sentences by which its official metric counts evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from redargue.bench.datasets import fever, scifact
from redargue.bench.datasets.base import GoldEvidence
from redargue.errors import UsageError
from redargue.evidence import Quote
from redargue.registry import did_you_mean

Locate = Callable[[Quote], tuple[GoldEvidence, ...]]
"""Where a found quotation stands, in the data set's names; empty where it stands in no document of the data set."""

Sentences = Mapping[str, Mapping[str, str]]
"""Of documents: each sentence's identifier and text, in their order."""

READERS: dict[str, Callable[[Path, frozenset[str]], Sentences]] = {
    "fever": fever.wiki_sentences,
    "scifact": scifact.abstract_sentences,
}


QRELS: dict[str, Callable[[Path], Mapping[str, frozenset[str]]]] = {"fever": fever.qrels, "scifact": scifact.qrels}


def relevant(dataset: str, path: Path) -> Mapping[str, frozenset[str]]:
    """The documents to be retrieved, by claim id.

    Raises:
        UsageError: the data set lists none, or the file is not such a list.
    """
    if dataset not in QRELS:
        raise UsageError(f"{dataset!r} lists no documents", where="--qrels", hint=did_you_mean(dataset, list(QRELS)))
    return QRELS[dataset](path)


def by_document(quote: Quote) -> tuple[GoldEvidence, ...]:
    """The document that a quotation's source names, and no part of it."""
    return (GoldEvidence(document=quote.source.document),) if quote.source and quote.source.document else ()


def by_sentence(dataset: str, path: Path, quotes: Iterable[Quote]) -> Locate:
    """Finds quotations in the sentences of a data set's corpus.

    Args:
        dataset: registered name.
        path: its corpus, in its official format.
        quotes: those that will be looked up; only their documents are kept.

    Raises:
        UsageError: the data set counts no sentences, or the file is not its corpus.
    """
    if dataset not in READERS:
        hint = did_you_mean(dataset, list(READERS))
        raise UsageError(f"{dataset!r} has no corpus of sentences", where="--pages", hint=hint)
    wanted = frozenset(quote.source.document for quote in quotes if quote.source)
    known = READERS[dataset](path, wanted)

    def locate(quote: Quote) -> tuple[GoldEvidence, ...]:
        document = quote.source.document if quote.source else ""
        if document not in known:
            return by_document(quote)
        found = _overlapped(quote.text, known[document])
        return tuple(GoldEvidence(document=document, element=each) for each in found) or by_document(quote)

    return locate


def _overlapped(text: str, sentences: Mapping[str, str]) -> list[str]:
    """The sentences that a text stands in: of which it holds most, or which hold most of it."""
    wanted, joined, spans = " ".join(text.split()), "", []
    for name, sentence in sentences.items():
        plain = " ".join(sentence.split())
        if plain:
            joined += " " * bool(joined)
            spans.append((name, len(joined), len(joined) + len(plain)))
            joined += plain
    begin = joined.find(wanted)
    if begin < 0:
        return []
    end = begin + len(wanted)
    shares = ((name, min(end, last) - max(begin, first), last - first) for name, first, last in spans)
    return [name for name, shared, whole in shares if 2 * shared > min(whole, len(wanted))]
