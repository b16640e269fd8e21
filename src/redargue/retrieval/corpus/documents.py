"""A user-supplied document: a text and the metadata of its source."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import Field, field_validator
from syntok import segmenter

from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.evidence import PAGE_BREAK
from redargue.nli.markup import is_heading
from redargue.nli.session import DIMENSIONS, Floats
from redargue.registry import Registry, a_function, did_you_mean


class Document(Frozen):
    """A text that can be searched and quoted.

    Attributes:
        id: unique in its corpus; adding a document replaces an existing one with the same id.
        text: must not be blank.
        url: address of publication.
        published: publication date as stated by the source.
        path: file that the document was read from; not part of the content.
    """

    id: str = Field(min_length=1)
    text: str
    title: str = ""
    url: str = ""
    publisher: str = ""
    published: str = ""
    path: str = ""

    @field_validator("*")
    @classmethod
    def _storable(cls, value: str) -> str:
        if "\0" in value:
            raise ValueError(f"contains a NUL character at position {value.index(chr(0))}")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"contains an unpaired surrogate at position {error.start}") from None
        return value

    @field_validator("text")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("must not be blank")
        return value

    @property
    def sha256(self) -> str:
        """Hash of title, text, url, publisher and date: equal for documents with equal content."""
        content = json.dumps([self.title, self.text, self.url, self.publisher, self.published])
        return hashlib.sha256(content.encode()).hexdigest()


# The documents shipped with data sets, in the form that a corpus indexes. Another package adds a data set's
# documents through an entry point: [project.entry-points."redargue.documents"] my-set = "my_package:documents"
readers: Registry[Callable[[Path], Iterator[Document]]] = Registry(
    "data set with documents", group="redargue.documents", extra="lab", missing=a_function
)


def dataset_documents(dataset: str, path: Path) -> Iterator[Document]:
    read = readers[dataset]
    if not path.is_file():
        raise UsageError(f"no file {str(path)!r}")
    return _read_by(dataset, read, path)


def _read_by(dataset: str, read: Callable[[Path], Iterator[Document]], path: Path) -> Iterator[Document]:
    with readers.blamed(dataset):
        for document in read(path):
            if not isinstance(document, Document):
                raise TypeError(f"it gives {document!r:.60}, not a Document")
            yield document


SIZE = 700  # characters: about 150 tokens of English, so that a chunk with its title fits the embedder's 256
OVERLAP = 120  # characters: about a sentence, so that a pronoun keeps its antecedent

_Span = tuple[int, int]


class Chunk(Frozen):
    """A chunk of a document: ``text == document.text[start:end]``."""

    start: int
    end: int
    text: str


def chunks(text: str, *, size: int = SIZE, overlap: int = OVERLAP) -> tuple[Chunk, ...]:
    """Splits a text into chunks of at most ``size`` characters that together cover it except for white space.

    A chunk ends at the end of a sentence. A sentence longer than ``size`` is split at white space, a longer word at any
    character. A chunk begins with the last sentences of the previous chunk, as many as fit in ``overlap`` characters,
    which must be fewer than ``size``.
    """
    if not 0 <= overlap < size:
        raise UsageError(f"chunks of {size} characters cannot overlap by {overlap}", hint="use 0 <= overlap < size")
    pieces = [part for sentence in sentence_spans(text) for part in _parts(text, sentence, size)]
    result: list[Chunk] = []
    first = 0
    while first < len(pieces):
        after = first + 1
        while after < len(pieces) and pieces[after][1] - pieces[first][0] <= size:
            after += 1
        start, end = pieces[first][0], pieces[after - 1][1]
        result.append(Chunk(start=start, end=end, text=text[start:end]))
        if after == len(pieces):
            break
        first = _step_back(pieces, first, after, size, overlap)
    return tuple(result)


def sentence_spans(text: str) -> Iterator[_Span]:
    """Spans of the sentences. Only their starts come from syntok, so that no text between sentences is lost."""
    starts = sorted({0, *sentence_starts(text)})
    for start, end in pairwise([*starts, len(text)]):
        if span := _strip(text, start, end):
            yield span


@lru_cache(maxsize=16)
def sentence_starts(text: str) -> tuple[int, ...]:
    """Where sentences begin; none is across a page break.

    A document is split for its chunks and for its sentences at about the same time.
    """
    text = as_if_of_newlines(text)
    starts = {tokens[0].offset for paragraph in segmenter.analyze(text) for tokens in paragraph}
    starts = {each for each in starts if text[each - 1 : each + 1] != "](" and not _is_after_ordinal(text, each)}
    starts.update(match.end() for match in _PAGE_START.finditer(text) if match.end() < len(text))
    starts.update(match.end() for match in _OTHER_STOP.finditer(text) if match.end() < len(text))
    for match in chain(_AFTER_MARK.finditer(text), _BEFORE_NUMBER.finditer(text)):
        if (match["word"] or "").lower() not in _ABBREVIATIONS:
            starts.add(match.end())
    return tuple(sorted({*_kept_together(starts, tuple(_rows(text)), len(text))}))


def as_if_of_newlines(text: str) -> str:
    """The text with a space for the carriage return before a newline: spans in it are those in the text as given."""
    return text.replace("\r\n", " \n")


# German and Scandinavian ordinals end with a full stop: "am 4. Mai", "der 3. Platz".
_ORDINAL = re.compile(r"(?P<before>[^\W\d_]+)?[ \t]*(?<!\d)(?<!\d[.,])\d{1,2}\.[ \t]*\n?[ \t]*\Z")
_MONTH = re.compile(
    r"(?:[Jj]anuar|J\u00e4nner|[Ff]ebruar|M\u00e4rz|[Aa]pril|[Mm]ai|[Jj]uni|[Jj]uli|[Aa]ugust|[Ss]eptember|[Oo]ktober|[Nn]ovember"
    r"|Dezember|mars|marts|maj|desember|december)\b"
)
_BEFORE_ORDINALS = frozenset("am im vom zum zur bis ab seit der die das dem den des beim den und".split())


def _is_after_ordinal(text: str, start: int) -> bool:
    """Whether the full stop before a place belongs to an ordinal number and does not end a sentence."""
    before = _ORDINAL.search(text, max(0, start - 30), start)
    if not before:
        return False
    return (before["before"] or "").lower() in _BEFORE_ORDINALS or bool(_MONTH.match(text, start))


# Where syntok sees no sentence begin: "… in December.1 The board …" and "… in 1998.[^2] It is …", behind the mark of a
# footnote, "… in 1998.The board …", without a space, "… by 5 %. The board …", behind a sign or "h", and "… in Spain.
# 486 adults …", with a number.
_AFTER_MARK = re.compile(
    r"\b(?P<word>[^\W\d_]{3,})[.!?][\"”’)]?\d{1,2}\s+(?=[A-Z][a-z])"
    r"|\]\([^()\s]{1,2000}+\)[.!?][\"”’)]?\s+(?=[\"“(]?[A-Z\d])"  # a link of Markdown
    r"|[\w)%][.!?][\"”’)]?(?:\[\^?[\w -]{1,20}\]|[¹²³⁰⁴-⁹]+|【[^】\n]{1,40}】)+"
    r"(?:\s+(?=[\"“(]?[A-Z\d])|(?=[A-Z][a-z]*\s))"
    r"|(?<![\d.])\d{2,}[.!?](?=[A-Z][a-z]*\s)"
    r"|\d\s(?:[%‰°€$£¥]|°[CF]|h)\.[\"”’)]?\s+(?=[\"“(]?[A-ZÀ-Þ])"
)
_BEFORE_NUMBER = re.compile(
    r"(?:\b(?P<word>[^\W\d_]{3,})|\b(?:1\d|20)\d\d|[%)\]])[.!?][\"”’)]*\s+(?=\d[\d,]{2,}(?:\.\d+)?\s+[a-z])"
)
_OTHER_STOP = re.compile(r"[。！？।॥۔؟]++(?![」』”’）)])\s*+")  # of Chinese, Japanese, Hindi, Urdu and Arabic
_ABBREVIATIONS = frozenset(
    "vol nos fig figs art arts sec chap par para approx max min est tel ext pop incl excl avg col cat reg rev inc ltd"
    " corp bldg apt ave ibid univ jan feb mar apr jun jul aug sep sept oct nov dec bzw inkl exkl zzgl evtl mind env"
    " etc".split()
)
_PAGE_START = re.compile(rf"{PAGE_BREAK}\s*+")
_LINE = re.compile(r"[^\n\f]+")
_NAMED_CELL = re.compile(r"(?:(?![.!?][\"”’)]*\s+[\"“(]?[A-ZÀ-Þ])[^\n:;]){1,60}: \S")


def _rows(text: str) -> Iterator[_Span]:
    """The lines that are rows of a table with named cells ("Pump: A20; Power: 310 W.")."""
    if "; " not in text:
        return
    for line in _LINE.finditer(text):
        is_sentence = line[0].rstrip().endswith(".")
        named = [bool(_NAMED_CELL.match(cell)) for cell in line[0].split("; ")] if is_sentence else [False]
        if named[0] and sum(named) > 1:
            yield line.span()


def _kept_together(starts: set[int], rows: Sequence[_Span], length: int) -> Iterator[int]:
    """The starts of sentences that are not within a row, and where rows begin and end."""
    row = 0
    for start in sorted(starts):
        while row < len(rows) and rows[row][1] <= start:
            row += 1
        if row == len(rows) or start <= rows[row][0]:
            yield start
    yield from (edge for span in rows for edge in span if edge < length)


@lru_cache(maxsize=16)
def headings_in(text: str) -> tuple[_Span, ...]:
    """The spans of lines that head what follows; each ends where the text below begins."""
    lines = [match for match in _LINE.finditer(text) if match[0].strip()]
    found: list[_Span] = []
    for before, line, after in zip([None, *lines], lines, lines[1:], strict=False):
        apart = (
            before is None
            or re.search(r"[.!?:…\"”)]\s*\Z", before[0])
            or "\n\n" in text[before.end() : line.start()]
            or (found and found[-1][0] == _first_word(before))  # below another heading
        )
        heads = is_heading(line[0]) and not is_heading(after[0])
        if heads and apart and not after[0].lstrip()[:1].islower():
            found.append((_first_word(line), _first_word(after)))
    return tuple(found)


def _first_word(line: re.Match[str]) -> int:
    return line.end() - len(line[0].lstrip())


def _strip(text: str, start: int, end: int) -> _Span | None:
    part = text[start:end].lstrip()
    start = end - len(part)
    return (start, start + len(part.rstrip())) if part else None


_SPACE = re.compile(r"\s")


def _parts(text: str, sentence: _Span, size: int) -> Iterator[_Span]:
    rest: _Span | None = sentence
    while rest and rest[1] - rest[0] > size:
        start, end = rest
        spaces = [match.start() for match in _SPACE.finditer(text, start, start + size + 1)]
        cut = spaces[-1] if spaces else start + size
        if part := _strip(text, start, cut):
            yield part
        rest = _strip(text, cut, end)
    if rest:
        yield rest


def _step_back(pieces: list[_Span], first: int, after: int, size: int, overlap: int) -> int:
    """First piece of the next chunk, which must include piece ``after`` and begin after piece ``first``."""
    begin = after
    while (
        begin - 1 > first
        and pieces[after - 1][1] - pieces[begin - 1][0] <= overlap
        and pieces[after][1] - pieces[begin - 1][0] <= size
    ):
        begin -= 1
    return begin


# Prepares documents for a store: batches, chunks, vectors and the checksum of the content.

BATCH = 200  # documents per batch: an interruption loses at most one batch
BATCH_CHARS = 1_000_000  # a batch also ends when its texts reach this length


class Prepared(NamedTuple):
    """A document's chunks and their vectors, of shape (chunks, 384)."""

    pieces: tuple[Chunk, ...]
    vectors: Floats


def batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    for document in documents:
        batch.append(document)
        if len(batch) >= BATCH or sum(len(document.text) for document in batch) >= BATCH_CHARS:
            yield batch
            batch = []
    if batch:
        yield batch


def prepare_batch(documents: Sequence[Document], encode: Callable[[Sequence[str]], Floats]) -> list[Prepared]:
    """Splits documents into chunks, and embeds each chunk with the document's title prepended."""
    chunks_by_document = [chunks(document.text) for document in documents]
    texts = [
        f"{document.title}. {chunk.text}" if document.title else chunk.text
        for document, pieces in zip(documents, chunks_by_document, strict=True)
        for chunk in pieces
    ]
    if not documents:
        return []
    vectors = encode(texts) if texts else np.zeros((0, DIMENSIONS), np.float32)
    ends = np.cumsum([len(pieces) for pieces in chunks_by_document], dtype=int)
    return list(map(Prepared, chunks_by_document, np.split(vectors, ends[:-1])))


def digest(document: str, sha256: str) -> str:
    return hashlib.sha256(f"{document}\0{sha256}".encode()).hexdigest()


def updated_checksum(content: str, digest: str, sign: int) -> str:
    """Adds (``sign`` 1) or removes (-1) a document in a store's checksum, which does not depend on their order.

    The checksum is hexadecimal, "0" for an empty store; ``digest`` is the document's :func:`digest`.
    """
    return f"{(int(content, 16) + sign * int(digest, 16)) % 2**256:x}"


def is_from(path: str, place: str) -> bool:
    where = os.path.abspath(place)
    return bool(place and path) and (path == where or path.startswith(where.rstrip(os.sep) + os.sep))


def no_such_document(name: str, known: Sequence[str]) -> UsageError:
    if len(known) > 20:  # too many to list
        known = difflib.get_close_matches(name, known, n=3)
    hint = did_you_mean(name, list(known)) if known else "to list the documents: redargue corpus ls"
    return UsageError(f"no document {name!r}", hint=hint)
