"""A verdict below the confidence threshold is undecided, keeps its label as data, and is called unsure everywhere."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from lxml import html  # type: ignore[import-untyped]

from redargue import replay, verify, watch
from redargue.backends.scripted import ScriptedBackend
from redargue.batch import COLUMNS, Tally, VerdictFiles
from redargue.caveats import Caveat, CaveatKind, Unchecked, UncheckedReason
from redargue.claims import AVERITEC, FEVER, OPTIONS, TWO, Claim, LabelSet, Meaning
from redargue.cli import report
from redargue.cli.app import run
from redargue.cli.output import Gate, exit_code, read_gate
from redargue.cli.parameters import OutputParameters
from redargue.errors import RecordError, UsageError
from redargue.events import ClaimEnded
from redargue.evidence import Passage
from redargue.nli.reader import Reading, ScoredSpan, SourcedSentence
from redargue.nli.session import Entailment
from redargue.reports.phrases import (
    confidence_text,
    heading,
    label_counts,
    label_of,
    meaning_text,
    outcome_text,
    summary,
    why_unsure,
)
from redargue.reports.render import render
from redargue.runs.manifest import load_manifest
from redargue.spec import RunSpec
from redargue.tasks.answer import Answer, AnswerClaim
from redargue.tasks.extract import ExtractClaims, ExtractedClaim, ExtractedClaims
from redargue.text import CheckedClaim, Outcome, Report, outcome
from redargue.text.verification import ground, verify_text
from redargue.verdicts import Unsure, Verdict, apply_threshold
from redargue.verifier import Verifier
from support.debates import CLAIM, CLOCK, QUOTE, TEXT, ShelfTool
from support.reported import SIGNATURE, debated, written


def verdict(label: str | None, confidence: float | None, labels: LabelSet = FEVER) -> Verdict:
    meaning = labels.meaning(label) if label else None
    claim = Claim(text="A claim.", labels=labels)
    return Verdict(claim=claim, label=label, meaning=meaning, confidence=confidence, reason="It says so.")


UNSURE = apply_threshold(verdict("REFUTES", 0.4321), 0.6)
FOREIGN = Unchecked(reason=UncheckedReason.LANGUAGE, languages=("de",))
WHY = "the model was unsure (confidence 0.43 < 0.60)"


@pytest.mark.parametrize(
    ("labels", "label", "undecided"),
    [
        (FEVER, "SUPPORTS", "NOT ENOUGH INFO"),
        (FEVER, "REFUTES", "NOT ENOUGH INFO"),
        (AVERITEC, "Refuted", "Not Enough Evidence"),
        (TWO, "SUPPORTS", None),
    ],
)
def test_a_decided_label_below_the_threshold_becomes_undecided_and_stays_as_data(
    labels: LabelSet, label: str, undecided: str | None
) -> None:
    unsure = apply_threshold(verdict(label, 0.4, labels), 0.6)
    assert unsure.label == undecided
    assert unsure.meaning == (Meaning.NOT_ENOUGH if undecided else None)
    assert unsure.unsure == Unsure(label=label, min_confidence=0.6)
    assert unsure.confidence == 0.4
    assert unsure.reason == "It says so."


@pytest.mark.parametrize(
    ("labels", "label", "confidence"),
    [
        (FEVER, "SUPPORTS", 0.6),
        (FEVER, "SUPPORTS", None),
        (FEVER, "NOT ENOUGH INFO", 0.4),
        (AVERITEC, "Conflicting Evidence/Cherrypicking", 0.4),
        (OPTIONS, "A", 0.4),
        (FEVER, None, 0.4),
    ],
)
def test_other_verdicts_are_unchanged(labels: LabelSet, label: str | None, confidence: float | None) -> None:
    before = verdict(label, confidence, labels)
    assert apply_threshold(before, 0.6) is before


@pytest.mark.parametrize(
    ("confidence", "threshold", "shown"),
    [
        (0.5999, 0.6, "0.59 < 0.60"),
        (0.57, 0.6, "0.57 < 0.60"),
        (0.6049, 0.605, "0.60 < 0.605"),
        (0.999, 1, "0.99 < 1.00"),
    ],
)
def test_a_confidence_below_the_threshold_is_never_shown_as_the_threshold(
    confidence: float, threshold: float, shown: str
) -> None:
    assert shown in why_unsure(apply_threshold(verdict("SUPPORTS", confidence), threshold))


# runs


def backend(confidence: float | None = 0.4, kind: type[ScriptedBackend] = ScriptedBackend) -> ScriptedBackend:
    answer = Answer(text="Because.\n**SUPPORTS**", label="SUPPORTS", quotes=(QUOTE,), confidence=confidence)
    claims = ExtractedClaims(claims=(ExtractedClaim(sentence=1, claim=CLAIM.text),))
    return kind({AnswerClaim: answer, ExtractClaims: claims})


def options(made: ScriptedBackend, **more: Any) -> dict[str, Any]:
    shelf = {"corpus": ShelfTool("corpus")}
    return {"method": "single-reader", "clock": CLOCK, "backend": made, "evidence": shelf, **more}


class Calibrated(ScriptedBackend):
    """A backend with a threshold of its own."""

    min_confidence = 0.5


@pytest.mark.anyio
async def test_every_public_function_takes_the_threshold() -> None:
    given = options(backend(), min_confidence=0.6)
    verdicts = [await verify(CLAIM, **given)]
    async with watch(CLAIM, **given) as events:
        verdicts += [event.verdict async for event in events if isinstance(event, ClaimEnded)]
    verdicts += [claim.verdict for claim in (await verify_text(CLAIM.text, **given)).claims]
    del given["evidence"]
    verdicts += [claim.verdict for claim in (await ground(CLAIM.text, contexts=[TEXT], **given)).claims]
    assert len(verdicts) == 4
    assert {(each.label, each.unsure) for each in verdicts} == {
        ("NOT ENOUGH INFO", Unsure(label="SUPPORTS", min_confidence=0.6))
    }
    assert all(each.quotes for each in verdicts)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("kind", "threshold", "label"),
    [
        (ScriptedBackend, None, "SUPPORTS"),
        (Calibrated, None, "NOT ENOUGH INFO"),
        (Calibrated, 0.0, "SUPPORTS"),
        (Calibrated, 0.3, "SUPPORTS"),
    ],
)
async def test_without_a_threshold_the_backends_own_applies_and_zero_turns_it_off(
    kind: type[ScriptedBackend], threshold: float | None, label: str
) -> None:
    assert (await verify(CLAIM, **options(backend(kind=kind), min_confidence=threshold))).label == label


@pytest.mark.anyio
async def test_a_run_records_its_threshold_replays_with_it_and_does_not_resume_with_another(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    first = await verify(CLAIM, **options(backend(), min_confidence=0.6), folder=folder)
    assert load_manifest(folder).spec.min_confidence == 0.6
    assert await replay(folder) == [first]
    with pytest.raises(RecordError, match="min_confidence"):
        await verify(CLAIM, **options(backend(), min_confidence=0.2), folder=folder)


@pytest.mark.parametrize("value", [-0.1, 1.1, "many"])
def test_a_threshold_outside_0_to_1_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match="min_confidence"):
        RunSpec(min_confidence=value)


# what is shown


def test_an_unsure_verdict_has_its_own_word_in_counts_and_sentences() -> None:
    counts = label_counts(
        [UNSURE, verdict("NOT ENOUGH INFO", 0.9), apply_threshold(verdict("SUPPORTS", 0.1, TWO), 0.6)]
    )
    assert counts == "No answer (unsure): 1; Not enough evidence: 1; Not enough evidence (unsure): 1"
    assert meaning_text(UNSURE) == f"T{WHY[1:]}: it would have answered Refuted."
    assert label_of(verdict("SUPPORTS", 0.9)) == "Supported"
    assert (confidence_text(UNSURE), confidence_text(verdict("SUPPORTS", None))) == (
        "confidence 0.43",
        "confidence not calibrated",
    )


def test_an_open_claim_of_the_embedded_reader_shows_no_confidence_and_no_report_says_that_it_has_none() -> None:
    embedded = {"backend": "embedded", "decided_by": "reader", "rounds": 1}
    left_open = verdict("NOT ENOUGH INFO", 0.97).model_copy(update=embedded)
    assert summary(left_open) == "Decided by one reader after 1 round."
    assert summary(left_open.model_copy(update={"decided_by": None, "rounds": 0})) == ""
    decided = verdict("SUPPORTS", 0.97).model_copy(update=embedded)
    assert summary(decided) == "Decided by one reader after 1 round; confidence 0.97."


def test_the_terminal_shows_the_confidence_and_the_doubt(capfd: pytest.CaptureFixture[str]) -> None:
    report.verdicts([UNSURE, verdict("SUPPORTS", None)], None)
    out = capfd.readouterr().out
    assert "Not enough evidence (unsure) confidence 0.43" in out
    assert "The model was unsure (confidence 0.43 < 0.60): it would have answered Refuted." in " ".join(out.split())
    assert "Supported confidence not calibrated" in out
    assert "2 claims: Not enough evidence (unsure): 1; Supported: 1" in out


def test_a_texts_report_counts_the_claims_about_which_the_model_was_unsure(capfd: pytest.CaptureFixture[str]) -> None:
    verdicts = [UNSURE, verdict("SUPPORTS", 0.9)]
    assert outcome(verdicts) is Outcome.UNDECIDED
    claims = tuple(CheckedClaim(start=0, end=8, stated="A claim.", verdict=each) for each in verdicts)
    report.print_report(Report(text="A claim.", kind="text", outcome=outcome(verdicts), claims=claims), Path("r"))
    assert "not all are supported. The model was unsure about 1 claim." in " ".join(capfd.readouterr().out.split())
    refuted = outcome_text(Outcome.NON_FACTUAL, [verdict("REFUTES", 0.9), UNSURE, UNSURE])
    assert refuted == "Not factual: 1 of 3 claims is refuted. The model was unsure about 2 claims."


def test_reports_show_the_confidence_and_the_doubt(tmp_path: Path) -> None:
    claims = [Claim(text="The first claim."), Claim(text="The second claim.")]
    unsure = {"confidence": 0.4321, "unsure": {"label": "REFUTES", "min_confidence": 0.6}}
    events = [*debated(0, claims[0], "NOT ENOUGH INFO", "word", **unsure), *debated(1, claims[1], "SUPPORTS", "word")]
    folder = written(tmp_path / "r", claims, events)
    markdown = render(folder, "md")
    assert "| The first claim. | Not enough evidence (unsure) | 0.43 |" in markdown
    assert "| The second claim. | Supported | – |" in markdown
    assert "confidence 0.43." in markdown
    page = html.document_fromstring(render(folder)).text_content()
    for text in (
        "Not enough evidence (unsure)",
        "Confidence 0.43.",
        "it would have answered Refuted",
        "Not calibrated",
    ):
        assert text in page
    assert json.loads(render(folder, "json"))["verdicts"][0]["unsure"] == unsure["unsure"]
    review, _ = json.loads(render(folder, "claimreview", signature=SIGNATURE))
    assert review["reviewBody"].startswith("The model was unsure")


def test_a_batch_writes_confidence_and_doubt_as_columns_and_counts_the_doubt(tmp_path: Path) -> None:
    tally = Tally()
    with VerdictFiles(tmp_path) as files:
        for item, each in enumerate([UNSURE, verdict("SUPPORTS", None), verdict("NOT ENOUGH INFO", 0.9)]):
            files.write(item, each)
            tally.add(each)
    with (tmp_path / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["label"], row["confidence"], row["unsure"]) for row in csv.DictReader(file)]
    assert rows == [("NOT ENOUGH INFO", "0.4321", "REFUTES"), ("SUPPORTS", "", ""), ("NOT ENOUGH INFO", "0.9", "")]
    assert tally.labels == {"Not enough evidence (unsure)": 1, "Supported": 1, "Not enough evidence": 1}
    assert exit_code(tally.outcomes, read_gate(OutputParameters(fail_on=["unsure"]))) == 1


@pytest.mark.parametrize("labels", [FEVER, TWO])
def test_a_gate_can_fail_on_doubt_and_doubt_is_not_support(labels: LabelSet) -> None:
    unsure = apply_threshold(verdict("SUPPORTS", 0.4, labels), 0.6)
    assert exit_code([unsure], read_gate(OutputParameters(fail_on=["unsure"]))) == 1
    assert exit_code([verdict("SUPPORTS", 0.4, labels)], read_gate(OutputParameters(fail_on=["unsure"]))) == 0
    assert exit_code([unsure], read_gate(OutputParameters(min_supported=1.0))) == 1


def test_the_threshold_is_an_option_a_variable_and_a_key_of_the_settings_file(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    document = "The bridge at Orvell was opened in 1889. It crosses the Sund."
    command = ["ground", "--answer", "The bridge at Orvell was opened in 1889.", "--context", document, "--json", "-q"]
    command += ["--method", "single-reader", "--fail-on", "unsure"]
    assert run([*command, "--min-confidence", "0"]) == 0
    sure = json.loads(capfd.readouterr().out)["claims"][0]["verdict"]
    monkeypatch.setenv("XDG_CONFIG_HOME", "config")
    Path("config/redargue").mkdir(parents=True)
    Path("config/redargue/redargue.toml").write_text("[ground]\nmin-confidence = 1.0\n", encoding="utf-8")
    assert run(command) == 1
    unsure = json.loads(capfd.readouterr().out)["claims"][0]["verdict"]
    assert (unsure["label"], unsure["confidence"]) == ("NOT ENOUGH INFO", sure["confidence"])
    assert unsure["unsure"] == {"label": sure["label"], "min_confidence": 1.0}
    monkeypatch.setenv("REDARGUE_MIN_CONFIDENCE", "0")
    assert run(command) == 0
    assert run([*command, "--min-confidence", "1.5"]) == 2
    assert "--min-confidence" in capfd.readouterr().err


def test_doctor_names_the_threshold_of_the_embedded_backend(capfd: pytest.CaptureFixture[str]) -> None:
    run(["doctor", "--offline", "--json"])
    checks = {row["check"]: row["found"] for row in json.loads(capfd.readouterr().out)["checks"]}
    assert "below confidence 0." in checks["embedded backend"]


# beside verdicts without a quotation, and claims that were not checked


def test_a_claim_that_was_not_checked_is_not_unsure_and_shows_no_confidence() -> None:
    unchecked = verdict("SUPPORTS", 0.4).model_copy(update={"unchecked": FOREIGN})
    assert apply_threshold(unchecked, 0.6) is unchecked
    marked = UNSURE.model_copy(update={"unchecked": FOREIGN})
    assert (label_of(marked), heading(marked), confidence_text(marked)) == ("Not checked", "Not checked", "")
    assert meaning_text(marked) == "The embedded models read English only, and this seems to be in German."
    assert exit_code([marked], Gate(frozenset({"unsure"}), allow_unchecked=True)) == 0


def test_an_unsure_verdict_keeps_its_caveat() -> None:
    unquoted = verdict("REFUTES", 0.4321).model_copy(update={"caveats": (Caveat(kind=CaveatKind.UNQUOTED),)})
    unsure = apply_threshold(unquoted, 0.6)
    assert heading(unsure) == "Not enough evidence (unsure)"
    assert (
        meaning_text(unsure) == f"T{WHY[1:]}: it would have answered Refuted. No quotation was found in the evidence."
    )


@pytest.mark.anyio
async def test_a_hardened_answer_without_a_quotation_is_left_open_for_that_alone() -> None:
    made = ScriptedBackend({AnswerClaim: Answer(text="Because.\n**SUPPORTS**", label="SUPPORTS", confidence=0.4)})
    found = await verify(CLAIM, **options(made, min_confidence=0.6, profile="hardened"))
    assert (found.label, found.unsure) == ("NOT ENOUGH INFO", None)
    assert found.caveats[0].kind is CaveatKind.UNQUOTED


def test_an_unsure_claim_without_a_label_fails_every_gate_unless_that_is_accepted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    unsure = apply_threshold(verdict("SUPPORTS", 0.4, TWO), 0.6)
    assert exit_code([unsure], Gate(frozenset({"refuted"}))) == 1
    assert "gate failed: 1 claim not checked (the model was unsure)" in capsys.readouterr().err
    assert exit_code([unsure], Gate(frozenset({"refuted"}), allow_unchecked=True)) == 0
    assert exit_code([unsure], Gate(frozenset({"unsure"}), allow_unchecked=True)) == 1
    assert "gate failed: 1 of 1 claim: unsure" in capsys.readouterr().err


def test_the_columns_of_a_batch_table_keep_their_places() -> None:
    assert COLUMNS[:5] == ("item", "claim", "label", "meaning", "decided_by")
    assert COLUMNS[16:22] == ("error", "confidence", "unsure", "caveat", "unchecked", "id")  # later ones go after these


@pytest.mark.parametrize(("least", "label"), [(0.63, "NOT ENOUGH INFO"), (0.5, "SUPPORTS"), (0.0, "SUPPORTS")])
def test_the_small_reader_decides_from_its_least_probability_on(
    least: float, label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Reading, "probabilities", lambda reading: (0.55, 0.2, 0.25))
    sentence = SourcedSentence("It was.", Passage(text="It was."))
    shown = ScoredSpan((sentence,), 0.9, Entailment(0.55, 0.2, 0.25))
    reading = Reading(lambda: (shown,), lambda: (0.0, 0.0), least=least)  # type: ignore[arg-type, return-value]
    assert reading.label(FEVER) == label


def test_a_threshold_below_the_small_readers_own_loosens_it_and_one_above_does_not() -> None:
    for given, loosened in ((None, False), (0.4, True), (0.9, False)):
        identity = Verifier(RunSpec(min_confidence=given)).backend.identity
        assert identity.endswith("decides from 0.4") is loosened
