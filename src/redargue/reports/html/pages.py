"""The pages: what their templates show, within a bound on the size of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from redargue.claims import Meaning
from redargue.events import Answered
from redargue.evidence import Quote, Side
from redargue.reports import tables
from redargue.reports.annotated_text import segments, sentences, text_outcome
from redargue.reports.html.charts import Chart, Curve, Point, curves, reliability, scatter
from redargue.reports.html.debate import Debate, Passages, debate
from redargue.reports.html.environment import macro, page
from redargue.reports.load import CLAIMS_SHOWN, OTHERS_SHOWN, BenchRun, SingleRun, Trace, traces
from redargue.reports.phrases import counted, label_counts
from redargue.reports.reproducibility import (
    commands,
    not_comparable,
    run_commands,
    run_facts,
    sample_facts,
    settings,
    versions,
)
from redargue.reports.rounds import BY_ROUND, by_round, rounds_table
from redargue.reports.table import Table
from redargue.verdicts import Verdict

DEBATES_BYTES = 4_000_000  # of all debates in one file
QUOTES_PER_SIDE = 5

CONTENTS = {
    "results": "Results",
    "pairs": "Paired tests",
    "charts": "Charts",
    "labels": "Labels",
    "adjudicated": "Adjudicated",
    "flips": "Flips",
    "debates": "Debates",
    "repeat": "To reproduce it",
    "limits": "What is not comparable",
}


def bench_page(bench: BenchRun, adjudication: Sequence[Table] = ()) -> str:
    """A bench as a page."""
    comparison = bench.comparison
    rows = comparison.rows
    wanted = bench.shown()
    every = [traces(bench.folder / row.slug, wanted) for row in rows]
    debates = _within_bound(wanted, lambda item: _bench_claim(bench, item, [each[item] for each in every]))
    matrices = [tables.confusion(at, row) for at, row in enumerate(rows)]
    return page(
        "bench.html",
        title=f"{counted(len(rows), 'system')} on {comparison.sample['dataset']}",
        contents={name: words for name, words in CONTENTS.items() if name != "adjudicated" or adjudication},
        sample=tables.sample_text(comparison.sample),
        rows=rows,
        results=tables.results(comparison),
        pairs=tables.pairs(comparison),
        charts=_charts(bench),
        uncalibrated=[tables.letter(at) for at, row in enumerate(rows) if not row.scores.reliability],
        unpriced=all(row.scores.cost.usage.usd is None for row in rows),
        by_round=rounds_table(comparison),
        matrices=[matrix for matrix in matrices if matrix],
        classes=tables.classes(comparison),
        adjudication=adjudication,
        flips=[tables.flips(comparison, pair, debates) for pair in comparison.pairs],
        debates_note=_debates_note(bench, debates),
        debates=[debates[item] for item in sorted(debates)],
        command_lines=commands(bench),
        versions=versions(bench),
        facts=sample_facts(bench),
        settings_of=[(row, settings(about)) for row, about in zip(rows, bench.abouts, strict=True)],
        limits=not_comparable(bench),
    )


def _charts(bench: BenchRun) -> list[Chart]:
    rows = bench.comparison.rows
    scored = [(at, row, row.scores.figure("accuracy")) for at, row in enumerate(rows)]
    charts = []
    for unit, dollars in (("calls per claim", False), ("dollars per claim", True)):
        points = [
            Point(at, spent / row.scores.n, accuracy.value, accuracy.low, accuracy.high)
            for at, row, accuracy in scored
            if (spent := row.scores.cost.usage.usd if dollars else row.scores.cost.usage.calls) is not None
            and accuracy.value is not None
        ]
        if points:
            charts.append(scatter(points, unit, dollars=dollars))
    systems = [
        Curve(at, [each.right for each in by_round(bench.comparison, row)], accuracy.value)
        for at, row, accuracy in scored
        if accuracy.value is not None
    ]
    if systems := [system for system in systems if system.shares]:
        charts.append(curves(systems, BY_ROUND))
    bins = [(row.scores.reliability, row.spec, at) for at, row in enumerate(rows) if row.scores.reliability]
    return [*charts, *(reliability(*each) for each in bins)]


def _within_bound(items: Iterable[int], make: Callable[[int], Markup]) -> dict[int, Markup]:
    """The reports of as many claims as a file has room for."""
    reports: dict[int, Markup] = {}
    size = 0
    for item in items:
        report = make(item)
        size += len(report.encode(errors="replace"))
        if size > DEBATES_BYTES:
            break
        reports[item] = report
    return reports


def _debates_note(bench: BenchRun, shown: Mapping[int, Markup]) -> str:
    flipping = bench.flipping
    flips = sum(item in flipping for item in shown)
    return (
        f"This page has the debates on {len(shown)} of {len(bench.comparison.claims)} claims: {flips} of the "
        f"{len(flipping)} on which systems differ, and the first {len(shown) - flips} others (at most {OTHERS_SHOWN}, "
        f"and {DEBATES_BYTES // 1_000_000} MB in all). The rest is in the run folders."
    )


class SystemView(NamedTuple):
    """A system's debate on one claim of a bench."""

    key: str
    spec: str
    label: str
    right: bool
    anchor: str
    debate: Debate


def _bench_claim(bench: BenchRun, item: int, every: Sequence[Trace]) -> Markup:
    ask = bench.comparison.claims[item]
    passages = Passages(item, every)
    systems = [
        SystemView(
            *tables.key(at, row),
            tables.said_label(row.said[item]),
            row.said[item].label == ask.gold,
            tables.anchor(item, at),
            debate(trace, passages, macro("debate.html", "line")),
        )
        for at, (row, trace) in enumerate(zip(bench.comparison.rows, every, strict=True))
    ]
    return macro("bench_claim.html", "claim")(ask, systems, passages)


class SideView(NamedTuple):
    """The case of one side: its quotations, of which some are shown above the table, and its last argument."""

    name: str
    quotes: tuple[Quote, ...]
    argument: Answered | None
    shown: int = QUOTES_PER_SIDE


class VerdictView(NamedTuple):
    """One claim."""

    verdict: Verdict
    passages: Passages
    sides: tuple[SideView, ...]
    neither: tuple[Quote, ...]
    debate: Debate


def _view(item: int, verdict: Verdict, trace: Trace) -> VerdictView:
    passages = Passages(item, [trace])
    sides = tuple(
        SideView(side.value, tuple(verdict.side(side)), _last_argument(verdict, trace, meaning))
        for side, meaning in ((Side.FOR, Meaning.SUPPORTED), (Side.AGAINST, Meaning.REFUTED))
    )
    arranged = debate(trace, passages, macro("debate.html", "line"))
    return VerdictView(verdict, passages, sides, tuple(verdict.side(Side.CONTEXT)), arranged)


def _last_argument(verdict: Verdict, trace: Trace, meaning: Meaning) -> Answered | None:
    """The last answer whose label has that meaning."""
    label = verdict.claim.labels.named(meaning)
    arguments = [event for event in trace if isinstance(event, Answered) and label and event.label == label]
    return arguments[-1] if arguments else None


def run_page(run: SingleRun) -> str:
    """A run as a page: one claim in full, or a table of claims with each in full below."""
    wanted = list(run.verdicts)[:CLAIMS_SHOWN]
    events = traces(run.folder, wanted)
    done = {"command_lines": run_commands(run), "facts": run_facts(run), "settings": settings(run.about)}
    if len(run.verdicts) == 1 and not run.unfinished and run.text is None:
        ((item, verdict),) = run.verdicts.items()
        view = _view(item, verdict, events[item])
        return page("claim.html", title=verdict.claim.text[:80], view=view, **done)

    def claim(item: int) -> Markup:
        return macro("run_parts.html", "claim")(item, _view(item, run.verdicts[item], events[item]))

    claims = _within_bound(wanted, claim)
    return page(
        "run.html",
        title=f"{'A text of ' if run.text else ''}{counted(len(run.verdicts), 'claim')}",
        run=run,
        counts=label_counts(run.verdicts.values()),
        claims=claims,
        claims_table=tables.run_table(run, claims),
        **_text(run),
        **done,
    )


def _text(run: SingleRun) -> dict[str, Any]:
    """The text from which the claims were extracted; empty where there is none."""
    if run.text is None:
        return {"text": ""}
    text, extraction = run.text
    return {
        "text": text.text,
        "context": text.context,
        "parts": list(segments(text.text, sentences(run, extraction))),
        "outcome": text_outcome(run),
    }
