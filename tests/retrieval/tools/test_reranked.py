"""The reranked corpus: both rankings and the reading, in one order."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.index import open_corpus
from redargue.retrieval.tools import Search
from redargue.retrieval.tools.corpus import RELEVANCE, RerankedTool
from retrieval.corpus.words import WordEncoder

pytestmark = pytest.mark.anyio


class Reading:
    """Finds one text relevant."""

    sha256 = "a" * 64

    def __init__(self, word: str) -> None:
        self.word, self.read = word, 0

    def relevance(self, pairs: Any) -> list[float]:
        self.read += len(pairs)
        return [float(self.word in text) for _, text in pairs]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.db"
    texts = ("The lighthouse was lit in 1871.", "The lighthouse stands on a reef.", "A keeper of the lighthouse died.")
    with open_corpus(path, write=True, embedder=WordEncoder()) as corpus:
        corpus.add([Document(id=f"d{at}", title="", text=text) for at, text in enumerate(texts)])
    return path


async def found(store: Path, word: str, k: int = 3) -> list[str]:
    with open_corpus(store, embedder=WordEncoder()) as corpus:
        passages = await RerankedTool(corpus, Reading(word)).search("lighthouse", k, search=Search())  # type: ignore[arg-type]
    assert [each.rank for each in passages] == list(range(1, len(passages) + 1))
    return [each.document for each in passages]


async def test_what_decides_the_query_moves_up_by_a_little(store: Path) -> None:
    plain = await found(store, "nothing says this")
    last = {"d0": "lit", "d1": "reef", "d2": "keeper"}[plain[-1]]
    moved = await found(store, last)
    assert moved.index(plain[-1]) < plain.index(plain[-1])
    assert RELEVANCE < 1 / 60  # a rank at the top weighs more than any reading


async def test_as_many_as_asked_for_and_nothing_where_nothing_is_found(store: Path) -> None:
    assert len(await found(store, "lit", k=1)) == 1


async def test_several_passages_of_one_document_are_returned(tmp_path: Path) -> None:
    paragraphs = [f"Nothing of note happened in year {number}. " * 20 for number in range(40)]
    for place, event in ((5, "planned"), (20, "lit"), (35, "closed")):
        paragraphs[place] += f"The lighthouse was {event} then."
    with open_corpus(tmp_path / "one.db", write=True, embedder=WordEncoder()) as corpus:
        corpus.add([Document(id="d", title="Chronicle", text="\n\n".join(paragraphs))])
        passages = await RerankedTool(corpus, Reading("closed")).search("lighthouse", 5, search=Search())  # type: ignore[arg-type]
    text = " ".join(passage.text for passage in passages)
    assert all(f"The lighthouse was {event} then." in text for event in ("planned", "lit", "closed"))
    ends = sorted((passage.start, passage.start + len(passage.text)) for passage in passages)
    assert all(end <= start for (_, end), (start, _) in pairwise(ends))


async def test_other_weights_are_another_revision(store: Path) -> None:
    with open_corpus(store, embedder=WordEncoder()) as corpus:
        one, other = RerankedTool(corpus, Reading("a")), RerankedTool(corpus, Reading("b"))  # type: ignore[arg-type]
        other._supplied.sha256 = "b" * 64  # type: ignore[union-attr]
        assert one.revision != other.revision
