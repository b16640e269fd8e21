"""``redargue report`` as a person or a program meets it."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from redargue.cli.app import run
from support.reported import bench_of, run_of

pytest.importorskip("scipy", reason="needs the extra lab")
SIGNED = ["--author", "A newsroom", "--url", "https://example.org/review", "--date", "2026-11-22"]


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    return bench_of(tmp_path / "b", ("one", "two", "three", "four"))


def test_a_report_goes_to_standard_output_and_nothing_else_does(
    bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", str(bench)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("<!DOCTYPE html>")
    assert out.endswith("</html>\n")
    assert err == ""


def test_a_report_is_written_where_a_file_is_named(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = bench.parent / "report.md"
    assert run(["report", str(bench), "-o", str(path)]) == 0  # the name says the format
    out, err = capsys.readouterr()
    assert out == ""
    assert "report.md" in err
    assert path.read_text(encoding="utf-8").startswith("# 2 systems on fever")


def test_a_report_for_which_there_is_no_room_leaves_the_old_one(
    bench: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def half(path: Path, content: bytes) -> int:
        with path.open("wb") as file:
            file.write(content[:100])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = bench.parent / "report.md"
    path.write_text("the old one")
    path.chmod(0o640)
    with monkeypatch.context() as full:
        full.setattr(Path, "write_bytes", half)
        assert run(["report", str(bench), "-o", str(path)]) == 2
    assert "report.md' cannot be written: No space left on device (--out)\n  → make room" in capsys.readouterr().err
    assert path.read_text() == "the old one"
    assert sorted(each.name for each in path.parent.iterdir()) == ["b", "report.md"]
    assert run(["report", str(bench), "-o", str(path)]) == 0
    assert path.read_text(encoding="utf-8").startswith("# 2 systems on fever")
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_page_is_written_into_the_run_and_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    folder = run_of(tmp_path / "r", ("one",))
    assert run(["report", str(folder), "--open"]) == 0
    assert opened == [(folder / "report.html").as_uri()]
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert run(["report", str(folder), "--open", "-f", "md"]) == 2
    assert "md is not opened in a browser" in capsys.readouterr().err
    assert len(opened) == 1


def test_a_figure_that_cannot_be_drawn_is_refused_before_the_tables(
    bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bench", "compare", str(bench), "--frontier", "f.bmp"]) == 2
    out, err = capsys.readouterr()
    assert (out, "'f.bmp' does not end in" in err) == ("", True)


@pytest.mark.parametrize("name", ["queue.jsonl", "queue.csv"])
def test_a_queue_goes_out_and_comes_back(bench: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = bench.parent / name
    assert run(["report", str(bench), "-f", "adjudication", "--method", "single-reader", "-o", str(path)]) == 0
    assert run(["report", str(bench), "-f", "json", "--adjudicated", str(path)]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["adjudicated"]["tables"][0]["rows"][-1] == ["All", "0", "0", "0", "0"]


def test_a_run_is_reported_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(run_of(tmp_path / "r", ("one",))), "-f", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "run"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "no run 'nowhere'"),
        (["b", "-f", "pdf"], "no format 'pdf' (--format)\n  → known: docx, html, md"),
        (["b", "-o", "missing/x.html"], "cannot be written"),
        (["b", "-o", "report.pdf"], "open it in a browser, and print it to a PDF"),
        (["b", "-o", "report.txt"], "there is no report format for .txt"),
        (["b", "-f", "claimreview", "--method", "nobody", *SIGNED], "no system 'nobody'"),
    ],
)
def test_what_cannot_be_reported_is_exit_2_with_a_reason(
    bench: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bench.parent)
    assert run(["report", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ({"PYTHONIOENCODING": "cp1252"}, "Oxley ? ?abno"),
        ({"PYTHONIOENCODING": "latin-1"}, "Oxley ? ?abno"),
        ({"PYTHONIOENCODING": "latin-1:namereplace"}, "N{RIGHTWARDS ARROW}"),
        ({"PYTHONIOENCODING": "ascii"}, "Oxley → Żabno"),
        ({"PYTHONIOENCODING": "", "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, "Oxley → Żabno"),
    ],
)
def test_what_standard_output_cannot_encode_is_replaced_and_json_and_pages_keep_it(
    encoding: dict[str, str], shown: str, tmp_path: Path
) -> None:
    folder, claim = str(run_of(tmp_path / "run", ["Oxley → Żabno here"])), "Oxley → Żabno"

    def printed(*command: str) -> bytes:
        whole = [sys.executable, "-m", "redargue", *command]
        return subprocess.run(whole, env=os.environ | encoding, check=True, stdout=subprocess.PIPE).stdout

    assert shown.encode() in printed("report", folder, "--format", "md")
    assert shown.encode() in printed("runs", "show", folder)
    assert claim in json.loads(printed("runs", "show", folder, "--json"))["verdicts"][0]["claim"]["text"]
    assert claim in printed("report", folder).decode()
