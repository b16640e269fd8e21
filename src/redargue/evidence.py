"""Evidence: passages that tools return, and quotations that code finds in them.

A quotation counts only if it stands in the passage its agent saw. What may differ is what typography changes (spaces,
quotation marks, dashes, ligatures, a line-break hyphen); a word, a digit or a sign may not.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, Literal

from pydantic import Field

from redargue.claims import Frozen


class Source(Frozen):
    """Where a piece of text comes from.

    Attributes:
        document: the corpus' or service's own identifier.
        title: the document's title.
        url: empty where there is none; never invented.
        publisher: who published it; empty where unknown.
        published: as the source states it (ISO date where it can be read); empty where undated.
        retrieved: when the tool returned it.
        tool: the tool's registered name.
        timing: against the day as of which the claim is judged; empty where the claim has none.
    """

    document: str = ""
    title: str = ""
    url: str = ""
    publisher: str = ""
    published: str = ""
    retrieved: datetime | None = None
    tool: str = ""
    timing: Literal["", "in time", "later", "undated"] = ""


def timing(published: str, as_of: date) -> Literal["in time", "later", "undated"]:
    """Whether something was published by the end of a day.

    Args:
        published: an ISO date or moment, or its beginning (``2021``, ``2021-03``); anything else is undated, and so is
            a beginning that holds the day.
        as_of: the day.
    """
    found = re.match(r"(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?(?!\d)", published)
    if not found:
        return "undated"
    given = tuple(int(part) for part in found.groups() if part)
    limit = (as_of.year, as_of.month, as_of.day)[: len(given)]
    if given == limit and len(given) < 3:
        return "undated"
    return "in time" if given <= limit else "later"


def timeless(value: Any) -> Any:
    """JSON without the moments at which passages were retrieved: what was found does not change with the clock."""
    if isinstance(value, dict):
        return {name: timeless(each) for name, each in value.items() if name != "retrieved"}
    return [timeless(each) for each in value] if isinstance(value, list) else value


class Passage(Source):
    """A piece of retrieved text.

    Attributes:
        text: exactly what the agent is shown.
        start: offset in characters of ``text`` in its document.
        query: what was asked of the tool.
        rank: 1 for the best.
        score: the tool's own score, comparable only within one answer of one tool; None where it gives none.
    """

    text: str
    start: int = 0
    query: str = ""
    rank: int = 1
    score: float | None = None

    @property
    def sha256(self) -> str:
        """Of the text shown, in UTF-8: names the passage whatever tool found it."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def source(self) -> Source:
        """Where the passage comes from, without its text."""
        return Source(**{name: getattr(self, name) for name in Source.model_fields})


class Recalled(Frozen):
    """A piece of evidence that the memory gave.

    Attributes:
        passage: as it is shown, cut where it was too long; ``retrieved`` is when its tool returned it.
        length: of its text in characters, before it was cut.
        number: of its record in the memory.
        status: ``empty`` for an earlier search that found nothing.
        arguments: of the call that found it.
        claims: it was found for.
        entities: that were asked for and that it stands under; empty where it was found by meaning alone.
        similarity: cosine of its vector and the claim's, in [-1, 1]; None where it was found by entity alone.
    """

    passage: Passage
    length: int
    number: int
    status: Literal["ok", "empty"] = "ok"
    arguments: dict[str, Any] = Field(default_factory=dict)
    claims: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    similarity: float | None = None


def first_in_time(passages: Sequence[Passage], k: int) -> tuple[tuple[Passage, ...], dict[str, int]]:
    """The first ``k`` that were published in time, and how many before the last of them were not, by why."""
    kept: list[Passage] = []
    left_out: Counter[str] = Counter()
    for passage in passages:
        if len(kept) == k:
            break
        if passage.timing == "in time":
            kept.append(passage.model_copy(update={"rank": len(kept) + 1}))
        else:
            left_out[passage.timing] += 1
    return tuple(kept), dict(sorted(left_out.items()))


class QuoteStatus(StrEnum):
    """Whether a quotation stands in its passage."""

    VERIFIED = "verified"
    REPAIRED = "repaired"
    NOT_FOUND = "not_found"


class Side(StrEnum):
    """What a quotation speaks for."""

    FOR = "for"
    AGAINST = "against"
    CONTEXT = "context"


class Quote(Frozen):
    """A span of a passage, found by code.

    Attributes:
        text: the passage's own characters where found; what was claimed where not.
        status: ``verified`` as it stands; ``repaired`` but for spaces and typography; ``not_found`` is no evidence.
        start: offset in characters in the passage's text; -1 where not found.
        end: one past the last character; -1 where not found.
        offset: of its first character in the text of its document; -1 where not found.
        passage: sha256 of the passage's text; empty where not found.
        source: where the passage comes from; None where not found.
        side: what it speaks for.
        agent: who quoted it.
    """

    text: str
    status: QuoteStatus
    start: int = -1
    end: int = -1
    offset: int = -1
    passage: str = ""
    source: Source | None = None
    side: Side = Side.CONTEXT
    agent: str = ""

    @property
    def found(self) -> bool:
        """Whether it may count as evidence."""
        return self.status is not QuoteStatus.NOT_FOUND


def find_quote(text: str, passages: tuple[Passage, ...], *, side: Side = Side.CONTEXT, agent: str = "") -> Quote:
    """Looks a quotation up in the passages an agent saw: verbatim in any of them first, then repaired.

    A quotation has to begin and end where words do, and may not begin right after a negation that it leaves out.
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


_SAME = {
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
_HIDDEN_HYPHEN = re.compile(r"(?<=\w)-[ \t]*\r?\n\s*(?=[a-z])")


@lru_cache(maxsize=128)
def cited(text: str, title: str = "") -> str:
    """A quotation and its source on one line, which nothing in either can break out of."""
    source = " ".join(title.replace('"', "'").split())
    return f'"{" ".join(text.split())}"' + (f" ({source})" if source else "")


def _plain(text: str) -> tuple[str, list[int]]:
    """The text as it is compared, and for each of its characters the offset it came from.

    White space stays only between two letters or digits (so that "Smith , Inc ." equals "Smith, Inc.").
    """
    chars: list[str] = []
    origins: list[int] = []
    index = 0
    while index < len(text):
        stop = index + 1
        while stop < len(text) and unicodedata.combining(text[stop]):
            stop += 1
        cluster = unicodedata.normalize("NFC", text[index:stop])
        for char in cluster:
            for mapped in " " if char.isspace() else _SAME.get(char, char):
                chars.append(mapped)
                origins.append(index)
        index = stop
    joined = "".join(chars)
    for pair in ("''", "``"):  # the Penn Treebank's quotation marks, which FEVER's pages keep
        joined = joined.replace(pair, '"\0')
    kept: list[str] = []
    kept_at: list[int] = []
    gap = False
    for char, origin in zip(joined, origins, strict=True):
        if char == "\0":
            continue
        if char == " ":
            gap = True
            continue
        if gap and kept and kept[-1].isalnum() and char.isalnum():
            kept.append(" ")
            kept_at.append(origin)
        gap = False
        kept.append(char)
        kept_at.append(origin)
    return "".join(kept), kept_at


def _find(quote: str, text: str) -> tuple[int, int] | None:
    """The span (start, end) of the quotation in the text, or None."""
    needle, _ = _plain(quote)
    if not re.search(r"\w", needle):
        return None
    # A line-break hyphen may belong to the word or to the line: both readings are tried.
    joined = _HIDDEN_HYPHEN.sub(lambda match: "\u00ad" * len(match.group()), text)
    for variant in (text,) if joined == text else (text, joined):
        hay, origins = _plain(variant)
        for wanted in _spellings(needle):
            at = hay.find(wanted)
            while at >= 0:
                stop = at + len(wanted)
                last = origins[stop - 1] + 1
                while last < len(text) and unicodedata.combining(text[last]):
                    last += 1
                cut = _joined(variant, origins[at]) or _joined(variant, last)
                if not cut and not _drops_negation(hay[:at]):
                    return origins[at], last
                at = hay.find(wanted, at + 1)
    return None


def _spellings(needle: str) -> tuple[str, ...]:
    """The ways a writer may fit a quotation in: marks around it, ellipses, a closing mark, its first letter's case."""
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
    """Whether the word right before a quotation negates what it says."""
    word = re.search(r"([\w']+)[ \"'(\[]*$", before)
    return word is not None and (word.group(1).lower() in _NEGATIONS or word.group(1).lower().endswith("n't"))


def _joined(text: str, at: int) -> bool:
    """Whether the characters around a cut belong to one word, number or sign."""
    left, right = text[at - 1 : at] if at else "", text[at : at + 1]
    if not left or not right or left.isspace() or right.isspace():
        return False
    beyond_left, beyond_right = text[max(0, at - 2) : at - 1], text[at + 1 : at + 2]
    mark_left, mark_right = _SAME.get(left, left), _SAME.get(right, right)
    if left.isalnum() and right.isalnum():
        return True
    if right.isalnum() and mark_left in _INSIDE:  # un-|known, -|5, 1.|5, can'|t
        if left in "—―" and not right.isdigit():
            return False
        return (mark_left == "-" and (right.isdigit() or beyond_left.isalnum())) or (
            mark_left != "-" and beyond_left.isalnum() and (mark_left == "'" or (beyond_left + right).isdigit())
        )
    if left.isalnum() and mark_right in _INSIDE:  # well|-known, can|'t, 1|.5
        if right in "—―" and not left.isdigit():
            return False
        return beyond_right.isalnum() and (mark_right in "-'" or (left + beyond_right).isdigit())
    return (left.isdigit() and right in "%‰°") or (left in "$€£¥" and right.isdigit())


_INSIDE = frozenset("-'.,")
