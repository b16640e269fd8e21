"""Words: their stems, their opposites, and those that carry no content of their own."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path

_WORDS = Path(__file__).with_name("words")
WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*|\d+(?:[.,:]\d+)*")

FUNCTION_WORDS = frozenset(
    (
        "a an the and or but nor so as at by for from in into of off on onto out over per than that this these those to"
        " up via with within without about above after against along among around before behind below beneath beside"
        " besides between beyond down during except near through throughout toward towards under until upon while when"
        " where whether which who whom whose what why how if because since though although unless i me my we us our you"
        " your he him his she her hers it its itself himself herself themselves they them their theirs one ones there"
        " here then thus also too very just only even still already yet not no never none nor neither either both all"
        " any each every some most many much more less few fewer several other another such same own be is am are was"
        " were been being have has had having do does did done doing will would shall should can could may might must"
        " cannot ought need let let's isn't aren't wasn't weren't don't doesn't didn't hasn't haven't hadn't won't"
        " wouldn't can't couldn't shouldn't mustn't it's that's there's etc e.g i.e"
    ).split()
)
NEGATORS = frozenset("not never no none nobody nothing neither nor without cannot hardly nowhere".split())


@cache
def _pairs(name: str) -> tuple[tuple[str, str], ...]:
    lines = (_WORDS / name).read_text(encoding="utf-8").splitlines()
    return tuple((one, two) for one, two in (line.split() for line in lines))


@cache
def _irregular() -> dict[str, str]:
    return dict(_pairs("irregular.txt"))


@lru_cache(maxsize=32768)
def stem(word: str) -> str:
    """The word without inflection, in lower case: "rose", "rising" and "rises" are "ris", as "rise" is."""
    word = re.sub(r"['’]s?$", "", word.casefold())
    word = _irregular().get(word, word)
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif re.search(r"(?:s|x|z|ch|sh)es$", word):
        word = word[:-2]
    elif (len(word) > 3 and re.search(r"[^sui]s$", word)) or re.search(r"(?:gr|cr|fr|nt)eed$", word):
        word = word[:-1]
    elif re.search(r"[aeiouy].*?[^e]ed$", word) or re.search(r"[aeiouy].*ing$", word):
        word = re.sub(r"(?:ed|ing)$", "", word)
        word = re.sub(r"([bdfgklmnprtvz])\1$", r"\1", word) if len(word) > 3 else word
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return re.sub(r"ll$", "l", re.sub(r"(?<=[^aeiou])y$", "i", word))


@cache
def _opposites() -> dict[str, frozenset[str]]:
    opposites_of: dict[str, set[str]] = {}
    for one, two in (*_pairs("antonyms.txt"), *_pairs("opposites.txt")):
        for first, second in ((stem(one), stem(two)), (stem(two), stem(one))):
            if first != second:
                opposites_of.setdefault(first, set()).add(second)
    return {word: frozenset(words) for word, words in opposites_of.items()}


def opposites(stemmed: str) -> frozenset[str]:
    """The stems of a stem's opposites, from WordNet and from a list of everyday ones that WordNet lacks."""
    return _opposites().get(stemmed, frozenset())
