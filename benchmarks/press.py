"""Six press releases against their sources, read by the command ``redargue ground``.

A railway line, a clinical trial, annual results, a museum, a water company, a software company: invented, written for
this benchmark and nothing else. The first three were in view when training rows were written; the author of the other
three knew neither these rows nor the reader. Each has six or seven sources (docx, pdf, html, csv, md, txt), and in
``gold.jsonl`` every sentence of the release: what the sources say of it, and the sentences that decide it, or that it
makes no claim. Five claims of each are false in one point, each in another way.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import documents, markdown, pool
from benchmarks.answers import GOLD, outcome
from redargue.claims import Meaning

RELEASES = ("railway", "trial", "results", "museum", "water", "software")
FOLDER = Path(__file__).with_name("press")
COMMAND = ("ground", "--json", "--quiet", "--no-record", "--offline")
NOT_A_CLAIM = "not_a_claim"
SAME = 0.6  # of the words of two sentences: the gold row of an extracted one
SHOWN = 0.8  # of the words of a gold sentence: a quotation shows it
HEADER = (
    "release",
    "decidable",
    "right",
    "open",
    "wrong",
    "contradictions found",
    "open ones decided",
    "non-claims extracted",
    "gold sentence shown",
)


class Evidence(NamedTuple):
    """A sentence of a source that decides a claim, alone or together with others."""

    file: str
    quote: str


class Gold(NamedTuple):
    """A sentence of a release; ``label`` is SUPPORTS, REFUTES, NEI or not_a_claim."""

    sentence: str
    label: str
    kind: str
    evidence: tuple[Evidence, ...]

    @property
    def is_decidable(self) -> bool:
        return self.label in ("SUPPORTS", "REFUTES")


class Read(NamedTuple):
    """What the command made of a gold sentence; ``meaning`` is None where it extracted no claim."""

    gold: Gold
    meaning: Meaning | None
    shows_gold: bool = False

    @property
    def outcome(self) -> str:
        said = self.meaning or Meaning.NOT_ENOUGH
        return outcome(GOLD[self.gold.label], said) if self.gold.label in GOLD else ""


def main(arguments: list[str]) -> None:
    """Prints a line for each release, its decided errors, and a table."""
    parser = argparse.ArgumentParser(prog="benchmarks press", description=__doc__)
    parser.add_argument("--reader", default="", metavar="NAME", help="an added model")
    parser.add_argument("--min-confidence", default="", metavar="SHARE", help="as the option of redargue ground")
    parser.add_argument("--show", action="store_true", help="a line for every claim")
    parser.add_argument("--releases", nargs="+", default=RELEASES, choices=RELEASES, metavar="NAME")
    given = parser.parse_args(arguments)
    counts = []
    for name in given.releases:
        reads = compared(gold(name), grounded(name, reader=given.reader, min_confidence=given.min_confidence))
        for read in reads:
            if given.show or read.outcome == "wrong":
                print(json.dumps({"release": name} | _shown(read), ensure_ascii=False))
        counts.append({"release": name} | counted(reads))
        print(json.dumps(counts[-1]), flush=True)
    total: Counter[str] = Counter()
    for each in counts:
        total.update({name: value for name, value in each.items() if name != "release"})
    rows = [*counts, {"release": "all"} | total]
    print(markdown.table(HEADER, ([row[name] for name in HEADER] for row in rows)))


def gold(name: str) -> list[Gold]:
    """The sentences of a release, in order."""
    rows = map(json.loads, (FOLDER / name / "gold.jsonl").read_text(encoding="utf-8").splitlines())
    return [
        Gold(
            row["sentence"],
            row["label"],
            row["kind"],
            tuple(Evidence(**each) for each in row.get("evidence", ())),
        )
        for row in rows
    ]


def built(name: str) -> tuple[Path, Path]:
    """A release and the folder of its sources, made from their texts."""
    target = pool.BUILD / "press" / name
    documents.build(FOLDER / name, target)
    (release,) = target.glob("release.*")
    return release.absolute(), (target / "sources").absolute()


def grounded(name: str, **options: str) -> list[dict[str, Any]]:
    """The claims of ``redargue ground --json``, with these options and its default settings."""
    release, sources = built(name)
    command = [sys.executable, "-m", "redargue", *COMMAND, "--answer", str(release), "--context", str(sources)]
    command += [f"--{option.replace('_', '-')}={value}" for option, value in options.items() if value]
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=sources.parent, check=False)
    try:
        claims: list[dict[str, Any]] = json.loads(done.stdout)["claims"]
    except (ValueError, KeyError):
        sys.exit(f"redargue ground ended with {done.returncode} and without a report")
    return claims


def compared(rows: Sequence[Gold], claims: Iterable[Mapping[str, Any]]) -> list[Read]:
    """What was said of each gold sentence; several claims of one sentence count together."""
    by_row: dict[int, list[Mapping[str, Any]]] = {}
    for claim in claims:
        likeness = [_likeness(claim["stated"], row.sentence) for row in rows]
        best = max(range(len(rows)), key=likeness.__getitem__)
        if likeness[best] < SAME:
            sys.exit(f"no gold row for {claim['stated']!r}")
        by_row.setdefault(best, []).append(claim["verdict"])
    reads = []
    for at, row in enumerate(rows):
        verdicts = by_row.get(at, [])
        quotes = [quote for verdict in verdicts for quote in verdict["quotes"]]
        shown = any(_shows(quote, row.evidence) for quote in quotes)
        reads.append(Read(row, _together(verdicts), shown))
    return reads


def _together(verdicts: Sequence[Mapping[str, Any]]) -> Meaning | None:
    """A sentence is false if one of its claims is, and true if all are."""
    said = {Meaning(verdict["meaning"] or Meaning.NOT_ENOUGH) for verdict in verdicts}
    if not said:
        return None
    if Meaning.REFUTED in said:
        return Meaning.REFUTED
    return Meaning.SUPPORTED if said == {Meaning.SUPPORTED} else Meaning.NOT_ENOUGH


def counted(reads: Sequence[Read]) -> dict[str, int]:
    """The figures of the table, without its first column."""
    decidable = [read for read in reads if read.gold.is_decidable]
    of_kind = Counter(read.outcome for read in decidable)
    false = [read for read in decidable if read.gold.label == "REFUTES"]
    undecidable = [read for read in reads if read.gold.label == "NEI"]
    shown = [read for read in decidable if read.shows_gold]
    no_claims = [read for read in reads if read.gold.label == NOT_A_CLAIM]
    return {
        "decidable": len(decidable),
        "right": of_kind["right"],
        "open": of_kind["open"],
        "wrong": of_kind["wrong"],
        "contradictions found": sum(read.outcome == "right" for read in false),
        "contradictions": len(false),
        "open ones decided": sum(read.outcome == "wrong" for read in undecidable),
        "open ones": len(undecidable),
        "decidable not extracted": sum(read.meaning is None for read in decidable),
        "non-claims extracted": sum(read.meaning is not None for read in no_claims),
        "non-claims": len(no_claims),
        "gold sentence shown": len(shown),
        "gold sentence shown, of right": sum(read.outcome == "right" for read in shown),
    }


def _shown(read: Read) -> dict[str, Any]:
    said = "not extracted" if read.meaning is None else str(read.meaning)
    about = {"sentence": read.gold.sentence, "gold": read.gold.label, "kind": read.gold.kind}
    return about | {"said": said, "outcome": read.outcome, "gold sentence shown": read.shows_gold}


def _shows(quote: Mapping[str, Any], evidence: Sequence[Evidence]) -> bool:
    """Whether a quotation has nearly all words of a gold sentence and comes from its file."""
    file = Path((quote["source"] or {}).get("document", "")).name
    words = _words(quote["text"])
    for each in evidence:
        wanted = _words(each.quote)
        if each.file == file and (words & wanted).total() >= SHOWN * wanted.total():
            return True
    return False


def _likeness(one: str, other: str) -> float:
    """Dice's coefficient of the words, in [0, 1]; 1 where one is a part of the other."""
    first, second = _words(one), _words(other)
    if " ".join(one.split()) in " ".join(other.split()):
        return 1.0
    return 2 * (first & second).total() / max(1, first.total() + second.total())


def _words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))
