"""Verdicts as schema.org ClaimReview (JSON-LD): one object per claim, with nothing in it that is not known."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date
from typing import Any, NamedTuple

from redargue.errors import UsageError
from redargue.evidence import Source
from redargue.reports.phrases import label_of, meaning_text
from redargue.sanitize import link_address, printable
from redargue.verdicts import Verdict


class Signature(NamedTuple):
    """Who publishes a review, where and when; nobody but the publisher knows this.

    Attributes:
        author: name of the person or organisation.
        url: address of the page with the review.
        date: of publication.
    """

    author: str
    url: str
    date: date


def read_signature(author: str, url: str, published: str) -> Signature:
    """Reads the options of a report; raises UsageError where one is missing or wrong."""
    given = {"--author": author.strip(), "--url": url.strip(), "--date": published.strip()}
    if missing := [name for name, value in given.items() if not value]:
        raise UsageError(
            f"a ClaimReview is signed: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing",
            where="--format claimreview",
            hint='say who publishes it, where and when: --author "A newsroom" --url https://… --date 2026-11-22',
        )
    if not link_address(url):
        raise UsageError(f"{url!r} is not an address", where="--url", hint="write it like https://example.org/review")
    try:
        return Signature(printable(given["--author"], lines=False), given["--url"], date.fromisoformat(given["--date"]))
    except ValueError:
        raise UsageError(f"{published!r} is not a date", where="--date", hint="write it like 2026-11-22") from None


def claim_review(verdict: Verdict, signature: Signature) -> dict[str, Any]:
    """One verdict; without a rating where the claim was not checked.

    The rating is not numeric: label sets have no scale.
    """
    claim = printable(verdict.claim.text)
    review: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "ClaimReview",
        "url": signature.url,
        "datePublished": signature.date.isoformat(),
        "claimReviewed": claim,
        "itemReviewed": {"@type": "Claim", "text": claim},
        "author": {"@type": "Organization", "name": signature.author},
    }
    if verdict.label and not verdict.why_unchecked:
        review["reviewRating"] = {"@type": "Rating", "alternateName": printable(label_of(verdict), lines=False)}
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


def claim_reviews(verdicts: Iterable[Verdict], signature: Signature) -> str:
    """All verdicts as a JSON list; in ASCII, and safe inside a ``script`` element."""
    text = json.dumps([claim_review(verdict, signature) for verdict in verdicts], indent=1)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text + "\n"
