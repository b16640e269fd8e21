"""Finds the links of a text in Markdown, HTML or plain text, and what it says without their addresses."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from redargue.retrieval.corpus.markup import html_with_links
from redargue.text.segment import sentences_of

_ADDRESS = r"https?://[^\s<>\"`\[\]{}|\\^]+"
_END = rf"(?P<title>[^\n]*?)<?(?P<url>{_ADDRESS})>?[ \t]*(?:[\"'(][^\n]*)?$\n?"
_DEFINITION = re.compile(rf"^[ \t]*\[\^?(?P<name>[^\]\n]{{1,40}})\]:?[ \t]+{_END}", re.MULTILINE)  # "[1]: https://…"
_NUMBERED = re.compile(rf"^[ \t]*(?P<name>\d{{1,3}})[.)][ \t]+{_END}", re.MULTILINE)  # "1. Title, https://…"
_SOURCES = re.compile(  # the heading of a list of sources
    r"^[ \t#*_]*(?:sources?|references?|bibliography|notes|links|literature|works cited)[ \t*_:]*$\n?",
    re.IGNORECASE | re.MULTILINE,
)
_LINK = re.compile(
    rf"!?\[(?P<text>(?:[^\[\]\n]|\[[^\[\]\n]*\])*)\]\(\s*<?(?P<inline>{_ADDRESS}?)>?(?:\s+[\"'(][^\n]*?[\"')])?\s*\)"
    r"|\[(?P<referring>[^\[\]\n]+)\]\[(?P<full>[^\]\n]{0,40})\]"
    r"|\[\^?(?P<short>[^\[\]\n]{1,40})\]"
    rf"|<(?P<angle>{_ADDRESS})>"
    rf"|(?P<bare>{_ADDRESS})",
    re.IGNORECASE,
)
_EMPTY = re.compile(r"[ \t]*\([ \t,;]*\)|[ \t]+(?=[.,;:!?])")


_HTML = re.compile(  # begins with a tag, and closes one
    r"\s*+(?:<!--(?:(?!-->).)*+-->\s*+)*+<(?:!doctype|[a-z][a-z0-9]*)(?:\s[^<>]*)?/?>.*</[a-z]",
    re.IGNORECASE | re.DOTALL,
)


class _Link(NamedTuple):
    """An address, and where in the plain text it is cited; ``within``: it is the address of words of the text."""

    url: str
    at: int
    within: bool


class LinkedText(NamedTuple):
    """A text without addresses, and its links in order."""

    plain: str
    links: tuple[_Link, ...]


def as_markdown(text: str) -> str:
    """The text; of HTML, its words, with its links in Markdown."""
    return html_with_links(text) if _HTML.match(text) else text


def read_links(text: str) -> LinkedText:
    """The links of Markdown (inline, by reference, footnotes), lists of numbered sources, and bare addresses.

    Only http and https count. Of a Markdown link its words stay in the plain text; a line that defines a reference is
    left out of it.
    """
    body, definitions = _defined(text)
    pieces: list[str] = []
    links: list[_Link] = []
    at = 0
    for part in _parts(body, definitions):
        words, urls = (part, []) if isinstance(part, str) else part
        links += [_Link(url, at, bool(words)) for url in urls]
        pieces.append(words)
        at += len(words)
    return _tidied("".join(pieces), links)


def _defined(text: str) -> tuple[str, dict[str, str]]:
    """The text without the lines that define references, and the addresses by name."""
    *_, heading = [None, *_SOURCES.finditer(text)]
    body, sources = (text[: heading.start()], text[heading.end() :]) if heading else (text, "")
    found = [*_DEFINITION.finditer(text), *_NUMBERED.finditer(sources)]
    definitions = {match["name"].casefold(): _trimmed(match["url"]) for match in found}
    rest = _NUMBERED.sub("", _DEFINITION.sub("", sources))
    body = _DEFINITION.sub("", body)
    if heading and (rest.strip() or not definitions):  # other text follows the list, or it is not a list
        body += heading.group() + rest
    return body, definitions


def _parts(text: str, definitions: dict[str, str]) -> Iterator[str | tuple[str, list[str]]]:
    """Pieces of the text, and links as their words and addresses."""
    end = 0
    for match in _LINK.finditer(text):
        start, stop = match.span()
        found = match.groupdict()
        if found["bare"]:
            url = _trimmed(found["bare"])
            stop, link = start + len(url), ("", [url])
        elif found["angle"]:
            link = ("", [_trimmed(found["angle"])])
        elif found["inline"]:
            in_brackets = text[max(0, start - 1) : start] + text[stop : stop + 1] == "()"
            mark = in_brackets or not re.search(r"[^\W\d]", found["text"])  # "([source](…))", "[[1]](…)"
            link = ("" if mark else found["text"], [] if text[start] == "!" else [found["inline"]])
        else:
            words = found["referring"] or ""
            names = [found["full"] or words] if words else re.split(r"\s*[,;]\s*", found["short"] or "")
            if not names or any(name.casefold() not in definitions for name in names):
                continue
            link = (words, [definitions[name.casefold()] for name in names])
        yield text[end:start]
        yield link
        end = stop
    yield text[end:]


def _trimmed(url: str) -> str:
    """The address without punctuation of the sentence around it."""
    while url and (url[-1] in ".,;:!?*_'" or (url[-1] == ")" and url.count("(") < url.count(")"))):
        url = url[:-1]
    return url


def _tidied(plain: str, links: list[_Link]) -> LinkedText:
    """Without the brackets and spaces that removed addresses leave."""
    removed = [match.span() for match in _EMPTY.finditer(plain)] if links else []
    starts = [start for start, _ in removed]
    lengths = [0, *accumulate(end - start for start, end in removed)]

    def moved(at: int) -> int:
        before = bisect_left(starts, at)
        inside = max(0, removed[before - 1][1] - at) if before else 0
        return at - lengths[before] + inside

    kept, last = [], 0
    for start, end in removed:
        kept.append(plain[last:start])
        last = end
    kept.append(plain[last:])
    return LinkedText("".join(kept), tuple(link._replace(at=moved(link.at)) for link in links))


def cited_by(linked: LinkedText) -> dict[tuple[int, int], tuple[str, ...]]:
    """The addresses that each sentence cites, by its span; an address after a sentence belongs to that one."""
    sentences = sentences_of(linked.plain)
    starts = [sentence.start for sentence in sentences]
    cited: dict[tuple[int, int], list[str]] = {}
    for link in linked.links:
        before = bisect_right(starts, link.at) if link.within else bisect_left(starts, link.at)
        sentence = sentences[before - 1] if before else None
        if before < len(sentences) and (sentence is None or "\n" in linked.plain[sentence.end : link.at]):
            sentence = sentences[before]  # an address at the beginning of a paragraph
        if sentence:
            cited.setdefault((sentence.start, sentence.end), []).append(link.url)
    return {span: tuple(dict.fromkeys(urls)) for span, urls in cited.items()}
