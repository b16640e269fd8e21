"""What the page shows of a check: its claims, its text, or its bench, as far as they are recorded.

Runs side by side: the same claims by different methods, those with different labels first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from threading import Lock
from typing import Annotated, NamedTuple

from fastapi import Depends, Request
from markupsafe import Markup

from redargue.errors import RedargueError
from redargue.reports import SingleRun, load_run
from redargue.reports.phrases import cost, label_of
from redargue.runs.budget import Budget
from redargue.runs.manifest import RunManifest, load_manifest
from redargue.service.checks import Check
from redargue.service.entries import LogReader, read_entry
from redargue.service.page.batch import BatchFrames, Filter
from redargue.service.page.frames import ClaimFrames, Frame, FrameLog, Frames, page_macro
from redargue.verdicts import Verdict, total_usage

_PAGES_KEPT = 32  # whose frames are kept


def manifest_of(check: Check) -> RunManifest | None:
    """None before the run is recorded; raises RecordError if it is damaged."""
    return load_manifest(check.folder) if check.recorded else None


def is_text(check: Check) -> bool:
    entry = read_entry(check.folder)
    return entry is not None and entry.request.text is not None


def name_of(check: Check) -> str:
    """What its owner called a check; empty without a name."""
    entry = read_entry(check.folder)
    return entry.request.name if entry else ""


def budget_of(check: Check) -> Budget | None:
    entry = read_entry(check.folder)
    return Budget.parse(entry.budget) if entry and entry.budget else None


def run_of(check: Check) -> SingleRun:
    """A run without its verdicts, also of one that has none yet."""
    return SingleRun(check.folder, load_manifest(check.folder), {})


def control(check: Check) -> dict[str, object]:
    """What ``control.html`` shows, and whether its owner can sign out."""
    shown = {"run": check.id, "can_stop": not check.ended, "ended": _ended("ended", check)}
    return {**shown, "signed_in": bool(check.owner)}


def _ended(name: str, check: Check) -> Markup:
    error = "; ".join(filter(None, (check.error.what, check.error.hint))) if check.error else ""
    return page_macro("control_ended.html", name)(check.state, check.id, error, docx=writes_docx())


def writes_docx() -> bool:
    """Whether the package is installed with which reports are written as Word documents."""
    return find_spec("docx") is not None


class RunPages:
    """The pages of checks, and the frames of those that change."""

    def __init__(self) -> None:
        # Of the pages that were read last: a run, and one of its claims or, with None, all of them.
        self._logs = OrderedDict[tuple[str, int | None], FrameLog]()
        self._lock = Lock()  # pages are rendered in threads

    def log(self, check: Check, item: int | None) -> FrameLog:
        """The frames of a claim's page; with None, of the page of all claims."""
        key = check.id, item
        with self._lock:
            if key not in self._logs:
                self._logs[key] = FrameLog(self._page(check, item))
            self._logs.move_to_end(key)
            if len(self._logs) > _PAGES_KEPT:
                self._logs.popitem(last=False)
            return self._logs[key]

    def _page(self, check: Check, item: int | None) -> Frames:
        run, budget = run_of(check), budget_of(check)
        if item is None and (run.manifest.text is not None or len(run.manifest.claims) != 1):
            return BatchFrames(run, budget)
        return ClaimFrames(run.manifest, item or 0, lambda: self.loaded(check), budget)

    def claim(self, check: Check, item: int) -> tuple[Markup, int, bool]:
        """A claim as it is now, the number of lines read for it, and whether it has finished."""
        log = self.log(check, item)
        for line in LogReader(check.folder, log.read).all():
            log.frames(line)
        assert isinstance(log.page, ClaimFrames)
        return *log.element(), log.page.finished

    def batch(self, check: Check, filter_: Filter) -> tuple[Markup, int]:
        """All claims as they are now, and the number of lines read for them."""
        page, read = BatchFrames(run_of(check), budget_of(check)), 0
        for line in LogReader(check.folder).all():
            read = line.number
            page.see(line.event)
        return page.filtered(filter_), read

    def ended(self, check: Check, page: Frames) -> tuple[Frame, ...]:
        """The last frames of a page: how the check ended, and the outcomes that its claims can be filtered by."""
        outcomes = (page.outcomes(),) if isinstance(page, BatchFrames) else ()
        return *outcomes, Frame("replace", "control", _ended("control", check))

    def loaded(self, check: Check) -> SingleRun:
        """The run as it is recorded now; without a verdict, as it was begun."""
        try:
            return load_run(check.folder)
        except RedargueError:
            return run_of(check)


def pages_of(request: Request) -> RunPages:
    """One for each application."""
    state = request.app.state
    if not hasattr(state, "pages"):
        state.pages = RunPages()
    pages: RunPages = state.pages
    return pages


Pages = Annotated[RunPages, Depends(pages_of)]


_CLAIMS_SHOWN = 500


class _System(NamedTuple):
    """A run in the comparison."""

    run: str
    method: str
    backend: str
    claims: int
    cost: str
    calls_per_claim: float


class _Answer(NamedTuple):
    """What a run says of a claim; ``item`` is the claim's index in the run, None where it does not hold the claim."""

    run: str
    item: int | None
    words: str


class ComparedClaim(NamedTuple):
    """A claim with every run's answer; it flips if two of the ``finished`` runs give different labels."""

    claim: str
    answers: tuple[_Answer, ...]
    finished: int
    flips: bool

    @property
    def labels(self) -> str:
        if self.finished < 2:
            return "–"  # there is nothing to compare
        return "different" if self.flips else "the same"


class Comparison(NamedTuple):
    """``shared``: number of claims that every run has finished; ``flips``: those of them with different labels."""

    systems: tuple[_System, ...]
    claims: tuple[ComparedClaim, ...]
    shared: int
    flips: int
    left_out: int


def compare_verdicts(runs: Sequence[SingleRun]) -> Comparison:
    """Compares runs by the text of their claims."""
    by_text = [_by_text(run) for run in runs]
    texts = list(dict.fromkeys(text for known in by_text for text in known))
    claims = [_claim(text, runs, by_text) for text in texts]
    shared = [claim for claim in claims if claim.finished == len(runs)]
    claims.sort(key=lambda claim: not claim.flips)
    return Comparison(
        tuple(map(_system, runs)),
        tuple(claims[:_CLAIMS_SHOWN]),
        len(shared),
        sum(claim.flips for claim in shared),
        max(0, len(claims) - _CLAIMS_SHOWN),
    )


def _by_text(run: SingleRun) -> dict[str, tuple[int, Verdict | None]]:
    known: dict[str, tuple[int, Verdict | None]] = {}
    for item, claim in enumerate(run.manifest.claims):
        known.setdefault(claim.text, (item, run.verdicts.get(item)))
    return known


def _claim(
    text: str, runs: Sequence[SingleRun], by_text: Iterable[dict[str, tuple[int, Verdict | None]]]
) -> ComparedClaim:
    answers, outcomes = [], []
    for run, known in zip(runs, by_text, strict=True):
        if text not in known:
            answers.append(_Answer(run.folder.name, None, "not in this check"))
            continue
        item, verdict = known[text]
        answers.append(_Answer(run.folder.name, item, label_of(verdict)))
        if verdict:
            outcomes.append(label_of(verdict))
    return ComparedClaim(text, tuple(answers), len(outcomes), len(set(outcomes)) > 1)


def _system(run: SingleRun) -> _System:
    spec, usage, claims = run.manifest.spec, total_usage(run.usages), len(run.verdicts)
    method, calls = f"{spec.method} ({spec.profile})", usage.calls / max(1, claims)
    return _System(run.folder.name, method, spec.backend, claims, cost(usage), calls)
