"""Things that a number names: "Room 12", "Flight KL 204", "warehouse number 777".

Such a number is a name and not a value: a sentence about Room 14 says nothing about Room 12, whatever it says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from redargue.nli.grammar import FUNCTION_WORDS, has_finite_verb, word_set

_NUMBERED = re.compile(
    r"(?<![\w-])(?P<noun>[^\W\d_][\w-]*)\s+(?P<mark>(?:number|numbers|no\.?|nr\.?|#)\s*)?"
    r"(?P<id>(?:[A-Z]{1,3}[ -]?)?\d{1,6}[A-Za-z]?(?:\.\d+)*)(?![\w%°€$£]|[.,:]\d)"
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
_EARLY = 8  # words of a sentence in which its subject is


class _Numbered(NamedTuple):
    """A numbered thing; one that leads is in the subject of its sentence."""

    noun: str
    id: str
    words_before: int
    leads: bool


def is_of_another(claim: str, text: str) -> bool:
    """Whether a text is about another numbered thing of the kind of the claim's subject, and not about that one."""
    for numbered in _found(claim):
        if numbered.leads and not _has(text, numbered.id):
            others = [each for each in _found(text) if each.noun == numbered.noun]
            if others and all(each.words_before < 2 * _EARLY for each in others):
                return True
    return False


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
