"""Passages that tools return, and quotations from them."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from redargue.claims import Frozen, detail
from redargue.sanitize import printable, shortened

PAGE_BREAK = "\f"  # between the pages of a document
CUT_MARK = "…"  # where a shown passage was cut from a longer text; never part of its text
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

Cut = Literal["", "start", "end", "both"]


def cut_ends(*, start: bool, end: bool) -> Cut:
    """At which ends something was cut off."""
    if start and end:
        return "both"
    return "start" if start else "end" if end else ""


def distinct_names(documents: Iterable[tuple[str, str]]) -> list[str]:
    """A name for each document, given as name and text: another text of the same name gets a number.

    The documents of one name would count as one source. A second ``report.txt`` is ``report.txt (2)``, unless it has
    the text of the first and so is the same document. Empty names stay empty.
    """
    found: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    numbers: Counter[str] = Counter()
    names = []
    for name, text in documents:
        if (name, text) not in found:
            distinct = name
            while name and distinct in taken:
                numbers[name] += 1
                distinct = f"{name} ({numbers[name] + 1})"
            taken.add(distinct)
            found[name, text] = distinct
        names.append(found[name, text])
    return names


class Timing(StrEnum):
    """When something was published, relative to a claim's as-of date."""

    UNKNOWN = ""  # the claim has no as-of date
    IN_TIME = "in_time"
    LATER = "later"
    UNDATED = "undated"


class Omission(StrEnum):
    """Why a search, the memory or a run left evidence out."""

    LATER = "later"
    UNDATED = "undated"
    EXPIRED = "expired"
    LANGUAGE = "language"
    INJECTION = "injection"  # it speaks to models
    FROZEN = "frozen"
    ERROR = "error"
    EMPTY = "empty"


class Injection(StrEnum):
    """What a text does that only a model would obey."""

    OVERRIDES_INSTRUCTIONS = "overrides_instructions"
    ORDERS_AN_ANSWER = "orders_an_answer"
    WRITES_A_REPLY = "writes_a_reply"
    SPEAKS_TO_A_MODEL = "speaks_to_a_model"
    ASKS_FOR_SECRETS_OR_REQUESTS = "asks_for_secrets_or_requests"
    WITHHOLDS_OTHER_EVIDENCE = "withholds_other_evidence"


def _encodable(value: Any) -> Any:
    """Lone surrogates, which can be neither stored nor sent, become U+FFFD; offsets stay."""
    if isinstance(value, str) and not value.isascii():
        return _LONE_SURROGATE.sub("\ufffd", value)
    return value


class Source(Frozen):
    """Where a piece of text comes from.

    Attributes:
        document: the corpus' or service's own identifier.
        url: empty where there is none; never invented.
        published: as the source states it (ISO date where it can be read); empty where undated.
        retrieved: when the tool returned it.
        tool: registered name.
    """

    document: str = ""
    title: str = ""
    url: str = ""
    publisher: str = ""
    published: str = ""
    retrieved: datetime | None = None
    tool: str = ""
    timing: Timing = Timing.UNKNOWN

    _encodable = field_validator("*")(_encodable)


class UnreadFile(Frozen):
    """A file that was given as a source and could not be read, so that nothing was checked against it.

    Attributes:
        file: its name, or its path in the folder that was given; no path of the machine.
    """

    file: str
    why: str

    _encodable = field_validator("*")(_encodable)


def publisher_of(source: Source) -> str:
    """The publisher, or else the host; empty if the source names neither."""
    try:
        host = urlsplit(source.url).netloc.removeprefix("www.")
    except ValueError:  # not a URL
        host = ""
    return printable(source.publisher.strip() or host, lines=False)[:80]


def timing(published: str, as_of: date) -> Timing:
    """Whether something was published by the end of a day.

    ``published`` is an ISO date or time, or a prefix of one (``2021``, ``2021-03``); anything else is undated, and so
    is a prefix that includes ``as_of``.
    """
    match = re.match(r"(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?(?!\d)", published)
    if not match:
        return Timing.UNDATED
    parts = tuple(int(part) for part in match.groups() if part)
    limit = (as_of.year, as_of.month, as_of.day)[: len(parts)]
    if parts == limit and len(parts) < 3:
        return Timing.UNDATED
    return Timing.IN_TIME if parts <= limit else Timing.LATER


def without_retrieval_times(value: Any) -> Any:
    """JSON without the times at which passages were retrieved, which differ between otherwise equal runs."""
    if isinstance(value, dict):
        return {
            name: without_retrieval_times(item) if isinstance(item, (dict, list)) else item
            for name, item in value.items()
            if name != "retrieved"
        }
    return [without_retrieval_times(item) for item in value] if isinstance(value, list) else value


class Passage(Source):
    """A piece of retrieved text.

    Attributes:
        text: exactly what the agent is shown.
        start: offset in characters of ``text`` in its document.
        page: of the document, on which the text begins, from 1; 0 where the document has no pages.
        rank: 1 for the best.
        score: the tool's own score, comparable only within one answer of one tool; None where it gives none.
        cut: at which ends its document continues; empty also where that is not known.
        named: whether it is a page that the user gives or names, or the text cites, and not one that a search found.
    """

    text: str
    start: int = 0
    page: int = 0
    query: str = ""
    rank: int = 1
    score: float | None = None
    cut: Cut = detail("")
    named: bool = detail(False)

    def __repr__(self) -> str:
        source = self.title or self.document
        return f"<Passage {shortened(self.text)!r}{f' ({shortened(source)})' if source else ''}>"

    @property
    def sha256(self) -> str:
        """Of ``text`` in UTF-8; identifies the passage regardless of the tool that found it."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def content(self) -> tuple[str, str]:
        """Its title and its text: the same text under another title can be about something else."""
        return self.title, self.text

    @property
    def starts_cut(self) -> bool:
        return self.cut in ("start", "both")

    @property
    def ends_cut(self) -> bool:
        return self.cut in ("end", "both")

    @property
    def shown_text(self) -> str:
        """The text with a mark at each cut end, for a prompt."""
        return f"{self.lead}{self.text}{f' {CUT_MARK}' if self.ends_cut else ''}"

    @property
    def lead(self) -> str:
        """What precedes the text in ``shown_text``."""
        return f"{CUT_MARK} " if self.starts_cut else ""

    def part(self, start: int, end: int) -> Passage:
        """The text between two offsets, with its own place in the document."""
        before, after = self.text[:start].strip(), self.text[end:].strip()
        cut = cut_ends(start=self.starts_cut or bool(before), end=self.ends_cut or bool(after))
        text, start = self.text[start:end], self.start + start
        return self.model_copy(update={"text": text, "start": start, "cut": cut})

    def page_at(self, place: int) -> int:
        """The page at an offset of ``text``, from 1; 0 where the document has no pages."""
        return self.page and self.page + self.text.count(PAGE_BREAK, 0, place)

    def source(self) -> Source:
        return Source(**{name: getattr(self, name) for name in Source.model_fields})


class Recalled(Frozen):
    """A piece of evidence recalled from the memory.

    Attributes:
        passage: cut where it was too long; ``retrieved`` is when its tool returned it.
        length: of the uncut text, in characters.
        number: of its record in the memory.
        status: ``empty`` for an earlier search that found nothing.
        arguments: of the call that found it.
        claims: for which it was found.
        entities: the requested entities that it is stored under; empty where it was recalled by meaning alone.
        similarity: cosine of its vector and the claim's, in [-1, 1]; None where it was recalled by entity alone.
    """

    passage: Passage
    length: int
    number: int
    status: Literal["ok", "empty"] = "ok"
    arguments: dict[str, object] = Field(default_factory=dict)
    claims: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    similarity: float | None = None


def distinct_passages(passages: Iterable[Passage]) -> tuple[Passage, ...]:
    """The passages in the order in which each title and text first occur; of equal ones the last."""
    return tuple({passage.content: passage for passage in passages}.values())


def first_in_time(passages: Sequence[Passage], k: int) -> tuple[tuple[Passage, ...], dict[Omission, int]]:
    """The first ``k`` published in time, and the number of passages skipped before the last of them."""
    kept: list[Passage] = []
    left_out: Counter[Omission] = Counter()
    for passage in passages:
        if len(kept) == k:
            break
        if passage.timing is Timing.IN_TIME:
            kept.append(passage.model_copy(update={"rank": len(kept) + 1}))
        else:
            left_out[Omission(passage.timing)] += 1
    return tuple(kept), dict(sorted(left_out.items()))


class GapKind(StrEnum):
    """What a search lacked."""

    FAILED = "failed"
    EMPTY = "empty"  # it found nothing that could be used
    PARTIAL = "partial"  # some of its results could not be used


class Gap(Frozen):
    """A search that failed, found nothing, or some of whose results could not be used.

    Attributes:
        tool: registered name.
        why: the tool's message about its failure.
        left_out: number of passages that were not published in time.
        unread: number of passages that the backend cannot read, by language (ISO 639-1; ``und``: unknown).
    """

    kind: GapKind
    tool: str
    query: str
    why: str = detail("")
    left_out: dict[Omission, int] = detail({})
    unread: dict[str, int] = detail({})


class QuoteStatus(StrEnum):
    """Whether a quotation appears in its passage."""

    VERIFIED = "verified"
    REPAIRED = "repaired"
    NOT_FOUND = "not_found"


class Side(StrEnum):
    """Which side of the claim a quotation supports."""

    FOR = "for"
    AGAINST = "against"
    CONTEXT = "context"

    @property
    def opposite(self) -> Side | None:
        """None for context, which is on neither side."""
        return {Side.FOR: Side.AGAINST, Side.AGAINST: Side.FOR}.get(self)


class Quote(Frozen):
    """A span of a passage, found by code.

    Attributes:
        text: the passage's own characters where found; what was claimed where not.
        status: ``verified`` verbatim; ``repaired`` up to spaces and typography; ``not_found`` is not evidence.
        part: of the passage: its text or its title.
        start: offset in characters in that part of the passage; -1 where not found.
        end: one past the last character; -1 where not found.
        offset: of its first character in the document's text; -1 in a title, or where not found.
        page: of the document, on which it begins, from 1; 0 where the document has no pages, and where not found.
        passage: sha256 of the passage's text; empty where not found.
        source: None where not found.
    """

    text: str
    status: QuoteStatus
    part: Literal["text", "title"] = "text"
    start: int = -1
    end: int = -1
    offset: int = -1
    page: int = 0
    passage: str = ""
    source: Source | None = None
    side: Side = Side.CONTEXT
    agent: str = ""

    def __repr__(self) -> str:
        source = self.source.title or self.source.document if self.source else ""
        where = f" ({shortened(source)})" if source else ""
        return f"<Quote {self.side}, {self.status}: {shortened(self.text)!r}{where}>"

    @property
    def found(self) -> bool:
        return self.status is not QuoteStatus.NOT_FOUND


def cited(text: str, title: str = "") -> str:
    """A quotation and its source on one line; neither can contain a line break, nor the title a quotation mark."""
    source = " ".join(title.replace('"', "'").split())
    return f'"{" ".join(text.split())}"' + (f" ({source})" if source else "")
