"""Claims and the labels that answers are parsed into (T11, T12)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import redargue
from redargue.claims import (
    AVERITEC,
    FEVER,
    FREE_TEXT,
    MAX_CLAIM,
    OPTIONS,
    TWO,
    YES_NO_MAYBE,
    Claim,
    LabelSet,
    Meaning,
    label_sets,
    read_labels,
)
from redargue.errors import UsageError
from redargue.inputs.claims import BINGCHECK, HOVER
from redargue.spec import RunSpec
from redargue.tasks.answer import AnswerClaim


@pytest.mark.parametrize(
    ("labels", "text", "expected"),
    [
        (FEVER, "It says so.\n**SUPPORTS**", "SUPPORTS"),
        (FEVER, "It says so.\nsupports.\n\n", "SUPPORTS"),
        (FEVER, "Nothing SUPPORTS this; it says the opposite.\n**REFUTES**", "REFUTES"),
        (FEVER, "One might say SUPPORTS or REFUTES.\nNOT ENOUGH INFO", "NOT ENOUGH INFO"),
        (FEVER, "Final answer: **REFUTES**", "REFUTES"),
        (FEVER, "**REFUTES**\nI hope that this helps!", "REFUTES"),
        (FEVER, "**SUPPORTS** at first, then **REFUTES**\nas I explained", None),
        (FEVER, "My answer is SUPPORTS and not REFUTES", "SUPPORTS"),
        (FEVER, "The document REFUTES the claim, I think.\nThat is all.", None),
        (FEVER, "The evidence supports part of it.\nHard to say.", None),
        (FEVER, "NOT ENOUGH INFORMATION", "NOT ENOUGH INFO"),
        (FEVER, "I do not know.", None),
        (FEVER, "", None),
        (FEVER, "\n \n", None),
        (FEVER, "UNSUPPORTS", None),
        (FEVER, "CONTRADICT", "REFUTES"),
        (FEVER, "NOT SUPPORTS", None),
        (TWO, "**NOT ENOUGH INFO**", None),
        (HOVER, "One might say SUPPORTED.\nMy answer is NOT SUPPORTED.", "NOT_SUPPORTED"),
        (HOVER, "It is not SUPPORTED.", "NOT_SUPPORTED"),
        (BINGCHECK, "Is it supported? No, it is not supported at all.", "not supported"),
        (BINGCHECK, "So it is not supported by any of them.", "not supported"),
        (AVERITEC, "Conflicting Evidence/Cherrypicking", "Conflicting Evidence/Cherrypicking"),
        (AVERITEC, "**Cherrypicking**", "Conflicting Evidence/Cherrypicking"),
        (AVERITEC, "Answer: Not Enough Evidence", "Not Enough Evidence"),
        (YES_NO_MAYBE, "There is no doubt.\nYes.", "yes"),
        (YES_NO_MAYBE, "There is no doubt about it", None),
        (OPTIONS, "Because of a fever.\nB", "B"),
        (OPTIONS, "The answer is **(C)**\nas A is wrong", "C"),
        (OPTIONS, "A patient came in", None),
        (FREE_TEXT, "Because.\n**Paris**", "Paris"),
    ],
)
def test_labels_are_parsed_from_the_end(labels: LabelSet, text: str, expected: str | None) -> None:
    assert labels.parse(text) == expected


@pytest.mark.parametrize(
    ("labels", "text", "expected"),
    [
        (
            FEVER,
            "The other debater answered **SUPPORTS**, but the document says 1875.\nTherefore, the claim is refuted.",
            "REFUTES",
        ),
        (FEVER, "I considered SUPPORTS.\nAnswer: The claim is refuted.", "REFUTES"),
        (FEVER, "The other debater answered **SUPPORTS**.\nThe claim is false.", "REFUTES"),
        (FEVER, "The claim is refuted by document [1].", "REFUTES"),
        (FEVER, "The other debater answered **SUPPORTS**.\nI hope that this helps.", None),
        (FEVER, "I considered **SUPPORTS**.\nI hope that this helps.", None),
        (FEVER, "**SUPPORTS** is what the title says, REFUTES the text.\nSo much for that.", None),
        (FEVER, "Nothing SUPPORTS it.", None),
        (FEVER, "No document SUPPORTS it.", None),
        (FEVER, "No document mentions it, so NOT ENOUGH INFO", "NOT ENOUGH INFO"),
        (FEVER, "The claim is not supported.", None),
        (FEVER, "It is unclear whether the claim is supported.", None),
        (FEVER, "If the year were right, the claim would be supported.", None),
        (FEVER, "The document does not say that the claim is true.", None),
        (FEVER, "I cannot choose between SUPPORTS and REFUTES.", None),
        (FEVER, "Is the claim supported?", None),
        (FEVER, "**REFUTES**, although one sentence SUPPORTS it", "REFUTES"),
        (TWO, "Thus the claim is correct.", "SUPPORTS"),
        (AVERITEC, "The claim is therefore refuted.", "Refuted"),
        (YES_NO_MAYBE, "So the answer is no.", "no"),
        (YES_NO_MAYBE, "It is no.", None),
        (OPTIONS, "**A** looks right.\nThe answer is (B).", "B"),
    ],
)
def test_a_label_that_the_answer_rejects_or_reports_is_not_its_label(
    labels: LabelSet, text: str, expected: str | None
) -> None:
    assert labels.parse(text) == expected


@given(st.text(max_size=300))
def test_any_text_gives_a_label_of_the_set_or_none(text: str) -> None:
    for name in label_sets:
        labels = label_sets[name]
        label = labels.parse(text)
        assert label is None or labels.free_text or label in labels.names


def test_an_article_is_not_the_first_option_that_is_named() -> None:
    assert OPTIONS.first_mentioned("It is a case of B, not of C.") == "B"
    assert YES_NO_MAYBE.first_mentioned("No, I think.") == "no"


def test_labels_have_meanings_and_meanings_labels() -> None:
    assert FEVER.meaning("NOT ENOUGH INFO") is Meaning.NOT_ENOUGH
    assert TWO.named(Meaning.NOT_ENOUGH) is None
    assert AVERITEC.named(Meaning.CONFLICTING) == "Conflicting Evidence/Cherrypicking"
    with pytest.raises(UsageError, match="'SUPPORT' is not a label"):
        FEVER.meaning("SUPPORT")


def test_an_unknown_label_set_is_answered_with_near_names() -> None:
    with pytest.raises(UsageError, match="did you mean 'averitec'"):
        label_sets["averitek"]


@pytest.mark.parametrize("text", ["", "  ", "?!", "a\x00b", "\x1b[31mred", "x" * (MAX_CLAIM + 1), "caf\udce9"])
def test_what_is_no_claim_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        Claim(text=text)


def test_contexts_and_options_are_checked_too() -> None:
    for fields in ({"context": "\x1b[31m"}, {"options": ("a", "\ud800"), "labels": OPTIONS}):
        with pytest.raises(ValidationError):
            Claim(text="Which?", **fields)
    with pytest.raises(UsageError, match="this claim cannot be checked"):
        redargue.verify_sync("")


def test_letters_without_an_option_are_no_labels() -> None:
    claim = Claim(text="Which?", options=("x", "y", "z"), labels=OPTIONS)
    assert (claim.labels.name, claim.labels.names) == ("options", ("A", "B", "C"))
    assert (claim.labels.single("E"), claim.labels.single("(C)")) == (None, "C")
    assert Claim.model_validate_json(claim.model_dump_json()) == claim
    assert Claim(text="Which?", labels=OPTIONS).labels == OPTIONS
    assert Claim(text="Which?", options=("x", "y"), labels=FEVER).labels == FEVER
    assert Claim(text="Which?", options=("x", "y"), labels=FEVER).option("x") is None


def test_more_options_than_labels_are_refused() -> None:
    assert Claim(text="Which?", options=("x", "y"), labels=OPTIONS).options == ("x", "y")
    with pytest.raises(ValidationError, match="6 options, but 'options' has 5 labels"):
        Claim(text="Which?", options=tuple("uvwxyz"), labels=OPTIONS)


def test_a_claim_is_frozen_and_takes_no_other_fields() -> None:
    claim = Claim(text="  Water is wet.  ")
    assert claim.text == "Water is wet."
    with pytest.raises(ValidationError):
        claim.text = "no"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Claim(text="a b", label="SUPPORTS")  # type: ignore[call-arg]


def test_own_words_stand_for_labels() -> None:
    labels = read_labels("True=SUPPORTS, yes=supported,false=Refutes,unclear=nei,mixed=conflicting")
    assert labels.names == ("True", "false", "unclear", "mixed")
    assert labels.parse("The answer:\n**YES**") == "True"
    assert [label.meaning for label in labels.labels] == [
        Meaning.SUPPORTED,
        Meaning.REFUTED,
        Meaning.NOT_ENOUGH,
        Meaning.CONFLICTING,
    ]
    assert read_labels("fever") is FEVER
    assert RunSpec(labels=labels.name).labels == labels


@pytest.mark.parametrize("text", ["true=SUPORTS", "true", "=SUPPORTS", "a=SUPPORTS,A=REFUTES", "a=SUPPORTS,"])
def test_words_that_stand_for_no_label_are_quoted(text: str) -> None:
    with pytest.raises(UsageError, match=re.escape(text[:4]) if text != "true" else "true"):
        read_labels(text)


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("The trial lowered it.\n**B) a statin**", "B"),
        ("The trial lowered it.\nA statin.", "B"),
        ("**A** was not tried.\nThe answer is (B): a statin", "B"),
        ("Aspirin was not tried.\nAnswer: option C. -5 mg", "C"),
        ("The trial lowered it.\n5 mg", None),
        ("A) a statin", None),
        ("It is a statin or aspirin", None),
        ("A) aspirin\nB) a statin", None),
    ],
)
def test_an_option_may_be_named_by_its_text(reply: str, letter: str | None) -> None:  # T28
    task = AnswerClaim(claim=Claim(text="Which?", options=("aspirin", "a statin", "-5 mg"), labels=OPTIONS))
    assert task.label_of(reply) == letter
    if letter:
        assert task.chosen(reply.splitlines()[-1]) == letter
