"""Forms in which models say that something is open, hedge a label, or quote: read right, or asked for again."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from redargue.claims import AVERITEC, FEVER, TWO, Claim, LabelSet
from redargue.evidence import Passage
from redargue.llm.parsing import with_all_quotations
from redargue.llm.rendering import Renderer
from redargue.methods.mermaid.tasks import NextStep
from redargue.methods.verdict_parts import why_unquoted
from redargue.tasks.answer import Answer, AnswerClaim

TEXT = "The lighthouse at Cape Ansel was first lit in 1871. Its keeper, Ida Holm, burned rape oil until 1902."
PASSAGE = Passage(text=TEXT, title="Cape Ansel", url="https://lights.example/ansel")
ASKED = "asked again"

OPEN = (
    "Not enough info.",
    "not_enough_info",
    "NOT-ENOUGH-INFO",
    "Not Enough Information",
    "Not enough evidence",
    "Insufficient evidence",
    "insufficient information",
    "The evidence is insufficient.",
    "Inconclusive",
    "Undetermined",
    "Unverifiable",
    "Cannot be determined",
    "It cannot be verified from the documents.",
    "Neither supported nor refuted",
    "Neither true nor false",
    "Unknown",
    "Unclear",
    "The documents do not say.",
    "No evidence supports it and none refutes it.",
    "Not supported by the documents, but not refuted either",
)
HEDGED = (
    "Seems true",
    "Appears to be false",
    "Tends to be true",
    "True with caveats",
    "True, but only in part",
    "False in part",
    "SUPPORTS (with low confidence)",
    "REFUTES (tentatively)",
    "Leaning SUPPORTS",
    "leans false",
    "Presumably true",
    "Arguably false",
    "Probably SUPPORTS",
    "Plausibly true",
    "More true than false",
    "True or at least not contradicted",
    "I would guess true",
    "SUPPORTS?",
    "weakly supported",
    "Close to true",
)
FIRST = "The lighthouse at Cape Ansel was first lit in 1871."
QUOTED: tuple[Any, ...] = (
    [f"D1: {FIRST}"],
    [f"[D1] {FIRST}"],
    [f"(1) {FIRST}"],
    [f"{FIRST} [1]"],
    [f"{FIRST} (Document 1)"],
    [f"“{FIRST}”"],
    [f"«{FIRST}»"],
    [f"'{FIRST}'"],
    [f"> {FIRST}"],
    [f"**{FIRST}**"],
    [f'Source 1 states: "{FIRST}"'],
    [f"Cape Ansel: {FIRST}"],
    [f"Cape Ansel — “{FIRST}”"],
    ["… lighthouse at Cape Ansel was first lit in 1871 …"],
    ["The lighthouse at Cape Ansel […] first lit in 1871."],
    FIRST,
    {"document": 1, "text": FIRST},
    [{"source": "[1]", "quotation": FIRST}],
    [{"id": 1, "content": FIRST}],
    None,
)
CLAIMS = {labels.name: Claim(text="The light was lit in 1871.", labels=labels) for labels in (FEVER, AVERITEC, TWO)}


def read(task: Any, reply: dict[str, Any] | str) -> Any:
    """The answer to a task; ASKED where the reply cannot be read, and is sent back."""
    plain = isinstance(reply, str)
    text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
    try:
        return with_all_quotations(Renderer().read(task, text, plain=plain), task, text if plain else "")
    except ValueError:
        return ASKED


def labels_read(labels: LabelSet, text: str) -> dict[str, str | None]:
    """The label that each reader takes from a text: of a field, of the last line, and of a step."""
    claim = CLAIMS[labels.name]
    answer, step = AnswerClaim(claim=claim, passages=(PASSAGE,)), NextStep(claim=claim)
    replies: dict[str, tuple[Any, dict[str, Any] | str]] = {
        "field": (answer, {"reasoning": "r", "quotes": [FIRST], "label": text}),
        "line": (answer, f"The register was read.\n{text}"),
        "bold": (answer, f"The register was read.\n**{text}**"),
        "step": (step, {"thought": "t", "tool": "", "reason": "", "input": "", "answer": text, "quotes": [FIRST]}),
    }
    found = {name: read(task, reply) for name, (task, reply) in replies.items()}
    return {
        name: answer if answer == ASKED else answer.label if isinstance(answer, Answer) else answer.answer
        for name, answer in found.items()
    }


@pytest.mark.parametrize("labels", [FEVER, AVERITEC, TWO], ids=lambda labels: str(labels.name))
@pytest.mark.parametrize("text", [*OPEN, *HEDGED])
def test_what_is_open_or_hedged_is_never_one_of_the_sides(text: str, labels: LabelSet) -> None:
    open_ = {"fever": "NOT ENOUGH INFO", "averitec": "Not Enough Evidence"}.get(labels.name, ASKED)
    assert set(labels_read(labels, text).values()) <= {open_, ASKED}


def test_plain_words_for_what_is_open_are_not_asked_for_again() -> None:
    counts = Counter(labels_read(FEVER, text)["field"] for text in OPEN)
    assert counts["NOT ENOUGH INFO"] >= 8
    assert set(counts) == {"NOT ENOUGH INFO", ASKED}


@pytest.mark.parametrize("given", QUOTED, ids=str)
def test_a_quotation_is_found_in_the_form_in_which_it_is_given(given: Any) -> None:
    task = AnswerClaim(claim=CLAIMS["fever"], passages=(PASSAGE,))
    reasoning = f'Document 1 says "{FIRST}"' if given is None else "The register says so."
    answer = read(task, {"reasoning": reasoning, "quotes": given, "label": "SUPPORTS"})
    assert answer != ASKED
    assert why_unquoted(answer.quotes, (PASSAGE,)) == ""


@pytest.mark.parametrize("marks", ["„%s“", "„%s”", "« %s »", "»%s«", "“%s”"])
def test_quotation_marks_of_several_languages_are_read_in_running_text(marks: str) -> None:
    task = AnswerClaim(claim=CLAIMS["fever"], passages=(PASSAGE,))
    said = f"Document 1: {marks % FIRST}"
    for reply in ({"reasoning": said, "quotes": [], "label": "SUPPORTS"}, f"{said}\n**SUPPORTS**"):
        answer = read(task, reply)
        assert answer != ASKED
        assert answer.quotes == (FIRST,)


@pytest.mark.parametrize("given", QUOTED[:15], ids=str)
def test_other_words_in_the_same_form_are_not_found(given: list[str]) -> None:
    other = [text.replace("1871", "1875") for text in given]
    assert why_unquoted(other, (PASSAGE,)) == "no quotation was found in the documents"
