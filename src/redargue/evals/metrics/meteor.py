"""METEOR (Lavie and Agarwal 2007), as nltk 3.10's ``single_meteor_score`` computes it, without WordNet.

Words are matched in two passes, each from the last word to the first, taking the last free word of the reference:
equal words, then equal stems. Score = F · (1 - .5 · (chunks / matches)³) with F = P·R / (.9·P + .1·R).

How it differs from the figure that AVeriTeC's script prints:

- **No synonyms.** nltk's third pass matches WordNet synonyms (of WordNet 3.0, 12 MB of data that this project does not
  ship), so this score is mostly a little lower. ``synonyms`` takes a function where one is at hand; with WordNet's
  lemmas behind it the score of the same words equals nltk's.
- **Words.** The script cuts text with nltk's ``word_tokenize`` (Punkt, a trained sentence splitter, then Treebank's
  rules). ``words`` has Treebank's rules for what such texts hold, and takes a full stop for a word of its own wherever
  white space, a closing mark or the end follows, but after initials and a short list of titles.

Measured on 120 development claims with ten retrieved sentences each as predicted evidence: Hungarian METEOR .257 here,
.264 with WordNet and nltk's words; largest difference of a claim .027; 58 against 60 claims above .25.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from redargue.evals.metrics.stemming import stem

ALPHA, BETA, GAMMA = 0.9, 3.0, 0.5
Synonyms = Callable[[str], Iterable[str]]

_WORD = re.compile(
    r"""
      \.{2,} | --+ | `` | ''                                          # ellipsis, dash, Treebank's quotation marks
    | can(?=not\b)
    | \b(?:(?:[^\W\d_]\.)+|(?:mr|mrs|ms|dr|jr|sr|vs|prof|gen|gov|sen|rep)\.)(?=\s+\S)         # abbreviations, initials
    | (?:(?!n't\b)[^\s\[\](){}<>;@\#$%&?!*"“”«»‘’'`:,.‒–—―]           # a word: no mark,
        | \.(?=[^\s"')\]}>”’».])                                         #   or a point inside it,
        | [:,](?=\d)                                                     #   or a colon or comma before a digit,
        | (?<=\w)'(?!(?:s|m|d|ll|re|ve)\b)(?=\w))+                       #   or an apostrophe inside it
    | (?:n't|'(?:s|m|d|ll|re|ve))(?!\w)                                  # clitics
    | \S                                                                 # any other mark alone
    """,
    re.VERBOSE | re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """The words of a text, lower-case."""
    return tuple(match.group().lower() for match in _WORD.finditer(text))


def _match(
    candidate: dict[int, str], reference: dict[int, str], forms: Callable[[str], Iterable[str]]
) -> list[tuple[int, int]]:
    """Takes equal words out of both and gives their places; from the last to the first."""
    places: dict[str, list[int]] = {}
    for place, word in reference.items():
        places.setdefault(word, []).append(place)
    pairs = []
    for at in sorted(candidate, reverse=True):
        free = [form for form in set(forms(candidate[at])) if places.get(form)]
        if free:
            form = max(free, key=lambda form: places[form][-1])
            pairs.append((at, places[form].pop()))
    for at, place in pairs:
        del candidate[at], reference[place]
    return pairs


def align(
    candidate: Sequence[str], reference: Sequence[str], *, synonyms: Synonyms | None = None
) -> list[tuple[int, int]]:
    """Pairs of places (candidate, reference) of the words that match, in the candidate's order."""
    left, right = dict(enumerate(candidate)), dict(enumerate(reference))
    pairs = _match(left, right, lambda word: (word,))
    # The later passes see stems in both, as in nltk (its synonym pass looks stems up, too).
    left = {at: stem(word) for at, word in left.items()}
    right = {at: stem(word) for at, word in right.items()}
    pairs += _match(left, right, lambda word: (word,))
    if synonyms is not None:
        look_up = synonyms
        pairs += _match(left, right, lambda word: (word, *look_up(word)))
    return sorted(pairs)


def meteor_of_words(candidate: Sequence[str], reference: Sequence[str], *, synonyms: Synonyms | None = None) -> float:
    """METEOR of two sequences of lower-case words, in [0, 1); 0 where no word matches.

    Args:
        candidate: the predicted text's words.
        reference: the gold text's words.
        synonyms: the synonyms of a stem, one word each; None for none.
    """
    pairs = align(candidate, reference, synonyms=synonyms)
    if not pairs:
        return 0.0
    matches = len(pairs)
    precision, recall = matches / len(candidate), matches / len(reference)
    joined = sum(b == (a[0] + 1, a[1] + 1) for a, b in itertools.pairwise(pairs))
    fragmentation = (matches - joined) / matches
    f_mean = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
    return (1 - GAMMA * math.pow(fragmentation, BETA)) * f_mean


def meteor(candidate: str, reference: str) -> float:
    """METEOR of two texts, in [0, 1); 0 where no word matches."""
    return meteor_of_words(words(candidate), words(reference))
