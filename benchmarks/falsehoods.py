"""Fluent false copies of passages: one fact is changed, so that a passage says the opposite of what it said.

No model writes them. Of the passages that bear a claim out (or refute it) the sentence with most of the claim's words
is taken, and in it a number or date, a name or a direction ("increases") becomes another, or the claim's own where the
passage refutes the claim. Where none of these can be changed, the claim's statement (or its negation) stands in the
sentence's place. A claim for which nothing of this works has no copies.

Copies of one claim tell the same falsehood and differ in what stands around it: the first is the passage with its
sentence changed, the others continue with a sentence of another of the claim's passages, one that does not bear on it.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from redargue.claims import Claim
from redargue.evidence import Passage
from redargue.nli.backend import distinct_words
from redargue.nli.reader import sentences

COPIES = 5  # of a claim, at most
TRIES = 20  # to find a number that the sentence does not have
STEM = 4  # letters that words of one root share: "increase", "increased"
FULL = 7  # words of a sentence: less is a title or a heading
BEARING = 0.5  # of the claim's words have to stand in a sentence that is changed
REFUTING = 0.6  # likewise where the sentence refutes the claim: what differs has to be the one thing that is changed


class Falsehood(NamedTuple):
    """A falsehood.

    Attributes:
        kind: what was changed: ``number``, ``name``, ``direction``, ``negation`` or ``statement``.
        true: the sentence as it stands in its passage.
        false: the sentence that takes its place.
        passages: copies that hold the false sentence, each of another text, with the source's title and no publisher.
    """

    kind: str
    true: str
    false: str
    passages: tuple[Passage, ...]


Names = Mapping[tuple[str, ...], Sequence[str]]  # by the two words in front of them, which tell what is named
_YEAR = re.compile(r"(?<![\w.,-])(?:1\d|20)\d\d(?![\w-]|[.,]\d)")
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w-]|[.,]\d)")
_WORD = r"[A-Z][\w-]+(?:'[A-Z][\w-]+)?"
_NAME = re.compile(rf"\b{_WORD}(?: (?:(?:of|the|de|von|van) )?{_WORD})*")
_MONTHS = "January February March April May June July August September October November December".split()
_COUNTS = "two three four five six seven eight nine ten".split()
_COPULA = re.compile(
    r"\b(is|was|are|were|(?:has|have)(?= been)|can|could|did|does|will)\b(?! (?:not|never|no|only)\b|n't)"
)
_DENIED = re.compile(r"\b(is|was|are|were|has|have|can|could|did|does|will) (?:not|never) ")
_NOT_NAMES = frozenset("The In On At It He She A An There His Her They This These We Our".split()) | {*_MONTHS}
_PAIRS = (
    "increase/decrease increases/decreases increased/decreased increasing/decreasing higher/lower more/less high/low"
    " greater/smaller larger/smaller raises/reduces raised/reduced raise/reduce raising/reducing good/poor better/worse"
    " improves/worsens improved/worsened improve/worsen promotes/inhibits promoted/inhibited promote/inhibit"
    " activates/suppresses activated/suppressed enhances/impairs enhanced/impaired enhance/impair best/worst"
    " upregulated/downregulated upregulates/downregulates positively/negatively positive/negative stronger/weaker"
    " faster/slower longer/shorter older/younger earlier/later before/after gain/loss"
)
_OPPOSITES: dict[str, str] = {}
for _one, _other in (pair.split("/") for pair in _PAIRS.split()):
    _OPPOSITES.setdefault(_one, _other)
    _OPPOSITES.setdefault(_other, _one)


def names_of(passages: Iterable[Passage]) -> Names:
    """What follows two words of these passages and begins with a capital: "born in" Dresden, "directed by" Ida."""
    names_by_context: defaultdict[tuple[str, ...], dict[str, None]] = defaultdict(dict)
    for passage in passages:
        for match in _NAME.finditer(passage.text):
            if before := _before(passage.text, match):
                names_by_context[before][match.group()] = None
    return {before: tuple(names) for before, names in names_by_context.items()}


def falsehood(
    claim: Claim, *, supported: bool, bearing: Sequence[Passage], others: Sequence[Passage], names: Names, seed: int = 0
) -> Falsehood | None:
    """The same falsehood for the same arguments; None if none can be made.

    Args:
        claim: what the copies are to be wrong about.
        supported: whether the bearing passages support the claim; else they refute it.
        bearing: the gold passages.
        others: of which a sentence each goes into the copies but the first.
        names: what names may be exchanged for.
        seed: of what is chosen.
    """
    rng = random.Random(f"{seed} {claim.text}")
    candidates = [(_share(claim.text, text), text, passage) for passage in bearing for text in _full(passage.text)]
    if not candidates:
        return None
    share, true, source = max(candidates, key=lambda entry: entry[0])
    changes: list[tuple[str, str]] = []
    if share >= (BEARING if supported else REFUTING):
        made = _contradicting(claim.text, true, names, rng) if supported else _agreeing(claim.text, true)
        changes = [(kind, text) for kind, text in made if text != true]
    changes = changes or _stated(claim.text, denied=supported)
    if not changes:
        return None
    kind, false = rng.choice(changes)
    return Falsehood(kind, true, false, _copies(claim.text, true, false, [source, *others]))


def _full(text: str) -> list[str]:
    """The sentences of a text that are more than a title."""
    return [sentence for sentence in sentences(text) if len(sentence.split()) >= FULL]


def _share(of: str, sentence: str) -> float:
    """Of a text's content words, the share that stands in a sentence."""
    wanted, held = ({word.lower() for word in distinct_words(text)} for text in (of, sentence))
    return len(wanted & held) / max(1, len(wanted))


def _contradicting(claim: str, sentence: str, names: Names, rng: random.Random) -> list[tuple[str, str]]:
    """The sentence with something that claim and sentence share changed into something else."""
    made = []
    said_of_it = claim[len(claim) // 4 :]  # what stands before is the subject: another subject contradicts nothing
    shared = [quantity for kind in _quantities(sentence) for quantity in kind if _holds(said_of_it, quantity)]
    if shared:
        said = rng.choice(shared)
        tried = (_other_quantity(said, rng) for _ in range(TRIES))
        made += [("number", _put(sentence, said, number)) for number in tried if not _holds(sentence, number)][:1]
    if swap := _name_swap(claim, sentence, names, rng):
        made.append(("name", _put(sentence, *swap)))
    return made + _direction(claim, sentence, opposed=False)


def _agreeing(claim: str, sentence: str) -> list[tuple[str, str]]:
    """The sentence with what refutes the claim exchanged for what the claim says, where that is one thing."""
    made = []
    for ours, theirs in zip(_quantities(claim), _quantities(sentence), strict=True):
        mine, own = ([a for a in one if not _holds(other, a)] for one, other in ((ours, sentence), (theirs, claim)))
        if len(mine) == len(own) == 1:
            made.append(("number", _put(sentence, own[0], mine[0])))
    names, others = (
        [match for match in _named(one) if not set(distinct_words(match.group())) & set(distinct_words(other))]
        for one, other in ((claim, sentence), (sentence, claim))
    )
    before = _before(claim, names[0]) if len(names) == 1 else ()
    alike = [match for match in others if before and _before(sentence, match) == before]
    if len(alike) == 1:
        made.append(("name", _put(sentence, alike[0].group(), names[0].group())))
    return made + _direction(claim, sentence, opposed=True)


def _stated(claim: str, *, denied: bool) -> list[tuple[str, str]]:
    """The claim as a sentence, or its denial where it has one verb that can be negated or one direction."""
    whole = claim if claim.endswith((".", "!", "?")) else f"{claim}."
    if not denied:
        return [("statement", whole)]
    if said := _DENIED.search(whole):
        return [("negation", whole[: said.start()] + f"{said.group(1)} " + whole[said.end() :])]
    if len(verbs := list(_COPULA.finditer(whole))) == 1:
        return [("negation", f"{whole[: verbs[0].end()]} not{whole[verbs[0].end() :]}")]
    return _direction(whole, whole, opposed=False)


def _copies(claim: str, true: str, false: str, sources: Sequence[Passage]) -> tuple[Passage, ...]:
    """The first passage with its sentence exchanged, and the false sentence beside one of each other passage.

    What else bears on the claim, or says what the true sentence says, is left out: a copy does not contradict itself.
    """

    def beside(text: str) -> list[str]:
        return [sentence for sentence in _full(text) if max(_share(claim, sentence), _share(true, sentence)) < BEARING]

    first, *others = sources
    whole = " ".join(
        false if sentence == true else sentence
        for sentence in _full(first.text)
        if sentence in (true, *beside(first.text))
    )
    near = list(
        dict.fromkeys(match[0] for other in others if other.text != first.text and (match := beside(other.text)))
    )
    texts = dict.fromkeys(
        [whole, *(f"{false} {sentence}" for sentence in near), *(f"{sentence} {false}" for sentence in near)]
    )
    return tuple(Passage(text=text, title=first.title) for text in texts)[:COPIES]


def _quantities(text: str) -> tuple[list[str], ...]:
    """Years, other numbers, months and counting words, each in order and once."""
    years = list(dict.fromkeys(_YEAR.findall(text)))
    numbers = [number for number in dict.fromkeys(_NUMBER.findall(text)) if number not in years]
    held = re.findall(r"\w+", text)
    return (
        years,
        numbers,
        [month for month in _MONTHS if _dated(text, month)],
        [count for count in _COUNTS if count in held],
    )


def _dated(text: str, month: str) -> bool:
    return re.search(rf"\b{month},? \d|\d {month}\b|\b[Ii]n {month}\b", text) is not None


def _other_quantity(said: str, rng: random.Random) -> str:
    """Another of its kind and size, written alike."""
    for every in (_MONTHS, _COUNTS):
        if said in every:
            return rng.choice([other for other in every if other != said])
    if _YEAR.fullmatch(said):
        return str(int(said) - rng.choice((2, 3, 5, 7, 12, 20, 30)))  # never a year that is yet to come
    if "." in said:
        return f"{float(said.replace(',', '')) * rng.uniform(0.3, 0.8):.{len(said.partition('.')[2])}f}"
    value = int(said.replace(",", ""))
    other = max(1, round(value * rng.uniform(0.3, 0.8))) if value > 9 else rng.choice(range(1, 10))
    return f"{other:,}" if "," in said else str(other)


def _name_swap(claim: str, sentence: str, names: Names, rng: random.Random) -> tuple[str, str] | None:
    """The last name that claim and sentence share, not as their subject, and another that follows the same words."""
    for match in reversed(_named(sentence)):
        name, before = match.group(), _before(sentence, match)
        if not _holds(claim, name) or claim.startswith(name) or not before or name.isupper():
            continue
        known = set(distinct_words(f"{claim} {sentence}"))
        others = [other for other in names.get(before, ()) if not set(distinct_words(other)) & known]
        if others := [other for other in others if len(other.split()) == len(name.split())]:
            return name, rng.choice(others)
    return None


def _direction(claim: str, sentence: str, *, opposed: bool) -> list[tuple[str, str]]:
    """The sentence with its one word of direction turned round, where the claim has one, opposed to it or the same."""
    ours, theirs = ([word for word in re.findall(r"\w+", text) if word in _OPPOSITES] for text in (claim, sentence))
    if len(ours) != 1 or len(theirs) != 1:
        return []
    opposite = _OPPOSITES[theirs[0]]
    same = ours[0][:STEM] == (opposite if opposed else theirs[0])[:STEM]
    return [("direction", _put(sentence, theirs[0], opposite))] if same else []


def _named(text: str) -> list[re.Match[str]]:
    return [match for match in _NAME.finditer(text) if match.group() not in _NOT_NAMES]


def _before(text: str, match: re.Match[str]) -> tuple[str, ...]:
    """The two words in front, the nearer of them in small letters; nothing at a sentence's beginning."""
    words = re.search(r"([\w'-]+) ([a-z]+) $", text[: match.start()])
    return (words.group(1).lower(), words.group(2)) if words else ()


def _holds(text: str, part: str) -> bool:
    return re.search(rf"(?<![\w.,-]){re.escape(part)}(?![\w-]|[.,]\d)", text) is not None


def _put(text: str, old: str, new: str) -> str:
    """The text with a word or number exchanged wherever it stands alone, and the article with it."""
    article = "an " if new[0] in "AEIOUaeiou" else "a "
    pattern = rf"(?<![\w.,-])(an? )?{re.escape(old)}(?![\w-]|[.,]\d)"
    return re.sub(pattern, lambda match: (article if match.group(1) else "") + new, text)
