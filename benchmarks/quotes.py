"""How often a true quotation is rejected and a false one accepted, with the tests' generators."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from redargue.evidence import Passage
from redargue.quotes import find_quote
from support.prose import false_quotation, noise, paragraphs, span

COUNTS = {"fabricated": 1000, "negated": 200, "foreign": 200, "stitched": 100}


def main(arguments: list[str]) -> None:
    """Prints wrong acceptances by kind and wrong rejections."""
    rng = random.Random(int(arguments[0]) if arguments else 2026)
    texts = paragraphs(rng, 100)
    passages = {text: (Passage(text=text),) for text in texts}
    rejected = sum(
        not find_quote(noise(rng, span(rng, text)), passages[text]).found for text in texts for _ in range(10)
    )
    accepted = {
        kind: sum(
            find_quote(false_quotation(kind, rng, text, texts), passages[text]).found
            for text in (texts[i % len(texts)] for i in range(count))
        )
        for kind, count in COUNTS.items()
    }
    print(json.dumps({"true rejected of 1000": rejected, "false accepted": accepted, "of": COUNTS}))
