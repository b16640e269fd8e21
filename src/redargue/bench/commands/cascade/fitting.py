"""Fits a cascade: every stage is held for every labelled claim, and recorded with its cost and its gold label."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from redargue.assembly import method_of
from redargue.bench.harness import Bench
from redargue.bench.system import System
from redargue.errors import RecordError, UsageError
from redargue.events import Event, StageEnded
from redargue.files import replacing
from redargue.methods.cascade.fit import Fit, FitRow, StageRow
from redargue.methods.cascade.settings import NEVER, STAGES, CascadeSettings
from redargue.playback import spec_of
from redargue.runs.manifest import load_manifest
from redargue.runs.record import read_events
from redargue.verdicts import Verdict

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
    stages = len(system.settings.get("stages", STAGES))
    sign = "," if ":" in spec else ":"
    return System.parse(f"{spec}{sign}thresholds={'+'.join([NEVER] * (stages - 1))}") if stages > 1 else system


def fit_of(bench: Bench, system: System) -> Fit:
    """What each stage said about each claim with a gold label, from the record of an exhaustive run.

    Raises:
        RecordError: the run is not finished, or no claim has both a gold label and all stages.
    """
    verdicts = [outcome.verdict for outcome in bench.outcomes(system)]
    held: dict[int, list[StageEnded]] = {}
    for event in read_events(bench.folder / system.slug):
        _collect(event, held)
    manifest = load_manifest(bench.folder / system.slug)
    settings: CascadeSettings = method_of(spec_of(manifest)).settings
    rows = [
        _row(held[item], verdicts[item], example.gold)
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


def write_cascade_fit(fit: Fit, path: Path) -> None:
    with replacing(path) as file:
        file.write((fit.model_dump_json() + "\n").encode())


def _collect(event: Event, held: dict[int, list[StageEnded]]) -> None:
    """Keeps the last attempt at each claim: one that was interrupted is held again."""
    if isinstance(event, StageEnded):
        stages = held.setdefault(event.item, [])
        if event.number == 1:
            stages.clear()
        stages.append(event)


def _row(stages: list[StageEnded], verdict: Verdict, gold: str | None) -> FitRow:
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
