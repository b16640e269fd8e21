"""Makes untrusted text safe to display."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import urlsplit


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
