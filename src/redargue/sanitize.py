"""Makes untrusted text safe to display."""

from __future__ import annotations

import codecs
import re
import unicodedata
import warnings
from collections import Counter
from urllib.parse import urlsplit

# Plain text is UTF-8, UTF-16, or what older programs save as "ANSI": Windows-1252, a superset of Latin-1.
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", **dict.fromkeys(UTF_16, "utf-16")}
_RARE = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x81\x83\x86-\x89\x8b\x8d\x8f\x90\x98\x9d]")


class NotUtf8(UserWarning):
    """A text was read in another encoding than UTF-8."""


class NotText(ValueError):
    """Content that is not text, or damaged UTF-8; the message says where."""


def decode(content: bytes, name: str) -> str:
    """The text without a byte order mark; warns (:class:`NotUtf8`) if it was read as UTF-16 or Windows-1252.

    UTF-16 needs its byte order mark. Content that is UTF-8 up to a byte, with characters beyond ASCII, is damaged
    rather than in another encoding. Raises NotText if it is not text. ``name``: of the file, for the warning.
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


_DECLARED = re.compile(
    rb"(?:<meta[^>]{0,200}?charset|\A\s*<\?xml[^>]{0,100}?encoding)\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE
)
# What pages that name the one are written in: https://encoding.spec.whatwg.org/#names-and-labels
_READ_AS = {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "tis-620": "cp874"}
_READ_AS |= {"gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs"}


def declared_charset(page: bytes) -> str:
    """The character set that an HTML page names in its first kilobyte; empty if it names none that can be its own."""
    match = _DECLARED.search(page[:1024])
    name = match[1].decode("ascii", errors="ignore") if match else ""
    return "" if name.casefold().startswith("utf-16") else name  # in which the name would not be found


def saved_as(page: bytes) -> str:
    """The character set of an HTML file by its own words; empty if it names none, or is UTF-8 nevertheless."""
    try:
        page.decode()
    except UnicodeDecodeError:
        return declared_charset(page)
    return declared_charset(page) if page.isascii() else ""


def page_text(content: bytes, charset: str = "") -> str:
    """A page or e-mail in the character set of its byte order mark, its header or itself, else UTF-8 or "ANSI".

    As in browsers, one that names ISO-8859-1 is read as Windows-1252, and a name that is unknown as none.
    """
    marked = next((codec for mark, codec in _MARKS.items() if content.startswith(mark)), "")
    try:
        named = next(filter(None, map(_codec, (marked, charset, declared_charset(content)))), "")
        return content.decode(named or encoding_of(content), errors="replace")
    except (LookupError, ValueError):  # no text, or a codec that does not decode to text
        return content.decode("utf-8", errors="replace")


def _codec(charset: str) -> str:
    try:
        name = codecs.lookup(charset).name if charset else ""
    except (LookupError, ValueError):
        return ""
    return _READ_AS.get(name, name)


def warn_of(name: str, encoding: str) -> None:
    called = {"utf-16": "UTF-16", "cp1252": "Windows-1252 (Latin-1)"}[encoding]
    message = f"{name} is not UTF-8 and was read as {called}; check its accented letters"
    warnings.warn(message, NotUtf8, stacklevel=3)


def not_windows(content: bytes) -> bool:
    """Whether content has bytes that no text in Windows-1252 has."""
    return bool(_RARE.search(content))


LIGATURES = {chr(code): unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}  # "ﬁ", of PDF files


def printable(text: str, *, lines: bool = True) -> str:
    """The text without control characters and changes of direction; line breaks become spaces unless ``lines``."""
    return text.translate(_REMOVED_EXCEPT_LINE_BREAKS if lines else _REMOVED)


# Characters that reverse what follows.
OVERRIDES = "".join(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))
TAGS = "".join(map(chr, range(0xE0000, 0xE0080)))  # letters that only a model reads
_UNSEEN_RANGES = (
    "AD 34F 61C 115F-1160 17B4-17B5 180B-180F 200B-200F 2060-2065 206A-206F 3164 FE00-FE0F FEFF FFA0"
    " FFF9-FFFB 1D173-1D17A E0100-E01EF"
)
INVISIBLE = frozenset(
    chr(code)
    for first, *last in (each.split("-") for each in _UNSEEN_RANGES.split())
    for code in range(int(first, 16), int((last or [first])[0], 16) + 1)
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
    seen = (char for char in text[:100] if unicodedata.category(char) not in _UNSEEN)
    first = next((char for char in seen if not char.isspace()), "")
    return f"'{text}" if raw.startswith(_FORMULA) or first in _FORMULA else text


class RepeatedKey(ValueError):
    """A JSON object has a key several times; programs read different values of it."""


def unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A JSON object, for ``object_pairs_hook``; raises RepeatedKey."""
    found = dict(pairs)
    if len(found) < len(pairs):
        key, times = Counter(key for key, _ in pairs).most_common(1)[0]
        raise RepeatedKey(f"the key {shortened(key)!r} appears {times} times")
    return found


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
    plain = address == printable(address, lines=False)
    if not plain or not re.fullmatch(r"(?i:https?)://[^\s<>\"'\\`{}|^]*", address):
        return None
    try:
        parts = urlsplit(address)
        return address if parts.hostname and parts.username is parts.password is None else None
    except ValueError:
        return None
