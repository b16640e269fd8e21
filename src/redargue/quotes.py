"""Finds a quotation in the passages that an agent saw.

Only what typography changes may differ (spaces, quotation marks, dashes, ligatures, a hyphen at a line break); a word,
a digit or a sign may not.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from redargue.evidence import Passage, Quote, QuoteStatus, Side

_EQUIVALENT = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\u0060\u00b4", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63", "-"),
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),
    "\u2026": "...",
    **{chr(code): unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)},  # ligatures
    **{chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},  # full-width forms
}
# NFKC as a whole would also turn 10² into 102, another number.

_NEGATIONS = frozenset("not never no nor neither cannot without hardly scarcely nobody none nothing".split())
_LINE_BREAK_HYPHEN = re.compile(r"(?<=\w)-[ \t]*\r?\n\s*(?=[a-z])")
_INSIDE_WORDS = frozenset("-'.,")


def find_quote(text: str, passages: tuple[Passage, ...], *, side: Side = Side.CONTEXT, agent: str = "") -> Quote:
    """Finds a quotation in the passages an agent saw: verbatim in any of them, otherwise repaired.

    A quotation has to begin and end at word boundaries, and must not begin right after a negation that it leaves out.
    """
    best: Quote | None = None
    for passage in passages:
        span = _find(text, passage.text)
        if span is None:
            continue
        start, end = span
        quoted = passage.text[start:end]
        status = QuoteStatus.VERIFIED if quoted == text.strip() else QuoteStatus.REPAIRED
        quote = Quote(
            text=quoted,
            status=status,
            start=start,
            end=end,
            offset=passage.start + start,
            passage=passage.sha256,
            source=passage.source(),
            side=side,
            agent=agent,
        )
        if status is QuoteStatus.VERIFIED:
            return quote
        best = best or quote
    return best or Quote(text=text, status=QuoteStatus.NOT_FOUND, side=side, agent=agent)


@lru_cache(maxsize=128)
def _normalised(text: str) -> tuple[str, list[int]]:
    """The text as it is compared, and the original offset of each of its characters.

    White space is kept only between two letters or digits (so that "Smith , Inc ." equals "Smith, Inc.").
    """
    pairs: list[tuple[str, int]] = []
    index = 0
    while index < len(text):
        stop = index + 1
        while stop < len(text) and unicodedata.combining(text[stop]):
            stop += 1
        cluster = unicodedata.normalize("NFC", text[index:stop])
        for char in cluster:
            pairs += [(mapped, index) for mapped in (" " if char.isspace() else _EQUIVALENT.get(char, char))]
        index = stop
    joined = "".join(char for char, _ in pairs)
    for marks in ("''", "``"):  # the Penn Treebank's quotation marks, which FEVER's pages keep
        joined = joined.replace(marks, '"\0')
    kept: list[tuple[str, int]] = []
    gap = False
    for char, (_, origin) in zip(joined, pairs, strict=True):
        if char in "\0 ":
            gap = gap or char == " "
            continue
        if gap and kept and kept[-1][0].isalnum() and char.isalnum():
            kept.append((" ", origin))
        gap = False
        kept.append((char, origin))
    return "".join(char for char, _ in kept), [origin for _, origin in kept]


def _find(quote: str, text: str) -> tuple[int, int] | None:
    needle, _ = _normalised(quote)
    if not re.search(r"\w", needle):
        return None
    # A line-break hyphen may belong to the word or to the line: both readings are tried.
    joined = _LINE_BREAK_HYPHEN.sub(lambda match: "\u00ad" * len(match.group()), text)
    for variant in (text,) if joined == text else (text, joined):
        hay, origins = _normalised(variant)
        for spelling in _spellings(needle):
            at = hay.find(spelling)
            while at >= 0:
                stop = at + len(spelling)
                last = origins[stop - 1] + 1
                while last < len(text) and unicodedata.combining(text[last]):
                    last += 1
                cut = _cuts_word(variant, origins[at]) or _cuts_word(variant, last)
                if not cut and not _drops_negation(hay[:at]):
                    return origins[at], last
                at = hay.find(spelling, at + 1)
    return None


def _spellings(needle: str) -> tuple[str, ...]:
    """Variants of a quotation: without marks around it, ellipses or a closing mark; its first letter in either case."""
    forms = [needle]
    while True:
        bare = re.sub(r"^(?:\.\.\.)+|(?:\.\.\.)+[.,;:]*$", "", forms[-1])
        if bare[:1] in tuple("\"'"):
            bare = re.sub(r"^(.)(.+)\1[.,;:]*$", r"\2", bare, flags=re.DOTALL)
        if bare == forms[-1]:
            break
        forms.append(bare)
    forms += [form.rstrip(".,;:") for form in forms]
    forms += [form[0].swapcase() + form[1:] for form in forms if form]
    return tuple(form for form in dict.fromkeys(forms) if re.search(r"\w", form))


def _drops_negation(before: str) -> bool:
    word = re.search(r"([\w']+)[ \"'(\[]*$", before)
    return word is not None and (word.group(1).lower() in _NEGATIONS or word.group(1).lower().endswith("n't"))


def _cuts_word(text: str, at: int) -> bool:
    left, right = text[at - 1 : at] if at else "", text[at : at + 1]
    if not left or not right or left.isspace() or right.isspace():
        return False
    beyond_left, beyond_right = text[max(0, at - 2) : at - 1], text[at + 1 : at + 2]
    mark_left, mark_right = _EQUIVALENT.get(left, left), _EQUIVALENT.get(right, right)
    if left.isalnum() and right.isalnum():
        return True
    if right.isalnum() and mark_left in _INSIDE_WORDS:  # un-|known, -|5, 1.|5, can'|t
        if left in "—―" and not right.isdigit():
            return False
        return (mark_left == "-" and (right.isdigit() or beyond_left.isalnum())) or (
            mark_left != "-" and beyond_left.isalnum() and (mark_left == "'" or (beyond_left + right).isdigit())
        )
    if left.isalnum() and mark_right in _INSIDE_WORDS:  # well|-known, can|'t, 1|.5
        if right in "—―" and not left.isdigit():
            return False
        return beyond_right.isalnum() and (mark_right in "-'" or (left + beyond_right).isdigit())
    return (left.isdigit() and right in "%‰°") or (left in "$€£¥" and right.isdigit())
