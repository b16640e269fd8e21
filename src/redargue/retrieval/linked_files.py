"""Files beside a text that it links by a relative path: ``[report](sources/report.pdf)``.

Only documents inside the folder of the text are read, and only where the user named the text as a file: an article may
be a stranger's. Links out of the folder, hidden files and other kinds of files are not followed.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from redargue.errors import UnreadableFile
from redargue.evidence import Passage
from redargue.retrieval.corpus.ingest import read_file
from redargue.retrieval.web_pages import Fetched, WebPage, reason_of
from redargue.sanitize import printable

SUFFIXES = ("pdf", "docx", "odt", "rtf", "xlsx", "eml", "html", "htm", "md", "txt")
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
