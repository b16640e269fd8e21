"""``redargue bench fit-cascade``: the thresholds of a cascade from labelled claims."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from redargue.bench.commands.bench import BenchParameters, SampleParameters, drawn_examples
from redargue.cli.exit import exit_code, resumable
from redargue.cli.output import print_json
from redargue.cli.parameters import AsJson, Concurrency, Quiet, with_parameters
from redargue.errors import UsageError

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
    from redargue.batch.verdict_files import Tally
    from redargue.bench.commands.cascade.fitting import FIT, TARGETS, exhaustive, fit_of, write_cascade_fit
    from redargue.bench.commands.cascade.table import fitted_thresholds
    from redargue.bench.commands.progress import bench_progress
    from redargue.bench.harness import Bench
    from redargue.nli.aggregation import MIN_CONFIDENCE
    from redargue.reports.terminal import print_tables
    from redargue.sanitize import counted, printable

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
    write_cascade_fit(fit, out / FIT)
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
