"""What the tools that ask a service share: sending, errors in plain words, and text made fit to be shown.

Whatever a service returns is data: it is cleaned and shown, and no address in it is ever opened.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from typing import Any, ClassVar, Required, Self, TypedDict, Unpack
from urllib.parse import urlsplit

import lxml.etree  # type: ignore[import-untyped]

from redargue.errors import ProviderError, ToolFailed, UsageError
from redargue.evidence import Passage, timing
from redargue.net.secrets import Secrets
from redargue.net.transport import Answer, Service, Transport
from redargue.retrieval.tools.base import Search, Sources

MOST_SAID = 200  # characters of a service's own error message


class Asked(TypedDict, total=False):
    """A request besides its method and path.

    Attributes:
        search: what it is made for.
        headers: of the request.
        json: its body.
        params: its query.
        units: prices that it costs; 1 where nothing is said.
        final: whether asking again would not help, though the status looks like it.
    """

    search: Required[Search]
    headers: Required[Mapping[str, str]]
    json: Any
    params: Mapping[str, Any]
    units: int
    final: Callable[[Answer], bool]


class OnlineTool:
    """Asks one service.

    Attributes:
        name: registered name.
        hints: what to do about an HTTP status, in plain words, where the service has its own.

    Args:
        service: whom to ask.
        transport: sends the requests.
        price: US dollars a request.
    """

    name: ClassVar[str]
    online: ClassVar[bool] = True
    hints: ClassVar[Mapping[int, str]] = {}

    def __init__(self, service: Service, transport: Transport, *, price: float = 0.0) -> None:
        self.service, self.price = service, price
        self._transport, self._secrets = transport, Secrets([service.key])

    @classmethod
    def make(cls, sources: Sources) -> Self:
        """By the service of the tool's own name, with a key where the environment has one.

        Raises:
            UsageError: its address is not known.
        """
        service = sources.services.get(cls.name)
        if service is None:
            raise UsageError(f"the tool {cls.name!r} has no address", hint=f"export REDARGUE_{cls.name.upper()}_URL=…")
        return cls(service, sources.transport, price=sources.prices.get(cls.name, 0.0))

    @property
    def revision(self) -> str:
        """Where it asks."""
        return self.service.display_url

    async def ask(self, method: str, path: str, **asked: Unpack[Asked]) -> dict[str, Any]:
        """The JSON object that the service answers.

        Args:
            method: HTTP method.
            path: added to the service's address.
            asked: the rest of the request.

        Raises:
            ToolFailed: no answer, a refusal, or an answer that is no JSON object.
            BudgetReached: nothing was sent.
        """
        found = parsed(await self.ask_text(method, path, **asked))
        if not isinstance(found, dict):
            raise self.unreadable("no JSON object")
        return found

    async def ask_text(self, method: str, path: str, **asked: Unpack[Asked]) -> str:
        """What the service answers, keys hidden; arguments as of :meth:`ask`.

        Raises:
            ToolFailed: no answer, or a refusal.
            BudgetReached: nothing was sent.
        """
        usd = self.price * asked.get("units", 1)
        try:
            answer = await self._transport.send(
                self.service,
                method,
                path,
                account=asked["search"].account,
                headers=asked["headers"],
                json=asked.get("json"),
                params=asked.get("params"),
                usd=usd,
                final=asked.get("final", lambda answer: False),
                paid=lambda _: (0, 0, usd),
            )
        except ProviderError as error:
            raise ToolFailed(self._secrets.hide(error.what), where=error.where, hint=error.hint) from error
        text = self._secrets.hide(answer.text)
        if answer.status != 200:
            raise self.refused(answer.status, said(text))
        return text

    def refused(self, status: int, words: str) -> ToolFailed:
        """The error for a status other than 200."""
        prefix = "REDARGUE_" + self.service.name.upper().replace("-", "_")
        usual = {
            429: f"it is asked too often, or its quota is used up; {prefix}_REQUESTS_PER_MINUTE sets a slower pace",
            404: f"is {self.service.display_url} its address? {prefix}_URL sets another",
        }
        hint = (
            self.hints.get(status)
            or usual.get(404 if 300 <= status < 400 else status)
            or ("try again later" if status >= 500 else "")
        )
        return ToolFailed(f"{self.service.name} answered {status}" + (f": {words}" if words else ""), hint=hint)

    def unreadable(self, what: str) -> ToolFailed:
        """The error for an answer that is not what the service documents."""
        return ToolFailed(
            f"{self.service.name} answered with {what}",
            hint=f"is {self.service.display_url} the address of that service?",
        )

    def ordered(self, found: Iterable[Passage], k: int, query: str) -> tuple[Passage, ...]:
        """The first ``k`` passages that have a text of their own, ranked from 1."""
        texts: dict[str, Passage] = {}
        for passage in found:
            if passage.text:
                texts.setdefault(passage.text, passage)
        return tuple(
            passage.model_copy(update={"rank": rank, "query": query, "tool": self.name})
            for rank, passage in enumerate(list(texts.values())[: max(0, k)], 1)
        )


def parsed(text: str) -> Any:
    """What a JSON text holds; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def parsed_xml(text: str) -> Any:
    """The root of an XML text; None where it is none, or declares entities, of which a few lines can make gigabytes."""
    if "<!ENTITY" in text:
        return None
    # As bytes in a fixed encoding, no declaration inside can contradict it.
    parser = lxml.etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        return lxml.etree.fromstring(text.encode("utf-8", "replace"), parser)
    except lxml.etree.XMLSyntaxError:
        return None


def said(text: str) -> str:
    """A service's own words about an error, in at most 200 characters; empty where it sent a page or nothing."""
    body = parsed(text)
    if body is None:
        body = "" if re.match(r"\s*[<{\[]", text) else text
    words = clean(re.sub(r"<[^<>]*>", " ", _message(body)[:2000]))
    return words if len(words) <= MOST_SAID else words[: MOST_SAID - 1] + "…"


def _message(body: Any, depth: int = 0) -> str:
    """The first text under the names that services give their messages."""
    if isinstance(body, str):
        return body
    if depth > 4 or not isinstance(body, dict | list):
        return ""
    inner = body[:1] if isinstance(body, list) else [body.get(name) for name in ("detail", "error", "message", "info")]
    inner += [body.get("msg")] if isinstance(body, dict) else []
    return next((found for each in inner if (found := _message(each, depth + 1))), "")


def dicts(values: Any) -> list[dict[str, Any]]:
    """The objects in what should be a list of them."""
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []


_TAGS = re.compile(
    r"</?(?:(a|b|cite|code|em|i|mark|q|s|small|span|strong|sub|sup|u|wbr)|br|div|h[1-6]|img|li|ol|p|td|tr|ul)"
    r"(?:\s+[\w:-]+\s*=[^<>]*)?\s*/?>",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,30});", re.IGNORECASE)


_UNSTORABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def storable(text: str) -> str:
    """Without control characters (line ends and tabs stay) and halves of surrogate pairs."""
    return _UNSTORABLE.sub("", text)


def clean(value: Any) -> str:
    """A text on one line, without tags and entities; empty where the value is no text."""
    if not isinstance(value, str):
        return ""
    text = _TAGS.sub(lambda tag: "" if tag[1] else " ", " ".join(value.split()))
    return " ".join(storable(_ENTITY.sub(lambda entity: html.unescape(entity[0]), text)).split())


def cut(query: str, most: int) -> str:
    """A query as it can be sent: on one line, at most ``most`` characters, cut at a word where it has any."""
    query = " ".join(storable(query).split())
    if len(query) <= most:
        return query
    return query[: most + 1].rpartition(" ")[0] or query[:most]


def address(value: Any) -> str:
    """A web address, or empty: what else looks like one (``javascript:``) is not shown."""
    url = storable(value).strip() if isinstance(value, str) else ""
    return url if re.match(r"https?://[^\s/]", url, re.I) else ""


def mail_address(service: Service) -> str:
    """The user's address as services for researchers want to be told it, from ``extra["mailto"]``; may be empty.

    Raises:
        UsageError: it is none.
    """
    mail = service.extra.get("mailto", "").strip()
    if mail and not re.fullmatch(r"[^\s@]+@[^\s@]+", mail, re.A):
        raise UsageError(f"{mail!r} is no mail address", where="REDARGUE_MAILTO", hint="give one like you@example.org")
    return mail


def not_later(passages: Iterable[Passage], as_of: date | None) -> Iterator[Passage]:
    """Those that are not known to have been published after the day; undated ones stay, and say so."""
    return (each for each in passages if as_of is None or timing(each.published, as_of) != "later")


def publisher(url: str) -> str:
    """The host of an address, without ``www.``; empty where there is none."""
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def score(value: Any) -> float | None:
    """A service's score; None where it is no finite number."""
    try:
        found = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


_MONTHS = {name: at for at, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
_DATES = (
    re.compile(r"(?P<y>\d{4})(?:-(?P<m>\d{2})(?:-(?P<d>\d{2})(?:[T ]\d.*)?)?)?", re.A),
    re.compile(r"(?P<m>[a-z]{3})[a-z]*\.? (?:(?P<d>\d{1,2}), ?)?(?P<y>\d{4})(?:, .*)?", re.I | re.A),  # Mar 3, 2021
    re.compile(
        r"(?:[a-z]{3,9}, )?(?P<d>\d{1,2}) (?P<m>[a-z]{3})[a-z]*\.? (?P<y>\d{4})(?: \d.*)?", re.I | re.A
    ),  # RFC 2822
)


def iso_date(value: Any) -> str:
    """A date as ISO has it (``2021-03-03``, ``2021-03``, ``2021``); empty where it cannot be read.

    "2 days ago" is not read: what it means depends on when it is asked.
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
