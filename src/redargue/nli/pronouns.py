"""Replaces a pronoun at the beginning of a claim by the subject of the claim before, where only that can be meant."""

from __future__ import annotations

import re

_PRONOUN = re.compile(r"(He|She|It|They|His|Her|Its|Their)\b(?!')\s+(?=(\w+))")
_EXPLETIVE = re.compile(r"It (?:is|was|has been|seems|appears|rained|snowed)\b.*?\b(?:that|to|when|who|likely)\b")
_NAME = r"[A-Z][\w’'.&-]*(?:\s+(?:(?:of|the|de|la|von|van|der|du)\s+)*[A-Z0-9][\w’'.&-]*)*"
_SUBJECT = re.compile(
    rf"(?:((?:The\s+)?{_NAME})(?:\s*\([^)]*\)|,[^,]{{1,80}},)?\s+(?=([a-z]+ed|is|was|has|had|are|were|have|can|will|did)\b)"
    r"|([A-Z][\w-]*(?:\s+[\w'-]+){0,4}?)\s+(is|was|has|had|are|were|have|can|will|did)\b)"
)
_OTHER = re.compile(rf"(?:(\w+)\s+)?(?:\b(the|an?|its|his|her|their)\s+)?\b({_NAME})")
_PLACED = frozenset("in at on from near of since until during by to between after before around".split())
_NO_SUBJECT = frozenset(
    (
        "A An And As At But By For From He Her His If In It Its My No Not Of On Or She So Some Many Most Several There"
        " These They This Those To Under Until Upon We What When Where Which While Who With You Your Although Because"
        " After Before During Since Despite Both Each Other Another All Then Today That"
    ).split()
)
_PLURAL, _SINGULAR = frozenset("are were have".split()), frozenset("is was has does".split())


def subject_of(statement: str) -> str:
    """The subject and verb of a statement, separated by NUL; empty if the subject is unclear or not the only name."""
    begins = _SUBJECT.match(statement)
    if begins is None or statement.split()[0] in _NO_SUBJECT:
        return ""
    at = 1 if begins[1] else 3
    parts = set(begins[at].split())
    for before, article, name in _OTHER.findall(statement[begins.end(at) :]):
        described = article in ("a", "an") and " " not in name  # a French physicist
        if not described and before.lower() not in _PLACED and not set(name.split()) <= parts:
            return ""
    return f"{begins[at]}\0{begins[at + 1]}"


def resolved(claim: str, subject: str) -> str:
    """The claim with its first pronoun replaced by the previous subject, if that agrees in number."""
    name, _, verb = subject.partition("\0")
    pronoun = _PRONOUN.match(claim)
    if not name or pronoun is None or _EXPLETIVE.match(claim):
        return claim
    plural = pronoun[1] in ("They", "Their")
    if verb in (_SINGULAR if plural else _PLURAL):
        return claim
    possessive = pronoun[1] in ("His", "Her", "Its", "Their")
    ending = ("'" if name.endswith("s") and plural else "'s") if possessive else ""
    return f"{name}{ending} {claim[pronoun.end() :]}"
