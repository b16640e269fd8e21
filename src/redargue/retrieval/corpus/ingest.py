"""Reads documents from files. Files and lines that cannot be read are reported and skipped.

=================  =========================================================================================
``.txt``           the text
``.md``            the text without comments, tables as rows with the names of their columns; title and date from its
                   front matter, or the first ``# heading`` as the title
``.html .htm``     the main text without navigation; title, date, address and publisher from the page's metadata
``.pdf``           the text layer without running titles and page numbers
``.docx .odt``     the paragraphs, and the rows of tables with the names of their columns; deleted text is left out,
                   and hidden or struck text but for ``.odt``
``.xlsx .rtf``     the same, with the extra ``documents``
``.eml``           the body, with subject, sender and date; attached files are documents of their own
``.csv .tsv``      the rows as sentences, each cell with the name of its column
``.jsonl``         one document per line: ``text``, and optionally ``id title url publisher published``; or SciFact's
                   format: ``doc_id``, ``title``, ``abstract`` (list of sentences)
``.json``          one such document, or a list of them
=================  =========================================================================================

Each format may be compressed (``.gz``). JSON is UTF-8; other text too, or what a page or an e-mail names, or UTF-16 or
Windows-1252 with a warning.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import socket
import uuid
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from redargue.errors import StoreUnavailable, UnreadableFile, UsageError, problem_of
from redargue.evidence import UnreadFile
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.markup import read_html, read_markdown, read_pdf
from redargue.retrieval.corpus.office import (
    Letter,
    read_docx,
    read_eml,
    read_odt,
    read_rtf,
    read_xlsx,
    refuse_mislabelled,
)
from redargue.retrieval.corpus.tables import named_cells, sheet_rows
from redargue.sanitize import NotText, RepeatedKey, encoding_of, page_text, saved_as, unique_keys, warn_of

# The mark of a corpus to which documents are being added: its searches would miss some.

ABANDONED = timedelta(minutes=10)  # without a batch, whoever was adding documents is gone


def moment() -> str:
    """The time now, as the mark holds it: ISO 8601 in UTC, in seconds."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"


def refuse_while_adding(name: str, marks: Iterable[str]) -> None:
    """Raises StoreUnavailable if a store has a mark of an addition that was not abandoned."""
    now, begun = datetime.now(UTC), (datetime.fromisoformat(mark).replace(tzinfo=UTC) for mark in marks)
    for began in begun:
        if abs(now - began) <= ABANDONED:  # one that is later was made before the clock was set back
            what = f"documents are being added to {name!r} (since {began:%H:%M} UTC): it is not complete"
            hint = "try again when redargue corpus add has ended; if it was interrupted, run it again"
            raise StoreUnavailable(what, hint=hint)


def new_mark() -> str:
    """The name of one addition's mark, where several processes may add documents at the same time."""
    return f"adding {socket.gethostname()} {os.getpid()} {uuid.uuid4().hex}"


def was_killed(mark: str) -> bool:
    """Whether the process that made a mark on this machine no longer runs."""
    _, host, process, *_ = [*mark.split(" "), "", ""]
    if host != socket.gethostname() or not process.isdigit() or os.name != "posix":
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # of another user
        return False
    return False


class NotComplete(UserWarning):
    """An addition to a corpus was killed, and some of its documents may be missing."""


def warn_of_killed(name: str, since: str) -> None:
    """Warns that an addition whose last batch was at ``since`` was killed; its mark does not say what it added."""
    what = f"an addition to {name!r} was interrupted at {since.replace('T', ' ')[:16]} UTC"
    warnings.warn(f"{what}: unless it was the one that has just ended, run it again", NotComplete, stacklevel=3)


LARGEST_DOCUMENT = 128 * 10**6  # bytes, uncompressed: a document is read into memory as a whole
LARGEST_DECOMPRESSED = 2 * 10**9  # bytes that a .jsonl.gz may decompress to

_PAGES = frozenset({".html", ".htm"})
_PLAIN = frozenset({".txt", ".md", ".csv", ".tsv"}) | _PAGES
_FIELDS = ("id", "title", "text", "url", "publisher", "published")


def read_documents(path: Path) -> Iterator[Document | UnreadableFile]:
    """Reads the documents of a file, or of all files below a folder in order of their paths.

    Hidden files in a folder are skipped; a folder that is linked repeatedly is read once. A file or line that cannot be
    read yields an error. A document that is a whole file has the file's absolute path as its id. The call itself, not
    the first iteration, raises UsageError if ``path`` does not exist.
    """
    if not path.exists():
        raise UsageError(f"no file or folder {str(path)!r}")
    return (document for file in find_files(path) for document in _read_inside(file, path))


def without_repeated_ids(documents: Iterable[Document | UnreadableFile]) -> Iterator[Document | UnreadableFile]:
    """The documents, with an error for each that has the id of an earlier one and other content."""
    seen: dict[str, tuple[bytes, str]] = {}  # of millions of documents, if need be
    for document in documents:
        if isinstance(document, UnreadableFile):
            yield document
            continue
        content = bytes.fromhex(document.sha256)[:8]
        first, place = seen.setdefault(document.id, (content, document.path))
        if content == first:
            yield document
        else:
            what = f"duplicate id {document.id!r}, first used in {place!r}"
            yield UnreadableFile(what, where=document.path, hint="give each document an id of its own")


def _read_inside(file: Path, folder: Path) -> Iterator[Document | UnreadableFile]:
    """Reads a file unless it is a link out of the folder that was named: a stranger's folder can link to any file."""
    if file != folder and not file.resolve().is_relative_to(folder.resolve()):
        hint = "to index what it links to, name that path"
        return iter((UnreadableFile("a link out of the folder", where=str(file), hint=hint),))
    return read_file(file)


def file_types() -> tuple[str, ...]:
    """The suffixes of files that are read."""
    return (*_READERS, ".jsonl", ".json")


def find_files(path: Path) -> Iterator[Path]:
    """The file itself, or all files below a folder in order of their paths, and folders that cannot be listed."""
    return _walk(path, set(), path.resolve()) if path.is_dir() else iter((path,))


def _walk(folder: Path, seen: set[tuple[int, int]], root: Path) -> Iterator[Path]:
    try:
        status = folder.stat()
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError:
        yield folder  # read_file reports the reason
        return
    if (status.st_dev, status.st_ino) in seen:
        return
    seen.add((status.st_dev, status.st_ino))
    for entry in entries:
        inside = not entry.is_symlink() or entry.resolve().is_relative_to(root)
        yield from _walk(entry, seen, root) if entry.is_dir() and inside else (entry,)


def read_file(path: Path, *, whole: bool = False) -> Iterator[Document | UnreadableFile]:
    """Yields the documents of one file, and an error for each part that cannot be read.

    Args:
        path: the file.
        whole: whether it is a text to be checked: all that an HTML page shows, and Markdown as it is written.
    """
    path = Path(os.path.abspath(path))
    compressed = path.suffix.lower() == ".gz"
    suffix = Path(path.stem).suffix.lower() if compressed else path.suffix.lower()
    try:
        _require_file(path)
        if suffix == ".jsonl":
            with gzip.open(path) if compressed else path.open("rb") as file:
                yield from _read_lines(path, iter(lambda: file.readline(LARGEST_DOCUMENT + 1), b""), compressed)
        elif suffix == ".json":
            value = _parse(_decode(_read_bytes(path, compressed)))
            documents = value if isinstance(value, list) else [value]
            yield from _read_lines(path, (json.dumps(document).encode() for document in documents))
        elif suffix in _READERS:
            content = _read_bytes(path, compressed)
            refuse_mislabelled(content, suffix)
            if suffix == ".eml":
                yield from _letter(path, read_eml(content))
                return
            fields = _read_whole(content, suffix) if whole else _READERS[suffix](content)
            named = suffix in _PAGES and saved_as(content)
            if suffix in _PLAIN and not named and (encoding := encoding_of(content)) != "utf-8":
                warn_of(str(path), encoding)
            yield _document(str(path), id=str(path), path=str(path), **fields)
        else:
            hint = f"supported types: {' '.join(file_types())}, optionally with .gz"
            raise UnreadableFile(f"unknown file type {path.suffix or path.name!r}", where=str(path), hint=hint)
    except UnreadableFile as error:
        yield error if error.where else UnreadableFile(error.what, where=str(path), hint=error.hint)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        yield UnreadableFile(f"damaged gzip data: {error}", where=str(path))
    except OSError as error:
        yield UnreadableFile(f"cannot be opened: {error.strerror or error}", where=str(path))


def _require_file(path: Path) -> None:
    if any("\udc80" <= char <= "\udcff" for char in str(path)):  # bytes, as Python has them in a name
        raise UnreadableFile("its name is not UTF-8", hint="rename it")
    if path.is_dir():
        os.listdir(path)  # find_files yields a folder only if it cannot be listed; this raises the reason
    if path.exists() and not path.is_file():
        raise UnreadableFile("not a regular file")


def _read_whole(content: bytes, suffix: str) -> dict[str, str]:
    if suffix in _PAGES:
        return read_html(_page(content), whole=True)
    return {"text": _text(content)} if suffix == ".md" else _READERS[suffix](content)


def read_content(content: bytes, suffix: str) -> dict[str, str]:
    """The fields of a document that is the content of a file with this suffix; raises UnreadableFile."""
    if not content:
        raise UnreadableFile("the file is empty")
    refuse_mislabelled(content, suffix)
    return _READERS[suffix](content)


def as_unread(error: UnreadableFile, given: Path) -> UnreadFile:
    """What a record keeps of a file that cannot be read: its path in the folder ``given``, or its name, and why."""
    folder = Path(os.path.abspath(given if given.is_dir() else given.parent))
    where = Path(os.path.abspath(error.where or given))
    file = where.relative_to(folder) if where != folder and where.is_relative_to(folder) else where.name
    return UnreadFile(file=str(file), why=error.what.replace(f"{folder}{os.sep}", ""))


def _letter(path: Path, letter: Letter) -> Iterator[Document | UnreadableFile]:
    """An e-mail, then its attachments, named after it."""
    yield _document(str(path), id=str(path), path=str(path), **letter.fields)
    for number, (name, content) in enumerate(letter.attachments, 1):
        where, suffix = f"{path}#{number}-{name}", Path(name).suffix.lower()
        try:
            if suffix not in _READERS or suffix == ".eml":
                raise UnreadableFile(f"an attachment of an unknown file type: {name!r}")
            yield _document(where, id=where, path=str(path), **read_content(content, suffix))
        except UnreadableFile as error:
            yield UnreadableFile(error.what, where=where, hint=error.hint)


def _document(where: str, **fields: str) -> Document:
    try:
        return Document(**fields)
    except ValidationError as error:
        raise UnreadableFile(f"{error.errors()[0]['loc'][0]}: {problem_of(error)}", where=where) from None


def _read_bytes(path: Path, compressed: bool) -> bytes:
    with gzip.open(path) if compressed else path.open("rb") as file:
        content = file.read(LARGEST_DOCUMENT + 1)
    if len(content) > LARGEST_DOCUMENT:
        raise UnreadableFile(f"larger than {LARGEST_DOCUMENT:,} bytes", hint="split it, or convert it to .jsonl")
    if not content:
        raise UnreadableFile("the file is empty")
    return content


def _decode(content: bytes, before: int = 0) -> str:
    """Decodes UTF-8; ``before`` is the number of bytes of the file that precede ``content``."""
    if b"\0" in content:
        raise UnreadableFile(f"not a text file: NUL byte at byte {before + content.index(0):,}")
    try:
        return content.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"not UTF-8 at byte {before + error.start:,}", hint="save it as UTF-8") from None


def _read_lines(path: Path, lines: Iterable[bytes], compressed: bool = False) -> Iterator[Document | UnreadableFile]:
    seen: dict[str, int] = {}
    offset = number = 0
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}"
        offset += len(line)
        if len(line) > LARGEST_DOCUMENT:
            raise UnreadableFile(f"line longer than {LARGEST_DOCUMENT:,} bytes", where=where)
        if compressed and offset > LARGEST_DECOMPRESSED:
            what = f"decompresses to more than {LARGEST_DECOMPRESSED:,} bytes"
            raise UnreadableFile(what, where=where, hint="decompress it")
        try:
            row = _decode(line, offset - len(line))
            if not row.strip():
                continue
            fields = _fields(row)
            name = fields.setdefault("id", where)
            if name in seen:
                raise UnreadableFile(f"duplicate id {name!r}, first used in line {seen[name]}")
            seen[name] = number
            yield _document(where, path=str(path), **fields)
        except UnreadableFile as error:
            yield UnreadableFile(error.what, where=where, hint=error.hint)
    if not number:
        raise UnreadableFile("the file is empty")


def _fields(line: str) -> dict[str, str]:
    row = _parse(line)
    if not isinstance(row, dict):
        raise UnreadableFile(f"expected a JSON object, got {line.strip()[:40]!r}")
    if "text" not in row and isinstance(row.get("abstract"), list):  # SciFact's corpus
        row = {**row, "id": row.get("doc_id"), "text": " ".join(str(sentence).strip() for sentence in row["abstract"])}
    fields = {name: _text_of(name, row[name]) for name in _FIELDS if row.get(name) not in (None, "")}
    if row.get("text") == "":
        raise UnreadableFile("contains no text")
    if "text" not in fields:
        raise UnreadableFile("missing field 'text'", hint=f"fields: {', '.join(_FIELDS)}; only text is required")
    return fields


def _parse(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        raise UnreadableFile(f"not JSON: {error.msg} at character {error.pos + 1}") from None
    except RepeatedKey as error:
        raise UnreadableFile(str(error)) from None
    except (ValueError, RecursionError):  # Python's limits on digits and on recursion
        raise UnreadableFile("not JSON: a number is too long, or brackets are nested too deeply") from None


def _text_of(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value if name == "text" else " ".join(value.split())
    if isinstance(value, int) and not isinstance(value, bool) and name != "text":
        return str(value)
    raise UnreadableFile(f"{name!r}: expected a string, got {json.dumps(value)[:40]}")


def _text(content: bytes) -> str:
    try:
        text = content.decode(encoding_of(content), errors="replace").removeprefix("\ufeff")
    except NotText as error:
        raise UnreadableFile(str(error), hint="save it as UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _page(content: bytes) -> str:
    charset = saved_as(content)
    return page_text(content, charset) if charset else _text(content)


def _read_table(content: bytes, delimiter: str) -> dict[str, str]:
    """Rows as ``column: cell; column: cell.``, because a chunk of a table does not include its header."""
    text = _text(content)
    head = text.lstrip().partition("\n")[0]
    if delimiter == "," and ";" in head and "," not in head:  # of a country with a decimal comma
        delimiter = ";"
    try:
        lines = csv.reader(StringIO(text), delimiter=delimiter, strict=True)
        rows = [[cell if cell.strip() else "" for cell in row] for row in lines]
    except csv.Error as error:
        raise UnreadableFile(f"not a table: {error}") from None
    first, *others = [row for row in rows if row] or [[]]
    for number, row in enumerate(others, 2):
        if len(row) != len(first):
            what = f"not a table: row {number} has {len(row)} cells, and the first row {len(first)}"
            raise UnreadableFile(what, hint="the first row names the columns")
    named = sheet_rows(rows) if len(first) > 1 else (named_cells(first, row) for row in others)
    return {"text": "\n".join(filter(None, named)) if any(map(any, others)) else ""}


_READERS: dict[str, Callable[[bytes], dict[str, str]]] = {
    ".txt": lambda content: {"text": _text(content)},
    ".md": lambda content: read_markdown(_text(content)),
    ".html": lambda content: read_html(_page(content)),
    ".htm": lambda content: read_html(_page(content)),
    ".pdf": lambda content: read_pdf(BytesIO(content)),
    ".docx": lambda content: read_docx(BytesIO(content)),
    ".odt": lambda content: read_odt(BytesIO(content)),
    ".xlsx": lambda content: read_xlsx(BytesIO(content)),
    ".rtf": read_rtf,
    ".eml": lambda content: read_eml(content).fields,
    ".csv": lambda content: _read_table(content, ","),
    ".tsv": lambda content: _read_table(content, "\t"),
}
