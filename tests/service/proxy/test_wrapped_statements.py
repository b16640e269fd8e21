"""No place of an answer hides a false statement: `block` and `closed` never pass it as checked."""

from __future__ import annotations

import re

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
