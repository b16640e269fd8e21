"""Tells texts that are not English, which the embedded models do not read.

Another script than Latin is certain, and so is an English text of common words that no other language has. Otherwise a
naive Bayes model over byte n-grams decides (py3langid, which takes 0.4 s to load); where it is unsure, as for short
texts full of names, a text counts as English.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from redargue.evidence import Passage
from redargue.words import LANGUAGES, UNDETERMINED

_LONGEST = 2000  # characters that are looked at
FEWEST_LETTERS = 8
# Chosen with the claims of ``python -m benchmarks languages``: a text in Latin script is not English if English is less
# probable than the first and another language at least as probable as the second.
MAX_ENGLISH, MIN_OTHER = 0.0125, 0.2
# In a text of few letters without a foreign word ("Platinum: 25 euros"), the other language has to be more probable.
FEW_LETTERS, MIN_OTHER_OF_FEW = 25, 0.4
# A text is English if at least this share of its words are common ones that no other language has, and there are at
# least so many times as many of them as of common words of other languages and of accented words.
LEAST_ENGLISH, TIMES_FOREIGN = 0.1, 4
ENGLISH = frozenset(
    (
        "the and which this that these those with were have been his their they them there from who whose would should"
        " could when where while what because between both each about after before during than into through your she"
        " its not month months week weeks year years day days hour hours"
    ).split()
)
FOREIGN = frozenset(
    (
        "le la les des du une est dans qui que pour pas au el los las del y es un una en con por su il lo gli che di"
        " da per non sono si der das den dem und ist nicht ein eine mit auf von zu im het een van dat niet te op zijn"
        " og det er som til av på att och är de med inte ikke na se je że się w z nie jest o os um uma em"
        " ja ei ve bir bu és az hogy nem va și cu ini yang dan"
        " die wurde wurden sind waren hat fue era fueron été était fut ont sont foi stato stata è werd"
        " blev blir var był była"
    ).split()
)
_WORD = re.compile(r"[^\W\d_]+")


def language_of(text: str) -> str:
    """The text's language (ISO 639-1), ``und`` where it is unsure which; empty for English."""
    return _language_of(text[:_LONGEST])


@lru_cache(maxsize=4096)
def _language_of(text: str) -> str:
    letters = [letter for letter in text if letter.isalpha()]
    in_latin = 2 * sum(map(_is_latin, letters)) >= len(letters)
    if in_latin:  # names in other scripts do not count
        if len(letters) < FEWEST_LETTERS or len(text.split()) < 2:
            return ""
        text = "".join(filter(_is_latin, text))
        if _plainly_english(text):
            return ""
    ranking = _identifier().rank(text)
    (language, probability), english = ranking[0], dict(ranking)["en"]
    if in_latin and (language == "en" or english >= MAX_ENGLISH or probability < _least_of_another(text)):
        return ""
    return language if language in LANGUAGES else UNDETERMINED


def _least_of_another(text: str) -> float:
    """How probable another language has to be, in [0, 1]."""
    few = sum(map(str.isalpha, text)) < FEW_LETTERS
    return MIN_OTHER_OF_FEW if few and text.isascii() and not _foreign(_words(text)) else MIN_OTHER


def _words(text: str) -> list[str]:
    first, *others = _WORD.findall(text) or [""]
    return [first.lower(), *others]


def _foreign(words: Sequence[str]) -> int:
    return sum(word.lower() in FOREIGN or (word.islower() and not word.isascii()) for word in words)


def _plainly_english(text: str) -> bool:
    """Whether common words alone show it; a capitalised word within the text may belong to an English title."""
    words = _words(text)
    english, foreign = sum(word in ENGLISH for word in words), _foreign(words)
    return bool(english) and english >= max(LEAST_ENGLISH * len(words), TIMES_FOREIGN * foreign)


def _is_latin(character: str) -> bool:
    """Whether it is a Latin letter, phonetic ones included, or punctuation."""
    return character < "\u02b0" or "\u1e00" <= character < "\u20d0"


def in_english(passages: Sequence[Passage]) -> tuple[tuple[Passage, ...], dict[str, int]]:
    """The passages that are English, and the number of the others by :func:`language_of`."""
    languages = [language_of(passage.text) for passage in passages]
    kept = tuple(passage for passage, language in zip(passages, languages, strict=True) if not language)
    return kept, dict(sorted(Counter(filter(None, languages)).items()))


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
