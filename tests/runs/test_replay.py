"""A replay needs the prompts of its run, and neither weights nor anything else to answer with."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import redargue
from redargue import replay
from redargue.claims import Claim
from redargue.cli.app import run
from redargue.errors import ReplayMiss
from redargue.events import Event, canonical
from redargue.nli import session
from redargue.runs.record import read_events
from redargue.tasks.answer import AnswerClaim
from redargue.tasks.template import Template
from redargue.verifier import Verifier

CLAIM = Claim(text="Bees are insects.")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A debate of the embedded backend."""
    folder = tmp_path / "run"
    with Verifier(backend="embedded", store="starter", folder=folder, claims=[CLAIM]) as verifier:
        asyncio.run(verifier.verify(CLAIM))
    return folder


@pytest.mark.anyio
async def test_after_a_prompt_has_changed_a_replay_names_the_task(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Template("[instructions]\nThink twice.\n[input]\n{claim}")
    monkeypatch.setattr(AnswerClaim, "template", classmethod(lambda kind, profile: other))
    with pytest.raises(ReplayMiss, match="the record does not contain AnswerClaim"):
        await replay(recorded)


@pytest.mark.anyio
async def test_the_folder_of_a_run_may_be_a_text_in_every_function(tmp_path: Path) -> None:
    options: dict[str, Any] = {"backend": "embedded", "store": "starter", "offline": True}
    await redargue.verify(CLAIM, folder=str(tmp_path / "claim"), **options)
    assert [verdict.claim for verdict in await replay(str(tmp_path / "claim"))] == [CLAIM]
    for _ in range(2):  # the second resumes
        await redargue.ground(CLAIM.text, contexts=[CLAIM.text], folder=str(tmp_path / "text"))
    (tmp_path / "bees.md").write_text("Bees are insects.\n")
    cited: dict[str, Any] = {"files": str(tmp_path), "folder": str(tmp_path / "cited"), "offline": True}
    report = await redargue.verify_citations("Bees are insects ([bees](bees.md)).", **cited)
    assert [claim.citation.outcome for claim in report.claims if claim.citation] == ["supports"]


@pytest.mark.anyio
async def test_a_replay_of_an_embedded_run_needs_no_weights(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*given: Any, **options: Any) -> None:
        raise AssertionError("a replay loaded a model")

    monkeypatch.setattr(session.Session, "__init__", missing)
    monkeypatch.setattr(session, "WEIGHTS_FOLDER", tmp_path)
    monkeypatch.setattr("redargue.nli.backend.WEIGHTS", tmp_path)  # without a manifest: no identity either
    seen: list[Event] = []
    await replay(recorded, listeners=[seen.append])
    assert canonical(seen) == canonical(read_events(recorded))


def test_a_verdict_of_other_weights_is_not_explained_by_these(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    described = recorded / "run.json"
    described.write_text(described.read_text().replace('"identity": "', '"identity": "other-'))
    assert run(["why", str(recorded), "--json"]) == 2
    assert "verify the claim again, and explain the new run" in capsys.readouterr().err


def _by(release: str, folder: Path, *, form: int | None = None) -> None:
    described = json.loads((folder / "run.json").read_text()) | {"redargue": release}
    (folder / "run.json").write_text(json.dumps(described | ({"format": form} if form else {})))


def test_a_run_of_another_release_says_which_made_it_and_replays_it(
    recorded: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _by("0.1.0", recorded)
    assert run(["replay", str(recorded), "-q"]) == 0  # what has not changed is replayed
    other = Template("[instructions]\nThink twice.\n[input]\n{claim}")
    monkeypatch.setattr(AnswerClaim, "template", classmethod(lambda kind, profile: other))
    assert run(["replay", str(recorded), "-q"]) == 2
    said = capsys.readouterr().err
    assert "redargue 0.1.0 recorded the run and replays it" in said
    assert f"this is redargue {redargue.__version__}" in said
    _by(redargue.__version__, recorded)
    assert run(["replay", str(recorded), "-q"]) == 2
    assert "have changed since" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("release", "said"),
    [
        ("0.1.0", "redargue 0.1.0 recorded the run and replays it"),
        ("1; rm -rf ~", "use the release that recorded the run"),
        ("", "use the release that recorded the run"),
    ],
)
def test_a_run_in_another_format_says_which_release_made_it_and_repeats_nothing_else(
    recorded: Path, capsys: pytest.CaptureFixture[str], release: str, said: str
) -> None:
    _by(release, recorded, form=2)
    assert run(["replay", str(recorded)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "has the format '2'" in error
    assert "rm -rf" not in error
