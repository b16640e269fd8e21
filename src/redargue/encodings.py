"""Decodes plain text: UTF-8, UTF-16, and what older programs save as "ANSI" (Windows-1252, a superset of Latin-1)."""

from __future__ import annotations

import codecs
import re
import warnings

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UNDEFINED = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x81\x83\x86-\x89\x8b\x8d\x8f\x90\x98\x9d]")  # or rare


class NotUtf8(UserWarning):
    """A text was read in another encoding than UTF-8."""


class NotText(ValueError):
    """Content that is not text, or damaged UTF-8; the message says where."""


def decode(content: bytes, name: str) -> str:
    """The text without a byte order mark; warns (:class:`NotUtf8`) if it was read as UTF-16 or Windows-1252.

    UTF-16 needs its byte order mark. Content that is UTF-8 up to a byte, with characters beyond ASCII, is damaged
    rather than in another encoding.

    Args:
        content: of a file or of standard input.
        name: of the file, for the warning.

    Raises:
        NotText: the content is not text.
    """
    encoding = encoding_of(content)
    if encoding != "utf-8":
        warn_of(name, encoding)
    return content.decode(encoding, errors="replace").removeprefix("\ufeff")


def encoding_of(content: bytes) -> str:
    """The codec of a text; raises NotText if the content is not text."""
    if content.startswith(UTF_16):
        try:
            content.decode("utf-16")
        except UnicodeDecodeError as error:
            raise NotText(f"not UTF-16 at byte {error.start:,}") from None
        return "utf-16"
    if b"\0" in content:
        raise NotText(f"not a text file: NUL byte at byte {content.index(0):,}")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        if not content[: error.start].isascii() or not_windows(content):
            raise NotText(f"not UTF-8 at byte {error.start:,}") from None
        return "cp1252"
    return "utf-8"


def warn_of(name: str, encoding: str) -> None:
    called = {"utf-16": "UTF-16", "cp1252": "Windows-1252 (Latin-1)"}[encoding]
    warnings.warn(f"{name} is not UTF-8 and was read as {called}; check its accented letters", NotUtf8, stacklevel=3)


def not_windows(content: bytes) -> bool:
    """Whether content has bytes that no text in Windows-1252 has."""
    return bool(_UNDEFINED.search(content))
