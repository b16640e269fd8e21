"""Finds the sentence that repeats a claim, or that contradicts it in one point that can be named; no model takes part.

A contradiction is named only where nothing else separates the claim from a part of the sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from redargue.caveats import Difference, DifferenceKind
from redargue.nli.alignment import Alignment, Parsed, align, compare_quantities, parsed
from redargue.nli.binding import Binding, bind, bind_words, gives, holds, value_of_cell
from redargue.nli.edits import Edit, EditToken, edit_of, related, tokens
from redargue.nli.facts import tables_in
from redargue.nli.grammar import FUNCTION_WORDS, is_past, stem, word_set
from redargue.nli.quantities import Quantity
from redargue.nli.roles import EITHER_WAY, turned
from redargue.quotes import STRUCK

# Whether a text asserts a claim word for word.


_QUOTES = str.maketrans("“”„«»‘’‐‑−–—", '"""""\'\'-----')
_LED = re.compile(
    r"(?:however|moreover|also|but|and|so|yet|then|thus|furthermore|in addition|therefore|for example|for instance"
    r"|today|note|[-*•])[,:]? |(?:background|methods?|results?|findings?|conclusions?|interpretation|answer|a): "
    r"|\*\*[^*]{1,60}\.\*\* ",
    re.IGNORECASE,
)
_REFERENCE = re.compile(  # behind a statement: "[^1]", "(P = 0.41)", "(Table 2)"
    r"(?: ?(?:\[\^?\w{1,10}\]|\((?:[pnrtf] ?[=<>≤≥]|95 ?%|see |table |fig)[^()]{0,60}\)|[¹²³⁰⁴-⁹]+))+", re.IGNORECASE
)
_NUMBER_CONTINUES = re.compile(r"\d(?:\.| - )\d")
_FRAME = re.compile(  # the clause after one of these words may not be asserted
    r"\b(?:if|unless|whether|not true|untrue|false\w*|wrong\w*|myth|den(?:y|ies|ied)|claim\w*|alleg\w+"
    r"|sa(?:id|ys?|ying)|according|believ\w+|hop(?:e|es|ed|ing)|thought|thinks?|rumou?r\w*|suggest\w*|would|might"
    r"|pretend\w*|argu\w+|report\w*|ask\w*|doubt\w*|not|never|no|nobody|that|when|until|before|who|which|where|as"
    r"|because|although|though|than|what|how|why|imagin\w+|suppos\w+|assum\w+|propos\w+|accus\w+|after|once|while"
    r"|only)\b|\?",
    re.IGNORECASE,
)

_UNASSERTED = re.compile(  # what stands right before a clause that someone else holds, asks, denies or makes depend
    r"(?:\b(?:claim\w*|alleg\w+|rumou?r\w*|myth|hoax|lie|false|untrue|not true|wrong|den(?:y|ies|ied|ying)|believ\w+"
    r"|thinks?|thought|suppos\w+|imagin\w+|pretend\w*|hop(?:e|es|ed|ing)|fear\w*|doubt\w*|ask\w*|wonder\w*)"
    r"(?: (?:that|if|whether))?,?|\b(?:if|unless|whether)\b[^.!?;]*) $",
    re.IGNORECASE,
)


_NOT_TRUE = r"(?:false|untrue|not true|wrong|incorrect)"
_FALSE = rf"(?:{_NOT_TRUE}|myths?|hoax|nonsense|misconceptions?)"
_TAKEN_BACK = re.compile(  # what comes right after such a clause: "…, which is a myth", "… - in mice"
    rf"[,;]?(?: -)? (?:(?:which|this|that|it)(?: (?:is|was))?|an?)(?: \w+)? {_FALSE}\b"
    rf"|[,;]? but (?:that|this)(?: (?:is|was|has been))?(?: \w+)? (?:{_FALSE}|debunked|denied|retracted)\b"
    r"| - (?:in|for|on|only|at|by)\b",
    re.IGNORECASE,
)
_CALLED_FALSE = re.compile(  # what is somewhere before it
    rf"\b(?:misconceptions?|myths|falsehoods|(?:statements?|claims?)[^.:]* {_FALSE}|nonsense)[^.:]*:[^.]*\Z",
    re.IGNORECASE,
)
_REACH = 400  # characters before a clause that may say so
_LIMITED = re.compile(
    r"[^.!;]*\b(?:if|unless|until|provided|but (?:only|not))\b|[^.!]*\bexcept\w*\b|[^.!]*\?|.*[?.;,] ?[B-D]: ",
    re.DOTALL,
)


def verbatim(claim: str, text: str) -> bool:
    """Whether the text asserts the claim word for word, as a sentence or as a clause of its own.

    A claim inside a quotation, a question, a condition or a report of what someone said is not asserted.
    """
    ours, theirs = _plain(claim), _plain(text)
    if not ours or theirs.endswith("?"):
        return False
    if ours == theirs:
        return True
    places = [found.start() for found in re.finditer(f"(?={re.escape(ours.lower())})", theirs.lower())]
    return any(
        theirs[at + 1 : at + len(ours)] == ours[1:]
        and not _NUMBER_CONTINUES.match(theirs, at + len(ours) - 1)
        and _asserted(theirs[:at], theirs[at + len(ours) :])
        for at in places
    )


def only_framed(claim: str, text: str) -> bool:
    """Whether the text has the claim word for word, but only as what someone claims, believes, asks or denies.

    "Critics claim that X", "it is a myth that X", "if …, X". What someone says or reports is not among them.
    """
    ours, theirs = _plain(claim), _plain(text)
    if not ours or ours.lower() not in theirs.lower():
        return False
    found = list(re.finditer(rf"(?<!\w){re.escape(ours)}(?!\w)", theirs, re.IGNORECASE))
    return bool(found) and all(_is_framed(theirs[: each.start()], theirs[each.end() :]) for each in found)


def _is_framed(before: str, after: str) -> bool:
    """Whether a clause between two texts is held, asked, denied, called false or limited there."""
    found = _UNASSERTED.search(before) or _CALLED_FALSE.search(before[-_REACH:]) or _TAKEN_BACK.match(after)
    return found is not None


_PLANNED = re.compile(
    r"\b(?:will|would|shall|may|might|could|(?:is|are) (?:due |set |expected |scheduled |planned |likely )?to"
    r"|(?:was|were) (?:due|set|expected|scheduled|planned) to"
    r"|(?:plan|intend|want|hope|aim|promise|propose|decide|expect|agree)(?:s|d|ed|ned)? to|propos(?:es?|ed|ing)"
    r"|(?:proposals?|plans?|bill|motion|petition|idea|intention) to"
    r"|consider(?:s|ed|ing)?) (?:\w+ly )?(?:be |have (?:been )?)?(?P<verb>[a-z]+)",
    re.IGNORECASE,
)


def only_planned(claim: str, text: str) -> bool:
    """Whether the claim says that something was done which the text only announces, proposes or holds possible."""
    done = _done(claim)
    planned = {stem(match["verb"]) for match in _PLANNED.finditer(text)} & done
    return bool(planned) and not planned & (_done(text) | {stem(match["verb"]) for match in _PLANNED.finditer(claim)})


def _done(text: str) -> set[str]:
    """The stems of the verbs in a past form that nobody plans: "reopened", "was raised"."""
    words = re.findall(r"[a-z]+", _PLANNED.sub(" ", text).lower())
    return {stem(word) for word in words if is_past(word)}


@lru_cache(maxsize=1024)
def _plain(text: str) -> str:
    """The text with one kind of quotes and dashes, single spaces, no final stop and a small first letter."""
    plain = " ".join(text.translate(_QUOTES).replace("...", "…").split())
    plain = re.sub(r"\s*-\s+|\s+-\s*", " - ", plain)
    plain = re.sub(r"(?<=\d) (?=[%°€])", "", plain).rstrip(" .!;:,")
    return plain[:1].lower() + plain[1:]


_NEW_CLAUSE = re.compile(r"(?:; |[.!] |, (?:and|but) )\Z")
_LONGEST_LEAD = 100  # characters
_CIRCUMSTANCE_FIRST = re.compile(  # "Under the plan, parking is free, and entry is free"
    r"(?:In|On|Under|With|Without|At|For|During|By|As|Per|Until|From|After|Before|Since|According)\b"
    r"(?! (?:fact|addition|short|particular|general|other words|conclusion|summary|total|example|instance|all|expected"
    r"|usual|always)\b)[^,;]*,[^;]*,",
    re.IGNORECASE,
)


def _asserted(before: str, after: str) -> bool:
    """Whether a clause between two texts is asserted."""
    last = _last_clause(before)
    begins = _NEW_CLAUSE.search(before[-8:]) or (len(before) < _LONGEST_LEAD and _LED.fullmatch(before))
    if (before and not begins) or _FRAME.search(last) or before.count('"') % 2:
        return False
    if _LIMITED.match(after) or _CIRCUMSTANCE_FIRST.match(last) or _is_framed(before, after):
        return False
    if reference := _REFERENCE.match(after):
        after = after[reference.end() :]
    return not after or bool(re.match(r"[.!;]|, (?:and|but|which|who|while|whereas)\b| - ", after))


def _last_clause(before: str) -> str:
    """The part of the last sentence before a clause."""
    return "" if re.search(r"[.!] $", before) else re.split(r"[.!] ", before.rstrip(" .!"))[-1]


# What a text asserts: without the sentences that it leaves to others, to doubt or to a question.
# "There is talk that the school will close" says neither that it will close nor that it stays.
# What a text calls false is kept, as it decides a claim.

_HELD = (
    r"claim(?:ed)?|alleg(?:e|es|ed)|believ(?:e|es|ed)|thinks?|thought|assum(?:e|es|ed)|suspect(?:ed)?|fear(?:ed)?"
    r"|worr(?:y|ies|ied)|hop(?:e|ed)|jok(?:e|ed)|pretend(?:s|ed)?|dream(?:t|ed)?|guess(?:ed)?|imagin(?:e|es|ed)"
    r"|suppos(?:e|es|ed)|wish(?:ed)?|den(?:y|ies|ied)"
)
_NOUN = r"rumou?rs?|talk|gossip|speculation|hearsay|suspicions?|allegations?|accusations?"
_SUBJECT = r"(?= (?:the|an?|this|these|it|he|she|they|there|his|her|its|their|some|all|no|(?-i:[A-Z])|\d))"
_OPENS = (  # what leads in a clause that the text itself does not assert
    rf"(?<!\bwe )(?:{_HELD}) that\b|(?:claims|fears|hopes|jokes|suspects) that{_SUBJECT}"
    rf"|(?<!\bwe )(?:thinks?|thought|believ(?:e|es|ed)){_SUBJECT}"
    rf"|(?<!no )(?<!not a )(?:{_NOUN}) (?:that|of|about)\b|(?:legend|rumou?r|gossip) (?:has it|says)\b"
    r"|according to (?:an? |the |some )?(?:\w+ )?(?:rumou?rs?|legends?|gossip|hearsay|myths?|popular belief)\b"
    r"|(?<!, )(?<!not )(?:accused|suspected) of\b"
    r"|(?:ask(?:s|ed|ing)?|wonder\w*|consider\w*|discuss\w*|debat\w*|unclear|uncertain|unknown|not known|doubt\w*"
    r"|questions?|investigat\w+|examin\w+|disput\w+)(?: \w+){0,3} (?:whether|if)\b(?!.*,)"
    r"|(?:nobody|no one|someone|somebody)(?: \w+){0,2} (?:said|says|claimed|claims|believes|thinks|told \w+) that\b"
    r"|(?:wrongly|falsely|mistakenly|erroneously|incorrectly) (?:says?|said|claim\w*|stat\w+|believ\w+|assum\w+|wrote"
    r"|thought|thinks?|report\w+) that\b"
    r"|(?:allegedly|supposedly|purportedly|reputedly)\b"
)
_ASIDE = r"(?:who|which|whose|although|though|while|whereas|when|because|since|after|before|if|unless)"
_CONTRAST = r"(?:[;:]|\b(?:but|yet|however|although|though|while|whereas|when|if|unless)\b|\band (?:\w+ly )?\w+ that\b)"
_LEFT_OPEN = re.compile(
    rf"(?P<who>(?:(?!\b{_ASIDE}\b)[^;:])*?)\b(?P<opens>{_OPENS})(?!.*{_CONTRAST})|\W*(?:perhaps|maybe|imagine|suppose)\b(?!.*{_CONTRAST})",
    re.IGNORECASE | re.DOTALL,
)
_OF_THEM = re.compile(r"accused|suspected|den|\w+edly", re.IGNORECASE)
_SPEAKS_OF_IT = re.compile(  # a claim about what someone says, believes or asks
    rf"\b(?:{_HELD}|{_NOUN}|claims|fears?|hopes?|jokes|legends?|myths?|alleg\w+|suppos\w+|reput\w+|purport\w+|whether"
    r"|sa(?:id|ys?)|stat(?:es?|ed)|according|accus\w+|suspect\w*|charged|ask\w*|wonder\w*|doubt\w*|disput\w+|debat\w+|discuss\w+|unclear|unknown|perhaps)\b|\?",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?:[^.!?\n]|[.!?](?=[^\s\"'”’)]))*(?:[.!?\n\"'”’)\s]+|\Z)")


@lru_cache(maxsize=2048)
def asserted_text(claim: str, text: str) -> str:
    """The sentences of a text that it asserts; all of them beside a claim about what someone says, believes or asks.

    A question is left out where no answer follows, and what Markdown strikes out always.
    """
    if "~~" in text:
        text = STRUCK.sub("", text)
    if _SPEAKS_OF_IT.search(claim):
        return text
    sentences = _SENTENCE.findall(text)
    while sentences and (not sentences[-1].strip() or sentences[-1].rstrip(" \n\"'”’)").endswith("?")):
        sentences.pop()
    own = parsed(claim)
    kept = "".join(sentence for sentence in sentences if not _leaves_open(own, sentence))
    return kept if re.search(r"\w", kept) else ""


def _leaves_open(claim: Parsed, sentence: str) -> bool:
    """Whether a sentence asserts nothing but what someone holds of whom the claim does not speak."""
    found = _LEFT_OPEN.match(sentence)
    if not found or not found["who"] or _OF_THEM.match(found["opens"]):
        return found is not None
    who = parsed(found["who"])
    return not who.content or who.stems[who.content[0]] not in claim.vocabulary


_Verdict = Literal["supported", "contradicted", "doubtful", "nothing"]


class _Consistency(NamedTuple):
    """What a comparison word by word suggests.

    Attributes:
        verdict: "supported" if a sentence is the claim word for word, or a table's row has all that the claim says;
            "contradicted" if one says all that the claim says but for the differences; "doubtful" if a sentence shares
            most words of the claim and yet differs; else "nothing".
        sentence: the index of the sentence, or of the second of two.
    """

    verdict: _Verdict
    sentence: int | None = None
    differences: tuple[Difference, ...] = ()


_NOTHING = _Consistency("nothing")
LONGEST = 1500  # characters that are compared: the time grows with the square of the length
MOST_NUMBERS = 60  # of a text that is compared: each is paired with each of the other text
_RETRACTED = re.compile(  # a sentence that says no more than that the one before is false
    rf"\W*(?:(?:(?:this|that|it)(?: is| was|'s)(?: an?)?(?: common)? (?:myth|{_NOT_TRUE}|not the case|misconception)"
    rf"|(?:this|that)(?: is| was|'s) (?:nonsense|a hoax)"
    rf"|(?:this|that|the) (?:claim|statement|rumou?r)(?: is| was| has been)(?: later)? (?:{_NOT_TRUE}|debunked)"
    rf"|(?:this|that|the) (?:statement|rumou?r) (?:is|was|has been)(?: later)? (?:denied|retracted))|false|wrong)\W*\Z",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(
    r"(?:not true|untrue|false|myths?|misconceptions?|wrong|incorrect|denied|claim\w*|not the case)[^.]*:\W*$",
    re.IGNORECASE,
)
_FALSE_FOLLOWS = re.compile(
    rf"\W*(?:all (?:of )?)?the following (?:\w+ )?(?:is|are) (?:all )?(?:{_NOT_TRUE}|myths|misconceptions)\b[^?]*\Z",
    re.IGNORECASE,
)


def check_consistency(claim: str, sentences: Sequence[str], title: str = "") -> _Consistency:
    """Looks for a sentence, or two in a row, that repeats the claim or contradicts it in one named point."""
    if claim.rstrip().endswith("?") or not _comparable(claim):
        return _NOTHING
    sentences = [sentence if _comparable(sentence) else "" for sentence in sentences]
    alone = [((i,), text) for i, text in enumerate(sentences)]
    two_in_a_row = [((i - 1, i), f"{one} {two}") for i, (one, two) in enumerate(pairwise(sentences), 1)]
    for places, text in [*alone, *two_in_a_row]:
        if verbatim(claim, text) and not any(_withdrawn(sentences, place) for place in places):
            return _Consistency("supported", places[-1])
    known = parsed(title).vocabulary
    if found := _cell_said(claim, sentences, known) or _crossed(claim, sentences, known):
        return found
    judged = [_judged(align(parsed(claim), parsed(text)), known) for text in sentences]
    if any(repeated for _, repeated, _ in judged):
        return _NOTHING  # a sentence has all words of the claim and contradicts none
    for wanted in ("contradicted", "doubtful"):
        for index, (verdict, _, differences) in enumerate(judged):
            if verdict == wanted:
                return _Consistency(verdict, index, differences)
    return _NOTHING


def _comparable(text: str) -> bool:
    return len(text) <= LONGEST and len(re.findall(r"\d+", text)) <= MOST_NUMBERS


def _cell_said(claim: str, sentences: Sequence[str], known: frozenset[str]) -> _Consistency | None:
    """The row that has all that the claim says, or another value for it, if no other row begins with the same name."""
    for table, places in tables_in(sentences):
        head, *rows = (row.split(" | ") for row in table.split("\n"))
        count = Counter(row[0] for row in rows)
        for place, row in zip(places, rows, strict=True):
            value = value_of_cell(parsed(claim), head, row, known) if count[row[0]] == 1 else None
            if not value:
                continue
            (mine,) = parsed(claim).quantities
            if related(mine, value) == "equal":
                return _Consistency("supported", place)
            if not _states_too(sentences, place, places, parsed(row[0]), mine):
                return _Consistency("contradicted", place, (_difference("number", mine.text, value.text),))
    return None


def _states_too(sentences: Sequence[str], place: int, table: range, thing: Parsed, value: Quantity) -> bool:
    """Whether a sentence beside the table has a value, or another row of it the value and the thing."""
    others = ((at, parsed(other)) for at, other in enumerate(sentences) if at != place)
    return any(
        (at not in table or thing.vocabulary <= other.vocabulary)
        and any(related(value, one) == "equal" for one in other.quantities)
        for at, other in others
    )


def _crossed(claim: str, sentences: Sequence[str], known: frozenset[str]) -> _Consistency | None:
    """The sentence that gives the claim's value to another holder, unless another sentence may give it to this one."""
    for index, text in enumerate(sentences):
        binding = bind(parsed(claim), parsed(text), known)
        if binding.finding != "crossed":
            continue
        if not _given_elsewhere(binding, sentences, range(index, index + 1)):
            return _Consistency("contradicted", index, binding.differences)
    for table, rows in tables_in(sentences):
        binding = bind(parsed(claim), parsed(table), known)
        if binding.finding == "crossed" and not _given_elsewhere(binding, sentences, rows):
            held = next((row for row in rows if holds(parsed(sentences[row]), binding.holder)), rows[0])
            return _Consistency("contradicted", held, binding.differences)
    for index, text in enumerate(sentences):
        if difference := bind_words(parsed(claim), parsed(text)):
            return _Consistency("contradicted", index, (difference,))
    return None


def _given_elsewhere(binding: Binding, sentences: Sequence[str], places: range) -> bool:
    """Whether a sentence at another place has the value and the holder, and may put them together."""
    others = (other for place, other in enumerate(sentences) if place not in places)
    value, holder = binding.value, binding.holder
    return value is not None and any(gives(parsed(other), value, holder) for other in others)


_MOST_FALSE = 8  # sentences after one that says that what follows is false


@lru_cache(maxsize=1024)
def withdrawn(sentences: tuple[str, ...]) -> frozenset[int]:
    """The places of the sentences that the text itself calls false, and of those that say so.

    They are no evidence, so this is narrower than :func:`redargue.framing.framed`, which only withholds a quotation.
    """
    found: set[int] = set()
    for place, sentence in enumerate(sentences):
        if _RETRACTED.match(sentence):
            found |= {place, max(0, place - 1)}
        if _FALSE_FOLLOWS.match(sentence):
            found.update(range(place + 1, min(len(sentences), place + 1 + _MOST_FALSE)))
    return frozenset(found)


def _withdrawn(sentences: Sequence[str], index: int) -> bool:
    """Whether a sentence is called false, or led in as what somebody claims or denies."""
    before = sentences[max(0, index - 1) : index]
    return index in withdrawn(tuple(sentences)) or any(map(_ANNOUNCED.search, before))


def _judged(alignment: Alignment, known: frozenset[str]) -> tuple[_Verdict, bool, tuple[Difference, ...]]:
    """The verdict on one sentence, whether it repeats the claim, and the differences.

    Args:
        known: stems of the title, which the claim may have and the sentence lack.
    """
    claim, sentence = alignment.claim, alignment.sentence
    missing = [word for place in alignment.missing if (word := claim.stems[place]) not in known]
    if len(missing) > 3 or len(claim.content) + len(claim.quantities) < 2:
        return "nothing", False, ()
    if swap := swapped_roles(claim, sentence) or _turned(alignment):
        return "contradicted", False, (swap,)
    edit = edit_of(claim, sentence)
    compared = compare_quantities(claim, sentence)
    given = {one.text for one, _ in compared.equal}  # the sentence has these values, in another order
    differences = tuple(each for each in differences_of(edit) if each.kind != "number" or each.claim not in given)
    if not differences:
        return "nothing", not (missing or compared.unequal or compared.missing or compared.compatible), ()
    if len(differences) == 1 and nothing_else_differs(edit, known) and not _of_something_else(claim, sentence, edit):
        return "contradicted", False, differences
    return ("nothing" if missing else "doubtful"), False, differences


_CIRCUMSTANCE = re.compile(
    r"\b(?:age|aged|day|week|month|year|stage|grade|phase|level|chapter|part)\W*\Z", re.IGNORECASE
)
_BEFORE_OR_AFTER = re.compile(r"\b(?:before|after)\s+(?:\w+\s+){0,2}\Z", re.IGNORECASE)
_MEASURED_BY = re.compile(r"\bas (?:much|many|long|large|high|big|old|fast|far|heavy) as\b|\btimes (?:as|more|the)\b")


def _of_something_else(claim: Parsed, sentence: Parsed, edit: Edit) -> bool:
    """Whether a number or an opposite that differs contradicts nothing.

    The sentence has the claim's value or word too (whose it is, is for :func:`redargue.nli.binding.bind` to say), gives
    one value by another, speaks of another time or part ("at age four"), or its value implies the claim's.
    """
    if any(kind == "opposite" and one.stem in sentence.vocabulary for one, _, kind in edit.pairs):
        return True
    unequal = [one for one, _, kind in edit.pairs if kind == "number"]
    if not unequal:
        return False
    texts = {one.text for one in unequal}
    given = any(one.text in texts for one, _ in compare_quantities(claim, sentence).equal)
    values = [one.quantity for one in unequal if one.quantity]
    when = any(_CIRCUMSTANCE.search(claim.text[: value.start]) for value in values)
    return given or when or _MEASURED_BY.search(sentence.text) is not None or _implied(claim, edit)


_TIMES = frozenset({"year", "month", "day", "clock"})
_UNTIL = re.compile(r"\b(?:until|till|unless|below|under|less|fewer|for)\b", re.IGNORECASE)


def _implied(claim: Parsed, edit: Edit) -> bool:
    """Whether another value may follow: "closed after 9 pm" from "closed after 8 pm", "not 30" from "not 20"."""
    both_deny = any(one.negates and other.negates for one, other, kind in edit.pairs if kind == "same")
    for one, other, kind in edit.pairs:
        if kind != "number" or not (one.quantity and other.quantity):
            continue
        if one.quantity.dimension in _TIMES and _BEFORE_OR_AFTER.search(claim.text[: one.quantity.start]):
            return True
        if both_deny and one.quantity.low > other.quantity.high and not _UNTIL.search(claim.text):
            return True
    return False


def differences_of(edit: Edit) -> tuple[Difference, ...]:
    """The opposed tokens, and a negation that only one side has; "not closed" agrees with "open"."""
    differences = [_difference(kind, one.text, other.text) for one, other, kind in edit.pairs if kind != "same"]
    if _forbids_twice(edit):
        differences = [each for each in differences if each.kind != "modality"]
    ours, theirs = ([token.text for token in part if token.negates] for part in (edit.added, edit.dropped))
    denied = len(ours) > len(theirs) and any(token.negates for token in edit.around)  # "no" and "none of", "…: 0"
    if (len(ours) + len(theirs)) % 2 == 0 or denied:
        return tuple(differences)
    opposed = [each for each in differences if each.kind in ("opposite", "quantifier")]
    if opposed:
        return tuple(each for each in differences if each not in opposed)
    if not any(each.kind == "modality" for each in differences):  # "must not" against "may" is one difference
        differences.append(_difference("negation", ours[0] if ours else "", "" if ours else theirs[0]))
    return tuple(differences)


def _forbids_twice(edit: Edit) -> bool:
    """Whether both deny what one says must be and the other may be: "must not" is "may not", "no one must" neither."""
    words = [one.word if one.negates and other.negates else "" for one, other, _ in edit.pairs]
    modal = next((place for place, (_, _, kind) in enumerate(edit.pairs) if kind == "modality"), len(words))
    return any(words[modal + 1 : modal + 2]) or any(word in ("no", "nobody", "none") for word in words[:modal])


def _difference(kind: DifferenceKind, claim: str, evidence: str) -> Difference:
    return Difference(kind=kind, claim=claim, evidence=evidence)


_AUXILIARIES = word_set("do does did is are was were be been being has have had will")
_LIMITS = word_set("if unless except only until or not no nor neither")
_RISKY = word_set(  # words that change what a sentence says
    "if unless except only until before after when while because whether than instead but although though nor or"
    " most all some several many few every each both half according deny denied claimed said says"
    " may might would could without far yet almost nearly barely"
)
_LACKING = frozenset(map(stem, "lack fail refuse unable avoid prevent stop deny skip cease reject absent free".split()))


def nothing_else_differs(edit: Edit, known: frozenset[str]) -> bool:
    """Whether all else is the same but for an auxiliary or two harmless words; the claim may begin with known words."""
    same = sum(kind == "same" and one.word not in FUNCTION_WORDS for one, _, kind in edit.pairs)
    added = [
        token
        for place, token in enumerate(edit.added)
        if not (_is_grammar(token) or (place < edit.lead and token.stem in known))
    ]
    dropped = [token for token in edit.dropped if not _is_grammar(token)]
    risky = any(token.word in _RISKY or token.stem in _LACKING or token.quantity for token in dropped)
    limited = any(token.word in _LIMITS for token in edit.around)
    negated = any(token.negates for token in edit.dropped)  # "did not admit that it copied" leaves open whether it did
    most = 0 if negated else 2
    return same >= (2 if dropped else 1) and not (added or risky or limited) and len(dropped) <= most


def _is_grammar(token: EditToken) -> bool:
    return token.negates or token.word in _AUXILIARIES


_LINKS = word_set(  # their two sides may change places
    "and or while when if because whereas nor as so where says said say"
)
_MOVABLE = word_set(  # an adverbial may stand first or last
    "in on at since from for with by after before until during within under over between of to as per without"
)


def swapped_roles(claim: Parsed, sentence: Parsed) -> Difference | None:
    """Two parts that have changed places around the same words: "A beat B" and "B beat A"."""
    ours, theirs = tokens(claim), tokens(sentence)
    windows = [theirs[start : start + len(ours)] for start in range(len(theirs) - len(ours) + 1)]
    keys, others = [token.key for token in ours], [[token.key for token in window] for window in windows]
    if keys in others or _clauses(claim) <= _clauses(sentence):  # "B beat A in spring and A beat B in autumn"
        return None
    swapped = (window for window, other in zip(windows, others, strict=True) if sorted(other) == sorted(keys))
    return next((_swap(ours, window, claim.text) for window in swapped), None)


def _is_list(text: str, parts: Sequence[Sequence[EditToken]]) -> bool:
    """Whether only commas or slashes separate the parts: "English, French, German" in another order."""
    items = (r"\W+(?:\w+\W+)?".join(re.escape(token.text) for token in part) for part in parts)
    return re.search(r"\s?[,/]\s?(?:\w+ )?".join(items), text) is not None


def _turned(alignment: Alignment) -> Difference | None:
    """A text that relates the claim's things the other way round in other words, and lacks nothing else of it."""
    claim, sentence = alignment.claim, alignment.sentence
    if len(alignment.missing) > 2 or not turned(claim, sentence) or compare_quantities(claim, sentence).unequal:
        return None
    return _difference("roles", claim.text.strip().rstrip("."), alignment.window)


def _clauses(text: Parsed) -> set[str]:
    """The words between commas and semicolons, sorted, with single spaces."""
    clauses = (re.findall(r"\w+", clause.lower()) for clause in re.split(r"[,;]\s|[.]\Z", text.text))
    return {" ".join(clause) for clause in clauses if clause}


def _swap(ours: list[EditToken], theirs: list[EditToken], text: str) -> Difference | None:
    """The difference of two texts of the same tokens in another order, if two parts have changed places."""
    differ = [i for i, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one.key != other.key]
    ours, theirs = ours[differ[0] : differ[-1] + 1], theirs[differ[0] : differ[-1] + 1]
    words = {token.word for token in ours}
    if words & _LINKS and "than" not in words:
        return None
    if any(token.quantity and token.quantity.dimension == "length" for token in ours) and "from" in words:
        return None  # "A is 20 km from B"
    if {ours[0].word, theirs[0].word} & _MOVABLE:
        return None
    one, other = [token.key for token in ours], [token.key for token in theirs]
    for left in range(1, len(one)):
        for right in range(len(one) - 1, left, -1):
            if other == [*one[right:], *one[left:right], *one[:left]]:
                if _is_list(text, (ours[:left], ours[left:right], ours[right:])):
                    return None
                between = {token.word for token in ours[left:right]}
                if between <= FUNCTION_WORDS - {"than"} or not EITHER_WAY.isdisjoint(map(stem, between)):
                    return None
                return _difference(_swap_kind(between), *map(_joined, (ours, theirs)))
    return None


def _swap_kind(between: set[str]) -> DifferenceKind:
    if "than" in between:
        return "comparison"
    return "time" if between & {"before", "after"} else "roles"


def _joined(tokens: Sequence[EditToken]) -> str:
    return " ".join(token.text for token in tokens)
