"""Main text and metadata of HTML pages, which come from strangers. Imports in 0.2 s."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from typing import Any
from urllib.parse import urlsplit

import html_text
import lxml.html  # type: ignore[import-untyped]
import readability
from lxml.html import HtmlElement

# The main text of an HTML page: readability picks the article, html-text turns it into text.

_NOT_SHOWN = """//nav | //*[@role='navigation'] | //dialog[not(@open)] | //template | //noscript | //*[@hidden]
    | //*[contains(translate(@style, ' ', ''), 'display:none')]
    | //*[contains(translate(@style, ' ', ''), 'visibility:hidden')]"""
_NOT_TEXT = f"""{_NOT_SHOWN} | //dialog | //*[@role='dialog'] | //button | //select
    | //*[self::aside or self::footer or self::header][not(ancestor::article or ancestor::main)]
    | //*[@role='banner' or @role='contentinfo' or @role='complementary'][not(ancestor::article or ancestor::main)]
    | //*[self::div or self::section or self::ol][re:test(@class, $comments) or re:test(@id, $comments)]"""
_COMMENTS = "(?<![A-Za-z])comment(?:s|list)?(?![a-z])|Comments?(?![a-z])"  # of readers
_PARTS = re.compile(r"commentary|footnote|endnote")  # of an article, whose names readability takes for others'

_MIN_TEXT_SHARE = 2 / 3  # of a page's text outside links, navigation and comments
_MAX_LINK_DENSITY = 0.5  # of a block's text


class _Article(readability.Document):  # type: ignore[misc]  # readability has no types
    def sanitize(self, node: HtmlElement, candidates: Any, keep_all_images: bool = False) -> str:
        # readability's own pruning also drops short lists and small tables.
        for block in self.reverse_tags(node, "ul", "div", "section", "aside", "footer"):
            if self.get_link_density(block) > _MAX_LINK_DENSITY:
                block.drop_tree()
        return str(lxml.html.tostring(node, encoding="unicode"))


_ASIDES = (
    "//*[self::aside or self::footer][ancestor::article or ancestor::main][not(ancestor::aside or ancestor::footer)]"
)
_MARK = "data-aside"  # by which an element is found in what readability picks


def _is_links(block: HtmlElement) -> bool:
    linked = sum(len(anchor.text_content()) for anchor in block.iter("a"))
    return bool(linked > _MAX_LINK_DENSITY * len(block.text_content()))


def shown_text(tree: HtmlElement) -> str:
    """All text that the page shows, without its navigation, and alt texts; the whole text if nothing else is left.

    Elements are removed from the tree.
    """
    whole = str(html_text.extract_text(tree))
    _drop(tree, f"//head/title | {_NOT_SHOWN}")
    for image in reversed(tree.xpath("//img[normalize-space(@alt)]")):
        shown = lxml.html.Element("p")
        shown.text = image.get("alt")
        next(image.iterancestors("p", "h1", "h2", "h3", "h4", "h5", "h6"), image).addnext(shown)
    return str(html_text.extract_text(tree)) or whole


def _drop(tree: HtmlElement, elements: str) -> None:
    regular_expressions = {"re": "http://exslt.org/regular-expressions"}
    for element in tree.xpath(elements, namespaces=regular_expressions, comments=_COMMENTS):
        if element.getparent() is not None:
            element.drop_tree()


def main_text(tree: HtmlElement) -> str:
    """The text without navigation, comments and hidden elements; the whole text if nothing else is left.

    Elements are removed from the tree, which comes from ``html_text.parse_html``.
    """
    whole = str(html_text.extract_text(tree))
    _drop(tree, _NOT_TEXT)
    for element in tree.xpath("//*[@class or @id]"):
        if _PARTS.search(f"{element.get('class', '')} {element.get('id', '')}".lower()):
            for name in ("class", "id"):
                element.attrib.pop(name, None)
    rest = str(html_text.extract_text(tree))
    for element in tree.xpath(f"//*[@{_MARK}]"):
        del element.attrib[_MARK]
    asides = tree.xpath(_ASIDES)
    for number, element in enumerate(asides):
        element.set(_MARK, str(number))
    try:
        article = _Article(lxml.html.tostring(tree, encoding="unicode")).summary(html_partial=True)
    except readability.Unparseable:
        return rest or whole
    picked = html_text.parse_html(article)
    found = set(picked.xpath(f"//@{_MARK}"))
    left_out = (element for element in asides if element.get(_MARK) not in found and not _is_links(element))
    text = "\n\n".join(filter(None, map(str, map(html_text.extract_text, (picked, *left_out)))))
    outside_links = tree.xpath("//body//text()[not(ancestor::a or ancestor::script or ancestor::style)]")
    # Of a manual with a container for each chapter, readability picks one chapter.
    too_short = len(text) < _MIN_TEXT_SHARE * sum(len(part.strip()) for part in outside_links)
    return (rest if too_short else text) or whole


# Title, address, publisher and date of an HTML page, from its meta tags, links and JSON-LD.

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
            *map(_day, tree.xpath("//*[@itemprop='datePublished']/@datetime")),
            *map(_day, tree.xpath("//time[@pubdate or ancestor::article]/@datetime")),
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


def _linked_data(tree: HtmlElement) -> Iterator[dict[str, object]]:
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
