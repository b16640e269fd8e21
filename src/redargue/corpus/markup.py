"""The text of HTML pages and PDF files, by trafilatura and pypdf; both read what strangers wrote."""

from __future__ import annotations

import logging
from io import BytesIO
from typing import Any

from redargue.errors import UnreadableFile

# Both log what they stumble over; what matters here reaches the user as an error.
for _name in ("trafilatura", "htmldate", "justext", "pypdf"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


def read_html(page: str) -> dict[str, str]:
    """The main text of a page, and the title, date, address and publisher that its own metadata state.

    Raises:
        UnreadableFile: the page holds no text.
    """
    import trafilatura  # 0.3 s

    try:
        found: Any = trafilatura.bare_extraction(
            page,
            with_metadata=True,
            include_comments=False,
            # Without this, the first date in the running text would become the page's.
            date_extraction_params={"extensive_search": False, "original_date": True},
        )
        text = (found.text if found else "") or trafilatura.html2txt(page)
    except Exception as error:  # whatever a parser raises over a damaged page, the next file is read
        raise UnreadableFile(f"damaged HTML: {error}") from error
    if not text.strip():
        raise UnreadableFile("a page without text")
    stated = (found.title, found.url, found.sitename, found.date) if found else ("",) * 4
    known = zip(("title", "url", "publisher", "published"), stated, strict=True)
    return {"text": text.strip(), **{name: " ".join(value.split()) for name, value in known if value}}


def read_pdf(file: BytesIO) -> dict[str, str]:
    """The text layer of a PDF file, with a blank line between pages, and the title from its metadata.

    Raises:
        UnreadableFile: the file is encrypted, damaged, or contains no text.
    """
    import pypdf  # 0.2 s
    from pypdf.errors import DependencyError, FileNotDecryptedError

    try:
        reader = pypdf.PdfReader(file)
        if reader.is_encrypted and not reader.decrypt(""):
            raise FileNotDecryptedError
        pages = [page.extract_text() for page in reader.pages]
        title = str((reader.metadata and reader.metadata.title) or "")
    except (FileNotDecryptedError, DependencyError):
        raise UnreadableFile("the PDF is encrypted", hint="save it without a password") from None
    except Exception as error:  # pypdf raises many types of errors on damaged files
        raise UnreadableFile(f"the PDF is damaged: {error}") from error
    text = _storable("\n\n".join(page.strip() for page in pages if page.strip()))
    if not text:
        raise UnreadableFile("the PDF contains no text", hint="if it is scanned, run OCR on it first")
    return {"text": text, **({"title": " ".join(_storable(title).split())} if title else {})}


def _storable(text: str) -> str:
    """Removes NUL characters and unpaired surrogates, which broken character maps of PDF files produce."""
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
