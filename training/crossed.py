"""Texts that give two or three values of one kind, and claims that pair a holder with its own value or another's.

Words of a supported and of a refuted claim are equally often in the text: only their pairing tells them apart.
"""

from __future__ import annotations

import random
import tomllib
from pathlib import Path
from typing import NamedTuple

from contrasts import NEI, REFUTES, SUPPORTS
from data import Pair


class Family(NamedTuple):
    """One kind of fact.

    Attributes:
        holders: what has a value; ``@person``, ``@place``, ``@firm`` and ``@thing`` are invented names.
        values: the values.
        pairs: sentences about two holders (a, b) with their values (x, y).
        single: sentences about one.
        claims: sentences about one, worded differently.
    """

    holders: tuple[str, ...]
    values: tuple[str, ...]
    pairs: tuple[str, ...]
    single: tuple[str, ...]
    claims: tuple[str, ...]


_FACTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_NAMES = {name: tuple(words.split()) for name, words in _FACTS["names"].items()}


def _listed(name: str) -> tuple[str, ...]:
    return (name,) if name.startswith("@") else tuple(_FACTS["lists"][name])


FAMILIES = tuple(
    Family(
        _listed(row["holders"]), _listed(row["values"]), tuple(row["pairs"]), tuple(row["single"]), tuple(row["claims"])
    )
    for row in _FACTS["family"]
)
TITLES = ("", "", "", "Information for visitors", "Overview", "Notes", "Press release", "FAQ", "Fact sheet")


def crossed_pairs(count: int, rng: random.Random) -> list[Pair]:
    """``count`` pairs; about three in eight supported, three refuted and two open."""
    made: list[Pair] = []
    while len(made) < count:
        made += _text_with_claims(rng)
    return made[:count]


def _text_with_claims(rng: random.Random) -> list[Pair]:
    family = rng.choice(FAMILIES)
    a, b, c = _distinct(family.holders, 3, rng)
    x, y, z = rng.sample(family.values, 3)
    sentences = [_filled(rng.choice(family.pairs), a, x, b, y)]
    facts = {a: x, b: y}
    if rng.random() < 0.3:
        sentences.append(_filled(rng.choice(family.single), c, z))
        facts[c] = z
    for other in rng.sample(FAMILIES, rng.choice((0, 0, 1, 2))):
        if other is not family and not set(other.holders) & set(family.holders):
            one, two = _distinct(other.holders, 2, rng)
            first, second = rng.sample(other.values, 2)
            sentences.append(_filled(rng.choice(other.pairs), one, first, two, second))
    rng.shuffle(sentences)
    title = rng.choice(TITLES)
    evidence = (f"{title}. " if title else "") + " ".join(sentences)
    unknown = _distinct(family.holders, 6, rng)
    stranger = next((each for each in unknown if each not in facts), None)
    holder, other = rng.sample(sorted(facts), 2)
    claims = [(holder, facts[holder], SUPPORTS), (holder, facts[other], REFUTES)]
    if rng.random() < 0.5:
        claims += [(other, facts[other], SUPPORTS), (other, facts[holder], REFUTES)]
    if rng.random() < 0.3:
        claims.append((other, next(v for v in rng.sample(family.values, 4) if v not in facts.values()), REFUTES))
    if stranger and rng.random() < 0.8:
        claims.append((stranger, facts[holder], NEI))
    return [Pair(_filled(rng.choice(family.claims), who, what), evidence, label) for who, what, label in claims]


def _distinct(holders: tuple[str, ...], count: int, rng: random.Random) -> list[str]:
    if len(holders) > 1:
        return rng.sample(holders, min(count, len(holders)))
    made: list[str] = []
    while len(made) < count:
        name = _invented(holders[0], rng)
        if name not in made:
            made.append(name)
    return made


def _invented(kind: str, rng: random.Random) -> str:
    start = rng.choice(_NAMES["starts"])
    if kind == "@person":
        return f"{rng.choice(_NAMES['first'])} {rng.choice(_NAMES['last'])}"
    if kind == "@place":
        return start + rng.choice(_NAMES["ends_place"])
    if kind == "@firm":
        end = rng.choice(_NAMES["ends_firm"])
        return f"{start}an {end}" if end[0].isupper() else start + end
    end = rng.choice(_NAMES["ends_thing"])
    return f"{start}o{'' if end[0] == '-' else ' '}{end}"


def _filled(frame: str, a: str, x: str, b: str = "", y: str = "") -> str:
    """The frame with its slots filled; ``x_`` is ``x`` without "at", and a sentence begins with a capital."""
    slots = {"a": a, "b": b, "x": x, "y": y, "A": _capital(a), "B": _capital(b)}
    slots |= {"x_": x.removeprefix("at "), "y_": y.removeprefix("at ")}
    return _capital(frame.format(**slots)).replace("..", ".")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


if __name__ == "__main__":
    for pair in crossed_pairs(12, random.Random(3)):
        print(pair)
