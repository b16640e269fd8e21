"""Every store: what is kept, what is replaced, what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redargue.errors import UsageError
from redargue.retrieval.corpus import Added, documents
from redargue.retrieval.corpus.documents import Document
from retrieval.corpus.documents import BRIDGE, TOWER, many
from retrieval.corpus.words import Opener, WordEncoder


def test_adding_again_changes_nothing_and_embeds_nothing(opened: Opener, encoder: WordEncoder) -> None:
    corpus = opened()
    assert corpus.add([TOWER, BRIDGE]) == Added(added=2, chunks=2)
    before = corpus.revision
    assert corpus.add([TOWER, BRIDGE]) == Added(unchanged=2)
    assert corpus.revision == before
    assert encoder.encoded == 2


def test_another_content_under_a_known_id_takes_its_place(opened: Opener) -> None:
    corpus = opened()
    corpus.add([TOWER, BRIDGE])
    assert corpus.add([BRIDGE.model_copy(update={"text": "The bridge was repainted."})]) == Added(replaced=1, chunks=1)
    assert corpus.search("bridge")[0].text == "The bridge was repainted."
    assert not any("1894" in each.text for each in corpus.search_keywords("1894 bridge"))
    assert [each.id for each in corpus.documents()] == ["tower", "bridge"]


def test_of_two_documents_with_one_id_the_later_stays(opened: Opener) -> None:
    one, two = Document(id="a", text="One."), Document(id="a", text="Two.")
    corpus = opened()
    corpus.add([one])
    assert corpus.add([two, one]) == Added(replaced=2, chunks=2)
    assert corpus.search("one")[0].text == "One."
    assert corpus.add([one, two]).replaced == 1
    assert corpus.search("two")[0].text == "Two."


def test_the_same_content_under_another_id_is_a_document_of_its_own_and_shown_once(opened: Opener) -> None:
    corpus = opened()
    assert corpus.add([TOWER, TOWER.model_copy(update={"id": "copy"})]).added == 2
    assert [each.document for each in corpus.search("tower")] == ["tower"]
    assert [each.document for each in corpus.search_keywords("tower")] == ["tower"]


def test_a_moved_file_is_known_by_its_new_path(opened: Opener) -> None:
    corpus = opened()
    corpus.add([TOWER])
    assert corpus.add([TOWER.model_copy(update={"path": "/new.txt"})]) == Added(unchanged=1)
    assert corpus.documents()[0].path == "/new.txt"


def test_the_revision_names_the_content_whatever_its_order_and_history(opened: Opener, tmp_path: Path) -> None:
    one, other = opened(), opened(tmp_path / "other.db")
    empty = one.revision
    one.add([TOWER, BRIDGE])
    other.add([BRIDGE])
    assert one.revision != other.revision
    other.add([TOWER])
    assert one.revision == other.revision
    one.remove(["tower"])
    assert one.revision not in (empty, other.revision)
    one.clear()
    assert one.revision == empty == opened(tmp_path / "third.db").revision


def test_a_reader_sees_what_was_written_after_it_opened(opened: Opener) -> None:
    writer = opened()
    writer.add([TOWER])
    reader = opened(write=False)
    assert [each.document for each in reader.search("tower bridge")] == ["tower"]
    before = reader.revision
    writer.add([BRIDGE])
    assert reader.revision == writer.revision != before
    assert {each.document for each in reader.search("tower bridge")} == {"tower", "bridge"}
    writer.remove(["tower"])
    writer.add([TOWER])  # the old revision, with other chunk numbers
    assert {each.document for each in reader.search("tower bridge")} == {"tower", "bridge"}
    with pytest.raises(UsageError, match="open for reading only"):
        reader.add([BRIDGE])


def test_a_store_that_is_opened_again_holds_what_it_held(opened: Opener) -> None:
    with opened() as corpus:
        corpus.add([TOWER, BRIDGE, *many(30)])
        found = corpus.search("tower bridge", 5), corpus.search_keywords("fact", 5)
        before = corpus.revision, corpus.documents()
    again = opened(write=False)
    assert (again.revision, again.documents()) == before
    assert (again.search("tower bridge", 5), again.search_keywords("fact", 5)) == found


def test_documents_are_listed_in_order(opened: Opener) -> None:
    corpus = opened()
    corpus.add([TOWER, BRIDGE])
    tower, bridge = corpus.documents()
    assert (tower.id, tower.title, tower.path, tower.chars, tower.chunks) == (
        "tower",
        "Eiffel Tower",
        "/docs/a/tower.txt",
        41,
        1,
    )
    assert tower.added.endswith("+00:00")
    assert bridge.id == "bridge"


def test_documents_are_removed_by_id_file_or_folder(opened: Opener) -> None:
    corpus = opened()
    corpus.add([TOWER, BRIDGE, Document(id="other", text="x", path="/docs2/x.txt")])
    assert corpus.remove(["bridge"]) == 1
    corpus.add([BRIDGE])
    assert corpus.remove(["/docs/a/../bridge.txt", "bridge"]) == 1
    corpus.add([BRIDGE])
    assert corpus.remove(["/docs/"]) == 2
    assert [each.id for each in corpus.documents()] == ["other"]
    assert corpus.search("tower", 5) == corpus.search("tower", 1)


def test_an_unknown_name_removes_nothing(opened: Opener) -> None:
    corpus = opened()
    corpus.add([TOWER, BRIDGE])
    for name in ("brige", "/docs/b", "", "%", "/doc"):
        with pytest.raises(UsageError):
            corpus.remove(["tower", name])
    with pytest.raises(UsageError, match="did you mean 'bridge'"):
        corpus.remove(["brige"])
    corpus.add(many(100))
    with pytest.raises(UsageError, match="did you mean 'bridge'") as caught:
        corpus.remove(["brige"])
    assert "d55" not in str(caught.value)
    assert len(corpus.documents()) == 102


def test_a_cleared_store_is_empty_and_goes_on(opened: Opener) -> None:
    corpus = opened()
    corpus.add(many(300))
    assert corpus.clear() == 300
    assert corpus.documents() == ()
    assert corpus.search("fact") == corpus.search_keywords("fact") == ()
    corpus.add([TOWER])
    assert corpus.search_keywords("opened")[0].document == "tower"


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=25, deadline=None
)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from(["", "red fox", "blue dog", "red dog sits"])), max_size=12
    )
)
def test_any_history_leaves_what_a_fresh_store_would_hold(opened: Opener, steps: list[tuple[str, str]]) -> None:
    """An empty text stands for a removal."""
    corpus = opened()
    corpus.remove([each.id for each in corpus.documents()])
    held: dict[str, str] = {}
    for name, text in steps:
        if text:
            corpus.add([Document(id=name, text=text)])
            held[name] = text
        elif name in held:
            corpus.remove([name])
            del held[name]
    assert {each.id for each in corpus.documents()} == set(held)
    for query in ("red", "dog sits"):
        expected = {text for text in held.values() if set(query.split()) & set(text.split())}
        assert {each.text for each in corpus.search_keywords(query, 9)} == expected


def test_a_batch_is_stored_whole_or_not_at_all(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "BATCH", 10)

    def interrupted() -> Iterator[Document]:
        yield from many(25)
        raise KeyboardInterrupt

    corpus = opened()
    sums: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        corpus.add(interrupted(), progress=lambda added: sums.append(added.documents))
    assert sums == [10, 20]
    assert corpus.add(many(25)) == Added(added=5, unchanged=20, chunks=5)


def test_a_text_of_any_length_and_alphabet_is_kept_whole(opened: Opener) -> None:
    """In UTF-8 three bytes a character: more than a field of any database server holds."""
    text = "日本語のテキストです。" * 9_000 + " The needle 😀 is here. " + "終わりの文です。" * 3_000
    corpus = opened()
    corpus.add([Document(id="long", title="Long", text=text), BRIDGE])
    assert corpus.documents()[0].chars == len(text) > 120_000
    for found in (corpus.search_keywords("needle"), corpus.search("the needle is here")):
        (passage,) = [each for each in found if "needle 😀" in each.text]
        assert text[passage.start :].startswith(passage.text)
    assert corpus.remove(["long"]) == 1
    assert corpus.search_keywords("needle") == ()


def test_another_embedder_is_refused(opened: Opener, encoder: WordEncoder) -> None:
    with opened() as corpus:
        corpus.add([TOWER])
    encoder.name = "others"
    with pytest.raises(UsageError, match="vectors of 'words', not of 'others'"):
        opened()


def test_nothing_to_read_is_refused_and_nothing_is_made(opened: Opener, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no corpus at"):
        opened(tmp_path / "none.db", write=False)
    assert list(tmp_path.iterdir()) == []
