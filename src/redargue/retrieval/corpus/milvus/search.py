"""Searching a Milvus store: what Milvus ranks, fused and shown as in :mod:`redargue.retrieval.corpus.sqlite`.

Milvus ranks chunks that an interruption left, too; they are passed over, because no document's row names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from redargue.evidence import Passage
from redargue.nli.cache import Floats
from redargue.retrieval.corpus.milvus.client import Connection, Row
from redargue.retrieval.corpus.milvus.rows import PIECE, About, chunk_keys, text_key
from redargue.retrieval.corpus.ranking import Span, best_excerpt, fuse, spread, uncovered
from redargue.retrieval.corpus.sqlite import AGAIN, DEPTH, EXCERPT, MEANING, WORDS
from redargue.retrieval.corpus.words import query_terms, word_scores

MOST = 8_000  # rows of one ranking: twice as many are asked for, and Milvus gives 16,384 at most

_CHUNK = ("order", "start", "text")


class Search:
    """Reads a store.

    Args:
        link: to Milvus.
        chunks: name of the collection of chunks.
        texts: name of the collection of documents.
    """

    def __init__(self, link: Connection, *, chunks: str, texts: str) -> None:
        self._link, self._chunks, self._texts = link, chunks, texts

    def abouts(self, keys: Iterable[str]) -> dict[str, About]:
        """The descriptions of the documents with these keys, as far as they are there."""
        rows = self._link.get(self._texts, [text_key(key, "", 0) for key in dict.fromkeys(keys)], ["about"])
        return {key[2:]: About.model_validate_json(row["about"]) for key, row in rows.items()}

    def every(self) -> list[About]:
        """All descriptions, in the order in which the documents were stored."""
        rows = self._link.rows(self._texts, ["about"])
        abouts = [About.model_validate_json(row["about"]) for row in rows if row["key"].startswith("d.")]
        return sorted(abouts, key=lambda about: (about.order, about.id))

    def chunks(self, query: str, k: int, vector: Floats) -> tuple[Passage, ...]:
        """At most ``k`` chunks, by their vectors and by words.

        Args:
            query: that is searched for.
            k: how many.
            vector: of the query, of shape (384,).
        """
        depth = min(max(DEPTH, 4 * k), MOST)
        near = self._ranked(self._chunks, "vector", vector.tolist(), depth)
        rows = {row["key"]: row for row, _ in near}
        worded = self._by_words(self._chunks, query, depth)
        missing = [key for key, _ in worded if key not in rows]
        rows |= self._link.get(self._chunks, missing, _CHUNK)
        every = sorted(rows, key=lambda key: (rows[key]["order"], key))  # as they were stored
        numbers = {key: number for number, key in enumerate(every)}
        ranked = fuse(
            ([numbers[row["key"]] for row, _ in near], MEANING),
            ([numbers[key] for key, _ in worded if key in rows], WORDS),
        )
        owners = {key.partition(".")[0]: number for number, key in enumerate(every)}
        documents = {number: owners[key.partition(".")[0]] for key, number in numbers.items()}
        best = [(rows[every[number]], score) for number, score in spread(ranked, documents, AGAIN)]
        return self._passages(best, query, k)

    def _passages(self, ranked: Sequence[tuple[Row, float]], query: str, k: int) -> tuple[Passage, ...]:
        """The best chunks as passages, each without what a better one of its document shows already."""
        found: list[Passage] = []
        shown: dict[str, list[Span]] = {}
        for about, row, score in self._described(ranked, 4 * k):
            begin, text = row["start"], row["text"]
            start, end = uncovered((begin, begin + len(text)), shown.get(about.id, []))
            passage = _passage(about, start, text[start - begin : end - begin], query, len(found) + 1, score)
            if not passage.text or any(passage.text == each.text for each in found):
                continue
            shown.setdefault(about.id, []).append((start, end))
            found.append(passage)
            if len(found) == k:
                break
        return tuple(found)

    def _described(self, ranked: Sequence[tuple[Row, float]], at_once: int) -> Iterator[tuple[About, Row, float]]:
        """Chunks with their documents; those whose document has another content by now are passed over."""
        for first in range(0, len(ranked), at_once):
            some = ranked[first : first + at_once]
            abouts = self.abouts(row["key"].partition(".")[0] for row, _ in some)
            for row, score in some:
                key, version, _ = row["key"].split(".")
                if key in abouts and abouts[key].version.name == version:
                    yield abouts[key], row, score

    def documents(self, query: str, k: int) -> tuple[Passage, ...]:
        """At most ``k`` documents by their words, each shown by the stretch that fits the query best."""
        best: dict[str, tuple[str, float]] = {}  # of each document its best piece
        for key, score in self._by_words(self._texts, query, min(max(DEPTH, 4 * k), MOST)):
            if "." in key:  # all but the store's state
                best.setdefault(key.split(".")[1], (key, score))
        found: list[Passage] = []
        for key, (piece, score) in best.items():
            about = self.abouts([key]).get(key)
            if not about or (piece.startswith("t.") and piece.split(".")[2] != about.version.name):
                continue
            start, end = self._excerpt(key, about, query)
            passage = _passage(about, start, self._text(key, about, start, end), query, len(found) + 1, score)
            if all(passage.text != each.text for each in found):
                found.append(passage)
            if len(found) == k:
                break
        return tuple(found)

    def _excerpt(self, key: str, about: About, query: str) -> Span:
        rows = self._link.get(self._chunks, chunk_keys(key, about.version), ("start", "text"))
        chunks = [(row["start"], row["text"]) for _, row in sorted(rows.items())]
        scores = word_scores([text for _, text in chunks], query)
        return best_excerpt([(start, start + len(text)) for start, text in chunks], scores, EXCERPT)

    def _text(self, key: str, about: About, start: int, end: int) -> str:
        pieces = range(start // PIECE, -(-end // PIECE))
        keys = [text_key(key, about.version.name, piece) for piece in pieces]
        rows = self._link.get(self._texts, keys, ["text"])
        text = "".join(str(rows[each]["text"]) for each in keys)
        return text[start - pieces[0] * PIECE :][: end - start]

    def _ranked(self, name: str, field: str, query: object, depth: int) -> list[tuple[Row, float]]:
        """The best rows and their scores; of equals, the one that was stored first.

        Twice as many are asked for as are wanted: which of the last equals come, Milvus decides.
        """
        fields = _CHUNK if field == "vector" else ("order",)
        hits = [(row, round(score, 6)) for score, row in self._link.search(name, field, query, 2 * depth, fields)]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]["order"], hit[0]["key"]))[:depth]

    def _by_words(self, name: str, query: str, depth: int) -> list[tuple[str, float]]:
        """Keys and BM25 scores of the best rows of a collection."""
        words = query_terms(query)
        hits = self._ranked(name, "bm25", words, depth) if words else []
        return [(row["key"], score) for row, score in hits if score > 0]


def _passage(about: About, start: int, text: str, query: str, rank: int, score: float) -> Passage:
    return Passage(
        document=about.id,
        title=about.title,
        url=about.url,
        publisher=about.publisher,
        published=about.published,
        text=text.strip(),
        start=start + len(text) - len(text.lstrip()),
        query=query,
        rank=rank,
        score=score,
    )
