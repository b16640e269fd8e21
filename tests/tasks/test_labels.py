"""Each label is defined once, in the claim's own terms."""

from __future__ import annotations

import json

import pytest

from redargue.claims import AVERITEC, FEVER, OPTIONS, TWO, YES_NO_MAYBE, Claim, LabelSet
from redargue.evidence import Passage
from redargue.inputs.claims import BINGCHECK, BY_NAME, HALLUCINATED
from redargue.llm.rendering import Renderer, schema_of
from redargue.tasks.answer import Answer, AnswerClaim
from redargue.tasks.judge import JudgeDebate
from redargue.tasks.query import OtherAnswer, WriteQuery
from redargue.tasks.sections import label_definitions

PASSAGES = (Passage(text="The lighthouse at Cape Ansel was first lit in 1871."),)


def shown(labels: LabelSet, **fields: object) -> str:
    claim = Claim(text="It was lit in 1871.", labels=labels, options=("1871", "1875") if labels is OPTIONS else ())
    task = AnswerClaim(claim=claim, **{"passages": PASSAGES, **fields})
    return "\n".join(message["content"] for message in Renderer().prompt(task).messages())


@pytest.mark.parametrize("labels", [FEVER, TWO, AVERITEC, YES_NO_MAYBE, BINGCHECK])
def test_each_label_is_defined_once(labels: LabelSet) -> None:
    words = shown(labels)
    for name in labels.names:
        assert words.count(f"\n- {name}: ") == 1
    assert "the claim is correct" not in words


def test_definitions_are_in_the_terms_of_the_data_set() -> None:
    averitec = label_definitions(AVERITEC)
    assert "Not Enough Evidence: the documents are silent or unclear" in averitec
    assert "Cherrypicking: the documents contradict each other" in averitec
    assert "yes: the documents show that the answer to the question is yes" in label_definitions(YES_NO_MAYBE)
    assert "Is the text hallucinated?" in label_definitions(HALLUCINATED)
    assert label_definitions(OPTIONS).count("\n") == 0
    for labels in (FEVER, TWO, *BY_NAME.values()):
        defined = label_definitions(labels).splitlines()
        begun = tuple(f"- {name}: {word} " for name in labels.names for word in ("the", "no part"))
        assert sum(line.startswith(begun) for line in defined) == len(labels.names)


def test_a_set_of_ones_own_keeps_its_descriptions() -> None:
    first, *rest = FEVER.labels
    own = LabelSet(name="own", labels=(first.model_copy(update={"description": "a committee agreed"}), *rest))
    assert "- SUPPORTS: a committee agreed." in label_definitions(own)


@pytest.mark.parametrize(
    ("labels", "heading"),
    [(FEVER, "Claim: "), (YES_NO_MAYBE, "Question: "), (OPTIONS, "Question: "), (HALLUCINATED, "Text: ")],
)
def test_a_question_is_called_a_question(labels: LabelSet, heading: str) -> None:
    assert heading in shown(labels)
    query = WriteQuery(claim=Claim(text="Was it lit?", labels=labels), tool="corpus", about="documents")
    assert heading in query.prompt_text()


def test_a_debater_without_documents_is_not_asked_for_quotations() -> None:
    words = shown(FEVER, has_tool=False, passages=(), others=(OtherAnswer(agent="a", text="No."),))
    assert "you have no documents" in words
    assert "quotes" not in words
    assert "every part of the claim is correct" in words


def test_the_judge_is_told_that_debaters_who_disagree_are_no_conflicting_documents() -> None:
    rule = "That the debaters disagree does not mean that the documents do."
    for labels, told in ((AVERITEC, True), (FEVER, False)):
        assert (rule in JudgeDebate(claim=Claim(text="It was lit.", labels=labels), history=()).prompt_text()) == told


def test_an_answer_that_has_to_take_a_side_says_what_is_open_in_a_field_of_its_own() -> None:
    reply = {"reasoning": "It was lit.", "quotes": [], "open": "the year", "label": "SUPPORTS"}
    two, three = (AnswerClaim(claim=Claim(text="It was lit in 1871.", labels=each)) for each in (TWO, FEVER))
    assert list(schema_of(two)["properties"]) == ["reasoning", "quotes", "open", "label"]
    answer = Renderer().read(two, json.dumps(reply), plain=False)
    assert isinstance(answer, Answer)
    assert answer.text == "It was lit.\nOpen: the year\n**SUPPORTS**"
    silent = {**reply, "open": ""}
    without = {name: value for name, value in reply.items() if name != "open"}
    for said in (silent, without):
        assert Renderer().read(two, json.dumps(said), plain=False).text == "It was lit.\n**SUPPORTS**"  # type: ignore[attr-defined]
    for task in (three, two.model_copy(update={"profile": "paper"})):
        assert "open" not in schema_of(task)["properties"]
