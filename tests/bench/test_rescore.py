"""Two recorded systems as a cascade, and accuracy against cost, from records alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from redargue.bench.compare import (
    ComparedSystem,
    Comparison,
    Prediction,
    SampledClaim,
    frontier,
    paired,
    rescored,
    row_of,
    write_results,
)
from redargue.bench.reports.charts import draw_frontier, frontier_table, points
from redargue.bench.scoring import score
from redargue.claims import Meaning
from redargue.cli.app import run
from redargue.errors import UsageError

pytest.importorskip("scipy", reason="needs the extra lab")

SAMPLE: dict[str, Any] = {"dataset": "table", "taken": 4, "rows": 4, "file": "f", "sha256": "0" * 64, "how": "first"}
SAMPLE |= {"half": "all", "seed": 0, "options": [], "labels": [], "per_group": False}
GOLD = ("true", "false", "true", "false")


def said(label: str, confidence: float | None, calls: int, **facts: Any) -> Prediction:
    meaning = Meaning.SUPPORTED if label in ("true", "SUPPORTS") else Meaning.REFUTED
    facts = {"usd": 0.01 * calls, "quotes": (1, 0), "meaning": meaning, **facts}
    return Prediction(label=label, confidence=confidence, calls=calls, **facts)


def results(*systems: tuple[str, list[Prediction]]) -> Comparison:
    claims = tuple(SampledClaim(id=str(at), claim=f"c{at}", gold=gold, item=at) for at, gold in enumerate(GOLD))
    empty = score([], [])
    rows = tuple(
        ComparedSystem(spec=spec, slug=spec, scores=empty, errors=0, said=tuple(each)) for spec, each in systems
    )
    return Comparison(sample=SAMPLE, claims=claims, rows=rows)


READER = [said("SUPPORTS", 0.99, 0), said("REFUTES", 0.9, 0), said("REFUTES", 0.6, 0), said("SUPPORTS", None, 0)]
MODEL = [said("true", None, 5), said("true", None, 5), said("true", None, 5), said("false", None, 5)]


def test_the_second_answers_what_the_first_leaves_and_only_that_is_paid() -> None:
    first, then = results(("reader", READER)), results(("model", MODEL))
    pairs = paired(first, row_of(first), then, row_of(then))
    alone, sure, bold = (rescored(pairs, threshold, draws=50) for threshold in (None, 0.9, 0.5))
    assert (alone.accuracy.value, alone.calls, alone.saved) == (0.75, 5, 0)
    assert (sure.kept, sure.accuracy.value, sure.calls, sure.saved) == (2, 1.0, 2.5, 0.5)
    assert sure.usd == pytest.approx(0.025)
    assert (bold.kept, bold.accuracy.value) == (3, 0.75)  # its third label is wrong


def test_labels_of_one_meaning_stay_apart_where_both_benches_have_them() -> None:
    letters = tuple(said(letter, 0.9, 1, meaning=Meaning.OPTION) for letter in "ABCB")
    comparison = results(("reader", list(letters)), ("model", list(reversed(letters))))
    rows = zip(comparison.claims, letters, strict=True)
    claims = tuple(claim.model_copy(update={"gold": each.label}) for claim, each in rows)
    comparison = comparison.model_copy(update={"claims": claims})
    pairs = paired(comparison, row_of(comparison, "reader"), comparison, row_of(comparison, "model"))
    assert rescored(pairs, 0.5, draws=50).accuracy.value == 1
    assert rescored(pairs, None, draws=50).accuracy.value == 0


def test_an_answer_without_a_quotation_never_stops() -> None:
    first = results(("reader", [said("SUPPORTS", 0.99, 0, quotes=(0, 2))] * 4))
    then = results(("model", MODEL))
    assert {point.kept for point in frontier(paired(first, first.rows[0], then, then.rows[0]), draws=10)} == {0}


def test_benches_without_a_claim_in_common_are_refused() -> None:
    first, then = results(("reader", READER)), results(("model", MODEL))
    other = first.model_copy(update={"claims": tuple(c.model_copy(update={"claim": "?"}) for c in first.claims)})
    with pytest.raises(UsageError, match="no claim in common"):
        paired(other, other.rows[0], then, then.rows[0])
    with pytest.raises(UsageError, match="no system 'x'"):
        row_of(first, "x")
    several = results(("reader", READER), ("model", MODEL))
    with pytest.raises(UsageError, match=r"2 systems \(--then-method\)\n  → name one of them: reader, model"):
        row_of(several, where="--then-method")


def test_rows_with_one_text_are_paired_by_their_ids_and_in_two_files_by_their_order() -> None:
    first, then = results(("reader", READER)), results(("model", MODEL))
    texts = ("same", "same", "c2", "c3")
    claims = tuple(c.model_copy(update={"claim": text}) for c, text in zip(first.claims, texts, strict=True))
    first, then = (each.model_copy(update={"claims": claims}) for each in (first, then))
    assert [pair.first for pair in paired(first, first.rows[0], then, then.rows[0])] == READER
    row = then.rows[0].model_copy(update={"said": tuple(reversed(MODEL))})
    backwards = then.model_copy(update={"claims": tuple(reversed(claims)), "rows": (row,)})
    pairs = paired(first, first.rows[0], backwards, row)
    assert [(pair.first, pair.then) for pair in reversed(pairs)] == list(zip(READER, MODEL, strict=True))
    copied = then.model_copy(update={"sample": SAMPLE | {"sha256": "1" * 64}})
    assert [pair.first for pair in paired(first, first.rows[0], copied, then.rows[0])] == READER
    elsewhere = backwards.model_copy(update={"sample": copied.sample})
    with pytest.raises(UsageError, match=r"several rows have the claim 'same', .* \(--then\)\n  → run both"):
        paired(first, first.rows[0], elsewhere, row)


def test_a_cascade_of_two_benches_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = tmp_path / "a", tmp_path / "b"
    for folder, comparison in zip(folders, (results(("reader", READER)), results(("model", MODEL))), strict=True):
        folder.mkdir()
        write_results(comparison, folder)
    command = ["bench", "rescore", str(folders[0]), "--then", str(folders[1])]
    assert run([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["first"], told["then"]) == ("reader", "model")
    assert [point["kept"] for point in told["points"] if point["threshold"] == 0.9] == [2]
    assert run(command) == 0
    assert "reader, then model: 4 claims from the records" in capsys.readouterr().out
    assert run(["bench", "rescore", str(folders[0])]) == 2
    assert "--then DIR" in capsys.readouterr().err


def test_a_system_that_is_as_right_for_less_is_on_the_frontier() -> None:
    dear = [each.model_copy(update={"calls": 9, "usd": None, "tokens": 900}) for each in MODEL]
    comparison = results(("model", MODEL), ("dear", dear))
    cheap, costly = points(comparison)
    assert cheap is not None
    assert costly is not None
    assert ("calls" in cheap.best, "calls" in costly.best) == (True, False)
    assert costly.costs["usd"] is None  # no price is known
    table = frontier_table(comparison)
    assert table is not None
    assert table.text_rows[0][-1].startswith("calls")


@pytest.mark.extra
@pytest.mark.parametrize(("name", "begins"), [("f.png", b"\x89PNG"), ("f.svg", b"<?xml"), ("f.pdf", b"%PDF")])
def test_the_frontier_is_drawn_for_screen_and_print(name: str, begins: bytes, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra plots")
    draw_frontier(results(("model", MODEL), ("reader", READER)), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_a_figure_of_another_kind_is_refused_before_it_is_drawn(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'f.bmp' does not end in .png, .svg, .pdf"):
        draw_frontier(results(("model", MODEL)), tmp_path / "f.bmp")
