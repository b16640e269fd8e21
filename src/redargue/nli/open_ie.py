"""Open information extraction with regular expressions: subject, verb, and one object per preposition.

Precise enough for the keys of an evidence memory (``python -m benchmarks mermaid`` compares them with a language
model's).
"""

from __future__ import annotations

import re

from redargue.tasks.decompose import Decomposition, Triplet

_MODAL = "can|could|will|would|may|might|shall|should|must|do|does|did"
_AUXILIARY = "am|is|are|was|were|be|been|being|has|have|had"
# Verb forms that neither end in -ed nor follow an auxiliary, except those that are also common nouns.
_VERBS = (
    "won|wins|wrote|writes|written|made|makes|became|becomes|began|begins|led|leads|took|takes|gave|gives|went|goes|"
    "came|comes|held|holds|said|says|sold|sells|built|spent|left|met|ran|runs|saw|sees|sang|sings|grew|grows|knew|"
    "knows|lost|loses|kept|keeps|lies|lay|lived|lives|died|dies|born|stars|plays|contains|includes|involves|causes|"
    "reduces|increases|prevents|inhibits|induces|regulates|promotes|results|consists|belongs|remains|serves|"
    "works|allows|requires|provides|produces|uses|helps|affects|shows|means|refers|appears|occurs|exists|"
    "borders|flows|wears|speaks|owns|costs|weighs|measures|originated|stood|stands|taught|teaches|fell|falls|rose|rises"
)
_BETWEEN = r"(?:\s+(?:not|never|also|only|been|being|be|have|\w+ly))*"
_VERB = re.compile(
    rf"\b(?:(?:{_MODAL})(?:n't)?{_BETWEEN}\s+[a-z]+\b"
    rf"|(?:{_AUXILIARY})(?:n't)?\b{_BETWEEN}(?:\s+(?:\w+(?:ed|en|wn)|{_VERBS})\b)?|(?:{_VERBS})\b|[a-z]{{2,}}ed\b)"
)
_CLAUSE = re.compile(r";\s+|,?\s+(?:but|whereas|while|who|which)\s+|\s+that\s+|,\s+and\s+(?=\w+\s)")
_ASIDE = re.compile(r"\s*\(([^()]+)\)")
_BEFORE_VERB = re.compile(r"(?:\s+(?:\w+ly|also|already|both|all|that))+$")
_PREPOSITION = re.compile(
    r"\s+\b(in|on|at|by|from|to|with|for|during|since|between|into|as|about|over|under|after|before)\b\s+"
)
_PRONOUN = re.compile(r"he|she|it|they|this|that|these|those|which|who", re.IGNORECASE)
_EDGE = " \t\n.,;:!?\"'()[]“”‘’"


def decompose(text: str) -> Decomposition:
    """Triplets of a sentence's clauses; a clause without a subject takes the previous one."""
    triplets: list[Triplet] = []
    subject = ""
    plain = " ".join(text.split())
    for clause in filter(str.strip, _CLAUSE.split(_ASIDE.sub("", plain) or plain)):
        verb = _VERB.search(clause)
        before = _BEFORE_VERB.sub("", clause[: verb.start()].strip(_EDGE)) if verb else ""
        subject = before or subject
        if verb is None or not subject:
            triplets.append(_triplet(subject or clause, "concerns" if subject else "is", clause if subject else ""))
            continue
        triplets += _parts(subject, verb.group(), clause[verb.end() :])
    triplets += [_triplet(triplets[0].subject, "is", aside) for aside in _ASIDE.findall(plain) if triplets]
    names = tuple(dict.fromkeys(triplet.subject for triplet in triplets if triplet.subject))
    return Decomposition(triplets=tuple(dict.fromkeys(triplets)), topics=names[:2])


def statements(text: str) -> tuple[str, ...]:
    """A sentence's clauses, each with a subject and a verb; the sentence itself if one of them would lack either.

    A clause whose subject is missing or a pronoun takes the subject of the clause before: "X won Y, but it lost Z"
    gives "X won Y" and "X lost Z".
    """
    plain = " ".join(text.split())
    clauses: list[str] = []
    subject = ""
    for clause in filter(str.strip, _CLAUSE.split(plain)):
        verb = _VERB.search(clause)
        if verb is None or not clause[verb.end() :].strip(_EDGE):
            return (plain,)
        own = clause[: verb.start()].strip(_EDGE)
        if own and not _PRONOUN.fullmatch(own):
            subject = own
        if not subject:
            return (plain,)
        clauses.append(f"{subject} {clause[verb.start() :].strip(_EDGE)}.")
    return tuple(dict.fromkeys(clauses)) if len(clauses) > 1 else (plain,)


def _parts(subject: str, verb: str, rest: str) -> list[Triplet]:
    pieces = _PREPOSITION.split(f" {rest.strip()} ")
    triplets = [_triplet(subject, verb, pieces[0])] if pieces[0].strip(_EDGE) else []
    for preposition, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        if piece.strip(_EDGE):
            triplets.append(_triplet(subject, f"{verb} {preposition}", piece))
    return triplets or [_triplet(subject, verb, "")]


def _triplet(subject: str, relation: str, rest: str) -> Triplet:
    return Triplet(subject=subject.strip(_EDGE), relation=" ".join(relation.split()), object=rest.strip(_EDGE))
