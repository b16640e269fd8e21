"""A folder that someone else filled (a clone, an archive) starts and sends nothing, and is not written through."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup
from typer.main import get_command

from redargue.cli.app import app, run
from support.loopback import Loopback
from support.manifests import altered

CLAIM = "Bees are insects."
CHECK = ["check", CLAIM, "--store", "starter", "--method", "single-reader", "-q"]

# redargue.toml


def starts(marker: Path) -> str:
    return f"sh -c 'touch {marker}; cat'"


@pytest.mark.slow
def test_a_settings_file_in_the_folder_starts_no_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    marker = tmp_path / "started"
    Path("redargue.toml").write_text(f"[check]\nmethod = 'mermaid'\nmcp = [\"{starts(marker)}\"]\n")
    run(["check", CLAIM, "--store", "starter", "-q"])
    assert not marker.exists()
    assert "redargue.toml" in capfd.readouterr().err


@pytest.mark.slow
def test_a_settings_file_in_the_folder_sends_no_key_to_its_address(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
    with Loopback() as server:
        Path("redargue.toml").write_text(f'[check]\nmodel = ["m"]\nbase-url = "{server.url}/v1"\n')
        run(CHECK)
        assert not server.counts.requests
    err = capfd.readouterr().err
    assert "check.model" in err
    assert "check.base_url" in err
    assert "--config" in err


@pytest.mark.parametrize("option", ["model", "mcp", "store", "no_record"])
def test_a_settings_file_in_the_folder_sets_no_option_by_a_table_of_harmless_names(
    option: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("redargue.toml").write_text(f"[check.{option}]\nmethod = 'planted'\n")
    assert run(CHECK) == 2
    assert f"'{option}' is an option, not a command" in capfd.readouterr().err


def options(group: TyperGroup, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, TyperGroup):
            yield from options(command, (*path, name))
        else:
            yield from (((*path, name), str(option.name)) for option in command.params)


REACHING = (  # they start, contact, read or write something, spend more, or weaken what was asked for
    "mcp tool base_url model embedding_model backend reader prompts memory store prices setting workspace ledger out "
    "run path file data dataset pages qrels question context answer yes everything allow_unchecked min_confidence "
    "profile http engine workers dataset_path adjudicated trust option"
).split()


def every_option() -> list[tuple[tuple[str, ...], str]]:
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    return list(options(group))


@pytest.mark.parametrize(
    ("command", "option"),
    [case for case in every_option() if case[1] in REACHING],
    ids=lambda part: part if isinstance(part, str) else ".".join(part),
)
def test_no_option_that_reaches_beyond_the_answer_is_read_from_the_folder(
    command: tuple[str, ...], option: str
) -> None:
    from redargue.cli.app import Options
    from redargue.config_file import read_defaults

    group = get_command(app)
    assert isinstance(group, TyperGroup)
    Path("redargue.toml").write_text(f'[{".".join(command)}]\n{option} = "planted"\n')
    defaults = read_defaults(Options(group, typer.Context(group)))
    assert "planted" not in json.dumps(defaults.tables)
    assert defaults.ignored == (".".join((*command, option)),)


def test_the_users_own_settings_and_those_of_config_are_read_and_win(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "spec" / "redargue"
    own.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own.parent))
    (own / "redargue.toml").write_text('[check]\nstore = "starter"\nseed = 7\nmethod = "single-reader"\nquiet = true\n')
    Path("redargue.toml").write_text("[check]\nseed = 8\nas_of = '2020-01-01'\n")
    assert run(["check", CLAIM, "--run", "a"]) == 0
    manifest = json.loads(Path("a/run.json").read_text())
    assert (manifest["spec"]["method"], manifest["spec"]["seed"], manifest["claims"][0]["as_of"]) == (
        "single-reader",
        7,
        "2020-01-01",
    )
    Path("other.toml").write_text('[check]\nstore = "starter"\nseed = 9\nmethod = "nli"\n')
    capfd.readouterr()
    assert run(["--config", "other.toml", "check", CLAIM, "--run", "b", "-q"]) == 0
    manifest = json.loads(Path("b/run.json").read_text())
    assert (manifest["spec"]["method"], manifest["spec"]["seed"], manifest["claims"][0]["as_of"]) == ("nli", 9, None)
    assert run(["--config", "none.toml", "check", CLAIM]) == 2
    assert "no file 'none.toml'" in capfd.readouterr().err


# Modules


@pytest.mark.slow
@pytest.mark.parametrize("module", ["typer", "redargue", "json", "sitecustomize", "httpx2"])
def test_workers_import_nothing_from_the_folder(module: str, tmp_path: Path) -> None:
    marker = tmp_path / "imported"
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / f"{module}.py").write_text(f"open({str(marker)!r}, 'w').close()\nraise SystemExit(2)\n")
    (stranger / "claims.csv").write_text(f"claim\n{CLAIM}\n")
    code = "import sys; from redargue.cli.app import run; sys.exit(run(sys.argv[1:]))"
    batch = ["batch", "claims.csv", "-o", "out", "--engine", "local", "--workers", "1", "--method", "single-reader"]
    command = [sys.executable, "-P", "-c", code, *batch, "--store", "starter", "-q"]
    done = subprocess.run(command, cwd=stranger, capture_output=True, text=True, timeout=300, check=False)
    assert not marker.exists()
    assert done.returncode == 0, done.stderr


# Run folders

FILES = ("run.json", "run.new", "events.jsonl", "events.new", ".lock")
BATCH_FILES = ("verdicts.jsonl", "verdicts.csv", "verdicts.jsonl.new", "verdicts.csv.new", *FILES)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, starter: Path) -> dict[str, bytes]:
    """The files of a finished run."""
    folder = tmp_path_factory.mktemp("recorded")
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("home")
        (home / starter.name).symlink_to(starter)
        patch.setenv("REDARGUE_HOME", str(home))
        patch.setenv("REDARGUE_OFFLINE", "1")
        assert run([*CHECK, "--run", str(folder / "run")]) == 0
    return {path.name: path.read_bytes() for path in (folder / "run").iterdir()}


def plant(files: dict[str, bytes]) -> Path:
    folder = Path("stranger")
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("link", [os.symlink, os.link], ids=["symlink", "hard link"])
@pytest.mark.parametrize("finished", [True, False], ids=["finished", "new"])
@pytest.mark.parametrize("name", FILES)
def test_a_run_writes_through_no_link(
    name: str, finished: bool, link: Any, tmp_path: Path, recorded: dict[str, bytes]
) -> None:
    folder = plant(recorded if finished else {})
    target = tmp_path / "precious"
    target.write_bytes(precious := recorded.get(name, b"precious"))
    (folder / name).unlink(missing_ok=True)
    link(target.absolute(), folder / name)
    code = run(
        [*CHECK, "--run", str(folder), "--as-of", "2020-01-01"] if not finished else [*CHECK, "--run", str(folder)]
    )
    assert code in (0, 2)
    assert target.read_bytes() == precious
    assert not Path("typed-traceback").exists()


@pytest.mark.parametrize("name", BATCH_FILES)
def test_a_batch_writes_through_no_link(name: str, tmp_path: Path) -> None:
    folder = plant({})
    target = tmp_path / "precious"
    target.write_bytes(b"precious")
    (folder / name).symlink_to(target.absolute())
    Path("claims.csv").write_text(f"claim\n{CLAIM}\n")
    options = ["--method", "single-reader", "--store", "starter", "-q"]
    assert run(["batch", "claims.csv", "-o", str(folder), *options]) in (0, 2)
    assert target.read_bytes() == b"precious"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ledger.db", "ledger.json", "run.json.new", "ledger.new"])
def test_a_batch_of_workers_writes_through_no_link(name: str, tmp_path: Path) -> None:
    from redargue.cluster.store import open_ledger

    folder = plant({})
    target = tmp_path / "precious.db"
    open_ledger(target).close()
    precious = target.read_bytes()
    (folder / name).symlink_to(target.absolute())
    Path("claims.csv").write_text(f"claim\n{CLAIM}\n")
    options = ["--method", "single-reader", "--store", "starter", "-q", "--engine", "local", "--workers", "1"]
    assert run(["batch", "claims.csv", "-o", str(folder), *options]) in (0, 2)
    assert target.read_bytes() == precious


COMMANDS = ("report", "replay", "why", "diff", "check", "batch")


def command_on(folder: Path, name: str) -> list[str]:
    return {
        "report": ["report", str(folder), "-o", "report.html"],
        "replay": ["replay", str(folder), "-q"],
        "why": ["why", str(folder)],
        "diff": ["diff", str(folder), str(folder)],
        "check": [*CHECK, "--run", str(folder)],
        "batch": ["batch", "claims.csv", "-o", str(folder), "--method", "single-reader", "--store", "starter", "-q"],
    }[name]


READER = "import sys; from redargue.cli.app import run; sys.exit(run(sys.argv[1:]))"


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["run.json", "events.jsonl", ".lock", "bench.json", "results.json"])
def test_a_named_pipe_in_a_run_folder_blocks_no_command(name: str, command: str, recorded: dict[str, bytes]) -> None:
    folder = plant(recorded)
    Path("claims.csv").write_text(f"claim\n{CLAIM}\n")
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    done = subprocess.run(  # in a process: a blocked one can be ended
        [sys.executable, "-c", READER, *command_on(folder, command)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, 2), done.stderr
    assert "Traceback" not in done.stderr


NAMED = {"a device": "/dev/zero", "a named pipe": "pipe", "a file": "/etc/passwd", "no file": "/no/such/file"}


@pytest.mark.slow
@pytest.mark.parametrize("command", ["replay", "why", "diff"])
@pytest.mark.parametrize("name", NAMED)
def test_a_file_that_a_run_json_names_is_not_opened(name: str, command: str, recorded: dict[str, bytes]) -> None:
    folder = plant(recorded)
    os.mkfifo("pipe")
    manifest = altered(json.loads(recorded["run.json"]), {"method": "cascade", "settings": {"fitted": NAMED[name]}})
    (folder / "run.json").write_text(json.dumps(manifest))
    done = subprocess.run(  # in a process: a blocked one can be ended
        [sys.executable, "-c", READER, *command_on(folder, command)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "the setting fitted may name a file (run.json, settings.fitted)" in " ".join(done.stderr.split())


def test_a_run_folder_of_another_user_is_not_resumed(
    recorded: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = plant(recorded)
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert run([*CHECK, "--run", str(folder)]) == 2
    assert "another user" in capfd.readouterr().err
    assert run(["report", str(folder), "-o", "report.html"]) == 0  # reading it is fine


PLANTED_TOOLS = [
    ["wikipedia"],
    ["tavily"],
    ["google"],
    ["arxiv"],
    ["pubmed"],
    ["openalex"],
    ["corpus", "pubmed"],
    ["?"],
]


@pytest.mark.parametrize("method", ["single-reader", "tool-mad"])
@pytest.mark.parametrize("tools", PLANTED_TOOLS, ids="+".join)
def test_a_run_folder_chooses_no_search_tool_that_the_user_would_not(
    tools: list[str], method: str, recorded: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    from redargue.cli.options import run_config
    from redargue.cli.parameters import RunParameters, SearchParameters

    monkeypatch.setattr("redargue.cli.options._reachable", lambda place: False)
    setting = "debaters" if method == "tool-mad" else "tools"
    folder = plant(recorded)
    chosen = run_config(RunParameters(method=method), SearchParameters()).tools
    assert chosen
    planted = [*chosen[:-1], *tools]
    manifest = altered(json.loads(recorded["run.json"]), {"method": method, "settings": {setting: planted}})
    (folder / "run.json").write_text(json.dumps(manifest))
    spec = run_config(RunParameters(method=method), SearchParameters(), folder)
    assert spec.tools == (tuple(planted) if tools == ["wikipedia"] and "keywords" in chosen[-1:] else chosen)


def test_a_resumed_run_with_other_tools_is_refused_and_the_users_flag_confirms_them(
    capfd: pytest.CaptureFixture[str],
) -> None:
    command = [*CHECK, "--run", "own"]
    assert run([*command, "--tool", "keywords"]) == 0
    assert run([*command, "--tool", "keywords"]) == 0
    capfd.readouterr()
    assert run(command) == 2
    assert "'keywords', not 'corpus'" in capfd.readouterr().err


ALTERED: dict[str, Any] = {
    "format a list": {"format": []},
    "format an object": {"format": {}},
    "format true": {"format": True},
    "format a text": {"format": "3"},
    "format 1.0": {"format": 1.0},
    "format huge": {"format": 10**30},
    "method unknown": {"method": "no-such-method"},
    "method a list": {"method": []},
    "profile unknown": {"profile": "none"},
    "settings of another method": {"settings": {"thoughts": 3}},
    "settings a list": {"settings": []},
    "setting of another type": {"settings": {"rounds": "many"}},
    "tools of no shape": {"tools": {"corpus": 1}},
    "a tool less": {"tools": {}},
    "identity empty": {"identity": ""},
    "stability one number": {"stability": [1]},
    "threshold not a number": {"threshold": float("nan")},
    "threshold 9": {"threshold": 9},
    "claims empty": {"claims": []},
    "claims of texts": {"claims": ["a"]},
    "a claim with other labels": {"claims": [{"text": "a", "labels": {"name": "x", "labels": []}}]},
    "text no text": {"text": {"text": 1}},
    "text empty": {"text": {}},
    "text deep": {"text": {"text": {"text": {"text": {}}}}},
    "usage of the text": {"text": {"usage": {"calls": "many"}}},
    "memory a text": {"memory": "x"},
    "memory an object": {"memory": {"workspace": 1}},
    "models a list": {"models": []},
    "spec a list": {"spec": []},
    "spec with a store": {"spec": {"store": "/etc"}},
    "backend a text": {"backend": "embedded"},
    "seed a text": {"seed": "one"},
    "seed huge": {"seed": 10**400},
    "min_confidence 9": {"min_confidence": 9},
    "prompts of unknown tasks": {"prompts": {"NoTask": "x"}},
    "prompts with a slot": {"backend": "chat", "prompts": {"AnswerClaim": "{nothing}"}},
    "response format": {"backend": "chat", "response_format": "none"},
    "run a path": {"run": "../../../etc"},
    "run with escapes": {"run": "\x1b[31m\u202e"},
    "redargue huge": {"redargue": "9" * 100_000},
}
RAW = {
    "empty": b"",
    "not JSON": b"{",
    "not UTF-8": b"\xff\xfe{}",
    "a list": b"[]",
    "a number": b"1",
    "null": b"null",
    "a text": b'"x"',
    "deep": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "a long number": b'{"format": ' + b"9" * 10_000 + b"}",
    "a surrogate": b'{"method": "\\ud800"}',
    "NaN": b'{"stability": [NaN, Infinity]}',
}


def survives(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) in (0, 1, 2, 3, 5)  # an exception that is not typed would end the test
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("change", ALTERED.values(), ids=ALTERED)
def test_an_altered_run_json_gives_a_typed_error(
    change: dict[str, Any], command: str, recorded: dict[str, bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    folder = plant(recorded)
    Path("claims.csv").write_text(f"claim\n{CLAIM}\n")
    (folder / "run.json").write_text(json.dumps(altered(json.loads(recorded["run.json"]), change)))
    survives(command_on(folder, command), capfd)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run.json", "events.jsonl", "results.json", "bench.json", "ledger.json"])
@pytest.mark.parametrize("content", RAW.values(), ids=RAW)
def test_a_damaged_file_of_a_run_folder_gives_a_typed_error(
    content: bytes, name: str, recorded: dict[str, bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    folder = plant(recorded)
    Path("claims.csv").write_text(f"claim\n{CLAIM}\n")
    (folder / name).write_bytes(content + b"\n")
    for command in COMMANDS:
        survives(command_on(folder, command), capfd)


EVENTS: dict[str, dict[str, Any]] = {
    "item negative": {"item": -1},
    "item beyond": {"item": 10**9},
    "item huge": {"item": 10**30},
    "kind unknown": {"kind": "none"},
    "kind another": {"kind": "claim_ended"},
    "answers of no shape": {"outputs": [{}]},
    "answers a list": {"outputs": [[]]},
    "an answer without text": {"outputs": [{"answer": {}, "text": 1, "entropy": None}]},
    "passages without text": {"passages": [{}]},
    "verdict without claim": {"verdict": {}},
}


@pytest.mark.slow
@pytest.mark.parametrize("change", EVENTS.values(), ids=EVENTS)
def test_altered_events_give_a_typed_error(
    change: dict[str, Any], recorded: dict[str, bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    lines = [json.loads(line) for line in recorded["events.jsonl"].splitlines()]
    for at in range(len(lines)):
        altered = [{**line, **change} if number == at else line for number, line in enumerate(lines)]
        folder = Path(f"stranger-{at}")
        folder.mkdir()
        (folder / "run.json").write_bytes(recorded["run.json"])
        (folder / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in altered))
        for command in ("report", "replay", "why", "diff"):
            survives(command_on(folder, command), capfd)
