"""The words that a piece of Markdown or HTML shows, or holds in its attributes, without the marks around them.

What a sentence carries besides its running text (alt texts, titles of links, cells) are parts of their own. Halves of
marks are taken off too: a piece may end within an alt text of two sentences.

And the furniture around a document's sentences: datelines, embargo and release lines, contacts, end marks, headings.
None of it states anything that can be checked or that supports a claim. A line with a finite verb is never furniture:
whoever writes a statement into an embargo line has it checked.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

from redargue.nli.grammar import has_finite_verb

_NOT_MORE = r"(?![ \t]*+[$€£¥]?\d)"  # "> 50 %" is more than that, not a quotation
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[\w+#.-]*[ \t]*$", re.MULTILINE)
_UNDERLINE = re.compile(r"^[ \t]*(?:=+|-{2,}|[*_]{3,})[ \t]*$", re.MULTILINE)
_QUOTE = re.compile(rf"^(?:[ \t]*>)+{_NOT_MORE}[ \t]?", re.MULTILINE)
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
EMBEDDED_IMAGE = r"(?P<image>!\[[^\[\]\n]{0,1000}\])\(<?data:[^()\s]*\)"  # in Markdown: its address is the image itself
_IMAGE = re.compile(r"!\[(?P<alt>[^\[\]]*)(?:\]\((?P<to>[^()]*)\)?|\]\[[^\[\]]*\]|\]|\Z)")
_TARGET = re.compile(r"\]\(\s*[^\s()\"']*(?:\([^\s()]*\)[^\s()\"']*)*(?:\s+(?P<title>[\"'(][^)]{0,2000}))?(?:\)|\Z)")
_ENDED = "\0"  # where the words of a link end; a text has no such character
_ASIDE_LINK = re.compile(rf"\s*\(\[([^\[\]]*){_ENDED}\)")  # "([source](…))"
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
_EMPHASIS = re.compile(r"(?<![\w*\\])([*_])(?=[^\s*_])([^*_\n]*[^\s*_\\])\1(?![\w*])")
_CELL = re.compile(r"(?<!\\)\|")
_ASIDE = re.compile(r"\([^()]+\)")
_ONE_TAG = re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>")
_EDGES = " \t\n*_"
_SUPERSCRIPTS = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")
_NUMBER = re.compile(r"\s*(?=\S)[-+−–]?\d{0,4}[-+−–]?\s*")
_RAISED = re.compile(r"<sup>([^<>]{1,20})</sup>", re.IGNORECASE)
_WITHIN_WORDS = re.compile(r"</?(?:b|em|i|span|strong|su[bp]|wbr)\b", re.IGNORECASE)


def superscript(text: str) -> str:
    """A raised number in superscript characters, as 10<sup>6</sup> is not 106; any other text as it is."""
    return text.strip().translate(_SUPERSCRIPTS) if _NUMBER.fullmatch(text) else text


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
        space = hold(
            *(each["value"] for each in _ATTRIBUTE.finditer(match[0])), *([bare] if len(bare.split()) > _BARE else [])
        )
        return "" if _WITHIN_WORDS.match(match[0]) else space

    label = bool(_LABEL_TAG.match(piece) or _UNDERLINE.search(piece))
    text = _UNDERLINE.sub("", _CALLOUT.sub("", _QUOTE.sub("", _FENCE.sub("", piece))))
    text = _REFERENCE.sub(lambda match: hold(match["title"]), text)
    text = _ASIDE_LINK.sub(lambda match: hold(match[1])[1:], _TARGET.sub(target, _IMAGE.sub(image, text)))
    text = _RAISED.sub(lambda raised: superscript(raised[1]), _LINKED.sub(r"\1", text))
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
    text = _EMPHASIS.sub(r"\2", " ".join(_MARKS.sub("", _DEFINITION.sub("", text, count=1)).split()))
    text = text[1:-1] if _ASIDE.fullmatch(text) and has_finite_verb(text) else text
    unlabelled = _LABELLED.sub("", text)
    return unlabelled if has_finite_verb(unlabelled) else text


def is_silent(piece: str) -> bool:
    """Whether a piece is one tag that holds no words: a client shows nothing of it."""
    return _ONE_TAG.fullmatch(piece.strip()) is not None and not any(part.text for part in parts(piece))


_MONTH = r"(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*\.?"
_DATE = (
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)?\.? {_MONTH},?(?: \d{{4}})?|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?"
    r"|\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4})"
)
_CAPITALS = r"[A-ZÀ-Þ][A-ZÀ-Þ.'’-]+(?: [A-ZÀ-Þ][A-ZÀ-Þ.'’-]*){0,3}"
_PLACE = r"[A-ZÀ-Þ][\w.'’-]+(?: [A-ZÀ-Þ][\w.'’-]*){0,3}"
_AGENCY = r"\([A-Z][\w ./&-]{1,40}\)"
_DASH = r"\s*(?:[–—]|--?)\s+"
_DATELINE = re.compile(
    rf"(?:(?:{_PLACE}(?:, {_PLACE}){{0,2}}, ?|{_CAPITALS} ){_DATE}(?: ?/?{_AGENCY})?"  # BERLIN, 12 May 2026
    rf"|{_DATE},? {_PLACE}(?: ?{_AGENCY})?"
    rf"|{_CAPITALS}(?:, {_PLACE}){{0,2}} ?{_AGENCY}"  # LONDON (Reuters)
    rf"|(?=[^–—-]{{4,}}){_CAPITALS}(?:, {_PLACE})?(?={_DASH}[A-ZÀ-Þ\"“]))"  # LONDON
    rf"{_DASH}(?=\S)"
)
_TELEPHONE = (  # 9 to 15 digits, as no hours, years or amounts have them
    r"(?:(?:\+\d|\(?0\d)(?:[ ()/.-]{0,3}\d){7,13}|(?:\+?1[ .-])?\(?\d{3}\)?[ .-]{1,2}\d{3}[ .-]\d{4})(?!\d)"
)
_ADDRESS = r"[\w.+-]+@[\w-]+\.[\w.-]+|(?:https?://|www\.)\S+"
_POSTAL = r"(?-i:\d{1,5}[A-Za-z]?,? (?=[A-ZÀ-Þ])|[A-Z]{1,2}\d{1,2}[A-Z]? \d[A-Z]{2}\b|[A-Z]{2} \d{5}\b)"
_CALLED = rf"(?>{_ADDRESS}|{_TELEPHONE}|{_POSTAL}|[^\d\n])*+"  # no other figure
_TIME = r"\d{1,2}(?:[:.]\d\d(?:\s?[ap]\.?m\b)?|\s?[ap]\.?m\b)"
_LINE = re.compile(
    rf"(?:strictly )?(?:under )?embargo(?:ed)?(?:\s*:| until| till| for)?(?>{_DATE}|{_TIME}|20\d\d\b|[^!?\n\d]){{0,80}}"
    r"|(?:not )?for (?:immediate )?(?:release|publication|broadcast)(?: (?:on|before|until|at)?[^.!?\n]{0,60})?"
    r"|not for (?:release|publication|broadcast) (?:before|until) [^!?\n]{0,60}"
    r"|(?:news|press|media) (?:release|information|statement|notice)"
    rf"(?:\W+(?:{_DATE}|[^\W\d]+|\d[\d/-]*+(?!\s*\w))){{0,9}}"
    r"|(?:(?:press|media|investor|editorial|public|corporate|general|sales)\s(?:and \w+ )?)?"
    r"(?:contacts?|enquir(?:y|ies)|inquir(?:y|ies)|relations|office)\s*:"
    rf"{_CALLED}"
    r"|(?:press|media|investor|editorial)\scontacts?"
    rf"|for (?:further|more|additional|all) (?:information|details|enquiries|inquiries)\b{_CALLED}"
    rf"|(?:tel(?:ephone)?|phone|fax|mobile|cell|e-?mail|web(?:site)?|twitter|linkedin)\.?\s*:{_CALLED}"
    r"|(?:tel(?:ephone)?|phone|fax)\.?\s*:\s*\d[\d ()/-]{4,16}"  # of a local number
    rf"|(?:(?:(?!\d)[\w.'’ -]){{1,60}}[,;:|]\s*){{0,3}}(?:{_TELEPHONE}|{_ADDRESS})"
    rf"(?:\s*[,;|/]?\s*(?:{_TELEPHONE}|{_ADDRESS})){{0,3}}"
    r"|notes? (?:to|for) (?:the )?editors?|editors?['’] notes?"
    r"|about (?:the |our )?(?-i:[A-ZÀ-Þ])[\w.'’&-]{0,40}(?: [\w.'’&-]{1,40}){0,4}|boilerplate"
    r"|(?:copyright )?© ?[^!?\n]{0,120}|copyright (?:19|20)\d\d[^!?\n]{0,120}|all rights reserved"
    r"|ends?|# ?# ?#+|- ?30 ?-"
    r"|page \d+(?: of \d+)?|\d+ ?(?:/|of) ?\d+|\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}",
    re.IGNORECASE,
)
_LONGEST = 300  # characters of such a line
_CONTACT = re.compile(  # a heading whose lines say who may be asked
    r"[ \t>#*_]*(?:(?:press|media|investor|editorial)\s(?:and \w+ )?)?(?:contacts?|enquiries|inquiries)[ \t:*_]*\r?\n"
    r"(?:[ \t]*\r?\n)?",
    re.IGNORECASE,
)
_CONTACT_LINE = re.compile(r"[ \t]*\S[^\n]{0,120}(?:\n|\Z)")
_CONTACT_LINES = 6
_FIXED = re.compile(  # words and dates that state nothing, whatever they look like
    rf"{_DATE}|\b(?:for (?:immediate )?(?:release|publication|broadcast)|(?:news|press|media) release|embargoed|contact"
    r"|all rights reserved|ends?|before|until)\b|\b\d{1,2}(?:[:.]\d\d)?\s?[ap]\.?m\b",
    re.IGNORECASE,
)
_LINE_EDGES = " \t\r\n.:;,–—-*_#|>"


def without_dateline(sentence: str) -> str:
    """The sentence without a leading "BERLIN, 12 May 2026 –" or "LONDON (Reuters) -"."""
    dateline = _DATELINE.match(sentence)
    return sentence[dateline.end() :] if dateline else sentence


def has_dateline(line: str) -> bool:
    return _DATELINE.match(line) is not None


def contact_block(text: str, start: int = 0) -> int:
    """The end of "Media contact" and the lines below it without a verb; ``start`` if no such block begins there."""
    heading = _CONTACT.match(text, start)
    if heading is None:
        return start
    at = heading.end()
    for _ in range(_CONTACT_LINES):
        line = _CONTACT_LINE.match(text, at)
        if line is None or has_finite_verb(line[0]):
            break
        at = line.end()
    return at if at > heading.end() else start


def is_furniture(line: str) -> bool:
    """Whether a line or a sentence only accompanies a document, and states nothing."""
    if re.fullmatch(r"\s*(?:# ?){3,}\s*", line):
        return True
    bare = line.strip(_LINE_EDGES)
    if not 0 < len(bare) <= _LONGEST or not _LINE.fullmatch(bare):
        return False
    return not has_finite_verb(_FIXED.sub("", bare))


HEADINGS_WORDS = 9
_CAPITAL = re.compile(r"\s*(?:#+\s+|\*\*|__)?[A-ZÀ-Þ]")
_ENDS = frozenset(".!?…;,:")
_SECTION = re.compile(
    rf"\s*\d{{1,2}}(?:\.\d{{1,2}}){{0,3}}\.?\s+(?=[A-ZÀ-Þ])(?!{_MONTH}(?:\s|\Z))"
)  # "2.1 Depth", not "12 May"


def is_heading(line: str) -> bool:
    """Whether a line by itself reads as a heading: a few words without a verb, a figure or a final stop."""
    number = _SECTION.match(line)
    line = line[number.end() :] if number else line
    words = line.split()
    if not 0 < len(words) <= HEADINGS_WORDS or not _CAPITAL.match(line) or words[-1][-1] in _ENDS:
        return False
    return re.search(r"[\d|:=]", line) is None and not has_finite_verb(line)
