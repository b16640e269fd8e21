"""What was given is what is read: a file, a URL, a claim, or a text."""

from __future__ import annotations

import gzip
import io
import json
import os
import threading
from pathlib import Path

import pytest

from redargue.cli.app import run
from redargue.cli.arguments import Input, read_input, read_text
from redargue.errors import UsageError
from redargue.spec import RunSpec
from redargue.text.segment import has_several_sentences
from support.files import paragraphs, pdf

ONE = "Bees are insects."
TWO = "Bees are insects. Birds are animals."


def read(argument: str, kind: str = "", labels: str = "fever") -> Input:
    return read_input(argument, kind, "", RunSpec(labels=labels))


def claims(argument: str, kind: str = "") -> list[str]:
    given = read(argument, kind)
    assert given.text is None
    return [claim.text for claim in given.claims]


@pytest.mark.parametrize(
    "claim",
    [
        "Jeff Bezos founded Amazon.com",
        "A contract may say and/or",
        "The page https://example.org/a.html says so.",
        "The file is called readme.md.",
        "and/or.",
        "Prof. A. B. Smith of Washington D.C. et al. found that p < 0.05 vs. 0.5.",
        'He said: "It is open. I saw it." to 3.5 people.',
        "It is 330 m tall; the U.S. Senate knows",
        "水/冰是固体",
    ],
)
def test_a_sentence_stays_one_claim_whatever_it_contains(claim: str) -> None:
    assert claims(claim) == [claim]


@pytest.mark.parametrize(
    "argument",
    [
        "missing.pdf",
        "My Report.PDF",
        "a b/c d.txt",
        "docs/missing",
        "./a b",
        "/missing",
        "Amazon.com",
        "claims.csv.gz",
        "a.xyz",
    ],
)
def test_what_looks_like_a_file_and_does_not_exist_is_an_error(argument: str) -> None:
    with pytest.raises(UsageError, match="no file or folder") as error:
        read(argument)
    assert repr(argument) in error.value.what
    assert claims(argument, "claim") == [argument]


@pytest.mark.parametrize("argument", ["https://example.org/a", "www.example.org", "file:///etc/passwd"])
def test_a_url_is_neither_fetched_nor_verified_as_a_sentence(argument: str) -> None:
    with pytest.raises(UsageError, match="a URL is not fetched"):
        read(argument)


def test_an_answer_of_one_word_may_look_like_a_path() -> None:
    for answer in ("Amazon.com", "AC/DC"):
        assert read_text(answer, "qa", "Who?").text == answer
        with pytest.raises(UsageError, match="no file or folder"):
            read_text(answer, "text", "")
    with pytest.raises(UsageError, match=r"no file or folder 'missing\.txt' \(--question\)"):
        read_text("Amazon.com", "qa", "missing.txt")


@pytest.mark.slow
def test_several_sentences_are_a_text_which_is_said_unless_one_claim_is_asked_for(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert read(TWO).text
    assert read("Two sentences. Like this.").text
    assert claims(TWO, "claim") == claims(TWO, "claims") == [TWO]
    given = ["check", TWO, "--method", "single-reader", "--store", "starter"]
    assert run([*given, "--json"]) == 0
    out, err = capfd.readouterr()
    assert "the input is read as a text, claim by claim; --as claim verifies it as one claim" in err
    assert [claim["stated"] for claim in json.loads(out)["claims"]] == TWO.replace(". ", ".|").split("|")
    assert run([*given, "--as", "claim", "--json", "-q"]) == 0
    out, err = capfd.readouterr()
    assert [verdict["claim"]["text"] for verdict in json.loads(out)["verdicts"]] == [TWO]
    assert err == ""


def test_sentences_stay_one_claim_with_labels_that_no_text_can_have() -> None:
    given = read(TWO, labels="free-text")
    assert (given.text, [claim.text for claim in given.claims], given.note) == (None, [TWO], "")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a b.md", TWO.encode()),
        ("a.PDF", pdf(TWO)),
        ("a.docx", paragraphs(*TWO.replace(". ", ".|").split("|"))),
        ("a.html", f"<html><body><p>{TWO}</p></body></html>".encode()),
        ("a.txt", TWO.encode()),
        ("a.txt.gz", gzip.compress(TWO.encode(), mtime=0)),
        ("wrapped.txt", b"The bridge at Orvell, which crosses the Sund, was opened\nin 1889 by the king.\n"),
    ],
)
def test_a_document_is_read_as_a_text(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    given = read(name)
    text = given.text
    assert text
    assert given.claims == []
    assert given.note.startswith(f"{name} is read as a text")
    assert text.text.split() == (content.decode().split() if name == "wrapped.txt" else TWO.split())
    assert read(name, "claim").claims[0].text.split() == text.text.split()
    assert read(name, "dialogue").text


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", f"{ONE}\n\nBirds are animals.\n"),
        ("a.csv", f"claim,source\n{ONE},x\nBirds are animals.,y\n"),
        ("a.csv", f"id;claim\n1;{ONE}\n2;Birds are animals.\n"),
        ("a.tsv", f"source\tclaim\nx\t{ONE}\ny\tBirds are animals.\n"),
        ("a.json", json.dumps([{"claim": ONE}, {"claim": "Birds are animals."}], indent=1)),
        ("a.JSONL", f'{{"claim": "{ONE}"}}\n{{"claim": "Birds are animals."}}\n'),
    ],
)
def test_a_file_of_claims_gives_its_claims(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    assert claims(name) == claims(name, "claims") == [ONE, "Birds are animals."]


def test_a_file_of_claims_in_which_few_have_several_sentences_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"{ONE}\n{TWO}\nBirds are animals.\n")
    assert claims("a.txt") == [ONE, TWO, "Birds are animals."]
    assert read("a.txt").note.startswith("1 of 3 claims have several sentences; --as text")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"text,source\nA b.,x\n", "no field claim; its fields: text, source"),
        ("a.txt", b"\x89PNG\r\n", "'a.txt' cannot be read"),
        ("a.txt", b"A\0b is c.\n", "NUL byte at byte 1"),
        ("a.md", b" \n", "'a.md' is empty"),
        ("a.md", b"?!", "contains no words (a.md)"),
        ("a.pdf", b"", "the file is empty"),
        ("a.pdf", b"%PDF-1.4 x", "the PDF is damaged"),
        ("a.docx", b"x", "the Word document is damaged"),
        ("a.json", b"{}", "no field claim; its fields: none"),
        ("Bees", b"x", "unknown file type 'Bees'"),
        ("a.epub", b"x", "unknown file type '.epub'"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error(
    name: str, content: bytes, message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(content)
    assert run(["check", name]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert message in " ".join(err.split())


def test_a_table_without_a_claim_column_says_how_to_name_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text\nA b.\n")
    with pytest.raises(UsageError) as error:
        read("a.csv")
    assert error.value.hint == "name the column of the claims: redargue estimate a.csv --map claim=COLUMN sends nothing"


def test_the_columns_of_a_table_are_named_to_check_and_to_estimate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("text,where\nDenver is the capital of Colorado.,row 1\n")
    where = ["a.csv", "--map", "claim=text,id=where", "--store", "starter", "--offline", "--method", "single-reader"]
    assert run(["estimate", *where]) == 0
    assert capfd.readouterr().out.startswith("1 claim; single-reader")
    assert run(["check", *where, "--jsonl", "-q", "--no-record"]) == 0
    line = json.loads(capfd.readouterr().out)
    assert (line["id"], line["claim"]["text"]) == ("row 1", "Denver is the capital of Colorado.")
    assert run(["check", "Bees are insects.", "--map", "claim=text"]) == 2
    assert "'Bees are insects.' has no columns" in capfd.readouterr().err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Bees are insects.\nBees fly.\n")))
    assert run(["check", "-", "--map", "claim=text"]) == 2
    assert "'-' has no columns" in capfd.readouterr().err


def test_a_question_is_no_claim_unless_its_labels_answer_it(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Is Denver the capital?\n")))
    for given in ("Is Denver the capital?", "-"):
        assert run(["check", given]) == 2
        assert "'Is Denver the capital?" in capfd.readouterr().err
    for kind, labels in (("", "yes-no-maybe"), ("claim", "fever")):
        assert read("Is Denver the capital?", kind, labels).claims[0].text == "Is Denver the capital?"


def test_a_folder_is_not_a_claim_and_its_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "bees").mkdir()
    (tmp_path / "bees" / "a.md").touch()
    with pytest.raises(UsageError, match="'bees' is a folder") as error:
        read("bees")
    assert "bees/a.md" in error.value.hint


def test_a_pipe_is_read_like_standard_input(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(f"{ONE}\nBirds are animals.\n",))
    writer.start()
    assert claims("pipe") == [ONE, "Birds are animals."]
    writer.join()


@pytest.mark.parametrize(
    ("context", "skipped"), [("docs", True), ("docs/a.docx", False), ("docs/b.csv", False), ("-", False)]
)
def test_an_answer_is_grounded_in_every_kind_of_context(
    context: str,
    skipped: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.docx").write_bytes(paragraphs(ONE))
    (tmp_path / "docs" / "b.csv").write_text(f"fact\n{ONE}\n")
    (tmp_path / "docs" / "c.png").write_bytes(b"\x89PNG")
    (tmp_path / "answer.html").write_text(f"<p>{ONE}</p>")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ONE.encode())))
    given = ["ground", "--method", "single-reader", "-q", "--json", "--answer", "answer.html", "--context", context]
    assert run(given) == 0
    out, err = capfd.readouterr()
    assert [claim["stated"] for claim in json.loads(out)["claims"]] == [ONE]
    assert ("skipped: unknown file type '.png'" in err) == skipped
    assert err.endswith("1 file of --context not read and not used, see above\n") == skipped


def test_of_an_answer_in_html_the_whole_page_is_checked(tmp_path: Path) -> None:
    article = "".join(
        f"<p>In {year} the bridge carried {year * 7} vehicles and more.</p>" for year in range(2000, 2020)
    )
    (tmp_path / "answer.html").write_text(f"<div>{article}</div><aside><p>{ONE}</p></aside>")
    for given in (read_text("answer.html", "text", "", "--answer"), read("answer.html").text):
        assert given
        assert given.text.endswith(ONE)


def test_texts_and_rows_of_one_name_are_sources_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    claim, denial = "The Skerry bridge opened in 1998.", "The Skerry bridge did not open in 1998."
    for name, text in (("a.jsonl", claim), ("b.jsonl", denial)):
        (tmp_path / name).write_text(json.dumps({"id": "bridge", "text": text}) + "\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(denial.encode())))
    given = ["ground", "--method", "single-reader", "-q", "--json", "--labels", "averitec", "--answer", claim]
    for contexts in ((claim, denial), (claim, "-"), ("a.jsonl", "b.jsonl")):
        assert run([*given, *(word for context in contexts for word in ("--context", context))]) == 0
        [found] = json.loads(capfd.readouterr().out)["claims"]
        assert found["verdict"]["label"] == "Conflicting Evidence/Cherrypicking"


def test_a_folder_without_readable_documents_is_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "c.png").write_bytes(b"\x89PNG")
    assert run(["ground", "--answer", ONE, "--context", "docs"]) == 2
    assert "'docs' contains no document that can be read (--context)" in capfd.readouterr().err


def test_an_estimate_reads_its_argument_like_check(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text(f"claim\n{ONE}\nBirds are animals.\n")
    assert run(["estimate", "a.csv", "--store", "starter"]) == 0
    assert "2 claims" in capfd.readouterr().out
    assert run(["estimate", TWO, "--store", "starter"]) == 0
    assert "one claim for each of 2 sentences" in capfd.readouterr().out
    assert run(["estimate", TWO, "--as", "claim", "--store", "starter"]) == 0


def test_a_line_break_that_wraps_a_sentence_is_not_a_second_sentence() -> None:
    assert not has_several_sentences("The bridge\nwas opened.")
    assert has_several_sentences("- one\n- two")
