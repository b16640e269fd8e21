"""Searching: exact, deterministic, with true offsets, whatever the query."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redargue.errors import UsageError
from redargue.retrieval.corpus import Corpus
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.index import open_corpus
from retrieval.corpus.words import Opener, address

ANIMALS = "fox dog cat owl bee ant elk cow pig hen".split()


def essay(name: str, sentences: int) -> Document:
    text = " ".join(
        f"Sentence {n} of {name} tells about the {ANIMALS[n % 10]} and its {ANIMALS[(n * 7) % 10]}."
        for n in range(sentences)
    )
    return Document(id=name, title=f"Essay {name}", text=text, url=f"https://example.org/{name}", publisher="E")


@pytest.fixture
def essays(opened: Opener) -> Corpus:
    corpus = opened()
    corpus.add(essay(name, 10 + 12 * n) for n, name in enumerate(("alpha", "beta", "gamma", "delta")))
    return corpus


def test_passages_stand_where_they_say(essays: Corpus) -> None:
    whole = {name: essay(name, 10 + 12 * n) for n, name in enumerate(("alpha", "beta", "gamma", "delta"))}
    for found in (essays.search("the owl of gamma", 8), essays.search_keywords("the owl of gamma", 8)):
        assert found
        assert [each.rank for each in found] == list(range(1, len(found) + 1))
        for passage in found:
            source = whole[passage.document]
            assert source.text[passage.start :].startswith(passage.text)
            assert (passage.title, passage.url, passage.publisher) == (source.title, source.url, source.publisher)
            assert (passage.query, passage.tool, passage.retrieved) == ("the owl of gamma", "", None)
        scores = [each.score or 0.0 for each in found]
        assert scores == sorted(scores, reverse=True)
        assert all(score > 0 for score in scores)


def test_a_short_document_is_shown_whole(opened: Opener) -> None:
    corpus = opened()
    short = essay("short", 20)
    assert 1_000 < len(short.text) <= 2_000
    corpus.add([short, essay("long", 80)])
    for found in (corpus.search("the owl of short", 3), corpus.search_keywords("the owl of short", 3)):
        (passage,) = [passage for passage in found if passage.document == "short"]
        assert (passage.start, passage.text) == (0, short.text)


def test_chunks_that_follow_one_another_are_one_passage_and_other_documents_fill_the_places(opened: Opener) -> None:
    corpus = opened()
    texts = {"one": essay("one", 80).text, "two": essay("two", 60).text}
    corpus.add(Document(id=name, title=name, text=text) for name, text in texts.items())
    found = corpus.search("the owl of one", 4)
    assert {passage.document for passage in found} == {"one", "two"}
    for name, text in texts.items():
        spans = sorted((p.start, p.start + len(p.text)) for p in found if p.document == name)
        assert all(text[start:end] for start, end in spans)
        close = [(one, two) for one, two in pairwise(spans) if two[0] - one[1] <= 2]
        assert all(two[1] - one[0] > 2_000 for one, two in close)  # else they were merged
    assert max(len(passage.text) for passage in found) > 700


def test_passages_say_at_which_ends_their_document_goes_on(opened: Opener) -> None:
    corpus = opened()
    texts = {"short": f"\n{essay('short', 20).text}\n", "long": essay("long", 80).text}
    corpus.add(Document(id=name, title=name, text=text) for name, text in texts.items())
    found = [*corpus.search("the owl of long", 4), *corpus.search_keywords("the owl of short", 4)]
    for passage in found:
        before, after = texts[passage.document].split(passage.text)
        assert (passage.starts_cut, passage.ends_cut) == (bool(before.strip()), bool(after.strip()))
    assert {passage.cut for passage in found if passage.document == "short"} == {""}
    assert all(passage.cut for passage in found if passage.document == "long")


def test_no_text_is_shown_twice(essays: Corpus) -> None:
    found = essays.search("fox", 50)
    assert len(found) >= 4
    for name in ("alpha", "beta", "gamma", "delta"):
        spans = sorted((each.start, each.start + len(each.text)) for each in found if each.document == name)
        assert all(one[1] <= two[0] for one, two in pairwise(spans))


@pytest.mark.slow
def test_results_do_not_depend_on_the_process_or_the_batches(
    opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [essay(f"e{n}", 5 + n % 9) for n in range(60)]
    one = opened()
    one.add(documents)
    monkeypatch.setattr("redargue.retrieval.corpus.documents.BATCH", 7)
    other = opened(tmp_path / "other.db")
    other.add(documents)
    for query in ("owl", "the bee and the elk", "essay e7", "sentence"):
        assert one.search(query, 20) == other.search(query, 20)
        assert one.search_keywords(query, 20) == other.search_keywords(query, 20)


def test_keywords_find_whole_documents_and_titles_weigh_more(opened: Opener) -> None:
    corpus = opened()
    filler = "Nothing of note is said in this sentence. " * 60
    corpus.add(
        [
            Document(id="body", text=filler + "The zebra appears here. " + filler),
            Document(id="title", title="Zebra", text="An animal with stripes lives in Africa. " + filler),
            Document(id="none", text=filler),
        ]
    )
    title, body = corpus.search_keywords("zebra")
    assert (title.document, body.document) == ("title", "body")
    assert "The zebra appears here." in body.text
    assert 1200 < len(body.text) <= 1400
    assert title.start == 0
    assert [each.document for each in corpus.search_keywords("zebra", 1)] == ["title"]


def test_unicode_is_found_with_and_without_accents(opened: Opener) -> None:
    corpus = opened()
    corpus.add([Document(id="é", title="Café", text="Ça coûte 5 €. 日本語 😀 İstanbul."), essay("a", 3)])
    for query in ("cafe", "COÛTE", "日本語", "coute"):
        assert [each.document for each in corpus.search_keywords(query)] == ["é"]


@given(query=st.text() | st.text(alphabet="\"*():^-+ANDORNEAT{}\\'_\x00\ud800 fox"), k=st.integers(1, 5))
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=80, deadline=None
)
def test_any_query_is_only_words(essays: Corpus, query: str, k: int) -> None:
    assert len(essays.search(query, k)) <= k
    assert len(essays.search_keywords(query, k)) <= k


def test_queries_without_words_find_nothing_by_words(essays: Corpus, opened: Opener, tmp_path: Path) -> None:
    assert essays.search("  ") == essays.search_keywords("?!") == ()
    empty = opened(tmp_path / "empty.db")
    assert empty.search("fox") == empty.search_keywords("fox") == ()
    with pytest.raises(UsageError, match="search for 0 passages"):
        essays.search("fox", 0)


def test_threads_share_a_corpus(essays: Corpus) -> None:
    expected = [essays.search(word, 5) for word in ANIMALS]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            assert list(pool.map(lambda word: essays.search(word, 5), ANIMALS)) == expected


def test_the_real_embedder_finds_by_meaning(store: str, tmp_path: Path) -> None:
    with open_corpus(address(store, tmp_path / "real.db"), write=True) as corpus:
        corpus.add(
            [
                Document(id="heart", text="A physician treats diseases of the heart."),
                Document(id="car", text="The mechanic repaired the engine of the car."),
                Document(id="cake", text="Bake the cake for forty minutes."),
            ]
        )
        assert corpus.search("doctor for cardiac illness", 1)[0].document == "heart"
        assert corpus.search("automobile motor fixed", 1)[0].document == "car"
