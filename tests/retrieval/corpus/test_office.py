"""Office documents and letters, as other programs write them."""

from __future__ import annotations

import io
import zipfile
from datetime import date
from email.message import EmailMessage
from pathlib import Path

import pytest

from redargue.errors import UnreadableFile
from redargue.retrieval.corpus import ingest, office
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.ingest import read_documents, read_file
from support.files import docx, paragraphs, pdf

_NAMES = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{long}:1.0"'
    for short, long in (("office", "office"), ("text", "text"), ("table", "table"), ("manifest", "manifest"))
)


def read(path: Path, content: bytes) -> list[Document | UnreadableFile]:
    path.write_bytes(content)
    return list(read_documents(path))


def one(path: Path, content: bytes) -> Document:
    (document,) = read(path, content)
    assert isinstance(document, Document), document
    return document


def refused(path: Path, content: bytes) -> UnreadableFile:
    (error,) = read(path, content)
    assert isinstance(error, UnreadableFile), error
    return error


def odt(body: str, *, title: str = "", manifest: str = "") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        text = f"<office:document-content {_NAMES}><office:body><office:text>{body}</office:text></office:body>"
        archive.writestr("content.xml", f"{text}</office:document-content>")
        meta = (
            f'<office:document-meta {_NAMES} xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title>'
        )
        archive.writestr("meta.xml", f"{meta}</office:document-meta>")
        archive.writestr("META-INF/manifest.xml", f"<manifest:manifest {_NAMES}>{manifest}</manifest:manifest>")
    return file.getvalue()


def odt_row(*cells: str) -> str:
    inner = "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in cells)
    return f"<table:table-row>{inner}</table:table-row>"


def letter(body: str, *, html: bool = False) -> EmailMessage:
    made = EmailMessage()
    made["Subject"] = "Figures for the  line"
    made["From"] = "Delia Marsh <press@avr.example>"
    made["Date"] = "Tue, 12 May 2026 09:30:00 +0100"
    made.set_content(body, subtype="html" if html else "plain")
    return made


def test_an_opendocument_text_has_its_paragraphs_rows_and_title_without_deleted_text_and_comments(
    tmp_path: Path,
) -> None:
    body = (
        "<text:tracked-changes><text:changed-region><text:p>Deleted.</text:p></text:changed-region></text:tracked-changes>"
        "<text:h>The line</text:h><text:p>It is <text:span>17<text:s/>km</text:span> long"
        "<office:annotation><text:p>Check.</text:p></office:annotation>.<text:note><text:note-citation>1</text:note-citation>"
        "<text:note-body><text:p>Measured in 2025.</text:p></text:note-body></text:note></text:p>"
        f"<table:table>{odt_row('station', 'opened')}{odt_row('Oxley', '1998')}</table:table>"
    )
    document = one(tmp_path / "a.odt", odt(body, title="A  title"))
    assert document.text.split("\n\n") == [
        "The line",
        "It is 17 km long.",
        "Measured in 2025.",
        "station: Oxley; opened: 1998.",
    ]
    assert document.title == "A title"


def test_a_raised_number_of_an_opendocument_text_is_not_part_of_the_number_before_it(tmp_path: Path) -> None:
    style = 'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"'
    raised = '<style:style style:name="T1"><style:text-properties style:text-position="super 58%"/></style:style>'
    body = f'<text:p {style}>{raised}It cost 10<text:span text:style-name="T1">6</text:span> euros.</text:p>'
    assert one(tmp_path / "a.odt", odt(body)).text == "It cost 10⁶ euros."


def test_an_encrypted_or_damaged_opendocument_text_is_named(tmp_path: Path) -> None:
    entry = "<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"
    assert refused(tmp_path / "a.odt", odt("", manifest=entry)).what == "the document is encrypted"
    assert refused(tmp_path / "b.odt", odt("")).what == "the OpenDocument text contains no text"
    assert "damaged" in refused(tmp_path / "c.odt", odt("<text:p>")).what


def test_rows_of_a_word_table_have_the_names_of_their_columns_and_one_without_a_head_stays(tmp_path: Path) -> None:
    def table(*rows: tuple[str, ...]) -> str:
        cells = [[f"<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>" for cell in row] for row in rows]
        return f"<w:tbl>{''.join(f'<w:tr>{chr(10).join(row)}</w:tr>' for row in cells)}</w:tbl>"

    named = docx(table(("year", "passengers"), ("2024", "9.1 million"), ("2025", "9.6 million")))
    assert one(tmp_path / "a.docx", named).text == (
        "year: 2024; passengers: 9.1 million.\n\nyear: 2025; passengers: 9.6 million."
    )
    assert one(tmp_path / "b.docx", docx(table(("A sentence in a frame.",)))).text == "A sentence in a frame."


def test_rows_of_a_table_with_a_merged_cell_have_the_names_of_their_columns(tmp_path: Path) -> None:
    rows = [
        ("Results", "", ""),
        ("Item", "2024", "2025"),
        ("Revenue", "€80m", "€99m"),
        ("in euros", ""),
        ("", "1", "2"),
    ]
    word = "".join(
        f"<w:tr>{''.join(f'<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>' for cell in row)}</w:tr>"
        for row in [("Results",), *rows[1:]]
    )
    text = "Results\n\nItem: Revenue; 2024: €80m; 2025: €99m.\n\nin euros\n\n2024: 1; 2025: 2."
    assert one(tmp_path / "a.docx", docx(f"<w:tbl>{word}</w:tbl>")).text == text
    covered = "<table:covered-table-cell/>"
    cell = "<table:table-cell{}><text:p>{}</text:p></table:table-cell>".format
    spanned = [
        cell(' table:number-columns-spanned="3"', "Results") + 2 * covered,
        *("".join(cell("", words) for words in row) for row in rows[1:3]),
        cell(' table:number-columns-spanned="3"', "in euros") + 2 * covered,
        "".join(cell("", words) for words in rows[4]),
    ]
    body = "".join(f"<table:table-row>{row}</table:table-row>" for row in spanned)
    assert one(tmp_path / "a.odt", odt(f"<table:table>{body}</table:table>")).text == text


def test_a_cell_that_spans_rows_and_columns_is_in_all_of_them(tmp_path: Path) -> None:
    text = (
        "Region: North; 2025 Cost: 5; 2025 Length: 6.\n\nRegion: North; 2025 Cost: 7; 2025 Length: 8.\n\n"
        "Region: South; 2025 Cost: n/a; 2025 Length: n/a."
    )
    merge, across = "<w:vMerge{}/>".format, '<w:gridSpan w:val="2"/>'
    first, more = merge(' w:val="restart"'), merge("")
    word = [
        [(first, "Region"), (across, "2025")],
        [(more, ""), ("", "Cost"), ("", "Length")],
        [(first, "North"), ("", "5"), ("", "6")],
        [(more, ""), ("", "7"), ("", "8")],
        [("", "South"), (across, "n/a")],
    ]
    cell = "<w:tc><w:tcPr>{}</w:tcPr><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>".format
    body = "".join(f"<w:tr>{''.join(cell(*each) for each in row)}</w:tr>" for row in word)
    assert one(tmp_path / "a.docx", docx(f"<w:tbl>{body}</w:tbl>")).text == text
    covered = "<table:covered-table-cell/>"
    down, wide = (f' table:number-{name}-spanned="2"' for name in ("rows", "columns"))
    other = "<table:table-cell{}><text:p>{}</text:p></table:table-cell>".format
    table = [
        other(down, "Region") + other(wide, "2025") + covered,
        covered + other("", "Cost") + other("", "Length"),
        other(down, "North") + other("", "5") + other("", "6"),
        covered + other("", "7") + other("", "8"),
        other("", "South") + other(wide, "n/a") + covered,
    ]
    rows = "".join(f"<table:table-row>{row}</table:table-row>" for row in table)
    assert one(tmp_path / "a.odt", odt(f"<table:table>{rows}</table:table>")).text == text


def test_a_second_head_within_a_table_names_the_cells_below_it(tmp_path: Path) -> None:
    rows = [("Pool", "Visitors"), ("Quay", "31200"), ("Costs",), ("Pool", "Cost"), ("Quay", "198000")]
    text = "Pool: Quay; Visitors: 31200.\n\nCosts\n\nPool: Quay; Cost: 198000."
    word = "".join(
        f"<w:tr>{''.join(f'<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>' for cell in row)}</w:tr>"
        for row in rows
    )
    assert one(tmp_path / "a.docx", docx(f"<w:tbl>{word}</w:tbl>")).text == text
    body = "".join(odt_row(*row) for row in rows)
    assert one(tmp_path / "a.odt", odt(f"<table:table>{body}</table:table>")).text == text
    page = "".join(
        f"<tr>{''.join(f'<{cell}>{words}</{cell}>' for words in row)}</tr>"
        for cell, row in zip(("th", "td", "td", "th", "td"), rows, strict=True)
    )
    assert one(tmp_path / "a.html", f"<body><table>{page}</table></body>".encode()).text == text


def test_text_of_a_word_document_that_nobody_sees_is_left_out(tmp_path: Path) -> None:
    run = "<w:r><w:rPr>{}</w:rPr><w:t>{}</w:t></w:r>".format
    unseen = "".join(run(f"<w:{name}/>", f"{name} ") for name in ("vanish", "strike", "dstrike"))
    body = run("<w:b/>", "It has ") + unseen + run('<w:strike w:val="0"/>', "612 people.")
    assert one(tmp_path / "a.docx", docx(f"<w:p>{body}</w:p>")).text == "It has 612 people."


@pytest.mark.parametrize("frame", ["<w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt>", "<w:ins>{}</w:ins>"])
def test_rows_of_a_word_table_in_content_controls_and_insertions_are_read(frame: str, tmp_path: Path) -> None:
    head, attic, cellar = (
        f"<w:tr>{''.join(f'<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>' for cell in row)}</w:tr>"
        for row in (("Room", "Price"), ("Attic", "80 euros"), ("Cellar", "95 euros"))
    )
    body = f"<w:tbl>{head}{attic}{frame.format(cellar)}</w:tbl>"
    assert one(tmp_path / "a.docx", docx(body)).text.endswith("Room: Cellar; Price: 95 euros.")


def test_footnotes_and_endnotes_of_a_word_document_follow_its_text(tmp_path: Path) -> None:
    paragraph = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>".format
    separator = f'<w:footnote w:type="separator" w:id="0">{paragraph("———")}</w:footnote>'
    content = docx(
        paragraph("The bridge is long."),
        footnotes=f'{separator}<w:footnote w:id="1">{paragraph("It opened in 1998.")}</w:footnote>',
        endnotes=f'<w:endnote w:type="normal" w:id="1">{paragraph("It was painted in 2010.")}</w:endnote>',
    )
    assert one(tmp_path / "a.docx", content).text == (
        "The bridge is long.\n\nIt opened in 1998.\n\nIt was painted in 2010."
    )


def test_a_word_document_keeps_hyphens_and_breaks_and_a_text_box_is_apart_from_its_paragraph(tmp_path: Path) -> None:
    box = "<w:r><w:pict><w:txbxContent><w:p><w:r><w:t>It cost 9 euros.</w:t></w:r></w:p></w:txbxContent></w:pict></w:r>"
    years = "<w:r><w:t>It was built 1998</w:t><w:noBreakHyphen/><w:t>2004.</w:t><w:cr/><w:t>It is long.</w:t></w:r>"
    text = one(tmp_path / "a.docx", docx(f"<w:p>{box}{years}</w:p>")).text
    assert text == "It was built 1998-2004.\nIt is long.\n\nIt cost 9 euros."


def test_the_caption_of_a_pages_table_is_above_its_rows(tmp_path: Path) -> None:
    table = "<table><caption>It has {} stops.</caption><tr><th>a<th>b</tr><tr><td>1<td>2</tr></table>"
    (tmp_path / "a.html").write_text(f"<body>{table.format(23)}</body>")
    for whole in (True, False):
        (document,) = read_file(tmp_path / "a.html", whole=whole)
        assert isinstance(document, Document)
        assert document.text == "It has 23 stops.\n\na: 1; b: 2."


def test_rows_of_a_pages_table_have_the_names_of_their_columns(tmp_path: Path) -> None:
    table = "<table><tr><th>year</th><th>passengers</th></tr><tr><td>2025</td><td>9.6 million</td></tr></table>"
    page = f"<html><body><main><p>{'The line was opened again. ' * 9}</p>{table}</main></body></html>"
    assert "year: 2025; passengers: 9.6 million." in one(tmp_path / "a.html", page.encode()).text


@pytest.mark.extra
def test_a_workbook_is_read_row_by_row_with_its_heads_dates_and_shares(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="needs the extra documents")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Segments"
    for row in (
        ["Pellworth, 2025"],
        ["segment", "change", "closed on"],
        ["Bakery", 0.028, date(2025, 12, 31)],
        [None, 0.1],
    ):
        sheet.append(row)
    sheet["B3"].number_format = "0.0%"
    book.create_sheet("Notes").append(["All figures are audited."])
    book.properties.title = "Results"
    file = io.BytesIO()
    book.save(file)
    document = one(tmp_path / "a.xlsx", file.getvalue())
    assert document.text == (
        "Segments\nPellworth, 2025\nsegment: Bakery; change: 2.8%; closed on: 2025-12-31.\nchange: 0.1.\n\n"
        "Notes\nAll figures are audited."
    )
    assert document.title == "Results"
    sheet["B4"] = "=B3*2"
    file = io.BytesIO()
    book.save(file)
    assert refused(tmp_path / "b.xlsx", file.getvalue()).what == "1 of the workbook's formulas have no stored value"


@pytest.mark.extra
def test_each_table_of_a_workbooks_sheet_has_a_head_of_its_own(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="needs the extra documents")
    book = openpyxl.Workbook()
    for row in (
        [],
        ["", "Pool", "Visitors"],
        ["", "Quay", 31200],
        [],
        ["", "Costs"],
        ["", "Pool", "Cost"],
        ["", "Quay", 5],
    ):
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)
    text = one(tmp_path / "a.xlsx", file.getvalue()).text
    assert text == "Pool: Quay; Visitors: 31200.\nCosts\nPool: Quay; Cost: 5."


@pytest.mark.parametrize(
    ("value", "shown_as", "text"),
    [
        (2.8, "General", "2.8"),
        (2.8, '#,##0.00\\ "€"', "2.8 €"),
        (-5, '"$"#,##0;[Red]-"$"#,##0', "-$5"),
        (2.8, "[$£-809]#,##0.00", "£2.8"),
        (12, '_-* #,##0\\ "€"_-;-* #,##0\\ "€"_-', "12 €"),
        (14, '0.0" km"', "14 km"),
        (5_000_000, '0.0,,"M"', "5000000"),
        (0.5, "# ?/?", "0.5"),
        (1e6, "0.00E+00", "1000000"),
    ],
)
def test_a_number_has_the_unit_that_its_format_writes(value: float, shown_as: str, text: str) -> None:
    assert office._cell_text(value, shown_as) == text


@pytest.mark.extra
def test_an_rtf_document_has_its_paragraphs_rows_and_title(tmp_path: Path) -> None:
    pytest.importorskip("striprtf", reason="needs the extra documents")
    row = r"\trowd\cellx1\cellx2 {0}\cell {1}\cell\row "
    body = r"{\rtf1\ansi{\info{\title The line}}It cost \'a3214 million.\par " + "".join(
        row.replace("{0}", one).replace("{1}", two) for one, two in (("year", "cost"), ("2025", "214"))
    )
    document = one(tmp_path / "a.rtf", f"{body}}}".encode())
    assert document.text == "It cost £214 million.\n\nyear: 2025; cost: 214."
    assert document.title == "The line"


@pytest.mark.extra
def test_footnotes_of_an_rtf_document_follow_its_text_and_raised_numbers_stay_apart(tmp_path: Path) -> None:
    pytest.importorskip("striprtf", reason="needs the extra documents")
    body = rb"{\rtf1\ansi It cost 10{\super\b 6} euros.{\footnote {\super\chftn} It was \'a35 \} more.} It is big.\par}"
    assert one(tmp_path / "a.rtf", body).text == "It cost 10⁶ euros. It is big.\n\nIt was £5 } more."


@pytest.mark.extra
def test_an_rtf_document_keeps_its_breaks_and_leaves_out_what_nobody_sees(tmp_path: Path) -> None:
    pytest.importorskip("striprtf", reason="needs the extra documents")
    unseen = r"{\deleted It was 9 %. {\b Yes.}}{\rtlch\fcs1 \v It burnt.}{\strike0 It is deep.}{\b\strike It is free.}"
    body = rf"{{\rtf1\ansi Last line\line continues here.\par {unseen}{{\footnote {{\v Not}} So.}}\par}}"
    assert one(tmp_path / "a.rtf", body.encode()).text == "Last line\ncontinues here.\n\nIt is deep.\n\nSo."


def test_a_letter_has_its_body_subject_sender_and_date_and_its_attachments_are_documents(tmp_path: Path) -> None:
    made = letter("The line is 17.4 km long.")
    made.add_attachment(paragraphs("It has five stations."), maintype="application", subtype="x", filename="note.docx")
    made.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="logo.png")
    made.add_attachment(b"\0\1", maintype="application", subtype="zip", filename="all.zip")
    body, note, picture, rest = read(tmp_path / "a.eml", made.as_bytes())
    assert isinstance(body, Document)
    assert (body.text, body.title, body.publisher, body.published) == (
        "The line is 17.4 km long.", "Figures for the line", "Delia Marsh", "2026-05-12",
    )  # fmt: skip
    assert isinstance(note, Document)
    assert note.text == "It has five stations."
    assert note.id.endswith("a.eml#1-note.docx")
    assert isinstance(picture, UnreadableFile)
    assert "logo.png" in picture.what
    assert isinstance(rest, UnreadableFile)
    assert "all.zip" in rest.what


def test_what_only_the_html_part_of_a_letter_says_follows_its_plain_text(tmp_path: Path) -> None:
    made = letter("Please see the HTML part.")
    made.add_alternative("<p>The room costs 95 euros.</p><p>Please see.</p>", subtype="html")
    assert one(tmp_path / "a.eml", made.as_bytes()).text == "Please see the HTML part.\n\nThe room costs 95 euros."
    same = letter("The room costs\n95 euros.")
    same.add_alternative("<p>The room <b>costs</b> 95 euros.</p>", subtype="html")
    assert one(tmp_path / "b.eml", same.as_bytes()).text == "The room costs\n95 euros."
    picture = letter("The room costs 95 euros.")
    picture.add_alternative('<img src="cid:a">', subtype="html")
    assert one(tmp_path / "c.eml", picture.as_bytes()).text == "The room costs 95 euros."


def test_statements_of_other_words_in_a_row_are_kept_however_long_the_letter_is(tmp_path: Path) -> None:
    made = letter("The pool is open in May. Dogs are not allowed in the hall. The hall is free on 1 May.")
    made.add_alternative(
        "<p>The pool is not open on 1 May.</p><p>Dogs are allowed in the pool.</p><p>The hall is free.</p>",
        subtype="html",
    )
    text = one(tmp_path / "a.eml", made.as_bytes()).text
    assert text.split("\n\n", 1)[1].split("\n") == [
        "The pool is not open on 1 May.",
        "",
        "Dogs are allowed in the pool.",
    ]


def test_a_part_in_an_unknown_character_set_is_named_and_the_other_is_read(tmp_path: Path) -> None:
    made = letter("The room costs 95 euros.")
    made.add_alternative("<p>The room costs 95 euros.</p>", subtype="html")
    plain, page = made.iter_parts()
    page.replace_header("Content-Type", "text/html; charset=x-user-defined")
    body, unread = read(tmp_path / "a.eml", made.as_bytes())
    assert isinstance(body, Document)
    assert body.text == "The room costs 95 euros."
    assert isinstance(unread, UnreadableFile)
    assert "text/html" in unread.what
    plain.replace_header("Content-Type", "text/plain; charset=x-user-defined")
    assert "unknown character set" in refused(tmp_path / "b.eml", made.as_bytes()).what


@pytest.mark.parametrize("charset", ["", "Content-Type: text/plain; charset=us-ascii\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_a_letter_without_its_character_set_is_read_like_a_text_file(
    charset: str, encoding: str, tmp_path: Path
) -> None:
    content = f"Subject: a\nFrom: b@c.org\n{charset}\nThe café costs 5 €.\n".encode(encoding)
    assert one(tmp_path / "a.eml", content).text == "The café costs 5 €."


def test_a_letter_that_names_latin_1_is_read_as_windows_1252(tmp_path: Path) -> None:
    header = "Subject: a\nFrom: b@c.org\nContent-Type: text/plain; charset=iso-8859-1\n"
    content = f"{header}\nThe “café” costs 5 €.\n".encode("cp1252")
    assert one(tmp_path / "a.eml", content).text == "The “café” costs 5 €."


@pytest.mark.parametrize("page", ["<body hidden><p>{}</p>", "<body style='display:none'>{}", "<body><nav>{}</nav>"])
def test_a_page_that_a_script_shows_is_read_whole(page: str, tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(page.format("The bridge opened in 1889."))
    (document,) = read_file(path, whole=True)
    assert isinstance(document, Document)
    assert document.text == "The bridge opened in 1889."


def test_the_name_of_a_pages_tab_is_its_title_and_no_sentence_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(
        "<html><head><title>The bridge opens | Town</title></head><body><p>It opened in 1889.</p></body></html>"
    )
    (document,) = read_file(path, whole=True)
    assert isinstance(document, Document)
    assert (document.title, document.text) == ("The bridge opens | Town", "It opened in 1889.")


def test_a_picture_within_a_letter_is_no_attachment(tmp_path: Path) -> None:
    made = letter("<p>It is 17.4 km long.</p>", html=True)
    made.add_related(b"\x89PNG", maintype="image", subtype="png", cid="<logo>")
    assert one(tmp_path / "a.eml", made.as_bytes()).text == "It is 17.4 km long."


def test_attachments_are_found_however_a_letter_is_composed(tmp_path: Path) -> None:
    inner = letter("It has five stations.", html=True)
    inner.add_attachment("It cost 214 million.", filename="cost.txt")
    inner.add_attachment(letter("It is forwarded."))
    made = letter("It has five stations.")
    made.make_alternative()
    made.attach(inner)  # as some programs write it
    body, note, forwarded = read(tmp_path / "a.eml", made.as_bytes())
    assert isinstance(body, Document)
    assert isinstance(note, Document)
    assert (body.text, note.text.strip()) == ("It has five stations.", "It cost 214 million.")
    assert isinstance(forwarded, UnreadableFile)
    assert "message/rfc822" in forwarded.what


def test_a_letter_in_html_is_read_as_its_words_and_one_without_a_header_is_refused(tmp_path: Path) -> None:
    assert "17.4 km" in one(tmp_path / "a.eml", letter("<p>It is <b>17.4 km</b> long.</p>", html=True).as_bytes()).text
    assert "no header" in refused(tmp_path / "b.eml", b"\n\nOnly a body.").what


@pytest.mark.parametrize(
    ("name", "content", "what", "hint"),
    [
        ("a.pdf", paragraphs("Text."), "named .pdf, but it is a Word document", "rename it to .docx"),
        ("a.docx", pdf("Text."), "named .docx, but it is a PDF file", "rename it to .pdf"),
        ("a.txt", odt("<text:p>Text.</text:p>"), "named .txt, but it is an OpenDocument text", "rename it to .odt"),
        ("a.docx", b"{\\rtf1 Text.}", "named .docx, but it is an RTF document", "rename it to .rtf"),
        (
            "a.docx",
            b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"),
            "the document is encrypted",
            "password",
        ),
        ("a.docx", b"\xd0\xcf\x11\xe0" + bytes(20), "a document of an old Office format", "save it as .docx"),
    ],
)
def test_a_mislabelled_encrypted_or_old_document_is_named_with_what_to_do(
    name: str, content: bytes, what: str, hint: str, tmp_path: Path
) -> None:
    error = refused(tmp_path / name, content)
    assert what in error.what
    assert hint in error.hint


def test_an_unreadable_file_of_a_folder_is_named_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "LARGEST_DOCUMENT", 2000)
    (tmp_path / "a.txt").write_text("The line is long.")
    (tmp_path / "b.pdf").write_bytes(pdf(""))
    (tmp_path / "c.pdf").write_bytes(paragraphs("Text."))
    (tmp_path / "d.docx").write_bytes(b"")
    (tmp_path / "e.txt").write_bytes(b"x" * 2001)
    (tmp_path / "f.eml").write_bytes(letter("It opened.").as_bytes())
    found = list(read_documents(tmp_path))
    assert [Path(each.id).name for each in found if isinstance(each, Document)] == ["a.txt", "f.eml"]
    errors = {Path(each.where).name: each.what for each in found if isinstance(each, UnreadableFile)}
    assert errors == {
        "b.pdf": "the PDF contains no text",
        "c.pdf": "named .pdf, but it is a Word document",
        "d.docx": "the file is empty",
        "e.txt": "larger than 2,000 bytes",
    }


def test_a_part_of_an_archive_that_grows_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office, "LARGEST_PART", 1000)
    assert "more than 1,000 bytes" in refused(tmp_path / "a.odt", odt("<text:p/>" * 1000)).what
