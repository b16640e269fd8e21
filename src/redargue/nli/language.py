"""Detects texts that are not English, which the embedded models cannot read.

A text in a script other than Latin is never English, and a text with many words that occur in English alone always is.
Otherwise a naive Bayes model over byte n-grams decides (py3langid, which takes 0.4 s to load). A text that it is unsure
of, such as a short one full of names, counts as English.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from redargue.evidence import Passage
from redargue.nli.grammar import word_set
from redargue.words import LANGUAGES, UNDETERMINED

_MAX_LENGTH = 2000  # characters; the rest of a text is not examined
_MIN_LETTERS = 8  # a text with fewer counts as English
# Chosen on the claims of ``python -m benchmarks languages``: a text in Latin script is not English if English has less
# than the first probability, and another language at least the second.
_MAX_ENGLISH, _MIN_OTHER = 0.0125, 0.2
# In a text of fewer letters without a foreign word ("Platinum: 25 euros"), the other language needs this probability.
_SHORT, _MIN_OTHER_IN_SHORT = 25, 0.4
# A text is English if at least this share of its words are in ``_ENGLISH_WORDS``, and at least this many of them for
# each word that is in ``_FOREIGN_WORDS`` or accented.
_MIN_ENGLISH_SHARE, _MIN_ENGLISH_PER_FOREIGN = 0.1, 4
_ENGLISH_WORDS = word_set(
    "the and which this that these those with were have been his their they them there from who whose would should"
    " could when where while what because between both each about after before during than into through your she"
    " its not month months week weeks year years day days hour hours"
)
_FOREIGN_WORDS = word_set(
    "le la les des du une est dans qui que pour pas au el los las del y es un una en con por su il lo gli che di"
    " da per non sono si der das den dem und ist nicht ein eine mit auf von zu im het een van dat niet te op zijn"
    " og det er som til av på att och är de med inte ikke na se je że się w z nie jest o os um uma em"
    " ja ei ve bir bu és az hogy nem va și cu ini yang dan"
    " die wurde wurden sind waren hat fue era fueron été était fut ont sont foi stato stata è werd"
    " blev blir var był była"
)
_WORD = re.compile(r"[^\W\d_]+")


def language_of(text: str) -> str:
    """The language code (ISO 639-1), ``und`` if it cannot be determined, or an empty string for English."""
    return _language_of(text[:_MAX_LENGTH])


@lru_cache(maxsize=4096)
def _language_of(text: str) -> str:
    letters = [letter for letter in text if letter.isalpha()]
    in_latin = sum(map(_is_latin, letters)) >= len(letters) / 2
    if in_latin:
        if len(letters) < _MIN_LETTERS or len(text.split()) < 2:
            return ""
        text = "".join(filter(_is_latin, text))  # names may be in other scripts
        if _has_english_words(text):
            return ""
    probabilities = dict(_classifier().rank(text))
    language = next(iter(probabilities))
    unsure = probabilities["en"] >= _MAX_ENGLISH or probabilities[language] < _min_other(text)
    if in_latin and (language == "en" or unsure):
        return ""
    return language if language in LANGUAGES else UNDETERMINED


def _min_other(text: str) -> float:
    """The probability that another language needs."""
    short = sum(map(str.isalpha, text)) < _SHORT
    return _MIN_OTHER_IN_SHORT if short and text.isascii() and not _count_foreign(_words(text)) else _MIN_OTHER


def _words(text: str) -> list[str]:
    """The words, the first in lower case; one capitalised elsewhere may belong to an English title."""
    first, *others = _WORD.findall(text) or [""]
    return [first.lower(), *others]


def _count_foreign(words: Sequence[str]) -> int:
    return sum(word.lower() in _FOREIGN_WORDS or (word.islower() and not word.isascii()) for word in words)


def _has_english_words(text: str) -> bool:
    words = _words(text)
    english = sum(word in _ENGLISH_WORDS for word in words)
    needed = max(1, _MIN_ENGLISH_SHARE * len(words), _MIN_ENGLISH_PER_FOREIGN * _count_foreign(words))
    return english >= needed


def _is_latin(character: str) -> bool:
    """Whether a character is a Latin or phonetic letter, or punctuation."""
    return character < "\u02b0" or "\u1e00" <= character < "\u20d0"


def in_english(passages: Sequence[Passage]) -> tuple[tuple[Passage, ...], dict[str, int]]:
    """The English passages, and the number of the others by language."""
    languages = [language_of(passage.text) for passage in passages]
    kept = tuple(passage for passage, language in zip(passages, languages, strict=True) if not language)
    return kept, dict(sorted(Counter(filter(None, languages)).items()))


@cache
def _classifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
