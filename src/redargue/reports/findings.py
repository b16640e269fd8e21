"""The claims of a run as findings: which rule they break, where they are, and what to say of them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal, NamedTuple

from redargue import words
from redargue.errors import UsageError
from redargue.evidence import PAGE_BREAK, Quote, Side
from redargue.reports import phrases
from redargue.reports.load import SingleRun
from redargue.reports.table import cut
from redargue.sanitize import NotText, decode, printable
from redargue.text.report import Citation
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
