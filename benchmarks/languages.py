"""How often English claims and evidence are taken for another language, and sentences of eleven others for English.

The sentences are ``tests/nli/languages.tsv``, twenty a language. Choose on the even half of the claims, report on the
odd one.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path

from benchmarks import pool
from redargue.nli.language import language_of

LINES = Path(__file__).parents[1] / "tests" / "nli" / "languages.tsv"


def main(arguments: list[str]) -> None:
    """Prints a line of JSON for claims, evidence and other languages; with ``--wrong``, also what is told wrongly."""
    parser = argparse.ArgumentParser(prog="benchmarks languages", description=__doc__)
    parser.add_argument("--half", choices=["even", "odd"], default="even")
    parser.add_argument("--wrong", action="store_true")
    given = parser.parse_args(arguments)
    rows = [row for path in sorted((pool.data() / "dev").glob("*.gz")) for row in pool.rows(path)]
    claims = sorted({row["claim"] for row in rows if pool.is_even(row["claim"]) == (given.half == "even")})
    evidence = sorted({row["evidence"] for row in rows if pool.is_even(row["claim"]) == (given.half == "even")})
    for kind, texts in (("claims", claims), ("evidence", evidence)):
        began = time.process_time()
        wrong = {text: language for text in texts if (language := language_of(text))}
        each = round(1000 * (time.process_time() - began) / len(texts), 2)
        facts = {"half": given.half, kind: len(texts), "not English": len(wrong), "ms each": each}
        print(json.dumps(facts | {"rate": round(len(wrong) / len(texts), 4)}))
        for text, language in wrong.items():
            if given.wrong:
                print(json.dumps({"told": language, "text": text[:200]}))
    lines = [line.split("\t") for line in LINES.read_text(encoding="utf-8").splitlines()]
    found = Counter(code for code, text in lines if language_of(text))
    print(json.dumps({"lines": len(lines), "found": found.total(), "of 20 each": found}))
