"""True quotations from real passages, with the noise that pages, tokenisers and models add to them."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from redargue.evidence import Passage
from redargue.quotes import find_quote
from redargue.text.segment import sentences_of
from support.prose import noise

pytestmark = [pytest.mark.data, pytest.mark.slow]

FILES = (
    "snapshots/factcheckbench.jsonl.gz",
    "snapshots/bingcheck.jsonl.gz",
    "benchmarks/fever/corpus.jsonl.gz",
    "benchmarks/scifact/corpus.jsonl.gz",
)
EACH = 500  # passages of a file
MARKS: tuple[Callable[[random.Random, str], str], ...] = (
    lambda rng, text: text,
    lambda rng, text: text.replace(". ", ".[1] ", 1),
    lambda rng, text: text.replace(", ", "[2], ", 1),
    lambda rng, text: f"• {text}",
    lambda rng, text: text.replace(". ", ".\n- ", 1),
    lambda rng, text: "".join(char + ("\u200f" if rng.random() < 0.05 else "") for char in text),
    lambda rng, text: text.replace(" ", "\ufe0f ", 3),
)


@pytest.fixture(scope="module")
def data() -> Path:
    folder = Path(os.environ.get("REDARGUE_DATA", ""))
    if not os.environ.get("REDARGUE_DATA") or not (folder / "snapshots").is_dir():
        pytest.skip("REDARGUE_DATA names no folder with snapshots: there are no real passages to quote")
    return folder


def passages(path: Path, odd: bool = True) -> Iterator[str]:
    """Distinct texts of a file's passages, of one half."""
    seen = set[str]()
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            texts = [each["text"] for each in row["passages"]] if "passages" in row else [row.get("text", "")]
            if "abstract" in row:
                texts = [" ".join(row["abstract"])]
            for text in texts:
                if text not in seen and int(hashlib.sha1(text.encode()).hexdigest()[:8], 16) % 2 == odd:
                    seen.add(text)
                    yield text


def quotations(rng: random.Random, text: str) -> Iterator[str]:
    """A sentence, two sentences, and a sentence up to one of its commas."""
    sentences = [sentence for sentence in sentences_of(text) if len(sentence.text.split()) >= 4]
    if not sentences:
        return
    first = rng.randrange(len(sentences))
    yield sentences[first].text
    if first + 1 < len(sentences):
        yield text[sentences[first].start : sentences[first + 1].end]
    clause = sentences[first].text.rpartition(", ")[0]
    if len(clause.split()) >= 5:
        yield clause


def rejected(path: Path) -> tuple[int, list[tuple[str, str]]]:
    """How many true quotations were looked up in a file's passages, and those that were not found."""
    rng = random.Random(5)
    tried, lost = 0, []
    for text in islice(passages(path), EACH):
        for quote in quotations(rng, text):
            shown = rng.choice(MARKS)(rng, text)
            noisy = noise(rng, quote)
            tried += 1
            if not find_quote(noisy, (Passage(text=shown),)).found:
                lost.append((noisy, shown))
    return tried, lost


@pytest.mark.parametrize("file", FILES)
def test_at_most_one_in_a_hundred_true_quotations_is_rejected(data: Path, file: str) -> None:
    tried, lost = rejected(data / file)
    assert tried > EACH
    assert len(lost) <= tried / 100, lost[:5]


if __name__ == "__main__":
    for name in FILES:
        total, missed = rejected(Path(os.environ["REDARGUE_DATA"]) / name)
        sys.stdout.write(f"{name}: {len(missed)} of {total} true quotations rejected\n")
