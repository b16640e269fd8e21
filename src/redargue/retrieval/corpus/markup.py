"""The text and metadata of HTML pages and PDF files; both come from untrusted sources."""

from __future__ import annotations

import logging
from io import BytesIO

from redargue.errors import UnreadableFile

# Both log problems of a page or file; those that matter are raised as errors.
for _name in ("readability", "pypdf"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


def read_html(page: str) -> dict[str, str]:
    """The main text of a page and its metadata; raises UnreadableFile if the page has no text."""
    from html_text import parse_html

    from redargue.retrieval.corpus.page_metadata import page_metadata
    from redargue.retrieval.corpus.page_text import main_text

    try:
        tree = parse_html(page)
        metadata = page_metadata(tree)
        text = main_text(tree).strip()
    except Exception as error:  # parsers raise many types of errors on damaged pages
        raise UnreadableFile(f"damaged HTML: {error}") from error
    if not text:
        raise UnreadableFile("a page without text")
    return {"text": text, **metadata}


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
    return {"text": text, "title": " ".join(_storable(title).split())}


def _storable(text: str) -> str:
    """Removes NUL characters and unpaired surrogates, which broken character maps of PDF files produce."""
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
