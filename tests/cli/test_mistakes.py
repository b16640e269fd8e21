"""What a user gets wrong at first, and what the message says: what was meant, where it is, what to write instead."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

import redargue
from redargue.assembly import with_default_tool
from redargue.cli import app as app_module
from redargue.cli.app import app, run
from redargue.errors import UsageError
from redargue.text import Outcome

CHECK = [
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
    "-q",
]
JARGON = ("Value error", "Traceback", "codec", "pydantic", "Tuple should", "validation error")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--tool", "corpsu"], ("unknown tool 'corpsu'", "did you mean 'corpus'?")),
        (["--tool", "corpus", "--tool", "wikipeda"], ("unknown tool 'wikipeda'", "did you mean 'wikipedia'?")),
        (["--budget", "3 apples"], ("cannot read the budget '3 apples'", "0.50usd")),
        (["--json", "--jsonl"], ("--json and --jsonl exclude each other",)),
        (["--as-of", "31.3.2024"], ("'31.3.2024' is not a date", "2024-03-31")),
        (["--set", "top_k=0"], ("0 does not fit the setting 'top_k'",)),
        (["--set", "top_k=true"], ("True does not fit the setting 'top_k'", "give a number")),
        (["--seed=-1"], ("-1 does not fit 'seed'",)),
    ],
)
def test_a_mistake_on_the_command_line_is_named_without_jargon(
    arguments: list[str], said: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*CHECK, *arguments]) == 2
    err = capsys.readouterr().err
    assert all(words in err for words in said)
    assert not any(word in err for word in JARGON)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["check", "Bees are insects.", "--run", ""], "--run"),
        (["check", "Bees are insects.", "--run="], "--run="),
        (["check", "Bees are insects.", "--no-record", "--budget="], "--budget="),
        (["batch", "claims.csv", "-o", ""], "-o"),
        (["corpus", "add", ""], "add"),
        (["runs", "rm", "--yes", ""], "--yes"),
        (["report", "--", ""], "--"),
    ],
)
def test_an_empty_value_is_refused_and_is_not_the_working_folder(
    arguments: list[str],
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "claims.csv").write_text("claim\nBees are insects.\n")
    assert run(arguments) == 2
    assert f"the value after {named!r} is empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["claims.csv"]


@pytest.mark.parametrize(
    "arguments", [["--set", "top_k="], ["--", "--budget="], ["--question", " "], ["--labels", "a=,b="]]
)
def test_what_is_not_empty_is_left_to_its_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run([*CHECK, *arguments])
    assert "is empty" not in capsys.readouterr().err


def test_a_file_of_settings_that_is_not_text_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "settings.env"
    file.write_bytes(b"A=\xff\n")
    assert run(["--env-file", str(file), *CHECK]) == 2
    assert f"{str(file)!r} cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("A=1\nREDARGUE_BUDGET: 10calls\n", 2),
        ("A=1\nREDARGUE_BUDGET:10calls\n", 2),
        ('# keys\n\nA=1\n\n\nREDARGUE_BUDGET="10calls\nB=2\n', 6),
        ("my-sec ret\n", 1),
    ],
)
def test_a_line_of_settings_that_sets_nothing_is_named_and_not_shown(
    content: str, line: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "settings.env"
    file.write_text(content)
    assert run(["--env-file", str(file), *CHECK]) == 2
    err = capsys.readouterr().err
    assert f"line {line} of {str(file)!r} sets nothing (--env-file)" in err
    assert "10calls" not in err
    assert "sec" not in err


def test_a_file_of_settings_may_have_comments_quotes_and_names_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REDARGUE_BUDGET", "")
    monkeypatch.delenv("REDARGUE_BUDGET")
    file = tmp_path / "settings.env"
    file.write_text('# a comment\n\nexport HOME\nREDARGUE_BUDGET = "3 apples" # too few\n')
    assert run(["--env-file", str(file), *CHECK]) == 2
    assert "cannot read the budget '3 apples'" in capsys.readouterr().err


def test_standard_input_is_read_once(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ["ground", "--answer", "-", "--context", "-"],
        ["ground", "--answer", "It is long.", "--context", "-", "--context", "-"],
        ["check", "-", "--as", "qa", "--question", "-"],
    ):
        assert run(arguments) == 2
        assert "'-' is given 2 times, and standard input can be read once" in capsys.readouterr().err


@pytest.mark.parametrize("locked", [False, True])
def test_a_batch_folder_that_cannot_be_one_leads_to_its_option(
    locked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(path: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    claims, out = tmp_path / "claims.csv", tmp_path / "out"
    claims.write_text("claim\nBees are insects.\n")
    if locked:
        monkeypatch.setattr("redargue.runs.record.make_folder", refused)
    else:
        out.write_text("a file")
    assert run(["batch", str(claims), "-o", str(out), "--offline", "--store", "starter", "-q"]) == 2
    err = capsys.readouterr().err
    assert f"{str(out)!r} cannot be a run folder" in err
    assert "of a batch, -o DIR" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["corpus", "search", "tower", "--store", "starter", "-k", str(2**63 - 1)],
        ["memory", "ls", "-n", "9" * 20],
        ["runs", "prune", "--older-than", "740000", "-y"],
        ["check", "Bees are insects.", "--no-record", "--concurrency", str(2**63)],
    ],
)
def test_a_number_out_of_range_is_quoted_and_blames_no_store(
    arguments: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    err = capfd.readouterr().err
    value = next(each for each in arguments if each.isdigit())
    assert f"'{value}': Input should be less than or equal to" in err
    assert "damaged" not in err


def test_a_memory_of_the_environment_is_for_methods_that_have_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = str(tmp_path / "memory.db")
    monkeypatch.setenv("REDARGUE_MEMORY", memory)
    monkeypatch.setenv("REDARGUE_WORKSPACE", "news")
    assert run(CHECK) == 0
    assert not os.path.exists(memory)
    assert run([*CHECK, "--memory", "other.db"]) == 2
    assert "'tool-mad' has no memory with these settings (--memory)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (("wikipedia",), ("corpus", "wikipedia")),
        (("corpus",), ("corpus", "keywords")),
        (("keywords",), ("corpus", "keywords")),
        (("none",), ("corpus", "none")),
        (("wikipedia", "tavily"), ("wikipedia", "tavily")),
    ],
)
def test_where_one_debaters_tool_is_named_the_other_has_its_default(
    given: tuple[str, ...], wanted: tuple[str, ...]
) -> None:
    assert with_default_tool(given, "tool-mad", "hardened") == wanted


def test_a_method_with_one_agent_takes_one_tool() -> None:
    assert with_default_tool(("wikipedia",), "single-reader", "hardened") == ("wikipedia",)


def test_one_tool_is_enough_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*CHECK, "--tool", "keywords", "--json"]) == 0
    usage = json.loads(capsys.readouterr().out)["verdicts"][0]["usage"]
    assert set(usage["by_tool"]) == {"corpus", "keywords"}


@pytest.mark.anyio
async def test_a_single_context_may_be_a_string() -> None:
    one = await redargue.ground("Bees are insects.", contexts="Bees are insects.", method="single-reader")
    assert one.outcome is Outcome.FACTUAL
    passage = redargue.Passage(text="Bees are insects.")
    assert (await redargue.ground("Bees are insects.", contexts=passage)).outcome is Outcome.FACTUAL


@pytest.mark.anyio
async def test_a_context_that_is_no_text_is_named() -> None:
    with pytest.raises(UsageError, match=r"context 2 is neither a text nor a Passage: 3"):
        await redargue.ground("Bees are insects.", contexts=["Bees.", 3])  # type: ignore[list-item]
    with pytest.raises(UsageError, match=r"context 1 is the name of a file, not its text: 'bees.pdf'"):
        await redargue.ground("Bees are insects.", contexts="bees.pdf")
    with pytest.raises(UsageError, match="the text is neither a string nor a Text: None"):
        await redargue.ground(None, contexts="Bees are insects.")  # type: ignore[arg-type]


@pytest.mark.anyio
async def test_a_budget_may_be_a_string_and_is_explained_where_it_cannot_be_met() -> None:
    verdict = await redargue.verify(
        "Bees are insects.", method="tool-mad", budget="1call", store="starter", offline=True
    )
    assert verdict.error is not None
    assert "1 call" in verdict.error.what
    with pytest.raises(UsageError, match="give the budget in calls"):
        await redargue.ground("Bees are insects.", contexts="Bees.", budget="0.5usd")


@pytest.mark.anyio
async def test_verify_sync_in_a_notebook_says_what_to_write() -> None:
    with pytest.raises(UsageError, match=r"use await redargue\.verify"):
        redargue.verify_sync("Bees are insects.")


@pytest.mark.anyio
@pytest.mark.parametrize("claim", ["", "\x00 x", "x" * 30_000])
async def test_a_claim_that_cannot_be_checked_is_refused_without_jargon(claim: str) -> None:
    with pytest.raises(UsageError, match="this claim cannot be checked") as error:
        await redargue.verify(claim)
    assert not any(word in str(error.value) for word in JARGON)


TEXT = "The bridge opened in 1889. It is 300 metres long. It was built of stone."


def estimated(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert run(["estimate", *arguments, "--store", "starter", "--offline", "--json", "-q"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_estimate_takes_the_arguments_of_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = estimated(capsys, TEXT, "--fail-on", "refuted", "--run", str(tmp_path / "r"), "--concurrency", "2")
    assert found["claims"] == 3
    assert "one claim for each of 3 sentences" in str(found["assumed"])
    assert not (tmp_path / "r").exists()
    answer = ["It opened in 1889.", "--as", "qa", "--question", "When did the bridge open?"]
    assert estimated(capsys, *answer)["claims"] == 1
    assert estimated(capsys, "Bees are insects.")["claims"] == 1


def test_estimate_has_every_option_of_check() -> None:
    commands = typer.main.get_command(app)
    assert isinstance(commands, TyperGroup)
    context = typer.Context(commands)
    found = [commands.get_command(context, name) for name in ("check", "estimate")]
    check, estimate = ({option.name for option in command.params} for command in found if command)
    assert check - estimate == set()


def test_an_estimate_needs_no_key_of_a_model_or_a_search_service(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "REDARGUE_BASE_URL", "TAVILY_API_KEY", "SERPER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    given = ["Bees are insects.", "--model", "gpt-4o-mini", "--tool", "tavily", "--tool", "google"]
    assert run(["estimate", *given, "--json", "-q"]) == 0
    likely = json.loads(capsys.readouterr().out)["likely"]
    assert likely["prompt_tokens"] > 1000
    assert likely["usd"] > 0
    assert run(["check", *given, "--no-record"]) == 2
    assert "no key" in capsys.readouterr().err


def test_estimate_counts_tokens_where_the_price_is_unknown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    one = estimated(capsys, "Bees are insects.", "--model", "a-model-of-mine")
    text = estimated(capsys, TEXT, "--model", "a-model-of-mine")
    likely, of_text = one["likely"], text["likely"]
    assert isinstance(likely, dict)
    assert isinstance(of_text, dict)
    assert likely["usd"] is None
    assert likely["prompt_tokens"] > 1000
    assert of_text["prompt_tokens"] > 3 * likely["prompt_tokens"]
    assert of_text["calls"] == 3 * likely["calls"] + 1
    assert "no total in dollars" in str(one["assumed"])


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.ENOSPC, "make room, or choose another folder"),
        (errno.EDQUOT, "make room, or choose another folder"),
        (errno.EACCES, "→ choose another folder"),
        (errno.ECONNREFUSED, "--debug shows where"),
    ],
)
def test_only_a_full_disk_asks_for_room(
    number: int, hint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused() -> list[Path]:
        raise OSError(number, os.strerror(number), "/some/folder")

    monkeypatch.setattr("redargue.runs.folders.run_folders", refused)
    assert run(["runs", "ls"]) == 2
    err = capsys.readouterr().err
    assert hint in err
    assert ("make room" in err) == hint.startswith("make room")


def test_a_working_folder_that_was_removed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert run(["list", "methods"]) == 2
    assert "the working folder is not there any more" in capsys.readouterr().err


def test_a_page_without_its_package_leads_to_the_report(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(app_module, "extra_of", lambda name: "serve" if name == "view" else "")
    assert run(["view"]) == 2
    assert "redargue report last --open" in capfd.readouterr().err


@pytest.mark.parametrize("option", ["--context", "--answer"])
def test_who_gives_check_the_sources_of_ground_is_led_to_ground(option: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "press-release.docx", option, "sources/"]) == 2
    out, err = capfd.readouterr()
    assert (out, "--cited" in err) == ("", False)
    assert err.startswith(f"redargue: check has no option {option}\n")
    assert "redargue ground --answer FILE --context SOURCES checks a text against given sources" in err
    assert run(["check", "It opened in 1889. It is long.", "--as", "summary"]) == 2
    assert "redargue ground --answer FILE --as summary --context DOCUMENT" in capfd.readouterr().err
    assert run(["check", "press-release.docx", "--contex", "sources/"]) == 2  # what neither has is as before
    assert "No such option: --contex" in capfd.readouterr().err


@pytest.mark.parametrize("value", ["1.2", "half"])
def test_a_value_that_an_option_does_not_take_is_quoted(value: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "It opened in 1889.", "--min-supported", value]) == 2
    assert f"'--min-supported': '{value}': Input should be" in capfd.readouterr().err


def test_a_row_that_names_its_claim_twice_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "claims.jsonl"
    file.write_text('{"claim": "Bees fly."}\n{"claim": "Bees swim.", "claim": "Bees are insects."}\n')
    assert run(["batch", str(file), "--out", str(tmp_path / "out"), "--offline", "--store", "starter", "-q"]) == 2
    assert f"the key 'claim' appears 2 times ({file}, row 2)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "meant"), [(["chek", "Bees fly."], "check"), (["bench", "rum"], "run"), (["list", "tols"], "tools")]
)
def test_an_unknown_command_leads_to_the_nearest(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert f"did you mean {meant!r}" in capsys.readouterr().err
