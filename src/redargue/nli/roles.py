"""Who does what to whom: whether a text relates two things as a claim does, or the other way round.

The things may change places, and so may their roles: in a passive, and in a converse word ("lost to" beside "beat",
"shorter than" beside "taller than"). Two such inversions say the same; one, or three, say the other way round. So do a
negation and an opposite: "no one died" beside "all survived".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, takewhile
from typing import NamedTuple

from redargue.nli.alignment import Parsed, align, are_opposites, compare_quantities
from redargue.nli.grammar import FUNCTION_WORDS, NEGATORS, converses, is_past, stem, verb_like, word_set

_END = re.compile(r"[.;:!?]\s|\n|,?\s(?:but|while|whereas|because|although|who|which|that|if)\b")
_AMOUNT = (  # "rates rose by 25 points", "more than half"
    r"(?:(?:up to|about|over|around|nearly|almost|some|at least|the|an?) )?(?:\W?\d|(?:half|third|quarter|dozen"
    r"|hundred|thousand|million|billion|one|two|three|four|five|six|seven|eight|nine|ten|twenty|fifty)\b)"
)
_PASSIVE = re.compile(
    r"\b(?:be|am|is|are|was|were|been|being|gets?|got)(?: (?:not|also|later|then|first|finally|\w+ly))*"
    r"(?:, [^,]{1,40},)?\s\Z"
)
_BY = re.compile(rf"\s(?:(?:\w+ly|for|to|on|of|at|in|with)\s)?by\b(?!\s{_AMOUNT})")
_WITH_AGENT = re.compile(rf"\sby\b(?!\s{_AMOUNT})")
_LINK = re.compile(r"\s(?:to|from|in|into|on|for|of|at|against|over|with|as|through|out|off|up|like|between)\b")
_OF = re.compile(r"\s(?:\w+\s)?(?:of|to|for)\b")
_COMPARISONS = (  # the surest first: "the tower is shorter than", "the water is more bitter than"
    re.compile(rf"\b[a-z]{{3,}}er(?=\sthan\b(?!\s{_AMOUNT}))"),
    re.compile(rf"\b(?:more|less|fewer)\b(?=(?:\s\w+){{0,6}}\sthan\b(?!\s{_AMOUNT}))"),
    re.compile(rf"\b[a-z]{{3,}}er\b(?=(?:\s\w+){{1,6}}\sthan\b(?!\s{_AMOUNT}))"),
)
_LISTED = re.compile(r",|\band\b")
_COMPANY = re.compile(r"\bwith\b")
_THAN = re.compile(r"\bthan\b")
_PLACED = word_set("before after ahead behind north south east west above below upstream downstream")
_BEFORE_NOUNS = word_set("the a an its his her their our your my in on at of for with this that these those")
_LONGEST = 3_000  # characters of a text that is compared: the time grows with the square of the length
_QUANTIFIERS = frozenset(map(stem, "all every each no none nobody most some many few only half several".split()))
_MOST_COMPARISONS = 8  # of a clause
_REACH = 5  # words that a negation may be before what it negates
_NEGATION = re.compile(rf"\b(?:{'|'.join(NEGATORS)})\b|n['’]t\b", re.IGNORECASE)
EITHER_WAY = frozenset(  # the sides of these may change places
    map(
        stem,
        "meet marry border draw tie equal resemble match face play fight rival collide differ coincide touch join link"
        " connect relate associate correlate separate share agree merge cooperate collaborate compete negotiate trade"
        " adjoin neighbour neighbor intersect overlap cross alternate mix combine unite pair twin with near next like"
        " versus different similar adjacent parallel identical equivalent opposite close brother sister sibling cousin"
        " colleague classmate contemporary friend ally partner debate date divorce wed hug kiss engage across"
        " lie".split(),
    )
)
_COUNTERPARTS = {
    stem(one): frozenset({stem(other)})
    for pair in "buyer seller,lessor lessee,lender borrower,plaintiff defendant,husband wife,payer payee,winner loser"
    ",sender recipient,mother father,brother sister,uncle aunt,king queen,actor actress".split(",")
    for one, other in (pair.split(), reversed(pair.split()))
}
_MUTUAL = frozenset(  # "A signed an agreement with B"
    map(stem, "agreement deal pact treaty alliance partnership venture talks prisoners hands letters vows".split())
)


class _Relation(NamedTuple):
    """A word that relates what a clause has before it to what it has after it.

    Attributes:
        word: its stem; of a comparison, the stems up to "than".
        link: the preposition right after it; of a passive with an agent "by".
        partners: what follows "with".
    """

    word: tuple[str, ...]
    before: frozenset[str]
    after: frozenset[str]
    passive: bool
    link: str
    partners: frozenset[str]


def turned(claim: Parsed, text: Parsed) -> bool:
    """Whether the text relates two things of the claim the other way round."""
    return _inversions(claim, text) in (1, 3)


def denies_opposite(claim: Parsed, text: Parsed) -> bool:
    """Whether the text denies the opposite of what the claim denies, as "no one died" beside "no one survived"."""
    return (True, True) in _negated_opposites(claim, text)


def restated(claim: Parsed, text: Parsed) -> bool:
    """Whether the text says by two inversions what the claim says, and has no other value.

    They may be a negation and an opposite: "no one died" beside "all survived".
    """
    if compare_quantities(claim, text).unequal:
        return False
    if _inversions(claim, text) == 2:
        return _quantifiers(claim) == _quantifiers(text)
    denies = _negated_opposites(claim, text) & {(True, False), (False, True)}
    most = 2 if _quantifiers(claim) or _quantifiers(text) else 1  # "all patients" is "no one"
    return bool(denies) and len(align(claim, text).missing) <= most


_DEPUTIES = word_set("vice deputy acting former assistant interim honorary shadow ex would-be fake alleged aspiring")
_EXCEPTED = re.compile(
    r"\b(?:apart from|except(?: for)?|with the exception of|other than|excluding|but not)\s"
    r"(?:(?:the|an?|its|his|her)\s)?\Z",
    re.IGNORECASE,
)
_POSSESSIVE = re.compile(r"['’]s?(?:\Z|\s)")
_EITHER = re.compile(r"\W*either\b(?P<one>[^.;]{1,200}?)\bor\b(?P<other>[^.;]{1,200})", re.IGNORECASE)
_ONLY = re.compile(r"\bonly (?:if|when|while|with|after|under)\b(?P<condition>[^.;]{1,200})", re.IGNORECASE)
_RELATIVE = re.compile(r"\b(?:who|which|that)\s(?P<verb>[a-z]+)\s(?:(?:the|an?|his|her|its|their)\s)?\Z")
_BEFORE = 60  # characters before a word that say whose it is


def is_of_somebody_else(claim: Parsed, text: Parsed) -> bool:
    """Whether the text says it of another than the claim does, or only on a condition that the claim leaves out.

    "The vice president", "the mayor's brother", "the man who shot the sheriff", the seller for the buyer; "apart from
    the director"; "either … or", "only if".
    """
    if len(text.text) > _LONGEST or not claim.content:
        return False
    return _leaves_out(claim, text) or _names_another(claim, claim.content[0], text)


_PREPOSITION = re.compile(r"\b(from|to|by|for|against|over) (?:(?:the|an?|his|her|its|their) )?")


def _phrases(text: Parsed) -> dict[str, frozenset[str]]:
    """What follows each preposition that the text has once: stems up to a function word or a punctuation mark."""
    found = list(_PREPOSITION.finditer(text.text))
    used = [match[1] for match in found]
    return {match[1]: _phrase_at(text, match.end()) for match in found if used.count(match[1]) == 1}


def _phrase_at(text: Parsed, start: int) -> frozenset[str]:
    words = re.split(r"[,.;:()]", text.text[start : start + _BEFORE])[0].split()
    return frozenset(stem(word) for word in takewhile(lambda word: word.lower() not in FUNCTION_WORDS, words))


def exchanges_phrases(claim: Parsed, text: Parsed) -> bool:
    """Whether two phrases of the claim have each other's prepositions: "for B against A" beside "for A against B"."""
    if len(text.text) > _LONGEST or any(quantity.dimension == "length" for quantity in claim.quantities):
        return False  # "from Paris to London it is 344 km"
    ours, theirs = _phrases(claim), _phrases(text)
    pairs = combinations(ours.keys() & theirs.keys(), 2)
    return any(ours[one] == theirs[other] != ours[other] == theirs[one] for one, other in pairs)


_LIMIT = re.compile(r"\bonly (?:(?:in|on|at|by|to|for|from|with|the|an?) )*([a-z]\w+|[A-Z]\w+)", re.IGNORECASE)


def limits_another(claim: Parsed, text: Parsed) -> bool:
    """Whether "only" is said of one thing in the claim, and of another in the text; before a verb it may be of any."""
    if len(text.text) > _LONGEST:
        return False
    ours, theirs = ({match[1].lower() for match in _LIMIT.finditer(each.text)} for each in (claim, text))
    if not ours or not theirs or any(map(_may_be_verb, ours | theirs)):
        return False
    return set(map(stem, ours)).isdisjoint(map(stem, theirs)) and {*map(stem, theirs)} <= claim.vocabulary


def _names_another(claim: Parsed, subject: int, text: Parsed) -> bool:
    """Whether the text has the claim's subject only within the name of another, or its counterpart instead."""
    places = [place for place, stemmed in enumerate(text.stems) if stemmed == claim.stems[subject]]
    if not places and not claim.words[subject].group()[0].isupper():
        counterparts = converses(claim.stems[subject]) | _COUNTERPARTS.get(claim.stems[subject], frozenset())
        return bool(counterparts & text.vocabulary - claim.vocabulary)
    if _word_before(claim, subject) in _DEPUTIES or _POSSESSIVE.search(claim.text):
        return False
    said = claim.stems[claim.content[1]] if len(claim.content) > 1 else ""
    return said in text.vocabulary and bool(places) and all(_is_of_another(text, place) for place in places)


def _word_before(text: Parsed, place: int) -> str:
    return text.words[place - 1].group().lower() if place else ""


def _is_of_another(text: Parsed, place: int) -> bool:
    word = text.words[place]
    before = text.text[max(0, word.start() - _BEFORE) : word.start()]
    if _word_before(text, place) in _DEPUTIES or _POSSESSIVE.search(word.group()) or _EXCEPTED.search(before):
        return True
    relative = _RELATIVE.search(before)
    after = text.words[place + 1].group() if place + 1 < len(text.words) else ""
    return relative is not None and _may_be_verb(relative["verb"]) and _may_be_verb(after)


def _may_be_verb(word: str) -> bool:
    return verb_like(word) or is_past(word)


def _leaves_out(claim: Parsed, text: Parsed) -> bool:
    """Whether the claim is one of two alternatives, or lacks the only condition under which a sentence says it."""
    if re.search(r"[.!?]\s", text.text):  # another sentence may say it
        return False
    if (found := _EITHER.match(text.text)) and not re.search(r"\bor\b", claim.text):
        return not all(_content_of(text, *found.span(side)) <= claim.vocabulary for side in ("one", "other"))
    only = _ONLY.search(text.text)
    return only is not None and claim.vocabulary.isdisjoint(_content_of(text, *only.span("condition")))


def _content_of(text: Parsed, start: int, end: int) -> set[str]:
    return {text.stems[place] for place in text.content if start <= text.words[place].start() < end}


def _quantifiers(text: Parsed) -> list[str]:
    return sorted(_QUANTIFIERS.intersection(text.vocabulary))


@lru_cache(maxsize=1024)
def _negated_opposites(claim: Parsed, text: Parsed) -> frozenset[tuple[bool, bool]]:
    """Whether each of two opposed words is negated, of those that only the claim and only the text has."""
    if len(text.text) > _LONGEST:
        return frozenset()
    ours = [place for place, stemmed in enumerate(claim.stems) if stemmed not in text.vocabulary]
    theirs = [place for place, stemmed in enumerate(text.stems) if stemmed not in claim.vocabulary]
    return frozenset(
        (_is_negated(claim, one), _is_negated(text, other))
        for one in ours
        for other in theirs
        if are_opposites(claim.stems[one], text.stems[other])
    )


def _is_negated(text: Parsed, place: int) -> bool:
    reach = text.text[text.words[max(0, place - _REACH)].start() : text.words[place].start()]
    return _NEGATION.search(re.split(r"[,;:.]|\b(?:and|but|or)\b", reach)[-1]) is not None


@lru_cache(maxsize=1024)
def _inversions(claim: Parsed, text: Parsed) -> int | None:
    """How many inversions separate the two; None where the text does not relate two things of the claim.

    If it relates them in several places, the least even number: one place that says the same is enough.
    """
    pairs = [(one, other) for one in _relations(claim) for other in _relations(text)]
    counts = [_counted(*pair) for pair in pairs if _comparable(*pair, text)]
    return min((count for count in counts if count is not None), key=lambda count: (count % 2, count), default=None)


def _comparable(ours: _Relation, theirs: _Relation, text: Parsed) -> bool:
    """Not where a text has the word and its converse: "sold 30 trucks and bought 12"."""
    return ours.word == theirs.word or ours.word[-1] == "than" or ours.word[0] not in text.vocabulary


def _counted(ours: _Relation, theirs: _Relation) -> int | None:
    """How many inversions separate two relations of the same things; None where they are not comparable."""
    mine, others = ours.before - ours.after, ours.after - ours.before
    if theirs.word[-1] == "than" and not theirs.before & (mine | others):  # "it is taller than …"
        swapped, straight = mine & theirs.after, others & theirs.after
    else:
        swapped = (mine - theirs.before) & theirs.after and (others - theirs.after) & theirs.before
        straight = mine & theirs.before and others & theirs.after
    if swapped and others & theirs.before <= ours.partners and mine & theirs.after <= theirs.partners:
        return None  # "A wrote it with B"
    converse = _converse(ours, theirs)
    if converse is None or not (swapped or straight):
        return None
    return bool(swapped) + (ours.passive != theirs.passive) + converse


def _converse(ours: _Relation, theirs: _Relation) -> bool | None:
    """Whether one word is the converse of the other; None where they may say something else."""
    (one, *rest), (other, *others) = ours.word, theirs.word
    if not (set(rest) <= set(others) or set(others) <= set(rest)):
        return None
    if one == other:
        mutual = _MUTUAL & ours.after & theirs.after or "with" in (ours.link, theirs.link)
        either = one in EITHER_WAY or (mutual and not ours.passive)
        active = ours.link if theirs.passive else theirs.link
        same = not active if ours.passive != theirs.passive else ours.link == theirs.link
        return False if same and not either else None
    if any(each.passive and each.link in ("to", "from") for each in (ours, theirs)):
        return None  # "was given to the museum": what is after it is no agent
    if other in converses(one) or (ours.word[-1] == theirs.word[-1] == "than" and are_opposites(one, other)):
        return True
    return False if converses(one) & converses(other) else None


@lru_cache(maxsize=1024)
def _relations(text: Parsed) -> tuple[_Relation, ...]:
    if len(text.text) > _LONGEST:
        return ()
    ends = [*(match.start() + 1 for match in _END.finditer(text.text)), len(text.text)]
    starts = [0, *ends[:-1]]
    return tuple(found for start, end in zip(starts, ends, strict=True) for found in _in_clause(text, start, end))


def _in_clause(text: Parsed, start: int, end: int) -> Iterator[_Relation]:
    places = [place for place, word in enumerate(text.words) if start <= word.start() < end]
    lower = [text.words[place].group().lower() for place in places]
    if _NEGATION.search(text.text, start, end):
        return
    first, *more = [match.start() for match in _THAN.finditer(text.text, start, end)] or [start]
    if more:  # "taller than A and shorter than B"
        if len(more) < _MOST_COMPARISONS and (cuts := list(_LISTED.finditer(text.text, first, more[0]))):
            yield from _in_clause(text, start, cuts[0].start())
            yield from _in_clause(text, cuts[-1].end(), end)
        return
    content = [place for place in text.content if place in places]
    compared = next((found for each in _COMPARISONS if (found := each.search(text.text, start, end))), None)
    placed = [place for place, word in zip(places, lower, strict=True) if word in _PLACED]
    if compared:
        chosen = [place for place in places if text.words[place].start() == compared.start()]
    else:
        chosen = placed or [place for place in content if _relates(text, place)]
    for place in chosen:
        yield _relation(text, place, content, end)


def _relates(text: Parsed, place: int) -> bool:
    word = text.words[place]
    if word.group()[0].isupper() or word.group().endswith("ing"):
        return False
    led = text.words[place - 1].group().lower() if place else ""
    noun = led not in _BEFORE_NOUNS or _OF.match(text.text, word.end())
    return _is_verb(text, place) or bool(noun and converses(text.stems[place]))


def _is_verb(text: Parsed, place: int) -> bool:
    word, led = text.words[place].group(), text.words[place - 1].group().lower() if place else ""
    return (verb_like(word) or is_past(word)) and led not in _BEFORE_NOUNS


def _relation(text: Parsed, place: int, content: list[int], end: int) -> _Relation:
    word = text.words[place]
    last = place
    if compares := any(each.match(text.text, word.start(), end) for each in _COMPARISONS):
        last = next(at for at in range(place, len(text.words)) if text.words[at].group().lower() == "than")
    plain = not compares and _is_verb(text, place)
    led = _PASSIVE.search(text.text, max(0, word.start() - 60), word.start())
    passive = plain and bool(led or _BY.match(text.text, word.end(), end))
    if passive and (listed := _LISTED.search(text.text, word.end(), end)):  # "by A and sold to B"
        end = listed.start()
    before = {text.stems[at] for at in content if at < place}
    after = {text.stems[at] for at in content if at > last and text.words[at].start() < end}
    if place and re.search(r"['’]s?\Z", text.words[place - 1].group()):  # "Jan's nephew"
        owner = text.stems[place - 1]
        before, after = before - {owner}, after | {owner}
    link = _WITH_AGENT.search(text.text, word.end(), end) if passive else None
    link = link or _LINK.match(text.text, word.end(), end)
    between = (text.stems[at] for at in content if place < at < last)
    company = _COMPANY.search(text.text, word.end(), end)
    partners = frozenset(text.stems[at] for at in content if company and company.end() <= text.words[at].start() < end)
    return _Relation(
        (text.stems[place], *between, *(["than"] if compares else [])),
        frozenset(before),
        frozenset(after),
        passive,
        link.group().strip() if link else "",
        partners,
    )
