"""Gates that fail closed: what was not checked never passes, unless the user accepts it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from redargue.caveats import Unchecked, UncheckedReason
from redargue.claims import Claim, Meaning
from redargue.cli.app import run
from redargue.cli.output import Gate, exit_code
from redargue.errors import BadReply, ProviderError, ToolFailed
from redargue.retrieval.tools.corpus import CorpusTool
from redargue.text import Outcome, build_report, outcome
from redargue.text.extract import Extraction
from redargue.text.segment import LocatedClaim, Text, UncheckedSentence
from redargue.verdicts import ErrorInfo, Usage, Verdict

CLAIM = Claim(text="Bees are insects.")
SUPPORTED = Verdict(claim=CLAIM, label="SUPPORTS", meaning=Meaning.SUPPORTED)
REFUTED = Verdict(claim=CLAIM, label="REFUTES", meaning=Meaning.REFUTED)
OPEN = Verdict(claim=CLAIM, label="NOT ENOUGH INFO", meaning=Meaning.NOT_ENOUGH)
GERMAN = Unchecked(reason=UncheckedReason.LANGUAGE, languages=("de",))
IN_GERMAN = "the embedded models read English only, and this seems to be in German"
NOT_SEARCHED = "not searched: every search failed"
FOREIGN = SUPPORTED.model_copy(update={"unchecked": GERMAN})
UNSEARCHED = OPEN.model_copy(update={"unchecked": Unchecked(reason=UncheckedReason.SEARCH_FAILED)})
SILENT = Verdict(claim=CLAIM, label=None)
UNREADABLE = Verdict(claim=CLAIM, label=None, error=ErrorInfo.of(BadReply("no label", raw="")))
AWAY = Verdict(claim=CLAIM, label=None, error=ErrorInfo.of(ProviderError("the model does not answer")))
ON_REFUTED = Gate(frozenset({"refuted"}))
ALL_SUPPORTED = Gate(min_supported=1.0)
SIGNED = ["--author", "A newsroom", "--url", "https://example.org/review", "--date", "2026-11-22"]


@pytest.mark.parametrize("gate", [ON_REFUTED, ALL_SUPPORTED])
@pytest.mark.parametrize(
    ("verdicts", "unread", "words"),
    [
        ([], (), "no checkable claim was found"),
        ([SUPPORTED, FOREIGN], (), f"1 claim not checked ({IN_GERMAN})"),
        ([SUPPORTED, UNSEARCHED, UNSEARCHED], (), "2 claims not checked (not searched: every search failed)"),
        ([SUPPORTED, SILENT], (), "1 claim not checked (no answer)"),
        ([SUPPORTED], (GERMAN,), f"1 sentence not checked ({IN_GERMAN})"),
    ],
)
def test_what_was_not_checked_fails_every_gate_in_its_own_words_unless_it_is_accepted(
    gate: Gate, verdicts: list[Verdict], unread: tuple[Unchecked, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(verdicts, gate, unread) == 1
    said = capsys.readouterr().err
    assert f"gate failed: {words}" in said
    assert "--allow-unchecked" in said
    assert exit_code(verdicts, gate._replace(allow_unchecked=True), unread) == 0
    assert exit_code(verdicts, unread=unread) == 0
    assert capsys.readouterr().err == ""


def test_a_gate_that_fails_on_checked_claims_says_on_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    gate = Gate(frozenset({"refuted"}), 0.75, allow_unchecked=True)
    assert exit_code([SUPPORTED, REFUTED, FOREIGN], gate) == 1
    said = capsys.readouterr().err
    assert "gate failed: 1 of 2 checked claims: refuted" in said
    assert "gate failed: 1 of 2 checked claims is supported; the smallest accepted share is 0.75" in said
    assert "--allow-unchecked" not in said
    assert exit_code([SUPPORTED, SUPPORTED], gate) == 0


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([UNSEARCHED], 5),
        ([UNSEARCHED, UNSEARCHED], 5),
        ([UNSEARCHED, AWAY], 5),
        ([UNSEARCHED, SUPPORTED], 0),
        ([UNSEARCHED, UNREADABLE], 3),
        ([AWAY, SUPPORTED], 3),
        ([AWAY], 5),
        ([UNREADABLE], 3),
    ],
)
def test_a_run_in_which_every_search_failed_exits_5_whatever_the_gate(
    verdicts: list[Verdict], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(verdicts) == code
    assert exit_code(verdicts, Gate(allow_unchecked=True, min_supported=0.0)) == code
    assert ("not searched" in capsys.readouterr().err) == (code == 5 and UNSEARCHED in verdicts)


@pytest.fixture
def broken_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(tool: CorpusTool, query: str, k: int) -> None:
        raise ToolFailed("the corpus cannot be read")

    monkeypatch.setattr(CorpusTool, "_search", fail)


OFFLINE = ["--method", "single-reader", "--store", "starter", "--offline", "-q"]


@pytest.mark.usefixtures("broken_corpus")
def test_every_output_says_that_a_claim_was_not_searched(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("claims.csv").write_text("claim\nBees are insects.\n", encoding="utf-8")
    assert run(["batch", "claims.csv", "-o", "out", *OFFLINE]) == 5
    out, err = capfd.readouterr()
    assert out.startswith("1 claim: Not checked: 1\n")
    assert err == f"{NOT_SEARCHED}\n"
    with Path("out/verdicts.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["unchecked"] == NOT_SEARCHED
    assert json.loads(Path("out/verdicts.jsonl").read_text())["unchecked"] == {"reason": "search_failed"}
    for form in ("md", "html"):
        assert run(["report", "out", "-f", form, "-o", f"report.{form}"]) == 0
        text = Path(f"report.{form}").read_text(encoding="utf-8")
        assert "Not checked" in text
        assert "Not searched: every search failed" in text
        assert "could not be found" not in text
    assert run(["report", "out", "-f", "claimreview", *SIGNED]) == 0
    assert "reviewRating" not in capfd.readouterr().out
    assert run(["check", CLAIM.text, *OFFLINE]) == 5
    out, err = capfd.readouterr()
    assert "Not checked" in out
    assert "Not searched: every search failed." in out
    assert NOT_SEARCHED in err


@pytest.mark.usefixtures("broken_corpus")
def test_a_text_of_which_nothing_was_searched_is_unchecked(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "Bees are insects. Do they sleep?", "--as", "text", *OFFLINE, "--json"]) == 5
    said = json.loads(capfd.readouterr().out)
    assert said["outcome"] == "unchecked"
    assert said["not_checked"] == {"not_a_claim": 1, "search_failed": 1}


def test_a_text_without_a_claim_fails_a_gate_and_passes_where_that_is_accepted(
    capfd: pytest.CaptureFixture[str],
) -> None:
    command = ["check", "Do bees sleep?", "--as", "text", *OFFLINE]
    assert run([*command, "--min-supported", "1"]) == 1
    out, err = capfd.readouterr()
    assert "The text states nothing that can be checked." in out
    assert err.startswith("gate failed: no checkable claim was found\n")
    assert run([*command, "--min-supported", "1", "--allow-unchecked"]) == run(command) == 0


def test_the_outcome_of_a_text_rests_on_checked_claims_alone() -> None:
    assert outcome([SUPPORTED, SUPPORTED]) is Outcome.FACTUAL
    assert outcome([SUPPORTED, FOREIGN]) is Outcome.UNDECIDED
    assert outcome([FOREIGN, UNSEARCHED]) is Outcome.UNCHECKED
    assert outcome([REFUTED, FOREIGN]) is Outcome.NON_FACTUAL
    assert outcome([]) is Outcome.NOT_CHECKABLE


def test_a_report_counts_the_sentences_that_were_not_checked_by_reason() -> None:
    text = Text(text="Bees are insects and fly. I love them. Bees swim.")
    claims = (
        LocatedClaim(claim="Bees are insects.", start=0, end=25),
        LocatedClaim(claim="Bees fly.", start=0, end=25),
        LocatedClaim(claim="Bees swim.", start=38, end=49),
    )
    opinion = UncheckedSentence(start=26, end=37, why=Unchecked(reason=UncheckedReason.SUBJECTIVE))
    extraction = Extraction(claims=claims, unchecked=(opinion,))
    said = build_report(text, extraction, [FOREIGN, SUPPORTED, UNREADABLE], Usage())
    assert said.not_checked == {"subjective": 1, "language": 1, "error": 1}
