"""Recordings of earlier releases replay: as they are, and after every key of a question has changed."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path
from typing import Any

import pytest

from redargue import replay
from redargue.analysis.run_diff import compare_runs
from redargue.claims import Claim
from redargue.cli.app import run
from redargue.errors import ReplayMiss
from redargue.events import Event, canonical
from redargue.nli import session
from redargue.run import Run
from redargue.runs.record import Record, read_events
from redargue.tasks.answer import AnswerClaim
from redargue.tasks.base import AnyTask
from redargue.verifier import Verifier

pytestmark = pytest.mark.anyio

RECORDINGS = sorted((Path(__file__).parent / "recordings").glob("*/*.tar.xz"))
FEW = [path for path in RECORDINGS if path.name.startswith(("tool-mad-hardened", "mermaid-paper", "text-"))]


def named(path: Path) -> str:
    return f"{path.parent.name}-{path.name.removesuffix('.tar.xz')}"


def unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as packed:
        packed.extractall(folder / named(archive), filter="data")
    return folder / named(archive)


def recording(name: str) -> Path:
    (path,) = (path for path in RECORDINGS if path.name == f"{name}.tar.xz")
    return path


@pytest.fixture
def other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every question has another key than the release that made the recordings gave it."""
    key = Run._key
    monkeypatch.setattr(Run, "_key", lambda self, *parts: key(self, "changed", *parts))


def reword(task: type[AnyTask], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "instructions", "Think twice.")


async def assert_replays(folder: Path) -> Record:
    """Replays a recording, compares every verdict and event, and returns the record."""
    record, seen = Record(folder, mode="replay"), list[Event]()
    verdicts = await replay(record, listeners=[seen.append])
    assert verdicts == list(record.verdicts().values())
    replayed = {event.item for event in seen}
    assert canonical(seen) == canonical(event for event in read_events(folder) if event.item in replayed)
    return record


def test_every_kind_of_method_is_recorded() -> None:
    assert len(RECORDINGS) >= 20
    assert sum(path.stat().st_size for path in RECORDINGS) < 1_500_000


@pytest.mark.parametrize("archive", RECORDINGS, ids=named)
async def test_a_recording_replays_to_its_verdicts_and_events(archive: Path, tmp_path: Path) -> None:
    await assert_replays(unpacked(archive, tmp_path))


@pytest.mark.usefixtures("other_keys")
@pytest.mark.parametrize("archive", RECORDINGS, ids=named)
async def test_a_recording_replays_after_every_key_has_changed(archive: Path, tmp_path: Path) -> None:
    record = await assert_replays(unpacked(archive, tmp_path))
    assert sum(record.matched.values()) > 0 or all(verdict.error for verdict in record.verdicts().values())


async def test_a_reworded_task_is_matched_by_position(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = unpacked(recording("tool-mad-hardened-chat"), tmp_path)
    reword(AnswerClaim, monkeypatch)
    record = await assert_replays(folder)
    asked = [event for event in read_events(folder) if event.kind == "call_finished" and event.task == "AnswerClaim"]
    assert sum(record.matched.values()) >= len(asked) > 0


async def test_a_current_recording_is_never_matched_by_position(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, claim = tmp_path / "run", Claim(text="Bees are insects.")
    with Verifier(backend="embedded", store="starter", folder=folder, claims=[claim]) as verifier:
        await verifier.verify(claim)
    await assert_replays(folder)
    reword(AnswerClaim, monkeypatch)
    with pytest.raises(ReplayMiss, match="the record does not contain AnswerClaim"):
        await replay(folder)


async def test_a_replay_of_an_embedded_run_needs_no_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*given: Any, **options: Any) -> None:
        raise AssertionError("a replay loaded a model")

    monkeypatch.setattr(session.Session, "__init__", missing)
    monkeypatch.setattr(session, "WEIGHTS", tmp_path)
    monkeypatch.setattr("redargue.nli.backend.WEIGHTS", tmp_path)  # without a manifest: no identity either
    await assert_replays(unpacked(recording("tool-mad-hardened-embedded"), tmp_path))


@pytest.mark.usefixtures("other_keys")
def test_the_command_says_how_many_answers_were_matched_by_position(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["replay", str(unpacked(recording("one-reader-hardened-chat"), tmp_path)), "-q"]) == 0
    said = capsys.readouterr().err
    assert "every event is as recorded" in said
    assert re.search(r"matched by position: [1-9]\d* of the recorded answers", said)


@pytest.mark.parametrize("archive", FEW, ids=named)
def test_a_recording_can_be_reported_on(archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(unpacked(archive, tmp_path))
    assert run(["report", folder]) == 0
    assert run(["report", folder, "-f", "json"]) == 0
    assert "Moon" in capsys.readouterr().out


def test_a_verdict_of_other_weights_is_not_explained_by_these(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["why", str(unpacked(recording("nli-hardened-embedded"), tmp_path)), "--json"]) == 2
    assert "verify the claim again, and explain the new run" in capsys.readouterr().err


@pytest.mark.usefixtures("other_keys")
async def test_two_recordings_can_be_compared_with_their_prompts(tmp_path: Path) -> None:
    folders = [unpacked(recording(f"tool-mad-{profile}-chat"), tmp_path) for profile in ("hardened", "paper")]
    diff = await compare_runs(*folders)
    assert diff.claims == 1
    assert diff.details[0].note == ""
    assert diff.details[0].call is not None
    assert diff.details[0].call.prompt
