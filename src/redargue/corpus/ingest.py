"""Reads documents from files: what cannot be read is named and skipped, and the rest goes in.

=================  =========================================================================================
``.txt``           the text
``.md``            the text; the first ``# heading`` is the title
``.html .htm``     the main text, without navigation; title, date, address and publisher where the page states them
``.pdf``           the text layer
``.jsonl``         a document a line: ``text``, and where known ``id title url publisher published``; or as SciFact has
                   them: ``doc_id``, ``title``, ``abstract`` (sentences)
=================  =========================================================================================

Each also with ``.gz`` behind it. Text is UTF-8.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from redargue.corpus.documents import Document
from redargue.corpus.markup import read_html, read_pdf
from redargue.errors import UnreadableFile, UsageError

LARGEST_DOCUMENT = 256 * 10**6  # bytes, unpacked: more than any book; what is read at once has to fit into memory
LARGEST_PACKED = 2 * 10**9  # bytes that one .jsonl.gz may unpack to

_FIELDS = ("id", "title", "text", "url", "publisher", "published")


def read_documents(path: Path) -> Iterator[Document | UnreadableFile]:
    """The documents of a file, or of all files below a folder, in order of their paths.

    Args:
        path: a file or folder. Hidden files in a folder are left out; a folder that a link leads back to is read once.

    Yields:
        Documents, and an error (yielded, not raised) for each file or line that could not be read. A file's document
        has the file's absolute path as its id.

    Raises:
        UsageError: there is nothing at ``path``; raised at once, before the first document is asked for.
    """
    if not path.exists():
        raise UsageError(f"no file or folder {str(path)!r}")
    return (document for file in find_files(path) for document in read_file(file))


def find_files(path: Path) -> Iterator[Path]:
    """The file itself, or all files below a folder in order of their paths.

    A folder that cannot be listed stands for itself, so that it is named among what could not be read.
    """
    if path.is_dir():
        yield from _below(path, set())
    else:
        yield path


def _below(folder: Path, seen: set[tuple[int, int]]) -> Iterator[Path]:
    try:
        status = folder.stat()
        entries = sorted(each for each in folder.iterdir() if not each.name.startswith("."))
    except OSError:
        yield folder  # read_file says why
        return
    if (status.st_dev, status.st_ino) in seen:
        return
    seen.add((status.st_dev, status.st_ino))
    for entry in entries:
        if entry.is_dir():
            yield from _below(entry, seen)
        else:
            yield entry


def read_file(path: Path) -> Iterator[Document | UnreadableFile]:
    """The documents of one file, and an error for each part of it that could not be read."""
    path = Path(os.path.abspath(path))
    packed = path.suffix.lower() == ".gz"
    suffix = Path(path.stem).suffix.lower() if packed else path.suffix.lower()
    try:
        if path.exists() and not path.is_file():
            if path.is_dir():
                os.listdir(path)  # says why: a folder is here only because it cannot be listed
            raise UnreadableFile("not a regular file", where=str(path))
        if suffix == ".jsonl":
            yield from _rows(path, packed)
        elif suffix in _READERS:
            fields = _READERS[suffix](_whole(path, packed))
            yield _document(str(path), id=str(path), path=str(path), **fields)
        else:
            name = path.suffix or path.name
            raise UnreadableFile(
                f"unknown kind of file {name!r}",
                where=str(path),
                hint=f"redargue reads {' '.join((*_READERS, '.jsonl'))}, each also with .gz",
            )
    except UnreadableFile as error:
        yield error if error.where else UnreadableFile(error.what, where=str(path), hint=error.hint)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        yield UnreadableFile(f"damaged gzip data: {error}", where=str(path))
    except OSError as error:
        yield UnreadableFile(f"cannot be opened: {error.strerror or error}", where=str(path))


def _document(where: str, **fields: str) -> Document:
    try:
        return Document(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        problem = str(first["msg"]).removeprefix("Value error, ")
        raise UnreadableFile(f"{first['loc'][0]}: {problem}", where=where) from None


def _open(path: Path, packed: bool) -> gzip.GzipFile | BufferedReader:
    return gzip.open(path) if packed else path.open("rb")


def _whole(path: Path, packed: bool) -> bytes:
    with _open(path, packed) as file:
        content = file.read(LARGEST_DOCUMENT + 1)
    if len(content) > LARGEST_DOCUMENT:
        raise UnreadableFile(f"larger than {LARGEST_DOCUMENT:,} bytes", hint="split it, or make it .jsonl")
    if not content:
        raise UnreadableFile("the file is empty")
    return content


def _decode(content: bytes, before: int = 0) -> str:
    """Text from UTF-8; ``before`` is how many bytes of the file stand before ``content``."""
    if b"\0" in content:
        raise UnreadableFile(f"not text: a NUL byte at byte {before + content.index(0):,}")
    try:
        return content.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"not UTF-8 at byte {before + error.start:,}", hint="save it as UTF-8") from None


def _rows(path: Path, packed: bool) -> Iterator[Document | UnreadableFile]:
    lines: dict[str, int] = {}
    offset = number = 0
    with _open(path, packed) as file:
        while line := file.readline(LARGEST_DOCUMENT + 1):
            number += 1
            where = f"{path}:{number}"
            offset += len(line)
            if len(line) > LARGEST_DOCUMENT:
                raise UnreadableFile(f"a line of more than {LARGEST_DOCUMENT:,} bytes", where=where)
            if packed and offset > LARGEST_PACKED:
                raise UnreadableFile(f"unpacks to more than {LARGEST_PACKED:,} bytes", where=where, hint="gunzip it")
            try:
                row = _decode(line, offset - len(line))
                if not row.strip():
                    continue
                fields = _fields(row)
                name = fields.setdefault("id", where)
                if name in lines:
                    raise UnreadableFile(f"the id {name!r} is taken by line {lines[name]}")
                lines[name] = number
                yield _document(where, path=str(path), **fields)
            except UnreadableFile as error:
                yield UnreadableFile(error.what, where=where, hint=error.hint)
    if not number:
        raise UnreadableFile("the file is empty")


def _fields(line: str) -> dict[str, str]:
    """What a JSON line says of a document; a field that is null is one that is not there."""
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise UnreadableFile(f"not JSON: {error.msg} at character {error.pos + 1}") from None
    except (ValueError, RecursionError):  # a number of 5,000 digits, a thousand brackets
        raise UnreadableFile("not JSON that can be read") from None
    if not isinstance(row, dict):
        raise UnreadableFile(f"a JSON object was expected, not {line.strip()[:40]!r}")
    if "text" not in row and isinstance(row.get("abstract"), list):  # SciFact's own corpus
        row = {**row, "id": row.get("doc_id"), "text": " ".join(str(each).strip() for each in row["abstract"])}
    fields = {name: _plain(name, row[name]) for name in _FIELDS if row.get(name) not in (None, "")}
    if "text" not in fields:
        raise UnreadableFile("no 'text'", hint=f"a line is an object with {', '.join(_FIELDS)}; only text is required")
    return fields


def _plain(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value if name == "text" else " ".join(value.split())
    if isinstance(value, int) and not isinstance(value, bool) and name != "text":
        return str(value)
    raise UnreadableFile(f"{name!r} is not a string but {json.dumps(value)[:40]}")


def _read_text(content: bytes) -> dict[str, str]:
    return {"text": _one_newline(_decode(content))}


def _read_markdown(content: bytes) -> dict[str, str]:
    text = _one_newline(_decode(content))
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        heading = re.match(r"#\s+(.*?)[\s#]*$", line)
        if heading and not fenced:
            return {"text": text, "title": " ".join(heading.group(1).split())}
    return {"text": text}


def _one_newline(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _read_html(content: bytes) -> dict[str, str]:
    return read_html(_one_newline(_decode(content)))


def _read_pdf(content: bytes) -> dict[str, str]:
    return read_pdf(BytesIO(content))


_READERS: dict[str, Callable[[bytes], dict[str, str]]] = {
    ".txt": _read_text,
    ".md": _read_markdown,
    ".html": _read_html,
    ".htm": _read_html,
    ".pdf": _read_pdf,
}
