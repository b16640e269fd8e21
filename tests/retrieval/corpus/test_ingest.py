"""Reading files: each kind, and each way in which a file can be unfit, named and skipped."""

from __future__ import annotations

import gzip
import json
import os
import sys
from pathlib import Path

import pytest

from redargue.errors import UnreadableFile, UsageError
from redargue.retrieval.corpus import ingest, office
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.ingest import read_documents, read_file
from redargue.retrieval.corpus.markup import html_with_links
from support.files import docx, pdf

PAGE = """<html><head><title>The Tower | Example</title><meta property="og:title" content="The Tower">
<meta property="og:site_name" content="Example News"><link rel="canonical" href="https://example.org/tower">
<meta property="article:published_time" content="2020-03-04"></head><body><nav>Home About Login</nav>
<article><p>The tower opened in 1889, and it is 330 metres tall. Many people visit it every year.</p>
<p>Its second paragraph says that it was repainted in 2019.</p></article></body></html>"""


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def one(path: Path) -> Document:
    (found,) = read_documents(path)
    assert isinstance(found, Document), found
    return found


def refused(path: Path) -> UnreadableFile:
    (found,) = read_documents(path)
    assert isinstance(found, UnreadableFile), found
    assert str(path) in found.where
    return found


def test_text_may_begin_with_a_byte_order_mark_and_end_lines_as_it_likes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.TXT", b"\xef\xbb\xbfOne\r\ntwo\rthree \xe6\x97\xa5")
    assert one(path) == Document(id=str(path), path=str(path), text="One\ntwo\nthree 日")


def test_the_first_heading_of_markdown_is_its_title(tmp_path: Path) -> None:
    assert (
        one(write(tmp_path / "a.md", "intro\n```\n# not this\n```\n##  nor this\n#  The  title ##\n")).title
        == "The title"
    )
    assert one(write(tmp_path / "b.md", "no #heading")).title == ""


def test_html_gives_its_main_text_and_what_it_says_of_itself(tmp_path: Path) -> None:
    page = one(write(tmp_path / "a.html", PAGE))
    assert "opened in 1889" in page.text
    assert "Login" not in page.text
    assert (page.title, page.publisher) == ("The Tower", "Example News")
    assert (page.url, page.published) == ("https://example.org/tower", "2020-03-04")
    undated = one(write(tmp_path / "b.htm", "<html><body><p>It happened on 3 May 2011.</p></body></html>"))
    assert undated.published == ""


PARAGRAPHS = "".join(
    f"<p>In {year} the bridge carried {year * 7} vehicles, the ministry of transport said in its yearly report.</p>"
    for year in range(2010, 2016)
)


def test_a_raised_number_is_not_part_of_the_number_before_it(tmp_path: Path) -> None:
    numbers = "10<sup>9</sup> to 10<sup> 11</sup> T, 5 m<sup>-2</sup> and Na<sup>+</sup>"
    page = f"<html><body><article><p>A field of {numbers}.</p></article></body></html>"
    expected = "A field of 10⁹ to 10¹¹ T, 5 m⁻² and Na⁺."
    assert one(write(tmp_path / "a.html", page)).text == expected
    raised = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>9</w:t></w:r>'
    document = docx(f"<w:p><w:r><w:t>10</w:t></w:r>{raised}<w:r><w:t> T.</w:t></w:r></w:p>")
    assert one(write(tmp_path / "a.docx", document)).text == "10⁹ T."


def test_a_word_that_tags_divide_is_one_word(tmp_path: Path) -> None:
    words = "<span class='cap'>T</span>he 1<sup>st</sup> line cost 5<wbr>000 euros, and CO<sub>2</sub> <b>f</b>ell"
    page = f"<html><body><article><p>{words}, <b>A</b> and <i>b</i> did not.</p></article></body></html>"
    assert one(write(tmp_path / "a.html", page)).text == "The 1st line cost 5000 euros, and CO2 fell, A and b did not."


def test_only_the_main_text_of_a_page_is_taken(tmp_path: Path) -> None:
    page = one(
        write(
            tmp_path / "a.html",
            f"""<body><header>Site header</header><div role="dialog">Accept cookies</div><main><article>
            <header><h1>The bridge</h1></header>{PARAGRAPHS}<ul><li>Cars pay two pounds.</li></ul>
            <table><tr><th>Opened</th><td>1932</td></tr></table><p style="display: none">Hidden words</p>
            <aside><a href="/b">Related stories</a></aside></article>
            <section class="comments"><p>A comment.</p></section></main>
            <footer>Legal notice</footer><script>var code = 1;</script></body>""",
        )
    )
    for text in ("In 2010 the bridge carried 14070 vehicles", "Cars pay two pounds.", "Opened 1932"):
        assert text in page.text
    for text in ("Site header", "cookies", "Hidden", "Related stories", "A comment", "Legal notice", "code"):
        assert text not in page.text


ARTICLE, BESIDE = "<main><article>{}{}</article></main>", "<main><div>{}</div>{}</main>"


@pytest.mark.parametrize(
    ("frame", "part"),
    [
        (ARTICLE, "<aside><p>{}</p></aside>"),
        (ARTICLE, "<footer><p>{}</p></footer>"),
        (ARTICLE, '<div class="commentary"><p>{}</p></div>'),
        (ARTICLE, '<div class="footnotes"><p>{}</p></div>'),
        (BESIDE, "<aside><p>{}</p></aside>"),
        (BESIDE, "<footer><p>{}</p></footer>"),
    ],
)
def test_asides_footers_and_notes_of_an_article_are_part_of_it(frame: str, part: str, tmp_path: Path) -> None:
    page = f"<body>{frame.format(PARAGRAPHS, part.format('It opened in 1932.'))}</body>"
    assert one(write(tmp_path / "a.html", page)).text.count("It opened in 1932.") == 1


@pytest.mark.parametrize("name", ["comments", "comment-list", "commentlist", "userComments", "post-comment"])
def test_comments_of_readers_are_left_out(name: str, tmp_path: Path) -> None:
    page = f'<main><article>{PARAGRAPHS}<div class="{name}"><p>I never saw it.</p></div></article></main>'
    assert "never" not in one(write(tmp_path / "a.html", page)).text


def test_of_a_text_to_be_checked_the_whole_page_is_read(tmp_path: Path) -> None:
    hidden = '<nav>Contents</nav><p hidden>Hidden</p><p style="display: none">Hidden</p><script>code</script>'
    hidden += '<p style="visibility: hidden">Hidden</p>'
    shown = ["An aside.", "A button.", "A remark.", "A fact.", "A footer."]
    parts = "<aside>{}</aside><button>{}</button><div class='comments'>{}</div><div>{}</div><footer>{}</footer>"
    file = write(tmp_path / "a.html", f"<body>{hidden}<div>{PARAGRAPHS}</div>{parts.format(*shown)}</body>")
    (page,) = read_file(file, whole=True)
    assert isinstance(page, Document)
    assert [line for line in page.text.split("\n") if line][-5:] == shown
    assert not any(word in page.text for word in ("Contents", "Hidden", "code"))


def test_alt_texts_of_a_page_to_be_checked_are_read(tmp_path: Path) -> None:
    images = '<p>One. <img alt="Two."> <img alt=" "><img alt="Three."></p><figure><img alt="Four."><figcaption>Five.'
    file = write(tmp_path / "a.html", f'<p>Zero.</p><div hidden><img alt="Hidden."></div>{images}')
    (page,) = read_file(file, whole=True)
    assert isinstance(page, Document)
    assert page.text.split() == ["Zero.", "One.", "Two.", "Three.", "Four.", "Five."]


def test_what_follows_the_end_of_a_page_is_read(tmp_path: Path) -> None:
    assert one(write(tmp_path / "a.html", "<html><body><p>One.</p></body></html><p>Two.</p>")).text == "One.\n\nTwo."
    assert html_with_links("<html><body><p>One.</p></body></html>Two.").endswith("Two.")


def test_chapters_in_containers_of_their_own_are_all_taken(tmp_path: Path) -> None:
    chapters = "".join(f"<div><h2>Chapter {number}</h2>{PARAGRAPHS}</div>" for number in range(1, 5))
    page = one(write(tmp_path / "a.html", f"<nav>Contents</nav><div><div>{chapters}</div></div>"))
    assert all(f"Chapter {number}" in page.text for number in range(1, 5))
    assert "Contents" not in page.text


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (
            """<title>Bridge reopens - Example</title><script type="application/ld+json">{"@graph": [{"@type":
            "NewsArticle", "datePublished": "2024-06-04T10:00:00Z", "publisher": {"name": "Example"}}]}</script>""",
            {"title": "Bridge reopens", "publisher": "Example", "published": "2024-06-04"},
        ),
        (
            """<title>A trial</title><meta name="citation_publication_date" content="2019/3/7">
            <meta property="og:url" content="https://www.example.org/a">""",
            {
                "title": "A trial",
                "url": "https://www.example.org/a",
                "publisher": "example.org",
                "published": "2019-03-07",
            },
        ),
        (
            """<title>Damaged</title><script type="application/ld+json">{"datePublished": </script>
            <link rel="canonical" href="/relative"><meta name="date" content="2020-02-31">""",
            {"title": "Damaged"},
        ),
        ("", {}),
    ],
)
def test_metadata_of_a_page_comes_from_what_it_states(tmp_path: Path, head: str, expected: dict[str, str]) -> None:
    body = "<body><h1>Bridge reopens</h1><p>It was closed on 3 May 2011.</p></body>"
    page = one(write(tmp_path / "a.html", f"<html><head>{head}</head>{body}</html>"))
    fields = page.model_dump(include={"title", "url", "publisher", "published"})
    assert {name: value for name, value in fields.items() if value} == expected


def test_what_a_page_strikes_out_is_not_read(tmp_path: Path) -> None:
    page = "<p>The fee is <del>5</del> <ins>7</ins> euros, entry <s>is free</s> costs <strike>1</strike> 2.</p>"
    assert one(write(tmp_path / "a.html", page)).text == "The fee is 7 euros, entry costs 2."
    text = "- ~~Old.~~\nThe fee is ~~5~~ 7 euros, ~~and entry is free.~~ and `a ~~ b` is code.\n```\n~~kept~~\n```"
    kept = "\nThe fee is  7 euros,  and `a ~~ b` is code.\n```\n~~kept~~\n```"
    assert one(write(tmp_path / "a.md", text)).text == kept


def test_an_image_embedded_in_markdown_is_read_as_its_text(tmp_path: Path) -> None:
    image = "data:image/png;base64," + "iVBORw0KGgo/+" * 3000
    text = f"It is 330 m. ![plan]({image}) It opened in 1889.\n\n![][image1]\n\n[image1]: <{image}>\n"
    assert one(write(tmp_path / "a.md", text)).text == "It is 330 m. ![plan] It opened in 1889.\n\n![][image1]\n\n\n"


def test_a_note_across_a_table_leaves_its_cells_their_names(tmp_path: Path) -> None:
    head = "<tr><th colspan=3>Key figures</th></tr><tr><th></th><th>2023</th><th>2024</th></tr>"
    rows = "<tr><th>Revenue</th><td>1,204</td><td>1,377</td></tr><tr><td colspan=3>in NOK million</td></tr>"
    page = one(write(tmp_path / "a.html", f"<table>{head}{rows}</table>"))
    assert page.text.split("\n\n") == ["Key figures", "Revenue; 2023: 1,204; 2024: 1,377.", "in NOK million"]


REGIONS = """<table><thead><tr><th rowspan=2>Region</th><th colspan=2>2023</th></tr><tr><th>Q1</th><th>Q2</th></tr>
</thead><tr><td rowspan=2>North</td><td>5</td><td>6</td></tr><tr><td>7</td><td>8</td></tr>
<tr><td>South</td><td colspan=2>n/a</td></tr></table>"""
CITIES = """<table><tr><td>City</td><td>People</td><td>Area</td></tr>
<tr><td>Bergen</td><td>291,000</td><td>465 km²</td></tr></table>"""
PLANS = "<table><tr><td><p><b>Plan</b></p></td><td><strong>Price</strong></td></tr><tr><td>Basic<td>5 euros</table>"
DAYS = "<table><tr><th>Day<th>Room<tr><td rowspan=0>Monday<td>A<tr><td>B</table>"
ODD_SPANS = "<table><tr><th>Day<th>Room<tr><td colspan=x>Monday<td rowspan=-3>A</table>"


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            REGIONS,
            [
                "Region: North; 2023 Q1: 5; 2023 Q2: 6.",
                "Region: North; 2023 Q1: 7; 2023 Q2: 8.",
                "Region: South; 2023 Q1: n/a; 2023 Q2: n/a.",
            ],
        ),
        (CITIES, ["City: Bergen; People: 291,000; Area: 465 km²."]),
        (PLANS, ["Plan: Basic; Price: 5 euros."]),
        (DAYS, ["Day: Monday; Room: A.", "Day: Monday; Room: B."]),
        (ODD_SPANS, ["Day: Monday; Room: A."]),
        ("<table><tr><td>Country<td>France<tr><td>People<td>68,000,000</table>", ["Country France\nPeople 68,000,000"]),
        ("<table><tr><td><b>Opened<td><b>1998<tr><td><b>Closed<td><b>2011</table>", ["Opened 1998\nClosed 2011"]),
    ],
)
def test_cells_of_a_page_have_the_names_of_their_columns(tmp_path: Path, table: str, expected: list[str]) -> None:
    assert one(write(tmp_path / "a.html", table)).text.split("\n\n") == expected


def test_spans_of_a_hostile_table_do_not_multiply_its_text(tmp_path: Path) -> None:
    rows = f"<tr><th colspan=99999>a<th>b<tr><td rowspan=99999 colspan=63>{'y' * 90}<td>z"
    assert len(one(write(tmp_path / "a.html", f"<table>{rows}{'<tr><td>x' * 2_000}</table>")).text) < 10_000


def test_pdf_gives_its_text_and_title(tmp_path: Path) -> None:
    document = one(write(tmp_path / "a.pdf", pdf("The tower opened in 1889.", "Towers")))
    assert (document.text, document.title) == ("The tower opened in 1889.", "Towers")


@pytest.mark.parametrize("title", [r"\(anonymous\)", "Untitled"])
def test_a_title_that_a_program_filled_in_is_none(tmp_path: Path, title: str) -> None:
    assert one(write(tmp_path / "a.pdf", pdf("It opened in 1889.", title))).title == ""


def test_ligatures_of_a_pdf_are_letters(tmp_path: Path) -> None:
    document = one(write(tmp_path / "a.pdf", pdf(r"The \256re stopped a \257ight.")))
    assert document.text == "The fire stopped a flight."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pdf(""), "the PDF contains no text"),
        (b"%PDF-1.4\nnothing of the kind", "the PDF is damaged"),
        (pdf("x")[:200], "the PDF is damaged"),
        (
            pdf(
                "x",
                extra=f"/Encrypt << /Filter /Standard /V 1 /R 2 /O ({32 * 'o'}) /U ({32 * 'u'}) /P -4 >> /ID [(a)(a)]",
            ),
            "the PDF is encrypted",
        ),
    ],
)
def test_an_unfit_pdf_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    assert message in refused(write(tmp_path / "a.pdf", content)).what


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"", "the file is empty"),
        ("a.txt", b" \n ", "text: must not be blank"),
        ("a.txt", b"caf\xc3\xa9 \xe9", "not UTF-8 at byte 6"),
        ("a.md", b"ab\0c", "NUL byte at byte 2"),
        ("a.html", b"<html></html>", "the page contains no text"),
        ("a.jsonl", b"", "the file is empty"),
        ("a.epub", b"x", "unknown file type '.epub'"),
        ("a.docx", b"x", "the Word document is damaged"),
        ("a.docx", docx(""), "the Word document contains no text"),
        ("a.docx", docx("<w:p>"), "the Word document is damaged"),
        ("a.csv", b"a,b\n1\n", "row 2 has 1 cells, and the first row 2"),
        ("a.csv", b'a\n"b', "not a table: unexpected end of data"),
        ("a.csv", b"a,b\n", "text: must not be blank"),
        ("a.json", b"{", "not JSON: Expecting property name"),
        ("a.json", b'{"text": "a", "text": "b"}', "the key 'text' appears 2 times"),
        ("a.json", b"[]", "the file is empty"),
        ("a.json", b'{"title": "T"}', "missing field 'text'"),
        ("a.json", b'{"text": ""}', "contains no text"),
        ("README", b"x", "unknown file type 'README'"),
        ("a.tar.gz", b"x", "unknown file type '.gz'"),
        ("a.txt.gz", b"plain", "damaged gzip data"),
        ("a.txt.gz", gzip.compress(b"x" * 1000, mtime=0)[:-9], "damaged gzip data"),
        ("a.txt.gz", gzip.compress(b"", mtime=0), "the file is empty"),
    ],
)
def test_an_unfit_file_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    assert message in refused(write(tmp_path / name, content)).what


def test_an_unknown_kind_says_which_are_known(tmp_path: Path) -> None:
    hint = refused(write(tmp_path / "a.epub", "x")).hint
    assert ".txt .md .html .htm .pdf .docx .odt .xlsx .rtf .eml .csv .tsv .jsonl .json" in hint


def test_a_word_document_gives_its_paragraphs_and_title_without_deleted_and_repeated_text(tmp_path: Path) -> None:
    box = "<mc:AlternateContent><mc:Choice><w:p>{0}</w:p></mc:Choice><mc:Fallback><w:p>{0}</w:p></mc:Fallback>"
    body = (
        "<w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr><w:r><w:t>The tower opened</w:t></w:r>"
        "<w:r><w:t> in 1889.</w:t></w:r>"
        "<w:del><w:r><w:delText>Never.</w:delText></w:r></w:del><w:moveFrom><w:r><w:t>Moved.</w:t></w:r></w:moveFrom></w:p>"
        "<w:p/><w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r></w:p></w:tc></w:tr>"
        f"</w:tbl><w:p>{box.format('<w:r><w:t>A box.</w:t></w:r>')}</mc:AlternateContent></w:p>"
    )
    document = one(write(tmp_path / "a.docx", docx(body, title=" The\nTower ")))
    assert document.text == "The tower opened in 1889.\n\na\tb\nc\n\nA box."
    assert document.title == "The Tower"


def test_a_word_document_cannot_read_files_or_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = write(tmp_path / "secret", "secret")
    entity = f'<!DOCTYPE d [<!ENTITY s SYSTEM "{secret.as_uri()}">]>'
    document = one(write(tmp_path / "a.docx", docx("<w:p><w:r><w:t>A b.&s;</w:t></w:r></w:p>", before=entity)))
    assert document.text == "A b."
    monkeypatch.setattr(office, "LARGEST_PART", 1000)
    assert "decompresses to more than 1,000 bytes" in refused(write(tmp_path / "b.docx", docx("<w:p/>" * 1000))).what


def test_a_table_of_a_country_with_a_decimal_comma_is_separated_by_semicolons(tmp_path: Path) -> None:
    table = write(tmp_path / "a.csv", "City;Price\nOrvell, Old;7,90\n")
    assert one(table).text == "City: Orvell, Old; Price: 7,90."


def test_the_rows_of_a_table_name_their_columns(tmp_path: Path) -> None:
    table = write(tmp_path / "a.csv", '\ufeffCity,People\r\n"Orvell, Old",4000\r\n\r\nSund,\r\n')
    assert one(table).text == "City: Orvell, Old; People: 4000.\nCity: Sund."
    assert one(write(tmp_path / "a.tsv", "City\tPeople\nSund\t1,5\n")).text == "City: Sund; People: 1,5."


@pytest.mark.parametrize(
    ("below", "rows"),
    [
        ("\nCosts,\nPool,Cost in 2019\nQuay,198000", "Costs|Pool: Quay; Cost in 2019: 198000."),
        ("Costs,\nPool,Cost in 2019\nQuay,198000", "Costs|Pool: Quay; Cost in 2019: 198000."),
        ("\nPool,Head\nQuay,Ada", "Pool: Quay; Head: Ada."),
        (",\n,Cost\nQuay,198000", "Quay; Cost: 198000."),
    ],
)
def test_each_table_of_a_sheet_has_a_head_of_its_own(tmp_path: Path, below: str, rows: str) -> None:
    table = write(tmp_path / "a.csv", f"Pool,Visitors\nQuay,31200\n{below}\n")
    assert one(table).text.split("\n") == ["Pool: Quay; Visitors: 31200.", *rows.split("|")]


@pytest.mark.parametrize(
    ("below", "rows"),
    [
        ("Costs,\nQuay,198000", "Costs|Quay; 198000."),
        ("Bar,Cook\nTern,Ada", "Bar; Cook.|Tern; Ada."),
        ("Bar,2019\nTern,5", "Bar; 2019.|Tern; 5."),
    ],
)
def test_rows_below_a_table_have_no_names_where_their_head_is_uncertain(tmp_path: Path, below: str, rows: str) -> None:
    table = write(tmp_path / "a.csv", f"Pool,Visitors\nQuay,31200\n\n{below}\n")
    assert one(table).text.split("\n") == ["Pool: Quay; Visitors: 31200.", *rows.split("|")]


@pytest.mark.parametrize("between", ["\n", "\n\n"])
@pytest.mark.parametrize("more", ["", "Tern,n/a\nMarlin,8\n"])
def test_a_blank_row_within_a_table_does_not_end_it(tmp_path: Path, between: str, more: str) -> None:
    table = f"Pool,Visitors\n{more}Quay,31200\n\nTotal,31208\n".replace("\n", between)
    text = one(write(tmp_path / "a.csv", table)).text
    assert text.endswith("Pool: Quay; Visitors: 31200.\nPool: Total; Visitors: 31208.")


def test_tables_side_by_side_follow_each_other_and_a_note_stays_as_it_is(tmp_path: Path) -> None:
    table = "Pool,Cost,,Year,Total\nQuay,500,,2018,900\nTern,600.,,,950\nNote: in euros,,,,\n"
    assert one(write(tmp_path / "a.csv", table)).text.split("\n") == [
        "Pool: Quay; Cost: 500.",
        "Pool: Tern; Cost: 600.",
        "Note: in euros",
        "Year: 2018; Total: 900.",
        "Total: 950.",
    ]
    spaced = write(tmp_path / "b.csv", "Pool,,Cost,Staff\nQuay,,500,9\n")
    assert one(spaced).text == "Pool: Quay; Cost: 500; Staff: 9."


def test_a_json_file_is_one_document_or_a_list_of_them(tmp_path: Path) -> None:
    assert one(write(tmp_path / "a.json", '{\n "id": "a",\n "text": "One."\n}\n')).id == "a"
    path = write(tmp_path / "b.json", '[{"text": "One."},\n {"text": 5}]')
    first, second = read_documents(path)
    assert isinstance(first, Document)
    assert isinstance(second, UnreadableFile)
    assert (first.text, first.id, second.where) == ("One.", f"{path}:1", f"{path}:2")


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.pdf"])
def test_every_kind_may_be_packed(tmp_path: Path, name: str) -> None:
    content = {"a.html": PAGE.encode(), "a.pdf": pdf("Some text.")}.get(name, b"# Some text.")
    plain = one(write(tmp_path / name, content))
    packed = one(write(tmp_path / f"{name}.gz", gzip.compress(content)))
    assert packed.sha256 == plain.sha256


def test_rows_need_a_text_only_and_a_bad_one_is_skipped(tmp_path: Path) -> None:
    rows = [
        json.dumps(
            {"id": "a", "title": "T", "text": "One.", "url": "u", "published": 2020, "publisher": "p", "x": [1]}
        ),
        json.dumps({"text": "Two.", "title": None}),
        "",
        "{bad",
        "[1]",
        json.dumps({"id": "c"}),
        json.dumps({"id": "d", "text": 5}),
        json.dumps({"id": "a", "text": "Again."}),
        json.dumps({"id": "e", "text": "\ud800"}),
        '{"id": "f", "text": "x\\u0000"}',
        "[" * 100_000,
        '{"text": ' + "1" * 5000 + "}",
        json.dumps({"id": 7, "text": "Seven."}),
        json.dumps({"id": True, "text": "x"}),
    ]
    path = write(tmp_path / "a.jsonl", "\n".join(rows))
    found = list(read_documents(path))
    documents = [each for each in found if isinstance(each, Document)]
    errors = {each.where.rpartition(":")[2]: each.what for each in found if isinstance(each, UnreadableFile)}
    assert [each.id for each in documents] == ["a", f"{path}:2", "7"]
    first = documents[0]
    assert (first.title, first.url, first.published, first.publisher) == ("T", "u", "2020", "p")
    assert errors.keys() == {"4", "5", "6", "7", "8", "9", "10", "11", "12", "14"}
    assert "not JSON: Expecting property name" in errors["4"]
    assert errors["5"] == "expected a JSON object, got '[1]'"
    assert "missing field 'text'" in errors["6"]
    assert "'text': expected a string, got 5" in errors["7"]
    assert errors["8"] == "duplicate id 'a', first used in line 1"
    assert "unpaired surrogate" in errors["9"]
    assert "NUL" in errors["10"]


def test_a_bad_byte_in_a_row_is_counted_from_the_start_of_the_file(tmp_path: Path) -> None:
    good = b'{"text": "ok"}\n'
    found = list(read_documents(write(tmp_path / "a.jsonl", good + b'{"text": "\xff"}\n' + good)))
    assert [type(each) for each in found] == [Document, UnreadableFile, Document]
    assert isinstance(found[1], UnreadableFile)
    assert f"not UTF-8 at byte {len(good) + 10}" in found[1].what


def test_rows_before_a_damage_are_kept(tmp_path: Path) -> None:
    rows = b"".join(b'{"text": "%s"}\n' % os.urandom(40).hex().encode() for _ in range(2000))
    found = list(read_documents(write(tmp_path / "a.jsonl.gz", gzip.compress(rows)[:-500])))
    assert len(found) > 100
    assert isinstance(found[-1], UnreadableFile)
    assert all(isinstance(each, Document) for each in found[:-1])


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "LARGEST_DOCUMENT", 1000)
    monkeypatch.setattr(ingest, "LARGEST_DECOMPRESSED", 3000)
    assert "larger than 1,000 bytes" in refused(write(tmp_path / "a.txt.gz", gzip.compress(b"a" * 10**6))).what
    assert "larger than 1,000 bytes" in refused(write(tmp_path / "a.txt", b"a" * 1001)).what
    assert "line longer than 1,000" in refused(write(tmp_path / "a.jsonl.gz", gzip.compress(b"a" * 10**6))).what
    rows = gzip.compress(b'{"text": "abc"}\n' * 1000)
    found = list(read_documents(write(tmp_path / "b.jsonl.gz", rows)))
    assert isinstance(found[-1], UnreadableFile)
    assert "decompresses to more than 3,000 bytes" in found[-1].what
    assert len(found) == 3000 // 16 + 1


def test_a_folder_is_read_in_order_without_hidden_files_and_link_loops(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    for name in ("b.txt", "a/z.txt", "a/.hidden.txt", ".git/x.txt", "c.txt"):
        write(folder / name, name)
    (folder / "a" / "loop").symlink_to(folder)
    (folder / "d.txt").symlink_to(folder / "nowhere")
    found = list(read_documents(folder))
    assert [each.text for each in found if isinstance(each, Document)] == ["a/z.txt", "b.txt", "c.txt"]
    (error,) = [each for each in found if isinstance(each, UnreadableFile)]
    assert error.where == str(folder / "d.txt")
    assert "No such file" in error.what


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_file_whose_name_is_not_utf_8_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "bl\udce4tter.txt").write_text("Leaves are green.")
    (found,) = read_documents(tmp_path)
    assert isinstance(found, UnreadableFile)
    assert (found.what, found.hint) == ("its name is not UTF-8", "rename it")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    assert "not a regular file" in refused(tmp_path / "a.txt").what


def test_a_folder_that_cannot_be_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()

    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", denied)
    monkeypatch.setattr(os, "listdir", denied)
    assert "Permission denied" in refused(tmp_path / "docs").what


def test_a_path_that_is_not_there_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no file or folder .*missing"):
        read_documents(tmp_path / "missing")
