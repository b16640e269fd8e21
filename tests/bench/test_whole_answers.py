"""The table of answers that were read in one pass and claim by claim."""

from __future__ import annotations

import asyncio
import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from benchmarks import pool, whole_answers
from benchmarks.whole_answers import METHODS, table

from redargue.net import transport

COST = {"claims": 2, "calls": 3, "prompt_tokens": 100}


def lines(row: int, *said: bool | None, gold: bool) -> list[dict[str, Any]]:
    return [
        {"set": "expertqa", "row": row, "method": method, "gold": gold, "said": verdict, **COST}
        for method, verdict in zip(METHODS, said, strict=False)
    ]


def test_an_answer_without_a_claim_or_with_one_reading_is_left_out_and_counted() -> None:
    read = lines(1, True, True, gold=True) + lines(2, False, True, gold=False)
    unread = lines(3, None, None, gold=False) + lines(4, False, gold=False)
    shown = table(read + unread)
    assert "| expertqa | 2 | one-pass | 1.000 | 1.000 | 2.0 | 3.0 | 100 |" in shown
    assert "one-pass alone is right on 1, single-reader on 0" in shown
    assert "Left out: 2." in shown


def test_nothing_read_is_said() -> None:
    assert table([]) == table(lines(1, None, None, gold=True)) == "no answer has been read by both methods"


def test_a_failed_check_is_reported_and_asked_again_and_a_line_cut_off_by_a_kill_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"claim": "The bridge opened in 1932.", "evidence": "The bridge opened in 1931.", "label": "NOT_SUPPORTED"}
    monkeypatch.setattr(pool, "data", lambda: tmp_path)
    monkeypatch.setattr(pool, "rows", lambda path: [row])
    monkeypatch.setattr(transport, "FAILING_TRIES", 1)  # it waits between them
    file, (whole, cut) = tmp_path / "lines.jsonl", lines(7, True, True, gold=True)
    file.write_text(f"{json.dumps(whole)}\n{json.dumps(cut)[:30]}", encoding="utf-8")
    for half in ("even", "odd"):
        asked = {"model": "none", "base_url": "http://127.0.0.1:9/v1", "rows": 1, "concurrency": 2, "half": half}
        asyncio.run(whole_answers._measured(Namespace(file=file, **asked)))
    assert capsys.readouterr().out.count("cannot be reached") == len(whole_answers.SETS) * len(METHODS)
    assert file.read_text(encoding="utf-8") == f"{json.dumps(whole)}\n"
