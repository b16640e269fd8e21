"""The content words of a sentence that may name whose a value is: names, dates, numbers and other words."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from redargue.nli.alignment import Parsed
from redargue.nli.grammar import FUNCTION_WORDS, verb_like
from redargue.nli.quantities import Quantity

Sort = Literal["name", "date", "amount", "word"]


class Token(NamedTuple):
    """A content word, a name such as "A35", or a quantity.

    Attributes:
        key: what two tokens have in common that say the same.
        sort: a capital letter makes a name, except where it begins the sentence.
        placed: whether a preposition leads to it: "on Sundays", "at the door".
        verb: whether it reads as a verb.
    """

    key: str
    start: int
    end: int
    sort: Sort
    placed: bool = False
    verb: bool = False


DATES = frozenset("year month day weekday clock".split())
_TIMES = re.compile(
    r"(?:weekdays?|weekends?|winter|summer|spring|autumn|fall|days?|daytime|nights?|mornings?|evenings?|afternoons?"
    r"|today|tomorrow|yesterday|holidays?|dawn|dusk)",
    re.IGNORECASE,
)
_CODE = re.compile(r"(?<![\w.])(?=[\w-]*[A-Z])(?=[\w-]*\d)[A-Z0-9][\w-]*")  # "A35", "7B", "Var-91"
_PLACED = re.compile(
    r"\b(?:of|on|in|for|to|at|among|by|with|from|under|during|until|since|via|per)\s(?:an? |the |those |that )?\Z",
    re.IGNORECASE,
)


@lru_cache(maxsize=1024)
def tokens_of(text: Parsed) -> tuple[Token, ...]:
    codes = _codes(text)
    coded = coded_in(text)
    found = [_token(text, match.group().lower(), match.span(), "name") for match in codes]
    for quantity in text.quantities:
        if quantity.start in coded:
            continue
        sort: Sort = "date" if quantity.dimension in DATES else "amount"
        if is_label(text.text, quantity):  # "line 7"
            sort = "name"
        key = f"#{quantity.dimension}{quantity.low:g}-{quantity.high:g}"
        found.append(_token(text, key, (quantity.start, quantity.end), sort))
    for place, (match, stemmed) in enumerate(zip(text.words, text.stems, strict=True)):
        word = match.group()
        if match.start() in text.measured or match.start() in coded or _is_empty(word, place):
            continue
        found.append(_token(text, stemmed, match.span(), _sort(text, place), verb=_is_verb(text.text, match)))
    return tuple(sorted(found, key=lambda token: token.start))


_NOUN_FOLLOWS = re.compile(r"\b(?:the|an?|its|their|his|her|our|your|of|in|for|by|at|on|with)\s\Z", re.IGNORECASE)


def _is_verb(text: str, word: re.Match[str]) -> bool:
    """Whether a word reads as a verb where it is: not in "the cost of housing", but in ", passing a million"."""
    before = text[max(0, word.start() - 10) : word.start()]
    if not word[0][0].islower() or _NOUN_FOLLOWS.search(before):
        return False
    return verb_like(word[0]) or (word[0].endswith("ing") and before.endswith(", "))


def _token(text: Parsed, key: str, span: tuple[int, int], sort: Sort, *, verb: bool = False) -> Token:
    placed = _PLACED.search(text.text, max(0, span[0] - 20), span[0]) is not None
    return Token(key, *span, sort, placed, verb)


def _codes(text: Parsed) -> list[re.Match[str]]:
    return [
        match for match in _CODE.finditer(text.text) if match.start() not in text.measured or match[0][-1].isalpha()
    ]


def coded_in(text: Parsed) -> frozenset[int]:
    """The offsets of names that are made of letters and digits."""
    return frozenset(at for match in _codes(text) for at in range(*match.span()))


def _is_empty(word: str, place: int) -> bool:
    """Whether a word names nothing; a single capital letter does: "solvent A"."""
    letter = len(word) == 1 and word.isupper() and word != "I" and place > 0
    return word[0].isdigit() or (word.lower() in FUNCTION_WORDS and not letter)


def _sort(text: Parsed, place: int) -> Sort:
    word = text.words[place].group()
    if _TIMES.fullmatch(word):
        return "date"
    first_of_name = place == 0 and len(text.words) > 1 and text.words[1].group()[0].isupper()
    return "name" if word[0].isupper() and (place > 0 or first_of_name) else "word"


def is_label(text: str, quantity: Quantity) -> bool:
    """Whether a number is part of a name, as in "line 7 runs", and not a value, as in "the south plant 340"."""
    if quantity.dimension != "count" or quantity.unit:
        return False
    before = re.search(r"([^\W\d_]+)\s\Z", text[max(0, quantity.start - 30) : quantity.start])
    if before is None or before[1].lower() in FUNCTION_WORDS or verb_like(before[1]):
        return False
    after = _NEXT.match(text, quantity.end)
    return after is not None and (verb_like(after[1]) or not quantity.nouns)


_NEXT = re.compile(r"\s(?!(?:and|or|but|on|in|at|for|to|by|of|from|with|while|as|per)\b)([^\W\d_]+)")


def _measure(key: str) -> str:
    return re.split(r"[-\d]", key, maxsplit=1)[0]


def alike(one: Token, other: Token) -> bool:
    """Whether two tokens may stand in each other's place; amounts, if they measure the same."""
    if one.sort == other.sort == "amount":
        return _measure(one.key) == _measure(other.key)
    return one.sort == other.sort or not {"date", "amount"} & {one.sort, other.sort}
