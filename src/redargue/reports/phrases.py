"""Phrases that every report shares: counts, labels, how a verdict was reached, what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from redargue.evidence import QuoteStatus
from redargue.sanitize import counted
from redargue.text.report import Outcome
from redargue.verdicts import Usage, Verdict

NO_ANSWER = "no answer"
DECIDED_BY = {
    "consensus": "by consensus of the debaters",
    "reader": "by one reader",
    "leader": "by the leader of the last state",
    "vote": "by a vote",
    "forced": "by the executor, forced to answer,",
}
QUOTE_STATUS = {
    QuoteStatus.VERIFIED: "found word for word",
    QuoteStatus.REPAIRED: "found, except for typography",
    QuoteStatus.NOT_FOUND: "not found: does not count",
}


def label_of(verdict: Verdict | None) -> str:
    if verdict is None:
        return "not finished"
    return f"error: {verdict.error.type}" if verdict.error else verdict.label or NO_ANSWER


def label_counts(verdicts: Iterable[Verdict]) -> str:
    names = (f"error ({verdict.error.type})" if verdict.error else label_of(verdict) for verdict in verdicts)
    counts = Counter(names)
    return ", ".join(f"{count} {label}" for label, count in sorted(counts.items()))


def outcome_text(outcome: Outcome, verdicts: Sequence[Verdict]) -> str:
    if outcome is Outcome.NON_FACTUAL:
        refuted = sum(verdict.meaning == "refuted" for verdict in verdicts)
        return f"Not factual: {refuted} of {counted(len(verdicts), 'claim')} {'is' if refuted == 1 else 'are'} refuted."
    return {
        Outcome.FACTUAL: "Every claim of the text is supported.",
        Outcome.UNDECIDED: "No claim of the text is refuted, and not all are supported.",
        Outcome.NOT_CHECKABLE: "The text states nothing that can be checked.",
    }[outcome]


def how_decided(verdict: Verdict) -> str:
    unit = "step" if verdict.decided_by in ("executor", "forced") else "round"
    by = DECIDED_BY.get(str(verdict.decided_by), f"by the {verdict.decided_by}") if verdict.decided_by else ""
    return by + (f" after {counted(verdict.rounds, unit)}" if verdict.rounds else "")


def summary(verdict: Verdict) -> str:
    if verdict.error:
        return f"{verdict.error.type}: {verdict.error.what}"
    how, calls = how_decided(verdict).strip(), counted(verdict.usage.calls, "call")
    return f"Decided {how}; {calls}." if how else f"{calls}."


def cost(usage: Usage) -> str:
    tokens = usage.prompt_tokens + usage.completion_tokens
    price = "" if usage.usd is None else f", ${usage.usd:.4f}"
    searches = counted(usage.searches, "search", "searches")
    return f"{counted(usage.calls, 'call')}, {searches}, {counted(tokens, 'token')}{price}"
