"""What every hardened prompt of every method has, and has not."""

from __future__ import annotations

import re
from typing import Any

import pytest

from redargue.claims import Claim
from redargue.estimate import CLAIM, ShownPrompt, preview
from redargue.methods.base import methods
from redargue.spec import RunSpec

SHIPPED = sorted(name for name in methods if methods[name].__module__.startswith("redargue."))
UNDATED = ("CheckStatements",)  # whether the documents say what a statement says, whenever that was
HAS_DOCUMENTS = re.compile(r"(?m)^(?:.*: )?\[\d+\]$")


def said(prompt: ShownPrompt) -> str:
    return "\n".join(message["content"] for message in prompt.messages if message["role"] != "assistant")


def shown(method: str, claim: str | Claim = CLAIM, **settings: Any) -> list[ShownPrompt]:
    return preview(RunSpec(method=method, profile="hardened", settings=settings), claim)


@pytest.mark.parametrize("method", SHIPPED)
def test_a_prompt_with_documents_says_as_of_when_they_are_read(method: str) -> None:
    as_of = Claim(text="The lighthouse at Cape Ansel was lit in 1871.", as_of="2020-01-01")
    for claim, line in ((CLAIM, "Today is 2026-01-02."), (as_of, "Judge it as of 2020-01-01.")):
        for prompt in shown(method, claim):
            if HAS_DOCUMENTS.search(said(prompt)) and prompt.task not in UNDATED:
                assert said(prompt).count(line) == 1, (prompt.task, said(prompt))


@pytest.mark.parametrize("method", SHIPPED)
def test_a_prompt_for_a_json_object_has_a_field_for_quotations_and_asks_for_no_quotation_marks(method: str) -> None:
    for prompt in shown(method):
        assert "double quotation marks" not in said(prompt), prompt.task


def judged(method: str, **settings: Any) -> str:
    """The judge's prompt."""
    return said(next(prompt for prompt in shown(method, **settings) if prompt.task == "JudgeDebate"))


@pytest.mark.parametrize(
    ("method", "settings"), [("pair", {}), ("one-pass", {}), ("tool-mad", {"debaters": ("corpus", "corpus")})]
)
def test_no_prompt_calls_the_sources_of_debaters_different(method: str, settings: dict[str, Any]) -> None:
    for prompt in shown(method, **settings):
        assert not re.search(r"different sources|with their sources", said(prompt)), prompt.task
    assert "The debaters: Debater A (" in judged(method, **settings)


def test_a_judge_of_debaters_without_documents_is_asked_for_what_it_knows() -> None:
    words = judged("tool-mad", debaters=("none", "none"))
    assert "There are no documents: answer from what you know." in words
    assert "SUPPORTS: every part of the claim is correct." in words
    assert not re.search(r"(?i)quot|faithfulness|the documents|No document was found", words)
    for debaters in (("corpus", "none"), ("corpus", "keywords")):
        words = judged("tool-mad", debaters=debaters)
        assert "Read the documents again yourself and answer from them alone" in words
        assert "There are no documents" not in words
