"""Two runs side by side: settings, flips both ways, and the call at which a claim's verification parts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from redargue.analysis.run_diff import RunDiff, _paired_items, compare_runs
from redargue.backends.scripted import ScriptedBackend
from redargue.claims import Claim
from redargue.cli.app import run
from redargue.evidence import Passage
from redargue.retrieval.tools.corpus import FixedPassages
from redargue.runs.record import Record
from redargue.verifier import Verifier
from support.debates import CLAIM, QUOTE, TEXT, Script, ShelfTool, answer, script
from support.loopback import Loopback
from support.schemas import assert_published
from support.scripts import agreeing, disagreeing

OTHER = Claim(text="The lighthouse at Cape Ansel stands on sand.")


async def recorded(folder: Path, parts: Script, *, claims: Sequence[Claim] = (CLAIM,), **given: Any) -> Path:
    """A run folder of a scripted debate."""
    shelf, rounds = given.pop("passages", ()), given.pop("rounds", 3)
    tools = given.pop("tools", None) or {name: ShelfTool(name, *shelf) for name in ("corpus", "keywords")}
    with Verifier(
        backend=ScriptedBackend(parts),
        evidence=tools,
        folder=folder,
        claims=claims,
        method="tool-mad",
        settings={"debaters": ("corpus", "keywords"), "rounds": rounds},
        **given,
    ) as verifier:
        await verifier.verify_all(claims, concurrency=1)
    return folder


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


@pytest.mark.anyio
async def test_equal_runs_do_not_differ_and_nothing_is_written(tmp_path: Path) -> None:
    one = await recorded(tmp_path / "one", script())
    two = await recorded(tmp_path / "two", script())
    before = contents(one), contents(two)
    found = await compare_runs(one, two)
    assert (found.claims, found.settings, found.flips, found.differing, found.details) == (1, (), (), 0, ())
    assert (contents(one), contents(two)) == before


@pytest.mark.anyio
async def test_a_flip_names_the_first_call_with_another_reply_and_shows_both(tmp_path: Path) -> None:
    one = await recorded(tmp_path / "one", script())
    two = await recorded(tmp_path / "two", script(AnswerClaim=answer("REFUTES")), seed=7)
    found = await compare_runs(one, two)
    assert found.moves == {"SUPPORTS → REFUTES": 1}
    assert [(each.name, each.first, each.second) for each in found.settings] == [("seed", 0, 7)]
    (detail,) = found.details
    assert detail.call is not None
    assert (detail.call.name, detail.call.round, detail.call.prompt) == ("AnswerClaim", 1, ())
    assert "-label: SUPPORTS" in detail.call.outcome
    assert "+label: REFUTES" in detail.call.outcome
    assert detail.before == ()
    back = await compare_runs(two, one)
    assert back.moves == {"REFUTES → SUPPORTS": 1}


@pytest.mark.anyio
async def test_other_passages_stand_before_the_call_whose_prompt_they_changed(tmp_path: Path) -> None:
    one = await recorded(tmp_path / "one", script())
    more = (Passage(text=TEXT, title="Cape Ansel"), Passage(text="A reef is no sand.", title="Reefs", rank=2))
    two = await recorded(tmp_path / "two", script(), passages=more)
    found = await compare_runs(one, two)
    assert (found.flips, found.differing) == ((), 1)
    (detail,) = found.details
    assert ("search", "corpus") in {(each.kind, each.name) for each in detail.before}
    assert "+2. Reefs: A reef is no sand." in detail.before[0].outcome
    assert detail.call is not None
    assert detail.call.name == "AnswerClaim"
    assert "+A reef is no sand." in detail.call.prompt
    assert detail.call.outcome == ()
    assert detail.reply is None


@pytest.mark.anyio
async def test_a_step_that_only_one_run_has_says_so(tmp_path: Path) -> None:
    one = await recorded(tmp_path / "one", script())
    two = await recorded(tmp_path / "two", script(AnswerClaim=answer("SUPPORTS", "Nowhere said.")))
    (detail,) = (await compare_runs(one, two)).details
    assert detail.call is not None
    assert f"-quotes 1: {QUOTE}" in detail.call.outcome
    short = await recorded(tmp_path / "short", script(AnswerClaim=answer("SUPPORTS", "Nowhere said.")), rounds=1)
    (detail,) = (await compare_runs(short, two)).details
    assert detail.call is not None
    assert (detail.call.missing, detail.call.name, detail.call.round) == ("first", "RewriteQuery", 2)


@pytest.mark.anyio
async def test_claims_are_matched_by_text_and_the_rest_is_counted(tmp_path: Path) -> None:
    one = await recorded(tmp_path / "one", script(), claims=(CLAIM, OTHER, CLAIM))
    two = await recorded(tmp_path / "two", script(), claims=(OTHER, CLAIM))
    found = await compare_runs(one, two)
    assert (found.claims, found.only_first, found.only_second, found.flips) == (2, 1, 0, ())


@pytest.mark.anyio
async def test_claims_with_one_text_are_matched_by_their_passages_and_contexts(tmp_path: Path) -> None:
    folders = (tmp_path / str(number) for number in itertools.count())

    async def paired(*orders: Sequence[tuple[Claim, str]]) -> list[tuple[int, int]]:
        records = []
        for rows, folder in zip(orders, folders, strict=False):
            passages = [(Passage(text=text),) for _, text in rows]
            tools = {name: FixedPassages(passages, name=name) for name in ("corpus", "keywords")}
            await recorded(folder, script(), claims=[claim for claim, _ in rows], tools=tools)
            records.append(Record(folder, mode="replay"))
        return _paired_items((records[0], records[1]))

    other_text = "A reef is no sand."
    rows = [(CLAIM, TEXT), (CLAIM, other_text), (OTHER, TEXT)]
    assert await paired(rows, rows[::-1]) == [(0, 2), (1, 1), (2, 0)]
    rows = [(CLAIM, TEXT), (CLAIM.model_copy(update={"context": "Of the old tower."}), TEXT)]
    assert await paired(rows, rows[::-1]) == [(0, 1), (1, 0)]
    assert await paired([(CLAIM, TEXT)] * 2, [(CLAIM, other_text)] * 2) == [(0, 0), (1, 1)]


@pytest.mark.slow
def test_errors_are_outcomes_too_and_the_command_says_where_runs_part(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "claims.txt"
    file.write_text("The Ritz in London opened in 1926.\nFred Perry was left-handed.\n")
    check = [
        "check",
        str(file),
        "--store",
        "starter",
        "--method",
        "tool-mad",
        "--rounds",
        "1",
        "--concurrency",
        "1",
        "-q",
    ]
    assert run([*check, "--run", "whole"]) == 0
    assert run([*check, "--run", "cut", "--budget", "7calls", "--top-k", "1"]) == 4
    capfd.readouterr()
    assert run(["diff", "whole", "cut", "--json"]) == 0
    found = RunDiff.model_validate_json(capfd.readouterr().out)
    assert found.moves == {"NOT ENOUGH INFO → error BudgetReached": 1}
    assert [each.name for each in found.settings] == ["settings.top_k"]
    assert found.details[0].claim == "Fred Perry was left-handed."
    assert "not every prompt" in found.details[0].note
    assert found.differing == 2
    assert run(["diff", "whole", "cut", "--most", "1"]) == 0
    out = capfd.readouterr().out
    for said in ("settings.top_k: 3 → 1", "1 of 2 flipped", "NOT ENOUGH INFO → error BudgetReached", "--most 2"):
        assert said in out


def test_of_two_methods_the_labels_come_first_and_settings_of_one_are_counted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for method in ("single-reader", "tool-mad"):
        assert run(["check", "Bees are insects.", "--store", "starter", "-q", "--method", method, "--run", method]) == 0
    capfd.readouterr()
    assert run(["diff", "single-reader", "tool-mad"]) == 0
    out = capfd.readouterr().out
    assert out.index("labels: 0 of 1 flipped") < out.index("settings that differ:")
    assert '  method: "single-reader" → "tool-mad"' in out
    assert "that only one of the runs has (--json)" in out
    assert "settings.rounds" not in out


@pytest.mark.slow
def test_a_language_models_prompts_are_written_again_and_compared(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    models = ["--model", "for-x", "--model", "keywords=against-x"]
    check = [
        "check",
        "The bridge at Orvell was opened in 1889.",
        "--store",
        "starter",
        "--method",
        "tool-mad",
        "-q",
        *models,
    ]
    with Loopback(agreeing) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        assert run([*check, "--run", "one"]) == 0
        server.script = disagreeing
        assert run([*check, "--run", "two", "--top-k", "1"]) == 0
        asked = server.counts.requests["chat"]
        capfd.readouterr()
        assert run(["diff", "one", "two", "--json"]) == 0
        assert server.counts.requests["chat"] == asked
    (detail,) = RunDiff.model_validate_json(capfd.readouterr().out).details
    assert detail.note == ""
    assert detail.call is not None
    assert detail.call.name == "AnswerClaim"
    assert any(line.startswith("-<data>") for line in detail.call.prompt)


@pytest.mark.parametrize("folder", ["nowhere", "empty", "other"])
def test_a_folder_that_is_no_run_is_exit_2(folder: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "run.json").write_text("{}")
    assert run(["diff", folder, folder]) == 2
    assert "run" in capfd.readouterr().err
    assert not (tmp_path / "nowhere").exists()


def test_the_schema_is_the_published_one() -> None:
    assert_published("diff.v1", RunDiff)
