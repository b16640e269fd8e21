"""The sentences of documents nearest to a claim: what the claims of a summary are read against (DPD; Sun et al.)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from redargue.corpus.base import Encoder
from redargue.evidence import Passage
from redargue.texts.text import Sentence, sentences_of

NEAREST = 10  # sentences a claim


def nearest_sentences(
    claims: Sequence[str], documents: Sequence[Passage], encoder: Encoder, *, most: int = NEAREST
) -> list[tuple[Passage, ...]]:
    """For each claim the sentences nearest to it, in the documents' order; those side by side are one passage.

    Args:
        claims: what is checked.
        documents: whole documents.
        encoder: of sentences; the papers name none (``D14``).
        most: sentences a claim.
    """
    every = [(document, each) for document in documents for each in sentences_of(document.text)]
    if not every or not claims:
        return [() for _ in claims]
    vectors = encoder.encode([sentence.text for _, sentence in every])
    nearness = np.round(encoder.encode(claims) @ vectors.T, 6)
    kept = np.sort(np.argsort(-nearness, axis=1, kind="stable")[:, :most], axis=1)  # of equals, the first
    return [_passages(every, row.tolist()) for row in kept]


def _passages(every: Sequence[tuple[Passage, Sentence]], kept: Sequence[int]) -> tuple[Passage, ...]:
    """Verbatim spans of the documents that hold the sentences at these places, and no others."""
    spans: list[tuple[Passage, int, int]] = []
    for last, place in zip((-2, *kept), kept, strict=False):
        document, sentence = every[place]
        if spans and place == last + 1 and document is spans[-1][0]:
            spans[-1] = (document, spans[-1][1], sentence.end)
        else:
            spans.append((document, sentence.start, sentence.end))
    return tuple(
        document.model_copy(update={"text": document.text[start:end], "start": start, "rank": rank})
        for rank, (document, start, end) in enumerate(spans, 1)
    )
