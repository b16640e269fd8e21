"""Reads arguments of commands: a file, standard input, or the text itself."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple, cast

import typer
from pydantic import ValidationError

from redargue.claims import Claim, LabelSet, with_strict_as_of
from redargue.errors import UnreadableFile, UsageError, problem_location, problem_of
from redargue.evidence import Passage
from redargue.inputs.claims import ClaimRow, RefusedRow, read_mapping, read_row
from redargue.inputs.claims import read_rows as read_table
from redargue.inputs.rows import row_of_line, unpacked_suffix
from redargue.registry import did_you_mean
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.ingest import find_files, read_file
from redargue.sanitize import NotText, counted, decode, page_text, printable, saved_as
from redargue.spec import RunSpec
from redargue.text.segment import KINDS, Kind, Text, has_several_sentences, text_of

_KINDS = ("claim", "claims", *KINDS)
_TABLES = (".csv", ".tsv", ".json", ".jsonl")
_DOCUMENTS = (".md", ".html", ".htm", ".pdf", ".docx", ".odt", ".rtf", ".xlsx", ".eml")
_NOT_READ = (".doc", ".rst", ".tex", ".epub", ".ppt", ".pptx", ".xls", ".xml", ".yaml", ".yml")

_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*://|www\.)\S+", re.IGNORECASE)
_PATH = re.compile(r"/\S*|(?:\.{1,2}|~)/.*")
_WORD_LIKE_A_PATH = re.compile(r"[!-~]*/[!-~]*[^\s.!?]|[!-~]*[\w-]\.[A-Za-z]\w{1,9}")
_LONG_LINE = 50  # characters of a line that may be wrapped


class Input(NamedTuple):
    """The input of a command: a text, or rows if ``text`` is None; ``note`` says how the argument was read."""

    text: Text | None
    rows: Sequence[ClaimRow] = ()
    refused: Sequence[RefusedRow] = ()
    note: str = ""

    @property
    def claims(self) -> list[Claim]:
        return [row.claim for row in self.rows]


def read_input(
    argument: str,
    kind: str,
    question: str,
    spec: RunSpec,
    *,
    fetch: bool = False,
    links: bool = False,
    mapping: Sequence[str] = (),
) -> Input:
    """Reads the argument of ``check``.

    Without a kind, a table gives the claims of its rows and a document gives a text. A .txt file and standard input
    give a text if they are prose, otherwise one claim per line. An argument that names no file gives a text if it has
    several sentences, otherwise one claim.

    Args:
        kind: the value of --as.
        fetch: whether the page of a URL is fetched.
        links: whether the text of an HTML file is its source, which contains the links.
        mapping: the values of --map.
    """
    require_one_stream((argument, question), "--question")
    if kind and kind not in _KINDS:
        raise UsageError(f"unknown kind of text {kind!r}", where="--as", hint=did_you_mean(kind, _KINDS))
    if fetch and is_web_address(argument):
        if kind in ("claim", "claims"):
            raise UsageError(f"a page is a text: {argument!r}", where="--as", hint="drop --as, or choose text")
        note = f"{printable(argument, lines=False)} is read as a text, claim by claim"
        text = fetch_text(argument, kind or "text", question, offline=spec.offline)
        return Input(text, note=note)
    if kind in KINDS:
        return Input(read_text(argument, kind, question, links=links))
    is_file = argument == "-" or (os.path.exists(argument) if kind == "claim" else bool(named_path(argument)))
    suffix = unpacked_suffix(Path(argument)) if is_file else ""
    if kind != "claim" and suffix in _TABLES:
        rows = read_table(Path(argument), read_mapping(mapping), labels=spec.labels, as_of=spec.as_of)
        return _claims_input(rows, question, spec)
    is_stream = argument == "-" or (is_file and Path(argument).is_fifo())
    content = _content(argument) if is_file else argument
    if mapping and (kind == "claim" or not is_stream or not re.search(r"^\s*\{", content, re.MULTILINE)):
        what = f"{printable(argument, lines=False)!r:.80} has no columns"
        raise UsageError(what, where="--map", hint=f"name a file of claims: {', '.join(_TABLES)}")
    if kind == "claims" and suffix in _DOCUMENTS:
        hint = "without --as claims, check extracts them"
        raise UsageError(f"{argument!r} is a text whose claims have not been extracted", hint=hint)
    if not kind and (suffix in _DOCUMENTS or _is_text(content, spec.labels, by_line=is_file)):
        text = _text(content, "text", question, argument if is_file else "")
        name = printable(argument, lines=False) if is_file and argument != "-" else "the input"
        note = f"{name} is read as a text, claim by claim; --as claim verifies it as one claim"
        return Input(text, note=note)
    is_one = not is_file or (argument == "-" and "\n" not in content.strip())
    if not kind and is_one and spec.labels.judges_statements and content.rstrip().endswith("?"):
        what = f"{printable(content, lines=False)!r:.80} is a question, and only a statement is supported or refuted"
        raise UsageError(what, hint="write it as a statement; --as claim verifies it as it is")
    if kind == "claim" or not is_file:
        only = _claim(content, spec, "the claim")
        return _claims_input([ClaimRow(1, only)], question, spec)
    lines = _read_lines(content, argument, spec, read_mapping(mapping) if is_stream else None)
    return _claims_input(lines, question, spec, "" if kind else _several_sentences(lines))


def require_one_stream(arguments: Sequence[str], where: str) -> None:
    """Raises UsageError if standard input is several of the arguments."""
    if arguments.count("-") > 1:
        what = f"'-' is given {arguments.count('-')} times, and standard input can be read once"
        raise UsageError(what, where=where, hint="name files instead, and '-' once")


def _several_sentences(rows: Sequence[ClaimRow | RefusedRow]) -> str:
    """How many claims have several sentences, and how they are read as a text; empty if none has."""
    claims = [row.claim.text for row in rows if isinstance(row, ClaimRow)]
    several = sum(map(has_several_sentences, claims))
    note = f"{several:,} of {counted(len(claims), 'claim')} have several sentences; --as text reads the input as a text"
    return note if several else ""


def file_name(argument: str) -> str:
    """The name of the file that an argument names, without its folders; empty if it names none."""
    return Path(argument).name if argument != "-" and os.path.isfile(argument) else ""


def is_web_address(argument: str) -> bool:
    return bool(re.fullmatch(r"https?://\S+", argument.strip(), re.IGNORECASE))


def fetch_page(url: str, *, offline: bool) -> Passage:
    """The page at an address; raises UsageError, ProviderError or UnreadableFile."""
    from redargue.net.fetch import PageFetcher
    from redargue.retrieval.web_pages import read_page

    return asyncio.run(read_page(url.strip(), PageFetcher.from_environment(offline=offline)))


def fetch_text(url: str, kind: str, question: str, *, offline: bool) -> Text:
    """The text of the page at an address; raises as :func:`fetch_page`."""
    return _text(fetch_page(url, offline=offline).text, kind, question, url)


def read_text(argument: str, kind: str, question: str, where: str = "", *, links: bool = False) -> Text:
    """The text of a file, of standard input (``-``), or the argument itself."""
    one_word = kind not in ("qa", "dialogue")  # an answer may be "and/or" or "example.com"
    if argument != "-" and not named_path(argument, where, one_word=one_word):
        return _text(argument, kind, question, "")
    path = Path(argument)
    as_source = links and path.suffix.lower() in (".html", ".htm") and path.is_file()
    content = read_argument(argument, where) if as_source else _content(argument, where)
    return _text(content, kind, question, argument)


def named_path(argument: str, where: str = "", *, one_word: bool = True) -> Path | None:
    """The file or folder that an argument names; None if the argument is the text itself.

    Args:
        argument: an argument of the command line.
        where: the option, for errors.
        one_word: whether a single word that contains a slash or a dot must be a path.

    Raises:
        UsageError: the argument is a URL, or looks like a path at which nothing exists.
    """
    if os.path.exists(argument):
        return Path(argument)
    text = argument.strip()
    if _URL.fullmatch(text):
        what = f"{argument!r} is a URL, and a URL is not fetched without --fetch"
        hint = "add --fetch, save the page and give the file, or write the text as a sentence"
        raise UsageError(what, where=where, hint=hint)
    has_suffix = unpacked_suffix(Path(text)) in (".txt", *_TABLES, *_DOCUMENTS, *_NOT_READ)
    looks_like_path = has_suffix or _PATH.fullmatch(text)
    if "\n" not in text and (looks_like_path or (one_word and _WORD_LIKE_A_PATH.fullmatch(text))):
        hint = "check the path; if this is a text, end it with a full stop"
        raise UsageError(f"no file or folder {argument!r}", where=where, hint=hint)
    return None


def read_argument(argument: str, where: str = "") -> str:
    """The text of a plain-text file, the source of a page, or standard input, with its line breaks as they are."""
    is_input = argument == "-"
    try:
        raw = sys.stdin.buffer.read() if is_input else Path(argument).read_bytes()
        charset = saved_as(raw) if argument.lower().endswith((".html", ".htm")) else ""
        text = page_text(raw, charset) if charset else decode(raw, "standard input" if is_input else argument)
    except (OSError, NotText) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{argument!r} cannot be read: {reason}", where=where) from error
    if not text.strip():
        name = "standard input" if is_input else repr(argument)
        raise UsageError(f"{name} is empty", where=where)
    return text


def _read_lines(
    content: str, argument: str, spec: RunSpec, mapping: Mapping[str, str] | None
) -> list[ClaimRow | RefusedRow]:
    """One claim per line; with a mapping, a line that begins with ``{`` is read as in a file of JSON lines."""
    found: list[ClaimRow | RefusedRow] = []
    for number, line in enumerate(content.split("\n"), 1):
        if mapping and line.lstrip().startswith("{"):
            row = row_of_line(line, Path(argument), number)
            found.append(read_row(row, len(found) + 1, mapping, labels=spec.labels, as_of=spec.as_of))
        elif line.strip():
            found.append(ClaimRow(len(found) + 1, _claim(line.strip(), spec, f"{argument}, line {number}")))
    return found


def _is_text(content: str, labels: LabelSet, *, by_line: bool) -> bool:
    if not labels.has_both_sides:
        return False  # a text cannot be verified with these labels
    if not by_line:
        return has_several_sentences(content)
    lines = [line.strip() for line in content.split("\n") if line.strip()]
    if lines[0].startswith("{"):
        return False
    wrapped = any(
        len(line) >= _LONG_LINE and line[-1].isalnum() and following[0].islower() for line, following in pairwise(lines)
    )
    return wrapped or 2 * sum(map(has_several_sentences, lines)) >= len(lines)


def _content(argument: str, where: str = "") -> str:
    path = Path(argument)
    is_plain = path.is_file() and path.suffix.lower() in (".txt", ".md")
    if argument == "-" or path.is_fifo() or is_plain:
        return read_argument(argument, where)
    if path.is_dir():
        names = ", ".join(str(file) for file in islice(find_files(path), 5))
        hint = f"name one of its files: {names}" if names else "it contains no files"
        raise UsageError(f"{argument!r} is a folder", where=where, hint=hint)
    documents: list[Document] = []
    for document in read_file(path, whole=True):
        if documents and path.suffix.lower() == ".eml":  # the message itself is the text
            attached = document.where if isinstance(document, UnreadableFile) else document.id
            typer.echo(f"not read, because it is attached to the e-mail: {printable(attached, lines=False)}", err=True)
            continue
        if isinstance(document, UnreadableFile):
            raise UsageError(document.what, where=document.where, hint=document.hint)
        documents.append(document)
    if len(documents) != 1:
        what = f"{argument!r} contains {counted(len(documents), 'document')}; a text is one"
        raise UsageError(what, where=where)
    return documents[0].text


def _text(content: str, kind: str, question: str, where: str) -> Text:
    is_file = question == "-" or bool(question and named_path(question, "--question", one_word=False))
    context = _content(question, "--question") if is_file else question
    try:
        return text_of(content, kind=cast(Kind, kind), context=context)
    except UsageError as error:
        raise UsageError(error.what, where=error.where or where, hint=error.hint) from error


def _claims_input(rows: Iterable[ClaimRow | RefusedRow], question: str, spec: RunSpec, note: str = "") -> Input:
    if question:
        hint = "add --as text, dialogue or qa"
        raise UsageError("a claim has no question", where="--question", hint=hint)
    return Input(None, *checked_rows(rows, spec), note)


def checked_rows(rows: Iterable[ClaimRow | RefusedRow], spec: RunSpec) -> tuple[list[ClaimRow], list[RefusedRow]]:
    """The rows of an input that can be verified, and those refused; raises the error of the first if all are."""
    accepted: list[ClaimRow] = []
    refused: list[RefusedRow] = []
    for row in rows:
        if isinstance(row, ClaimRow):
            accepted.append(row)
        else:
            refused.append(row)
    if refused and not accepted:
        raise refused[0].error
    if spec.strict_as_of:
        claims = with_strict_as_of(row.claim for row in accepted)
        accepted = [row._replace(claim=claim) for row, claim in zip(accepted, claims, strict=True)]
    return accepted, refused


def _claim(text: str, spec: RunSpec, where: str) -> Claim:
    try:
        return Claim(text=text, labels=spec.labels, as_of=spec.as_of)
    except ValidationError as error:
        raise UsageError(f"{problem_location(error)}: {problem_of(error)}", where=where) from error
