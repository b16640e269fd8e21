"""Whether a sentence gives a claim's value to the claim's holder or to another one.

Beside "at 9 on weekdays and at 11 on Sundays", "9 on Sundays" is crossed: the sentence has both, and not together. Two
values of one kind are compared by the words of their own parts (:mod:`redargue.nli.facts`). The finding is cautious:
where a word of the claim speaks for the pairing, or where no word speaks against it, it is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, pairwise
from math import isclose
from typing import Literal, NamedTuple

from redargue.caveats import Difference
from redargue.nli.alignment import Parsed, parsed
from redargue.nli.edits import related, values_of
from redargue.nli.facts import Fact, cells, cuts_of, facts_of, holders_before, parts_of, respective, rows_of
from redargue.nli.grammar import MODALS, NEGATORS, stem
from redargue.nli.holders import DATES, WordToken, alike, tokens_of
from redargue.nli.quantities import Quantity

# Two clauses with the same verb, or with it left out in the second: "Smith was elected chair and Jones treasurer". A
# claim that puts the one's name beside what the sentence says of the other is crossed, as a value would be. Only
# clauses that begin with a name are compared, and only claims that say nothing else.

_FEWEST = 2  # letters of a name


class _Clause(NamedTuple):
    """A clause's keys: of the name that it begins with, of its verbs, and of the rest; and where it is."""

    name: frozenset[str]
    verbs: frozenset[str]
    rest: frozenset[str]
    start: int
    end: int


def crossed_clauses(claim: Parsed, sentence: Parsed) -> Difference | None:
    """The claim and the clause of its name, if the sentence says the claim of another name only."""
    mine, *others = _clauses(claim)
    if others or not mine.rest:
        return None
    for one, other in pairwise(_clauses(sentence)):
        if other.verbs and other.verbs != one.verbs:
            continue
        for own, rival in ((one, other), (other, one)):
            if _is_crossed(mine, own, rival, one.verbs):
                evidence = " ".join(sentence.text[own.start : own.end].split())
                return Difference(kind="crossed", claim=claim.text.strip().rstrip("."), evidence=evidence)
    return None


def _is_crossed(mine: _Clause, own: _Clause, others: _Clause, verbs: frozenset[str]) -> bool:
    """Whether the claim has the name of one clause, and the rest of another with the same verb."""
    names = mine.name <= own.name and not mine.name & others.name and own.name != others.name
    rests = mine.rest <= others.rest and not mine.rest & own.rest and bool(own.rest)
    return names and rests and bool(verbs) and mine.verbs == verbs


@lru_cache(maxsize=1024)
def _clauses(text: Parsed) -> tuple[_Clause, ...]:
    """The parts of a text that begin with a name and say something of it; empty parts end a row of clauses."""
    ends = [*(cut.start for cut in cuts_of(text)), len(text.text)]
    starts = [0, *(cut.end for cut in cuts_of(text))]
    return tuple(_clause(text, start, end) for start, end in zip(starts, ends, strict=True))


def _clause(text: Parsed, start: int, end: int) -> _Clause:
    tokens = [token for token in tokens_of(text) if start <= token.start and token.end <= end]
    name: list[WordToken] = []
    for token in tokens:
        begins = not name and not text.text[start : token.start].strip()
        if not (begins or (name and token.start - name[-1].end == 1)) or not _names(text, token):
            break
        name.append(token)
    rest = tokens[len(name) :]
    verbs = frozenset(token.key for token in rest if token.verb)
    said = frozenset(token.key for token in rest if not token.verb)
    return _Clause(frozenset(token.key for token in name), verbs, said if name else frozenset(), start, end)


def _names(text: Parsed, token: WordToken) -> bool:
    return text.text[token.start].isupper() and token.end - token.start >= _FEWEST and not token.placed


_Finding = Literal["bound", "crossed", "unknown"]
_RELATES = re.compile(  # the claim speaks of two holders, or denies: which value it gives to which is not plain
    r"\b(?:than|unlike|instead|rather|compared|difference|both|former|latter|other|another|after|before|later|earlier"
    r"|twice as|times as|not|never|neither|nor|no longer|without|except|unless|as many|as much|as long|together|total"
    r"|altogether|sum)\b|n['’]t\b",
    re.IGNORECASE,
)
_DENIES = re.compile(rf"\b(?:{'|'.join(NEGATORS)}|except|unless|instead)\b|n['’]t\b", re.IGNORECASE)
_LISTED = re.compile(r"(?<![^\W\d_])[^\W\d_]{3,}+ \d[\d.,]*[,;] [^\W\d_]{3,} \d")  # "engineers 20, lawyers 10"
_LONGEST_TEXT, _MOST_VALUES = 1_500, 12  # characters and values of a text whose pairs are compared
_NOUN = re.compile(r"\s+[\w-]+")
_AFTER = 3  # words after a value that may name what it measures
_FAMILY = 5  # first letters that words of a family share


class Binding(NamedTuple):
    """What a sentence says about the pairs of holder and value in a claim.

    Attributes:
        finding: "bound" if it gives the claim's values to their holders; "crossed" if it gives one of them to another
            holder, and another value to this one; else "unknown".
        differences: of a crossed one, the words of the claim and those of the sentence.
        value: of a crossed one, the claim's value.
        holder: of a crossed one, the key of the claim's holder.
    """

    finding: _Finding
    differences: tuple[Difference, ...] = ()
    value: Quantity | None = None
    holder: str = ""


_UNKNOWN = Binding("unknown")


def bind(claim: Parsed, sentence: Parsed, known: frozenset[str] = frozenset()) -> Binding:
    """Compares the pairs of a claim with those of a sentence, or of a table with its head.

    Args:
        known: stems of the title, which the claim may have and the sentence lack.
    """
    if exchanged := _exchanged(claim, sentence):
        return exchanged
    bound = False
    for stated, same, others in _compared(claim, sentence, known):
        if pair := _crossed(stated, same, others):
            difference = _difference(claim, stated, sentence, pair)
            return Binding("crossed", (difference,), stated.value, pair.claims.key)
        bound |= any(_speaks_for(stated, fact, others) for fact in same)
    return Binding("bound") if bound else _UNKNOWN


def _compared(
    claim: Parsed, sentence: Parsed, known: frozenset[str] = frozenset()
) -> Iterator[tuple[Fact, list[Fact], list[Fact]]]:
    """Each value of the claim with the sentence's facts of the same value and of others, where it has both."""
    if max(len(claim.text), len(sentence.text)) > _LONGEST_TEXT or _LISTED.search(sentence.text):
        return
    if not (all_stated := _stated(claim)):
        return
    given_keys = known.union(token.key for token in tokens_of(sentence))
    if any(token.sort == "name" and not _has(given_keys, token.key) for token in tokens_of(claim)):
        return  # it names something that the sentence does not
    for stated in all_stated:
        given = [
            fact for fact in _facts(sentence, stated.value) if not _DENIES.search(sentence.text, fact.start, fact.end)
        ]
        same = [fact for fact in given if related(stated.value, fact.value) == "equal"]
        others = [fact for fact in given if related(stated.value, fact.value) == "unequal"]
        if same and others and len(same) + len(others) == len(given):
            yield stated, same, others


def misplaced(claim: Parsed, sentence: Parsed) -> bool:
    """Whether the claim gives its value what the sentence says of another one, so that it is not supported.

    That is a verb, as of "closes at 8" beside "opens at 8 and closes at 9", or an exception, as of "8 on Sundays"
    beside "at 8, on Sundays at 10", or a dimension, as of "5 m wide" beside "5 m long", or an end of a change, as of
    "rose to 5 %" beside "rose by 5 %", or of a time, as of "until May" beside "since May", or an order, as of "9 to 17"
    beside "17 to 9", or a clause, as of "cut 5 jobs and made 9" beside "cut 9 jobs and made 5". Nothing is
    contradicted, as the words beside the claim's value may mean the same.
    """
    if _are_long(claim, sentence):
        return False
    if any(differs(claim, sentence) for differs in (_has_other_dimension, _is_reversed, _crosses_over)):
        return True
    return any(
        all(_has_other_verb(stated.keys, fact, other) or _excepted(stated.keys, fact, other) for fact in same)
        for stated, same, others in _compared(claim, sentence)
        for other in others
    )


_DIMENSIONS = {
    word: name
    for name, words in {
        "length": "long length", "width": "wide width broad breadth across", "height": "high height tall",
        "depth": "deep depth", "thickness": "thick thickness", "age": "old age",
    }.items()
    for word in words.split()
}  # fmt: skip
_DIMENSION_AFTER = re.compile(rf"[\s-]+(?:in )?({'|'.join(_DIMENSIONS)})\b")
_DIMENSION_BEFORE = re.compile(rf"\b({'|'.join(_DIMENSIONS)}) (?:of|is|was) \Z")


def _has_other_dimension(claim: Parsed, sentence: Parsed) -> bool:
    """Whether what the claim says of a dimension, or of an end of a change or a time, is said only of others."""
    for stated in claim.quantities:
        equal = [other for other in sentence.quantities if related(stated, other) == "equal"]
        for aspect in (_dimension, _end_of_change, _end_of_time):
            own, given = aspect(claim, stated), {aspect(sentence, other) for other in equal}
            if own and given and "" not in given and own not in given:
                return True
    return False


_CHANGES = re.compile(
    r"(?i)\b(?:r[io]s(?:es?|en|ing)|f[ae]ll(?:s|en|ing)?|gr[eo]w(?:s|n|ing)?|climb|increas|decreas|rais|reduc|lower|dropp?"
    r"|shr[aiu]nk|expand|jump|declin|gain|slipp?|soar|plung|cut)(?:s|e|es|ed|ing)?\b"
)
_END_OF_CHANGE = re.compile(r"\b(from|to|by) (?:an? |the )?\Z")


def _end_of_change(text: Parsed, value: Quantity) -> str:
    """The "from", "to" or "by" before a value that follows a verb of change, else ""."""
    if [other.start for other in text.quantities].count(value.start) > 1:
        return ""  # "from 8 to 12", whose values have one span
    end = _END_OF_CHANGE.search(text.text, max(0, value.start - 9), value.start)
    return end[1] if end and _CHANGES.search(text.text, 0, value.start) else ""


_END_OF_TIME = re.compile(r"\b(?:(since|from|after)|until|till|before) (?:the |an? )?\Z")


def _end_of_time(text: Parsed, value: Quantity) -> str:
    """Whether a time before or after a value is meant; "" if neither is, or a text denies: "not until May"."""
    end = _END_OF_TIME.search(text.text, max(0, value.start - 10), value.start)
    if end is None or _DENIES.search(text.text):
        return ""
    return "after" if end[1] else "before"


_CLAUSE_END = re.compile(r",? (?:and|but|while|whereas) |[,;] ")


def _by_value(text: Parsed) -> dict[tuple[str, float], frozenset[str]]:
    """The words of each clause or listed item that has one value, by that value."""
    clauses = [parsed(clause) for clause in _CLAUSE_END.split(text.text)]
    single = [clause for clause in clauses if len(clause.quantities) == 1]
    return {clause.quantities[0][:2]: frozenset(clause.stems[place] for place in clause.content) for clause in single}


def _crosses_over(claim: Parsed, sentence: Parsed) -> bool:
    """Whether of two values of the claim each has, in the sentence, a word that the other has in the claim.

    Not where the difference is named, and excludes support already.
    """
    if "respectively" in sentence.text or "respectively" in claim.text:
        return False
    ours, theirs = _by_value(claim), _by_value(sentence)
    for one, other in combinations(ours, 2):
        if one[0] == other[0] and one in theirs and other in theirs:
            mine, yours = ours[one] - ours[other], ours[other] - ours[one]
            if mine & (theirs[other] - theirs[one]) and yours & (theirs[one] - theirs[other]):
                return bind(claim, sentence).finding != "crossed"
    return False


_PAIR = re.compile(
    r"(?<![\w.,])[£$€]?(\d[\d,.]*)(?:m\b|bn\b|%| (?:million|billion|thousand|per ?cent)\b)?"
    r"(?: to |\s?[-–]\s?)[£$€]?(\d[\d,.]*)"
)


def _is_reversed(claim: Parsed, sentence: Parsed) -> bool:
    """Whether two figures of the claim, as of a vote or a change, have the other order in the sentence alone."""
    if "ratio" in claim.text:
        return False  # "men to women 3 to 2"
    ours, theirs = (
        {tuple(each.rstrip(",.") for each in pair) for pair in _PAIR.findall(x.text)} for x in (claim, sentence)
    )
    return any(one != other and (other, one) in theirs and (one, other) not in theirs for one, other in ours)


def _dimension(text: Parsed, value: Quantity) -> str:
    """What a value measures, by the word beside it: "5 m long", "a length of 5 m"; empty if there is none."""
    found = _DIMENSION_AFTER.match(text.text, value.end) or _DIMENSION_BEFORE.search(text.text[: value.start])
    return _DIMENSIONS[found[1]] if found else ""


def _has_other_verb(mine: frozenset[str], fact: Fact, other: Fact) -> bool:
    if fact.joined or other.joined or any(_has(mine, key) and not _has(other.keys, key) for key in fact.keys):
        return False
    theirs = [token.key for token in other.before if token.verb and _has(mine, token.key)]
    ours = [token.key for token in fact.before if token.verb and not _has(mine, token.key)]
    return len(theirs) == 1 == len(ours) and not _has(fact.keys, theirs[0]) and not _has(other.own_keys, ours[0])


def _excepted(mine: frozenset[str], fact: Fact, other: Fact) -> bool:
    """Whether the other value is that of a case which only the claim names, of all that the claim's value is of."""
    if fact.joined or other.joined or not fact.keys <= other.keys or mine & (fact.unclear | other.unclear):
        return False
    if not any(_has(mine, key) for key in fact.keys if not key.startswith("#")):
        return False  # of nothing that the claim names
    return any(_has(mine, token.key) and not _has(fact.keys, token.key) for token in other.own if not token.verb)


def _are_long(*texts: Parsed) -> bool:
    return any(len(text.text) > _LONGEST_TEXT or len(text.quantities) > _MOST_VALUES for text in texts)


def _exchanged(claim: Parsed, sentence: Parsed) -> Binding | None:
    """Two values that the sentence gives to the claim's two things the other way round: "3 in tunnel, 1 on land"."""
    if _are_long(claim, sentence) or any(_DENIES.search(text.text) for text in (claim, sentence)):
        return None
    for pair in combinations(values_of(claim, parts_of(claim)), 2):
        if related(*pair) != "unequal":
            continue
        stated = [_only(_all_facts(claim), value) for value in pair]
        given = [_only(_all_facts(sentence), value) for value in pair]
        mine, yours = (_things(claim, fact) for fact in stated)
        hers, his = (_things(sentence, fact) for fact in given)
        swapped = mine & his - hers
        if swapped and yours & hers - his and not (mine | yours) & hers & his:
            words = [_stretch(text, facts) for text, facts in ((claim, stated), (sentence, given))]
            difference = Difference(kind="crossed", claim=words[0], evidence=words[1])
            return Binding("crossed", (difference,), pair[0], min(swapped))
    return None


@lru_cache(maxsize=256)
def _all_facts(text: Parsed) -> tuple[Fact, ...]:
    found = {fact.value.start: fact for value in values_of(text, parts_of(text)) for fact in _facts(text, value)}
    return tuple(found[start] for start in sorted(found))


def _only(facts: Sequence[Fact], value: Quantity) -> Fact | None:
    """The fact of a value, if no other has it."""
    same = [fact for fact in facts if related(value, fact.value) == "equal"]
    return same[0] if len(same) == 1 else None


def _things(text: Parsed, fact: Fact | None) -> frozenset[str]:
    """Keys of what a value counts or measures, by the words after it, in the same sentence."""
    if fact is None or text.text[fact.value.end :].lstrip()[:1] in (",", ";"):
        return frozenset()  # "engineers 20, lawyers 10": the words after it go with the next
    near = [token for token in fact.after[:_AFTER] if not re.search(r"[.;]\s", text.text[fact.value.end : token.start])]
    return fact.value.nouns | {token.key for token in near if not token.verb}


def _stretch(text: Parsed, facts: Sequence[Fact | None]) -> str:
    """The words of a text from its first to its last fact."""
    found = [fact for fact in facts if fact]
    start = min(fact.value.start for fact in found)
    ends = [token.end for fact in found for token in fact.after[:_AFTER]]
    ends += [word.end() for fact in found if fact.value.nouns and (word := _NOUN.match(text.text, fact.value.end))]
    end = max([fact.value.end for fact in found] + ends)
    return " ".join(text.text[start:end].split())


def bind_words(claim: Parsed, sentence: Parsed) -> Difference | None:
    """What is crossed where no value is: "Smith is treasurer" beside "Smith was elected chair and Jones treasurer"."""
    if _RELATES.search(claim.text) or _DENIES.search(sentence.text):
        return None
    return crossed_clauses(claim, sentence)


def _facts(text: Parsed, kind: Quantity) -> tuple[Fact, ...]:
    """The values of one kind with their words, in a table, in two lists, or in the parts of a sentence."""
    rows = rows_of(text.text)
    if len(rows) > 1:
        return tuple(cells(rows, kind))
    listed = respective(text, values_of(text, parts_of(text), kind)) if "respectively" in text.text else ()
    return listed or facts_of(text, kind)


@lru_cache(maxsize=64)
def _stated(claim: Parsed) -> tuple[Fact, ...]:
    """Each value of the claim with its words; of words that other values of its kind have, only its own."""
    if _RELATES.search(claim.text):
        return ()
    stated = []
    for value in values_of(claim, parts_of(claim)):
        facts = _facts(claim, value)
        mine = next((fact for fact in facts if fact.value.start == value.start), None)
        if mine is None or mine.joined or (mine.unclear and not mine.own):
            continue
        inside = range(mine.start, mine.end) if len(facts) > 1 else range(len(claim.text))
        around = (token for token in tokens_of(claim) if token.end <= value.start or value.end <= token.start)
        spoken = {token.key for token in around if token.start in inside}
        stated.append(replace(mine, shared=frozenset(spoken | mine.shared)))
    return tuple(stated)


def gives(text: Parsed, value: Quantity, holder: str) -> bool:
    """Whether a text has a value and a holder, in whatever pairing."""
    values = values_of(text, parts_of(text), value)
    return any(related(value, other) == "equal" for other in values) and holds(text, holder)


def holds(text: Parsed, holder: str) -> bool:
    return any(token.key == holder for token in tokens_of(text))


class _Holders(NamedTuple):
    """The token that the claim and the other value share, and the one that the claim's value has in its place."""

    fact: Fact
    claims: WordToken
    rival: WordToken


def _crossed(stated: Fact, same: Sequence[Fact], others: Sequence[Fact]) -> _Holders | None:
    """The holder to whom the sentence gives another value, if all facts with the claim's value have a rival."""
    for other in others:
        first, *more = (_rivals(stated, fact, other) for fact in same)
        if first and all(more) and _same_matter(stated, same[0], other, first):
            return first
    return None


def _rivals(stated: Fact, fact: Fact, other: Fact) -> _Holders | None:
    """The claim's holder in the part of another value, and its rival in the part of the claim's value."""
    mine, ours, theirs = stated.keys, fact.keys, other.keys
    if fact.joined or other.joined or mine & (fact.unclear | other.unclear):
        return None
    if any(_has(mine, key) and not _has(theirs, key) for key in ours):
        return None  # a word of the claim speaks for this value
    if not fact.end and fact.after != other.after:  # cells of two columns
        return None
    first, second = holders_before(other), holders_before(fact)
    for holders, rivals, aside in (
        (first, second, False),
        (other.after, fact.after, False),
        (first, fact.after, True),
        (other.after, second, True),
    ):
        for holder in holders:
            if holder.verb or holder.key not in mine or _has(ours, holder.key):
                continue
            for rival in rivals:
                if rival.verb or not alike(holder, rival) or _has(mine, rival.key) or _has(theirs, rival.key):
                    continue
                if aside and not holder.sort == rival.sort != "word":
                    continue
                if holder.placed == rival.placed or aside or "date" in (holder.sort, rival.sort):
                    return _Holders(other, holder, rival)
    return None


# What a claim may say of a value although the sentence does not say it.
_IMPLIED = {
    "": "come amount total number equal get have reach make give",
    "time": "last take long duration period run hour day week month year time",
    "length": "long high tall wide deep length height width depth distance measure way far away lie",
    "mass": "weigh weight heavy",
    "ratio": "rate share percentage proportion rise grow growth",
    "clock": "time hour",
    "year": "year date",
    "month": "month date",
    "count": "many people person",
} | dict.fromkeys(("EUR", "USD", "GBP", "CHF"), "price cost pay fee charge worth spend")
_IMPLIED_STEMS = {name: frozenset(map(stem, words.split())) for name, words in _IMPLIED.items()}


def _same_matter(stated: Fact, fact: Fact, other: Fact, holders: _Holders) -> bool:
    """Whether the claim has more in common with the other value than its holder, or says nothing else."""
    exact = stated.value.low == stated.value.high and other.value.low == other.value.high
    in_column = not other.end and other.value.dimension != "count" and exact
    if in_column or stated.value.nouns & (fact.value.nouns | other.value.nouns):
        return True
    names = {token.key for token in other.own if token.sort == "name"}
    rest = stated.keys - names - {holders.claims.key}
    implied = _IMPLIED_STEMS[""] | _IMPLIED_STEMS.get(stated.value.dimension, frozenset())
    return rest <= implied or any(_has(other.keys, key) for key in rest - implied)


def _speaks_for(stated: Fact, fact: Fact, others: Sequence[Fact]) -> bool:
    """Whether a word of the claim is with its value only, and none with another value only."""
    elsewhere = {key for other in others for key in other.own_keys} - fact.keys
    here = fact.own_keys.difference(*(other.keys for other in others))
    return bool(stated.keys & here) and not stated.keys & elsewhere


def value_of_cell(
    claim: Parsed, head: Sequence[str], row: Sequence[str], known: frozenset[str] = frozenset()
) -> Quantity | None:
    """The value of the cell that a claim is about, if it says no more than one value of what the row begins with.

    A value other than the claim's is that of the only column which the claim names.

    Args:
        head: names of the columns.
        row: cells, of which the first names the thing.
        known: stems of the title.
    """
    if len(claim.quantities) != 1 or any(pattern.search(claim.text) for pattern in (_RELATES, _DENIES, MODALS)):
        return None
    (value,), thing = claim.quantities, parsed(row[0])
    if value.low != value.high or value.approximate or not thing.content or not thing.vocabulary <= claim.vocabulary:
        return None
    of_kind = [
        (parsed(name).vocabulary, parsed(cell))
        for name, cell in zip(head[1:], row[1:], strict=True)
        if any(other.dimension == value.dimension for other in parsed(cell).quantities)
    ]
    said = {claim.stems[place] for place in claim.content} - thing.vocabulary - parsed(head[0]).vocabulary - known
    implied = _IMPLIED_STEMS[""] | _IMPLIED_STEMS.get(value.dimension, frozenset())
    others = []
    for column, cell in of_kind:
        named = {word for word in said if _has(column, word)}
        if len(cell.quantities) != 1 or cell.content or not said - named <= implied:
            continue
        relation = related(value, cell.quantities[0])
        if relation == "equal" and (named or (len(of_kind) == 1 and not column.isdisjoint(implied))):
            return cell.quantities[0]
        if relation == "unequal" and named and not _is_rounded(value, cell.quantities[0]):
            others.append(cell.quantities[0])
    return others[0] if len(others) == 1 else None


def _is_rounded(value: Quantity, other: Quantity) -> bool:
    """Whether a value may be another one in fewer digits: "5,000 inhabitants" beside 5,212."""
    digits = len(f"{value.low:.9e}".partition("e")[0].replace(".", "").rstrip("0"))
    return value.dimension not in DATES and isclose(float(f"{other.low:.{max(digits - 1, 0)}e}"), value.low)


# A measure and what has it: "10 m wide" and "a width of 10 m"; what is counted: "employs 52 people" and "staff: 52".
_SAID_OTHERWISE = {
    stem(one): frozenset(map(stem, others.split()))
    for one, others in (
        *(("wide", "width"), ("long", "length"), ("deep", "depth"), ("high", "height"), ("tall", "height")),
        *(("width", "wide"), ("length", "long"), ("depth", "deep"), ("height", "high tall")),
        *(("employ", "staff headcount workforce"), ("employee", "staff headcount workforce")),
        *(("staff", "employee headcount workforce"), ("inhabitant", "population"), ("resident", "population")),
    )
}


def _has(keys: frozenset[str], key: str) -> bool:
    """Whether the keys have a key, or a word of its family: "south" and "southern"."""
    if key in keys or not keys.isdisjoint(_SAID_OTHERWISE.get(key, ())):
        return True
    if len(key) < _FAMILY or key.startswith("#"):
        return False
    return any(other[:_FAMILY] == key[:_FAMILY] for other in keys)


def _difference(claim: Parsed, stated: Fact, sentence: Parsed, holders: _Holders) -> Difference:
    """The claim's words from its holder to its value, and the sentence's from that holder to the other value."""
    held = next((token for token in tokens_of(claim) if token.key == holders.claims.key), None)
    evidence = _between(sentence.text, holders.fact.value, holders.claims)
    if not holders.fact.end:  # a cell of a table
        evidence = f"{holders.claims.key}: {holders.fact.value.text}"
    return Difference(kind="crossed", claim=_between(claim.text, stated.value, held), evidence=evidence)


def _between(text: str, value: Quantity, token: WordToken | None) -> str:
    if token is None:
        return value.text
    return " ".join(text[min(value.start, token.start) : max(value.end, token.end)].split())
