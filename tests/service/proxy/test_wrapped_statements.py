"""No place of an answer hides a false statement: `block` and `closed` never pass it as checked."""

from __future__ import annotations

import re
from typing import Any

import pytest

from service.proxy.conftest import FALSE, Start
from service.proxy.test_stream import GIVEN, QUESTION, post
from support.chat_upstream import Asked, Written, chat
from support.wrapped_statements import WRAPPERS

YEAR = re.compile(r"(?<![0-9a-f])1998(?![0-9a-f])")  # of the statement; identifiers and times may have these digits


@pytest.mark.slow
def test_a_false_statement_in_any_place_of_an_answer_is_withheld(start: Start) -> None:
    texts = {name: wrapper.replace("{}", FALSE.rstrip(".")) for name, wrapper in WRAPPERS.items()}

    def answer(asked: Asked) -> Written:
        return chat(texts[asked.body["messages"][0]["content"]])(asked)

    running = start(answer, mode="block", on_failure="closed", min_supported=1.0)
    passed = []
    for name, stream in ((name, stream) for name in texts for stream in (False, True)):
        question = {**QUESTION, "messages": [{"role": "user", "content": name}], "stream": stream}
        response = post(running.url, {**question, **GIVEN})
        if YEAR.search(response.text):
            passed.append((name, stream, response.status_code))
    assert not passed, f"{len(passed)} of {2 * len(texts)}: {passed}"


def test_a_heading_that_may_state_something_has_its_own_reason(start: Start) -> None:
    running = start(chat("# Closed on Mondays since 1998"), mode="annotate")
    block = post(running.url, {**QUESTION, **GIVEN}).json()["choices"][0]["message"]["redargue"]
    assert (block["outcome"], block["reason"], block["unchecked"]) == ("unchecked", "fragment", {"fragment": 1})


@pytest.mark.parametrize(
    ("said", "answer", "reason"),
    [
        ("Is it safe?", "Yes.", "fragment"),
        ("Is it safe?", "Absolutely!", "fragment"),
        ("May I cross it?", "Yes, you can.", "fragment"),
        ("What about dogs?", "No", "fragment"),
        ("When is it open, and is it safe?", "Yes.", "fragment"),
        ("When was it opened?", "Yes.", ""),
        ("When was it opened?", "1998", "fragment"),
        ("When was it opened?", "Answer: 1998", "fragment"),
        ([{"type": "text", "text": "Where is it **available?**"}], "Worldwide", "fragment"),
        ("Is it safe?", "I don't think so.", "fragment"),
        ("Is it safe?", "Yes. What else may I do for you?", "fragment"),
        ("Is it safe?", "I don't know.", ""),
        ("Is it safe?", "I'm sorry, but I cannot help with that. Please contact our support.", ""),
        ("Is it safe?", "Which bridge do you mean?", ""),
        ("Is it safe?", "…", ""),
        ("Thank you.", "You're welcome!", ""),
    ],
)
def test_what_a_short_answer_states_is_in_the_question(start: Start, said: Any, answer: str, reason: str) -> None:
    running = start(chat(answer), mode="annotate")
    earlier = [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hello."}]
    response = post(running.url, {**QUESTION, "messages": [*earlier, {"role": "user", "content": said}], **GIVEN})
    block = response.json()["choices"][0]["message"]["redargue"]
    assert (block["outcome"], block["reason"]) == ("unchecked" if reason else "not_checkable", reason)
