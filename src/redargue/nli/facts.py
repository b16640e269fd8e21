"""The values of a sentence, each with the words of its own part, and the things that a number only names.

A part is a clause or a listed item. In "the north plant employs 210 and the south plant 340", 340 has the words "south
plant" of its own and takes "employs" from the part before. No grammar is parsed. Words that either of two values may
have are unclear.

In "Room 12", "Flight KL 204" or "warehouse number 777" the number is a name and not a value: a sentence about Room 14
says nothing about Room 12, whatever it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise, takewhile
from typing import NamedTuple

from redargue.nli.alignment import Parsed, are_opposites, parsed, same_things
from redargue.nli.edits import values_of
from redargue.nli.grammar import FUNCTION_WORDS, WORD, finite_verbs, has_finite_verb, stem, word_set
from redargue.nli.holders import WordToken, alike, tokens_of
from redargue.nli.quantities import Quantity, quantities, relation

_NUMBERED = re.compile(
    r"(?<![\w-])(?P<noun>[^\W\d_][\w-]*)\s+(?P<mark>(?:number|numbers|no\.?|nr\.?|#)\s*)?"
    r"(?P<id>(?:[A-Z]{1,3}[ -]?)?\d{1,6}[A-Za-z]?(?:\.\d+)*|[A-Z](?!\.))(?![\w%°€$£]|[.,:]\d)"
)
_NOUNS = word_set(  # none is a verb before a number: "they store 5 boxes"
    "aisle annex apartment appendix article bay block branch building bus chapter clause device district"
    " engine episode flat flight floor gate hall hangar highway invoice item lane level line locker lot"
    " machine model module motorway office paragraph patient phase pier platform reactor region road room"
    " route season section sector shelf site station studio subsection suite team terminal tier track tram"
    " tunnel turbine type unit valve version volume ward warehouse zone"
)
_CALENDAR = word_set(
    "january february march april may june july august september october november december jan feb mar apr jun jul"
    " aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday spring summer autumn winter"
)
_COUNTED = re.compile(  # what a value is followed by
    r"\s*(?:percent|per|hundred|thousand|million|billion|km|kg|cm|mm|m|metres?|meters?|miles?|feet|inches|kilomet\w+"
    r"|litres?|tonnes?|tons?|seconds?|minutes?|hours?|days?|weeks?|months?|years?|people|persons?|euros?|dollars?|pounds?"
    r"|points?|degrees?|times)\b",
    re.IGNORECASE,
)
_LONGEST = 2_000  # characters of a text that are looked at
_FAMILY = 5  # first letters that words of a family share
_EARLY = 8  # words of a sentence in which its subject is


class _Numbered(NamedTuple):
    """A numbered thing; one that leads is in the subject of its sentence."""

    noun: str
    id: str
    words_before: int
    leads: bool


def is_of_another(claim: str, text: str) -> bool:
    """Whether a text is about another thing of the kind of the claim's subject, and not about that one.

    It is another by its number, or by the opposite of the claim's word: "Room 14", "the west wing".
    """
    if rival := rival_subject(claim, text):
        ours, theirs = rival
        opposed = any(are_opposites(stem(one), stem(other)) for one in ours for other in theirs)
        if opposed or all(quantities(" ".join(words)) for words in rival):
            return True
    for numbered in _found(claim):
        if numbered.leads and not _has(text, numbered.id):
            others = [each for each in _found(text) if each.noun == numbered.noun]
            if others and all(each.words_before < 2 * _EARLY for each in others):
                return True
    return False


def rival_subject(claim: str, text: str) -> tuple[list[str], list[str]] | None:
    """The words that tell the subjects of a claim and of a text apart: "winter" and "summer" of two menus.

    None where a sentence of the text may be about the claim's subject.
    """
    ours, found = _subject(claim), None
    if ours is None:
        return None
    own, said = parsed(claim), parsed(claim[ours.end :]).vocabulary
    for sentence in re.split(r"(?<=[.!?;])\s+", text[:_LONGEST]):
        theirs = _subject(sentence)
        same = theirs is None or theirs.head != ours.head or _shared(ours, parsed(sentence[theirs.start :]))
        if theirs and not same and not _shared(theirs, own):
            found = found or (ours.apart, theirs.apart)
        elif said & parsed(sentence).vocabulary - FUNCTION_WORDS:
            return None
    return found


class _Subject(NamedTuple):
    """A noun, the words before it that tell it apart, and where it is."""

    apart: list[str]
    head: str
    start: int
    end: int


def _shared(subject: _Subject, text: Parsed) -> bool:
    """Whether a text has one of a subject's words, or one of its family: "Pakistan" and "Pakistani"."""
    return not {word[:_FAMILY] for word in text.vocabulary}.isdisjoint(stem(word)[:_FAMILY] for word in subject.apart)


@lru_cache(maxsize=2048)
def _subject(sentence: str) -> _Subject | None:
    """The words between the last comma and the first verb, without the article; None unless they are a noun phrase."""
    end = next(finite_verbs(sentence), (0, 0))[0]
    start = sentence.rfind(",", 0, end) + 1
    words = [match.group() for match in WORD.finditer(sentence, start, end)]
    named = words[:1] and words[0].lower() in _ARTICLES
    del words[: bool(named)]
    if not 1 < len(words) < 5 or any(word.lower() in FUNCTION_WORDS for word in words):
        return None
    counted = any(quantity.dimension == "count" for quantity in quantities(" ".join(words[:-1])))
    if counted or (words[-1][0].isupper() and not named):  # "two boats", "Dr Holm"
        return None
    return _Subject(words[:-1], stem(words[-1]), start, end)


_ARTICLES = word_set("the a an our their its his her this that these those")


def _has(text: str, number: str) -> bool:
    return re.search(rf"(?<![\w.,]){re.escape(number)}(?![\w]|[.,]\d)", text, re.IGNORECASE) is not None


@lru_cache(maxsize=2048)
def _found(text: str) -> Sequence[_Numbered]:
    found = []
    for match in _NUMBERED.finditer(text, 0, _LONGEST):
        noun, written = match["noun"].lower(), match["noun"]
        is_name = written[0].isupper() and match.start() > 0 and not written.isupper()  # not "EUR 40"
        if not (match["mark"] or noun in _NOUNS or is_name) or noun in _CALENDAR or noun in FUNCTION_WORDS:
            continue
        if not match["mark"] and _COUNTED.match(text, match.end()):
            continue
        before, after = text[: match.start()], text[match.end() : _LONGEST]
        words = len(before.split())
        leads = words < _EARLY and len(re.findall(r"\w+", after)) > 1 and not has_finite_verb(before)
        found.append(_Numbered(noun, match["id"].lower(), words, leads))
    return found


@dataclass(frozen=True)
class Fact:
    """A value and the tokens that go with it.

    Attributes:
        before: tokens of its own part before the value, or of a cell's row.
        after: those after the value, or of a cell's column.
        shared: keys that it takes from other parts.
        unclear: keys between two parts, which may belong to either.
        joined: whether nothing separates it from another value: "from 4 to 6 million".
        start: where its part begins.
        end: where its part ends.
    """

    value: Quantity
    before: tuple[WordToken, ...]
    after: tuple[WordToken, ...]
    shared: frozenset[str] = frozenset()
    unclear: frozenset[str] = frozenset()
    joined: bool = False
    start: int = 0
    end: int = 0

    @property
    def own(self) -> tuple[WordToken, ...]:
        return (*self.before, *self.after)

    @cached_property
    def own_keys(self) -> frozenset[str]:
        return frozenset(token.key for token in self.own)

    @cached_property
    def keys(self) -> frozenset[str]:
        return self.own_keys | self.shared


# The parts of a sentence.

_CONTRAST = r"(?:while|whereas|but|against|compared (?:with|to)|versus|vs)\b\.?"
_BOUNDARY = re.compile(
    rf"(?P<strong>\)?\s*;|\n|\s[–—-]\s|[,)]*\s+{_CONTRAST}(?:\s+in\b)?)"
    r"|(?P<weak>\)?,(?:\s+(?:and|or|then)\b)?|\)?\s+(?:and|or|then)\b|\))",
    re.IGNORECASE,
)
_PHRASE = re.compile(  # where the words after a value begin that say whose it is
    r"\b(?:of|on|in|for|to|at|among|by|with|from|under|during|until|before|after|since|if|when|the|taking|receiving)\b"
    r"|\ban?\s(?!day|week|month|year|hour|minute|second|night|person|head|piece|unit|time|share|kilo|litre|metre)|\(",
    re.IGNORECASE,
)
_SIZE = re.compile(r"\W*(?:long|high|tall|wide|deep|thick|old|away|apart|an?|per|each|every|in|more|less)\b")
_PRONOUN = re.compile(r"\b(?:it|they|he|she)\b", re.IGNORECASE)


class _Cut(NamedTuple):
    """What separates two parts; strong between clauses."""

    start: int
    end: int
    strong: bool


def parts_of(text: Parsed) -> tuple[int, ...]:
    """Where the parts of a text end, but for the last."""
    return tuple(cut.start for cut in cuts_of(text))


def cuts_of(text: Parsed) -> list[_Cut]:
    return [
        _Cut(*match.span(), strong=match["strong"] is not None)
        for match in _BOUNDARY.finditer(text.text)
        if match.start() not in text.measured
    ]


def facts_of(text: Parsed, kind: Quantity) -> tuple[Fact, ...]:
    """The values of one kind, in order, with the words that go with each."""
    tokens, cuts = tokens_of(text), cuts_of(text)
    values, asides = _without_asides(text.text, values_of(text, parts_of(text), kind))
    if not values:
        return ()
    tokens = tuple(token for token in tokens if not any(start <= token.start < end for start, end in asides))
    cuts = [cut for cut in cuts if not any(start <= cut.start < end - 1 for start, end in asides)]
    gaps = [_Gap.between(one, other, cuts, text.text) for one, other in pairwise(values)]
    clause_start = max((cut.end for cut in cuts if cut.strong and cut.end <= values[0].start), default=0)
    clause_end = min((cut.start for cut in cuts if cut.start >= values[-1].end), default=len(text.text))
    lefts = [clause_start, *(gap.right for gap in gaps)]
    rights = [*(gap.left for gap in gaps), clause_end]
    facts: list[Fact] = []
    for value, left, right in zip(values, lefts, rights, strict=True):
        before = _inside(tokens, left, value.start)
        after = _inside(tokens, _phrase_start(text.text, tokens, value, right), right)
        if facts and before and before[0].verb and not gaps[len(facts) - 1].strong:
            before = (*holders_before(facts[-1]), *before)  # "is issued in ten days and is valid for a year"
        fact = Fact(value, before, after, start=left, end=right)
        facts.append(Fact(value, before, after, _taken(text.text, facts, fact, gaps), start=left, end=right))
    return tuple(_with_unclear(facts, gaps, tokens))


def _without_asides(text: str, values: Sequence[Quantity]) -> tuple[list[Quantity], list[tuple[int, int]]]:
    """The values without those that a bracket after another value compares it with, as in "71 % (2014: 78 %)"."""
    kept: list[Quantity] = []
    asides: list[tuple[int, int]] = []
    for value in values:
        if asides and value.start < asides[-1][1]:
            continue
        opened = text.rfind("(", kept[-1].end, value.start) if kept else -1
        if opened < 0 or ")" in text[opened : value.start] or _BOUNDARY.search(text, kept[-1].end, opened):
            kept.append(value)
            continue
        closed = text.find(")", value.end)
        asides.append((opened, closed + 1 if closed >= 0 else len(text)))
    return kept, asides


class _Gap(NamedTuple):
    """What lies between two values: the first has the words up to ``left``, the second those from ``right`` on."""

    left: int
    right: int
    strong: bool = False
    joined: bool = False

    @classmethod
    def between(cls, one: Quantity, other: Quantity, cuts: Sequence[_Cut], text: str) -> _Gap:
        inside = [cut for cut in cuts if one.end <= cut.start and cut.end <= other.start]
        while len(inside) > 1 and not re.search(r"\w", text[inside[-1].end : other.start]):
            inside.pop()  # a value in apposition: "and Hove the highest, 34 °C"
        if not inside:
            return cls(one.end, other.start, joined=True)
        strong = [cut for cut in inside if cut.strong]
        right = strong[0].end if len(strong) == 1 else inside[-1].end
        return cls(inside[0].start, right, strong=len(strong) == 1)


def _inside(tokens: Sequence[WordToken], start: int, end: int) -> tuple[WordToken, ...]:
    return tuple(token for token in tokens if start <= token.start and token.end <= end)


def _phrase_start(text: str, tokens: Sequence[WordToken], value: Quantity, end: int) -> int:
    """Where the words after a value begin that are not its noun: "210 people in Leeds", "5 euros inland"."""
    phrase = _PHRASE.search(text, value.end, end)
    named = [token.start for token in _inside(tokens, value.end, end) if token.sort in ("name", "date")]
    if not phrase and not named and value.dimension != "count" and not _SIZE.match(text, value.end):
        return value.end
    return min([end, *([phrase.start()] if phrase else []), *named])


def _taken(text: str, facts: Sequence[Fact], fact: Fact, gaps: Sequence[_Gap]) -> frozenset[str]:
    """Keys that a part without them takes from the part before, except those that its own tokens replace."""
    if not facts:
        return frozenset()
    whole = any(token.verb for token in fact.before) and not _PRONOUN.search(text, fact.start, fact.value.start)
    if gaps[len(facts) - 1].strong and whole:
        return frozenset()
    last = facts[-1]
    keys = last.shared.union(token.key for token in last.before)
    return keys - _replaced(last.before, holders_before(fact))


def holders_before(fact: Fact) -> tuple[WordToken, ...]:
    """The tokens before a value and before the first verb, and dates: "it came back in" has no holder."""
    verbs = [token.start for token in fact.before if token.verb]
    return tuple(token for token in fact.before if not verbs or token.start < verbs[0] or token.sort == "date")


def _replaced(first: Sequence[WordToken], own: Sequence[WordToken]) -> set[str]:
    """Keys of the first part's tokens in whose places the second part has its own."""
    keys = [token.key for token in first]
    anchors = [(place, keys.index(token.key)) for place, token in enumerate(own) if token.key in keys]
    gone: set[str] = set()
    for place, token in enumerate(own):
        if token.key in keys:
            continue
        same = [
            other
            for other in first
            if alike(other, token)
            and (other.placed == token.placed or token.sort == "date")
            and not other.verb
            and other.key not in gone
        ]
        if anchors:
            near, there = min(anchors, key=lambda anchor: abs(anchor[0] - place))
            at = there + place - near
            if 0 <= at < len(first) and alike(first[at], token):
                same = [first[at]]
        if same:
            gone.add(same[0].key)
            gone |= _name_run(first, same[0])
    return gone


def _name_run(tokens: Sequence[WordToken], token: WordToken) -> set[str]:
    """The keys of the name that a token belongs to."""
    if token.sort != "name":
        return set()
    rest = pairwise(tokens[tokens.index(token) :])
    following = takewhile(lambda pair: pair[1].sort == "name" and pair[1].start - pair[0].end <= 1, rest)
    return {token.key, *(other.key for _, other in following)}


def _with_unclear(facts: Sequence[Fact], gaps: Sequence[_Gap], tokens: Sequence[WordToken]) -> Iterator[Fact]:
    """The facts, with the words between two parts, which either may have."""
    for place, fact in enumerate(facts):
        near = gaps[max(0, place - 1) : place + 1]
        between = {token.key for gap in near for token in _inside(tokens, gap.left, gap.right)}
        yield replace(fact, unclear=frozenset(between) - fact.keys, joined=any(gap.joined for gap in near))


# "A and B grew by 3 % and 5 %, respectively".


def respective(text: Parsed, values: Sequence[Quantity]) -> tuple[Fact, ...]:
    """The facts of a list of values and a list of holders; none if the two cannot be paired."""
    tokens = [token for token in tokens_of(text) if not token.key.startswith("respectiv")]
    at = text.text.index("respectively")
    count = len(values)
    spans = {(value.start, value.end) for value in values}
    if not 1 < count < 5 or any(not _only_joins(text.text[a.end : b.start]) for a, b in pairwise(values)):
        return ()
    first, last = values[0].start, values[-1].end
    for leads, low, high in ((True, 0, first), (False, last, at)):
        held = [token for token in tokens if low <= token.start < high and (token.start, token.end) not in spans]
        if holders := _listed(text.text, held, count):
            rest = frozenset(token.key for token in tokens if not any(token in run for run in holders))
            facts = (
                Fact(value, run if leads else (), () if leads else run, shared=rest, end=len(text.text))
                for value, run in zip(values, holders, strict=True)
            )
            return tuple(facts)
    return ()


def _only_joins(text: str) -> bool:
    return re.fullmatch(r"\W*(?:and|or)?\W*(?:by |to |in |at |for |of )?", text) is not None


def _listed(text: str, tokens: Sequence[WordToken], count: int) -> list[tuple[WordToken, ...]]:
    """The first ``count`` runs of tokens that are joined by commas and "and"."""
    runs: list[list[WordToken]] = []
    for token in tokens:
        if runs and re.fullmatch(r"\s?", text[runs[-1][-1].end : token.start]) and _one_name(runs[-1][-1], token):
            runs[-1].append(token)
        else:
            runs.append([token])
    for place in range(len(runs) - count + 1):
        window = runs[place : place + count]
        if all(_JOINT.fullmatch(text[a[-1].end : b[0].start]) for a, b in pairwise(window)):
            return [tuple(run) for run in window]
    return []


_JOINT = re.compile(r",?\s(?:and|or)\s(?:the |in |on |of |for )*|,\s(?:the |in |on |of |for )*")


def _one_name(one: WordToken, other: WordToken) -> bool:
    return other.sort == one.sort == "name" or other.sort == "amount"


# Tables: a row's first cell and a column's head name a cell's holder.


def rows_of(text: str) -> list[list[str]]:
    """The cells of a table's rows, the head first; empty if the text is not a table."""
    lines = [line.strip().strip("|") for line in text.split("\n") if line.count("|") > 0]
    rows = [[cell.strip() for cell in line.split("|")] for line in lines if re.search(r"\w", line)]
    return rows if len({len(row) for row in rows}) == 1 and rows and len(rows[0]) > 1 else []


_LARGEST = 20_000  # characters of a table that is compared
_NAMED_CELLS = re.compile(r"[^:;|\n]{1,60}: [^;\n]+(?:; [^:;|\n]{1,60}: [^;\n]+)+")


def tables_in(sentences: Sequence[str]) -> Iterator[tuple[str, range]]:
    """Tables whose rows are sentences with named cells ("Pump: A20; Power: 310 W."), and the places of their rows."""
    names: list[str] = []
    rows: list[str] = []
    for place, sentence in enumerate([*sentences, ""]):
        plain = sentence.strip().removesuffix(".")
        cells_of_row = plain.split("; ") if _NAMED_CELLS.fullmatch(plain) else []
        pairs = [cell.partition(": ") for cell in cells_of_row]
        found = [name for name, _, _ in pairs]
        if found != names:
            if len(rows) > 1 and sum(map(len, rows)) <= _LARGEST:
                yield "\n".join([" | ".join(names), *rows]), range(place - len(rows), place)
            names, rows = found, []
        if pairs:
            rows.append(" | ".join(cell.replace("|", "/") for _, _, cell in pairs))


def is_row(sentence: str) -> bool:
    """Whether a sentence is a table's row with named cells, which says all of it without the row before."""
    return _NAMED_CELLS.fullmatch(sentence.strip().removesuffix(".")) is not None


_OF_SEVERAL = re.compile(
    r"\b(?:than|others?|all|every|each|only|both|most|least|none|neither|total|average|together|\w+est)\b",
    re.IGNORECASE,
)


def rows_of_others(claim: str, sentences: Sequence[str]) -> frozenset[int]:
    """The places of rows that begin with another name than the one or those that the claim has.

    Nothing for a claim that compares, or that speaks of several rows.
    """
    if _OF_SEVERAL.search(claim):
        return frozenset()
    found: set[int] = set()
    for table, places in tables_in(sentences):
        names = [row.partition(" | ")[0] for row in table.split("\n")[1:]]
        stated = [_names(claim, name) for name in names]
        if any(stated):
            found |= {place for place, is_stated in zip(places, stated, strict=True) if not is_stated}
    return frozenset(found)


def _names(claim: str, name: str) -> bool:
    """Whether a claim has a name, which is not a mere figure; "may" does not name a month."""
    if not any(map(str.isalpha, name)) or name.casefold() not in claim.casefold():
        return False
    flags = re.IGNORECASE if " " in name or any(map(str.isdigit, name)) else re.NOFLAG
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", claim, flags) is not None


_CELL_WITH_UNIT = re.compile(r"(?<![^\s;])([^:;|\n()]{1,60}) \(([^()\n]{1,40})\): (\d(?:[\d,. ]{,30}\d)?)(?=;|\.?\Z)")


def with_units(row: str) -> str:
    """A row with the unit of a column behind its figure: "Length (m): 8." becomes "Length: 8 m."."""
    return _CELL_WITH_UNIT.sub(lambda cell: f"{cell[1]}: {cell[3]} {cell[2]}", row)


_HEADS_UNIT = re.compile(r"\(([^()]+)\)\s*\Z")


def cells(rows: Sequence[Sequence[str]], kind: Quantity) -> Iterator[Fact]:
    head, *body = rows
    for row in body:
        label = tokens_of(parsed(row[0]))
        for name, cell in zip(head[1:], row[1:], strict=True):
            unit = _HEADS_UNIT.search(name)
            given = quantities(f"{cell} {unit[1]}" if unit else cell) or quantities(cell)
            column = tokens_of(parsed(_HEADS_UNIT.sub("", name).lower()))
            for value in given:
                if relation(kind, value) and (same_things(kind, value) or stem(name) in kind.nouns):
                    yield Fact(value, label, column)
