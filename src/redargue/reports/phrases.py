"""Phrases that every report shares: counts, labels, how a verdict was reached, what it cost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from redargue import words
from redargue.caveats import UncheckedReason
from redargue.evidence import Quote, QuoteStatus, Source, Timing, UnreadFile
from redargue.retrieval.corpus.ingest import file_types
from redargue.sanitize import counted
from redargue.text import CITATION_WORDS, Citation, Outcome
from redargue.verdicts import Usage, Verdict, rounded_down

NO_ANSWER = "no answer"
NOT_CHECKED = "not checked"
NOT_FOUND = "What could not be found"
_DECIDED_BY = {
    "consensus": "by consensus of the debaters",
    "reader": "by one reader",
    "leader": "by the leader of the last state",
    "vote": "by a vote",
    "concession": "by concession",
    "tie": "by a tie of the referees",
    "forced": "by the executor, forced to answer,",
    "knower": "from what the model knows",
}
QUOTE_STATUS = {
    QuoteStatus.VERIFIED: "found word for word",
    QuoteStatus.REPAIRED: "found, except for typography",
    QuoteStatus.NOT_FOUND: "not found: does not count",
}
_FILE = re.compile(  # "report.pdf (2)", "rows.jsonl:3", "letter.eml#1-fees.csv"; not an address
    rf"(?!\w+://).+(?:{'|'.join(map(re.escape, file_types()))})(?:\.gz)?(?:[:#].*| \(\d+\))?", re.IGNORECASE | re.DOTALL
)


def label_of(verdict: Verdict | None) -> str:
    return verdict.plain_label if verdict else "Not finished"


def confidence_text(verdict: Verdict) -> str:
    """The confidence in a label; empty where the claim was not checked, or has none to show."""
    if verdict.unchecked or verdict.error:
        return ""
    if verdict.confidence is None:
        return "confidence not calibrated"
    return "" if verdict.shown_confidence is None else f"confidence {verdict.shown_confidence:.2f}"


def names_file(document: str) -> bool:
    """Whether the identifier of a document is the path or the name of a file, and not an address or a number."""
    return Path(document).is_absolute() or _FILE.fullmatch(document) is not None


def file_of(source: Source) -> str:
    """The path of a source that is a file, relative to the current folder where it is below it; else empty."""
    if not names_file(source.document):
        return ""
    path, here = Path(source.document), Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def place_of(quote: Quote) -> tuple[str, ...]:
    """Where a quotation is: title, file, publisher, date and page, as far as they are known; without the address.

    Of a source that is later than the claim's as-of date, it says so.
    """
    source = quote.source
    if source is None:
        return ()
    file = file_of(source)
    name = file if source.document == source.title or not source.title else source.title
    also, page = file if file != name else "", f"page {quote.page}" if quote.page else ""
    later = "after the as-of date" if source.timing is Timing.LATER else ""
    return tuple(filter(None, (name or source.document, also, source.publisher, source.published, later, page)))


def label_counts(verdicts: Iterable[Verdict]) -> str:
    counts = Counter(map(label_of, verdicts))
    return "; ".join(f"{label}: {count:,}" for label, count in sorted(counts.items()))


def outcome_text(outcome: Outcome, verdicts: Sequence[Verdict]) -> str:
    count = sum(verdict.unsure is not None and not verdict.unchecked for verdict in verdicts)
    unsure = f" The model was unsure about {counted(count, 'claim')}." if count else ""
    if outcome is Outcome.NON_FACTUAL:
        refuted = sum(verdict.meaning == "refuted" for verdict in verdicts)
        claims = counted(len(verdicts), "claim")
        return f"Not factual: {refuted} of {claims} {'is' if refuted == 1 else 'are'} refuted.{unsure}"
    texts = {
        Outcome.FACTUAL: "Every claim of the text is supported.",
        Outcome.UNDECIDED: "No claim of the text is refuted, and not all are supported.",
        Outcome.UNCHECKED: "No claim of the text was checked.",
        Outcome.NOT_CHECKABLE: "The text states nothing that can be checked.",
    }
    return texts[outcome] + unsure


def unread_text(files: Sequence[UnreadFile]) -> str:
    """That files which were given as sources were not read, as a sentence; empty if all of them were."""
    if not files:
        return ""
    them = "it" if len(files) == 1 else "them"
    return f"{counted(len(files), 'source file')} not read: nothing was checked against {them}."


def citation_text(citation: Citation) -> str:
    """What the cited page is to its claim, without the address."""
    why = words.unchecked(citation.unchecked) if citation.unchecked else citation.why
    return CITATION_WORDS[citation.outcome] + (f" ({why})" if why else "")


def heading(verdict: Verdict) -> str:
    """The outcome of a verdict without an error."""
    if verdict.unchecked:
        return NOT_CHECKED.capitalize()
    if verdict.label:
        return verdict.plain_label
    return "No answer was given (unsure)" if verdict.unsure else "No answer was given"


def meaning_text(verdict: Verdict) -> str:
    """A sentence on what the verdict means and what it does not rest on; empty where there is nothing to say."""
    if verdict.unchecked:
        return _sentence(words.unchecked(verdict.unchecked))
    said = words.meaning(verdict.meaning)
    if verdict.unsure:
        instead = verdict.claim.labels.plain(verdict.unsure.label)
        said = _sentence(f"{why_unsure(verdict)}: it would have answered {instead}")
    if verdict.differences and verdict.meaning == "refuted":
        said = f"{said.removesuffix('.')} ({'; '.join(map(words.difference, verdict.differences))})."
    if verdict.leaning and verdict.meaning == "not_enough" and not verdict.unsure:
        said = f"{said} {words.leaning(verdict.leaning)}."
    if verdict.parts:
        said = f"{said} {words.in_parts(verdict.parts)}."
    if not verdict.caveats:
        return said
    caveat = _sentence(words.caveats(verdict.caveats))
    return f"{said} {caveat}" if verdict.unsure or verdict.meaning == "not_enough" else caveat


def why_unsure(verdict: Verdict) -> str:
    """The threshold that the confidence is below; empty where the model was not unsure."""
    if not verdict.unsure or verdict.confidence is None:
        return ""
    least = verdict.unsure.min_confidence
    threshold = max(f"{least:.2f}", f"{least:g}", key=len)
    said = words.reason(UncheckedReason.UNSURE)
    return f"{said} (confidence {rounded_down(verdict.confidence):.2f} < {threshold})"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def lost_quotes(verdict: Verdict) -> tuple[Quote, ...]:
    """What agents quoted and none of their passages has, once for each agent."""
    return tuple({(quote.text, quote.agent): quote for quote in verdict.quotes if not quote.found}.values())


def gap_sections(verdict: Verdict) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Headings with gaps: searches that failed, then those that found nothing; without a gap, one empty section."""
    failed = tuple(map(words.gap, verdict.failed_searches))
    empty = tuple(map(words.gap, verdict.empty_searches))
    sections = (("What could not be searched", failed), (NOT_FOUND, empty))
    return tuple(section for section in sections if section[1]) or sections[1:]


def without_gaps(verdict: Verdict) -> str:
    if not verdict.usage.searches:
        return "Nothing was searched."
    if verdict.error:
        return "No search failed before the error."
    return "Every search whose results were read found something, and no tool failed."


def how_decided(verdict: Verdict) -> str:
    unit = "step" if verdict.decided_by in ("executor", "forced", "rater") else "round"
    by, who = "", verdict.decided_by
    if who:
        by = _DECIDED_BY.get(str(who), f"by the {who}")
    return by + (f" after {counted(verdict.rounds, unit)}" if verdict.rounds else "")


def summary(verdict: Verdict) -> str:
    """How the verdict was reached and at what price; nothing of a confidence that is not shown. Empty for an error."""
    if verdict.error:
        return ""
    calls = "" if is_local(verdict) else counted(verdict.usage.calls, "call")
    facts = (confidence_text(verdict), words.robustness(verdict.robust_to), calls)
    how = how_decided(verdict).strip()
    said = "; ".join(filter(None, (f"decided {how}" if how else "", *facts)))
    return _sentence(said) if said else ""


def is_local(verdict: Verdict) -> bool:
    """Whether the bundled reader did all the work, whose calls and tokens have no price."""
    return verdict.backend == "embedded" and verdict.usage.usd is None


def cost(usage: Usage) -> str:
    tokens = usage.prompt_tokens + usage.completion_tokens
    price = "" if usage.usd is None else f", ${usage.usd:.4f}"
    searches = counted(usage.searches, "search", "searches")
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    return f"{counted(usage.calls, 'call')}, {searches}, {counted(tokens, 'token')}{cached}{price}"
