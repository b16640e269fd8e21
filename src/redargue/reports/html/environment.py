"""The Jinja environment: every value is escaped, an undefined one is an error, control characters are removed."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.ext import Extension
from markupsafe import Markup

from redargue import words
from redargue.evidence import Side
from redargue.reports import phrases
from redargue.reports.annotated_text import readable_text
from redargue.reports.html.debate import answer, shorten, turn_id
from redargue.reports.table import Cell, Column, letter
from redargue.sanitize import counted, link_address, printable

_COLOURS = 6  # of systems, in report.css
_SIDES = {Side.FOR: "for", Side.AGAINST: "against", Side.CONTEXT: "neither"}


class Indentation(Extension):
    """Drops line breaks and indentation between tags, so that templates may be indented freely."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """Turns such white space into a comment, which keeps line numbers in error messages right."""
        return re.sub(r"(?<=[>}])(\s*\n\s*)(?=[<{])", r"{#\1#}", source)


@lru_cache(maxsize=1)
def environment() -> Environment:
    shared = Environment(
        loader=PackageLoader("redargue.reports", "html"),
        autoescape=True,
        undefined=StrictUndefined,
        extensions=[Indentation],
    )
    shared.globals |= {
        "Side": Side,
        "answer": answer,
        "shorten": shorten,
        "cell_class": cell_class,
        "colour": colour,
        "citation_text": phrases.citation_text,
        "confidence_text": phrases.confidence_text,
        "counted": counted,
        "file_of": phrases.file_of,
        "gap_sections": phrases.gap_sections,
        "heading": phrases.heading,
        "label_of": phrases.label_of,
        "letter": letter,
        "meaning_text": phrases.meaning_text,
        "notes": words.notes,
        "readable": readable_text,
        "quote_status": phrases.QUOTE_STATUS,
        "sides": _SIDES,
        "summary": phrases.summary,
        "turn_id": turn_id,
        "without_gaps": phrases.without_gaps,
        "link_address": link_address,
    }
    return shared


def page(template: str, **context: Any) -> str:
    return printable(environment().get_template(template).render(context)) + "\n"


def macro(template: str, name: str, templates: Environment | None = None) -> Callable[..., Markup]:
    module = (templates or environment()).get_template(template).module
    function: Callable[..., Markup] = getattr(module, name)
    return function


def colour(key: str) -> str:
    """The class that gives a system its colour, from its letter or number."""
    at = ord(key) - ord("A") if key.isalpha() else int(key) - 1
    return f"k{at % _COLOURS}"


def cell_class(column: Column, cell: Cell = None) -> str:
    """The class of a cell; of a heading where there is no cell."""
    if column.kind == "number":
        return "num" if column.is_number(cell) else "long"
    return column.kind if column.kind in ("name", "long") else ""
