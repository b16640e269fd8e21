"""The content words of a sentence that may name whose a value is, and the twin of a claim: the same of another holder.

Beside "The north gate is locked at dusk and the south gate an hour later", the twin of "The north gate is locked an
hour after dusk" is "The south gate is locked an hour after dusk". A model that finds both in the text has not read who
holds what, and its support counts for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from redargue.nli.alignment import Parsed
from redargue.nli.grammar import FUNCTION_WORDS, verb_like, word_set
from redargue.nli.quantities import Quantity

Sort = Literal["name", "date", "amount", "word"]


class WordToken(NamedTuple):
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


DATES = word_set("year month day weekday clock")
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
def tokens_of(text: Parsed) -> tuple[WordToken, ...]:
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


def _token(text: Parsed, key: str, span: tuple[int, int], sort: Sort, *, verb: bool = False) -> WordToken:
    placed = _PLACED.search(text.text, max(0, span[0] - 20), span[0]) is not None
    return WordToken(key, *span, sort, placed, verb)


def _codes(text: Parsed) -> list[re.Match[str]]:
    found = _CODE.finditer(text.text)
    return [match for match in found if match.start() not in text.measured or match[0][-1].isalpha()]


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


def alike(one: WordToken, other: WordToken) -> bool:
    """Whether two tokens may stand in each other's place; amounts, if they measure the same."""
    if one.sort == other.sort == "amount":
        dimensions = {re.split(r"[-\d]", each.key, maxsplit=1)[0] for each in (one, other)}
        return len(dimensions) == 1
    return one.sort == other.sort or not {"date", "amount"} & {one.sort, other.sort}


_ONE_OF_TWO = r"\bthe (?:former|latter)\b(?!\s+(?:[A-Z]|\w+ of\b))"  # not "the former president of"
BY_ORDER = re.compile(rf"(?i:\brespectively\b|\bin that order\b)|{_ONE_OF_TWO}|{_ONE_OF_TWO.replace('the', 'The', 1)}")
_LISTED = re.compile(r"[\s,;/&]*(?:\b(?:and|or|as well as|the|an?|both)\b[\s,;/&]*)*")
_HEAD = re.compile(r"ones?", re.IGNORECASE)


class _Holder(NamedTuple):
    """A word, date or name, of one or several tokens, with the offsets in its text."""

    keys: tuple[str, ...]
    sort: str
    start: int
    end: int


class Twin(NamedTuple):
    """A claim of another holder.

    Attributes:
        opposed: whether the text sets the two holders against each other: the parts of a day or a building ("the north
            gate"), or two statements with a semicolon between; names may be in a text for any reason.
    """

    claim: str
    opposed: bool


def twin(claim: Parsed, text: Parsed) -> Twin | None:
    """The claim of another holder that the text names nearer to something that the claim says of its own.

    None where the text has no such holder, or where both are listed together: "Leeds and York are served by tram".
    """
    if swapped := _exchanged(claim, text):
        return Twin(swapped, opposed=False)
    given = _holders(text, claim)
    keys = {token.key for token in tokens_of(claim)}
    for held in (*_holders(claim, text), *_modifiers(claim)):
        if held.sort == "name" and _IN_TITLE.search(claim.text[: held.start]):  # "Story of My Life"
            continue
        own = [each for each in (*given, *_modifiers(text)) if each.keys == held.keys and each.sort == held.sort]
        rivals = [each for each in _rivals(held, claim, text) if not keys & set(each.keys)]
        said = [token for token in tokens_of(text) if token.key in keys and token.key not in held.keys]
        for mine in own:
            for rival in rivals:
                if _competes(rival, mine, said, text):
                    other = text.text[rival.start : rival.end]
                    of_other = claim.text[: held.start] + other + claim.text[held.end :]
                    return Twin(of_other, opposed=held.sort != "name" or ";" in text.text)
    return None


_IN_TITLE = re.compile(r"(?<=[\w,;:] )[A-Z][\w’']*\s\Z")


def _exchanged(claim: Parsed, text: Parsed) -> str | None:
    """The claim with its two names in each other's places, where the text has each at least twice."""
    names = [each for each in _holders(claim, text) if each.sort == "name"]
    given = [each.keys for each in _holders(text, claim)]
    if len(names) != 2 or min(given.count(each.keys) for each in names) < 2:
        return None
    words, (one, other) = claim.text, names
    first, second = words[one.start : one.end], words[other.start : other.end]
    return words[: one.start] + second + words[one.end : other.start] + first + words[other.end :]


def _holders(text: Parsed, other: Parsed) -> list[_Holder]:
    """Names, with their adjacent parts as one, and dates; a first word is a name if it is one in the other text."""
    names = {token.key for each in (text, other) for token in tokens_of(each) if token.sort == "name"}
    found: list[_Holder] = []
    for token in tokens_of(text):
        named = token.sort == "name" or (token.key in names and text.text[token.start].isupper())
        if not named and token.sort != "date":
            continue
        last = found[-1] if found else None
        if last and named and last.sort == "name" and text.text[last.end : token.start] == " ":
            found[-1] = _Holder((*last.keys, token.key), "name", last.start, token.end)
        else:
            found.append(_single(token, "name" if named else "date"))
    return found


def _modifiers(text: Parsed) -> list[_Holder]:
    """Words before a noun: "north" in "north gate"."""
    return [_single(one, "word") for one, _ in _phrases(text)]


def _single(token: WordToken, sort: str) -> _Holder:
    return _Holder((token.key,), sort, token.start, token.end)


def _phrases(text: Parsed) -> Iterator[tuple[WordToken, WordToken]]:
    """Two words in a row, the first of which may tell things of the second's kind apart."""
    for one, head in pairwise(tokens_of(text)):
        if one.sort == "word" == head.sort and not (one.verb or head.verb) and text.text[one.end : head.start] == " ":
            yield one, head


def _rivals(held: _Holder, claim: Parsed, text: Parsed) -> list[_Holder]:
    if held.sort != "word":
        return [each for each in _holders(text, claim) if each.sort == held.sort]
    heads = {head.key for one, head in _phrases(claim) if one.key in held.keys}
    if not any(one.key in held.keys and head.key in heads for one, head in _phrases(text)):
        return []
    found = [one for one, head in _phrases(text) if head.key in heads]
    found += [token for token in tokens_of(text) if token.sort == "word" and _HEAD.match(text.text, token.end + 1)]
    return [_single(token, "word") for token in found]


def _competes(rival: _Holder, mine: _Holder, said: Sequence[WordToken], text: Parsed) -> bool:
    """Whether a word that the claim says of its holder is nearer to the rival, or on its far side, in every place."""
    left, right = (mine, rival) if mine.start < rival.start else (rival, mine)
    if _LISTED.fullmatch(text.text, left.end, right.start):
        return False
    theirs = {token.key for token in said if _distance(token, rival) < _distance(token, mine)}
    own = {token.key for token in said if _distance(token, mine) <= _distance(token, rival)}
    shared = {token.key for token in said if token.verb and token.end <= left.start}  # a verb holds for both parts
    return bool(theirs - own - shared)


def _distance(token: WordToken, holder: _Holder) -> int:
    """Characters between them."""
    return max(token.start - holder.end, holder.start - token.end, 0)
