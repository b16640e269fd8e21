"""What a notebook shows of results: small HTML in which every text from elsewhere is escaped, and nothing is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from redargue.sanitize import link_address, printable

_COLOURS = {"supported": "#1a7f37", "refuted": "#cf222e", "not_enough": "#9a6700", "conflicting": "#8250df"}


def text(words: str, *, bold: bool = False, colour: str = "") -> str:
    inner = escape(printable(words, lines=False))
    style = ("font-weight:bold;" if bold else "") + (f"color:{colour}" if colour else "")
    return f'<span style="{style}">{inner}</span>' if style else inner


def label(words: str, meaning: str) -> str:
    """A label in the colour of its meaning, which its words state as well."""
    return text(words, bold=True, colour=_COLOURS.get(meaning, ""))


def html_link(words: str, url: str) -> str:
    """A link if the address is safe to link, otherwise the words alone."""
    address = link_address(url)
    if not address:
        return text(words)
    return f'<a href="{escape(address)}" rel="noopener noreferrer nofollow">{text(words)}</a>'


def html_block(*paragraphs: str) -> str:
    return f'<div dir="auto">{"".join(f"<p>{paragraph}</p>" for paragraph in paragraphs if paragraph)}</div>'


def listed(title: str, items: Iterable[str]) -> str:
    """A titled list; empty without items."""
    lines = "".join(f"<li>{item}</li>" for item in items)
    return f"{text(title, bold=True)}<ul>{lines}</ul>" if lines else ""


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{text(column)}</th>' for column in columns)
    cell = '<td style="text-align:left;vertical-align:top">'
    body = "".join(f"<tr>{''.join(f'{cell}{value}</td>' for value in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
