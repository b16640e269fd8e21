"""The query for evidence of the other side, made without a call."""

from __future__ import annotations

import re

from redargue.quotes import content_words

_NEGATION = re.compile(r"(?i)\b(?:not|never|no|\w+n['’]t)\b")
_DIGIT = re.compile(r"\d")
_LEAST = 2  # content words of a query


def open_query(claim: str) -> str:
    """The claim without its numbers, dates and negations; itself where too little would be left.

    Evidence against "It opened in 1889" says when it opened, and not that it did not: a negated claim finds the same
    texts as the claim, one without the value those with any value.
    """
    without_numbers = " ".join(word for word in claim.split() if not _DIGIT.search(word))
    query = " ".join(_NEGATION.sub(" ", without_numbers).split()).strip(" .,;:?!")
    same = query == claim.strip(" .,;:?!")
    return claim if same or len(content_words(query)) < _LEAST else query
