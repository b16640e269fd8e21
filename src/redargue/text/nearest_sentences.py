"""Selects the document sentences most similar to each claim of a summary, as evidence (DPD; Sun et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from redargue.evidence import Passage
from redargue.retrieval.corpus.base import Encoder
from redargue.text.segment import Sentence, sentences_of

NEAREST = 10  # sentences per claim


def nearest_sentences(
    claims: Sequence[str], documents: Sequence[Passage], encoder: Encoder, *, most: int = NEAREST
) -> list[tuple[Passage, ...]]:
    """Returns for each claim the most similar sentences in document order; adjacent sentences form one passage.

    The papers do not name their sentence encoder (``D14``).
    """
    sentences = [(document, sentence) for document in documents for sentence in sentences_of(document.text)]
    if not sentences or not claims:
        return [() for _ in claims]
    vectors = encoder.encode([sentence.text for _, sentence in sentences])
    similarities = np.round(encoder.encode(claims) @ vectors.T, 6)
    nearest = np.sort(np.argsort(-similarities, axis=1, kind="stable")[:, :most], axis=1)  # ties: the first sentence
    return [_passages(sentences, row.tolist()) for row in nearest]


def _passages(sentences: Sequence[tuple[Passage, Sentence]], indices: Sequence[int]) -> tuple[Passage, ...]:
    spans: list[tuple[Passage, int, int]] = []
    for previous, index in zip((-2, *indices), indices, strict=False):
        document, sentence = sentences[index]
        if spans and index == previous + 1 and document is spans[-1][0]:
            spans[-1] = (document, spans[-1][1], sentence.end)
        else:
            spans.append((document, sentence.start, sentence.end))
    return tuple(
        document.model_copy(update={"text": document.text[start:end], "start": start, "rank": rank})
        for rank, (document, start, end) in enumerate(spans, 1)
    )
