"""Which evidence a recorded verdict stands on: found without a model, bounded with one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redargue.analysis.commands import searched
from redargue.analysis.counterfactual import Counterfactual, RecordedClaim, find_counterfactual
from redargue.assembly import Parts
from redargue.backends.scripted import ScriptedBackend
from redargue.claims import Claim
from redargue.cli.app import run
from redargue.errors import RecordError
from redargue.evidence import Passage
from redargue.retrieval.tools.corpus import FixedPassages
from redargue.spec import RunSpec
from redargue.tasks.answer import AnswerClaim
from redargue.verifier import Verifier
from support.debates import CLAIM, QUOTE, TEXT, Script, ShelfTool, answer, script
from support.loopback import Ask, Loopback
from support.schemas import assert_published
from support.scripts import Said, agreeing, disagreeing

RITZ = "The Ritz in London opened in 1926."
SHELF = tuple(
    Passage(text=text, title=title, url=f"https://example.org/{title}", publisher="The Harbour Office", rank=rank)
    for rank, (title, text) in enumerate((("fog", "Fog is wet."), ("lamp", TEXT), ("log", f"The log: {QUOTE}")), 1)
)


def reads(*needles: str) -> Script:
    """Debaters who support the claim where a document holds one of these, and refute it elsewhere."""

    def said(task: AnswerClaim, call: Any) -> Any:
        seen = [each.text for each in task.passages if any(needle in each.text for needle in needles)]
        return answer("SUPPORTS", QUOTE) if seen else answer("REFUTES", task.passages[0].text if task.passages else "-")

    return script(AnswerClaim=said)


async def asked(
    folder: Path, parts: Script, again: Script | None = None, most: int = 60, profile: str = "hardened"
) -> Counterfactual:
    """A scripted debate, recorded, and what its verdict stands on."""
    tools = {name: ShelfTool(name, *SHELF) for name in ("corpus", "keywords")}
    made: dict[str, Any] = {
        "backend": ScriptedBackend(parts),
        "method": "tool-mad",
        "settings": {"debaters": ("corpus", "keywords")},
    }
    with Verifier(**made, profile=profile, evidence=tools, folder=folder, claims=[CLAIM]) as verifier:
        await verifier.verify(CLAIM)
    recorded = RecordedClaim(folder)
    with recorded.verifier(backend=ScriptedBackend(again or parts)) as verifier:
        return await find_counterfactual(recorded, verifier, most=most)


@pytest.mark.anyio
async def test_one_passage_that_carries_the_verdict_is_found_first(tmp_path: Path) -> None:
    found = await asked(tmp_path / "run", reads("granite"))
    assert (found.before, found.after, found.how) == ("SUPPORTS", "REFUTES", "smallest")
    assert [each.passage.title for each in found.taken] == ["lamp"]
    assert found.taken[0].quoted == (QUOTE,)
    assert (found.verifications, found.evidence) == (2, 3)  # quoted passages are tried first


@pytest.mark.anyio
async def test_two_passages_that_say_the_same_are_found_together(tmp_path: Path) -> None:
    found = await asked(tmp_path / "run", reads(QUOTE))
    assert {each.passage.title for each in found.taken} == {"lamp", "log"}
    assert found.how == "smallest"
    assert searched(found) == "smallest: every smaller set was tried, and none flips the verdict"
    assert (found.after, found.without_all) == ("REFUTES", "NOT ENOUGH INFO")  # nothing is left to quote


@pytest.mark.anyio
async def test_a_verdict_without_regard_to_evidence_has_no_set(tmp_path: Path) -> None:
    found = await asked(tmp_path / "run", script(JudgeDebate=answer("SUPPORTS")), profile="paper")
    assert (found.taken, found.how, found.after) == ((), "none", None)
    assert "nor does removing all evidence" in searched(found)


@pytest.mark.anyio
async def test_a_verdict_on_whole_evidence_is_verified_again_with_all_of_it(tmp_path: Path) -> None:
    shelf = [Passage(text=f"Sentence {number} is about fog.", document=f"d{number}") for number in range(20)]
    tool = FixedPassages([[*shelf, Passage(text=TEXT, document="lamp")]], name="documents", whole=True)
    spec, parts = RunSpec(offline=True, tools=("documents",)), Parts(evidence={"documents": tool})
    with Verifier(spec, parts=parts, folder=tmp_path / "run", claims=[CLAIM]) as verifier:
        verdict = await verifier.verify(CLAIM)
    recorded = RecordedClaim(tmp_path / "run")
    with recorded.verifier(offline=True) as verifier:
        found = await find_counterfactual(recorded, verifier, most=3)
    assert (found.evidence, found.before) == (21, verdict.label)


@pytest.mark.anyio
async def test_the_bound_ends_the_search_and_is_said(tmp_path: Path) -> None:
    found = await asked(tmp_path / "run", reads(QUOTE), most=3)
    assert (found.how, found.verifications, found.error) == ("none", 3, None)
    assert "ended after 3 verifications" in searched(found)


@pytest.mark.anyio
async def test_a_claim_that_does_not_come_out_as_recorded_shows_nothing(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="gets the label 'REFUTES' instead of 'SUPPORTS'"):
        await asked(tmp_path / "run", reads(QUOTE), again=reads("nothing"))


@pytest.mark.slow
def test_the_command_names_the_passages_and_writes_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "claims.txt"
    file.write_text(f"{RITZ}\nFred Perry was left-handed.\n")
    assert (
        run(["check", str(file), "--store", "starter", "--method", "tool-mad", "--rounds", "1", "-q", "--run", "run"])
        == 0
    )
    before = {path.name: path.read_bytes() for path in Path("run").iterdir()}
    capfd.readouterr()
    assert run(["why", "run", "--item", "1", "--json"]) == 0
    out, err = capfd.readouterr()
    found = Counterfactual.model_validate_json(out)
    assert (found.before, found.after, found.how) == ("REFUTES", "NOT ENOUGH INFO", "smallest")
    assert {each.passage.title for each in found.taken} == {"The Ritz Hotel, London"}
    assert "The Swiss hotelier César Ritz opened it in May 1906." in found.taken[0].quoted
    assert "[1 of at most 60] with all evidence: Refuted" in err
    assert run(["why", "run", "--item", "1", "-q"]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    for said in (
        "Not enough evidence without this passage",
        "The Ritz Hotel, London",
        "every smaller set was tried",
    ):
        assert said in " ".join(out.split())
    assert run(["why", "run", "--item", "2", "-q"]) == 0
    assert "no set that was tried flips the verdict" in " ".join(capfd.readouterr().out.split())
    assert {path.name: path.read_bytes() for path in Path("run").iterdir()} == before


def reading(ask: Ask) -> Said:
    """For the claim where the prompt holds what the Ritz's page says; against it elsewhere."""
    return agreeing(ask) if "César Ritz" in ask.user else disagreeing(replace(ask, model="against"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with Loopback(reading) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{running.url}/v1")
        check = [
            "check",
            RITZ,
            "--store",
            "starter",
            "--method",
            "tool-mad",
            "--rounds",
            "1",
            "-q",
            "--model",
            "gpt-4o-mini",
        ]
        assert run([*check, "--set", "scoring=label_only_stop", "--run", "run"]) == 0
        yield running


def test_a_language_model_is_asked_only_after_the_estimate_and_a_yes_or_a_budget(
    server: Loopback, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = server.counts.requests["chat"]
    capfd.readouterr()
    assert run(["why", "run"]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert "at most 60 verifications; calls, low / likely / high:" in err
    assert "--yes" in err
    assert server.counts.requests["chat"] == asked
    assert run(["why", "run", "--yes", "--json"]) == 0
    out, err = capfd.readouterr()
    found = Counterfactual.model_validate_json(out)
    assert (found.before, found.after, found.how) == ("SUPPORTS", "REFUTES", "smallest")
    assert server.counts.requests["chat"] == asked + found.calls
    assert found.usd
    assert run(["why", "run", "--budget", "1calls", "--json", "-q"]) == 4
    cut = Counterfactual.model_validate_json(capfd.readouterr().out)
    assert cut.error is not None
    assert (cut.how, cut.error.type) == ("none", "BudgetReached")


def test_the_key_goes_to_no_address_that_a_run_folder_names(
    server: Loopback, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = server.counts.requests["chat"]
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert run(["why", "run", "--yes"]) == 2
    assert f"--base-url {server.url}/v1" in capfd.readouterr().err
    assert server.counts.requests["chat"] == asked


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "no run 'nowhere'"),
        (["run"], "choose one: --item 1 to 2"),
        (["run", "--item", "3"], "has no claim 3"),
        (["run", "--item", "2"], "claim 2 of 'run' has no verdict"),
        (["run", "--item", "1"], "only be verified again from Python"),
    ],
)
@pytest.mark.anyio
async def test_what_cannot_be_asked_is_exit_2(
    arguments: list[str], said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    claims = [CLAIM, Claim(text="It is lit.")]
    tools = {name: ShelfTool(name) for name in ("corpus", "keywords")}
    made = {
        "backend": ScriptedBackend(script()),
        "method": "tool-mad",
        "settings": {"debaters": ("corpus", "keywords")},
    }
    with Verifier(**made, evidence=tools, folder=tmp_path / "run", claims=claims) as verifier:  # type: ignore[arg-type]
        await verifier.verify(CLAIM)
    assert run(["why", *arguments]) == 2
    assert said in " ".join(capfd.readouterr().err.split())


def test_the_schema_is_the_published_one() -> None:
    assert_published("why.v2", Counterfactual)
