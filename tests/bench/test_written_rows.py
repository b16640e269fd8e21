"""The documents that the large reader is trained on, and the calibration reads."""

from __future__ import annotations

from collections import Counter

from benchmarks.reading import LETTERS, written_documents


def test_every_claim_names_the_sentences_that_decide_it_and_an_open_one_none() -> None:
    documents = written_documents()
    assert len(documents) > 1_000
    for document in documents:
        for label, kind, places, claim in document["claims"]:
            assert label in LETTERS, claim
            assert kind.isalpha(), claim
            assert bool(places) == (label != "N"), claim
            assert all(0 <= place < len(document["sentences"]) for place in places), claim


def test_no_claim_is_written_twice() -> None:
    counts = Counter(claim for document in written_documents() for *_, claim in document["claims"])
    assert max(counts.values()) == 1
