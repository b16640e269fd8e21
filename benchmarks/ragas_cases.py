"""Cases on which redargue's scores are held against ragas: invented texts, the replies of a mind, vectors of texts."""

from __future__ import annotations

import random
from dataclasses import dataclass

Vector = tuple[float, ...]

SUBJECTS = ("The lighthouse of Old Brannick", "Mayor Ilse Tamm", "The Veria coal line", "The glass organ of Durre")
DEEDS = ("was rebuilt after the flood", "won the long vote", "closed for eleven years", "was sold to the harbour guild")
TIMES = ("in 1904", "before the war", "on a Tuesday", "within one summer")


@dataclass(frozen=True, kw_only=True)
class Case:
    """What both sides are given, and what the mind and the embedder reply to either.

    Attributes:
        name: says what is particular about it.
        question: the claim.
        answer: the whole answer.
        contexts: its documents' texts.
        statements: that the mind finds in the answer.
        verdicts: statement and 0 or 1, as the mind returns them: perhaps fewer or more than there are statements.
        questions: the three that the mind writes for the answer, each with its noncommittal flag.
        vectors: the embedder's, by text.
    """

    name: str
    question: str
    answer: str
    contexts: tuple[str, ...]
    statements: tuple[str, ...]
    verdicts: tuple[tuple[str, int], ...]
    questions: tuple[tuple[str, int], ...]
    vectors: dict[str, Vector]


def every(seed: int, generated: int) -> list[Case]:
    """The cases worked by hand, then ``generated`` ones by chance."""
    rng = random.Random(seed)
    return [*by_hand(rng), *(by_chance(rng, number) for number in range(generated))]


def by_chance(rng: random.Random, number: int) -> Case:
    """One case: any number of statements, verdicts and flags, vectors of any length and dimension."""
    statements = tuple(f"{_sentence(rng)} ({i})" for i in range(rng.choice((0, 1, 2, 3, 5, 8, 13))))
    returned = max(0, len(statements) + rng.choice((0, 0, 0, -1, -2, 1, 2)))
    asked = [*statements, *(f"{_sentence(rng)} (added)" for _ in range(2))]
    noncommittal = rng.sample((1, 1, 1, 0, 0, 0), 3) if number % 2 else (0, 0, 0)
    written = [f"Is it so that {_sentence(rng)}? ({i})" for i in range(3)]
    if number % 7 == 0:
        written[rng.randrange(3)] = ""
    question = f"{_sentence(rng)} (claim {number})"
    # Near the claim's vector or anywhere: small and large cosines, negative ones among them.
    claim = _vector(rng, rng.choice((2, 3, 8, 64, 384)), unit=number % 3 == 0)
    near = rng.choice((0.0, 0.5, 2.0, 20.0))
    vectors = {question: claim}
    for text in written:
        drawn = _vector(rng, len(claim), unit=number % 3 == 0)
        vectors[text] = tuple(near * a + b for a, b in zip(claim, drawn, strict=True))
    return Case(
        name=f"by chance {number}",
        question=question,
        answer="\n".join((_sentence(rng), rng.choice(("Label: SUPPORTS", "Label: REFUTES", "I do not know.")))),
        contexts=tuple(_sentence(rng) for _ in range(rng.randrange(5))),
        statements=statements,
        verdicts=tuple((asked[i], rng.randrange(2)) for i in range(min(returned, len(asked)))),
        questions=tuple(zip(written, noncommittal, strict=True)),
        vectors=vectors,
    )


def by_hand(rng: random.Random) -> list[Case]:
    """Counts, flags, empty replies and vectors at their edges."""
    cases = [
        _faithful("two of three borne out", 3, (1, 1, 0)),
        _faithful("seven of ten, the paper's threshold", 10, (1,) * 7 + (0,) * 3),
        _faithful("none borne out", 4, (0, 0, 0, 0)),
        _faithful("one statement", 1, (1,)),
        _faithful("no statement", 0, ()),
        _faithful("no statement, though verdicts would come", 0, (1, 0)),
        _faithful("no verdict", 3, ()),
        _faithful("fewer verdicts than statements", 3, (1, 1)),
        _faithful("more verdicts than statements", 2, (1, 0, 0, 1, 1)),
        _faithful("ninety-seven statements", 97, tuple(rng.randrange(2) for _ in range(97))),
        _faithful("no context", 2, (0, 1), contexts=()),
        _faithful("an empty context", 2, (0, 1), contexts=("", "")),
        _faithful("contexts of several lines", 2, (1, 0), contexts=("One.\nTwo.\n", "\n\nThree.\tFour.")),
        _faithful("quotes, a backslash, other letters", 2, (1, 0), contexts=('He said "no" \\ «nein» — 否 🜁',)),
    ]
    for flags in range(8):
        bits = tuple(flags >> i & 1 for i in range(3))
        cases.append(_relevant(f"noncommittal {bits}", ("a?", "b?", "c?"), bits, ((1, 2), (2, 1), (3, -1)), (1, 1)))
    three = ((0.9, 0.1), (0.85, 0.3), (0.95, -0.2))
    spread = ((1, 0), (-1, 0), (0, 1))
    cases += [
        _relevant("one question empty", ("a?", "", "c?"), (0, 0, 0), three, (1, 0)),
        _relevant("two questions empty", ("", "b?", ""), (0, 0, 0), (three[0], three[1], three[0]), (1, 0)),
        _relevant("one question empty and noncommittal", ("a?", "", "c?"), (0, 1, 0), three, (1, 0)),
        _relevant("every question empty", ("", "", ""), (0, 0, 0), (three[0],) * 3, (1, 0)),
        _relevant("every question empty and noncommittal", ("", "", ""), (1, 1, 1), (three[0],) * 3, (1, 0)),
        _relevant("every question blank", (" ", "\n", "\t "), (0, 0, 0), three, (1, 0)),
        _relevant("every question blank, one noncommittal", (" ", "", ""), (1, 0, 0), (three[0],) * 3, (1, 0)),
        _relevant("the same question thrice", ("a?", "a?", "a?"), (0, 0, 0), (three[1],) * 3, (3, 4)),
        _relevant("cosines of 1, -1 and 0", ("a?", "b?", "c?"), (0, 0, 0), spread, (5, 0)),
        _relevant("all turned away", ("a?", "b?", "c?"), (0, 0, 0), ((-1, -1), (-2, -1), (-1, -9)), (1, 1)),
        _relevant("all turned away, one noncommittal", ("a?", "b?", "c?"), (0, 1, 0), ((-1, 0),) * 3, (1, 1)),
        _relevant("cosines of 0.8, the paper's threshold", ("a?", "b?", "c?"), (0, 0, 0), ((4, 3),) * 3, (1, 0)),
        _relevant(
            "very long and very short vectors",
            ("a?", "b?", "c?"),
            (0, 0, 0),
            ((1e30, 1), (1e-30, 0), (3, 4)),
            (1e20, 1e19),
        ),
        _relevant("the claim itself", ("It rained.",) * 3, (0, 0, 0), ((0.1, 0.7),) * 3, (0.1, 0.7)),
    ]
    return cases


def _faithful(name: str, count: int, verdicts: tuple[int, ...], contexts: tuple[str, ...] = ("One.", "Two.")) -> Case:
    """A case about faithfulness; its relevance is 0.8 by three like vectors."""
    statements = tuple(f'Statement {i} of "{name}".' for i in range(count))
    asked = [*statements, *(f"Added {i}." for i in range(len(verdicts)))]
    return Case(
        name=name,
        question="It rained.",
        answer=f'It rained {name}: "so", they said.\nLabel: SUPPORTS',
        contexts=contexts,
        statements=statements,
        verdicts=tuple(zip(asked, verdicts, strict=False)),
        questions=(("Did it rain?", 0),) * 3,
        vectors={"It rained.": (1.0, 0.0), "Did it rain?": (0.8, 0.6)},
    )


def _relevant(
    name: str, texts: tuple[str, ...], flags: tuple[int, ...], vectors: tuple[Vector, ...], claim: Vector
) -> Case:
    """A case about relevance; its faithfulness is one half."""
    return Case(
        name=name,
        question="It rained.",
        answer=f"{name}.",
        contexts=("It rained on Monday.",),
        statements=("It rained.", "It snowed."),
        verdicts=(("It rained.", 1), ("It snowed.", 0)),
        questions=tuple(zip(texts, flags, strict=True)),
        vectors={**dict(zip(texts, vectors, strict=True)), "It rained.": claim},
    )


def _sentence(rng: random.Random) -> str:
    return f"{rng.choice(SUBJECTS)} {rng.choice(DEEDS)} {rng.choice(TIMES)}"


def _vector(rng: random.Random, size: int, *, unit: bool) -> Vector:
    drawn = [rng.gauss(0, 1) for _ in range(size)]
    scale = 1 / sum(x * x for x in drawn) ** 0.5 if unit else 10 ** rng.uniform(-3, 3)
    return tuple(scale * x for x in drawn)
