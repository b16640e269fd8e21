"""Chunks: nothing is lost, offsets are exact, cuts are where sentences end."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redargue.errors import UsageError
from redargue.retrieval.corpus.documents import chunks, sentence_spans

PROSE = st.lists(
    st.sampled_from(
        "The tower opened in 1889. Mr. J. Smith paid $1.5 m! Who? I don't know… «Non.» (See Fig. 2.) e.g. x\u0301"
        " 日本。 "
        "\n\n \t a-b\r\n … \u2028 \x1c don't ''quoted'' http://a.b/c?d=e. \ufeff 😀    ".split(" ")
    ),
    max_size=120,
).map(" ".join)


@pytest.mark.slow
@given(text=PROSE | st.text(max_size=400), size=st.integers(1, 90), data=st.data())
@settings(max_examples=300, deadline=None)
def test_chunks_hold_every_character_and_say_where_it_stood(text: str, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    found = chunks(text, size=size, overlap=overlap)
    covered = [False] * len(text)
    for chunk in found:
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.text == chunk.text.strip() != ""
        assert len(chunk.text) <= size
        covered[chunk.start : chunk.end] = [True] * (chunk.end - chunk.start)
    assert all(done or char.isspace() for done, char in zip(covered, text, strict=True))
    for one, next_one in pairwise(found):
        assert one.start < next_one.start
        assert one.end < next_one.end
        assert one.end - next_one.start <= overlap
    assert found == chunks(text, size=size, overlap=overlap)


def test_cuts_stand_at_sentence_ends_and_whole_sentences_overlap() -> None:
    text = " ".join(f"Sentence number {n} says something about Dr. Smith." for n in range(20))
    found = chunks(text, size=200, overlap=60)
    assert all(chunk.text.startswith("Sentence") and chunk.text.endswith("Smith.") for chunk in found)
    for one, next_one in pairwise(found):
        shared = text[next_one.start : one.end]
        assert shared.startswith("Sentence")
        assert shared.count("Sentence") == 1


def test_a_long_sentence_is_cut_at_white_space_and_a_long_word_anywhere() -> None:
    assert [each.text for each in chunks("aaa bbb ccc ddd", size=8, overlap=0)] == ["aaa bbb", "ccc ddd"]
    assert [each.text for each in chunks("x" * 20, size=8, overlap=0)] == ["x" * 8, "x" * 8, "xxxx"]


def test_a_short_text_is_one_chunk_and_white_space_none() -> None:
    (only,) = chunks("  One sentence. Another one. ")
    assert (only.start, only.end) == (2, 28)
    assert chunks(" \n\t ") == ()
    assert chunks("") == ()


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (10, 10), (10, -1)])
def test_lengths_out_of_range_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(UsageError, match=f"{size} characters cannot overlap by {overlap}"):
        chunks("text", size=size, overlap=overlap)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Die Anlage ging am 4. Mai 2026 in Betrieb. Gut.", ["Die Anlage ging am 4. Mai 2026 in Betrieb.", "Gut."]),
        ("Am 12. und 13. Juni war es so. Gut.", ["Am 12. und 13. Juni war es so.", "Gut."]),
        ("Es war der 3. Platz. Gut.", ["Es war der 3. Platz.", "Gut."]),
        ("Es waren 14. Danach kam er.", ["Es waren 14.", "Danach kam er."]),
        ("It grew by 3. Then it fell.", ["It grew by 3.", "Then it fell."]),
        ("He came in at 4. Marchers went on.", ["He came in at 4.", "Marchers went on."]),
    ],
)
def test_the_full_stop_of_an_ordinal_number_ends_no_sentence(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentence_spans(text)] == expected


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_row_of_a_table_is_one_sentence_whatever_ends_its_line(newline: str) -> None:
    rows = ["Year: 2018; Visitors: 91,200.", "Year: 2019; Visitors: 84,950."]
    text = newline.join(rows)
    assert [text[start:end] for start, end in sentence_spans(text)] == rows
