"""The pages: what their templates show, within a bound on the size of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from markupsafe import Markup

from redargue.backends.base import Stability
from redargue.claims import Meaning
from redargue.events import Answered
from redargue.evidence import Side
from redargue.methods.strangers import recorded
from redargue.reports import reproducibility, tables
from redargue.reports.annotated_text import sentences, shown_parts, text_outcome, unchecked_table
from redargue.reports.frontier import frontier_table
from redargue.reports.html.charts import charts
from redargue.reports.html.debate import Debate, Line, Passages, debate
from redargue.reports.html.environment import macro, page
from redargue.reports.load import CLAIMS_SHOWN, OTHERS_SHOWN, BenchRun, SingleRun, Trace, traces
from redargue.reports.phrases import label_counts
from redargue.reports.rounds import rounds_table
from redargue.reports.table import Table
from redargue.runs.manifest import RunManifest
from redargue.sanitize import counted
from redargue.verdicts import Metric, Verdict

DEBATES_BYTES = 4_000_000  # of all debates in one file

Render = Callable[..., str]

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


def bench_page(bench: BenchRun, adjudication: Sequence[Table] = (), *, render: Render = page) -> str:
    """``render`` fills a template, into a file by itself or into another layout."""
    comparison = bench.comparison
    rows = comparison.rows
    shown = bench.shown()
    systems = [traces(bench.folder / row.slug, shown) for row in rows]
    debates = _within_bound(shown, lambda item: _bench_claim(bench, item, [system[item] for system in systems]))
    matrices = [tables.confusion(at, row) for at, row in enumerate(rows)]
    return render(
        "bench.html",
        title=f"{counted(len(rows), 'system')} on {comparison.sample['dataset']}",
        contents={name: words for name, words in CONTENTS.items() if name != "adjudicated" or adjudication},
        sample=tables.sample_text(comparison.sample),
        rows=rows,
        claims=len(comparison.claims),
        results=tables.results(comparison),
        pairs=tables.pairs(comparison),
        charts=charts(comparison),
        uncalibrated=[tables.letter(at) for at, row in enumerate(rows) if not row.scores.reliability],
        unpriced=all(row.scores.cost.usage.usd is None for row in rows),
        frontier=frontier_table(comparison),
        by_round=rounds_table(comparison),
        matrices=[matrix for matrix in matrices if matrix],
        classes=tables.classes(comparison),
        adjudication=adjudication,
        flips=[tables.flips(comparison, pair, debates) for pair in comparison.pairs],
        flipping=bench.flipping,
        limits_of_debates=(OTHERS_SHOWN, DEBATES_BYTES // 1_000_000),
        debates=dict(sorted(debates.items())),
        command_lines=reproducibility.commands(bench),
        versions=reproducibility.versions(bench),
        facts=reproducibility.sample_facts(bench),
        settings_of=[(row, reproducibility.settings(run)) for row, run in zip(rows, bench.manifests, strict=True)],
        limits=reproducibility.not_comparable(bench),
    )


def _within_bound(items: Iterable[int], make: Callable[[int], Markup]) -> dict[int, Markup]:
    reports: dict[int, Markup] = {}
    size = 0
    for item in items:
        report = make(item)
        size += len(report.encode(errors="replace"))
        if size > DEBATES_BYTES:
            break
        reports[item] = report
    return reports


def _bench_claim(bench: BenchRun, item: int, every: Sequence[Trace]) -> Markup:
    passages = Passages(item, every)
    lines = [line_writer(limits_of(manifest)) for manifest in bench.manifests]
    systems = [
        (row, debate(trace, passages, line))
        for row, trace, line in zip(bench.comparison.rows, every, lines, strict=True)
    ]
    return macro("bench_claim.html", "claim")(bench.comparison.claims[item], systems, passages)


class VerdictView(NamedTuple):
    """A verdict, and how it was reached; the arguments are the last of each side."""

    verdict: Verdict
    passages: Passages
    arguments: Mapping[Side, Answered | None]
    debate: Debate


def verdict_view(item: int, verdict: Verdict, trace: Trace, limits: Mapping[Metric, float]) -> VerdictView:
    passages = Passages(item, [trace])
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
    method = recorded(manifest.method, manifest.settings)
    return method.limits(Stability(*manifest.stability)) if method else {}


def how_done(run: SingleRun) -> dict[str, Any]:
    return {
        "command_lines": reproducibility.run_commands(run),
        "facts": reproducibility.run_facts(run),
        "settings": reproducibility.settings(run.manifest),
    }


def run_page(run: SingleRun) -> str:
    shown = list(run.verdicts)[:CLAIMS_SHOWN]
    events = traces(run.folder, shown)
    limits, done = limits_of(run.manifest), how_done(run)
    if len(run.verdicts) == 1 and not run.unfinished and run.text is None:
        ((item, verdict),) = run.verdicts.items()
        view = verdict_view(item, verdict, events[item], limits)
        return page("claim.html", title=verdict.claim.text[:80], view=view, **done)

    citations = run.citations

    def claim(item: int) -> Markup:
        view = verdict_view(item, run.verdicts[item], events[item], limits)
        return macro("run_parts.html", "claim")(item, view, citations.get(item))

    claims = _within_bound(shown, claim)
    return page(
        "run.html",
        title=f"{'A text of ' if run.text else ''}{counted(len(run.verdicts), 'claim')}",
        run=run,
        counts=label_counts(run.verdicts.values()),
        claims=claims,
        claims_table=tables.run_table(run, claims),
        **text_parts(run),
        **done,
    )


def text_parts(run: SingleRun) -> dict[str, Any]:
    """What ``annotated`` in ``run_parts.html`` shows of a text."""
    if run.text is None:
        return {"text": ""}
    text, extraction = run.text
    return {
        "text": text.text,
        "context": text.context,
        "parts": list(shown_parts(text.text, sentences(run, extraction))),
        "unchecked": unchecked_table(text, extraction) if extraction.unchecked else None,
        "outcome": text_outcome(run),
    }
