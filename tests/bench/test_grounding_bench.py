"""What the benchmarks of the reader count, and the classifiers that a reader has to beat."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from benchmarks.answers import GOLD, Answered, outcome
from benchmarks.baselines import Row, claim_only, fold_of, overlap, overlap_only
from benchmarks.crossed import pairings
from benchmarks.examples import examples, is_contrary
from benchmarks.grounding import means, sample, together
from benchmarks.markdown import table
from benchmarks.statistics import area_under_curve, balanced_accuracy

from redargue.claims import Meaning


def rows(count: int) -> list[Row]:
    """Claims whose words tell the label, each beside a document of its own."""
    made = []
    for number in range(count):
        supported = number % 2 == 0
        claim = f"Item {number} is {'certainly' if supported else 'never'} there."
        made.append(Row(claim, f"Document {number}: item {number}.", supported, number % 4 < 2))
    return made


def test_words_that_tell_the_label_are_learned_from_even_rows_and_found_in_the_odd_ones() -> None:
    made = rows(80)
    called = claim_only(made).called
    assert [bool(each) for each in called] == [row.supported for row in made]


def test_no_row_is_scored_by_what_was_fitted_on_its_own_document() -> None:
    unlike = [each._replace(supported=not each.supported) if fold_of(each.evidence) == 0 else each for each in rows(80)]
    called = claim_only(unlike).called
    wrong = [at for at, row in enumerate(unlike) if bool(called[at]) != row.supported]
    assert wrong == [at for at, row in enumerate(unlike) if fold_of(row.evidence) == 0]


def test_overlap_is_the_share_of_content_words_that_the_evidence_has() -> None:
    assert overlap("The cat sat on the mat.", "A cat lay on a mat.") == pytest.approx(2 / 3)
    assert overlap("It is.", "It is.") == 0.0
    made = [
        Row(f"{word} {number}" if good else f"unseen words {number}", f"{word} {number}", good, number % 4 < 2)
        for number, (word, good) in enumerate([("alpha", True), ("beta", False)] * 40)
    ]
    assert [bool(each) for each in overlap_only(made).called] == [row.supported for row in made]


def test_balanced_accuracy_of_a_constant_answer_is_one_half_and_ties_count_half() -> None:
    gold = np.array([0, 0, 0, 1])
    assert balanced_accuracy(gold, np.zeros(4, int)) == 0.5
    assert balanced_accuracy(gold, gold) == 1.0
    assert area_under_curve([0.9, 0.5], [0.5, 0.1]) == 0.875
    assert area_under_curve([0.9], []) is None


def test_a_sample_does_not_depend_on_the_order_of_the_rows() -> None:
    made = rows(40)
    taken = {made[at] for at in sample([row.is_even for row in made], made, 7)}
    turned = made[::-1]
    assert taken == {turned[at] for at in sample([row.is_even for row in turned], turned, 7)}
    assert all(row.is_even for row in taken)
    assert len(sample([True] * 40, made, 0)) == 40


def test_the_mean_over_the_sets_is_unweighted() -> None:
    lines = [
        {"classifier": "reader", "n": 10, "balanced accuracy": [0.6, 0.5, 0.7], "AUC": 0.7},
        {"classifier": "reader", "n": 90, "balanced accuracy": [0.8, 0.7, 0.9], "AUC": None},
    ]
    (mean,) = means(lines)
    assert mean["n"] == 100
    assert mean["balanced accuracy"] == [0.7]
    assert mean["AUC"] == 0.7


def test_a_decidable_claim_may_stay_open_and_an_open_one_must() -> None:
    assert outcome(Meaning.SUPPORTED, Meaning.NOT_ENOUGH) == "open"
    assert outcome(Meaning.SUPPORTED, Meaning.REFUTED) == "wrong"
    assert outcome(Meaning.NOT_ENOUGH, Meaning.SUPPORTED) == "wrong"
    assert outcome(Meaning.NOT_ENOUGH, Meaning.NOT_ENOUGH) == "right"


def test_only_the_page_of_an_example_is_contradicted_by_support_of_what_it_calls_unsupported() -> None:
    assert is_contrary(Meaning.SUPPORTED, Meaning.REFUTED)
    assert is_contrary(Meaning.NOT_ENOUGH, Meaning.SUPPORTED)
    assert not is_contrary(Meaning.NOT_ENOUGH, Meaning.REFUTED)
    assert not is_contrary(Meaning.SUPPORTED, Meaning.NOT_ENOUGH)


def test_a_claim_of_several_sentences_is_answered_by_its_worst() -> None:
    supported, open_, refuted = (
        Answered(meaning, 0.9, supports, lean, ())
        for meaning, supports, lean in (
            (Meaning.SUPPORTED, 0.9, 0.8),
            (Meaning.NOT_ENOUGH, 0.5, 0.1),
            (Meaning.REFUTED, 0.6, -0.3),
        )
    )
    assert together([supported, open_]) == open_
    assert together([refuted, supported, open_]) == refuted._replace(supports=0.5)
    assert together([supported, open_._replace(lean=-0.4), refuted]).lean == -0.4
    assert together([supported]) == supported


def test_a_crossed_claim_has_no_word_that_its_text_or_its_true_claim_lacks() -> None:
    made = pairings()
    assert Counter(each.kind for each in made) == {"true": 104, "crossed": 104}
    for true, crossed in zip(made[::2], made[1::2], strict=True):
        assert true.text == crossed.text
        own, others = (set(re.findall(r"\w+", text.lower())) for text in (crossed.claim, f"{true.claim} {true.text}"))
        assert own <= others, own - others


def test_twenty_examples_name_their_pages_and_their_labels() -> None:
    made = examples()
    assert len(made) == 20
    assert all(row["address"].startswith("https://") and row["context"] for row in made)
    assert {row["label"] for row in made} == set(GOLD)


def test_an_empty_cell_of_a_table_stays_empty() -> None:
    assert table(("a", "b"), [(1, None)]) == "| a | b |\n| --- | --- |\n| 1 |  |"
