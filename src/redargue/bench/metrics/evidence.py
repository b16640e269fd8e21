"""Metrics of evidence: those of FEVER, FEVEROUS, HoVer, SciFact and AVeriTeC, and ranking metrics.

FEVER and FEVEROUS, as sheffieldnlp/fever-scorer@4801615 and Raldir/FEVEROUS@32b68ce compute them: the score is the
share of claims with the correct label and one whole gold group among the predicted elements that count. Evidence
precision and recall are means over the claims that have evidence: the share of predicted elements that are in any gold
group (1 without a prediction), and whether one group is covered. If no claim has evidence, they are undefined; FEVER's
script reports precision 1 and recall 0. FEVER requires no evidence for NOT ENOUGH INFO claims and leaves them out of
the means; FEVEROUS, whose elements are sentences and parts of tables, requires and counts it for all claims.

HoVer, as in the paper (Jiang et al. 2020, §5), because the repository (hover-nlp/hover@39b8469) has no script for it:
the score requires the correct label, and a retrieved supporting sentence from every supporting document. ``all-facts``
requires the label and every supporting fact; ``every-document`` ignores the label.

SciFact, as allenai/scifact@68b98a5 and its leaderboard's allenai/scifact-evaluator compute them: a predicted abstract
is correct if it is gold with that label (label only), and if its first three predicted sentences also include one whole
gold rationale (label and rationale). A predicted sentence is correct if it belongs to a gold rationale that was
predicted whole (selection), and if the abstract's label is also correct (selection and label). Counts are summed over
all claims before precision, recall and F1.

AVeriTeC's metrics, as MichSchli/AVeriTeC@7c62d1e computes them.

Predicted and gold question-answer pairs, written as "question answer", are compared with METEOR (Lavie and Agarwal
2007). A claim's evidence score is the total of the best one-to-one assignment of predicted to gold pairs, divided by
the number of gold pairs. The AVeriTeC score is the share of claims that have the correct label and an evidence score
above a threshold (officially 0.25).

The official script tokenizes with ``nltk.word_tokenize`` and matches WordNet synonyms, which need nltk's data (``python
-m nltk.downloader wordnet punkt_tab``). Without that data, only equal words and equal stems match, and syntok replaces
Punkt as the sentence splitter; figures are then usually slightly lower, and their names end in a suffix.

Ranking metrics are means over the queries that have a relevant document. A repeated document counts at its first rank.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from redargue.bench import bench_extra
from redargue.bench.metrics import MetricValue, OfficialScores, f1_score, mean, ratio, same_length, undefined
from redargue.bench.metrics.classification import Predictions, correct_items
from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.retrieval.corpus.documents import sentence_spans

Element = tuple[str, str]
"""A document and its part, as in ``GoldEvidence``."""
Groups = Sequence[Sequence[Element]]
"""Gold groups of one claim, each sufficient."""
Found = Sequence[Sequence[Element]]
"""The predicted elements of each claim, best first."""

NOT_ENOUGH = "NOT ENOUGH INFO"
_LIMIT, _CELL_LIMIT = 5, 25
_CELL_LIKE = ("cell_", "item_", "table_caption_", "header_cell_")


def _evidence_scores(
    name: str, gold: Sequence[str], predicted: Predictions, groups: Sequence[Groups], found: Found, not_enough: str = ""
) -> OfficialScores:
    """Scores of labels and evidence; F1 is computed from the mean precision and the mean recall."""
    same_length(gold=gold, predicted=predicted, groups=groups, predicted_evidence=found)
    empty = "no claim has gold evidence"
    hits = correct_items(gold, predicted)
    items, precisions, recalls = [], [], []
    for hit, label, of_claim, elements in zip(hits, gold, groups, found, strict=True):
        covered = any(set(elements).issuperset(group) for group in of_claim)
        items.append(hit and (label == not_enough or covered))
        if label != not_enough:
            relevant = {element for group in of_claim for element in group}
            precisions.append(sum(element in relevant for element in elements) / len(elements) if elements else 1.0)
            recalls.append(covered or not of_claim)
    precision = mean("evidence-precision", precisions, empty=empty)
    recall = mean("evidence-recall", recalls, empty=empty)
    f1 = undefined("evidence-f1", empty)
    if precision.value is not None and recall.value is not None:
        f1 = MetricValue(name="evidence-f1", value=f1_score(precision.value, recall.value), n=precision.n)
    figures = (mean(name, items), mean("label-accuracy", hits), precision, recall, f1)
    return OfficialScores(figures=figures, items=tuple(items))


def fever(
    gold: Sequence[str], predicted: Predictions, groups: Sequence[Groups], found: Found, not_enough: str = NOT_ENOUGH
) -> OfficialScores:
    """FEVER score, label accuracy, evidence precision, recall and F1; the first five (page, sentence) pairs count."""
    cut = [elements[:_LIMIT] for elements in found]
    return _evidence_scores("fever-score", gold, predicted, groups, cut, not_enough)


def limit_elements(found: Sequence[Element]) -> tuple[Element, ...]:
    """The elements that FEVEROUS counts: the first 25 cells, items, captions and header cells, and 5 of all others."""
    counted: list[Element] = []
    room = {True: _CELL_LIMIT, False: _LIMIT}
    for element in found:
        is_cell = element[1].startswith(_CELL_LIKE)
        if room[is_cell] > 0:
            room[is_cell] -= 1
            counted.append(element)
    return tuple(counted)


def feverous(gold: Sequence[str], predicted: Predictions, groups: Sequence[Groups], found: Found) -> OfficialScores:
    """FEVEROUS score, label accuracy, evidence precision, recall and F1; elements have names like ``cell_0_2_1``."""
    return _evidence_scores("feverous-score", gold, predicted, groups, list(map(limit_elements, found)))


def hover(gold: Sequence[str], predicted: Predictions, facts: Found, found: Found) -> OfficialScores:
    """HoVer score, label accuracy and scores of evidence; evidence consists of (title, sentence) pairs."""
    same_length(gold=gold, predicted=predicted, facts=facts, predicted_evidence=found)
    hits = correct_items(gold, predicted)
    missing = [set(needed).difference(elements) for needed, elements in zip(facts, found, strict=True)]
    documents = [
        {document for document, _ in needed} == {document for document, _ in set(needed) - lacking}
        for needed, lacking in zip(facts, missing, strict=True)
    ]
    items = tuple(hit and reached for hit, reached in zip(hits, documents, strict=True))
    all_facts = mean("all-facts", (hit and not lacking for hit, lacking in zip(hits, missing, strict=True)))
    figures = (mean("hover-score", items), mean("label-accuracy", hits), all_facts, mean("every-document", documents))
    return OfficialScores(figures=figures, items=items)


_MOST_RATIONALE_SENTENCES = 3


class GoldAbstract(Frozen):
    """A gold abstract of one claim, with its label and rationales, each sufficient."""

    document: str
    label: str
    rationales: tuple[tuple[str, ...], ...]


class PredictedAbstract(Frozen):
    """A predicted abstract of one claim; abstracts that say nothing about the claim are omitted."""

    document: str
    label: str
    sentences: tuple[str, ...] = ()


def scifact(
    gold: Sequence[Sequence[GoldAbstract]], predicted: Sequence[Sequence[PredictedAbstract]]
) -> dict[str, MetricValue]:
    """The 12 metrics by name, from the gold and predicted abstracts of each claim."""
    same_length(gold=gold, predicted=predicted)
    right: Counter[str] = Counter()
    for claim, (gold_abstracts, predicted_abstracts) in enumerate(zip(gold, predicted, strict=True), start=1):
        for side in (gold_abstracts, predicted_abstracts):
            if len({abstract.document for abstract in side}) < len(side):
                raise UsageError("an abstract is listed twice", where=f"claim {claim}", hint="merge its sentences")
        by_document = {abstract.document: abstract for abstract in gold_abstracts}
        for abstract in predicted_abstracts:
            truth = by_document.get(abstract.document)
            if truth is None:
                continue
            whole = (rationale for rationale in truth.rationales if set(abstract.sentences).issuperset(rationale))
            covered = len(set().union(*whole))
            right["selection"] += covered
            if abstract.label == truth.label:
                first = set(abstract.sentences[:_MOST_RATIONALE_SENTENCES])
                right["label"] += 1
                right["rationale"] += any(first.issuperset(rationale) for rationale in truth.rationales)
                right["both"] += covered
    abstracts = sum(map(len, predicted)), sum(map(len, gold))
    sentences = (
        sum(len(abstract.sentences) for of_claim in predicted for abstract in of_claim),
        sum(len(part) for of_claim in gold for abstract in of_claim for part in abstract.rationales),
    )
    nothing = "nothing was predicted and nothing is gold"
    figures = []
    for name, correct, retrieved, relevant in (
        ("abstract-label-only", right["label"], *abstracts),
        ("abstract-rationalized", right["rationale"], *abstracts),
        ("sentence-selection", right["selection"], *sentences),
        ("sentence-label", right["both"], *sentences),
    ):
        figures += [
            ratio(f"{name}-precision", correct, retrieved, empty="nothing was predicted"),
            ratio(f"{name}-recall", correct, relevant, empty="nothing is gold"),
            ratio(f"{name}-f1", 2 * correct, retrieved + relevant, empty=nothing),  # 2PR / (P + R)
        ]
    return {figure.name: figure for figure in figures}


_THRESHOLDS = (0.1, 0.2, 0.25, 0.3, 0.4, 0.5)
_OFFICIAL_THRESHOLD = 0.25
PAIRS = 10  # predicted pairs per claim; further ones are ignored

NO_WORDNET = SimpleNamespace(synsets=lambda word: ())
"""Replaces nltk's WordNet reader; finds no synonyms."""


class Meteor(Frozen):
    """An implementation of METEOR."""

    score: Callable[[str, str], float]  # of a candidate and a reference, in [0, 1)
    suffix: str  # ends the names of its figures; empty for the official implementation


@lru_cache(maxsize=1)
def _stemmer() -> SimpleNamespace:
    with bench_extra():
        from nltk.stem.porter import PorterStemmer
    return SimpleNamespace(stem=lru_cache(maxsize=16384)(PorterStemmer().stem))


def meteor_of_words(candidate: Sequence[str], reference: Sequence[str], *, wordnet: Any) -> float:
    """Returns METEOR of two sequences of words; ``wordnet`` needs only the method ``synsets``."""
    with bench_extra():
        from nltk.translate.meteor_score import single_meteor_score
    return float(single_meteor_score(reference, candidate, stemmer=_stemmer(), wordnet=wordnet))


@lru_cache(maxsize=4096)
def meteor_words(text: str) -> tuple[str, ...]:
    """Splits a text into words by nltk's Treebank rules, after syntok has split it into sentences."""
    with bench_extra():
        from nltk.tokenize import NLTKWordTokenizer
    tokenizer = NLTKWordTokenizer()
    return tuple(word for start, end in sentence_spans(text) for word in tokenizer.tokenize(text[start:end]))


@lru_cache(maxsize=4096)
def _punkt_words(text: str) -> tuple[str, ...]:
    with bench_extra():
        from nltk.tokenize import word_tokenize
    return tuple(word_tokenize(text))


def meteor_without_wordnet(candidate: str, reference: str) -> float:
    """Returns METEOR of two texts by equal words and stems; needs no data."""
    return meteor_of_words(meteor_words(candidate), meteor_words(reference), wordnet=NO_WORDNET)


def official_meteor(candidate: str, reference: str) -> float:
    """Returns METEOR of two texts as AVeriTeC's script computes it; raises LookupError without nltk's data."""
    with bench_extra():
        from nltk.corpus import wordnet
    return meteor_of_words(_punkt_words(candidate), _punkt_words(reference), wordnet=wordnet)


@lru_cache(maxsize=1)
def installed_meteor() -> Meteor:
    """Returns the official implementation if its data is installed, otherwise the one without WordNet."""
    try:
        official_meteor("A probe. The dog.", "A sample. The hound.")
    except LookupError:
        return Meteor(score=meteor_without_wordnet, suffix="-without-wordnet")
    return Meteor(score=official_meteor, suffix="")


def pair_text(question: str, answer: str, explanation: str = "") -> str:
    """Returns a question-answer pair as one text; the explanation of a boolean answer is appended."""
    return f"{question} {answer}. {explanation}" if explanation else f"{question} {answer}"


def hungarian(
    predicted_evidence: Sequence[str], gold: Sequence[str], *, limit: int = PAIRS, meteor: Meteor | None = None
) -> float | None:
    """Returns the total of the best one-to-one assignment, divided by the number of gold texts; None without any.

    The first ``limit`` predicted texts count; ``meteor`` is by default the installed implementation.
    """
    if not gold:
        return None
    if not predicted_evidence:
        return 0.0
    pairwise = (meteor or installed_meteor()).score
    with bench_extra():
        from scipy.optimize import linear_sum_assignment
    scores = np.array([[pairwise(text, truth) for truth in gold] for text in predicted_evidence[:limit]])
    return float(scores[linear_sum_assignment(scores, maximize=True)].sum()) / len(gold)


def averitec(
    gold: Sequence[str],
    predicted: Sequence[str | None],
    predicted_evidence: Sequence[Sequence[str]],
    pairs: Sequence[Sequence[str]],
    *,
    meteor: Meteor | None = None,
) -> OfficialScores:
    """Returns the AVeriTeC score, Hungarian METEOR, label accuracy, and the score at every reported threshold.

    ``predicted_evidence`` and ``pairs`` are the predicted and the gold texts (see :func:`pair_text`) of each claim; a
    claim without gold texts counts only in the label accuracy.
    """
    same_length(gold=gold, predicted=predicted, predicted_evidence=predicted_evidence, pairs=pairs)
    meteor = meteor or installed_meteor()
    suffix = meteor.suffix
    hits = correct_items(gold, predicted)
    scored = [
        (hit, score)
        for hit, texts, truths in zip(hits, predicted_evidence, pairs, strict=True)
        if (score := hungarian(texts, truths, meteor=meteor)) is not None
    ]
    empty = "no claim has gold question-answer pairs"
    correct = {threshold: [hit and score > threshold for hit, score in scored] for threshold in _THRESHOLDS}
    return OfficialScores(
        figures=(
            mean(f"averitec-score{suffix}", correct[_OFFICIAL_THRESHOLD], empty=empty),
            mean(f"hungarian-meteor{suffix}", (score for _, score in scored), empty=empty),
            mean("label-accuracy", hits),
            *(mean(f"averitec-score@{at}{suffix}", flags, empty=empty) for at, flags in correct.items()),
        ),
        items=tuple(correct[_OFFICIAL_THRESHOLD]),
    )


Rankings = Sequence[Sequence[str]]
"""Document names of each query, best first."""

_EMPTY = "no query has a relevant document"


def _queries(rankings: Rankings, relevant: Sequence[Set[str]]) -> Iterable[tuple[list[str], Set[str]]]:
    same_length(rankings=rankings, relevant=relevant)
    return [(list(dict.fromkeys(ranked)), gold) for ranked, gold in zip(rankings, relevant, strict=True) if gold]


def hit_rate(rankings: Rankings, relevant: Sequence[Set[str]], *, k: int) -> MetricValue:
    """The share of queries with a relevant document among the first ``k``."""
    hits = (not gold.isdisjoint(ranked[:k]) for ranked, gold in _queries(rankings, relevant))
    return mean(f"hit@{k}", hits, empty=_EMPTY)


def recall(rankings: Rankings, relevant: Sequence[Set[str]], *, k: int) -> MetricValue:
    """The share of a query's relevant documents among the first ``k``."""
    shares = (len(gold & set(ranked[:k])) / len(gold) for ranked, gold in _queries(rankings, relevant))
    return mean(f"recall@{k}", shares, empty=_EMPTY)


def reciprocal_rank(rankings: Rankings, relevant: Sequence[Set[str]]) -> MetricValue:
    """One over the rank of the first relevant document; 0 without one."""
    ranks = (
        next((1 / rank for rank, document in enumerate(ranked, start=1) if document in gold), 0.0)
        for ranked, gold in _queries(rankings, relevant)
    )
    return mean("mrr", ranks, empty=_EMPTY)


def dcg(documents: Sequence[str], grades: Mapping[str, float], *, k: int) -> float:
    """Discounted cumulative gain: each grade over log2(rank + 1)."""
    return math.fsum(
        grades.get(document, 0.0) / math.log2(rank + 1) for rank, document in enumerate(documents[:k], start=1)
    )


def ndcg(rankings: Rankings, grades: Sequence[Mapping[str, float]], *, k: int) -> MetricValue:
    """Normalised discounted cumulative gain (Järvelin and Kekäläinen 2002, linear gain) at rank ``k``.

    ``grades`` gives the relevance of each query's documents, at least 0; documents without a grade have 0.
    """
    positive = [{name: grade for name, grade in of_query.items() if grade > 0} for of_query in grades]
    by_query = zip(_queries(rankings, list(map(set, positive))), filter(None, positive), strict=True)
    shares = (
        dcg(ranked, of_query, k=k) / dcg(sorted(of_query, key=of_query.__getitem__, reverse=True), of_query, k=k)
        for (ranked, _), of_query in by_query
    )
    return mean(f"ndcg@{k}", shares, empty=_EMPTY)
