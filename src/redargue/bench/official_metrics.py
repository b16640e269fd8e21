"""The official metric of each data set, by the name that the data set gives (``Dataset.metric``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redargue.bench.datasets.base import Example
from redargue.bench.metrics.averitec import averitec, pair_text
from redargue.bench.metrics.base import Figure, undefined
from redargue.bench.metrics.classification import accuracy, class_scores, confusion, macro_f1, right
from redargue.bench.metrics.fever import NOT_ENOUGH, Element, Groups, fever
from redargue.bench.metrics.feverous import feverous
from redargue.bench.metrics.hover import hover
from redargue.bench.metrics.scifact import GoldAbstract, SaidAbstract, scifact
from redargue.bench.statistics.bootstrap import DRAWS, Interval, interval, macro_f1_interval
from redargue.claims import Meaning
from redargue.registry import Registry
from redargue.verdicts import Verdict


@dataclass(frozen=True)
class Rows:
    """Examples with a gold label, and what was said of them.

    Attributes:
        examples: the rows.
        verdicts: of each.
        gold: gold labels.
        said: predicted labels; None for a non-answer.
        predicted: where each verdict's found quotations stand, each place once, in the verdict's order.
        labels: all labels that may stand there; empty for free text.
        averaged: those that are some row's gold label: over them F1 is averaged.
        whole_documents: whether those places name documents alone.
        draws: samples of the bootstrap intervals.
        seed: of those samples.
    """

    examples: tuple[Example, ...]
    verdicts: tuple[Verdict, ...]
    gold: tuple[str, ...]
    said: tuple[str | None, ...]
    predicted: tuple[tuple[Element, ...], ...]
    labels: tuple[str, ...]
    averaged: tuple[str, ...]
    whole_documents: bool
    draws: int = DRAWS
    seed: int = 0


Official = Callable[[Rows], tuple[Figure, ...]]
official: Registry[Official] = Registry("metric")

ONLY_DOCUMENTS = (
    "the quotations name documents, not the parts that gold evidence names; --pages finds those of fever and scifact"
)
OTHER_NAMES = (
    "no quotation comes from a document that gold evidence names: the corpus lacks them, or names them otherwise"
)
ONLY_PAGES = "gold evidence names documents, not their parts"


def _not_enough(rows: Rows) -> str:
    named = rows.examples[0].claim.labels.named(Meaning.NOT_ENOUGH) if rows.examples else None
    return named or NOT_ENOUGH


def _evidence(rows: Rows) -> tuple[list[Groups], Sequence[Sequence[Element]], str]:
    """Gold groups, predicted elements, and why both had to be cut down to documents; empty where they had not."""
    groups: list[Groups] = [
        [[(each.document, each.element) for each in group] for group in example.evidence] for example in rows.examples
    ]
    parts = any(element for claim in groups for group in claim for _, element in group)
    named = any(claim for claim in groups)
    if (parts or not named) and not rows.whole_documents:
        return groups, rows.predicted, ""
    by_document: list[Groups] = [[[(name, "") for name, _ in group] for group in claim] for claim in groups]
    predicted = [list(dict.fromkeys((name, "") for name, _ in each)) for each in rows.predicted]
    return by_document, predicted, ONLY_DOCUMENTS if parts else ONLY_PAGES


def with_bounds(figure: Figure, bounds: Interval) -> Figure:
    """The figure with its interval."""
    return figure.model_copy(update={"low": bounds.low, "high": bounds.high})


def mean_f1(rows: Rows) -> Figure:
    """Macro-F1 over the labels that some row has, with its interval."""
    score = macro_f1(rows.gold, rows.said, labels=rows.labels, over=rows.averaged)
    bounds = macro_f1_interval(
        rows.gold, rows.said, labels=rows.labels, over=rows.averaged, draws=rows.draws, seed=rows.seed
    )
    return with_bounds(score, bounds)


def _scored(figures: Sequence[Figure], items: Sequence[bool], rows: Rows) -> tuple[Figure, ...]:
    """The figures, the first with its interval."""
    return (with_bounds(figures[0], interval(items, draws=rows.draws, seed=rows.seed)), *figures[1:])


def _named(figures: Sequence[Figure], whole: str, rows: Rows) -> tuple[Figure, ...]:
    """The figures as they are; of whole documents, renamed, behind the official ones without a value."""
    if not whole:
        return tuple(figures)
    of_labels = [figure for figure in figures if figure.name == "label-accuracy"]
    rest = [figure for figure in figures if figure.name != "label-accuracy"]
    blank = [undefined(figure.name, whole, n=figure.n) for figure in rest]
    renamed = [figure.model_copy(update={"name": f"{figure.name}-by-document"}) for figure in rest]
    if _strange(rows):
        renamed = [undefined(figure.name, OTHER_NAMES, n=figure.n) for figure in renamed]
    return (*blank, *of_labels, *renamed)


def _strange(rows: Rows) -> bool:
    """Whether no quoted document is a gold one: the corpus is another, and 0 would be no result."""
    gold = {each.document for example in rows.examples for group in example.evidence for each in group}
    quoted = {name for predicted in rows.predicted for name, _ in predicted}
    return bool(gold and quoted and not gold & quoted)


@official.register("accuracy")
def _accuracy(rows: Rows) -> tuple[Figure, ...]:
    hits = right(rows.gold, rows.said)
    return (with_bounds(accuracy(rows.gold, rows.said), interval(hits, draws=rows.draws, seed=rows.seed)),)


@official.register("macro-f1")
def _macro_f1(rows: Rows) -> tuple[Figure, ...]:
    """Macro-F1 and the F1 of each class behind it."""
    classes = class_scores(confusion(rows.gold, rows.said, labels=rows.labels))
    each = (score.f1.model_copy(update={"name": f"f1 {score.label}"}) for score in classes if score.support)
    return (mean_f1(rows), *each)


@official.register("fever")
def _fever(rows: Rows) -> tuple[Figure, ...]:
    groups, predicted, whole = _evidence(rows)
    scores = fever(rows.gold, rows.said, groups, predicted, not_enough=_not_enough(rows))
    return _named(_scored(scores.figures, scores.items, rows), whole, rows)


@official.register("feverous")
def _feverous(rows: Rows) -> tuple[Figure, ...]:
    groups, predicted, whole = _evidence(rows)
    scores = feverous(rows.gold, rows.said, groups, predicted)
    return _named(_scored(scores.figures, scores.items, rows), whole, rows)


@official.register("hover")
def _hover(rows: Rows) -> tuple[Figure, ...]:
    groups, predicted, whole = _evidence(rows)
    facts = [[fact for group in claim for fact in group] for claim in groups]
    scores = hover(rows.gold, rows.said, facts, predicted)
    return _named(_scored(scores.figures, scores.items, rows), whole, rows)


@official.register("averitec")
def _averitec(rows: Rows) -> tuple[Figure, ...]:
    """A verdict's quotations are its evidence, as the official script's ``string_evidence``."""
    predicted = [
        list(dict.fromkeys(quote.text for quote in verdict.quotes if quote.found)) for verdict in rows.verdicts
    ]
    gold = [[pair_text(*pair) for pair in example.answers] for example in rows.examples]
    scores = averitec(rows.gold, rows.said, predicted, gold)
    return (*_scored(scores.figures, scores.items, rows), mean_f1(rows))


@official.register("scifact")
def _scifact(rows: Rows) -> tuple[Figure, ...]:
    """A verdict's label is taken for each abstract that it quotes; one without an answer or evidence predicts none."""
    groups, predicted, whole = _evidence(rows)
    silent = {None, _not_enough(rows)}
    gold = [
        [] if label in silent else _gold_abstracts(claim, label) for label, claim in zip(rows.gold, groups, strict=True)
    ]
    said = [
        [] if label is None or label in silent else _said_abstracts(places, label)
        for label, places in zip(rows.said, predicted, strict=True)
    ]
    figures = scifact(gold, said).figures
    if _strange(rows):
        return tuple(undefined(figure.name, OTHER_NAMES, n=figure.n) for figure in figures)
    if not whole:
        return figures
    return (figures[0], *(undefined(figure.name, whole, n=figure.n) for figure in figures[1:]))


def _gold_abstracts(groups: Groups, label: str) -> list[GoldAbstract]:
    rationales: dict[str, list[tuple[str, ...]]] = {}
    for group in groups:
        for document in dict.fromkeys(name for name, _ in group):
            part = tuple(element for name, element in group if name == document)
            rationales.setdefault(document, []).append(part)
    return [GoldAbstract(document=name, label=label, rationales=tuple(each)) for name, each in rationales.items()]


def _said_abstracts(places: Sequence[Element], label: str) -> list[SaidAbstract]:
    sentences: dict[str, list[str]] = {}
    for document, element in places:
        sentences.setdefault(document, []).extend([element] if element else [])
    return [SaidAbstract(document=name, label=label, sentences=tuple(each)) for name, each in sentences.items()]
