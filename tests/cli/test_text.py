"""Texts on the command line: ``check`` of a text and ``ground``."""

from __future__ import annotations

import io
import json
from email.message import EmailMessage
from pathlib import Path

import pytest

from redargue.cli.app import run
from redargue.memory.memory import Memory
from redargue.reports import load_run
from redargue.runs.manifest import Origin
from redargue.text import Report
from support.schemas import assert_published

ANSWER = "The bridge at Orvell was opened in 1889. I love it!\n\n- It was opened in 1950.\n"
DOCUMENT = "The bridge at Orvell was opened in 1889. It crosses the Sund."
GROUND = ["ground", "--method", "single-reader", "--labels", "two", "-q"]


@pytest.fixture
def answer(tmp_path: Path) -> str:
    (tmp_path / "answer.md").write_text(ANSWER, encoding="utf-8")
    (tmp_path / "document.txt").write_text(DOCUMENT, encoding="utf-8")
    return "answer.md"


def test_an_answer_is_grounded_in_its_documents_as_json_with_offsets(
    answer: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([*GROUND, "--answer", answer, "--context", "document.txt", "--json"]) == 0
    out, err = capfd.readouterr()
    found = json.loads(out)
    assert Report.model_validate(found).text == ANSWER
    assert [ANSWER[each["start"] : each["end"]] for each in found["claims"]] == [
        "The bridge at Orvell was opened in 1889.",
        "It was opened in 1950.",
    ]
    assert found["claims"][0]["verdict"]["meaning"] == "supported"
    assert [ANSWER[each["start"] : each["end"]] for each in found["unchecked"]] == ["I love it!"]
    assert err == ""


def test_the_report_counts_the_sentences_without_a_claim_as_it_begins_with_them(
    answer: str, capfd: pytest.CaptureFixture[str]
) -> None:
    given = [*GROUND[:-1], "--answer", f"{ANSWER}\nNo installation fee!", "--context", DOCUMENT, "--no-record"]
    assert run(given) == 0
    out, err = capfd.readouterr()
    assert "; 1 sentence was not checked; 1 states nothing that can be checked\n" in err
    assert "Not checked (1)" in out
    assert "1 sentence was not checked; 1 states nothing that can be checked." in out


def test_what_is_attached_to_an_e_mail_is_named_and_not_checked(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    letter = EmailMessage()
    letter["Subject"] = "A release"
    letter.set_content("The bridge at Orvell was opened in 1889.")
    letter.add_attachment("It was opened in 1950.", filename="release.txt")
    letter.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="logo.png")
    (tmp_path / "letter.eml").write_bytes(letter.as_bytes())
    assert run([*GROUND, "--answer", str(tmp_path / "letter.eml"), "--context", DOCUMENT, "--json"]) == 0
    out, err = capfd.readouterr()
    assert len(json.loads(out)["claims"]) == 1
    lines = err.splitlines()
    assert [line.rpartition("#")[2] for line in lines] == ["1-release.txt", "2-logo.png"]
    assert all("attached to the e-mail" in line for line in lines)


@pytest.mark.slow
def test_a_memory_that_check_opens_for_a_text_is_closed(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Memory] = []
    close = Memory.close

    def noted(memory: Memory) -> None:
        closed.append(memory)
        close(memory)

    monkeypatch.setattr(Memory, "close", noted)
    given = ["check", answer, "--method", "mermaid", "--offline", "--store", "starter", "-q"]
    assert run([*given, "--memory", str(tmp_path / "memory.db")]) == 0
    assert len(closed) == 1


def test_a_person_reads_the_claims_where_they_stand_and_what_they_make_of_the_text(
    answer: str, capfd: pytest.CaptureFixture[str]
) -> None:
    given = [*GROUND, "--answer", answer, "--context", DOCUMENT]
    assert run(given) == 0
    out = capfd.readouterr().out
    assert "Supported (1)\n  1. The bridge at Orvell was opened in 1889.\n     “" in out
    assert "1 sentence states nothing that can be checked." in out
    assert "tokens" not in out
    assert run([*given, "--fail-on", "supported", "--jsonl"]) == 1
    lines = [json.loads(each) for each in capfd.readouterr().out.splitlines()]
    assert {each["stated"] for each in lines} == {
        "The bridge at Orvell was opened in 1889.",
        "It was opened in 1950.",
    }


def test_a_text_is_checked_over_the_corpus_and_goes_on_in_its_folder(capfd: pytest.CaptureFixture[str]) -> None:
    given = [
        "check",
        "Bees are insects. Do they sleep?",
        "--as",
        "text",
        "--method",
        "single-reader",
        "--store",
        "starter",
    ]
    assert run([*given, "--run", "r", "--json"]) == 0
    out, err = capfd.readouterr()
    assert "1 claim in 32 characters; 1 sentence states nothing that can be checked" in err
    assert json.loads(out)["claims"][0]["verdict"]["claim"]["text"] == "Bees are insects."
    assert run([*given, "--run", "r", "--json", "-q"]) == 0
    assert capfd.readouterr().out == out
    assert run(["check", "Bees are insects.", "--method", "single-reader", "--store", "starter", "--run", "r"]) == 2
    assert "already holds a run whose text differs" in capfd.readouterr().err


def test_standard_input_and_question_and_answer(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbfThe Sund.\n")))
    asked = ["--as", "qa", "--question", "What does the bridge at Orvell cross?"]
    assert run([*GROUND, "--answer", "-", "--context", DOCUMENT, *asked, "--json"]) == 0
    (claim,) = json.loads(capfd.readouterr().out)["claims"]
    assert claim["verdict"]["claim"]["text"] == "What does the bridge at Orvell cross? The Sund."
    assert (claim["start"], claim["end"]) == (0, 9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "missing.md"], "no file or folder 'missing.md'"),
        (["check", "empty.txt"], "'empty.txt' is empty"),
        (["check", "answer.md", "--as", "claims"], "a text whose claims have not been extracted"),
        (["check", "A b c.", "--question", "Which?"], "a claim has no question (--question)"),
        (["check", "A b c.", "--as", "texts"], "did you mean 'text'"),
        (["check", "A b c.", "--as", "summary"], "redargue ground --answer FILE --as summary --context DOCUMENT"),
        (["check", "A b c.", "--as", "qa"], "needs a question"),
        (["check", "A b c.", "--as", "text", "--strict-as-of"], "--as-of 2024-03-31"),
        (["check", "A b c.", "--as", "text", "--labels", "free-text"], "do not say whether"),
        (["ground", "--answer", "A b c.", "--context", "missing.txt"], "no file or folder 'missing.txt'"),
        (["ground", "--answer", "A b c.", "--context", "sources"], "no file or folder 'sources' (--context)"),
        (["ground", "--answer", "A b c.", "--context", "empty.txt"], "the file is empty"),
        (["ground", "--answer", "A b c.", "--context", " "], "no document to check"),
        (["ground", "--answer", "A b c.", "--context", "d", "--as", "claims"], "'claims' is not a kind of answer"),
        (["ground", "--answer", "?!", "--context", "d"], "contains no words"),
        (
            ["ground", "--answer", "A b c.", "--context", "https://example.org/a.pdf"],
            "a URL is not fetched without --fetch (--context)",
        ),
        (["ground", "--answer", "missing.docx", "--context", "d"], "no file or folder 'missing.docx' (--answer)"),
        (["ground", "--answer", "A b c."], "--context"),
    ],
)
def test_wrong_usage_is_exit_2_and_says_what_to_do(
    arguments: list[str], message: str, answer: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("empty.txt").touch()
    assert run(arguments) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert message in " ".join(err.split())


def test_the_published_schema_is_the_one_that_is_printed() -> None:
    assert_published("text.v2", Report)


def test_source_files_that_were_not_read_are_named_in_every_report(
    answer: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    sources = tmp_path / "sources"
    (sources / "mail").mkdir(parents=True)
    (sources / "document.txt").write_text(DOCUMENT, encoding="utf-8")
    (sources / "mail" / "interview.txt").write_bytes(b"")
    (sources / "notes.doc").write_bytes(b"x")
    unread = [
        {"file": "mail/interview.txt", "why": "the file is empty"},
        {"file": "notes.doc", "why": "unknown file type '.doc'"},
    ]
    folder = tmp_path / "run"
    given = [*GROUND, "--answer", answer, "--context", str(sources), "--run", str(folder)]
    assert run([*given, "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["unread_files"] == unread
    assert run([*given, "--fail-on", "conflicting", "--allow-unchecked"]) == 0  # a gate judges the claims
    out = capfd.readouterr().out
    assert "2 source files not read: nothing was checked against them." in out
    assert "mail/interview.txt: the file is empty" in out
    for name in ("html", "md", "json", "sarif", "junit", "annotation"):
        assert run(["report", str(folder), "-f", name]) == 0
        shown = capfd.readouterr().out
        for file in ("mail/interview.txt", "notes.doc"):
            assert file in shown.replace("\\/", "/"), name
        assert str(sources / "mail") not in shown, name
    load = load_run(folder)
    assert load.manifest.origin == Origin(name=answer, unread_files=load.unread_files)
    (sources / "notes.doc").unlink()
    assert run(given) == 2  # another run: what was not read belongs to it
    assert "whose unread_files differ: 2 of them, not 1" in capfd.readouterr().err
