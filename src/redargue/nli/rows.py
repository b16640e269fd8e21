"""Values and holders in two lists ("A and B grew by 3 % and 5 %, respectively") and in the rows of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from redargue.nli.alignment import Parsed, parsed, same_things
from redargue.nli.facts import Fact
from redargue.nli.grammar import stem
from redargue.nli.holders import Token, tokens_of
from redargue.nli.quantities import Quantity, quantities, relation

# "A and B grew by 3 % and 5 %, respectively".


def respective(text: Parsed, values: Sequence[Quantity]) -> tuple[Fact, ...]:
    """The facts of a list of values and a list of holders; none if the two cannot be paired."""
    tokens = [token for token in tokens_of(text) if not token.key.startswith("respectiv")]
    at = text.text.index("respectively")
    count = len(values)
    spans = {(value.start, value.end) for value in values}
    if not 1 < count < 5 or any(not _only_joins(text.text[a.end : b.start]) for a, b in pairwise(values)):
        return ()
    first, last = values[0].start, values[-1].end
    for leads, low, high in ((True, 0, first), (False, last, at)):
        held = [token for token in tokens if low <= token.start < high and (token.start, token.end) not in spans]
        if holders := _listed(text.text, held, count):
            rest = frozenset(token.key for token in tokens if not any(token in run for run in holders))
            facts = (
                Fact(value, run if leads else (), () if leads else run, shared=rest, end=len(text.text))
                for value, run in zip(values, holders, strict=True)
            )
            return tuple(facts)
    return ()


def _only_joins(text: str) -> bool:
    return re.fullmatch(r"\W*(?:and|or)?\W*(?:by |to |in |at |for |of )?", text) is not None


def _listed(text: str, tokens: Sequence[Token], count: int) -> list[tuple[Token, ...]]:
    """The first ``count`` runs of tokens that are joined by commas and "and"."""
    runs: list[list[Token]] = []
    for token in tokens:
        if runs and re.fullmatch(r"\s?", text[runs[-1][-1].end : token.start]) and _one_name(runs[-1][-1], token):
            runs[-1].append(token)
        else:
            runs.append([token])
    for place in range(len(runs) - count + 1):
        window = runs[place : place + count]
        if all(_JOINT.fullmatch(text[a[-1].end : b[0].start]) for a, b in pairwise(window)):
            return [tuple(run) for run in window]
    return []


_JOINT = re.compile(r",?\s(?:and|or)\s(?:the |in |on |of |for )*|,\s(?:the |in |on |of |for )*")


def _one_name(one: Token, other: Token) -> bool:
    return other.sort == one.sort == "name" or other.sort == "amount"


# Tables: a row's first cell and a column's head name a cell's holder.


def rows_of(text: str) -> list[list[str]]:
    """The cells of a table's rows, the head first; empty if the text is not a table."""
    lines = [line.strip().strip("|") for line in text.split("\n") if line.count("|") > 0]
    rows = [[cell.strip() for cell in line.split("|")] for line in lines if re.search(r"\w", line)]
    return rows if len({len(row) for row in rows}) == 1 and rows and len(rows[0]) > 1 else []


_LARGEST = 20_000  # characters of a table that is compared
_NAMED_CELLS = re.compile(r"[^:;|\n]{1,60}: [^;\n]+(?:; [^:;|\n]{1,60}: [^;\n]+)+")


def tables_in(sentences: Sequence[str]) -> Iterator[tuple[str, range]]:
    """Tables whose rows are sentences with named cells ("Pump: A20; Power: 310 W."), and the places of their rows."""
    names: list[str] = []
    rows: list[str] = []
    for place, sentence in enumerate([*sentences, ""]):
        plain = sentence.strip().removesuffix(".")
        cells_of_row = plain.split("; ") if _NAMED_CELLS.fullmatch(plain) else []
        pairs = [cell.partition(": ") for cell in cells_of_row]
        found = [name for name, _, _ in pairs]
        if found != names:
            if len(rows) > 1 and sum(map(len, rows)) <= _LARGEST:
                yield "\n".join([" | ".join(names), *rows]), range(place - len(rows), place)
            names, rows = found, []
        if pairs:
            rows.append(" | ".join(cell.replace("|", "/") for _, _, cell in pairs))


_CELL_WITH_UNIT = re.compile(r"(?<![^\s;])([^:;|\n()]{1,60}) \(([^()\n]{1,40})\): (\d(?:[\d,. ]{,30}\d)?)(?=;|\.?\Z)")


def with_units(row: str) -> str:
    """A row with the unit of a column behind its figure: "Length (m): 8." becomes "Length: 8 m."."""
    return _CELL_WITH_UNIT.sub(lambda cell: f"{cell[1]}: {cell[3]} {cell[2]}", row)


_HEADS_UNIT = re.compile(r"\(([^()]+)\)\s*\Z")


def cells(rows: Sequence[Sequence[str]], kind: Quantity) -> Iterator[Fact]:
    head, *body = rows
    for row in body:
        label = tokens_of(parsed(row[0]))
        for name, cell in zip(head[1:], row[1:], strict=True):
            unit = _HEADS_UNIT.search(name)
            given = quantities(f"{cell} {unit[1]}" if unit else cell) or quantities(cell)
            column = tokens_of(parsed(_HEADS_UNIT.sub("", name).lower()))
            for value in given:
                if relation(kind, value) and (same_things(kind, value) or stem(name) in kind.nouns):
                    yield Fact(value, label, column)
