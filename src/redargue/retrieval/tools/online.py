"""Base class of tools that search an online service: requests, error messages, and cleaning of what services return.

Text from a service is data: it is cleaned and shown, and no address in it is ever opened.
"""

from __future__ import annotations

import html
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from typing import Any, ClassVar, Required, Self, TypedDict, Unpack
from urllib.parse import urlsplit

import lxml.etree  # type: ignore[import-untyped]

from redargue.errors import ProviderError, ToolFailed, UsageError
from redargue.evidence import Passage, Timing, timing
from redargue.net.secrets import Secrets
from redargue.net.transport import HttpAnswer, Service, Transport
from redargue.nli.markup import superscript
from redargue.retrieval.tools import Search, Sources

MAX_MESSAGE = 200  # characters of a service's error message
MAX_TEXT, MAX_FIELD = 20_000, 500  # characters of a result's text, and of its title, publisher and date
MAX_ADDRESS = 2_000  # characters


class Request(TypedDict, total=False):
    """A request besides its method and path; it costs ``units`` times the tool's price (default 1)."""

    search: Required[Search]
    headers: Required[Mapping[str, str]]
    json: Any
    params: Mapping[str, Any]
    units: int
    final: Callable[[HttpAnswer], bool]  # whether a status that is usually retried is final


class OnlineTool(ABC):
    """Searches one service; ``price`` is in US dollars per request."""

    name: ClassVar[str]
    online: ClassVar[bool] = True
    hints: ClassVar[Mapping[int, str]] = {}  # by HTTP status, where the general advice does not fit
    key_hint: ClassVar[str] = ""  # how to set the key, if the service requires one
    max_query: ClassVar[int]  # characters
    max_results: ClassVar[int]  # of one search

    def __init__(self, service: Service, transport: Transport, *, price: float = 0.0) -> None:
        self.service, self.price = service, price
        self._transport, self._secrets = transport, Secrets(known=[service.key])

    @classmethod
    def make(cls, sources: Sources) -> Self:
        """Raises UsageError if the service's address or required key is missing, or a setting of it is invalid."""
        service = sources.services.get(cls.name)
        if cls.key_hint and not (service and service.key):
            raise UsageError(f"the tool {cls.name!r} has no key", hint=cls.key_hint)
        if service is None:
            raise UsageError(f"the tool {cls.name!r} has no address", hint=f"export REDARGUE_{cls.name.upper()}_URL=…")
        return cls(service, sources.transport, price=sources.prices.get(cls.name, 0.0))

    @property
    def revision(self) -> str:
        return self.service.display_url

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        """At most ``k`` passages with distinct texts; see :meth:`redargue.retrieval.tools.Tool.search`."""
        text = self.prepare(query)
        if k < 1 or not text:
            return ()
        distinct: dict[str, Passage] = {}
        for passage in await self.find(text, min(k, self.max_results), search):
            if passage.text:
                bounded = _bounded(passage)
                distinct.setdefault(bounded.text, bounded)
        return tuple(
            passage.model_copy(update={"rank": rank, "query": query, "tool": self.name})
            for rank, passage in enumerate(list(distinct.values())[:k], 1)
        )

    def prepare(self, query: str) -> str:
        """The query on one line, cut to ``max_query`` characters, between words if possible."""
        query, most = " ".join(storable(query).split()), self.max_query
        return query if len(query) <= most else query[: most + 1].rpartition(" ")[0] or query[:most]

    @abstractmethod
    async def find(self, query: str, k: int, search: Search) -> Iterable[Passage]:
        """Sends the prepared query; returns the service's results in its order."""

    async def ask(self, method: str, path: str, **request: Unpack[Request]) -> dict[str, object]:
        """The JSON object that the service answers; raises ToolFailed or, before anything is sent, BudgetReached."""
        answer = parse_json(await self.ask_text(method, path, **request))
        if not isinstance(answer, dict):
            raise self.unreadable("no JSON object")
        return answer

    def listed(self, answer: Mapping[str, object], name: str, *, of: str = "results") -> list[dict[str, object]]:
        """The objects in the list under a name of an answer; raises ToolFailed if there is no list."""
        if not isinstance(answer.get(name), list):
            raise self.unreadable(f"no list of {of}")
        return dicts(answer[name])

    async def ask_text(self, method: str, path: str, **request: Unpack[Request]) -> str:
        usd = self.price * request.get("units", 1)
        try:
            answer = await self._transport.send(
                self.service,
                method,
                path,
                account=request["search"].account,
                headers=request["headers"],
                json=request.get("json"),
                params=request.get("params"),
                usd=usd,
                final=request.get("final", lambda answer: False),
                paid=lambda _: (0, 0, usd, 0),
            )
        except ProviderError as error:
            raise ToolFailed(self._secrets.hide(error.what), where=error.where, hint=error.hint) from error
        text = self._secrets.hide(answer.text)
        if answer.status != 200:
            raise self.refused(answer.status, _error_message(text))
        return text

    def refused(self, status: int, message: str) -> ToolFailed:
        prefix = "REDARGUE_" + self.service.name.upper().replace("-", "_")
        general = {
            429: f"too many requests, or the quota is used up; {prefix}_REQUESTS_PER_MINUTE sets a slower pace",
            404: f"is {self.service.display_url} its address? {prefix}_URL sets another",
        }
        later = "try again later" if status >= 500 else ""
        hint = self.hints.get(status) or general.get(404 if 300 <= status < 400 else status, later)
        return ToolFailed(f"{self.service.name} answered {status}" + (f": {message}" if message else ""), hint=hint)

    def unreadable(self, what: str) -> ToolFailed:
        hint = f"is {self.service.display_url} the address of that service?"
        return ToolFailed(f"{self.service.name} answered with {what}", hint=hint)


def _bounded(passage: Passage) -> Passage:
    """A result whose fields are no longer than any honest one's: a model reads all of them."""
    short = {name: getattr(passage, name)[:MAX_FIELD] for name in ("title", "publisher", "published")}
    bounded = passage.model_copy(update={**short, "document": passage.document[:MAX_ADDRESS]})
    text = passage.text[:MAX_TEXT]
    return bounded if text == passage.text else bounded.part(0, len(text.rpartition(" ")[0] or text))


class AbstractsTool(OnlineTool):
    """A service that identifies its users by e-mail address (``service.extra["mailto"]``) and returns abstracts."""

    def __init__(self, service: Service, transport: Transport, *, price: float = 0.0) -> None:
        super().__init__(service, transport, price=price)
        self.mail = service.extra.get("mailto", "").strip()
        if self.mail and not re.fullmatch(r"[^\s@]+@[^\s@]+", self.mail, re.A):
            what = f"{self.mail!r} is not an e-mail address"
            raise UsageError(what, where="REDARGUE_MAILTO", hint="give one like you@example.org")


def parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def parse_xml(text: str) -> Any:
    """The root of an XML text; None if it is not XML or declares entities, a few of which can expand to gigabytes."""
    if "<!ENTITY" in text:
        return None
    # Bytes in a fixed encoding: no declaration inside can contradict it.
    safe = {"resolve_entities": False, "load_dtd": False, "no_network": True, "huge_tree": False}
    parser = lxml.etree.XMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, **safe)
    try:
        return lxml.etree.fromstring(text.encode("utf-8", "replace"), parser)
    except lxml.etree.XMLSyntaxError:
        return None


def _error_message(text: str) -> str:
    """A service's error message, at most 200 characters; empty if it sent a page or nothing."""
    body = parse_json(text)
    if body is None:
        body = "" if re.match(r"\s*[<{\[]", text) else text
    message = clean(re.sub(r"<[^<>]*>", " ", _message(body)[:2000]))
    return message if len(message) <= MAX_MESSAGE else message[: MAX_MESSAGE - 1] + "…"


def _message(body: Any, depth: int = 0) -> str:
    """The first text under the field names that services use for messages."""
    if isinstance(body, str):
        return body
    if depth > 4 or not isinstance(body, dict | list):
        return ""
    names = ("detail", "error", "message", "info", "msg")
    inner = body[:1] if isinstance(body, list) else [body.get(name) for name in names]
    return next((message for value in inner if (message := _message(value, depth + 1))), "")


def dicts(values: Any) -> list[dict[str, object]]:
    """The objects in what should be a list of objects."""
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


_TAGS = re.compile(
    r"</?(?:(a|b|cite|code|em|i|mark|q|s|small|span|strong|sub|sup|u|wbr)|br|div|h[1-6]|img|li|ol|p|td|tr|ul)"
    r"(?:\s+[\w:-]+\s*=[^<>]*)?\s*/?>",
    re.IGNORECASE,
)
_RAISED = re.compile(r"<sup(?:\s[^<>]*)?>([^<>]{1,20})</sup>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,30});", re.IGNORECASE)
_UNSTORABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def storable(text: str) -> str:
    """Removes unpaired surrogates and control characters except line feeds and tabs."""
    return _UNSTORABLE.sub("", text)


def clean(value: Any) -> str:
    """A text on one line, without tags and entities; empty if the value is not a text."""
    if not isinstance(value, str):
        return ""
    value = _RAISED.sub(lambda raised: superscript(raised[1]), value)
    text = _TAGS.sub(lambda tag: "" if tag[1] else " ", " ".join(value.split()))
    return " ".join(storable(_ENTITY.sub(lambda entity: html.unescape(entity[0]), text)).split())


def web_address(value: Any) -> str:
    """The value if it is an http(s) address, otherwise empty (``javascript:``)."""
    url = storable(value).strip() if isinstance(value, str) else ""
    return url if len(url) <= MAX_ADDRESS and re.match(r"https?://[^\s/]", url, re.I) else ""


def published_by(passages: Iterable[Passage], as_of: date | None) -> Iterator[Passage]:
    """Skips passages that are known to be published after ``as_of``; undated ones remain."""
    return (passage for passage in passages if as_of is None or timing(passage.published, as_of) is not Timing.LATER)


def host_name(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def page_passage(text: str, title: Any, link: Any, published: str = "", *, by: str = "") -> Passage:
    """A passage of a web page, whose publisher is the page's host unless ``by`` names it."""
    url = web_address(link)
    publisher = by or host_name(url)
    return Passage(text=text, title=clean(title), document=url, url=url, publisher=publisher, published=published)


def finite(value: Any) -> float | None:
    """A service's score; None if it is not a finite number."""
    try:
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        return float(value) if is_number else None
    except OverflowError:
        return None


_MONTHS = {name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
_DATES = (
    re.compile(r"(?P<y>\d{4})(?:-(?P<m>\d{2})(?:-(?P<d>\d{2})(?:[T ]\d.*)?)?)?", re.A),
    re.compile(r"(?P<m>[a-z]{3})[a-z]*\.? (?:(?P<d>\d{1,2}), ?)?(?P<y>\d{4})(?:, .*)?", re.I | re.A),  # Mar 3, 2021
    # RFC 2822
    re.compile(r"(?:[a-z]{3,9}, )?(?P<d>\d{1,2}) (?P<m>[a-z]{3})[a-z]*\.? (?P<y>\d{4})(?: \d.*)?", re.I | re.A),
)


def iso_date(value: Any) -> str:
    """A date in ISO format (``2021-03-03``, ``2021-03``, ``2021``); empty if it cannot be parsed.

    Relative dates ("2 days ago") are not parsed: their meaning depends on the time of the request.
    """
    text = clean(value)
    for pattern in _DATES:
        if match := pattern.fullmatch(text):
            year, month, day = match["y"], match["m"], match["d"]
            number = _MONTHS.get(month.lower(), 0) if month and not month.isdigit() else int(month or 1)
            try:
                whole = date(int(year), number, int(day or 1)).isoformat()
            except ValueError:
                return ""
            return whole if day else whole[:7] if month else year
    return ""
