"""What every hardened prompt of every method has, and has not."""

from __future__ import annotations

import re

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


def shown(method: str, claim: str | Claim = CLAIM) -> list[ShownPrompt]:
    return preview(RunSpec(method=method, profile="hardened"), claim)


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
