"""Reads passages with the embedder and the cross-encoder: sentences that support or refute a claim.

A passage is split into sentences. The cross-encoder reads the sentences nearest to the claim, alone and with the
sentence before, each after the passage's title; then the passage's three nearest sentences as one text, and the nearest
sentences of two passages as one text. :mod:`redargue.nli.aggregation` combines the scores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial, reduce
from itertools import pairwise
from typing import Literal, NamedTuple

from redargue.caveats import Difference
from redargue.claims import FEVER, LabelSet, Meaning
from redargue.evidence import Passage, distinct_passages
from redargue.nli import lexical
from redargue.nli.aggregation import (
    FAR,
    MIN_CONFIDENCE,
    MIN_SIGNAL,
    NO_SIGNAL,
    UNDECIDED,
    WEIGHTS,
    SourceScore,
    Weights,
    aggregation_features,
    by_coverage,
    by_nearness,
    conflict,
    first_of_sources,
    max_score,
    probabilities,
    source_scores,
    with_parts,
)
from redargue.nli.alignment import (
    Parsed,
    counts_something_else,
    gives_another_value,
    in_terms_of,
    lexical_coverage,
    parsed,
)
from redargue.nli.binding import misplaced
from redargue.nli.consistency import asserted_text, check_consistency, only_framed, only_planned, withdrawn
from redargue.nli.edits import related
from redargue.nli.facts import is_of_another, is_row, rival_subject, rows_of_others
from redargue.nli.roles import (
    denies_opposite,
    exchanges_phrases,
    is_of_somebody_else,
    limits_another,
    restated,
    turned,
)
from redargue.nli.session import Embedder, Entailment, EntailmentModel
from redargue.retrieval.corpus.documents import headings_in, sentence_starts

SENTENCES = 4  # read per passage
IN_SHORT = 4  # of them, read as one text
NUMBERS = 0.3  # of nearness, for a sentence with all numbers of the claim
SHOWN = 0.5  # strength above which a text shows a side: without one there is nothing to quote
CELL = 2  # words of a table's cell, which says nothing by itself
RELEVANT = 0.5  # probability that a sentence decides the claim either way
_DECIDED = (Meaning.SUPPORTED, Meaning.REFUTED)
COPIED = Entailment(0.98, 0.01, 0.01)  # of 3,000 copied sentences and their contexts, none was refuted
_UNREAD = Entailment(0.0, 0.0, 1.0)
PASSAGE = 10_000  # characters; thousands of whole documents are not kept in memory
SpanKind = Literal["sentence", "passage", "joined", "window", "skimmed"]
_NOT_SHOWN = ("window", "skimmed")


@dataclass(frozen=True)
class SourcedSentence:
    """A verbatim sentence and the passage that contains it."""

    quote: str
    passage: Passage


class Candidate(NamedTuple):
    """A text to read.

    Attributes:
        kind: a sentence, a shortened passage, the joined sentences of two passages, a sentence among its neighbours
            (which is not quoted), or a sentence that only the small model has read although there is a large one.
        cited: the sentence to quote; of joined passages one sentence each.
        before: the sentence before, where the text begins with it.
    """

    kind: SpanKind
    cited: tuple[SourcedSentence, ...]
    text: str
    before: SourcedSentence | None = None


def _in_terms_of(candidate: Candidate, claim: str) -> str:
    documents = dict.fromkeys(each.passage.text for each in candidate.cited)
    return in_terms_of(candidate.text, claim, "\n".join(documents))


@dataclass(frozen=True)
class ScoredSpan:
    """A text near the claim, with what the model says about it; :data:`_UNREAD` if it is too far to count.

    Attributes:
        nearness: cosine of the text to the claim, in [-1, 1].
        relevance: the probability that the text decides the claim at all, in [0, 1].
        before: as in :class:`Candidate`.
        careful: whether the large model read it, which need not be told what is far.
        coverage: share of the claim's words and values that the text has, in [0, 1].
        differs: whether the text contradicts the claim in a named point.
    """

    cited: tuple[SourcedSentence, ...]
    nearness: float
    judgement: Entailment
    kind: SpanKind = "sentence"
    relevance: float = 0.0
    before: SourcedSentence | None = None
    careful: bool = False
    coverage: float = 1.0
    differs: bool = False

    def strength(self, meaning: Meaning) -> float:
        probability = self.judgement.refutes if meaning is Meaning.REFUTED else self.judgement.supports
        if self.careful:
            return probability
        probability = by_nearness(probability, self.nearness)
        return by_coverage(probability, self.coverage) if meaning is Meaning.REFUTED else probability

    @property
    def scores(self) -> SourceScore:
        return SourceScore(*map(self.strength, _DECIDED))


class _Comparison(NamedTuple):
    """A sentence that repeats the claim word for word, or contradicts it in the named points."""

    sentence: SourcedSentence
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Reading:
    """What passages say about a claim.

    Attributes:
        read_spans: reads with the models, which takes most of a check's time: called only where the spans matter.
        compare_words: gives the highest probability of each side by words alone, over the passages.
        comparisons: at most one of each passage.
        least: probability of a side, in [0, 1], below which a claim is left open.
        statement: what was read: a claim, or a part of it.
        read_parts: reads the parts of a claim that joins several facts, each as a claim of its own.
        complete: whether the claim says nothing beside its parts.
    """

    read_spans: Callable[[], tuple[ScoredSpan, ...]]
    compare_words: Callable[[], SourceScore]
    weights: Weights = WEIGHTS
    comparisons: tuple[_Comparison, ...] = ()
    least: float = MIN_CONFIDENCE
    statement: str = ""
    read_parts: Callable[[], tuple[Reading, ...]] = tuple
    complete: bool = True

    @cached_property
    def parts(self) -> tuple[Reading, ...]:
        return self.read_parts()

    @cached_property
    def said_of_parts(self) -> tuple[Meaning, ...]:
        """What the passages say of each part by itself."""
        return tuple(FEVER.meaning(part.label(FEVER) or "") for part in self.parts)

    @cached_property
    def spans(self) -> tuple[ScoredSpan, ...]:
        return self.read_spans()

    @cached_property
    def lexical(self) -> SourceScore:
        return self.compare_words()

    @cached_property
    def copy(self) -> SourcedSentence | None:
        """The sentence that repeats the claim, unless another passage contradicts it."""
        if not self.comparisons or any(each.differences for each in self.comparisons):
            return None
        return self.comparisons[0].sentence

    @cached_property
    def contradiction(self) -> _Comparison | None:
        """The first sentence that contradicts the claim in a named point, unless another passage repeats it."""
        contradicted = self.comparisons and all(each.differences for each in self.comparisons)
        return self.comparisons[0] if contradicted else None

    @cached_property
    def source_scores(self) -> tuple[SourceScore, ...]:
        """The maximum sentence-level score of each independent source."""
        return self._scores_of("sentence", "joined") if self._careful else self._scores_of("sentence")

    @property
    def _careful(self) -> bool:
        return any(span.careful for span in self.spans)

    def _scores_of(self, *kinds: SpanKind) -> tuple[SourceScore, ...]:
        scores = [(span.cited[0].passage, span.scores) for span in self.spans if span.kind in kinds]
        return source_scores(scores)

    def strongest(self, meaning: Meaning) -> float:
        """The strength of what may be quoted, in [0, 1]: the strongest span, or one of each part; 0 if nothing is.

        All parts have to be supported; one that is refuted is enough.
        """
        if meaning is Meaning.SUPPORTED and self.copy:
            return COPIED.supports
        alone = self._strongest_span(meaning)
        return min((part.strongest(meaning) for part in self._telling_parts(meaning)), default=alone)

    def _strongest_span(self, meaning: Meaning) -> float:
        return max((span.strength(meaning) for span in self.spans if span.kind not in _NOT_SHOWN), default=0.0)

    def _telling_parts(self, meaning: Meaning) -> tuple[Reading, ...]:
        """The parts that show a side more strongly than any text shows it of the whole claim."""
        if not self.parts or meaning not in _DECIDED or self.copy or self.contradiction:
            return ()
        strengths = [part.strongest(meaning) for part in self.parts]
        if meaning is Meaning.SUPPORTED:
            strength, telling = min(strengths), self.parts if self.complete else ()
        else:
            strength = max(strengths)
            telling = (self.parts[strengths.index(strength)],)
        return telling if strength > self._strongest_span(meaning) else ()

    @property
    def features(self) -> tuple[float, ...]:
        if self._careful:  # two passages' sentences are a text like any other to the large model
            whole, joined = [span for span in self.spans if span.careful], []
        else:
            whole = [span for span in self.spans if span.kind == "passage"]
            joined = [span.scores for span in self.spans if span.kind == "joined"]
        return aggregation_features(
            self.source_scores,
            self._scores_of("passage", "window", "skimmed"),
            reduce(max_score, joined, NO_SIGNAL),
            max((span.relevance for span in whole), default=0.0),
            self.lexical,
            contradicted=self.contradiction is not None or any(span.differs for span in self.spans),
            window=self._window,
        )

    @property
    def _window(self) -> SourceScore | None:
        """What the most promising sentence says among its neighbours; of one without neighbours, nothing."""
        if not self._careful:
            return None
        return next((span.scores for span in self.spans if span.kind == "window"), UNDECIDED)

    def probabilities(self) -> Entailment:
        """Calibrated probabilities; a copy of the claim supports it, and a named contradiction excludes support."""
        if self.copy:
            return COPIED
        whole = probabilities(self.features, self.weights)
        if self.contradiction:
            _, refutes, neither = whole
            return Entailment(0.0, refutes / (refutes + neither), neither / (refutes + neither))
        if not self.parts:
            return whole
        return with_parts(whole, [part.probabilities() for part in self.parts], complete=self.complete)

    def best(self, meaning: Meaning, count: int) -> tuple[SourcedSentence, ...]:
        """The distinct sentences that express a decided meaning most strongly, or else those nearest to the claim.

        For support by a copy of the claim, that sentence alone; for what its parts show, the best sentence of each. Of
        an open claim, first what settles one of its parts.
        """
        if meaning is Meaning.SUPPORTED and self.copy:
            return (self.copy,)[:count]
        if meaning not in _DECIDED and self._of_settled_parts:
            return self._of_settled_parts[:count]
        if telling := self._telling_parts(meaning):
            shown = (sentence for part in telling for sentence in part.best(meaning, 1))
            return tuple(dict.fromkeys(shown))[: max(count, len(telling))]
        spans = [span for span in self.spans if span.kind in ("sentence", "joined")]  # what was read is quoted

        def says(span: ScoredSpan) -> float:
            if meaning in _DECIDED:
                return span.strength(meaning)
            return span.nearness + numbers_had(self.statement, span.cited[0].quote)

        alone = {span.cited[0].quote: says(span) for span in spans if span.kind == "sentence" and not span.before}
        order = sorted(spans, key=says, reverse=True)
        if meaning in _DECIDED:
            strong = [span for span in order if says(span) > SHOWN]
            # joined sentences are quoted only if none is strong alone: one of the two may say nothing about the claim
            order = [span for span in strong if span.kind == "sentence"] or strong or order[:1]
        by_quote: dict[str, SourcedSentence] = {}
        if meaning is Meaning.REFUTED and self.contradiction:
            by_quote[self.contradiction.sentence.quote] = self.contradiction.sentence
        for span in order:
            # of two sentences that were read as one text, the one that says more by itself is quoted
            first, cited = span.before, span.cited
            if first and alone.get(first.quote, 0.0) > alone.get(cited[0].quote, 0.0):
                cited = (first,)
            for sentence in cited:
                by_quote.setdefault(sentence.quote, sentence)
        return tuple(by_quote.values())[:count]

    @cached_property
    def _of_settled_parts(self) -> tuple[SourcedSentence, ...]:
        """The best sentence of each part that the passages settle."""
        said = zip(self.parts, self.said_of_parts, strict=True)
        found = [sentence for part, meaning in said if meaning in _DECIDED for sentence in part.best(meaning, 1)]
        return tuple(dict.fromkeys(found))

    def decisive(self, sentences: Sequence[SourcedSentence], meaning: Meaning) -> tuple[SourcedSentence, ...]:
        """Those of :meth:`best` that the decision rests on.

        A source counts with its strongest sentence, so for a decided meaning that is the first of each source. For an
        open claim it is what a search should have returned; nothing else is worth reading, nor a table's cell.
        """
        if meaning in _DECIDED:
            if self._telling_parts(meaning):
                return tuple(sentences)
            return tuple(sentences[index] for index in first_of_sources([each.passage for each in sentences]))
        spans = [span for span in self.spans if span.kind not in _NOT_SHOWN and span.relevance >= RELEVANT]
        relevant = {cited.quote for span in spans for cited in span.cited}
        relevant |= {sentence.quote for sentence in self._of_settled_parts}
        return tuple(each for each in sentences if each.quote in relevant and len(each.quote.split()) > CELL)

    def label(self, labels: LabelSet) -> str | None:
        """The most probable label; for conflicting sources the conflict label, if the set has one.

        Below ``least`` the claim is left open, and so is one that no text alone shows to be so. A set without a "not
        enough" label gets the more probable side, or None if no source gives a signal.
        """
        undecided, conflicting = labels.named(Meaning.NOT_ENOUGH), labels.named(Meaning.CONFLICTING)
        supports, refutes, neither = self.probabilities()
        if conflicting and not self.copy and conflict(self.source_scores):
            return conflicting
        if undecided and max(supports, refutes) < max(neither, self.least):
            return undecided
        likelier = Meaning.SUPPORTED if supports >= refutes else Meaning.REFUTED
        if undecided and not self.comparisons and self.strongest(likelier) <= min(SHOWN, self.least):
            return undecided
        if not (undecided or self.comparisons) and max(map(self.strongest, _DECIDED)) < MIN_SIGNAL:
            return None
        return labels.named(likelier)

    def confidence(self, labels: LabelSet, label: str | None) -> float | None:
        """The label's probability among the set's labels; None if the set has labels that were not calibrated."""
        offered = {label.meaning for label in labels.labels}
        if label is None or offered - {*_DECIDED, Meaning.NOT_ENOUGH}:
            return None
        by_meaning = dict(zip((*_DECIDED, Meaning.NOT_ENOUGH), self.probabilities(), strict=True))
        return round(by_meaning[labels.meaning(label)] / sum(by_meaning[meaning] for meaning in offered), 6)


class Reader:
    """Reads passages with the bundled embedder and an entailment model, by default the bundled one."""

    def __init__(
        self,
        embedder: Embedder,
        entailment: EntailmentModel,
        *,
        weights: Weights = WEIGHTS,
        least: float = MIN_CONFIDENCE,
    ) -> None:
        self._embedder, self._entailment = embedder, entailment
        self._weights, self._least = weights, least

    def read(self, claim: str, passages: Sequence[Passage]) -> Reading:
        candidates: list[Candidate] = []
        compared, comparisons, read = [], [], []
        for passage in distinct_passages(passages):
            texts, nearest = self._nearest(claim, passage)
            if not nearest:
                continue
            candidates += _candidates(passage, texts, nearest)
            near = [texts[i] for i in sorted(nearest)]
            read.append((passage, near))
            own = [text for text in near if not (only_framed(claim, text) or is_of_another(claim, text))]
            if asserted := [text for text in (asserted_text(claim, text) for text in own) if text]:
                compared.append((passage.title, asserted))
            if comparison := _compared(claim, texts, passage):
                comparisons.append(comparison)
        return Reading(
            read_spans=partial(self._spans, claim, candidates),
            compare_words=partial(_by_words, claim, compared),
            weights=self._weights,
            comparisons=tuple(each for each in comparisons if not _stated_elsewhere(claim, each, read)),
            least=self.least_for(passages),
            statement=claim,
        )

    def least_for(self, passages: Sequence[Passage]) -> float:
        """The probability of a side, in [0, 1], below which a claim beside these passages is left open."""
        return self._least

    def encoded_texts(self, passage: Passage) -> tuple[str, ...]:
        """The texts of a passage that are encoded whatever the claim is."""
        title = f"{passage.title}. " if passage.title else ""
        windows = (f"{title}{before} {text}" for before, text in pairwise(sentences(passage.text)))
        return (*encoded_alone(passage), *windows)

    def _spans(self, claim: str, candidates: Sequence[Candidate]) -> tuple[ScoredSpan, ...]:
        """Scores of the candidates, and of the nearest sentences of two passages as one text."""
        if not candidates:
            return ()
        nearness = self._nearness(claim, [candidate.text for candidate in candidates])
        order = sorted(range(len(candidates)), key=lambda i: -nearness[i])
        if joined := joined_candidate([candidates[i] for i in order if candidates[i].kind == "sentence"]):
            candidates = [*candidates, joined]
            nearness += self._nearness(claim, [joined.text])
        return self._judged(claim, candidates, nearness, self._entailment)

    def _judged(
        self, claim: str, candidates: Sequence[Candidate], nearness: Sequence[float], model: EntailmentModel
    ) -> tuple[ScoredSpan, ...]:
        """What a model says about the candidates."""
        # a far sentence has no strength, whatever the model would say; of a passage the relevance counts too
        near = [i for i, candidate in enumerate(candidates) if candidate.kind == "passage" or nearness[i] > FAR]
        pairs = [(_in_terms_of(candidates[i], claim), candidates[i].text) for i in near]
        asserted = [(own, asserted_text(claim, text) or text) for own, text in pairs]
        found = zip(near, model.read(asserted), model.relevance(pairs), strict=True)
        judged = {i: _as_asserted(claim, candidates[i].text, said, relevance) for i, said, relevance in found}
        spans = []
        for i, candidate in enumerate(candidates):
            judgement, relevance = judged.get(i, (_UNREAD, 0.0))
            had = lexical_coverage(parsed(claim), parsed(candidate.text))
            spans.append(
                ScoredSpan(
                    candidate.cited, nearness[i], judgement, candidate.kind, relevance, candidate.before, coverage=had
                )
            )
        return tuple(spans)

    def _nearness(self, claim: str, texts: Sequence[str]) -> list[float]:
        vectors = self._embedder.encode([claim, *texts])
        return [float(vectors[0] @ vector) for vector in vectors[1:]]

    def _nearest(self, claim: str, passage: Passage) -> tuple[tuple[str, ...], list[int]]:
        """A passage's sentences, and the places of those nearest to the claim, nearest first.

        Rows of a table about others than the claim names are left out, and what the text calls false.
        """
        texts = sentences(passage.text)
        left_out = rows_of_others(claim, texts) | withdrawn(texts)
        order = [i for i in range(len(texts)) if i not in left_out]
        if len(order) > 1:
            nearness = self._nearness(claim, texts)
            order.sort(key=lambda i: -nearness[i] - numbers_had(claim, texts[i]))
        return texts, order[:SENTENCES]


def numbers_had(claim: str, text: str) -> float:
    """How much nearer a text is for the numbers of the claim that it has: the rows of a table differ in little else."""
    numbers = _numbers(claim)
    return NUMBERS * len(numbers & _numbers(text)) / len(numbers) if numbers else 0.0


@lru_cache(maxsize=4096)
def _numbers(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\d+(?:[.,]\d+)*", re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)))


def _compared(claim: str, texts: Sequence[str], passage: Passage) -> _Comparison | None:
    """The sentence that repeats the claim or contradicts it; of a claim of several sentences, also one of them."""
    texts = [text for text in texts if not is_of_another(claim, text)]
    asserted = [asserted_text(claim, text) for text in texts]
    result = check_consistency(claim, asserted, passage.title)
    if result.sentence is None and len(parts := sentences(claim)) > 1:
        results = (check_consistency(part, asserted, passage.title) for part in parts)
        result = next((each for each in results if each.verdict == "contradicted"), result)
    if result.sentence is None or result.verdict not in ("supported", "contradicted"):
        return None
    return _Comparison(SourcedSentence(texts[result.sentence], passage), result.differences)


def _stated_elsewhere(claim: str, found: _Comparison, read: Sequence[tuple[Passage, Sequence[str]]]) -> bool:
    """Whether a row has another value than the claim, and another passage states the claim's: the models weigh both."""
    own, numbers = parsed(claim), [each.claim for each in found.differences if each.kind == "number"]
    values = [value for value in own.quantities if any(value.text in number for number in numbers)]
    if not values or not is_row(found.sentence.quote):
        return False
    elsewhere = (parsed(text) for passage, texts in read if passage is not found.sentence.passage for text in texts)
    return any(
        related(value, other) == "equal"
        for text in elsewhere
        if not is_row(text.text) or parsed(text.text.partition(";")[0].partition(": ")[2]).vocabulary <= own.vocabulary
        for value in values
        for other in text.quantities
    )


def _as_asserted(claim: str, text: str, judgement: Entailment, relevance: float) -> tuple[Entailment, float]:
    """The judgement, without support by a text that only says that someone claims, denies or plans it; the relevance.

    Nor does a text refute a claim by the number of something else, nor decide one about another numbered thing.
    """
    asserted = asserted_text(claim, text)
    framed, own, given = only_framed(claim, text), parsed(claim), parsed(asserted)
    if framed or asserted != text:  # it is about the claim, and decides nothing
        relevance = min(relevance, RELEVANT)
    if not asserted or is_of_another(claim, text):
        judgement = _UNREAD
    elif (
        counts_something_else(own, given)
        or rival_subject(claim, asserted)
        or (judgement.refutes > judgement.supports and restated(own, given))
    ):
        judgement = Entailment(judgement.supports, 0.0, judgement.refutes + judgement.neither)
    if framed or only_planned(claim, text) or _says_otherwise(own, given):
        judgement = without_support(judgement)
    return judgement, relevance


def _says_otherwise(claim: Parsed, text: Parsed) -> bool:
    """Whether a text has the claim's words and does not say what the claim does."""
    about_roles = (turned, denies_opposite, is_of_somebody_else, exchanges_phrases, limits_another)
    return any(says(claim, text) for says in (*about_roles, misplaced, gives_another_value))


def without_support(judgement: Entailment) -> Entailment:
    return Entailment(0.0, judgement.refutes, judgement.supports + judgement.neither)


def _by_words(claim: str, compared: Sequence[tuple[str, Sequence[str]]]) -> SourceScore:
    """The highest probability of each side; ``compared`` has each passage's title and nearest sentences."""
    return reduce(max_score, (_by_words_of(claim, title, texts) for title, texts in compared), NO_SIGNAL)


def _by_words_of(claim: str, title: str, texts: Sequence[str]) -> SourceScore:
    supports, refutes, _ = lexical.judge(claim, title, texts)
    own = parsed(claim)
    saying = [text for text in texts if not _says_otherwise(own, parsed(text))]
    if refutes > supports and any(restated(own, parsed(text)) for text in texts):
        refutes = 0.0
    elif len(saying) < len(texts):
        supports = lexical.judge(claim, title, saying).supports if saying else 0.0
    return SourceScore(supports, refutes)


def encoded_alone(passage: Passage) -> tuple[str, ...]:
    """A passage's sentences, each without and with the title."""
    texts, title = sentences(passage.text), f"{passage.title}. " if passage.title else ""
    return tuple(dict.fromkeys([*texts, *(title + text for text in texts)]))


def _candidates(passage: Passage, texts: Sequence[str], nearest: Sequence[int]) -> list[Candidate]:
    title = f"{passage.title}. " if passage.title else ""
    cited = [(SourcedSentence(text, passage),) for text in texts]
    in_order = sorted(nearest)
    short = " ".join(texts[i] for i in sorted(nearest[:IN_SHORT]))
    return [
        *(Candidate("sentence", cited[i], title + texts[i]) for i in in_order),
        *(
            Candidate("sentence", cited[i], f"{title}{texts[i - 1]} {texts[i]}", cited[i - 1][0])
            for i in in_order
            if i and not (is_row(texts[i - 1]) and is_row(texts[i]))
        ),
        Candidate("passage", cited[nearest[0]], title + short),
    ]


def joined_candidate(order: Sequence[Candidate]) -> Candidate | None:
    """The first sentence and the next one of another passage as one text; None if there is only one passage."""
    first, *others = order
    for second in others:
        if second.cited[0].passage.sha256 != first.cited[0].passage.sha256:
            return Candidate("joined", (*first.cited, *second.cited), f"{first.text} {second.text}")
    return None


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, each a verbatim span of it; headings are left out."""
    return _passages_sentences(text) if len(text) <= PASSAGE else _documents_sentences(text)


def _split(text: str) -> tuple[str, ...]:
    headings = dict(headings_in(text))
    starts = {*sentence_starts(text), *headings, *headings.values()}
    for block in _LIST.finditer(text):
        if text[: block.start()].rstrip().endswith(":") and block.end() - block.start() <= SHORT_LIST:
            starts -= set(range(block.start(), block.end()))  # it says little without what leads it in
        else:
            starts |= {item.start() for item in _ITEM_LINE.finditer(text, block.start(), block.end())}
        starts.add(block.end())
    spans = (text[start:end].strip() for start, end in pairwise([*sorted(starts), len(text)]) if start not in headings)
    return tuple(span for span in (_ITEM.sub("", HEADING.sub("", span)) for span in spans) if re.search(r"\w", span))


SHORT_LIST = 400  # characters; the large model does not read much more at a time
_MARKER = r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?=\S)"
_ITEM, _ITEM_LINE = re.compile(rf"\A{_MARKER}"), re.compile(rf"^{_MARKER}", re.MULTILINE)
_LIST = re.compile(rf"(?:^{_MARKER}[^\n]*(?:\n(?!{_MARKER})[ \t]+\S[^\n]*)*(?:\n|\Z)){{2,}}", re.MULTILINE)


_passages_sentences, _documents_sentences = lru_cache(maxsize=4096)(_split), lru_cache(maxsize=16)(_split)
HEADING = re.compile(r"\A(?:#+ [^\n]*(?:\n\s*|\Z))+")
