"""What a document has around its sentences: datelines, embargo and release lines, contacts, end marks, headings.

None of it states anything that can be checked or that supports a claim. A line with a finite verb is never furniture:
whoever writes a statement into an embargo line has it checked.
"""

from __future__ import annotations

import re

from redargue.nli.grammar import has_finite_verb

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
_TELEPHONE = r"\+?\d[\d ()/.-]{7,40}+"
_ADDRESS = r"[\w.+-]+@[\w-]+\.[\w.-]+|(?:https?://|www\.)\S+"
_LINE = re.compile(
    r"(?:strictly )?(?:under )?embargo(?:ed)?(?:\s*:| until| till| for)?[^!?\n]{0,80}"
    r"|(?:not )?for (?:immediate )?(?:release|publication|broadcast)(?: (?:on|before|until|at)?[^.!?\n]{0,60})?"
    r"|not for (?:release|publication|broadcast) (?:before|until) [^!?\n]{0,60}"
    r"|(?:news|press|media) (?:release|information|statement|notice)(?:\W+[\w ,./-]{0,40})?"
    r"|(?:(?:press|media|investor|editorial|public|corporate|general|sales)\s(?:and \w+ )?)?"
    r"(?:contacts?|enquir(?:y|ies)|inquir(?:y|ies)|relations|office)\s*:[^\n]{0,120}"
    r"|(?:press|media|investor|editorial)\scontacts?"
    r"|for (?:further|more|additional|all) (?:information|details|enquiries|inquiries)\b[^\n]{0,120}"
    r"|(?:tel(?:ephone)?|phone|fax|mobile|cell|e-?mail|web(?:site)?|twitter|linkedin)\.?\s*:[^\n]{0,120}"
    rf"|(?:[\w.'’ -]{{1,60}}[,;:|]\s*){{0,3}}(?:{_TELEPHONE}|{_ADDRESS})"
    rf"(?:\s*[,;|/]?\s*(?:{_TELEPHONE}|{_ADDRESS})){{0,3}}"
    r"|notes? (?:to|for) (?:the )?editors?|editors?['’] notes?"
    r"|about (?:the |our )?(?-i:[A-ZÀ-Þ])[\w.'’&-]{0,40}(?: [\w.'’&-]{1,40}){0,4}|boilerplate"
    r"|ends?|# ?# ?#+|- ?30 ?-"
    r"|page \d+(?: of \d+)?|\d+ ?(?:/|of) ?\d+",
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
    r"|ends?|before|until)\b|\b\d{1,2}(?:[:.]\d\d)?\s?[ap]\.?m\b",
    re.IGNORECASE,
)
_EDGES = " \t\r\n.:;,–—-*_#|>"


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
    bare = line.strip(_EDGES)
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
