"""Makes untrusted text safe to display."""

from __future__ import annotations

import codecs
import re
import unicodedata
import warnings
from urllib.parse import urlsplit

# Decodes plain text: UTF-8, UTF-16, and what older programs save as "ANSI" (Windows-1252, a
# superset of Latin-1).


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


def printable(text: str, *, lines: bool = True) -> str:
    """The text without control characters and changes of direction; line breaks become spaces unless ``lines``."""
    return text.translate(_REMOVED_EXCEPT_LINE_BREAKS if lines else _REMOVED)


OVERRIDES = "".join(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))  # reverse what follows
TAGS = "".join(map(chr, range(0xE0000, 0xE0080)))  # letters that only a model reads
INVISIBLE = frozenset(
    chr(code)
    for first, last in (
        *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
        *((0x200B, 0x200F), (0x2060, 0x2065), (0x206A, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)),
        *((0xFFA0, 0xFFA0), (0xFFF9, 0xFFFB), (0x1D173, 0x1D17A), (0xE0100, 0xE01EF)),
    )
    for code in range(first, last + 1)
).union(OVERRIDES, TAGS)
"""Characters that no reader sees: controls of format and direction, fillers, selectors of variants, tags."""

_CONTROLS = (*range(0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000), 0x2028, 0x2029)
_DIRECTIONS = (0x061C, 0x200E, 0x200F, *map(ord, OVERRIDES))
_REMOVED = {code: " " if chr(code).isspace() else None for code in (*_CONTROLS, *_DIRECTIONS)}
_REMOVED_EXCEPT_LINE_BREAKS = {code: char for code, char in _REMOVED.items() if code != ord("\n")}


_UNSEEN = ("Cf", "Cc", "Mn", "Zs", "Zl", "Zp")  # Unicode categories
_FORMULA = tuple("=+-@\t\r\n＝＋－＠﹢﹣﹦﹫")


def csv_cell(cell: object, *, lines: bool = True) -> str:
    """A cell without control characters that no spreadsheet reads as a formula; None is empty.

    Spreadsheets skip spaces and characters without width before the sign of a formula.
    """
    raw = "" if cell is None else str(cell)
    text = printable(raw, lines=lines)
    visible = "".join(char for char in text[:100] if not char.isspace() and unicodedata.category(char) not in _UNSEEN)
    return f"'{text}" if raw.startswith(_FORMULA) or visible.startswith(_FORMULA) else text


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 call``, ``2 calls``, ``1,000 searches``."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def shortened(text: str, length: int = 80) -> str:
    """The text on one line and without control characters, cut to a number of characters."""
    line = " ".join(printable(text, lines=False).split())
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"


def link_address(url: str) -> str | None:
    """The address if it may be a link: http or https, with a host, no user name and no unusual character; else None."""
    address = url.strip()
    if (
        address != printable(address, lines=False)
        or re.search(r"[\s<>\"'\\`{}|^]", address)
        or not re.match(r"https?://", address, re.IGNORECASE)
    ):
        return None
    try:
        parts = urlsplit(address)
        return address if parts.hostname and parts.username is None and parts.password is None else None
    except ValueError:
        return None
