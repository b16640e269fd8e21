"""The text of web pages, fetched through :mod:`redargue.net.fetch`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

from redargue.claims import Frozen
from redargue.concurrency import gather_or_cancel
from redargue.errors import ProviderError, RedargueError, ToolFailed, UnreadableFile, UsageError
from redargue.evidence import Passage
from redargue.net.fetch import DeadLink, Page, PageFetcher
from redargue.retrieval.corpus.ingest import read_content, read_file
from redargue.retrieval.corpus.markup import read_html, read_pdf
from redargue.retrieval.tools import Search
from redargue.sanitize import printable

CONCURRENT = 4  # pages fetched at the same time
TOOL = "fetch"


class Fetched(StrEnum):
    """How fetching a page ended."""

    READ = "read"
    DEAD = "dead_link"
    NOT_FETCHED = "not_fetched"


class WebPage(Frozen):
    """A page that a text or the user names.

    Attributes:
        url: as it was named.
        why: it was not read; empty where it was.
        passage: its text and where it is from; None where it was not read.
    """

    url: str
    outcome: Fetched
    why: str = ""
    passage: Passage | None = None


async def read_page(url: str, fetcher: PageFetcher) -> Passage:
    """Fetches a page and reads its text; raises UsageError, ProviderError, or UnreadableFile if it has no text."""
    page = await fetcher.fetch(url)
    fields = await asyncio.to_thread(fields_of, page)
    known = {name: fields.get(name, "") for name in ("text", "title", "publisher", "published")}
    return Passage(**known, url=page.url, document=page.url, tool=TOOL, retrieved=datetime.now(UTC), named=True)


class PageAction:
    """Reads a page again; see :class:`redargue.retrieval.tools.Action`."""

    name, about, revision = TOOL, "reads a page", "1"
    parameters: ClassVar[Mapping[str, Any]] = {"type": "object", "properties": {"url": {"type": "string"}}}

    def __init__(self, fetcher: PageFetcher) -> None:
        self._fetcher = fetcher

    async def call(self, arguments: Mapping[str, Any], *, search: Search) -> tuple[Passage, ...]:
        try:
            async with search.account.request():
                page = await read_page(str(arguments["url"]), self._fetcher)
                return (page.model_copy(update={"named": False}),)
        except (UsageError, ProviderError, UnreadableFile) as error:
            raise ToolFailed(error.what, hint=error.hint) from error


async def read_pages(urls: Iterable[str], fetcher: PageFetcher) -> dict[str, WebPage]:
    """Reads pages concurrently; one that cannot be read has its reason."""
    slots = asyncio.Semaphore(CONCURRENT)

    async def read(url: str) -> WebPage:
        async with slots:
            try:
                return WebPage(url=url, outcome=Fetched.READ, passage=await read_page(url, fetcher))
            except (UsageError, ProviderError, UnreadableFile) as error:
                outcome = Fetched.DEAD if isinstance(error, DeadLink) else Fetched.NOT_FETCHED
                return WebPage(url=url, outcome=outcome, why=reason_of(error))

    pages = await gather_or_cancel(read(url) for url in dict.fromkeys(urls))
    return {page.url: page for page in pages}


def reason_of(error: RedargueError) -> str:
    """Why a page was not read, and what may be done."""
    return printable(f"{error.what}; {error.hint}" if error.hint else error.what, lines=False)


def _document_suffix(page: Page) -> str:
    """The suffix of the document that a page is by its type, or by its address where the type says nothing."""
    named = PurePosixPath(urlsplit(page.url).path).suffix.lower()
    if page.content_type in _UNTYPED and named in _DOCUMENTS.values():
        return named
    return _DOCUMENTS.get(page.content_type, "")


_UNTYPED = ("", "application/octet-stream", "application/zip", "text/plain")
_DOCUMENTS = {
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/rtf": ".rtf",
    "text/rtf": ".rtf",
    "message/rfc822": ".eml",
    "text/markdown": ".md",
}


def fields_of(page: Page) -> dict[str, str]:
    kind, start = page.content_type, page.content[:512].lstrip().lower()
    if kind == "application/pdf" or start.startswith(b"%pdf-"):
        return read_pdf(BytesIO(page.content))
    if kind in ("text/html", "application/xhtml+xml") or (not kind and start.startswith(b"<")):
        return read_html(page.text)
    if suffix := _document_suffix(page):
        return read_content(page.content, suffix)
    if kind.startswith("text/") or kind in ("", "application/json"):
        text = page.text
        if text.strip() and "\0" not in text:
            return {"text": text}
        raise UnreadableFile("the page contains no text")
    raise UnreadableFile(f"the page is {kind!r}, which has no text that can be read")


# Files beside a text that it links by a relative path: ``[report](sources/report.pdf)``.
#
# Only documents inside the folder of the text are read, and only where the user named the text as a
# file: an article may be a stranger's. Links out of the folder, hidden files and other kinds of
# files are not followed.


SUFFIXES = tuple(  # the last are not read, and a link to one says so
    "pdf docx odt rtf xlsx eml html htm md txt doc xls ppt pptx odp ods epub".split()
)
_WEB = re.compile(r"https?://", re.IGNORECASE)


def is_file_link(target: str) -> bool:
    """Whether what a text links is a path and not an address of the web."""
    return not _WEB.match(target)


def read_linked_file(link: str, folder: Path) -> WebPage:
    """The document that a text in a folder links, or why it is not read; of an e-mail, the letter."""
    shown = repr(printable(link, lines=False))
    try:
        path = _inside(link, folder)
        if path is None:
            why = f"{shown} is not read: only documents in the folder of the text are, and no hidden files"
            return WebPage(url=link, outcome=Fetched.NOT_FETCHED, why=why)
        if not path.is_file():
            why = f"there is no file {shown} in the folder of the text"
            return WebPage(url=link, outcome=Fetched.DEAD, why=why)
    except (OSError, ValueError):  # a loop of links, a NUL character, a name that is too long
        return WebPage(url=link, outcome=Fetched.DEAD, why=f"{shown} is not the name of a file")
    found = next(iter(read_file(path)))
    if isinstance(found, UnreadableFile):
        return WebPage(url=link, outcome=Fetched.NOT_FETCHED, why=f"{shown}: {reason_of(found)}")
    fields = found.model_dump(include={"text", "title", "url", "publisher", "published"})
    passage = Passage(**fields, document=link, tool="file", named=True)
    return WebPage(url=link, outcome=Fetched.READ, passage=passage)


def _inside(link: str, folder: Path) -> Path | None:
    """The file that a link names; None if it is not a document below the folder, links of the file system followed."""
    relative = Path(unquote(link.partition("#")[0]))
    root = folder.resolve()
    path = (root / relative).resolve()
    if relative.is_absolute() or not path.is_relative_to(root):
        return None
    hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
    kind = path.suffix.lower().removeprefix(".") in SUFFIXES
    return path if kind and not hidden else None
