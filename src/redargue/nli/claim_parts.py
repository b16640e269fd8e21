"""The parts of a claim that joins several facts, each as a sentence that can be read alone.

"The museum was set up in 1894 and looks after 31,000 objects" says two things, which two sentences of a document may
show. Only joints that rules recognise are cut: between clauses, between verbs of one subject, before relative clauses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from redargue.nli.grammar import AUXILIARIES, FUNCTION_WORDS, MODALS, finite_verbs, is_infinitive

MOST_PARTS = 5  # of a claim; one with more is read as a whole
LONGEST_CLAIM = 600  # characters; a longer text is not a claim of a few facts
_LONGEST_SUBJECT = 12  # words; in more of them the rules found the wrong verb


class ClaimParts(NamedTuple):
    """Sentences that a claim implies.

    Attributes:
        complete: whether the claim says nothing else, so that it is supported if all of them are.
    """

    texts: tuple[str, ...] = ()
    complete: bool = False


class _Piece(NamedTuple):
    text: str
    complete: bool = True


def claim_parts(claim: str) -> ClaimParts:
    """The parts; none of a claim that says one thing, or that the rules cannot cut."""
    return ClaimParts() if len(claim) > LONGEST_CLAIM else _cut(claim)


@lru_cache(maxsize=4096)
def _cut(claim: str) -> ClaimParts:
    text = " ".join(claim.split()).rstrip(". ")
    if _WHOLE.search(text):
        return ClaimParts()
    pieces = [_Piece(text)]
    for cut in (_clauses, _verbs, _relatives):
        pieces = [each for piece in pieces for each in cut(piece)]
    texts = tuple(dict.fromkeys(_sentence(piece.text) for piece in pieces))
    if not 1 < len(texts) <= MOST_PARTS:
        return ClaimParts()
    return ClaimParts(texts, all(piece.complete for piece in pieces))


# What is asked, quoted, conditional or somebody's view holds only as a whole, or from there to its end; of several
# sentences, each may speak of what another names.
_WHOLE = re.compile(
    r"[?“”\"]|[.!][ )]+[A-Z]|(?i:\A(?:if|unless|whenever|wherever|without|had|should|either)\b"
    r"|\b(?:according to|respectively|suppose)\b)"
)
_SCOPE = re.compile(
    r"\b(?:if|unless|whether|provided that|as long as|either|said|says|say|told|thought|felt|wants?|wanted"
    r"|claim(?:s|ed)?|den(?:y|ies|ied)|(?:un)?likely|possible|probable|doubtful|a myth"
    r"|(?:argu|believ|think|alleg|suggest|warn|hop|expect|fear|insist|promis|worr|predict|forecast|assum|doubt|conclud|wish)"
    r"(?:e|s|es|ed|d|y|ies|ied)?)\b",
    re.IGNORECASE,
)
_REPORTS = re.compile(
    r"\b(?:found|shown|(?:report|show|find|stat|agre|confirm|rul|estimat|announc)(?:e|s|es|ed|d)?)\b", re.IGNORECASE
)


def _scope(text: str) -> int:
    """Where somebody's view or a condition begins, after which nothing is cut."""
    begins = [match.start()] if (match := _SCOPE.search(text)) else []
    for match in _REPORTS.finditer(text):
        after = re.split(r"[,;]|\b(?:and|but)\b", text[match.end() :], maxsplit=1)[0].strip()
        if after.startswith("that ") or next(finite_verbs(after), None):  # "finds crime fell", not "found a house"
            begins.append(match.start())
    return min(begins, default=len(text))


def _sentence(text: str) -> str:
    text = text.strip(" ,;:")
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


# Clauses with a subject of their own.

_JOINT = re.compile(
    r"(?P<strong>;\s+(?:and\s+|but\s+)?|:\s+)|,?\s+(?:and|but|while|whereas)\s+"
    r"|,\s+(?:although|though|yet|(?P<loose>because|since|so that|so|when|after|before|until))\s+",
    re.IGNORECASE,
)
_LEADING = re.compile(r"\A(?:although|though|whereas)\s+", re.IGNORECASE)
_PRONOUN = re.compile(r"(?:he|she|it|they|this|these|that|those)\Z", re.IGNORECASE)
_ADVERBS = r"(?:(?:then|also|later|now|today|still|subsequently|currently|thus|therefore|[a-z]+ly)\s+)*"
_ELLIPSIS = re.compile(rf"\b(?:{'|'.join(AUXILIARIES)})(?:n['’]t|\s+not)?(?:\s+(?:so|either|too))?\Z")
_LEADING_AUXILIARIES = re.compile(
    rf"\A(?:(?:{'|'.join(AUXILIARIES - {'be', 'been'})})(?:n['’]t|\s+not)?\s+)+", re.IGNORECASE
)
_OPENS_PHRASE = re.compile(
    r"(?:that|which|who|whom|whose|to|than|of|for|by|with|as|from|not|only|above all|because|when|after|before|if|how"
    r"|what)\b",
    re.IGNORECASE,
)


def _clauses(piece: _Piece) -> Iterator[_Piece]:
    text = piece.text
    if leading := _LEADING.match(text):
        before, comma, after = text[leading.end() :].partition(", ")
        if comma and _is_clause(before) and _is_clause(after) and (alone := _with_subject(after, before)):
            yield from _clauses(_Piece(before, piece.complete))
            yield from _clauses(_Piece(alone, piece.complete))
            return
    for joint in _JOINT.finditer(text, 0, _scope(text)):
        left, strong = text[: joint.start()], bool(joint["strong"])
        right = _in_frame(_completed(text[joint.end() :], left), left)
        main = _main_verb(left)
        if not right or main is None or (not strong and _is_inside(left, main[1], closed=joint[0][0] == ",")):
            continue
        if "while" in joint[0].lower() and _PERSONAL.match(right):
            continue  # "must wear a badge while they are in the lab"
        if not _is_clause(left, strong=True) or not _is_clause(right, strong=strong):
            continue
        if not (alone := _with_subject(right, left)):
            continue
        complete = piece.complete and not joint["loose"]
        yield _Piece(left, complete)
        yield from _clauses(_Piece(alone, complete))
        return
    yield piece


# When, where or for whom what follows holds.
_FRAME = re.compile(
    r"(?:only\s+)?(?:in|at|on|under|before|after|until|since|from|for|by|during|within|between|outside|per|with|among|across"
    r"|throughout|despite|contrary to|thanks to|of|as)\s",
    re.IGNORECASE,
)
_WHOLE_FRAME = re.compile(rf"(?:{_FRAME.pattern}[^,]{{1,80}},\s+|In (?:1[5-9]|20)\d\d\s+)", re.IGNORECASE)


def _in_frame(clause: str, before: str) -> str:
    """The clause, after the time, place or group that the one before begins with; empty where that has no clear end."""
    if not _FRAME.match(before) or _FRAME.match(clause):
        return clause
    frame = _WHOLE_FRAME.match(before)
    return f"{frame[0]}{clause}" if frame else ""


_PERSONAL = re.compile(r"(?:he|she|it|they|we|you|i)\b", re.IGNORECASE)
# What follows one of these, up to its verb and beyond, may go with it and not with the whole.
_SUBORDINATE = re.compile(
    r"\b(?:because|since|so|that|when|while|after|before|until|as|how|where|who|which|whose|than)\b", re.IGNORECASE
)


# What follows is a clause, which is not complete before "and" without a verb: "because cocoa and oil became dearer".
_BECAUSE = re.compile(r"because(?! of\b)|so that\b|when\b|while\b|which\b|who\b|whose\b", re.IGNORECASE)


def _is_inside(text: str, start: int, *, closed: bool = False) -> bool:
    """Whether a text ends within a clause that is part of another one, after ``start``, or within a comparison.

    Args:
        closed: whether a comma follows, which closes what a comma has opened.
    """
    opened = _SUBORDINATE.finditer(text, start)
    found = next((each for each in opened if not (closed and text[: each.start()].endswith(", "))), None)
    if found is None:
        return False
    after = text[found.end() :].strip()
    if found[0].lower() == "than" or _PERSONAL.match(after) or _BECAUSE.match(text, found.start()):
        return True
    return next(finite_verbs(after, subject_before=True), None) is not None


def _is_clause(text: str, *, strong: bool = False) -> bool:
    """Whether a text has a subject before its main verb; ``strong`` where no phrase of another clause can begin."""
    text = re.sub(rf"\A{_ADVERBS}", "", text)
    verb = _main_verb(text)
    if verb is None or _ELLIPSIS.search(text):
        return False
    subject = text[: verb[0]].strip()
    bare = _WHOLE_FRAME.sub("", subject, count=1)
    if not strong and (_OPENS_PHRASE.match(text) or is_infinitive(text) or re.search(r",|\band\b", bare)):
        return False
    if ";" in subject:  # "… on 14 and 15 November; places can be booked": another clause begins within
        return False
    return len(subject.split()) <= _LONGEST_SUBJECT and _names_something(subject)


def _completed(clause: str, before: str) -> str:
    """The clause, with the predicate of the one before where it says only "does not"."""
    verb = _main_verb(before)
    if verb is None or not _ELLIPSIS.search(clause):
        return clause
    return f"{clause} {_LEADING_AUXILIARIES.sub('', before[verb[0] :])}"


def _names_something(subject: str) -> bool:
    return _says(subject) or _PRONOUN.match(subject.strip()) is not None


def _with_subject(clause: str, before: str) -> str:
    """The clause, with the subject of the one before for "it" or "they"; empty for other pronouns.

    "He" may be any of two people, and "this" what happened; a sentence about anybody would support what is said of him.
    """
    verb, other = _main_verb(clause), _main_verb(before)
    subject = clause[: verb[0]].strip() if verb else ""
    if verb and other and re.fullmatch(r"it|they", subject, re.IGNORECASE):
        return f"{before[: other[0]].strip()} {clause[verb[0] :]}"
    return "" if _PRONOUN.match(subject) else clause


_RELATIVE = re.compile(r"\b(?:who|which|that|where|when|whose|whom)\b", re.IGNORECASE)


def _main_verb(text: str) -> tuple[int, int] | None:
    """Where the first finite verb is that belongs to no relative clause."""
    opened = [match.start() for match in _RELATIVE.finditer(text)]
    for start, end in finite_verbs(text):
        if opened and opened[0] < start:
            opened.pop(0)  # "people who live in the borough can": the first verb is the relative clause's
            continue
        return start, end
    return None


# Several verbs of one subject.

_AND = re.compile(rf",?\s+(?:and|but)\s+{_ADVERBS}", re.IGNORECASE)
_FEW = re.compile(
    r"\b(?:no|none|nobody|no one|nothing|neither|few|hardly|not|never|almost|nearly|rarely|seldom)\b", re.IGNORECASE
)
_PERFECT = re.compile(r"\b(?:have|has|had|be|been|being)\b")
_GOVERNS = re.compile(r"\b(?:to|made|make|let|help)\b|n['’]t\b|\bnot\b|\bcannot\b")


def _verbs(piece: _Piece) -> Iterator[_Piece]:
    text = piece.text
    main = _main_verb(text)
    if main is None or not _names_something(text[: main[0]]) or _FEW.search(text[: main[0]]):
        yield piece
        return
    before, verbs = text[: main[0]], text[main[0] : main[1]]
    modal = MODALS.match(text, main[0])
    relative = _WHICH.search(text, main[1])
    for joint in _AND.finditer(text, main[1], min(relative.start() if relative else len(text), _scope(text))):
        left, right = text[: joint.start()], text[joint.end() :]
        verb = next(finite_verbs(right, subject_before=True, modal=modal is not None), None)
        if verb is None or verb[0] or _is_inside(left, main[1]):
            continue
        if not (_says(left[main[1] :]) and _says(right[verb[1] :])):
            continue
        if is_infinitive(right):
            if modal is None or _GOVERNS.search(left, main[0]):
                continue  # "failed to pay the fine and close the plant"
            before = f"{before}{modal[0]} "
        elif _PERFECT.search(verbs) and " " not in right[: verb[1]] and not right[: verb[1]].endswith("s"):
            continue  # "would have cut taxes and raised spending"
        yield _Piece(left, piece.complete)
        yield from _verbs(_Piece(before + right, piece.complete))
        return
    yield piece


def _says(rest: str) -> bool:
    return any(word not in FUNCTION_WORDS for word in re.findall(r"\w+", rest.lower()))


# Relative clauses after a comma.

_WHICH = re.compile(r",\s+(?:(?P<whose>whose)|(?P<where>where)|which|(?P<who>who))\s+", re.IGNORECASE)
_OBJECT = re.compile(r"(?:the|an?|he|she|it|they|we|you|i|its|their|his|her|this|these|both)\b|[A-Z]", re.ASCII)


def _relatives(piece: _Piece) -> Iterator[_Piece]:
    match = _WHICH.search(piece.text, 0, _scope(piece.text))
    if match is None or _main_verb(piece.text[: match.start()]) is None:
        yield piece
        return
    main = piece.text[: match.start()]
    if part := _relative(match, main, piece.text[match.end() :]):
        yield _Piece(main, piece.complete)
        yield from _relatives(_Piece(part, piece.complete))
    else:
        yield piece


def _relative(match: re.Match[str], main: str, rest: str) -> str:
    """A relative clause as a sentence; empty if it cannot be made into one."""
    noun = _noun_after_verb(main)
    if match["where"]:
        return _there(rest, main)
    if not noun or noun.lower().startswith("not "):
        return ""
    if match["whose"]:
        owner = _last_noun(noun)
        return f"{owner}' {rest}" if owner.endswith("s") else f"{owner}'s {rest}"
    if _OBJECT.match(rest) or re.search(r",\s+(?:and|but)\b", rest):
        return ""
    owner = _NOUN_BREAK.split(noun, maxsplit=1)[0].strip() if match["who"] else _last_noun(noun)
    return f"{owner} {rest}" if re.search(r"[^\W\d_]{2}", owner) and " and " not in owner else ""


_PLACE = re.compile(
    r"\b(?P<by>in|at|on|to|into|near|round|around|below|above|beside|behind|outside|inside|under|along|off)\s+"
    r"(?P<noun>[^\d\W](?:(?!\b(?:in|at|on|to|into)\b)[^,;:])*)\Z"
)
_OF_A_PERSON = re.compile(r"\b(?:he|she|him|her|his|hers)\b", re.IGNORECASE)


def _there(clause: str, main: str) -> str:
    """The clause after "where", with the place; empty where the place, or who does what there, is not plain."""
    place = _PLACE.search(main)
    if place is None or not _is_clause(clause) or _OF_A_PERSON.search(clause):
        return ""
    by = "in" if place["by"] in ("to", "into") else place["by"]
    alone = _with_subject(clause, main)
    return f"{alone} {by} {place['noun']}" if alone else ""


_NOUN_BREAK = re.compile(
    r"\b(?:in|on|at|by|from|to|with|for|during|since|between|into|as|about|over|under|after|before|through|than|within|via"
    r"|around|round|near|against)\s+(?=\S)",
    re.IGNORECASE,
)


def _noun_after_verb(text: str) -> str:
    """The words after the last verb, and after "by", "with" or "to"."""
    start = max((end for _, end in finite_verbs(text)), default=0)
    return _PARTING.split(text[start:])[-1].strip()


_PARTING = re.compile(r"\b(?:by|with|to)\s+|,\s+")


def _last_noun(noun: str) -> str:
    """The words after the last preposition but "of": "the electrical resistance of the chest"."""
    ends = [match.end() for match in _NOUN_BREAK.finditer(noun)]
    return noun[ends[-1] :] if ends else noun
