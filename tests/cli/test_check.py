"""The command line as a person or a program meets it: streams, formats, exit codes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from redargue.claims import Claim
from redargue.cli.app import run
from redargue.cli.arguments import read_input
from redargue.cli.options import read_settings
from redargue.cli.output import Gate, exit_code
from redargue.errors import UsageError
from redargue.reports import CheckResult
from redargue.sanitize import printable
from redargue.spec import RunSpec
from redargue.verdicts import ErrorInfo, Verdict
from support.schemas import assert_published

TRUE = "Bees are insects."


def verdict(meaning: str | None = "supported", code: int = 0) -> Verdict:
    error = ErrorInfo(type="E", what="w", exit_code=code) if code else None
    return Verdict(claim=Claim(text=TRUE), label=None if code else "SUPPORTS", meaning=meaning, error=error)


def test_json_goes_to_stdout_and_progress_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["check", TRUE, "--store", "starter", "--json", "--method", "tool-mad", "--rounds", "1", "-v"]) == 0
    out, err = capfd.readouterr()
    result = json.loads(out)
    assert result["schema_version"] == 2
    assert result["verdicts"][0]["claim"]["text"] == TRUE
    assert "round 1, corpus searches for" in err


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["hardened", "paper"])
def test_a_debate_among_the_baselines_is_shown(profile: str, capfd: pytest.CaptureFixture[str]) -> None:
    check = ["check", TRUE, "--store", "starter", "--method", "madke", "--profile", profile, "--offline", "-v"]
    assert run(check) == 0
    out, err = capfd.readouterr()
    assert f"madke ({profile}), embedded backend" in out
    assert "searcher finds" in err


@pytest.mark.parametrize("method", ["mad", "multi-agent-debate", "reconcile", "cfmad"])
def test_debates_that_would_be_one_reader_need_a_language_model(method: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["check", TRUE, "--store", "starter", "--method", method, "--offline"]) == 2
    err = capfd.readouterr().err
    assert f"cannot perform '{method}'" in err
    assert "it needs a language model: --model NAME" in err


def test_a_file_of_claims_gives_one_line_each_and_quiet_is_quiet(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "claims.jsonl"
    file.write_text('{"claim": "Bees are insects."}\n\n{"claim": "Bees are birds.", "label": "REFUTES"}\n')
    assert (
        run(["check", str(file), "--store", "starter", "--jsonl", "--quiet", "--method", "tool-mad", "--rounds", "1"])
        == 0
    )
    out, err = capfd.readouterr()
    assert {json.loads(line)["claim"]["text"] for line in out.splitlines()} == {"Bees are insects.", "Bees are birds."}
    assert err == ""


def test_a_first_check_says_that_the_corpus_is_a_sample(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = "the corpus is 60 sample articles; for your own documents: redargue corpus add FOLDER\n"
    check = ["check", TRUE, "--offline", "--method", "single-reader"]
    for options, told in (([], True), (["-q"], False), (["--store", "starter"], False)):
        assert run([*check, *options]) == 0
        assert (said in capfd.readouterr().err) is told
    (tmp_path / "notes.md").write_text("Bees are insects.")
    assert run(["corpus", "add", str(tmp_path)]) == 0
    assert run(check) == 0
    assert said not in capfd.readouterr().err


def test_a_recorded_check_is_replayed_and_goes_on_under_the_same_folder(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "run")
    assert run(["check", TRUE, "--store", "starter", "--run", folder, "--json", "-q"]) == 0
    first = json.loads(capfd.readouterr().out)
    assert run(["replay", folder, "--json", "-q"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out) == first
    assert "every event is as recorded" in err
    assert run(["check", TRUE, "--store", "starter", "--run", folder, "--json", "-q"]) == 0
    assert json.loads(capfd.readouterr().out) == first
    assert run(["check", "Bees are birds.", "--store", "starter", "--run", folder]) == 2
    assert "already holds a run whose claims differ" in capfd.readouterr().err


def test_a_spent_budget_is_exit_4_with_partial_results(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "claims.txt"
    file.write_text("Bees are insects.\nBees are birds.\n")
    assert (
        run(
            [
                "check",
                str(file),
                "--store",
                "starter",
                "--budget",
                "3calls",
                "--method",
                "tool-mad",
                "--rounds",
                "1",
                "--concurrency",
                "1",
                "-q",
            ]
        )
        == 4
    )
    assert "the budget of 3 calls is spent" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", TRUE, "--method", "toolmad"], "did you mean 'tool-mad'"),
        (["check", TRUE, "--labels", "fevr"], "did you mean 'fever'"),
        (["check", TRUE, "--set", "roundz=2", "--store", "starter"], "no setting 'roundz'"),
        (["check", TRUE, "--rounds", "2", "--store", "starter"], "methods with 'rounds': tool-mad, cascade, pair, "),
        (
            ["check", TRUE, "--method", "tool-mad", "--rounds", "0", "--store", "starter"],
            "0 does not fit the setting 'rounds'",
        ),
        (["check", TRUE, "--tool", "corpus", "--tool", "tavilly", "--store", "starter"], "unknown tool 'tavilly'"),
        (["check", TRUE, "--profile", "papr", "--store", "starter"], "did you mean 'paper'"),
        (["check", TRUE, "--store", "nowhere.db"], "nowhere.db"),
        (["check", TRUE, "--budget", "lots"], "cannot read the budget 'lots'"),
        (["check", TRUE, "--fail-on", "refutes"], "did you mean 'refuted'"),
        (["check", "missing.txt"], "no file or folder 'missing.txt'"),
        (["check", "?!"], "contains no word"),
        (["check", "caf\udce9 is good"], "not UTF-8"),
        (["check", TRUE, "--set", "profile=paper", "--store", "starter"], "`profile` is not a setting"),
        (["replay", "nowhere"], "no run 'nowhere'"),
        (["chekc"], "chekc"),
        (["check", TRUE, "--no-such-option"], "--no-such-option"),
    ],
)
def test_wrong_usage_is_exit_2_and_says_what_to_do(
    arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert message in " ".join(err.split())


def test_exit_codes() -> None:
    assert exit_code([verdict("refuted")]) == 0
    assert exit_code([verdict("refuted")], Gate(frozenset({"refuted"}))) == 1
    assert exit_code([verdict(), verdict("refuted")], Gate(min_supported=0.5)) == 0
    assert exit_code([verdict(), verdict("refuted")], Gate(min_supported=0.6)) == 1
    assert exit_code([verdict(code=3)]) == 3
    assert exit_code([verdict(code=5)]) == 5
    assert exit_code([verdict(), verdict(code=5)]) == 3
    assert exit_code([verdict(code=5), verdict(code=4)]) == 4
    assert exit_code([verdict(), verdict(code=2)]) == 3


def claims_in(argument: str) -> list[str]:
    return [claim.text for claim in read_input(argument, "", "", RunSpec()).claims]


def test_a_bad_row_is_named_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "claims.jsonl"
    for rows, message in (
        ('{"claim": "A b."}\nnot json\n', "row 2"),
        ('{"text": "A b."}\n', "no field claim; its fields: text"),
        ('{"claim": "?"}\n{"claim": "?"}\n', "row 1"),
        ("", "the file is empty"),
    ):
        file.write_text(rows)
        with pytest.raises(UsageError, match=message):
            claims_in(str(file))
    file.write_bytes(b'{"claim": "\xff"}\n')
    with pytest.raises(UsageError, match="not UTF-8"):
        claims_in(str(file))


def test_lines_end_at_line_breaks_only_and_stdin_takes_both_forms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "claims.jsonl"
    file.write_text('{"claim": "A\u2028b c."}\r\n', encoding="utf-8", newline="")
    assert claims_in(str(file)) == ["A\u2028b c."]
    given = b'{"claim": "A b."}\nC d.\n'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))
    assert claims_in("-") == ["A b.", "C d."]
    for given, message in (
        (b"caf\xe9 \x00b\n", "cannot be read"),
        (b"A b.\n?\n", "-, line 2"),
        (b'A b.\n{"claim": 5\n', "-, row 2"),
        (b'A b.\n{"statement": "C d."}\n', "no field claim; its fields: statement"),
        (b" ", "is empty"),
    ):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))
        with pytest.raises(UsageError, match=message):
            claims_in("-")


def test_json_lines_of_standard_input_are_read_like_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        {"claim": "A b.", "id": 7, "context": "C d.", "contexts": ["E f.", "G h."], "as_of": "2020-01-31"},
        {"question": "What is b?", "answer": "A is b.", "contexts": "E f."},
        {"claim": 5, "contexts": "E f."},
    ]
    given = "".join(json.dumps(line) + "\n" for line in lines)
    file = tmp_path / "claims.jsonl"
    file.write_text(given)
    expected = read_input(str(file), "", "", RunSpec())
    assert [row.contexts for row in expected.rows] == [("E f.", "G h."), ("E f.",)]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
    found = read_input("-", "", "", RunSpec())
    assert found.rows == expected.rows
    assert [(row.number, row.error.where) for row in found.refused] == [(3, "-, row 3")]
    mapped = b'{"statement": "A b.", "sources": ["E f."]}\n'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(mapped)))
    [row] = read_input("-", "", "", RunSpec(), mapping=["claim=statement,contexts=sources"]).rows
    assert (row.claim.text, row.contexts) == ("A b.", ("E f.",))


def test_settings_are_read_as_json_or_as_text() -> None:
    given = ["rounds=2", "order=sequential", "judge-scores=false", 'debaters=["corpus", "none"]']
    assert read_settings(given) == {
        "rounds": 2,
        "order": "sequential",
        "judge_scores": False,
        "debaters": ["corpus", "none"],
    }
    with pytest.raises(UsageError, match="'rounds'"):
        read_settings(["rounds"])


def test_the_settings_file_gives_defaults_and_flags_win(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("redargue.toml").write_text('[check]\nmethod = "tool-mad"\nrounds = 1\nquiet = true\n')
    assert run(["check", TRUE, "--json", "--store", "starter"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out)["verdicts"][0]["rounds"] == 1
    assert err == ""
    Path("redargue.toml").write_text("[check\n")
    assert run(["check", TRUE]) == 2
    assert "cannot be read as TOML" in capfd.readouterr().err


def test_refused_rows_are_in_the_json_as_in_its_lines(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "claims.csv"
    file.write_text(f"id,claim\na,{TRUE}\nb,\n")
    check = ["check", str(file), "--store", "starter", "--offline", "--no-record", "-q"]
    assert run([*check, "--jsonl"]) == 3
    refused, _ = map(json.loads, capfd.readouterr().out.splitlines())
    assert run([*check, "--json"]) == 3
    found = json.loads(capfd.readouterr().out)
    assert len(found["verdicts"]) == 1
    assert found["refused"] == [{name: refused[name] for name in ("item", "id", "error")}]
    assert found["refused"][0]["item"] == 2


def test_the_published_schema_is_the_one_that_is_printed() -> None:
    assert_published("check.v2", CheckResult)


def test_control_characters_of_strangers_never_reach_the_terminal() -> None:
    assert printable("a\x1b[31mred\x07\u202eb\r\n\tc") == "a[31mredb \n c"


@pytest.mark.parametrize("what", ["methods", "tools", "tasks", "backends", "labels", "datasets"])
def test_lists_are_printed_for_people_and_programs(what: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["list", what, "--json"]) == 0
    rows = json.loads(capfd.readouterr().out)
    assert run(["list", what]) == 0
    out = capfd.readouterr().out
    assert all(name in out for name in rows)


def test_doctor_finds_everything_in_place(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--json"]) == 0
    checks = json.loads(capfd.readouterr().out)["checks"]
    assert all(check["ok"] is not False for check in checks)  # a language model is no need
    assert any("redargue corpus add" in check["found"] for check in checks)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("REDARGUE_HOME", "/proc/home", "home: '/proc/home' cannot be written"),
        ("REDARGUE_STORE", "missing.db", "corpus: no corpus at"),
        ("REDARGUE_STORE", "milvus:http://u:5ecret@127.0.0.1:1", "corpus: the address of the Milvus server at"),
    ],
)
def test_doctor_tries_what_the_environment_names(
    name: str, value: str, said: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert run(["doctor"]) == 2
    out = capfd.readouterr().out
    assert f"BAD {said}" in out
    assert "5ecret" not in out
