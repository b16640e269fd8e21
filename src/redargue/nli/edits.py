"""Reads a claim as an edit of a sentence: which of their tokens are the same, which are opposed, which only one has.

And a sentence's values, with the units that its later parts leave out, and the names in the places of values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from redargue.nli.alignment import Parsed, are_opposites, same_things
from redargue.nli.grammar import NEGATORS, stem, word_set
from redargue.nli.holders import DATES, coded_in, is_label, tokens_of
from redargue.nli.quantities import Quantity, Relation, base_units, relation

Kin = Literal["same", "number", "opposite", "quantifier", "modality"]

_NUMBER_MARK = re.compile(r"(?:[Nn]o\. ?|(?<=\w )No )\d+(?![\d-])")  # "Platform No. 4"
_DROPPED = word_set("the a an its his her their this that these those also then however he she it they there")
_CLASSES = {
    word: name
    for name, words in {
        "obligation": "must shall required obliged",
        "permission": "may can could might allowed",
        "universal": "all every each always everybody everyone",
        "partial": "some somebody someone several most many few sometimes often usually",
        "zero": "none nobody no",
    }.items()
    for word in words.split()
}
_IMPLIED_BY_ALL = word_set("some somebody someone several many")
_OPPOSED: dict[frozenset[str], Kin] = {
    frozenset(("universal", "partial")): "quantifier",
    frozenset(("universal", "zero")): "quantifier",
    frozenset(("zero", "partial")): "quantifier",
    frozenset(("obligation", "permission")): "modality",
}
_WEIGHTS: dict[Kin | None, float] = {
    "same": 1.0, "number": 0.6, "opposite": 0.6, "quantifier": 0.6, "modality": 0.6, None: 0.0,
}  # fmt: skip


class EditToken(NamedTuple):
    """A word or a quantity of a text."""

    stem: str
    text: str
    quantity: Quantity | None = None

    @property
    def word(self) -> str:
        return self.text.lower()

    @property
    def key(self) -> str:
        """What two tokens have in common that say the same."""
        return f"{self.stem}{self.quantity.low}-{self.quantity.high}" if self.quantity else self.stem

    @property
    def negates(self) -> bool:
        none = self.quantity is not None and self.quantity.dimension == "count" and self.quantity.high == 0
        return none or self.stem in NEGATORS or self.word in NEGATORS


def tokens(text: Parsed) -> list[EditToken]:
    """Words without articles and pronouns, and each quantity as one token; "isn't" is two words."""
    placed = [
        (quantity.start, EditToken(f"#{quantity.dimension}", quantity.text, quantity)) for quantity in text.quantities
    ]
    for match, stemmed in zip(text.words, text.stems, strict=True):
        word = match.group().lower()
        if match.start() in text.measured or word in _DROPPED or _NUMBER_MARK.match(text.text, match.start()):
            continue
        if word.endswith(("n't", "n’t")) or word == "cannot":
            stemmed = "can" if word == "cannot" else stem(word[:-3])
            placed.append((match.start() + 1, EditToken("not", match.group())))
        placed.append((match.start(), EditToken(stemmed, "can" if word == "cannot" else match.group())))
    return _with_shares([token for _, token in sorted(placed, key=lambda pair: pair[0])])


_SHARE = "#share"  # the stem of a part of a whole


def _with_shares(placed: Sequence[EditToken]) -> list[EditToken]:
    """The tokens, with "17 of 20" as one, and with "half of" and "85 % of" marked as shares."""
    found: list[EditToken] = []
    rest = list(placed)
    while rest:
        one, *following = rest
        of = bool(following) and following[0].word == "of"
        if of and one.quantity and one.quantity.dimension == "ratio":
            one = one._replace(stem=_SHARE)
        elif of and len(following) > 1 and (share := _share(one.quantity, following[1].quantity)):
            one = EditToken(_SHARE, f"{one.text} of {following[1].text}", share)
            following = following[2:]
        found.append(one)
        rest = following
    return found


def _share(part: Quantity | None, whole: Quantity | None) -> Quantity | None:
    if not (part and whole) or part.dimension != "count" or whole.dimension != "count":
        return None
    if part.unit or part.low != part.high or not 0 < part.high <= whole.low == whole.high:
        return None
    share = part.low / whole.low
    return part._replace(dimension="ratio", low=share, high=share, unit="share", end=whole.end)


def _class_of(token: EditToken) -> str:
    """The class of a quantifier or of a modal verb: "universal", "partial", …; else empty."""
    if token.stem != _SHARE or not token.quantity:
        return _CLASSES.get(token.word, "")
    return "universal" if token.quantity.low >= 1 else "partial"


@dataclass(frozen=True)
class Edit:
    """The claim as an edit of a part of the sentence.

    Attributes:
        pairs: aligned tokens in order, with what they have in common.
        added: tokens that only the claim has.
        dropped: tokens that only the sentence has, between the first and the last aligned one.
        around: the sentence's tokens next to that part, two on the left and three on the right.
        lead: how many of the added tokens come before the first pair.
    """

    pairs: tuple[tuple[EditToken, EditToken, Kin], ...]
    added: tuple[EditToken, ...]
    dropped: tuple[EditToken, ...]
    around: tuple[EditToken, ...]
    lead: int


def edit_of(claim: Parsed, sentence: Parsed) -> Edit:
    """Aligns the two token by token in order, so that most tokens are paired; equal ones before opposites."""
    ours, theirs = tokens(claim), tokens(sentence)
    kin = [[_kin(one, other) for other in theirs] for one in ours]
    if not (places := _best_pairs(kin)):
        return Edit((), tuple(ours), (), (), 0)
    pairs = tuple((ours[i], theirs[j], related) for i, j in places.items() if (related := kin[i][j]))
    first, last = min(places.values()), max(places.values())
    dropped = tuple(theirs[j] for j in range(first, last) if j not in places.values())
    around = (*theirs[max(0, first - 2) : first], *theirs[last + 1 : last + 4])
    added = tuple(token for i, token in enumerate(ours) if i not in places)
    return Edit(pairs, added, dropped, around, lead=min(places))


def _kin(one: EditToken, other: EditToken) -> Kin | None:
    """Whether two tokens say the same, or different things about the same; None if they have nothing in common."""
    if one.quantity and other.quantity:
        related = relation(one.quantity, other.quantity)
        if related == "equal":
            return "same"
        return "number" if related == "unequal" and same_things(one.quantity, other.quantity) else None
    if one.stem == other.stem:
        return "same"
    if _class_of(other) == "universal" and one.word in _IMPLIED_BY_ALL:
        return "same"
    if opposed := _OPPOSED.get(frozenset((_class_of(one), _class_of(other)))):
        return opposed
    return "opposite" if are_opposites(one.stem, other.stem) else None


def _best_pairs(kin: Sequence[Sequence[Kin | None]]) -> dict[int, int]:
    """The places of the sentence's tokens by those of the claim's, both rising, with the greatest sum of weights."""
    height, width = len(kin), len(kin[0]) if kin else 0
    best = [[0.0] * (width + 1) for _ in range(height + 1)]
    for i in reversed(range(height)):
        for j in reversed(range(width)):
            best[i][j] = max(best[i + 1][j + 1] + _WEIGHTS[kin[i][j]], best[i + 1][j], best[i][j + 1])
    places: dict[int, int] = {}
    i = j = 0
    while i < height and j < width:
        if best[i][j] == best[i + 1][j]:
            i += 1
        elif best[i][j] == best[i][j + 1]:
            j += 1
        else:
            places[i] = j
            i, j = i + 1, j + 1
    return places


_HOURS = 24
_LIMITED = re.compile(r"under|over|above|below|up to|at least", re.IGNORECASE)


def values_of(text: Parsed, ends: Sequence[int], kind: Quantity | None = None) -> tuple[Quantity, ...]:
    """The text's values, of a kind only if one is given; numbers that name something ("line 7 runs") are left out.

    A number without a unit takes that of the value in its place in the part before: "two bags for six months or four
    for twelve".

    Args:
        ends: where the parts of the text end.
    """
    coded = coded_in(text)
    values: list[Quantity] = []
    units: list[Quantity] = []  # of the part before
    own: list[Quantity] = []
    part = 0
    for quantity in text.quantities:
        if quantity.start in coded or is_label(text.text, quantity):
            continue
        now = sum(end <= quantity.start for end in ends)
        if now != part and own:
            units, own = own, []
        part = now
        if _is_bare(quantity) and (unit := _elided(quantity, units, len(own))):
            quantity = _in_unit(quantity, unit)
        values.append(quantity)
        if quantity.dimension not in DATES and quantity.dimension != "ordinal":
            own.append(quantity)
    if kind is None:
        return (*values, *_names(text))
    if kind.dimension.startswith(_NAME):
        return tuple(name for name in _names(text) if name.dimension == kind.dimension)
    if kind.dimension == "clock":
        values = [_as_clock(value) for value in values]
    return tuple(value for value in values if relation(kind, value) and same_things(kind, value))


_NAME = "name "
_LEADING = re.compile(r"\b(in|at|to|from|by|for|of)\s(?:the )?\Z", re.IGNORECASE)


def _names(text: Parsed) -> list[Quantity]:
    """The names after a preposition, which is their dimension: "based in Leeds", "painted by Jens Holk"."""
    found: list[Quantity] = []
    end = -1
    for token in tokens_of(text):
        if token.sort != "name" or token.key.startswith("#"):
            continue
        if found and token.start - end == 1:
            name = found.pop()
            found.append(name._replace(text=text.text[name.start : token.end], end=token.end))
        elif leading := _LEADING.search(text.text, max(0, token.start - 12), token.start):
            dimension = _NAME + leading[1].lower()
            written = text.text[token.start : token.end]
            found.append(Quantity(dimension, 0.0, 0.0, text=written, start=token.start, end=token.end))
        else:
            continue
        end = token.end
    return found


def related(one: Quantity, other: Quantity) -> Relation | None:
    """How two values relate; a name is "compatible" with one that has a word of it."""
    if not one.dimension.startswith(_NAME):
        return relation(one, other)
    words, others = (set(value.text.casefold().split()) for value in (one, other))
    if words == others:
        return "equal"
    return "compatible" if words & others else "unequal"


def _is_bare(quantity: Quantity) -> bool:
    return quantity.dimension == "count" and not (quantity.nouns or quantity.unit)


def _elided(quantity: Quantity, units: Sequence[Quantity], place: int) -> Quantity | None:
    exact = quantity.low == quantity.high and quantity.text[:1].isalnum() and not _LIMITED.match(quantity.text)
    return units[place] if exact and place < len(units) else None


def _in_unit(quantity: Quantity, unit: Quantity) -> Quantity:
    factor = base_units(unit.unit)
    if not factor:
        return quantity
    low, high = quantity.low * factor, quantity.high * factor
    return quantity._replace(dimension=unit.dimension, low=low, high=high, unit=unit.unit)


def _as_clock(quantity: Quantity) -> Quantity:
    """A bare number of hours as a time of day, in minutes: "at 9", "at 9.30"."""
    if not _is_bare(quantity) or quantity.low != quantity.high or quantity.low > _HOURS:
        return quantity
    hours, minutes = divmod(round(quantity.low * 100), 100)
    return quantity._replace(dimension="clock", low=hours * 60.0 + minutes, high=hours * 60.0 + minutes)
