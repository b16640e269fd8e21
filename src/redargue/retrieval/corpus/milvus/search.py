"""Searches a Milvus store; Milvus' rankings are fused and shown as in :mod:`redargue.retrieval.corpus.sqlite`.

Milvus also ranks chunks that an interrupted write left behind; they are skipped, because no document's row names them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import partial

from redargue.evidence import PAGE_BREAK
from redargue.nli.cache import Floats
from redargue.retrieval.corpus.base import AGAIN, DEPTH, EXCERPT, MEANING, WORDS, Corpus, Hit, Hits
from redargue.retrieval.corpus.milvus.client import Connection, Row
from redargue.retrieval.corpus.milvus.rows import PIECE, About, chunk_keys, text_key
from redargue.retrieval.corpus.ranking import Span, best_excerpt, fuse, spread
from redargue.retrieval.corpus.words import query_terms, word_scores

MAX_DEPTH = 8_000  # rows of one ranking: twice as many are requested, and Milvus returns at most 16,384

REMEMBERED = 1_000  # documents whose page breaks are kept

_CHUNK = ("order", "start", "text")


class MilvusReader(Corpus):
    """The searches of a store in Milvus; ``_chunks`` and ``_texts`` are the names of its collections."""

    _link: Connection
    _chunks: str
    _texts: str
    _breaks: dict[tuple[str, str], tuple[int, ...]]  # the places of page breaks by document and version

    def _abouts(self, keys: Iterable[str]) -> dict[str, About]:
        rows = self._link.get(self._texts, [text_key(key, "", 0) for key in dict.fromkeys(keys)], ["about"])
        return {key[2:]: About.model_validate_json(row["about"]) for key, row in rows.items()}

    def _all_abouts(self) -> list[About]:
        rows = self._link.rows(self._texts, ["about"])
        abouts = [About.model_validate_json(row["about"]) for row in rows if row["key"].startswith("d.")]
        return sorted(abouts, key=lambda about: (about.order, about.id))

    def hybrid_hits(self, query: str, vector: Floats, k: int) -> Hits:
        depth = min(max(DEPTH, 4 * k), MAX_DEPTH)
        near = self._ranked(self._chunks, "vector", vector.tolist(), depth)
        rows = {row["key"]: row for row, _ in near}
        by_words = self._by_words(self._chunks, query, depth)
        rows |= self._link.get(self._chunks, [key for key, _ in by_words if key not in rows], _CHUNK)
        keys = sorted(rows, key=lambda key: (rows[key]["order"], key))  # insertion order
        numbers = {key: number for number, key in enumerate(keys)}
        ranked = fuse(
            ([numbers[row["key"]] for row, _ in near], MEANING),
            ([numbers[key] for key, _ in by_words if key in rows], WORDS),
        )
        owners = {key.partition(".")[0]: number for number, key in enumerate(keys)}
        documents = {number: owners[key.partition(".")[0]] for key, number in numbers.items()}
        best = [(rows[keys[number]], score) for number, score in spread(ranked, documents, AGAIN)]
        for first in range(0, len(best), 4 * k):
            batch = best[first : first + 4 * k]
            abouts = self._abouts(row["key"].partition(".")[0] for row, _ in batch)
            for row, score in batch:
                key, version, _ = row["key"].split(".")
                if key in abouts and abouts[key].version.name == version:  # not a chunk of replaced content
                    span = row["start"], row["start"] + len(row["text"])
                    yield self._hit(key, abouts[key], span, score)

    def keyword_hits(self, query: str, k: int) -> Hits:
        best: dict[str, tuple[str, float]] = {}  # the best piece of each document
        for key, score in self._by_words(self._texts, query, min(max(DEPTH, 4 * k), MAX_DEPTH)):
            if "." in key:  # not the store's state
                best.setdefault(key.split(".")[1], (key, score))
        for key, (piece, score) in best.items():
            about = self._abouts([key]).get(key)
            if about and (piece.startswith("d.") or piece.split(".")[2] == about.version.name):
                yield self._hit(key, about, self._excerpt(key, about, query), score)

    def _hit(self, key: str, about: About, span: Span, score: float) -> Hit:
        read, page = partial(self._text, key, about), partial(self._page, key, about)
        return Hit(about.source, *span, score, about.chars, read, page)

    def _page(self, key: str, about: About, start: int) -> int:
        """The page at an offset; the places of a document's page breaks are read once."""
        version = key, about.version.name
        if version not in self._breaks:
            text = self._text(key, about, 0, about.chars)
            if len(self._breaks) >= REMEMBERED:
                self._breaks.clear()
            self._breaks[version] = tuple(at for at, char in enumerate(text) if char == PAGE_BREAK)
        breaks = self._breaks[version]
        return 1 + bisect_left(breaks, start) if breaks else 0

    def _excerpt(self, key: str, about: About, query: str) -> Span:
        rows = self._link.get(self._chunks, chunk_keys(key, about.version), ("start", "text"))
        chunks = [(row["start"], row["text"]) for _, row in sorted(rows.items())]
        scores = word_scores([text for _, text in chunks], query)
        return best_excerpt([(start, start + len(text)) for start, text in chunks], scores, EXCERPT)

    def _text(self, key: str, about: About, start: int, end: int) -> str:
        pieces = range(start // PIECE, -(-end // PIECE))
        keys = [text_key(key, about.version.name, piece) for piece in pieces]
        rows = self._link.get(self._texts, keys, ["text"])
        text = "".join(str(rows[key]["text"]) for key in keys)
        return text[start - pieces[0] * PIECE :][: end - start]

    def _ranked(self, name: str, field: str, query: object, depth: int) -> list[tuple[Row, float]]:
        """The best rows and their scores; ties in insertion order.

        Twice as many rows are requested as needed, because Milvus decides which of the last ties it returns.
        """
        fields = _CHUNK if field == "vector" else ("order",)
        hits = [(row, round(score, 6)) for score, row in self._link.search(name, field, query, 2 * depth, fields)]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]["order"], hit[0]["key"]))[:depth]

    def _by_words(self, name: str, query: str, depth: int) -> list[tuple[str, float]]:
        words = query_terms(query)
        hits = self._ranked(name, "bm25", words, depth) if words else []
        return [(row["key"], score) for row, score in hits if score > 0]
