"""Whether a text asserts a claim word for word."""

from __future__ import annotations

import re
from functools import lru_cache

_QUOTES = str.maketrans("“”„«»‘’‐‑−–—", '"""""\'\'-----')
_LED = re.compile(
    r"(?:however|moreover|also|but|and|so|yet|then|thus|furthermore|in addition|therefore|for example|for instance"
    r"|today|note|[-*•])[,:]? ",
    re.IGNORECASE,
)
_FRAME = re.compile(  # the clause after one of these words may not be asserted
    r"\b(?:if|unless|whether|not true|untrue|false\w*|wrong\w*|myth|den(?:y|ies|ied)|claim\w*|alleg\w+"
    r"|sa(?:id|ys?|ying)|according|believ\w+|hop(?:e|es|ed|ing)|thought|thinks?|rumou?r\w*|suggest\w*|would|might"
    r"|pretend\w*|argu\w+|report\w*|ask\w*|doubt\w*|not|never|no|nobody|that|when|until|before|who|which|where|as"
    r"|because|although|though|than|what|how|why|imagin\w+|suppos\w+|assum\w+|propos\w+|accus\w+|after|once|while"
    r"|only)\b|\?",
    re.IGNORECASE,
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
    at = theirs.lower().find(ours.lower())
    while at >= 0:
        before, after = theirs[:at], theirs[at + len(ours) :]
        if theirs[at + 1 : at + len(ours)] == ours[1:] and _asserted(before, after):
            return True
        at = theirs.lower().find(ours.lower(), at + 1)
    return False


@lru_cache(maxsize=8192)
def _plain(text: str) -> str:
    """The text with one kind of quotes and dashes, single spaces, no final stop and a small first letter."""
    plain = " ".join(text.translate(_QUOTES).replace("...", "…").split())
    plain = re.sub(r"\s*-\s+|\s+-\s*", " - ", plain)
    plain = re.sub(r"(?<=\d) (?=[%°€])", "", plain).rstrip(" .!;:,")
    return plain[:1].lower() + plain[1:]


def _asserted(before: str, after: str) -> bool:
    """Whether a clause between two texts is asserted."""
    if before.count('"') % 2 or re.match(r"[^.!;]*\b(?:if|unless|except\w*|until|provided)\b|[^.!]*\?", after):
        return False
    new_clause = re.search(r"(?:; |[.!] |, (?:and|but) )$", before) and not _FRAME.search(_last_clause(before))
    starts = not before or _LED.fullmatch(before) or new_clause
    return bool(starts) and (not after or bool(re.match(r"[.!;]|, (?:and|but|which|who|while|whereas)\b| - ", after)))


def _last_clause(before: str) -> str:
    """The part of the last sentence before a clause."""
    return "" if re.search(r"[.!] $", before) else re.split(r"[.!] ", before.rstrip(" .!"))[-1]
