"""Verdicts as schema.org ClaimReview (JSON-LD): one object per claim, with nothing in it that is not known."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from redargue.evidence import Source
from redargue.reports.phrases import meaning_text
from redargue.sanitize import link_address, printable
from redargue.verdicts import Verdict


def claim_review(verdict: Verdict) -> dict[str, Any]:
    """One verdict; without a rating where the claim was not checked.

    ``url`` is empty: only the publisher knows the address. The rating is not numeric: label sets have no scale.
    """
    claim = printable(verdict.claim.text)
    review: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "ClaimReview",
        "url": "",
        "claimReviewed": claim,
        "itemReviewed": {"@type": "Claim", "text": claim},
        "author": {"@type": "Organization", "name": "redargue"},
    }
    if verdict.label and not verdict.why_unchecked:
        review["reviewRating"] = {"@type": "Rating", "alternateName": printable(verdict.label, lines=False)}
        words = meaning_text(verdict)
    else:
        explained = not verdict.error and (verdict.unchecked or verdict.unsure)
        words = meaning_text(verdict) if explained else "No verdict was reached."
    if words:
        review["reviewBody"] = words
    sources = (quote.source for quote in verdict.quotes if quote.found and quote.source)
    cited = {source.url or source.document: source for source in sources}
    if cited:
        review["citation"] = [_work(source) for source in cited.values()]
    return review


def _work(source: Source) -> dict[str, str]:
    work = {"@type": "CreativeWork", "name": printable(source.title or source.document, lines=False)}
    if address := link_address(source.url):
        work["url"] = address
    if source.published:
        work["datePublished"] = printable(source.published, lines=False)
    return work


def claim_reviews(verdicts: Iterable[Verdict]) -> str:
    """All verdicts as a JSON list; in ASCII, and safe inside a ``script`` element."""
    text = json.dumps([claim_review(verdict) for verdict in verdicts], indent=1)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text + "\n"
