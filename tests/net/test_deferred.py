"""Requests through a provider's batches: what is sent, what is resumed, what is sent again, what is said."""

from __future__ import annotations

import asyncio
import errno
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import httpx2
import pytest

from redargue.assembly import Parts
from redargue.cli.app import run
from redargue.net.deferred import DEFERRED_FILE, PATH, BatchTransport, Sent, SentBatch, _answers
from redargue.net.transport import Service
from redargue.runs.budget import Receipt
from redargue.spec import RunSpec
from redargue.verdicts import Verdict
from redargue.verifier import Verifier
from support.batch_provider import Answered, BatchProvider
from support.loopback import Loopback
from support.scripts import agreeing

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
CLAIMS = [f"The bridge at Orvell was opened in {year}." for year in (1889, 1890, 1891)]


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchProvider]:
    with Loopback(agreeing) as model, BatchProvider(model.url) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{running.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback-4711-abcdefgh")
        yield running


async def verified(folder: Path, claims: list[str] = CLAIMS) -> list[Verdict]:
    spec = RunSpec(model="gpt-4o-mini", method="single-reader", store="starter", settings={"tools": ("corpus",)})
    transport = BatchTransport(folder, offline=True, poll=0.02, quiet=0.05)
    texts = [spec.claim(text) for text in claims]
    parts = Parts(transport=transport)
    with Verifier(spec, parts=parts, folder=folder, claims=texts) as verifier:
        return await verifier.verify_all(texts, concurrency=len(texts))


async def test_requests_that_come_together_are_one_batch_and_none_is_sent_directly(
    provider: BatchProvider, tmp_path: Path
) -> None:
    verdicts = await verified(tmp_path / "run")
    assert [verdict.label for verdict in verdicts] == ["SUPPORTS"] * 3
    assert [batch["request_counts"]["total"] for batch in provider.batches.values()] == [3]
    assert provider.direct == 0
    assert sum(verdict.usage.prompt_tokens for verdict in verdicts) > 0


async def test_a_run_that_was_interrupted_waits_for_the_batch_that_was_sent(
    provider: BatchProvider, tmp_path: Path
) -> None:
    provider.opened.clear()
    running = asyncio.create_task(verified(tmp_path / "run"))
    while not (tmp_path / "run" / DEFERRED_FILE).is_file() or not provider.batches:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    provider.opened.set()
    assert [verdict.label for verdict in await verified(tmp_path / "run")] == ["SUPPORTS"] * 3
    assert len(provider.batches) == 1
    assert len(provider.seen) == 3


async def test_a_process_that_ended_before_it_knew_its_batch_finds_it(provider: BatchProvider, tmp_path: Path) -> None:
    await verified(tmp_path / "first")
    sent = Sent.model_validate_json((tmp_path / "first" / DEFERRED_FILE).read_bytes())
    (batch,) = sent.batches
    unknown = SentBatch(input_file=batch.input_file, keys=batch.keys)
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / DEFERRED_FILE).write_text(Sent(batches=(unknown,)).model_dump_json())
    assert [verdict.label for verdict in await verified(tmp_path / "second")] == ["SUPPORTS"] * 3
    assert len(provider.batches) == 1


@pytest.mark.parametrize("kind", ["a line fails", "a line is missing", "the batch expires"])
async def test_what_was_not_answered_is_sent_again_and_the_rest_is_not(
    provider: BatchProvider, tmp_path: Path, kind: str
) -> None:
    if kind == "a line fails":
        provider.change = lambda line, batch, answered: (
            (500, {"error": {"message": "oops"}}) if (line, batch) == (1, 0) else answered
        )
    else:
        provider.change = lambda line, batch, answered: None if (line, batch) == (1, 0) else answered
    if kind == "the batch expires":
        provider.end = lambda batch: "expired" if batch == 0 else "completed"
    assert [verdict.label for verdict in await verified(tmp_path / "run")] == ["SUPPORTS"] * 3
    assert [batch["request_counts"]["total"] for batch in provider.batches.values()] == [3, 1]


async def test_lines_end_at_line_feeds_alone_and_an_answer_is_not_replaced_by_an_error() -> None:
    def line(status: int, text: str) -> str:
        row = {"custom_id": "a", "response": {"status_code": status, "body": {"text": text}}}
        return json.dumps(row, ensure_ascii=False)

    answered = line(200, "one\u2028two\u0085three")
    for text in (answered, f"{answered}\r\n{line(500, 'oops')}\n", f"{line(500, 'oops')}\n{answered}"):
        assert [(status, json.loads(body)["text"]) for status, body in _answers(text).values()] == [
            (200, "one\u2028two\u0085three")
        ]


async def test_a_batch_without_a_status_is_an_error_and_not_waited_for(provider: BatchProvider, tmp_path: Path) -> None:
    provider.end = lambda batch: ""
    (verdict,) = await asyncio.wait_for(verified(tmp_path / "run", CLAIMS[:1]), timeout=60)
    assert verdict.error
    assert "has no status" in verdict.error.what


async def test_a_batch_whose_state_cannot_be_read_is_an_error_and_waited_for_by_the_next_run(
    provider: BatchProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("redargue.net.deferred.TRIES", 2)
    provider.down = True
    (verdict,) = await asyncio.wait_for(verified(tmp_path / "run", CLAIMS[:1]), timeout=60)
    assert verdict.label is None
    assert verdict.error
    assert "its state cannot be read: status 503" in verdict.error.what
    provider.down = False
    (verdict,) = await verified(tmp_path / "run", CLAIMS[:1])
    assert verdict.label == "SUPPORTS"
    assert len(provider.batches) == 1


async def test_a_full_disk_ends_the_requests_instead_of_leaving_them_waiting(
    provider: BatchProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("redargue.net.deferred.replacing", full)
    with pytest.raises(OSError, match="No space left"):
        await asyncio.wait_for(verified(tmp_path / "run", CLAIMS[:1]), timeout=60)


async def test_a_refused_file_and_a_failed_batch_are_errors_and_not_labels(
    provider: BatchProvider, tmp_path: Path
) -> None:
    provider.end = lambda batch: "failed"
    (verdict,) = await verified(tmp_path / "failed", CLAIMS[:1])
    assert verdict.label is None
    assert verdict.error
    assert "too many enqueued tokens" in verdict.error.what
    provider.refused = 401, {"error": {"message": "Incorrect API key provided: sk-loopback-4711-abcdefgh"}}
    (verdict,) = await verified(tmp_path / "refused", CLAIMS[:1])
    assert verdict.label is None
    assert verdict.error
    assert "4711" not in verdict.error.what + verdict.error.hint
    assert "4711" not in (tmp_path / "failed" / DEFERRED_FILE).read_text()


COMMAND = ["batch", "claims.csv", "-o", "out", "--store", "starter", "--deferred", "--model", "gpt-4o-mini"]
COMMAND += ["--method", "single-reader", "--tool", "corpus", "--poll", "0.02"]


def commanded() -> tuple[int, list[str], int]:
    """The exit code, the labels and the number of calls."""
    Path("claims.csv").write_text("claim\n" + "".join(f"{claim}\n" for claim in CLAIMS))
    code = run(COMMAND)
    verdicts = [json.loads(line) for line in Path("out/verdicts.jsonl").read_text().splitlines()]
    return code, [str(verdict["label"]) for verdict in verdicts], sum(verdict["usage"]["calls"] for verdict in verdicts)


@pytest.mark.parametrize("wrong", ["the batch fails", "a key is refused", "no reply"])
def test_the_same_command_sends_again_what_ended_in_an_error(provider: BatchProvider, wrong: str) -> None:
    refused = wrong == "a key is refused"
    said: Answered = (401, {"error": {"message": "no such key"}}) if refused else (200, {"choices": []})
    provider.change = lambda line, batch, answered: said
    provider.end = lambda batch: "failed" if wrong == "the batch fails" else "completed"
    code, labels, _ = commanded()
    assert (code > 0, labels) == (True, ["None"] * 3)
    sent = len(provider.seen)
    provider.change = lambda line, batch, answered: answered
    provider.end = lambda batch: "completed"
    code, labels, calls = commanded()
    assert (code, labels, len(provider.seen), calls) == (0, ["SUPPORTS"] * 3, sent + 3, sent + 3)


async def test_an_answer_that_an_interrupted_run_was_refused_is_asked_for_again(
    provider: BatchProvider, tmp_path: Path
) -> None:
    provider.change = lambda line, batch, answered: (401, {"error": {"message": "no such key"}})
    assert [verdict.label for verdict in await verified(tmp_path / "run")] == [None] * 3
    provider.change = lambda line, batch, answered: answered
    assert [verdict.label for verdict in await verified(tmp_path / "run")] == ["SUPPORTS"] * 3
    assert len(provider.seen) == 6


async def test_a_request_that_waits_when_a_run_is_interrupted_is_counted_once(
    provider: BatchProvider, tmp_path: Path
) -> None:
    provider.opened.clear()
    running = asyncio.create_task(verified(tmp_path / "run"))
    while not provider.batches:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    provider.opened.set()
    verdicts = await verified(tmp_path / "run")
    assert [verdict.usage.calls for verdict in verdicts] == [1] * 3
    assert sum(verdict.usage.usd or 0 for verdict in verdicts) < 0.001


async def test_a_request_takes_no_longer_with_many_that_were_sent(tmp_path: Path) -> None:
    service, url = Service(name="model", url="http://127.0.0.1:1/v1"), httpx2.URL("http://127.0.0.1:1/v1" + PATH)

    async def seconds(sent: int) -> float:
        keys = tuple(f"{number:048x}-0" for number in range(sent))
        folder = tmp_path / str(sent)
        folder.mkdir()
        batch = SentBatch(input_file="file", id="batch", keys=keys)
        (folder / DEFERRED_FILE).write_text(Sent(batches=(batch,)).model_dump_json())
        transport = BatchTransport(folder)
        bodies = [{"model": "m", "number": number} for number in range(500)]
        waiting = [transport._once(service, "POST", url, None, body, None, Receipt()) for body in bodies]
        began = time.process_time()
        asking = asyncio.gather(*waiting)
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, *transport._tasks, return_exceptions=True)
        return time.process_time() - began

    assert await seconds(100_000) < 10 * await seconds(1_000)


async def test_a_file_whose_name_cannot_be_stored_is_an_error(
    provider: BatchProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "_file", lambda headers, body: {"id": "file-\ud800"})
    (verdict,) = await verified(tmp_path / "run", CLAIMS[:1])
    assert verdict.error
    assert verdict.error.type == "ProviderError"


async def test_a_list_of_batches_that_is_none_has_no_batch_of_the_file(
    provider: BatchProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await verified(tmp_path / "first")
    sent = Sent.model_validate_json((tmp_path / "first" / DEFERRED_FILE).read_bytes())
    unknown = SentBatch(input_file="file-1", keys=sent.batches[0].keys)
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / DEFERRED_FILE).write_text(Sent(batches=(unknown,)).model_dump_json())
    get = provider.get
    monkeypatch.setattr(provider, "get", lambda path: (200, b'{"data": 5}') if path == "/v1/batches" else get(path))
    assert [verdict.label for verdict in await verified(tmp_path / "second")] == ["SUPPORTS"] * 3
    assert len(provider.seen) == 6


def test_the_command_holds_a_debate_in_batches_and_says_so(
    provider: BatchProvider, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("claims.csv").write_text("claim\n" + "".join(f"{claim}\n" for claim in CLAIMS))
    common = ["batch", "claims.csv", "-o", "out", "--store", "starter", "--deferred"]
    assert run([*common, "--method", "tool-mad", "--model", "gpt-4o-mini", "--poll", "0.02"]) == 0
    err = capfd.readouterr().err
    assert "batch_1: 6 requests sent" in err
    assert provider.direct == 0
    rows = [json.loads(line) for line in Path("out/verdicts.jsonl").read_text().splitlines()]
    assert {row["verdict"]["label"] if "verdict" in row else row["label"] for row in rows} == {"SUPPORTS"}
    assert run([*common[:2], "-o", "other", *common[4:]]) == 2
    assert "--deferred asks a language model" in capfd.readouterr().err
