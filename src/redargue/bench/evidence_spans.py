"""Locates quotations in the sentences of a data set's corpus, for its official metric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from redargue.bench.datasets import fever, scifact
from redargue.bench.datasets.base import GoldEvidence
from redargue.errors import UsageError
from redargue.evidence import Quote
from redargue.registry import did_you_mean

# A found quotation's documents and elements, in the data set's names; empty outside of its documents.
Locate = Callable[[Quote], tuple[GoldEvidence, ...]]
_Sentences = Mapping[str, Mapping[str, str]]  # by document: each sentence's identifier and text, in order

_READERS: dict[str, Callable[[Path, frozenset[str]], _Sentences]] = {
    "fever": fever.wiki_sentences,
    "scifact": scifact.abstract_sentences,
}
_QRELS: dict[str, Callable[[Path], Mapping[str, frozenset[str]]]] = {
    "fever": fever.qrels,
    "scifact": scifact.scifact_qrels,
}


def load_qrels(dataset: str, path: Path) -> Mapping[str, frozenset[str]]:
    """The relevant documents of each claim, by its id."""
    if dataset not in _QRELS:
        raise UsageError(f"{dataset!r} lists no documents", where="--qrels", hint=did_you_mean(dataset, list(_QRELS)))
    return _QRELS[dataset](path)


def by_document(quote: Quote) -> tuple[GoldEvidence, ...]:
    return (GoldEvidence(document=quote.source.document),) if quote.source and quote.source.document else ()


def by_sentence(dataset: str, path: Path, quotes: Iterable[Quote]) -> Locate:
    """Locates these quotations in the sentences of a data set's corpus file."""
    if dataset not in _READERS:
        hint = did_you_mean(dataset, list(_READERS))
        raise UsageError(f"{dataset!r} has no corpus of sentences", where="--pages", hint=hint)
    sentences = _READERS[dataset](path, frozenset(quote.source.document for quote in quotes if quote.source))

    def locate(quote: Quote) -> tuple[GoldEvidence, ...]:
        document = quote.source.document if quote.source else ""
        if document not in sentences:
            return by_document(quote)
        names = _overlapping(quote.text, sentences[document])
        return tuple(GoldEvidence(document=document, element=name) for name in names) or by_document(quote)

    return locate


def _overlapping(text: str, sentences: Mapping[str, str]) -> list[str]:
    """The sentences that share more than half of the text, or more than half of themselves, with the text."""
    quotation = " ".join(text.split())
    joined, spans = "", []
    for name, sentence in sentences.items():
        if plain := " ".join(sentence.split()):
            spans.append((name, len(joined), len(joined) + len(plain)))
            joined += f"{plain} "
    if (begin := joined.find(quotation)) < 0:
        return []
    end = begin + len(quotation)
    shares = ((name, min(end, last) - max(begin, first), last - first) for name, first, last in spans)
    return [name for name, shared, whole in shares if 2 * shared > min(whole, len(quotation))]
