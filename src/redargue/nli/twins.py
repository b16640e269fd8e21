"""The twin of a claim: the same claim of another holder, which a text that pairs them rightly does not support.

Beside "The north gate is locked at dusk and the south gate an hour later", the twin of "The north gate is locked an
hour after dusk" is "The south gate is locked an hour after dusk". A model that finds both in the text has not read who
holds what, and its support counts for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from redargue.nli.alignment import Parsed
from redargue.nli.holders import Token, tokens_of

BY_ORDER = re.compile(r"\brespectively\b|\bin that order\b|\bthe former\b|\bthe latter\b", re.IGNORECASE)
_LISTED = re.compile(r"[\s,;/&]*(?:\b(?:and|or|as well as|the|an?|both)\b[\s,;/&]*)*")
_HEAD = re.compile(r"ones?", re.IGNORECASE)


class _Holder(NamedTuple):
    """A word, date or name, of one or several tokens, with the offsets in its text."""

    keys: tuple[str, ...]
    sort: str
    start: int
    end: int


def twin(claim: Parsed, text: Parsed) -> str | None:
    """The claim of another holder that the text names nearer to something that the claim says of its own.

    None where the text has no such holder, or where both are listed together: "Leeds and York are served by tram".
    """
    if swapped := _swapped(claim, text):
        return swapped
    given = _holders(text, claim)
    keys = {token.key for token in tokens_of(claim)}
    for held in (*_holders(claim, text), *_modifiers(claim)):
        own = [each for each in (*given, *_modifiers(text)) if each.keys == held.keys and each.sort == held.sort]
        rivals = [each for each in _rivals(held, claim, text) if not keys & set(each.keys)]
        said = [token for token in tokens_of(text) if token.key in keys and token.key not in held.keys]
        for mine in own:
            for rival in rivals:
                if _competes(rival, mine, said, text):
                    other = text.text[rival.start : rival.end]
                    return claim.text[: held.start] + other + claim.text[held.end :]
    return None


def _swapped(claim: Parsed, text: Parsed) -> str | None:
    """The claim with its two names in each other's places, where the text has both of them more than once."""
    names = [each for each in _holders(claim, text) if each.sort == "name"]
    given = [each.keys for each in _holders(text, claim)]
    if len(names) != 2 or min(given.count(each.keys) for each in names) < 2:
        return None
    one, other = names
    words = claim.text
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
            found.append(_Holder((token.key,), "name" if named else "date", token.start, token.end))
    return found


def _modifiers(text: Parsed) -> list[_Holder]:
    """Words before a noun: "north" in "north gate"."""
    return [_Holder((one.key,), "word", one.start, one.end) for one, _ in _phrases(text)]


def _phrases(text: Parsed) -> Iterator[tuple[Token, Token]]:
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
    found = [_Holder((one.key,), "word", one.start, one.end) for one, head in _phrases(text) if head.key in heads]
    short = (token for token in tokens_of(text) if _HEAD.match(text.text, token.end + 1) and token.sort == "word")
    return found + [_Holder((token.key,), "word", token.start, token.end) for token in short]


def _competes(rival: _Holder, mine: _Holder, said: Sequence[Token], text: Parsed) -> bool:
    """Whether a word that the claim says of its holder is nearer to the rival, or on its far side, in every place."""
    left, right = (mine, rival) if mine.start < rival.start else (rival, mine)
    if _LISTED.fullmatch(text.text, left.end, right.start):
        return False
    theirs = {token.key for token in said if _distance(token, rival) < _distance(token, mine)}
    own = {token.key for token in said if _distance(token, mine) <= _distance(token, rival)}
    shared = {token.key for token in said if token.verb and token.end <= left.start}  # a verb holds for both parts
    return bool(theirs - own - shared)


def _distance(token: Token, holder: _Holder) -> int:
    """Characters between them."""
    return max(token.start - holder.end, holder.start - token.end, 0)
