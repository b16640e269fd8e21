"""Claims of what only one can be or have done: "Paris is the capital of France", "Anna Berg wrote the novel".

Where a text says it of another, it refutes the claim: the text that supports "Berlin is the capital of France". The
models take two subjects for two statements that may both be true, which they are of "attended the meeting".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from redargue.nli.grammar import FUNCTION_WORDS, stem

_AT_MOST = 3  # other names of a text that are tried
_LONGEST = 2_000  # characters of a text that is searched for names
_LONGEST_CLAIM = 300
_WORD = r"[A-ZÀ-ÖØ-Þ][\w’'&-]*"
_NAME = rf"{_WORD}(?:\s(?:(?:of|de|la|von|van|der|du|the)\s)*{_WORD})*"
_OF_ONE = rf"(?:the|its|their|his|her|{_NAME}(?:[’']s|(?<=s)[’']))"
_SEVERAL = (
    r"(?:one|same|other|main|major|kind|type|sort|part|name|member|reason|home|subject|result|place|star|face)s?\b"
)
_SOLE = (
    r"(?:first|second|third|last|only|final|original|sole|most|top|[a-z-]+est|winners?|author|founder|inventor|designer"
    r"|architect|creator|composer|discoverer|killer|runners?-up|champions?)\b"
)
_DONE = (
    r"(?:won|wrote|directed|founded|designed|invented|discovered|composed|painted|sculpted|built|created|hosted|coined"
    r"|acquired|bought|assassinated|killed|edited|translated|illustrated|commissioned|patented|choreographed|scored)"
)
_DOES = r"(?:owns|leads|heads|chairs|edits|captains|coaches|manages|runs|holds)"
_DONE_BY = rf"(?:{_DONE.replace('wrote', 'written')}|owned|led|headed|chaired|captained|coached|managed|run|held)"
_DEFINITE = r"(?=the |its |his |her |their |[A-Z\d“\"‘'])"
_CLAIMS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?P<name>{_NAME}) (?:is|are|remains|has been) {_OF_ONE} (?!{_SEVERAL})(?P<role>\w[^,;:.]*)",
        rf"(?P<name>{_NAME}) (?:was|were|became) {_OF_ONE} (?!{_SEVERAL})(?P<past>(?:[\w’'-]+ ){{0,3}}?{_SOLE})",
        rf"(?P<name>{_NAME}) {_DONE} {_DEFINITE}",
        rf"(?P<name>{_NAME}) (?P<role>{_DOES}) {_DEFINITE}",
        rf"(?:The|Its|{_OF_ONE}) (?P<role>\w[^,;:]*?) (?:is|remains) (?:the )?(?P<name>{_NAME})\.?\Z",
        rf"(?:The|Its|{_OF_ONE}) (?P<past>{_SOLE}[^,;:]*?) (?:was|were) (?:the )?(?P<name>{_NAME})\.?\Z",
        rf".*\b(?:was|were|been) {_DONE_BY} by (?P<name>{_NAME})",
        rf".*\b(?:is|are) (?P<role>{_DONE_BY}) by (?:the )?(?P<name>{_NAME})",
    )
)
_FORMER = re.compile(r"\b(?:was|were|had been|former|formerly|until|previous|previously|ex|late|then)\b", re.IGNORECASE)
_NOT_SOLE = (
    r"\b(?:an?|one of|some|many|deputy|vice|assistant|acting|former|future|next|honorary|joint)\b[\w\s’'-]{0,25}"
)
_LATER = re.compile(
    r"\b(?:(?:will|would|to|may|might|could) (?:be|become|take|succeed|replace|lead|join|win|own)"
    r"|(?:was|been) (?:appointed|elected|named|chosen))\b",
    re.IGNORECASE,
)
_VERB = re.compile(rf"\b(?:{_DONE_BY}|wrote)\b")
_DERIVED = re.compile(r"\b(?:translation|edition|adaptation|foreword|preface|sequel|screenplay|cover)\b", re.IGNORECASE)
_COPULA = re.compile(r"\s(?:is|are|was|were|remains)\Z")
_AFTER_NOUN = re.compile(r"\s(?:of|in|at|for|to|that|who|on|with|by|from)\b")
_REPEATED = re.compile(r"\b(?:won|hosted)\b")
_RENAMED = re.compile(
    r"\b(?:names?d?|renamed|nicknamed?|called|known|alias|aka|a\.k\.a\.|pseudonym|née|born|formerly|previously|married"
    r"|abbreviat\w+|short for|stands for)\b|[(=]",
    re.IGNORECASE,
)
_TOGETHER = re.compile(
    r"\b(?:[Tt]ogether|[Jj]ointly|[Cc]o-\w+|with (?:[A-ZÀ-ÖØ-Þ]|(?:his|her|their|another|others)\b)"
    r"|and (?:an?|his|her|their|another|others?|two|three|four|five) )"
)
_YEAR = re.compile(r"\b(?:1\d|20)\d\d\b")


class OfAnother(NamedTuple):
    """A claim of another holder; ``verbatim``: the text says the rest of it word for word."""

    claim: str
    verbatim: bool


def claims_of_others(claim: str, text: str, source: str) -> Iterator[OfAnother]:
    """The claim with each other name of the text in its holder's place, where only one of them can hold it.

    None where the source names the claim's holder and speaks of names: it may be the same under another one.

    Args:
        text: a sentence of the source, or several.
        source: title and text of all of it.
    """
    if len(claim) > _LONGEST_CLAIM:
        return
    found = next((match for pattern in _CLAIMS if (match := pattern.match(claim))), None)
    if found is None or found["name"].startswith("The ") or _may_be_another(found, claim, text):
        return
    name = found["name"]
    before, after = claim[: found.start("name")], claim[found.end("name") :]
    said = _COPULA.sub("", max(before, after, key=len).strip(" .").lower())
    verbatim = said.removeprefix("the ") in text.lower()
    fitting = (other for other in _names_of_length(text, len(name.split())) if _differ(name, other, claim, source))
    for other in islice(fitting, _AT_MOST):
        yield OfAnother(before + other + after, verbatim)


def _names_of_length(text: str, count: int) -> dict[str, None]:
    """The distinct names of a text that have this many words, or a title before two or more: "Mayor Stephen Udall"."""
    found = (name.split() for name in re.findall(_NAME, text[:_LONGEST]))
    longest = count + (count > 1)
    return dict.fromkeys(" ".join(words[-count:]) for words in found if count <= len(words) <= longest)


def _differ(name: str, other: str, claim: str, source: str) -> bool:
    """Whether two names differ in more than what both are ("Lake Corrin", "Lake Venn"), and not in name alone."""
    own, theirs = _words(name), _words(other)
    apart, instead = own - theirs, theirs - own
    if not (apart and instead) or not instead.isdisjoint(_words(claim)):
        return False
    return apart.isdisjoint(_words(source)) or not _RENAMED.search(source)


def _may_be_another(found: re.Match[str], claim: str, text: str) -> bool:
    """Whether the text may speak of a holder at another time, or of one of several holders."""
    others_year = not set(_YEAR.findall(text)) <= set(_YEAR.findall(claim))
    if (
        _TOGETHER.search(text)
        or _LATER.search(text)
        or (others_year and _REPEATED.search(claim))
        or _does_another_thing(claim, text)
    ):
        return True
    groups = found.groupdict()
    office = groups.get("role")
    role = (office or groups.get("past") or "").strip()
    if not role:
        return False
    noun = _AFTER_NOUN.split(role)[0].split()[-1]
    if re.search(_NOT_SOLE + re.escape(noun), text, re.IGNORECASE):
        return True
    return bool(office) and not re.search(_SOLE, role) and _FORMER.search(text) is not None


def _does_another_thing(claim: str, text: str) -> bool:
    """Whether the text has another of these verbs than the claim, or is about its translation or sequel."""
    ours, theirs = ({stem(verb) for verb in _VERB.findall(given)} for given in (claim, text))
    made_of_it = {word.lower() for word in _DERIVED.findall(text)} - {word.lower() for word in _DERIVED.findall(claim)}
    return bool(ours and made_of_it) or bool(ours and theirs and ours.isdisjoint(theirs))


def _words(text: str) -> frozenset[str]:
    words = re.findall(r"[^\W\d_]+", text.lower())
    return frozenset(word for word in words if len(word) > 1 and word not in FUNCTION_WORDS)
