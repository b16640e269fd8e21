"""A run of several claims as a table: which claims are shown, and in which order (by default, most disputed first)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from markupsafe import Markup

from redargue import events
from redargue.claims import Frozen
from redargue.reports import SingleRun
from redargue.reports.annotated_text import WORST_FIRST
from redargue.reports.debate import text_parts
from redargue.reports.overview import by_risk, run_rows
from redargue.reports.phrases import label_of
from redargue.runs.budget import Budget, UsageCounter
from redargue.service.page.frames import Frame, live, meters, page_macro
from redargue.verdicts import Verdict

ROWS = 200  # on a page
DISAGREED = ("no", "settled", "to the end")
"""In words: agents never gave different labels, did but agreed at last, or did not agree."""

Order = Literal["disagreement", "number"]


def disagreement(verdict: Verdict | None) -> int:
    """0, 1 or 2, as in ``DISAGREED``; an agent without a label does not disagree."""
    rounds = verdict.round_labels if verdict else ()
    differ = [len({label for label in labels if label}) > 1 for labels in rounds]
    if not any(differ):
        return 0
    return 2 if differ[-1] else 1


def outcome_of(verdict: Verdict | None) -> str:
    """What a filter may name: the meaning of the label, ``error``, ``unchecked``, ``no label`` or ``unfinished``."""
    if verdict is None:
        return "unfinished"
    if verdict.error:
        return "error"
    return "unchecked" if verdict.unchecked else str(verdict.meaning or "no label")


class BatchRow(NamedTuple):
    """A claim of a run; without a verdict, it is waiting or being argued."""

    item: int
    claim: str
    verdict: Verdict | None
    started: bool = False

    @property
    def outcome(self) -> str:
        if self.verdict is None:
            return "being argued" if self.started else "waiting"
        return label_of(self.verdict)

    @property
    def disagreement_words(self) -> str:
        rounds = self.verdict.round_labels if self.verdict else ()
        return DISAGREED[disagreement(self.verdict)] if rounds else "–"

    @property
    def numbers(self) -> tuple[str, ...]:
        """Confidence, quotations for and against, gaps and calls, as the table shows them."""
        verdict = self.verdict
        if verdict is None:
            return ("–",) * 5
        sure = verdict.shown_confidence
        confidence = "–" if sure is None else f"{sure:.2f}"
        counts = len(verdict.side("for")), len(verdict.side("against")), len(verdict.gaps)
        return (confidence, *map(str, counts), f"{verdict.usage.calls:,}")


class Filter(Frozen):
    """Which rows are shown; the defaults show all.

    Attributes:
        outcome: as :func:`outcome_of` names it; empty for any.
        disagreed: only claims about which agents gave different labels.
        words: that the claim contains, in any case.
        page: from 1, of ``ROWS`` rows each.
    """

    outcome: str = ""
    disagreed: bool = False
    words: str = ""
    order: Order = "disagreement"
    page: int = 1

    def admits(self, row: BatchRow) -> bool:
        return (
            self.outcome in ("", outcome_of(row.verdict))
            and (not self.disagreed or disagreement(row.verdict) > 0)
            and self.words.casefold() in row.claim.casefold()
        )


class _Shown(NamedTuple):
    """The rows of one page, and how many there are in all that the filter admits."""

    rows: tuple[BatchRow, ...]
    admitted: int
    outcomes: tuple[tuple[str, int], ...]  # of all rows, with their numbers
    pages: int


def select(rows: Sequence[BatchRow], filter_: Filter) -> _Shown:
    """The rows of the filter's page.

    In the order ``disagreement``, claims on which agents still disagreed at the end come first, then those on which
    they agreed later; among equals, the worst outcomes come first (``WORST_FIRST``).
    """
    admitted = [row for row in rows if filter_.admits(row)]
    if filter_.order == "disagreement":
        admitted.sort(key=lambda row: (-disagreement(row.verdict), _severity(outcome_of(row.verdict)), row.item))
    names = Counter(sorted((outcome_of(row.verdict) for row in rows), key=_severity))
    first, pages = (filter_.page - 1) * ROWS, -(-len(admitted) // ROWS)
    page = tuple(admitted[first : first + ROWS])
    return _Shown(page, len(admitted), tuple(names.items()), pages)


def _severity(outcome: str) -> int:
    return WORST_FIRST.index(outcome) if outcome in WORST_FIRST else len(WORST_FIRST)


class BatchFrames:
    """The table, and the text with its claims marked, while the claims are verified."""

    only_replaces = True

    def __init__(self, run: SingleRun, budget: Budget | None = None) -> None:
        self._run, self._budget = run, budget
        self._name, self._is_text = run.folder.name, run.text is not None
        self._claims = [claim.text for claim in run.manifest.claims]
        self._verdicts: dict[int, Verdict] = {}
        self._started: set[int] = set()
        self._usage = UsageCounter(run.manifest.priced)

    def see(self, event: events.Event) -> None:
        self._usage.count(event)
        if isinstance(event, events.ClaimStarted):
            self._verdicts.pop(event.item, None)
            self._started.add(event.item)
        elif isinstance(event, events.ClaimEnded):
            self._verdicts[event.item] = event.verdict

    def feed(self, event: events.Event) -> list[Frame]:
        self.see(event)
        match event:
            case events.ClaimStarted():
                return [self._row_frame(event.item)]
            case events.ClaimEnded():
                frames = [self._row_frame(event.item), Frame("replace", "progress", self._progress())]
                if self._is_text:
                    frames.append(Frame("replace", "text", self._marked()))
                if self._is_text and self._all_ended:
                    frames.append(Frame("replace", "risks", self._risks()))
                return frames
            case events.CallFinished() | events.CallFailed() | events.EvidenceFound() | events.EvidenceMissing():
                return [Frame("replace", "cost", self._cost())]
        return []

    def _row_frame(self, item: int) -> Frame:
        html = live("batch_row", self._row(item), self._name)
        return Frame("replace", f"c-{item}", html)

    def _row(self, item: int) -> BatchRow:
        return BatchRow(item, self._claims[item], self._verdicts.get(item), item in self._started)

    def _progress(self) -> Markup:
        errors = sum(verdict.error is not None for verdict in self._verdicts.values())
        return live("progress", len(self._verdicts), len(self._claims), errors)

    def _cost(self) -> Markup:
        spent = meters(self._usage.usage(), self._budget, local=self._run.manifest.is_local)
        return live("cost", "cost", "batch-cost", spent)

    def _marked(self) -> Markup:
        parts = text_parts(self._so_far())
        shown = (parts[name] for name in ("context", "parts", "outcome"))
        return live("text_marked", self._name, *shown, range(len(self._claims)))

    def _risks(self) -> Markup:
        groups = by_risk(run_rows(self._so_far())) if self._all_ended else []
        return live("text_risks", self._name, groups, range(len(self._claims)))

    @property
    def _all_ended(self) -> bool:
        return len(self._verdicts) == len(self._claims)

    def _so_far(self) -> SingleRun:
        return self._run._replace(verdicts=dict(sorted(self._verdicts.items())))

    def element(self) -> Markup:
        return self.filtered(Filter())

    def outcomes(self) -> Frame:
        """The filter's outcomes as they are now, which the page shows when the run has ended."""
        outcomes = select(self._rows(), Filter()).outcomes
        html = page_macro("batch_parts.html", "outcome_choice")(outcomes, "")
        return Frame("replace", "outcome", html)

    def _rows(self) -> list[BatchRow]:
        return list(map(self._row, range(len(self._claims))))

    def filtered(self, filter_: Filter) -> Markup:
        return page_macro("batch_parts.html", "batch")(
            run=self._name,
            text=self._marked() if self._is_text else "",
            risks=self._risks() if self._is_text else "",
            unchecked=text_parts(self._run).get("unchecked"),
            progress=self._progress(),
            cost=self._cost(),
            shown=select(self._rows(), filter_),
            filter=filter_,
        )
