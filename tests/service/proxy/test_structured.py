"""Answers that are JSON, as models write them where an application asks for a structure."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redargue.service.proxy.structured import structure_of
from service.proxy.conftest import BRIDGE, FALSE, TRUE, Start
from service.proxy.test_failures import block_of
from service.proxy.test_stream import GIVEN, QUESTION, post
from support.chat_upstream import chat

RIGHT = json.dumps({"answer": TRUE, "sources": [1], "confidence": 0.9})


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("answer", "outcome", "reason"),
    [
        (RIGHT, "factual", ""),
        (f"```json\n{RIGHT}\n```", "factual", ""),
        (json.dumps([{"text": TRUE}, {"text": FALSE}]), "non_factual", ""),
        (json.dumps({"answer": f"{TRUE}\n\n{FALSE}"}), "non_factual", ""),
        (json.dumps({"answer": TRUE, "height_in_metres": 900}), "undecided", "structured"),
        (json.dumps({"answer": TRUE, "is_open": False}), "undecided", "structured"),
        (json.dumps({FALSE: []}), "non_factual", ""),
        (json.dumps({"height": 343}), "unchecked", "structured"),
        ("{}", "not_checkable", ""),
        (f'{{"answer": "{TRUE}", "open', "undecided", "structured"),  # cut off: no JSON, and read as any text
        (json.dumps({"answer": TRUE, "status": "米约高架桥于1998年12月通车。"}), "undecided", "structured"),
        (json.dumps({"answer": TRUE, "source": "Opened\u2800in\u28001998."}), "undecided", "structured"),
        (json.dumps({"answer": TRUE, "source": "bridges-2004.pdf"}), "factual", ""),
        (f'{TRUE}\n\n{{"opened": 1998}}', "undecided", "structured"),
        (f'{TRUE}\n\n```json\n[{{"opened": 1998}}]\n```\n', "undecided", "structured"),
        (f'{TRUE}\n\n{{\n  "opened": 1998\n}}\n\nThis is all.', "undecided", "structured"),
    ],
)
def test_the_texts_of_a_structure_are_read_and_other_values_never_pass_for_checked(
    start: Start, answer: str, outcome: str, reason: str | None, stream: bool
) -> None:
    block = block_of(post(start(chat(answer)).url, {**QUESTION, **GIVEN, "stream": stream}), stream)
    assert reason is None or (block["outcome"], block["reason"]) == (outcome, reason)
    assert block["outcome"] == outcome or (reason is None and block["outcome"] != "factual")


def test_a_right_structure_passes_block_and_a_wrong_one_does_not(start: Start) -> None:
    answers = iter([RIGHT, RIGHT.replace(TRUE, FALSE)])
    running = start(lambda asked: chat(next(answers))(asked), mode="block", block_message="Withheld.")
    sent = [post(running.url, {**QUESTION, **GIVEN}).json()["choices"][0]["message"]["content"] for _ in range(2)]
    assert sent == [RIGHT, "Withheld."]


@pytest.mark.parametrize("escaped", [True, False])
def test_offsets_are_those_of_the_sentence_in_the_structure(escaped: bool) -> None:
    value: Any = {"id": "a1", "answer": 'He said "no". The 🌉 bridge isn’t open yet.', "more": ["It rains a lot."]}
    text = json.dumps(value, ensure_ascii=escaped)
    structure = structure_of(text)
    assert structure
    assert [each.text for each in structure.sentences] == [
        'He said "no".',
        "The 🌉 bridge isn’t open yet.",
        "It rains a lot.",
    ]
    raw = [text[each.start : each.end] for each in structure.sentences]
    assert [json.loads(f'"{each}"') for each in raw] == [each.text for each in structure.sentences]
    assert structure.unread == 0


@pytest.mark.parametrize("text", ["[1] It rains.", "{not json}", "It rains.", '"It rains."', BRIDGE])
def test_what_is_no_structure_is_none(text: str) -> None:
    assert structure_of(text) is None
