"""Made-up prose with numbers, names, negations and typography, for tests that need much text."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

PLACES = "Cape Ansel|Port Veria|Lake Omo|Mount Teral|the Halvor Strait|Saint-Elme|Old Brannick|New Tarrow".split("|")
PEOPLE = "Ines Vidal|T. R. Okoro|Anna-Lise Berg|Omar al-Sayf|Mary O'Dell|Jun Watabe|Dr. Petra Nowak".split("|")
THINGS = "lighthouse|ferry line|salt works|observatory|coastal railway|fish market|weather station|dry dock".split("|")
VERBS = "opened|rebuilt|closed|surveyed|painted|financed|designed|inspected".split("|")
TAILS = (
    "after a storm had taken its roof|which didn't please the council|at a cost of {n},{m:03d} crowns"
    "|although no vote was held|with the help of {p}|because the old one was not safe|but never used it"
    "|in the well-known style of the coast|for the first time since {y}|when the harbour first filed its books"
    '|and called it "the finest in the province"'
).split("|")
NEGATIONS = ("not", "no", "never", "didn't")


def paragraphs(rng: random.Random, count: int) -> list[str]:
    """As many paragraphs of six to ten sentences, none like another."""
    return [" ".join(_sentence(rng) for _ in range(rng.randint(6, 10))) for _ in range(count)]


def _sentence(rng: random.Random) -> str:
    tails = rng.sample(TAILS, 2)
    numbers = {"n": rng.randint(1, 99), "m": rng.randint(0, 999), "y": rng.randint(1801, 1990)}
    tail = ", ".join(tails).format(p=rng.choice(PEOPLE), **numbers)
    return (
        f"In {rng.randint(1801, 1990)} {rng.choice(PEOPLE)} {rng.choice(VERBS)} the {rng.choice(THINGS)} at "
        f"{rng.choice(PLACES)}, {rng.randint(2, 99)}.{rng.randint(1, 9)} km from {rng.choice(PLACES)}, {tail}."
    )


def span(rng: random.Random, text: str) -> str:
    """A run of 4 to 20 whole words, as a writer would quote it; one that drops a negation is no true quotation."""
    words = list(re.finditer(r"\S+", text))
    begins = [i for i in range(len(words) - 4) if not i or words[i - 1].group() not in NEGATIONS]
    first = rng.choice(begins)
    last = min(len(words) - 1, first + rng.randint(3, 19))
    while last + 1 < len(words) and words[last + 1].group() in NEGATIONS:
        last += 1
    return text[words[first].start() : words[last].end()]


def noise(rng: random.Random, quote: str) -> str:
    """A quotation with three changes that typography makes."""
    changes: list[Callable[[str], str]] = [
        lambda t: t.replace("'", "’"),
        lambda t: t.replace('"', "“", 1).replace('"', "”", 1),
        lambda t: t.replace("-", "–"),
        lambda t: t.replace(" ", "\n", 1),
        lambda t: t.replace(" ", "  "),
        lambda t: t.replace(" ", "\u00a0", 1),
        lambda t: f"“{t}”",
        lambda t: f"… {t} …",
        lambda t: t.replace("fi", "ﬁ"),
        lambda t: t.replace(" ", " \u200b"),
        lambda t: t[0].swapcase() + t[1:],
        lambda t: t.rstrip(".,;") + ".",
        lambda t: t,
    ]
    for change in rng.sample(changes, 3):
        quote = change(quote)
    return quote


def false_quotation(kind: str, rng: random.Random, text: str, texts: list[str]) -> str:
    """A quotation that does not stand in the text: ``fabricated``, ``negated``, ``foreign`` or ``stitched``."""
    while True:
        words = span(rng, text).split()
        place = rng.randrange(1, len(words) - 1)
        if kind == "fabricated":  # one word of it exchanged, or a digit
            other = rng.choice(texts).split()
            words[place] = rng.choice(other) if not re.search(r"\d", words[place]) else words[place] + "7"
        elif kind == "negated":
            negations = [i for i, word in enumerate(words) if word in ("not", "never", "no")]
            if negations:
                del words[negations[0]]
            else:
                words.insert(place, rng.choice(("not", "never")))
        elif kind == "foreign":
            words = span(rng, rng.choice([each for each in texts if each != text])).split()
        else:
            words = words[:place] + span(rng, text).split()[: len(words)]
        quote = " ".join(words)
        if _letters(quote) not in _letters(text):
            return quote


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text).strip()
