"""``redargue bench fit-cascade`` and ``redargue fit``: thresholds from labelled claims."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from json import dumps
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from redargue.api import spec_of
from redargue.assembly import method_of
from redargue.batch import Tally
from redargue.bench.commands.bench import BenchParameters, SampleParameters, bench_progress, drawn_examples
from redargue.bench.harness import Bench
from redargue.bench.judge import JudgedItem, read_judged
from redargue.bench.reports.tables import SHARE
from redargue.bench.system import System
from redargue.claims import LabelSet, Meaning
from redargue.cli.output import exit_code, print_json, resumable
from redargue.cli.parameters import AsJson, Concurrency, Quiet, with_parameters
from redargue.errors import RecordError, UsageError
from redargue.events import StageEnded
from redargue.files import replacing
from redargue.inputs.claims import label_set, split_mapping
from redargue.methods.cascade import NEVER, STAGES, CascadeSettings
from redargue.methods.cascade.fit import DELTA, Fit, FitRow, StageRow, Thresholds, lost, stop_of
from redargue.nli.aggregation import MIN_CONFIDENCE
from redargue.reports.markdown import print_tables
from redargue.reports.table import DASH, Cell, Column, Table, number
from redargue.runs.manifest import load_manifest
from redargue.runs.record import read_events
from redargue.sanitize import counted, printable
from redargue.verdicts import Verdict, rounded_down

USUAL = 0.05  # default of target_risk


@with_parameters
def fit_cascade(
    *,
    sample: SampleParameters,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Bench folder for the run and fit.json; the same command resumes.")
    ],
    method: Annotated[str, typer.Option(metavar="cascade[:SETTING=VALUE,…]", help="The cascade to fit.")] = "cascade",
    options: BenchParameters,
    concurrency: Concurrency = 2,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Fit the thresholds of a cascade on labelled claims.

    Every stage is held for every claim, which costs a debate per claim once. Then --set fitted=DIR/fit.json
    with --set target_risk=…, target_loss=… or budget_per_claim=… gives the thresholds.
    """
    if options.min_confidence and (options.model or options.min_confidence > MIN_CONFIDENCE):
        what = "a verdict below it is left open after its stage has decided, which a fit does not count"
        hint = "leave it out: the fitted thresholds say how sure a stage has to be"
        raise UsageError(what, where="--min-confidence", hint=hint)
    system = exhaustive(method)
    examples, drawn = drawn_examples(sample)
    bench = Bench(out, examples, [system], sample=drawn, spec=options.spec(sample.seed))
    tally = Tally()
    with (
        resumable(f"the same command resumes the fit in {out}"),
        bench_progress(tally, len(bench.examples), system.spec, quiet=quiet) as on_outcome,
    ):
        asyncio.run(bench.run(system, concurrency=concurrency or 2, on_outcome=on_outcome))
    fit = fit_of(bench, system)
    with replacing(out / FIT) as file:
        file.write((fit.model_dump_json() + "\n").encode())
    labelled = sum(example.gold is not None for example in bench.examples)
    if left_out := labelled - len(fit.rows):
        warning = f"warning: {counted(left_out, 'labelled claim')} of {labelled} left out: they ended in an error"
        typer.echo(f"{warning}; the bounds hold for claims that do not", err=True)
    golds = {example.gold for example in bench.examples} - {None}
    if len(golds) == 1:
        typer.echo(printable(f"warning: all labelled claims have the label {golds.pop()}: add others"), err=True)
    if len(fit.rows) < (needed := fit.least(USUAL)):
        few = f"warning: {counted(len(fit.rows), 'labelled claim')}: a target risk of {USUAL:g} needs at least {needed}"
        typer.echo(f"{few}, even without an error", err=True)
    if json:
        fitted = {"thresholds": fit.at_risk, "thresholds_by_loss": fit.at_loss}
        found = {name: {str(target): choose(target) for target in TARGETS} for name, choose in fitted.items()}
        print_json({"file": str(out / FIT)} | found)
    else:
        print_tables([fitted_thresholds(fit, TARGETS), fitted_thresholds(fit, TARGETS, by_loss=True)])
        typer.echo(f"written: {out / FIT}", err=True)
    raise typer.Exit(exit_code(tally.outcomes))


_WITH_CONFIDENCE = "fit verdicts of a method that gives a confidence, such as single-reader without a language model"
LEAST = 60  # labelled claims; with fewer no useful target can be kept
DRIFTED = 1  # exit code
BETS = tuple(share / 20 for share in range(1, 20))  # shares of the most that a bet may risk, mixed equally


class Drift(NamedTuple):
    """What feedback says: decided claims, wrong ones, a lower bound of the error, and where it passed the target."""

    decided: int
    wrong: int
    at_least: float
    crossed: int | None  # row, from 1, after which the error is above the target; None: none


def fit_verdicts(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Labelled verdicts of one method and model: CSV, TSV or JSON lines."),
    ],
    target_error: Annotated[
        float, typer.Option("--target-error", min=0.001, max=0.5, help="Tolerated share of wrong decided verdicts.")
    ] = 0.05,
    mapping: Annotated[
        str, typer.Option("--map", metavar="ROLE=COLUMN,…", help="Columns: judge=label,human=…,confidence=…")
    ] = "judge=label,human=human,confidence=confidence",
    labels: Annotated[str, typer.Option("--labels", metavar="SET", help="Label set of the verdicts.")] = "fever",
    feedback: Annotated[
        Path | None, typer.Option("--feedback", metavar="FILE", help="Later labelled verdicts, in their order.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Choose --min-confidence so that, with probability 0.9, at most a target share of the decided verdicts is wrong.

    The verdicts are those of a batch (verdicts.csv) with a column of labels that people gave. With --feedback, later
    verdicts are watched; exit code 1 says that more of them are wrong than the target allows.
    """
    chosen = label_set(labels)
    roles = split_mapping(mapping)
    fit = fit_of_verdicts(read_judged(file, roles), chosen)
    found = with_what_was_decided(fit, fit.at_risk(target_error))
    (threshold,) = found.thresholds
    drift = None
    if feedback is not None and threshold is None:
        typer.echo("the feedback is not read: no verdict would be decided", err=True)
    elif feedback is not None and threshold is not None:
        drift = watched(read_judged(feedback, roles), chosen, threshold, target_error)
    if json:
        watched_too = {**found.model_dump(mode="json"), "feedback": drift._asdict()} if drift else {}
        typer.echo(dumps(watched_too) if drift else found.model_dump_json())
    else:
        typer.echo("\n".join(_lines(fit, found, target_error, drift)))
    if drift and drift.crossed:
        raise typer.Exit(DRIFTED)


def fit_of_verdicts(items: Sequence[JudgedItem], labels: LabelSet) -> Fit:
    """The verdicts as claims of a cascade that decides or abstains.

    Raises UsageError for fewer than 60 rows, a label that the set lacks, or decided verdicts without a confidence.
    """
    if len(items) < LEAST:
        what = f"{counted(len(items), 'labelled verdict')}: a fit needs {LEAST} and more"
        raise UsageError(what, where="FILE", hint="label more claims, drawn like those that you will check")
    rows = tuple(_verdict_row(item, labels, f"verdict {number}") for number, item in enumerate(items, 1))
    if not any(row[0].may_decide for row in rows):
        raise UsageError("no verdict decides its claim", where="confidence", hint=_WITH_CONFIDENCE)
    stages, sample = ("verdict", "abstention"), {"labels": labels.name}
    return Fit(redargue=version("redargue"), backend="", stages=stages, debate="", sample=sample, rows=rows)


def with_what_was_decided(fit: Fit, found: Thresholds) -> Thresholds:
    """The threshold raised to the least confidence that decided: below it, a run decides what the fit has not seen."""
    (threshold,) = found.thresholds
    if threshold is None:
        return found
    least = min(row[0].score for row in fit.rows if row[0].may_decide and row[0].score is not None)
    return found.model_copy(update={"thresholds": (max(threshold, rounded_down(least)),)})


def _verdict_row(item: JudgedItem, labels: LabelSet, where: str) -> FitRow:
    judged, human = _meaning(item.judge, labels, where), _meaning(item.human, labels, where)
    free = {"calls": 0, "tokens": 0, "usd": None, "seconds": 0.0}
    decides = judged in (Meaning.SUPPORTED, Meaning.REFUTED)
    right = item.judge == item.human or (decides and judged is human)
    if decides and item.confidence is None:
        raise UsageError("a decided verdict has no confidence", where=where, hint=_WITH_CONFIDENCE)
    said = StageRow(label=item.judge, right=right, score=item.confidence, may_decide=decides, **free)
    return said, StageRow(label=None, right=False, score=None, may_decide=True, **free)


def _meaning(label: str | None, labels: LabelSet, where: str) -> Meaning | None:
    if label is None:
        return None
    names = {name.casefold(): each.meaning for each in labels.labels for name in (each.name, *each.aliases)}
    if label not in names:
        known = ", ".join(labels.names)
        what = f"the label {label!r} is not in the set {labels.name!r}: {known}"
        raise UsageError(what, where=where, hint="name the set: --labels SET")
    return names[label]


def watched(items: Sequence[JudgedItem], labels: LabelSet, threshold: float, target: float) -> Drift:
    """What later verdicts, in their order, say about the error of those that reach the threshold."""
    wrongs: list[bool] = []
    rows: list[int] = []
    for position, item in enumerate(items, 1):
        stage = _verdict_row(item, labels, f"feedback {position}")[0]
        if stage.may_decide and stage.score is not None and stage.score >= threshold:
            wrongs.append(not stage.right)
            rows.append(position)
    decided = first_above(wrongs, target)
    return Drift(len(wrongs), sum(wrongs), lower_bound(wrongs), rows[decided - 1] if decided else None)


def first_above(wrongs: Sequence[bool], mean: float) -> int | None:
    """Claims that it takes until bets against "the error is at most ``mean``" multiply a stake by 1 / 0.1 (Ville).

    None: they never do.
    """
    stakes = [1.0] * len(BETS)
    for decided, wrong in enumerate(wrongs, 1):
        stakes = [stake * (1 + bet * (wrong / mean - 1)) for stake, bet in zip(stakes, BETS, strict=True)]
        if sum(stakes) / len(stakes) >= 1 / DELTA:
            return decided
    return None


def lower_bound(wrongs: Sequence[bool]) -> float:
    """The least error that no bet has excluded, in [0, 1]; each stake falls as the mean grows."""
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if first_above(wrongs, middle) else (low, middle)
    return low


def _lines(fit: Fit, found: Thresholds, target: float, drift: Drift | None) -> list[str]:
    (threshold,) = found.thresholds
    claims = counted(found.claims, "labelled claim")
    if threshold is None:
        lines = [
            f"No confidence keeps the error at {target:g} on {claims}: every verdict would be left open."
            f" {fit.least(target)} decided and right ones are the fewest that could.",
        ]
    else:
        lines = [
            f"--min-confidence {threshold:g}",
            f"It decides {found.early} of {claims}, {found.wrong} of them wrongly. At most {target:g} of the"
            f" decided verdicts are wrong, with probability {1 - DELTA:g}, for claims drawn like these, and the"
            " same method, model, settings and corpus.",
        ]
    if drift:
        lines.append(
            f"Feedback: {drift.wrong} of {counted(drift.decided, 'decided claim')} wrong, an error of at least"
            f" {drift.at_least:.3f}."
        )
        lines.append(
            f"After claim {drift.crossed} the error was above {target:g}: label new claims and fit again."
            if drift.crossed
            else "It is not shown to be above the target."
        )
    return lines


FIT = "fit.json"
TARGETS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2)


def exhaustive(spec: str) -> System:
    """The cascade of a spec, holding every stage; raises UsageError for another method, or one with thresholds."""
    system = System.parse(spec)
    if system.method != "cascade":
        raise UsageError(f"{system.method!r} has no thresholds to fit", where="--method", hint="--method cascade")
    if fixed := {"thresholds", "fitted", "budget_per_claim", "target_risk", "target_loss"} & set(system.settings):
        raise UsageError(f"{spec!r} sets {', '.join(sorted(fixed))}, which are fitted", hint="leave it out")
    if system.seed is not None:
        raise UsageError(f"{spec!r} has a seed", hint="give it with --seed")
    never = "+".join([NEVER] * (len(system.settings.get("stages", STAGES)) - 1))
    return System.parse(f"{spec}{',' if ':' in spec else ':'}thresholds={never}") if never else system


def fit_of(bench: Bench, system: System) -> Fit:
    """What each stage said about each claim with a gold label, from the record of an exhaustive run.

    Raises RecordError if the run is not finished, or no claim has both a gold label and all stages.
    """
    verdicts = [outcome.verdict for outcome in bench.outcomes(system)]
    held: dict[int, list[StageEnded]] = defaultdict(list)
    for event in read_events(bench.folder / system.slug):
        if isinstance(event, StageEnded):
            if event.number == 1:
                held[event.item].clear()  # of an attempt that was interrupted
            held[event.item].append(event)
    manifest = load_manifest(bench.folder / system.slug)
    settings: CascadeSettings = method_of(spec_of(manifest)).settings
    rows = [
        _stages_row(held[item], verdicts[item], example.gold)
        for item, example in enumerate(bench.examples)
        if example.gold is not None and len(held.get(item, ())) == len(settings.stages)
    ]
    if not rows:
        raise RecordError("no claim has a gold label and every stage", hint="fit on labelled claims")
    return Fit(
        redargue=version("redargue"),
        backend=manifest.backend.identity,
        stages=settings.stages,
        debate=settings.debate,
        models=manifest.spec.models,
        min_confidence=manifest.threshold,
        settings=settings.facts,
        sample=dict(bench.sample),
        rows=tuple(rows),
    )


def _stages_row(stages: list[StageEnded], verdict: Verdict, gold: str | None) -> FitRow:
    """The last stage's label is the verdict's: what has no quotation does not count."""
    labels = [*(stage.label for stage in stages[:-1]), verdict.label]
    return tuple(
        StageRow(
            label=label,
            right=label == gold,
            score=stage.score,
            may_decide=stage.may_decide,
            calls=stage.usage.calls,
            tokens=stage.usage.prompt_tokens + stage.usage.completion_tokens,
            usd=stage.usage.usd,
            seconds=stage.at,
        )
        for stage, label in zip(stages, labels, strict=True)
    )


def fitted_thresholds(fit: Fit, targets: Iterable[float], *, by_loss: bool = False) -> Table:
    """The thresholds of a cascade for several target risks (or losses), and what they do to the claims of the fit."""
    last = (None,) * (len(fit.stages) - 1)
    rows: list[tuple[Cell, ...]] = []
    for target in targets:
        chosen = fit.at_loss(target) if by_loss else fit.at_risk(target)
        wrong = lost(fit.rows, chosen.thresholds) if by_loss else chosen.wrong
        shown = [DASH if value is None else f"{value:g}" for value in chosen.thresholds]
        rows.append((f"{target:g}", *shown, chosen.early, wrong, *right_and_calls(fit.rows, chosen.thresholds)))
    rows.append(("every stage", *[DASH] * len(last), 0, 0, *right_and_calls(fit.rows, last)))
    columns = (
        Column("Target loss" if by_loss else "Target risk"),
        *(Column(f"Threshold of the {stage}") for stage in fit.stages[:-1]),
        *(number(title, ",") for title in ("End early", "Lost by it" if by_loss else "Wrong among them")),
        number("Accuracy", SHARE),
        number("Calls per claim", ".1f"),
    )
    promised = (
        "at most the target's share of all claims gets a wrong label that the last stage would have had right"
        if by_loss
        else "at most the target's share of the verdicts before the last stage is wrong"
    )
    notes = (
        f"With probability {1 - DELTA:g} over the labelled claims, {promised}, for claims drawn as "
        "these were and the same models, prompts and corpus. Nothing is "
        "promised for the last stage. Each row holds by itself: choose the target before you see the table. "
        "A dash: the stage never stops. Accuracy and calls are of the fitted claims "
        "themselves: measure them on others.",
    )
    return Table(f"A cascade fitted on {counted(len(fit.rows), 'labelled claim')}", columns, tuple(rows), notes)


def right_and_calls(rows: tuple[FitRow, ...], thresholds: tuple[float | None, ...]) -> tuple[float, float]:
    """Accuracy and calls per claim of a cascade with these thresholds on recorded rows."""
    ends = [row[stop_of(row, thresholds)] for row in rows]
    return sum(end.right for end in ends) / len(ends), sum(end.calls for end in ends) / len(ends)
