"""How many quotations that the text beside them calls false are found all the same, and how many true ones are lost.

The frames and their innocent neighbours are in ``frames.jsonl``, written before the patterns by the same hand; half of
them (``design``) were looked at while the patterns were written, half (``aside``) only counted. With a folder of data,
the sentences of real passages are read, too: what is flagged there is shown.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from benchmarks import passages
from redargue.evidence import Passage
from redargue.framing import REACH, framed
from redargue.quotes import find_quote
from redargue.text.segment import sentences_of

SHORTEST = 4  # words of a sentence


def main(arguments: list[str]) -> None:
    """Prints counts by half, and those of real passages."""
    parser = argparse.ArgumentParser(prog="benchmarks frames", description=__doc__)
    parser.add_argument("--limit", type=int, default=12_000, help="sentences of a file of real passages")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="flagged sentences of real passages")
    given = parser.parse_args(arguments)
    counts: Counter[tuple[str, bool, bool]] = Counter()
    for line in Path(__file__).with_name("frames.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        passage = Passage(text=f"{row['before']}{row['quote']}{row['after']}")
        counts[row["half"], row["framed"], find_quote(row["quote"], (passage,)).found] += 1
    for half in ("design", "aside"):
        framed_counts, true_counts = ({f: counts[half, kind, f] for f in (True, False)} for kind in (True, False))
        print(
            json.dumps(
                {
                    "half": half,
                    "frames": sum(framed_counts.values()),
                    "not recognised": framed_counts[True],
                    "innocent": sum(true_counts.values()),
                    "lost": true_counts[False],
                }
            )
        )
    for file, texts in passages.of_files():
        read, flagged = 0, []
        for text in texts:
            for sentence in sentences_of(text[: passages.LONGEST]):
                end = sentence.start + len(sentence.text)
                if len(sentence.text.split()) >= SHORTEST:
                    read += 1
                    if framed(
                        text[max(0, sentence.start - REACH) : sentence.start], sentence.text, text[end : end + REACH]
                    ):
                        flagged.append((sentence.text, text[end : end + 100]))
            if read >= given.limit:
                break
        print(json.dumps({"file": file, "sentences": read, "flagged": len(flagged)}), flush=True)
        for quoted, after in flagged[: given.show]:
            print(f"  {quoted!r} … {after!r}")
