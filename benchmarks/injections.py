"""How many texts that address a model are recognised, of texts that the patterns were not written for.

``injection_texts.jsonl`` holds sixty, ten in each of six languages, written and committed before the patterns; no
pattern was changed for one of them. They are by the same hand as the patterns, so that the rate is higher than a
stranger's texts have. ``--texts`` counts those of another file, as JSON lines with ``text``. Then the passages of the
starter corpus, and of a folder of data (``REDARGUE_DATA``), are read: each that is flagged is a false alarm unless it
really addresses a model.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path

from benchmarks import passages
from redargue.injections import injection_in


def main(arguments: list[str]) -> None:
    """Prints the recognised by language and by kind, and the flagged of real passages."""
    parser = argparse.ArgumentParser(prog="benchmarks injections", description=__doc__)
    parser.add_argument("--limit", type=int, default=6_000, help="passages of a file")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="flagged passages of a file")
    own = Path(__file__).with_name("injection_texts.jsonl")
    parser.add_argument("--texts", type=Path, default=own, help="JSON lines with text, language and kind")
    given = parser.parse_args(arguments)
    lines = given.texts.read_text(encoding="utf-8").splitlines()
    rows = [{"language": "", "kind": ""} | json.loads(line) for line in lines]
    for field in ("language", "kind"):
        every, found = (
            Counter(row[field] for row in rows),
            Counter(row[field] for row in rows if injection_in(row["text"])),
        )
        print(json.dumps({"by": field} | {name: f"{found[name]} of {count}" for name, count in every.items()}))
    print(json.dumps({"unseen": len(rows), "recognised": sum(bool(injection_in(row["text"])) for row in rows)}))
    total: Counter[str] = Counter()
    for file, texts in passages.of_files():
        flagged, read, began = [], 0, time.process_time()
        for text in texts:
            read += 1
            if kind := injection_in(text):
                flagged.append((kind, text))
            if read == given.limit:
                break
        seconds = time.process_time() - began
        counts = {"passages": read, "flagged": len(flagged)}
        print(json.dumps({"file": file} | counts | {"ms each": round(1e3 * seconds / max(1, read), 2)}), flush=True)
        total.update(counts)
        for kind, text in flagged[: given.show]:
            print(f"  {kind}: {text!r}")
    print(json.dumps({"file": "all"} | total))
