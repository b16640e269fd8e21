"""Texts that pair holders with their values, and claims that pair them rightly and wrongly.

``crossed.jsonl`` has 104 texts by three authors, of ten forms (coordination, respectively, tables,
lists, brackets, subordinate clauses, contrasts, roles, dates, others), each with a true claim and
one that gives a holder another's value in the same words. No model was trained on them. To support
a crossed claim is the gravest error.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import markdown
from benchmarks.answers import answered
from redargue.claims import Meaning
from redargue.evidence import Passage

TEXTS = Path(__file__).with_name("crossed.jsonl")
KINDS = ("true", "crossed")
SAID = {
    Meaning.SUPPORTED: "supported",
    Meaning.NOT_ENOUGH: "open",
    Meaning.REFUTED: "refuted",
}


class Pairing(NamedTuple):
    """A text and a claim about it, which is ``true`` or ``crossed``."""

    form: str
    text: str
    kind: str
    claim: str


def main(arguments: list[str]) -> None:
    """Prints the claims on the wrong side, counts by form, and a table."""
    parser = argparse.ArgumentParser(prog="benchmarks crossed", description=__doc__)
    parser.add_argument("--reader", default="", metavar="NAME", help="an added model")
    given = parser.parse_args(arguments)
    claims = pairings()
    asked = [(each.claim, (Passage(text=each.text),)) for each in claims]
    counts: Counter[tuple[str, str, str]] = Counter()
    for pairing, answer in zip(claims, answered(asked, reader=given.reader), strict=True):
        said = SAID[answer.meaning]
        for form in ("all", pairing.form):
            counts[form, pairing.kind, said] += 1
        if (pairing.kind, said) in (("true", "refuted"), ("crossed", "supported")):
            shown = pairing._asdict() | {"said": said, "confidence": round(answer.confidence, 3)}
            print(json.dumps(shown, ensure_ascii=False), flush=True)
    forms = ["all", *dict.fromkeys(each.form for each in claims)]
    for form in forms:
        print(json.dumps({"form": form} | {kind: _said(counts, form, kind) for kind in KINDS}))
    print(_table(counts, forms))


def pairings(path: Path = TEXTS) -> list[Pairing]:
    """Both claims of every text."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found += [Pairing(row["form"], row["text"], kind, row[kind]) for kind in KINDS]
    return found


def _said(counts: Counter[tuple[str, str, str]], form: str, kind: str) -> dict[str, int]:
    return {said: counts[form, kind, said] for said in SAID.values()}


def _table(counts: Counter[tuple[str, str, str]], forms: Sequence[str]) -> str:
    header = ["form", *(f"{kind}: {said}" for kind in KINDS for said in SAID.values())]
    rows = []
    for form in forms:
        cells = [counts[form, kind, said] for kind in KINDS for said in SAID.values()]
        rows.append([form, *cells])
    return markdown.table(header, rows)
