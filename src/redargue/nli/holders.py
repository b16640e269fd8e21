"""The content words of a sentence that may name whose a value is, and the twin of a claim: the same of another holder.

Beside "The north gate is locked at dusk and the south gate an hour later", the twin of "The north gate is locked an
hour after dusk" is "The south gate is locked an hour after dusk". A model that finds both in the text has not read who
holds what, and its support counts for nothing. A claim of what only one can be or have done is refuted where a text
says it of another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache
from itertools import islice, pairwise
from typing import Literal, NamedTuple

from redargue.nli.alignment import Parsed
from redargue.nli.grammar import FUNCTION_WORDS, stem, verb_like, word_set
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
    lists = _lists(given, text)
    keys = {token.key for token in tokens_of(claim)}
    shared = {token.start for token in tokens_of(text) if token.sort == "name" and token.key in keys}
    for held in (*_holders(claim, text), *_modifiers(claim)):
        if held.sort == "name" and _IN_TITLE.search(claim.text[: held.start]):  # "Story of My Life"
            continue
        own = [each for each in (*given, *_modifiers(text)) if each.keys == held.keys and each.sort == held.sort]
        rivals = [each for each in _rivals(held, claim, text) if not keys & set(each.keys)]
        rivals = [each for each in rivals if not _is_part(each, text, keys, shared)]
        said = [token for token in tokens_of(text) if token.key in keys and token.key not in held.keys]
        if len({lists.get(each.start) for each in (*own, *rivals)} - {None}) == 1 and held.sort == "name":
            continue  # all of them are members of one list
        for mine in own:
            for rival in rivals:
                if lists.get(mine.start, -1) != lists.get(rival.start) and _competes(rival, mine, said, text):
                    other = text.text[rival.start : rival.end]
                    of_other = claim.text[: held.start] + other + claim.text[held.end :]
                    return Twin(of_other, opposed=held.sort != "name" or ";" in text.text)
    return None


def _lists(holders: Sequence[_Holder], text: Parsed) -> dict[int, int]:
    """By the offsets of names, which list they are in; one between other words is a list of its own."""
    found: dict[int, int] = {}
    last: _Holder | None = None
    for each in holders:
        if each.sort == "name":
            follows = last is not None and _LISTED.fullmatch(text.text, last.end, each.start) is not None
            found[each.start] = found[last.start] if last and follows else each.start
            last = each
    return found


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
    """Names, with their parts as one, and dates; a first word is a name if it is one in the other text.

    Parts are adjacent ("Anna Berg", "J. M. Crewe"), or joined in the same way in both texts ("Mutiny on the Bounty").
    """
    names = {token.key for each in (text, other) for token in tokens_of(each) if token.sort == "name"}
    found: list[_Holder] = []
    for token in tokens_of(text):
        named = token.sort == "name" or (token.key in names and text.text[token.start].isupper())
        if not named and token.sort != "date":
            continue
        last = found[-1] if found else None
        if last and named and last.sort == "name" and _is_one_name(last, token, text, other):
            found[-1] = _Holder((*last.keys, token.key), "name", last.start, token.end)
        else:
            found.append(_single(token, "name" if named else "date"))
    return found


_WITHIN_NAME = re.compile(r"(?: (?:of|on|in|and|for|de|la|von|van|the|an?))+ ")
_INITIAL = re.compile(r"\b(?:[A-Z]|Dr|Jr|Mr|Mrs|Ms|Prof|Sr|St)\Z")


def _is_one_name(part: _Holder, token: WordToken, text: Parsed, other: Parsed) -> bool:
    between = text.text[part.end : token.start]
    if between == " ":
        return True
    if between == ". ":
        return _INITIAL.search(text.text, part.start, part.end) is not None
    return _WITHIN_NAME.fullmatch(between) is not None and text.text[part.start : token.end] in other.text


_ATTRIBUTE = re.compile(r" ([a-z]+)")
_OF = re.compile(r" of (?:the )?")


def _is_part(rival: _Holder, text: Parsed, keys: Set[str], shared: Set[int]) -> bool:
    """Whether a word is only part of a phrase: "an English actress", "the Great Fire of Mellstad", "Musically,".

    ``shared``: where the names begin that the claim has, too.
    """
    if rival.sort != "name":
        return False
    if of := _OF.match(text.text, rival.end):
        return of.end() in shared
    noun = _ATTRIBUTE.match(text.text, rival.end)
    if noun is None:
        return text.text[rival.start : rival.end + 1].endswith("ly,")
    return noun[1] not in FUNCTION_WORDS and not verb_like(noun[1]) and stem(noun[1]) not in keys


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


_PLACE = re.compile(r"\b(?:in|at|of|on)\s(?:the )?\Z")
_LONGEST_PLACE = len(" of the ")


def _competes(rival: _Holder, mine: _Holder, said: Sequence[WordToken], text: Parsed) -> bool:
    """Whether a word that the claim says of its holder is nearer to the rival, or on its far side, in every place."""
    rival_is_place, mine_is_place = (
        _PLACE.search(text.text, max(0, each.start - _LONGEST_PLACE), each.start) for each in (rival, mine)
    )
    if rival_is_place and not mine_is_place:
        return False
    left, right = (mine, rival) if mine.start < rival.start else (rival, mine)
    if _LISTED.fullmatch(text.text, left.end, right.start):
        return False
    theirs = {token.key for token in said if _distance(token, rival) < _distance(token, mine)}
    own = {token.key for token in said if _distance(token, mine) <= _distance(token, rival)}
    shared = {token.key for token in said if token.verb and token.end <= left.start}  # a verb holds for both parts
    if mine.sort == "date" and any(token.verb and token.key not in theirs for token in said):
        between = (token for token in tokens_of(text) if left.end < token.end <= right.start)
        if not any(token.sort == "name" and not token.placed for token in between):  # "Ida was born in … and died in …"
            shared |= {token.key for token in said if token.sort == "name" and token.end <= left.start}
    return bool(theirs - own - shared)


def _distance(token: WordToken, holder: _Holder) -> int:
    """Characters between them."""
    return max(token.start - holder.end, holder.start - token.end, 0)


# What only one can be or have done: "Paris is the capital of France", "Anna Berg wrote the novel". Where a text says it
# of another, it refutes the claim: the text that supports "Berlin is the capital of France". The models take two
# subjects for two statements that may both be true, as indeed they may with "attended the meeting". What several may
# share ("founded", "is the son of") is not listed.

_AT_MOST = 3  # other names of a text that are tried
_NAMES = 12  # the first ones, of which these are taken
_LONGEST = 2_000  # characters of a text that is searched for names
_LONGEST_CLAIM = 300
_LONGEST_SOURCE = 100_000
_WORD = r"[A-ZÀ-ÖØ-Þ][\w’'&-]*"
_NAME = rf"{_WORD}(?:\s(?:(?:of|de|la|von|van|der|du|the)\s)*{_WORD})*"
_OF_ONE = rf"(?:the|{_NAME}(?:[’']s|(?<=s)[’']))"
_OFFICE = (
    r"(?:director|chief executive(?: officer)?|ceo|chair(?:man|woman|person)?|president|prime minister|chancellor|mayor"
    r"|governor|king|queen|emperor|pope|captain|editor|editor-in-chief|owner|leader|head|head coach|coach|manager"
    r"|principal|head ?teacher|headmaster|headmistress|speaker|conductor|capital|author|winners?|champions?)"
    r"(?=\.?\Z|[,;:]|\s(?:is|remains|was|were|of|in|at|for|to|since|on|with|by|from|who|that)\b)"  # no "head office"
)
_MOST = (
    r"(?:first|second|third|last|only|sole|most|top"
    r"|(?!west|forest|guest|interest|test|rest|priest|harvest|request|chest|quest|contest|protest|arrest|best)[a-z-]+est)\b"
)
_SOLE = rf"(?:[\w’'-]+ ){{0,2}}?(?:{_OFFICE}|{_MOST})"
_MADE = r"(?:wrote|directed|composed|painted|sculpted|assassinated)"
_MADE_BY = _MADE.replace("wrote", "written")
_TITLED = r"(?:wrote|directed|composed) (?=[A-Z“\"‘])"  # and not "painted Henry VIII", as several did
_DOES = r"(?:owns|leads|heads|chairs|edits|captains|coaches|manages)"
_CLAIMS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?P<name>{_NAME}) (?:is|are|remains|has been) {_OF_ONE} (?P<role>{_SOLE}[^,;:.]*)",
        rf"(?P<name>{_NAME}) (?:was|were|became) {_OF_ONE} (?P<past>(?:[\w’'-]+ ){{0,2}}?(?:{_MOST}|author|winners?))",
        rf"(?P<name>{_NAME}) (?:{_MADE} the |{_TITLED})",
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
    phrase = _AFTER_NOUN.split(role)[0]
    noun = phrase.split()[-1]
    if re.search(rf"{_MOST}.*[’']", phrase) or re.search(_NOT_SOLE + re.escape(noun), text, re.IGNORECASE):
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
