"""Tests of users that call ``redargue.grounded`` and ``redargue.supported``, run by pytest itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from redargue.adapters.assertions import NotGrounded, grounded, supported
from redargue.adapters.grounding import Reason
from redargue.errors import ReplayMiss, UsageError

pytest_plugins = ["pytester"]

BRIDGE = "The bridge at Orvell opened in 1889. It is 330 metres long."
WRONG = "The bridge at Orvell opened in 1889. It is 500 metres long."
PREAMBLE = f"import pytest, redargue\nBRIDGE = {BRIDGE!r}\nWRONG = {WRONG!r}\n"


def run(pytester: pytest.Pytester, source: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(PREAMBLE + source)
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:anyio", *arguments)


def test_a_supported_answer_passes_and_gives_its_report() -> None:
    report = grounded(BRIDGE, BRIDGE)
    assert [claim.verdict.label for claim in report.claims] == ["SUPPORTS", "SUPPORTS"]


def test_the_failure_names_the_claim_and_the_quotation_against_it() -> None:
    with pytest.raises(NotGrounded) as failure:
        grounded(WRONG, ["Nothing of this.", BRIDGE])
    first, *lines = str(failure.value).split("\n")
    assert first == "1/2 claims supported (wanted 100%)"
    assert lines == ['REFUTES [37:59] It is 500 metres long. ← "It is 330 metres long." context-2:37']


@pytest.mark.parametrize(
    ("answer", "contexts", "reason", "words"),
    [
        ("Hello!", BRIDGE, Reason.NO_CLAIM, "no claim found"),
        ("…", BRIDGE, Reason.NO_CLAIM, "no claim found"),
        (BRIDGE, [], Reason.NO_CONTEXT, "unchecked: there is no context"),
        (BRIDGE, ["", "\n"], Reason.NO_CONTEXT, "unchecked: there is no context"),
        ("Die Brücke wurde im Jahr 1889 eröffnet.", BRIDGE, Reason.LANGUAGE, "read English only"),
    ],
)
def test_an_answer_that_cannot_be_checked_fails_with_its_reason(
    answer: str, contexts: str | list[str], reason: Reason, words: str
) -> None:
    with pytest.raises(NotGrounded, match=words) as failure:
        grounded(answer, contexts, min_supported=0)
    assert failure.value.grounding.reason is reason


def test_limits_say_what_passes() -> None:
    grounded(WRONG, BRIDGE, min_supported=0.5, max_refuted=1)
    with pytest.raises(NotGrounded, match=r"wanted 50%\)"):
        grounded(WRONG, BRIDGE, min_supported=0.5)
    with pytest.raises(NotGrounded, match=r"0 of 2 checks passed \(wanted 1\)"):
        grounded(WRONG, BRIDGE, repeats=2)
    with pytest.raises(UsageError, match="cannot pass"):
        grounded(BRIDGE, BRIDGE, repeats=2, pass_k=3)
    with pytest.raises(UsageError, match="min_supported=90 is not a share"):
        grounded(BRIDGE, BRIDGE, min_supported=90)


@pytest.mark.slow
def test_a_claim_is_checked_against_the_corpus() -> None:
    assert supported("Fred Perry was a tennis player.", method="single-reader", store="starter").label == "SUPPORTS"
    with pytest.raises(AssertionError, match="Edsel Ford was a dentist"):
        supported("Edsel Ford was a dentist.", method="single-reader", store="starter")


@pytest.mark.slow
def test_pytest_shows_failures_and_errors_apart(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
def test_right():
    redargue.grounded(BRIDGE, BRIDGE)

def test_wrong():
    redargue.grounded(WRONG, BRIDGE)

def test_misconfigured():
    redargue.grounded(BRIDGE, BRIDGE, method="no-such-method")

def test_other_error():
    raise ValueError
""",
    )
    result.assert_outcomes(passed=1, failed=2, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at call of test_misconfigured*", "*REFUTES [[]37:59[]] It is 500 metres*"])
    assert "recorded_checks.py" not in "\n".join(line for line in result.stdout.lines if "test_wrong" in line)


def test_the_marker_gives_defaults_and_wants_a_check(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
pytestmark = pytest.mark.factual(method="no-such-method", max_refuted=1)

@pytest.mark.factual(method="single-reader", min_supported=0.5)
def test_lenient():
    redargue.grounded(WRONG, BRIDGE)

@pytest.mark.factual(method="single-reader", min_supported=0.5)
def test_strict():
    redargue.grounded(WRONG, BRIDGE, min_supported=1)

@pytest.mark.factual
def test_forgetful():
    pass

@pytest.mark.factual(0.9)
def test_positional():
    redargue.grounded(BRIDGE, BRIDGE)
""",
        "--strict-markers",
    )
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(["*marked factual, and checked nothing*", "*keywords, such as*and not 0.9*"])


def test_an_assertion_works_within_an_event_loop(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
import asyncio

def test_in_a_loop():
    async def check():
        return redargue.grounded(BRIDGE, BRIDGE)
    assert asyncio.run(check()).outcome == "factual"
""",
    )
    result.assert_outcomes(passed=1)


SUITE = """
from redargue.text import verification

def test_answer():
    redargue.grounded(WRONG, BRIDGE, min_supported=0.5, max_refuted=1)

def test_claim():
    redargue.supported("Fred Perry was a tennis player.", method="single-reader", store="starter")

def test_nothing():
    with pytest.raises(AssertionError, match="no claim found"):
        redargue.grounded("Hello there!", BRIDGE)
"""


@pytest.mark.slow
def test_a_recording_replays_without_models_and_a_changed_check_is_missed(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(pytester, SUITE, "--redargue-record", "recorded").assert_outcomes(passed=3)
    folders = sorted(path.name.rpartition("-")[0] for path in (pytester.path / "recorded").iterdir())
    assert folders == ["fred-perry-was-a", "hello-there", "the-bridge-at-orvell"]
    monkeypatch.setattr("redargue.nli.backend.EmbeddedBackend.perform", None)  # nothing may be computed
    monkeypatch.setattr("redargue.nli.session.Embedder.encode", None)
    result = run(pytester, SUITE, "--redargue-replay", "recorded")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["redargue: checks are replayed from *recorded"])
    changed = SUITE.replace("WRONG, BRIDGE", "WRONG, BRIDGE + ' It is red.'").replace('"single-reader"', '"tool-mad"')
    result = run(pytester, changed, "--redargue-replay", "recorded")
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(["*is not recorded*"])


@pytest.mark.slow
def test_recording_again_checks_again(pytester: pytest.Pytester) -> None:
    for _ in range(2):
        run(pytester, SUITE, "--redargue-record", "recorded").assert_outcomes(passed=3)
    (folder,) = (pytester.path / "recorded").glob("the-bridge*")
    kinds = [json.loads(line)["kind"] for line in (folder / "events.jsonl").read_text().splitlines()]
    assert kinds.count("claim_ended") == 2


def test_recording_and_replaying_exclude_each_other(pytester: pytest.Pytester) -> None:
    result = run(pytester, SUITE, "--redargue-record", "a", "--redargue-replay", "b")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_a_replay_outside_of_a_recording_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redargue.adapters.session.current.replay", tmp_path)
    with pytest.raises(ReplayMiss, match="--redargue-record"):
        grounded(BRIDGE, BRIDGE)


@pytest.mark.slow
def test_the_plugin_is_installed_and_loads_nothing_slow() -> None:
    code = (
        "import sys, pytest, redargue.adapters.pytest_plugin\n"
        "slow = {'numpy', 'onnxruntime', 'pydantic', 'httpx2', 'redargue.spec'} & set(sys.modules)\n"
        "sys.exit(str(slow) if slow else 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    done = subprocess.run([sys.executable, "-m", "pytest", "--help"], capture_output=True, text=True, check=True)
    assert "--redargue-replay" in done.stdout


def test_a_misspelt_limit_of_an_assertion_is_named_with_the_limits_that_there_are() -> None:
    with pytest.raises(UsageError, match="unknown option 'min_suported'") as refused:
        grounded("It rains.", ["It rains."], min_suported=1)  # type: ignore[call-arg]
    assert refused.value.hint.startswith("did you mean 'min_supported'")
