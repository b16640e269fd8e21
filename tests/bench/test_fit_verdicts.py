"""The error of decided verdicts is at most the target in nine of ten fits, and drift is noticed."""

from __future__ import annotations

import csv
import random
import time
from pathlib import Path

import pytest

from redargue.bench.commands.cascade import first_above, fit_of_verdicts, lower_bound, watched
from redargue.bench.judge import JudgedItem
from redargue.claims import FEVER
from redargue.cli.app import run
from redargue.errors import UsageError

TARGET = 0.1
DRAWS = 200


def drawn(random_: random.Random, count: int, shift: float = 0.0) -> list[JudgedItem]:
    """Verdicts that are wrong with probability 2 (1 - confidence)² + shift; confidences are uniform in [0.5, 1]."""
    items = []
    for _ in range(count):
        confidence = random_.uniform(0.5, 1)
        wrong = random_.random() < 2 * (1 - confidence) ** 2 + shift
        items.append(JudgedItem("supports", "refutes" if wrong else "supports", confidence=confidence))
    return items


@pytest.mark.slow
def test_nine_of_ten_fits_keep_the_target_on_the_population() -> None:
    random_, exceeded, decides = random.Random(0), 0, 0
    for _ in range(DRAWS):
        (threshold,) = fit_of_verdicts(drawn(random_, 200), FEVER).at_risk(TARGET).thresholds
        decides += threshold is not None
        exceeded += threshold is not None and 2 / 3 * (1 - threshold) ** 2 > TARGET  # the error above a threshold
    assert exceeded <= 0.1 * DRAWS
    assert decides > DRAWS / 2


@pytest.mark.slow
def test_feedback_at_the_target_raises_few_alarms_and_drift_is_noticed() -> None:
    random_ = random.Random(1)
    draws = ([random_.random() < TARGET for _ in range(300)] for _ in range(DRAWS))
    alarms = sum(first_above(wrongs, TARGET) is not None for wrongs in draws)
    assert alarms <= 0.1 * DRAWS
    found = watched(drawn(random_, 400, shift=0.3), FEVER, 0.9, TARGET)
    assert found.crossed is not None
    assert found.crossed < 200
    assert TARGET < found.at_least < found.wrong / found.decided
    assert watched(drawn(random_, 400), FEVER, 0.9, TARGET).crossed is None


def test_the_lower_bound_is_0_without_feedback() -> None:
    assert lower_bound([]) == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (drawn(random.Random(2), 59), "59 labelled verdicts: a fit needs 60 and more"),
        ([JudgedItem("supports", "supports")] * 60, "a decided verdict has no confidence"),
        ([JudgedItem("not enough info", "supports", confidence=0.9)] * 60, "no verdict decides its claim"),
        ([JudgedItem("maybe", "supports", confidence=0.9)] * 60, "the label 'maybe' is not in the set"),
        (
            [*[JudgedItem("supports", "supports", confidence=0.9)] * 60, JudgedItem("maybe", "supports")],
            "(verdict 61)",
        ),
    ],
)
def test_what_cannot_be_fitted_is_an_error(items: list[JudgedItem], words: str) -> None:
    with pytest.raises(UsageError) as raised:
        fit_of_verdicts(items, FEVER)
    assert words in str(raised.value)


def test_no_confidence_is_named_below_which_the_labelled_verdicts_were_left_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labelled = tmp_path / "labelled.csv"
    decided = [f"supports,supports,{0.6312 + place / 1000}" for place in range(300)]
    rows = [*decided, *["not enough info,supports,0.6"] * 99]
    labelled.write_text("\n".join(["label,human,confidence", *rows]), encoding="utf-8")
    assert run(["fit", str(labelled), "--target-error", "0.1"]) == 0
    printed = capsys.readouterr().out
    assert "--min-confidence 0.63\n" in printed
    assert "It decides 300 of 399" in printed


def test_a_later_decided_verdict_without_a_confidence_is_an_error_and_not_left_out() -> None:
    with pytest.raises(UsageError, match="a decided verdict has no confidence"):
        watched([JudgedItem("supports", "refutes")], FEVER, 0.9, TARGET)


@pytest.mark.slow
def test_much_feedback_is_read_once() -> None:
    items = [JudgedItem("supports", "supports", confidence=0.9)] * 1500
    started = time.process_time()
    assert watched(items, FEVER, 0.9, TARGET).crossed is None
    assert time.process_time() - started < 2.5


def test_the_command_names_a_confidence_and_the_claim_after_which_feedback_crossed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    random_ = random.Random(3)
    fitted, later = tmp_path / "labelled.csv", tmp_path / "later.csv"
    for path, items in ((fitted, drawn(random_, 400)), (later, drawn(random_, 300, shift=0.4))):
        with path.open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(("label", "human", "confidence"))
            rows.writerows((item.judge, item.human, item.confidence) for item in items)
    assert run(["fit", str(fitted), "--target-error", "0.1"]) == 0
    assert "--min-confidence 0." in capsys.readouterr().out
    assert run(["fit", str(fitted), "--target-error", "0.1", "--feedback", str(later)]) == 1
    assert "After claim " in capsys.readouterr().out
    assert run(["fit", str(fitted), "--target-error", "0.001", "--feedback", str(later)]) == 0
    told = capsys.readouterr()
    assert "every verdict would be left open" in told.out
    assert "the feedback is not read" in told.err
