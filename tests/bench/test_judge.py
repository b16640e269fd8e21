"""A judge against human labels: figures worked by hand, and what a file can lack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redargue.bench.judge import JudgeCalibration, JudgedItem, calibrate
from redargue.bench.metrics.classification import confusion
from redargue.bench.statistics import cohen_kappa, wilson
from redargue.cli.app import run
from redargue.errors import UsageError

pytest.importorskip("scipy", reason="needs the extra lab")


def items(**counts: int) -> list[JudgedItem]:
    """``pass_fail=3``: three items that people pass and the judge fails."""
    return [JudgedItem(name.split("_")[1], name.split("_")[0]) for name, count in counts.items() for _ in range(count)]


FORTY = items(pass_pass=24, pass_fail=4, fail_fail=6, fail_pass=6)


def bounds(name: str, count: int, n: int) -> list[float]:
    share = wilson(name, count, n)
    return [value for value in (share.value, share.low, share.high) if value is not None]


def test_wilsons_interval_worked_by_hand_has_width_at_the_ends() -> None:
    assert bounds("share", 8, 10) == pytest.approx([0.8, 0.4902, 0.9433], abs=1e-4)
    assert bounds("share", 0, 20) == pytest.approx([0, 0, 0.1611], abs=1e-4)
    assert wilson("share", 0, 0).undefined == "no items"
    with pytest.raises(UsageError, match="3 of 2 is not a share"):
        wilson("share", 3, 2)


def test_kappa_worked_by_hand_and_undefined_for_one_label() -> None:
    gold, said = [item.human for item in FORTY], [item.judge for item in FORTY]
    matrix = confusion(gold, said, labels=("fail", "pass"))
    chance = (12 * 10 + 28 * 30) / 40**2
    assert cohen_kappa(matrix).value == pytest.approx((30 / 40 - chance) / (1 - chance))
    one = confusion(["pass"] * 4, ["pass"] * 4, labels=("pass",))
    assert "one label throughout" in cohen_kappa(one).undefined


def test_the_judge_stands_beside_the_constant_one_with_its_rates_by_label() -> None:
    found = calibrate(FORTY)
    assert (found.accuracy.value, found.constant.value, found.constant_label) == (0.75, 0.7, "pass")
    rates = {each.label: (each.base.value, each.recall.value, each.precision.value) for each in found.labels}
    assert rates == {"fail": (0.3, 0.5, 0.6), "pass": (0.7, 24 / 28, 0.8)}
    assert found.caveats == ()
    assert found.errors == ()


def test_errors_are_counted_by_kind_and_confidences_are_scored() -> None:
    rows = [item._replace(kind="code" if at % 2 else "math", confidence=0.75) for at, item in enumerate(FORTY)]
    found = calibrate(rows)
    assert [(error.name, error.n) for error in found.errors] == [("code", 20), ("math", 20)]
    assert sum((error.value or 0) * error.n for error in found.errors) == pytest.approx(10)
    assert {figure.name: figure.value for figure in found.confidence} == pytest.approx(
        {"calibration-error": 0, "brier": 0.1875}
    )


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (FORTY[:20] + FORTY[-9:], "29 items: below 30"),
        ([*FORTY, JudgedItem(None, "pass")], "Items without a verdict, which count as wrong: 1."),
        ([*FORTY, JudgedItem("maybe", "pass")], "not a human label, counted as wrong: 'maybe' (1)"),
        (items(pass_pass=30, fail_pass=10), "The judge says 'pass' throughout"),
        (items(pass_pass=20, pass_fail=10, fail_fail=10), "right no more often than the constant one"),
    ],
)
def test_what_a_reader_must_know_is_named(rows: list[JudgedItem], words: str) -> None:
    assert any(words in caveat for caveat in calibrate(rows).caveats)


def write(folder: Path, *lines: str) -> str:
    (folder / "judge.csv").write_text("\n".join(lines) + "\n")
    return str(folder / "judge.csv")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("verdict,gold", "pass,pass"), "no column 'judge' for the role 'judge'; columns: verdict, gold"),
        (("judge,human", "pass,pass", "fail,pass"), "people gave every item the label 'pass'"),
        (("judge,human", "pass,"), "human is empty"),
        (("judge,human,confidence", "pass,fail,1.5"), "confidence: expected a number from 0 to 1, got"),
        (("judge,human", *(f"pass,text {at}" for at in range(21))), "21 different human labels, such as 'text 0'"),
        (("judge,human",), "a header line but no rows"),
    ],
)
def test_a_file_that_cannot_calibrate_is_an_error_that_says_why(
    lines: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["calibrate", write(tmp_path, *lines)]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_the_command_prints_tables_and_writes_a_calibration_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{(item.judge or '').upper()},{item.human},essay" for item in FORTY]
    file, out = write(tmp_path, "verdict,gold,type", *lines), tmp_path / "calibration.json"
    columns = ["--map", "judge=verdict,human=gold,kind=type"]
    assert run(["calibrate", file, *columns, "-o", str(out)]) == 0
    printed = capsys.readouterr().out
    for line in ("the judge      0.750 (0.598 to 0.858)", "always 'pass'  0.700", "Errors by kind", "essay     40"):
        assert line in printed
    assert JudgeCalibration.model_validate_json(out.read_text()) == calibrate(
        [item._replace(kind="essay") for item in FORTY]
    )
    assert run(["calibrate", file, *columns, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(out.read_text())


def test_a_missing_column_leads_to_a_mapping_with_the_columns_that_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, "label,gold,confidence", "SUPPORTS,SUPPORTS,0.9")
    assert run(["fit", path]) == 2
    assert "→ name the columns: --map judge=label,human=COLUMN,confidence=confidence\n" in capsys.readouterr().err
