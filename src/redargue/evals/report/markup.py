"""HTML that is escaped unless it was made here: a ``str`` is a stranger's text, an ``Html`` is markup."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from redargue.printing import printable


class Html(str):
    """Markup; only this module makes it."""

    __slots__ = ()


Node: TypeAlias = "str | Html | Iterable[Node] | None"

_VOID: Final = frozenset({"br", "col", "hr", "meta"})
_NAME: Final = re.compile(r"[a-z][a-z0-9-]*", re.IGNORECASE)


def text(words: str) -> Html:
    """A stranger's text: shown as it reads, whatever it holds."""
    return Html(html.escape(printable(words), quote=True))


def join(*nodes: Node) -> Html:
    """Nodes in a row; every plain string among them is escaped."""
    parts: list[str] = []
    for node in nodes:
        if node is None:
            continue
        if isinstance(node, Html):
            parts.append(node)
        elif isinstance(node, str):
            parts.append(text(node))
        else:
            parts.append(join(*node))
    return Html("".join(parts))


def el(tag: str, *nodes: Node, **attributes: str | int | bool | None) -> Html:
    """An element.

    Args:
        tag: its name.
        nodes: what it holds; plain strings are escaped.
        attributes: ``class_`` is ``class``, ``aria_label`` ``aria-label``; escaped; left out where None or False.
    """
    given = []
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        key = name.rstrip("_").replace("_", "-")
        assert _NAME.fullmatch(key)
        assert not key.startswith("on")
        given.append(f" {key}" if value is True else f' {key}="{text(str(value))}"')
    head = f"<{tag}{''.join(given)}>"
    return Html(head if tag in _VOID else f"{head}{join(*nodes)}</{tag}>")


def raw(markup: str) -> Html:
    """A constant of this package as markup: never text that came from elsewhere."""
    return Html(markup)


def web_address(url: str) -> str | None:
    """The address where it may be a link: http or https, a host, no user name, no odd character; else None."""
    bare = url.strip()
    if (
        bare != printable(bare, lines=False)
        or re.search(r"[\s<>\"'\\`{}|^]", bare)
        or not re.match(r"https?://", bare, re.IGNORECASE)
    ):
        return None
    try:
        parts = urlsplit(bare)
        return bare if parts.hostname and parts.username is None and parts.password is None else None
    except ValueError:
        return None


def link(url: str) -> Html:
    """An address: a link that tells its target nothing where it may be one, and text where not."""
    address = web_address(url)
    if address is None:
        return text(url)
    return el("a", address, href=address, rel="noopener noreferrer nofollow", class_="url")


def to(anchor: str, words: str) -> Html:
    """A link to a place in the same file."""
    return el("a", words, href=f"#{anchor}")


def details(summary: Node, *nodes: Node, open_: bool = False, **attributes: str) -> Html:
    """What is shown when it is asked for; works with the keyboard and without script."""
    return el("details", el("summary", summary), *nodes, open=open_, **attributes)
