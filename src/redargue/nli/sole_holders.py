"""Claims of what only one can be or have done: "Paris is the capital of France", "Anna Berg wrote the novel".

Where a text says it of another, it refutes the claim: the text that supports "Berlin is the capital of France". The
models take two subjects for two statements that may both be true, as indeed they may with "attended the meeting". What
only one can be or have done is listed here; what several may share ("founded", "is the son of") is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from redargue.nli.grammar import FUNCTION_WORDS, stem

_AT_MOST = 3  # other names of a text that are tried
_NAMES = 12  # of which they are taken
_LONGEST = 2_000  # characters of a text that is searched for names
_LONGEST_CLAIM = 300
_LONGEST_SOURCE = 100_000
_WORD = r"[A-ZÀ-ÖØ-Þ][\w’'&-]*"
_NAME = rf"{_WORD}(?:\s(?:(?:of|de|la|von|van|der|du|the)\s)*{_WORD})*"
_OF_ONE = rf"(?:the|{_NAME}(?:[’']s|(?<=s)[’']))"
_OFFICE = (
    r"(?:director|chief executive(?: officer)?|ceo|chair(?:man|woman|person)?|president|prime minister|chancellor|mayor"
    r"|governor|king|queen|emperor|pope|captain|editor|editor-in-chief|owner|leader|head|head coach|coach|manager"
    r"|principal|head ?teacher|headmaster|headmistress|speaker|conductor|capital|author|winners?|champions?)\b"
)
_MOST = (
    r"(?:first|second|third|last|only|sole|most|top"
    r"|(?!west|forest|guest|interest|test|rest|priest|harvest|request|chest|quest|contest|protest|arrest|best)[a-z-]+est)\b"
)
_SOLE = rf"(?:[\w’'-]+ ){{0,2}}?(?:{_OFFICE}|{_MOST})"
_MADE = r"(?:wrote|directed|composed|painted|sculpted|assassinated)"
_MADE_BY = _MADE.replace("wrote", "written")
_DOES = r"(?:owns|leads|heads|chairs|edits|captains|coaches|manages)"
_TITLE = r"(?=the |[A-Z“\"‘])"
_CLAIMS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?P<name>{_NAME}) (?:is|are|remains|has been) {_OF_ONE} (?P<role>{_SOLE}[^,;:.]*)",
        rf"(?P<name>{_NAME}) (?:was|were|became) {_OF_ONE} (?P<past>(?:[\w’'-]+ ){{0,2}}?(?:{_MOST}|author|winners?))",
        rf"(?P<name>{_NAME}) {_MADE} {_TITLE}",
        rf"(?P<name>{_NAME}) won the ",
        rf"(?P<name>{_NAME}) (?P<role>{_DOES}) the ",
        rf"(?:The|{_OF_ONE}) (?P<role>{_SOLE}[^,;:]*?) (?:is|remains) (?:the )?(?P<name>{_NAME})\.?\Z",
        rf"(?:The|{_OF_ONE}) (?P<past>{_MOST}[^,;:]*?) (?:was|were) (?:the )?(?P<name>{_NAME})\.?\Z",
        rf".*\b(?:was|were|been) {_MADE_BY} by (?P<name>{_NAME})",
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
_VERB = re.compile(
    rf"\b(?:{_MADE}|{_MADE_BY}|won|translated|edited|illustrated|adapted|produced|published|designed|starred|recorded)\b"
)
_DERIVED = re.compile(r"\b(?:translation|edition|adaptation|foreword|preface|sequel|screenplay|cover)\b", re.IGNORECASE)
_COPULA = re.compile(r"\s(?:is|are|was|were|remains)\Z")
_AFTER_NOUN = re.compile(r"\s(?:of|in|at|for|to|that|who|on|with|by|from)\b")
_WON = re.compile(r"\bw[io]n(?:ners?|s)?\b|\bchampions?\b")
_RENAMED = re.compile(
    r"\b(?:names?d?|renamed|nicknamed?|called|known|alias|aka|a\.k\.a\.|pseudonym|née|born|formerly|previously|married"
    r"|abbreviat\w+|short for|stands for|same|part of|subsidiary|parent|division|owned by)\b|[(=]",
    re.IGNORECASE,
)
_TOGETHER = re.compile(
    r"\b(?:[Tt]ogether|[Jj]ointly|[Cc]o-\w+|with (?:[A-ZÀ-ÖØ-Þ]|(?:his|her|their|another|others)\b)"
    r"|and (?:an?|his|her|their|another|others?|two|three|four|five) )"
)
_YEAR = re.compile(r"\b(?:1\d|20)\d\d\b")


class OfAnother(NamedTuple):
    """A claim of another holder.

    Attributes:
        verbatim: whether the text says the rest of the claim word for word.
        named: whether the source names the claim's own holder.
    """

    claim: str
    verbatim: bool
    named: bool


def claims_of_others(claim: str, text: str, source: str) -> Iterator[OfAnother]:
    """The claim with each other name of the text in its holder's place, where only one of them can hold it.

    None where the source has a word of its name and may say that both are the same: "formerly", "born", a bracket.

    Args:
        text: a sentence of the source, or several.
        source: title and text of all of it.
    """
    if len(claim) > _LONGEST_CLAIM:
        return
    source = source[:_LONGEST_SOURCE]
    found = next((match for pattern in _CLAIMS if (match := pattern.match(claim))), None)
    if found is None or found["name"].startswith("The ") or _may_be_another(found, claim, text):
        return
    name, after = found["name"], claim[found.end("name") :]
    before = claim[: found.start("name")]
    said = _COPULA.sub("", max(before, after, key=len).strip(" .").lower()).removeprefix("the ")
    verbatim = re.search(rf"(?<!\w){re.escape(said)}(?![\w’'])", text.lower()) is not None
    source_words, renamed = _words(source), _RENAMED.search(source) is not None
    names = islice(_names_of_length(text, len(name.split())), _NAMES)
    fitting = (other for other in names if _differ(name, other, claim))
    for other in islice(fitting, _AT_MOST):
        named = not (_words(name) - _words(other)).isdisjoint(source_words)
        if not named or not (renamed or _side_by_side(name, other, source)):
            yield OfAnother(before + other + after, verbatim, named)


def _names_of_length(text: str, count: int) -> dict[str, None]:
    """The distinct names of a text that have this many words, or a title before two or more: "Mayor Stephen Udall"."""
    found = (name.split() for name in re.findall(_NAME, text[:_LONGEST]))
    longest = count + (count > 1)
    return dict.fromkeys(" ".join(words[-count:]) for words in found if count <= len(words) <= longest)


def _differ(name: str, other: str, claim: str) -> bool:
    """Whether two names differ in more than what both are, as "Lake Corrin" and "Lake Venn" do."""
    own, theirs = _words(name), _words(other)
    return bool(own - theirs and theirs - own) and (theirs - own).isdisjoint(_words(claim))


def _side_by_side(name: str, other: str, source: str) -> bool:
    """Whether a source may say that two names are of the same thing: "Samuel Clemens was Mark Twain"."""
    one, two = re.escape(name), re.escape(other)
    between = r"[\s,]{1,3}(?:(?:is|was|are|were|or|as|i\.e\.)\s(?:the\s)?)?"
    return re.search(rf"{one}{between}{two}|{two}{between}{one}", source) is not None


def _may_be_another(found: re.Match[str], claim: str, text: str) -> bool:
    """Whether the text may speak of a holder at another time, or of one of several holders."""
    years, of_text = set(_YEAR.findall(claim)), set(_YEAR.findall(text))
    if _WON.search(claim) and (not years or years != of_text):  # there may be a race each year
        return True
    if _TOGETHER.search(text) or _LATER.search(text) or _does_another_thing(claim, text):
        return True
    groups = found.groupdict()
    office = groups.get("role")
    role = (office or groups.get("past") or "").strip()
    if not role:
        return False
    noun = _AFTER_NOUN.split(role)[0].split()[-1]
    if re.search(_NOT_SOLE + re.escape(noun), text, re.IGNORECASE):
        return True
    return bool(office) and not re.search(_MOST, role) and _FORMER.search(text) is not None


def _does_another_thing(claim: str, text: str) -> bool:
    """Whether the text has another of these verbs than the claim, or is about its translation or sequel."""
    ours, theirs = ({stem(verb) for verb in _VERB.findall(given)} for given in (claim, text))
    made_of_it = {word.lower() for word in _DERIVED.findall(text)} - {word.lower() for word in _DERIVED.findall(claim)}
    return bool(ours and made_of_it) or bool(ours and theirs and ours.isdisjoint(theirs))


def _words(text: str) -> frozenset[str]:
    words = re.findall(r"[^\W\d_]+", text.lower())
    return frozenset(word for word in words if len(word) > 1 and word not in FUNCTION_WORDS)
