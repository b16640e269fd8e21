"""Recorded runs: where they are, how they are listed, named, shown and removed, and how a run is not recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from redargue.claims import Claim
from redargue.cli.app import run
from redargue.errors import RecordError, UsageError
from redargue.events import ClaimEnded, EvidenceFound
from redargue.evidence import Passage, Quote
from redargue.reports import load_run
from redargue.runs.folders import find_run, read_run, run_folders, runs_folder
from redargue.runs.manifest import Origin
from redargue.runs.record import DRAFT, Record, new_run_folder, writing
from redargue.verdicts import ErrorInfo, Verdict
from support.manifests import MANIFEST

ERROR = ErrorInfo(type="BadReply", what="w", exit_code=3)
CAN_LOCK = os.name == "posix"


def recorded(name: str, *verdicts: Verdict, unfinished: int = 0, file: str = "") -> Path:
    claims = [verdict.claim for verdict in verdicts] + [Claim(text=f"Claim {n}.") for n in range(unfinished)]
    folder = runs_folder() / name
    with Record(folder, MANIFEST.model_copy(update={"claims": tuple(claims), "origin": Origin(name=file)})) as record:
        for item, verdict in enumerate(verdicts):
            record.write(ClaimEnded(item=item, verdict=verdict))
    return folder


def verdict(text: str = "Bees are insects.", meaning: str | None = "supported", **fields: object) -> Verdict:
    label = {"supported": "SUPPORTS", "refuted": "REFUTES"}.get(str(meaning))
    return Verdict.model_validate({"claim": Claim(text=text), "label": label, "meaning": meaning, **fields})


def test_runs_are_listed_newest_first_with_their_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    recorded("20260101-000000-aaaaaa", verdict())
    recorded("20251231-000000-cccccc", verdict(meaning="not_enough"), file="press release.md")
    failed, refuted = verdict("Bees are fish.", None, error=ERROR), verdict("Bees are birds.", "refuted")
    recorded(
        "20260102-000000-bbbbbb", refuted, failed, verdict(meaning=None, unchecked={"reason": "language"}), unfinished=1
    )
    assert run(["runs", "ls"]) == 0
    out, err = capsys.readouterr()
    first, second, third = out.strip().split("\n")[1:4]
    assert first.split()[:3] == ["20260102-000000-bbbbbb", "single-reader", "4"]
    assert "1 error, 1 refuted, 1 unchecked, 1 unfinished" in first
    assert "Bees are birds." in first
    assert "1 supported" in second
    assert "Bees are insects." in second
    assert "1 not enough evidence" in third
    assert third.endswith(" press release.md")
    assert f"3 of 3 runs in {runs_folder()}" in err
    assert run(["runs", "ls", "--json", "-n", "1"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert (listed["count"], [row["run"] for row in listed["runs"]]) == (3, ["20260102-000000-bbbbbb"])
    assert listed["runs"][0]["began"] == "2026-01-02T00:00:00+00:00"


def test_runs_that_begin_in_one_second_are_in_order() -> None:
    for _ in range(30):
        recorded(new_run_folder().name, verdict())
    made = sorted(run_folders(), key=lambda folder: (folder / "run.json").stat().st_mtime_ns, reverse=True)
    assert run_folders() == made
    assert find_run("last") == made[0]


def test_a_text_that_was_stopped_before_its_claims_were_known_is_listed_and_removed() -> None:
    recorded("20260101-000000-aaaaaa", verdict())
    recorded(f"20260102-000000-bbbbbb/{DRAFT}")
    (folder,) = (each for each in run_folders() if each.name.endswith("bbbbbb"))
    about = read_run(folder)
    assert (about.method, about.claims, about.began.day) == ("single-reader", 0, 2)
    assert find_run("last").name == "20260101-000000-aaaaaa"
    if CAN_LOCK:
        with writing(folder / DRAFT):
            assert run(["runs", "rm", folder.name, "--yes"]) == 3
        assert folder.is_dir()
    with pytest.raises(RecordError, match="has no verdict yet"):
        load_run(folder)
    assert run(["runs", "rm", folder.name, "--yes"]) == 0
    assert [each.name for each in run_folders()] == ["20260101-000000-aaaaaa"]


def test_without_runs_the_listing_says_where_they_would_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["runs", "ls"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"no runs in {runs_folder()}\n")
    assert run(["runs", "show", "last"]) == 2
    assert "has none yet" in capsys.readouterr().err


def test_a_run_is_named_by_its_folder_its_name_a_beginning_or_last(tmp_path: Path) -> None:
    older, newer = recorded("20260101-000000-aaaaaa", verdict()), recorded("20260102-000000-bbbbbb", verdict())
    assert find_run("last") == newer
    assert find_run("20260101") == older
    assert find_run(older.name) == older
    assert find_run(str(older)) == older
    assert find_run(tmp_path / "not" / "there") == tmp_path / "not" / "there"  # whoever opens a path reports it
    with pytest.raises(UsageError, match=r"2 runs begin with '2026'"):
        find_run("2026")
    with pytest.raises(UsageError, match=r"no run '20260102-000000-bbbbbx'(?s:.*)did you mean"):
        find_run("20260102-000000-bbbbbx")


@pytest.mark.parametrize("command", [["replay"], ["report", "-f", "md"], ["runs", "show"], ["why"]])
def test_commands_take_the_name_of_a_run(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
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
                "-q",
            ]
        )
        == 0
    )
    capsys.readouterr()
    assert run([*command, "last"]) == 0
    assert "Bees are insects" in capsys.readouterr().out


def test_a_damaged_run_is_listed_as_damaged_and_a_link_is_not_followed(tmp_path: Path) -> None:
    folder = recorded("20260101-000000-aaaaaa", verdict())
    (folder / "run.json").write_text("{")
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "run.json").write_text("{}")
    (runs_folder() / "link").symlink_to(outside)
    assert run_folders() == [folder]
    assert read_run(folder).method == ""
    assert run(["runs", "rm", folder.name, "--yes"]) == 0
    assert run_folders() == []


@pytest.mark.parametrize(
    "line",
    [
        '{"kind":"claim_ended","item":0,"verdict":5}',
        '{"kind":"claim_ended","item":0,"verdict":null}',
        '{"kind":"claim_ended","item":0}',
    ],
)
def test_a_damaged_log_hides_no_other_run(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder, other = recorded("20260101-000000-aaaaaa", verdict()), recorded("20260102-000000-bbbbbb", verdict())
    with (folder / "events.jsonl").open("a") as log:
        log.write(f"{line}\n")
    assert run(["runs", "ls", "--json"]) == 0
    listed = {each["run"]: each["method"] for each in json.loads(capsys.readouterr().out)["runs"]}
    assert listed == {folder.name: "", other.name: MANIFEST.spec.method}


@pytest.mark.parametrize("confidence", ["1e400", "Infinity", "NaN"])
def test_a_record_with_a_number_that_is_none_is_named(confidence: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = recorded("20260101-000000-aaaaaa", verdict(confidence=0.25))
    log = folder / "events.jsonl"
    log.write_text(log.read_text().replace('"confidence":0.25', f'"confidence":{confidence}'))
    for command in (["report", str(folder)], ["runs", "show", str(folder)], ["replay", str(folder)]):
        assert run(command) == 2
        assert "is not an event" in capsys.readouterr().err


def test_a_report_of_a_record_whose_quotation_lies_before_its_passage_is_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    passage = Passage(text="Bees are insects.")
    quote = Quote(text="Bees", status="verified", start=-5, end=-1, passage=passage.sha256)
    folder = runs_folder() / "20260101-000000-aaaaaa"
    claim = Claim(text="Bees are insects.")
    found = {"agent": "reader", "round": 1, "tool": "corpus", "query": "bees", "key": "k", "passages": (passage,)}
    with Record(folder, MANIFEST.model_copy(update={"claims": (claim,)})) as record:
        record.write(EvidenceFound(**found))
        record.write(ClaimEnded(verdict=verdict(quotes=(quote,))))
    assert run(["report", str(folder)]) == 0
    assert "Bees are insects." in capsys.readouterr().out


def test_removed_runs_are_gone_and_others_stay(capsys: pytest.CaptureFixture[str]) -> None:
    older, newer = recorded("20260101-000000-aaaaaa", verdict()), recorded("20260102-000000-bbbbbb", verdict())
    assert run(["runs", "rm", older.name, "--yes"]) == 0
    assert capsys.readouterr().out == "1 run removed\n"
    assert run_folders() == [newer]


def test_what_is_not_a_run_is_not_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert run(["runs", "rm", str(tmp_path), "--yes"]) == 2
    assert "contains no run" in capsys.readouterr().err
    assert (tmp_path / "notes.txt").exists()


def test_a_folder_with_files_of_others_is_not_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = recorded(str(tmp_path / "project"), verdict())
    (folder / "thesis.md").write_text("Years of work.")
    assert run(["runs", "rm", str(folder), "--yes"]) == 3
    assert "holds 'thesis.md', which is not of the run" in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == [".lock", "events.jsonl", "run.json", "thesis.md"]


def test_a_declined_removal_removes_nothing_and_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = recorded("20260101-000000-aaaaaa", verdict())
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    assert run(["runs", "rm", "last"]) == 0
    out, err = capsys.readouterr()
    assert (out, str(folder) in err, run_folders()) == ("0 runs removed\n", True, [folder])


@pytest.mark.parametrize(("ended", "code"), [(EOFError, 2), (KeyboardInterrupt, 130)])
def test_a_question_that_nobody_answers_is_no_failed_gate(
    ended: type[BaseException], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = recorded("20260101-000000-aaaaaa", verdict())
    asked = {"readline.side_effect": ended, "fileno.side_effect": OSError}
    monkeypatch.setattr("sys.stdin", Mock(**asked))
    assert run(["runs", "rm", "last"]) == code
    assert run_folders() == [folder]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a POSIX shell closes the streams")
@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("check - <&-", 2, "standard input is empty"),
        ("runs rm last <&-", 2, "the question was not answered"),
        ("report last -f json >&-", 0, ""),
    ],
)
def test_a_standard_stream_that_the_caller_closed_is_an_empty_one(command: str, code: int, said: str) -> None:
    folder = recorded("20260101-000000-aaaaaa", verdict())
    shell = ["sh", "-c", f'exec "$0" -m redargue {command}', sys.executable]
    done = subprocess.run(shell, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    assert said in done.stderr
    assert run_folders() == [folder]


@pytest.mark.skipif(not CAN_LOCK, reason="folders are locked on POSIX systems only")
def test_a_run_that_is_being_written_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    folder = recorded("20260101-000000-aaaaaa", verdict())
    with writing(folder):
        assert run(["runs", "rm", "last", "--yes"]) == 3
    assert run_folders() == [folder]
    assert "kept: another process is writing" in capsys.readouterr().err


def test_prune_removes_old_runs_and_keeps_the_newest(capsys: pytest.CaptureFixture[str]) -> None:
    recorded("20200101-000000-aaaaaa", verdict())
    newer = recorded("20200102-000000-bbbbbb", verdict())
    future = recorded("29990101-000000-cccccc", verdict())
    assert run(["runs", "prune"]) == 2
    assert "needs --older-than or --keep" in capsys.readouterr().err
    assert run(["runs", "prune", "--older-than", "740000", "-y"]) == 2
    assert len(run_folders()) == 3
    assert run(["runs", "prune", "--older-than", "30", "--keep", "2", "-y"]) == 0
    assert run_folders() == [future, newer]
    assert run(["runs", "prune", "--older-than", "30", "-y"]) == 0
    assert run_folders() == [future]
    assert run(["runs", "prune", "--keep", "1", "-y"]) == 0
    assert run_folders() == [future]


@pytest.mark.slow
@pytest.mark.parametrize("text", ["Bees are insects.", "Bees are insects. Bees live in hives."])
def test_a_check_without_record_leaves_no_run(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["check", text, "--store", "starter", "--offline", "--method", "tool-mad", "--rounds", "1", "-q"]
    assert run([*arguments, "--no-record"]) == 0
    out = capsys.readouterr().out
    assert run_folders() == []
    assert "recorded" not in out.lower()
    assert run(arguments) == 0
    (folder,) = run_folders()
    assert folder.name in capsys.readouterr().out


@pytest.mark.slow
def test_a_recorded_text_is_shown_as_json_as_check_printed_it(capsys: pytest.CaptureFixture[str]) -> None:
    text = "Bees are insects. Bees live in hives."
    assert run(["check", text, "--store", "starter", "--offline", "--method", "single-reader", "-q", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert run(["runs", "show", "last", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == printed


def test_a_grounding_without_record_leaves_no_run() -> None:
    arguments = ["--answer", "Bees are insects.", "--context", "Bees are insects.", "-q", "--no-record"]
    assert run(["ground", *arguments]) == 0
    assert run_folders() == []


def test_no_record_and_a_run_folder_exclude_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "Bees are insects.", "--no-record", "--run", str(tmp_path / "r")]) == 2
    assert "exclude each other" in capsys.readouterr().err
