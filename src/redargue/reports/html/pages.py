"""The pages: what their templates show, within a bound on the size of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from markupsafe import Markup

from redargue.backends.base import Stability
from redargue.claims import Meaning
from redargue.events import Answered
from redargue.evidence import Side
from redargue.methods.strangers import recorded_method
from redargue.reports import reproducibility
from redargue.reports.annotated_text import annotated_sentences, shown_parts, text_outcome, unchecked_table
from redargue.reports.folders import further_tables
from redargue.reports.html.debate import Debate, Line, Passages, debate
from redargue.reports.html.environment import macro, page
from redargue.reports.load import CLAIMS_SHOWN, SingleRun, Trace, traces
from redargue.reports.overview import TITLES, Risk, Row, run_rows
from redargue.reports.phrases import label_counts
from redargue.reports.reproducibility import run_table
from redargue.runs.manifest import RunManifest
from redargue.sanitize import counted
from redargue.verdicts import Metric, Verdict

DEBATES_BYTES = 4_000_000  # of all debates in one file


def within_bound(items: Iterable[int], make: Callable[[int], Markup]) -> dict[int, Markup]:
    reports: dict[int, Markup] = {}
    size = 0
    for item in items:
        report = make(item)
        size += len(report.encode(errors="replace"))
        if size > DEBATES_BYTES:
            break
        reports[item] = report
    return reports


class VerdictView(NamedTuple):
    """A verdict, and how it was reached; the arguments are the last of each side."""

    verdict: Verdict
    passages: Passages
    arguments: Mapping[Side, Answered | None]
    debate: Debate


def verdict_view(
    item: int, verdict: Verdict, trace: Trace, limits: Mapping[Metric, float], shared: Passages | None = None
) -> VerdictView:
    """``shared``: the passages of all claims, where the page shows them once."""
    passages = shared or Passages(item, [trace])
    arguments: dict[Side, Answered | None] = {}
    for side, meaning in ((Side.FOR, Meaning.SUPPORTED), (Side.AGAINST, Meaning.REFUTED)):
        label = verdict.claim.labels.named(meaning)
        answers = (event for event in reversed(trace) if isinstance(event, Answered))
        arguments[side] = next((answer for answer in answers if label and answer.label == label), None)
    return VerdictView(verdict, passages, arguments, debate(trace, passages, line_writer(limits)))


def line_writer(limits: Mapping[Metric, float]) -> Line:
    """Renders one event; scores with their thresholds."""
    return partial(macro("debate.html", "line"), limits=limits)


def limits_of(manifest: RunManifest) -> Mapping[Metric, float]:
    """The thresholds of a run's scores; empty for a method without any, and for settings of another release."""
    method = recorded_method(manifest.spec.method, manifest.spec.settings)
    return method.limits(Stability(*manifest.backend.stability)) if method else {}


def how_done(run: SingleRun) -> dict[str, Any]:
    return {
        "command_lines": reproducibility.run_commands(run),
        "facts": reproducibility.run_facts(run),
        "settings": reproducibility.settings(run.manifest),
    }


def run_page(run: SingleRun) -> str:
    shown = list(run.verdicts)[:CLAIMS_SHOWN]
    events = traces(run.folder, shown)
    limits, done, further = limits_of(run.manifest), how_done(run), further_tables(run)
    if len(run.verdicts) == 1 and not run.unfinished and run.text is None:
        ((item, verdict),) = run.verdicts.items()
        view = verdict_view(item, verdict, events[item], limits)
        return page("claim.html", title=verdict.claim.text[:80], view=view, further=further, **done)

    citations = run.citations
    shared = Passages(0, events.values()) if run.text else None

    def claim(item: int) -> Markup:
        view = verdict_view(item, run.verdicts[item], events[item], limits, shared)
        return macro("run_parts.html", "claim")(item, view, citations.get(item), alone=shared is None)

    claims = within_bound(shown, claim)
    return page(
        "run.html",
        title=f"{'A text of ' if run.text else ''}{counted(len(run.verdicts), 'claim')}",
        run=run,
        counts=label_counts(run.verdicts.values()),
        claims=claims,
        claims_table=None if run.text else run_table(run, claims),
        rows=by_risk(run),
        passages=shared,
        further=further,
        **text_parts(run),
        **done,
    )


def by_risk(run: SingleRun) -> list[tuple[Risk, str, list[Row]]]:
    """The rows of a text in their groups, each with its title."""
    return [(risk, TITLES[risk], list(rows)) for risk, rows in groupby(run_rows(run), lambda row: row.risk)]


def text_parts(run: SingleRun) -> dict[str, Any]:
    """What ``annotated`` in ``run_parts.html`` shows of a text."""
    if run.text is None:
        return {"text": ""}
    text, extraction = run.text
    return {
        "text": text.text,
        "context": text.context,
        "parts": list(shown_parts(text.text, annotated_sentences(run, extraction))),
        "unchecked": unchecked_table(text, extraction) if extraction.unchecked else None,
        "outcome": text_outcome(run),
    }
