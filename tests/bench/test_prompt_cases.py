"""The written cases of ``python -m benchmarks prompts``, and how the replies of a model are counted and kept."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import httpx2
import pytest
from benchmarks.prompts import CASES, MAIN, TASKS, Case, Counts, measure
from benchmarks.real import KeptReplies

from redargue.errors import UsageError
from redargue.net.transport import Transport

pytestmark = pytest.mark.anyio
CASES_READ = [Case(**json.loads(line)) for line in CASES.read_text(encoding="utf-8").splitlines()]
URL = "http://127.0.0.1:9/v1"


class Model:
    """Replies to every prompt with the given texts in turn."""

    def __init__(self, *replies: str) -> None:
        self.replies, self.requests = replies, list[bytes]()

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request.content)
        text = self.replies[(len(self.requests) - 1) % len(self.replies)]
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        return httpx2.Response(200, json={"object": "chat.completion", "choices": [choice], "usage": usage})


async def counted(model: Model | None, kept: Path, name: str, form: str, cases: int = 60) -> Counts:
    inner = httpx2.MockTransport(model.answer) if model else None
    async with Transport(inner=KeptReplies(kept, inner, model="written"), patience=0.0) as transport:
        return await measure(name, form, CASES_READ[:cases], transport, URL)


def test_sixty_cases_have_each_label_equally_often() -> None:
    labels = Counter(case.label for case in CASES_READ)
    assert labels == {"SUPPORTS": 20, "REFUTES": 20, "NOT ENOUGH INFO": 20}
    assert len({case.claim for case in CASES_READ}) == 60


async def test_labels_that_follow_are_counted_and_unreadable_replies_are_lost(tmp_path: Path) -> None:
    always = await counted(Model("The document says so.\n**SUPPORTS**"), tmp_path / "a.jsonl", "AnswerClaim", "plain")
    assert always.read + always.repaired == 60
    assert always.lost == 0
    unread = await counted(Model("perhaps"), tmp_path / "b.jsonl", "AnswerClaim", "json")
    assert (unread.read, unread.lost, unread.follow) == (0, 60, 0)
    assert unread.unread


async def test_a_reply_that_is_mended_is_counted_as_repaired(tmp_path: Path) -> None:
    model = Model("{", json.dumps({"query": "the bridge"}))
    mended = await counted(model, tmp_path / "a.jsonl", "WriteQuery", "json", 3)
    assert (mended.read, mended.repaired, mended.lost, mended.follow) == (0, 3, 0, None)
    assert mended.tokens == 200


async def test_kept_replies_are_counted_again_without_the_model(tmp_path: Path) -> None:
    model = Model(json.dumps({"query": "the bridge"}))
    first = await counted(model, tmp_path / "a.jsonl", "WriteQuery", "json", 3)
    asked = len(model.requests)
    assert await counted(model, tmp_path / "a.jsonl", "WriteQuery", "json", 3) == first
    assert len(model.requests) == asked
    assert await counted(None, tmp_path / "a.jsonl", "WriteQuery", "json", 3) == first


async def test_a_file_with_replies_of_another_model_is_refused(tmp_path: Path) -> None:
    kept, inner = tmp_path / "a.jsonl", httpx2.MockTransport(Model("-").answer)
    await counted(Model("-"), kept, "WriteQuery", "json", 1)
    KeptReplies(kept, inner, model="written")
    with pytest.raises(UsageError, match=r"replies of \['written'\], not of 'other.gguf'"):
        KeptReplies(kept, inner, model="other.gguf")


async def test_every_task_is_asked_in_every_form(tmp_path: Path) -> None:
    assert set(MAIN.split(",")) <= set(TASKS)
    for name in TASKS:
        for form in ("plain", "json", "schema"):
            assert (await counted(Model("-"), tmp_path / "kept.jsonl", name, form, 1)).cases == 1
