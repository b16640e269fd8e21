"""The text of office documents and letters (docx, odt, xlsx, rtf, eml), which come from untrusted sources."""

from __future__ import annotations

import codecs
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart
from email.utils import parseaddr, parsedate_to_datetime
from io import BytesIO
from itertools import chain
from typing import Any, NamedTuple

from lxml import etree  # type: ignore[import-untyped]

from redargue.errors import UnreadableFile
from redargue.nli.markup import superscript
from redargue.registry import install
from redargue.retrieval.corpus.markup import parsing, read_html, storable
from redargue.retrieval.corpus.tables import (
    TableCell,
    cell_type,
    cells_spanned,
    is_table,
    joined_heads,
    named_rows,
    rows_of_cells,
    sheet_rows,
)
from redargue.sanitize import NotText, encoding_of, page_text

LARGEST_PART = 64 * 10**6  # bytes that a part of a document may decompress to
MOST_CELLS = 2_000_000  # of a sheet

_KINDS = {
    ".pdf": "a PDF file",
    ".docx": "a Word document",
    ".xlsx": "an Excel workbook",
    ".odt": "an OpenDocument text",
    ".rtf": "an RTF document",
}


def refuse_mislabelled(content: bytes, suffix: str) -> None:
    """Raises UnreadableFile where a file is of another kind than its name says, or encrypted."""
    found = _kind(content)
    if found == "encrypted":
        raise UnreadableFile("the document is encrypted", hint="save it without a password")
    if found == "old":
        hint = "save it as .docx or .xlsx"
        raise UnreadableFile("a document of an old Office format (.doc, .xls, .ppt)", hint=hint)
    if found and found != suffix and (found in _KINDS or suffix in _KINDS):
        what = f"named {suffix}, but it is {_KINDS.get(found, 'another ZIP archive')}"
        raise UnreadableFile(what, hint=f"rename it to {found}" if found in _KINDS else "unpack it")


def _kind(content: bytes) -> str:
    """The suffix of the kind that a content shows itself to be; empty where it shows none."""
    if b"%PDF-" in content[:1024]:
        return ".pdf"
    if content.startswith(b"{\\rtf"):
        return ".rtf"
    if content.startswith(b"\xd0\xcf\x11\xe0"):  # a compound file
        return "encrypted" if "EncryptedPackage".encode("utf-16-le") in content else "old"
    if not content.startswith(b"PK\x03\x04"):
        return ""
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            names = set(archive.namelist())
            kind = archive.open("mimetype").read(100) if "mimetype" in names else b""
            if kind == b"application/vnd.oasis.opendocument.text":
                return ".odt"
    except Exception:  # damaged, as its reader says
        return ""
    if "word/document.xml" in names:
        return ".docx"
    return ".xlsx" if "xl/workbook.xml" in names else ".zip"


def read_docx(file: BytesIO) -> dict[str, str]:
    """The paragraphs of a Word document, its notes and its title; UnreadableFile if it has no text.

    Deleted, struck and hidden text is omitted. Footnotes and endnotes follow the text, each a paragraph.
    """
    hint = "if it has a password, save it without one"
    with parsing("the Word document", hint=hint), zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        read = [_part(archive, name) for name in _WORD_PARTS if name in names or name == _WORD_PARTS[0]]
        core = _part(archive, "docProps/core.xml") if "docProps/core.xml" in names else None
    text = "\n\n".join(filter(None, (text.strip() for part in read for text in _shown_paragraphs(part))))
    if not text:
        raise UnreadableFile("the Word document contains no text")
    title = None if core is None else core.findtext(f"{_DUBLIN_CORE}title")
    return {"text": text, "title": " ".join((title or "").split())}


def _shown_paragraphs(part: etree._Element) -> list[str]:
    """The paragraphs of a part, and the rows of its tables with the names of their columns."""
    separators = (note for note in part.iterchildren(*_NOTES) if note.get(f"{_WORD}type", "normal") != "normal")
    for element in [*part.iter(*_COPIES), *separators, *filter(_is_unseen, part.iter(f"{_WORD}r"))]:
        element.getparent().remove(element)
    for table in _innermost(part, f"{_WORD}tbl"):
        _write_rows(table, _word_rows(table), f"{_WORD}p", f"{_WORD}t")
    return _word_paragraphs(part)


def _word_rows(table: etree._Element) -> list[list[TableCell]]:
    rows: list[list[TableCell]] = []
    continued: dict[int, tuple[list[TableCell], int]] = {}  # by column, the row of the cell and its place there
    for row in table.iter(f"{_WORD}tr"):  # also within content controls and insertions
        cells: list[TableCell] = []
        column = 0
        for cell in row.iter(f"{_WORD}tc"):
            merge, span = (cell.find(f"{_WORD}tcPr/{_WORD}{name}") for name in ("vMerge", "gridSpan"))
            width = cells_spanned("" if span is None else span.get(f"{_WORD}val", ""))
            if merge is not None and merge.get(f"{_WORD}val") != "restart" and column in continued:
                above, place = continued[column]
                above[place] = above[place]._replace(rows=above[place].rows + 1)
            else:
                continued.pop(column, None)
                if merge is not None:
                    continued[column] = cells, len(cells)
                cells.append(TableCell(" ".join(filter(None, map(str.strip, _word_paragraphs(cell)))), width))
            column += width
        rows.append(cells)
    return rows


def _is_unseen(run: etree._Element) -> bool:
    """Whether a run is hidden or struck through."""
    properties = run.findall(f"{_WORD}rPr/*")
    return any(each.tag in _UNSEEN and each.get(f"{_WORD}val") not in ("0", "false", "off") for each in properties)


def _innermost(part: etree._Element, name: str) -> list[etree._Element]:
    """The tables of a part without another table in them."""
    return [table for table in part.iter(name) if next(table.iterdescendants(name), None) is None]


def _write_rows(table: etree._Element, cells: list[list[TableCell]], block: str, run: str) -> None:
    """Puts the rows of a table with a head in its place, as paragraphs of named cells.

    Rows above the head and those with fewer cells have no names.
    """
    rows = rows_of_cells(cells)
    widths = Counter(len(row) for row in rows if len(row) > 1)
    parent, width = table.getparent(), max(widths, key=widths.__getitem__, default=0)
    head = next((at for at, row in enumerate(rows) if len(row) == width and 2 * sum(map(bool, row)) > width), len(rows))
    if parent is None or not is_table([row for row in rows[head:] if len(row) == width]):
        return
    below = head + _height(cells[head], rows[head + 1 :])
    whole = [row if len(row) == width else ["; ".join(filter(None, row))] for row in rows]
    named = [row for _, row in joined_heads((head <= at < below, row) for at, row in enumerate(whole))]
    at = parent.index(table)
    parent.remove(table)
    for text in reversed([*chain(*named[:head]), *named_rows(named[head:])]):
        paragraph = etree.Element(block)
        etree.SubElement(paragraph, run).text = text
        parent.insert(at, paragraph)


def _height(head: list[TableCell], below: list[list[str]]) -> int:
    """How many rows a head has: those that its highest cell spans, or a second one below a cell that spans columns."""
    height = max(cell.rows for cell in head)
    if height == 1 and any(cell.columns > 1 for cell in head) and all(cell_type(name) != "figure" for name in below[0]):
        height = 2
    return height if height <= len(below) else 1


def _word_paragraphs(body: etree._Element) -> list[str]:
    """The texts of the paragraphs; that of a text box follows the paragraph that it is anchored in."""
    paragraphs: dict[etree._Element | None, str] = {None: ""}
    for element in body.iter(f"{_WORD}p", f"{_WORD}t", *_BREAKS):
        if element.tag == f"{_WORD}p":
            paragraphs[element] = ""
            continue
        run, around = element.getparent(), next(element.iterancestors(f"{_WORD}p"), None)
        around = around if around in paragraphs else None
        if element.tag == f"{_WORD}t":
            text = element.text or ""
            paragraphs[around] += superscript(text) if _is_raised(run) else text
        elif run.tag == f"{_WORD}r":  # elsewhere a tab is the definition of a tab stop
            paragraphs[around] += _BREAKS[element.tag]
    return list(paragraphs.values())


def _is_raised(run: etree._Element) -> bool:
    alignment = run.find(f"{_WORD}rPr/{_WORD}vertAlign")
    return alignment is not None and alignment.get(f"{_WORD}val") == "superscript"


_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_BREAKS = {
    f"{_WORD}{name}": shown
    for name, shown in (("tab", "\t"), ("ptab", "\t"), ("br", "\n"), ("cr", "\n"), ("noBreakHyphen", "-"))
}
_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
_WORD_PARTS = ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml")
_NOTES = (f"{_WORD}footnote", f"{_WORD}endnote")  # one with a type other than normal separates notes
_UNSEEN = tuple(f"{_WORD}{name}" for name in ("vanish", "strike", "dstrike"))
_COPIES = (f"{_COMPATIBILITY}Fallback", f"{_WORD}moveFrom")  # of text that occurs elsewhere

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_NOT_SHOWN = (f"{_TEXT}tracked-changes", f"{_OFFICE}annotation", f"{_TEXT}note-citation", f"{_TEXT}table-of-content")


def read_odt(file: BytesIO) -> dict[str, str]:
    """The paragraphs and table rows of an OpenDocument text, and its title; deleted text and comments are omitted."""
    with parsing("the OpenDocument text"), zipfile.ZipFile(file) as archive:
        names, manifest = archive.namelist(), "META-INF/manifest.xml"
        if manifest in names and b"encryption-data" in _read_part(archive, manifest):
            raise UnreadableFile("the document is encrypted", hint="save it without a password")
        content = _part(archive, "content.xml")
        meta = _part(archive, "meta.xml") if "meta.xml" in names else None
    etree.strip_elements(content, *_NOT_SHOWN, with_tail=False)
    raised = {
        properties.getparent().get(f"{_STYLE}name")
        for properties in content.iter(f"{_STYLE}text-properties")
        if re.match(r"super|[1-9]", properties.get(f"{_STYLE}text-position", ""))
    }
    for span in content.iter(f"{_TEXT}span"):
        if span.get(f"{_TEXT}style-name") in raised and not len(span):
            span.text = superscript(span.text or "")
    for table in _innermost(content, f"{_TABLE}table"):
        rows = [
            [_odt_cell(cell) for cell in row.iterchildren(f"{_TABLE}table-cell")]
            for row in table.iter(f"{_TABLE}table-row")
        ]
        _write_rows(table, rows, f"{_TEXT}p", f"{_TEXT}span")
    text = "\n\n".join(_odt_paragraphs(content))
    if not text:
        raise UnreadableFile("the OpenDocument text contains no text")
    title = None if meta is None else next(meta.iter(f"{_DUBLIN_CORE}title"), None)
    return {"text": text, "title": "" if title is None else " ".join("".join(title.itertext()).split())}


_BLOCKS = (f"{_TEXT}p", f"{_TEXT}h")
_SPACES = {f"{_TEXT}tab": "\t", f"{_TEXT}s": " ", f"{_TEXT}line-break": "\n"}


def _odt_paragraphs(content: etree._Element) -> list[str]:
    return list(filter(None, (_odt_text(block).strip() for block in content.iter(*_BLOCKS))))


def _odt_cell(element: etree._Element) -> TableCell:
    columns, rows = (cells_spanned(element.get(f"{_TABLE}number-{name}-spanned", "")) for name in ("columns", "rows"))
    return TableCell(" ".join(_odt_paragraphs(element)), columns, rows)


def _odt_text(element: etree._Element) -> str:
    """The text of a paragraph without that of paragraphs in it, such as a footnote's."""
    parts = [element.text or ""]
    for child in element:
        if child.tag not in _BLOCKS:
            parts.append(_SPACES.get(child.tag) or _odt_text(child))
        parts.append(child.tail or "")
    return "".join(parts)


def read_xlsx(file: BytesIO) -> dict[str, str]:
    """The rows of a workbook's sheets as sentences, each cell with the name of its column, below the sheet's name."""
    try:
        import openpyxl
    except ImportError:
        what = "an Excel workbook is read with openpyxl, which is not installed"
        raise UnreadableFile(what, hint=install("documents")) from None
    with parsing("the Excel workbook"):
        with zipfile.ZipFile(file) as archive:
            unknown = sum(_without_value(archive, name) for name in archive.namelist())
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        sheets = [(sheet.title, list(_cells_of(sheet))) for sheet in book.worksheets]
        title = str(book.properties.title or "")
    if unknown:
        what = f"{unknown} of the workbook's formulas have no stored value"
        raise UnreadableFile(what, hint="open it in a spreadsheet program, and save it")
    parts = ["\n".join([*([name] if len(sheets) > 1 else []), *sheet_rows(rows)]) for name, rows in sheets if any(rows)]
    if not any(parts):
        raise UnreadableFile("the Excel workbook contains no text")
    return {"text": storable("\n\n".join(parts)), "title": " ".join(storable(title).split())}


def _cells_of(sheet: Any) -> Iterator[list[str]]:
    cells = 0
    for row in sheet.iter_rows():
        cells += len(row)
        if cells > MOST_CELLS:
            raise UnreadableFile(f"the workbook has more than {MOST_CELLS:,} cells", hint="split it")
        texts = [_cell_text(cell.value, str(cell.number_format or "")) for cell in row]
        yield texts if any(texts) else []


def _cell_text(value: Any, shown_as: str) -> str:
    """A cell as its reader sees it: dates in ISO 8601, shares in per cent, numbers with their unit, without noise."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case datetime():
            return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
        case date() | time():
            return value.isoformat()
        case int() | float():
            if "%" in shown_as:
                return f"{value * 100:.10g}%"
            before, after = _unit(shown_as)
            written = str(abs(value)) if isinstance(value, int) else f"{abs(value):.12g}"
            return f"{'-' if value < 0 else ''}{before}{written}{after}"
    return " ".join(str(value).split())


_CURRENCY = re.compile(r"\[\$([^\]-]*)[^\]]*\]")
_NUMBER = re.compile(r"(?P<before>[^#0?]*)[#0?][#0?,. ]*(?<![, ])(?P<after>[^#0?]*)")
_LITERAL = re.compile(r'[_*].|"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|\[[^\]]*\]|(?P<sign>[$€£¥])|.')


def _unit(shown_as: str) -> tuple[str, str]:
    """What a number's format writes before and after it, such as a currency."""
    number = _NUMBER.fullmatch(_CURRENCY.sub(r'"\1"', shown_as.partition(";")[0]))
    if number is None or number["after"].startswith(","):  # no plain number, or thousands of it
        return "", ""
    return _written(number["before"]).lstrip(), _written(number["after"]).rstrip()


def _written(part: str) -> str:
    text = "".join("".join(filter(None, each.groups())) for each in _LITERAL.finditer(part))
    return text if text.strip() else ""


_FORMULA = re.compile(rb"</?f\b[^<>]*>(?:[^<>]*</f>)?(?:<v\s*/>|<v></v>)?</c>")


def _without_value(archive: zipfile.ZipFile, name: str) -> int:
    """Formulas of a sheet whose value no program has stored; raises UnreadableFile for a part that is too large."""
    sheet = name.startswith("xl/worksheets/")
    if not sheet and archive.getinfo(name).file_size <= LARGEST_PART:
        return 0
    return len(_FORMULA.findall(_read_part(archive, name)))


_ROW = re.compile(r"[^|\n]*(?:\|[^|\n]*)+\|[ \t]*")  # as striprtf writes one
_TITLE = re.compile(r"\{\\title ([^{}\\]{1,300})\}")


def read_rtf(content: bytes) -> dict[str, str]:
    """The text of an RTF document and its title; rows of tables have the names of their columns.

    Deleted, struck and hidden text is omitted.
    """
    try:
        from striprtf.striprtf import rtf_to_text
    except ImportError:
        what = "an RTF document is read with striprtf, which is not installed"
        raise UnreadableFile(what, hint=install("documents")) from None
    if not content.startswith(b"{\\rtf"):
        raise UnreadableFile("not an RTF document")
    source = _LINE.sub(_SOFT_BREAK, _without_unseen(content.decode("latin-1")))
    with parsing("the RTF document"):
        plain = storable(str(rtf_to_text(_notes_last(_RAISED.sub(_in_unicode, source)), errors="replace")))
    lines: list[str] = []
    table: list[list[str]] = []
    for line in [*plain.split("\n"), ""]:
        if _ROW.fullmatch(line):
            table.append([cell.strip() for cell in line.strip().removesuffix("|").split("|")])
            continue
        if table:
            headed = is_table(table)
            lines += named_rows(table) if headed else map("; ".join, table)
            table = []
        lines += [line.strip(), ""] if line.strip() else []
    text = "\n".join(lines).strip().replace(_SOFT_BREAK, "\n")
    if not text:
        raise UnreadableFile("the RTF document contains no text")
    title = _TITLE.search(source)
    return {"text": text, "title": " ".join(title[1].split()) if title else ""}


_RAISED = re.compile(r"(?<=\\super)(?P<more>(?:\\[a-z]+-?\d*)*)(?: |(?=-))(?P<number>[-+]?\d{1,4})(?=\})")
_SOFT_BREAK = "\v"
_LINE = re.compile(r"(?<!\\)\\line(?![a-z]) ?")
_GROUP = re.compile(r"\{(?P<set>(?:\\[a-z]+-?\d*(?: |[\r\n]+)?)+)")
_UNSEEN_IN_RTF = re.compile(r"\\(?:deleted|v|strike|striked1)(?![a-z\d])")
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
_NOTE = "{\\footnote"


def _in_unicode(raised: re.Match[str]) -> str:
    """A raised number in superscript characters, as RTF writes them."""
    return raised["more"] + "".join(f"\\u{ord(char)}?" for char in superscript(raised["number"]))


def _without_unseen(source: str) -> str:
    """The source without the groups that are deleted, struck through or hidden."""
    pieces, at = [], 0
    for group in _GROUP.finditer(source):
        if group.start() >= at and _UNSEEN_IN_RTF.search(group["set"]):
            pieces.append(source[at : group.start()])
            at = _end_of_group(source, group.start())
    return "".join([*pieces, source[at:]])


def _end_of_group(source: str, start: int) -> int:
    depth = 0
    for brace in _BRACES.finditer(source, start):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if not depth and brace[0] == "}":
            return brace.end()
    return len(source)


def _notes_last(source: str) -> str:
    """The source with its footnotes, which striprtf leaves out, as paragraphs below the text."""
    pieces, notes, at = [], [], 0
    while (start := source.find(_NOTE, at)) >= 0:
        end = _end_of_group(source, start)
        pieces.append(source[at:start])
        notes.append(r"\par {" + source[start + len(_NOTE) : end])
        at = end
    body, closing, rest = "".join([*pieces, source[at:]]).rpartition("}")
    return "".join([body, *notes, closing, rest])


class Letter(NamedTuple):
    """An e-mail: the fields of its document, and its attached files with their names."""

    fields: dict[str, str]
    attachments: tuple[tuple[str, bytes], ...]


def read_eml(content: bytes) -> Letter:
    """The body of an e-mail with its subject, sender and date; raises UnreadableFile if it has no text."""
    with parsing("the e-mail"):
        letter = message_from_bytes(content, policy=policy.default)
        assert isinstance(letter, EmailMessage)
        plain, page = letter.get_body(("plain",)), letter.get_body(("html",))
        text, html = _decoded(plain), _decoded(page)
        read = [part for part, content in ((plain, text), (page, html)) if content is not None]
        rest = [part for part in _leaves(letter) if part not in read and not _is_shown(part)]
        attached = tuple(
            (" ".join((part.get_filename() or part.get_content_type()).split()), _bytes(part)) for part in rest
        )
        subject, (name, address) = str(letter.get("subject") or ""), parseaddr(str(letter.get("from") or ""))
        sent = _day(str(letter.get("date") or ""))
    if not letter.keys():
        raise UnreadableFile("not an e-mail: it has no header")
    text = text or ""
    if html and html.strip():
        text = _with_page(text, html)
    if not text.strip():
        unknown = bool(plain or page) and not read
        raise UnreadableFile(f"the e-mail {'has an unknown character set' if unknown else 'contains no text'}")
    fields = {"text": storable(text.replace("\r\n", "\n")).strip()}
    fields |= {"title": subject, "publisher": name or address, "published": sent}
    clean = {name: value if name == "text" else " ".join(storable(value).split()) for name, value in fields.items()}
    return Letter(clean, attached)


def _decoded(part: MIMEPart | None) -> str | None:
    """The text of a part of a letter; None where there is no such part, or its character set is unknown."""
    if part is None:
        return None
    content, charset = part.get_payload(decode=True), part.get_content_charset("us-ascii")
    try:
        codecs.lookup(charset)
        if charset == "us-ascii" and isinstance(content, bytes):  # or left out
            charset = encoding_of(content)
        return page_text(content, charset) if isinstance(content, bytes) else str(part.get_content())
    except (LookupError, NotText):
        return None


def _leaves(part: EmailMessage) -> Iterator[EmailMessage]:
    """The parts of a letter that hold something; a forwarded letter is one."""
    if part.get_content_maintype() != "multipart":
        yield part
        return
    for each in part.iter_parts():
        assert isinstance(each, EmailMessage)
        yield from _leaves(each)


def _is_shown(part: EmailMessage) -> bool:
    """Whether a part is a picture within the text, such as a logo."""
    placed = bool(part["content-id"]) and not part.is_attachment()
    return placed and part.get_content_maintype() == "image"


def _bytes(part: EmailMessage) -> bytes:
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""  # a forwarded letter


def _with_page(text: str, html: str) -> str:
    """The plain text of a letter, and below it the lines of its HTML part that it does not contain.

    Compared are runs of :data:`_RUN` words by their hashes: time and memory grow with the length of the letter alone.
    """
    try:
        page = read_html(html, whole=True)["text"]
    except UnreadableFile:
        if not text.strip():
            raise
        return text  # the page has pictures only
    lines = page.split("\n")
    runs_of = [set(_runs(_WORDS.findall(line.casefold()), _RUN)) for line in lines]
    missing = set().union(*runs_of)
    words = _WORDS.findall(text.casefold())
    for length in range(1, _RUN + 1):
        missing.difference_update(_runs(words, length))
    more = (line for line, runs in zip(lines, runs_of, strict=True) if not runs.isdisjoint(missing))
    return "\n\n".join(filter(None, (text.rstrip(), *more)))


def _runs(words: Sequence[str], length: int) -> Iterator[int]:
    """The hash of each run of so many words; of fewer words, that of all of them."""
    length = min(length, len(words))
    return map(hash, zip(*(words[start:] for start in range(length)), strict=False))


_RUN = 4  # words
_WORDS = re.compile(r"\w+")


def _day(sent: str) -> str:
    try:
        return parsedate_to_datetime(sent).date().isoformat()
    except (ValueError, TypeError):
        return ""


def _part(archive: zipfile.ZipFile, name: str) -> etree._Element:
    content = _read_part(archive, name)
    return etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))


def _read_part(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as part:
        content = part.read(LARGEST_PART + 1)
    if len(content) > LARGEST_PART:
        raise UnreadableFile(f"{name} decompresses to more than {LARGEST_PART:,} bytes", hint="split the document")
    return content
