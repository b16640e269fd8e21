"""Aligns the content words of a claim with a sentence's, and the claim's quantities with the sentence's."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby, takewhile
from operator import eq

from redargue.nli.grammar import FUNCTION_WORDS, NEGATORS, WORD, finite_verbs, opposites, stem, verb_like, word_set
from redargue.nli.quantities import UNIT_TOLERANCE, Quantity, base_units, quantities, relation

_NEGATIVE_PREFIX = re.compile(r"^(?:un|in|im|ir|il|dis|non-?)(?=\w{3})")


@dataclass(frozen=True)
class Parsed:
    """A text's words and quantities."""

    text: str

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        return quantities(self.text)

    @cached_property
    def words(self) -> tuple[re.Match[str], ...]:
        return tuple(WORD.finditer(self.text))

    @cached_property
    def stems(self) -> tuple[str, ...]:
        return tuple(stem(match.group()) for match in self.words)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        return frozenset(self.stems)

    @cached_property
    def measured(self) -> frozenset[int]:
        """The offsets of the characters that belong to quantities."""
        return frozenset(at for quantity in self.quantities for at in range(quantity.start, quantity.end))

    @cached_property
    def content(self) -> tuple[int, ...]:
        """The places of content words, without those that are part of a quantity."""
        words = [(place, match) for place, match in enumerate(self.words) if match.start() not in self.measured]
        return tuple(
            place for place, match in words if match[0].lower() not in FUNCTION_WORDS and not match[0][0].isdigit()
        )

    def is_name(self, place: int) -> bool:
        return place > 0 and self.words[place].group()[0].isupper()


@lru_cache(maxsize=1024)
def parsed(text: str) -> Parsed:
    return Parsed(text)


@dataclass(frozen=True)
class Alignment:
    """The content words of a claim and where a sentence has them.

    Attributes:
        places: for each content word of the claim the sentence's place, or None.
        loose: how many of them are aligned with another word of the same family.
    """

    claim: Parsed
    sentence: Parsed
    places: tuple[int | None, ...]
    loose: int

    @cached_property
    def matched(self) -> tuple[int, ...]:
        return tuple(place for place in self.places if place is not None)

    @cached_property
    def missing(self) -> tuple[int, ...]:
        """The claim's places that the sentence lacks."""
        return tuple(place for place, other in zip(self.claim.content, self.places, strict=True) if other is None)

    @cached_property
    def window(self) -> str:
        """The part of the sentence from three words before its first matched word to two after its last."""
        if not self.matched or self.claim.stems == self.sentence.stems:
            return self.sentence.text
        words = self.sentence.words
        first, last = max(0, min(self.matched) - 3), min(len(words) - 1, max(self.matched) + 2)
        return self.sentence.text[words[first].start() : words[last].end()]

    @cached_property
    def antonyms(self) -> int:
        """How many words that only the claim has are opposites of a word that only the sentence has."""
        others = [word for word in self.sentence.stems if word not in self.claim.vocabulary]
        own = [word for word in self.claim.stems if word not in self.sentence.vocabulary]
        return sum(any(are_opposites(word, other) for other in others) for word in own)

    @cached_property
    def order(self) -> float:
        """The share of pairs of aligned words that have the same order in both, in [0, 1]; 1 without pairs."""
        pairs = [(one, two) for i, one in enumerate(self.matched) for two in self.matched[i + 1 :] if one != two]
        return sum(one < two for one, two in pairs) / len(pairs) if pairs else 1.0


def are_opposites(one: str, other: str) -> bool:
    """Whether two stems are antonyms, or one is the other with a negative prefix."""
    return other in opposites(one) or (
        abs(len(one) - len(other)) in (2, 3, 4)
        and (_NEGATIVE_PREFIX.sub("", one) == other or _NEGATIVE_PREFIX.sub("", other) == one)
    )


def align(claim: Parsed, sentence: Parsed) -> Alignment:
    """Aligns each content word of the claim with the nearest same word of the sentence."""
    by_stem: dict[str, list[int]] = {}
    for place, word in enumerate(sentence.stems):
        by_stem.setdefault(word, []).append(place)
    places: list[int | None] = []
    last, loose = 0, 0
    for word in (claim.stems[place] for place in claim.content):
        options = by_stem.get(word) or _related(word, by_stem)
        loose += bool(options) and word not in by_stem
        nearest = min(options, key=lambda option: abs(option - last)) if options else None
        last = last if nearest is None else nearest
        places.append(nearest)
    return Alignment(claim, sentence, tuple(places), loose)


def _related(word: str, by_stem: Mapping[str, list[int]]) -> Sequence[int]:
    """Places of a word of the same family: at least five first letters are the same, and four fifths of the shorter."""
    for other, places in by_stem.items():
        if len(word) < 5 or word[:5] != other[:5]:
            continue
        if sum(takewhile(bool, map(eq, word, other))) >= 0.8 * min(len(word), len(other)):
            return places
    return ()


@dataclass(frozen=True)
class QuantityComparison:
    """The claim's quantities by how the sentence answers them.

    Attributes:
        unequal: pairs of a claim's quantity and the sentence's quantity of the same kind whose value differs.
    """

    equal: tuple[tuple[Quantity, Quantity], ...]
    compatible: tuple[tuple[Quantity, Quantity], ...]
    unequal: tuple[tuple[Quantity, Quantity], ...]
    missing: tuple[Quantity, ...]


def compare_quantities(claim: Parsed, sentence: Parsed) -> QuantityComparison:
    """Answers each quantity by an equal one, or else by the compatible or unequal one in the most similar context."""
    answers: dict[str, list[tuple[Quantity, Quantity]]] = {"equal": [], "compatible": [], "unequal": []}
    missing: list[Quantity] = []
    for quantity in claim.quantities:
        related = [(relation(quantity, other), other) for other in sentence.quantities]
        if same := [other for kind, other in related if kind == "equal"]:
            answers["equal"].append((quantity, same[0]))
            continue
        for kind_wanted in ("compatible", "unequal"):
            options = [other for kind, other in related if kind == kind_wanted and same_things(quantity, other)]
            if options:
                shared = [shared_context(claim, quantity, sentence, other) for other in options]
                answers[kind_wanted].append((quantity, options[shared.index(max(shared))]))
                break
        else:
            missing.append(quantity)
    equal, compatible, unequal = (tuple(pairs) for pairs in answers.values())
    return QuantityComparison(equal, compatible, unequal, tuple(missing))


def lexical_coverage(claim: Parsed, sentence: Parsed) -> float:
    """The share of a claim's content words and quantities that a sentence has, the latter with whatever value."""
    words = align(claim, sentence)
    values = sum(any(_is_answer(one, other) for other in sentence.quantities) for one in claim.quantities)
    whole = len(words.places) + len(claim.quantities)
    return (len(words.matched) + values) / whole if whole else 1.0


def _is_answer(one: Quantity, other: Quantity) -> bool:
    found = relation(one, other)
    return found == "equal" or (found is not None and same_things(one, other))


def same_things(one: Quantity, other: Quantity) -> bool:
    """Whether two counts or ordinals may count the same things; True of any other dimension."""
    return one.dimension not in ("count", "ordinal") or bool(one.nouns & other.nouns) or not (one.nouns and other.nouns)


def counts_something_else(claim: Parsed, sentence: Parsed) -> bool:
    """Whether a sentence counts other things than the claim and has neither the claim's noun nor its verb.

    "The company employs 60 drivers" neither supports nor refutes "The ferry carries 210 passengers".
    """
    stated = [quantity for quantity in claim.quantities if quantity.dimension == "count" and quantity.nouns]
    given = [quantity for quantity in sentence.quantities if quantity.dimension == "count" and quantity.nouns]
    if not (stated and given) or len(stated) < len(claim.quantities):
        return False
    if any(relation(one, other) == "equal" or same_things(one, other) for one in stated for other in given):
        return False
    starts = {quantity.start - 1 for quantity in stated}
    content = [(claim.words[place], claim.stems[place]) for place in claim.content]
    verbs = {stemmed for word, stemmed in content if verb_like(word.group()) or word.end() in starts}
    counted = NEGATORS.union(*(quantity.nouns for quantity in stated))
    return sentence.vocabulary.isdisjoint(verbs | counted)


def gives_another_value(claim: Parsed, sentence: Parsed) -> bool:
    """Whether a sentence has another share than the claim, or a value that only comes near an approximate one.

    "30 % was lost" does not support "more than half", nor "3,214" "some 3,412".
    """
    for one in claim.quantities:
        relations = {relation(one, other) for other in sentence.quantities} - {None}
        near = relations == {"compatible"} and one.approximate
        if near or (one.dimension == "ratio" and relations == {"unequal"}):
            return True
    return False


def shared_context(claim: Parsed, quantity: Quantity, sentence: Parsed, other: Quantity) -> float:
    """The share of the words around the claim's quantity that are also around the sentence's."""
    one, two = _context(claim, quantity), _context(sentence, other)
    return len(one & two) / max(1, len(one))


def _context(text: Parsed, quantity: Quantity) -> frozenset[str]:
    """The stems of the three content words on either side."""
    left = [text.stems[place] for place in text.content if text.words[place].end() <= quantity.start]
    right = [text.stems[place] for place in text.content if text.words[place].start() >= quantity.end]
    return frozenset((*left[-3:], *right[:3]))


# A claim in the terms of the evidence: the models compare words, not values. If the evidence says "two years", "24
# months" becomes "two years", and "12 months" becomes "1 year". Only their input changes; the claim is shown unchanged.


_CONVERTED = word_set("time length area volume mass power energy data speed voltage")
_MOST_PARSED = 2000  # characters of evidence
_LEAST_WRITTEN, _MOST_WRITTEN = 0.01, 10_000.0  # in another unit: years are not written as minutes
_WORDS_BEFORE = re.compile(r"\A(?:[^\W\d_]+ )*(?=\d)")


def in_terms_of(evidence: str, claim: str, document: str = "") -> str:
    """The claim, with its numbers, dates, measures and abbreviations as the evidence writes them.

    A value that the evidence gives is written as there, and so is the only one that implies "about 15", "more than 400"
    or "the 1450s". Any other measure is converted if all measures of its dimension in the evidence have the same unit.

    Args:
        document: the text that the evidence is from, in which abbreviations may be explained.
    """
    for name, short in sorted(_abbreviations(document)):
        for one, other in ((name, short), (short, name)):
            if _has(claim, one) and not _has(evidence, one) and _has(evidence, other):
                claim = re.sub(rf"\b{re.escape(one)}\b", other, claim)
    stated = _written(claim)
    given = _written(evidence[:_MOST_PARSED]) if stated else []
    for values in reversed(stated):
        if text := _as_written(values, given) or _implying(values, given, claim) or _in_unit(values, given):
            start, end = values[0].start, values[0].end
            if start:
                text = text[0].lower() + text[1:]  # "At least", where a sentence began
            claim = claim[:start] + text + claim[end:]
    return claim


_NAME = r"[A-Z][\w&’'-]{0,40}(?: (?:[A-Z][\w&’'-]{0,40}|of|for|and|the|on|in|de)){1,7}"
_ABBREVIATED = re.compile(
    rf"\b(?P<name>{_NAME}) \((?P<short>[A-Z][A-Za-z&]{{1,9}})\)|\b(?P<initials>[A-Z]{{2,9}}) \((?P<whole>{_NAME})\)"
)


@lru_cache(maxsize=256)
def _abbreviations(document: str) -> frozenset[tuple[str, str]]:
    """The names that a text abbreviates by their initials: "the Northern Transit Authority (NTA)"."""
    found = set()
    for match in _ABBREVIATED.finditer(document):
        words, short = (match["name"] or match["whole"]).split(), match["short"] or match["initials"]
        names = [words[start:] for start, word in enumerate(words[:-1]) if word[0].isupper()]
        found |= {(" ".join(name), short) for name in names if _capitals(name) == _capitals(short)}
    return frozenset(found)


def _capitals(words: Iterable[str]) -> str:
    return "".join(word[0] for word in words if word[0].isupper())


def _has(text: str, name: str) -> bool:
    return name in text and re.search(rf"\b{re.escape(name)}\b", text) is not None


_Written = tuple[Quantity, ...]  # the values of one span: of "4 and 9", or of a date
_REWRITTEN = word_set("count ordinal clock year month day interval")


def _written(text: str) -> list[_Written]:
    spans = (tuple(values) for _, values in groupby(parsed(text).quantities, key=lambda quantity: quantity.start))
    return [values for values in spans if all(value.dimension in _REWRITTEN or _is_measure(value) for value in values)]


def _is_measure(quantity: Quantity) -> bool:
    return quantity.dimension == "ratio" or bool(base_units(quantity.unit))


def _as_written(values: _Written, given: Sequence[_Written]) -> str | None:
    if exact := [others[0].text for others in given if _key(others) == _key(values)]:
        return None if values[0].text in exact else exact[0].removesuffix(".")
    if len(values) > 1:
        return None
    quantity = values[0]
    same = [others[0] for others in given if len(others) == 1 and others[0].dimension == quantity.dimension]
    measures = [other for other in same if _is_measure(other)]
    if not _is_measure(quantity) or any(other.unit == quantity.unit for other in measures):
        return None
    return next((other.text for other in measures if _equal(quantity, other)), None)


def _in_unit(values: _Written, given: Sequence[_Written]) -> str | None:
    """A single measure in the unit of all measures of its dimension in the evidence."""
    quantity = values[0]
    units = {other.unit for (other, *_) in given if other.dimension == quantity.dimension and _is_measure(other)}
    if len(values) > 1 or quantity.unit in units or len(units) != 1 or quantity.dimension not in _CONVERTED:
        return None
    return _converted(quantity, units.pop())


_DOWNWARD = re.compile(  # where a narrower value does not imply a wider one
    r"\b(?:if|unless|when|must|may|can|could|should|shall|will|would|need\w*|requir\w+|allow\w*|permit\w*|entitle\w*|only"
    rf"|every|each|all|any|who|{'|'.join(sorted(NEGATORS))})\b|n['’]t\b",
    re.IGNORECASE,
)
_UP_TO = re.compile(r"(?:up to|within|(?:a )?maximum|not exceeding)\b|.*(?:\+|\bor \w+)\Z", re.IGNORECASE)


def _implying(values: _Written, given: Sequence[_Written], claim: str) -> str | None:
    """The only value of the evidence that lies within one that the claim bounds or rounds.

    Not of a number that limits whom the claim is about: "children under 10" says more than "children of 6".
    """
    quantity = values[0]
    bounded = quantity.low != quantity.high or quantity.approximate
    if len(values) > 1 or not bounded or _UP_TO.match(quantity.text):
        return None
    if _DOWNWARD.search(claim[: quantity.start] + claim[quantity.end :]) or not _is_said_of_subject(quantity, claim):
        return None
    exact = (others[0] for others in given if len(others) == 1 and others[0].low == others[0].high)
    within = [other for other in exact if other.approximate <= quantity.approximate and _is_answer_to(quantity, other)]
    if len({other.low for other in within}) != 1:
        return None
    return f"in {within[0].text}" if quantity.dimension == "year" and quantity.approximate else within[0].text


def _is_answer_to(quantity: Quantity, other: Quantity) -> bool:
    return relation(quantity, other) == "equal" and same_things(quantity, other)


_CERTAIN_VERBS = word_set("cost costs took takes lasted lasts weighed weighs reached earned sold employs")


def _is_said_of_subject(quantity: Quantity, claim: str) -> bool:
    """Whether a value is a part of what the claim says of its subject, or counts the subject itself."""
    before = claim[: quantity.start].split()
    if not before:
        return bool(quantity.nouns) or quantity.dimension == "ratio"
    last = before[-1].lower()
    if last == "with" or not (last in FUNCTION_WORDS or verb_like(last) or last.endswith("ly")):
        return False
    return last in _CERTAIN_VERBS or any(end <= quantity.start for _, end in finite_verbs(claim))


def _key(values: _Written) -> list[tuple[str, float, float, bool]]:
    return sorted((value.dimension, value.low, value.high, value.approximate) for value in values)


def _equal(one: Quantity, other: Quantity) -> bool:
    """Whether two measures mean the same: "at least a week" and "at least seven days"."""
    ends = ((one.low, other.low), (one.high, other.high))
    bounded = one.low != one.high
    if bounded and one.text.split()[0].casefold() != other.text.split()[0].casefold():
        return False
    return all(math.isclose(left, right, rel_tol=UNIT_TOLERANCE) for left, right in ends)


def _converted(quantity: Quantity, unit: str) -> str | None:
    """A single value in another unit, after its words in the text ("at least")."""
    lead = _WORDS_BEFORE.match(quantity.text)
    bounds = {bound for bound in (quantity.low, quantity.high) if 0 < bound < math.inf}
    if lead is None or len(bounds) != 1:
        return None
    value = bounds.pop() / base_units(unit)
    plain = float(f"{value:.3g}")  # of "below 140", whose bound is a little less
    value = plain if math.isclose(plain, value, rel_tol=2e-4) else round(value, 2)
    if not _LEAST_WRITTEN <= value < _MOST_WRITTEN:
        return None
    if len(unit) > 3 and unit.isalpha():
        unit = unit.removesuffix("s") + "s" * (value != 1)
    return f"{lead.group()}{value:g} {unit}"
