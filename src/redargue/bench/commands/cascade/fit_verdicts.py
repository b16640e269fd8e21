"""``redargue fit``: the least confidence at which few enough of the decided verdicts are wrong, and whether that lasts.

A verdict or an abstention is a cascade of two stages, and is fitted as one (Learn then Test,
:mod:`redargue.methods.cascade.fit`). Later feedback is watched with a betting confidence sequence (Waudby-Smith and
Ramdas, Estimating means of bounded random variables by betting, JRSS B, 2024, section 4): it may be looked at after
every claim, and is wrong with probability 0.1 over all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from redargue.bench.judge import JudgedItem, read_judged
from redargue.claims import LabelSet, Meaning
from redargue.cli.parameters import AsJson
from redargue.errors import UsageError
from redargue.inputs.claims import split_mapping
from redargue.inputs.labels import label_set
from redargue.methods.cascade.fit import DELTA, Fit, FitRow, StageRow, Thresholds
from redargue.sanitize import counted

LEAST = 60  # labelled claims; with fewer no useful target can be kept
DRIFTED = 1  # exit code
BETS = tuple(share / 20 for share in range(1, 20))  # shares of the most that a bet may risk, mixed equally


class Drift(NamedTuple):
    """What feedback says: decided claims, wrong ones, a lower bound of the error, and where it passed the target.

    Attributes:
        crossed: number of the row, from 1, after which the error is above the target; None if it never was.
    """

    decided: int
    wrong: int
    at_least: float
    crossed: int | None


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
    found = fit.at_risk(target_error)
    (threshold,) = found.thresholds
    drift = None
    if feedback is not None and threshold is not None:
        drift = watched(read_judged(feedback, roles), chosen, threshold, target_error)
    if json:
        typer.echo(found.model_dump_json() if drift is None else _both(found, drift))
    else:
        typer.echo("\n".join(_lines(fit, found, target_error, drift)))
    if drift and drift.crossed:
        raise typer.Exit(DRIFTED)


def fit_of_verdicts(items: Sequence[JudgedItem], labels: LabelSet) -> Fit:
    """The verdicts as claims of a cascade that decides or abstains.

    Raises:
        UsageError: fewer than 60 rows, a label that the set lacks, or decided verdicts without a confidence.
    """
    if len(items) < LEAST:
        what = f"{counted(len(items), 'labelled verdict')}: a fit needs {LEAST} and more"
        raise UsageError(what, where="FILE", hint="label more claims, drawn like those that you will check")
    rows = [_row(item, labels) for item in items]
    decided = [row[0] for row in rows if row[0].may_decide]
    if any(stage.score is None for stage in decided) or not decided:
        what = "a decided verdict has no confidence" if decided else "no verdict decides its claim"
        hint = "fit verdicts of a method that gives a confidence, such as single-reader without a language model"
        raise UsageError(what, where="confidence", hint=hint)
    return Fit(
        redargue=version("redargue"),
        backend="",
        stages=("verdict", "abstention"),
        debate="",
        sample={"labels": labels.name},
        rows=tuple(rows),
    )


def _row(item: JudgedItem, labels: LabelSet) -> FitRow:
    judged, human = _meaning(item.judge, labels), _meaning(item.human, labels)
    free = {"calls": 0, "tokens": 0, "usd": None, "seconds": 0.0}
    decides = judged in (Meaning.SUPPORTED, Meaning.REFUTED)
    right = item.judge == item.human or (decides and judged is human)
    said = StageRow(label=item.judge, right=right, score=item.confidence, may_decide=decides, **free)
    return said, StageRow(label=None, right=False, score=None, may_decide=True, **free)


def _meaning(label: str | None, labels: LabelSet) -> Meaning | None:
    if label is None:
        return None
    names = {name.casefold(): each.meaning for each in labels.labels for name in (each.name, *each.aliases)}
    if label not in names:
        known = ", ".join(labels.names)
        raise UsageError(
            f"the label {label!r} is not in the set {labels.name!r}: {known}", hint="name it: --labels SET"
        )
    return names[label]


def watched(items: Sequence[JudgedItem], labels: LabelSet, threshold: float, target: float) -> Drift:
    """What later verdicts, in their order, say about the error of those that reach the threshold."""
    wrongs: list[bool] = []
    crossed = None
    for number, item in enumerate(items, 1):
        stage = _row(item, labels)[0]
        if not stage.may_decide or stage.score is None or stage.score < threshold:
            continue
        wrongs.append(not stage.right)
        if crossed is None and is_above(wrongs, target):
            crossed = number
    return Drift(len(wrongs), sum(wrongs), lower_bound(wrongs), crossed)


def is_above(wrongs: Sequence[bool], mean: float) -> bool:
    """Whether bets against "the error is at most ``mean``" have ever multiplied the stake by 1 / 0.1 (Ville)."""
    stakes = [1.0] * len(BETS)
    for wrong in wrongs:
        stakes = [stake * (1 + bet * (wrong / mean - 1)) for stake, bet in zip(stakes, BETS, strict=True)]
        if sum(stakes) / len(stakes) >= 1 / DELTA:
            return True
    return False


def lower_bound(wrongs: Sequence[bool]) -> float:
    """The least error that no bet has excluded, in [0, 1]; each stake falls as the mean grows."""
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if is_above(wrongs, middle) else (low, middle)
    return low


def _lines(fit: Fit, found: Thresholds, target: float, drift: Drift | None) -> list[str]:
    (threshold,) = found.thresholds
    if threshold is None:
        lines = [
            f"No confidence keeps the error at {target:g} on {counted(found.claims, 'labelled claim')}:"
            f" every verdict would be left open. {fit.least(target)} decided and right ones are the fewest that could.",
        ]
    else:
        shown = f"{found.early} of {counted(found.claims, 'labelled claim')}"
        lines = [
            f"--min-confidence {threshold:g}",
            f"It decides {shown}, {found.wrong} of them wrongly. At most {target:g} of the decided verdicts are wrong,"
            f" with probability {1 - DELTA:g}, for claims drawn like these, and the same method, model, settings and"
            " corpus.",
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


def _both(found: Thresholds, drift: Drift) -> str:
    import json

    return json.dumps({**found.model_dump(mode="json"), "feedback": drift._asdict()})
