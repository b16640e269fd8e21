"""The report as a Word document, read back as a document of another program is."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest

from redargue.claims import Claim
from redargue.cli.app import run
from redargue.errors import UsageError
from redargue.registry import install
from redargue.reports import markdown as written_docx
from redargue.reports.render import render
from redargue.retrieval.corpus.office import read_docx
from support.reported import S, debated, run_of, text_of, written

pytestmark = pytest.mark.extra


def test_a_word_report_has_the_claims_by_risk_and_how_to_repeat_the_run(tmp_path: Path) -> None:
    pytest.importorskip("docx", reason="needs the extra documents")
    words = ["The first claim\x07.", "The second <claim>."]
    folder = text_of(tmp_path / "r", words, origin={"name": "release.docx"})
    out = tmp_path / "report.docx"
    assert run(["report", str(folder), "-o", str(out)]) == 0
    text = read_docx(BytesIO(out.read_bytes()))["text"]
    assert text.startswith(
        "release.docx: 2 claims\n\nChecked on 2026-01-02\n\nRefuted: 1; Supported: 1.\n\n"
        "Not factual: 1 of 2 claims is refuted."
    )
    assert text.index("Refuted (1)") < text.index("Supported (1)")
    assert "No.: 2; Claim: The second <claim>.; Nearest sentence: “" in text
    assert f"redargue replay {folder}" in text


def test_source_files_that_were_not_read_stand_above_the_tables(tmp_path: Path) -> None:
    pytest.importorskip("docx", reason="needs the extra documents")
    origin = {"unread_files": [{"file": "loan.pdf", "why": "the PDF is encrypted"}]}
    folder = text_of(tmp_path / "r", ["The first claim."], origin=origin)
    text = read_docx(BytesIO(written_docx.run_docx(folder)))["text"]
    assert "1 source file not read: nothing was checked against it.\n\nloan.pdf: the PDF is encrypted" in text
    assert text.index("loan.pdf") < text.index("Supported (1)")


def test_a_run_of_claims_has_its_table(tmp_path: Path) -> None:
    pytest.importorskip("docx", reason="needs the extra documents")
    text = read_docx(BytesIO(written_docx.run_docx(run_of(tmp_path / "r", ["one", "two"]))))["text"]
    assert "No.: 1; Claim: one; Verdict: Supported" in text


@pytest.mark.parametrize(("claims", "title"), [(["lit in 1871"], "lit in 1871"), (["lit in 1871", "two"], "2 claims")])
def test_a_word_report_of_claims_says_what_the_markdown_report_says(
    tmp_path: Path, claims: list[str], title: str
) -> None:
    docx = pytest.importorskip("docx", reason="needs the extra documents")
    folder = run_of(tmp_path / "r", claims)
    document = docx.Document(BytesIO(written_docx.run_docx(folder)))
    assert document.core_properties.title == document.paragraphs[0].text == title
    lines = [each.text for each in document.paragraphs]
    found, lost = lines.index("Best case for"), lines.index("Quoted, but in none of the passages (does not count)")
    assert "“lit in 1871” (lit in 1871" in lines[found + 1]
    assert lines[lost + 1] == "lit in 1871 never said quoted by lit in 1871"
    assert document.paragraphs[lost + 1].runs[0].font.strike
    assert "lit in 1871 found nothing for 'lit in 1871'" in lines
    assert [line.lstrip("#").strip() for line in render(folder, "md").splitlines() if line.startswith("#")] == [
        each.text
        for each in document.paragraphs
        if each.style.name.startswith(("Title", "Heading"))
        if each.text != "What was found for each claim"
    ]


def test_a_word_report_needs_a_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(run_of(tmp_path / "r", ["one"])), "-f", "docx"]) == 2
    assert "name it: --out report.docx" in capfd.readouterr().err


def test_without_the_library_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "docx", None)
    with pytest.raises(UsageError) as error:
        written_docx.run_docx(run_of(tmp_path / "r", ["one"]))
    assert error.value.hint == install("documents")


def test_a_word_report_of_a_run_that_goes_on_says_how_many_claims_have_not_ended(tmp_path: Path) -> None:
    pytest.importorskip("docx", reason="needs the extra documents")
    claims = [Claim(text="one"), Claim(text="two")]
    folder = written(tmp_path / "r", claims, debated(0, claims[0], S, "word"))
    text = read_docx(BytesIO(written_docx.run_docx(folder)))["text"]
    assert "Supported: 1. 1 of 2 claims have not finished." in text
