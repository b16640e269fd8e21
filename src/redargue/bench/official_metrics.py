"""The official metric of each data set, by the name that the data set gives (``Dataset.metric``).

Quotations are located in the sentences of the data set's corpus first, as these metrics compare sentences.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from redargue.bench.datasets import Example, GoldEvidence
from redargue.bench.datasets.medicine import abstract_sentences, scifact_qrels
from redargue.bench.datasets.wikipedia import qrels, wiki_sentences
from redargue.bench.metrics import MetricValue, OfficialScores, undefined
from redargue.bench.metrics.classification import accuracy, class_scores, confusion, correct_items, macro_f1
from redargue.bench.metrics.evidence import (
    NOT_ENOUGH,
    Element,
    Found,
    GoldAbstract,
    Groups,
    PredictedAbstract,
    averitec,
    fever,
    feverous,
    hover,
    pair_text,
    scifact,
)
from redargue.bench.statistics import DRAWS, Interval, interval, macro_f1_interval
from redargue.claims import Meaning
from redargue.errors import UsageError
from redargue.evidence import Quote
from redargue.registry import Registry, did_you_mean
from redargue.verdicts import Verdict

# A found quotation's documents and elements, in the data set's names; empty outside of its documents.
Locate = Callable[[Quote], tuple[GoldEvidence, ...]]
_Sentences = Mapping[str, Mapping[str, str]]  # by document: each sentence's identifier and text, in order

_READERS: dict[str, Callable[[Path, frozenset[str]], _Sentences]] = {
    "fever": wiki_sentences,
    "scifact": abstract_sentences,
}
_QRELS: dict[str, Callable[[Path], Mapping[str, frozenset[str]]]] = {
    "fever": qrels,
    "scifact": scifact_qrels,
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


@dataclass(frozen=True)
class ScoredRows:
    """Examples with a gold label, and their verdicts."""

    examples: tuple[Example, ...]
    verdicts: tuple[Verdict, ...]
    gold: tuple[str, ...]
    predicted: tuple[str | None, ...]  # labels; None for a non-answer
    predicted_evidence: tuple[tuple[Element, ...], ...]  # distinct places of the found quotations
    labels: tuple[str, ...]  # all possible labels; empty for free text
    averaged: tuple[str, ...]  # the gold labels, over which F1 is averaged
    whole_documents: bool  # whether locations name only documents
    draws: int = DRAWS


official_metrics: Registry[Callable[[ScoredRows], tuple[MetricValue, ...]]] = Registry("metric")

_WHOLE_DOCUMENTS = (
    "the quotations name documents, not the parts that gold evidence names; --pages finds those of fever and scifact"
)
_OTHER_NAMES = (
    "no quotation comes from a document that gold evidence names: the corpus lacks them, or names them differently"
)
_ONLY_PAGES = "gold evidence names documents, not their parts"


def _not_enough(rows: ScoredRows) -> str:
    named = rows.examples[0].claim.labels.named(Meaning.NOT_ENOUGH) if rows.examples else None
    return named or NOT_ENOUGH


def _evidence(rows: ScoredRows) -> tuple[list[Groups], Found, str]:
    """Gold groups, predicted elements, and the reason if both were reduced to documents."""
    groups: list[Groups] = [
        [[(part.document, part.element) for part in group] for group in example.evidence] for example in rows.examples
    ]
    has_parts = any(element for claim in groups for group in claim for _, element in group)
    if (has_parts or not any(groups)) and not rows.whole_documents:
        return groups, rows.predicted_evidence, ""
    by_document: list[Groups] = [[[(name, "") for name, _ in group] for group in claim] for claim in groups]
    found = [list(dict.fromkeys((name, "") for name, _ in places)) for places in rows.predicted_evidence]
    return by_document, found, _WHOLE_DOCUMENTS if has_parts else _ONLY_PAGES


def with_interval(figure: MetricValue, bounds: Interval) -> MetricValue:
    return figure.model_copy(update={"low": bounds.low, "high": bounds.high})


def accuracy_with_interval(rows: ScoredRows) -> MetricValue:
    bounds = interval(correct_items(rows.gold, rows.predicted), draws=rows.draws)
    return with_interval(accuracy(rows.gold, rows.predicted), bounds)


def macro_f1_with_interval(rows: ScoredRows) -> MetricValue:
    """Macro-F1 over the labels that some row has, with its interval."""
    gold, predicted, labels, over = rows.gold, rows.predicted, rows.labels, rows.averaged
    bounds = macro_f1_interval(gold, predicted, labels=labels, over=over, draws=rows.draws)
    return with_interval(macro_f1(gold, predicted, labels=labels, over=over), bounds)


def _figures(scores: OfficialScores, rows: ScoredRows, reduced: str = "") -> tuple[MetricValue, ...]:
    first, *others = scores.figures
    figures = (with_interval(first, interval(scores.items, draws=rows.draws)), *others)
    if not reduced:
        return figures
    of_labels = [figure for figure in figures if figure.name == "label-accuracy"]
    of_evidence = [figure for figure in figures if figure.name != "label-accuracy"]
    blank = [undefined(figure.name, reduced, n=figure.n) for figure in of_evidence]
    by_document = [figure.model_copy(update={"name": f"{figure.name}-by-document"}) for figure in of_evidence]
    if _is_other_corpus(rows):
        by_document = [undefined(figure.name, _OTHER_NAMES, n=figure.n) for figure in by_document]
    return (*blank, *of_labels, *by_document)


def _is_other_corpus(rows: ScoredRows) -> bool:
    """Whether no quoted document is a gold one, so that 0 would be misleading."""
    gold = {part.document for example in rows.examples for group in example.evidence for part in group}
    quoted = {name for places in rows.predicted_evidence for name, _ in places}
    return bool(gold and quoted and not gold & quoted)


@official_metrics.register("accuracy")
def _accuracy(rows: ScoredRows) -> tuple[MetricValue, ...]:
    return (accuracy_with_interval(rows),)


@official_metrics.register("macro-f1")
def _macro_f1(rows: ScoredRows) -> tuple[MetricValue, ...]:
    classes = class_scores(confusion(rows.gold, rows.predicted, labels=rows.labels))
    by_class = (score.f1.model_copy(update={"name": f"f1 {score.label}"}) for score in classes if score.support)
    return (macro_f1_with_interval(rows), *by_class)


@official_metrics.register("fever")
def _fever(rows: ScoredRows) -> tuple[MetricValue, ...]:
    groups, found, reduced = _evidence(rows)
    return _figures(fever(rows.gold, rows.predicted, groups, found, _not_enough(rows)), rows, reduced)


@official_metrics.register("feverous")
def _feverous(rows: ScoredRows) -> tuple[MetricValue, ...]:
    groups, found, reduced = _evidence(rows)
    return _figures(feverous(rows.gold, rows.predicted, groups, found), rows, reduced)


@official_metrics.register("hover")
def _hover(rows: ScoredRows) -> tuple[MetricValue, ...]:
    groups, found, reduced = _evidence(rows)
    facts = [[fact for group in claim for fact in group] for claim in groups]
    return _figures(hover(rows.gold, rows.predicted, facts, found), rows, reduced)


@official_metrics.register("averitec")
def _averitec(rows: ScoredRows) -> tuple[MetricValue, ...]:
    """The quotations of a verdict are its evidence, like ``string_evidence`` in the official script."""
    quoted = ((quote.text for quote in verdict.quotes if quote.found) for verdict in rows.verdicts)
    found = [list(dict.fromkeys(texts)) for texts in quoted]
    gold = [[pair_text(*pair) for pair in example.answers] for example in rows.examples]
    scores = averitec(rows.gold, rows.predicted, found, gold)
    return (*_figures(scores, rows), macro_f1_with_interval(rows))


@official_metrics.register("scifact")
def _scifact(rows: ScoredRows) -> tuple[MetricValue, ...]:
    """A verdict predicts its label for each abstract that it quotes; a non-answer or not enough predicts nothing."""
    groups, found, reduced = _evidence(rows)
    not_enough, gold, predicted = _not_enough(rows), [], []
    for label, claim in zip(rows.gold, groups, strict=True):
        gold.append([] if label == not_enough else _gold_abstracts(claim, label))
    for said, places in zip(rows.predicted, found, strict=True):
        predicted.append([] if said in (None, not_enough) else _predicted_abstracts(places, str(said)))
    figures = tuple(figure for name, figure in scifact(gold, predicted).items() if name.endswith("-f1"))
    if _is_other_corpus(rows):
        return tuple(undefined(figure.name, _OTHER_NAMES, n=figure.n) for figure in figures)
    if not reduced:
        return figures
    return (figures[0], *(undefined(figure.name, reduced, n=figure.n) for figure in figures[1:]))


def _gold_abstracts(groups: Groups, label: str) -> list[GoldAbstract]:
    rationales: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for group in groups:
        for document in dict.fromkeys(name for name, _ in group):
            rationales[document].append(tuple(element for name, element in group if name == document))
    return [GoldAbstract(document=name, label=label, rationales=tuple(parts)) for name, parts in rationales.items()]


def _predicted_abstracts(places: Sequence[Element], label: str) -> list[PredictedAbstract]:
    sentences: dict[str, list[str]] = defaultdict(list)
    for document, element in places:
        sentences[document] += [element] if element else []
    return [PredictedAbstract(document=name, label=label, sentences=tuple(ids)) for name, ids in sentences.items()]
