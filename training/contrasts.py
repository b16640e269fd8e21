"""Contrastive pairs for what small models confuse, generated from training rows; their labels follow from the rows'.

Numbers and dates on either side, negations, two statements in one claim, questions with right and wrong answers, and
evidence among sentences that do not matter. Every generated pair comes from rows of ``train/`` alone.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict

from data import LABELS, Pair

SUPPORTS, REFUTES, NEI = range(len(LABELS))

_NUMBER = re.compile(r"(?<![\w.,-])\d{1,4}(?:,\d{3})*(?![\w-]|[.,]\d)")
_MONTHS = "January February March April May June July August September October November December".split()
_COUNTS = "two three four five six seven eight nine ten".split()
_COPULA = re.compile(r"\b(is|was|are|were|has|had|can|did|does|will)\b(?! not| never|n't)")
_NAME = re.compile(r"\b[A-Z][\w'-]+(?: (?:of|the|de|and|van) (?=[A-Z])| ?(?<= )[A-Z][\w'-]+)*")
_NO_NAME = frozenset(("The", "In", "On", "At", "It", "He", "She", "A", "An", "There", "His", "Her", "They", *_MONTHS))


def other_number(number: str, rng: random.Random) -> str:
    """Another number of the same kind: a nearby year, a nearby count, with the same separators."""
    value = int(number.replace(",", ""))
    if 1000 <= value <= 2100 and "," not in number:
        return str(value + rng.choice([-30, -20, -12, -10, -7, -5, -3, -2, -1, 1, 2, 3, 5, 7, 10, 12, 20, 30]))
    if value <= 31:
        return str(rng.choice([each for each in range(1, 32) if each != value]))
    other = max(1, round(value * rng.choice([0.1, 0.5, 0.7, 0.9, 1.1, 1.5, 2, 3, 10]))) + rng.randint(1, 9)
    return f"{other:,}" if "," in number else str(other)


def _swapped(text: str, rng: random.Random, holds: str) -> str | None:
    """The text with one number, month or counting word changed that ``holds`` also contains."""
    found = [match for match in _NUMBER.finditer(text) if re.search(rf"(?<!\d){re.escape(match.group())}(?!\d)", holds)]
    if found:
        match = rng.choice(found)
        return text[: match.start()] + other_number(match.group(), rng) + text[match.end() :]
    for words in (_MONTHS, _COUNTS):
        for word in words:
            if re.search(rf"\b{word}\b", text) and re.search(rf"\b{word}\b", holds):
                other = rng.choice([each for each in words if each != word])
                return re.sub(rf"\b{word}\b", other, text)
    return None


def numbers(pairs: list[Pair], rng: random.Random) -> list[Pair]:
    """A supported claim is refuted once its number, or the evidence's, is changed; a refuted one is made true.

    The claims of both labels are then the same, so that the claim's own words give nothing away.
    """
    made = []
    for pair in pairs:
        if pair.label == SUPPORTS:
            if rng.random() < 0.5:
                changed = _swapped(pair.claim, rng, pair.evidence)
                made += [Pair(changed, pair.evidence, REFUTES)] if changed else []
            else:
                changed = _swapped(pair.evidence, rng, pair.claim)
                made += [Pair(pair.claim, changed, REFUTES)] if changed else []
        elif pair.label == REFUTES:
            ours, theirs = _NUMBER.findall(pair.claim), _NUMBER.findall(pair.evidence)
            alike = [each for each in theirs if len(ours) == 1 and (len(each) == 4) == (len(ours[0]) == 4)]
            if len(alike) == 1 and ours[0] not in theirs:
                made.append(Pair(pair.claim, pair.evidence.replace(alike[0], ours[0]), SUPPORTS))
    return made


def entities(pairs: list[Pair], rng: random.Random, count: int) -> list[Pair]:
    """A supported claim and its evidence with one name changed on either side, on both, or on neither.

    As in FEVER-Symmetric: each claim and each evidence comes with both labels, so that neither alone tells. The new
    name comes from another claim, after the same word ("in", "by", "directed").
    """
    after: dict[str, list[str]] = defaultdict(list)
    for pair in pairs:
        for match in _names(pair.claim):
            after[_before(pair.claim, match)].append(match.group())
    made: list[Pair] = []
    for pair in rng.sample(pairs, len(pairs)):
        if pair.label != SUPPORTS or pair.evidence.count(",") > 3 or len(made) >= count:
            continue  # a list that lacks a name does not refute it
        found = [m for m in _names(pair.claim) if m.start() > 0 and _once(m.group(), pair.evidence)]
        if not found:
            continue
        match = rng.choice(found)
        old, new = match.group(), rng.choice(after[_before(pair.claim, match)])
        if set(old.split()) & set(new.split()) or new in pair.evidence or new in pair.claim:
            continue
        claim = pair.claim[: match.start()] + new + pair.claim[match.end() :]
        evidence = re.sub(rf"\b{re.escape(old)}\b", lambda _, new=new: new, pair.evidence)
        refuted = [Pair(claim, pair.evidence, REFUTES), Pair(pair.claim, evidence, REFUTES)]
        made += [*refuted, Pair(claim, evidence, SUPPORTS)]
    return made


def _once(name: str, text: str) -> bool:
    return len(re.findall(rf"\b{re.escape(name)}\b", text)) == 1


def _before(text: str, match: re.Match[str]) -> str:
    """The lower-case word before a name; empty at the beginning of the text."""
    return (re.findall(r"\w+", text[: match.start()]) or [""])[-1].lower()


def negations(pairs: list[Pair], rng: random.Random) -> list[Pair]:
    """A statement and its negation have opposite labels."""
    made = []
    for pair in pairs:
        found = list(_COPULA.finditer(pair.claim))
        if pair.label == NEI or len(found) != 1 or re.search(r"\b(not|never|no|only)\b|n't", pair.claim):
            continue
        at = found[0].end()
        label = REFUTES if pair.label == SUPPORTS else SUPPORTS
        made.append(
            Pair(f"{pair.claim[:at]} {rng.choice(['not', 'not', 'never'])}{pair.claim[at:]}", pair.evidence, label)
        )
    return made


def conjunctions(pairs: list[Pair], rng: random.Random, count: int) -> list[Pair]:
    """Two claims in one: refuted if one is, open if one has no evidence, else supported; their evidence joined."""
    decided = [pair for pair in pairs if pair.label != NEI and len(pair.evidence) < 500]
    made = []
    for _ in range(count):
        kind = rng.random()
        one, other = rng.sample(decided, 2)
        if kind < 0.6:
            while {one.label, other.label} == {REFUTES} or (kind < 0.3) != (one.label == other.label == SUPPORTS):
                one, other = rng.sample(decided, 2)
        claim = f"{one.claim.rstrip(' .')}{rng.choice([', and ', ' and ', '; '])}{other.claim}"
        label = REFUTES if REFUTES in (one.label, other.label) else SUPPORTS
        evidence = [one.evidence, other.evidence]
        if kind >= 0.8:  # evidence for one half: a refuted half still refutes the whole
            evidence = [one.evidence]
            label = REFUTES if one.label == REFUTES else NEI
        rng.shuffle(evidence)
        made.append(Pair(claim, " ".join(evidence), label))
    return made


def questions_of_tables(pairs: list[Pair], rng: random.Random, count: int) -> list[Pair]:
    """``What is the producer of In Rainbows? Nigel Godrich.`` from a table row; wrong answers come from other rows."""
    tables = {}
    for text in sorted({pair.evidence for pair in pairs}):
        title, _, rest = text.partition(". ")
        fields = dict(each.split(": ", 1) for each in rest.split("; ") if ": " in each)
        tables[text] = (title, {key: value for key, value in fields.items() if 2 < len(value) < 60})
    values: dict[str, list[str]] = defaultdict(list)
    for _, fields in tables.values():
        for key, value in fields.items():
            values[key].append(value)
    usable = [text for text, (_, fields) in tables.items() if fields]
    made = []
    for _ in range(count):
        text = rng.choice(usable)
        title, fields = tables[text]
        key = rng.choice(list(fields))
        label = rng.choice([SUPPORTS, REFUTES])
        own = [value for name, value in fields.items() if name != key]
        wrong = rng.choice(own) if own and rng.random() < 0.4 else rng.choice(values[key])
        answer = fields[key] if label == SUPPORTS else wrong
        if label == REFUTES and (answer in fields[key] or fields[key] in answer):
            continue
        made.append(Pair(f"What is the {key.lower()} of {title}? {answer}", text, label))
    return made


def _names(text: str) -> list[re.Match[str]]:
    """Runs of capitalised words that are names."""
    return [each for each in _NAME.finditer(text) if each.group() not in _NO_NAME]


def questions_of_claims(pairs: list[Pair], rng: random.Random, count: int) -> list[Pair]:
    """A supported claim as question and answer; wrong answers are other names or numbers in the evidence."""
    made: list[Pair] = []
    for pair in rng.sample(pairs, len(pairs)):
        if pair.label != SUPPORTS or len(made) >= count:
            continue
        names, figures = (
            [m for m in found if m.group() in pair.evidence]
            for found in (_names(pair.claim), _NUMBER.finditer(pair.claim))
        )
        if not names and not figures:
            continue
        named = bool(names) and (not figures or rng.random() < 0.7)
        span = rng.choice(names if named else figures)
        asked = rng.choice(["what", "who"]) if named else "how many" if len(span.group()) < 4 else "when"
        question = f"{pair.claim[: span.start()]}{asked}{pair.claim[span.end() :].rstrip(' .')}?"
        said = set(re.findall(r"\w+", pair.claim))
        found = [m.group() for m in (_names(pair.evidence) if named else _NUMBER.finditer(pair.evidence))]
        others = [each for each in found if not said & set(re.findall(r"\w+", each))]
        made.append(Pair(f"{question} {span.group()}", pair.evidence, SUPPORTS))
        if others:
            made.append(Pair(f"{question} {rng.choice(others)}", pair.evidence, REFUTES))
    return made


def among_others(pairs: list[Pair], rng: random.Random, count: int) -> list[Pair]:
    """The same pair with sentences of other claims around its evidence; the label is unchanged."""
    fill = [pair.evidence for pair in pairs if len(pair.evidence) < 250]
    made = []
    for pair in rng.sample(pairs, min(count, len(pairs))):
        if len(pair.evidence) > 600:
            continue
        around = [pair.evidence, *rng.sample(fill, rng.choice([1, 1, 2]))]
        rng.shuffle(around)
        made.append(Pair(pair.claim, " ".join(around), pair.label))
    return made
