"""A bench that is gone on with, opened again and repeated: nothing of how it was made is lost, nothing read in vain."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from redargue.bench import harness
from redargue.bench.commands.bench import _arguments
from redargue.bench.compare import read_results
from redargue.bench.datasets import load
from redargue.bench.harness import Bench
from redargue.bench.system import System
from redargue.cli import progress
from redargue.cli.app import run
from redargue.errors import UsageError
from redargue.runs.record import read_events

pytest.importorskip("scipy", reason="needs the extra lab")

SAMPLES = Path(__file__).parent / "datasets" / "samples"
READER = "single-reader:tools=frozen-words"
TEXT = "The stone bridge at Orvell was opened in May 1889."


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    rows = [{"claim": f"The bridge at Orvell was opened in {year}.", "evidence": TEXT} for year in (1889, 1920)]
    path.write_text("".join(json.dumps({**row, "label": "SUPPORTS"}) + "\n" for row in rows))
    return path


def command(file: Path, folder: Path, mapping: str = "claim=claim,label=label,evidence=evidence") -> list[str]:
    return ["bench", "run", "--dataset", "table", "--path", str(file), "--map", mapping, "--out", str(folder)]


@pytest.mark.slow
def test_the_files_that_a_bench_was_scored_with_are_found_again_or_missed_aloud(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("redargue.bench.harness.resident_peak", lambda: 300.0)  # another at each run
    for name in ("scifact.jsonl", "scifact_corpus.jsonl"):
        Path(name).write_bytes((SAMPLES / name).read_bytes())
    assert run(["corpus", "add", "scifact_corpus.jsonl", "--store", "s.db"]) == 0
    capfd.readouterr()
    scored = ["--pages", "scifact_corpus.jsonl", "--qrels", "scifact.jsonl"]
    bench = ["bench", "run", "--dataset", "scifact", "--path", "scifact.jsonl", "--store", "s.db", "-q", "-o", "b"]
    bench += ["--method", "single-reader"]
    assert run([*bench, *scored]) == 0
    told = capfd.readouterr().out
    assert "Sentence selection F1" in told
    assert re.search(r"^Key  System +hit@1 ", told, re.MULTILINE)
    assert run(bench) == 0  # without the files on the command line
    assert capfd.readouterr().out == told
    monkeypatch.chdir("/")
    data = str(tmp_path / "scifact.jsonl")
    assert run(["bench", "compare", str(tmp_path / "b"), "--path", data]) == 0
    assert capfd.readouterr().out == told
    assert run(["bench", "rescore", str(tmp_path / "b"), "--path", data, "--method", "single-reader"]) == 0
    assert "sentence-selection-f1" in capfd.readouterr().out
    (tmp_path / "scifact_corpus.jsonl").rename(tmp_path / "moved.jsonl")
    assert run(["bench", "compare", str(tmp_path / "b"), "--path", data]) == 2
    err = capfd.readouterr().err
    assert "scifact_corpus.jsonl', which this bench was scored with, is missing or not a file (--pages)" in err
    monkeypatch.chdir(tmp_path)
    assert run([*bench, "--pages", "moved.jsonl"]) == 0
    assert capfd.readouterr().out == told


@pytest.mark.slow
def test_a_bench_is_repeated_with_the_arguments_of_each_system(
    tmp_path: Path, file: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder, again = tmp_path / "b", tmp_path / "again"
    given = [*command(file, folder), "-q"]
    assert run([*given, "--method", READER, "--budget", "900calls", "--store", "starter"]) == 0
    assert run([*given, "--method", f"{READER},top_k=1", "--method", f"{READER},top_k=2"]) == 0
    capfd.readouterr()
    assert run(["report", str(folder), "-f", "json"]) == 0
    commands = [shlex.split(each) for each in json.loads(capfd.readouterr().out)["commands"]]
    first, second = (each for each in commands if each[1:3] == ["bench", "run"])
    assert ("--store" in first, "--store" in second) == (True, False)
    assert (first.count("--method"), second.count("--method")) == (1, 2)
    for each in (first, second):
        each[each.index("--path") + 1], each[each.index("--out") + 1] = str(file), str(again)
        assert run([*each[1:], "-q"]) == 0
    rows = [
        [(row.spec, row.arguments, [each.label for each in row.said]) for row in read_results(at).rows]
        for at in (folder, again)
    ]
    assert rows[0] == rows[1]


def test_an_address_with_a_password_however_plain_is_not_kept() -> None:
    stores = ["milvus:http://h:1?token=abc&collection=c", "milvus:http://u:swordfish@h:1/db"]
    kept = _arguments({"base_url": "http://u:swordfish@h/v1", "limit": 3, "store": stores})
    assert kept[:4] == ["--base-url", "http://h/v1", "--limit", "3"]
    assert kept[4:] == ["--store", "milvus:http://h:1?collection=c", "--store", "milvus:http://h:1/db"]


def test_a_command_that_is_refused_leaves_the_arguments_as_they_were(tmp_path: Path, file: Path) -> None:
    folder = tmp_path / "b"
    assert run([*command(file, folder), "-q", "--method", READER]) == 0
    before = (folder / "bench.json").read_text()
    (folder / System.parse(READER).slug / "run.json").write_text("{}")
    assert run([*command(file, folder), "-q", "--method", READER, "--store", "starter"]) == 2
    assert (folder / "bench.json").read_text() == before


def test_a_record_is_read_once_for_table_and_exit_code(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def counted(folder: Path) -> Any:
        asked.append(folder)
        return read_events(folder)

    monkeypatch.setattr(harness, "read_events", counted)
    assert run([*command(file, tmp_path / "b"), "-q", "--method", READER]) == 0
    assert len(asked) == 1  # nothing names gold documents: what was found is not looked for
    assert run([*command(file, tmp_path / "b"), "-q", "--method", f"{READER},top_k=1"]) == 0
    assert len(asked) == 3  # the one that runs and the one that has run


@pytest.mark.anyio
async def test_only_what_is_wrong_with_the_bench_folder_is_told_as_that(tmp_path: Path, file: Path) -> None:
    loaded = load("table", file, options={"mapping": "claim=claim,label=label,evidence=evidence"})
    systems, sample = [System.parse(READER)], loaded.sample.model_dump(mode="json")

    def pipe(item: int, outcome: object) -> None:
        raise BrokenPipeError("whoever reads is gone")

    with pytest.raises(BrokenPipeError, match="whoever reads"):
        await Bench(tmp_path / "b", loaded.examples, systems, sample=sample).run(systems[0], on_outcome=pipe)
    for folder in (file, file / "b"):
        with pytest.raises(UsageError, match=r"as a bench folder: (File exists|Not a directory)"):
            await Bench(folder, loaded.examples, systems, sample=sample).run(systems[0])
    blocked = tmp_path / "blocked"
    (blocked / "bench.new").mkdir(parents=True)
    with pytest.raises(UsageError, match="as a bench folder: Is a directory"):
        await Bench(blocked, loaded.examples, systems, sample=sample).run(systems[0])


def test_off_a_terminal_a_line_now_and_then_says_how_far_a_system_is(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    assert run([*command(file, tmp_path / "b"), "--method", READER, "--concurrency", "1"]) == 0
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].startswith(f"{READER}: 1 of 2 claims, 0 errors, ")
    assert lines[0].endswith(" s left")
    assert lines[-1].startswith(f"{READER}: 2 of 2 claims, 0 errors, ")
    assert run([*command(file, tmp_path / "b"), "--method", READER, "--concurrency", "1"]) == 0
    assert " s left" not in capfd.readouterr().err  # what was known took no time
    assert run([*command(file, tmp_path / "b"), "--method", READER, "-q"]) == 0
    assert capfd.readouterr().err == ""


def test_a_queue_without_gold_is_refused_and_says_why(
    tmp_path: Path, file: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([*command(file, tmp_path / "b", "claim=claim,evidence=evidence"), "-q", "--method", READER]) == 0
    capfd.readouterr()
    assert run(["report", str(tmp_path / "b"), "-f", "adjudication", "-o", str(tmp_path / "queue.csv")]) == 2
    assert "has a gold label (--format adjudication)" in capfd.readouterr().err
    assert not (tmp_path / "queue.csv").exists()


def test_unknown_names_are_told_beside_all_known_ones(
    tmp_path: Path, file: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match=r"'frozn'.*\n.*did you mean 'frozen'.*debated, .*corpus.*wikipedia"):
        System.parse("single-reader:tools=frozn")
    assert run([*command(file, tmp_path / "b"), "--option", "labels"]) == 2
    assert "'labels' (--option)\n  → write it like --option with_evidence=true" in capfd.readouterr().err
    assert run([*command(file, tmp_path / "b"), "--option", "labels=true-fals"]) == 2
    err = capfd.readouterr().err
    assert "did you mean 'true-false'" in err
    assert "known: fever, two, " in err
