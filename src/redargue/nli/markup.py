"""The words that a piece of Markdown or HTML shows, or holds in its attributes, without the marks around them.

What a sentence carries besides its running text (alt texts, titles of links, cells) are parts of their own. Halves of
marks are taken off too: a piece may end within an alt text of two sentences.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

from redargue.nli.grammar import has_finite_verb

_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[\w+#.-]*[ \t]*$", re.MULTILINE)
_UNDERLINE = re.compile(r"^[ \t]*(?:=+|-{2,}|[*_]{3,})[ \t]*$", re.MULTILINE)
_QUOTE = re.compile(r"^(?:[ \t]*>)+[ \t]?", re.MULTILINE)
_CALLOUT = re.compile(r"\[![A-Za-z]+\][+-]?")
_HEADING = re.compile(r"\A\s*#{1,6}(?=[\s\w])\s*")
_HEADING_END = re.compile(r"(?<!\s)\s+#+\s*\Z")
_MARKER = re.compile(r"\A\s*(?:[*•+–-]|\(?\d{1,3}[.)]|\(?[A-Za-z]\))\s+(?=\S)")
_TASK = re.compile(r"\A\s*\[[ xX]?\]\s+")
_DEFINITION = re.compile(r"\A\s*(?:\[\^[^\]\s]+\])?:\s+")
_BOLD = re.compile(r"\s*(?:\*\*[^*]+\*\*|__[^_]+__|\*[^*]+\*|_[^_]+_)\s*:?\s*\Z")
_LABELLED = re.compile(  # a caption's label
    r"\A\s*(?:figure|fig\.|table|tab\.|image|photo|picture|chart|diagram|map|exhibit|box|caption|source)"
    r"\s*(?:\d+[a-z]?)?(?:\.\d+)*\s*[:.–—-]\s*(?=\S)",
    re.IGNORECASE,
)
_IMAGE = re.compile(r"!\[(?P<alt>[^\[\]]*)(?:\]\((?P<to>[^()]*)\)?|\]\[[^\[\]]*\]|\]|\Z)")
_TARGET = re.compile(r"\]\(\s*[^\s()\"']*(?:\s+(?P<title>[\"'(][^)]{0,2000}))?(?:\)|\Z)")
_ENDED = "\0"  # where the words of a link end; a text has no such character
_LINKED = re.compile(rf"\[([^\[\]]*){_ENDED}|{_ENDED}")
_REFERENCE = re.compile(r"^[ \t]*\[[^\[\]^]+\]:[ \t]*\S+(?:[ \t]+(?P<title>[\"'(].*))?$", re.MULTILINE)
_ATTRIBUTE = re.compile(
    r"\b(?:alt|title|aria-\w+|summary|label|content|placeholder|caption)\s*=\s*(?P<mark>[\"'])(?P<value>.*?)(?:(?P=mark)|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_VALUE = re.compile(r"[\w:-]+\s*=\s*(?:\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)|[^\s\"'<>]+)")
_TAG = re.compile(
    r"(?!(?<=\s)<[a-z]\w*>[\s.,])</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>|<[A-Za-z][\w-]*\s(?=[^<>=]*=)[^<>]*+\Z|<!--|-->"
)
_BARE = 3  # words of a tag that are no attribute's value: `<input disabled required>` has three
_LABEL_TAG = re.compile(r"\s*<(?:h[1-6]|caption|figcaption|summary|th|td|dt|title|b|strong)\b", re.IGNORECASE)
_MARKS = re.compile(r"\*\*|__|`|~~")
_CELL = re.compile(r"(?<!\\)\|")
_ASIDE = re.compile(r"\([^()]+\)")
_ONE_TAG = re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>")
_EDGES = " \t\n*_"


class _Part(NamedTuple):
    """Words of a piece; ``label``: they are where mere labels are, as in a heading, a cell or an alt text."""

    text: str
    label: bool


def parts(piece: str) -> Iterator[_Part]:
    """The running text first, then what marks and tags hold."""
    held: list[str] = []

    def hold(*texts: str | None) -> str:
        held.extend(html.unescape(text) for text in texts if text and re.search(r"\w", text))
        return " "

    def image(match: re.Match[str]) -> str:
        return hold(match["alt"], (match["to"] or "").strip().partition(" ")[2])

    def target(match: re.Match[str]) -> str:
        hold(match["title"])
        return _ENDED

    def tag(match: re.Match[str]) -> str:
        bare = _VALUE.sub("", match[0]).strip("</!->")
        return hold(
            *(each["value"] for each in _ATTRIBUTE.finditer(match[0])), *([bare] if len(bare.split()) > _BARE else [])
        )

    label = bool(_LABEL_TAG.match(piece) or _UNDERLINE.search(piece))
    text = _UNDERLINE.sub("", _CALLOUT.sub("", _QUOTE.sub("", _FENCE.sub("", piece))))
    text = _REFERENCE.sub(lambda match: hold(match["title"]), text)
    text = _LINKED.sub(r"\1", _TARGET.sub(target, _IMAGE.sub(image, text)))
    yield from _running(html.unescape(_TAG.sub(tag, text)), label)
    yield from (_Part(_plain(each.strip("\"'() ")), True) for each in held)


def _running(text: str, label: bool) -> Iterator[_Part]:
    text = _TASK.sub("", _MARKER.sub("", text, count=1), count=1)
    if text.lstrip().startswith("|"):
        yield from (_Part(_plain(cell), True) for cell in _CELL.split(text) if re.search(r"\w", cell))
    elif label or _HEADING.match(text) or _BOLD.fullmatch(text):
        yield _Part(_plain(_HEADING_END.sub("", _HEADING.sub("", text, count=1)).strip(_EDGES)), True)
    else:
        yield _Part(_plain(text), False)


def _plain(text: str) -> str:
    text = " ".join(_MARKS.sub("", _DEFINITION.sub("", text, count=1)).split())
    text = text[1:-1] if _ASIDE.fullmatch(text) and has_finite_verb(text) else text
    unlabelled = _LABELLED.sub("", text)
    return unlabelled if has_finite_verb(unlabelled) else text


def is_silent(piece: str) -> bool:
    """Whether a piece is one tag that holds no words: a client shows nothing of it."""
    return _ONE_TAG.fullmatch(piece.strip()) is not None and not any(part.text for part in parts(piece))
