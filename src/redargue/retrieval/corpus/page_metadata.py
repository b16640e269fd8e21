"""Title, address, publisher and date of an HTML page, from its meta tags, links and JSON-LD."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from lxml.html import HtmlElement  # type: ignore[import-untyped]

_TITLES = ("og:title", "citation_title", "dc.title", "twitter:title")
_PUBLISHERS = ("og:site_name", "citation_journal_title", "dc.publisher", "application-name")
_DATES = (
    "article:published_time datepublished citation_publication_date citation_online_date citation_date dc.date.issued "
    "dcterms.issued dc.date parsely-pub-date pubdate publish-date date"
).split()
_DAY = re.compile(r"\s*(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")


def page_metadata(tree: HtmlElement) -> dict[str, str]:
    """The fields ``title``, ``url``, ``publisher`` and ``published`` (YYYY-MM-DD) that a page states."""
    meta = _meta_tags(tree)
    linked_data = list(_linked_data(tree))
    url = _address(tree, meta)
    fields = {
        "title": _first(*(meta.get(name) for name in _TITLES), _title(tree)),
        "url": url,
        "publisher": _first(
            *(meta.get(name) for name in _PUBLISHERS),
            *(_name(item.get("publisher")) for item in linked_data),
            (urlsplit(url).hostname or "").removeprefix("www."),
        ),
        "published": _first(
            *(_day(meta.get(name)) for name in _DATES),
            *(_day(item.get("datePublished")) for item in linked_data),
            *(_day(value) for value in tree.xpath("//*[@itemprop='datePublished']/@datetime")),
            *(_day(value) for value in tree.xpath("//time[@pubdate or ancestor::article]/@datetime")),
        ),
    }
    return {name: value for name, value in fields.items() if value}


def _first(*candidates: str | None) -> str:
    return next((" ".join(text.split()) for text in candidates if text and text.strip()), "")


def _meta_tags(tree: HtmlElement) -> dict[str, str]:
    contents: dict[str, str] = {}
    for tag in tree.iter("meta"):
        name = tag.get("property") or tag.get("name") or tag.get("itemprop") or ""
        contents.setdefault(name.lower(), tag.get("content") or "")
    return contents


def _title(tree: HtmlElement) -> str:
    """The title element without the site's name, which the page's heading usually lacks."""
    title = " ".join(tree.findtext(".//title", "").split())
    headings = (" ".join(heading.text_content().split()) for heading in tree.iter("h1"))
    return next((heading for heading in headings if heading and heading in title), title)


def _address(tree: HtmlElement, meta: dict[str, str]) -> str:
    canonical = tree.xpath("//link[@rel='canonical']/@href")
    for address in (*map(str, canonical), meta.get("og:url", "")):
        try:
            parts = urlsplit(address.strip())
        except ValueError:
            continue
        if parts.scheme in ("http", "https") and parts.hostname:
            return address.strip()
    return ""


def _linked_data(tree: HtmlElement) -> Iterator[dict[str, Any]]:
    for script in tree.xpath("//script[@type='application/ld+json']"):
        try:
            pending = [json.loads(script.text_content())]
        except (ValueError, RecursionError):
            continue
        for value in pending:  # grows
            if isinstance(value, list):
                pending += value
            elif isinstance(value, dict):
                yield value
                pending.append(value.get("@graph"))


def _name(value: Any) -> str:
    name = value.get("name") if isinstance(value, dict) else value
    return name if isinstance(name, str) else ""


def _day(value: Any) -> str:
    match = _DAY.match(value) if isinstance(value, str) else None
    try:
        return date(*map(int, match.groups())).isoformat() if match else ""
    except ValueError:
        return ""
