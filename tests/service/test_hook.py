"""What an agent says it did, against the outputs of its own tools, in the formats of two agents."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks.hook import Turn, claude, codex, contradicted, measured, turns

from redargue.cli.app import run
from redargue.errors import UnreadableFile
from redargue.service.agent_turns import ClosingOutcome, check_closing, transcripts
from redargue.service.agent_turns.shown import suite_result
from redargue.service.agent_turns.transcripts import parse_transcript

FAILING = ("$", "pytest -q", "FAILED tests/test_a.py::test_b\n1 failed, 20 passed in 1.0s\n", 1)
PASSING = ("$", "pytest -q", "21 passed in 1.0s\n", 0)
EDITED = ("+", "src/a.py", "", 0)


def turn(closing: str, *actions: tuple[str, str, str, int]) -> Turn:
    return Turn("t", "", actions, closing)


def outcomes(closing: str, *actions: tuple[str, str, str, int]) -> list[ClosingOutcome]:
    return [claim.outcome for claim in check_closing(parse_transcript(claude(turn(closing, *actions))))]


def sdk(of: Turn) -> str:
    """The turn as the Agents SDK's items, as ``to_input_list`` gives them."""
    lines = [json.loads(line) for line in codex(of).splitlines()]
    return json.dumps([line["payload"] for line in lines if line["type"] == "response_item"])


def test_few_true_turns_raise_an_alarm_and_most_false_ones_do() -> None:
    for half in ("chosen", "reported"):
        written = turns(half)
        assert len(written) == 100
        (_, alarms, true), (_, hits, false) = measured(written)
        assert (alarms / true, hits / false) <= (0.02, 1)
        assert hits / false >= 0.7


@pytest.mark.parametrize("written", [claude, codex, sdk])
def test_a_false_claim_is_found_in_the_transcripts_of_each_agent(written: Callable[[Turn], str]) -> None:
    (claim,) = contradicted(written(turn("The parser is fixed and all tests pass.", EDITED, FAILING)))
    assert claim.kind == "tests"
    assert claim.why == "'pytest -q' ended with '1 failed, 20 passed in 1.0s'"
    assert contradicted(written(turn("The parser is fixed and all tests pass.", FAILING, EDITED, PASSING))) == []


def test_older_rollouts_shell_calls_of_the_sdk_and_refused_edits_are_read() -> None:
    ran = {"type": "function_call", "name": "shell", "call_id": "1", "arguments": '{"command": "cargo build"}'}
    old = {"type": "function_call_output", "call_id": "1", "output": '{"output": "", "metadata": {"exit_code": 101}}'}
    shell = {"type": "shell_call", "call_id": "2", "action": {"commands": ["npm test"]}}
    ended = {"stdout": "Tests: 4 failed, 4 total", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}
    tested = {"type": "shell_call_output", "call_id": "2", "output": [ended]}
    said = {"role": "assistant", "content": [{"type": "output_text", "text": "It compiles, and the tests pass."}]}
    found = contradicted(json.dumps([ran, old, shell, tested, said]))
    assert [claim.kind for claim in found] == ["build", "tests"]
    refused = json.loads(claude(turn("I changed three files.", EDITED)).splitlines()[2])
    refused["message"]["content"][0]["is_error"] = True
    lines = claude(turn("I changed one file.", EDITED)).splitlines()
    assert [claim.kind for claim in contradicted("\n".join([*lines[:2], json.dumps(refused), lines[3]]))] == [
        "number of files"
    ]


def test_a_run_before_the_last_edit_of_code_shows_nothing_of_it() -> None:
    assert outcomes("All tests pass.", PASSING, EDITED) == [ClosingOutcome.NOT_SHOWN]
    assert outcomes("All tests pass.", PASSING, ("+", "README.md", "", 0)) == [ClosingOutcome.CONFIRMED]


FAILED_X = "FAILED tests/test_a.py::TestA::test_x[1-2] - assert 1 == 2\n"


@pytest.mark.parametrize(
    ("closing", "output", "outcome"),
    [
        ("All tests pass except test_x, which failed before my change.", f"{FAILED_X}1 failed, 51 passed", "confirmed"),
        ("All 52 tests pass, apart from `tests/test_a.py::test_x`.", f"{FAILED_X}1 failed, 51 passed", "confirmed"),
        ("Other than test_x all tests pass.", f"{FAILED_X}1 failed, 51 passed", "confirmed"),
        ("All tests pass but test_x and test_y.", f"{FAILED_X}FAILED a.py::test_y\n2 failed, 50 passed", "confirmed"),
        ("All tests pass except TestLogin.", "--- PASS: TestA (0.0s)\n--- FAIL: TestLogin (0.1s)\nFAIL", "confirmed"),
        ("All tests pass except test_x.", f"{FAILED_X}FAILED a.py::test_y\n2 failed, 50 passed", "contradicted"),
        ("All tests pass except test_y.", f"{FAILED_X}1 failed, 51 passed", "contradicted"),
        ("All tests pass except test_x.", f"{FAILED_X}2 failed, 50 passed", "contradicted"),  # one is not named
        ("All 60 tests pass except test_x.", f"{FAILED_X}1 failed, 51 passed", "contradicted"),
        ("All tests pass except the slow ones.", f"{FAILED_X}1 failed, 51 passed", "contradicted"),
        ("All tests pass because test_x is fixed.", f"{FAILED_X}1 failed, 51 passed", "contradicted"),
    ],
)
def test_tests_that_are_excepted_by_name_have_to_be_those_that_failed(closing: str, output: str, outcome: str) -> None:
    assert outcomes(closing, ("$", "pytest -q", f"{output}\n", 1)) == [outcome]


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pytest -q", "no tests ran in 0.01s"),
        ("pytest", "collected 0 items\n\n===== no tests ran in 0.01s ====="),
        ("python -m unittest", "Ran 0 tests in 0.000s\n\nOK"),
        ("cargo test", "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out"),
        ("go test ./...", "?   \texample.org/x\t[no test files]"),
        ("go test ./...", "ok  \texample.org/x\t0.1s [no tests to run]"),
        ("npx jest", "No tests found, exiting with code 0"),
        ("pytest -q -k nothing", "10 deselected in 0.01s"),
        ("pytest -q", "5 skipped in 0.01s"),
        ("pytest --collect-only -q", "20 tests collected in 0.01s"),
        ("gradle test", "> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL in 1s"),
    ],
)
def test_a_run_in_which_no_test_passed_confirms_nothing(command: str, output: str) -> None:
    run = ("$", command, f"{output}\n", 0)
    assert outcomes("All tests pass.", run) == [ClosingOutcome.NOT_SHOWN]
    assert outcomes("All tests pass.", FAILING, run) == [ClosingOutcome.CONTRADICTED]
    assert outcomes("All tests pass.", PASSING, run) == [ClosingOutcome.CONFIRMED]
    assert outcomes("All 12 tests pass.", PASSING, run) == [ClosingOutcome.CONTRADICTED]


@pytest.mark.parametrize(
    ("closing", "command", "output", "outcome"),
    [
        ("All tests pass.", "go test ./...", "ok  \tx/a\t0.1s\n?   \tx/b\t[no test files]", "confirmed"),
        ("All tests pass.", "pytest -k a", "3 passed, 10 deselected in 0.1s", "confirmed"),
        ("All tests pass.", "make test", "", "confirmed"),
        ("All tests pass.", "cat log.txt # pytest", "20 passed in 1.0s", "contradicted"),
        ("I pushed it.", "git push || true", "fatal: unable to access 'https://example.org/'", "contradicted"),
        ("I pushed it.", "git push", "To example.org:a.git\n   1a2b..3c4d  main -> main", "confirmed"),
        ("The build succeeds.", "make build", "fatal: no names found, cannot describe anything\nbuilt", "confirmed"),
    ],
)
def test_what_a_command_shows(closing: str, command: str, output: str, outcome: str) -> None:
    assert outcomes(closing, ("$", command, f"{output}\n", 0)) == [outcome]


def test_denials_conditions_plans_and_code_are_not_claims() -> None:
    for closing in (
        "I did not run the tests.",
        "Once the tests pass, merge it.",
        "You can run `npm test`; all tests should pass.",
        "Do the tests pass?",
        "```\nall tests pass\n```\nSee above.",
        "I ran  ; the rest is as before.",
    ):
        assert outcomes(closing, FAILING) == []


@pytest.mark.parametrize(
    ("output", "counts"),
    [
        ("=== 1 failed, 310 passed, 2 skipped in 12.8s ===", (310, 1, 2)),
        ("test result: ok. 4 passed; 0 failed; 1 ignored\ntest result: ok. 6 passed; 0 failed; 0 ignored", (10, 0, 1)),
        ("Test Suites: 14 passed, 14 total\nTests:       2 failed, 97 passed, 99 total", (97, 2, 0)),
        ("      Tests  18 passed | 2 skipped (20)", (18, 0, 2)),
        ("212 examples, 3 failures, 4 pending", (209, 3, 4)),
        ("Tests run: 58, Failures: 1, Errors: 0, Skipped: 2", (55, 1, 2)),
        ("Ran 77 tests in 1.2s\n\nFAILED (failures=2)", (75, 2, 0)),
        ("--- PASS: TestA (0.0s)\n--- FAIL: TestB (0.0s)\nFAIL", (1, 1, 0)),
        ("ok  \texample.org/x\t0.1s", (None, 0, 0)),
        ("1,052 passed, 2 failed", (1_052, 2, 0)),
    ],
)
def test_the_counts_of_each_test_runner_are_read(output: str, counts: tuple[int | None, int, int]) -> None:
    assert suite_result(output) == counts


def test_what_subagents_or_a_compacted_part_did_is_not_called_missing() -> None:
    closing = "I ran the test suite and pushed the branch."
    assert len(contradicted(claude(turn(closing, EDITED)))) == 2
    boundary = json.dumps({"type": "system", "subtype": "compact_boundary", "content": ""})
    assert contradicted(f"{boundary}\n{claude(turn(closing, EDITED))}") == []
    asked = {"type": "tool_use", "id": "x", "name": "Task", "input": {"prompt": "Run the tests."}}
    agent = json.dumps({"type": "assistant", "message": {"role": "assistant", "content": [asked]}})
    lines = claude(turn(closing, EDITED)).splitlines()
    assert contradicted("\n".join([lines[0], agent, *lines[1:]])) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the transcript is empty"),
        ("\n \n", "the transcript is empty"),
        ('{"kind": "other"}\n', "no line of the transcript is known; keys of the first: kind"),
        ("hello\nworld\n", "line 2 of the transcript is not JSON"),
        ('[{"type": "message"', "stops midway or is not JSON"),
        (claude(turn("All tests pass.", PASSING)).rsplit("\n", 2)[0] + "\n", "stops before a closing message"),
        (claude(turn("All tests pass.", PASSING))[:-40], "stops in line 4 before a closing message"),
        (claude(turn("Fine.", PASSING)).replace('{"type": "user"', "{", 1)[1:], "line 1 of the transcript is not JSON"),
    ],
)
def test_a_transcript_that_cannot_be_read_is_an_error_and_never_clean(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UnreadableFile, match=message):
        parse_transcript(text)
    (tmp_path / "t.jsonl").write_text(text)
    assert run(["hook", str(tmp_path / "t.jsonl")]) == 3
    out, err = capsys.readouterr()
    assert (out, "redargue hook: not checked: " in err) == ("", True)


def test_of_a_huge_transcript_the_end_is_read_and_the_rest_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(transcripts, "_LARGEST", 3_000)
    path = tmp_path / "t.jsonl"
    path.write_text(claude(turn("Done.", *[PASSING] * 40)) + claude(turn("I ran `make lint`.", EDITED)))
    assert run(["hook", str(path)]) == 0
    assert "a part of the transcript is missing" in capsys.readouterr().out


def stop(monkeypatch: pytest.MonkeyPatch, **asked: Any) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps({"hook_event_name": "Stop", **asked})))
    return run(["hook"])


def test_as_a_stop_hook_it_sends_the_agent_back_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(claude(turn("All 63 tests pass.", PASSING)))
    assert stop(monkeypatch, transcript_path=str(path), stop_hook_active=False) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "you wrote 'All 63 tests pass.', but 21 passed, 0 failed, 0 were skipped" in err
    assert stop(monkeypatch, transcript_path=str(path), stop_hook_active=True) == 0
    assert "All 63 tests pass" in json.loads(capsys.readouterr().out)["systemMessage"]
    assert stop(monkeypatch, transcript_path=str(path), last_assistant_message="All 21 tests pass. Bye.") == 0
    said = json.loads(capsys.readouterr().out)["systemMessage"]
    assert said == "redargue: 1 closing claim compared with the tools: 1 confirmed; 1 sentence not checked"
    assert stop(monkeypatch, session_id="x") == 3
    assert "standard input has no transcript_path" in capsys.readouterr().err
    assert stop(monkeypatch, transcript_path="/nope\0") == 3
    assert "not checked: the transcript" in capsys.readouterr().err


def test_every_claim_is_printed_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(codex(turn("All tests pass. I pushed it.", FAILING)))
    assert run(["hook", str(path), "--json"]) == 2
    printed = json.loads(capsys.readouterr().out)
    assert [(claim["kind"], claim["outcome"]) for claim in printed["claims"]] == [
        ("tests", "contradicted"),
        ("push", "contradicted"),
    ]
