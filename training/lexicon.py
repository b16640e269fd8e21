"""Extracts antonyms and irregular forms of English from WordNet 3.0 (on Debian the package wordnet-base).

``python training/lexicon.py /usr/share/wordnet src/redargue/nli/words`` writes two files of lines "word word":
``irregular.txt`` (an inflected form and its lemma, unless the rules of ``grammar.stem`` find it) and ``antonyms.txt``
(each pair of stems once, in alphabetical order).
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from redargue.nli.grammar import regular_stem, stem

PARTS = ("adj", "adv", "noun", "verb")
WORD = re.compile(r"[a-z]{2,}")


class Synset:
    """A line of a data file: its words and its antonym pointers (own word number, offset, other word number)."""

    def __init__(self, line: str) -> None:
        fields = line.split(" | ")[0].split()
        count = int(fields[3], 16)
        self.words = [word.split("(")[0] for word in fields[4 : 4 + 2 * count : 2]]
        pointers = fields[5 + 2 * count :]
        self.antonyms = [
            (int(numbers[:2], 16), offset, int(numbers[2:], 16))
            for symbol, offset, _, numbers in zip(
                *(pointers[i : 4 * int(fields[4 + 2 * count]) : 4] for i in range(4)), strict=True
            )
            if symbol == "!"
        ]


def antonyms(folder: Path) -> Iterator[tuple[str, str]]:
    for part in PARTS:
        lines = (folder / f"data.{part}").read_text(encoding="utf-8").splitlines()
        synsets = {line[:8]: Synset(line) for line in lines if not line.startswith(" ")}
        for synset in synsets.values():
            for number, offset, other in synset.antonyms:
                one, two = sorted((synset.words[number - 1], synsets[offset].words[other - 1]))
                if WORD.fullmatch(one) and WORD.fullmatch(two):
                    yield one, two


def tagged(folder: Path) -> set[str]:
    """The lemmas that occur in WordNet's tagged texts; the others are rare."""
    keys = (line.split()[0] for line in (folder / "cntlist.rev").read_text(encoding="utf-8").splitlines())
    return {key.split("%")[0] for key in keys}


def irregular(folder: Path) -> Iterator[tuple[str, str]]:
    frequent = tagged(folder)
    for part in ("noun", "verb"):
        for line in (folder / f"{part}.exc").read_text(encoding="utf-8").splitlines():
            form, lemma, *others = line.split()
            regular = regular_stem(form) == regular_stem(lemma)
            if not others and lemma in frequent and WORD.fullmatch(form) and WORD.fullmatch(lemma) and not regular:
                yield form, lemma


def of_distinct_stems(pairs: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    seen: set[frozenset[str]] = set()
    for pair in sorted(pairs):
        stems = frozenset(map(stem, pair))
        if len(stems) == 2 and stems not in seen:
            yield pair
        seen.add(stems)


def write(path: Path, pairs: Iterator[tuple[str, str]]) -> None:
    lines = sorted({" ".join(pair) for pair in pairs})
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{path}: {len(lines)} lines")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wordnet", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    write(arguments.out / "irregular.txt", irregular(arguments.wordnet))
    write(arguments.out / "antonyms.txt", of_distinct_stems(antonyms(arguments.wordnet)))
