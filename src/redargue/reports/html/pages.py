"""The pages: what their templates show, within a bound on the size of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from redargue.claims import Meaning
from redargue.events import Answered
from redargue.evidence import Side
from redargue.reports import reproducibility, tables
from redargue.reports.annotated_text import sentences, shown_parts, text_outcome, unchecked_table
from redargue.reports.html.charts import charts
from redargue.reports.html.debate import Debate, Passages, debate
from redargue.reports.html.environment import macro, page
from redargue.reports.load import CLAIMS_SHOWN, OTHERS_SHOWN, BenchRun, SingleRun, Trace, traces
from redargue.reports.phrases import label_counts
from redargue.reports.rounds import rounds_table
from redargue.reports.table import Table
from redargue.sanitize import counted
from redargue.verdicts import Verdict

DEBATES_BYTES = 4_000_000  # of all debates in one file

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
    comparison = bench.comparison
    rows = comparison.rows
    shown = bench.shown()
    systems = [traces(bench.folder / row.slug, shown) for row in rows]
    debates = _within_bound(shown, lambda item: _bench_claim(bench, item, [system[item] for system in systems]))
    matrices = [tables.confusion(at, row) for at, row in enumerate(rows)]
    return page(
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
    line = macro("debate.html", "line")
    systems = [(row, debate(trace, passages, line)) for row, trace in zip(bench.comparison.rows, every, strict=True)]
    return macro("bench_claim.html", "claim")(bench.comparison.claims[item], systems, passages)


class VerdictView(NamedTuple):
    """A verdict, and how it was reached; the arguments are the last of each side."""

    verdict: Verdict
    passages: Passages
    arguments: Mapping[Side, Answered | None]
    debate: Debate


def _view(item: int, verdict: Verdict, trace: Trace) -> VerdictView:
    passages = Passages(item, [trace])
    arguments: dict[Side, Answered | None] = {}
    for side, meaning in ((Side.FOR, Meaning.SUPPORTED), (Side.AGAINST, Meaning.REFUTED)):
        label = verdict.claim.labels.named(meaning)
        answers = (event for event in reversed(trace) if isinstance(event, Answered))
        arguments[side] = next((answer for answer in answers if label and answer.label == label), None)
    return VerdictView(verdict, passages, arguments, debate(trace, passages, macro("debate.html", "line")))


def run_page(run: SingleRun) -> str:
    shown = list(run.verdicts)[:CLAIMS_SHOWN]
    events = traces(run.folder, shown)
    done = {
        "command_lines": reproducibility.run_commands(run),
        "facts": reproducibility.run_facts(run),
        "settings": reproducibility.settings(run.manifest),
    }
    if len(run.verdicts) == 1 and not run.unfinished and run.text is None:
        ((item, verdict),) = run.verdicts.items()
        view = _view(item, verdict, events[item])
        return page("claim.html", title=verdict.claim.text[:80], view=view, **done)

    def claim(item: int) -> Markup:
        return macro("run_parts.html", "claim")(item, _view(item, run.verdicts[item], events[item]))

    claims = _within_bound(shown, claim)
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
