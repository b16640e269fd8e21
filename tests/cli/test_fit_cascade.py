"""``redargue bench fit-cascade`` at the command line: thresholds from labelled claims, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redargue.claims import Claim
from redargue.cli.app import run
from redargue.errors import BadReply
from redargue.methods.agent import Agent
from redargue.methods.cascade import Cascade
from redargue.methods.cascade.fit import Fit
from redargue.verdicts import Verdict

pytest.importorskip("scipy", reason="needs the extra lab")

CLAIMS = (
    ("Fred Perry was born in 1909.", "SUPPORTS"),
    ("Fred Perry was born in 1809.", "REFUTES"),
    ("Fred Perry died in 1995.", "SUPPORTS"),
)
STAGES = "cascade:stages=reader+single-reader"


def fitting(folder: Path, rows: list[dict[str, str]], *more: str, method: str = STAGES) -> list[str]:
    path = folder / "claims.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["bench", "fit-cascade", "--dataset", "table", "--path", str(path), "--method", method, "--offline"]
    return [*command, "--map", "claim=claim,label=label", "--store", "starter", "-o", str(folder / "fit"), "-q", *more]


def labelled(count: int = 3) -> list[dict[str, str]]:
    return [{"claim": claim, "label": label} for claim, label in CLAIMS[:count]]


@pytest.mark.slow
def test_few_claims_are_fitted_and_no_target_is_promised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = fitting(tmp_path, labelled(), "--json")
    assert run(command) == 0
    told = json.loads(capsys.readouterr().out)
    fit = Fit.read(Path(told["file"]))
    assert (len(fit.rows), fit.stages, {len(row) for row in fit.rows}) == (3, ("reader", "single-reader"), {2})
    assert told["thresholds"]["0.05"]["thresholds"] == [None]  # three claims bound no risk
    assert told["thresholds"]["0.05"]["guarantee"].startswith("no threshold keeps the risk at 0.05")
    assert run(command) == 0  # resumed from the folder
    out, err = capsys.readouterr()
    assert json.loads(out) == told
    # One stage may stop: 0.95 ** 67 is below 0.1 / 3, the share of each of three starting thresholds.
    assert err == "warning: 3 labelled claims: a target risk of 0.05 needs at least 67, even without an error\n"


@pytest.mark.parametrize(
    ("rows", "method", "told"),
    [
        ([{"claim": "Fred Perry died in 1995."}], STAGES, "label"),
        ([], STAGES, "claims.jsonl"),
        (labelled(1), "tool-mad", "'tool-mad' has no thresholds to fit"),
        (labelled(1), f"{STAGES},thresholds=0.9", "sets thresholds, which are fitted"),
        (labelled(1), "cascade:stages=debate+reader", "stages are some of reader, single-reader, debate"),
    ],
    ids=["no labels", "no claims", "another method", "thresholds given", "stages out of order"],
)
def test_what_cannot_be_fitted_is_said(
    rows: list[dict[str, str]], method: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(fitting(tmp_path, rows, method=method)) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "fit" / "fit.json").exists()


def test_a_threshold_for_verdicts_is_refused_because_stages_decide_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(fitting(tmp_path, labelled(1), "--min-confidence", "0.8")) == 2
    assert "leave it out: the fitted thresholds" in capsys.readouterr().err


@pytest.mark.slow
def test_one_class_is_fitted_with_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(fitting(tmp_path, [labelled(3)[0], labelled(3)[2]])) == 0
    assert "all labelled claims have the label SUPPORTS" in capsys.readouterr().err


@pytest.mark.slow
def test_claims_without_all_stages_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    check = Cascade.check

    async def failing(self: Cascade, claim: Claim, reader: Agent) -> Verdict:
        if "1809" in claim.text:
            raise BadReply("not read", raw="")
        return await check(self, claim, reader)

    monkeypatch.setattr(Cascade, "check", failing)
    assert run(fitting(tmp_path, labelled())) == 3
    assert "1 labelled claim of 3 left out: they ended in an error" in capsys.readouterr().err
