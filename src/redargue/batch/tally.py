"""Running totals of a batch."""

from __future__ import annotations

from collections import Counter

from redargue.caveats import Unchecked
from redargue.inputs.claims import ClaimRow
from redargue.text.report import Report, unchecked_reasons
from redargue.verdicts import ErrorInfo, Verdict


class Tally:
    """Running totals of a batch.

    Attributes:
        outcomes: one entry per verdict, shared by verdicts with the same meaning, sureness and reason for being
            unchecked, to save memory.
        labels: counts of labels in plain words, those of unsure verdicts apart, and of errors by type.
        usd: None if no price is known.
        unread: why sentences of answers were not checked.
    """

    def __init__(self) -> None:
        self.unread: list[Unchecked] = []
        self._shared: dict[tuple[str | None, Unchecked | None, int, bool], Verdict] = {}
        self.outcomes: list[Verdict] = []
        self.labels: Counter[str] = Counter()
        self.errors = self.calls = 0
        self.usd: float | None = None

    def add(self, verdict: Verdict) -> None:
        error = verdict.error
        key = verdict.meaning, verdict.why_unchecked, error.exit_code if error else 0, verdict.unsure is not None
        self.outcomes.append(self._shared.setdefault(key, verdict))
        plain = verdict.claim.labels.plain(verdict.label) if verdict.label else "no answer"
        label = plain + (" (unsure)" if verdict.unsure else "")
        self.labels[error.type if error else "not checked" if verdict.unchecked else label] += 1
        self.errors += error is not None
        self.calls += verdict.usage.calls
        if verdict.usage.usd is not None:
            self.usd = (self.usd or 0.0) + verdict.usage.usd

    def add_answer(self, row: ClaimRow, answer: Report | ErrorInfo | None) -> None:
        """Adds the claims of a row's answer; a failure counts as one."""
        if isinstance(answer, ErrorInfo):
            self.add(Verdict(claim=row.claim, label=None, error=answer))
        elif answer is not None:
            self.unread += unchecked_reasons(answer.unchecked)
            for claim in answer.claims:
                self.add(claim.verdict)
