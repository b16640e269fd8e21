"""Rewrites a sentence so that its label is known: copies, equal values, and opposites.

A copy of a sentence is supported by its text, and so is the copy with "36 months" for "3 years". The copy with another
number, an antonym, a negation, another quantifier or exchanged roles is refuted. Every rewriting keeps nearly all
words, so that the overlap of words does not give the label away.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

WORDNET = Path("/usr/share/wordnet")  # Debian's wordnet-base

Antonyms = Mapping[str, tuple[str, ...]]

EVERYDAY = (
    "open/closed opens/closes opened/closed opening/closing more/fewer more/less most/fewest higher/lower"
    " highest/lowest larger/smaller largest/smallest longer/shorter longest/shortest before/after above/below"
    " over/under first/last increased/decreased increases/decreases increase/decrease rose/fell rises/falls"
    " rise/fall risen/fallen grew/shrank raised/lowered raise/lower gained/lost gain/lose won/lost wins/loses"
    " included/excluded includes/excludes free/paid allowed/forbidden permitted/prohibited required/optional"
    " mandatory/optional public/private early/late earlier/later earliest/latest older/younger oldest/youngest"
    " older/newer oldest/newest start/end starts/ends started/ended begins/ends began/ended accepted/rejected"
    " accept/reject approved/rejected enabled/disabled enable/disable online/offline inside/outside"
    " indoors/outdoors indoor/outdoor hot/cold warm/cool wet/dry fast/slow faster/slower cheap/expensive"
    " cheaper/dearer rich/poor strong/weak stronger/weaker safe/unsafe dangerous/safe full/empty upper/lower"
    " north/south northern/southern east/west eastern/western left/right male/female men/women arrival/departure"
    " arrive/depart arrives/departs buy/sell bought/sold lend/borrow import/export imports/exports"
    " exported/imported same/different similar/different always/never everyone/nobody everything/nothing all/none"
    " both/neither many/few with/without maximum/minimum temporary/permanent voluntary/compulsory present/absent"
    " success/failure succeeded/failed succeeds/fails true/false legal/illegal day/night morning/evening"
    " winter/summer alive/dead new/old near/far heavy/light heavier/lighter hard/soft thick/thin wide/narrow"
    " deep/shallow high/low positive/negative improved/worsened improves/worsens better/worse best/worst"
    " majority/minority guilty/innocent automatically/manually automatic/manual added/removed adds/removes"
    " locked/unlocked connected/disconnected visible/hidden refundable/non-refundable reversible/irreversible"
    " edible/poisonous confirmed/denied expanded/reduced extended/shortened accelerated/slowed"
    " strengthened/weakened doubled/halved easy/difficult"
)


def antonyms(vocabulary: Collection[str], folder: Path = WORDNET) -> dict[str, tuple[str, ...]]:
    """Antonyms of single words: WordNet's if both are in the vocabulary, and everyday ones that it lacks."""
    pairs: defaultdict[str, set[str]] = defaultdict(set)
    for part in ("adj", "adv", "verb"):
        synsets, pointers = {}, []
        for line in (folder / f"data.{part}").read_text(encoding="utf-8").splitlines():
            if line.startswith("  "):
                continue
            fields = line.split(" | ")[0].split()
            count = int(fields[3], 16)
            words = [re.sub(r"\(\w+\)$", "", word).lower() for word in fields[4 : 4 + 2 * count : 2]]
            synsets[fields[0]] = words
            rest = fields[5 + 2 * count :]
            for at in range(0, 4 * int(fields[4 + 2 * count]), 4):
                symbol, offset, _, both = rest[at : at + 4]
                if symbol == "!":
                    pointers.append((words[int(both[:2], 16) - 1], offset, int(both[2:], 16) - 1))
        for word, offset, index in pointers:
            other = synsets[offset][index]
            if word in vocabulary and other in vocabulary and min(len(word), len(other)) > 2:
                pairs[word].add(other)
                pairs[other].add(word)
    for pair in EVERYDAY.split():
        one, other = pair.split("/")
        pairs[one].add(other)
        pairs[other].add(one)
    return {word: tuple(sorted(others)) for word, others in pairs.items()}


_NEGATION = re.compile(r"\b(?:not|never|no|nobody|none|nothing|neither|nor|without|cannot)\b|n't\b", re.IGNORECASE)
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|can|may|must|will|has been|have been|had been|could|should|would)\b(?! (?:not|never)\b)"
)
_PAST = re.compile(
    r"(?<=[a-z] )(?<!to )(?<!was )(?<!were )([a-z]{3,}ed)(?= (?:the|a|an|its|his|her|their|to|in|on|at|from|by|for)\b)"
)


def negated(sentence: str, rng: random.Random) -> str | None:
    """The sentence with its only auxiliary negated, or its only "not" removed."""
    if "?" in sentence or ";" in sentence:
        return None
    marks = _NEGATION.findall(sentence)
    if len(marks) == 1 and re.search(r" not\b", sentence) and not re.search(r"\b(?:only|but|if|unless)\b", sentence):
        return sentence.replace(" not ", " ", 1) if not re.search(r"\b(do|does|did) not\b", sentence) else None
    matches = list(_AUXILIARY.finditer(sentence))
    if marks or len(matches) != 1:
        return None
    end = matches[0].end(1) if " " not in matches[0][1] else matches[0].start(1) + len(matches[0][1].split()[0])
    word = sentence[:end].split()[-1]
    if word == "can":
        return sentence[:end] + rng.choice(["not", "'t"]) + sentence[end:]
    short = {"is": "isn't", "are": "aren't", "was": "wasn't", "were": "weren't", "must": "must not"}
    if word in short and rng.random() < 0.4:
        return sentence[: end - len(word)] + short[word] + sentence[end:]
    return sentence[:end] + rng.choice([" not", " not", " never"]) + sentence[end:]


def opposed(sentence: str, rng: random.Random, pairs: Antonyms) -> str | None:
    """The sentence with one word replaced by an antonym."""
    if _NEGATION.search(sentence):
        return None
    matches = [match for match in re.finditer(r"\b[a-z][a-z-]{2,}\b", sentence) if match.group() in pairs]
    if not matches:
        return None
    match = rng.choice(matches)
    return sentence[: match.start()] + rng.choice(pairs[match.group()]) + sentence[match.end() :]


_COUNTS = "one two three four five six seven eight nine ten eleven twelve".split()
_MONTHS = "January February March April May June July August September October November December".split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_NUMBER = re.compile(r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w-])|(?<![\w.,-])\d+(?:\.\d+)?(?![\w-]|[.,]\d)")


def other_value(sentence: str, rng: random.Random) -> str | None:
    """The sentence with one number, month, day or counting word replaced by another."""
    matches = list(_NUMBER.finditer(sentence))
    words = [
        match for match in re.finditer(r"\b[A-Za-z]+\b", sentence) if match.group() in (*_MONTHS, *_DAYS, *_COUNTS)
    ]
    words = [match for match in words if match.group() not in ("one", "May")]
    if not matches and not words:
        return None
    match = rng.choice(matches + words)
    text = match.group()
    if text in _MONTHS or text in _DAYS or text in _COUNTS:
        names = _MONTHS if text in _MONTHS else _DAYS if text in _DAYS else _COUNTS
        new = rng.choice([name for name in names if name != text])
    else:
        value = float(text.replace(",", ""))
        if 1000 <= value <= 2100 and "," not in text and "." not in text:
            new = str(int(value) + rng.choice([-30, -20, -10, -5, -3, -2, -1, 1, 2, 3, 5, 10, 20, 30]))
        elif "." in text:
            new = str(round(value * rng.choice([0.1, 0.5, 1.2, 1.5, 2, 10]), len(text.split(".")[1])))
        else:
            changed = (
                value + rng.choice([1, 2, 3, -1, -2])
                if rng.random() < 0.4
                else value * rng.choice([0.5, 1.5, 2, 3, 10])
            )
            new = f"{max(0, round(changed)):,}" if "," in text else str(max(0, round(changed)))
        if float(new.replace(",", "")) == value:
            return None
    return sentence[: match.start()] + new + sentence[match.end() :]


_TENS = dict(
    zip((20, 30, 40, 50, 60, 70, 80, 90), "twenty thirty forty fifty sixty seventy eighty ninety".split(), strict=True)
)
_TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_UNITS = {  # a unit and the smaller one: how many of the smaller one make it
    "year": (12, "month"), "week": (7, "day"), "day": (24, "hour"), "hour": (60, "minute"), "minute": (60, "second"),
    "km": (1000, "m"), "kilometre": (1000, "metre"), "kilometer": (1000, "meter"), "kg": (1000, "g"), "m": (100, "cm"),
    "cm": (10, "mm"), "l": (1000, "ml"), "litre": (1000, "millilitre"), "GB": (1000, "MB"), "tonne": (1000, "kilogram"),
    "dozen": (12, ""), "decade": (10, "year"), "kW": (1000, "W"),
}  # fmt: skip
_MEASURE = re.compile(
    r"(?<![\w.,])(\d+(?:\.\d+)?|"
    + "|".join(_COUNTS)
    + r") ?("
    + "|".join(sorted({*_UNITS, *(unit for _, unit in _UNITS.values() if unit)}, key=len, reverse=True))
    + r")(s?)\b"
)


def spelled(value: int) -> str | None:
    """A whole number below 100 in words."""
    if 1 <= value <= 12:
        return _COUNTS[value - 1]
    if 13 <= value <= 19:
        return _TEENS[value - 13]
    if value in _TENS:
        return _TENS[value]
    if 20 < value < 100:
        return f"{_TENS[value // 10 * 10]}-{_COUNTS[value % 10 - 1]}"
    return None


def equal_value(sentence: str, rng: random.Random, wrong: bool = False) -> str | None:
    """The sentence with one quantity written otherwise; if ``wrong``, as another quantity."""
    made = [text for text in (_converted(sentence, rng, wrong), _respelled(sentence, rng, wrong)) if text]
    return rng.choice(made) if made else None


def _converted(sentence: str, rng: random.Random, wrong: bool) -> str | None:
    matches = list(_MEASURE.finditer(sentence))
    if not matches:
        return None
    match = rng.choice(matches)
    value = float(_COUNTS.index(match[1]) + 1) if match[1] in _COUNTS else float(match[1])
    choices = []
    if match[2] in _UNITS and _UNITS[match[2]][1]:
        factor, smaller = _UNITS[match[2]]
        choices.append((value * factor, smaller))
    for unit, (factor, smaller) in _UNITS.items():
        if smaller == match[2] and (value / factor * 2) % 1 == 0:
            choices.append((value / factor, unit))
    choices = [(number, unit) for number, unit in choices if number <= 100_000]
    if not choices:
        return None
    number, unit = rng.choice(choices)
    if wrong:
        number = rng.choice([number * 2, number + rng.choice([1, 2, 5, 10]), number * 10, number / 2])
    figure = f"{number:,.2f}".rstrip("0").rstrip(".")
    text = (spelled(int(number)) or figure) if number % 1 == 0 and rng.random() < 0.4 else figure
    plural = "s" if len(unit) > 2 and number != 1 and unit else ""
    return sentence[: match.start()] + f"{text} {unit}{plural}" + sentence[match.end() :]


def _respelled(sentence: str, rng: random.Random, wrong: bool) -> str | None:
    if wrong:
        return None
    options: list[str] = []
    if re.search(r"\d ?%", sentence):
        options += [re.sub(r"(\d) ?%", rf"\1{unit}", sentence) for unit in (" percent", " per cent", "%", " %")]
    for match in _NUMBER.finditer(sentence):
        value = float(match.group().replace(",", ""))
        before, after = sentence[: match.start()], sentence[match.end() :]
        if (
            value % 1 == 0
            and (word := spelled(int(value)))
            and not after.lstrip().startswith(("%", "°"))
            and not before.endswith(("€", "$", "£"))
            and not re.match(r" (?:" + "|".join(_MONTHS) + ")", after)
        ):
            options.append(before + word + after)
        if value >= 10_000 and value % 1 == 0:
            options.append(
                before + (match.group().replace(",", "") if "," in match.group() else f"{value:,.0f}") + after
            )
        if value >= 1_000_000 and value % 100_000 == 0:
            options.append(before + f"{value / 1e6:g} million" + after)
    for match in re.finditer(r"(\d+(?:\.\d+)?) million\b", sentence):
        options.append(sentence[: match.start()] + f"{float(match[1]) * 1e6:,.0f}" + sentence[match.end() :])
    for match in re.finditer(r"\b[a-z]+\b", sentence):
        if match.group() in _COUNTS[1:]:
            options.append(sentence[: match.start()] + str(_COUNTS.index(match.group()) + 1) + sentence[match.end() :])
    options = [option for option in options if option != sentence]
    return rng.choice(options) if options else None


_STRENGTH = (
    ("at least", "at most"), ("more than", "less than"), ("more than", "fewer than"), ("up to", "at least"),
    ("up to", "more than"),
    ("must", "need not"), ("must not", "must"), ("may not", "may"), ("cannot", "can"), ("may", "may not"),
    ("must", "must not"),
    ("can", "cannot"), ("always", "rarely"), ("always", "never"), ("never", "always"), ("all", "none of"),
    ("every", "no"),
    ("only", "not only"), ("before", "after"), ("after", "before"), ("because of", "despite"), ("unless", "if"),
    ("does not", "does"), ("do not", "also"), ("without", "with"), ("until", "from"),
)  # fmt: skip


def other_strength(sentence: str, rng: random.Random) -> str | None:
    """The sentence with one modal verb, quantifier or connective replaced by its opposite."""
    options = []
    for old, new in _STRENGTH:
        if len(re.findall(rf"\b{old}\b", sentence)) == 1 and not (
            old in ("may", "can", "must", "all", "no") and re.search(rf"\b{old} not|not {old}\b", sentence)
        ):
            changed = re.sub(rf"\b{old}\b", new, sentence)
            if old == "does not":
                changed = re.sub(
                    r"\bdoes (\w+)", lambda m: m[1] + ("es" if m[1].endswith(("s", "sh", "ch", "o")) else "s"), changed
                )
            options.append(changed)
    return rng.choice(options) if options else None


_NAME = r"[A-Z][\w'-]+(?: [A-Z][\w'-]+)*"
_VERBS = (
    "beat defeated succeeded replaced bought acquired sued taught overtook outsold followed invited paid told"
    " asked warned sold hired fired trained married killed saved employed admired influenced preceded outlived"
    " challenged criticised activates inhibits suppresses increases decreases reduces binds phosphorylates causes"
    " precedes owns supplies"
)
_BETWEEN = re.compile(rf"^({_NAME})( (?:\w+ )?(?:{'|'.join(_VERBS.split())}) (?:(?:the|to) )?)({_NAME})\b(?=[ .,])")
_SIDE = r"(?:for|in|among|with|on|at) (?:the )?[\w-]+(?: [\w-]+)?"
_THAN = re.compile(rf"\b({_SIDE})( than )({_SIDE})")
_FROM = re.compile(r"\bfrom ([A-Z\d][\w:.,%-]*(?: [A-Z][\w-]+| %)?) to ([A-Z\d][\w:.,%-]*(?: [A-Z][\w-]+| %)?)")


def roles_exchanged(sentence: str, rng: random.Random) -> str | None:
    """The sentence with two names, two sides of a comparison, or origin and goal exchanged."""
    if _NEGATION.search(sentence):
        return None
    options = [
        sentence[: match.start()] + match[3] + match[2] + match[1] + sentence[match.end() :]
        for pattern in (_THAN, _BETWEEN)
        if (match := pattern.search(sentence)) and match[1] != match[3]
    ]
    if (match := _FROM.search(sentence)) and match[1] != match[2].rstrip(".,"):
        goal = match[2].rstrip(".,")
        tail = match[2][len(goal) :]
        options.append(f"{sentence[: match.start()]}from {goal} to {match[1]}{tail}{sentence[match.end() :]}")
    return rng.choice(options) if options else None


_SHORT = (
    ("cannot", "can't"), ("do not", "don't"), ("does not", "doesn't"), ("is not", "isn't"), ("are not", "aren't"),
    ("did not", "didn't"),
    ("was not", "wasn't"), ("will not", "won't"), ("It is", "It's"), ("must not", "mustn't"), ("You are", "You're"),
    ("fewer", "less"), ("however, ", ""), ("also ", ""), ("about ", "roughly "), ("begins", "starts"),
    ("purchase", "buy"),
    ("approximately", "about"), ("in order to", "to"), ("must", "has to"), ("permitted", "allowed"), ("until", "till"),
    (" and ", " & "),
)  # fmt: skip


def near_copy(sentence: str, rng: random.Random) -> str:
    """The sentence with its typography or a few function words changed; the meaning is the same."""
    text = sentence
    for old, new in rng.sample(_SHORT, len(_SHORT)):
        if old in text and rng.random() < 0.7:
            text = text.replace(old, new, 1)
        elif new and new in text and re.search(rf"(?<!\w){re.escape(new)}(?!\w)", text) and "'" in new:
            text = text.replace(new, old, 1)
    if rng.random() < 0.3:
        text = text.rstrip(".")
    if rng.random() < 0.15:
        text = text[0].lower() + text[1:]
    if rng.random() < 0.2:
        text = text.replace("'", "’").replace(" - ", " – ")
    return text


REWRITINGS: Mapping[str, Callable[[str, random.Random], str | None]] = {
    "negated": negated,
    "other value": other_value,
    "wrong conversion": lambda sentence, rng: equal_value(sentence, rng, wrong=True),
    "other strength": other_strength,
    "roles exchanged": roles_exchanged,
}
