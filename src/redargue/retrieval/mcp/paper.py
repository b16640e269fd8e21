"""The one shape in which papers are returned, whatever found them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def paper(
    *,
    paper_id: str,
    title: str,
    authors: Iterable[str],
    abstract: str,
    url: str,
    source: str,
    doi: str = "",
    published_date: str = "",
    updated_date: str = "",
    pdf_url: str = "",
    categories: Iterable[str] = (),
    keywords: Iterable[str] = (),
    citations: int = 0,
    extra: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A row of paper-search-mcp: lists are joined by "; ", dates are ISO as far as the source states them."""
    told = {name: value for name, value in (extra or {}).items() if value}
    return {
        "paper_id": paper_id,
        "title": title,
        "authors": _joined(authors),
        "abstract": abstract,
        "doi": doi,
        "published_date": published_date,
        "pdf_url": pdf_url,
        "url": url,
        "source": source,
        "updated_date": updated_date,
        "categories": _joined(categories),
        "keywords": _joined(keywords),
        "citations": citations,
        "references": "",
        "extra": str(told) if told else "",
    }


def _joined(names: Iterable[str]) -> str:
    return "; ".join(name for name in names if name)
