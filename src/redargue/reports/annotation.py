"""W3C Web Annotation (Recommendation of 2017): each verdict as an annotation of the words that make the claim.

Positions count Unicode code points, as the recommendation asks (section 4.2.5).
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from redargue.errors import UsageError
from redargue.evidence import Side
from redargue.reports.findings import ReportFinding, findings, text_of_file
from redargue.reports.load import SingleRun
from redargue.reports.sarif import uri_of
from redargue.sanitize import link_address

CONTEXT = "http://www.w3.org/ns/anno.jsonld"
BESIDE = 32  # characters before and after the words, by which they are found again in a changed text


def web_annotation(run: SingleRun, file: Path | None = None, url: str = "") -> str:
    """A collection with one page; ``url`` is the address of the annotated page, by default the file's or the run's."""
    if run.text is None and file is None:
        raise UsageError(
            "an annotation needs a text that it is on, and this run checked claims",
            where="--format annotation",
            hint="name the file of the claims (--file), or check a text",
        )
    if url and not link_address(url):
        raise UsageError(f"{url!r} is not an address", where="--url", hint="write it like https://example.org/page")
    text = run.text[0].text if run.text else text_of_file(file) if file else ""
    placed = [finding for finding in findings(run, file) if finding.start is not None]
    name = run.manifest.run or run.folder.name
    items = [_annotation(finding, text, url or uri_of(run, file), name) for finding in placed]
    page = {"id": _identifier(name, "page"), "type": "AnnotationPage", "startIndex": 0, "items": items}
    collection = {
        "@context": CONTEXT,
        "id": _identifier(name, "collection"),
        "type": "AnnotationCollection",
        "label": f"redargue {name}",
        "total": len(items),
        "first": page,
    }
    return json.dumps(collection, indent=1) + "\n"


def _annotation(finding: ReportFinding, text: str, source: str, run: str) -> dict[str, Any]:
    start, end = finding.start or 0, finding.end or 0
    body: list[dict[str, Any]] = [
        {"type": "TextualBody", "purpose": "tagging", "value": finding.rule},
        {"type": "TextualBody", "purpose": "assessing", "format": "text/plain", "value": finding.message},
    ]
    body += [{"type": "SpecificResource", "purpose": "linking", "source": address} for address in _addresses(finding)]
    quote = {
        "type": "TextQuoteSelector",
        "exact": text[start:end],
        "prefix": text[max(0, start - BESIDE) : start],
        "suffix": text[end : end + BESIDE],
    }
    position = {"type": "TextPositionSelector", "start": start, "end": end}
    return {
        "id": _identifier(run, f"{finding.number}:{start}"),
        "type": "Annotation",
        "motivation": "assessing",
        "body": body,
        "target": {"source": source, "selector": [position, quote]},
    }


def _addresses(finding: ReportFinding) -> list[str]:
    """The pages that decide the verdict."""
    if finding.verdict is None:
        return []
    quotes = (quote for side in (Side.AGAINST, Side.FOR) for quote in finding.verdict.side(side))
    links = (link_address(quote.source.url) for quote in quotes if quote.source)
    return list(dict.fromkeys(link for link in links if link))


def _identifier(run: str, part: str) -> str:
    return uuid.uuid5(uuid.NAMESPACE_URL, f"redargue:{run}#{part}").urn
