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

_UNASSERTED = re.compile(  # what stands right before a clause that someone else holds, asks, denies or makes depend
    r"(?:\b(?:claim\w*|alleg\w+|rumou?r\w*|myth|hoax|lie|false|untrue|not true|wrong|den(?:y|ies|ied|ying)|believ\w+"
    r"|thinks?|thought|suppos\w+|imagin\w+|pretend\w*|hop(?:e|es|ed|ing)|fear\w*|doubt\w*|ask\w*|wonder\w*)"
    r"(?: (?:that|if|whether))?,?|\b(?:if|unless|whether)\b[^.!?;]*) $",
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


def only_framed(claim: str, text: str) -> bool:
    """Whether the text has the claim word for word, but only as what someone claims, believes, asks or denies.

    "Critics claim that X", "it is a myth that X", "if …, X". What someone says or reports is not among them.
    """
    ours, theirs = _plain(claim), _plain(text)
    if not ours or ours.lower() not in theirs.lower():
        return False
    befores = [
        theirs[: found.start()] for found in re.finditer(rf"(?<!\w){re.escape(ours)}(?!\w)", theirs, re.IGNORECASE)
    ]
    return bool(befores) and all(_UNASSERTED.search(before) for before in befores)


@lru_cache(maxsize=1024)
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
