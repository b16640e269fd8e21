"""Extracts check-worthy statements from sentences with regular expressions.

The embedded backend generates no text, so its claims are a text's sentences, without lead-ins ("However,", "I think
that"). A pronoun at the beginning is replaced if the sentence before has one subject and names nobody else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

FEWEST = 3  # words of a statement

_LEAD = re.compile(
    r"(?:yes|no|yeah|sure|certainly|of course|okay|ok|well|oh|absolutely|indeed|right|great|thanks|thank you|hello|hi)"
    r"\s*(?:[,.!;:]|\s[–—-]\s)\s*"
    r"|(?:however|moreover|furthermore|additionally|in addition|also|besides|therefore|thus|overall|finally|in fact"
    r"|actually|for example|for instance|as a result|in conclusion|in summary|on the other hand|interestingly|notably"
    r"|similarly)\s*,\s*"
    r"|as of my (?:knowledge|last)[^,]*,\s+"
    r"|it(?:'s| is) (?:also )?(?:important|worth|interesting) (?:to note|noting|to mention|mentioning)(?: that)?,?\s+"
    r"|(?:and |but )?i (?:also )?(?:think|believe|know|heard|read|guess|understand)(?: that)?"
    r" (?=(?:the |an? )?(?-i:[A-Z0-9]))",
    re.IGNORECASE,
)
_SELF = re.compile(  # a sentence about its text, its writer or its reader
    r"(?:as an? (?:\w+ )?(?:ai|language model)\b|(?:here|below) (?:is|are)\b|let me\b|let's\b|i hope\b|feel free\b"
    r"|please\b|if you\b|note that this\b|(?:would|could|can|do|did|have|are) you\b"
    r"|you (?:can|could|may|might|should|must|have to|need)\b|(?:i|we)(?:'[a-z]+)?\b|my\b"
    r"|(?:make sure|remember|consider|try|don't|do not|be sure|check|keep in mind|enjoy|wow|nice|cool|good luck)\b)",
    re.IGNORECASE,
)
_OPINION = re.compile(
    r"\bI (?:\w+ )?(?:recommend|suggest|cannot|can't|do not|don't)\b"
    r"|\bin my (?:opinion|view)\b|\bpersonally\b|\bimho\b|\bmy favou?rite\b"
    r"|^(?:it|that|this|they|he|she|those|these)(?:'s| is| was| are| were| sounds?| looks?| seems?)\s+"
    r"(?:(?:an?|such|really|very|so|quite|pretty|definitely|absolutely|truly)\s+)*"
    r"(?:great|good|awesome|amazing|wonderful|terrible|awful|beautiful|interesting|fun|funny|cool|nice|boring|best"
    r"|fantastic|excellent|true|sad|crazy|lovely|perfect)\b(?:\s+\w+)?\s*[.!]*$",
    re.IGNORECASE,
)


def statement(sentence: str) -> str | None:
    """The sentence as a claim; None if it cannot be checked: a heading, a question, an opinion."""
    text = " ".join(re.sub(r"\*\*|__|`", "", sentence).split())
    if text.startswith("#"):
        return None
    while lead := _LEAD.match(text):
        text = text[lead.end() :]
    if len(re.findall(r"\w+", text)) < FEWEST or text.rstrip("\"'”’)* ").endswith(("?", ":")):
        return None
    if _SELF.match(text) or _OPINION.search(text):
        return None
    return text[0].upper() + text[1:]


def claims(sentences: Sequence[str], before: Sequence[str] = (), context: str = "") -> list[str | None]:
    """The claim of each sentence, or None; ``context`` is the question that the text answers."""
    results: list[str | None] = []
    subject = subject_of(context)
    for sentence in (*before, *sentences):
        claim = statement(sentence)
        if claim is not None:
            claim = _resolved(claim, subject)
            subject = subject_of(claim)
        elif not _QUESTION.search(sentence):
            subject = ""
        results.append(claim)
    return results[len(before) :]


_QUESTION = re.compile(r"\?\s*$")
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


def _resolved(claim: str, subject: str) -> str:
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
