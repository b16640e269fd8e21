"""Two clauses with the same verb, or with it left out in the second: "Smith was elected chair and Jones treasurer".

A claim that puts the one's name beside what the sentence says of the other is crossed, as a value would be
(:mod:`redargue.nli.binding`). Only clauses that begin with a name are compared, and only claims that say nothing else.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from redargue.caveats import Difference
from redargue.nli.alignment import Parsed
from redargue.nli.facts import cuts_of
from redargue.nli.holders import Token, tokens_of

_FEWEST = 2  # letters of a name


class _Clause(NamedTuple):
    """A clause's keys: of the name that it begins with, of its verbs, and of the rest; and where it is."""

    name: frozenset[str]
    verbs: frozenset[str]
    rest: frozenset[str]
    start: int
    end: int


def crossed_clauses(claim: Parsed, sentence: Parsed) -> Difference | None:
    """The claim and the clause of its name, if the sentence says the claim of another name only."""
    mine, *others = _clauses(claim)
    if others or not mine.rest:
        return None
    for one, other in pairwise(_clauses(sentence)):
        if other.verbs and other.verbs != one.verbs:
            continue
        for own, rival in ((one, other), (other, one)):
            if _is_crossed(mine, own, rival, one.verbs):
                evidence = " ".join(sentence.text[own.start : own.end].split())
                return Difference(kind="crossed", claim=claim.text.strip().rstrip("."), evidence=evidence)
    return None


def _is_crossed(mine: _Clause, own: _Clause, others: _Clause, verbs: frozenset[str]) -> bool:
    """Whether the claim has the name of one clause, and the rest of another with the same verb."""
    names = mine.name <= own.name and not mine.name & others.name and own.name != others.name
    rests = mine.rest <= others.rest and not mine.rest & own.rest and bool(own.rest)
    return names and rests and bool(verbs) and mine.verbs == verbs


@lru_cache(maxsize=1024)
def _clauses(text: Parsed) -> tuple[_Clause, ...]:
    """The parts of a text that begin with a name and say something of it; empty parts end a row of clauses."""
    ends = [*(cut.start for cut in cuts_of(text)), len(text.text)]
    starts = [0, *(cut.end for cut in cuts_of(text))]
    return tuple(_clause(text, start, end) for start, end in zip(starts, ends, strict=True))


def _clause(text: Parsed, start: int, end: int) -> _Clause:
    tokens = [token for token in tokens_of(text) if start <= token.start and token.end <= end]
    name: list[Token] = []
    for token in tokens:
        begins = not name and not text.text[start : token.start].strip()
        if not (begins or (name and token.start - name[-1].end == 1)) or not _names(text, token):
            break
        name.append(token)
    rest = tokens[len(name) :]
    verbs = frozenset(token.key for token in rest if token.verb)
    said = frozenset(token.key for token in rest if not token.verb)
    return _Clause(frozenset(token.key for token in name), verbs, said if name else frozenset(), start, end)


def _names(text: Parsed, token: Token) -> bool:
    return text.text[token.start].isupper() and token.end - token.start >= _FEWEST and not token.placed
