"""Formats of other tools: W3C Web Annotation, schema.org ClaimReview, JUnit XML, SARIF."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import quote as percent_encoded
from xml.etree import ElementTree

from redargue import words
from redargue.errors import UsageError
from redargue.evidence import PAGE_BREAK, Quote, Side, Source
from redargue.reports import SingleRun, phrases
from redargue.reports.phrases import label_of, meaning_text
from redargue.reports.table import cut
from redargue.sanitize import NotText, decode, link_address, printable
from redargue.text import Citation
from redargue.verdicts import Verdict

Rule = Literal["refuted", "unsupported", "unchecked", "supported"]
RULES: dict[Rule, str] = {
    "refuted": "The evidence refutes the claim.",
    "unsupported": "The evidence does not support the claim.",
    "unchecked": "The claim was not checked.",
    "supported": "The evidence supports the claim.",
}


class ReportFinding(NamedTuple):
    """A claim, or a sentence that may state one and was not checked.

    Attributes:
        stated: the words of the text, or the claim where there is no text.
        start: offset of ``stated`` in the text, in characters from 0; None where its place is not known.
        number: of the claim, from 1; 0 for a sentence without a claim.
        why: such a sentence was not checked.
    """

    rule: Rule
    stated: str
    start: int | None
    number: int
    verdict: Verdict | None
    why: str = ""
    citation: Citation | None = None

    @property
    def end(self) -> int | None:
        return None if self.start is None else self.start + len(self.stated)

    @property
    def fingerprint(self) -> str:
        """The same for the same words in another run."""
        return hashlib.sha256(f"{self.rule}\n{self.stated}".encode()).hexdigest()[:32]

    @property
    def message(self) -> str:
        """Label, confidence, what it means, and the quotations that decide it."""
        if self.verdict is None:
            return f"Not checked: {printable(self.why, lines=False)}."
        label, sure = phrases.label_of(self.verdict), phrases.confidence_text(self.verdict)
        error = self.verdict.error
        what = error.what if error else phrases.meaning_text(self.verdict) or RULES[self.rule]
        parts = [f"{label[:1].upper()}{label[1:]}{f' ({sure})' if sure else ''}. {what}"]
        if self.citation:
            parts.append(f"Cites {self.citation.url}: {phrases.citation_text(self.citation)}.")
        for side in (Side.AGAINST, Side.FOR):
            parts += [f"{side.capitalize()}: {_quotation(quote)}" for quote in self.verdict.side(side)]
        return printable("\n".join(parts))


def _quotation(quote: Quote) -> str:
    """A quotation in one line, with its source."""
    shown = cut(" ".join(quote.text.split()), 300)
    place = ", ".join(phrases.place_of(quote)) or (quote.source.url if quote.source else "")
    return f"“{shown}”" + (f" — {place}" if place else "")


def findings(run: SingleRun, file: Path | None) -> list[ReportFinding]:
    """The claims of a run in their order, then the sentences that were not checked.

    ``file`` is the file that was checked: without a text, the claims are looked up in it; with one, it has to be equal.
    """
    text, citations = checked_text(run, file), run.citations

    def finding(item: int, verdict: Verdict, stated: str, start: int) -> ReportFinding:
        place = start if start >= 0 else None
        return ReportFinding(_rule(verdict), stated, place, item + 1, verdict, citation=citations.get(item))

    if run.text is None:
        return [
            finding(item, verdict, verdict.claim.text, text.find(verdict.claim.text))
            for item, verdict in run.verdicts.items()
        ]
    if file and text_of_file(file) != text:
        what = f"{str(file)!r} is not the text that the run checked"
        raise UsageError(what, where="--file", hint="leave --file out, or check the file again")
    extraction = run.text[1]
    found = [
        finding(item, verdict, text[claim.start : claim.end], claim.start)
        for item, claim in enumerate(extraction.claims)
        if (verdict := run.verdicts.get(item))
    ]
    for sentence in extraction.unchecked:
        if sentence.why.may_state:
            start, why = sentence.start, words.unchecked(sentence.why)
            found.append(ReportFinding("unchecked", text[start : sentence.end], start, 0, None, why))
    return found


def checked_text(run: SingleRun, file: Path | None) -> str:
    """The text of a run, or that of the file of its claims; empty where there is neither."""
    if run.text:
        return run.text[0].text
    return text_of_file(file) if file else ""


def _rule(verdict: Verdict) -> Rule:
    if verdict.why_unchecked:
        return "unchecked"
    if verdict.meaning == "refuted":
        return "refuted"
    return "supported" if verdict.meaning == "supported" else "unsupported"


def text_of_file(file: Path) -> str:
    """Raises UsageError if it cannot be read."""
    try:
        return decode(file.read_bytes(), str(file)).replace(PAGE_BREAK, "\n")
    except (OSError, NotText) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{str(file)!r} cannot be read: {reason}", where="--file") from error


# W3C Web Annotation (Recommendation of 2017): each verdict as an annotation of the words that make the claim.
# Positions count Unicode code points, as the recommendation asks (section 4.2.5).

BESIDE = 32  # characters before and after the words, by which they are found again in a changed text


def web_annotation(run: SingleRun, file: Path | None, url: str) -> str:
    """A collection with one page; ``url`` is the address of the annotated page; if empty, the file's or the run's."""
    if run.text is None and file is None:
        what = "an annotation needs a text that it is on, and this run checked claims"
        hint = "name the file of the claims (--file), or check a text"
        raise UsageError(what, where="--format annotation", hint=hint)
    if url and not link_address(url):
        hint = "write it like https://example.org/page"
        raise UsageError(f"{url!r} is not an address", where="--url", hint=hint)
    text, place = checked_text(run, file), url or uri_of(run, file)
    placed = [finding for finding in findings(run, file) if finding.start is not None]
    items = [_annotation(finding, text, place, run.name) for finding in placed]
    collection = {
        "@context": "http://www.w3.org/ns/anno.jsonld",
        "id": _identifier(run.name, "collection"),
        "type": "AnnotationCollection",
        "label": "; ".join((f"redargue {run.name}", *_not_read(run))),
        "total": len(items),
        "first": {
            "id": _identifier(run.name, "page"),
            "type": "AnnotationPage",
            "startIndex": 0,
            "items": items,
        },
    }
    return json.dumps(collection, indent=1) + "\n"


def _not_read(run: SingleRun) -> list[str]:
    return [f"not read: {words.unread_file(each)}" for each in run.unread_files]


def _annotation(finding: ReportFinding, text: str, source: str, run: str) -> dict[str, object]:
    start, end = finding.start or 0, finding.end or 0
    message = {"purpose": "assessing", "format": "text/plain", "value": finding.message}
    body = [
        {"type": "TextualBody", "purpose": "tagging", "value": finding.rule},
        {"type": "TextualBody", **message},
    ]
    link = {"type": "SpecificResource", "purpose": "linking"}
    body += [{**link, "source": address} for address in _addresses(finding)]
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


# Verdicts as schema.org ClaimReview (JSON-LD): one object per claim, with nothing in it that is not known.


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
        what = f"a ClaimReview is signed: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        hint = 'say who publishes it, where and when: --author "A newsroom" --url https://… --date 2026-11-22'
        raise UsageError(what, where="--format claimreview", hint=hint)
    if not link_address(url):
        hint = "write it like https://example.org/review"
        raise UsageError(f"{url!r} is not an address", where="--url", hint=hint)
    try:
        day = date.fromisoformat(given["--date"])
    except ValueError:
        hint = "write it like 2026-11-22"
        raise UsageError(f"{published!r} is not a date", where="--date", hint=hint) from None
    return Signature(printable(given["--author"], lines=False), given["--url"], day)


def claim_review(verdict: Verdict, signature: Signature) -> dict[str, object]:
    """One verdict; without a rating where the claim was not checked.

    The rating is not numeric: label sets have no scale.
    """
    claim = printable(verdict.claim.text)
    review: dict[str, object] = {
        "@context": "https://schema.org",
        "@type": "ClaimReview",
        "url": signature.url,
        "datePublished": signature.date.isoformat(),
        "claimReviewed": claim,
        "itemReviewed": {"@type": "Claim", "text": claim},
        "author": {"@type": "Organization", "name": signature.author},
    }
    rated = verdict.label and not verdict.why_unchecked
    if rated:
        label = printable(label_of(verdict), lines=False)
        review["reviewRating"] = {"@type": "Rating", "alternateName": label}
    explained = not verdict.error and (verdict.unchecked or verdict.unsure)
    if said := meaning_text(verdict) if rated or explained else "No verdict was reached.":
        review["reviewBody"] = said
    sources = (quote.source for quote in verdict.quotes if quote.found and quote.source)
    if cited := {source.url or source.document: source for source in sources}:
        review["citation"] = [_work(source) for source in cited.values()]
    return review


def _work(source: Source) -> dict[str, str]:
    file = Path(source.document)  # its local path is private
    name = printable(source.title or (file.name if file.is_absolute() else source.document), lines=False)
    work = {"@type": "CreativeWork", "name": name}
    if address := link_address(source.url):
        work["url"] = address
    if re.fullmatch(r"\d{4}(-\d\d(-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d)?)?)?)?", source.published):  # ISO 8601
        work["datePublished"] = source.published
    return work


def claim_reviews(verdicts: Iterable[Verdict], signature: Signature) -> str:
    """All verdicts as a JSON list; in ASCII, and safe inside a ``script`` element."""
    text = json.dumps([claim_review(verdict, signature) for verdict in verdicts], indent=1)
    return text.translate({ord(char): f"\\u{ord(char):04x}" for char in "<>&"}) + "\n"


# JUnit XML, which continuous integration shows as tests: one test case per claim. A refuted or unsupported claim is a
# failure. One that was not checked is an error: most readers take a skipped test for a passed one.

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(run: SingleRun, file: Path | None) -> str:
    """One test suite; ``file`` is the file that was checked."""
    found = findings(run, file)
    failures = sum(finding.rule in ("refuted", "unsupported") for finding in found)
    errors = sum(finding.rule == "unchecked" for finding in found) + run.unfinished
    tests = len(found) + run.unfinished
    counts = {"tests": str(tests), "failures": str(failures), "errors": str(errors)}
    suites = ElementTree.Element("testsuites", {"name": "redargue", **counts})
    name = file.as_posix() if file else run.name
    suite = ElementTree.SubElement(suites, "testsuite", {"name": _xml(name), **counts, "skipped": "0"})
    for finding in found:
        _case(suite, finding, name)
    for number in range(run.unfinished):
        named = {"classname": "redargue", "name": f"unfinished {number + 1}"}
        problem = {"type": "unfinished", "message": "The claim has not finished."}
        ElementTree.SubElement(ElementTree.SubElement(suite, "testcase", named), "error", problem)
    if unread := _not_read(run):
        ElementTree.SubElement(suite, "system-err").text = _xml("\n".join(unread))
    ElementTree.indent(suites)
    content = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{content}\n'


def _case(suite: ElementTree.Element, finding: ReportFinding, file: str) -> None:
    shown = cut(" ".join(finding.stated.split()), 160)
    name = f"claim {finding.number}: {shown}" if finding.number else shown
    named = {"classname": _xml(f"redargue.{file}"), "name": _xml(name)}
    case = ElementTree.SubElement(suite, "testcase", named)
    if finding.rule == "supported":
        return
    kind = "error" if finding.rule == "unchecked" else "failure"
    attributes = {"type": finding.rule, "message": _xml(finding.message.split("\n")[0])}
    element = ElementTree.SubElement(case, kind, attributes)
    element.text = _xml(finding.message)


def _xml(text: str) -> str:
    """The text without the characters that XML 1.0 does not have."""
    return _NOT_XML.sub("", printable(text))


# SARIF 2.1.0 (OASIS): what code hosts show beside the lines of a text. Only what is refuted, unsupported or
# unchecked is a result. Columns and offsets count Unicode code points.

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: dict[Rule, str] = {"refuted": "error", "unsupported": "warning", "unchecked": "note"}


def sarif(run: SingleRun, file: Path | None) -> str:
    """The log of one run; ``file`` is the file that was checked, by default the text itself is in the log."""
    text = checked_text(run, file)
    artifact: dict[str, object] = {"location": {"uri": uri_of(run, file)}, "sourceLanguage": "text"}
    if run.text and not file:
        artifact["contents"] = {"text": text}
    rules = [
        {"id": rule, "shortDescription": {"text": RULES[rule]}, "defaultConfiguration": {"level": level}}
        for rule, level in _LEVELS.items()
    ]
    driver = {"name": "redargue", "version": version("redargue"), "rules": rules}
    # A warning for each source that was not read (section 3.20.21).
    notes = [{"level": "warning", "message": {"text": literal(each)}} for each in _not_read(run)]
    notified = {"toolExecutionNotifications": notes} if notes else {}
    found = findings(run, file)
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "automationDetails": {"id": f"redargue/{run.manifest.run}"},
                "columnKind": "unicodeCodePoints",
                "invocations": [{"executionSuccessful": not run.unfinished, **notified}],
                "artifacts": [artifact] if text else [],
                "results": [_result(finding, text) for finding in found if finding.rule in _LEVELS],
            }
        ],
    }
    return json.dumps(log, indent=1) + "\n"


def uri_of(run: SingleRun, file: Path | None) -> str:
    """A relative address of the text: the file as it was named, or the run's name."""
    return percent_encoded(file.as_posix() if file else f"{run.name}.txt")


def _result(finding: ReportFinding, text: str) -> dict[str, object]:
    location: dict[str, object] = {}
    if finding.start is not None:
        place = {"artifactLocation": {"index": 0}, "region": region(text, finding)}
        location["physicalLocation"] = place
    if finding.number:
        location["logicalLocations"] = [{"name": f"claim {finding.number}", "kind": "element"}]
    result: dict[str, object] = {
        "ruleId": finding.rule,
        "ruleIndex": list(_LEVELS).index(finding.rule),
        "level": _LEVELS[finding.rule],
        "message": {"text": literal(finding.message)},
        "locations": [location],
        "partialFingerprints": {"redargueClaim/v1": finding.fingerprint},
    }
    if finding.verdict and finding.verdict.shown_confidence is not None:
        result["properties"] = {"confidence": finding.verdict.confidence}
    return result


def region(text: str, finding: ReportFinding) -> dict[str, object]:
    """Lines and columns from 1, the end column one past the last character (SARIF 2.1.0, section 3.30)."""
    start, end = finding.start or 0, finding.end or 0
    start_line, start_column = line_and_column(text, start)
    end_line, end_column = line_and_column(text, end)
    return {
        "startLine": start_line,
        "startColumn": start_column,
        "endLine": end_line,
        "endColumn": end_column,
        "charOffset": start,
        "charLength": end - start,
        "snippet": {"text": finding.stated},
    }


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Both from 1; a line ends with a line feed."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


_LITERAL = str.maketrans({"\\": r"\\", "[": r"\[", "]": r"\]", "{": "{{", "}": "}}"})


def literal(message: str) -> str:
    """A message in which nothing is a link or a placeholder (sections 3.11.5 and 3.11.6)."""
    return message.translate(_LITERAL)
