"""What the documentation shows works, and tests reach no network."""

from __future__ import annotations

import json
import runpy
import socket
from pathlib import Path

import pytest

import redargue
from redargue.claims import FEVER
from redargue.evidence import Side
from redargue.tasks.answer import AnswerClaim
from support.debates import QUOTE, ShelfTool, answer

ROOT = Path(__file__).parents[1]


@pytest.mark.usefixtures("own_registrations")
def test_the_documented_method_is_the_examples_and_its_verdict_carries_verified_quotations() -> None:
    source = (ROOT / "examples" / "single_question.py").read_text(encoding="utf-8")
    shown = source[source.index("class SingleQuestion") : source.index("\n\nif __name__")].rstrip()
    assert shown in (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    runpy.run_path(str(ROOT / "examples" / "single_question.py"))
    backend = redargue.ScriptedBackend({AnswerClaim: answer("SUPPORTS")})
    verdict = redargue.verify_sync(
        "Bees are insects.", method="single-question", backend=backend, evidence={"corpus": ShelfTool("corpus")}
    )
    assert verdict.label == "SUPPORTS"
    assert verdict.decided_by == "reader"
    assert [quote.text for quote in verdict.side(Side.FOR)] == [QUOTE]


def test_the_example_claims_are_about_articles_that_come_along() -> None:
    articles = ROOT / "src" / "redargue" / "retrieval" / "corpus" / "starter"
    titles = {path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for path in articles.glob("*.md")}
    rows = [json.loads(line) for line in (ROOT / "examples" / "claims.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 50
    assert {row["label"] for row in rows} == set(FEVER.names)
    assert all(set(row["titles"]) <= titles for row in rows)


def test_a_test_that_reaches_out_fails() -> None:
    with socket.socket() as reaching, pytest.raises(AssertionError, match="tests have no network"):
        reaching.connect(("192.0.2.1", 80))
