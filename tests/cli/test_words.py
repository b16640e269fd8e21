"""Words on the screen: plain labels, each claim once, failed searches apart, numbers from 1, one line a claim."""

from __future__ import annotations

import io
from itertools import pairwise

import pytest
from rich.console import Console

from redargue import batch, words
from redargue.analysis.run_diff import Flip
from redargue.caveats import Caveat, CaveatKind, Leaning, Unchecked, UncheckedReason
from redargue.claims import AVERITEC, FEVER, FREE_TEXT, OPTIONS, YES_NO_MAYBE, Claim, Label, LabelSet, Meaning
from redargue.cli import report
from redargue.cli.app import run
from redargue.cli.live import DebateView, describe, outcome_line
from redargue.cli.output import resumable
from redargue.cli.progress import Progress, ProgressRate, duration
from redargue.events import Answered, Judged, Stepped
from redargue.evidence import Gap, GapKind, Injection, Omission, Quote, QuoteStatus, Side, Source
from redargue.reports.phrases import gap_sections, label_counts, meaning_text
from redargue.text import CheckedClaim, Outcome, Report
from redargue.verdicts import ErrorInfo, Verdict

RITZ = "The Ritz in London opened in 1926."
QUOTE = Quote(
    text="César Ritz opened it in May 1906.",
    status=QuoteStatus.VERIFIED,
    side=Side.AGAINST,
    agent="reader",
    source=Source(title="The Ritz Hotel, London"),
)
GAPS = (
    Gap(kind=GapKind.FAILED, tool="wikipedia", query="Ritz", why="503"),
    Gap(kind=GapKind.EMPTY, tool="corpus", query="Ritz failed for good"),
    Gap(kind=GapKind.FAILED, tool="google", query="x", why="y"),
)


def refuted(text: str = RITZ, **fields: object) -> Verdict:
    values = {"claim": Claim(text=text), "label": "REFUTES", "meaning": Meaning.REFUTED, "confidence": 0.756}
    return Verdict.model_validate(values | {"quotes": (QUOTE,), "method": "tool-mad", "profile": "hardened"} | fields)


def test_a_refutation_says_where_claim_and_evidence_differ() -> None:
    verdict = refuted(differences=[{"kind": "number", "claim": "1926", "evidence": "1906"}])
    assert meaning_text(verdict) == "The evidence refutes the claim (claim: 1926; evidence: 1906)."
    reason = "Difference – claim: 1926; evidence: 1906"  # a model's own words are its words
    assert meaning_text(refuted(reason=reason)) == "The evidence refutes the claim."


def test_an_open_claim_says_that_the_model_leaned_to_a_side() -> None:
    leaning = Leaning(supports=0.531, refutes=0.389)
    open_ = Verdict(claim=Claim(text="It is."), label="NOT ENOUGH INFO", leaning=leaning)
    said = meaning_text(open_.model_copy(update={"meaning": Meaning.NOT_ENOUGH}))
    assert said.endswith("partly true. The model was unsure: support 0.53, refutation 0.39.")


def test_the_quotations_of_a_side_are_asked_for_by_its_name() -> None:
    assert refuted().side("against") == refuted().side(Side.AGAINST) == (QUOTE,)
    with pytest.raises(ValueError, match="agaisnt"):
        refuted().side("agaisnt")  # type: ignore[arg-type]


def test_nobody_decided_what_was_not_checked(capsys: pytest.CaptureFixture[str]) -> None:
    report.verdicts([refuted(label=None, meaning=None, unchecked={"reason": "search_failed"}, quotes=())], None)
    assert "\nNot checked\n" in capsys.readouterr().out


def test_printing_a_verdict_prints_one_line() -> None:
    assert str(refuted()) == f"<Verdict Refuted (0.75): {RITZ}>"


@pytest.mark.parametrize(
    ("labels", "name", "plain"),
    [
        (FEVER, "SUPPORTS", "Supported"),
        (FEVER, "NOT ENOUGH INFO", "Not enough evidence"),
        (AVERITEC, "Refuted", "Refuted"),
        (AVERITEC, "Conflicting Evidence/Cherrypicking", "Conflicting"),
        (YES_NO_MAYBE, "yes", "yes"),
        (OPTIONS, "B", "B"),
        (FREE_TEXT, "In 1906.", "In 1906."),
        (FEVER, "an unknown label", "an unknown label"),
    ],
)
def test_labels_are_plain_words_where_no_distinction_is_lost(labels: LabelSet, name: str, plain: str) -> None:
    assert labels.plain(name) == plain


def test_two_labels_with_one_meaning_keep_their_names() -> None:
    names = {"true": Meaning.SUPPORTED, "mostly true": Meaning.SUPPORTED, "false": Meaning.REFUTED}
    labels = LabelSet(name="x", labels=tuple(Label(name=name, meaning=meaning) for name, meaning in names.items()))
    assert [labels.plain(name) for name in names] == ["true", "mostly true", "Refuted"]


def test_a_debate_is_told_in_the_same_words() -> None:
    answered = Answered(agent="corpus", round=1, label="SUPPORTS", text="x")
    assert describe(answered, FEVER) == "round 1, corpus answers: Supported"
    assert describe(Judged(text="x", label="NOT ENOUGH INFO"), FEVER) == "the judge decides: Not enough evidence"
    assert describe(Stepped(agent="a", round=2, answer="REFUTES"), FEVER) == "step 2, a answers: Refuted"


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("width", [40, 80])
def test_a_verdict_names_its_claim_once_and_fits(
    width: int, monkeypatch: pytest.MonkeyPatch, *, terminal: bool
) -> None:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, color_system=None)
    monkeypatch.setattr(report, "_console", lambda: console)
    report.verdicts([refuted(gaps=GAPS), refuted("The Savoy opened in 1926.")], None)
    lines = file.getvalue().split("\n")
    assert terminal or all(line == line.rstrip() for line in lines)
    assert not terminal or max(map(len, lines)) <= width
    out = " ".join(file.getvalue().split())
    assert out.count(RITZ) == 1
    assert f"1. {RITZ} Refuted confidence 0.75" in out
    assert "Against: “César Ritz opened it in May 1906.” — The Ritz Hotel, London; quoted by reader" in out
    assert "Searches that failed: wikipedia failed for 'Ritz': 503 google failed" in out
    assert "Searches without a usable result: corpus found nothing" in out
    assert "2 claims: Refuted: 2" in out
    assert "\x1b" not in file.getvalue()


def test_each_claim_of_a_text_is_printed_once_beside_its_nearest_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = "Ritz opened it. It is old."
    claims = (
        CheckedClaim(start=0, end=15, stated="Ritz opened it.", verdict=refuted("Ritz opened the Ritz.")),
        CheckedClaim(start=16, end=26, stated="It is old.", verdict=refuted("It is old.")),
    )
    report.print_report(Report(text=text, kind="text", outcome=Outcome.NON_FACTUAL, claims=claims), None)
    out = capsys.readouterr().out
    assert "Refuted (2)\n  1. Ritz opened the Ritz.\n     “César Ritz opened it in May 1906.” — The Ritz Hotel" in out
    assert out.count("It is old.") == 1
    assert "Not factual: 2 of 2 claims are refuted." in out


def test_failed_searches_are_told_from_empty_ones() -> None:
    verdict = refuted(gaps=GAPS)
    assert verdict.failed_searches == (GAPS[0], GAPS[2])
    assert verdict.empty_searches == (GAPS[1],)
    titles = [title for title, _ in gap_sections(verdict)]
    assert titles == ["What could not be searched", "What could not be found"]
    partial = Gap(kind=GapKind.PARTIAL, tool="corpus", query="x", left_out={Omission.LATER: 2}, unread={"und": 1})
    assert words.gap(partial) == (
        "corpus, 'x': left out because of the as-of date: 2 later;"
        " not read, as the embedded models read English only: 1 in another language"
    )
    assert gap_sections(refuted()) == (("What could not be found", ()),)


def test_counts_are_singular_and_plural() -> None:
    assert label_counts([refuted()]) == "Refuted: 1"
    assert label_counts([refuted(), refuted(label="SUPPORTS", meaning="supported")]) == "Refuted: 1; Supported: 1"


@pytest.mark.slow
def test_off_a_terminal_a_claim_is_one_line_and_verbose_shows_every_step(capfd: pytest.CaptureFixture[str]) -> None:
    given = [
        "check",
        "-",
        "--as",
        "claims",
        "--store",
        "starter",
        "--offline",
        "--method",
        "tool-mad",
        "--rounds",
        "1",
        "--no-record",
    ]
    for flags, lines in (([], 2), (["-v"], 12), (["-v", "-q"], 0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Bees are insects.\nThe Ritz opened in 1926.\n")))
            assert run([*given, *flags]) == 0
        err = capfd.readouterr().err.strip().splitlines()
        assert len(err) == lines if lines < 12 else len(err) > lines
        assert all(line.startswith(("[1] ", "[2] ", "    ")) for line in err)


def test_a_single_claim_off_a_terminal_is_in_the_result_alone(capfd: pytest.CaptureFixture[str]) -> None:
    assert (
        run(
            [
                "check",
                "Bees are insects.",
                "--store",
                "starter",
                "--offline",
                "--method",
                "tool-mad",
                "--rounds",
                "1",
                "--no-record",
            ]
        )
        == 0
    )
    out, err = capfd.readouterr()
    assert err == ""
    assert out.splitlines().count("Bees are insects.") == 1


def test_the_line_of_a_claim_has_its_label_confidence_and_text() -> None:
    assert outcome_line(refuted("A\u202e\nB")) == "Refuted (0.75): A B"
    assert outcome_line(refuted(confidence=None)) == f"Refuted: {RITZ}"


def test_the_debate_of_one_claim_is_left_on_the_screen_without_its_claim() -> None:
    view = DebateView(Claim(text=RITZ), {"reader": ("reader",)}, {})
    for titled in (True, False):
        view.titled = titled
        file = io.StringIO()
        Console(file=file, width=60).print(view)
        assert (RITZ in file.getvalue()) is titled


def test_the_time_left_follows_the_last_claims() -> None:
    rate = ProgressRate(0.0)
    assert rate.seconds_left(5.0, 10) is None
    rate.finished(100.0)  # the first claim loads the models
    assert rate.seconds_left(100.0, 10) == 1000
    for second in range(32):
        rate.finished(101.0 + second)
    assert rate.seconds_left(132.0, 10) == pytest.approx(10)
    assert rate.seconds_left(232.0, 10) == 100  # nothing has finished for a while
    assert [duration(seconds) for seconds in (40, 720, 12_600)] == ["40 s", "12 min", "3.5 h"]


def test_the_time_left_does_not_jump_after_a_pause() -> None:
    rate, now, shown = ProgressRate(0.0), 0.0, []
    for step in range(150):
        now += 200 if step == 20 else 1  # one claim waits for a model
        rate.finished(now)
        shown.append(rate.seconds_left(now, 1_000) or 0)
    changes = [abs(after / before - 1) for before, after in pairwise(shown)]
    assert max(changes) < 0.05
    assert shown[-1] == pytest.approx(1_000)


def test_claims_that_run_concurrently_and_finish_together_have_a_pace() -> None:
    rate = ProgressRate(0.0)
    for turn in range(1, 13):
        for _ in range(16):
            rate.finished(16.0 * turn)
    assert rate.seconds_left(192.0, 1_000) == pytest.approx(1_000, rel=0.3)


class Tally:
    """One finished claim of three."""

    errors, stopped, calls, usd = 0, 0, 2, None
    outcomes = (1,)


class Clock:
    """Advances by 20 seconds at every look."""

    def __init__(self) -> None:
        self.time = 0.0

    def elapsed(self) -> float:
        self.time += 20
        return self.time


def test_the_progress_of_a_batch_off_a_terminal_has_counts_and_time_left(capfd: pytest.CaptureFixture[str]) -> None:
    with Progress(Tally(), 3, clock=Clock(), known=0) as progress:  # type: ignore[arg-type]
        progress.moved()
    err = capfd.readouterr().err
    assert "1 of 3 claims, 0 errors, 2 calls, 40.0 s, 40 s left" in err


def test_claims_that_the_budget_stopped_are_not_called_errors(capfd: pytest.CaptureFixture[str]) -> None:
    tally = batch.Tally()
    for name in ("BudgetReached", "ProviderError"):
        tally.add(refuted(label=None, meaning=None, error=ErrorInfo(type=name, what="no", exit_code=4)))
    with Progress(tally, 3, clock=Clock()) as progress:  # type: ignore[arg-type]
        progress.moved(2)
    assert "2 of 3 claims, 1 error, 1 stopped by the budget, 0 calls" in capfd.readouterr().err


def test_recorded_verdicts_and_polls_without_news_say_nothing_about_the_pace(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with Progress(Tally(), 3, clock=Clock(), known=1) as progress:  # type: ignore[arg-type]
        progress.moved(again=True)
        assert "left" not in capfd.readouterr().err
        progress.moved(0)
        progress.moved()
        for _ in range(400):
            progress.moved(0)
    assert capfd.readouterr().err.splitlines()[1].endswith(", 3 min left")  # 100 s a claim


def test_ctrl_c_is_answered_on_a_line_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for terminal, wanted in ((True, "\ninterrupted; again\n"), (False, "interrupted; again\n")):
        monkeypatch.setattr("sys.stderr.isatty", lambda terminal=terminal: terminal)
        with pytest.raises(BaseException) as stopped, resumable("again"):
            raise KeyboardInterrupt
        assert getattr(stopped.value, "exit_code", None) == 130
        assert capsys.readouterr().err == wanted


def test_claims_are_numbered_from_1() -> None:
    assert "from 1" in (Flip.__doc__ or "")


def test_every_reason_caveat_and_omission_has_words() -> None:
    for reason in UncheckedReason:
        assert words.unchecked(Unchecked(reason=reason))
    for kind in CaveatKind:
        assert words.caveat(Caveat(kind=kind, injection=Injection.ORDERS_AN_ANSWER))
    for omission in Omission:
        assert words.omissions({omission: 2}).startswith("2 ")
    assert words.caveat(Caveat(kind=CaveatKind.INJECTION, source="S\x1b", injection=Injection.WRITES_A_REPLY)) == (
        "S writes a reply"
    )


def test_json_leaves_out_the_details_that_a_fact_does_not_have() -> None:
    assert Unchecked(reason=UncheckedReason.TABLE).model_dump(mode="json") == {"reason": "table"}
    caveat = Caveat(kind=CaveatKind.SINGLE_SOURCE, source="One", sources=1, publishers=3)
    assert Caveat.model_validate_json(caveat.model_dump_json()) == caveat
