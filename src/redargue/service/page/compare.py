"""Runs side by side: the same claims by different methods, those with different labels first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from redargue.reports.load import SingleRun
from redargue.reports.phrases import cost, label_of
from redargue.verdicts import Verdict, total_usage

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


class _Comparison(NamedTuple):
    """``shared``: number of claims that every run has finished; ``flips``: those of them with different labels."""

    systems: tuple[_System, ...]
    claims: tuple[ComparedClaim, ...]
    shared: int
    flips: int
    left_out: int


def compare_verdicts(runs: Sequence[SingleRun]) -> _Comparison:
    """Compares runs by the text of their claims."""
    by_text = [_by_text(run) for run in runs]
    texts = list(dict.fromkeys(text for known in by_text for text in known))
    claims = [_claim(text, runs, by_text) for text in texts]
    shared = [text for text in texts if all(text in known and known[text][1] for known in by_text)]
    flipping = {claim.claim for claim in claims if claim.flips}
    claims.sort(key=lambda claim: not claim.flips)
    return _Comparison(
        tuple(map(_system, runs)),
        tuple(claims[:_CLAIMS_SHOWN]),
        len(shared),
        sum(text in flipping for text in shared),
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
    usage = total_usage(run.usages)
    manifest = run.manifest
    calls = usage.calls / max(1, len(run.verdicts))
    return _System(
        run.folder.name,
        f"{manifest.spec.method} ({manifest.spec.profile})",
        manifest.spec.backend,
        len(run.verdicts),
        cost(usage),
        calls,
    )
