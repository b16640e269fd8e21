"""Texts that are not UTF-8 are read with a note, and what is no text is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from redargue.cli.app import run
from redargue.cli.arguments import read_argument
from redargue.errors import UsageError
from redargue.inputs.rows import table_rows
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.ingest import read_file
from redargue.sanitize import NotText, NotUtf8, decode

TEXT = "Das Café in Zürich – „Müller“ – öffnete 1889."


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_a_text_in_another_encoding_is_read_with_a_note(encoding: str, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(TEXT.encode(encoding))
    called = {"utf-16": "UTF-16", "cp1252": "Windows-1252"}[encoding]
    with pytest.warns(NotUtf8, match=rf"a\.txt is not UTF-8 and was read as {called}"):
        assert read_argument(str(file)) == TEXT
    with pytest.warns(NotUtf8, match=called):
        (document,) = read_file(file)
    assert isinstance(document, Document)
    assert document.text == TEXT
    table = tmp_path / "a.csv"
    table.write_bytes(f"claim,n\nBees are insects.,1\n{TEXT},2\n".encode(encoding))
    with pytest.warns(NotUtf8, match=called):
        assert [row.fields["claim"] for row in table_rows(table)] == ["Bees are insects.", TEXT]


@pytest.mark.parametrize(
    ("charset", "encoding"),
    [("iso-8859-1", "cp1252"), ("cp1250", "cp1250"), ("iso-8859-1", "utf-8"), ("utf-16", "utf-8"), ("x-odd", "cp1252")],
)
@pytest.mark.filterwarnings("ignore::redargue.sanitize.NotUtf8")
def test_a_web_page_is_read_in_the_character_set_that_it_names_unless_it_is_utf_8(
    charset: str, encoding: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.html"
    file.write_bytes(f"<meta charset={charset}><p>{TEXT}</p>".encode(encoding))
    (document,) = read_file(file)
    assert isinstance(document, Document)
    assert document.text == TEXT
    assert read_argument(str(file)) == f"<meta charset={charset}><p>{TEXT}</p>"  # with its links


@pytest.mark.parametrize("charset", ["Shift_JIS", "ISO-2022-JP", "EUC-JP"])
def test_a_page_in_a_character_set_that_it_names_needs_no_note(charset: str, tmp_path: Path) -> None:
    file = tmp_path / "a.htm"
    text = "この橋は1998年に開通した。"
    file.write_bytes(f'<meta http-equiv="content-type" content="text/html; charset={charset}">{text}'.encode(charset))
    (document,) = read_file(file)
    assert isinstance(document, Document)
    assert document.text == text


def test_utf_8_needs_no_note_and_loses_its_byte_order_mark() -> None:
    assert decode(TEXT.encode(), "a") == decode(TEXT.encode("utf-8-sig"), "a") == TEXT


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"{TEXT} ".encode() + b"\xe9", r"not UTF-8 at byte \d+"),  # damaged: what comes before is UTF-8
        (b"\x89PNG\r\n", "not UTF-8 at byte 0"),
        (b"ab\0c", "NUL byte at byte 2"),
        (b"\xff\xfea", "not UTF-16"),
    ],
)
def test_damaged_or_binary_content_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(NotText, match=message):
        decode(content, "a")
    table = tmp_path / "a.csv"
    table.write_bytes(b"claim\n" + content)
    if message.startswith("not UTF-8"):
        with pytest.raises(UsageError, match=r"not UTF-8 at byte \d+ of line 2"):
            list(table_rows(table))


@pytest.mark.slow
def test_the_note_is_on_standard_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_bytes("The café opened in 1889.\n".encode("latin-1"))
    assert run(["check", str(tmp_path / "a.txt"), "--as", "claims", "--store", "starter", "-q", "--jsonl"]) == 0
    out, err = capfd.readouterr()
    assert "note: " in err
    assert "read as Windows-1252 (Latin-1)" in err
    assert '"item": 1, "id": ""' in out
    assert run(["corpus", "sync", str(tmp_path), "--store", str(tmp_path.with_suffix(".db"))]) == 0
    assert capfd.readouterr().err.count("read as Windows-1252") == 1  # the file is read twice
