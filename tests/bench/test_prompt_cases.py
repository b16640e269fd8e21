"""The written cases of ``python -m benchmarks prompts``, and how their replies are counted."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from benchmarks.prompts import CASES, TASKS, Case, Replies, measure

CASES_READ = [Case(**json.loads(line)) for line in CASES.read_text(encoding="utf-8").splitlines()]


class Oracle(Replies):
    """Replies to every prompt with one text."""

    def __init__(self, reply: str) -> None:
        self.reply = reply

    def __call__(self, messages: list[dict[str, str]]) -> str:
        return self.reply


def test_sixty_cases_have_each_label_equally_often() -> None:
    labels = Counter(case.label for case in CASES_READ)
    assert labels == {"SUPPORTS": 20, "REFUTES": 20, "NOT ENOUGH INFO": 20}
    assert len({case.claim for case in CASES_READ}) == 60


def test_labels_that_follow_are_counted_and_unreadable_replies_are_not() -> None:
    always = measure("AnswerClaim", "plain", CASES_READ, Oracle("The document says so.\n**SUPPORTS**"))
    assert (always["read"], always["labels"], always["follow"]) == (60, 60, 20)
    unread = measure("AnswerClaim", "json", CASES_READ, Oracle("perhaps"))
    assert (unread["read"], unread["labels"], unread["follow"]) == (0, 0, 0)


def test_every_task_of_the_bench_is_asked_in_both_forms(tmp_path: Path) -> None:
    for name in TASKS:
        for form in ("plain", "json"):
            assert measure(name, form, CASES_READ[:1], Oracle("-"))["tokens"] > 50
