"""Texts and their sentences: where they stand is exact, whatever the text."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from redargue.text.segment import MAX_LENGTH, Text, has_several_sentences, readable_context, sentences_of

PROSE = st.lists(
    st.sampled_from(
        "The tower opened in 1889. Mr. J. Smith paid $1.5 m! Who? «Non.» (See Fig. 2.) e.g. x\u0301 日本。 \n\n \n- "
        "\n1. \n* \n## \r\n\t … \u2028 don't 😀 \n12) \n(a) **bold** ".split(" ")
    ),
    max_size=80,
).map(" ".join)
# No word: tags, and the marks of a list's entries.
GAP = re.compile(
    r"(?:<[^<>]*>|[\W_])*(?:\(?(?:\d{1,3}|[A-Za-z])[.)](?:<[^<>]*>|[\W_])*)*"
)  # no word, or marks of a list's entries


@pytest.mark.slow
@given(whole=PROSE | st.text(max_size=300))
@settings(max_examples=400, deadline=None)
def test_sentences_stand_where_they_say_and_nothing_between_them_is_lost(whole: str) -> None:
    found = sentences_of(whole)
    for each in found:
        assert each.text == whole[each.start : each.end]
        assert each.text == each.text.strip()
        assert re.search(r"\w", each.text)
    assert all(one.end <= other.start for one, other in pairwise(found))
    ends = [0, *(each.end for each in found)]
    begins = [*(each.start for each in found), len(whole)]
    for end, begin in zip(ends, begins, strict=True):
        assert GAP.fullmatch(whole[end:begin]), whole[end:begin]


@pytest.mark.parametrize(
    "sentences",
    [
        ("It opened in 1889 [facts](src.md).", "It is 330 metres long."),
        ("It opened in 1889 [facts](https://example.org/a?b=c#d)!", "14 people came."),
        ("See [facts](a.md), [fees](b.md) and [rules](c.md).", "“It is safe,” she said."),
        ("It opened in 1889 [facts](src.md) and closed in 1990.",),
        ("It is old.", "[The bridge](https://example.org/a) is 330 metres long."),
        ("[The bridge] is old.", "(It is 330 metres long.)"),
        ("It opened in 1889 [facts](src.md). and then closed.",),
        ("The value is v[1](2).5 metres.",),
    ],
)
def test_a_sentence_ends_behind_a_link_and_not_within_one(sentences: tuple[str, ...]) -> None:
    assert tuple(each.text for each in sentences_of(" ".join(sentences))) == sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ("It took place at 11 centres in Spain.", "486 adults walked 30 minutes a day."),
        ("It opened in 1998.", "300 people came (n = 12).", "1,200 left."),
        ("It rose by 5 %.", "“It costs 5 €.”", "It was 20 °C.", "It took 3 h.", "Rents fell."),
        ("It was built in 12 B. C. by Dr. J. Smith.",),
        ("The insurer paid 61 million in December.1", "The board met."),
        (
            "It opened in 1998.[^1]",
            "It is 300 m long.[2][3]",
            "It is old.¹",
            "“It is safe.”【1†source】",
            "45 people came.",
        ),
        ("Smith et al. 2004 found it in vol. 123 of the annals, and Jan. 2024 was cold.",),
        ("It rose by approx. 300 people, see fig.1 The house.",),
    ],
)
def test_a_sentence_begins_with_a_number_or_after_that_of_a_footnote(sentences: tuple[str, ...]) -> None:
    assert tuple(each.text for each in sentences_of(" ".join(sentences))) == sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ("東京は日本の首都です。", "富士山は3776メートルです。", "そうですか？"),
        ("彼は「行きます。」と言った。", "雨が降った。"),
        ("दिल्ली भारत की राजधानी है।", "मुंबई बड़ा शहर है।"),
        ("هل هو كذلك؟", "نعم هو كذلك."),
    ],
)
def test_the_full_stops_of_other_scripts_end_sentences(sentences: tuple[str, ...]) -> None:
    for between in ("", " "):
        text = between.join(sentences)
        assert tuple(each.text for each in sentences_of(text)) == sentences
        assert has_several_sentences(text)


@pytest.mark.parametrize("mark", ["", "[1]", "【1†source】"])
def test_a_sentence_begins_without_a_space_after_a_figure(mark: str) -> None:
    first = f"It opened in December 2004.{mark}"
    assert [each.text for each in sentences_of(f"{first}The bridge is long.")] == [first, "The bridge is long."]
    assert len(sentences_of("Use version 3.10.Final now, and Windows 11.")) == 1


def test_a_short_line_without_a_verb_is_not_read_with_the_sentence_below() -> None:
    whole = "ABSTRACT\nWe studied\n40 mice. It lies in the\nRiver Olm.\nRiver Olm\nand River Ver\nJoin us"
    found = [each.text for each in sentences_of(whole)]
    lines = ["ABSTRACT", "We studied\n40 mice.", "It lies in the\nRiver Olm.", "River Olm\nand River Ver\nJoin us"]
    assert found == lines


def test_an_embedded_image_is_no_part_of_the_sentences_beside_it() -> None:
    image = f"![plan](data:image/png;base64,{'iVBORw0KGgo/+' * 3000})"
    said = ("The tower is 330 metres tall.", image, "It opened in 1889.")
    assert tuple(sentence.text.strip() for sentence in sentences_of(" ".join(said))) == said


def test_the_mark_of_a_footnote_is_no_part_of_what_it_says() -> None:
    text = "The bridge is open.[^1]\n\n[^1]: A further payment depends on the weather.\n[^b]: It was paid in May."
    found = [each.text for each in sentences_of(text)]
    assert found == ["The bridge is open.[^1]", "A further payment depends on the weather.", "It was paid in May."]


def test_headings_and_entries_of_lists_are_sentences_of_their_own() -> None:
    whole = (
        "# Bees\nBees are\ninsects. They fly.\n\nThey make:\n1. honey\n2) wax, e.g. candles\n- and noise\nA. Einstein"
    )
    assert [each.text for each in sentences_of(whole)] == [
        "# Bees",
        "Bees are\ninsects.",
        "They fly.",
        "They make:",
        "honey",
        "wax, e.g. candles",
        "and noise\nA. Einstein",
    ]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"text": " ?! "}, "contains no words"),
        ({"text": "a\x07b"}, "control character"),
        ({"text": "a" * (MAX_LENGTH + 1)}, "the limit is 200,000"),
        ({"text": "a", "context": "\x00"}, "control character"),
        ({"text": "The Sund.", "kind": "qa"}, "needs a question"),
        ({"text": "The Sund.", "kind": "poem"}, "kind"),
    ],
)
def test_what_cannot_be_checked_is_refused(fields: dict[str, str], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Text.model_validate(fields)


def test_values_in_json_keep_the_names_of_the_objects_around_them() -> None:
    plan = {
        "plan": "Basic",
        "fee": {"monthly": 5, "in": [{"euros": True}]},
        "terms": {"pets": "Dogs travel free here."},
    }
    lines = ["plan: Basic", "fee, monthly: 5", "fee, in, euros: True", "Dogs travel free here."]
    assert readable_context(json.dumps(plan)) == "\n".join(lines)


@pytest.mark.parametrize(("name", "depth", "read"), [("", 60, True), ("", 2000, False), ("name", 60, False)])
def test_json_that_is_nested_deeply_loses_no_value(name: str, depth: int, read: bool) -> None:
    nested = f'{{"{name}": ' * depth + '"The bridge opened in 1998."' + "}" * depth
    assert readable_context(nested) == ("The bridge opened in 1998." if read else nested)


def test_a_long_name_is_not_repeated_for_every_value_in_it() -> None:
    long = json.dumps({"n" * 1000: list(range(1000))})
    assert readable_context(long) == long


def test_a_text_with_the_line_breaks_of_windows_has_the_same_sentences_where_they_stand() -> None:
    whole = (
        "Report\n======\nYear: 2018; Visitors: 91,200.\n\nYear: 2019; Visitors: 84,950.\n\nPool | Note\n--- | ---\n"
        "Quay | The pool has 6 lanes in all.\n\n- It is old\n- It is deep\n\nMedia contact:\nMara Holt\nmara@x.org"
    )
    given = whole.replace("\n", "\r\n")
    found = sentences_of(given)
    assert [each.text.replace("\r", "") for each in found] == [each.text for each in sentences_of(whole)]
    assert [each.text for each in found] == [given[each.start : each.end] for each in found]
    assert "Year: 2019; Visitors: 84,950." in [each.text for each in found]
