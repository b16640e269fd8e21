"""One line for every claim that is not supported, as test reports and score explanations show it."""

from __future__ import annotations

from redargue import words
from redargue.claims import Meaning
from redargue.evidence import Side
from redargue.sanitize import shortened
from redargue.tasks.untrusted import UNTRUSTED, fence_marked, wrap_untrusted
from redargue.text.report import CheckedClaim, Report
from redargue.verdicts import Verdict

STATED = 200  # characters of a claim
_QUOTED = 120  # characters of a quotation
_UNCHECKED = "UNCHECKED"


def problem_lines(report: Report) -> list[str]:
    """In the order of the text: claims that are not supported, and sentences that may make one and were not read."""
    lines = [(claim.start, claim_line(claim)) for claim in report.claims if not is_supported(claim.verdict)]
    for sentence in report.unchecked:
        if sentence.why.may_state:
            stated = shortened(report.text[sentence.start : sentence.end], STATED)
            why = shortened(words.unchecked(sentence.why), STATED)
            line = f"{_UNCHECKED} [{sentence.start}:{sentence.end}] {stated} ← {why}"
            lines.append((sentence.start, line))
    return [line for _, line in sorted(lines, key=lambda found: found[0])]


def revision_request(report: Report) -> str:
    """Asks a model for a better answer; what its answer and the documents say is marked as data."""
    lines = [wrap_untrusted(line, inline=True) for line in problem_lines(report)]
    request = (
        "Some statements of your answer are not supported by the documents. Write the answer again without them, and"
        f" add nothing new.\n\n{UNTRUSTED}\n"
    )
    return fence_marked(request + "\n".join(lines))


def is_supported(verdict: Verdict) -> bool:
    return not verdict.why_unchecked and verdict.meaning is Meaning.SUPPORTED


def claim_line(claim: CheckedClaim) -> str:
    """``REFUTES [36:58] It is 500 metres long. ← "330 metres" context-1:45``; offsets in code points."""
    return f"{claim_label(claim.verdict)} [{claim.start}:{claim.end}] {shortened(claim.stated, STATED)}" + because(
        claim.verdict
    )


def claim_label(verdict: Verdict) -> str:
    return _UNCHECKED if verdict.why_unchecked else str(verdict.label)


def because(verdict: Verdict) -> str:
    """The quotation that decides, with its document and its offset there, or why the claim was not checked."""
    if verdict.error:
        return f" ← {verdict.error.type}: {shortened(verdict.error.what, STATED)}"
    if why := verdict.why_unchecked:
        return f" ← {shortened(words.unchecked(why), STATED)}"
    quotes = verdict.side(Side.AGAINST) if verdict.meaning is Meaning.REFUTED else ()
    if not quotes:
        return ""
    quote = quotes[0]
    place = shortened(quote.source.document or quote.source.title or quote.source.url, STATED) if quote.source else ""
    offset = f":{quote.offset}" if quote.offset >= 0 else ""
    return f' ← "{shortened(quote.text, _QUOTED)}" {place}{offset}'.rstrip()
