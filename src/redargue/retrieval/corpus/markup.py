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
            head = cells_of(line)
            continue
        elif head and _RULE.fullmatch(line):
            continue
        elif head and (row := named_cells(head, cells_of(line))):
            yield row
            continue
        yield line


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in _CELLS.split(line.strip().removeprefix("|").removesuffix("|"))]


def named_cells(head: Sequence[str], row: Sequence[str]) -> str:
    """A table's row as a sentence; cells beyond the head have no name, and empty ones are left out."""
    names = [*head, *[""] * (len(row) - len(head))]
    named = (f"{name}: {cell}" if name else cell for name, cell in zip(names, row, strict=False) if cell)
    joined = "; ".join(named)
    return f"{joined.removesuffix('.')}." if joined else ""


def sheet_rows(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows of a sheet as sentences; tables side by side, with an empty column between them, follow each other."""
    if not any(any(row) and any(after) for row, after in pairwise(rows)):  # a blank row below each ends no table
        rows = [row for row in rows if any(row)]
    filled = sorted({at for row in rows for at, cell in enumerate(row) if cell})
    edges = [at for at, (left, right) in enumerate(pairwise(filled), 1) if right - left > 1]
    parts = [filled[begin:end] for begin, end in pairwise([0, *edges, len(filled)])]
    if min(map(len, parts)) < 2:  # the empty column only sets a column apart
        parts = [filled]
    for part in filter(None, parts):
        yield from named_rows([row[part[0] : part[-1] + 1] for row in rows])


def named_rows(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows of tables as sentences, each cell with the name of its column.

    The first row of several cells is the head. Below a blank row or a caption, another table may begin: it has its own
    head or, where it is not certain which row that is, no names, since those of the table above may be wrong.
    """
    head: Sequence[str] | None = None
    last: Sequence[str] = ()  # the row above, of those below the head
    blank = line = False  # whether one is above the row
    for row, after in pairwise([*rows, ()]):
        cells = [cell for cell in row if cell]
        if not cells:
            blank = True
        elif len(cells) == 1 and _is_line(row, head, last=not any(after)):
            yield cells[0]
            line = True
        elif head is None or ((blank or line) and _is_head(row, after, head)):
            yield from _without_rows(head, last)
            head, last = row, ()
            blank = line = False
        else:
            if blank and last and (line or not _goes_on(row, last, single=not any(after))):
                head = ()
            yield named_cells(head, row)
            last = row
            blank = line = False
    yield from _without_rows(head, last)


def _without_rows(head: Sequence[str] | None, last: Sequence[str]) -> Iterator[str]:
    if head and not last:
        yield "; ".join(filter(None, head))


def _is_line(row: Sequence[str], head: Sequence[str] | None, *, last: bool) -> bool:
    """Whether the only cell of a row is a caption or a note; at the end of two columns, one may just be empty."""
    text = "".join(row)
    if len(row) == 1 or ": " in text or text.endswith((".", ":", "!", "?")):
        return True
    return bool(row[0]) and (not last or head is None or sum(map(bool, head)) > 2)


def _is_head(row: Sequence[str], after: Sequence[str], head: Sequence[str]) -> bool:
    """Whether a row names the columns of those below it: it begins as the last head did, or has words above figures."""
    if max(map(len, row)) > LONGEST_HEAD or not any(after):
        return False
    if head and row[0] and row[0] == head[0]:
        return True
    above_figures = any(name and cell and _type_of(cell) != "words" for name, cell in zip(row, after, strict=False))
    return above_figures and all(_type_of(name) == "words" for name in row if name)


def _goes_on(row: Sequence[str], last: Sequence[str], *, single: bool) -> bool:
    """Whether a row below a blank one belongs to the table above: it has figures and years in the same columns."""
    types = [{_type_of(cell), _type_of(above)} for cell, above in zip(row, last, strict=False) if cell and above]
    return all(len(both) == 1 for both in types) and (single or any(both != {"words"} for both in types))


def _type_of(cell: str) -> str:
    if _YEAR.fullmatch(cell):
        return "year"
    return "figure" if _FIGURE.fullmatch(cell) else "words"


_FIGURE = re.compile(r"[\W_]*+\d[\d\W]*+\w{0,3}")  # "31,200", "£18.4m", "25 km"


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


LONGEST_HEAD = 60  # characters of the name of a column


def name_cells(tree: etree._Element) -> None:
    """Writes the rows of a page's tables as paragraphs of named cells, in place; tables without a head stay."""
    for table in list(tree.iter("table")):
        rows = [(row, list(row.iter("td", "th"))) for row in table.iter("tr")]
        named = [(row, cells) for row, cells in rows if len(cells) > 1]  # a row of one cell is a heading or a note
        if table.getparent() is None or not named or next(table.iterdescendants("table"), None) is not None:
            continue
        if any(cell.get(span, "1") != "1" for _, cells in named for cell in cells for span in ("colspan", "rowspan")):
            continue
        texts = [list(map(_words_of, cells)) for _, cells in named]
        headed = _is_of_heads(*named[0]) or named[0][0].getparent().tag == "thead"
        if not headed or not is_table(texts):
            continue
        written = etree.Element("div")
        for caption in table.iterchildren("caption"):
            etree.SubElement(written, "p").text = _words_of(caption)
        heads = [at for at, (row, cells) in enumerate(rows) if row is named[0][0] or _is_of_heads(row, cells)]
        for begin, end in pairwise([0, *heads, len(rows)]):
            for text in named_rows([list(map(_words_of, cells)) for _, cells in rows[begin:end]]):
                etree.SubElement(written, "p").text = text
        written.tail = table.tail
        table.getparent().replace(table, written)


def _is_of_heads(row: etree._Element, cells: Sequence[etree._Element]) -> bool:
    return len(cells) > 1 and next(row.iter("td"), None) is None


def _words_of(element: etree._Element) -> str:
    return " ".join(element.text_content().split())


def is_table(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row may name the columns of the others."""
    if len(rows) < 2 or len({len(row) for row in rows}) > 1 or len(rows[0]) < 2:
        return False
    return max(map(len, rows[0])) <= LONGEST_HEAD and sum(map(bool, rows[0])) > len(rows[0]) / 2


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
