"""The text and metadata of Markdown, HTML and PDF files, which come from untrusted sources."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING

from lxml import etree  # type: ignore[import-untyped]

from redargue.errors import UnreadableFile
from redargue.evidence import PAGE_BREAK
from redargue.nli.markup import EMBEDDED_IMAGE, is_heading, superscript
from redargue.quotes import STRUCK
from redargue.retrieval.corpus.documents import headings_in
from redargue.retrieval.corpus.pdf_lines import joined_words, with_whole_sentences, without_running_lines
from redargue.retrieval.corpus.tables import (
    TableCell,
    cell_type,
    cells_spanned,
    is_table,
    joined_heads,
    named_cells,
    named_rows,
    names_figures,
    rows_of_cells,
)
from redargue.sanitize import LIGATURES

if TYPE_CHECKING:
    from pypdf import PdfReader


_FRONT = re.compile(  # not what a text has between two rules
    r"\A---[ \t\r]*\n(?=(?:[a-z_][\w.-]*|Title|Date|Author):\s)"
    r"(?P<fields>(?:(?:[\w.-]+:(?:[ \t\r].*)?|[ \t]+\S.*|-[ \t].*|[#\]}].*|[ \t\r]*)\n)*?)"
    r"(?:---|\.\.\.)[ \t\r]*(?:\n|\Z)"
)
_FIELD = re.compile(r"^(?P<name>[A-Za-z_][\w-]*):[ \t]+(?P<value>\S.*?)[ \t]*$", re.MULTILINE)
_NAMES = {"title": "title", "date": "published", "published": "published", "url": "url", "publisher": "publisher"}
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_CELLS = re.compile(r"(?<!\\)\|")


def read_markdown(text: str) -> dict[str, str]:
    """The text without front matter and comments, and the fields of a document that the first gives; raises nothing.

    The title is the front matter's, or else the first ``# heading``.
    """
    fields = {}
    if front := _FRONT.match(text):
        found = {match["name"].lower(): match["value"] for match in _FIELD.finditer(front["fields"])}
        fields = {_NAMES[name]: _plain(value) for name, value in found.items() if name in _NAMES}
        text = text[front.end() :].lstrip("\n")
    commented, mark, rest = text.rpartition("-->")
    lines = list(_with_named_cells((_COMMENT.sub("", commented + mark) + rest).split("\n")))
    if "title" not in fields and (title := _title(lines)):
        fields["title"] = title
    return {"text": "\n".join(lines), **fields}


def front_matter_end(text: str) -> int:
    """Where the front matter of a Markdown text ends; 0 without one that has a field."""
    front = _FRONT.match(text)
    return front.end() if front and _FIELD.search(front["fields"]) else 0


def _plain(value: str) -> str:
    quoted = re.fullmatch(r"\"(.*)\"|'(.*)'", value)
    return " ".join(((quoted[1] or quoted[2] or "") if quoted else value).split())


def _title(lines: list[str]) -> str:
    fenced = False
    for line in lines:
        fenced ^= _is_fence(line)
        if not fenced and (heading := re.match(r"#\s+(.*?)[\s#]*$", line)):
            return " ".join(heading.group(1).split())
    return ""


def _is_fence(line: str) -> bool:
    return line.lstrip().startswith(("```", "~~~"))


_LEFT_OUT = re.compile(rf"{STRUCK.pattern}|{EMBEDDED_IMAGE}|^ {{0,3}}\[[^\[\]]+\]: *<?data:.*")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_MARKER = re.compile(r"\s*(?:[-*+>]|\d+[.)])?\s*")


def _with_named_cells(lines: list[str]) -> Iterator[str]:
    """The lines, each row of a table as ``column: cell; column: cell.``, because a chunk may lack the head."""
    head: list[str] = []
    fenced = False
    for place, line in enumerate(lines):
        fenced ^= _is_fence(line)
        if not fenced and _LEFT_OUT.search(line):
            line = _LEFT_OUT.sub(r"\g<image>", line)
            line = "" if _MARKER.fullmatch(line) else line
        following = lines[place + 1] if place + 1 < len(lines) else ""
        if fenced or "|" not in line:
            head = []
        elif not head and "|" in following and _RULE.fullmatch(following):
            head = _cells_of(line)
            continue
        elif head and _RULE.fullmatch(line):
            continue
        elif head and (row := named_cells(head, _cells_of(line))):
            yield row
            continue
        yield line


def _cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in _CELLS.split(line.strip().removeprefix("|").removesuffix("|"))]


MOST_PAGES, LONGEST_PDF = 10_000, 30 * 10**6  # pages and characters of a PDF file

# Both log problems of a page or file; those that matter are raised as errors.
for _name in ("readability", "pypdf"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


@contextmanager
def parsing(what: str, *, hint: str = "") -> Iterator[None]:
    """Raises UnreadableFile for an error in the block: parsers raise many types of them on damaged files."""
    try:
        yield
    except UnreadableFile:
        raise
    except Exception as error:
        raise UnreadableFile(f"{what} is damaged: {error}", hint=hint) from error


def _parse(page: str) -> etree._Element:
    from html_text import parse_html

    # The parser drops what follows the end of the page, which browsers show.
    tree = parse_html(_PAGE_END.sub("", _LONG_TAG.sub(_without_attributes, page)))
    etree.strip_elements(tree, "del", "s", "strike", with_tail=False)  # what is struck out is not stated
    return tree


_PAGE_END = re.compile(r"</(?:body|html)\s*+>", re.IGNORECASE)


def read_html(page: str, *, whole: bool = False) -> dict[str, str]:
    """The main text of a page, or all that it shows, and its metadata; raises UnreadableFile if it has no text."""
    from redargue.retrieval.corpus.html_pages import main_text, page_metadata, shown_text

    try:
        tree = _parse(page)
        metadata = page_metadata(tree)
        mark_superscripts(tree)
        name_cells(tree)
        text = (shown_text(tree) if whole else main_text(tree)).strip()
    except Exception as error:  # parsers raise many types of errors on damaged pages
        raise UnreadableFile(f"damaged HTML: {error}") from error
    if not text:
        raise UnreadableFile("the page contains no text")
    return {"text": text, **metadata}


def html_with_links(page: str, more: re.Pattern[str] | None = None) -> str:
    """The words of a whole page, with its links to http and https addresses, and to what ``more`` is, in Markdown."""
    from html_text import extract_text

    tree = _parse(page)
    mark_superscripts(tree)
    for anchor in list(tree.iter("a")):
        url = (anchor.get("href") or "").strip()
        words = " ".join(anchor.text_content().split()).translate(_ROUND)
        if words and (_WEB_ADDRESS.fullmatch(url) or (more and more.fullmatch(url))):
            for child in list(anchor):
                anchor.remove(child)
            anchor.text = f"[{words}](<{url}>)"
    return str(extract_text(tree))


_ENDINGS = ("st", "nd", "rd", "th")  # of 1<sup>st</sup>
_STYLED = ("b", "em", "font", "i", "span", "strong", "u")


def mark_superscripts(tree: etree._Element) -> None:
    """Writes raised numbers in superscript characters, and puts words together that tags divide, in place."""
    for raised in list(tree.iter("sup", *_STYLED)):
        inner, tail = "".join(raised.itertext()), raised.tail or ""
        initial = len(inner) == 1 and inner.isalpha() and tail[:1].islower()  # a large one, as of a chapter
        written = superscript(inner) if raised.tag == "sup" else inner
        if written != inner or initial or (raised.tag == "sup" and inner.strip() in _ENDINGS):
            del raised[:]
            raised.text, raised.tag = written, "raised"
    etree.strip_tags(tree, "raised", "sub", "wbr")  # text extraction puts a space before an element


def name_cells(tree: etree._Element) -> None:
    """Writes the rows of a page's tables as paragraphs of named cells, in place; tables without a head stay."""
    for table in list(tree.iter("table")):
        if table.getparent() is None or next(table.iterdescendants("table"), None) is not None:
            continue
        rows = _rows(table)
        named = [texts for _, texts in rows if len(texts) > 1]  # a row of one cell is a heading or a note
        if not is_table(named) or not (any(is_head for is_head, _ in rows) or names_figures(named)):
            continue
        written = etree.Element("div")
        for caption in table.iterchildren("caption"):
            etree.SubElement(written, "p").text = _words_of(caption)
        heads = [at for at, (is_head, _) in enumerate(rows) if is_head]
        for begin, end in pairwise([0, *heads, len(rows)]):
            for text in named_rows([texts for _, texts in rows[begin:end]]):
                etree.SubElement(written, "p").text = text
        written.tail = table.tail
        table.getparent().replace(table, written)


def _rows(table: etree._Element) -> list[tuple[bool, list[str]]]:
    """The words of the rows of a table, and whether each is a head."""
    rows = [(row, list(row.iter("td", "th"))) for row in table.iter("tr")]
    first = next((row for row, cells in rows if len(cells) > 1), None)
    heads = (
        len(cells) > 1 and (_is_of_heads(cells) or (row is first and _is_styled_as_head(row, cells)))
        for row, cells in rows
    )
    texts = rows_of_cells([[_cell(cell) for cell in cells] for _, cells in rows])
    return joined_heads(zip(heads, texts, strict=True))


def _cell(element: etree._Element) -> TableCell:
    columns, rows = (element.get(name, "") for name in ("colspan", "rowspan"))
    return TableCell(
        _words_of(element), cells_spanned(columns), ALL_ROWS if rows.strip() == "0" else cells_spanned(rows)
    )


ALL_ROWS = 65_534  # the largest rowspan of HTML, which 0 stands for


def _is_of_heads(cells: Sequence[etree._Element]) -> bool:
    return all(cell.tag == "th" for cell in cells)


def _is_styled_as_head(row: etree._Element, cells: Sequence[etree._Element]) -> bool:
    if row.getparent().tag == "thead":
        return True
    bold = "normalize-space(.) = normalize-space(.//*[self::b or self::strong])"
    return all(cell.xpath(bold) and cell_type(_words_of(cell)) == "words" for cell in cells)


def _words_of(element: etree._Element) -> str:
    return " ".join(element.text_content().split())


_WEB_ADDRESS = re.compile(r"https?://[^\s<>\"`\[\]{}|\\^]+", re.IGNORECASE)
_ROUND = str.maketrans("[]", "()")  # the brackets of Markdown's links

LONGEST_TAG = 4_000  # characters of attributes, in which no text of the page is
_LONG_TAG = re.compile(r"""<([A-Za-z][\w:-]{0,30}+)((?:[^>"']++|"[^"]*+"|'[^']*+'|["'])*+)""")


def _without_attributes(tag: re.Match[str]) -> str:
    """The tag without attributes if they are very long: the parser compares each of them with all others."""
    return tag[0] if len(tag[2]) <= LONGEST_TAG else f"<{tag[1]} "


def read_pdf(file: BytesIO) -> dict[str, str]:
    """The text layer of a PDF file, with a page break after each page, and the title; UnreadableFile if it has none.

    Running titles and page numbers are left out, ligatures are written as letters, and words that the end of a line
    divides are joined. A sentence that continues on the next page belongs to the page on which it begins.
    """
    import pypdf  # 0.2 s
    from pypdf.errors import DependencyError, FileNotDecryptedError

    with parsing("the PDF"):
        try:
            reader = pypdf.PdfReader(file)
            if reader.is_encrypted and not reader.decrypt(""):
                raise FileNotDecryptedError
            pages = without_running_lines(_pdf_pages(reader))
            title = str((reader.metadata and reader.metadata.title) or "")
        except (FileNotDecryptedError, DependencyError):
            raise UnreadableFile("the PDF is encrypted", hint="save it without a password") from None
    text = storable(f"\n\n{PAGE_BREAK}".join(with_whole_sentences(pages)))
    text = joined_words(text.translate({ord(mark): letters for mark, letters in LIGATURES.items()}))
    if not text.strip():
        raise UnreadableFile("the PDF contains no text", hint="if it is scanned, run OCR on it first")
    title = _NO_TITLE.sub("", " ".join(storable(title).split()))
    return {"text": _headings_apart(_top_apart(_title_apart(text, title))), "title": title}


_NO_TITLE = re.compile(r"\A\W*(?:anonymous|untitled|unspecified)\W*\Z", re.IGNORECASE)  # as programs fill it in


def _title_apart(text: str, title: str) -> str:
    """The text with a blank line below its title, which otherwise is read as the begin of the first sentence."""
    for line in re.finditer(r"[^\n]*\n", text[: 4 * len(title)]):
        if title and len(head := " ".join(text[: line.end()].split())) >= len(title):
            return f"{text[: line.end()]}\n{text[line.end() :]}" if head == title else text
    return text


_TOP = 4  # lines of a heading at the top of a document
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def _top_apart(text: str) -> str:
    """The text with a blank line below the lines at its top that are headings, but for a year, for the same reason."""
    lines = text.split("\n", _TOP + 1)
    headed = (is_heading(_YEAR.sub("", line).rstrip(" :|–-")) for line in lines)
    head = next((at for at, is_head in enumerate(headed) if not is_head), len(lines))
    if not 0 < head < len(lines) or not lines[head][:1].strip() or lines[head][0].islower():
        return text
    if len(lines[head - 1]) > _HEADING * len(lines[head]):
        return text
    return "\n".join([*lines[:head], "", *lines[head:]])


_HEADING = 0.6  # of the line below: longer lines without a verb may be wrapped ones


def _headings_apart(text: str) -> str:
    """The text with a blank line below each heading, for the same reason."""
    pieces, position = [], 0
    for start, below in headings_in(text):
        line = re.compile(r"[^\n]*").match(text, below)
        if line and "\n\n" not in text[start:below] and below - start <= _HEADING * len(line[0]):
            pieces += [text[position:below], "\n"]
            position = below
    return "".join([*pieces, text[position:]])


def _pdf_pages(reader: PdfReader) -> list[str]:
    """The pages' texts, up to a total: a small file can name the same page many times."""
    texts: list[str] = []
    size = 0
    for page in reader.pages:
        texts.append(page.extract_text())
        size += len(texts[-1])
        if len(texts) > MOST_PAGES or size > LONGEST_PDF:
            limit = f"{MOST_PAGES:,} pages or {LONGEST_PDF:,} characters"
            raise UnreadableFile(f"the PDF has more than {limit}", hint="split it")
    return texts


def storable(text: str) -> str:
    """Removes NUL characters and unpaired surrogates, which broken character maps of PDF files produce."""
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
